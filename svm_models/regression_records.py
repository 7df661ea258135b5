"""Private records of a regression, as its descents see them: only sums over records come back.

A record is a vector a_i, a constant among its entries, and a number y_i. All sums are exact:
whatever a record contributes is a vector of integers in units of a public power of two, of a
bounded norm, and no partial sum exceeds 2^53. So a sum depends on no order, and no record's part on
another record.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.problem.standard_form import row_by_row
from privlp.rows.grid import bits_of
from svm_models import fallback
from svm_models.regression_losses import ResidualLoss

FloatArray = npt.NDArray[np.float64]
#: Entries a_i, (k, p), and numbers y_i, (k,).
Pairs = tuple[FloatArray, FloatArray]

_DOUBLE = 53
# Norms are computed within this share.
_WITHIN = 1e-12
_SMALLEST = 1e-150


def bits_for(most: int) -> int:
    """Bits of entries, and of slopes, for exact sums over at most so many records: public.

    A term is at most 2^(2 bits) in size, and most of them at most 2^52.

    Examples
    --------
    >>> from svm_models.regression_records import bits_for
    >>> bits_for(5_000), bits_for(10**6)
    (19, 16)
    """
    return max((_DOUBLE - 1 - bits_of(most)) // 2, 1)


def products(A: FloatArray, matrix: FloatArray) -> FloatArray:
    """A @ matrix, each row computed from itself alone."""
    return np.column_stack([row_by_row(A, column) for column in matrix.T])


def on_grid(G: FloatArray, bits: int) -> FloatArray:
    """Rows of norm 1 at most as integers of norm 2^bits at most, in real arithmetic.

    Rows are shortened by what rounding may add. Squares are integers: sums of at most 2^(2 bits)
    are exact, and a row beyond it, or with an entry that is no number, becomes 0.
    """
    units = 2.0**bits
    rows = np.rint(G * max(units * (1 - _WITHIN) - math.sqrt(G.shape[1]), 0.0))
    rows[~(np.square(rows).sum(axis=1) <= units**2)] = 0.0
    return rows


def second_moments(pairs: Pairs, whiten: FloatArray, bound: float, most: int) -> FloatArray:
    """Upper triangle of sum_i g_i g_i^T; off the diagonal times sqrt(2).

    g_i = z_i / max(|z_i|, bound), z_i = whiten a_i: of norm 1 for records beyond the bound. So a
    record's part has the Euclidean norm |g_i|^2 <= 1, but for a rounding of the products by
    sqrt(2).
    """
    Z = products(pairs[0], whiten)
    bits = bits_for(most)
    rows = on_grid(Z / np.maximum(_norms(Z), max(bound, _SMALLEST))[:, None], bits)
    upper = np.triu_indices(rows.shape[1])
    found = (rows.T @ rows)[upper] / 4.0**bits
    return np.asarray(found * np.where(upper[0] == upper[1], 1.0, math.sqrt(2)))


class WhitenedPairs:
    """Records in coordinates in which they are alike in all directions: z_i = whiten a_i.

    Parameters
    ----------
    pairs : (k, p) array and (k,) array
    whiten : (p, p) array
        Public or released.
    """

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

        s_ik is the slope of loss k at y_i - z_i·point_k, less its centre, rounded to the grid: by
        half a unit at most. A slope that is no number is 0, in its own record.
        """
        slopes = np.rint(loss.slopes(self._residuals(points), width) * 2.0**self._bits)
        slopes[np.isnan(slopes)] = 0.0
        return np.asarray((slopes.T @ self._rows) / 4.0**self._bits)

    def lost(
        self, points: FloatArray, constant: FloatArray, limit: FloatArray, loss: ResidualLoss
    ) -> FloatArray:
        """What each fit, within a limit of its constant, loses more than the constant, (K,)."""
        moved = products(self._Z, points.T) - constant
        return fallback.lost(self._y, moved, constant, limit, loss)

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
