"""What it costs that two private groups are named positive about equally often, on Adult.

Run with ``python -m benchmarks.fairness``, three minutes of one core. Test records are a fifth.
"""

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.published import write_page
from benchmarks.tables import said
from svm_models import PrivateClassifier, PrivateLPSVC
from svm_models.classifiers.fairness import KINDS
from svm_models.datasets import fetch_adult

SEEDS, TOLERANCE, DELTA = range(3), 0.05, 1e-6
EPS, OTHER_EPS = 1.0, (0.1, 0.5, 4.0)
HEADERS = ("classifier", "asked for", "error", "gap of parity", "gap of opportunity")


def gaps(chosen: Any, women: Any, among: Any) -> float:
    """By how much men and women differ in how often they are named positive."""
    return abs(float(chosen[among & ~women].mean() - chosen[among & women].mean()))


def best_thresholds(
    decisions: Any, women: Any, rich: Any, kind: str, tolerance: float = TOLERANCE
) -> Any:
    """Of one threshold for women and one for men, those of fewest mistakes within the tolerance."""
    levels = np.quantile(decisions, np.linspace(0.4, 0.98, 117))
    among = np.ones_like(rich) if kind == KINDS[0] else rich
    found = []
    for of in (women, ~women):
        chosen = decisions[of, None] > levels
        wrong = np.sum(chosen != rich[of, None], axis=0)
        found.append((wrong, chosen[among[of]].mean(axis=0)))
    (wrong, share), (others_wrong, others_share) = found
    far = np.abs(share[:, None] - others_share) > tolerance
    mistakes = np.where(far, np.inf, wrong[:, None] + others_wrong)
    one, other = np.unravel_index(np.argmin(mistakes), mistakes.shape)
    return levels[one], levels[other]


def measured(chosen: Any, women: Any, rich: Any) -> tuple[float, float, float]:
    """Error, and both gaps."""
    everyone = np.ones_like(rich)
    return (
        float(np.mean(chosen != rich)),
        gaps(chosen, women, everyone),
        gaps(chosen, women, rich),
    )


def table(X: Any, y: Any, women: Any, classifiers: Any, eps: float = EPS) -> list[list[str]]:
    """Rows of the page: each classifier as it is and with each constraint, and thresholds."""
    rich, found = y > 0, {}
    for seed in SEEDS:
        test = np.random.default_rng(seed).permutation(len(y)) < len(y) // 5
        seen = women[test], rich[test]
        for make in classifiers:
            for kind in (None, *KINDS):
                model = make(eps, DELTA, classes=(-1, 1), random_state=seed, fairness=kind)
                given = {} if kind is None else {"sensitive_features": women[~test]}
                model.fit(X[~test], y[~test], **given)
                name = make.__name__, "–" if kind is None else kind.replace("_", " ")
                one = measured(model.predict(X[test]) > 0, *seen)
                found.setdefault(name, []).append(one)
                print(*name, seed, one, flush=True)
                if kind is None and make is classifiers[0]:
                    free = model.decision_function(X)
        for kind in KINDS:
            cuts = best_thresholds(free[~test], women[~test], rich[~test], kind)
            chosen = free[test] > np.where(women[test], *cuts)
            name = "a threshold for each sex", kind.replace("_", " ")
            found.setdefault(name, []).append(measured(chosen, *seen))
    return _rows(found)


def exact(X: Any, y: Any, women: Any) -> list[list[str]]:
    """What parity costs without privacy, by a threshold for each sex, at the gap ours reach too."""
    rich, found = y > 0, {}
    models = {
        "logistic regression, not private": LogisticRegression(C=100.0, max_iter=300),
        "boosted trees, not private": HistGradientBoostingClassifier(max_iter=200, random_state=0),
    }
    for (name, model), seed in product(models.items(), SEEDS):
        test = np.random.default_rng(seed).permutation(len(y)) < len(y) // 5
        model.fit(X[~test], y[~test])
        scores, seen = model.decision_function(X), (women[test], rich[test])
        found.setdefault((name, "–"), []).append(measured(scores[test] > 0, *seen))
        for tolerance in (TOLERANCE, 0.04):
            of = scores[~test], women[~test], rich[~test]
            cuts = best_thresholds(*of, KINDS[0], tolerance)
            chosen = scores[test] > np.where(women[test], *cuts)
            asked = f"demographic parity within {tolerance}"
            found.setdefault((name, asked), []).append(measured(chosen, *seen))
    return _rows(found)


def _rows(found: dict[tuple[str, str], list[tuple[float, float, float]]]) -> list[list[str]]:
    return [
        [*name, *(said(column, "{:.4f} ± {:.4f}") for column in zip(*of, strict=True))]
        for name, of in found.items()
    ]


def main() -> None:
    adult = fetch_adult(preprocessing="public")
    names = list(adult.feature_names)
    women = adult.data[:, names.index("sex=Female")] > 0
    kept = [place for place, name in enumerate(names) if not name.startswith("sex=")]
    with warnings.catch_warnings(action="ignore"):
        rows = table(adult.data, adult.target, women, (PrivateLPSVC, PrivateClassifier))
        floor = exact(adult.data, adult.target, women)
        without = table(adult.data[:, kept], adult.target, women, (PrivateLPSVC,))
        others = [
            [f"{eps:g}", *row]
            for eps in OTHER_EPS
            for row in table(adult.data, adult.target, women, (PrivateClassifier,), eps)
        ]
    write_page(
        "fairness", (HEADERS, rows), (HEADERS, floor), (HEADERS, without), (("ε", *HEADERS), others)
    )


if __name__ == "__main__":
    main()
