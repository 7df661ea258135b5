"""Private records made ready, each by itself: none longer than its bound, each times its label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.quiet import unnoticed
from privlp.sparse import csr_of
from svm_models.parameters import FloatArray

_BLOCK = 4096


#: The constant for an intercept, beside `data_norm`. Chosen by trial on made-up records: a larger
#: one adds noise everywhere, a smaller one leaves the intercept to the regularisation.
_CONSTANT = 0.5


@dataclass(frozen=True, eq=False)
class Preparation:
    """What becomes of a record x, by itself: (x, constant), of norm `norm` at most.

    With `ranges` of its entries, x is moved into them first, and counted from -1 to 1; without a
    constant nothing is centred.
    """

    constant: float
    norm: float
    ranges: tuple[FloatArray, FloatArray] | None

    @classmethod
    def of(cls, data_norm: float, ranges: Any, *, intercept: bool) -> Preparation:
        """For records of norm `data_norm`; none of them is scaled down for its constant."""
        constant = _CONSTANT * data_norm * intercept
        return cls(constant, math.hypot(data_norm, constant), ranges)

    @cached_property
    def _units(self) -> tuple[FloatArray, FloatArray]:
        """What is taken from entries, and what they are then divided by."""
        low, high = self.ranges or (-np.ones(1), np.ones(1))
        if self.constant:
            return (low + high) / 2, (high - low) / 2
        return np.zeros(len(low)), np.maximum(np.abs(low), np.abs(high))

    def __call__(self, X: Any) -> Any:
        """Some records, made ready."""
        X = X if self.ranges is None else self._scaled(X, *self.ranges)
        return within_norm(_with_constant(X, self.constant) if self.constant else X, self.norm)

    def _scaled(self, X: Any, low: FloatArray, high: FloatArray) -> Any:
        """A new array of records between -1 and 1; sparse if nothing is centred."""
        X, (centre, half) = own_rows(X), self._units
        if sp.issparse(X) and (centre.any() or (low > 0).any() or (high < 0).any()):
            X = X.toarray()
        at = X.indices if sp.issparse(X) else slice(None)
        values = X.data if sp.issparse(X) else X
        np.clip(values, low[at], high[at], out=values)
        values -= centre[at]
        values /= half[at]
        return X

    def moved(self, X: Any) -> Any:
        """Records moved into the ranges of their entries, in the units of the file."""
        return X if self.ranges is None else moved_into(X, *self.ranges)

    def weights(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Weights of x, and the intercept."""
        coef, intercept = (w[:-1], float(w[-1]) * self.constant) if self.constant else (w, 0.0)
        if self.ranges is None:
            return coef, intercept
        centre, half = self._units
        return coef / half, intercept - float((coef / half) @ centre)

    def without_intercept(self, w: FloatArray) -> FloatArray:
        """Weights with which the constant counts for nothing."""
        return np.append(w[:-1], 0.0) if self.constant else w


def moved_into(X: Any, low: FloatArray, high: FloatArray) -> Any:
    """Records with entries moved into their ranges; X itself if it is an array and all are."""
    if sp.issparse(X):
        if (low > 0).any() or (high < 0).any():
            return np.clip(X.toarray(), low, high)
        X = own_rows(X)
        np.clip(X.data, low[X.indices], high[X.indices], out=X.data)
        return X
    if np.all(X.min(axis=0) >= low) and np.all(X.max(axis=0) <= high):
        return X
    return np.clip(X, low, high)


def _with_constant(X: Any, constant: float) -> Any:
    """A new array with a last column that is constant."""
    n, p = X.shape
    if not sp.issparse(X):
        found = np.empty((n, p + 1))
        found[:, :p], found[:, p] = X, constant
        return found
    X = own_rows(X)
    starts = X.indptr + np.arange(n + 1, dtype=X.indptr.dtype)
    data, places = np.full(starts[-1], constant), np.full(starts[-1], p, dtype=X.indices.dtype)
    others = np.ones(starts[-1], dtype=bool)
    others[starts[1:] - 1] = False
    data[others], places[others] = X.data, X.indices
    return csr_of(data, places, starts, (n, p + 1))


def within_norm(X: Any, data_norm: float) -> Any:
    """A new array in which longer rows are scaled down to `data_norm`, each by itself.

    Entries that are not finite become zero; duplicates of a sparse array are summed first.

    Every row that comes out has a Euclidean norm of at most `data_norm`, in real arithmetic.
    *Derivation*: rows are measured after division by a power of two, which is exact, so that no
    square overflows. With u = 2^-53, the computed norm of p numbers is off by less than (p + 3) u,
    relatively; so is one that was scaled, up to 3 u more. The allowance of (p + 8) u for the
    comparison, and of twice as much for scaling, covers both.
    """
    X = own_rows(X)
    values = X.data if sp.issparse(X) else X
    with unnoticed():
        values[~np.isfinite(values)] = 0.0
        exponents = np.frexp(_of_each_row(np.maximum, np.abs(values), X))[1]
        shape = np.ldexp(values, _along_rows(-exponents, X))
        norms = np.sqrt(_of_each_row(np.add, np.square(shape), X))
        allowance = (X.shape[1] + 8) * 2.0**-53
        long = norms * (1 + allowance) > np.ldexp(data_norm, -exponents)
        shape *= _along_rows(data_norm * (1 - 2 * allowance) / np.where(long, norms, 1.0), X)
    np.copyto(values, shape, where=_along_rows(long, X))
    return X


def own_rows(X: Any) -> Any:
    """A copy of X: in C order, or a CSR array with columns in order and one entry for each cell."""
    if not sp.issparse(X):
        return np.array(X, dtype=float, order="C")
    X = sp.csr_array(X)
    count = X.indptr[-1]
    columns, values = X.indices[:count], np.array(X.data[:count], dtype=float)
    falls = columns[1:] <= columns[:-1]
    begins = X.indptr[1:-1]
    falls[begins[(begins > 0) & (begins < count)] - 1] = False  # in another row
    if not falls.any():
        return sp.csr_array((values, columns.copy(), X.indptr.copy()), shape=X.shape)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # Stable: entries of a cell are summed in the order in which they are stored.
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])))
    with unnoticed():
        rows, columns, values = rows[first], columns[first], np.add.reduceat(values, first)
    starts = np.searchsorted(rows, np.arange(X.shape[0] + 1)).astype(X.indptr.dtype)
    return sp.csr_array((values, columns, starts), shape=X.shape)


def _of_each_row(ufunc: np.ufunc, values: FloatArray, X: Any) -> FloatArray:
    """A maximum or a sum over each row of values laid out as those of X; 0 for an empty row."""
    if not sp.issparse(X):
        return np.asarray(ufunc.reduce(values, axis=1))
    found, filled = np.zeros(X.shape[0]), np.flatnonzero(np.diff(X.indptr))
    if filled.size:
        found[filled] = ufunc.reduceat(values, X.indptr[filled])
    return found


def _along_rows(numbers: npt.NDArray[Any], X: Any) -> npt.NDArray[Any]:
    """One number a row, for each entry of the row."""
    return np.repeat(numbers, np.diff(X.indptr)) if sp.issparse(X) else numbers[:, None]


def signed(X: Any, signs: FloatArray) -> Any:
    """Rows y_i x_i."""
    if sp.issparse(X):
        return sp.csr_array(sp.diags_array(signs) @ sp.csr_array(X))
    return X * signs[:, None]


def decisions_of(X: Any, w: FloatArray) -> FloatArray:
    """x·w of each record, to the last bit a function of that record and of w alone."""
    if sp.issparse(X):
        return np.asarray(X @ w)
    found = [(X[i : i + _BLOCK] * w).sum(axis=1) for i in range(0, X.shape[0], _BLOCK)]
    return np.concatenate([np.zeros(0), *found])
