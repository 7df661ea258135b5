"""Noisy descents, and the centre of rows that they find."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.methods.perturbed.paths import scaled_or
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import RowsInCoordinates, value_of_sum

# sqrt(2), but for a part that covers all rounding.
_ONE_SIGN = 1.4142
# A step of one variable reaches these sides; a descent's region leads so many steps to each side.
_AROUND = 4.0
# Rounds of a descent, the share of all rounds for them, their softness and length in the region.
_ROUNDS, _MOST_ROUNDS, _SOFTNESS, _LENGTH = 8, 0.55, 0.02, 0.15
# Draws for the direction away from all rows, which all count where they are so much nearer; and the
# length of a step there, in the region, in units of the root of p.
_AWAY, _FAR_INWARDS, _TO_AN_END = 4, 1e9, 10.0
# Steps shrink by this factor where that share of one still reaches these sides. The search ends
# once so many descents in a row shrank none.
_SHRINK, _NEARER, _IN_VAIN = 0.25, 0.5, 2
# After so many descents it is asked whether more are of use.
_ASKED = 4
#: Whether a point of this cost with few missed rows is known.
Useless = Callable[[float], bool]


class Descents:
    """Noisy dual averaging in the coordinates of a region.

    Slopes of rows of one sign are released sqrt(2) times as long, or a little less: their inner
    products are not negative. So the sum of a record's slopes and that of another one, of at most v
    each, differ by sqrt(2) v at most, not 2 v. Slopes of distances from both sides may have either
    sign, and are released as they are: they differ by 2 v at most.
    """

    def __init__(self, rows: Rows[Any], draw: ChargedDraws, sign: int) -> None:
        self._rows, self._draw, self.sign = rows, draw, sign
        self.longer = _ONE_SIGN if sign else 1.0
        #: How far a force of 1 alone would have led in the last descent.
        self.drift = 0.0

    @property
    def left(self) -> int:
        """Rounds that are left."""
        return self._draw.remaining

    def rows(self, region: ReducedPolytope) -> Rows[RowsInCoordinates]:
        """The private rows in the coordinates of a region."""
        return self._rows.keep(partial(RowsInCoordinates, region=region, sign=self.sign))

    def violations(
        self,
        region: ReducedPolytope,
        rows: Rows[RowsInCoordinates],
        start: FloatArray,
        softness: float,
        inwards: float,
        length: float,
        rounds: int,
        push: FloatArray | float = 0.0,
    ) -> FloatArray:
        """Where a descent of smoothed violations leads, and of costs, by their force."""

        def slope(z: FloatArray) -> FloatArray:
            slopes = rows.total(RowsInCoordinates.gradient, softness, inwards, z)
            exact = self.longer * value_of_sum(slopes, of_rows=True)
            return np.asarray(self._draw(exact)) / self.longer + push

        return self._averaged(region, start, slope, length, rounds)

    def away(self, region: ReducedPolytope, x: FloatArray) -> FloatArray:
        """The end of a region that lies in the mean direction away from all rows, met or not."""
        rows, z = self.rows(region), region.within(region.coordinates(x))
        slopes = self.longer * value_of_sum(
            rows.total(RowsInCoordinates.gradient, 1.0, _FAR_INWARDS, z), of_rows=True
        )
        total = np.sum([self._draw(slopes) for _ in range(_AWAY)], axis=0)
        step = _TO_AN_END * math.sqrt(region.size) / max(float(np.linalg.norm(total)), 1e-300)
        return region.point(region.nearest(z - step * total))

    def distances(self, region: ReducedPolytope, x: FloatArray) -> FloatArray:
        """Where a descent of distances of rows from their sides leads from x."""
        rows = self.rows(region)

        def slope(z: FloatArray) -> FloatArray:
            slopes = rows.total(RowsInCoordinates.pull, _SOFTNESS, z)
            return np.asarray(self._draw(value_of_sum(slopes, of_rows=True)))

        start, length = region.within(region.coordinates(x)), _LENGTH * math.sqrt(region.size)
        return region.point(self._averaged(region, start, slope, length, _ROUNDS))

    def _averaged(
        self,
        region: ReducedPolytope,
        start: FloatArray,
        slope: Callable[[FloatArray], FloatArray],
        length: float,
        rounds: int,
    ) -> FloatArray:
        """The mean of the last half of the points of a noisy dual averaging.

        Each point is the one of the region nearest to start - length * G / sqrt(S), where G sums
        the slopes up to there and S their squared norms (Nesterov 2009; Duchi, Hazan and Singer
        2011). So noise in a slope averages out before it moves a variable off its bound.
        """
        z, mean, self.drift = start, np.zeros(region.size), 0.0
        total, squares = np.zeros(region.size), 1e-300
        for t in range(rounds):
            g = slope(z)
            total += g
            squares += float(g @ g)
            step = length / math.sqrt(squares)
            z = region.nearest(start - step * total)
            if t >= rounds // 2:
                mean += z / (rounds - rounds // 2)
                self.drift += (t + 1) * step / (rounds - rounds // 2)
        return mean


class Centre(NamedTuple):
    """A point amid the sides of many rows, and steps of each variable alone that reach them."""

    x: FloatArray
    steps: FloatArray
    found: bool = False  # Whether a search ended there: no more steps shrank.


def centre_of_rows(
    descents: Descents,
    reached: Callable[[FloatArray, FloatArray], npt.NDArray[np.bool_]],
    searches: int,
    public: PublicRows,
    region: ReducedPolytope,
    begin: Centre,
    useless: Useless,
) -> Centre | None:
    """Descents of distances from where rows end, ever shorter in variables that come close to them.

    So they lead to a corner that most rows share, whatever the bounds. After some of them it is
    asked once whether that is of use, at the least cost that the centre may have.
    """
    (x, steps, found), ends, vain = begin, region, 0
    least = int((1 - _MOST_ROUNDS) * descents.left)
    for number in range(searches):
        if descents.left - _ROUNDS < least:
            break
        around = public.narrowed(x - _AROUND * steps, x + _AROUND * steps)
        region = scaled_or(ends, around, ends.cap, np.ones(len(x)))
        x = np.clip(descents.distances(region, x), *public.bounds.T)
        closer = reached(x, _NEARER * steps)
        steps = np.where(closer, _SHRINK * steps, steps)
        vain = 0 if closer.any() else vain + 1
        found = vain == _IN_VAIN
        if found:
            break
        cheapest = float(public.cost @ x - np.abs(public.cost) @ steps)
        if number + 1 == _ASKED and useless(cheapest):
            return None
    return Centre(x, steps, found)
