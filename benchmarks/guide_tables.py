"""The tables that stand in guides, on seeds that nothing was tuned on.

Run as ``python -m benchmarks.guide_tables``. Of docs/guides/train-a-private-svm.md: three ways to
choose among classifiers (cross-validation is written for this comparison only), and how many rows
of a person to keep. Of docs/guides/regression.md: rank errors of nine quantiles from one budget
beside nine fits with a ninth of it each.
"""

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.tables import Table, rendered
from privlp.privacy.gaussian_dp import eps_of, mu_of
from svm_models import (
    PrivateLPSVC,
    PrivateModelSelector,
    PrivateQuantileRegressor,
    RandomFourierFeatures,
)

_SEEDS, _DELTA, _FOLDS, _TEST = range(2000, 2006), 1e-6, 5, 4000
_ROWS = 1, 2, 4, 8, 12
Sample = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def _circle(seed: int, n: int) -> Sample:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 6))
    score = X[:, 0] ** 2 + X[:, 1] ** 2 + 0.2 * X[:, 2] - 0.66
    return X, np.where(score + rng.normal(0, 0.15, n) > 0, 1, -1)


def _candidates(**options: Any) -> list[Pipeline]:
    """Four widths of a kernel, and none."""
    given = {"classes": (-1, 1), **options}
    kernels = [RandomFourierFeatures(gamma, 40, random_state=1) for gamma in (0.05, 0.2, 0.5, 2.0)]
    wide = make_pipeline("passthrough", PrivateLPSVC(data_norm=math.sqrt(6), **given))
    return [*(make_pipeline(kernel, PrivateLPSVC(**given)) for kernel in kernels), wide]


def _selected(records: Sample, eps: float, seed: int, fraction: float | None) -> Any:
    options = {"validation_fraction": fraction, "classes": (-1, 1), "random_state": seed}
    return PrivateModelSelector(_candidates(), eps, delta=_DELTA, **options).fit(*records)


def _cross_validated(records: Sample, eps: float, seed: int) -> Any:
    """Of eps 0.45 for the fits on folds, of which a record is in 4 of 5; 0.1 to choose; a refit."""
    (X, y), rng, half = records, np.random.default_rng(seed), _DELTA / 2
    folds, candidates = rng.integers(_FOLDS, size=len(y)), _candidates(fallback=False)
    fits = len(candidates) * (_FOLDS - 1)
    part = eps_of(mu_of(0.45 * eps, half) / math.sqrt(fits), half / fits)
    mistakes = np.zeros(len(candidates))
    for number, candidate in enumerate(candidates):
        for fold in range(_FOLDS):
            one, held = clone(candidate), folds == fold
            coins = 1000 * seed + _FOLDS * number + fold
            one[-1].set_params(eps=part, delta=half / fits, random_state=coins)
            mistakes[number] += np.sum(one.fit(X[~held], y[~held]).predict(X[held]) != y[held])
    odds = np.exp(0.1 * eps / 2 * (mistakes.min() - mistakes))
    best = candidates[rng.choice(len(odds), p=odds / odds.sum())]
    best[-1].set_params(eps=0.45 * eps, delta=half, random_state=seed)
    return best.fit(X, y)


def _people(seed: int) -> tuple[Sample, npt.NDArray[np.int64]]:
    """1,000 people with 1 to 12 rows each, which are somewhat alike."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(1000), rng.integers(1, 13, 1000))
    X = 0.3 * rng.normal(size=(1000, 5))[owner]
    X = X + math.sqrt(1 - 0.3**2) * rng.normal(size=(len(owner), 5))
    score = X @ [1.0, 0.7, -0.5, 0.3, 0.0] + 0.5 * rng.normal(size=len(owner))
    return (X, np.where(score > 0.3, 1, -1)), owner


def _kept(rows: int, eps: float, seed: int) -> float:
    records, owner = _people(seed)
    options = {"X_bounds": (-4, 4), "classes": (-1, 1), "rows_per_record": rows}
    fitted = PrivateLPSVC(eps, _DELTA, random_state=seed, **options).fit(*records, groups=owner)
    return float(fitted.score(*_people(seed + 5000)[0]))


_Q, _DECILE_SEEDS = np.arange(1, 10) / 10, range(1000, 1010)
_BOUNDS: dict[str, Any] = {"y_bounds": (-10, 10), "X_bounds": (-1, 1)}


def _errors(n: int, eps: float, seed: int, *, features: bool) -> tuple[float, float]:
    """Mean rank errors of nine quantiles together, and of nine apart, put in order."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3)) if features else None
    y = rng.gumbel(0, 0.5, n) + (0.0 if X is None else X @ [1.0, -0.5, 0.3])
    places = np.empty((n, 0)) if X is None else X

    def error(predicted: Any) -> float:
        return float(np.abs(np.mean(y[:, None] < np.sort(predicted, axis=1), axis=0) - _Q).mean())

    def fitted(eps: float, delta: float, quantile: Any, seed: int) -> Any:
        asked = PrivateQuantileRegressor(eps, delta, quantile, **_BOUNDS, random_state=seed)
        return asked.fit(X, y).predict(places)

    apart = [fitted(eps / 9, _DELTA / 9, q, 100 * seed + k) for k, q in enumerate(_Q)]
    return error(fitted(eps, _DELTA, _Q, seed)), error(np.column_stack(apart))


def _choices() -> Table:
    rows = []
    for n, eps in product((3000, 20_000), (1.0, 3.0)):
        found = []
        for seed in _SEEDS:
            records = _circle(seed, n)
            test = _circle(seed + 5000, _TEST)
            ways = [_selected(records, eps, seed, fraction) for fraction in (None, 0.2)]
            ways.append(_cross_validated(records, eps, seed))
            found.append([way.score(*test) for way in ways])
        rows.append([n, eps, *(f"{mean:.2f}" for mean in np.mean(found, axis=0))])
    return "records | ε | a part each | `validation_fraction=0.2` | 5 folds", rows


def _rows_of_people() -> Table:
    rows = [
        [eps, *(f"{np.mean([_kept(k, eps, seed) for seed in _SEEDS]):.2f}" for k in _ROWS)]
        for eps in (0.5, 1.0, 3.0)
    ]
    return ["ε", *(f"{rows} kept" for rows in _ROWS)], rows


def _deciles() -> Table:
    rows = []
    for features, n, eps in product((False, True), (1000, 10_000), (0.1, 1.0)):
        found = [_errors(n, eps, seed, features=features) for seed in _DECILE_SEEDS]
        together, apart = np.mean(found, axis=0)
        told = f"{'three' if features else 'none'} | {n} | {eps}"
        rows.append(f"{told} | {together:.4f} | {apart:.4f} | {together / apart:.2f}")
    return "features | records | ε | together | nine apart | ratio", rows


def main() -> None:
    warnings.simplefilter("ignore")
    print(*(rendered(table()) for table in (_choices, _rows_of_people, _deciles)), sep="\n\n")


if __name__ == "__main__":
    main()
