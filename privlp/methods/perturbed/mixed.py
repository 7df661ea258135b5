"""Stages of perturbed programs on hard and soft rows: a deep point, both kinds, a way back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.counts import NoisyCounts, TargetSearch
from privlp.methods.perturbed.draws import WEAK, Draws, prices_of_public_rows
from privlp.methods.perturbed.paths import SCALES
from privlp.methods.perturbed.soft import SOFTNESS, Comparison, SoftRowSearch
from privlp.regions.polytope import ReducedPolytope
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates
from privlp.rows.program_rows import MeasuredRows

# The deep point is to be so far inside the hard rows, in units of their typical distance.
_DEEP = 1.0
# A hard row costs at least so many times what the dearest soft row does. At first: so much that s/2
# missed rows balance this share of all other forces; then less, by this factor at most.
_LEAST_RATIO, _OF_FORCES, _MISSED, _MOST_CHANGE = 2.0, 0.1, 0.5, 8.0
# Without noise: one missed row would balance so many times all other forces; and the softness.
_EXACT, _SHARP = 2.0, 1e-6
# The answer misses no more than s hard rows with this probability; places near it are denser.
_SAFE, _DENSER = 0.97, 2.0
_INSTEAD = (
    "A noisy comparison of costs does not speak for the answer of the search, so a point that was"
    " found for the hard rows alone is released. More rows or a larger eps would help."
)


class MixedRowSearch(SoftRowSearch):
    """Hard rows among soft ones: soft rows of norm 1, whose price follows from counts.

    The first stage leads away from the hard rows. The others minimise all costs. On the way from
    the last point to the first, noisy counts find one that misses few enough hard rows.
    """

    def __init__(self, *given: Any, hard: Rows[Any], target: float, **options: Any) -> None:
        self._hard, self._target = hard, target
        super().__init__(*given, **options)
        request = given[0]
        self._s, self._n_hard = request.density(), options["prices"].hard
        measured = hard.keep(partial(MeasuredRows, alpha=request.accuracy()))
        self._missed = NoisyCounts(measured, MeasuredRows.missed, self._line)

    def _play(self) -> Iterator[None]:
        region, unit = self._scaled()
        compared = Comparison(self._rows, region, self._public, self._price, unit)
        yield
        first, middle, last = self._stages
        exact = first.sigma == 0
        deep = self._deep_point(first, region)
        yield
        forces = float(np.linalg.norm(region.cost(self._public.cost))) / (self._price * unit)
        forces += self._soft
        wanted = _MISSED * self._s
        ratio = max(_EXACT * forces if exact else _OF_FORCES * forces / wanted, _LEAST_RATIO)
        if not exact:
            self._x = self._both(middle, region, unit, deep, ratio, sharp=False)
            surely = self._missed(self._x) - self._missed.sigma
            ratio *= min(max(surely / wanted, 1 / _MOST_CHANGE), 1.0)
        yield
        x = self._both(last, region, unit, self._x, max(ratio, _LEAST_RATIO), sharp=True)
        self._x = self._on_the_way(x, deep)
        if self._is_worse(compared, deep):
            self._x, self._warning = deep, _INSTEAD
            if self._prices is not None:  # they are those of another point
                self._prices = np.full_like(self._prices, np.nan)
        yield

    def _deep_point(self, draws: Draws, region: ReducedPolytope) -> FloatArray:
        """A point inside the hard rows, whatever it costs."""
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
        self._x = region.point(z)
        self._note("x", self._x)
        return self._x

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

    def _on_the_way(self, x: FloatArray, deep: FloatArray) -> FloatArray:
        """The first point on the way to the deep one that surely misses no more than s rows."""

        def way(t: float) -> FloatArray:
            return x + t * (deep - x)

        counts, few = self._missed, self._target - 2 * self._missed.sigma
        search = TargetSearch(
            self._target, 0.0, 1.0, sigma=counts.sigma, most=math.inf, power=_DENSER
        )
        for t in (0.0, 1.0):
            found = counts(way(t))
            if t == 0 and found <= few:
                return x
            search.learn(t, found)
        return way(search.search(lambda t: counts(way(t)), counts.left, _SAFE))
