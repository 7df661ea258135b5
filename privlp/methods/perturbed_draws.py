"""The draws of a perturbed program: a secret term, the cover of its error, and noisy counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.players.perturbed import PerturbedProgram
from privlp.privacy import ChargedDraws
from privlp.problem.data import SoftPrices
from privlp.regions.reduced import ReducedPolytope
from privlp.rows.door import Rows
from privlp.rows.in_coordinates import RowsInCoordinates

FloatArray = npt.NDArray[np.float64]

_LEAST_TOLERANCE = 2.0**-24
# The quadratic is at least this strong, in units of the secret term's deviation: a weaker one
# would let rounding, which the cover has to hide, move the minimum far.
_LEAST_STRENGTH = 0.1
_UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Bend:
    """The curvature of one record's smoothed violations, times the softness.

    Attributes
    ----------
    total : float
        Sum of the prices of its rows, in units of the largest price. Both sides of a row count: a
        row shifted inwards may be within the softness of both.
    rows : int
        Its rows; the two sides of a row, of one direction, count once.
    """

    total: float
    rows: int

    @classmethod
    def of_prices(cls, prices: SoftPrices) -> Bend:
        """That of soft rows with public prices."""
        sides = 2 if prices.two_sided else 1
        return cls(sides * prices.of_record / prices.largest, prices.rows)


@dataclass(frozen=True)
class Draws:
    """The charged draws of one stage: the secret term, the cover of its error, and counts."""

    perturbation: ChargedDraws
    cover: ChargedDraws
    counts: ChargedDraws

    @property
    def sigma(self) -> float:
        """Deviation of the secret term."""
        return float(self.perturbation.mechanism.sigma)  # type: ignore[attr-defined]

    @property
    def curvature(self) -> float:
        """What the curvature of smoothed violations costs."""
        return float(self.perturbation.mechanism.curvature_cost)  # type: ignore[attr-defined]

    def strength(self, softness: float, rank: int, bend: Bend) -> float:
        """Strength of the quadratic at which the curvature costs what was charged.

        With W = `bend.total` and r rows in rank dimensions, the Hessian of a record's part is a sum
        of r terms of rank 1 and trace W/softness. So the logarithm of the Jacobian changes by at
        most r ln(1 + W / (r softness strength)).
        """
        r = min(rank, bend.rows)
        return bend.total / (r * softness * math.expm1(self.curvature / r)) * (1 + 1e-12)

    def minimum(
        self,
        rows: Rows[RowsInCoordinates],
        region: ReducedPolytope,
        cost: FloatArray,
        centre: FloatArray,
        *,
        softness: float,
        shift: float,
        bend: Bend,
        n: int,
    ) -> FloatArray:
        """The released minimum of a perturbed program, as a point z of the region.

        The secret term is drawn once. The point is computed to a certified distance, and noise of
        its own covers that distance.
        """
        strength = max(self.strength(softness, region.size, bend), _LEAST_STRENGTH * self.sigma)
        secret = np.asarray(self.perturbation(np.zeros(region.size)))
        program = PerturbedProgram(
            rows=rows,
            region=region,
            linear=cost + secret,
            centre=centre,
            strength=strength,
            softness=softness,
            shift=shift,
            smoothness=strength + n / softness,
        )
        tolerance = max(
            _LEAST_TOLERANCE, _rounding(n, region.size, softness, self.sigma, cost) / strength
        )
        # The computed point is within half the tolerance of that of the rounded secret term.
        z = program.minimise(tolerance / 2)
        return region.nearest(tolerance * np.asarray(self.cover(z / tolerance)))


def _rounding(n: int, size: int, softness: float, sigma: float, cost: FloatArray) -> float:
    """Bound on the error of a computed gradient, twice: public.

    A violation is a product of p terms and is rounded by 4 p u at most, within the region's ranges;
    beyond them its slope is 0 or 1. The slope of a row is then off by that over the softness; the
    sum of n rows by n u times their number, and the secret term by 2^-40 of its deviation.
    """
    rows = n * (n + size + 64 + 8 * size**1.5 / softness) * _UNIT_ROUNDOFF
    secret = 2.0**-40 * size * sigma
    return 4 * (math.sqrt(size) * rows + secret + 2.0**-48 * float(np.linalg.norm(cost)))


class NoisyCounts:
    """Counts of rows with a property, each released by a charged draw."""

    def __init__(self, rows: Rows[Any], kernel: Callable[..., int], draw: ChargedDraws) -> None:
        self._rows, self._kernel, self._draw = rows, kernel, draw
        self.sigma = float(draw.mechanism.sigma)  # type: ignore[attr-defined]
        self.left = draw.remaining

    def __call__(self, *released: Any) -> float:
        self.left -= 1
        return float(self._draw(float(self._rows.total(self._kernel, *released))))

    def first_below(
        self, target: float, path: Callable[[float], Any], low: float, high: float
    ) -> tuple[float, bool]:
        """About the least t at which the count is at most the target, by bisection.

        All counts that are left are made. The end of the path is taken to be good, whether any
        count was below the target or not; the second result says that.
        """
        seen = False
        while self.left:
            middle = 0.5 * (low + high)
            if self(path(middle)) <= target:
                high, seen = middle, True
            else:
                low = middle
        return high, seen
