"""Public ways, what counts say of them, and the start that they lead to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit

from privlp.checks import FloatArray
from privlp.methods.counts import NoisyCounts, TargetSearch

# Logarithm of odds, along the way from the cheapest point to the far one; so many are told apart.
_ODDS, _PLACES = (-45.0, 30.0), 1500
_APART = (_ODDS[1] - _ODDS[0]) / (_PLACES - 1)
#: The start is as likely as this to be past the point that is looked for, or surely.
LIKELY, _SURELY = 0.9, 0.9
# Odds beyond which rows end at the far end itself.
_AT_CORNER = 24.0
# Places on a way are close if they differ by this share of the way to its nearer end.
_CLOSE = 0.03
#: Missed rows fall at least so fast, in powers of e for each power of e that odds rise by.
STEEP = 2.0
# A count is taken again if noise of so many deviations may have moved it across the target from one
# end of the way, and if it moves the odds looked for by more than this.
_DOUBT, _LEAP = 5.0, 3.0
# The start has these odds beyond those of a hinted cost, likely: the way leads not to the optimum
# but to points that are dearer than it, and a hint may be wrong.
_NEAR_HINT = (-1.5, 3.0)
#: On a way by a known point the odds are likely these, and missed rows may fall less steeply.
BY_KNOWN = (-1.0, 1.0), 1.0
_BEND = 0.5  # The share of a way that lies before a known point.


@dataclass(frozen=True)
class Way:
    """A public way, and what counts say of where about the target's number of rows is missed."""

    begin: FloatArray  # The cheapest point, or the centre of the rows.
    far: FloatArray
    fewest: float  # The count of rows missed at the far end.
    posterior: TargetSearch  # By the logarithm of odds along the way.
    counted: dict[float, float] = field(default_factory=dict)  # The last count at each place.
    by: FloatArray | None = None  # A point by which the way leads, at its middle.

    def part(self, share: float) -> FloatArray:
        """The point after this share of the way."""
        if self.by is None:
            return self.begin + share * (self.far - self.begin)
        if share < _BEND:
            return self.begin + share / _BEND * (self.by - self.begin)
        return self.by + (share - _BEND) / (1 - _BEND) * (self.far - self.by)

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
            found = self._learn_at(odds, counts)
            if counts.left > left and self._leaps(odds, found, counts.sigma):
                self._learn_at(odds, counts)

    def _learn_at(self, odds: float, counts: NoisyCounts) -> float:
        """A count at a place, which is learned from."""
        self.counted[odds] = counts(self.at(odds))
        self.posterior.learn(odds, self.counted[odds], counts.sigma)
        return self.counted[odds]

    def _leaps(self, odds: float, count: float, sigma: float) -> bool:
        """Whether a count that may be noise moves the place looked for far to its own side."""
        posterior = self.posterior
        if count > posterior.target:
            return count <= _DOUBT * sigma and posterior.median > odds + _LEAP
        return count >= posterior.most - _DOUBT * sigma and posterior.median < odds - _LEAP

    @property
    def at_corner(self) -> bool:
        """Whether few rows are missed at the far end, and many right before it."""
        return self.fewest <= self.posterior.target and self.posterior.median > _AT_CORNER

    def falls_at_once(self, many: float, end: float) -> bool:
        """Whether as many rows were counted to be missed right before odds where few are."""
        before = max((at for at, found in self.counted.items() if found >= many), default=-math.inf)
        left = min(float(expit(end)), float(expit(-end)))
        return 0 <= float(expit(end) - expit(before)) <= _CLOSE * left

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
            found = self._learn_at(odds, counts)
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
    # The point beside the way that takes its place: most variables at a corner of their bounds.
    moved: FloatArray | None = None

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
        return self.way.part(self.share) if self.moved is None else self.moved

    @property
    def leads_away(self) -> bool:
        """Whether the way itself leads to points with few missed rows not far on."""
        return self.moved is None and self.good and 2 * self.on < 1 - self.share


def search_of_odds(
    target: float,
    sigma: float,
    most: float,
    likely: tuple[float, float] | None,
    steep: float,
) -> TargetSearch:
    """A search for the odds at which so many rows are missed, likely between two of them."""
    return TargetSearch(
        target,
        *_ODDS,
        sigma=sigma,
        most=most,
        places=_PLACES,
        likely=likely,
        least_slope=steep,
    )


def odds_of_cost(cost: float | None, cheapest: float, far: float) -> tuple[float, float] | None:
    """Odds near those of a hinted cost on the way; ``None`` if it does not lie on it."""
    if cost is None or not cheapest < cost < far:
        return None
    odds = math.log((cost - cheapest) / (far - cost))
    return odds + _NEAR_HINT[0], odds + _NEAR_HINT[1]


def _between(low: float, high: float) -> float:
    """Odds of the middle of two places."""
    share = 0.5 * (expit(low) + expit(high))
    return float(logit(share)) if 0 < share < 1 else 0.5 * (low + high)
