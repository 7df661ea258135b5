"""Private rows on a public polytope, scaled to the same Euclidean norm.

A release is a sum of vectors of norm at most 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.regions.polytope import LARGEST_VIOLATION, PublicPolytope
from privlp.regions.rounding import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM
from privlp.rows.program_rows import RowBlock
from privlp.rows.two_passes import RowsInTwoPasses

FloatArray = npt.NDArray[np.float64]


class RowsOnPolytope(RowsInTwoPasses):
    """Rows g_i = scale_i P (A'_ij range_j)_j over the live variables, with ||g_i||_2 <= 1.

    P projects away the directions in which no two points of the region differ because of public
    equalities (:attr:`~privlp.regions.polytope.PublicPolytope.ruled_out`). Multiplying a row and
    its right-hand side by the positive number scale_i does not change its half-space. Scale and
    violation are functions of that row and of public numbers alone; each is computed by the same
    additions in the same order for every row.

    Parameters
    ----------
    block : RowBlock
        The rows.
    region : PublicPolytope
        The region.
    with_value : bool
        Whether the score has one entry more: sum_i z_i min(max(violation_i, 0), 1) at the last
        answer. Each row adds a number in [0, 1]. A cut needs this value besides its slope.
    """

    changes = ("_violations",)

    def __init__(
        self, block: RowBlock, region: PublicPolytope, *, with_value: bool = False
    ) -> None:
        form = region.form
        self._form, self._rows, self._with_value = form, block, with_value
        self._ruled_out = region.ruled_out
        self.count = len(block.rhs)
        columns, first = np.unique(form.column, return_index=True)
        self._at = first[np.searchsorted(columns, region.live)]
        self._unit = form.column_sign[self._at] * region.unit[region.live]
        self._scale = self._scales()
        self._rhs = self._scale * block.rhs
        self._violations = np.zeros(len(self._rhs))

    def _scales(self) -> FloatArray:
        """The factor of each row: one over its norm after P, or less."""
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
        scale[varies] = np.minimum(1.0 / norm[varies], LARGEST_OF_EQUAL_NORM / largest[varies])
        return scale

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each live variable; the value comes last, if asked for."""
        total = -self._unit * self._rows.transposed_times(z * self._scale)[self._at]
        total -= self._ruled_out.T @ (self._ruled_out @ total)
        if not self._with_value:
            return np.asarray(total)
        return np.append(total, np.sum(z * np.clip(self._violations, 0.0, LARGEST_VIOLATION)))

    def violations(self, answer: FloatArray) -> FloatArray:
        """The scaled violations at a point x of the region, (m,).

        The value of the next scores is taken from them.
        """
        form = self._form
        u = np.maximum(form.column_sign * (answer - form.shift)[form.column], 0.0)
        self._violations = self._scale * (self._rows @ u) - self._rhs
        return self._violations.copy()
