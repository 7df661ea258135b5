"""Private rows on a public polytope, scaled to the same Euclidean norm.

A release is a sum of vectors of norm at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from privlp.regions.polytope import LARGEST_VIOLATION, PublicPolytope
from privlp.rows.grid import Grid
from privlp.rows.on_grid import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM, RowsOnGrid
from privlp.rows.parts import Integers, Part, Room
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# Units to the largest entry of a row whose norm after the projection is asked for.
_UNITS = 2.0**20
# Rows are shortened by this share where sums are projected: more than what rounding the projected
# sum moves it, which is 2^-53 of the number of rows.
_SHORTER = 2.0**-19
# Bits that weights have more, and entries fewer, where cuts are made.
_FINER = 6


class RowsOnPolytope(RowsOnGrid):
    """Rows g_i = scale_i (A'_ij range_j)_j over the live variables, with ||P g_i||_2 <= 1.

    P projects away the directions in which no two points of the region differ because of public
    equalities (:attr:`~privlp.regions.polytope.PublicPolytope.ruled_out`). It is applied to the
    sum over all rows, without rounding (:meth:`PublicPolytope.projected`). Multiplying a row and
    its right-hand side by the positive number scale_i does not change its half-space. Scale and
    violation are functions of that row and of public numbers alone.

    Parameters
    ----------
    block : RowBlock
        The rows.
    region : PublicPolytope
        The region.
    largest_n : int
        Public bound on the number of rows of all blocks.
    with_value : bool
        Whether the weighed sum has one entry more: sum_i z_i min(max(violation_i, 0), 1). Each row
        adds a number in [0, 1]. A cut needs this value besides its slope, both to more digits: the
        sum comes in two parts, on the grid and on one as fine beneath it.
    """

    _region: PublicPolytope

    def __init__(
        self,
        block: RowBlock,
        region: PublicPolytope,
        *,
        largest_n: int = 0,
        with_value: bool = False,
    ) -> None:
        self._with_value = with_value
        self._project = region.projection
        self._rows, self._scale = block, np.empty(len(block.rhs) if with_value else 0)
        self._rest: list[tuple[slice, Integers]] = []
        self._room = Room(len(block.rhs))
        if self._project is not None:
            # The norm of a row is that of its entries, rounded to 2^-20 of the largest one.
            self.shorter = _SHORTER + 4 * LARGEST_OF_EQUAL_NORM * math.sqrt(region.size) / _UNITS
        if with_value:
            self.shorter += math.sqrt(region.size) / self._grid(largest_n).of_entry
        super().__init__(block, region, largest_n=largest_n)

    def _keep_more(
        self, rows: slice, part: Part, factor: FloatArray, long: npt.NDArray[np.bool_]
    ) -> None:
        """For cuts: what rounding to the grid leaves, and the factors."""
        if self._with_value:
            rest = part.rest(factor, self.grid.of_entry)
            rest.without(long)
            self._rest.append((rows, rest.stored(self._room)))
            self._scale[rows] = factor / self.grid.of_entry

    def _grid(self, largest_n: int) -> Grid:
        """A coarser grid where the entries of a row may be larger than its norm.

        For cuts, weights are finer: a row that is hardly violated has a small one.
        """
        grid = Grid.of(largest_n)
        coarser = 0 if self._project is None else int(math.log2(LARGEST_OF_EQUAL_NORM))
        finer = _FINER if self._with_value else 0
        return Grid(grid.entries - coarser - finer, grid.weights + finer)

    def _source(self, block: RowBlock) -> Iterator[tuple[slice, Part]]:
        region = self._region
        return block.parts(region.unit[region.live], region.live)

    def _sides(self, block: RowBlock) -> FloatArray:
        """Right-hand sides, less what rows are where all variables are least."""
        form = block.form
        least = np.maximum(form.column_sign * (self._region.low - form.shift)[form.column], 0.0)
        return np.asarray(block.rhs - block @ least)

    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        none = np.zeros(len(part.sums()))
        norm = np.sqrt(part.squares_about(none, self._region.size))
        if self._project is not None:
            low, high = part.extremes()
            largest = np.maximum(-low, high)
            units = np.divide(_UNITS, largest, out=np.zeros_like(none), where=largest > 0)
            norm = np.sqrt(self._project.squares(part.rounded(units))) * largest / _UNITS
            norm = np.maximum(norm, largest / LARGEST_OF_EQUAL_NORM)
        varies = norm > CONSTANT_ROW
        return np.divide(1.0, norm, out=np.zeros_like(norm), where=varies), none

    def _squares(self, part: Part, centre: FloatArray) -> FloatArray:
        # The second part of a row adds half a unit to each entry at most.
        beneath = math.sqrt(self._region.size) / self.grid.of_entry if self._with_value else 0.0
        if self._project is None:
            return super()._squares(part, centre) / (1 - beneath) ** 2
        return self._project.squares(part) / (1 - beneath - _SHORTER) ** 2

    def weighed(self, answer: FloatArray, slope: float, offset: float) -> FloatArray:
        """The weighed sum; for cuts two parts of it and of the value, the second below 2^-q.

        A cut holds near the point only as well as its value is known. So violations are those of
        the rows as they are given then, and not of rounded ones.
        """
        if not self._with_value:
            return super().weighed(answer, slope, offset)
        violations, grid = self._unrounded(answer), self.grid
        weights = np.rint(np.clip(slope * violations - offset, 0.0, 1.0) * grid.of_weight)
        value = np.clip(violations, 0.0, LARGEST_VIOLATION) * grid.of_entry
        whole = np.rint(value)
        rest = np.rint((value - whole) * grid.of_entry)
        first = np.append(self._sum_over(self._parts, weights), weights @ whole)
        second = np.append(self._sum_over(self._rest, weights), weights @ rest)
        return np.concatenate([first, second / grid.of_entry]) / grid.of_term

    def _unrounded(self, answer: FloatArray) -> FloatArray:
        """The scaled violations at a point of the region, (m,), of rows that are not rounded."""
        form = self._rows.form
        u = np.maximum(form.column_sign * (answer - form.shift)[form.column], 0.0)
        return self._scale * (self._rows @ u) - self._scale * self._rows.rhs

    def _point(self, answer: FloatArray) -> tuple[FloatArray, float]:
        region = self._region
        shares = (answer - region.low)[region.live] / region.unit[region.live]
        return self.grid.point(np.maximum(shares, 0.0))
