"""Regions of the stages on hard rows, and paths on which few missed rows are looked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from privlp.checks import FloatArray
from privlp.errors import UnsupportedProblemError
from privlp.methods.counts import NoisyCounts, TargetSearch
from privlp.methods.perturbed.draws import Draws
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import norms, shares_of_norm
from privlp.rows.program_rows import MeasuredRows, RowBlock

Path = Callable[[float], FloatArray]

MARGIN = 1.15  #: The next region ends at this multiple of the cost found.
# Variables count by this power of their share of the largest one, and no less than the floor.
_POWER_OF_SHARE, _LEAST_SHARE = 0.5, 0.1
_EVEN = 10.0  # Shares of the rows' norms within this ratio count as even.
#: Binary logarithms between which the scale is searched.
SCALES = (-20.0, 6.0)


class StageRegions:
    """The region of each stage: costs a little above those of a point, in units of that point."""

    def __init__(self, public: PublicRows, region: ReducedPolytope) -> None:
        self.region, self._public = region, public
        self.weights = np.ones(len(public.cost))
        best = public.best(public.cost)
        self.cheapest = region.point(region.inside) if best is None else best

    def cost(self, x: FloatArray) -> float:
        """Cost of a point above the cheapest one."""
        return float(self._public.cost @ (x - self.cheapest))

    def cost_at_stake(self, x: FloatArray, far: FloatArray) -> float:
        """The cost that is at stake at x: above the cheapest point, or below the far one."""
        own, above = self.cost(x), self.cost(far) - self.cost(x)
        return max(min(own, above) if above > 0 else own, 1e-12 * (1 + abs(self.cost(far))))

    def at(self, x: FloatArray, *, weighted: bool, margin: float = MARGIN) -> ReducedPolytope:
        """The region of costs up to a little more than that of x, scaled to the size of x."""
        own = self.cost(x)
        if own <= 0:
            return self.region
        cap = float(self._public.cost @ self.cheapest) + margin * own
        region = scaled_or(self.region, self._public, cap, self.weights)
        if not weighted or region is self.region:
            return region
        share = (np.abs(x - self.cheapest) * self.weights)[region.live] / region.unit
        share = np.maximum(share / max(float(share.max()), 1e-300), _LEAST_SHARE)
        weights = self.weights.copy()
        weights[region.live] *= share**_POWER_OF_SHARE
        return scaled_or(region, self._public, cap, weights)

    def evened(
        self, region: ReducedPolytope, rows: Rows[Any], draw: ChargedDraws, largest_n: int
    ) -> ReducedPolytope:
        """The region with larger units for variables with far smaller shares of the rows' norms."""
        noisy = np.asarray(draw(rows.total(shares_of_norm, region, largest_n)))
        least = 2 * draw.sigma
        ratio = max(float(noisy.max()), least) / np.maximum(noisy, least)
        self.weights = np.ones(len(self._public.cost))
        self.weights[region.live] = np.sqrt(np.maximum(ratio / _EVEN, 1.0))
        return scaled_or(region, self._public, region.cap, self.weights)


def scaled_or(
    other: ReducedPolytope, public: PublicRows, cap: float, weights: FloatArray
) -> ReducedPolytope:
    """The region of costs up to a cap with these weights; `other` if it has no room in doubles."""
    try:
        return ReducedPolytope(public, cap, weights)
    except UnsupportedProblemError:
        return other


def typical_side(
    rows: Rows[Any], region: ReducedPolytope, x: FloatArray, draw: ChargedDraws, n: int
) -> float:
    """A noisy median of the scaled right-hand sides of n rows."""
    counts = NoisyCounts(rows.keep(partial(_scaled_sides, region=region, x=x)), above, draw)
    return float(2.0 ** counts.first_below(n / 2, lambda t: 2.0**t, *SCALES)[0])


def _scaled_sides(block: RowBlock, region: ReducedPolytope, x: FloatArray) -> FloatArray:
    """Sizes of right-hand sides, or of A_i x where they are 0, of rows scaled to norm 1."""
    norm, _ = norms(block, region)
    return np.divide(MeasuredRows(block).sizes(x), norm, out=np.zeros_like(norm), where=norm > 0)


def above(sizes: FloatArray, level: float) -> int:
    """Number of rows whose size is above a level."""
    return int(np.count_nonzero(sizes > level))


# How far back towards the cheapest point, and forward where no point is known.
_BACK, _FAR_BACK, _FORWARD, _ALL_THE_WAY = 0.25, 0.6, 0.75, 0.95
# Forward in the last search: so far, and so many times as far as a known point. The second numbers
# are for counts whose deviation is a quarter of s or more: they may have taken bad points for good.
_LEAST_FORWARD, _BEYOND, _NOISY = (0.3, 1.0), (1.5, 4.0), 0.25
SURE = 3.0  #: So many deviations of noise are hardly ever exceeded: a count below that may be 0.
# The last point misses no more than s rows with this probability, as far as counts tell.
_SAFE = 0.97
# Places of the last search are denser towards lower costs by this power: the way may be long.
_DENSER = 3.0
_CLEARLY = 4.0  # A count is clearly larger than another by so many deviations.
_BELOW_S = 1.8  # Points between stages are to have this many deviations fewer than s missed rows.


class _Way(NamedTuple):
    """A path, the ends between which it is searched, and noisy counts by place."""

    path: Path
    low: float
    top: float
    probe: float
    tried: dict[float, float]


class PathSearch:
    """Points with few missed rows, on paths through the points that stages release."""

    def __init__(
        self, measured: Rows[Any], s: float, regions: StageRegions, last_target: float
    ) -> None:
        self._measured, self._s, self._regions = measured, s, regions
        self._last_target = last_target
        self.known: list[tuple[float, FloatArray]] = []

    def safest(self) -> FloatArray:
        """Of the points with few missed rows, that which hardly ever misses more than so few."""
        return min(self.known, key=lambda known: known[0])[1]

    def calibrated(
        self, draws: Draws, x: FloatArray, good: FloatArray | None, far: FloatArray, *, last: bool
    ) -> tuple[FloatArray, bool]:
        """The cheapest point with few missed rows on a path through x; whether it is far off."""
        if draws.sigma == 0:
            return x, False
        counts = NoisyCounts(self._measured, MeasuredRows.missed, draws.counts)
        if last and good is not None and not self._still_good(counts):
            good = None
        least = self._s / 4 if last else SURE * counts.sigma
        target = max(self._s - _BELOW_S * counts.sigma, least)
        way = self._way(counts, target, x, good, far, last=last)
        if last:
            return self._surely(counts, way), False
        t, count = counts.first_below(target, way.path, way.low, way.top)
        if math.isinf(count):
            t, count = way.probe, way.tried[way.probe]
        further = good is not None and (count > target or t > way.top / 2)
        if count <= target:
            self.known.append((count + 2 * counts.sigma, way.path(t)))
            return way.path(t), further
        return (x if good is None else good), further

    def _still_good(self, counts: NoisyCounts) -> bool:
        """Whether a known point does not clearly miss more than s rows; if not, none is known."""
        limit = self._s + 2 * counts.sigma
        if min(bound for bound, _ in self.known) <= limit or counts(self.safest()) <= limit:
            return True
        self.known.clear()
        return False

    def _way(
        self,
        counts: NoisyCounts,
        target: float,
        x: FloatArray,
        good: FloatArray | None,
        far: FloatArray,
        *,
        last: bool,
    ) -> _Way:
        """The best of the paths through x, by a count on each, and where to look on it."""
        cost = self._regions.cost
        unit, own = self._regions.cost_at_stake(x, far), max(cost(x), 1e-300)
        paths, tried = self._paths(x, good, far, unit), {}
        top = _FORWARD if good is None else max((cost(good) - cost(x)) / unit, 0.02)
        low, probe = -(_BACK if last else _FAR_BACK), top / 2
        if good is None:
            count = tried[0.0] = counts(x)
            low = -_ALL_THE_WAY * own / unit if count <= target else 0.0
            if count <= target:
                self.known.append((count + 2 * counts.sigma, x))
                paths, probe, top = paths[:1], 0.0, 0.0
        found = [counts(path(probe)) for path in paths]
        path, tried[probe] = paths[int(np.argmin(found))], min(found)
        if last:
            noisy = [0.0, _NOISY * self._s]
            beyond = float(np.interp(counts.sigma, noisy, _BEYOND))
            top = max(beyond * top, float(np.interp(counts.sigma, noisy, _LEAST_FORWARD)))
            if self.known:
                top = max(top, beyond * (cost(self.safest()) - cost(x)) / unit)
        return _Way(path, low, top, probe, tried)

    def _surely(self, counts: NoisyCounts, way: _Way) -> FloatArray:
        """The first point of a path that surely misses no more than s rows, or the best."""
        posterior = TargetSearch(
            self._last_target, way.low, way.top, sigma=counts.sigma, most=math.inf, power=_DENSER
        )
        tried, doubt = way.tried, 2 * counts.sigma
        for t, count in tried.items():
            posterior.learn(t, count)

        def counted(t: float) -> float:
            tried[t] = counts(way.path(t))
            return tried[t]

        t = posterior.search(counted, counts.left, _SAFE)
        rising = _largest_rise(tried) > _CLEARLY * counts.sigma
        if t < way.top and not rising:
            return way.path(t)
        if rising:  # the path leads out of the rows, not into them
            place = min(tried, key=tried.__getitem__)
        else:
            fewest = min(tried.values())
            place = max(t for t, count in tried.items() if count <= fewest + doubt)
        if tried[place] > self._s + doubt and self.known:
            return self.safest()
        return way.path(way.top if not rising and place == max(tried) else place)

    def _paths(
        self, x: FloatArray, good: FloatArray | None, far: FloatArray, unit: float
    ) -> list[Path]:
        """Paths from the cheapest point through x to an end and beyond; t is a change of cost."""
        cost, cheapest, region = self._regions.cost, self._regions.cheapest, self._regions.region
        own = max(cost(x), 1e-300)

        def beyond(end: FloatArray) -> tuple[FloatArray, float]:
            """The way from the cheapest point to the end, and how much farther it stays inside."""
            z = region.coordinates(end)
            reach = region.reach(z, z - region.coordinates(cheapest))
            return end - cheapest, min(reach, 1.0)

        def path_to(end: FloatArray) -> Path:
            length = max((cost(end) - cost(x)) / unit, 1e-3)
            away, reach = beyond(end)

            def path(t: float) -> FloatArray:
                if t < 0:
                    return x + max(t * unit / own, -1.0) * (x - cheapest)
                farther = max(t - length, 0.0) * unit / max(cost(end), 1e-300)
                return x + min(1.0, t / length) * (end - x) + min(farther, reach) * away

            return path

        away, reach = beyond(x)
        ends = [x + reach * away] if reach > 0.01 else []
        ends += [] if good is None else [good]
        if good is None or (len(ends) < 2 and cost(far) > cost(x)):
            ends.append(far)
        return [path_to(end) for end in ends]


def _largest_rise(counts: dict[float, float]) -> float:
    """By how much a count at a place is larger than one at an earlier place, at most."""
    found = np.array([counts[t] for t in sorted(counts)])
    return float((found - np.minimum.accumulate(found)).max())
