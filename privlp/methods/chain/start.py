"""Where a chain of descents starts: on a public way."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from privlp.checks import FloatArray
from privlp.methods.chain.descent import Centre, Useless
from privlp.methods.chain.ends import all_at_an_end, cheapest_point, safe_ends
from privlp.methods.chain.known import LOOKS, KnownWay, way_by
from privlp.methods.chain.near import CLEAR, NearSides
from privlp.methods.chain.way import (
    BY_KNOWN,
    LIKELY,
    STEEP,
    Start,
    Way,
    odds_of_cost,
    search_of_odds,
)
from privlp.methods.counts import NoisyCounts
from privlp.methods.request import KnownPoint, cheapest_at_zero
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.program_rows import MeasuredRows

#: Few rows are missed where a count is at most this share of s, or this many deviations of noise.
FEW, SURE = 0.5, 3.0
_SAFE = 0.5  # Farther on than the start, this share of s is missed.
# Counts for the start, and for a safe point farther on.
_CHECKED = 2
#: Descents in each region of a search amid the rows. None begins unless so many counts are left:
#: one for each, and for the way that follows.
COARSE = 2
COUNTS_AMID = COARSE + _CHECKED + 2
#: Counts on a way by the centre of the rows, and at its cost on the way before.
COUNTS_BY_CENTRE = 12
#: The start misses so many times s, or fewer; this share of what the way's beginning misses, if
#: that is less: where few rows ask for anything, the scale is where that number falls.
OF_START, _OF_ASKED = 2.5, 0.5
# A way goes on for so many times the step that reaches near sides; and where none is known, to
# odds so much larger, if these are small.
_ON, _ODDS_ON, _SMALL = 5.0, 0.7, -1.0
# Sides met at once lie on one another where the step that reaches them is less than these shares of
# the way to there from its beginning, and from the first one.
_NO_STEP, _NOTHING = 0.03, 1e-6
# Where such a step is not known, a way goes on for so many times the way to a point with few missed
# rows.
_BEYOND_SAFE = 8.0
#: A way is divided into so many cells, told apart if two of them have so many deviations of noise.
CELLS, CLEAR_CELL = 1024, 6.0
# Where as large a share of all rows is met at once, variables that the way leaves alone (it moves
# them by no more than the second share of their ranges), and that reach no rows from a point with
# few missed rows, move aside by up to the third: as the tip of a cone is, it may be the one place
# where they make no difference. So many counts are left for the way from there.
_MOST, _STILL, _ASIDE, COUNTS_ASIDE = 0.5, 0.01, 0.05, 8
# Another way is taken if few rows are missed after this share of the first one's step, at no more
# than the second share of its cost. It has so many counts, three of which are for the way itself.
_HALF, _MOST_COST, _COUNTS_OTHERS = 0.5, 0.75, 6
# Counts at the end of the way aside, and at the tip.
_BESIDE = 2

#: A point where variables without a cost have moved from one to where fewer rows are missed.
Relief = Callable[[FloatArray], FloatArray]
#: A point amid the rows near one, in such steps if they are given; how many it misses; and near
#: which point it was found.
Amid = Callable[[FloatArray, NoisyCounts, FloatArray | None], tuple[FloatArray, float, FloatArray]]


class Starting(NearSides):
    """Counts on public ways."""

    def __init__(
        self,
        measured: Rows[MeasuredRows],
        public: PublicRows,
        region: ReducedPolytope,
        s: float,
        n: int,
        *,
        clear: bool,
    ) -> None:
        super().__init__(measured, public, region, s, n)
        self._clear = clear
        # The start misses so many rows, or fewer, and no point of a way more than the other number.
        self._goal, self._most = OF_START * s, float(n)

    def found(
        self,
        draw: ChargedDraws,
        of_way: ChargedDraws | None,
        of_cells: ChargedDraws | None,
        by_variable: ChargedDraws | None,
        centre: Callable[[FloatArray, Useless], Centre | None] | None,
        amid: Amid,
        relief: Relief,
        logarithmic: int,
        hint: float | None = None,
        start: KnownPoint | None = None,
    ) -> Start:
        """About the first point of a way to a few ends, or to the centre, with few missed rows.

        A start gives another way, if counts speak for it.
        """
        counts = NoisyCounts(self._measured, MeasuredRows.missed, draw)
        by_centre = 0 if centre is None else COUNTS_BY_CENTRE
        later = _CHECKED + by_centre
        by_known = 0 if start is None else LOOKS
        linear = max(counts.left - logarithmic - by_centre - by_known, 0)
        few = max(FEW * self._s, SURE * counts.sigma)
        target = max(self._goal, SURE * counts.sigma)
        first, known = self._first_way(counts, few, target, of_cells, amid, start)
        begin, far, fewest, by = known
        centre = centre if by is None else None  # a way by a start is short
        target = max(self._goal, SURE * counts.sigma)
        way = self._way(begin, far, fewest, counts.sigma, hint, by)
        way.learn(counts, linear + later)
        corner = far if by is None and way.at_corner and counts.left >= COUNTS_AMID else None
        if corner is not None:
            centre, way = None, self._at_corner(way, first, counts, target, amid, by_variable, hint)
        ends = way.halved(way.likely(), counts, target, later + COUNTS_ASIDE)
        enough = counts.left >= _CHECKED + _BESIDE
        at_once = fewest <= few and way.falls_at_once(_MOST * self._n, ends[1])
        if corner is by is None and enough and at_once:
            beside = self._beside(way, first, counts, by_variable)
            if beside is not None:
                corner = way.at(ends[1])
                if counts(corner) > few:
                    corner = way.far
                centre, way, ends = None, beside, beside.likely()
        elif corner is by is None and counts.left >= later + _COUNTS_OTHERS:
            other = self._from_another_end(first, way, ends[1], counts, target, relief)
            if other is not None:
                centre, way, ends = None, other, other.likely()
        ends = way.halved(ends, counts, target, later)
        if centre is not None:
            way, ends = self._by_centre(way, ends, counts, few, target, centre, amid)
        high = way.halved(ends, counts, target, _CHECKED)[1]
        of_few = float(expit(way.posterior.quantile_of(_SAFE * self._s, LIKELY)))
        safe = way.part(of_few)
        share, x = float(expit(high)), way.at(high)
        on = math.inf if high >= _SMALL else float(expit(high + _ODDS_ON)) - share
        if of_way is not None and of_way.remaining:
            on = self._on(of_way, x, way.far - way.begin, x - begin, x - first)
        # The posterior takes it that counts fall on the way: these two points are counted.
        bound, of_safe, of_far = (
            count + 2 * counts.sigma for count in (counts(x), counts(safe), way.fewest)
        )
        bound = bound if way.fewest <= target else math.inf
        if share + on >= 1 and of_safe <= few + 2 * counts.sigma:
            on = _BEYOND_SAFE * max(of_few - share, share)
        good = way.fewest <= few
        return Start(way, share, good, on, bound, of_far, safe, of_safe, corner)

    def _first_way(
        self,
        counts: NoisyCounts,
        few: float,
        target: float,
        of_cells: ChargedDraws | None,
        amid: Amid,
        start: KnownPoint | None,
    ) -> tuple[FloatArray, KnownWay]:
        """Where a way begins at first, and the way. Counts set what the start may miss."""
        cheapest = cheapest_point(self._public, self._region)
        begin, far, fewest, by = self._to_an_end(cheapest, counts, few, target, start)
        first = begin
        if by is None:
            if fewest > target and cheapest_at_zero(self._public.lp):
                deep, count, about = amid(begin, counts, None)
                if count < fewest + SURE * counts.sigma:  # it is nearer
                    begin, far, fewest = about, deep, count
            begin = self._before_most_rows(of_cells, begin, far, target)
        asked = counts(begin)
        if begin is first is not cheapest and asked <= few:  # The middle was left for noise.
            first, far, fewest, by = cheapest, begin, asked, None
            begin, asked = first, counts(first)
        self._goal = max(min(self._goal, _OF_ASKED * asked), FEW * self._s)
        self._most = min(self._most, max(asked, self._goal) + CLEAR * counts.sigma)
        return first, KnownWay(begin, far, fewest, by)

    def _to_an_end(
        self,
        begin: FloatArray,
        counts: NoisyCounts,
        few: float,
        target: float,
        start: KnownPoint | None,
    ) -> KnownWay:
        """A way by the start, or to the first end with few missed rows, or else to the best."""
        of_region = self._public, self._region
        known = start and way_by(start, counts, *of_region, begin, FEW * self._s, self._goal)
        if known is not None:
            return known
        far = middle = self._region.point(self._region.inside)
        fewest = math.inf
        for end in safe_ends(*of_region, begin, middle):
            count = counts(end)
            if target < fewest < math.inf and count <= few and end is not middle:
                begin = middle
            # A corner comes before the middle, and is cheaper.
            if count < fewest - (SURE * counts.sigma if end is middle else 0.0):
                fewest, far = count, end
            if count <= few:
                break
        return KnownWay(begin, far, fewest)

    def _at_corner(
        self,
        way: Way,
        first: FloatArray,
        counts: NoisyCounts,
        target: float,
        amid: Amid,
        draw: ChargedDraws | None,
        hint: float | None,
    ) -> Way:
        """A way to a point amid the rows; it begins aside of the corner, or where this one does."""
        deep, count, _ = amid(way.far, counts, np.full(len(first), np.inf))
        if count >= target:
            return way
        aside = self._aside(draw, first, way.far, deep)
        begin = self._region.moved(way.far, aside) if aside.any() else way.begin
        found = self._way(begin, deep, count, counts.sigma, hint)
        found.learn(counts, _CHECKED)
        return found

    def _beside(
        self, way: Way, first: FloatArray, counts: NoisyCounts, draw: ChargedDraws | None
    ) -> Way | None:
        """A way aside of one on which most rows are met at once; none if nothing moves aside."""
        aside = self._aside(draw, first, way.far, way.far)
        if not aside.any():
            return None
        far = self._region.moved(way.far, aside)
        found = self._way(self._region.moved(way.begin, aside), far, counts(far), counts.sigma)
        found.learn(counts, _CHECKED + 1)
        return found

    def _from_another_end(
        self,
        first: FloatArray,
        way: Way,
        high: float,
        counts: NoisyCounts,
        target: float,
        relief: Relief,
    ) -> Way | None:
        """The same step from another end of variables, if half of it misses few and costs less."""
        if target > self._goal or not self._public.cost.any():
            return None
        cost, left, region = self._public.cost, counts.left, self._region
        step = way.at(high) - first
        most, half = float(cost @ (first + _MOST_COST * step)), first + _HALF * step
        for begin in (region.moved(first, relief(half) - half), *all_at_an_end(region)):
            far, half = region.moved(begin, way.far - first), region.moved(begin, _HALF * step)
            if np.allclose(begin, first) or np.allclose(begin, far):
                continue
            dearer, enough = float(cost @ half) > most, counts.left >= left - _COUNTS_OTHERS + 3
            if dearer or not enough or counts(half) > self._goal:
                continue
            fewest = counts(far)
            if fewest <= self._goal:
                found = self._way(begin, far, fewest, counts.sigma)
                found.learn(counts, _CHECKED + 1)
                return found
        return None

    def _way(
        self,
        begin: FloatArray,
        far: FloatArray,
        fewest: float,
        sigma: float,
        hint: float | None = None,
        by: FloatArray | None = None,
    ) -> Way:
        """A way of which nothing is known but how few rows are missed at its end."""
        ends = (float(self._public.cost @ end) for end in (begin, far))
        likely = (odds_of_cost(hint, *ends), STEEP) if by is None else BY_KNOWN
        posterior = search_of_odds(max(self._goal, sigma), sigma, self._most, *likely)
        return Way(begin, far, fewest, posterior, by=by)

    def _by_centre(
        self,
        way: Way,
        ends: tuple[float, float],
        counts: NoisyCounts,
        few: float,
        target: float,
        centre: Callable[[FloatArray, Useless], Centre | None],
        amid: Amid,
    ) -> tuple[Way, tuple[float, float]]:
        """The way, or one that begins or ends amid the rows, if they come close together there.

        Where neither its end nor the centre misses few rows, a point amid the rows that does.
        """
        cost, good = self._public.cost, way.fewest <= target

        def as_good(value: float) -> bool:
            return good and counts(way.at(way.odds_of(value, cost))) <= target

        found = centre(way.at(ends[1]), as_good)
        if found is None:
            return way, ends
        count = counts(found.x)
        if way.fewest > few and count < way.fewest:
            begin, far, fewest = way.begin, found.x, count
            if count > target and counts.left >= COUNTS_AMID:
                deep, least, about = amid(begin, counts, None)
                if least < count:
                    begin, far, fewest = about, deep, least
        elif np.isfinite(found.steps).any():
            begin, far, fewest = found.x, way.far, way.fewest
            if self._clear and fewest > target and counts.left >= COUNTS_AMID:
                deep, count, _ = amid(begin, counts, self.steps)
                if count <= target:
                    far, fewest = deep, count
        else:
            return way, ends
        other = self._way(begin, far, fewest, counts.sigma)
        other.learn(counts, _CHECKED + 1)
        others = other.likely()
        return (way, ends) if as_good(float(cost @ other.at(others[1]))) else (other, others)

    def _before_most_rows(
        self, draw: ChargedDraws | None, begin: FloatArray, far: FloatArray, target: float
    ) -> FloatArray:
        """A point of the way after which many rows are met at once, or else its beginning."""
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

    def _aside(
        self, draw: ChargedDraws | None, begin: FloatArray, far: FloatArray, x: FloatArray
    ) -> FloatArray:
        """A step of variables that a way leaves alone and that reach no rows from x, (d,)."""
        ranges = self._region.ranges_of_variables
        still = (np.abs(far - begin) <= _STILL * ranges) & (ranges > 0)
        if draw is None or not draw.remaining or not still.any():
            return np.zeros(len(x))
        least = max(FEW * self._s, CLEAR * draw.sigma)
        useless = np.asarray(draw(self._near(x, ranges))) < least
        step = _ASIDE * ranges * np.random.default_rng(0).uniform(-1, 1, len(x))
        return np.where(still & useless, step, 0.0)

    def _on(
        self,
        draw: ChargedDraws,
        x: FloatArray,
        way: FloatArray,
        to_there: FloatArray,
        from_first: FloatArray,
    ) -> float:
        """So far on, sides near a point of the way lie behind."""

        def near(part: FloatArray) -> FloatArray:
            return np.atleast_1d(self._measured.total(MeasuredRows.near_along, x, part[0] * way))

        (part,), at_once = self._steps(draw, near, 1, draw.remaining)
        on, length = _ON * float(part), float(np.linalg.norm(way))
        here, first = float(np.linalg.norm(to_there)), float(np.linalg.norm(from_first))
        if length and at_once and part * length < min(_NO_STEP * here, _NOTHING * first):
            self.least = np.abs(from_first)
            on = max(on, first / length)
        return on
