"""Private rows on a public polytope, scaled to the same Euclidean norm: what is released is a sum of vectors of norm 1."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.solvers.public_polytope import PublicPolytope
from privlp.solvers.simplex import CONSTANT_ROW

FloatArray = npt.NDArray[np.float64]

# Values of a scaled row stay below this number also where public equalities rule out most of its
# directions.
_LARGEST_VALUE = 8.0
#: The violation that counts as most in the value of a cut.
LARGEST_VIOLATION = 1.0


class RowsOnPolytope:
    """Rows g_i = scale_i P (A'_ij range_j)_j over the live variables, of norm ||g_i||_2 <= 1, on any bounded public region.

    P takes out what public equalities make the same for all points of the region
    (:attr:`~privlp.solvers.public_polytope.PublicPolytope.ruled_out`). Multiplying a row and its
    right-hand side by the positive number scale_i leaves its half-space alone. Scale and violation
    are functions of that row and of public numbers alone; each is computed by the same additions in
    the same order for every row.

    Parameters
    ----------
    region : PublicPolytope
        The region.
    with_value : bool
        Whether the score has one entry more: sum_i z_i min(max(violation_i, 0), 1) at the last answer,
        a number in [0, 1] for each row, which a cut needs besides its slope.
    """

    def __init__(self, region: PublicPolytope, *, with_value: bool = False) -> None:
        form = region.form
        self._form, self._rows, self._with_value, self._ruled_out = (
            form,
            form.rows(),
            with_value,
            region.ruled_out,
        )
        columns, first = np.unique(form.column, return_index=True)
        self._at = first[np.searchsorted(columns, region.live)]
        self._unit = form.column_sign[self._at] * region.unit[region.live]
        self._scale = self._scales()
        self._rhs = self._scale * form.rhs
        self._violations = np.zeros(len(self._rhs))

    def _scales(self) -> FloatArray:
        along = np.zeros((len(self._ruled_out), self.count))
        largest, square = np.zeros(self.count), np.zeros(self.count)
        for j, (k, unit) in enumerate(zip(self._at, self._unit, strict=True)):
            values = self._rows.column(k) * unit
            np.maximum(largest, np.abs(values), out=largest)
            for r, direction in enumerate(self._ruled_out):
                along[r] += direction[j] * values
        for j, (k, unit) in enumerate(zip(self._at, self._unit, strict=True)):
            values = self._rows.column(k) * unit
            for r, direction in enumerate(self._ruled_out):
                values -= direction[j] * along[r]
            square += values**2
        norm, scale = np.sqrt(square), np.zeros(self.count)
        varies = norm > CONSTANT_ROW
        scale[varies] = np.minimum(1.0 / norm[varies], _LARGEST_VALUE / largest[varies])
        return scale

    @staticmethod
    def rounding_error(n: int, d: int) -> float:
        """Bound on the Euclidean error of a sum over about n rows with weights in [0, 1], and of the norms of its terms.

        Each of d entries sums n products of size at most 8, in any order: an error of n u times the
        sum of their sizes, and a few u for each. Before P takes effect a sum has a norm of at most
        8 sqrt(d) n, and P, two products with a fixed matrix of at most d rows, adds 4 d^(3/2) u
        times that; to the norm of a row, computed in the same way, likewise. Doubled.
        """
        return math.sqrt(d) * n * _LARGEST_VALUE * 2 * (n + 64 + 8 * d**1.5) * 2.0**-53

    @property
    def count(self) -> int:
        """Number of private rows; private under add/remove."""
        return len(self._form.rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each live variable, and with the value of the sum at the end, if asked for."""
        total = -self._unit * self._rows.transposed_times(z * self._scale)[self._at]
        total -= self._ruled_out.T @ (self._ruled_out @ total)
        if not self._with_value:
            return np.asarray(total)
        return np.append(total, np.sum(z * np.clip(self._violations, 0.0, LARGEST_VIOLATION)))

    def add_violations(self, answer: FloatArray, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations at a point x of the region to `out`, and remember them for the value."""
        form = self._form
        u = np.maximum(form.column_sign * (answer - form.shift)[form.column], 0.0)
        self._violations = self._scale * (self._rows @ u) - self._rhs
        out += step * self._violations
