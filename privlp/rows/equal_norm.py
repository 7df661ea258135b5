"""Private rows on the simplex, centred and scaled to the same Euclidean norm.

A release is a sum of vectors of norm at most 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.rows.on_grid import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM, RowsOnGridOfSimplex
from privlp.rows.parts import Part

FloatArray = npt.NDArray[np.float64]

# Covers the rounding of a norm.
_NEAR = 1 - 1e-9


class RowsOfEqualNorm(RowsOnGridOfSimplex):
    """Rows g_i = scale_i (a_i - mean a_i) with ||g_i||_2 <= 1.

    a_i holds the values A'_ij v_j at the vertices. Adding a constant to the values and the
    right-hand side of a row, and scaling both, does not change its half-space on the region
    (:mod:`privlp.rows.on_simplex`). A row is shortest when it is centred at its mean; then scaling
    makes its violations largest. A row whose values vary by little of their size is not stretched
    all the way, and a constant row contributes nothing but rounding. Scale and centre are functions
    of that row alone. Everything is finite because programs hold no entry of 1e15 or more.
    """

    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        size = self._region.size
        mean = part.sums() / size
        norm = np.sqrt(part.squares_about(mean, size))
        varies = norm > CONSTANT_ROW
        divisor = norm
        # No entry is larger than the norm of the row before it is centred.
        if (np.sqrt(norm**2 + size * mean**2) > _NEAR * LARGEST_OF_EQUAL_NORM * divisor).any():
            low, high = part.extremes()
            divisor = np.maximum(divisor, np.maximum(-low, high) / LARGEST_OF_EQUAL_NORM)
        return np.divide(1.0, divisor, out=np.zeros_like(norm), where=varies), mean
