"""Stages of perturbed programs on hard rows, each from the point that the one before released."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.methods.perturbed_draws import Bend, Draws, NoisyCounts
from privlp.methods.task import Task
from privlp.players.game import Released
from privlp.privacy import ChargedDraws
from privlp.regions.public_rows import PublicRows
from privlp.regions.reduced import ReducedPolytope
from privlp.rows.door import Rows
from privlp.rows.in_coordinates import RowsInCoordinates, norms, shares_of_norm
from privlp.rows.missed import MeasuredRows
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]
Path = Callable[[float], FloatArray]

# Softness of violations, as a share of the typical right-hand side, before the last stage and in
# it; and how far rows are moved inwards, in units of the softness.
_SOFTNESS, _LAST_SOFTNESS = 0.4, 0.2
_INWARDS = 0.5
# Price of the scale of the cost in rows, and the softness, without noise.
_EXACT_PRICE, _SHARP = 0.1, 1e-6
# Price of the scale of the cost: these many rows of typical violation for each of the s rows; more
# where noise is larger, but at most a share of the violation of all rows.
_ROWS_OF_A_PRICE, _NOISE_OF_A_PRICE, _SHARE_OF_ALL_ROWS, _LEAST_NOISE = 4.0, 6.0, 0.4, 1.5
# The price is divided by this number if the stage's point is far from few missed rows.
_LOWER_PRICE = 1.4
# The next region ends at this multiple of the cost found; without noise, where nothing was known of
# the size of the variables, at the second.
_MARGIN, _WIDE_MARGIN = 1.15, 100.0
# Variables count by this power of their share of the largest one, and no less than the floor.
_POWER_OF_SHARE, _LEAST_SHARE = 0.5, 0.1
# Search on paths: how far back towards the cheapest point, and forward where no point is known.
_BACK, _FAR_BACK, _FORWARD, _LEAST_FORWARD, _ALL_THE_WAY, _BEYOND = 0.25, 0.6, 0.75, 0.3, 0.95, 1.5
# So many deviations of noise are hardly ever exceeded: a count below that may be 0.
_SURE = 3.0
# The last point is to have this many deviations fewer than s missed rows.
_BELOW_S = 1.8
# Shares of the rows' norms within this ratio count as even.
_EVEN = 10.0
# Where nothing is known of the size of variables: up to this size; then this many times what was
# found.
_UNKNOWN_SIZE, _ROOM, _LEAST_ODDS = 1e9, 64.0, -28.0
# Costs are steeper than what is at stake by no more than one over this.
_LEAST_SCALE = 1e-6
# Logarithm of odds, along the way from the cheapest point, between which the start is searched.
_ODDS, _WIDE_ODDS = 9.0, 45.0
# Binary logarithms between which the scale is searched.
_LOW_SCALE, _HIGH_SCALE = -20.0, 6.0


@dataclass(frozen=True)
class BeforeStages:
    """The charged draws before the stages.

    Counts for the start; the sum of each variable's share of the norm of rows; and counts for the
    scale of rows.
    """

    start: ChargedDraws
    shares: ChargedDraws
    scale: ChargedDraws


class HardRowSearch:
    """Stages for hard rows: start on a public ray, find the scale, then solve three times.

    Parameters
    ----------
    task : Task
    rows : Rows
    public : PublicRows
    region : ReducedPolytope
        Where the search starts.
    before : BeforeStages
    stages : sequence of Draws
    wide : bool
        Whether nothing is known of the size of the variables.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        before: BeforeStages,
        stages: Sequence[Draws],
        *,
        wide: bool,
    ) -> None:
        self.rounds = 2 + 2 * len(stages)
        self._wide = wide
        self._lp, self._s, self._n = task.lp, task.density(), task.n
        self._largest_n = task.largest_n
        self._k = task.public.rows_of_one_record
        self._rows, self._public, self._region = rows, public, region
        self._measured = rows.keep(partial(MeasuredRows, alpha=task.accuracy()))
        self._before, self._stages = before, stages
        self._weights = np.ones(len(public.cost))
        self._cheapest = self._cheapest_point()
        self._trace: dict[str, list[Any]] = {}
        self._x = self._cheapest
        # Points with few missed rows, and how many they hardly ever exceed.
        self._known: list[tuple[float, FloatArray]] = []
        self._steps = self._play()

    def step(self, t: int) -> None:  # noqa: ARG002 (the stages follow one another)
        """Make the next counts, or solve the next program."""
        next(self._steps)

    def released(self) -> Released:
        """The last point, with the points and costs of all stages."""
        trace = {name: np.array(values) for name, values in self._trace.items()}
        x = np.clip(self._x, *self._public.bounds.T)  # rounded coordinates may leave them by an ulp
        return Released(x, self._lp.objective(x), trace)

    def _cheapest_point(self) -> FloatArray:
        """The best public point; one inside the region if HiGHS finds none."""
        best = self._public.best(self._public.cost)
        return self._region.point(self._region.inside) if best is None else best

    def _cost(self, x: FloatArray) -> float:
        """Cost of a point above the cheapest one."""
        return float(self._public.cost @ (x - self._cheapest))

    def _play(self) -> Iterator[None]:
        x, far = self._started()
        yield
        region = self._region_at(x, weighted=False) if self._known else self._region
        self._weights = self._uneven(region)
        region = ReducedPolytope(self._public, region.cap, self._weights)
        typical = self._typical_side(region, x)
        yield
        unit = float(np.mean(region.unit**2))
        lower = 1.0
        for number, draws in enumerate(self._stages):
            last = number == len(self._stages) - 1
            region = self._region
            if self._known and draws.sigma > 0:
                region = self._region_at(x, weighted=number > 0)
            elif self._known and self._wide:
                region = self._region_at(x, weighted=False, margin=_WIDE_MARGIN)
            side = typical * math.sqrt(unit / float(np.mean(region.unit**2)))
            found = self._solved(draws, region, x, far, side, lower, last=last)
            self._note("x", found)
            yield
            good = x if self._known else None
            x, further = self._calibrated(draws, found, good, far, last=last)
            lower = lower / _LOWER_PRICE if further else lower
            self._note("calibrated x", x)
            self._x = x
            yield

    def _note(self, name: str, value: Any) -> None:
        self._trace.setdefault(name, []).append(value)

    def _safest(self) -> FloatArray:
        """Of the points with few missed rows, that which hardly ever misses more than so few."""
        return min(self._known, key=lambda known: known[0])[1]

    def _started(self) -> tuple[FloatArray, FloatArray]:
        """A point with few missed rows on a public ray, if there is one, and the ray's end."""
        region = self._region
        towards = region.inside - region.coordinates(self._cheapest)
        reach = min(region.reach(region.inside, towards), 1e6)
        ends = [region.point(region.within(region.inside + reach * towards))]
        worst = self._public.best(-self._public.cost)
        if worst is not None:
            ends.append(worst)
        counts = NoisyCounts(self._measured, MeasuredRows.missed, self._before.start)
        target = max(self._s - 2 * counts.sigma, _SURE * counts.sigma)
        found = [counts(end) for end in ends]
        far = ends[int(np.argmin(found))]

        def ray(log_odds: float) -> FloatArray:
            return self._cheapest + (far - self._cheapest) / (1 + math.exp(-log_odds))

        odds = (-_WIDE_ODDS, 0.0) if self._wide else (-_ODDS, _ODDS)
        t, count = counts.first_below(target, ray, *odds)
        x, fewest = far if math.isinf(count) else ray(t), min(count, *found)
        if self._wide:
            # From here on the region is of the size of x; if no x is known, of variables near 1.
            x = ray(max(t, _LEAST_ODDS) if fewest <= target else -math.log(_UNKNOWN_SIZE))
            self._region = self._region_at(x, weighted=False, margin=_ROOM)
            far = self._cheapest + _ROOM / 2 * (x - self._cheapest)
        if fewest <= target:
            self._known.append((fewest + 2 * counts.sigma, x))
        self._note("start", x)
        return x, far

    def _typical_side(self, region: ReducedPolytope, x: FloatArray) -> float:
        """A noisy median of the scaled right-hand sides."""
        sides = self._rows.keep(partial(ScaledSides, region=region, x=x))
        counts = NoisyCounts(sides, ScaledSides.above, self._before.scale)
        middle = self._n / 2
        level, _ = counts.first_below(middle, lambda t: 2.0**t, _LOW_SCALE, _HIGH_SCALE)
        return float(2.0**level)

    def _region_at(
        self, x: FloatArray, *, weighted: bool, margin: float = _MARGIN
    ) -> ReducedPolytope:
        """The region of costs up to a little more than that of x, scaled to the size of x."""
        own = self._cost(x)
        if own <= 0:
            return self._region
        cap = float(self._public.cost @ self._cheapest) + margin * own
        try:
            region = ReducedPolytope(self._public, cap, self._weights)
        except UnsupportedProblemError:  # costs so close to the cheapest one leave no room
            return self._region
        if not weighted:
            return region
        share = (np.abs(x - self._cheapest) * self._weights)[region.live] / region.unit
        weights = self._weights.copy()
        weights[region.live] *= (
            np.maximum(share / max(float(share.max()), 1e-300), _LEAST_SHARE) ** _POWER_OF_SHARE
        )
        return ReducedPolytope(self._public, cap, weights)

    def _uneven(self, region: ReducedPolytope) -> FloatArray:
        """Larger units for variables with far smaller shares of the rows' norms than others, (d,).

        Noise hides small shares, so no unit grows beyond what noise allows.
        """
        draw = self._before.shares
        noisy = np.asarray(draw(self._rows.total(shares_of_norm, region)))
        least = 2 * float(draw.mechanism.sigma)  # type: ignore[attr-defined]
        ratio = max(float(noisy.max()), least) / np.maximum(noisy, least)
        weights = np.ones(len(self._public.cost))
        weights[region.live] = np.sqrt(np.maximum(ratio / _EVEN, 1.0))
        return weights

    def _scale_of_cost(self, x: FloatArray, far: FloatArray) -> float:
        """The cost that is at stake at x: above the cheapest point, or below the far one."""
        own, above = self._cost(x), self._cost(far) - self._cost(x)
        return max(min(own, above) if above > 0 else own, 1e-12 * (1 + abs(self._cost(far))))

    def _solved(
        self,
        draws: Draws,
        region: ReducedPolytope,
        x: FloatArray,
        far: FloatArray,
        side: float,
        lower: float,
        *,
        last: bool,
    ) -> FloatArray:
        """The released minimum of a perturbed program around x."""
        softness = (_LAST_SOFTNESS if last else _SOFTNESS) * side
        inwards = _INWARDS * softness
        noise = _NOISE_OF_A_PRICE * draws.sigma
        price = max(
            _ROWS_OF_A_PRICE * self._s * side, min(noise, _SHARE_OF_ALL_ROWS * self._n * side)
        )
        price = min(price, max(price * lower, _LEAST_NOISE * draws.sigma))
        if draws.sigma == 0:  # an exact penalty, for eps = inf
            price, softness, inwards = _EXACT_PRICE * side, _SHARP * side, 0.0
        slope = region.cost(self._public.cost)
        least = _LEAST_SCALE * float(np.linalg.norm(slope))
        cost = slope * (price / max(self._scale_of_cost(x, far), least))
        z = draws.minimum(
            self._rows.keep(partial(RowsInCoordinates, region=region)),
            region,
            cost,
            region.within(region.coordinates(x)),
            softness=softness,
            shift=inwards,
            bend=Bend(self._k, self._k),
            n=self._largest_n,
        )
        return region.point(z)

    def _calibrated(
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
        point of the fewest counted so far, if any, and the end of the path otherwise.
        """
        if draws.sigma == 0:
            return x, False
        counts = NoisyCounts(self._measured, MeasuredRows.missed, draws.counts)
        least = self._s / 4 if last else _SURE * counts.sigma
        target = max(self._s - _BELOW_S * counts.sigma, least)
        unit, own = self._scale_of_cost(x, far), max(self._cost(x), 1e-300)
        paths = self._paths(x, good, far, unit)
        top = _FORWARD
        if good is not None:
            top = max((self._cost(good) - self._cost(x)) / unit, 0.02)
        low, probe = -(_BACK if last else _FAR_BACK), top / 2
        if good is None:
            count = counts(x)
            if count <= target:
                self._known.append((count + 2 * counts.sigma, x))
                paths, probe, top = paths[:1], 0.0, 0.0
            low = -_ALL_THE_WAY * own / unit if count <= target else 0.0
        found = [counts(path(probe)) for path in paths]
        path = paths[int(np.argmin(found))]
        if last:
            top = max(_BEYOND * top, _LEAST_FORWARD)
            if self._known:
                gap = self._cost(self._safest()) - self._cost(x)
                top = max(top, _BEYOND * gap / unit)
        t, count = counts.first_below(target, path, low, top)
        if math.isinf(count):
            t, count = probe, min(found)
        further = good is not None and (count > target or t > top / 2)
        if count <= target:
            self._known.append((count + 2 * counts.sigma, path(t)))
            return path(t), further
        if good is None:
            return (path(top) if last else x), further
        return (self._safest() if last else good), further

    def _away(self, x: FloatArray) -> tuple[FloatArray, float]:
        """The way from the cheapest point to x, and how much farther it stays in the region."""
        region, z = self._region, self._region.coordinates(x)
        return x - self._cheapest, min(region.reach(z, z - region.coordinates(self._cheapest)), 1.0)

    def _paths(
        self, x: FloatArray, good: FloatArray | None, far: FloatArray, unit: float
    ) -> list[Path]:
        """Paths through x; on each, t is a change of cost in the unit.

        Backwards they lead to the cheapest point. Forwards they lead to an end, and beyond it away
        from the cheapest point, as far as the public region goes.
        """
        own = max(self._cost(x), 1e-300)

        def path_to(end: FloatArray) -> Path:
            length = max((self._cost(end) - self._cost(x)) / unit, 1e-3)
            away, reach = self._away(end)

            def path(t: float) -> FloatArray:
                if t < 0:
                    return x + max(t * unit / own, -1.0) * (x - self._cheapest)
                beyond = max(t - length, 0.0) * unit / max(self._cost(end), 1e-300)
                return x + min(1.0, t / length) * (end - x) + min(beyond, reach) * away

            return path

        away, reach = self._away(x)
        ends = [x + reach * away] if reach > 0.01 else []
        if good is not None:
            ends.append(good)
        if good is None or (len(ends) < 2 and self._cost(far) > self._cost(x)):
            ends.append(far)
        return [path_to(end) for end in ends]


class ScaledSides:
    """Sizes of right-hand sides of rows scaled to norm 1 in the coordinates of a region.

    Where a side is 0, the size of A_i x at a released point x stands for it. Each number is
    computed from its row alone.
    """

    def __init__(self, block: RowBlock, region: ReducedPolytope, x: FloatArray) -> None:
        norm, _ = norms(block, region)
        sizes = MeasuredRows(block).sizes(x)
        self._ratio = np.divide(sizes, norm, out=np.zeros_like(norm), where=norm > 0)

    def above(self, level: float) -> int:
        """Number of rows above a level."""
        return int(np.count_nonzero(self._ratio > level))
