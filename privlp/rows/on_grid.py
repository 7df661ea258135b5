"""Private rows that stand on a public grid: sums over them are exact numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from privlp.regions.simplex import Simplex
from privlp.rows.grid import Grid
from privlp.rows.parts import Integers, Part
from privlp.rows.program_rows import RowBlock
from privlp.rows.threads import over

FloatArray = npt.NDArray[np.float64]

# What a norm is shortened by before it is rounded, besides half a unit for each entry and centre.
_SHORTER = 1e-9


class RowsOnGrid(ABC):
    """Rows g_i = scale_i (a_i - centre_i), with a_i the values A'_ij v_j at the vertices.

    Scaled entries and centres are rounded to multiples of a public unit
    (:class:`~privlp.rows.grid.Grid`). A row is shortened before, so that rounding cannot make its
    norm larger than it may be; then the norm is computed from integers, without error, and a row
    that is too long counts for nothing. Everything of a row is a function of that row and of public
    numbers, to the last bit.

    Parameters
    ----------
    block : RowBlock
        The rows.
    simplex : Simplex
        The region.
    largest_n : int
        Public bound on the number of rows of all blocks.
    largest_price : float, optional
        For soft rows: the largest price of all rows, public. A unit of violation of a row then
        counts as its own price divided by this one.
    """

    #: Largest norm of a row, squared.
    largest_square = 1.0

    def __init__(
        self,
        block: RowBlock,
        simplex: Simplex,
        *,
        largest_n: int,
        largest_price: float | None = None,
    ) -> None:
        self._simplex, self.grid = simplex, Grid.of(largest_n)
        self._price = None
        if largest_price is not None and block.price is not None:
            self._price = block.price / largest_price
        self._rhs = np.empty(len(block.rhs))
        # Like entries, centres are integers of at most 24 bits.
        self._centre = np.zeros(len(block.rhs), dtype=np.float32)
        self._parts: list[tuple[slice, Integers]] = []
        # Rounding moves an entry, and a centre, by half a unit.
        shorter = 1.0 - np.sqrt(simplex.size) / self.grid.of_entry - _SHORTER
        for rows, part in block.parts(simplex.vertices):
            scale, centre = self._scaled(part)
            scale *= max(shorter, 0.0)
            self._rhs[rows] = scale * block.rhs[rows]
            factor = scale * self.grid.of_entry
            centre = np.rint(factor * centre)
            self._parts.append((rows, self._kept(part.rounded(factor), centre)))
            self._centre[rows] = centre

    @abstractmethod
    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        """The factor of each row, and what is subtracted from its entries before."""

    def _kept(self, part: Part, centre: FloatArray) -> Integers:
        """The rounded entries of a part; those of rows that are too long are set to 0."""
        square = part.squares_about(centre, self._simplex.size)
        long = ~(square <= self.largest_square * self.grid.of_entry**2)
        if long.any():
            part.without(long)
            centre[long] = 0.0
        return part.stored()

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

        def run(parts: Sequence[tuple[slice, Integers]]) -> npt.NDArray[np.int64]:
            total = np.zeros(self._simplex.size, dtype=np.int64)
            scratch = np.empty(max((part.size for _, part in parts), default=0))
            for rows, part in parts:
                weigh = partial(self._weights, rows=rows, slope=slope, offset=offset, unit=unit)
                weights, sums = part.weighed(point, weigh, scratch)
                total[: len(sums)] -= sums.astype(np.int64)
                total += int(weights @ self._centre[rows].astype(np.float64))
            return total

        return np.sum(over(self._parts, run), axis=0) / self.grid.of_term

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
        if self._price is not None:
            products *= self._price[rows]
        return np.rint(products, out=products)

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each vertex, for any weights: in floating point."""
        total = np.zeros(self._simplex.size)
        for rows, part in self._parts:
            weights = z[rows] if self._price is None else z[rows] * self._price[rows]
            sums = part.transposed_times(weights)
            total[: len(sums)] -= sums
            total += weights @ self._centre[rows].astype(np.float64)
        return total / self.grid.of_entry

    def _point(self, answer: FloatArray) -> tuple[FloatArray, float]:
        """A point in units of the grid, and the unit of a violation."""
        return self.grid.point(answer / self._simplex.vertices)
