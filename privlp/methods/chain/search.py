"""A chain of released points, from the safest to the cheapest, by noisy descents and counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.chain.curve import Curve, curve_between, divided
from privlp.methods.chain.deep import LARGE_STEPS, LOST, MOVING, NOTHING_GAINED, DeepSearch
from privlp.methods.chain.scale import GROWS, Scale, mean_unit
from privlp.methods.chain.way import Start
from privlp.methods.counts import NoisyCounts, TargetSearch
from privlp.methods.perturbed.paths import scaled_or
from privlp.regions.polytope import ReducedPolytope
from privlp.rows.in_coordinates import RowsInCoordinates

# Rows move inwards by this share of the softness.
_INWARDS = 0.8
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
# and mostly along the costs, the next one has more room and longer steps; and then less again.
# Where noise is no larger than this, in rows over s, the first ones need go no farther than so many
# softnesses.
_TO_AN_END, _FAR, _STRAIGHT = 0.9, 0.7, 0.5
_EARLY, _NOT_LARGE, _MANY_STEPS = 2, 0.3, 9.0
# Rows have so many times as much slack as is at stake, at most: beyond that the softness hides
# what rows ask for.
_OF_STAKE_LEFT = 5.0
# Where so many of the last softnesses are all that is at stake at the end, that is said.
_ALL_COARSE = 5.0
# That the search still moves is said, too, where less is at stake than these shares of what was
# before the last stage, and of the most that was there or one stage earlier.
_FELL = 0.85, 0.5
# And where costs of stages after the first went up and down by so many softnesses, in the mean, and
# by this share of what is at stake. Chosen on made-up programs, seeds 0 to 2.
_UP_AND_DOWN, _NOT_LITTLE = 6.0, 0.01
# Where costs are at stake that are so many times the slack, short descents follow one that went far
# early: of so many rounds that s rows are so many deviations of noise. Those that go on are
# prolonged, by this factor and more, by so many counts; so many are left for each later stage.
_REMOTE, _CLEARLY, _SHORTEST, _STRIDE, _AT_MOST, _EACH = 1000.0, 2.0, 8, 4.0, 5, 2
# Rows stopped a descent that went less far along the costs than this share of what it would alone.
# From this noise on, in rows over s, descents may be too short to meet them.
# Where noise is less, more cost is at stake by this factor than was saved or lost, if it moves.
_STOPPED, _NOISY, _FAR_MORE = 0.25, 0.18, 20.0
# A search still moves if a descent goes on by so much of the costs at stake.
_OF_STAKE = 0.01
# Where the last one has so much more room, the search was far from its end: that is said.
_STILL_FAR = GROWS**2
# A descent that leads back this share of the way to the deep point was too coarse, by that factor;
# costs that differ by less than the second, in units of the region, are the same.
_BACK, _ROUNDING = 0.8, 1e-9
# The force of costs, in rows: s, or this many times the noise.
_FORCE = 0.7
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


class ChainSearch(DeepSearch):
    """A safe point, a deep point, then stages at a price, and a search on the last segment."""

    def _play(self) -> Iterator[None]:
        start = self._started()
        self._of_tip = int(start.corner is not None)  # a count for a point away from it
        yield
        deep = self._on_the_way(start) if start.leads_away else self._deep_point(start)
        self._note("deep point", deep)
        yield
        best = self._whole.best(self._whole.cost)
        self._cheapest = deep if best is None else best
        scale = Scale(self._region, deep, self._slack(self._region, deep), deep)
        scale.thin = scale.slack <= _LEAST_SLACK
        stages = self._charges.stages
        first = start.x
        x, _ = self._towards(scale.region, deep, first, first, _START_TARGET, 0.0, stages + 1)
        yield
        softnesses, points = _SOFTNESS if stages > 2 else _OF_FEW, [x]
        for stage, softness in enumerate(softnesses[:stages]):
            if stage:
                few = min(_TARGETS[stage - stages - 1] * self._s, start.way.posterior.target)
                x = self._halved(scale, x, few, stages - stage)
                self._narrow(scale, x)
            x = self._stage(scale, x, softness, stages - stage)
            if stage + 1 == stages and start.corner is not None:
                x = self._outwards(scale, start.corner, x)
            points.append(x)
            self._note("calibrated x", x)
            yield
        self._warn_if_not_arrived(scale, points[0], x)
        self._end(start, scale, points)
        self._warn_of_end(scale, points)
        if not self._warning and self._is_where_it_began(scale.deep, start.corner):
            self._warning = NOTHING_GAINED
        yield

    def _warn_of_end(self, scale: Scale, points: list[FloatArray]) -> None:
        """Warn if steps were large beside what is at stake at the end, or that still fell."""
        left = self._stake(scale.region, self._x)
        before = [self._stake(scale.region, x) for x in points[1:]]
        if self._warning or left == 0:
            return
        if left < _ALL_COARSE * scale.soft:
            self._warning = LARGE_STEPS
            return
        number, moved = len(before) - 1, float(np.abs(np.diff(before)).sum())
        fell = number > 1 and left < min(_FELL[0] * before[-2], _FELL[1] * max(before[-3:-1]))
        still = scale.moved > _UP_AND_DOWN * number and moved > _NOT_LITTLE * number * left
        if fell or still:
            self._warning = MOVING

    def _is_where_it_began(self, deep: FloatArray, corner: FloatArray | None) -> bool:
        """Whether the answer is a first point, or as dear as a corner; and a cheaper is public."""
        points = [deep] if corner is None else [deep, corner]
        begun = any(np.allclose(p, self._x, 1e-9, 1e-12) for p in points)
        left, size = self._x - self._cheapest, abs(self._x) + abs(self._cheapest)
        cost = self._public.cost
        stake = float(cost @ left)
        if corner is not None:
            begun |= abs(float(cost @ (self._x - corner))) <= _ROUNDING * stake
        return begun and stake > _ROUNDING * float(abs(cost) @ size)

    def _halved(self, scale: Scale, x: FloatArray, few: float, left: int) -> FloatArray:
        """Half way to the least cost, if a count speaks for it; once one does not, none is made.

        Costs may pull at one variable where all have to move together.
        """
        counts, half = self._between, 0.5 * (x + self._cheapest)
        if not scale.halves or counts.left - self._of_tip <= left:
            return x
        scale.halves = self._counted(counts, half) <= few
        return half if scale.halves else x

    def _narrow(self, scale: Scale, x: FloatArray) -> None:
        """The next region: about x, in units of the room there."""
        self._bound_about(x, max(scale.wider, 1.0))
        new = self._in_units_of_room(x)
        scale.slack *= mean_unit(scale.region) / mean_unit(new)
        scale.region = new
        left = max(self._stake(new, x), self._stake(new, scale.found) / GROWS)
        scale.shrink(x, _OF_STAKE_LEFT * left / scale.wider)

    def _stake(self, region: ReducedPolytope, x: FloatArray) -> float:
        """What lies between x and the least cost, in the coordinates; infinite without a cost."""
        size = float(np.linalg.norm(region.cost(self._public.cost)))
        return float(self._public.cost @ (x - self._cheapest)) / size if size else math.inf

    def _stage(self, scale: Scale, x: FloatArray, softness: float, left: int) -> FloatArray:
        """The point that a descent at a price and counts lead to; how the next stage differs."""
        region, deep = scale.region, scale.deep
        rounds = (self._draws.slopes.remaining - scale.kept) // left
        soft, target = softness * scale.slack * scale.wider, _TARGETS[-left]
        scale.soft = soft
        found, drift = self._cheaper(region, x, soft, scale.force, rounds)
        scale.found = found
        self._note("x", found)
        if self._went_back(region, deep, x, found):
            scale.wider, scale.stopped = scale.wider / GROWS, True
            number = (self._between.left - self._of_tip) // left
            self._know(x, math.inf, self._between, number)
            return x
        steps = _FAR * _LENGTH * math.sqrt(rounds)
        early = left > self._charges.stages - _EARLY
        if early and self._charges.difficulty < _NOT_LARGE:
            steps = _MANY_STEPS
        along, straight = self._along(region, x, found)
        free = straight and along > _STOPPED * drift
        scale.stopped |= left < self._charges.stages and not free
        ends = np.abs(found - x) > _TO_AN_END * max(scale.wider, 1.0) * self._widths
        far = straight and bool(along > steps * soft or ends.any())
        new, t = self._towards(region, deep, found, x, target, _BEYOND, left)
        if scale.kept:
            scale.deep = self._all.moved(deep, new - x)
        gained = self._along(region, x, new)[0] / soft
        scale.moved += abs(gained) if left < self._charges.stages else 0.0
        scale.change(t, gained / 0.5, far=far)
        if scale.far and early and self._is_remote(scale, new):
            new = self._short_descents(scale, new, left - 1)
            most = self._draws.slopes.remaining - _EACH * (left - 1)
            scale.kept = min(self._short_rounds(scale), most)
        return new

    def _outwards(self, scale: Scale, tip: FloatArray, x: FloatArray) -> FloatArray:
        """A point that lies as far from the tip of a cone as can be, if a count speaks for it.

        In a cone it misses the same rows as x, and saves more. Steps do not lead there: rows tell
        no scale.
        """
        counts, ends = self._between, self._all
        z = ends.coordinates(tip)
        times = ends.reach(z, ends.coordinates(x) - z)
        if not counts.left or not 1 < times < math.inf or self._public.cost @ (x - tip) >= 0:
            return x
        far = ends.moved(tip, times * (x - tip))
        if self._counted(counts, far) > _START_TARGET * self._s + counts.sigma:
            return x
        scale.deep = ends.moved(tip, times * (scale.deep - tip))
        scale.soft *= times
        return far

    def _is_remote(self, scale: Scale, x: FloatArray) -> bool:
        """Whether noise is not large and far more cost than the slack of rows is at stake."""
        stake = self._stake(scale.region, x)
        return self._charges.difficulty < _NOT_LARGE and math.inf > stake > _REMOTE * scale.slack

    def _short_descents(self, scale: Scale, x: FloatArray, stages: int) -> FloatArray:
        """Short descents, after each of which counts look straight on, and the point they lead to.

        They have half of the slopes that are left, and all but a few counts for each later stage. A
        region in which one leads nowhere is followed by a smaller one.
        """
        slopes, counts = self._draws.slopes, self._between
        rounds = self._short_rounds(scale)
        least, fewest = slopes.remaining // 2, _EACH * stages
        wider, led = scale.wider, False
        while counts.left > fewest and slopes.remaining - rounds >= least and scale.wider >= 1:
            found, moved = self._short_descent(scale, x, rounds)
            length = 0.0
            if moved:
                length = self._straight_on(x, found, counts.left - fewest)
            step = length * (found - x)
            x, scale.deep = self._all.moved(x, step), self._all.moved(scale.deep, step)
            scale.wider *= GROWS if length > 1 else 1.0 if length == 1 else 1 / GROWS
            self._note("x", x)
            led |= length >= 1
        scale.wider = wider * GROWS if led else wider
        return x

    def _short_rounds(self, scale: Scale) -> int:
        """So many rounds that s rows are clear of noise."""
        noise = _CLEARLY * self._draws.slopes.sigma / self._descents.longer / self._s
        return max(_SHORTEST, math.ceil(noise**2 * scale.region.size))

    def _short_descent(self, scale: Scale, x: FloatArray, rounds: int) -> tuple[FloatArray, bool]:
        """Where a short descent leads, and whether farther along the costs than its softness."""
        self._narrow(scale, x)
        soft = _SOFTNESS[1] * scale.slack * scale.wider
        found, _ = self._cheaper(scale.region, x, soft, scale.force, rounds)
        return found, self._along(scale.region, x, found)[0] > soft

    def _warn_if_not_arrived(self, scale: Scale, first: FloatArray, x: FloatArray) -> None:
        """Warn if the search was too coarse for the rows, ended far from them, or still moved.

        It still moves if after short descents one with much more room goes on; or if rows stopped
        no stage, and more cost is at stake than all of them saved: far more, unless noise is large.
        """
        cost = self._public.cost
        at_stake, saved = float(cost @ (x - self._cheapest)), float(cost @ (first - x))
        noisy = self._charges.difficulty > _NOISY and self._charges.stages > len(_OF_FEW)
        moves = not scale.stopped and at_stake > (saved if noisy else _FAR_MORE * abs(saved))
        if scale.kept:
            wide = replace(scale, wider=_STILL_FAR)
            found, moved = self._short_descent(wide, x, self._draws.slopes.remaining)
            moves |= moved and float(cost @ (x - found)) > _OF_STAKE * at_stake
        if (scale.far and scale.wider >= _STILL_FAR) or (scale.thin and scale.back):
            self._warning = LOST
        elif moves and not self._warning:
            self._warning = MOVING

    def _straight_on(self, begin: FloatArray, x: FloatArray, number: int) -> float:
        """How many times as far as to x the way misses few rows: strides that grow, then less."""
        counts, ends = self._between, self._all
        z = ends.coordinates(begin)
        reach = ends.reach(z, ends.coordinates(x) - z)
        few = _START_TARGET * self._s + counts.sigma
        good, bad, length = 0.0, math.inf, min(_STRIDE, reach) if number > 1 else 1.0
        for _ in range(min(number, _AT_MOST)):
            if self._counted(counts, begin + length * (x - begin)) <= few:
                good = length
                length = min(GROWS * length, reach) if math.isinf(bad) else length
            elif good == 0 and length > 1:
                bad, length = length, 1.0
            else:
                bad = length
            if good:
                length = length if math.isinf(bad) else math.sqrt(good * bad)
            if bad <= 1 or not good < length < bad or bad < _STRIDE * good:
                break
        return good

    def _end(self, start: Start, scale: Scale, points: list[FloatArray]) -> None:
        """The last search, and where few rows are missed at a corner, whichever is cheaper."""
        if start.good and self._charges.difficulty > _ON_THE_WAY:
            x = start.with_few(self._counts(self._draws.last), self._last_target)
            self._x = np.clip(x, *self._whole.bounds.T)
        else:
            self._finish(scale, *points[-2:])
        if start.corner is not None:  # Few rows were counted to be missed there.
            corner = np.clip(start.corner, *self._whole.bounds.T)
            self._x = min(corner, self._x, key=self._public.cost.dot)

    def _cheaper(
        self, region: ReducedPolytope, x: FloatArray, softness: float, force: float, rounds: int
    ) -> tuple[FloatArray, float]:
        """Where a descent at a price leads; how far it would go along the costs without rows."""
        slope, sigma = region.cost(self._public.cost), self._draws.slopes.sigma
        noise = sigma / self._descents.longer * math.sqrt(region.size / rounds)
        size = max(float(np.linalg.norm(slope)), 1e-300)
        push = force * max(self._s, _FORCE * noise)
        rows, z = self._descents.rows(region), region.within(region.coordinates(x))
        inwards, length = _INWARDS * softness, _LENGTH * softness
        found = self._descents.violations(
            region, rows, z, softness, inwards, length, rounds, push / size * slope
        )
        return region.point(found), push * self._descents.drift

    def _went_back(
        self, region: ReducedPolytope, deep: FloatArray, x: FloatArray, found: FloatArray
    ) -> bool:
        """Whether a descent was too coarse to keep away from the deep point."""
        cost = self._public.cost
        least = _ROUNDING * float(np.linalg.norm(region.cost(cost)))
        return bool(cost @ (found - x) > max(_BACK * float(cost @ (deep - x)), least))

    def _along(
        self, region: ReducedPolytope, x: FloatArray, found: FloatArray
    ) -> tuple[float, bool]:
        """How far a descent led along the costs, in the coordinates, and whether mostly so."""
        slope = region.cost(self._public.cost)
        moved = region.coordinates(found) - region.coordinates(x)
        along = -float(moved @ slope) / max(float(np.linalg.norm(slope)), 1e-300)
        return along, along > _STRAIGHT * float(np.linalg.norm(moved))

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
        before: FloatArray,
        target: float,
        beyond: float,
        left: int,
    ) -> tuple[FloatArray, float]:
        """Where on the way from x to the deep point, at t = 1, so many times s rows are missed."""
        counts = self._between
        path, beyond = self._way(region, deep, x, before, beyond)
        posterior = TargetSearch(
            max(target * self._s, counts.sigma),
            -beyond,
            1.0,
            sigma=counts.sigma,
            most=float(self._largest_n),
        )
        number = (counts.left - self._of_tip) // left
        found = posterior.search(lambda t: self._counted(counts, path(t)), number)
        return path(found), found

    def _way(
        self,
        region: ReducedPolytope,
        deep: FloatArray,
        x: FloatArray,
        before: FloatArray,
        beyond: float,
    ) -> tuple[Curve, float]:
        """The way from x to the deep point, and how far beyond x it is searched."""
        curve, left = curve_between(region, self._public.cost, x, deep), self._cheapest
        return divided(curve, self._public.cost, left, deep, x, before, beyond)

    def _in_units_of_room(self, x: FloatArray) -> ReducedPolytope:
        """The region with larger units for variables with more room to both of their ends."""
        base, live, weights = self._region, self._region.live, np.ones(len(x))
        room = np.minimum(x[live] - base.low, base.low + base.ranges - x[live]) / base.ranges
        share = room / max(float(room.max()), 1e-300)
        weights[live] = np.maximum(share, _LEAST_SHARE) ** _POWER
        return scaled_or(base, self._public, base.cap, weights)

    def _finish(self, scale: Scale, before: FloatArray, x: FloatArray) -> None:
        """The last search."""
        counts, deep = self._counts(self._draws.last), scale.deep
        path, beyond = self._way(scale.region, deep, x, before, _LAST_BEYOND)
        posterior = TargetSearch(
            self._last_target,
            -beyond,
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
