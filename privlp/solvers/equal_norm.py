"""Private rows on the simplex, centred and scaled to the same Euclidean norm: what is released is a sum of vectors of norm 1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.solvers.simplex import CONSTANT_ROW, Simplex

FloatArray = npt.NDArray[np.float64]

# Values of a scaled row stay below this number before they are centred: a row that varies by little
# of its size is shorter than 1.
_LARGEST_VALUE = 8.0


class RowsOfEqualNorm:
    """Rows g_i = scale_i (a_i - mean a_i), a_i the values A'_ij v_j at the vertices, of norm ||g_i||_2 <= 1.

    Adding a constant to the values and the right-hand side of a row, and scaling both, leaves its
    half-space on the region alone (:mod:`privlp.solvers.simplex`). Centred at their mean rows are
    shortest, so that scaling makes most of their violations. A row whose values vary by little of
    their size is not stretched all the way, and a constant row contributes nothing but rounding.
    Scale and centre are functions of that row alone. Everything is finite because programs hold no
    entry of 1e15 or more.

    Parameters
    ----------
    simplex : Simplex
        The region.
    unit : float, optional
        For soft rows, whose scale has a meaning: divide rows by this public number, or by their own norm where that is larger.
    weights : (m,), optional
        For soft rows: what a unit of violation of each row counts, in [0, 1]; of public numbers alone.
    """

    def __init__(
        self, simplex: Simplex, *, unit: float | None = None, weights: FloatArray | None = None
    ) -> None:
        self._rows, self._simplex, self._weights = simplex.form.rows(), simplex, weights
        vertices = simplex.vertices
        mean, largest, square = (np.zeros(len(simplex.form.rhs)) for _ in range(3))
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
        self._scale[varies] = np.minimum(1.0 / divisor, _LARGEST_VALUE / largest[varies])
        self._rhs = self._scale * simplex.form.rhs

    @staticmethod
    def rounding_error(n: int, d: int) -> float:
        """Bound on the Euclidean error of a sum over about n rows with weights in [0, 1], and of the norm of its terms.

        Each of d entries sums n products of size at most 8, in any order: an error of n u times the
        sum of their sizes, and a few u for each, d u for the norm; doubled. It grows as n^2: 0.0006
        of a row for n = 10^5 and d = 1,000, 0.06 for n = 10^6.
        """
        return float(np.sqrt(d)) * n * _LARGEST_VALUE * 2 * (n + d + 64) * 2.0**-53

    @staticmethod
    def rounding_error_of_average(n: int, d: int) -> float:
        """The same for weights that sum to at most 1, multiplier and exponentials of a dense projection included.

        As for :meth:`RowsOnSimplex.rounding_error
        <privlp.solvers.simplex.RowsOnSimplex.rounding_error>`, in each of d entries.
        """
        return float(np.sqrt(d)) * _LARGEST_VALUE * 2 * (2 * n + d + 1024) * 2.0**-53

    @property
    def count(self) -> int:
        """Number of private rows; private under add/remove."""
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
