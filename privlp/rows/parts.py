"""A few rows at a time, so many as fit into a cache: what is computed of each row, from it alone.

No number of a row depends on the part that it stands in: sums along a row have an order of its own.
Threads over parts have the same bits, because sums over rows are exact. ``PRIVLP_THREADS`` asks for
more than one: give BLAS one then.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from itertools import pairwise
from operator import add as add_up
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.standard_form import row_by_row
from privlp.quiet import unnoticed
from privlp.rows.access import bits_of
from privlp.sparse import csr_of

Item = TypeVar("Item")
Result = TypeVar("Result")
_ASKED = os.environ.get("PRIVLP_THREADS", "")
THREADS = max(1, int(_ASKED)) if _ASKED.isdecimal() else 1  #: That share the parts.
Entries = npt.NDArray[np.float32 | np.float64]
Places = npt.NDArray[np.integer[Any]]
#: Weights of rows from their products with a point; may change its argument.
Weigh: TypeAlias = Callable[[FloatArray], FloatArray]
#: Rows of a part at most, however few there are in all: partial sums over them are exact
#: (:mod:`privlp.rows.access`).
MOST_ROWS = 2**14
_ALL = slice(None)
# Fewer weights than this share are picked out.
_FEW = 0.1
_BITS_OF_FEW = 16
# Entries of a part, about: two megabytes in double precision, or less.
_DENSE_ENTRIES, _SPARSE_ENTRIES = 2**17, 2**18
# So few entries are kept in double precision, where rows are read in every round.
_IN_DOUBLE = 2**19
# So many times as many rows as columns are many.
_MANY = 8
SHORT = 12  #: Rows with fewer entries are short: what is done once a row takes longer.


def over(items: Sequence[Item], run: Callable[[Sequence[Item]], Result]) -> list[Result]:
    """``run`` of each share of the items, one share for each thread, in the order of the items."""
    threads = min(THREADS, len(items))
    if threads < 2:
        return [run(items)]
    cuts = [len(items) * k // threads for k in range(threads + 1)]
    shares = [items[low:high] for low, high in pairwise(cuts)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(unnoticed()(run), shares))  # settings of NumPy are the thread's own


def rows_of_a_part(
    shape: tuple[int, int], entries: int, *, sparse: bool, private: int | None = None
) -> int:
    """How many rows stand in a part, of so many rows and columns with so many entries in all."""
    of_one = max(1, entries // max(1, shape[0]))
    wanted = (_SPARSE_ENTRIES if sparse else _DENSE_ENTRIES) // of_one
    return int(min(max(wanted, 64), most_rows(private or 0)))


def most_rows(private: int) -> int:
    """How many rows a part has at most, of so many private ones."""
    # Of more private rows the grid is coarser, so sums over a quarter of them are exact too.
    return MOST_ROWS * 2 ** max(bits_of(private) - _BITS_OF_FEW, 0)


def rows_of(A: Any, rows: slice) -> Any:
    """Some rows of a matrix in a row: views, where indexing would copy those of a sparse one."""
    if not sp.issparse(A):
        return A[rows]
    places = A.indptr[rows.start : rows.stop + 1]
    own = slice(places[0], places[-1])
    shape = rows.stop - rows.start, A.shape[1]
    starts = (places - places[0]).astype(A.indices.dtype, copy=False)
    return csr_of(A.data[own], A.indices[own], starts, shape)


def slices(count: int, step: int) -> Iterator[slice]:
    """The numbers below `count`, at most `step` at a time."""
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


class Storage:
    """Memory for what is kept of all parts, in large pieces: a system gives these out faster."""

    def __init__(self, rows: int, entries: int | None = None) -> None:
        #: The type of entries, and whether dense ones are kept by columns: if rows, with so many
        #: entries, are read in every round. Products with few columns are faster then.
        self.kind = np.float32 if entries is None or entries > _IN_DOUBLE else np.float64
        self.by_columns = entries is not None
        self._left = rows
        self._free: dict[Any, npt.NDArray[Any]] = {}

    def keep(
        self, numbers: npt.NDArray[Any], rows: int, dtype: Any, *, last: bool = True
    ) -> npt.NDArray[Any]:
        """The numbers of the next few rows, of a type; `last` unless more is kept of these rows."""
        free, size = self._free.get(dtype), numbers.size
        if free is None or size > len(free):  # as if all rows that are left had as many
            free = np.empty(-(-size * max(self._left, rows) // max(rows, 1)), dtype=dtype)
        kept, self._free[dtype] = free[:size].reshape(numbers.shape), free[size:]
        kept[...] = numbers
        self._left -= rows * last
        return kept


class _Part(ABC):
    """A few rows: an array of entries, dense or sparse."""

    entries: Any
    #: The numbers that are stored, and how many of each row.
    _data: FloatArray
    _stored: Any

    @abstractmethod
    def __init__(self, entries: Any) -> None: ...

    @abstractmethod
    def _spread(self, of_rows: FloatArray) -> FloatArray:
        """One number of each row, beside each of its entries; a new array if there is need."""

    @abstractmethod
    def _with(self, data: FloatArray) -> Any:
        """Entries at the same places."""

    @abstractmethod
    def _sums(self, data: FloatArray) -> FloatArray:
        """The sum of each row of such entries, in an order that depends on the row alone."""

    def sums(self) -> FloatArray:
        """The sum of each row."""
        return self._sums(self._data)

    def squares_about(self, centre: FloatArray, size: int) -> FloatArray:
        """Sum of (entry - centre)^2 of each row, filled up with zeros to `size` entries."""
        off = self._data - self._spread(centre)
        return self._sums(np.multiply(off, off, out=off)) + (size - self._stored) * centre**2

    def products(self, columns: FloatArray) -> FloatArray:
        """The product of each row with each column; exact for integers of small sums."""
        return np.asarray(self.entries @ columns)

    def rounded(self, factor: FloatArray) -> Self:
        """Every row times its factor, rounded to the nearest integers."""
        scaled = self._data * self._spread(factor)
        return type(self)(self._with(np.rint(scaled, out=scaled)))

    def rest(self, factor: FloatArray, units: float) -> Self:
        """What rounding leaves of every row times its factor, in finer units, rounded in turn."""
        scaled = self._data * self._spread(factor)
        scaled -= np.rint(scaled)
        return type(self)(self._with(np.rint(units * scaled)))

    def floors_of_shares(self, whole: FloatArray, units: float) -> FloatArray:
        """Sum over rows of each squared entry's share of a number of the row, rounded down."""
        shares = self._with(np.floor(self._data**2 / self._spread(whole) * units))
        return np.asarray(shares.sum(axis=0), dtype=np.float64)


class DensePart(_Part):
    """Dense rows."""

    def __init__(self, entries: Any) -> None:
        self.entries = self._data = np.ascontiguousarray(entries, dtype=np.float64)
        self._stored = entries.shape[1]

    def _spread(self, of_rows: FloatArray) -> FloatArray:
        return of_rows[:, None]

    def _with(self, data: FloatArray) -> FloatArray:
        return data

    def _sums(self, data: FloatArray) -> FloatArray:
        return row_by_row(data, np.ones(data.shape[1]))

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest entry of each row, or 0 if that is smaller or larger."""
        return self.entries.min(axis=1, initial=0.0), self.entries.max(axis=1, initial=0.0)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest entry of each row."""
        return self.entries.min(axis=1), self.entries.max(axis=1)

    def table(self, rows: slice = _ALL) -> FloatArray:
        """All entries, (k, d), or those of some rows."""
        return np.asarray(self.entries[rows])

    def without(self, rows: npt.NDArray[np.bool_]) -> None:
        """Set the entries of some rows to 0."""
        self.entries[rows] = 0.0

    def stored(self, storage: Storage) -> DenseIntegers:
        """The entries, which are integers of at most 24 bits, to be kept."""
        if storage.by_columns:
            return DenseIntegers(storage.keep(self.entries.T, len(self.entries), storage.kind).T)
        return DenseIntegers(storage.keep(self.entries, len(self.entries), storage.kind))


class SparsePart(_Part):
    """Sparse rows; methods as of :class:`DensePart`."""

    def __init__(self, entries: Any) -> None:
        self.entries, self._data = entries, entries.data
        self._stored = np.diff(entries.indptr)

    def _spread(self, of_rows: FloatArray) -> FloatArray:
        return np.repeat(of_rows, self._stored)

    def _with(self, data: FloatArray) -> sp.csr_array:
        return csr_of(data, self.entries.indices, self.entries.indptr, self.entries.shape)

    def _sums(self, data: FloatArray) -> FloatArray:
        return np.asarray(self._with(data) @ np.ones(self.entries.shape[1]))

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        low, high = np.zeros(len(self._stored)), np.zeros(len(self._stored))
        some = self._stored > 0
        if some.any():
            starts = self.entries.indptr[:-1][some]
            low[some] = np.minimum(np.minimum.reduceat(self._data, starts), 0.0)
            high[some] = np.maximum(np.maximum.reduceat(self._data, starts), 0.0)
        return low, high

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest entry of each row; 0 is one if it is not stored."""
        low, high = self.extremes()
        full = np.flatnonzero(self._stored == self.entries.shape[1])
        if full.size:
            low[full], high[full] = DensePart(self.entries[full].toarray()).ends()
        return low, high

    def table(self, rows: slice = _ALL) -> FloatArray:
        return np.asarray(self.entries[rows].toarray())

    def without(self, rows: npt.NDArray[np.bool_]) -> None:
        self._data[np.repeat(rows, self._stored)] = 0.0

    def stored(self, storage: Storage) -> SparseIntegers:
        """Many short rows are kept by columns: a processor is slow at starts of rows."""
        (count, columns), entries = self.entries.shape, self.entries
        many = count > _MANY * columns and entries.nnz < SHORT * count
        entries = entries.tocsc() if many else entries
        data = storage.keep(entries.data, count, storage.kind, last=False)
        places, starts = entries.indices, entries.indptr
        places = storage.keep(places, count, places.dtype) if many else places
        starts = starts if many else storage.keep(starts, count, starts.dtype)
        return SparseIntegers(csr_of(data, places, starts, entries.shape, type(entries)))


def _few(z: FloatArray) -> Any:
    """Where numbers are not 0, if those are few; else all of them."""
    return _ALL if np.count_nonzero(z) > _FEW * len(z) else np.flatnonzero(z)


Part: TypeAlias = DensePart | SparsePart


def part_of(rows: Any) -> Part:
    """Some rows, dense or sparse, as a part."""
    return SparsePart(rows) if sp.issparse(rows) else DensePart(rows)


def leave_out_longer(part: Part, sizes: FloatArray, most: float) -> npt.NDArray[np.bool_]:
    """Set rows to 0 whose size exceeds the most, or is no number; which these are."""
    long = ~(sizes <= most)
    if long.any():
        part.without(long)
    return np.asarray(long)


class DenseIntegers:
    """Integers in rows, dense: mostly in half the memory of the numbers that they came from."""

    def __init__(self, entries: Entries) -> None:
        self._entries, self.size = entries, entries.size

    def in_double(self) -> DensePart:
        """The integers in double precision."""
        return DensePart(self._entries.astype(np.float64))

    def some(self, rows: npt.NDArray[np.intp]) -> DenseIntegers:
        """Some of the rows."""
        return DenseIntegers(self._entries.T.take(rows, axis=1).T)

    def times(self, x: FloatArray) -> FloatArray:
        """The product of each row with x."""
        return np.asarray(self._entries.astype(np.float64, copy=False) @ x)

    def transposed_times(self, z: FloatArray) -> FloatArray:
        """The sum of all rows, each times its own number."""
        few = _few(z)
        return np.asarray(z[few] @ self._entries[few].astype(np.float64, copy=False))

    def weighed(
        self, x: FloatArray, weigh: Weigh, scratch: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """``weigh(rows @ x)``, and the sum of rows with these weights; scratch holds doubles."""
        entries = self._entries
        if entries.dtype != np.float64:
            free, columns = scratch[: self.size], entries.flags.f_contiguous
            entries = free.reshape(entries.T.shape).T if columns else free.reshape(entries.shape)
            entries[:] = self._entries
        weights = weigh(entries @ x)
        return weights, weights.T @ entries


class SparseIntegers:
    """As :class:`DenseIntegers`, sparse, by rows (places of the user's matrix) or by columns."""

    def __init__(self, entries: sp.csr_array | sp.csc_array) -> None:
        self._data, self._rows = entries.data, entries
        self._by_rows = entries.format == "csr"
        turned = sp.csc_array if self._by_rows else sp.csr_array
        arrays = entries.data, entries.indices, entries.indptr
        self._columns = csr_of(*arrays, entries.shape[::-1], turned)
        self.size = len(entries.data)

    def share_places(self, places: Places) -> None:
        """Take the columns of all entries from another array, if they are the same there."""
        if places.dtype == self._rows.indices.dtype and np.array_equal(places, self._rows.indices):
            self._rows.indices = self._columns.indices = places

    def in_double(self) -> SparsePart:
        return SparsePart(sp.csr_array(self._rows.astype(np.float64)))

    def some(self, rows: npt.NDArray[np.intp]) -> SparseIntegers:
        return SparseIntegers(sp.csr_array(self._rows)[rows])

    def times(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._rows @ x)

    def transposed_times(self, z: FloatArray) -> FloatArray:
        few = _few(z) if self._by_rows else _ALL
        columns = self._columns if few is _ALL else self._rows[few].T
        return np.asarray(columns @ z[few])

    def weighed(
        self, x: FloatArray, weigh: Weigh, scratch: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        if self._data.dtype == np.float64:
            weights = weigh(self._rows @ x)
            return weights, (self._columns @ weights).T
        entries = scratch[: self.size]
        entries[:] = self._data
        try:  # each product would convert the entries for itself
            self._rows.data = self._columns.data = entries
            weights = weigh(self._rows @ x)
            return weights, (self._columns @ weights).T
        finally:
            self._rows.data = self._columns.data = self._data


Integers: TypeAlias = DenseIntegers | SparseIntegers
KeptParts: TypeAlias = Sequence[tuple[slice, Integers]]  #: Some rows, and what is kept of them.


def summed(
    parts: KeptParts,
    shape: int | tuple[int, ...],
    add: Callable[[npt.NDArray[Any], slice, Integers], None],
    dtype: Any = np.int64,
) -> npt.NDArray[Any]:
    """What ``add(total, rows, part)`` makes of zeros, over all parts; exact sums take any order."""

    def run(some: KeptParts) -> npt.NDArray[Any]:
        total = np.zeros(shape, dtype)
        for rows, part in some:
            add(total, rows, part)
        return total

    return reduce(add_up, over(parts, run))


def weighed_once(
    parts: KeptParts,
    shape: int | tuple[int, ...],
    point: FloatArray,
    weigh: Callable[..., FloatArray],
    add: Callable[[npt.NDArray[np.int64], slice, FloatArray, FloatArray], None],
) -> npt.NDArray[np.int64]:
    """The same for ``add(total, rows, weights, sums)``, in one read of the rows."""

    def run(some: KeptParts) -> npt.NDArray[np.int64]:
        total = np.zeros(shape, np.int64)
        scratch = np.empty(max((part.size for _, part in some), default=0))
        for rows, part in some:
            add(total, rows, *part.weighed(point, partial(weigh, rows=rows), scratch))
        return total

    return reduce(add_up, over(parts, run))
