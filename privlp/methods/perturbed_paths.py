"""Search for few missed rows on released paths, by noisy counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.methods.crossing import Crossing
from privlp.methods.perturbed_draws import Draws, NoisyCounts
from privlp.methods.perturbed_regions import StageRegions
from privlp.rows.access import Rows
from privlp.rows.measured import MeasuredRows

FloatArray = npt.NDArray[np.float64]
Path = Callable[[float], FloatArray]

# How far back towards the cheapest point, and forward where no point is known.
_BACK, _FAR_BACK, _FORWARD, _ALL_THE_WAY = 0.25, 0.6, 0.75, 0.95
# Forward in the last search: so far, and so many times as far as a known point. The second numbers
# are for counts whose deviation is a quarter of s or more: they may have taken bad points for good.
_LEAST_FORWARD, _BEYOND, _NOISY = (0.3, 1.0), (1.5, 4.0), 0.25
#: So many deviations of noise are hardly ever exceeded: a count below that may be 0.
SURE = 3.0
# The last point misses no more than s rows with this probability, as far as counts tell.
_SAFE = 0.97
# Places of the last search are denser towards lower costs by this power: the way may be long.
_DENSER = 3.0
# A count is clearly larger than another by so many deviations.
_CLEARLY = 4.0
# Points between stages are to have this many deviations fewer than s missed rows.
_BELOW_S = 1.8


@dataclass(frozen=True)
class _Way:
    """A path, the ends between which it is searched, and noisy counts by place."""

    path: Path
    low: float
    top: float
    probe: float
    tried: dict[float, float]


class PathSearch:
    """Points with few missed rows, on paths through the points that stages release.

    Parameters
    ----------
    measured : Rows of MeasuredRows
    s : float
        Rows that may be missed.
    regions : StageRegions
    last_target : float
        Rows that the last search may miss.

    Attributes
    ----------
    known : list of (float, (d,))
        Points with few missed rows, each after the number that they hardly ever exceed.
    """

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
        self,
        draws: Draws,
        x: FloatArray,
        good: FloatArray | None,
        far: FloatArray,
        *,
        last: bool,
    ) -> tuple[FloatArray, bool]:
        """The cheapest point with few missed rows on a path through x, and whether it lies far off.

        If none is found: the good point given, if any, and x otherwise. After the last stage: the
        point at which surely few rows are missed, or what :meth:`_surely` takes in its place.
        """
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
        """Whether a known point does not clearly miss more than s rows; if not, none is known.

        Earlier counts have more noise: a point that they took for good may miss many times s rows.
        Where its own count cannot rule that out, one of the last counts judges the safest point.
        """
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
        unit, own = self._regions.cost_at_stake(x, far), max(self._regions.cost(x), 1e-300)
        paths, tried = self._paths(x, good, far, unit), {}
        top = _FORWARD
        if good is not None:
            top = max((self._regions.cost(good) - self._regions.cost(x)) / unit, 0.02)
        low, probe = -(_BACK if last else _FAR_BACK), top / 2
        if good is None:
            count = tried[0.0] = counts(x)
            if count <= target:
                self.known.append((count + 2 * counts.sigma, x))
                paths, probe, top = paths[:1], 0.0, 0.0
            low = -_ALL_THE_WAY * own / unit if count <= target else 0.0
        found = [counts(path(probe)) for path in paths]
        path, tried[probe] = paths[int(np.argmin(found))], min(found)
        if last:
            noisy = [0.0, _NOISY * self._s]
            beyond = float(np.interp(counts.sigma, noisy, _BEYOND))
            top = max(beyond * top, float(np.interp(counts.sigma, noisy, _LEAST_FORWARD)))
            if self.known:
                gap = self._regions.cost(self.safest()) - self._regions.cost(x)
                top = max(top, beyond * gap / unit)
        return _Way(path, low, top, probe, tried)

    def _surely(self, counts: NoisyCounts, way: _Way) -> FloatArray:
        """The first point of the path at which surely no more than s rows are missed.

        If there is none, a point as far along the path as counts fall; where they clearly rise,
        that of the fewest. If there too many are missed, a known point, if any.
        """
        crossing = Crossing(
            self._last_target, way.low, way.top, sigma=counts.sigma, most=math.inf, power=_DENSER
        )
        for t, count in way.tried.items():
            crossing.learn(t, count)

        def counted(t: float) -> float:
            way.tried[t] = counts(way.path(t))
            return way.tried[t]

        t = crossing.search(counted, counts.left, _SAFE)
        rising = _largest_rise(way.tried) > _CLEARLY * counts.sigma
        if t < way.top and not rising:
            return way.path(t)
        fewest, doubt = min(way.tried.values()), 2 * counts.sigma
        if rising:  # the path leads out of the rows, not into them
            place = min(way.tried, key=lambda t: way.tried[t])
        else:
            place = max(t for t, count in way.tried.items() if count <= fewest + doubt)
        if way.tried[place] > self._s + doubt and self.known:
            return self.safest()
        return way.path(way.top if not rising and place == max(way.tried) else place)

    def _away(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The way from the cheapest point to x, and how much farther it stays in the region."""
        region, z = self._regions.region, self._regions.region.coordinates(x)
        return x - self._regions.cheapest, min(
            region.reach(z, z - region.coordinates(self._regions.cheapest)), 1.0
        )

    def _paths(
        self, x: FloatArray, good: FloatArray | None, far: FloatArray, unit: float
    ) -> list[Path]:
        """Paths through x; on each, t is a change of cost in the unit.

        Backwards they lead to the cheapest point. Forwards they lead to an end, and beyond it away
        from the cheapest point, as far as the public region goes.
        """
        own = max(self._regions.cost(x), 1e-300)

        def path_to(end: FloatArray) -> Path:
            length = max((self._regions.cost(end) - self._regions.cost(x)) / unit, 1e-3)
            away, reach = self._away(end)

            def path(t: float) -> FloatArray:
                if t < 0:
                    return x + max(t * unit / own, -1.0) * (x - self._regions.cheapest)
                beyond = max(t - length, 0.0) * unit / max(self._regions.cost(end), 1e-300)
                return x + min(1.0, t / length) * (end - x) + min(beyond, reach) * away

            return path

        away, reach = self._away(x)
        ends = [x + reach * away] if reach > 0.01 else []
        if good is not None:
            ends.append(good)
        if good is None or (len(ends) < 2 and self._regions.cost(far) > self._regions.cost(x)):
            ends.append(far)
        return [path_to(end) for end in ends]


def _largest_rise(counts: dict[float, float]) -> float:
    """By how much a count at a place is larger than one at an earlier place, at most."""
    places = sorted(counts)
    found = np.array([counts[t] for t in places])
    return float((found - np.minimum.accumulate(found)).max())
