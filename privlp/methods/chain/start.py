"""Where a chain of descents starts: on a public way, and how far rows near that point reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from privlp.methods.counts import NoisyCounts, TargetSearch
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.program_rows import MeasuredRows

FloatArray = npt.NDArray[np.float64]

#: Few rows are missed where a count is at most this share of s, or this many deviations of noise.
FEW, SURE = 0.5, 3.0
# Logarithm of odds, along the way from the cheapest point to the far one; so many are told apart.
_ODDS, _PLACES = (-45.0, 30.0), 1500
_APART = (_ODDS[1] - _ODDS[0]) / (_PLACES - 1)
# The start is as likely as this to be past that point; farther on this share of s is missed.
_LIKELY, _SAFE, _SURELY = 0.9, 0.5, 0.9
# Counts for the start, and for a safe point farther on.
_CHECKED = 2
# Missed rows fall at least so fast, in powers of e for each power of e that odds rise by.
_STEEP = 2.0
# The start has these odds beyond those of a hinted cost, likely: the way leads not to the optimum
# but to points that are dearer than it, and a hint may be wrong.
_NEAR_HINT = (-1.5, 3.0)
# The start misses so many times s, or fewer.
_OF_START = 2.5
# Sides near the start: so many times s, but no more than this share of all rows, and so many
# deviations of their count at least; and the binary logarithm of the smallest step that is tried.
_NEAR, _AT_MOST, _SMALLEST = 4.0, 0.2, -50.0
# So many deviations are clear for a single count.
_CLEAR = 2.0
#: Near sides are not told from others if they are a larger share of all rows: on the way, and for
#: each variable.
ON_THE_WAY, BY_VARIABLE = 0.25, 0.5
# A way goes on for so many times the step that reaches near sides; and where none is known, to
# odds so much larger, if these are small. A variable moves so many times the step.
_ON, _ODDS_ON, _SMALL, _WIDE = 5.0, 0.7, -1.0, 8.0
#: A way is divided into so many cells, told apart if two of them have so many deviations of noise.
CELLS, CLEAR_CELL = 1024, 6.0
# A way leads beyond the middle so many times as far as to it, at most.
_FARTHEST = 1e6
# How hard cost pulls from the middle to the cheapest point, in units of the root of p.
_PULL, _AS_CHEAP = 1e3, 1e-9


@dataclass(frozen=True)
class Start:
    """A point of a public way, from where many rows are missed to a far point."""

    begin: FloatArray  # The cheapest point, or one after which most rows are first met.
    far: FloatArray
    share: float  # Where the point lies: 0 where the way begins, 1 at the far point.
    good: bool  # Whether few rows are missed at the far end.
    # So far on, in the same units, sides near the point lie behind; infinite if not known.
    on: float
    # The number of missed rows that the point hardly ever exceeds; infinite if not known.
    bound: float
    of_far: float  # That of the far end.
    safe: FloatArray  # Farther on, a point that is likely to miss fewer, and its bound.
    of_safe: float
    posterior: TargetSearch  # By the logarithm of odds along the way.

    def at(self, share: float) -> FloatArray:
        """A point of the way."""
        return self.begin + share * (self.far - self.begin)

    def with_few(self, counts: NoisyCounts, target: float) -> FloatArray:
        """A point that is likely to miss so many rows or fewer, by all counts that are left."""
        while counts.left:
            odds = self.posterior.quantile_of(target, 0.5)
            self.posterior.learn(odds, counts(self.at(float(expit(odds)))), counts.sigma)
        return self.at(float(expit(self.posterior.quantile_of(target, _SURELY))))

    @property
    def x(self) -> FloatArray:
        """The point."""
        return self.at(self.share)

    @property
    def leads_away(self) -> bool:
        """Whether the way itself leads to points with few missed rows not far on."""
        return self.good and 2 * self.on < 1 - self.share


class Starting:
    """Counts on public ways."""

    def __init__(
        self,
        measured: Rows[MeasuredRows],
        public: PublicRows,
        region: ReducedPolytope,
        s: float,
        n: int,
    ) -> None:
        self._measured, self._public, self._region = measured, public, region
        self._s, self._n = s, n

    def found(
        self,
        draw: ChargedDraws,
        of_way: ChargedDraws | None,
        of_cells: ChargedDraws | None,
        logarithmic: int,
        hint: float | None = None,
    ) -> Start:
        """About the first point of a way with few missed rows.

        The way leads to the first of a few ends at which few rows are missed, or to the best. If it
        passes a hinted cost, the first counts are made about there.
        """
        counts = NoisyCounts(self._measured, MeasuredRows.missed, draw)
        linear = counts.left - logarithmic
        few = max(FEW * self._s, SURE * counts.sigma)
        target = max(_OF_START * self._s, SURE * counts.sigma)
        middle = self._region.point(self._region.inside)
        begin, fewest, far = self.cheapest(), math.inf, middle
        for number, end in enumerate(self._ends(begin)):
            count = counts(end)
            if number and count <= few and fewest > target:
                begin = middle
            if count < fewest:
                fewest, far = count, end
            if count <= few:
                break
        begin = self._before_most_rows(of_cells, begin, far, target)
        way = far - begin
        hinted = _odds_of_cost(hint, *(float(self._public.cost @ end) for end in (begin, far)))
        posterior = TargetSearch(
            max(_OF_START * self._s, counts.sigma),
            *_ODDS,
            sigma=counts.sigma,
            most=float(self._n),
            places=_PLACES,
            likely=hinted,
            least_slope=_STEEP,
        )
        while counts.left > max(linear, 0) + _CHECKED:
            odds = posterior.median
            posterior.learn(odds, counts(begin + expit(odds) * way))
        low, high = posterior.quantile(1 - _LIKELY) - _APART, posterior.quantile(_LIKELY)
        safe = begin + expit(posterior.quantile_of(_SAFE * self._s, _LIKELY)) * way
        while counts.left > _CHECKED:
            odds = _between(low, high)
            low, high = (low, odds) if counts(begin + expit(odds) * way) <= target else (odds, high)
        share = float(expit(high))
        x, on = begin + share * way, math.inf
        if of_way is not None:
            on = _ON * float(
                self._steps(of_way, MeasuredRows.near_along, 1, lambda step: (x, step[0] * way))[0]
            )
        elif high < _SMALL:
            on = float(expit(high + _ODDS_ON)) - share
        # The posterior takes it that counts fall on the way: these two points are counted.
        bound, of_safe, of_far = (
            count + 2 * counts.sigma for count in (counts(x), counts(safe), fewest)
        )
        bound = bound if fewest <= target else math.inf
        good = fewest <= few
        return Start(begin, far, share, good, on, bound, of_far, safe, of_safe, posterior)

    def _before_most_rows(
        self, draw: ChargedDraws | None, begin: FloatArray, far: FloatArray, target: float
    ) -> FloatArray:
        """A point of the way after which many rows are met at once, or else its beginning.

        So the way is told apart where its ends are far away in units of the rows.
        """
        if draw is None:
            return begin
        low, step = begin, far - begin
        while draw.remaining:
            found = np.asarray(draw(self._measured.total(MeasuredRows.crossings, low, step, CELLS)))
            pairs = found[1:] + found[:-1]
            most = int(pairs.argmax())
            if pairs[most] > max(target, CLEAR_CELL * draw.sigma):
                if most:
                    begin = low + (most - 1) / CELLS * step
                low, step = low + most / CELLS * step, 2 / CELLS * step
        return begin

    def widths(self, draw: ChargedDraws, x: FloatArray) -> FloatArray:
        """How far each variable alone moves from x to reach sides near it, (d,); its range or less.

        Infinite where that is not known, or not far less than the range.
        """
        region, ranges = self._region, np.zeros(len(x))
        ranges[region.live] = region.ranges
        step = _WIDE * ranges
        step *= self._steps(draw, MeasuredRows.near, len(x), lambda step: (x, step * ranges))
        return np.where(2 * step < ranges, step, np.inf)

    def cheapest(self) -> FloatArray:
        """A point of least cost: of several, the one nearest to the middle of the region."""
        public, region = self._public, self._region
        middle, slope = region.point(region.inside), region.cost(public.cost)
        best = public.best(public.cost)
        if best is None or not slope.any():
            return middle if best is None else best
        pull = _PULL * math.sqrt(region.size) / float(np.linalg.norm(slope))
        x = np.clip(region.point(region.nearest(region.inside - pull * slope)), *public.bounds.T)
        dearer = float(public.cost @ (x - best))
        return x if dearer <= _AS_CHEAP * float(public.cost @ (middle - best)) else best

    def _ends(self, cheapest: FloatArray) -> Iterator[FloatArray]:
        """The middle, two ends beyond it, and the dearest point."""
        region, public = self._region, self._public
        yield region.point(region.inside)
        for direction in (region.inside - region.coordinates(cheapest), region.cost(public.cost)):
            if direction.any():
                unit = direction / np.linalg.norm(direction)
                reach = min(region.reach(region.inside, unit), _FARTHEST)
                yield region.point(region.within(region.inside + reach * unit))
        dearest = public.best(-public.cost)
        if dearest is not None:
            yield dearest

    def _steps(
        self,
        draw: ChargedDraws,
        near: Callable[..., Any],
        size: int,
        arguments: Callable[[FloatArray], Any],
    ) -> FloatArray:
        """Steps up to 1 that reach a few times s sides, by bisection, (size,).

        Or half of what a step of 1 reaches, if that is less, and clearly some.
        """

        def reached(step: FloatArray) -> FloatArray:
            return np.asarray(draw(self._measured.total(near, *arguments(step))))

        usual, most = near_sides(self._s, self._n, draw.sigma), 0.5 * reached(np.ones(size))
        clearly = (_CLEAR if size == 1 else _NEAR) * draw.sigma
        target = np.where(most < clearly, usual, np.minimum(most, usual))
        low, high = np.full(size, _SMALLEST), np.zeros(size)
        while draw.remaining:
            middle = 0.5 * (low + high)
            found = reached(2.0**middle) >= target
            low, high = np.where(found, low, middle), np.where(found, middle, high)
        return np.asarray(2.0**high)


def near_sides(s: float, n: int, sigma: float) -> float:
    """How many sides count as those near a point, where counts have this deviation."""
    return _NEAR * max(min(s, _AT_MOST / _NEAR * n), sigma)


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
