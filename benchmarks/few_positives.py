"""Private classifiers where one label is rare: whether anybody gets it, and who.

Run with ``python -m benchmarks.few_positives``; some minutes of one core. The data come with
statsmodels.
"""

from functools import partial
from typing import Any

import click
import numpy as np

from benchmarks.published import store, write_page
from benchmarks.regression import real
from benchmarks.scores import CrossValidation, cross_validate
from svm_models import HuberSVC, ObjectivePerturbationSVC, PrivateLPSVC

EPSILONS = (0.5, 1.0, 4.0)
FOLDS, DRAWS = 10, 3
#: At least so many visits to a doctor in a year.
VISITS = (7, 12)
SHARE, WEIGHT, REG = 0.2, 3.0, 1e-3


def records() -> tuple[np.ndarray, np.ndarray]:
    """Features between -1 and 1 by their public ranges, a constant beside them, and visits."""
    people = real()[0]
    low, high = people.X_bounds
    scaled = np.clip(2 * (people.X - low) / (high - low) - 1, -1, 1)
    X = np.column_stack([scaled, np.ones(len(scaled))])
    return X / np.sqrt(X.shape[1]), people.y


def ways(eps: float, delta: float) -> dict[str, Any]:
    """The classifiers at one eps."""
    threshold, weight = {"threshold_share": SHARE}, {"class_weight": {1: WEIGHT}}
    share = f"threshold_share={SHARE:g}"
    options = {"as it is": {}, share: threshold, f"class_weight={{1: {WEIGHT:g}}}": weight}
    options["both"] = threshold | weight
    perturbed = partial(ObjectivePerturbationSVC, eps, REG, delta, fit_intercept=False)
    by_game = partial(PrivateLPSVC, eps, delta, fit_intercept=False)
    return {
        **{f"PrivateLPSVC, {name}": by_game(**o) for name, o in options.items()},
        "objective perturbation, Gaussian": perturbed(),
        f"objective perturbation, {share}": perturbed(**threshold),
    }


def row(eps: str, name: str, found: CrossValidation) -> list[str]:
    """All scores of one classifier."""
    return [eps, name, *(found.said(score) for score in ("errors", "balanced", "auc"))]


@click.command()
def main() -> None:
    """Measure, and write the page."""
    X, visits = records()
    delta = 1 / len(X) ** 2
    finished = store("few_positives")
    parts: list[Any] = [
        (
            f"Who goes to a doctor often? {len(X):,} records of the RAND health insurance"
            f" experiment, {X.shape[1] - 1} features scaled by their public ranges, and a constant."
            f" Mean ± standard error over {FOLDS} folds, {DRAWS} draws each; one record replaced,"
            " delta = 1/n². Balanced accuracy: the mean share of either label that is found, 1/2"
            " for a constant. Area under the curve: whether positives stand above negatives, 1/2 by"
            " guessing. The first line of a table is not private."
        )
    ]
    for least in VISITS:
        y = np.where(visits >= least, 1, -1)
        rows: list[list[str]] = []
        for eps in EPSILONS:
            tried = {"exact": HuberSVC(reg=REG), **ways(eps, delta)}
            asked = {"folds": FOLDS, "repeats": DRAWS, "store": finished}
            found = cross_validate(tried, X, y, name=f"{least} visits", **asked)
            if not rows:
                rows.append(row("", "HuberSVC, without noise", found["exact"]))
            rows += [row(f"{eps:g}", name, found[name]) for name in list(tried)[1:]]
        headers = ["eps", "classifier", "test error", "balanced accuracy", "area under the curve"]
        share = f"{np.mean(y > 0):.1%}"
        parts += [f"## At least {least} visits: {share} positives", (headers, rows)]
    write_page("few_positives", "Few positives", parts)


if __name__ == "__main__":
    main()
