"""The minimum of a perturbed convex program over a public polytope, to a certified distance."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.quadratic import (
    distance_to_minimum,
    fitted_prices,
    likely_tight,
    minimum,
    where_flat,
)
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import (
    UNITS_OF_HESSIAN,
    RowsInCoordinates,
    SmoothedRows,
    value_of_fine_hessian,
    value_of_sum,
)

_HALVINGS = 40
_NEAR_ENOUGH = 0.02
# The search starts with a softness larger by these factors, and takes this many steps at each. If
# violations are hardly softened, as without noise, it starts with many more, and takes more steps.
# No more are taken where F falls by less than a share of the softness.
_SOFTER = (64.0, 8.0)
_MUCH_SOFTER = (8.0**6, 8.0**5, 8.0**4, 8.0**3)
_STEPS_ON_THE_WAY, _STEPS_IF_SHARP, _NO_FALL = 2, 60, 1e-2
# Doubles have done what they can where more steps than this in a row bring no point half as near:
# the second number counts where a step is no longer than the tolerance.
_NEWTON_STEPS, _STUCK, _STUCK_IF_SHORT = 60, 12, 2
# Slopes balance where rows of K with no more slack leave so small a share of the costs. They are
# looked for with more softness too, by these factors.
_BALANCE, _NEARLY_TIGHT, _BALANCED = 1e-4, 1e-5, tuple(8.0**k for k in range(1, 7))
# Where a step leads uphill, curvatures are raised by these shares of the largest one, in turn.
_DAMPING = (1e-9, 1e-6, 1e-3)
# In the search that only a certificate ends they are raised by a share of the largest one, then by
# this factor: after so many steps, or where no step leads down.
_FIRST_DAMPING, _MORE_DAMPING, _PATIENCE = 2.0**-40, 8.0, 16
# Tight rows certify no point whose gradient alone puts it farther off than so many tolerances.
_FAR = 100.0
# Steps take the curvature of so many rows, or so many for each coordinate if that is more. This
# number doubles after some steps: late ones take all rows.
_FEWEST_BENT, _BENT = 2**12, 50
_DOUBLED_EVERY = 3
# If the share of the rows to begin with is no larger than this, the search starts towards its
# minimum; then towards that of so many times as many rows, and again. A point is near enough if F
# falls by less than this number, in units of the softness, for each coordinate. Then steps take the
# curvature of so many rows over the share: all, if p is small.
_SHARE, _LARGER, _STEPS_OF_A_SHARE, _NO_FALL_OF_A_SHARE = 0.5, 16.0, 30, 0.05
_BENT_OF_A_SHARE = 5000.0


@dataclass(frozen=True)
class PerturbedProgram:
    """F(z) = linear·z + sum_i w_i phi(g_i·z - r_i + shift) + strength |z - centre|^2 / 2 on K.

    phi(v) is 0, v^2/(2 softness) or v - softness/2 for v below 0, up to the softness, or beyond.

    Newton's method with Clarabel does the work. Should it fall short, it goes on with quadratic
    programs and certificates in integers, until the point is certified: no other end, no refusal,
    which would tell something about the rows.
    """

    rows: Rows[Any]
    region: ReducedPolytope
    linear: FloatArray  # Public costs and the secret noise, (p,).
    centre: FloatArray  # (p,).
    strength: float  # Strong convexity.
    softness: float
    shift: float
    smoothness: float  # Public bound on the largest curvature of F.
    share: float = 1.0  # Share of the rows that the first steps read.

    def minimise(
        self, tolerance: float, *, newton_steps: int = _NEWTON_STEPS, sharp: bool = False
    ) -> FloatArray:
        """A point certified to be within `tolerance` of the minimum; the last if `sharp`."""
        z = self.region.within(self.centre)
        if self.share > _SHARE:
            z = self._softened(z, newton_steps, sharp=sharp)
        else:
            z = self._near_by_shares(z)
        nearest, since = math.inf, 0
        for number in range(newton_steps):
            z, distance, gradient = self._certified(z, tolerance)
            if distance <= tolerance:
                return z
            nearest, since = (distance, 0) if distance < 0.5 * nearest else (nearest, since + 1)
            bent = self._fewest_bent() * 2.0 ** (number // _DOUBLED_EVERY)
            step, fall = self._step(z, gradient, self.softness, bent, sharp=sharp)
            short = float(np.linalg.norm(step)) <= tolerance
            if not sharp and (fall < 0 or since > (_STUCK_IF_SHORT if short else _STUCK)):
                break
            if not sharp or fall > _NO_FALL * self.softness:
                z = self._gone(z, step, self.softness)
        return z if sharp else self._exactly(z, tolerance)

    def _exactly(self, z: FloatArray, tolerance: float) -> FloatArray:
        """A certified point, by steps in integers: nothing but a certificate ends the search."""
        minima, damping, diagonal = self.region.exact_minima, 0.0, np.diag_indices(len(z))
        tight = None
        for number in itertools.count(1):
            self.rows.update(SmoothedRows.go_to, z)
            gradient = self._gradient(z, self.softness)
            hessian = value_of_fine_hessian(
                self.rows.total(SmoothedRows.fine_hessian, self.softness, self.shift), self.softness
            )
            hessian[diagonal] += self.strength + damping
            if tight is None:
                slack = np.maximum(self.region.slack(z), 0.0)
                tight = likely_tight(hessian, gradient, self.region.C, slack)
            found, moved = minima.of(hessian, gradient, z, tight), False
            if found is not None:
                tight = np.flatnonzero(found.prices > 0).tolist()
                self.rows.update(SmoothedRows.go_to, found.rounded)
                there = self._gradient(found.rounded, self.softness)
                distance = minima.distance(
                    found, there, strength=self.strength, smoothness=self.smoothness
                )
                if distance <= tolerance:
                    return found.rounded
                step = found.rounded - z
                if gradient @ step < 0:
                    self.rows.update(SmoothedRows.go_to, z)
                    before, z = z, self._gone(z, step, self.softness, only_down=True)
                    moved = bool((z != before).any())
            if not moved or number % _PATIENCE == 0:
                damping = max(damping, _FIRST_DAMPING * self.smoothness)
                damping = min(_MORE_DAMPING * damping, self.smoothness)
        raise AssertionError  # pragma: no cover (the loop has no other end)

    def _softened(self, z: FloatArray, newton_steps: int, *, sharp: bool = False) -> FloatArray:
        """The point after steps with more softness, then less."""
        on_the_way = min(newton_steps, _STEPS_IF_SHARP if sharp else _STEPS_ON_THE_WAY)
        self.rows.update(SmoothedRows.go_to, z)
        for factor in (_MUCH_SOFTER if sharp else ()) + _SOFTER:
            softness, bent = self.softness * factor, self._fewest_bent()
            enough = _NO_FALL * softness
            z = self._newton(z, softness, on_the_way, bent=bent, enough=enough, sharp=sharp)
        return z

    def _near_by_shares(self, z: FloatArray) -> FloatArray:
        """About the minimum for a share of the rows, found from that for a smaller share."""
        share, enough = self.share, _NO_FALL_OF_A_SHARE * self.region.size * self.softness
        while share <= _SHARE:
            few = replace(
                self,
                rows=self.rows.keep(partial(RowsInCoordinates.share, share=share)),
                linear=share * self.linear,
                strength=share * self.strength,
                smoothness=share * self.smoothness,
                share=1.0,
            )
            if share == self.share:
                z = few._softened(z, _STEPS_OF_A_SHARE)
            few.rows.update(SmoothedRows.go_to, z)
            z = few._newton(z, self.softness, _STEPS_OF_A_SHARE, bent=math.inf, enough=enough)
            share *= _LARGER
        return z

    def _certified(self, z: FloatArray, tolerance: float) -> tuple[FloatArray, float, FloatArray]:
        """A point next to z that breaks no row; its distance to the minimum; its gradient."""
        exact, wanted, distance = self.region.exact, None, math.inf
        for _ in range(2):
            z = exact.settled(z, wanted)
            self.rows.update(SmoothedRows.go_to, z)
            near, gradient = exact.near(z), self._gradient(z, self.softness)
            face, slack = self.region.C[near], exact.slack(z, near)
            prices = fitted_prices(face, gradient)
            distance = distance_to_minimum(gradient, face, slack, prices, self.strength)
            wanted = near[(prices > 0) & (slack > 0)]
            tight = distance_to_minimum(gradient, face, 0 * slack, prices, self.strength)
            if distance <= tolerance or not wanted.size or tight > _FAR * tolerance:
                break
        return z, distance, gradient

    def _newton(
        self,
        z: FloatArray,
        softness: float,
        steps: int,
        *,
        bent: float,
        enough: float,
        sharp: bool = False,
    ) -> FloatArray:
        """The point after some steps of so many bent rows, or where F falls by too little."""
        for _ in range(steps):
            step, fall = self._step(z, self._gradient(z, softness), softness, bent, sharp=sharp)
            if fall <= enough:
                break
            z = self._gone(z, step, softness)
        return z

    def _gone(
        self, z: FloatArray, step: FloatArray, softness: float, *, only_down: bool = False
    ) -> FloatArray:
        """The point where F is about least along a step; not beyond the least, if so wanted."""
        self.rows.update(SmoothedRows.aim, step)
        reach = 2.0 ** math.frexp(float(np.linalg.norm(step)))[1]

        def slope(length: float) -> float:
            rest = self.linear + self.strength * (z + length * step - self.centre)
            own = self.rows.total(SmoothedRows.slope, length, softness, self.shift, reach)
            return float(value_of_sum(own)) * reach + float(rest @ step)

        at_low, at_high = slope(0.0), slope(1.0)
        enough = _NEAR_ENOUGH * abs(at_low)
        uphill = 0.0 if only_down else enough
        length = 0.0 if at_low > 0 else 1.0
        if not at_low > 0 and not at_high <= uphill:
            length = where_flat(slope, at_low, at_high, enough, uphill, _HALVINGS)
        self.rows.update(SmoothedRows.move, length)
        return z + length * step

    def _step(
        self, z: FloatArray, gradient: FloatArray, softness: float, bent: float, *, sharp: bool
    ) -> tuple[FloatArray, float]:
        """Newton's step within K, and how fast F falls; if `sharp`, damped or 0 where it rises."""
        slack = np.maximum(self.region.slack(z), 0.0)
        hessian = self._curvature(softness, bent)
        diagonal = np.diag_indices_from(hessian)
        hessian[diagonal] += self.strength
        largest = float(hessian.diagonal().max())
        for damping in (0.0, *_DAMPING):
            hessian[diagonal] += damping * largest
            step = minimum(hessian, gradient, self.region.C, slack)
            step = self.region.within(z + step) - z
            fall = -float(gradient @ step)
            if fall >= 0 or not sharp:
                return step, fall
        return np.zeros_like(z), 0.0

    def _fewest_bent(self) -> float:
        """Rows whose curvature is taken; more where that costs less than a few gradients do."""
        cheap = _BENT_OF_A_SHARE / self.share if self.share <= _SHARE else 0.0
        return max(_FEWEST_BENT, _BENT * self.region.size, cheap)

    def _curvature(self, softness: float, wanted: float) -> FloatArray:
        """Second derivatives of smoothed violations, (p, p), or about; only steps need them."""
        bent = self.rows.total(SmoothedRows.bent, softness, self.shift)
        share = min(1.0, wanted / max(bent, 1))
        found = self.rows.total(SmoothedRows.hessian, softness, self.shift, share)
        return np.asarray(found / (UNITS_OF_HESSIAN * softness * share))

    def balanced(self, z: FloatArray, strength: float) -> tuple[FloatArray, float]:
        """A point near z where slopes balance, and the softness at which they do."""
        program, found, least = replace(self, strength=strength), (z, self.softness), math.inf
        whole = {"bent": math.inf, "enough": 0.0}
        for softness in (self.softness, *(self.softness * more for more in _BALANCED)):
            self.rows.update(SmoothedRows.go_to, z)
            near = program._newton(z, softness, _NEWTON_STEPS, **whole, sharp=True)
            tight = np.flatnonzero(self.region.slack(near) <= _NEARLY_TIGHT)
            face, gradient = sp.csr_array(self.region.C)[tight], program._gradient(near, softness)
            rest = float(np.linalg.norm(gradient + face.T @ fitted_prices(face, gradient)))
            if rest < least:
                found, least = (near, softness), rest
            if rest <= _BALANCE * float(np.linalg.norm(self.linear)):
                break
        return found

    def _gradient(self, z: FloatArray, softness: float) -> FloatArray:
        found = self.rows.total(SmoothedRows.gradient, softness, self.shift)
        total: FloatArray = value_of_sum(found, of_rows=True)
        return total + self.linear + self.strength * (z - self.centre)
