"""Private rows on a public simplex, each scaled by itself, on a grid that makes sums exact.

On K = {u >= 0, cost·u = V} a private row is the vector of its values A'_ij v_j at the vertices. To
scale (A'_i, b'_i) by a positive number, or to add a constant to A'_i v and b'_i (sum_j u_j/v_j is
1), does not change its half-space on K, and depends on that row alone: it costs no privacy. So
nothing about A or b needs to be declared. Values are then rounded to a public grid.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.regions.simplex import Simplex
from privlp.rows.access import Grid
from privlp.rows.parts import (
    SHORT,
    Integers,
    KeptParts,
    Part,
    Storage,
    leave_out_longer,
    over,
    summed,
    weighed_once,
)
from privlp.rows.program_rows import RowBlock

CONSTANT_ROW = 1e-150  #: Rows that vary by less on a region count as constant.
#: Values of a row scaled to equal norm stay below this before they are centred, or before public
#: equalities rule out directions: a row that varies by little of its size is shorter than 1.
LARGEST_OF_EQUAL_NORM = 8.0
# What a norm is shortened by before it is rounded, besides half a unit for each entry and centre.
_SHORTER = 1e-9
_NEAR = 1 - 1e-9  # Covers the rounding of a norm.
_UNITS = 2.0**20  # Units to 1 in a sum of how much rows vary: exact for any number of rows.
#: Values of a row scaled to equal range stay below this: one that varies by less than 1/32 of its
#: size is not stretched all the way to [-1, 1].
LARGEST_OF_EQUAL_RANGE = 64.0
_COARSER = LARGEST_OF_EQUAL_RANGE / 8  # The grid is made for entries of at most 8.
# Of so many rows those that may be violated within so many steps, as long as the last one, are kept
# apart. That takes about as long as so many products with all rows; so much must be saved.
_MANY, _STEPS, _APART, _WORTH = 4_000, (4.0, 16.0, 64.0), 1.4, 0.8
_ROUNDING = 1e-9  # Far more than the rounding of a violation.


def _scores(parts: KeptParts, centre: Any, z: FloatArray, size: int) -> FloatArray:
    """-sum_i z_i (g_i - centre_i) in units of the grid, one entry for each vertex."""

    def add(total: FloatArray, rows: slice, part: Integers) -> None:
        total -= part.transposed_times(z[rows])
        total += z[rows] @ centre[rows].astype(np.float64)

    return summed(parts, size, add, float)


class _Held(NamedTuple):
    """Rows in parts, and what else is known of each row."""

    parts: KeptParts
    rhs: FloatArray
    centre: npt.NDArray[np.float32]
    times: FloatArray | None

    def some(self, rows: npt.NDArray[np.bool_]) -> _Held:
        """Some of the rows."""
        parts: list[tuple[slice, Integers]] = []
        start = 0
        for place, part in self.parts:
            own = np.flatnonzero(rows[place])
            if own.size:
                parts.append((slice(start, start + own.size), part.some(own)))
            start += own.size
        times = None if self.times is None else self.times[rows]
        return _Held(parts, self.rhs[rows], self.centre[rows], times)


class _NearRows:
    """Rows that alone may have weights, while points stay near one at which all rows were read.

    A row of norm L, centred, moves by at most L ||change||_2 + 8 |sum of change|. If its slack was
    more, its weight is 0, so that it adds nothing to an exact sum.
    """

    def __init__(self, rows: _Held, longest: float) -> None:
        self._all, self._longest = rows, longest
        self._some: _Held | None = None
        self._reach, self._step = 0.0, math.inf
        self._at = self._last = np.empty(0)

    def rows(self, point: FloatArray) -> _Held | None:
        """The rows that may have weights at a point; None if these may be all."""
        self._step = self._moved(point, self._last) if self._last.size else math.inf
        self._last = point
        if self._some is not None and not self._moved(point, self._at) <= self._reach:
            self._some = None
        return self._some

    def learn(self, violations: FloatArray) -> None:
        """Keep rows apart by the violations of all rows at the last point, if that is of use."""
        cost, found = _WORTH, None
        for steps in _STEPS:
            reach = steps * self._step
            near = ~(violations < -reach - _ROUNDING)
            share = np.count_nonzero(near) / len(near)
            if share >= cost:
                break
            if share + _APART / steps < cost:
                cost, found = share + _APART / steps, (near, reach)
        if found is not None:
            self._at, self._reach = self._last, found[1]
            self._some = self._all.some(found[0])

    def _moved(self, point: FloatArray, other: FloatArray) -> float:
        """By how much a row's violation may differ at two points."""
        change = point - other
        return self._longest * math.sqrt(float(change @ change)) + 8 * abs(float(change.sum()))


class RowsOnGrid(ABC):
    """Rows g_i = scale_i (a_i - centre_i), with a_i the values A'_ij v_j at the vertices.

    Scaled entries and centres are rounded to multiples of a public unit, which follows from a
    public bound `largest_n` on the number of all rows. A row is shortened before, so that rounding
    cannot make its norm larger than it may be; then the norm is computed from integers, and a row
    that is too long counts for nothing: a function of that row and of public numbers.
    """

    #: Largest norm of a row, squared.
    largest_square = 1.0

    def __init__(
        self, block: RowBlock, simplex: Simplex, *, largest_n: int, in_memory: bool = False
    ) -> None:
        self._region, self.grid = simplex, Grid.of(largest_n)
        self._rhs, self._times = np.empty(len(block.rhs)), block.times
        # Like entries, centres are integers of at most 24 bits.
        self._centre = np.zeros(len(block.rhs), dtype=np.float32)
        self._parts: KeptParts = []
        storage = Storage(len(block.rhs), block.stored)
        # Rounding moves an entry, and a centre, by half a unit.
        shorter = 1.0 - math.sqrt(simplex.size) / self.grid.of_entry - _SHORTER
        for rows, part in block.parts(simplex.vertices):
            scale, centre = self._scaled(part)
            scale *= max(shorter, 0.0)
            self._rhs[rows] = scale * block.rhs[rows]
            factor = scale * self.grid.of_entry
            centre = np.rint(factor * centre)
            rounded = part.rounded(factor)
            # Norms of integers are exact, or not too small.
            square = rounded.squares_about(centre, simplex.size)
            most = self.largest_square * self.grid.of_entry**2
            centre[leave_out_longer(rounded, square, most)] = 0.0
            self._parts.append((rows, rounded.stored(storage)))
            self._centre[rows] = centre
        self._centred = bool(self._centre.any())
        self._held = _Held(self._parts, self._rhs, self._centre, self._times)
        often = in_memory and len(self._rhs) >= _MANY and block.stored >= SHORT * len(block.lp.b)
        self._near = _NearRows(self._held, math.sqrt(self.largest_square)) if often else None

    @abstractmethod
    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        """The factor of each row, and what is subtracted from its entries before."""

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def violations(self, answer: FloatArray) -> FloatArray:
        """The scaled violations at a point u of the region, (m,)."""
        point, unit = self._point(answer)
        found = np.empty(self.count)

        def run(parts: KeptParts) -> None:
            for rows, part in parts:
                np.multiply(part.times(point), unit, out=found[rows])
                found[rows] -= self._rhs[rows]

        over(self._parts, run)
        return found

    def add_violations(self, answer: FloatArray, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations at a point u of the region to `out`."""
        out += step * self.violations(answer)

    def weighed(self, answer: FloatArray, slope: float) -> FloatArray:
        """-sum_i z_i g_i, exact, for weights slope * violation, clipped to [0, 1]."""
        point, unit = self._point(answer)
        slope *= self.grid.of_weight
        some = seen = None
        if self._near is not None:
            some = self._near.rows(point * (unit * self.grid.of_entry))
            seen = np.empty(self.count) if some is None else None
        held = self._held if some is None else some

        def add(total: Any, rows: slice, weights: FloatArray, sums: FloatArray) -> None:
            total -= sums.astype(np.int64)
            if self._centred:
                total += int(weights @ held.centre[rows].astype(np.float64))

        weigh = partial(self._weights, held=held, slope=slope, unit=unit, seen=seen)
        found = weighed_once(held.parts, self._region.size, point, weigh, add)
        if self._near is not None and seen is not None:
            self._near.learn(seen / slope)
        return found / self.grid.of_term

    def _weights(
        self,
        products: FloatArray,
        *,
        rows: slice,
        held: _Held,
        slope: float,
        unit: float,
        seen: FloatArray | None,
    ) -> FloatArray:
        """Weights of some rows in units of the grid; changes its argument, and `seen`."""
        most = self.grid.of_weight
        products *= slope * unit
        products -= slope * held.rhs[rows]
        if seen is not None:
            seen[rows] = products
        np.minimum(np.maximum(products, 0.0, out=products), most, out=products)
        np.rint(products, out=products)
        if held.times is not None:
            products *= held.times[rows]
        return products

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each vertex: exact for weights that are integers."""
        return _scores(self._parts, self._centre, z, self._region.size) / self.grid.of_entry

    def _point(self, answer: FloatArray) -> tuple[FloatArray, float]:
        """A point in units of the grid, and the unit of a violation."""
        return self.grid.point(answer / self._region.vertices)


class RowsOfEqualNorm(RowsOnGrid):
    """Rows g_i = scale_i (a_i - mean a_i) with ||g_i||_2 <= 1.

    A row is shortest when it is centred at its mean; then scaling makes its violations largest. A
    row whose values vary by little of their size is not stretched all the way, and a constant row
    contributes nothing but rounding. Everything is finite: programs hold no entry of 1e15 or more.
    """

    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        size = self._region.size
        mean = part.sums() / size
        norm = np.sqrt(part.squares_about(mean, size))
        varies = norm > CONSTANT_ROW
        divisor = norm
        # No entry is larger than the norm of the row before it is centred.
        if (np.sqrt(norm**2 + size * mean**2) > _NEAR * LARGEST_OF_EQUAL_NORM * divisor).any():
            low, high = part.extremes()
            divisor = np.maximum(divisor, np.maximum(-low, high) / LARGEST_OF_EQUAL_NORM)
        return np.divide(1.0, divisor, out=np.zeros_like(norm), where=varies), mean


class RowsOfOneSign(RowsOnGrid):
    """Rows g_i = sqrt(2) a_i/||a_i||_2 whose entries all have a given sign; all other rows are 0.

    The inner product of two such rows is not negative. So for weights z, z' in [0, 1] the
    difference of z g and z' g' has a norm of at most sqrt(2 + 2) = 2: no more than that of two rows
    of norm 1 of any sign (:class:`RowsOfEqualNorm`), although these are longer by sqrt(2). The sign
    is enforced: a row with an entry of the other sign counts for nothing, whatever the data.
    Rounding keeps a sign, or makes a 0 of it.
    """

    largest_square = 2.0

    def __init__(
        self,
        block: RowBlock,
        simplex: Simplex,
        sign: int,
        *,
        largest_n: int,
        in_memory: bool = False,
    ) -> None:
        self._sign = sign
        super().__init__(block, simplex, largest_n=largest_n, in_memory=in_memory)

    def _scaled(self, part: Part) -> tuple[FloatArray, FloatArray]:
        low, high = part.extremes()
        none = np.zeros_like(low)
        norm = np.sqrt(part.squares_about(none, self._region.size))
        wrong = low < 0 if self._sign > 0 else high > 0
        counts = (norm > CONSTANT_ROW) & ~wrong
        return np.divide(math.sqrt(2.0), norm, out=np.zeros_like(norm), where=counts), none


def signs_and_spread(block: RowBlock, simplex: Simplex) -> FloatArray:
    """How many rows have one sign, and how much rows vary: four exact sums over rows.

    The sums of w, r w, w' and r w', where w and w' say whether all entries of a row are at most 0,
    or at least 0 and not all 0, and r is the norm of the centred row over that of the row, 0 for an
    empty one, rounded to a multiple of 2^-20. The four numbers of one row are in [0, 1], and two of
    them are 0: their norm is at most sqrt(2).
    """
    found = np.zeros(4)
    for rows, part in block.parts(simplex.vertices):
        times = 1.0 if block.times is None else block.times[rows]
        total = part.sums()
        square = part.squares_about(np.zeros_like(total), simplex.size)
        low, high = part.extremes()
        mean_square = np.divide(
            total**2 / simplex.size, square, out=np.ones_like(total), where=square > CONSTANT_ROW**2
        )
        ratio = np.rint(np.sqrt(np.clip(1.0 - mean_square, 0.0, 1.0)) * _UNITS)
        one, other = times * ~(high > 0), times * ((high > 0) & ~(low < 0))
        found += [one.sum() * _UNITS, one @ ratio, other.sum() * _UNITS, other @ ratio]
    return found / _UNITS


class RowsOnSimplex:
    """Private rows on K, each multiplied by a factor of its own: scale_i (A'_i u - b'_i).

    What enters a score is rounded to the grid; violations are not. A row whose rounded values are
    farther than `span` from its centre, in a public unit (a power of two), counts for nothing.
    Scale, right-hand sides and centre are private, functions of one row each.
    """

    def __init__(
        self,
        block: RowBlock,
        simplex: Simplex,
        scale: FloatArray,
        rhs: FloatArray,
        *,
        centre: FloatArray | None = None,
        largest_n: int = 0,
        unit: float = 1.0,
        span: float = math.inf,
    ) -> None:
        self._rows, self._scale, self._rhs = block, scale, rhs
        self._vertices = simplex.vertices
        self._scratch = np.empty_like(rhs)
        units = Grid.of(largest_n).of_entry / _COARSER
        self._factor, shorter = unit / units, units / unit * (1 - 1 / units - _SHORTER)
        factor = scale * shorter
        self._centre = np.zeros(len(rhs), dtype=np.float32)
        if centre is not None:
            self._centre[:] = np.rint(centre * shorter)
        self._parts: KeptParts = []
        storage = Storage(len(block.rhs))
        for rows, part in block.parts(simplex.vertices):
            rounded = part.rounded(factor[rows])
            low, high = rounded.ends()
            middle = self._centre[rows]
            distance = np.maximum(high - middle, middle - low)
            middle[leave_out_longer(rounded, distance, span * units)] = 0.0
            self._parts.append((rows, rounded.stored(storage)))

    @classmethod
    def of_equal_range(cls, simplex: Simplex, block: RowBlock, largest_n: int = 0) -> RowsOnSimplex:
        """Rows that span 2 on K, or 0 if constant; sides are clipped: violations are 2 at most."""
        low, high = block.extremes(simplex.vertices)
        span, size = high - low, np.maximum(np.abs(low), np.abs(high))
        varies = span > CONSTANT_ROW
        scale = np.zeros_like(span)
        scale[varies] = np.minimum(2.0 / span[varies], LARGEST_OF_EQUAL_RANGE / size[varies])
        rhs = scale * np.clip(block.rhs, low, high)
        centre = scale * (low + 0.5 * span)
        return cls(block, simplex, scale, rhs, centre=centre, largest_n=largest_n, span=1.0)

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """Score -sum_i z_i (scale_i A'_i v_j - centre_i) of each vertex j; exact for integers."""
        return _scores(self._parts, self._centre, z, len(self._vertices)) * self._factor

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step * scale * (A' v_j e_j - b'), the scaled violations of vertex j, to `out`."""
        np.multiply(self._rhs, step, out=self._scratch)
        out -= self._scratch
        self._rows.add_column(j, step * self._vertices[j], self._scale, out)
