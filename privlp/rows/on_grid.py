"""Private rows that stand on a public grid: sums over them are exact numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.regions.simplex import Simplex
from privlp.rows.grid import Grid
from privlp.rows.parts import Integers, Part, Room, summed, weighed_once
from privlp.rows.program_rows import RowBlock
from privlp.rows.threads import over

FloatArray = npt.NDArray[np.float64]

#: Rows that vary by less on a region count as constant.
CONSTANT_ROW = 1e-150
#: Values of a row scaled to equal norm stay below this number before they are centred, or before
#: public equalities rule out directions. So a row that varies by little of its size is shorter
#: than 1.
LARGEST_OF_EQUAL_NORM = 8.0
# What a norm is shortened by before it is rounded, besides half a unit for each entry and centre.
_SHORTER = 1e-9


class Region(Protocol):
    """A public region in whose coordinates rows are given."""

    @property
    def size(self) -> int:
        """Number of coordinates."""


class RowsOnGrid(ABC):
    """Rows g_i = scale_i (a_i - centre_i), with a_i the values of row i in public coordinates.

    Scaled entries and centres are rounded to multiples of a public unit
    (:class:`~privlp.rows.grid.Grid`). A row is shortened before, so that rounding cannot make its
    norm larger than it may be; then the norm is computed from integers, without error, and a row
    that is too long counts for nothing. Everything of a row is a function of that row and of public
    numbers, to the last bit.

    Parameters
    ----------
    block : RowBlock
        The rows.
    simplex : Region
        The region: a simplex in most cases.
    largest_n : int
        Public bound on the number of rows of all blocks.
    """

    #: Largest norm of a row, squared.
    largest_square = 1.0
    #: By what share rows are shortened, besides what rounding takes.
    shorter = _SHORTER

    def __init__(
        self,
        block: RowBlock,
        simplex: Region,
        *,
        largest_n: int,
    ) -> None:
        self._region, self.grid = simplex, self._grid(largest_n)
        self._rhs = np.empty(len(block.rhs))
        # Like entries, centres are integers of at most 24 bits.
        self._centre = np.zeros(len(block.rhs), dtype=np.float32)
        self._parts: list[tuple[slice, Integers]] = []
        room = Room(len(block.rhs))
        # Rounding moves an entry, and a centre, by half a unit.
        shorter = 1.0 - math.sqrt(simplex.size) / self.grid.of_entry - self.shorter
        sides = self._sides(block)
        for rows, part in self._source(block):
            scale, centre = self._scaled(part)
            scale *= max(shorter, 0.0)
            self._rhs[rows] = scale * sides[rows]
            factor = scale * self.grid.of_entry
            centre = np.rint(factor * centre)
            rounded = part.rounded(factor)
            long = self._long(rounded, centre)
            self._parts.append((rows, rounded.stored(room)))
            self._centre[rows] = centre
            self._keep_more(rows, part, factor, long)

    def _grid(self, largest_n: int) -> Grid:
        """The grid of the rows."""
        return Grid.of(largest_n)

    @abstractmethod
    def _source(self, block: RowBlock) -> Iterator[tuple[slice, Part]]:
        """The values of rows, a few rows at a time."""

    def _sides(self, block: RowBlock) -> FloatArray:
        """The right-hand sides of these values."""
        return block.rhs

    @abstractmethod
    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        """The factor of each row, and what is subtracted from its entries before."""

    def _keep_more(  # noqa: B027 (most rows need no more)
        self, rows: slice, part: Part, factor: FloatArray, long: npt.NDArray[np.bool_]
    ) -> None:
        """For those who need more of rows; those that are too long count for nothing."""

    def _long(self, part: Part, centre: FloatArray) -> npt.NDArray[np.bool_]:
        """Which rounded rows are too long; their entries, and centres, are set to 0."""
        square = self._squares(part, centre)
        long = ~(square <= self.largest_square * self.grid.of_entry**2)
        if long.any():
            part.without(long)
            centre[long] = 0.0
        return np.asarray(long)

    def _squares(self, part: Part, centre: FloatArray) -> FloatArray:
        """The squared norms of rounded rows, in units: exact, or not too small."""
        return part.squares_about(centre, self._region.size)

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def violations(self, answer: FloatArray) -> FloatArray:
        """The scaled violations at a point u of the region, (m,)."""
        point, unit = self._point(answer)
        found = np.empty(self.count)

        def run(parts: Sequence[tuple[slice, Integers]]) -> None:
            for rows, part in parts:
                np.multiply(part.times(point), unit, out=found[rows])
                found[rows] -= self._rhs[rows]

        over(self._parts, run)
        return found

    def add_violations(self, answer: FloatArray, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations at a point u of the region to `out`."""
        out += step * self.violations(answer)

    def weighed(self, answer: FloatArray, slope: float, offset: float) -> FloatArray:
        """-sum_i z_i g_i, one entry for each vertex, for elastic weights: exact.

        z_i is slope * violation_i - offset, clipped to [0, 1] and rounded to the grid. The rows are
        read once.
        """
        point, unit = self._point(answer)
        slope *= self.grid.of_weight

        def add(total: Any, rows: slice, weights: FloatArray, sums: FloatArray) -> None:
            total[: len(sums)] -= sums.astype(np.int64)
            total += int(weights @ self._centre[rows].astype(np.float64))

        weigh = partial(self._weights, slope=slope, offset=offset, unit=unit)
        found = weighed_once(self._parts, self._region.size, point, weigh, add)
        return found / self.grid.of_term

    def _weights(
        self, products: FloatArray, *, rows: slice, slope: float, offset: float, unit: float
    ) -> FloatArray:
        """Weights of some rows in units of the grid; changes its argument."""
        most = self.grid.of_weight
        products *= slope * unit
        products -= slope * self._rhs[rows]
        if offset:
            products -= offset * most
        np.clip(products, 0.0, most, out=products)
        return np.rint(products, out=products)

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each vertex: exact for weights that are integers."""
        return self._sum_over(self._parts, z) / self.grid.of_entry

    def _sum_over(self, parts: Sequence[tuple[slice, Integers]], z: FloatArray) -> FloatArray:
        """The weighed sum of some parts of rows, in units."""

        def add(total: FloatArray, rows: slice, part: Integers) -> None:
            weights = z[rows]
            sums = part.transposed_times(weights)
            total[: len(sums)] -= sums
            total += weights @ self._centre[rows].astype(np.float64)

        return summed(parts, self._region.size, add, float)

    @abstractmethod
    def _point(self, answer: FloatArray) -> tuple[FloatArray, float]:
        """A point in units of the grid, and the unit of a violation."""


class RowsOnGridOfSimplex(RowsOnGrid):
    """Rows on a simplex: a_i holds the values A'_ij v_j at the vertices."""

    _region: Simplex

    def _source(self, block: RowBlock) -> Iterator[tuple[slice, Part]]:
        return block.parts(self._region.vertices)

    def _point(self, answer: FloatArray) -> tuple[FloatArray, float]:
        return self.grid.point(answer / self._region.vertices)
