"""A chain of released points, from the safest to the cheapest, by noisy descents and counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.methods.chain_charges import DEEP, ROUNDS, ChainDraws
from privlp.methods.crossing import Crossing
from privlp.methods.perturbed_draws import NoisyCounts
from privlp.methods.perturbed_regions import scaled_or
from privlp.methods.task import Task
from privlp.players.game import Released
from privlp.privacy import ChargedDraws
from privlp.regions.public_rows import PublicRows
from privlp.regions.reduced import ReducedPolytope
from privlp.rows import limbs
from privlp.rows.door import Rows
from privlp.rows.in_coordinates import RowsInCoordinates
from privlp.rows.missed import MeasuredRows

FloatArray = npt.NDArray[np.float64]
Path = Callable[[float], FloatArray]

# Logarithm of odds, along the way from the cheapest point to the far one.
_ODDS = (-45.0, 9.0)
# Few rows are missed where a count is at most this share of s, or this many deviations of noise.
_FEW, _SURE = 0.5, 3.0
# The start misses so many times s, or fewer.
_OF_START = 2.5
# So far beyond the start, in odds, costs end; so far lies the deep point of a way that leads to
# rows that hold, which is one whose start has fewer than these odds.
_ROOM, _DEEPER, _NEAR = 0.7, 1.3, -1.0
# How far a candidate for the far end lies beyond the middle, as a share of what costs allow, and
# at most.
_TOWARDS, _FARTHEST = 0.98, 1e6
# Softness of violations on the way to a deep point, and its first radius over the root of p.
_DEEP_SOFTNESS, _DEEP_RADIUS = (0.3, 0.1), 0.5
# Rows move inwards by this share of the softness.
_DEEP_INWARDS, _INWARDS = 0.5, 0.8
# The scale: so many times s rows have less slack at the deep point; and a floor.
_TIGHT, _LEAST_SLACK, _LOW_SLACK, _HIGH_SLACK = 2.0, 0.02, -20.0, 3.0
# Softness of the stages in units of that slack; where there are fewer, the first ones of these.
_SOFTNESS = {5: (0.5, 0.25, 0.12, 0.06, 0.03), 4: (0.5, 0.25, 0.12, 0.06), 3: (0.4, 0.2, 0.1)}
_SOFTNESS_OF_TWO = (0.3, 0.12)
# The length of a descent in units of the softness.
_LENGTH = 8.0
# Stages end where so many times s rows are missed.
_TARGETS, _START_TARGET = (3.0, 2.0, 1.5, 1.2, 1.0), 3.0
# The force of costs, in rows: s, or this many times the noise; and its change where counts show
# that a stage went too far, or not far enough.
_FORCE, _CHANGE, _FAR_BACK, _FAR_BEYOND = 0.7, 1.4, 0.5, -0.3
# A search leads beyond a point by this share of the way to it, at most; the last one by less.
_BEYOND, _LAST_BEYOND, _WITHIN = 2.0, 1.5, 0.95
# Units of variables are this power of their share of room, or of the floor.
_POWER, _LEAST_SHARE = 0.5, 0.1
_SAFE = 0.97


class ChainSearch:
    """A safe end, a deep point, then stages at a price; and the cheapest place on the last segment.

    Parameters
    ----------
    task : Task
    rows : Rows
    public : PublicRows
    region : ReducedPolytope
        Where the search starts.
    draws : ChainDraws
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        draws: ChainDraws,
    ) -> None:
        self.rounds = 4 + len(draws.stages)
        self._lp, self._s = task.lp, task.density()
        self._largest_n = task.largest_n
        self._rows, self._public, self._region, self._draws = rows, public, region, draws
        self._measured = rows.keep(partial(MeasuredRows, alpha=task.accuracy()))
        best = public.best(public.cost)
        self._cheapest = region.point(region.inside) if best is None else best
        self.known: list[tuple[float, FloatArray]] = []
        self._trace: dict[str, list[Any]] = {}
        self._x = self._cheapest
        self._steps = self._play()

    def step(self, t: int) -> None:  # noqa: ARG002 (the stages follow one another)
        """Play the next stage."""
        next(self._steps)

    def released(self) -> Released:
        """The point found, and the points on the way."""
        trace = {name: np.array(values) for name, values in self._trace.items()}
        return Released(self._x, self._lp.objective(self._x), trace)

    def _play(self) -> Iterator[None]:
        x, far, odds, good = self._started()
        yield
        region, rows = self._region, self._in_coordinates(self._region)
        descents = [
            (draw, counts, softness)
            for (draw, counts), softness in zip(self._draws.stages, self._softness(), strict=True)
        ]
        if good and odds < _NEAR:
            deep = region.point(region.within(region.coordinates(self._ray(far, odds + _DEEPER))))
            extra = [(self._draws.deep, self._draws.deep_counts, descents[0][2])]
            descents = extra + descents
        else:
            deep = self._deep_point(region, rows, x, far, odds, good=good)
        self._note("deep point", deep)
        yield
        slack = self._slack(region, rows, deep)
        x = self._towards(self._draws.ray, deep, self._ray(far, odds), _START_TARGET, 0.0)[0]
        yield
        force, targets = 1.0, _TARGETS[-len(self._draws.stages) :]
        targets = targets[:1] * (len(descents) - len(targets)) + targets
        for number, (draw, counts, softness) in enumerate(descents):
            if number:
                new = self._region_around(region, x)
                slack *= _mean_unit(region) / _mean_unit(new)
                region, rows = new, self._in_coordinates(new)
            start = region.within(region.coordinates(x))
            found = region.point(
                self._descended(
                    draw,
                    region,
                    rows,
                    start,
                    softness=softness * slack,
                    inwards=_INWARDS * softness * slack,
                    length=_LENGTH * softness * slack,
                    rounds=draw.remaining,
                    force=force,
                )
            )
            self._note("x", found)
            x, t = self._towards(counts, deep, found, targets[number], _BEYOND)
            self._note("calibrated x", x)
            if t < _FAR_BEYOND:
                force *= _CHANGE
            elif t > _FAR_BACK:
                force /= _CHANGE
            if number >= len(descents) - len(self._draws.stages):
                yield
        self._finish(deep, x)
        yield

    def _softness(self) -> tuple[float, ...]:
        """Softness of each stage."""
        return _SOFTNESS.get(len(self._draws.stages), _SOFTNESS_OF_TWO)

    def _note(self, name: str, value: Any) -> None:
        self._trace.setdefault(name, []).append(value)

    def _counts(self, draw: ChargedDraws) -> NoisyCounts:
        """Noisy counts of missed rows."""
        return NoisyCounts(self._measured, MeasuredRows.missed, draw)

    def _in_coordinates(self, region: ReducedPolytope) -> Rows[RowsInCoordinates]:
        return self._rows.keep(partial(RowsInCoordinates, region=region))

    def _cost(self, x: FloatArray) -> float:
        return float(self._public.cost @ x)

    def _ray(self, far: FloatArray, odds: float) -> FloatArray:
        """The point of the way from the cheapest to the far point with these odds."""
        return self._cheapest + (far - self._cheapest) / (1 + math.exp(-odds))

    def _started(self) -> tuple[FloatArray, FloatArray, float, bool]:
        """A point with few missed rows on a public way; its far end, odds, and whether it is good.

        The region ends a little above its cost.
        """
        region, s = self._region, self._s
        ends = [region.point(region.inside)]
        up = region.cost(self._public.cost)
        if up.any():
            up = up / np.linalg.norm(up)
            reach = min(region.reach(region.inside, up), _FARTHEST)
            ends.append(region.point(region.within(region.inside + _TOWARDS * reach * up)))
        worst = self._public.best(-self._public.cost)
        if worst is not None:
            ends.append(worst)
        counts = self._counts(self._draws.start)
        found = [counts(end) for end in ends]
        few = max(_FEW * s, _SURE * counts.sigma)
        fine = [k for k, count in enumerate(found) if count <= few]
        chosen = fine[0] if fine else int(np.argmin(found))
        far = ends[chosen]
        self.known.append((found[chosen] + 2 * counts.sigma, far))
        target = max(_OF_START * s, _SURE * counts.sigma)
        odds, count = counts.first_below(target, partial(self._ray, far), *_ODDS)
        x = self._ray(far, odds)
        if math.isfinite(count):
            self.known.append((count + 2 * counts.sigma, x))
        if odds < 0 and self._public.cost.any():
            ones = np.ones(len(x))
            cap = self._cost(self._ray(far, odds + _ROOM))
            self._region = scaled_or(region, self._public, cap, ones)
        self._note("start", x)
        return x, far, odds, bool(fine)

    def _deep_point(
        self,
        region: ReducedPolytope,
        rows: Rows[RowsInCoordinates],
        x: FloatArray,
        far: FloatArray,
        odds: float,
        *,
        good: bool,
    ) -> FloatArray:
        """Of two descents without a cost, the point that misses fewer rows; or the far end."""
        counts, z = self._counts(self._draws.deep_counts), region.within(region.coordinates(x))
        found: list[tuple[float, FloatArray]] = []
        for number in range(DEEP):
            softness = _DEEP_SOFTNESS[number]
            z = self._descended(
                self._draws.deep,
                region,
                rows,
                z,
                softness=softness,
                inwards=_DEEP_INWARDS * softness,
                length=_DEEP_RADIUS ** (number + 1) * math.sqrt(region.size),
                rounds=ROUNDS,
                force=None,
            )
            found.append((counts(region.point(z)), region.point(z)))
        fewest, deep = min(found, key=lambda found: found[0])
        known = self.known[0][0] - 2 * self._start_sigma
        self.known.append((fewest + 2 * counts.sigma, deep))
        if good and fewest > max(_FEW * self._s, known) + counts.sigma:
            end = self._ray(far, odds + 2) if odds < 5 else far
            return region.point(region.within(region.coordinates(end)))
        return deep

    @property
    def _start_sigma(self) -> float:
        return float(self._draws.start.mechanism.sigma)  # type: ignore[attr-defined]

    def _descended(
        self,
        draw: ChargedDraws,
        region: ReducedPolytope,
        rows: Rows[RowsInCoordinates],
        z: FloatArray,
        *,
        softness: float,
        inwards: float,
        length: float,
        rounds: int,
        force: float | None,
    ) -> FloatArray:
        """The mean of the last half of the points of a noisy adaptive descent.

        Without a force costs do not count. Each step is z - length * g / sqrt(sum of |g|^2), and
        then the nearest point of the region (Duchi, Hazan and Singer 2011).
        """
        push = np.zeros(region.size)
        if force is not None:
            slope = region.cost(self._public.cost)
            size, sigma = float(np.linalg.norm(slope)), float(draw.mechanism.sigma)  # type: ignore[attr-defined]
            noise = sigma / math.sqrt(rounds) * math.sqrt(region.size)
            if size > 0:
                push = slope / size * max(self._s, _FORCE * noise) * force
        squares, last = 0.0, np.zeros(region.size)
        for t in range(rounds):
            rows.update(RowsInCoordinates.go_to, z)
            total = rows.total(RowsInCoordinates.gradient, softness, inwards)
            g = np.asarray(draw(limbs.value(total, of_rows=True))) + push
            squares += float(g @ g)
            z = z - length * g / math.sqrt(max(squares, 1e-300))
            if region.slack(z).min() < 0:
                z = region.nearest(z)
            if t >= rounds // 2:
                last += z / (rounds - rounds // 2)
        return last

    def _slack(
        self, region: ReducedPolytope, rows: Rows[RowsInCoordinates], deep: FloatArray
    ) -> float:
        """The slack at the deep point that few rows fall short of, in the coordinates."""
        rows.update(RowsInCoordinates.go_to, region.coordinates(deep))
        counts = NoisyCounts(rows, tight_rows, self._draws.slack)
        target = max(_TIGHT * self._s, 2 * counts.sigma)
        low, high = _LOW_SLACK, _HIGH_SLACK
        while counts.left:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if counts(2.0**middle) > target else (middle, high)
        return max(2.0**high, _LEAST_SLACK)

    def _towards(
        self, draw: ChargedDraws, deep: FloatArray, x: FloatArray, target: float, beyond: float
    ) -> tuple[FloatArray, float]:
        """Where on the way from x to the deep point, at t = 1, so many times s rows are missed."""
        counts = self._counts(draw)
        path, low = self._path(deep, x, beyond)
        crossing = Crossing(
            max(target * self._s, counts.sigma),
            low,
            1.0,
            sigma=counts.sigma,
            most=float(self._largest_n),
        )
        found = crossing.search(lambda t: counts(path(t)), counts.left)
        return path(found), found

    def _path(self, deep: FloatArray, x: FloatArray, beyond: float) -> tuple[Path, float]:
        """The way from x at t = 0 to the deep point at t = 1, and how far before x it begins."""
        region = self._region
        way = region.coordinates(x) - region.coordinates(deep)
        reach = region.reach(region.within(region.coordinates(x)), way) if way.any() else 0.0
        return lambda t: deep + (1 - t) * (x - deep), -min(beyond, _WITHIN * reach)

    def _region_around(self, region: ReducedPolytope, x: FloatArray) -> ReducedPolytope:
        """The region with larger units for variables with more room to both of their ends."""
        base, weights = self._region, np.ones(len(x))
        live = base.live
        room = np.minimum(x[live] - base.low, base.low + base.ranges - x[live]) / base.ranges
        share = room / max(float(room.max()), 1e-300)
        weights[live] = np.maximum(share, _LEAST_SHARE) ** _POWER
        return scaled_or(region, self._public, base.cap, weights)

    def _finish(self, deep: FloatArray, x: FloatArray) -> None:
        """The last search, and counts at the point that is returned."""
        counts = self._counts(self._draws.last)
        path, low = self._path(deep, x, _LAST_BEYOND)
        crossing = Crossing(
            self._draws.last_target, low, 1.0, sigma=counts.sigma, most=float(self._largest_n)
        )
        t = crossing.search(lambda t: counts(path(t)), counts.left, _SAFE)
        self._x = np.clip(path(t), *self._public.bounds.T)


def tight_rows(rows: RowsInCoordinates, slack: float) -> int:
    """Number of rows with less slack at the point that is remembered; empty ones have enough."""
    near = np.flatnonzero(rows.v > -slack)
    some = rows.G[near]
    filled = some.any(axis=1) if isinstance(some, np.ndarray) else abs(some).sum(axis=1) > 0
    return int(np.count_nonzero(filled))


def _mean_unit(region: ReducedPolytope) -> float:
    return float(np.exp(np.mean(np.log(region.unit))))
