"""PrivateLPSVC beside objective perturbation, plain and whitened, and noisy descent, all tuned.

On the same folds, under both neighbour relations, in tables of their own. Run with ``python -m
benchmarks.private_lp_svc``; an interrupted run goes on where it stopped. About two hours of one
core.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import KFold
from tqdm import tqdm

from benchmarks import published as pages
from benchmarks.folds import validated
from benchmarks.published import power_of_ten
from benchmarks.scores import CrossValidation, scores_of_decisions
from benchmarks.tables import Table, said
from benchmarks.tables import over_eps as eps_table
from benchmarks.thesis import DataSet, Model, data_set, measure
from privlp.checks import FloatArray
from privlp.privacy import GaussianMechanism, Ledger
from svm_models import (
    ObjectivePerturbationLogisticRegression,
    ObjectivePerturbationSVC,
    PrivateLPSVC,
)
from svm_models.records import signed

EPSILONS = (0.1, 0.2, 0.5, 1.0)
FOLDS, DRAWS = 10, 3
REGS = (1e-2, 1e-3, 1e-4)
STEPS = (0.5, 1.0, 2.0, 4.0)
_FEW, _MANY = (20, 30, 50, 100), (50, 100, 150, 250)
ROUNDS = {0.1: _FEW, 0.2: _FEW, 0.5: _MANY, 1.0: _MANY}
DATA, PREPROCESSINGS = ("adult", "kdd"), ("thesis", "public")
#: Added or removed: with the first preprocessing only.
RELATIONS = {"replace": "one record replaced", "add-remove": "one record added or removed"}
NAMES = {
    "lp": "PrivateLPSVC, no tuning",
    "objective": "objective perturbation, pure eps, best of grid",
    "gaussian": "objective perturbation, Gaussian, best of grid",
    "whitened": "the same, whitened",
    "logistic": "the same, whitened, logistic",
    "descent": "accelerated noisy gradient descent, best of grid",
}
#: Objective perturbation: estimator, whether eps is pure, and options.
OBJECTIVE: dict[str, tuple[Any, bool, dict[str, Any]]] = {
    "objective": (ObjectivePerturbationSVC, True, {}),
    "gaussian": (ObjectivePerturbationSVC, False, {}),
    "whitened": (ObjectivePerturbationSVC, False, {"whiten": True}),
    "logistic": (ObjectivePerturbationLogisticRegression, False, {"whiten": True}),
}
#: Colours that the colour-blind can tell apart (Okabe and Ito 2008), with markers and dashes.
STYLES: dict[str, dict[str, Any]] = {
    "lp": {"color": "#000000", "marker": "*", "linestyle": "-"},
    "objective": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "gaussian": {"color": "#56B4E9", "marker": "v", "linestyle": "--"},
    "whitened": {"color": "#009E73", "marker": "D", "linestyle": "--"},
    "logistic": {"color": "#CC79A7", "marker": "^", "linestyle": "--"},
    "descent": {"color": "#D55E00", "marker": "s", "linestyle": "-."},
}


def models(relation: str) -> dict[Any, Model]:
    """Ours, and objective perturbation at each regularisation, under one relation."""
    found: dict[Any, Model] = {
        ("lp", eps, ""): lambda n, eps=eps: PrivateLPSVC(
            eps, 1 / n**2, relation=relation, fit_intercept=False
        )
        for eps in EPSILONS
    }
    for (way, (estimator, pure, options)), eps, reg in product(OBJECTIVE.items(), EPSILONS, REGS):
        given = {"relation": relation, "fit_intercept": False, **options}
        fitted = partial(estimator, eps=eps, reg=reg, **given)
        found[way, eps, f"reg = {power_of_ten(reg)}"] = lambda n, fitted=fitted, pure=pure: fitted(
            delta=0.0 if pure else 1 / n**2
        )
    return found


def descend(
    M: FloatArray, steps: FloatArray, rounds: int, sigma: float, rngs: list[np.random.Generator]
) -> npt.NDArray[np.float32]:
    """Nesterov's method on the mean Huber hinge (h = 1/2) of signed records: a column a step."""
    columns = M.astype(np.float32)
    transposed = np.ascontiguousarray(columns.T)
    x = ahead = total = np.zeros((M.shape[1], len(steps)))
    for t in range(rounds):
        theta = 2 / (t + 2)
        between = ((1 - theta) * x + theta * ahead).astype(np.float32)
        slopes = np.clip(1.5 - columns @ between, 0.0, 1.0)
        noise = np.stack([rng.normal(0.0, sigma, M.shape[1]) for rng in rngs], axis=1)
        total = total + (transposed @ slopes + noise) / (len(M) * theta)
        ahead = steps * total
        x = (1 - theta) * x + theta * ahead
    return x.astype(np.float32)


def descents(data: DataSet, relation: str) -> dict[Any, CrossValidation]:
    """Accelerated noisy gradient descent: scores of every step and number of rounds."""
    finished = pages.store("private_lp_svc")
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    scores: dict[Any, list[Any]] = {}
    splits = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    for fold, (train, test) in enumerate(tqdm(splits, desc=data.name)):
        M: Any = None
        for eps, rounds in ((eps, rounds) for eps, grid in ROUNDS.items() for rounds in grid):
            settings = {
                **{"data": data.name, "relation": relation, "eps": eps, "rounds": rounds},
                **{"steps": STEPS, "fold": fold, "draws": DRAWS},
            }
            if settings not in finished:
                M = signed(X[train], np.sign(data.y[train])) if M is None else M
                decided = X[test] @ _descents(M, eps, rounds, fold, relation)
                found = [scores_of_decisions(d, data.y[test] > 0) for d in decided.T]
                finished.add(settings, [[f["error"], f["balanced"], f["auc"]] for f in found])
            kept = np.reshape(finished[settings], (len(STEPS), DRAWS, 3))
            for step, row in zip(STEPS, kept, strict=True):
                key = ("descent", eps, f"{rounds} rounds, step {step:g}")
                scores.setdefault(key, []).append(row)
    return {key: validated(rows) for key, rows in scores.items()}


def _descents(
    M: FloatArray, eps: float, rounds: int, fold: int, relation: str
) -> npt.NDArray[np.float32]:
    """The weights of all steps and draws; with the true n where it is private."""
    moved = 2.0 if relation == "replace" else 1.0
    ledger = Ledger(eps, 1 / len(M) ** 2)
    noise = ledger.calibrate(lambda t: GaussianMechanism(moved, moved / t), rounds)
    rngs = [np.random.default_rng([fold, rounds, draw]) for _ in STEPS for draw in range(DRAWS)]
    return descend(M, np.repeat(STEPS, DRAWS), rounds, noise.sigma, rngs)


def errors_on(name: str, preprocessing: str, relation: str) -> dict[Any, CrossValidation]:
    """(method, eps, parameters) to test errors and other scores."""
    data = data_set(name, preprocessing)
    data = data if preprocessing == "thesis" else replace(data, name=f"{name}_{preprocessing}")
    fits = measure(data, models(relation), draws=DRAWS, folds=FOLDS)
    return {key: found.errors for key, found in fits.items()} | descents(data, relation)


def best(found: dict[Any, CrossValidation], way: str, eps: float) -> tuple[str, CrossValidation]:
    """Parameters of least test error, and their errors."""
    of_way = ((key[2], errors) for key, errors in found.items() if key[:2] == (way, eps))
    return min(of_way, key=lambda pair: pair[1].mean)


def difference(ours: CrossValidation, theirs: CrossValidation) -> str:
    """Paired over folds, draws averaged; in units of 0.0001."""
    return said(1e4 * (ours.errors.mean(axis=1) - theirs.errors.mean(axis=1)), "{:+.1f} ± {:.1f}")


def main() -> None:
    found = {
        (name, way, one): errors_on(name, way, one)
        for one, way, name in product(RELATIONS, PREPROCESSINGS, DATA)
        if one == "replace" or way == PREPROCESSINGS[0]
    }
    _draw({key[:2]: errors for key, errors in found.items() if key[2] == "replace"})
    pages.write_page("private_lp_svc", *(table for of in found.values() for table in _tables(of)))


def _tables(found: dict[Any, CrossValidation]) -> list[Table]:
    """Errors, other scores at the parameters of least error, and how much better ours is."""

    def error(way: str) -> Callable[[float], str]:
        def cell(eps: float) -> str:
            parameters, errors = best(found, way, eps)
            return f"{errors}" + (f" [{parameters}]" if parameters else "")

        return cell

    def ranked(way: str) -> Callable[[float], str]:
        return lambda eps: pages.rankings(best(found, way, eps)[1])

    def beside(way: str) -> Callable[[float], str]:
        return lambda eps: difference(found["lp", eps, ""], best(found, way, eps)[1])

    errors, scores = ({title: of(way) for way, title in NAMES.items()} for of in (error, ranked))
    paired = {title: beside(way) for way, title in NAMES.items() if way != "lp"}
    return [
        eps_table(EPSILONS, errors, name="eps"),
        eps_table(EPSILONS, scores, name="eps"),
        eps_table(EPSILONS, paired, first="rival", name="eps"),
    ]


def _draw(found: dict[tuple[str, str], dict[Any, CrossValidation]]) -> None:
    with pages.picture("private_lp_svc", 4, columns=2, size=(12.0, 9.0)) as axes:
        for ax, ((name, way), errors) in zip(axes, found.items(), strict=True):
            for method, title in NAMES.items():
                cells = [best(errors, method, eps)[1] for eps in EPSILONS]
                pages.curve(ax, EPSILONS, cells, label=title, capsize=3, **STYLES[method])
            pages.over_eps(ax, EPSILONS)
            ax.set(title=f"{data_set(name).title}, “{way}”", xlabel="eps")
            ax.set_ylabel("test error (share of records)")
            ax.set_ylim(0.15 if name == "adult" else 0.0, None)


if __name__ == "__main__":
    main()
