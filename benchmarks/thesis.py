"""What the commands on van der Reijden's thesis share: its citation, data sets and kept fits."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import KFold
from tqdm import tqdm

from benchmarks.published import store
from benchmarks.scores import CrossValidation, held_out_scores
from privlp import NotPrivateWarning
from svm_models.datasets import fetch_adult, fetch_kddcup99

#: An estimator for n training records.
Model = Callable[[int], Any]


@dataclass(frozen=True)
class DataSet:
    """Records with the thesis's preprocessing, and its regularisation."""

    name: str
    title: str
    reg: float
    X: Any
    y: npt.NDArray[np.int64]
    columns: list[str]


@cache
def data_set(name: str, preprocessing: str = "thesis") -> DataSet:
    """Adult (45,222 sparse records) or 70,000 random records of KDD Cup 1999."""
    if name == "adult":
        found, title, reg = fetch_adult(preprocessing=preprocessing), "Adult", 1e-3
        X = sp.csr_array(found.data)
        return DataSet(name, title, reg, X, found.target, found.feature_names)
    found = fetch_kddcup99(70_000, random_state=0, preprocessing=preprocessing)
    return DataSet(name, "KDDCup99", 1e-2, found.data, found.target, found.feature_names)


@dataclass(frozen=True)
class Fits:
    """What came of one model on all folds: one mapping per fit, in the order (fold, draw)."""

    fits: list[list[dict[str, Any]]]

    @property
    def errors(self) -> CrossValidation:
        """Test errors, balanced accuracies and areas under the curve, folds times draws."""
        scores = (
            np.array([[fit.get(name) for fit in fold] for fold in self.fits], dtype=float)
            for name in ("error", "balanced", "auc")
        )
        return CrossValidation(*scores)

    def each(self, key: str) -> list[Any]:
        """One number of each fit."""
        return [fit[key] for fold in self.fits for fit in fold]

    @property
    def distinct(self) -> int:
        """Number of distinct vertices selected over all fits."""
        return len({column for columns in self.each("selected") for column in columns})


def measure(
    data: DataSet,
    models: dict[str, Model],
    *,
    draws: int = 1,
    folds: int = 10,
    only: int | None = None,
) -> dict[str, Fits]:
    """Train each model on the same folds, `draws` times where it is noisy."""
    finished = store(f"thesis_{data.name}")
    found: dict[str, Fits] = {name: Fits([]) for name in models}
    splits = list(KFold(folds, shuffle=True, random_state=0).split(data.y))[:only]
    # The thesis has delta = 1/n.
    with warnings.catch_warnings(action="ignore", category=NotPrivateWarning):
        for fold, (train, test) in enumerate(tqdm(splits, desc=data.title, unit="fold")):
            parts = None
            for name, model in models.items():
                estimator = model(len(train))
                noisy = "random_state" in estimator.get_params()
                noisy = noisy and getattr(estimator, "eps", None) != np.inf
                row = []
                for draw in range(draws if noisy else 1):
                    settings = _settings(estimator, fold, folds, draw)
                    if settings not in finished:
                        parts = parts or (data.X[train], data.y[train], data.X[test], data.y[test])
                        finished.add(settings, _fit(estimator, parts, fold, draw))
                    row.append(finished[settings])
                found[name].fits.append(row)
    return found


def cpu_seconds(found: dict[str, Fits]) -> float:
    """CPU time of all fits."""
    return float(sum(sum(fits.each("seconds")) for fits in found.values()))


def _fit(estimator: Any, parts: tuple[Any, ...], fold: int, draw: int) -> dict[str, Any]:
    X, y, X_test, y_test = parts
    if "random_state" in estimator.get_params():
        seed = np.random.SeedSequence([fold, draw]).generate_state(1)[0]
        estimator.set_params(random_state=int(seed))
    start = time.process_time()
    estimator.fit(X, y)
    result = {"seconds": time.process_time() - start, **held_out_scores(estimator, X_test, y_test)}
    if hasattr(estimator, "solution_"):
        selected, times = np.unique(estimator.solution_.trace["selected"], return_counts=True)
        result |= {
            "radius": estimator.radius_,
            "rounds": estimator.solution_.iterations,
            "selected": selected.tolist() if len(selected) < 1000 else [],
            "times": times.tolist() if len(selected) < 1000 else [],
            "distinct": len(selected),
            "slack_share": float(times[selected >= 2 * X.shape[1]].sum() / times.sum()),
        }
    return result


def _settings(estimator: Any, fold: int, folds: int, draw: int) -> dict[str, Any]:
    unsaid = ("random_state", "budget", "classes")
    parameters = {k: v for k, v in estimator.get_params().items() if k not in unsaid}
    settings = {"model": type(estimator).__name__, "parameters": parameters}
    return settings | {"fold": [fold, folds], "draw": draw}
