"""Stages of perturbed programs on hard rows, and on hard and soft rows together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.game.loop import Released
from privlp.methods.counts import NoisyCounts, StagedSearch, TargetSearch
from privlp.methods.fallback import HALF_AS_BAD_AGAIN
from privlp.methods.perturbed.draws import WEAK, Bend, Draws, draws_of_stages, prices_of_public_rows
from privlp.methods.perturbed.line import Comparison
from privlp.methods.perturbed.paths import (
    MARGIN,
    SCALES,
    SURE,
    Path,
    PathSearch,
    StageRegions,
    typical_side,
)
from privlp.methods.perturbed.soft import SOFTNESS, SoftRowSearch
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates
from privlp.rows.program_rows import MeasuredRows

# Softness of violations, as a share of the typical right-hand side, before the last stage and in
# it; and how far rows are moved inwards, in units of the softness.
_SOFTNESS, _LAST_SOFTNESS, _INWARDS = 0.4, 0.2, 0.5
# Without noise: the region of a stage ends at this multiple of the cost found, because the start
# may miss rows, and a region far larger than the variables would leave them few digits; the price
# of the scale of the cost, in rows; and the softness, as a share of the typical size of violations.
_EXACT_MARGIN, _EXACT_PRICE, _SHARP = 100.0, 0.1, 1e-6
# Price of the scale of the cost: these many rows of typical violation for each of the s rows; more
# where noise is larger, but at most a share of the violation of all rows.
_ROWS_OF_A_PRICE, _NOISE_OF_A_PRICE, _SHARE_OF_ALL_ROWS, _LEAST_NOISE = 4.0, 6.0, 0.4, 1.5
# The price is divided by the first number if the stage's point is far from few missed rows; by the
# second after each stage, as long as no point with few missed rows is known.
_LOWER_PRICE, _MUCH_LOWER_PRICE = 1.4, 64.0
# Where nothing is known of the size of variables: up to this size; then this many times what was
# found.
_UNKNOWN_SIZE, _ROOM, _LEAST_ODDS = 1e9, 64.0, -28.0
_LEAST_SCALE = 1e-6  # Costs are steeper than what is at stake by no more than one over this.
# Logarithm of odds, along the way from the cheapest point, between which the start is searched.
_ODDS, _WIDE_ODDS = 9.0, 45.0


class HardRowSearch(StagedSearch):
    """Stages for hard rows: start on a public ray, find the scale, then solve three times."""

    def __init__(
        self,
        request: SolveRequest,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        draws: Sequence[ChargedDraws],
        *,
        wide: bool,
        last_target: float,
    ) -> None:
        self._start, self._shares, self._scale, *rest = draws
        self._stages, self._regions = draws_of_stages(rest), StageRegions(public, region)
        super().__init__(request, 2 + 2 * len(self._stages), self._regions.cheapest)
        self._request, self._rows, self._public, self._wide = request, rows, public, wide
        self._s, self._n = request.density(), request.n
        self._measured = rows.keep(partial(MeasuredRows, alpha=request.accuracy()))
        self._search = PathSearch(self._measured, self._s, self._regions, last_target)
        self.known = self._search.known

    def released(self) -> Released:
        """The last point, within its bounds: rounded coordinates may leave them by an ulp."""
        self._x = np.clip(self._x, *self._public.bounds.T)
        return super().released()

    def _play(self) -> Iterator[None]:
        x, far = self._started()
        yield
        regions = self._regions
        region = regions.at(x, weighted=False) if self.known else regions.region
        region = regions.evened(region, self._rows, self._shares, self._request.largest_n)
        typical = typical_side(self._rows, region, x, self._scale, self._n)
        yield
        unit, lower = float(np.mean(region.unit**2)), 1.0
        for number, draws in enumerate(self._stages):
            last, exact = number == len(self._stages) - 1, draws.sigma == 0
            region, margin = regions.region, _EXACT_MARGIN if exact else MARGIN
            if self.known:
                region = regions.at(x, weighted=number > 0 and not exact, margin=margin)
            side = typical * math.sqrt(unit / float(np.mean(region.unit**2)))
            found = self._solved(draws, region, x, far, side, lower, last=last)
            self._note("x", found)
            yield
            good = x if self.known else None
            x, further = self._search.calibrated(draws, found, good, far, last=last)
            lower /= (_LOWER_PRICE if further else 1.0) if self.known else _MUCH_LOWER_PRICE
            self._note("calibrated x", x)
            self._x = x
            yield

    def _started(self) -> tuple[FloatArray, FloatArray]:
        """A point with few missed rows on a public ray, if there is one, and the ray's end."""
        region, cheapest = self._regions.region, self._regions.cheapest
        towards = region.inside - region.coordinates(cheapest)
        reach = min(region.reach(region.inside, towards), 1e6)
        ends = [region.point(region.within(region.inside + reach * towards))]
        worst = self._public.best(-self._public.cost)
        ends += [] if worst is None else [worst]
        counts = NoisyCounts(self._measured, MeasuredRows.missed, self._start)
        target = max(self._s - 2 * counts.sigma, SURE * counts.sigma)
        found = [counts(end) for end in ends]
        far = ends[int(np.argmin(found))]

        def ray(log_odds: float) -> FloatArray:
            return cheapest + (far - cheapest) / (1 + math.exp(-log_odds))

        odds = (-_WIDE_ODDS, 0.0) if self._wide else (-_ODDS, _ODDS)
        t, count = counts.first_below(target, ray, *odds)
        x, fewest = (far, min(found)) if math.isinf(count) else (ray(t), count)
        if self._wide:
            # From here on the region is of the size of x; if no x is known, of variables near 1.
            x = ray(max(t, _LEAST_ODDS) if fewest <= target else -math.log(_UNKNOWN_SIZE))
            self._regions.region = self._regions.at(x, weighted=False, margin=_ROOM)
            far = cheapest + _ROOM / 2 * (x - cheapest)
        if fewest <= target:
            self.known.append((fewest + 2 * counts.sigma, x))
        self._note("start", x)
        return x, far

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
        inwards, sigma = _INWARDS * softness, draws.sigma
        most = min(_NOISE_OF_A_PRICE * sigma, _SHARE_OF_ALL_ROWS * self._n * side)
        price = max(_ROWS_OF_A_PRICE * self._s * side, most)
        price = min(price, max(price * lower, _LEAST_NOISE * sigma))
        if sigma == 0:  # an exact penalty, for eps = inf
            price, softness, inwards = _EXACT_PRICE * side, _SHARP * side, 0.0
        slope = region.cost(self._public.cost)
        least = _LEAST_SCALE * float(np.linalg.norm(slope))
        weight = price / max(self._regions.cost_at_stake(x, far), least)
        z, slopes = draws.minimum(
            self._rows.keep(partial(RowsInCoordinates, region=region)),
            region,
            slope * weight,
            region.within(region.coordinates(x)),
            softness=softness,
            shift=inwards,
            bend=Bend.of(self._request.public),
            n=self._request.largest_n,
        )
        self._prices = prices_of_public_rows(self._public, region, slopes, weight)
        return region.point(z)


# The deep point is to be so far inside the hard rows, in units of their typical distance.
_DEEP = 1.0
# A hard row costs at least so many times what the dearest soft row does. At first: so much that s/2
# missed rows balance this share of all other forces; then less, by this factor at most.
_LEAST_RATIO, _OF_FORCES, _MISSED, _MOST_CHANGE = 2.0, 0.1, 0.5, 8.0
_EXACT = 2.0  # Without noise: one missed row would balance so many times all other forces.
# The answer misses no more than s hard rows with this probability; places near it are denser.
_SAFE, _DENSER = 0.97, 2.0
_FEWER = 2.0  # One point misses surely fewer than another if counts differ by so many deviations.
# So far from its best place, in binary logarithms of odds, a public line is searched for one that
# misses few hard rows with this probability; by so many counts at most, until it is so near.
_BEYOND, _SURELY_FEW, _COUNTS_BEYOND, _NEAR = 32.0, 0.95, 6, 0.5
_LATER_COUNTS = 4  # So many are for the stages and the way to the deep point.
# On the public line rows say so much, and an end stays after so many deviations: few comparisons,
# and noisy ones.
_ON_LINE, _SURELY = 1.5, 2.0
# What the way to fewer missed rows may add to public costs, as a share, before it is said.
_MUCH = 0.5
_DEARER = (
    "Noisy counts of missed hard rows led to a point at which public costs are much larger than at"
    " the answer of the search, perhaps for nothing. More rows, a larger eps or s, or narrower"
    " bounds would help."
)
_INSTEAD = (
    "A noisy comparison of costs does not speak for the answer of the search, so a simpler point"
    " that misses few hard rows is released. More rows or a larger eps would help."
)


class MixedRowSearch(SoftRowSearch):
    """Hard rows among soft ones: soft rows of norm 1, whose price follows from counts."""

    def __init__(
        self, *given: Any, hard: Rows[Any], missed: ChargedDraws, target: float, **options: Any
    ) -> None:
        self._hard, self._target = hard, target
        super().__init__(*given, **options)
        request = given[0]
        self._s, self._n_hard = request.density(), options["prices"].hard
        measured = hard.keep(partial(MeasuredRows, alpha=request.accuracy()))
        self._missed = NoisyCounts(measured, MeasuredRows.missed, missed)
        self._few = self._target - 2 * self._missed.sigma

    def _play(self) -> Iterator[None]:
        region, unit = self._scaled()
        compared = Comparison(self._rows, region, self._public, self._price, unit)
        yield
        first, *others, last = self._stages
        exact = first.sigma == 0
        simple, upwards = self._on_a_line(compared)
        self._note("point of a public line", simple)
        deep, fewest = self._deep_point(first, region, simple, upwards)
        yield
        forces = float(np.linalg.norm(region.cost(self._public.cost))) / (self._price * unit)
        forces += self._soft
        wanted = _MISSED * self._s
        ratio = max(_EXACT * forces if exact else _OF_FORCES * forces / wanted, _LEAST_RATIO)
        self._x = deep if exact else simple
        for draws in others:
            if not exact:
                self._x = self._both(draws, region, unit, self._x, ratio, sharp=False)
                found = self._missed(self._x)
                if found < fewest - (_FEWER * self._missed.sigma if upwards else 0.0):
                    deep, fewest = self._x, found
                surely = found - self._missed.sigma
                change = min(max(surely / wanted, 1 / _MOST_CHANGE), 1.0)
                ratio = max(ratio * change, _LEAST_RATIO)  # what a record moves is charged at 1
            yield
        x = self._both(last, region, unit, self._x, ratio, sharp=True)
        # Where public costs do not say so, the deep point may be far from what costs little.
        enough = self._few if upwards else max(self._few, fewest + self._missed.sigma)
        self._x = self._on_the_way(x, deep, fewest, enough)
        if not exact and self._is_much_dearer(self._x, x):
            self._warning = _DEARER
        if self._is_worse(compared, deep):
            self._x, self._warning = deep, _INSTEAD
            if self._prices is not None:  # they are those of another point
                self._prices = np.full_like(self._prices, np.nan)
        self._x = np.clip(self._x, *self._public.bounds.T)
        yield

    def _on_a_line(self, compared: Comparison) -> tuple[FloatArray, Path | None]:
        """A point of a public line, and the line beyond it where that costs more."""
        cost, (cheap, dear) = self._public.cost, compared.ends(self._x)
        if cost @ dear < cost @ cheap:
            cheap, dear = dear, cheap
        if self._line.sigma == 0 or not cost @ dear > cost @ cheap:
            along = compared.along(self._x, self._line, most=_ON_LINE, surely=_SURELY)
            return along, None
        path = compared.upwards(cheap, dear, self._line, most=_ON_LINE)
        return path(0.0), path

    def _decide(self, compared: Comparison, simple: FloatArray, most: float) -> float:
        """No more than would make public costs above the least ones half as bad again."""
        cost, cheapest = self._public.cost, self._public.best(self._public.cost)
        records = float(super()._decide(compared, simple, most))
        if cheapest is None or not cost.any():
            return records
        limit = self._price * compared.limit(self._x, simple, most)
        return min(records, 0.5 / HALF_AS_BAD_AGAIN * float(cost @ (simple - cheapest)) / limit)

    def _deep_point(
        self, draws: Draws, region: ReducedPolytope, simple: FloatArray, upwards: Path | None
    ) -> tuple[FloatArray, float]:
        """The simple point, or one that surely misses fewer hard rows; and how many, by a count."""
        kept = self._hard.keep(partial(RowsInCoordinates, region=region))
        z = region.within(region.coordinates(self._x))
        level = self._typical(kept, z, draws, self._n_hard)
        z, _ = draws.minimum(
            kept,
            region,
            np.zeros(region.size),
            z,
            softness=SOFTNESS * level,
            shift=_DEEP * level,
            bend=self._bend,
            n=self._n_hard,
        )
        middle, self._x = self._x, region.point(z)
        self._note("x", self._x)
        cost, deep, fewest = self._public.cost, simple, self._missed(simple)
        if upwards is not None and fewest > self._few:
            count, place = self._on_the_line(upwards, fewest)
            if count <= self._s + _FEWER * self._missed.sigma:
                return place, count
        ends = (self._public.best(slope) for slope in (cost, -cost, np.ones_like(cost)))
        for x in (self._x, middle, *ends):
            if x is not None and fewest > self._few and self._missed.left > _LATER_COUNTS:
                # Far ends cost much: noise on counts must not be what they are taken for.
                count = self._missed(x)
                if count < fewest - _FEWER * self._missed.sigma:
                    fewest, deep = count, x
        return deep, fewest

    def _on_the_line(self, line: Path, count: float) -> tuple[float, FloatArray]:
        """The nearest place to 0 on a line that misses few hard rows, and how many, by counts."""
        counts, most = self._missed, float(self._n_hard)
        back = counts(line(-_BEYOND)) < count - _FEWER * counts.sigma

        def way(t: float) -> FloatArray:
            return line(-t if back else t)

        search = TargetSearch(self._target, 0.0, _BEYOND, sigma=counts.sigma, most=most)
        search.learn(0.0, count)
        for _ in range(_COUNTS_BEYOND):
            if search.quantile(_SURELY_FEW) - search.quantile(1 - _SURELY_FEW) <= _NEAR:
                break
            search.learn(search.median, counts(way(search.median)))
        x = way(search.quantile(_SURELY_FEW))
        return counts(x), x

    def _is_much_dearer(self, x: FloatArray, other: FloatArray) -> bool:
        """Whether public costs above the least ones are much larger than at another point."""
        cost, cheapest = self._public.cost, self._public.best(self._public.cost)
        least = 0.0 if cheapest is None else float(cost @ cheapest)
        return float(cost @ (x - other)) > _MUCH * (float(cost @ other) - least)

    def _typical(self, kept: Rows[Any], z: FloatArray, draws: Draws, n: int) -> float:
        """How far rows typically are from a point."""
        kept.update(RowsInCoordinates.go_to, z)
        counts = NoisyCounts(kept, RowsInCoordinates.farther_than, draws.counts)
        return float(2.0 ** counts.first_below(n / 2, lambda t: 2.0**t, *SCALES)[0])

    def _both(
        self,
        draws: Draws,
        region: ReducedPolytope,
        unit: float,
        x: FloatArray,
        ratio: float,
        *,
        sharp: bool,
    ) -> FloatArray:
        """The minimum of all costs near x, where hard rows cost `ratio` times the dearest soft."""
        price = ratio * self._price
        kept = self._rows.keep(
            partial(RowsInCoordinates, region=region, unit=unit, largest_price=price)
        )
        z = region.within(region.coordinates(x))
        level = self._typical(kept, z, draws, self._n)
        softness = level * (self._finest(draws) if sharp else SOFTNESS)
        if draws.sigma == 0:
            softness = level * _SHARP
        weight = 1 / (price * unit)
        z, slopes = draws.minimum(
            kept,
            region,
            region.cost(self._public.cost) * weight,
            z,
            softness=softness,
            shift=softness / 2,
            bend=self._bend,
            n=self._n,
            weak=WEAK / ratio,
        )
        self._prices = prices_of_public_rows(self._public, region, slopes, weight)
        for name, value in (("x", region.point(z)), ("softness", softness), ("ratio", ratio)):
            self._note(name, value)
        return region.point(z)

    def _on_the_way(
        self, x: FloatArray, deep: FloatArray, fewest: float, enough: float
    ) -> FloatArray:
        """The first point on the way to the deep one that surely misses no more than s rows."""

        def way(t: float) -> FloatArray:
            return x + t * (deep - x)

        counts = self._missed
        search = TargetSearch(
            self._target, 0.0, 1.0, sigma=counts.sigma, most=math.inf, power=_DENSER
        )
        found = counts(x)
        if found <= enough or self._target < found < fewest:
            return x
        search.learn(0.0, found)
        search.learn(1.0, fewest)
        return way(search.search(lambda t: counts(way(t)), counts.left, _SAFE))
