"""Private records of a regression, of which only exact sums come back.

A record adds a vector of integers of bounded norm, in units of a public power of two, and no
partial sum exceeds 2^53: a sum depends on no order, and no record's part on another record.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp import InvalidParameterError
from privlp.checks import as_floats
from privlp.problem.standard_form import row_by_row
from privlp.rows.grid import bits_of
from svm_models.parameters import LEAST_SIZE, MOST_SIZE, FloatArray, norm_within
from svm_models.records import within_norm
from svm_models.regression.losses import ResidualLoss

#: Entries a_i, (k, p), and numbers y_i, (k,).
Pairs = tuple[FloatArray, FloatArray]

_DOUBLE = 53
#: Binary digits of a compared number.
_BITS = 20
# Norms are computed within this share.
_WITHIN = 1e-12
_SMALLEST = 1e-150


def bits_for(most: int) -> int:
    """Public bits of entries and slopes: `most` terms of size 2^(2 bits) add up to 2^52 at most."""
    return max((_DOUBLE - 1 - bits_of(most)) // 2, 1)


def products(A: FloatArray, matrix: FloatArray) -> FloatArray:
    """A @ matrix, each row computed from itself alone."""
    return np.column_stack([row_by_row(A, column) for column in matrix.T])


def on_grid(G: FloatArray, bits: int) -> FloatArray:
    """Rows of norm 1 at most as integers of norm 2^bits at most, in real arithmetic.

    Rows are shortened by what rounding may add; one beyond the bound, or no number, becomes 0.
    """
    units = 2.0**bits
    rows = np.rint(G * max(units * (1 - _WITHIN) - math.sqrt(G.shape[1]), 0.0))
    rows[~(np.square(rows).sum(axis=1) <= units**2)] = 0.0
    return rows


def second_moments(pairs: Pairs, whiten: FloatArray, bound: float, most: int) -> FloatArray:
    """Upper triangle of sum_i g_i g_i^T, off the diagonal times sqrt(2).

    z_i = whiten a_i, g_i = z_i / max(|z_i|, bound). A record's part has norm |g_i|^2 <= 1, but for
    rounding products by sqrt(2).
    """
    Z = products(pairs[0], whiten)
    bits = bits_for(most)
    rows = on_grid(Z / np.maximum(_norms(Z), max(bound, _SMALLEST))[:, None], bits)
    upper = np.triu_indices(rows.shape[1])
    found = (rows.T @ rows)[upper] / 4.0**bits
    return np.asarray(found * np.where(upper[0] == upper[1], 1.0, math.sqrt(2)))


class WhitenedPairs:
    """Records z_i = whiten a_i, alike in all directions; `whiten` is public or released."""

    def __init__(self, pairs: Pairs, whiten: FloatArray) -> None:
        self._Z, self._y = products(pairs[0], whiten), pairs[1]
        self._norm = _norms(self._Z)
        self._rows, self._bits = np.zeros_like(self._Z), 0

    def longer(self, level: float, share: float) -> float:
        """sum_i (1[|z_i| > level] - share): 0 where that share of records is longer."""
        return float(np.count_nonzero(self._norm > level) - share * len(self._norm))

    def shorten(self, bound: float, most: int) -> None:
        """Prepare sums of z_i min(1, bound / |z_i|) / bound, on the public grid."""
        short = self._Z / np.maximum(self._norm, bound)[:, None]
        self._bits = bits_for(most)
        self._rows = on_grid(short, self._bits)

    def larger(self, point: FloatArray, level: float, share: float) -> float:
        """sum_i (1[|y_i - z_i·point| > level] - share)."""
        residuals = self._residuals(point[None])[:, 0]
        return float(np.count_nonzero(np.abs(residuals) > level) - share * len(residuals))

    def above(self, points: FloatArray, levels: FloatArray, shares: FloatArray) -> FloatArray:
        """sum_i (1[y_i - z_i·point_k > level_k] - share_k), (K,); one point may serve for all."""
        residuals = self._residuals(points)
        return np.asarray((residuals > levels).sum(axis=0) - shares * len(residuals))

    def gradient(self, points: FloatArray, loss: ResidualLoss, width: FloatArray) -> FloatArray:
        """sum_i s_ik z_i min(1, bound / |z_i|) / bound, (K, p): exact.

        Slopes s_ik, less their centre, are rounded to the grid; one that is no number is 0.
        """
        slopes = np.rint(loss.slopes(self._residuals(points), width) * 2.0**self._bits)
        slopes[np.isnan(slopes)] = 0.0
        return np.asarray((slopes.T @ self._rows) / 4.0**self._bits)

    def lost(
        self, points: FloatArray, constant: FloatArray, limit: FloatArray, loss: ResidualLoss
    ) -> FloatArray:
        """What each fit, within a limit of its constant, loses more than the constant, (K,)."""
        moved = products(self._Z, points.T) - constant
        return lost(self._y, moved, constant, limit, loss)

    def whole(self) -> FloatArray:
        """sum_i z_i min(1, bound / |z_i|) / bound, (p,): exact."""
        return np.asarray(self._rows.sum(axis=0) / 2.0**self._bits)

    def _residuals(self, points: FloatArray) -> FloatArray:
        """One column for each point."""
        return np.asarray(self._y[:, None] - products(self._Z, points.T))


def _norms(Z: FloatArray) -> FloatArray:
    """Euclidean norms, each computed from its row alone."""
    return np.asarray(np.sqrt(np.square(Z).sum(axis=1)))


def pairs_of(X: FloatArray, y: FloatArray, *, constant: bool) -> Any:
    """Records as pairs, with a constant as their first entry or without."""
    A = np.column_stack([np.ones(len(y)), X]) if constant else X
    return np.ascontiguousarray(A), np.ascontiguousarray(y)


@dataclass(frozen=True)
class Units:
    """Declared ranges of features and of y, and the way back from coefficients in their units.

    x_j is counted as (x_j - centre_j) / half_j, y as (y - middle) / reach: between -1 and 1.
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
        """From an estimator's parameters, or refused; without a constant nothing is centred."""
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
        """A dense copy in these units, each record by itself, moved to the bounds if beyond."""
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


def above(pairs: tuple[FloatArray, FloatArray], levels: FloatArray, shares: FloatArray) -> Any:
    """sum_i (1[y_i > level_k] - share_k), (K,)."""
    y = pairs[1]
    return (y[:, None] > levels).sum(axis=0) - shares * len(y)


def lost(
    y: FloatArray, moved: FloatArray, constant: FloatArray, limit: FloatArray, loss: ResidualLoss
) -> FloatArray:
    """sum_i of what each fit loses more than its constant on record i, in units of the limit, (K,).

    `moved`, (n, K), is within the limit of the constant, and a loss is no steeper than its steepest
    slope: each term is within -1 and 1, rounded to a multiple of 2^-20, so that sums are exact.
    """
    residuals = y[:, None] - constant
    moved = np.clip(moved, -limit, limit)
    more = (loss.values(residuals - moved) - loss.values(residuals)) / (loss.slope * limit)
    found = np.rint(np.clip(more, -1.0, 1.0) * 2.0**_BITS)
    found[np.isnan(found)] = 0.0
    return np.asarray(found.sum(axis=0) / 2.0**_BITS)
