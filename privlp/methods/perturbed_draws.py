"""The draws of a perturbed program: a secret term, the cover of its error, and noisy counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privlp.game.perturbed import PerturbedProgram
from privlp.privacy import ChargedDraws
from privlp.problem.data import SoftPrices
from privlp.regions.polytope import ReducedPolytope
from privlp.relations.public_part import PublicPart
from privlp.rows import smoothed
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates

FloatArray = npt.NDArray[np.float64]

# The search of a minimum begins with so many rows, or so many a coordinate if that is more.
_FEWEST_ROWS, _ROWS = 2**13, 100
_LEAST_TOLERANCE = 2.0**-24
# The quadratic is at least this strong, in units of the secret term's deviation: a weaker one
# would let rounding, which the cover has to hide, move the minimum far.
_LEAST_STRENGTH = 0.1
_UNIT_ROUNDOFF = 2.0**-53
# Strength of the quadratic without noise, for eps = inf, in units of a row's gradient.
_WEAK = 1e-3
# That with which slopes balance then, and how near Newton's method comes, about.
_WEAKER, _IF_SHARP = 1e-5, 1e-5


@dataclass(frozen=True)
class Bend:
    """The curvature of one record's smoothed violations, times the softness.

    Attributes
    ----------
    total : float
        Sum of the prices of all sides of its rows, in units of the largest price. Both sides of a
        row count: a row shifted inwards may be within the softness of both.
    rows : int
        Its rows; the two sides of a row, of one direction, count once.
    """

    total: float
    rows: int

    @classmethod
    def of_hard_rows(cls, public: PublicPart) -> Bend:
        """That of rows that all count the same."""
        return cls(public.rows_of_one_record, public.vectors_of_one_record)

    @classmethod
    def of_prices(cls, prices: SoftPrices) -> Bend:
        """That of soft rows with public prices."""
        return cls(prices.of_sides / prices.largest, prices.rows)


class Slopes(NamedTuple):
    """The noisy gradient of smoothed violations at a released point.

    Attributes
    ----------
    z : (p,)
        The point. Without noise, one next to the released one at which slopes balance.
    error : float
        Typical distance of z to the minimum: public.
    total : (p,)
        The gradient.
    """

    z: FloatArray
    error: float
    total: FloatArray


class Minimum(NamedTuple):
    """What one stage releases: a point z of the region, and slopes there if they were asked for."""

    z: FloatArray
    slopes: Slopes | None = None


@dataclass(frozen=True)
class Draws:
    """The charged draws of one stage: the secret term, the cover of its error, and counts.

    If shadow prices are asked for, also the sum of the slopes of violations.
    """

    perturbation: ChargedDraws
    cover: ChargedDraws
    counts: ChargedDraws
    slopes: ChargedDraws | None = None

    @property
    def sigma(self) -> float:
        """Deviation of the secret term."""
        return self.perturbation.sigma

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
        if self.sigma == 0:
            return _WEAK
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
    ) -> Minimum:
        """The released minimum of a perturbed program; if they were charged, slopes at that point.

        The secret term is drawn once. The point is computed to a certified distance, and noise of
        its own covers that distance. `n` bounds the number of rows; it is public.
        """
        least = _LEAST_STRENGTH * self.sigma
        strength = max(self.strength(softness, region.size, bend), least)
        hidden = HiddenGradient(rows, region.size, softness, shift)
        secret = np.asarray(self.perturbation(hidden))
        program = PerturbedProgram(
            rows=rows,
            region=region,
            linear=cost + secret,
            centre=centre,
            strength=strength,
            softness=softness,
            shift=shift,
            smoothness=strength + 2 * n / softness,  # both sides of a row may bend
            share=1.0 if self.sigma == 0 else max(_FEWEST_ROWS, _ROWS * region.size) / n,
        )
        gradient = _rounding(n, region, softness, shift, self.sigma, cost)
        rounding = gradient / strength + 2.0**-49 * region.radius
        steepest = n + float(np.linalg.norm(cost)) + 8 * self.sigma * math.sqrt(region.size)
        tolerance = max(
            _LEAST_TOLERANCE, 4 * rounding, _attainable(steepest, strength, region.size)
        )
        # The certificate takes half the tolerance. The other half covers twice the rounding: of the
        # gradient, of the secret term and the quadratic's, and of z / tolerance.
        z = program.minimise(tolerance / 2, sharp=self.sigma == 0)
        hidden.minimum = z
        released = region.nearest(tolerance * np.asarray(self.cover(z / tolerance)))
        if self.slopes is None:
            return Minimum(released)
        if self.sigma == 0:
            at, soft = program.balanced(z, _WEAKER)
            found = _slopes(self.slopes, replace(program, softness=soft), at, _IF_SHARP)
            return Minimum(released, found)
        of_cover = self.cover.sigma
        error = tolerance * of_cover * math.sqrt(region.size)
        return Minimum(released, _slopes(self.slopes, program, released, error))


def _slopes(draw: ChargedDraws, program: PerturbedProgram, z: FloatArray, error: float) -> Slopes:
    """The noisy gradient of violations at a released point, or without noise at any."""
    program.rows.update(RowsInCoordinates.go_to, z)
    found = program.rows.total(RowsInCoordinates.gradient, program.softness, program.shift)
    return Slopes(z, error, np.asarray(draw(smoothed.value_of_sum(found, of_rows=True))))


class HiddenGradient:
    """What a secret term hides: the gradient of the rows at the minimum.

    As a value to release it is 0, because the secret term itself is drawn. An audit shows two
    neighbours the same minimum. To that end it moves the secret term of one of them by the
    difference of their gradients there, which is what the mechanism was charged for.

    Attributes
    ----------
    minimum : (p,) or None
        The computed minimum, once it is known.
    """

    def __init__(
        self, rows: Rows[RowsInCoordinates], size: int, softness: float, shift: float
    ) -> None:
        self._rows, self._size, self._bend = rows, size, (softness, shift)
        self.minimum: FloatArray | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.zeros(self._size, dtype=dtype)

    def at(self, z: FloatArray) -> FloatArray:
        """The gradient of the summed violations at a point. Not private: for audits."""
        self._rows.update(RowsInCoordinates.go_to, z)
        return np.asarray(
            smoothed.value_of_sum(
                self._rows.total(RowsInCoordinates.gradient, *self._bend), of_rows=True
            )
        )


def _attainable(steepest: float, strength: float, size: int) -> float:
    """A tolerance that can be certified although a point is rounded: public.

    Rows that are tight keep a slack of about u. Their prices add up to sqrt(p) times the steepest
    gradient, or little more. A certificate takes the root of their product over the strength, and
    what is left of the gradient is rounded as a sum of p terms. If this were too small, the search
    would make all of its steps and end without a certificate.
    """
    unit = steepest * _UNIT_ROUNDOFF / strength
    return 8 * math.sqrt(math.sqrt(size) * unit) + 16 * size * unit


def _rounding(
    n: int,
    region: ReducedPolytope,
    softness: float,
    shift: float,
    sigma: float,
    cost: FloatArray,
) -> float:
    """Bound on the error of a computed gradient of the linear terms and of n rows: public.

    In units of the unit roundoff u: a violation g·z - r is rounded by (p + 2)(|z| + |r|), with |g|
    <= 1. If |r| is larger than twice |z| + softness + shift, the slope is 0 or 1 without doubt. So
    the violation is off by no more than (p + 4) times three times that sum, and a slope by this
    over the softness, and 4 for its own operations. The sum of n rows adds (n + 2) n in any order,
    and other sums of length n and operations 8 n. The secret term is off by 2^-40 sigma sqrt(p) in
    each entry. It stays below 2^12 sigma sqrt(p) but for a chance below 1e-27, and adding the cost
    to it rounds by u of both. All of this is doubled.
    """
    reach = region.radius + softness + abs(shift)
    slope = 3 * (region.size + 4) * reach / softness + 4
    rows = n * (slope + n + 16)
    secret = 2.0**-40 * region.size * sigma
    return 2 * (_UNIT_ROUNDOFF * (rows + 4 * float(np.linalg.norm(cost))) + secret)


class NoisyCounts:
    """Counts of rows with a property, each released by a charged draw."""

    def __init__(self, rows: Rows[Any], kernel: Callable[..., int], draw: ChargedDraws) -> None:
        self._rows, self._kernel, self._draw = rows, kernel, draw
        self.sigma = draw.sigma
        self.left = draw.remaining

    def __call__(self, *released: Any) -> float:
        self.left -= 1
        return float(self._draw(float(self._rows.total(self._kernel, *released))))

    def first_below(
        self, target: float, path: Callable[[float], Any], low: float, high: float
    ) -> tuple[float, float]:
        """About the least t at which the count is at most the target, and the count there.

        All counts that are left are made, by bisection. The end of the path is taken to be good;
        where no count was at most the target, it is returned with an infinite count.
        """
        found = math.inf
        while self.left:
            middle = 0.5 * (low + high)
            count = self(path(middle))
            if count <= target:
                high, found = middle, count
            else:
                low = middle
        return high, found
