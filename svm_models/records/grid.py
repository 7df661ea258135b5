"""Private records on a public grid, on which sums over them are exact.

Let n be a public bound on the number of records. Entries of records of norm 1 at most are integers
in units of 2^-q, and weights in [-1/2, 1/2] integers in units of 2^-p. With q <= 21, p + q <= 40
and both 2q and p + q at most 62 - log2 n, log2 rounded up:

* a sum over at most 2^14 records is at most 2^(14 + p + q - 1) <= 2^53 in size: double precision
  holds it, and all its partial sums, exactly;
* so is a sum of products of two entries over at most 2^11 records, 2^(11 + 2q);
* sums over all records are 64-bit integers, at most 2^62.

Products of a record with a vector of norm at most 2^(53 - q), in its units, are exact too: no
partial sum exceeds the product of both norms.

====== == ==
n       q  p
====== == ==
10^6   21 19
10^7   19 19
10^8   17 18
10^9   16 16
====== == ==
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit

from privlp.checks import IntArray, require_data
from privlp.rows import parts as row_parts
from privlp.rows.access import bits_of
from svm_models.parameters import FloatArray
from svm_models.records.scaled import within_norm

_DOUBLE, _LONG = 53, 62
_MOST_OF_ENTRIES, _MOST_OF_A_TERM = 21, 40
#: Sums over more records are not exact.
MOST_RECORDS = 2**31
#: Records of whose entries products add up exactly.
OF_PRODUCTS = 2**11
#: What records are shortened by, for what is rounded after the sum: see ``docs/proofs.md``.
SLACK = 2.0**-20
#: Half-width h of the rounded part of the hinge.
SOFTNESS = 0.5
#: Sums are of dual weights minus this number: so a record adds at most half its norm.
CENTRE = 0.5
# So many times sparse records are read a few at a time, or more often; so many rows at least.
_PIECES, _FEWEST_ROWS = 12, 2**12


def require_exact_sums(count: int) -> None:
    """Refuse more records than sums are exact for."""
    require_data(count <= MOST_RECORDS, "Sums are exact for at most 2^31 records.", "X")


@dataclass(frozen=True)
class RecordGrid:
    """Bits after the point of entries and of weights, q and p; public."""

    entries: int
    weights: int

    @classmethod
    def of(cls, most: int) -> RecordGrid:
        """The finest grid for sums over at most so many records, or over 2^31: more are refused."""
        left = _LONG - bits_of(min(most, MOST_RECORDS))
        entries = min(_MOST_OF_ENTRIES, left // 2)
        return cls(entries, min(_MOST_OF_A_TERM, left) - entries)

    @property
    def of_entry(self) -> float:
        """Units to 1 in an entry."""
        return 2.0**self.entries

    def shorter(self, p: int) -> float:
        """Units to what a record of norm 1 is shortened to, so that rounding keeps it within 1."""
        return max(self.of_entry * (1 - SLACK) - math.sqrt(p), 0.0)

    def vector(self, values: FloatArray) -> tuple[FloatArray, float]:
        """Released columns in units whose products with records are exact, and a product's unit."""
        longest = float(np.sqrt(np.square(values).sum(axis=0)).max())
        # Rounding adds sqrt(p)/2 units at most, less than half of the largest norm.
        bits = _DOUBLE - 1 - self.entries - math.frexp(longest)[1]
        return np.rint(np.ldexp(values, bits)), 2.0 ** -(bits + self.entries)


@dataclass(frozen=True, eq=False)
class Whitening:
    """A whitening matrix on the grid: integer columns, (d, p), and the unit of their products."""

    grid: RecordGrid
    columns: FloatArray
    unit: float

    @classmethod
    def of(cls, matrix: FloatArray, grid: RecordGrid) -> Whitening:
        """The matrix, rounded."""
        return cls(grid, *grid.vector(matrix))

    def of_sum(self, total: IntArray) -> FloatArray:
        """The matrix times a weighed sum of records: exact, then each entry is rounded once."""
        bits = self.grid.entries - math.ceil(math.log2(max(len(total), 1)) / 2)
        found: list[int] = [0] * self.columns.shape[1]
        sign, rest, power = np.sign(total), np.abs(total), 0
        while rest.any():
            digits = (sign * (rest & (2**bits - 1))).astype(np.float64)
            part = (digits @ self.columns).tolist()
            found = [each + (int(more) << power) for each, more in zip(found, part, strict=True)]
            rest, power = rest >> bits, power + bits
        unit = math.frexp(self.unit)[1] - 1 - self.grid.weights
        return np.array([math.ldexp(each, unit) for each in found])


class SignedRecords(NamedTuple):
    """Records as they were given, (k, p), and their labels as signs, (k,); None stands for 1."""

    X: Any
    signs: npt.NDArray[Any] | None


@dataclass(frozen=True)
class Weighted:
    """A block of signed records, (k, p), each with a weight in [0, 1], (k,), for its loss."""

    M: Any
    weights: FloatArray


def few_at_a_time(X: Any) -> Iterator[tuple[slice, Any]]:
    """Some rows of X, few enough for a processor's cache, then the next; fewer if sparse."""
    sparse = sp.issparse(X)
    size = row_parts.rows_of_a_part(X.shape, X.nnz if sparse else X.size, sparse=sparse)
    if sparse:
        size = min(size, max(X.shape[0] // _PIECES, _FEWEST_ROWS))
    for rows in row_parts.slices(X.shape[0], size):
        yield rows, X[rows]


class RecordsOnGrid:
    """A block of records m_i = y_i x_i / data_norm, ||m_i|| <= 1, as integers in units of the grid.

    Records are shortened by what rounding may add, and one that is still too long counts for
    nothing: what becomes of a record depends on it and on public numbers alone, to the last bit.
    `prepare` makes x_i of some records, in place of :func:`within_norm`.
    """

    def __init__(
        self,
        block: SignedRecords,
        *,
        data_norm: float,
        grid: RecordGrid,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        prepare = prepare or partial(within_norm, data_norm=data_norm)
        self.count, self.grid = block.X.shape[0], grid
        self.size = prepare(block.X[:0]).shape[1]
        self.positive = None if block.signs is None else block.signs > 0
        self.parts: list[tuple[slice, row_parts.Integers]] = []
        storage = row_parts.Storage(self.count)
        factor = grid.shorter(self.size) / data_norm

        def stored_of(X: Any, signs: Any) -> row_parts.Integers:
            """What is kept of some records; all else is gone before the next ones are read."""
            part = row_parts.part_of(prepare(X)).rounded(factor * signs)
            return bounded(part, grid).stored(storage)

        for rows, X in few_at_a_time(block.X):
            signs = np.ones(X.shape[0]) if block.signs is None else block.signs[rows]
            stored = stored_of(X, signs)
            if isinstance(stored, row_parts.SparseIntegers):
                ends = block.X.indptr[rows.start], block.X.indptr[rows.stop]
                stored.share_places(block.X.indices[slice(*ends)])
            self.parts.append((rows, stored))

    def second_moments(self, whiten: Whitening | None = None, *, shorten: bool = True) -> IntArray:
        """sum_i m_i m_i^T, exact, in squared units of an entry; of W m_i with `whiten`."""

        def add(total: IntArray, _: slice, part: row_parts.Integers) -> None:
            some = part.in_double()
            if whiten is None and isinstance(some, row_parts.SparsePart):
                _add_products(some, total)
                return
            for few in row_parts.slices(some.entries.shape[0], OF_PRODUCTS):
                if whiten is None:
                    entries = some.table(few)
                else:
                    few_entries = row_parts.rows_of(some.entries, few)
                    entries = _whitened(few_entries, whiten, shorten=shorten)
                total += (entries.T @ entries).astype(np.int64)

        size = self.size if whiten is None else whiten.columns.shape[1]
        return row_parts.summed(self.parts, (size, size), add)

    def norms(self, whiten: Whitening) -> FloatArray:
        """||W m_i|| of each record."""
        found = np.empty(self.count)

        def run(parts: Any) -> None:
            for rows, part in parts:
                found[rows] = _norms(part, whiten)

        row_parts.over(self.parts, run)
        return found


class WhitenedRecords:
    """A block of signed records m_i of norm 1 at most, whitened and short.

    s_i = min(1, 1/||W m_i||), W public or released; s_i = 1 unless `shorten`. A record with dual
    weight z_i in [0, 1] contributes (z_i - 1/2) s_i W m_i to what is released each round, and s_i W
    m_i / 2 to what is released beforehand: vectors of norm 1/2 at most. Weights s_i/2 are rounded
    down to h_i units, (2 z_i - 1) h_i to the nearest. Sums are in integers, before the caller
    multiplies by W. `of_classes` are public weights in [0, 1] of negative and positive records,
    which multiply s_i, `norms` those of W m_i, in the unit of what 1 is to be.
    """

    def __init__(
        self,
        records: RecordsOnGrid,
        whiten: Whitening,
        *,
        shorten: bool = True,
        of_classes: tuple[float, float] | None = None,
        norms: FloatArray | None = None,
    ) -> None:
        self._records, self._grid = records, records.grid
        self.count = records.count
        # Integers of at most 2^18.
        self._halves = np.empty(records.count, dtype=np.float32)

        def run(parts: Any) -> None:
            for rows, part in parts:
                halves = np.full(rows.stop - rows.start, 2.0 ** (self._grid.weights - 1))
                if shorten:
                    found = _norms(part, whiten) if norms is None else norms[rows]
                    halves *= (1 - SLACK) / np.maximum(found, 1.0)
                if of_classes is not None and records.positive is not None:
                    negative, positive = of_classes
                    halves *= np.where(records.positive[rows], positive, negative)
                self._halves[rows] = np.floor(halves)

        row_parts.over(records.parts, run)

    def weighed(self, answer: FloatArray, slope: float) -> Any:
        """The scores for weights slope * (1 + h - m_i·w), clipped to [0, 1]: exact."""
        point, unit = self._grid.vector(answer)
        point *= -unit  # a power of two
        weigh = partial(self._weights, slope=slope)

        def add(total: IntArray, _: slice, __: FloatArray, sums: FloatArray) -> None:
            total += sums.astype(np.int64)

        return row_parts.weighed_once(self._records.parts, self._records.size, point, weigh, add)

    def centre(self) -> IntArray:
        """sum_i s_i m_i / 2, in units: exact."""

        def add(total: IntArray, rows: slice, part: row_parts.Integers) -> None:
            total += part.transposed_times(self._halves[rows].astype(np.float64)).astype(np.int64)

        return row_parts.summed(self._records.parts, self._records.size, add)

    def _weights(self, found: FloatArray, *, rows: slice, slope: float) -> FloatArray:
        """Weights of some records in units, from their products with -w; changes these."""
        found += 1 + SOFTNESS
        found *= slope
        return self._on_grid(np.clip(found, 0.0, 1.0, out=found), rows)

    def _on_grid(self, z: FloatArray, rows: slice) -> FloatArray:
        """(z_i - 1/2) s_i in units, in the place of z; never more than s_i/2."""
        z -= CENTRE
        z *= 2 * self._halves[rows]
        return np.rint(z, out=z)


class LogisticRecords(WhitenedRecords):
    """The same with dual weights 1/(1 + exp(m_i·w + y_i odds - margin)), both numbers public."""

    def __init__(
        self,
        records: RecordsOnGrid,
        whiten: Whitening,
        *,
        margin: float,
        odds: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(records, whiten, **options)
        self._margin, self._odds = margin, odds

    def _weights(self, found: FloatArray, *, rows: slice, slope: float) -> FloatArray:
        """Weights in units; `slope` is that of the hinge."""
        del slope
        found += self._margin
        if self._odds and self._records.positive is not None:
            found -= np.where(self._records.positive[rows], self._odds, -self._odds)
        return self._on_grid(expit(found, out=found), rows)


def bounded(part: row_parts.Part, grid: RecordGrid) -> row_parts.Part:
    """Integer records, where those that are too long are set to 0."""
    square = part.squares_about(np.zeros(part.entries.shape[0]), part.entries.shape[1])
    row_parts.leave_out_longer(part, square, (grid.of_entry * (1 - SLACK)) ** 2)
    return part


def _products(entries: Any, whiten: Whitening) -> tuple[FloatArray, FloatArray]:
    """W m_i of integer records, in integers, and its norm; each a function of its record."""
    found = np.ascontiguousarray(entries @ whiten.columns)
    return found, np.sqrt(np.square(found).sum(axis=1)) * whiten.unit


def _whitened(entries: Any, whiten: Whitening, *, shorten: bool) -> FloatArray:
    """W m_i of integer records, none longer than 1, as integer records."""
    found, norms = _products(entries, whiten)
    units = whiten.grid.shorter(found.shape[1]) * whiten.unit
    found *= (units / (np.maximum(norms, 1.0) if shorten else np.ones(len(norms))))[:, None]
    return bounded(row_parts.DensePart(np.rint(found, out=found)), whiten.grid).table()


def _norms(part: row_parts.Integers, whiten: Whitening) -> FloatArray:
    """||W m_i|| of some records."""
    entries = part.in_double().entries
    found = [
        _products(row_parts.rows_of(entries, few), whiten)[1]
        for few in row_parts.slices(entries.shape[0], OF_PRODUCTS)
    ]
    return np.concatenate([np.zeros(0), *found])


def _add_products(part: row_parts.SparsePart, total: IntArray) -> None:
    """Add the sum of m_i m_i^T to a total."""
    entries = part.entries.astype(np.int64)
    found = (entries.T @ entries).tocoo()
    total[found.row, found.col] += found.data
