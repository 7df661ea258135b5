"""Noisy comparisons of costs at two points, and along a public line."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.perturbed.paths import Path
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.program_rows import ComparedRows

# Places of what is left of a line at which costs are compared; and after so many steps to one end.
_BESIDE, _CLOSE, _AGAIN = (0.375, 0.625), (0.02, 0.2), 3
# Where one end costs less: binary logarithms of odds on the way from it, and the steps of a search
# from there. What costs more is better if a comparison speaks for it by so many deviations.
_FARTHEST_ODDS, _STEP_OF_ODDS, _PAYS = 24.0, 4.0, 1.0
# Limits of what a row says, where two points are the same, and without noise.
_TINY, _HUGE = 1e-150, 1e150


class Comparison(NamedTuple):
    """Costs at one point beside those at another, in the coordinates of a region."""

    rows: Rows[Any]
    region: ReducedPolytope
    public: PublicRows
    price: float
    unit: float

    def along(
        self, inside: FloatArray, draws: ChargedDraws, *, most: float, surely: float
    ) -> FloatArray:
        """A point inside, or one of a public line nearer to its best, where costs surely say so.

        After several steps towards one end, places close to it are compared: bounds may be far too
        wide, and the line with them.
        """
        first, last = self.ends(inside)
        near, far, told, asked, nearer = 0.0, 1.0, 0.0, 0, 0
        while draws.remaining:
            low, high = _BESIDE if abs(nearer) < _AGAIN else _CLOSE
            low, high = (1 - high, 1 - low) if nearer < 0 else (low, high)
            low, high = (near + part * (far - near) for part in (low, high))
            points = [first + part * (last - first) for part in (high, low)]
            told, asked = told + self.difference(points[0], points[1], draws, most), asked + 1
            if abs(told) > surely * math.sqrt(asked) * draws.sigma:
                near, far = (near, high) if told > 0 else (low, far)
                nearer = max(nearer, 0) + 1 if told > 0 else min(nearer, 0) - 1
                told, asked = 0.0, 0
        if near < 0.5 < far:
            return inside
        return self._within(first + (far if far < 0.5 else near) * (last - first))

    def ends(self, inside: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The ends of the public line: a point inside stands for one that does not exist."""
        ends = [self.public.best(np.full(len(inside), sign)) for sign in (1.0, -1.0)]
        first, last = (inside if end is None else end for end in ends)
        return first, last

    def _within(self, x: FloatArray) -> FloatArray:
        return self.region.point(self.region.within(self.region.coordinates(x)))

    def upwards(
        self, cheap: FloatArray, dear: FloatArray, draws: ChargedDraws, *, most: float
    ) -> Path:
        """The way from one end of a line, whose public costs are less, to the other.

        It is a function of the logarithm of odds, to the base 2, and 0 is its best place as far as
        comparisons tell: one that costs more must surely be better, because what it costs is sure.
        """

        def at(odds: float) -> FloatArray:
            return self._within(cheap + (dear - cheap) / (1 + 2.0**-odds))

        def pays(one: float, other: float) -> bool:
            more = self.difference(at(other), at(one), draws, most)
            return more < -_PAYS * draws.sigma

        low, high = -_FARTHEST_ODDS, _STEP_OF_ODDS - _FARTHEST_ODDS
        while draws.remaining and high <= _FARTHEST_ODDS and pays(low, high):
            low, high = high, high + _STEP_OF_ODDS
        low -= _STEP_OF_ODDS
        while draws.remaining:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if pays(middle - 0.5, middle + 0.5) else (low, middle)
        best = 0.5 * (low + high)
        return lambda t: at(best + t)

    def difference(
        self,
        x: FloatArray,
        other: FloatArray,
        draws: ChargedDraws,
        most: float,
        cheaper: float = math.inf,
    ) -> float:
        """By how much more x costs, with noise, in units of the largest part of a row.

        That public costs are less counts up to `cheaper`.
        """
        limit = self.limit(x, other, most)
        rows = self.rows.keep(partial(ComparedRows, largest_price=self.price))
        found = float(draws(float(rows.total(ComparedRows.costlier, x, other, limit))))
        public = float(self.public.cost @ (x - other)) / (self.price * limit)
        return found + max(public, -cheaper)

    def limit(self, x: FloatArray, other: FloatArray, most: float) -> float:
        """What a row says of two points is bounded by this: so many typical changes of a row."""
        apart = self.region.coordinates(x) - self.region.coordinates(other)
        # Rows vary alike in all directions: this is what those of norm `unit` typically change by.
        typical = self.unit * float(np.linalg.norm(apart)) / math.sqrt(max(len(apart), 1))
        if math.isinf(most):
            return _HUGE
        # No row of that norm changes by more than the norm of the way.
        return max(min(most, math.sqrt(max(len(apart), 1))) * typical, _TINY)
