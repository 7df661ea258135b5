"""Private rows of a program, as a form reads them and as a user measures them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.standard_form import StandardForm, row_by_row
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers
from privlp.rows.access import InMemory
from privlp.rows.parts import (
    DensePart,
    Part,
    SparsePart,
    most_rows,
    rows_of,
    rows_of_a_part,
    slices,
)
from privlp.sparse import csr_of

_AT_A_TIME = 2**15  # Entries whose columns are looked up at a time.
_OF_A_BLOCK = 16  # Words of a block of the cipher, of 32 bits each: a coin is a word.


class ProgramRows(InMemory["RowBlock"]):
    """The private rows of a program in memory, private numbers included."""

    def __init__(self, form: StandardForm) -> None:
        super().__init__(RowBlock(form))
        self._form = form

    def values(self, numbers: PrivateNumbers) -> FloatArray:
        """The private numbers, (m,), for a release of all of them."""
        return ProgramNumbers.of(self._form).values(numbers)


class RowBlock:
    """The private rows A' u <= b', (m, d') and (m,): the user's A seen through index lists."""

    def __init__(
        self, form: StandardForm, *, first: int = 0, times: FloatArray | None = None
    ) -> None:
        n, self.first = form.lp.shape[0], first
        self.form, self.lp, self.rhs = form, form.lp, form.rhs
        #: How many equal rows each row stands for (:mod:`privlp.rows.equal`); None: for itself.
        self.times = times
        self._A, self._sparse = form.lp.A, form.lp.is_sparse
        self.price = None
        if form.lp.penalty is not None:
            self.price = form.lp.prices_of_sides()[form.row, (form.row_sign > 0).astype(int)]
        self._plain = np.array_equal(form.row, np.arange(n)) and bool((form.row_sign > 0).all())
        self.shape = (len(form.row), len(form.column))

    @cached_property
    def _columns(self) -> Any:
        """A sparse matrix by columns, for those who read columns."""
        return sp.csc_array(self._A)

    def hard_rows(self) -> RowBlock:
        """The block without its soft rows."""
        return self.some(np.isinf(np.asarray(self.price)))

    def some(self, kept: npt.NDArray[np.bool_], times: FloatArray | None = None) -> RowBlock:
        """The block with these of its rows, which stand for so many each."""
        own: Any = {name: getattr(self.form, name)[kept] for name in ("row", "row_sign", "rhs")}
        return RowBlock(dataclasses.replace(self.form, **own), first=self.first, times=times)

    def share(self, share: float, key: int) -> RowBlock:
        """The rows that coins choose (:func:`share_of`)."""
        return self.some(chosen_by_coins(share, key, self.first, self.lp.shape[0])[self.form.row])

    def parts(
        self, factors: FloatArray, columns: npt.NDArray[np.intp] | None = None
    ) -> Iterator[tuple[slice, Part]]:
        """A' diag(factors), a few rows at a time, and the place of these rows."""
        A = sp.csr_array(self._A) if self._sparse else self._A
        wanted = rows_of_a_part(A.shape, self.stored, sparse=self._sparse, private=self.count)
        if columns is None:
            columns, factors = self.form.column, self.form.column_sign * factors
        every_column = np.array_equal(columns, np.arange(A.shape[1]))
        for rows in self._slices(wanted):
            entries = rows_of(A, rows) if self._plain else A[self.form.row[rows]]
            if not every_column:
                entries = entries[:, columns]
            signs = None if self._plain else self.form.row_sign[rows].astype(np.float64)
            yield rows, (_sparse_part if self._sparse else _dense_part)(entries, factors, signs)

    @property
    def count(self) -> int:
        """Number of rows, equal ones included."""
        return self.shape[0] if self.times is None else int(self.times.sum())

    @property
    def stored(self) -> int:
        """Number of stored entries of all of the user's rows."""
        return int(self._A.nnz if self._sparse else self._A.size)

    def _slices(self, wanted: int) -> Iterator[slice]:
        """So many rows at a time, or fewer that stand for as many as a part may have."""
        if self.times is None:
            yield from slices(self.shape[0], wanted)
            return
        start, up_to = 0, np.append(0.0, np.cumsum(self.times))
        most = max(most_rows(self.count), float(self.times.max(initial=0.0)))
        while start < self.shape[0]:
            stop = int(np.searchsorted(up_to, up_to[start] + most, side="right")) - 1
            yield slice(start, min(stop, start + wanted))
            start = min(stop, start + wanted)

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
            own = slice(*self._columns.indptr[k : k + 2])
            entries[self._columns.indices[own]] = self._columns.data[own]
        else:
            entries = self._A[:, k]
        if not self._plain:
            entries = self.form.row_sign * entries[self.form.row]
        return entries * self.form.column_sign[j] if signed else entries

    def extremes(self, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest entry of each row of A' diag(factors), zeros included."""
        low, high = np.empty(self.shape[0]), np.empty(self.shape[0])
        for rows, part in self.parts(factors):
            low[rows], high[rows] = part.ends()
        return low, high

    def __matmul__(self, u: FloatArray) -> FloatArray:
        """A' u, shape (m,), with the same order of additions in every row."""
        x = np.zeros(self._A.shape[1])
        np.add.at(x, self.form.column, self.form.column_sign * u)
        return self.form.row_sign * row_by_row(self._A, x)[self.form.row]


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


def share_of(block: RowBlock, share: float, key: int) -> RowBlock:
    """The rows of a block that belong to a public share of all rows; both sides of a row, or none.

    Whether a row belongs to it is decided by a coin of its own, from a stream cipher with a secret
    key; the place of the row among the user's rows says which coin is its own. Given the coins, a
    sum over the share is a sum over all rows, of terms that are 0 at the other places, and where a
    record is replaced its sensitivity is that of the whole sum.

    The coins are secret because places may follow from the records: a table may be sorted by a
    private column. Then a record that is replaced moves the places of others. Rows that change
    places change nothing about the law of a sum over a share that independent coins decide. But a
    public pattern of places would read other rows thereafter, as many as moved.
    """
    return block.share(share, key)


def chosen_by_coins(share: float, key: int, first: int, count: int) -> npt.NDArray[np.bool_]:
    """Which of the user's rows from a place on belong to the share."""
    return _coins(key, first, count) < share * 2.0**32


def _coins(key: int, first: int, count: int) -> npt.NDArray[np.uint32]:
    """The words of the stream from a place on, whichever block of rows asks for them."""
    from randomgen import ChaCha  # noqa: PLC0415 (slow to load)

    skipped = first % _OF_A_BLOCK
    cipher = ChaCha(key=key, counter=first - skipped, rounds=20)
    words = np.asarray(cipher.random_raw((skipped + count + 1) // 2), dtype="<u8").view("<u4")
    return words[skipped : skipped + count]


class SelectableRows:
    """All ``<=`` rows of a block, public ones among them, one of which is selected each round."""

    def __init__(self, block: RowBlock) -> None:
        lp = block.lp
        self._form = form = StandardForm.of(lp, every_row=True)
        self._A = sp.csr_array(lp.A) if lp.is_sparse else lp.A
        self._rhs = form.sides(slice(None))

    def violations(self, x: FloatArray) -> FloatArray:
        """Violation of each row at a released point, in the order of the form."""
        activity = np.asarray(self._A @ x)
        return self._form.row_sign * activity[self._form.row] - self._rhs

    def coefficients(self, side: int) -> FloatArray:
        """The coefficients of a selected row, (d,): private where A is."""
        row = int(self._form.row[side])
        entries = self._A[[row]].toarray()[0] if self._form.lp.is_sparse else self._A[row]
        return self._form.row_sign[side] * entries


#: The violation that counts without an alpha, as a share of a row's size: rounding; and the
#: tolerance of solvers, for answers without noise.
SHARE, OF_SOLVERS = 1e-9, 1e-6
_ROUNDING = 1e-12  # Rounding of A x, as a share of a row's size.
# Rows at a time, so that temporary numbers are few.
_SOME, _ENTRIES = 2**15, 2**17
_UNITS = 2.0**20  # Units to 1 in what a row says of its cost.


class MeasuredRows:
    """Private rows in the user's variables, each with its own measure of a violation.

    A row counts as missed at x if A_i x - b_i exceeds `alpha` ||A_i||_2; or, without an alpha, a
    billionth of |b_i|, or of sum_j |A_ij x_j| where b_i is 0: a larger share would mean more where
    the origin is far off, as in degrees Kelvin. Each number is computed from its row alone.
    """

    def __init__(self, block: RowBlock, alpha: float | None = None, share: float = SHARE) -> None:
        self.block, self._form, A = block, block.form, block.lp.A
        self._A = sp.csr_array(A) if sp.issparse(A) else A
        self._norms = None if alpha is None else alpha * self._form.row_norms()
        self._share = share

    def _times(self, rows: slice) -> FloatArray:
        """How many rows each of some rows stands for."""
        times, count = self.block.times, len(self._form.row[rows])
        return np.broadcast_to(1.0, count) if times is None else times[rows]

    def _count(self, rows: slice, some: npt.NDArray[np.bool_]) -> int:
        """How many rows some of these rows stand for in all."""
        times = self.block.times
        return int(np.count_nonzero(some) if times is None else times[rows] @ some)

    def missed(self, x: FloatArray) -> int:
        """Number of rows that x misses."""
        found, activity = 0, self._form.activity(x)
        for rows, sides, sizes in self._some(x):
            row = self._form.row[rows]
            beyond = self._form.row_sign[rows] * activity[row] - sides
            allowed = self._share * sizes if self._norms is None else self._norms[row]
            found += self._count(rows, beyond > allowed + _ROUNDING * sizes)
        return found

    def needs(self, x: FloatArray, ends: FloatArray, levels: int) -> FloatArray:
        """How many sides that hold at x need what part of the way from the ends to x, (d, levels).

        A side counts once, for the variable that helps it most: it holds while that one alone
        returns to its end, until less than this part of its way is left.
        """
        found, form, A = np.zeros((len(x), levels)), self._form, self._A
        activity = form.activity(x)
        for rows, sides, sizes in self._some(x, max(1, _ENTRIES // len(x))):
            row, sign = form.row[rows], form.row_sign[rows].astype(float)
            allowed = self._share * sizes if self._norms is None else self._norms[row]
            slack = sides + allowed - sign * activity[row]
            entries = A[row].toarray() if sp.issparse(A) else A[row]
            helps = entries * (ends - x) * sign[:, None]
            most = helps.argmax(axis=1)
            help_of = np.take_along_axis(helps, most[:, None], axis=1)[:, 0]
            counts = (slack >= 0) & (help_of > slack)
            part = 1 - slack[counts] / help_of[counts]
            level = np.clip(np.ceil(part * levels) - 1, 0, levels - 1).astype(int)
            np.add.at(found, (most[counts], level), self._times(rows)[counts])
        return found

    def near(self, x: FloatArray, lengths: FloatArray) -> FloatArray:
        """How many sides a move of each variable alone by its length, up or down, reaches, (d,)."""
        found = np.zeros(len(x))
        for rows, slack in self._slack(x, max(1, _ENTRIES // len(x))):
            entries = abs(self._A[self._form.row[rows]])
            times = self._times(rows)
            if sp.issparse(entries):
                stored, sizes = np.diff(entries.indptr), entries.data
                room, times = np.repeat(slack, stored), np.repeat(times, stored)
                reached = (sizes * lengths[entries.indices] >= room) & (sizes > 0)
                found += np.bincount(entries.indices[reached], times[reached], len(x))
            else:
                reached = (entries * lengths >= slack[:, None]) & (entries > 0)
                found += times @ reached
        return found

    def near_along(self, x: FloatArray, step: FloatArray) -> int:
        """How many sides a step, forwards or backwards, reaches."""
        found, change = 0, np.abs(self._form.activity(step))
        for rows, slack in self._slack(x, _SOME):
            own = change[self._form.row[rows]]
            found += self._count(rows, (own >= slack) & (own > 0))
        return found

    def crossings(self, x: FloatArray, step: FloatArray, cells: int) -> FloatArray:
        """How many sides that x misses hold from which part of a step on, (cells,)."""
        found, change = np.zeros(cells), self._form.activity(step)
        activity = self._form.activity(x)
        for rows, sides, _ in self._some(x):
            row, sign = self._form.row[rows], self._form.row_sign[rows].astype(float)
            beyond, gained = sign * activity[row] - sides, -sign * change[row]
            crosses = (beyond > 0) & (gained > beyond)
            part = beyond[crosses] / gained[crosses]
            cell = (part * cells).astype(int).clip(max=cells - 1)
            found += np.bincount(cell, self._times(rows)[crosses], cells)
        return found

    def signs(self) -> FloatArray:
        """How many sides have a negative entry, and how many a positive one, (2,)."""
        found, form = np.zeros(2), self._form
        for rows in slices(len(form.row), max(1, _ENTRIES // self._A.shape[1])):
            entries = self._A[form.row[rows]]
            negative, positive = (
                np.asarray((sign * entries > 0).sum(axis=1)).ravel() > 0 for sign in (-1, 1)
            )
            upper = form.row_sign[rows] > 0
            found += [
                self._count(rows, np.where(upper, negative, positive)),
                self._count(rows, np.where(upper, positive, negative)),
            ]
        return found

    def _slack(self, x: FloatArray, number: int) -> Iterator[tuple[slice, FloatArray]]:
        """How far sides are from x, so many at a time."""
        form, activity = self._form, self._form.activity(x)
        for rows in slices(len(form.row), number):
            yield rows, np.abs(form.sides(rows) - form.row_sign[rows] * activity[form.row[rows]])

    def sizes(self, x: FloatArray) -> FloatArray:
        """|b_i|, or sum_j |A_ij x_j| where that is 0."""
        found = np.empty(len(self._form.row))
        for rows, _, sizes in self._some(x):
            found[rows] = sizes
        return found

    def _some(
        self, x: FloatArray, number: int = _SOME
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Right-hand sides and sizes, a few rows at a time."""
        form, A = self._form, self._form.lp.A
        for rows in slices(len(form.row), number):
            sides = form.sides(rows)
            sizes, no_side = np.abs(sides), np.flatnonzero(sides == 0)
            if no_side.size:
                sizes[no_side] = row_by_row(abs(A[form.row[rows][no_side]]), np.abs(x))
            yield rows, sides, sizes


class ComparedRows:
    """Soft rows in the user's variables, with their prices over the largest; hard ones count 0."""

    def __init__(self, block: RowBlock, largest_price: float) -> None:
        self._form = block.form
        price = np.zeros(len(block.form.row)) if block.price is None else block.price
        self._weight = np.where(np.isinf(price), 0.0, price / largest_price)

    def costlier(self, x: FloatArray, other: FloatArray, limit: float) -> float:
        """Sum over sides of rows of what they cost more at x than at the other point.

        A side adds its weight times the difference of its two violations over the limit, within -1
        and 1, rounded towards 0 to a multiple of 2^-20: the sum is exact. The two sides of a row
        never add numbers of one sign. What is no number counts 0.
        """
        form, found = self._form, 0.0
        points = form.activity(x), form.activity(other)
        for rows in slices(len(form.row), _SOME):
            sign, row, sides = form.row_sign[rows].astype(float), form.row[rows], form.sides(rows)
            at_x, at_other = (np.maximum(sign * at[row] - sides, 0.0) for at in points)
            more = np.clip((at_x - at_other) / limit, -1.0, 1.0)
            more[np.isnan(more)] = 0.0
            found += float(np.trunc(self._weight[rows] * more * _UNITS).sum())
        return found / _UNITS
