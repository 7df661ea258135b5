"""Signed records on a public grid: sums over them are exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.rows.parts import (
    DensePart,
    Integers,
    Part,
    Room,
    SparseIntegers,
    SparsePart,
    rows_of_a_part,
)
from privlp.rows.threads import over
from svm_models.record_grid import OF_PRODUCTS, SLACK, RecordGrid, Whitening
from svm_models.records import within_norm

FloatArray = npt.NDArray[np.float64]
Totals = npt.NDArray[np.int64]

# So many times sparse records are read a few at a time, or more often; so many rows at least.
_PIECES, _FEWEST_ROWS = 12, 2**12


class SignedRecords(NamedTuple):
    """Records as they were given, and their labels as signs.

    Attributes
    ----------
    X : (k, p) array or CSR array
        Of real numbers of any type.
    signs : (k,) array
        -1 or 1; ``None`` stands for 1.
    """

    X: Any
    signs: npt.NDArray[Any] | None


def few_at_a_time(X: Any) -> Iterator[tuple[slice, Any]]:
    """Some rows of X, then the next ones; few enough for a processor's cache.

    Of a sparse X, a small share too: what is computed of them takes several times their memory.
    """
    sparse = sp.issparse(X)
    entries = X.nnz if sparse else X.size
    size = rows_of_a_part(X.shape, entries, sparse=sparse)
    if sparse:
        size = min(size, max(X.shape[0] // _PIECES, _FEWEST_ROWS))
    for start in range(0, X.shape[0], size):
        rows = slice(start, min(start + size, X.shape[0]))
        yield rows, X[rows]


class RecordsOnGrid:
    """A block of records m_i = y_i x_i / data_norm, ||m_i|| <= 1, as integers in units of the grid.

    Records are shortened by what rounding may add; then the norm is computed from integers,
    without error, and a record that is too long counts for nothing. So what becomes of a record
    depends on that record and on public numbers alone, to the last bit. Records are read a few at a
    time. What is kept of an entry takes four bytes; the places of sparse ones are those of X.

    Parameters
    ----------
    block : SignedRecords
    data_norm : float
        Public. Longer records are scaled down to it.
    grid : RecordGrid
    """

    def __init__(self, block: SignedRecords, *, data_norm: float, grid: RecordGrid) -> None:
        self.count, self.size = block.X.shape
        self.grid = grid
        self.positive = None if block.signs is None else block.signs > 0
        self.parts: list[tuple[slice, Integers]] = []
        room = Room(self.count)
        factor = grid.shorter(self.size) / data_norm

        def stored_of(X: Any, signs: Any) -> Integers:
            """What is kept of some records; all else is gone before the next ones are read."""
            part = _part_of(within_norm(X, data_norm)).rounded(factor * signs)
            return bounded(part, grid).stored(room)

        for rows, X in few_at_a_time(block.X):
            signs = np.ones(X.shape[0]) if block.signs is None else block.signs[rows]
            stored = stored_of(X, signs)
            if isinstance(stored, SparseIntegers):
                ends = block.X.indptr[rows.start], block.X.indptr[rows.stop]
                stored.share_places(block.X.indices[slice(*ends)])
            self.parts.append((rows, stored))

    def second_moments(self, whiten: Whitening | None = None, *, shorten: bool = True) -> Totals:
        """sum_i m_i m_i^T, (p, p), in units of the square of an entry: exact.

        With a whitening matrix W, of the records W m_i, none of them longer than 1. They are put on
        the grid too.
        """

        def run(parts: Sequence[tuple[slice, Integers]]) -> Totals:
            total = np.zeros((self.size, self.size), dtype=np.int64)
            for _, part in parts:
                some = part.in_double()
                if whiten is None and isinstance(some, SparsePart):
                    _add_products(some, total)
                    continue
                for start in range(0, some.entries.shape[0], OF_PRODUCTS):
                    few = slice(start, start + OF_PRODUCTS)
                    if whiten is None:
                        entries = some.table(few)
                    else:
                        entries = whitened(some.entries[few], whiten, shorten=shorten)
                    total += (entries.T @ entries).astype(np.int64)
            return total

        return np.asarray(np.sum(over(self.parts, run), axis=0))


def bounded(part: Part, grid: RecordGrid) -> Part:
    """Integer records, where those that are too long are set to 0."""
    square = part.squares_about(np.zeros(part.entries.shape[0]), part.entries.shape[1])
    long = ~(square <= (grid.of_entry * (1 - SLACK)) ** 2)
    if long.any():
        part.without(long)
    return part


def products(entries: Any, whiten: Whitening) -> tuple[FloatArray, FloatArray]:
    """W m_i of integer records, in integers, and its norm; each a function of its record."""
    found = np.ascontiguousarray(entries @ whiten.columns)
    return found, np.sqrt(np.square(found).sum(axis=1)) * whiten.unit


def whitened(entries: Any, whiten: Whitening, *, shorten: bool) -> FloatArray:
    """W m_i of integer records, none longer than 1, as integer records."""
    found, norms = products(entries, whiten)
    units = whiten.grid.shorter(found.shape[1]) * whiten.unit
    found *= (units / (np.maximum(norms, 1.0) if shorten else np.ones(len(norms))))[:, None]
    return bounded(DensePart(np.rint(found, out=found)), whiten.grid).table()


def _part_of(X: Any) -> Part:
    return SparsePart(X) if sp.issparse(X) else DensePart(X)


def _add_products(part: SparsePart, total: Totals) -> None:
    """Add the sum of m_i m_i^T to a total."""
    entries = part.entries.astype(np.int64)
    found = (entries.T @ entries).tocoo()
    total[found.row, found.col] += found.data
