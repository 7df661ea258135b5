"""Private rows on the simplex, centred and scaled to the same Euclidean norm.

A release is a sum of vectors of norm at most 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.regions.rounding import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM
from privlp.regions.simplex import Simplex
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]


class RowsOfEqualNorm:
    """Rows g_i = scale_i (a_i - mean a_i) with ||g_i||_2 <= 1.

    a_i holds the values A'_ij v_j at the vertices. Adding a constant to the values and the
    right-hand side of a row, and scaling both, does not change its half-space on the region
    (:mod:`privlp.rows.on_simplex`). A row is shortest when it is centred at its mean; then scaling
    makes its violations largest. A row whose values vary by little of their size is not stretched
    all the way, and a constant row contributes nothing but rounding. Scale and centre are functions
    of that row alone. Everything is finite because programs hold no entry of 1e15 or more.

    Parameters
    ----------
    block : RowBlock
        The rows.
    simplex : Simplex
        The region.
    unit : float, optional
        For soft rows, whose scale matters: rows are divided by this public number, or by their own
        norm where that is larger.
    largest_price : float, optional
        For soft rows: the largest price of all rows, public. A unit of violation of a row then
        counts as its own price divided by this one.
    """

    def __init__(
        self,
        block: RowBlock,
        simplex: Simplex,
        *,
        unit: float | None = None,
        largest_price: float | None = None,
    ) -> None:
        self._rows, self._simplex = block, simplex
        self._weights = None
        if largest_price is not None and block.price is not None:
            self._weights = block.price / largest_price
        vertices = simplex.vertices
        mean, largest, square = (np.zeros(len(block.rhs)) for _ in range(3))
        for j, vertex in enumerate(vertices):
            values = self._rows.column(j) * vertex
            mean += values / simplex.size
            np.maximum(largest, np.abs(values), out=largest)
        for j, vertex in enumerate(vertices):
            square += (self._rows.column(j) * vertex - mean) ** 2
        norm = np.sqrt(square + mean**2 if simplex.origin else square)
        varies = norm > CONSTANT_ROW
        self._scale = np.zeros_like(norm)
        divisor = norm[varies] if unit is None else np.maximum(norm[varies], unit)
        self._scale[varies] = np.minimum(1.0 / divisor, LARGEST_OF_EQUAL_NORM / largest[varies])
        self._rhs = self._scale * block.rhs

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each vertex.

        Subtracting the mean of the sum centres all rows at once.
        """
        factors = z * self._scale if self._weights is None else z * self._scale * self._weights
        total = np.zeros(self._simplex.size)
        total[: len(self._simplex.vertices)] = (
            -self._simplex.vertices * self._rows.transposed_times(factors)
        )
        return total - total.mean()

    def add_violations(self, answer: FloatArray, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations at a point u of the region to `out`."""
        out += step * (self._scale * (self._rows @ answer) - self._rhs)
