"""From a point of a public way to a deep point, away from the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.methods.chain.charges import WRONG_SIGNS, ChainCharges, ChainDraws
from privlp.methods.chain.descent import Descents
from privlp.methods.chain.ends import as_cheap
from privlp.methods.chain.start import COARSE, COUNTS_AMID, FEW, SURE, Starting
from privlp.methods.chain.way import Start
from privlp.methods.counts import NoisyCounts, StagedSearch
from privlp.methods.perturbed.paths import scaled_or
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.program_rows import MeasuredRows

# Beyond the start of a public way few rows are missed where a count is at most this share of s.
_FEWER = 0.25
# Softness of violations and length of the first descent to a deep point, in units of the region and
# of its root of p; by what both shrink from one to the next; and the share of all rounds for them.
_DEEP_SOFTNESS, _DEEP_LENGTH, _SHRINK, _MOST_ROUNDS = 0.3, 0.5, 0.4, 0.7
# Where a smaller share of all rows is missed, a descent takes twice as many rounds as the last.
_CLOSE = 1 / 6
# Rows move inwards by this share of the softness.
_DEEP_INWARDS = 0.5
# A search amid the rows: regions of so many times the steps to near sides, and the share of the
# rounds that are left for descents in each. Steps of one variable, of which noise tells less, are
# at most so many times those of all at once.
# Where steps come from the centre of rows, the largest region is this share of the room or more.
_WIDER, _MOST_COARSE, _TOGETHER, _OF_ROOM = (1.0, 8.0, 64.0), 0.2, 8.0, 0.25

# So many widths are far from a corner; and counts that are left for a deep point.
_MANY_WIDTHS, _KEPT = 2.0, 3

#: Noise on all coordinates, in rows over s, below which it is small.
EASY = 0.1

#: What is said where the search ended far from the rows.
LOST = (
    "The search ended far from where rows come close together: most likely bounds leave far more"
    " room than the rows ask for, if they leave enough. The objective may be many times worse than"
    " the optimum. Give each variable bounds nearer to the values that it can take, on both sides,"
    " or a larger eps."
)

#: What is said where the search still moved at its end.
MOVING = (
    "The search was still moving on when its share of eps was used up: the objective may be many"
    " times worse than the optimum. Subtract typical values, so that 0 is near the values that"
    " variables may take, give bounds of the size of what varies, or a larger eps."
)

#: What is said where the answer is as dear as a first point.
NOTHING_GAINED = (
    "No point was found that is cheaper than one from which the search began: the objective may be"
    " many times worse than the optimum. Give bounds that are near the values which variables may"
    " take, and leave room for the rows, or move the origin to a point that is well within them."
)

#: What is said where the last softnesses were large beside what is at stake.
LARGE_STEPS = (
    "The last steps of the search were large beside what the objective could still gain at most: it"
    " may be many times worse than the optimum. Give bounds of the size of what varies, or a larger"
    " eps."
)


class DeepSearch(StagedSearch):
    """A safe point on a public way, and a deep one; counts and points that later stages use."""

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
        self._hint, self._given = request.costs_of_hint(), request.start if charges.looks else None
        self._measured = rows.keep(partial(MeasuredRows, alpha=request.accuracy()))
        self._between = self._counts(draws.between)

    def _counts(self, draw: ChargedDraws) -> NoisyCounts:
        """Noisy counts of missed rows."""
        return NoisyCounts(self._measured, MeasuredRows.missed, draw)

    def _found_sign(self) -> int:
        """The sign that nearly all entries have; 0 if there is none."""
        if self._draws.signs is None:
            return 0
        found = np.asarray(self._draws.signs(self._measured.total(MeasuredRows.signs)))
        few = WRONG_SIGNS * self._draws.signs.sigma
        sign = next((sign for sign, wrong in zip((1, -1), found, strict=True) if wrong <= few), 0)
        self.method = "chain" if sign else ""  # as the plan says of rows of one sign
        return sign

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
        rows, clear = self._measured, self._charges.difficulty < EASY
        starting = Starting(rows, self._public, self._region, self._s, self._n, clear=clear)
        widths, centre = self._draws.widths, None
        self._widths = np.full(len(self._whole.cost), np.inf)
        if widths is not None and self._charges.centre:
            centre = partial(starting.centre, widths, self._descents)
        start = starting.found(
            self._draws.start,
            self._draws.way,
            self._draws.cells,
            widths,
            centre,
            partial(self._amid, starting),
            self._relieved,
            self._charges.logarithmic,
            None if self._hint is None else self._hint[1],
            self._given,
        )
        if starting.lost:
            self._warning = LOST
        self._remember(start.of_safe, start.safe)
        self._remember(start.bound, start.x)
        self._note("start", start.x)
        if widths is not None and widths.remaining:
            self._widths = starting.widths(widths, start.x)
            start = self._at_corner(start)
        self._bound_about(start.x)
        if math.isfinite(start.on) and math.isfinite(start.bound):
            end = start.way.part(min(start.share + start.on, 1.0))
            self._bound_costs(float(self._public.cost @ end))
        return start

    def _at_corner(self, start: Start) -> Start:
        """Variables many widths from a corner of their bounds move there, if counts allow it.

        Those with the same bounds move by the same step, up to where the first one is at its end:
        the difference of two of them stays.
        """
        x, cost, bounds, ends = start.x, self._public.cost, self._public.bounds, self._all
        counts, groups = self._counts(self._draws.deep), np.unique(bounds, axis=0)
        for side in (0, 1):
            step = np.zeros(len(x))
            for group in groups[np.isfinite(groups[:, side])]:
                way = group[side] - x
                far = (bounds == group).all(axis=1) & (abs(way) > _MANY_WIDTHS * self._widths)
                step[far] = min(way[far], key=abs, default=0.0)
            moved = ends.point(ends.within(ends.coordinates(x + step)))
            if not step.any() or cost @ moved >= cost @ x or counts.left <= _KEPT:
                continue
            bound = start.bound if math.isfinite(start.bound) else counts(x) + 2 * counts.sigma
            count = counts(moved)
            if count <= bound:
                self._remember(count + 2 * counts.sigma, moved)
                return replace(start, moved=moved)
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

    def _relieved(self, x: FloatArray) -> FloatArray:
        """Where x leads if variables without a cost move away from all rows, met or not."""
        public, alone = self._public, self._public.cost == 0
        narrowed = public.narrowed(*np.where(alone, public.bounds.T, x))
        region = scaled_or(self._region, narrowed, math.inf, np.ones(len(x)))
        if region is self._region:
            return x
        return self._descents.away(region, x)

    def _amid(
        self,
        starting: Starting,
        x: FloatArray,
        counts: NoisyCounts,
        steps: FloatArray | None = None,
    ) -> tuple[FloatArray, float, FloatArray]:
        """A deep point in a region about x that has one, how many rows it misses, and x.

        The smallest such region; before the largest, one about each other point of least cost is
        tried. Where steps of variables are given, the largest such region about x. Where these are
        infinite, it is the whole region.
        """
        few, fewest, deep = max(FEW * self._s, SURE * counts.sigma), math.inf, x
        about, best, others = x, 1.0, []
        self._public, self._region = self._whole, self._all
        known, wider = np.zeros(len(x), dtype=bool), _WIDER
        if steps is None:
            steps, known = self._moves(starting, x)
            others = [(other, wider[-2]) for other in as_cheap(self._public, self._region, x)]
        else:
            largest = max(_OF_ROOM * starting.room(steps), _WIDER[-1])
            wider = tuple(np.geomspace(largest, 1.0, len(_WIDER)))
        for at, wide in [*((x, wide) for wide in wider[:-1]), *others, (None, wider[-1])]:
            if counts.left < COUNTS_AMID:
                break
            point = about if at is None else at
            self._widths = wide * steps
            self._bound_about(point)
            found, count = self._descended(point, counts, COARSE, _MOST_COARSE)
            if count < fewest - SURE * counts.sigma:  # clearly better than in a smaller one
                deep, fewest, about, best = found, count, point, wide
            if count <= few or not np.isfinite(steps).any():
                break
        if fewest > few:
            self._widths = np.where(np.isfinite(steps).all(), best * steps, np.inf)
            self._public, self._region = self._whole, self._all
            self._bound_about(about)
        if known.any() and not known.all() and counts.left >= COUNTS_AMID:
            lowest = self._lowest(deep, known)
            count = counts(lowest)
            if count <= max(few, fewest):
                deep, fewest = lowest, count
        return deep, fewest, about

    def _moves(self, starting: Starting, x: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Steps of variables from x to sides; and which of them noise tells."""
        widths = together = np.full(len(x), np.inf)
        if self._draws.widths is not None:
            widths = starting.widths(self._draws.widths, x)
        if self._draws.way is not None:
            together = starting.together(self._draws.way, x, widths if starting.uneven() else None)
        known = np.isfinite(widths)
        steps = np.where(known, np.minimum(widths, _TOGETHER * together), together)
        return steps, known

    def _lowest(self, x: FloatArray, kept: npt.NDArray[np.bool_]) -> FloatArray:
        """The cheapest point with these variables of x: no private row may touch the others."""
        ends = np.where(kept, x, -np.inf), np.where(kept, x, np.inf)
        found = self._whole.narrowed(*ends).best(self._whole.cost)
        return x if found is None else found

    def _counted(self, counts: NoisyCounts, x: FloatArray) -> float:
        """A count, which is remembered with its point."""
        count = counts(x)
        self._remember(count + 2 * counts.sigma, x)
        return count

    def _know(
        self, x: FloatArray, count: float, counts: NoisyCounts, number: int | None = None
    ) -> float:
        """Remember a point, after all counts that are left, or a number; what it misses by them."""
        found = [counts(x) for _ in range(counts.left if number is None else number)] or [count]
        mean, doubt = float(np.mean(found)), 2 * counts.sigma / math.sqrt(len(found))
        self._remember(mean + doubt, x)
        return mean

    def _remember(self, bound: float, x: FloatArray) -> None:
        """Keep a point, within its bounds, that hardly ever misses more rows than the bound."""
        self.known.append((bound, np.clip(x, *self._whole.bounds.T)))
