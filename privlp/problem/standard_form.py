"""Standard form: minimise cost·u over u >= 0 with private rows A' u <= b'.

:meth:`StandardForm.of` converts a program; :meth:`StandardForm.undo` converts a solution back. A is
never copied: the standard matrix is the user's A seen through index lists (which row and which
sign, which column and which sign).

Sensitivities are taken after conversion. Both sides of an equality are rows of one record. A shift
by a lower bound moves private entries of A into b'. A free variable shows each private A_ij in two
columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, IntArray
from privlp.problem.data import ProgramData
from privlp.sparse import as_sparse

_ENTRIES_AT_A_TIME = 2**17  # A megabyte in double precision: it stays in cache.
# Rows on which a product is tried, and how long they are at most.
_TRIED, _LONGEST_TRIED = 13, 2**12


@dataclass(frozen=True, eq=False, repr=False)
class StandardForm:
    """A program in u >= 0: x_j is shift_j plus the sum of column_sign * u over its columns."""

    lp: ProgramData
    #: User's row behind each private ``<=`` row, and -1 where it is the lower side, (m,).
    row: IntArray
    row_sign: npt.NDArray[np.int8]
    rhs: FloatArray  #: Right-hand sides b' of the private rows, after the shift, (m,).
    #: User's variable behind each u_j, and its sign. Fixed variables have none, (d',).
    column: IntArray
    column_sign: FloatArray
    shift: FloatArray  #: x at u = 0, (d,).
    cost: FloatArray  #: Objective to minimise; public, (d',).
    upper: FloatArray  #: Upper bounds on u, ``inf`` where absent; public, (d',).

    @classmethod
    def of(cls, lp: ProgramData, *, every_row: bool = False) -> StandardForm:
        """Convert `lp`; with `every_row`, public rows stand among the private ones."""
        lower, upper = lp.bounds.T
        has_lower, has_upper, fixed = np.isfinite(lower), np.isfinite(upper), lower == upper
        shift = np.where(has_lower, lower, np.where(has_upper, upper, 0.0))
        forward = np.flatnonzero((has_lower | ~has_upper) & ~fixed)
        backward = np.flatnonzero(~has_lower & ~fixed)
        column = np.concatenate([forward, backward])
        column_sign = np.concatenate([np.ones(len(forward)), -np.ones(len(backward))])
        wanted = lp.private | every_row
        row, row_sign, rhs = sides_of(lp, wanted)
        if shift.any():
            rhs = rhs - row_sign * row_by_row(lp.A, shift)[row]
        return cls(
            lp=lp,
            row=row,
            row_sign=row_sign,
            rhs=rhs,
            column=column,
            column_sign=column_sign,
            shift=shift,
            cost=lp.sign * column_sign * lp.c[column],
            upper=np.where(has_lower[column], upper[column] - lower[column], np.inf),
        )

    @property
    def n_private(self) -> int:
        """Number m of private ``<=`` rows; itself private under add/remove."""
        return len(self.row)

    @property
    def has_public_rows(self) -> bool:
        """Whether any row that constrains x is public, and not among the rows of this form."""
        return len(self.row) < int(self.lp.sides().sum())

    def cost_of(self, objective: float) -> float:
        """The value of cost·u at which the user's objective is `objective`."""
        return self.lp.sign * (objective - self.lp.objective(self.shift))

    def undo(self, u: FloatArray) -> FloatArray:
        """The user's x behind u."""
        x = self.shift.copy()
        np.add.at(x, self.column, self.column_sign * u)
        return x

    def activity(self, x: FloatArray) -> FloatArray:
        """A x for the user's A and x; the last bits of a row do not depend on other rows."""
        return row_by_row(self.lp.A, x)

    def sides(self, rows: slice) -> FloatArray:
        """Right-hand sides of some private rows in the user's variables, before the shift."""
        row = self.row[rows]
        return np.where(self.row_sign[rows] > 0, self.lp.b[row], -self.lp.row_lower[row])

    def row_norms(self) -> FloatArray:
        """||A_i||_2 of the user's rows; the last bits do not depend on other rows."""
        A = self.lp.A
        if self.lp.is_sparse:
            A = sp.csr_array(A)
            squares = sp.csr_array((A.data.astype(np.float64) ** 2, A.indices, A.indptr), A.shape)
            return np.sqrt(squares @ np.ones(A.shape[1]))
        return np.sqrt(_of_rows(A, lambda rows: _sums(rows, rows)))


def sides_of(
    lp: ProgramData, wanted: BoolArray
) -> tuple[IntArray, npt.NDArray[np.int8], FloatArray]:
    """The ``<=`` rows of some rows: the row behind each, 1 for an upper side, else -1, and ends."""
    above = np.flatnonzero(wanted & np.isfinite(lp.b))
    below = np.flatnonzero(wanted & np.isfinite(lp.row_lower))
    sign = np.repeat(np.array([1, -1], dtype=np.int8), [len(above), len(below)])
    whole = len(above) == len(lp.b) and not len(below)
    rhs = lp.b if whole else np.concatenate([lp.b[above], -lp.row_lower[below]])
    return np.concatenate([above, below]), sign, rhs


def row_by_row(A: Any, x: FloatArray) -> FloatArray:
    """A @ x with the same order of additions in every row.

    BLAS may round the last rows of a dense matrix differently from the others. Then a number of one
    row would depend on how many rows there are: on other people's records.
    """
    if sp.issparse(A):
        return np.asarray(A @ x)
    if not goes_by_rows(A.shape[1]):
        return _of_rows(A, lambda rows: _sums(rows, x))
    x = _in_order(x)
    return _of_rows(A, lambda rows: np.einsum("ij,j->i", _in_order(rows), x))


def rows_times(rows: Any, matrix: FloatArray) -> FloatArray:
    """A few rows times a matrix, likewise."""
    if sp.issparse(rows):
        return np.asarray(rows @ matrix)
    if not goes_by_rows(rows.shape[1]):
        return np.column_stack([_sums(rows, column) for column in matrix.T])
    return np.einsum("ij,jk->ik", _in_order(rows), _in_order(matrix))


def _in_order(array: Any) -> FloatArray:
    """An array in double precision, C order and place: NumPy's sums need no buffers then."""
    flags = array.flags
    if array.dtype == np.float64 and flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def _of_rows(A: Any, of_some: Callable[[Any], FloatArray]) -> FloatArray:
    """One number of each row, from a few rows at a time."""
    if A.size <= _ENTRIES_AT_A_TIME:
        return of_some(A)
    total = np.empty(A.shape[0])
    step = max(1, _ENTRIES_AT_A_TIME // max(1, A.shape[1]))
    for start in range(0, len(total), step):
        total[start : start + step] = of_some(A[start : start + step])
    return total


def _sums(rows: Any, factors: Any) -> FloatArray:
    """Sums of terms along contiguous rows: NumPy's order depends on their length alone."""
    return np.asarray(np.multiply(rows, factors, dtype=np.float64, order="C").sum(axis=1))


@cache
def goes_by_rows(columns: int) -> bool:
    """Whether ``np.einsum`` computes products of each row by itself, tried on rows of this length.

    In NumPy 2.0 to 2.5 it does: without buffers ``c_einsum`` calls one function for each row, which
    adds products in an order that depends on their number alone, aligned or not. A later version
    may call BLAS: so rows that are made up are multiplied in several places and alone.
    """
    if not 0 < columns <= _LONGEST_TRIED:
        return False
    made = np.random.default_rng(columns)
    rows, matrix = made.standard_normal((_TRIED, columns)), made.standard_normal((columns, 3))
    pieces = [slice(k, end) for k in range(_TRIED) for end in (k + 1, _TRIED)]
    for how, factor in (("ij,j->i", matrix[:, 0].copy()), ("ij,jk->ik", matrix)):
        whole = np.einsum(how, rows, factor)
        if any((np.einsum(how, rows[some], factor) != whole[some]).any() for some in pieces):
            return False
    return True


def violated(A: Any, x: FloatArray, rhs: FloatArray) -> BoolArray:
    """Which rows of A x <= rhs fail, each double taken as the exact number that it is."""
    rows = as_sparse(A)
    total, size = rows @ x, abs(rows) @ np.abs(x)
    # A sum of k products in any order has at most k + 1 roundings of each; the last product here
    # has one more. The bound is doubled.
    error = (
        2.0**-52 * (rows.shape[1] + 4) * (size + np.where(np.isfinite(rhs), np.abs(rhs), 0.0))
        + 1e-290
    )
    fails = total - error > rhs
    for i in np.flatnonzero(~fails & ~(total + error <= rhs)).tolist():
        fails[i] = _exceeds(rows, i, x, float(rhs[i]))
    return fails


def _exceeds(rows: sp.csr_array, i: int, x: FloatArray, rhs: float) -> bool:
    """Whether row i of A x exceeds its right-hand side, in whole multiples of a power of two."""
    span = slice(rows.indptr[i], rows.indptr[i + 1])
    terms = []
    for a, b in zip(rows.data[span].tolist(), x[rows.indices[span]].tolist(), strict=True):
        (top, unit), (x_top, x_unit) = a.as_integer_ratio(), b.as_integer_ratio()
        terms.append((top * x_top, unit.bit_length() + x_unit.bit_length()))
    end, unit = rhs.as_integer_ratio()
    terms.append((-end, unit.bit_length() + 1))
    finest = max(bits for _, bits in terms)
    return sum(whole << (finest - bits) for whole, bits in terms) > 0
