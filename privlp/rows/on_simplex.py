"""Private rows on the simplex, each scaled to the same range of values.

On K = {u >= 0, cost·u = V} a private row is the vector of its values A'_ij v_j at the vertices.
Two changes of a row do not change its half-space on K. Each depends on that row alone, so that it
costs no privacy:

* to scale (A'_i, b'_i) by a positive number;
* to add a constant to A'_i v and to b'_i, because sum_j u_j / v_j = 1.

So every private row may be shifted and scaled until its values span exactly [-1, 1] on K. Then
nothing about A or b needs to be declared. The shift is never carried out: it adds the same number
to the score of every vertex.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.regions.rounding import CONSTANT_ROW, LARGEST_OF_EQUAL_RANGE
from privlp.regions.simplex import Simplex
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]


class RowsOnSimplex:
    """Private rows on K, each multiplied by a factor of its own: scale_i (A'_i u - b'_i).

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
    """

    def __init__(
        self, block: RowBlock, simplex: Simplex, scale: FloatArray, rhs: FloatArray
    ) -> None:
        self._rows = block
        self._vertices = simplex.vertices
        self._scale = scale
        self._rhs = rhs
        self._scratch = np.empty_like(rhs)

    @classmethod
    def of_equal_range(cls, simplex: Simplex, block: RowBlock) -> RowsOnSimplex:
        """Rows scaled so that their values span 2 on K, with clipped right-hand sides.

        All of K satisfies, or violates, a right-hand side beyond the values of its row on K.
        Clipping it to them bounds the violation by 2 in size. Constant rows get scale 0: no point
        of K is better than another.
        """
        low, high = block.extremes(simplex.vertices)
        span, size = high - low, np.maximum(np.abs(low), np.abs(high))
        varies = span > CONSTANT_ROW
        scale = np.zeros_like(span)
        scale[varies] = np.minimum(2.0 / span[varies], LARGEST_OF_EQUAL_RANGE / size[varies])
        return cls(block, simplex, scale, scale * np.clip(block.rhs, low, high))

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """Score -sum_i z_i scale_i A'_i v_j of each vertex j; larger is better.

        The part of b' is the same for all vertices, and is left out.
        """
        np.multiply(z, self._scale, out=self._scratch)
        return -self._vertices * self._rows.transposed_times(self._scratch)

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step * scale * (A' v_j e_j - b'), the scaled violations of vertex j, to `out`."""
        np.multiply(self._rhs, step, out=self._scratch)
        out -= self._scratch
        self._rows.add_column(j, step * self._vertices[j], self._scale, out)
