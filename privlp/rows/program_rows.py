"""The private rows of a linear program, as ``<=`` rows in the variables of the standard form."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.standard_form import StandardForm, row_by_row
from privlp.relations.private_numbers import PrivateNumbers, ProgramNumbers
from privlp.rows.in_memory import InMemory
from privlp.rows.parts import DensePart, Part, SparsePart, csr_of, rows_of, rows_of_a_part, slices

FloatArray = npt.NDArray[np.float64]

# Entries whose columns are looked up at a time.
_AT_A_TIME = 2**15


class ProgramRows(InMemory["RowBlock"]):
    """The private rows of a program in memory.

    Parameters
    ----------
    form : StandardForm
        The program, private numbers included.
    """

    def __init__(self, form: StandardForm) -> None:
        super().__init__(RowBlock(form))
        self._form = form

    def values(self, numbers: PrivateNumbers) -> FloatArray:
        """The private numbers, (m,), for a release of all of them."""
        return ProgramNumbers.of(self._form).values(numbers)


class RowBlock:
    """The private rows A' u <= b' of a standard form: a matrix (m, d') and right-hand sides (m,).

    The matrix is the user's A seen through index lists. In the usual case, where every row is
    private and has an upper side only, no index list is needed.
    """

    def __init__(self, form: StandardForm, *, first: int = 0) -> None:
        n, self.first = form.lp.shape[0], first
        self.lp, self.rhs = form.lp, form.rhs
        self.price = None
        if form.lp.penalty is not None:
            self.price = form.lp.prices_of_sides()[form.row, (form.row_sign > 0).astype(int)]
        self._A = form.lp.A
        self.form = form
        self._sparse = form.lp.is_sparse
        self._plain = (
            len(form.row) == n
            and bool((form.row_sign > 0).all())
            and bool((form.row == np.arange(n)).all())
        )
        self.shape = (len(form.row), len(form.column))

    @cached_property
    def _columns(self) -> Any:
        """A sparse matrix by columns, for those who read columns."""
        return sp.csc_array(self._A)

    def parts(
        self, factors: FloatArray, columns: npt.NDArray[np.intp] | None = None
    ) -> Iterator[tuple[slice, Part]]:
        """A' diag(factors), a few rows at a time, and the place of these rows."""
        A = sp.csr_array(self._A) if self._sparse else self._A
        entries = A.nnz if self._sparse else A.size
        wanted = rows_of_a_part(A.shape, entries, sparse=self._sparse, private=self.shape[0])
        if columns is None:
            columns, factors = self.form.column, self.form.column_sign * factors
        every_column = np.array_equal(columns, np.arange(A.shape[1]))
        for rows in slices(self.shape[0], wanted):
            entries = rows_of(A, rows) if self._plain else A[self.form.row[rows]]
            if not every_column:
                entries = entries[:, columns]
            signs = None if self._plain else self.form.row_sign[rows].astype(np.float64)
            yield rows, (_sparse_part if self._sparse else _dense_part)(entries, factors, signs)

    def transposed_times(self, z: FloatArray) -> FloatArray:
        """A'^T z, shape (d',)."""
        if not self._plain:
            scattered = np.zeros(self._A.shape[0])
            np.add.at(scattered, self.form.row, self.form.row_sign * z)
            z = scattered
        return self.form.column_sign * (self._A.T @ z)[self.form.column]

    def add_column(self, j: int, factor: float, scale: FloatArray, out: FloatArray) -> None:
        """Add factor * scale * A'[:, j] to `out`, touching only stored entries of a sparse A."""
        factor = factor * self.form.column_sign[j]
        k = self.form.column[j]
        if self._plain and self._sparse:
            A = sp.csr_array(self._A)
            places = np.flatnonzero(A.indices == k)
            stored = np.searchsorted(A.indptr, places, side="right") - 1
            out[stored] += factor * scale[stored] * A.data[places]
        else:
            out += factor * scale * self.column(j, signed=False)

    def column(self, j: int, *, signed: bool = True) -> FloatArray:
        """A'[:, j] as a dense vector of length m (a view where it can be)."""
        k = self.form.column[j]
        if self._sparse:
            entries: Any = np.zeros(self._A.shape[0])
            at, values = _stored(self._columns, k)
            entries[at] = values
        else:
            entries = self._A[:, k]
        if not self._plain:
            entries = self.form.row_sign * entries[self.form.row]
        return entries * self.form.column_sign[j] if signed else entries

    def user_column(self, j: int) -> FloatArray:
        """The private rows' entries of the user's variable j, (m,), without signs."""
        if not self._sparse:
            return np.asarray(self._A[self.form.row, j])
        entries = np.zeros(self._A.shape[0])
        at, values = _stored(self._columns, j)
        entries[at] = values
        return entries[self.form.row]

    def extremes(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest entry of each row of A' diag(factors), implicit zeros included."""
        n = self._A.shape[0]
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        stored = np.zeros(n, dtype=np.int64)
        for j, (k, sign) in enumerate(zip(self.form.column, self.form.column_sign, strict=True)):
            at: Any = slice(None)
            if self._sparse:
                at, entries = _stored(self._columns, k)
                stored[at] += 1
            else:
                entries = self._A[:, k]
            values = entries * (sign * factors[j])
            low[at] = np.minimum(low[at], values)
            high[at] = np.maximum(high[at], values)
        if self._sparse:
            has_zero = stored < self.shape[1]
            low[has_zero] = np.minimum(low[has_zero], 0.0)
            high[has_zero] = np.maximum(high[has_zero], 0.0)
        if self._plain:
            return low, high
        low, high, above = low[self.form.row], high[self.form.row], self.form.row_sign > 0
        return np.where(above, low, -high), np.where(above, high, -low)

    def __matmul__(self, u: FloatArray) -> FloatArray:
        """A' u, shape (m,), with the same order of additions in every row."""
        x = np.zeros(self._A.shape[1])
        np.add.at(x, self.form.column, self.form.column_sign * u)
        return self.form.row_sign * row_by_row(self._A, x)[self.form.row]


def _stored(columns: sp.csc_array, k: int) -> tuple[Any, FloatArray]:
    """Where a column has stored entries, and these."""
    span = slice(columns.indptr[k], columns.indptr[k + 1])
    return columns.indices[span], columns.data[span]


def _dense_part(entries: Any, factors: FloatArray, signs: FloatArray | None) -> DensePart:
    """Dense rows, each entry times the factor of its column and the sign of its row."""
    found = np.multiply(entries, factors, order="C", dtype=np.float64)
    return DensePart(found if signs is None else np.multiply(found, signs[:, None], out=found))


def _sparse_part(entries: Any, factors: FloatArray, signs: FloatArray | None) -> SparsePart:
    """Sparse rows, likewise."""
    data, places = np.empty(len(entries.data)), entries.indices
    for start in range(0, len(data), _AT_A_TIME):  # NumPy makes wider integers of places
        few = slice(start, start + _AT_A_TIME)
        np.take(factors, places[few], out=data[few], mode="clip")
    data *= entries.data
    if signs is not None:
        data *= np.repeat(signs, np.diff(entries.indptr))
    return SparsePart(csr_of(data, places, entries.indptr, entries.shape))
