"""Projection onto the dense distributions, in integers, for rows in blocks.

Raw log-weights stay with the rows; each round uses projected weights. So the weight of a row
depends on that row, on released values and on one threshold common to all rows. The sensitivity
bound :meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity` needs this.

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
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privlp.rows.door import Rows
from privlp.rows.grid import Grid

FloatArray = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Levels to 1 in a log-weight, the largest, and that of rows without weight.
_LEVELS, _HIGHEST, _LOWEST = 2.0**10, 2**50, -(2**51)
# Levels of all rows are non-negative numbers of so many digits, of so many bits each.
_DIGITS, _BITS = 4, 13
_AT_A_TIME = 2**16
# A threshold is looked for within so many levels of the last one first.
_NEAR = 2**11


@lru_cache(maxsize=8)
def table_of(bits: int) -> FloatArray:
    """Weights 0, 1, 2, ... levels below the threshold, as multiples of 2^-bits; the last is 0."""
    count = math.ceil((bits + 1) * math.log(2) * _LEVELS) + 2
    table = np.rint(2.0**bits * np.exp(-np.arange(count) / _LEVELS))
    table[-1] = 0.0
    table.setflags(write=False)
    return np.minimum.accumulate(table)


@dataclass(frozen=True)
class Place:
    """Where weights have the sum that they should have; private.

    Attributes
    ----------
    threshold : int
        Level from which on rows have the largest weight.
    steps : int
        How far below the threshold the level stands that is moving.
    share : float
        How far it has moved.
    """

    threshold: int
    steps: int = 0
    share: float = 0.0

    def table(self, bits: int) -> FloatArray:
        """Weights by how far below the threshold a level stands; that of the moving one unmoved.

        Lower levels have moved already.
        """
        moved = table_of(bits).copy()
        moved[self.steps + 1 :] = table_of(bits)[self.steps : -1]
        return moved if self.steps else table_of(bits)

    def jump(self, bits: int) -> float:
        """By how much a row of the moving level gains in all."""
        table = table_of(bits)
        return float(table[self.steps - 1] - table[self.steps]) if self.steps else 0.0


#: Where all rows with a weight have the largest one.
EVERYWHERE = Place(_LOWEST + 1)


class LogWeights:
    """Raw log-weights of a block of rows.

    Parameters
    ----------
    count : int
        Number of rows.

    Attributes
    ----------
    raw : (count,)
        Logarithms of the raw weights, all zero at first; private. ``-inf`` is allowed.
    """

    changes = ("raw",)

    def __init__(self, count: int) -> None:
        self.raw = np.zeros(count)

    def _levels(self, rows: slice) -> Integers:
        raw = self.raw[rows]
        found = np.clip(np.floor(raw * _LEVELS), -_HIGHEST, _HIGHEST).astype(np.int64)
        found[np.isneginf(raw)] = _LOWEST
        return found

    def _pieces(self) -> list[slice]:
        starts = range(0, max(len(self.raw), 1), _AT_A_TIME)
        return [slice(start, start + _AT_A_TIME) for start in starts]

    def size(self) -> int:
        """Number of rows."""
        return len(self.raw)

    def histogram(self, base: int, width: int) -> Integers:
        """How many rows stand below, at each of, and above `width` levels from `base` on."""
        found = np.zeros(width + 2, dtype=np.int64)
        for rows in self._pieces():
            places = np.clip(self._levels(rows) - (base - 1), 0, width + 1)
            found += np.bincount(places, minlength=width + 2)
        return found

    def digits(self, prefix: int, position: int) -> Integers:
        """How often each digit follows a prefix in the levels of rows."""
        found = np.zeros(2**_BITS, dtype=np.int64)
        shift = _BITS * (_DIGITS - 1 - position)
        for rows in self._pieces():
            rest = (self._levels(rows) - _LOWEST) >> shift
            digits = rest[rest >> _BITS == prefix] & (2**_BITS - 1)
            found += np.bincount(digits, minlength=2**_BITS)
        return found

    def steps_below(self, place: Place, bits: int) -> Integers:
        """How far each row stands below the threshold, at most to where weights are 0."""
        found = np.empty(len(self.raw), dtype=np.int64)
        for rows in self._pieces():
            levels = self._levels(rows)
            steps = np.clip(place.threshold - levels, 0, len(table_of(bits)) - 1)
            found[rows] = np.where(levels == _LOWEST, len(table_of(bits)) - 1, steps)
        return found

    def weights(self, place: Place, bits: int, s: float) -> FloatArray:
        """The block's part of the dense distribution; private."""
        steps = self.steps_below(place, bits)
        moving = place.jump(bits) * place.share * (steps == place.steps)
        return np.asarray((place.table(bits)[steps] + moving) / (s * 2.0**bits))


class DenseProjection:
    """Bregman projection onto the 1/s-dense distributions.

    The weights are (1/s) min(1, zeta z_i), rounded, with a sum of 1. Weights are given by their
    logarithms, and may span any number of orders of magnitude. Levels near the last threshold are
    counted first. If the threshold has moved far, digits of levels are counted from the highest on.

    If fewer than s weights are positive there is no such zeta. Then those rows get 1/s each, and
    the weights sum to less than one: the rest of the mass belongs to a fixed public value, as if
    there were s public dummy rows. Normalising the weights would break the sensitivity bound.

    Parameters
    ----------
    rows : Rows of LogWeights
        Private rows with their raw log-weights.
    s : float
        Density, at least 1; need not be an integer.
    grid : Grid
        The grid of the rows that are weighed.

    Attributes
    ----------
    bits : int
        p: the largest weight is 2^p units.
    """

    def __init__(self, rows: Rows[LogWeights], s: float, grid: Grid) -> None:
        self._rows, self.s, self.bits = rows, s, grid.bits_of_dense_weights(s)
        # Weights are integers, so their sum is compared with the part before the point.
        self._sum = Fraction(s) * 2**self.bits
        self._whole = math.floor(self._sum)
        self._last: int | None = None

    def __call__(self) -> Place:
        """The place at which the weights of the rows have the right sum."""
        length = len(table_of(self.bits))
        if self._last is not None:
            place = self._within(self._last - length - _NEAR, length + 2 * _NEAR)
            if place is not None:
                return place
        anchor = self._level_of_rank(math.ceil(self.s))
        if anchor == _LOWEST:
            self._last = None
            return EVERYWHERE
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

    def _within(self, base: int, width: int) -> Place | None:
        """The place, if its threshold is among these levels, and a table's length above them."""
        table = table_of(self.bits).astype(np.int64)
        counts = self._rows.total(LogWeights.histogram, base, width)
        inside, above = counts[1:-1], int(counts[-1])
        at_least = above + np.append(np.cumsum(inside[::-1])[::-1], 0)

        def sum_at(level: int) -> int:
            """The sum of weights at a threshold `level` above the base."""
            below = inside[max(level - len(table) + 1, 0) : level][::-1]
            return int(at_least[level]) * int(table[0]) + int(below @ table[1 : len(below) + 1])

        low, high = len(table), width
        if sum_at(low) < self._sum or sum_at(high) > self._whole:
            return None
        while low < high:
            middle = (low + high) // 2
            if sum_at(middle) <= self._whole:
                high = middle
            else:
                low = middle + 1
        self._last = base + low
        below = inside[low - len(table) + 1 : low][::-1]
        return self._between(base + low, below, self._sum - sum_at(low))

    def _between(self, threshold: int, below: Integers, rest: Fraction) -> Place:
        """The place between a threshold and the next lower one, at which sums gain `rest`.

        `below` counts the rows 1, 2, ... levels below the threshold.
        """
        if rest == 0:
            return Place(threshold)
        table = table_of(self.bits).astype(np.int64)
        gains = below * (table[:-1] - table[1:])
        gained = np.cumsum(gains[::-1])[::-1]  # of this level and all lower ones
        steps = int(np.flatnonzero(gained >= math.ceil(rest))[-1])
        share = (rest - int(gained[steps] - gains[steps])) / int(gains[steps])
        return Place(threshold, steps + 1, float(share))
