"""Records of a regression in public units: what is declared bounds them, nothing is read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import InvalidParameterError
from privlp.checks import as_floats
from svm_models.parameters import LEAST_SIZE, MOST_SIZE, norm_within
from svm_models.records import within_norm

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """Declared ranges of features and of y, and the way back from coefficients in their units.

    Attributes
    ----------
    centre, half : (p,)
        x_j is counted as (x_j - centre_j) / half_j.
    middle, reach : float
        y is counted as (y - middle) / reach: between -1 and 1.
    data_norm : float or None
        Bound on the norm of a record, where features have no ranges of their own.
    """

    centre: FloatArray
    half: FloatArray
    middle: float
    reach: float
    data_norm: float | None

    @classmethod
    def declared(
        cls, p: int, X_bounds: Any, data_norm: Any, y_bounds: Any, *, constant: bool
    ) -> Units:
        """From the parameters of an estimator; without a constant nothing is centred.

        Raises
        ------
        InvalidParameterError
            If a bound is missing, is no range, or is declared twice.
        """
        middle, reach = _of_y(y_bounds, constant=constant)
        if (X_bounds is None) == (data_norm is None):
            raise InvalidParameterError(
                "Declare the range of each feature by X_bounds=(low, high), or the Euclidean norm"
                " of a record by data_norm; one of the two. They are public, and never read from"
                " the data.",
                parameter="X_bounds",
            )
        if data_norm is not None:
            norm = norm_within(data_norm)
            return cls(np.zeros(p), np.full(p, norm), middle, reach, norm)
        low, high = _of_features(X_bounds, p)
        centre = (low + high) / 2 if constant else np.zeros(p)
        half = (high - low) / 2 if constant else np.maximum(np.abs(low), np.abs(high))
        return cls(centre, half, middle, reach, None)

    def features(self, X: Any) -> FloatArray:
        """Features in these units, those beyond their bounds moved to them; a dense copy.

        What becomes of a record depends on that record alone.
        """
        if self.data_norm is not None:
            X = within_norm(X, self.data_norm)
        X = X.toarray() if sp.issparse(X) else np.array(X, dtype=float, order="C")
        found = (X - self.centre) / self.half
        if self.data_norm is None:
            found = _within_one(found)
        return np.asarray(found)

    def targets(self, y: FloatArray) -> FloatArray:
        """Y in these units, between -1 and 1."""
        return _within_one((y - self.middle) / self.reach)

    def coefficients(self, w: FloatArray, *, constant: bool) -> tuple[FloatArray, FloatArray]:
        """Coefficients and intercepts in the user's units, from (K, p) in these."""
        coef = self.reach * w[:, int(constant) :] / self.half
        intercept = np.full(len(w), self.middle)
        if constant:
            intercept = self.middle + self.reach * w[:, 0] - coef @ self.centre
        return coef, intercept


def _within_one(numbers: FloatArray) -> FloatArray:
    """Numbers between -1 and 1, each by itself; what is none is 0."""
    return np.clip(np.where(np.isnan(numbers), 0.0, numbers), -1.0, 1.0)


def _pair(bounds: Any, name: str) -> tuple[FloatArray, FloatArray]:
    found: list[FloatArray] = []
    with suppress(TypeError, ValueError):
        found = [as_floats(side, name) for side in bounds]
    if len(found) != 2:
        raise InvalidParameterError(
            f"{name} must be a pair (low, high) of public numbers.", parameter=name
        )
    low, high = found
    if not (np.all(np.abs(low) <= MOST_SIZE) and np.all(np.abs(high) <= MOST_SIZE)):
        raise InvalidParameterError(
            f"{name} must be finite numbers of at most {MOST_SIZE:g} in size.", parameter=name
        )
    if low.ndim < 2 and high.ndim < 2 and not np.all(high - low >= LEAST_SIZE):
        raise InvalidParameterError(f"{name}: low must be below high.", parameter=name)
    return low, high


def _of_y(bounds: Any, *, constant: bool) -> tuple[float, float]:
    """Middle and reach of y."""
    if bounds is None:
        raise InvalidParameterError(
            "y_bounds is missing: declare (low, high), a public range of y. Values beyond it are"
            " moved to it, and how many is not told.",
            parameter="y_bounds",
        )
    low, high = _pair(bounds, "y_bounds")
    if low.ndim or high.ndim:
        raise InvalidParameterError("y_bounds must be two numbers.", parameter="y_bounds")
    if constant:
        return float(low + high) / 2, float(high - low) / 2
    return 0.0, float(max(abs(low), abs(high)))


def _of_features(bounds: Any, p: int) -> tuple[FloatArray, FloatArray]:
    low, high = _pair(bounds, "X_bounds")
    if low.shape not in ((), (p,)) or high.shape not in ((), (p,)):
        raise InvalidParameterError(
            f"X_bounds must be two numbers, or two arrays of {p}: one entry for each feature.",
            parameter="X_bounds",
        )
    return np.broadcast_to(low, (p,)), np.broadcast_to(high, (p,))
