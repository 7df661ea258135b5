"""Public ways and what counts say of them; noisy descents, and the centre of rows they find."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from privlp.checks import FloatArray
from privlp.methods.counts import NoisyCounts, TargetSearch
from privlp.methods.perturbed.paths import scaled_or
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates, value_of_sum

# Logarithm of odds, along the way from the cheapest point to the far one; so many are told apart.
_ODDS, _PLACES = (-45.0, 30.0), 1500
_APART = (_ODDS[1] - _ODDS[0]) / (_PLACES - 1)
#: The start is as likely as this to be past the point that is looked for, or surely.
LIKELY, _SURELY = 0.9, 0.9
# Odds beyond which rows end at the far end itself.
_AT_CORNER = 24.0
# Missed rows fall at least so fast, in powers of e for each power of e that odds rise by.
_STEEP = 2.0
# The start has these odds beyond those of a hinted cost, likely: the way leads not to the optimum
# but to points that are dearer than it, and a hint may be wrong.
_NEAR_HINT = (-1.5, 3.0)


@dataclass(frozen=True)
class Way:
    """A public way, and what counts say of where about the target's number of rows is missed."""

    begin: FloatArray  # The cheapest point, or the centre of the rows.
    far: FloatArray
    fewest: float  # The count of rows missed at the far end.
    posterior: TargetSearch  # By the logarithm of odds along the way.

    def part(self, share: float) -> FloatArray:
        """The point after this share of the way."""
        return self.begin + share * (self.far - self.begin)

    def at(self, odds: float) -> FloatArray:
        """The point with these odds of what lies behind to what lies ahead."""
        return self.part(float(expit(odds)))

    def odds_of(self, value: float, cost: FloatArray) -> float:
        """Where the cost is that value, between the ends; its begin if costs do not rise."""
        start, end = (float(cost @ x) for x in (self.begin, self.far))
        share = (value - start) / (end - start) if end > start else 0.0
        return float(np.clip(logit(min(max(share, 0.0), 1.0)), *_ODDS))

    def learn(self, counts: NoisyCounts, left: int) -> None:
        """Counts on a logarithmic scale, until so few are left."""
        while counts.left > left and not self.at_corner:
            odds = self.posterior.median
            self.posterior.learn(odds, counts(self.at(odds)), counts.sigma)

    @property
    def at_corner(self) -> bool:
        """Whether few rows are missed at the far end, and many right before it."""
        return self.fewest <= self.posterior.target and self.posterior.median > _AT_CORNER

    def likely(self) -> tuple[float, float]:
        """Odds between which the target's number of rows is likely missed."""
        return self.posterior.quantile(1 - LIKELY) - _APART, self.posterior.quantile(LIKELY)

    def halved(
        self, ends: tuple[float, float], counts: NoisyCounts, target: float, left: int
    ) -> tuple[float, float]:
        """The ends after halving what lies between them, until so few counts are left."""
        low, high = ends
        while counts.left > left:
            odds = _between(low, high)
            found = counts(self.at(odds))
            self.posterior.learn(odds, found, counts.sigma)
            low, high = (low, odds) if found <= target else (odds, high)
        return low, high


@dataclass(frozen=True)
class Start:
    """A point of a public way, from where many rows are missed to a far point."""

    way: Way
    share: float  # Where the point lies: 0 where the way begins, 1 at the far point.
    good: bool  # Whether few rows are missed at the far end.
    # So far on, in the same units, sides near the point lie behind; infinite if not known.
    on: float
    # The number of missed rows that the point hardly ever exceeds; infinite if not known.
    bound: float
    of_far: float  # That of the far end.
    safe: FloatArray  # Farther on, a point that is likely to miss fewer, and its bound.
    of_safe: float
    # A point that misses few rows, where many sides meet: right beside it many are missed.
    corner: FloatArray | None = None

    def with_few(self, counts: NoisyCounts, target: float) -> FloatArray:
        """A point that is likely to miss so many rows or fewer, by all counts that are left."""
        posterior = self.way.posterior
        while counts.left:
            odds = posterior.quantile_of(target, 0.5)
            posterior.learn(odds, counts(self.way.at(odds)), counts.sigma)
        return self.way.at(posterior.quantile_of(target, _SURELY))

    @property
    def x(self) -> FloatArray:
        """The point."""
        return self.way.part(self.share)

    @property
    def leads_away(self) -> bool:
        """Whether the way itself leads to points with few missed rows not far on."""
        return self.good and 2 * self.on < 1 - self.share


def search_of_odds(
    target: float, sigma: float, most: float, hint: float | None, cheapest: float, far: float
) -> TargetSearch:
    """A search for the odds at which so many rows are missed, between ends of these costs."""
    return TargetSearch(
        target,
        *_ODDS,
        sigma=sigma,
        most=most,
        places=_PLACES,
        likely=_odds_of_cost(hint, cheapest, far),
        least_slope=_STEEP,
    )


def _odds_of_cost(cost: float | None, cheapest: float, far: float) -> tuple[float, float] | None:
    """Odds near those of a hinted cost on the way; ``None`` if it does not lie on it."""
    if cost is None or not cheapest < cost < far:
        return None
    odds = math.log((cost - cheapest) / (far - cost))
    return odds + _NEAR_HINT[0], odds + _NEAR_HINT[1]


def _between(low: float, high: float) -> float:
    """Odds of the middle of two places."""
    share = 0.5 * (expit(low) + expit(high))
    return float(logit(share)) if 0 < share < 1 else 0.5 * (low + high)


# sqrt(2), but for a part that covers all rounding.
_ONE_SIGN = 1.4142
# A step of one variable reaches these sides; a descent's region leads so many steps to each side.
_AROUND = 4.0
# Rounds of a descent, the share of all rounds for them, their softness and length in the region.
_ROUNDS, _MOST_ROUNDS, _SOFTNESS, _LENGTH = 8, 0.55, 0.02, 0.15
# Steps shrink by this factor where that share of one still reaches these sides. The search ends
# once so many descents in a row shrank none.
_SHRINK, _NEARER, _IN_VAIN = 0.25, 0.5, 2
# After so many descents it is asked whether more are of use.
_ASKED = 4
#: Whether a point of this cost with few missed rows is known.
Useless = Callable[[float], bool]


class Descents:
    """Noisy dual averaging in the coordinates of a region.

    Slopes of rows of one sign are released sqrt(2) times as long, or a little less: their inner
    products are not negative. So the sum of a record's slopes and that of another one, of at most v
    each, differ by sqrt(2) v at most, not 2 v. Slopes of distances from both sides may have either
    sign, and are released as they are: they differ by 2 v at most.
    """

    def __init__(self, rows: Rows[Any], draw: ChargedDraws, sign: int) -> None:
        self._rows, self._draw, self.sign = rows, draw, sign
        self.longer = _ONE_SIGN if sign else 1.0

    @property
    def left(self) -> int:
        """Rounds that are left."""
        return self._draw.remaining

    def rows(self, region: ReducedPolytope) -> Rows[RowsInCoordinates]:
        """The private rows in the coordinates of a region."""
        return self._rows.keep(partial(RowsInCoordinates, region=region, sign=self.sign))

    def violations(
        self,
        region: ReducedPolytope,
        rows: Rows[RowsInCoordinates],
        start: FloatArray,
        softness: float,
        inwards: float,
        length: float,
        rounds: int,
        push: FloatArray | float = 0.0,
    ) -> FloatArray:
        """Where a descent of smoothed violations leads, and of costs, by their force."""

        def slope(z: FloatArray) -> FloatArray:
            slopes = rows.total(RowsInCoordinates.gradient, softness, inwards, z)
            exact = self.longer * value_of_sum(slopes, of_rows=True)
            return np.asarray(self._draw(exact)) / self.longer + push

        return self._averaged(region, start, slope, length, rounds)

    def distances(self, region: ReducedPolytope, x: FloatArray) -> FloatArray:
        """Where a descent of distances of rows from their sides leads from x."""
        rows = self.rows(region)

        def slope(z: FloatArray) -> FloatArray:
            slopes = rows.total(RowsInCoordinates.pull, _SOFTNESS, z)
            return np.asarray(self._draw(value_of_sum(slopes, of_rows=True)))

        start, length = region.within(region.coordinates(x)), _LENGTH * math.sqrt(region.size)
        return region.point(self._averaged(region, start, slope, length, _ROUNDS))

    def _averaged(
        self,
        region: ReducedPolytope,
        start: FloatArray,
        slope: Callable[[FloatArray], FloatArray],
        length: float,
        rounds: int,
    ) -> FloatArray:
        """The mean of the last half of the points of a noisy dual averaging.

        Each point is the one of the region nearest to start - length * G / sqrt(S), where G sums
        the slopes up to there and S their squared norms (Nesterov 2009; Duchi, Hazan and Singer
        2011). So noise in a slope averages out before it moves a variable off its bound.
        """
        z, mean = start, np.zeros(region.size)
        total, squares = np.zeros(region.size), 1e-300
        for t in range(rounds):
            g = slope(z)
            total += g
            squares += float(g @ g)
            z = region.nearest(start - length / math.sqrt(squares) * total)
            if t >= rounds // 2:
                mean += z / (rounds - rounds // 2)
        return mean


class Centre(NamedTuple):
    """A point amid the sides of many rows, and steps of each variable alone that reach them."""

    x: FloatArray
    steps: FloatArray
    found: bool = False  # Whether a search ended there: no more steps shrank.


def centre_of_rows(
    descents: Descents,
    reached: Callable[[FloatArray, FloatArray], npt.NDArray[np.bool_]],
    searches: int,
    public: PublicRows,
    region: ReducedPolytope,
    begin: Centre,
    useless: Useless,
) -> Centre | None:
    """Descents of distances from where rows end, ever shorter in variables that come close to them.

    So they lead to a corner that most rows share, whatever the bounds. After some of them it is
    asked once whether that is of use, at the least cost that the centre may have.
    """
    (x, steps, found), ends, vain = begin, region, 0
    least = int((1 - _MOST_ROUNDS) * descents.left)
    for number in range(searches):
        if descents.left - _ROUNDS < least:
            break
        around = public.narrowed(x - _AROUND * steps, x + _AROUND * steps)
        region = scaled_or(ends, around, ends.cap, np.ones(len(x)))
        x = np.clip(descents.distances(region, x), *public.bounds.T)
        closer = reached(x, _NEARER * steps)
        steps = np.where(closer, _SHRINK * steps, steps)
        vain = 0 if closer.any() else vain + 1
        found = vain == _IN_VAIN
        if found:
            break
        cheapest = float(public.cost @ x - np.abs(public.cost) @ steps)
        if number + 1 == _ASKED and useless(cheapest):
            return None
    return Centre(x, steps, found)
