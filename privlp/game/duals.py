"""Dual players, dense and elastic, and the player that answers the elastic one by descent.

The dense dual is a distribution over the rows in which no row has more than 1/s. Raw log-weights
stay with the rows; each round uses projected weights. So the weight of a row depends on that row,
on released values and on one threshold common to all rows. The sensitivity bound
:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity` needs this.

*Levels.* The log-weight of a row is rounded down to a multiple of 2^-10, its level. At a threshold
t a row of level l has the weight table[t - l], an integer: exp(-(t - l) 2^-10), in units of the
largest weight, rounded to a multiple of 2^-p; the largest weight if l >= t. The table falls. So
weights of rows fall as t grows, and histograms of levels tell their sum without any error.

*Between thresholds.* From t to t - 1 levels move one after the other, the lowest first, and each of
them linearly. So all weights are continuous in one common parameter, and there is a place at which
their sum is s times the largest weight exactly. It is found in integers: it depends on the
histogram alone, and not on the order of rows, on blocks or on threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privlp.checks import BoolArray, FloatArray, IntArray
from privlp.game.loop import Path, Released, ScaledRows, WeighedRows, weight_of_round
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import MirrorMap
from privlp.rows.access import Grid, Rows

# Levels to 1 in a log-weight, the largest, and that of rows without weight.
_LEVELS, _HIGHEST, _LOWEST = 2.0**10, 2**50, -(2**51)
# Levels of all rows are non-negative numbers of so many digits, of so many bits each.
_DIGITS, _BITS = 4, 13
_AT_A_TIME = 2**16
_NEAR = 2**11  # A threshold is looked for within so many levels of the last one first.
_TRIES = 8  # After so many guesses at a threshold its range is halved.
# Scores count less by this share: that is more than what rounding them once moves them.
_LESS = 2.0**-16


@lru_cache(maxsize=8)
def table_of(bits: int) -> tuple[FloatArray, IntArray]:
    """Weights 0, 1, ... levels below the threshold, in units of 2^-bits; the last is 0."""
    count = math.ceil((bits + 1) * math.log(2) * _LEVELS) + 2
    table = np.rint(2.0**bits * np.exp(-np.arange(count) / _LEVELS))
    table[-1] = 0.0
    table = np.minimum.accumulate(table)
    return table, table.astype(np.int64)


class Threshold(NamedTuple):
    """Where weights have the sum that they should have; private."""

    level: int  # Level from which on rows have the largest weight.
    steps: int = 0  # How far below the threshold the level stands that is moving.
    share: float = 0.0  # How far it has moved.

    def jump(self, bits: int) -> float:
        """By how much a row of the moving level gains in all."""
        table, _ = table_of(bits)
        return float(table[self.steps - 1] - table[self.steps]) if self.steps else 0.0


class LogWeights:
    """Raw log-weights of a block of rows, all zero at first; private. ``-inf`` is allowed."""

    changes = ("raw",)

    def __init__(self, count: int) -> None:
        self.raw = np.zeros(count)

    def _levels(self, rows: slice) -> IntArray:
        raw = self.raw[rows]
        found = np.floor(raw * _LEVELS)
        _clip(found, -_HIGHEST, _HIGHEST)
        found[raw == -np.inf] = _LOWEST
        return found.astype(np.int64)

    def _pieces(self) -> list[slice]:
        starts = range(0, max(len(self.raw), 1), _AT_A_TIME)
        return [slice(start, start + _AT_A_TIME) for start in starts]

    def histogram(self, base: int, width: int) -> IntArray:
        """How many rows stand below, at each of, and above `width` levels from `base` on."""
        counts = []
        for rows in self._pieces():
            places = self._levels(rows)
            places -= base - 1
            _clip(places, 0, width + 1)
            counts.append(np.bincount(places, minlength=width + 2))
        return reduce(np.add, counts)

    def digits(self, prefix: int, position: int) -> IntArray:
        """How often each digit follows a prefix in the levels of rows."""
        found = np.zeros(2**_BITS, dtype=np.int64)
        shift = _BITS * (_DIGITS - 1 - position)
        for rows in self._pieces():
            rest = (self._levels(rows) - _LOWEST) >> shift
            digits = rest[rest >> _BITS == prefix] & (2**_BITS - 1)
            found += np.bincount(digits, minlength=2**_BITS)
        return found

    def steps_below(self, place: Threshold, bits: int) -> IntArray:
        """How far each row stands below the threshold, at most to where weights are 0."""
        last = len(table_of(bits)[0]) - 1
        found = np.empty(len(self.raw), dtype=np.int64)
        for rows in self._pieces():
            levels = self._levels(rows)
            steps = np.subtract(place.level, levels, out=found[rows])
            _clip(steps, 0, last)
            if place.level <= _LOWEST + last:
                steps[levels == _LOWEST] = last
        return found

    def weights(self, place: Threshold, bits: int, s: float) -> FloatArray:
        """The block's part of the dense distribution; private."""
        weights, moves = self.unmoved(place, bits)
        return np.asarray((weights + place.jump(bits) * place.share * moves) / (s * 2.0**bits))

    def unmoved(self, place: Threshold, bits: int) -> tuple[FloatArray, BoolArray]:
        """Weights in units, lower levels moved, the moving one not; and which rows move."""
        steps = self.steps_below(place, bits)
        moves = steps == place.steps
        if place.steps:
            steps -= steps > place.steps
        return table_of(bits)[0][steps], moves


def _clip(numbers: npt.NDArray[Any], low: int, high: int) -> None:
    """Clip numbers in place; faster than ``np.clip`` for few."""
    np.maximum(numbers, low, out=numbers)
    np.minimum(numbers, high, out=numbers)


class DenseProjection:
    """Bregman projection onto the 1/s-dense distributions: weights (1/s) min(1, zeta z_i), rounded.

    Levels near the last threshold are counted first. If it has moved far, digits of levels are
    counted from the highest on.

    If fewer than s weights are positive there is no such zeta. Then those rows get 1/s each, and
    the weights sum to less than one: the rest of the mass belongs to a fixed public value, as if
    there were s public dummy rows. Normalising the weights would break the sensitivity bound.
    """

    def __init__(self, rows: Rows[LogWeights], s: float, grid: Grid) -> None:
        self._rows, self.s, self.bits = rows, s, grid.bits_of_dense_weights(s)
        # Weights are integers, so their sum is compared with the part before the point.
        self._sum = Fraction(s) * 2**self.bits
        self._whole = math.floor(self._sum)
        self._last: int | None = None

    def __call__(self) -> Threshold:
        """The place at which the weights of the rows have the right sum."""
        length = len(table_of(self.bits)[0])
        if self._last is not None:
            place = self._within(self._last - length - _NEAR, length + 2 * _NEAR)
            if place is not None:
                return place
        anchor = self._level_of_rank(math.ceil(self.s))
        if anchor == _LOWEST:
            self._last = None
            return Threshold(_LOWEST + 1)  # all rows with a weight have the largest one
        place = self._within(anchor - length, 2 * length)
        assert place is not None  # noqa: S101 (the sum is too large at the anchor, then too small)
        return place

    def _level_of_rank(self, rank: int) -> int:
        """The level of the row of this rank from above; the lowest if there are fewer rows."""
        prefix = 0
        for position in range(_DIGITS):
            counts = self._rows.total(LogWeights.digits, prefix, position)
            at_least = np.cumsum(counts[::-1])[::-1]
            enough = np.flatnonzero(at_least >= rank)
            if not enough.size:
                return _LOWEST
            digit = int(enough[-1])
            rank -= int(at_least[digit] - counts[digit])
            prefix = (prefix << _BITS) + digit
        return prefix + _LOWEST

    def _within(self, base: int, width: int) -> Threshold | None:
        """The place, if its threshold is among these levels, and a table's length above them."""
        found = _Levels(self._rows.total(LogWeights.histogram, base, width), self.bits)
        lowest = len(table_of(self.bits)[0])
        threshold, weights = self._threshold(found, lowest, width)
        # Only at the ends it may be too large, or too small.
        if weights > self._whole or (threshold == lowest and weights < self._sum):
            return None
        self._last = base + threshold
        rest = self._sum - weights
        return Threshold(self._last, *(found.between(threshold, rest) if rest else ()))

    def _threshold(self, found: _Levels, low: int, high: int) -> tuple[int, int]:
        """The lowest at which the sum of weights is not too large, and that sum; or the highest."""
        level, tries, sums = (low + high) // 2, 0, {}
        while low < high:
            last, (largest, smaller) = level, found.weights(level)
            sums[level] = largest + smaller
            if sums[level] <= self._whole:
                high = level
            else:
                low = level + 1
            level, tries, wanted = (low + high) // 2, tries + 1, float(self._sum) - largest
            if tries < _TRIES and wanted > 0 and smaller > 0:
                told = last + math.ceil(_LEVELS * math.log(smaller / wanted))
                level = max(low, min(told, high - 1))
        return low, sums[low] if low in sums else sum(found.weights(low))


class _Levels:
    """Levels at which rows stand, and how many stand there: sums of weights for any threshold."""

    def __init__(self, counts: IntArray, bits: int) -> None:
        self._levels = np.flatnonzero(counts[1:-1] > 0)
        self._counts = counts[1:-1][self._levels]
        # Of each of these levels and all above it.
        self._at_least = np.append(self._counts, counts[-1])[::-1].cumsum()[::-1]
        _, self._table = table_of(bits)

    def _below(self, threshold: int) -> tuple[IntArray, IntArray]:
        """How far levels with a weight stand below a threshold, falling; and their counts."""
        ends = threshold - len(self._table) + 1, threshold
        below = slice(*np.searchsorted(self._levels, ends))
        return threshold - self._levels[below], self._counts[below]

    def weights(self, threshold: int) -> tuple[int, int]:
        """The sums of the largest weights, and of all smaller ones."""
        steps, counts = self._below(threshold)
        above = int(self._at_least[np.searchsorted(self._levels, threshold)])
        return above * int(self._table[0]), int(counts @ self._table[steps])

    def between(self, threshold: int, rest: Fraction) -> tuple[int, float]:
        """How far below a threshold, and by what share, levels have moved that gain `rest`."""
        steps, counts = self._below(threshold)
        gains = counts * (self._table[steps - 1] - self._table[steps])
        gained = np.cumsum(gains)  # of this level and all lower ones
        moving = int(np.searchsorted(gained, math.ceil(rest)))
        share = (rest - int(gained[moving] - gains[moving])) / int(gains[moving])
        return int(steps[moving]), float(share)


class DenseDual:
    """Multiplicative weights: raw log-weights, projected to a dense distribution each round."""

    def __init__(
        self, rows: Rows[ScaledRows], s: float, step: float, grid: Grid | None = None
    ) -> None:
        self._step = step
        self.rows = rows.keep(DenseRows)
        self._project = DenseProjection(self.rows, s, Grid.of(0) if grid is None else grid)

    def scores(self) -> FloatArray:
        """Score of each possible answer against the dense distribution; private.

        Sums over rows are exact. What is made of two of them is rounded: by 2^-50 of the largest
        possible score at most. So scores are less by 2^-16 of themselves, and the sensitivity is
        that of exact ones: 2^-16 W k/s is more than two such errors for all s that a grid carries.
        """
        project, self.place = self._project, self._project()
        scores, of_moving = self.rows.total(DenseRows.scores, self.place, project.bits)
        moving = self.place.share * self.place.jump(project.bits)
        unit = (1 - _LESS) * 2.0**-project.bits / project.s
        return np.asarray((scores + moving * of_moving) * unit)

    def weights(self) -> list[FloatArray]:
        """The dense distribution of the last scores, block by block; private."""
        return self.rows.map(LogWeights.weights, self.place, self._project.bits, self._project.s)

    def learn(self, answer: Any) -> None:
        """Increase the weights of the rows that a released answer violates."""
        self.rows.update(DenseRows.add, answer, self._step)


class DenseRows(LogWeights):
    """A block of rows with its part of a dense distribution."""

    def __init__(self, rows: ScaledRows) -> None:
        super().__init__(rows.count)
        self._rows = rows

    def add(self, answer: Any, step: float) -> None:
        """Add the violations of an answer to the raw log-weights."""
        self._rows.add_violations(answer, step, self.raw)

    def scores(self, place: Threshold, bits: int) -> FloatArray:
        """The block's part of the scores, in units of a weight: unmoved, and of rows that move."""
        weights, moves = self.unmoved(place, bits)
        unmoved = self._rows.scores(weights)
        if not place.share or not moves.any():
            return np.stack([unmoved, np.zeros_like(unmoved)])
        return np.stack([unmoved, self._rows.scores(moves.astype(np.float64))])


class ElasticDual:
    """Weights min(1, violation/softness) of violated rows, and 0 of all others."""

    def __init__(
        self,
        rows: Rows[WeighedRows],
        start: FloatArray,
        softness: float,
        *,
        finish: Callable[[Any], FloatArray] | None = None,
    ) -> None:
        self.rows, self.point = rows, start
        self._slope, self._finish = 1.0 / softness, finish

    def scores(self) -> FloatArray:
        """Score of each possible answer against the weighted rows, in one read of them; private."""
        total = np.asarray(self.rows.total(_weighed, self.point, self._slope))
        return total if self._finish is None else self._finish(total)

    def learn(self, answer: FloatArray) -> None:
        """Weights are those at a released point from now on."""
        self.point = answer


def _weighed(rows: WeighedRows, point: FloatArray, slope: float) -> FloatArray:
    return rows.weighed(point, slope)


class AcceleratedDescent:
    """Releases all scores with noise each round, and moves by accelerated mirror descent.

    Nesterov's method with a mirror map (Tseng 2008). With theta_t = 2/(t + 2), the duals see
    y = (1 - theta) x + theta z, z is the mirror map of the sum of scores/theta, and x becomes
    (1 - theta) x + theta z. Public costs, in units of score, are subtracted from each release.
    """

    def __init__(
        self, mirror: MirrorMap, release: ChargedDraws, costs: FloatArray | None = None
    ) -> None:
        self._mirror, self._release = mirror, release
        self._costs = np.zeros(mirror.size) if costs is None else costs
        self._sum = np.zeros(mirror.size)
        self._average = self._ahead = mirror.start()
        self._round, self._path = 0, Path()

    @property
    def _theta(self) -> float:
        return 1 / weight_of_round(self._round)

    @property
    def point(self) -> FloatArray:
        """The point whose violations the duals see next."""
        return self._mirror.seen((1 - self._theta) * self._average + self._theta * self._ahead)

    @property
    def shares(self) -> FloatArray:
        """The average in the coordinates of the mirror map."""
        return self._average

    @property
    def solution(self) -> FloatArray:
        """The average of the points of all rounds; later ones count more."""
        return self._mirror.seen(self._average)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release the scores, and move."""
        theta = self._theta
        self._sum += (self._release(scores) - self._costs) / theta
        self._ahead = self._mirror.towards(self._sum)
        self._average = (1 - theta) * self._average + theta * self._ahead
        self._round += 1
        self._path.add(self.solution)
        return self.point

    def released(self) -> Released:
        """The average of all rounds."""
        x = self._mirror.undo(self.solution)
        return Released(x, self._mirror.objective(x), self._path.trace(self._mirror.undo))
