"""The minimum of a perturbed convex program over a public polytope, to a certified distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privlp.regions.quadratic import distance_to_minimum, fitted_prices, minimum
from privlp.regions.reduced import ReducedPolytope
from privlp.rows.door import Rows
from privlp.rows.in_coordinates import RowsInCoordinates

FloatArray = npt.NDArray[np.float64]

_HALVINGS = 40
_NEAR_ENOUGH = 0.02
# The search starts with a softness larger by these factors, and takes this many steps at each. If
# violations are hardly softened, as without noise, it starts with many more.
_SOFTER = (64.0, 8.0)
_MUCH_SOFTER = (8.0**6, 8.0**5, 8.0**4, 8.0**3)
_STEPS_ON_THE_WAY = 6
_NEWTON_STEPS = 60
_CHECKED_EVERY = 20


@dataclass(frozen=True)
class PerturbedProgram:
    """F(z) = linear·z + sum_i w_i phi(g_i·z - r_i + shift) + strength |z - centre|^2 / 2 on K.

    phi(v) is 0, v^2/(2 softness) or v - softness/2 for v below 0, up to the softness, or beyond.

    Newton's method with Clarabel for each quadratic program does the work. Should it ever fall
    short, projected gradients take over, whose worst case is bounded. So a certificate is always
    reached, and nothing has to be refused: a refusal would tell something about the rows.

    Attributes
    ----------
    rows : Rows of RowsInCoordinates
    region : ReducedPolytope
    linear : (p,)
        Public costs and the secret noise.
    centre : (p,)
    strength : float
        Strong convexity.
    softness, shift : float
    smoothness : float
        Public bound on the largest curvature of F.
    """

    rows: Rows[RowsInCoordinates]
    region: ReducedPolytope
    linear: FloatArray
    centre: FloatArray
    strength: float
    softness: float
    shift: float
    smoothness: float

    def minimise(
        self, tolerance: float, *, newton_steps: int = _NEWTON_STEPS, sharp: bool = False
    ) -> FloatArray:
        """A point of K within `tolerance` of the minimum, (p,).

        `sharp` says that violations are hardly softened, as without noise. Then there is nothing to
        cover, and the last point of Newton's method is taken, certified or not.
        """
        z = self.region.within(self.centre)
        self.rows.update(RowsInCoordinates.go_to, z)
        for factor in (_MUCH_SOFTER if sharp else ()) + _SOFTER:
            z = self._newton(z, self.softness * factor, min(newton_steps, _STEPS_ON_THE_WAY))
        for _ in range(newton_steps):
            z, distance = self._certified(z, tolerance)
            if distance <= tolerance:
                return z
            z = self._newton(z, self.softness, 1)
        return z if sharp else self._projected_gradients(z, tolerance)

    def _certified(self, z: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
        """A point that breaks no row, next to z, and how far it is from the minimum at most.

        Rows with a price are made tight. Violations are computed afresh, so that their rounding
        does not depend on the steps so far.
        """
        exact, wanted, distance = self.region.exact, None, math.inf
        for _ in range(2):
            z = exact.settled(z, wanted)
            self.rows.update(RowsInCoordinates.go_to, z)
            near, gradient = exact.near(z), self._gradient(z, self.softness)
            face, slack = self.region.C[near], exact.slack(z, near)
            prices = fitted_prices(face, gradient)
            distance = distance_to_minimum(gradient, face, slack, prices, self.strength)
            wanted = near[(prices > 0) & (slack > 0)]
            if distance <= tolerance or not wanted.size:
                break
        return z, distance

    def _newton(self, z: FloatArray, softness: float, steps: int) -> FloatArray:
        """The point after some steps."""
        for _ in range(steps):
            gradient, slack = self._gradient(z, softness), self.region.slack(z)
            hessian = self.rows.total(RowsInCoordinates.hessian, softness, self.shift)
            hessian[np.diag_indices_from(hessian)] += self.strength
            step = minimum(hessian, gradient, self.region.C, np.maximum(slack, 0.0))
            step = self.region.within(z + step) - z
            self.rows.update(RowsInCoordinates.aim, step)
            length = self._length(z, step, softness)
            self.rows.update(RowsInCoordinates.move, length)
            z = z + length * step
        return z

    def _gradient(self, z: FloatArray, softness: float) -> FloatArray:
        total: FloatArray = self.rows.total(RowsInCoordinates.gradient, softness, self.shift)
        return total + self.linear + self.strength * (z - self.centre)

    def _length(self, z: FloatArray, step: FloatArray, softness: float) -> float:
        """Nearly the length at which F is least along the step, at most 1."""

        def slope(length: float) -> float:
            rest = self.linear + self.strength * (z + length * step - self.centre)
            own: float = self.rows.total(RowsInCoordinates.slope, length, softness, self.shift)
            return own + float(rest @ step)

        low, high, at_low, at_high = 0.0, 1.0, slope(0.0), slope(1.0)
        if at_high <= _NEAR_ENOUGH * abs(at_low) or at_low >= 0:
            return 1.0
        enough = _NEAR_ENOUGH * abs(at_low)
        for k in range(_HALVINGS):
            secant = low + (high - low) * at_low / (at_low - at_high)
            middle = secant if k % 3 else 0.5 * (low + high)
            value = slope(middle)
            if abs(value) <= enough:
                return middle
            if value <= 0:
                low, at_low = middle, value
            else:
                high, at_high = middle, value
        return low or high

    def _projected_gradients(self, z: FloatArray, tolerance: float) -> FloatArray:
        """Projected gradient steps until the point is certified.

        Each step divides the distance by 1/(1 - strength/smoothness) or more (Nesterov 2004,
        Theorem 2.2.8), so that this ends.
        """
        identity = np.eye(len(z))
        while True:
            z, distance = self._certified(z, tolerance)
            if distance <= tolerance:
                return z
            for _ in range(_CHECKED_EVERY):
                self.rows.update(RowsInCoordinates.go_to, z)
                gradient, slack = self._gradient(z, self.softness), self.region.slack(z)
                room = np.maximum(slack, 0.0)
                step = minimum(identity, gradient / self.smoothness, self.region.C, room)
                z = self.region.within(z + step)
