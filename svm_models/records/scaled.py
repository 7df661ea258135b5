"""Private records made ready, each by itself: none longer than its bound, each times its label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.float_errors import unnoticed
from svm_models.parameters import FloatArray

_BLOCK = 4096


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
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    if np.any((rows[1:] == rows[:-1]) & (columns[1:] <= columns[:-1])):
        # Stable: entries of a cell are summed in the order in which they are stored.
        order = np.lexsort((columns, rows))
        rows, columns, values = rows[order], columns[order], values[order]
        first = np.flatnonzero(
            np.append(True, (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]))
        )
        with unnoticed():
            rows, columns, values = rows[first], columns[first], np.add.reduceat(values, first)
    starts = np.searchsorted(rows, np.arange(X.shape[0] + 1)).astype(X.indptr.dtype)
    return sp.csr_array((values, columns.copy(), starts), shape=X.shape)


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
