"""A chain of released points, from the safest to the cheapest, by noisy descents and counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.methods.chain.charges import WRONG_SIGNS, ChainCharges, ChainDraws
from privlp.methods.chain.descent import Descents, Start
from privlp.methods.chain.start import COARSE, COUNTS_AMID, FEW, SURE, Starting
from privlp.methods.counts import NoisyCounts, StagedSearch, TargetSearch
from privlp.methods.perturbed.paths import scaled_or
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates
from privlp.rows.program_rows import MeasuredRows

Path = Callable[[float], FloatArray]

# Beyond the start of a public way few rows are missed where a count is at most this share of s.
_FEWER = 0.25
# Softness of violations and length of the first descent to a deep point, in units of the region and
# of its root of p; by what both shrink from one to the next; and the share of all rounds for them.
_DEEP_SOFTNESS, _DEEP_LENGTH, _SHRINK, _MOST_ROUNDS = 0.3, 0.5, 0.4, 0.7
# Where a smaller share of all rows is missed, a descent takes twice as many rounds as the last.
_CLOSE = 1 / 6
# Rows move inwards by this share of the softness.
_DEEP_INWARDS, _INWARDS = 0.5, 0.8
# A search amid the rows: regions of so many times the steps to near sides, and the share of the
# rounds that are left for descents in each. Steps of one variable, of which noise tells less, are
# at most so many times those of all at once.
_WIDER, _MOST_COARSE, _TOGETHER = (1.0, 8.0, 64.0), 0.2, 8.0
# The scale: so many times s rows have less slack at the deep point; a floor; and the binary
# logarithms between which it is searched.
_TIGHT, _LEAST_SLACK, _LOW_SLACK, _HIGH_SLACK = 2.0, 0.02, -20.0, 3.0
# Softness of the stages in units of that slack; and stages end where so many times s rows are
# missed. Of fewer stages these are the first ones, and the last ones.
_SOFTNESS, _OF_FEW = (0.5, 0.25, 0.12, 0.06, 0.03), (0.3, 0.12)
_TARGETS, _START_TARGET = (3.0, 2.0, 1.5, 1.2, 1.0), 3.0
# The length of a descent in units of the softness.
_LENGTH = 8.0
# Where a descent leads this share of the way to an end of its region, or of as far as it can go,
# and mostly along the costs, the next one has more room and longer steps, by this factor; and then
# less again. Where noise is small, the first ones need go no farther than so many softnesses.
_TO_AN_END, _FAR, _STRAIGHT, _GROWS = 0.9, 0.7, 0.5, 8.0
_EARLY, _EASY, _MANY_STEPS = 2, 0.1, 9.0
# Where the last one has so much more room, the search was far from its end: that is said.
_STILL_FAR = _GROWS**2
# A descent that leads back this share of the way to the deep point was too coarse, by that factor;
# costs that differ by less than the second, in units of the region, are the same.
_BACK, _ROUNDING = 0.8, 1e-9
# The force of costs, in rows: s, or this many times the noise; and its change where counts show
# that a stage went too far, or not far enough.
_FORCE, _CHANGE, _FAR_BACK, _FAR_BEYOND = 0.7, 1.4, 0.5, -0.3
# A search leads beyond a point by this share of the way to it, at most; the last one by less.
_BEYOND, _LAST_BEYOND = 2.0, 1.5
# The last search likely ends near the last point.
_LIKELY = -0.15, 0.25
# Units of variables are this power of their share of room, or of the floor.
_POWER, _LEAST_SHARE = 0.5, 0.1
# The last point misses no more than the target with this probability, by all counts.
_SAFE = 0.97
# Where noise on all coordinates exceeds so many times s, the last search is on the public way.
_ON_THE_WAY = 1.0

_LOST = (
    "The bounds leave far more room than the rows ask for, and eps does not suffice to find where"
    " the rows come close together: the objective may be many times worse than the optimum. Give"
    " each variable bounds nearer to the values that it can take, on both sides, or a larger eps."
)


class ChainSearch(StagedSearch):
    """A safe point, a deep point, then stages at a price, and a search on the last segment."""

    def __init__(
        self,
        request: SolveRequest,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        charges: ChainCharges,
        draws: ChainDraws,
        last_target: float,
    ) -> None:
        super().__init__(request, 4 + charges.stages, region.point(region.inside))
        self._s, self._n, self._largest_n = request.density(), request.n, request.largest_n
        self._rows, self._charges, self._draws = rows, charges, draws
        self._whole = self._public = public
        self._region = self._all = region
        self._last_target = last_target
        self._hint = request.costs_of_hint()
        self._measured = rows.keep(partial(MeasuredRows, alpha=request.accuracy()))
        self._between = self._counts(draws.between)

    def _play(self) -> Iterator[None]:
        start = self._started()
        yield
        deep = self._on_the_way(start) if start.leads_away else self._deep_point(start)
        self._note("deep point", deep)
        yield
        region = self._region
        slack = self._slack(region, deep)
        stages = self._charges.stages
        x, _ = self._towards(region, deep, start.x, _START_TARGET, 0.0, stages + 1)
        yield
        force, softnesses, wider = 1.0, _SOFTNESS if stages > 2 else _OF_FEW, 1.0
        for stage, softness in enumerate(softnesses[:stages]):
            if stage:
                self._bound_about(x, max(wider, 1.0))
                new = self._in_units_of_room(x)
                slack *= _mean_unit(region) / _mean_unit(new)
                region = new
            rounds = self._draws.slopes.remaining // (stages - stage)
            soft = softness * slack * wider
            found = self._cheaper(region, x, soft, force, rounds)
            self._note("x", found)
            cost, steps = self._public.cost, _FAR * _LENGTH * math.sqrt(rounds)
            if stage < _EARLY and self._charges.difficulty < _EASY:
                steps = _MANY_STEPS
            least = _ROUNDING * float(np.linalg.norm(region.cost(cost)))
            if cost @ (found - x) > max(_BACK * float(cost @ (deep - x)), least):
                wider /= _GROWS  # It was too coarse to keep away from the deep point.
                self._know(x, math.inf, self._between, self._between.left // (stages - stage))
                self._note("calibrated x", x)
                yield
                continue
            far = self._went_far(region, x, found, steps * soft, max(wider, 1.0))
            left = stages - stage
            x, t = self._towards(region, deep, found, _TARGETS[-left], _BEYOND, left)
            self._note("calibrated x", x)
            force *= _CHANGE if t < _FAR_BEYOND else 1 / _CHANGE if t > _FAR_BACK else 1.0
            wider = _GROWS * wider if far else wider / _GROWS if wider > 1 else wider
            yield
        if wider >= _STILL_FAR:
            self._warning = _LOST
        if start.good and self._charges.difficulty > _ON_THE_WAY:
            x = start.with_few(self._counts(self._draws.last), self._last_target)
            self._x = np.clip(x, *self._whole.bounds.T)
        else:
            self._finish(region, deep, x)
        if start.corner is not None:  # Few rows were counted to be missed there.
            corner = np.clip(start.corner, *self._whole.bounds.T)
            self._x = min(corner, self._x, key=self._public.cost.dot)
        yield

    def _counts(self, draw: ChargedDraws) -> NoisyCounts:
        """Noisy counts of missed rows."""
        return NoisyCounts(self._measured, MeasuredRows.missed, draw)

    def _found_sign(self) -> int:
        """The sign that nearly all entries have; 0 if there is none."""
        if self._draws.signs is None:
            return 0
        found = np.asarray(self._draws.signs(self._measured.total(MeasuredRows.signs)))
        few = WRONG_SIGNS * self._draws.signs.sigma
        return next((sign for sign, wrong in zip((1, -1), found, strict=True) if wrong <= few), 0)

    def _bound_costs(self, cap: float) -> None:
        """The region ends at a cost."""
        if self._public.cost.any():
            ones = np.ones(len(self._public.cost))
            self._region = scaled_or(self._region, self._public, cap, ones)

    def _bound_about(self, x: FloatArray, wider: float = 1.0) -> None:
        """The region ends where moves of one variable have long passed the sides near a point."""
        if np.isfinite(self._widths).any():
            widths = wider * self._widths
            self._public = self._whole.narrowed(x - widths, x + widths)
            self._region = scaled_or(self._region, self._public, self._region.cap, np.ones(len(x)))

    def _started(self) -> Start:
        """A point with few missed rows on a public way. The region ends where sides near it do."""
        self._descents = Descents(self._rows, self._draws.slopes, self._found_sign())
        starting = Starting(self._measured, self._public, self._region, self._s, self._n)
        widths, centre = self._draws.widths, None
        self._widths = np.full(len(self._whole.cost), np.inf)
        if widths is not None and self._charges.centre:
            centre = partial(starting.centre, widths, self._descents)
        start = starting.found(
            self._draws.start,
            self._draws.way,
            self._draws.cells,
            centre,
            partial(self._amid, starting),
            self._charges.logarithmic,
            None if self._hint is None else self._hint[1],
        )
        if starting.lost:
            self._warning = _LOST
        self.known = [(start.of_safe, start.safe), (start.bound, start.x)]
        self._note("start", start.x)
        if widths is not None and widths.remaining:
            self._widths = starting.widths(widths, start.x)
        self._bound_about(start.x)
        if math.isfinite(start.on) and math.isfinite(start.bound):
            end = start.way.part(min(start.share + start.on, 1.0))
            self._bound_costs(float(self._public.cost @ end))
        return start

    def _on_the_way(self, start: Start) -> FloatArray:
        """The next point of the way with few missed rows, in steps that double."""
        counts, on = self._counts(self._draws.deep), start.on
        few = max(_FEWER * self._s, SURE * counts.sigma)
        # Noise may hide that s are missed, and with one variable nothing else leads on.
        more = few > FEW * self._s and self._region.size == 1
        while True:
            deep = start.way.part(min(start.share + on, 1.0))
            count = counts(deep)
            if (count <= few and not more) or not counts.left or start.share + on >= 1:
                break
            more, on = more and count > few, 2 * on
        self._know(deep, count, counts)
        if on > start.on:
            self._bound_costs(float(self._public.cost @ deep))
        return deep

    def _deep_point(self, start: Start) -> FloatArray:
        """Where descents lead away from the rows, or a safe point if the far end seems better."""
        counts = self._counts(self._draws.deep)
        deep, fewest = self._descended(start.x, counts, counts.left, _MOST_ROUNDS)
        fewest = self._know(deep, fewest, counts)
        if start.good and fewest > max(FEW * self._s, start.of_far) + counts.sigma:
            return start.safe
        return deep

    def _descended(
        self, x: FloatArray, counts: NoisyCounts, descents: int, share: float
    ) -> tuple[FloatArray, float]:
        """Of ever shorter descents without a cost, the point that misses fewest rows, and these."""
        region, few = self._region, max(FEW * self._s, SURE * counts.sigma)
        rows, z = self._descents.rows(region), region.within(region.coordinates(x))
        left = self._draws.slopes.remaining
        rounds = min(self._charges.of_deep, int(share * left))
        fewest, deep = math.inf, x
        for number in range(descents):
            softness = _DEEP_SOFTNESS * _SHRINK**number
            length = _DEEP_LENGTH * _SHRINK**number * math.sqrt(region.size)
            z = self._descents.violations(
                region, rows, z, softness, _DEEP_INWARDS * softness, length, rounds
            )
            count = counts(region.point(z))
            if count < fewest:
                fewest, deep = count, region.point(z)
            used = left - self._draws.slopes.remaining
            if fewest < _CLOSE * self._n:
                rounds = min(2 * rounds, int(share * left - used))
            if (number and fewest <= few) or used + max(rounds, 5) > share * left:
                break
        return deep, fewest

    def _amid(
        self, starting: Starting, x: FloatArray, counts: NoisyCounts, corner: bool
    ) -> tuple[FloatArray, float]:
        """A deep point in the smallest region about x that has one, and how many rows it misses."""
        few, fewest, deep = max(FEW * self._s, SURE * counts.sigma), math.inf, x
        widths = together = np.full(len(x), np.inf)
        self._public, self._region = self._whole, self._all
        if not corner and self._draws.widths is not None:
            widths = starting.widths(self._draws.widths, x)
        if not corner and self._draws.way is not None:
            together = starting.together(self._draws.way, x)
        known = np.isfinite(widths)
        steps = np.where(known, np.minimum(widths, _TOGETHER * together), together)
        for wide in _WIDER:
            if counts.left < COUNTS_AMID:
                break
            self._widths = wide * steps
            self._bound_about(x)
            found, count = self._descended(x, counts, COARSE, _MOST_COARSE)
            if count < fewest:
                deep, fewest = found, count
            if count <= few or not np.isfinite(steps).any():
                break
        if fewest > few and not np.isfinite(steps).all():
            self._widths = np.full(len(x), np.inf)
            self._public, self._region = self._whole, self._all
        if known.any() and not known.all() and counts.left >= COUNTS_AMID:
            lowest = self._lowest(deep, known)
            count = counts(lowest)
            if count <= max(few, fewest):
                deep, fewest = lowest, count
        return deep, fewest

    def _lowest(self, x: FloatArray, kept: npt.NDArray[np.bool_]) -> FloatArray:
        """The cheapest point with these variables of x: no private row may touch the others."""
        ends = np.where(kept, x, -np.inf), np.where(kept, x, np.inf)
        found = self._whole.narrowed(*ends).best(self._whole.cost)
        return x if found is None else found

    def _counted(self, counts: NoisyCounts, x: FloatArray) -> float:
        """A count, which is remembered with its point."""
        count = counts(x)
        self.known.append((count + 2 * counts.sigma, np.clip(x, *self._whole.bounds.T)))
        return count

    def _know(
        self, x: FloatArray, count: float, counts: NoisyCounts, number: int | None = None
    ) -> float:
        """Remember a point, after all counts that are left, or a number; what it misses by them."""
        found = [counts(x) for _ in range(counts.left if number is None else number)] or [count]
        mean, doubt = float(np.mean(found)), 2 * counts.sigma / math.sqrt(len(found))
        self.known.append((mean + doubt, x))
        return mean

    def _cheaper(
        self, region: ReducedPolytope, x: FloatArray, softness: float, force: float, rounds: int
    ) -> FloatArray:
        """Where a descent at a price leads."""
        slope, sigma = region.cost(self._public.cost), self._draws.slopes.sigma
        noise = sigma / self._descents.longer * math.sqrt(region.size / rounds)
        size = max(float(np.linalg.norm(slope)), 1e-300)
        push = force * max(self._s, _FORCE * noise) / size * slope
        rows, z = self._descents.rows(region), region.within(region.coordinates(x))
        inwards, length = _INWARDS * softness, _LENGTH * softness
        return region.point(
            self._descents.violations(region, rows, z, softness, inwards, length, rounds, push)
        )

    def _went_far(
        self, region: ReducedPolytope, x: FloatArray, found: FloatArray, length: float, wider: float
    ) -> bool:
        """Whether a descent led along the costs, so far or nearly to an end of its region."""
        slope = region.cost(self._public.cost)
        moved = region.coordinates(found) - region.coordinates(x)
        along = -float(moved @ slope) / max(float(np.linalg.norm(slope)), 1e-300)
        ends = np.abs(found - x) > _TO_AN_END * wider * self._widths
        straight = along > _STRAIGHT * float(np.linalg.norm(moved))
        return straight and bool(along > length or ends.any())

    def _slack(self, region: ReducedPolytope, deep: FloatArray) -> float:
        """The slack at the deep point that few rows fall short of, in the coordinates."""
        rows = self._descents.rows(region)
        rows.update(RowsInCoordinates.go_to, region.coordinates(deep))
        counts = NoisyCounts(rows, tight_rows, self._draws.slack)
        target, low, high = max(_TIGHT * self._s, 2 * counts.sigma), _LOW_SLACK, _HIGH_SLACK
        while counts.left:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if counts(2.0**middle) > target else (middle, high)
        return max(2.0**high, _LEAST_SLACK)

    def _towards(
        self,
        region: ReducedPolytope,
        deep: FloatArray,
        x: FloatArray,
        target: float,
        beyond: float,
        left: int,
    ) -> tuple[FloatArray, float]:
        """Where on the way from x to the deep point, at t = 1, so many times s rows are missed."""
        counts = self._between
        path = self._path(region, deep, x)
        posterior = TargetSearch(
            max(target * self._s, counts.sigma),
            -beyond,
            1.0,
            sigma=counts.sigma,
            most=float(self._largest_n),
        )
        found = posterior.search(lambda t: self._counted(counts, path(t)), counts.left // left)
        return path(found), found

    def _path(self, region: ReducedPolytope, deep: FloatArray, x: FloatArray) -> Path:
        """The way from x at t = 0 to the deep point at t = 1: a curve that leaves along the costs.

        Before x it leads against the costs, along the ends of the region.
        """
        slope, z = region.cost(self._public.cost), region.coordinates(x)
        rise = float(self._public.cost @ (deep - x)) / max(float(slope @ slope), 1e-300)

        def along(t: float) -> FloatArray:
            return region.point(region.nearest(z + t * abs(rise) * slope))

        bend = along(0.5) if rise > 0 else 0.5 * (x + deep)

        def path(t: float) -> FloatArray:
            if t < 0:
                return along(t)
            return (1 - t) ** 2 * x + 2 * t * (1 - t) * bend + t**2 * deep

        return path

    def _in_units_of_room(self, x: FloatArray) -> ReducedPolytope:
        """The region with larger units for variables with more room to both of their ends."""
        base, live, weights = self._region, self._region.live, np.ones(len(x))
        room = np.minimum(x[live] - base.low, base.low + base.ranges - x[live]) / base.ranges
        share = room / max(float(room.max()), 1e-300)
        weights[live] = np.maximum(share, _LEAST_SHARE) ** _POWER
        return scaled_or(base, self._public, base.cap, weights)

    def _finish(self, region: ReducedPolytope, deep: FloatArray, x: FloatArray) -> None:
        """The last search."""
        counts = self._counts(self._draws.last)
        path = self._path(region, deep, x)
        posterior = TargetSearch(
            self._last_target,
            -_LAST_BEYOND,
            1.0,
            sigma=counts.sigma,
            most=float(self._largest_n),
            likely=_LIKELY,
        )
        t = posterior.search(lambda t: self._counted(counts, path(t)), counts.left, _SAFE)
        self._x = np.clip(path(t), *self._whole.bounds.T)


def tight_rows(rows: RowsInCoordinates, slack: float) -> int:
    """Number of rows with less slack at the point that is remembered; empty ones have enough."""
    near = np.flatnonzero(rows.v > -slack)
    some = rows.G[near]
    filled = some.any(axis=1) if isinstance(some, np.ndarray) else abs(some).sum(axis=1) > 0
    return int(np.count_nonzero(filled))


def _mean_unit(region: ReducedPolytope) -> float:
    """The geometric mean of the units of variables."""
    return float(np.exp(np.mean(np.log(region.unit))))
