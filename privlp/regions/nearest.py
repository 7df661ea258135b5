"""The point of a polytope nearest to another one, by a search whose length is bounded."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.regions.quadratic import refined

FloatArray = npt.NDArray[np.float64]

# The path is followed by such factors, and a point counts as on the path up to this decrement.
_FACTOR, _ON_THE_PATH = 8.0, 0.25
# By so much, and more, a damped step decreases the function where the decrement is larger.
_LEAST_DECREASE = _ON_THE_PATH - math.log1p(_ON_THE_PATH)
# Gap of a point on the path, and excess of its function over the least, for each row.
_GAP_OF_A_ROW, _EXCESS = 1.5, 0.04


class NearestPoints:
    """Nearest points of {z : C z <= f}, each to within a public gap, in a bounded number of steps.

    A barrier method needs no library but linear equations. From the point inside it follows the
    minima of t |z - a|^2 / 2 - sum_i ln(f_i - C_i z), where t grows by a constant factor. Damped
    Newton steps decrease this function by 0.026 or more until the point is near the path, and
    there the gap is at most 1.5 m / t for m rows (Nesterov 2004, Theorems 4.1.12 and 4.2.7). When
    t grows by the factor, the function exceeds its least value by 0.04 + 1.5 m (factor - 1) at
    most. So the number of steps is bounded by the gap, m, and the logarithm of the distance.

    Then the rows that seem tight are solved for exactly, where this gives the nearest point. In
    floating-point arithmetic the path ends when a step no longer decreases the function as it must.

    Parameters
    ----------
    C : (m, p) sparse array
    f : (m,)
    inside : (p,)
        A point with slack in every row.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> nearest = NearestPoints(sp.csc_array(np.eye(2)), np.ones(2), np.zeros(2))
    >>> nearest.to(np.array([3.0, 0.5]), 1e-12).round(9).tolist()
    [1.0, 0.5]
    """

    def __init__(self, C: sp.csc_array, f: FloatArray, inside: FloatArray) -> None:
        self._C, self._rows, self._f, self._inside = C, C.toarray(), f, inside

    def to(self, a: FloatArray, gap: float) -> FloatArray:
        """A point whose |z - a|^2 / 2 is within `gap` of the least over the polytope, (p,).

        It may break rows by rounding.
        """
        z, weight = self._inside, self._first_weight(a)
        m = max(1, len(self._f))
        most = self._first_steps(a, weight)
        while True:
            z, rounded = self._towards_path(z, a, weight, most)
            if rounded or weight >= _GAP_OF_A_ROW * m / gap:
                return self._on_its_face(z, a, weight)
            weight *= _FACTOR
            most = math.ceil((_EXCESS + _GAP_OF_A_ROW * m * (_FACTOR - 1)) / _LEAST_DECREASE)

    def _towards_path(
        self, z: FloatArray, a: FloatArray, weight: float, most: int
    ) -> tuple[FloatArray, bool]:
        """The point after damped Newton steps, and whether rounding hinders them."""
        for _ in range(most):
            slack = self._f - self._rows @ z
            scaled = self._rows / slack[:, None]
            gradient = weight * (z - a) + scaled.sum(axis=0)
            try:
                root = np.linalg.cholesky(weight * np.eye(len(z)) + scaled.T @ scaled)
                step = -np.linalg.solve(root.T, np.linalg.solve(root, gradient))
            except np.linalg.LinAlgError:
                return z, True
            decrement = math.sqrt(max(0.0, -float(gradient @ step)))
            if decrement <= _ON_THE_PATH:
                return z, False
            moved = z + step / (1 + decrement)
            change, left = moved - z, self._f - self._rows @ moved
            if not (left > 0).all():
                return z, True
            decrease = float(np.log(left / slack).sum())
            decrease -= weight * float((z - a + 0.5 * change) @ change)
            if not decrease >= _LEAST_DECREASE / 2:
                return z, True
            z = moved
        return z, False

    def _first_weight(self, a: FloatArray) -> float:
        """The t at which the quadratic at the point inside is as large as the number of rows."""
        return max(1, len(self._f)) / max(0.5 * float((self._inside - a) @ (self._inside - a)), 1.0)

    def _first_steps(self, a: FloatArray, weight: float) -> int:
        """Damped steps that lead from the point inside to the path, at most.

        Half the squared distance from a at the first minimum is at most that of the point inside
        plus m over the weight. This bounds how far the minimum is, and so its slacks.
        """
        slack = self._f - self._rows @ self._inside
        far = float(np.linalg.norm(self._inside - a))
        reach = far + math.sqrt(far**2 + 2 * len(self._f) / weight)
        sizes = np.linalg.norm(self._rows, axis=1) * reach / slack
        excess = 0.5 * weight * far**2 + float(np.log1p(sizes).sum())
        return math.ceil(excess / _LEAST_DECREASE)

    def _on_its_face(self, z: FloatArray, a: FloatArray, weight: float) -> FloatArray:
        """The nearest point where the rows are tight that seem to be; the point itself if not."""
        slack = self._f - self._rows @ z
        tight = weight * slack**2 < 1
        try:
            step = refined(np.eye(len(z)), z - a, self._C, slack, tight, wrong_sign=0.0)
        except np.linalg.LinAlgError:
            return z
        return z if step is None or not np.isfinite(step).all() else z + step
