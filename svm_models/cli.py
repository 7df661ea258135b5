"""The command line: ``svm-models train``, ``svm-models example``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from privlp import InvalidParameterError, __version__
from privlp.cli.options import plain_errors

if TYPE_CHECKING:
    from privlp.privacy import Randomness
    from svm_models.classifiers.risk import RegularizedRisk
    from svm_models.records.files import TrainingFile

_EXIT_CODES = "Exit codes: 0 trained; 2 wrong input or options; 130 interrupted."
_LEAST_EPS_FOR_NOISE = 1e-4
_MODEL = click.option(
    "--model",
    type=click.Choice(["svm", "lr"]),
    required=True,
    help="Huber SVM, or logistic regression.",
)


@click.group(epilog=_EXIT_CODES, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="svm-models")
def main() -> None:
    """Support vector machines and logistic regression, private and not.

    Each command has a --help of its own.
    """


@main.command(
    "train",
    short_help="Train three classifiers on a file, two of them private.",
    epilog=f"\b\nExample:\n  svm-models train records.txt --model svm\n\n{_EXIT_CODES}",
)
@click.argument("file")
@_MODEL
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Reproducible noise, for experiments only: no line is for release.",
)
@plain_errors
def _train(file: str, model: str, seed: int | None) -> None:
    """Train on the records in FILE: without privacy, by output and by objective perturbation.

    FILE holds numbers separated by whitespace, as for the programs lrsimple and svmsimple of
    Chaudhuri, Sarwate and Monteleoni: n, d, lambda, eps, and for the SVM h (0 < h <= 1/2), on one
    line or several; n lines of d numbers, each of Euclidean norm at most 1; n labels, -1 or 1.
    `svm-models example --model svm` prints such a file. An h near 0 may take long; 1/2 is usual.

    Standard output gets three lines of d weights and a status, 0 for converged:

    \b
    1. the classifier without privacy. NOT PRIVATE: do not release it;
    2. eps-differentially private by output perturbation;
    3. eps-differentially private by objective perturbation.

    Lines 2 and 3 protect against the replacement of one record; n and the rest of the header are
    public. Released together they cost 2 eps. Their status is always 0, because their optimum is
    always certified; a status that could differ would tell about the records. No regularisation is
    added. Of eps, line 3 has eps' = 0.99 eps - ln(1 + c/(n lambda)) left for its noise, with c =
    1/(2h) for the SVM and 1/4 for logistic regression: one logarithm suffices where the programs
    took two, and 1% covers the error of the computed optimum. Where eps' is below 1e-4, nothing is
    trained.

    Errors about FILE reveal numbers of lines, and how many numbers those hold, but never a number
    of a record. They are for whoever may see FILE.
    """  # noqa: D301 (click's mark for a paragraph that is not to be rewrapped)
    from privlp.privacy import Randomness  # noqa: PLC0415
    from svm_models.records.files import read_training_file  # noqa: PLC0415

    records = read_training_file(file, with_h=model == "svm")
    lines = _three_classifiers(records, Randomness(seed))
    click.echo(
        "Line 1 is NOT private and must not be released.\nLines 2 and 3 are each differentially"
        f" private by themselves, with eps = {records.eps:g}; together they have 2 eps ="
        f" {2 * records.eps:g}.",
        err=True,
    )
    if seed is not None:
        click.echo(
            "Seeded noise (--seed): an experiment. Lines 2 and 3 are not for release either.",
            err=True,
        )
    click.echo("\n".join(lines))


@main.command(
    "example",
    short_help="Print a file of simulated records.",
    epilog="Exit codes: 0 printed; 2 wrong options.",
)
@_MODEL
def _example(model: str) -> None:
    """Print a FILE for `train`: 200 simulated records of 5 features.

    \b
    svm-models example --model svm > records.txt
    svm-models train records.txt --model svm
    """  # noqa: D301
    import numpy as np  # noqa: PLC0415 (not needed by --version)

    from svm_models.datasets import make_unseparable_ball  # noqa: PLC0415

    X, y = make_unseparable_ball(200, n_features=5, random_state=0)
    X = np.trunc(X * 1e6) / 1e6  # cut off, not rounded, so that no norm exceeds 1
    rows = [" ".join(f"{entry:.6f}" for entry in row) for row in X.tolist()]
    header = "200 5 0.01 1 0.5" if model == "svm" else "200 5 0.01 1"
    click.echo("\n".join([header, *rows, *map(str, y.tolist())]))


def _three_classifiers(records: TrainingFile, randomness: Randomness) -> list[str]:
    """The three lines, unless eps' is too small."""
    from privlp.privacy import Ledger  # noqa: PLC0415

    # scikit-learn is needed here, and says so.
    from svm_models import HuberSVC, RegularizedLogisticRegression  # noqa: PLC0415
    from svm_models.account import Account  # noqa: PLC0415
    from svm_models.classifiers.perturbation import perturb_objective, perturb_output  # noqa: PLC0415
    from svm_models.classifiers.risk import RegularizedRisk, huber, logistic  # noqa: PLC0415
    from svm_models.records import signed, within_norm  # noqa: PLC0415

    loss = logistic() if records.h is None else huber(records.h)
    M = signed(within_norm(records.X, 1.0), records.y)
    risk = RegularizedRisk.in_memory(M, loss, records.reg, 1.0)
    _require_eps_for_noise(risk, records.eps)
    both = (-1.0, 1.0)
    exact = (
        RegularizedLogisticRegression(records.reg, classes=both)
        if records.h is None
        else HuberSVC(records.reg, h=records.h, classes=both)
    ).fit(records.X, records.y)
    output = perturb_output(risk, Account(Ledger(records.eps, 0.0), randomness))
    objective = perturb_objective(
        risk, Account(Ledger(records.eps, 0.0), randomness), add_regularization=False
    )
    # The certificate of lines 2 and 3 is always reached (classifiers/risk.py), so that
    # their status is a constant.
    statuses = (int(not exact.gradient_norm_ <= risk.tolerance), 0, 0)
    return [
        " ".join([*(f"{weight:.17g}" for weight in w), str(status)])
        for w, status in zip((exact.coef_[0], output, objective), statuses, strict=True)
    ]


def _require_eps_for_noise(risk: RegularizedRisk, eps: float) -> None:
    """Refuse public parameters that leave almost no eps for the noise, and say which would do."""
    from svm_models.classifiers.perturbation import (  # noqa: PLC0415
        SHARE_OF_THE_CERTIFICATE,
        curvature_cost,
        eps_for_noise,
    )

    if eps_for_noise(risk, eps) >= _LEAST_EPS_FOR_NOISE:
        return
    n, curvature, share = risk.shape[0], risk.loss.curvature_bound, 1 - SHARE_OF_THE_CERTIFICATE
    enough: dict[str, float] = {"eps": (curvature_cost(risk) + _LEAST_EPS_FOR_NOISE) / share}
    affordable = math.expm1(min(share * eps - _LEAST_EPS_FOR_NOISE, 700.0))
    if affordable > 0:
        enough |= {"lambda": curvature / n / affordable, "n": curvature / risk.reg / affordable}
    cures = [  # of three digits, little above what is enough
        f"{name} = {math.ceil(number) if name == 'n' else f'{1.006 * number:.3g}'}"
        for name, number in enough.items()
        if number < 1e15
    ]
    raise InvalidParameterError(
        "eps', the part of eps that objective perturbation has left for its noise, is below 1e-4"
        f" for n = {n}, lambda = {risk.reg:g} and eps = {eps:g}. Nothing was trained or drawn. "
        + (
            f"Any one of these would do: at least {', '.join(cures)}."
            if cures
            else "Give a larger lambda."
        ),
        parameter="eps",
    )
