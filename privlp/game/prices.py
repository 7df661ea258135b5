"""The prices at which a perturbed sum of smooth convex functions is least, p >= 0, certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.regions.quadratic import minimum

# The search starts with a softness larger by these factors, and takes this many steps at each.
_SOFTER = (16.0, 4.0)
_STEPS_ON_THE_WAY = 6
# A step on the way that is shorter than this is the last one.
_SHORT = 1e-3
_NEWTON_STEPS = 60
_MOST_ACCELERATED = 20_000
_NEAR_ENOUGH = 0.05
_HALVINGS = 30
# Prices below this with a gradient that pushes them down are set to 0.
_TINY = 1e-9


def where_flat(
    slope: Callable[[float], float],
    at_low: float,
    at_high: float,
    enough: float,
    uphill: float,
    halvings: int,
) -> float:
    """A length at which a rising slope is between -enough and uphill; else the last low."""
    low, high = 0.0, 1.0
    for k in range(halvings):
        secant = low + (high - low) * at_low / (at_low - at_high)
        middle = secant if k % 3 else 0.5 * (low + high)
        found = slope(middle)
        if -enough <= found <= uphill:
            return middle
        if found <= 0:
            low, at_low = middle, found
        else:
            high, at_high = middle, found
    return low or high


class Demand(Protocol):
    """Total use of each supply at some prices, minus a gradient; and how it falls, the Hessian."""

    def demand(self, prices: FloatArray, softness: float) -> FloatArray: ...

    def hessian(self, prices: FloatArray, softness: float) -> FloatArray: ...


@dataclass(frozen=True)
class PriceProgram:
    """F(p) = linear·p + sum_i f_i(p) + strength |p - centre|^2 / 2 for p >= 0.

    Newton's method on the quadrant does the work. Should it bring no certificate, accelerated
    projected gradients take over. Nothing but running time tells which: no error, no status.
    """

    people: Demand  # Gradient and Hessian of sum_i f_i.
    linear: FloatArray  # Supplies and the secret noise, (d,).
    centre: FloatArray  # At least 0, (d,).
    strength: float
    softness: float
    smoothness: float  # Public bound on the curvature of F.

    def minimise(self, tolerance: float, *, sharp: bool = False) -> FloatArray:
        """A point p >= 0 within `tolerance` of the minimum, (d,).

        The minimum p* has |p - p*| <= |rho| / strength, rho being the gradient without its positive
        entries where p = 0: rho·(p - p*) is at least strength |p - p*|^2, because the entries left
        out are multiplied by -p*. `sharp` says that there is nothing to cover: then the last point
        of Newton's method is taken.
        """
        p = self.centre
        for factor in _SOFTER:
            for _ in range(_STEPS_ON_THE_WAY):
                before, p = p, self._newton(p, self.softness * factor)
                if np.abs(p - before).max() < _SHORT:
                    break
        for _ in range(_NEWTON_STEPS):
            p, distance = self._certified(p)
            if distance <= tolerance:
                return p
            p = self._newton(p, self.softness)
        return p if sharp else self._accelerated(p, tolerance)

    def _gradient(self, p: FloatArray, softness: float) -> FloatArray:
        pull = self.strength * (p - self.centre)
        return np.asarray(self.linear - self.people.demand(p, softness) + pull)

    def _certified(self, p: FloatArray) -> tuple[FloatArray, float]:
        """A point next to p, and how far it is from the minimum at most."""
        gradient = self._gradient(p, self.softness)
        tiny = (p > 0) & (p < _TINY) & (gradient > 0)
        if tiny.any():
            p = np.where(tiny, 0.0, p)
            gradient = self._gradient(p, self.softness)
        rest = np.where((p == 0) & (gradient > 0), 0.0, gradient)
        return p, float(np.linalg.norm(rest)) / self.strength * (1 + 1e-9)

    def _newton(self, p: FloatArray, softness: float) -> FloatArray:
        gradient = self._gradient(p, softness)
        hessian = self.people.hessian(p, softness)
        hessian[np.diag_indices_from(hessian)] += self.strength
        down = sp.csc_array(-sp.eye_array(len(p), format="csc"))
        step = np.maximum(p + minimum(hessian, gradient, down, p), 0.0) - p

        def slope(length: float) -> float:
            return float(self._gradient(p + length * step, softness) @ step)

        # Nearly the length at which F is least along the step, at most 1.
        length, at_low = 1.0, float(gradient @ step)
        enough = _NEAR_ENOUGH * abs(at_low)
        if at_low < 0 and (at_high := slope(1.0)) > enough:
            length = where_flat(slope, at_low, at_high, enough, enough, _HALVINGS)
        return np.maximum(p + length * step, 0.0)

    def _accelerated(self, p: FloatArray, tolerance: float) -> FloatArray:
        """Accelerated projected gradients (Nesterov 2004, scheme 2.2.19), until certified."""
        ratio = math.sqrt(self.strength / self.smoothness)
        momentum, ahead = (1 - ratio) / (1 + ratio), p
        for number in range(_MOST_ACCELERATED):
            if number % 20 == 0:
                found, distance = self._certified(p)
                if distance <= tolerance:
                    return found
            step = self._gradient(ahead, self.softness) / self.smoothness
            before, p = p, np.maximum(ahead - step, 0.0)
            ahead = np.maximum(p + momentum * (p - before), 0.0)
        return self._certified(p)[0]
