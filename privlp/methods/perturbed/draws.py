"""What a stage draws: its secret term, the cover of its error, and slopes for shadow prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.errors import UnsupportedProblemError
from privlp.game.perturbed import PerturbedProgram
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.privacy.mechanisms.selection import HiddenGradient
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.regions.quadratic import fitted_prices
from privlp.relations.base import PublicPart
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates, value_of_sum

# The search of a minimum begins with so many rows, or so many a coordinate if that is more.
_FEWEST_ROWS, _ROWS = 2**13, 100
_LEAST_TOLERANCE, _UNIT_ROUNDOFF = 2.0**-24, 2.0**-53
# It is this share of the softness where that is less, as in a region far larger than what rows ask.
_OF_SOFTNESS = 2.0**-14
# The quadratic is at least this strong, in units of the secret term's deviation: a weaker one
# would let rounding, which the cover has to hide, move the minimum far.
_LEAST_STRENGTH = 0.1
# A released point moves down public costs by so many times what the cover moves it by.
_FARTHER = 4.0
#: Without noise, for eps = inf: strength of the quadratic, in units of a row's gradient; that with
#: which slopes balance; and how near Newton's method comes, about.
WEAK, _WEAKER, _IF_SHARP = 1e-3, 1e-5, 1e-5


class Bend(NamedTuple):
    """The curvature of one record's smoothed violations, times the softness."""

    # Sum of the prices of all sides of its rows, in units of the largest price. Both sides
    # of a row count: a row shifted inwards may be within the softness of both.
    total: float
    rows: int  # Its rows; the two sides of a row, of one direction, count once.

    @classmethod
    def of(cls, public: PublicPart) -> Bend:
        """That of soft rows with public prices, or of hard rows, which all count the same."""
        if (prices := public.prices) is None:
            return cls(public.rows_of_one_record, public.vectors_of_one_record)
        return cls(prices.of_sides / prices.largest, prices.rows)


class Slopes(NamedTuple):
    """The noisy gradient of smoothed violations at a released point."""

    z: FloatArray  # The point. Without noise, one next to the released one at which slopes balance.
    error: float  # Typical distance of z to the minimum: public.
    total: FloatArray  # The gradient.


@dataclass(frozen=True)
class Draws:
    """The charged draws of one stage; for shadow prices also of the slopes of violations."""

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
        weak: float = WEAK,
        cheaper: bool = False,
    ) -> tuple[FloatArray, Slopes | None]:
        """The released minimum of a perturbed program; slopes at that point, if they were charged.

        The secret term is drawn once. The point is computed to a certified distance, and noise of
        its own covers that distance. `n` bounds the number of rows; it is public. The quadratic is
        `weak` where there is no noise. If `cheaper`, the point then moves a little farther than
        that noise, towards lower public costs: of what it did to variables that no private row has,
        whose units may be long, little is left.
        """
        least, p = _LEAST_STRENGTH * self.sigma, region.size
        strength = max(self.strength(softness, p, bend), least) if self.sigma else weak
        hidden = HiddenGradient(p, partial(_gradient, rows, softness, shift))
        program = PerturbedProgram(
            rows=rows,
            region=region,
            linear=cost + np.asarray(self.perturbation(hidden)),
            centre=centre,
            strength=strength,
            softness=softness,
            shift=shift,
            smoothness=strength + 2 * n / softness,  # both sides of a row may bend
            share=1.0 if self.sigma == 0 else max(_FEWEST_ROWS, _ROWS * p) / n,
        )
        gradient = _rounding(n, region, softness, shift, self.sigma, cost)
        rounding = gradient / strength + 2.0**-49 * region.radius
        steepest = n + float(np.linalg.norm(cost)) + 8 * self.sigma * math.sqrt(p)
        wanted = min(_LEAST_TOLERANCE, _OF_SOFTNESS * softness)
        tolerance = max(wanted, 4 * rounding, _attainable(steepest, strength, p))
        # The certificate takes half the tolerance. The other half covers twice the rounding: of the
        # gradient, of the secret term and the quadratic's, and of z / tolerance.
        z = program.minimise(tolerance / 2, sharp=self.sigma == 0)
        hidden.minimum = z
        released = region.nearest(tolerance * np.asarray(self.cover(z / tolerance)))
        error = tolerance * self.cover.sigma * math.sqrt(p)
        if cheaper and self.sigma and cost.any():
            # Squares of small costs would be 0.
            farther, slope = _FARTHER * error, np.ldexp(cost, -np.frexp(np.abs(cost).max())[1])
            released = region.nearest(released - farther / float(np.linalg.norm(slope)) * slope)
            error += farther
        if self.slopes is None:
            return released, None
        at = released
        if self.sigma == 0:
            (at, softness), error = program.balanced(z, _WEAKER), _IF_SHARP
        total = self.slopes(_gradient(rows, softness, shift, at))
        return released, Slopes(at, error, np.asarray(total))


def draws_of_stages(draws: Sequence[ChargedDraws]) -> list[Draws]:
    """The draws of each stage: secret term, cover and counts; of the last perhaps one more."""
    last = 3 * (len(draws) // 3 - 1)
    return [Draws(*draws[k : k + 3]) for k in range(0, last, 3)] + [Draws(*draws[last:])]


def _gradient(
    rows: Rows[RowsInCoordinates], softness: float, shift: float, z: FloatArray
) -> FloatArray:
    """The gradient of the summed violations at a point; private."""
    rows.update(RowsInCoordinates.go_to, z)
    found = rows.total(RowsInCoordinates.gradient, softness, shift)
    return np.asarray(value_of_sum(found, of_rows=True))


def _attainable(steepest: float, strength: float, size: int) -> float:
    """A tolerance that can be certified although a point and its gradient are rounded: public."""
    unit = steepest * _UNIT_ROUNDOFF / strength
    return 8 * math.sqrt(math.sqrt(size) * unit) + 16 * size * unit


def _rounding(
    n: int, region: ReducedPolytope, softness: float, shift: float, sigma: float, cost: FloatArray
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


# Rows with less slack than so many times the error of the point may be tight.
_NEAR, _LEAST_NEAR = 8.0, 1e-7
#: A record's slopes are shorter than what is charged by 2^-23 of it at least, because rows are
#: shortened before they are rounded to a grid. Sums of so many rows are rounded by less.
MOST_ROWS = 10**8


def require_priced_rows(request: SolveRequest, public: PublicRows) -> None:
    """Refuse a request for shadow prices where no row has one that could be released."""
    reasons = {
        "needs records that are replaced: where they come and go, the number of rows is private,"
        " and with it that of prices.": request.relation.hides_rows,
        f"takes up to {MOST_ROWS:,} private rows: beyond, rounding of a sum of their slopes is not"
        " covered.": request.largest_n > MOST_ROWS,
        "needs a public inequality row, by private=...: prices of private rows are numbers of those"
        " rows, and none is released.": not (public.lower < public.upper).any(),
    }
    for reason, applies in reasons.items():
        if request.prices and applies:
            raise UnsupportedProblemError(f"prices=True {reason}", parameter="prices")


def prices_of_public_rows(
    public: PublicRows, region: ReducedPolytope, slopes: Slopes | None, weight: float
) -> FloatArray | None:
    """Shadow prices of public rows: they balance costs and noisy slopes. Post-processing."""
    if slopes is None:
        return None
    pull = weight * region.cost(public.cost) + slopes.total
    slack = region.slack(slopes.z)
    length = np.sqrt(np.asarray(sp.csc_array(region.C).power(2).sum(axis=1)).ravel())
    near = np.flatnonzero(slack <= np.maximum(_NEAR * slopes.error * length, _LEAST_NEAR))
    moved = np.zeros(len(slack))
    moved[near] = fitted_prices(sp.csr_array(region.C)[near], pull)
    of_row, owner = region.owner >= 0, region.owner[region.owner >= 0]
    prices = np.full(len(public.rows) + 1, np.nan)  # at last of a bound on the objective
    prices[owner] = 0.0
    np.add.at(prices, owner, (moved * region.per_side)[of_row])
    total = weight + float(np.nan_to_num(prices[-1]))  # with that of a bound on the objective
    every = np.zeros(public.lp.shape[0])
    every[public.rows] = -public.lp.sign * prices[:-1] / total
    return every + 0.0  # no -0
