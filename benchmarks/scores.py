"""Scores of classifiers on held-out records, and a file of finished measurements.

Nothing here is private.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from privlp.checks import FloatArray


@dataclass(frozen=True)
class CrossValidation:
    """Test errors of one classifier. **Not private**: computed from held-out records without noise.

    Where one class is rare, a classifier that never names it has a small error. Balanced accuracy
    and the area under the curve tell it from one that finds the class.

    Attributes
    ----------
    errors : (folds, repeats) array
        Share of test records classified wrongly.
    balanced : (folds, repeats) array, optional
        Balanced accuracy: the mean over the classes of the share that is found; 1/2 by guessing.
    auc : (folds, repeats) array, optional
        Area under the receiver operating characteristic: the share of pairs, a positive and a
        negative record, that the decisions order rightly; 1/2 by guessing. NaN without decisions,
        or where a test fold has one class only.
    """

    errors: FloatArray
    balanced: FloatArray | None = None
    auc: FloatArray | None = None

    @property
    def mean(self) -> float:
        """Mean over folds and repeats."""
        return float(self.errors.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean over folds, each fold averaged over its repeats."""
        return _standard_error(self.errors)

    def said(self, score: str = "errors") -> str:
        """Mean and standard error of a score, by its name; a dash without it."""
        numbers = getattr(self, score)
        if numbers is None or np.isnan(numbers).any():
            return "–"
        return f"{numbers.mean():.4f} ± {_standard_error(numbers):.4f}"

    def __str__(self) -> str:
        return self.said()


def _standard_error(numbers: FloatArray) -> float:
    folds = numbers.mean(axis=1)
    return float(folds.std(ddof=1) / np.sqrt(len(folds)))


def held_out_scores(fitted: Any, X: Any, y: npt.ArrayLike) -> dict[str, float | None]:
    """Error, balanced accuracy and area under the curve on held-out records. **Not private**."""
    y = np.asarray(y)
    decided = fitted.decision_function(X) if hasattr(fitted, "decision_function") else None
    positive = y == fitted.classes_[1]
    return _scores(fitted.predict(X) == y, y, positive, decided)


def scores_of_decisions(decisions: FloatArray, positive: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """The same scores for decisions, positive for a positive record. **Not private**."""
    return _scores((decisions > 0) == positive, positive, positive, decisions)


def _scores(
    right: npt.NDArray[np.bool_],
    y: npt.NDArray[Any],
    positive: npt.NDArray[np.bool_],
    decisions: FloatArray | None,
) -> dict[str, float | None]:
    labels, auc = np.unique(y), None
    if decisions is not None and len(labels) == 2:
        auc = float(roc_auc_score(positive, decisions))
    return {
        "error": float(np.mean(~right)),
        "balanced": float(np.mean([right[y == label].mean() for label in labels])),
        "auc": auc,
    }


class ResultStore:
    """A file of finished measurements, one JSON line each.

    An interrupted run goes on where it stopped. Several processes may add to one file. What another
    process added is seen by whoever opens it afterwards. A line cut short counts as
    not done.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._known = dict(self._lines())

    def __contains__(self, settings: dict[str, Any]) -> bool:
        return _key(settings) in self._known

    def __getitem__(self, settings: dict[str, Any]) -> Any:
        return self._known[_key(settings)]

    def add(self, settings: dict[str, Any], result: Any) -> None:
        """Keep a finished measurement; an OSError if the file cannot take it."""
        key, path = _key(settings), os.fspath(self._path)
        line = json.dumps([key, result]).encode() + b"\n"
        try:
            # One call writes a line, so those of several processes do not mix.
            with self._path.open("ab+", buffering=0) as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else b"\n" + line  # it was cut short
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        self._known[key] = result

    def _lines(self) -> Iterator[tuple[str, Any]]:
        exists = self._path.exists()
        for line in self._path.read_text(errors="replace").splitlines() if exists else ():
            try:
                key, result = json.loads(line)
            except (ValueError, TypeError):
                continue
            yield key, result


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
