"""Private records of a regression, of which only exact sums come back.

Records stand on a public grid (:mod:`svm_models.records.grid`), sparse ones as they were stored. A
record adds a vector of integers of bounded norm, and no partial sum is rounded: a sum depends on no
order, and no record's part on another record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import InvalidParameterError
from privlp.checks import IntArray, require
from privlp.rows import parts as row_parts
from privlp.sparse import csr_of
from svm_models.parameters import FloatArray, norm_within
from svm_models.records import within_norm
from svm_models.records.columns import pair_of, ranges_of
from svm_models.records.grid import (
    SLACK,
    RecordGrid,
    RecordsOnGrid,
    SignedRecords,
    WhitenedRecords,
    Whitening,
)
from svm_models.records.scaled import moved_into, own_rows
from svm_models.regression.losses import ResidualLoss

#: Records m_i on the grid, and numbers y_i, (k,).
Pairs = tuple[RecordsOnGrid, FloatArray]

#: Binary digits of a compared number.
_BITS = 20


def second_moments(pairs: Pairs, whiten: Whitening) -> IntArray:
    """sum_i g_i g_i^T, g_i = W m_i min(1, 1/|W m_i|), in squared units of an entry."""
    return pairs[0].second_moments(whiten)


class MeasuredPairs:
    """Records with the norms of z_i = W m_i; W is public or released."""

    def __init__(self, pairs: Pairs, whiten: Whitening) -> None:
        self.records, self.y = pairs
        self.whiten, self.norms = whiten, self.records.norms(whiten)

    def longer(self, level: float, share: float) -> float:
        """sum_i (1[|z_i| > level] - share): 0 where that share of records is longer."""
        return float(np.count_nonzero(self.norms > level) - share * len(self.norms))


class WhitenedPairs(WhitenedRecords):
    """Records z_i = W m_i, none longer than a bound in sums, which are in its units."""

    def __init__(self, pairs: MeasuredPairs, bound: float) -> None:
        norms = pairs.norms * ((1 + SLACK) / bound)  # sums are rounded twice
        super().__init__(pairs.records, pairs.whiten, norms=norms)
        self._y = pairs.y

    def larger(self, vector: FloatArray, level: float, share: float) -> float:
        """sum_i (1[|y_i - m_i·v| > level] - share)."""

        def count(y: FloatArray, moved: FloatArray) -> FloatArray:
            return (np.abs(y - moved) > level).sum(axis=0)

        return float(self._summed(vector, count)[0] - share * self.count)

    def above(self, vectors: FloatArray, levels: FloatArray, shares: FloatArray) -> FloatArray:
        """sum_i (1[y_i - m_i·v_k > level_k] - share_k), (K,); one vector may serve for all.

        Predictions are put in rising order, and levels rise: a record is above the first j of K.
        """
        found = self._summed(
            vectors, lambda y, moved: (y - np.sort(moved, axis=1) > levels).sum(axis=0)
        )
        return found - shares * self.count

    def lost(
        self, vectors: FloatArray, constant: FloatArray, limit: FloatArray, loss: ResidualLoss
    ) -> FloatArray:
        """What each fit, within a limit of its constant, loses more than the constant, (K,)."""
        return self._summed(
            vectors, lambda y, moved: lost(y[:, 0], moved - constant, constant, limit, loss)
        )

    def gradient(self, vectors: FloatArray, loss: ResidualLoss, width: FloatArray) -> IntArray:
        """sum_i s_ik h_i m_i, (K, d), in units: s_ik are shares of the farthest slope.

        h_i is half of min(1, bound/|z_i|), rounded down, and s_ik h_i rounded to the nearest: never
        beyond h_i. A slope that is no number is 0.
        """
        point, unit = self._grid.vector(vectors)

        def weigh(found: FloatArray, *, rows: slice) -> FloatArray:
            moved = found.reshape(len(found), -1) * unit
            slopes = loss.slopes(self._y[rows, None] - moved, width) / loss.farthest
            weights = np.rint(slopes * self._halves[rows, None])
            weights[np.isnan(weights)] = 0.0
            return weights.reshape(found.shape)

        def add(total: IntArray, _: slice, __: FloatArray, sums: FloatArray) -> None:
            total += sums.astype(np.int64)

        point = point[:, 0] if point.shape[1] == 1 else point
        shape = point.shape[::-1]
        found = row_parts.weighed_once(self._records.parts, shape, point, weigh, add)
        return np.atleast_2d(found)

    def _summed(
        self, vectors: FloatArray, of_some: Callable[[FloatArray, FloatArray], npt.NDArray[Any]]
    ) -> FloatArray:
        """The sum of ``of_some(y, m·v)``, (k, 1) and (k, K), over parts: exact."""
        point, unit = self._grid.vector(vectors)

        def run(parts: Any) -> Any:
            return sum(
                of_some(self._y[rows, None], part.times(point) * unit) for rows, part in parts
            )

        none = np.zeros(point.shape[1])  # the sum over no record
        return np.asarray(sum(row_parts.over(self._records.parts, run), none), dtype=float)


@dataclass(frozen=True)
class Units:
    """Declared ranges of features and of y, and the way back from coefficients in their units."""

    low: FloatArray
    high: FloatArray
    middle: float
    reach: float
    data_norm: float | None
    constant: bool

    @classmethod
    def declared(
        cls, p: int, X_bounds: Any, data_norm: Any, y_bounds: Any, *, constant: bool
    ) -> Units:
        """From an estimator's parameters, or refused; without a constant nothing is centred."""
        middle, reach = _of_y(y_bounds, constant=constant)
        if p == 0:
            return cls(np.zeros(0), np.zeros(0), middle, reach, None, constant)
        if (X_bounds is None) == (data_norm is None):
            raise InvalidParameterError(
                "Declare the range of each feature by X_bounds=(low, high), or the Euclidean norm"
                " of a record by data_norm; one of the two. They are public, and never read from"
                " the data.",
                parameter="X_bounds",
            )
        if data_norm is not None:
            norm = norm_within(data_norm)
            return cls(np.full(p, -norm), np.full(p, norm), middle, reach, norm, constant)
        return cls(*ranges_of(X_bounds, p), middle, reach, None, constant)

    @cached_property
    def centre(self) -> FloatArray:
        """What is taken from features."""
        return (self.low + self.high) / 2 if self.constant else np.zeros(len(self.low))

    @cached_property
    def half(self) -> FloatArray:
        """What features are then divided by."""
        if self.constant:
            return (self.high - self.low) / 2
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @cached_property
    def _zero(self) -> FloatArray:
        """Where bounds move a 0 to."""
        return np.clip(0.0, self.low, self.high)

    @cached_property
    def _size(self) -> FloatArray:
        """How far from there a value may be."""
        return np.maximum(self.high - self._zero, self._zero - self.low)

    @cached_property
    def _offset(self) -> FloatArray:
        """What a_i is where nothing is stored."""
        return np.append(np.ones(int(self.constant)), (self._zero - self.centre) / self.half)

    @cached_property
    def _largest(self) -> float:
        """Bound on the norm of what :meth:`_made` makes of a record."""
        of_features = len(self.half) if self.data_norm is None else 1
        return math.sqrt(int(self._offset.any()) + of_features)

    def moved(self, X: Any) -> Any:
        """Records moved to the bounds, or scaled down, as for a fit; in the user's units."""
        if self.data_norm is not None:
            return within_norm(X, self.data_norm)
        return moved_into(X, self.low, self.high)

    def pairs(self, X: Any, y: FloatArray, grid: RecordGrid) -> Pairs:
        """Records m_i on the grid, of norm 1 at most, and y_i."""
        block = SignedRecords(X, None)
        records = RecordsOnGrid(block, data_norm=self._largest, grid=grid, prepare=self._made)
        return records, self.targets(y)

    def lift(self, grid: RecordGrid) -> FloatArray:
        """The matrix L, (d, p), with a_i = L^T m_i: features in these units, after a constant."""
        first = int(self._offset.any())
        found = np.zeros((first + len(self.half), len(self._offset)))
        found[:first] = self._offset
        found[first:, int(self.constant) :] = np.diag(self._size / self.half)
        return found * (self._largest * grid.of_entry / grid.shorter(len(found)))

    def _made(self, X: Any) -> Any:
        """Some records, each by itself, moved to the bounds if beyond: 0 where nothing is stored.

        Where nothing is stored a_i may have an offset: then 1 is the first entry, its factor.
        """
        X = own_rows(X) if self.data_norm is None else within_norm(X, self.data_norm)
        offset = int(self._offset.any())
        if not sp.issparse(X):
            found = self._from_zero(X, slice(None))
            return np.column_stack([np.ones((len(found), offset)), found])
        starts, places = X.indptr, X.indices
        data = self._from_zero(X.data, places)
        if offset:
            data = np.insert(data, starts[:-1], 1.0)
            places = np.insert(places + 1, starts[:-1], 0)
            starts = starts + np.arange(len(starts), dtype=starts.dtype)
        return csr_of(data, places, starts, (X.shape[0], X.shape[1] + offset))

    def _from_zero(self, values: FloatArray, at: Any) -> FloatArray:
        """How far values of columns are from where a 0 is moved to, in units of the farthest."""
        found = np.clip(values, self.low[at], self.high[at])
        found -= self._zero[at]
        found /= self._size[at]
        found[np.isnan(found)] = 0.0
        return np.clip(found, -1.0, 1.0, out=found)

    def targets(self, y: FloatArray) -> FloatArray:
        """Y in these units, between -1 and 1."""
        found = (y - self.middle) / self.reach
        return np.clip(np.where(np.isnan(found), 0.0, found), -1.0, 1.0)

    def coefficients(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients and intercepts in the user's units, from (K, p) in these."""
        coef = self.reach * w[:, int(self.constant) :] / self.half
        intercept = np.full(len(w), self.middle)
        if self.constant:
            intercept = self.middle + self.reach * w[:, 0] - coef @ self.centre
        return coef, intercept


def _of_y(bounds: Any, *, constant: bool) -> tuple[float, float]:
    """Middle and reach of y."""
    if bounds is None:
        raise InvalidParameterError(
            "y_bounds is missing: declare (low, high), a public range of y. Values beyond it are"
            " moved to it, and how many is not told.",
            parameter="y_bounds",
        )
    low, high = pair_of(bounds, "y_bounds")
    require(low.ndim == high.ndim == 0, "y_bounds must be two numbers.", "y_bounds")
    if constant:
        return float(low + high) / 2, float(high - low) / 2
    return 0.0, float(max(abs(low), abs(high)))


def above(pairs: tuple[Any, FloatArray], levels: FloatArray, shares: FloatArray) -> Any:
    """sum_i (1[y_i > level_k] - share_k), (K,)."""
    y = pairs[1]
    return (y[:, None] > levels).sum(axis=0) - shares * len(y)


def up_to(pairs: tuple[Any, FloatArray], levels: FloatArray) -> Any:
    """How many y_i are beyond k of K rising levels, k = 0, ..., K: (K + 1,)."""
    return np.bincount(np.searchsorted(levels, pairs[1]), minlength=len(levels) + 1).astype(float)


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
