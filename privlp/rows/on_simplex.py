"""Private rows on the simplex, each scaled to the same range of values.

On K = {u >= 0, cost·u = V} a private row is the vector of its values A'_ij v_j at the vertices.
Two changes of a row do not change its half-space on K. Each depends on that row alone, so that it
costs no privacy:

* to scale (A'_i, b'_i) by a positive number;
* to add a constant to A'_i v and to b'_i, because sum_j u_j / v_j = 1.

So every private row may be shifted and scaled until its values span [-1, 1] on K. Then nothing
about A or b needs to be declared. Values are rounded to a public grid after that: sums over rows
are exact (:mod:`privlp.rows.grid`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.regions.simplex import Simplex
from privlp.rows.grid import Grid
from privlp.rows.on_grid import CONSTANT_ROW
from privlp.rows.parts import Integers, Room, summed
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

#: Values of a row scaled to equal range stay below this number. So a row whose values vary by less
#: than 1/32 of their size is not stretched all the way to [-1, 1].
LARGEST_OF_EQUAL_RANGE = 64.0
# The grid is made for entries of at most 8.
_COARSER = LARGEST_OF_EQUAL_RANGE / 8
# What a row is shortened by before it is rounded, besides a unit.
_SHORTER = 1e-9


class RowsOnSimplex:
    """Private rows on K, each multiplied by a factor of its own: scale_i (A'_i u - b'_i).

    What enters a score is rounded to the grid; violations are not, each being a function of its
    row. A row whose rounded values are too far from its centre counts for nothing.

    Parameters
    ----------
    block : RowBlock
        The rows.
    simplex : Simplex
        The region.
    scale : (m,)
        Positive factor of each row; private, a function of that row alone.
    rhs : (m,)
        Scaled right-hand sides; private, likewise.
    centre : (m,), optional
        What is subtracted from the scaled values of each row in scores; by default nothing.
    largest_n : int
        Public bound on the number of rows of all blocks.
    unit : float
        A public power of two, in whose units scaled values are at most 64.
    span : float
        Largest distance of a scaled value from its centre, in these units.
    """

    def __init__(
        self,
        block: RowBlock,
        simplex: Simplex,
        scale: FloatArray,
        rhs: FloatArray,
        *,
        centre: FloatArray | None = None,
        largest_n: int = 0,
        unit: float = 1.0,
        span: float = math.inf,
    ) -> None:
        self._rows, self._scale, self._rhs = block, scale, rhs
        self._vertices = simplex.vertices
        self._scratch = np.empty_like(rhs)
        units = Grid.of(largest_n).of_entry / _COARSER
        self._factor = unit / units
        factor = scale * (units / unit * (1 - 1 / units - _SHORTER))
        self._centre = np.zeros(len(rhs), dtype=np.float32)
        if centre is not None:
            self._centre[:] = np.rint(centre * (units / unit * (1 - 1 / units - _SHORTER)))
        self._parts: list[tuple[slice, Integers]] = []
        room = Room(len(block.rhs))
        for rows, part in block.parts(simplex.vertices):
            rounded = part.rounded(factor[rows])
            low, high = rounded.ends()
            middle = self._centre[rows]
            long = ~(np.maximum(high - middle, middle - low) <= span * units)
            if long.any():
                rounded.without(long)
                middle[long] = 0.0
            self._parts.append((rows, rounded.stored(room)))

    @classmethod
    def of_equal_range(cls, simplex: Simplex, block: RowBlock, largest_n: int = 0) -> RowsOnSimplex:
        """Rows scaled so that their values span 2 on K, with clipped right-hand sides.

        All of K satisfies, or violates, a right-hand side beyond the values of its row on K.
        Clipping it to them bounds the violation by 2 in size. Constant rows get scale 0: no point
        of K is better than another.
        """
        low, high = ends_of(block, simplex.vertices)
        span, size = high - low, np.maximum(np.abs(low), np.abs(high))
        varies = span > CONSTANT_ROW
        scale = np.zeros_like(span)
        scale[varies] = np.minimum(2.0 / span[varies], LARGEST_OF_EQUAL_RANGE / size[varies])
        rhs = scale * np.clip(block.rhs, low, high)
        centre = scale * (low + 0.5 * span)
        return cls(block, simplex, scale, rhs, centre=centre, largest_n=largest_n, span=1.0)

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """Score -sum_i z_i (scale_i A'_i v_j - centre_i) of each vertex j; larger is better.

        Exact for weights that are integers. The part of b' is the same for all vertices, and is
        left out.
        """

        def add(total: FloatArray, rows: slice, part: Integers) -> None:
            total -= part.transposed_times(z[rows])
            total += z[rows] @ self._centre[rows].astype(np.float64)

        return summed(self._parts, len(self._vertices), add, float) * self._factor

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step * scale * (A' v_j e_j - b'), the scaled violations of vertex j, to `out`."""
        np.multiply(self._rhs, step, out=self._scratch)
        out -= self._scratch
        self._rows.add_column(j, step * self._vertices[j], self._scale, out)


def ends_of(block: RowBlock, factors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest entry of each row of A' diag(factors), zeros included."""
    low, high = np.empty(len(block.rhs)), np.empty(len(block.rhs))
    for rows, part in block.parts(factors):
        low[rows], high[rows] = part.ends()
    return low, high
