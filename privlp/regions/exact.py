"""Points of a polytope in exact arithmetic: slacks, quadratic programs and their certificates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray, IntArray

_UNIT_ROUNDOFF = 2.0**-53
# Rows with less slack than this are looked at exactly, and those with less than that made tight.
_NEAR, _TIGHT = 1e-9, 1e-11
_REFINEMENTS = 6
_SPLIT = 2.0**27 + 1
#: Python's integers, which have as many digits as they need.
IntegerArray = npt.NDArray[np.object_]
# Points and prices are integers in units of 2^-384, and triangular factors in units of 2^-128.
_BITS, _OF_FACTORS = 384, 128
# A row is broken by more than this; a row's direction is new if so much of it is: these are far
# above rounding and far below whatever doubles say.
_BROKEN, _NEW = 2**200, 170
_SURELY = 1e-9  # Rows with more slack than this in doubles have some.
# Rows are taken in and left out at most so many times the number of rows and coordinates.
_MOST_CHANGES = 50
_DOUBLINGS = 40  # How often a point is moved twice as far inwards.
_UPWARDS = 1 + 1e-12  # Covers the rounding of the last few operations of a bound.


class ExactRows:
    """The polytope {z : C z <= f}, given by floating-point numbers that are taken as they are."""

    def __init__(self, C: sp.csc_array, f: FloatArray, inside: FloatArray) -> None:
        self._C, self._f, self._inside = sp.csr_array(C), f, inside
        self._size = abs(self._C)
        self._rounding = 2 * (np.diff(self._C.indptr) + 4) * _UNIT_ROUNDOFF

    def near(self, z: FloatArray) -> IntArray:
        """The rows that may have little slack at z; all others have some, whatever rounding did."""
        rounding = self._rounding * (np.abs(self._f) + self._size @ np.abs(z))
        return np.flatnonzero(~(self._f - self._C @ z > _NEAR + rounding))

    def slack(self, z: FloatArray, rows: IntArray) -> FloatArray:
        """F - C z of some rows, each as if computed exactly and rounded once.

        A product is two doubles (Dekker 1971); Shewchuk's algorithm (1997), ``fsum``, adds them up.
        """
        some = self._C[rows]
        high, low = ((-part).tolist() for part in _product(some.data, z[some.indices]))
        ends = some.indptr.tolist()
        found = [
            math.fsum([side, *high[first:last], *low[first:last]])
            for side, first, last in zip(self._f[rows].tolist(), ends, ends[1:], strict=False)
        ]
        return np.array(found)

    def settled(self, z: FloatArray, wanted: IntArray | None = None) -> FloatArray:
        """A point that breaks no row, next to one that breaks rows by little or none."""
        for number in range(_REFINEMENTS):
            rows = self.near(z)
            slack = self.slack(z, rows)
            if number and (slack >= 0).all():
                return z
            chosen = slack <= _TIGHT
            if wanted is not None:
                chosen |= np.isin(rows, wanted)
            tight = rows[chosen]
            room = 2.0**number * _UNIT_ROUNDOFF * (self._size[tight] @ np.abs(z))
            try:  # the shortest step
                step = np.linalg.lstsq(self._C[tight].toarray(), slack[chosen] - room, rcond=1e-10)[
                    0
                ]
            except np.linalg.LinAlgError:
                break
            if not np.isfinite(step).all():
                break
            z = z + step
        back = 2.0**-52
        while back < 1:
            moved = self._inside + (1 - back) * (z - self._inside)
            if (self.slack(moved, self.near(moved)) >= 0).all():
                return moved
            back *= 2
        return self._inside.copy()


def _product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two numbers whose sum is a b, as long as nothing underflows."""
    high = a * b
    a_high, b_high = (_SPLIT * part - (_SPLIT * part - part) for part in (a, b))
    a_low, b_low = a - a_high, b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low


@dataclass(frozen=True)
class ExactPoint:
    """A point and prices in integers, in units of 2^-384."""

    point: IntegerArray  #: (p,).
    prices: IntegerArray  #: Non-negative, (m,).

    @cached_property
    def rounded(self) -> FloatArray:
        """The point in doubles: it may break rows by rounding."""
        return np.array([_ratio(entry, _BITS) for entry in self.point])

    @cached_property
    def moved(self) -> float:
        """Bound on how far rounding moved it."""
        return _norm(self.point - _integers(self.rounded, _BITS), _BITS)


class ExactMinima:
    """Minima of quadratic functions over {z : C z <= f}, each double as the integer that it is."""

    def __init__(self, C: sp.csc_array, f: FloatArray, inside: FloatArray) -> None:
        self._rows = C.toarray()
        self._f, self._inside = f, inside
        self._bits = max(_whole_at(self._rows), _whole_at(f))

    @cached_property
    def _whole(self) -> IntegerArray:
        return _integers(self._rows, self._bits)

    @cached_property
    def _sides(self) -> IntegerArray:
        return _integers(self._f, self._bits + _BITS)

    def slack(self, point: IntegerArray) -> IntegerArray:
        """F - C z exactly, in units of 2^-384 and those of the rows."""
        return np.asarray(self._sides - self._whole @ point)

    def of(
        self, hessian: FloatArray, gradient: FloatArray, z: FloatArray, guess: Iterable[int] = ()
    ) -> ExactPoint | None:
        """The minimum of gradient·(w - z) + (w - z)·hessian·(w - z) / 2 over the polytope.

        The dual method of Goldfarb and Idnani (1983): from the minimum without rows it takes in
        broken rows one by one, and leaves out those whose prices would become negative. None if it
        does not end, or LAPACK does not factor the Hessian: then nothing is lost but a step.
        """
        size = math.frexp(max(float(hessian.diagonal().max()), 1e-300))[1]
        try:
            factor: FloatArray = np.asarray(np.linalg.cholesky(hessian * 2.0**-size), dtype=float)
        except np.linalg.LinAlgError:
            return None
        try:
            search = _Search(self, factor, _integers(gradient, _BITS - size), z)
            search.begin_with(guess)
            found = search.minimum()
        except ZeroDivisionError:  # of a number below the units
            return None
        if found is None:
            return None
        point, prices = found
        within = self._within(point)
        return None if within is None else ExactPoint(within, _shifted(prices, size))

    def _within(self, point: IntegerArray) -> IntegerArray | None:
        """The point, moved towards the one inside as little as will do; None if nothing does."""
        inside = _integers(self._inside, _BITS)
        room, one = self.slack(inside), 1 << _BITS
        for doubling in range(_DOUBLINGS):
            slack = self.slack(point)
            broken = np.flatnonzero(slack < 0)
            if not broken.size:
                return point
            if (room[broken] <= 0).any():
                return None
            share = max((-slack[i] * one) // (room[i] - slack[i]) + 1 for i in broken)
            share = min((share + (1 << 20)) << doubling, one)
            point = point + (((inside - point) * share) >> _BITS)
        return None

    def distance(
        self, found: ExactPoint, gradient: FloatArray, *, strength: float, smoothness: float
    ) -> float:
        """Bound on the distance of the rounded point to the minimum of a function F.

        As :func:`privlp.regions.quadratic.distance_to_minimum`, for the point before it is rounded,
        in exact arithmetic. Its gradient differs from that at the rounded one by the curvature
        times how far rounding moved it. Infinite where the point breaks a row or a price is
        negative: nothing is assumed of how they were found.
        """
        slack = self.slack(found.point)
        if (slack < 0).any() or (found.prices < 0).any() or not np.isfinite(gradient).all():
            return math.inf
        bits = _BITS + self._bits
        own = max(bits, _whole_at(gradient))
        rest = _integers(gradient, own) + ((self._whole.T @ found.prices) << (own - bits))
        norm = _norm(rest, own) + smoothness * found.moved
        gap = _ratio(int(found.prices @ slack), bits + _BITS) * _UPWARDS
        root = math.hypot(norm, 2 * math.sqrt(strength) * math.sqrt(gap))
        return ((norm + root) / (2 * strength) + found.moved) * _UPWARDS


class _Search:
    """The dual method, in the coordinates in which the quadratic is |y|^2 / 2."""

    def __init__(
        self, polytope: ExactMinima, factor: FloatArray, gradient: IntegerArray, z: FloatArray
    ) -> None:
        self._polytope = polytope
        self._factor = _integers(factor, _OF_FACTORS)
        self._z = _integers(z, _BITS)
        # Minus the step in these coordinates, and the prices of the rows that are tight.
        self._y = self._forwards(gradient)
        self._tight: list[int] = []
        self._of_tight = np.zeros((0, len(z)), dtype=object)
        self._inverse = np.zeros((0, 0), dtype=object)
        self._prices = np.zeros(0, dtype=object)

    def minimum(self) -> tuple[IntegerArray, IntegerArray] | None:
        """The point and the prices of all rows."""
        m, p = self._polytope._rows.shape
        for _ in range(_MOST_CHANGES * (m + p)):
            point = self._z - self._backwards(self._y)
            row = self._broken(point)
            if row is None:
                prices = np.zeros(m, dtype=object)
                prices[self._tight] = np.maximum(self._prices, 0)
                return point, prices
            if not self._make_tight(*row):
                return None
        return None

    def begin_with(self, rows: Iterable[int]) -> None:
        """Take rows for tight whose prices are then not negative."""
        unbound = self._y
        for row in rows:
            if len(self._tight) == len(unbound):
                break
            own = self._direction(row)
            falls, new = self._against(own)
            if new > int(own @ own) >> (_BITS + _NEW):
                self._append(row, own, falls, new, 0)
        point = self._z - self._backwards(unbound)
        while self._tight:
            polytope = self._polytope
            slack = polytope._sides[self._tight] - polytope._whole[self._tight] @ point
            self._prices = -(self._inverse @ (slack >> polytope._bits)) >> _BITS
            if (self._prices >= 0).all():
                self._y = unbound + ((self._prices @ self._of_tight) >> _BITS)
                return
            self._drop(int(np.argmin(self._prices)))

    def _direction(self, row: int) -> IntegerArray:
        """A row in the coordinates of the quadratic."""
        polytope = self._polytope
        return self._forwards(_shifted(polytope._whole[row], _BITS - polytope._bits))

    def _against(self, own: IntegerArray) -> tuple[IntegerArray, int]:
        """How prices of tight rows fall with that of a row, and the square of what is new of it."""
        products = (self._of_tight @ own) >> _BITS
        falls = (self._inverse @ products) >> _BITS
        return falls, (int(own @ own) - int(products @ falls)) >> _BITS

    def _broken(self, point: IntegerArray) -> tuple[int, int] | None:
        """The row that is broken most, and its slack."""
        rounded = np.array([_ratio(entry, _BITS) for entry in point])
        polytope = self._polytope
        doubtful = np.flatnonzero(~(polytope._f - polytope._rows @ rounded > _SURELY))
        doubtful = np.setdiff1d(doubtful, self._tight)
        if not doubtful.size:
            return None
        slack = polytope._sides[doubtful] - polytope._whole[doubtful] @ point
        least = int(np.argmin(slack))
        slack = int(slack[least]) >> polytope._bits
        return None if slack >= -_BROKEN else (int(doubtful[least]), slack)

    def _make_tight(self, row: int, slack: int) -> bool:
        """Raise the price of a broken row until it is tight; False if that cannot be."""
        own = self._direction(row)
        least_new, price = int(own @ own) >> (_BITS + _NEW), 0
        while True:
            falls, new = self._against(own)
            is_new = new > least_new
            falling = np.flatnonzero(falls > 0)
            lengths = [(int(self._prices[k]) << _BITS) // int(falls[k]) for k in falling]
            least = min(lengths, default=None)
            if is_new:
                length = (-slack << _BITS) // new
                if least is None or length <= least:
                    self._change(own, falls, length)
                    self._append(row, own, falls, new, price + length)
                    return True
            if least is None:
                return False
            self._change(own, falls, least)
            price += least
            slack += (least * max(new, 0)) >> _BITS
            self._drop(int(falling[lengths.index(least)]))

    def _change(self, own: IntegerArray, falls: IntegerArray, length: int) -> None:
        """Raise the price of a row by a length."""
        fallen = (falls * length) >> _BITS
        self._prices = self._prices - fallen
        self._y = self._y + ((own * length) >> _BITS) - ((fallen @ self._of_tight) >> _BITS)

    def _append(
        self, row: int, own: IntegerArray, falls: IntegerArray, new: int, price: int
    ) -> None:
        """Take a row for tight: the inverse of the products of tight rows has one row more."""
        k = len(self._tight)
        inverse = np.zeros((k + 1, k + 1), dtype=object)
        share = (falls << _BITS) // new
        inverse[:k, :k] = self._inverse + (np.outer(falls, share) >> _BITS)
        inverse[:k, k] = inverse[k, :k] = -share
        inverse[k, k] = (1 << (2 * _BITS)) // new
        self._inverse = inverse
        self._tight.append(row)
        self._of_tight = np.vstack([self._of_tight, own[None, :]])
        self._prices = np.append(self._prices, price)

    def _drop(self, k: int) -> None:
        """Leave a tight row out."""
        rest = np.arange(len(self._tight)) != k
        column, corner = self._inverse[rest, k], int(self._inverse[k, k])
        share = (column << _BITS) // corner
        self._inverse = self._inverse[np.ix_(rest, rest)] - (np.outer(column, share) >> _BITS)
        del self._tight[k]
        self._of_tight, self._prices = self._of_tight[rest], self._prices[rest]

    def _forwards(self, vector: IntegerArray) -> IntegerArray:
        """The solution of a system of equations with the factor."""
        return _substituted(self._factor, vector)

    def _backwards(self, vector: IntegerArray) -> IntegerArray:
        """The same with its transpose."""
        return _substituted(self._factor.T[::-1, ::-1], vector[::-1])[::-1]


def _substituted(factor: IntegerArray, vector: IntegerArray) -> IntegerArray:
    """The solution of a system of equations with a lower triangle."""
    found = np.zeros(len(vector), dtype=object)
    for i in range(len(vector)):
        rest = (int(vector[i]) << _OF_FACTORS) - int(factor[i, :i] @ found[:i])
        found[i] = rest // int(factor[i, i])
    return found


def _whole_at(numbers: FloatArray) -> int:
    """A number of bits b such that all numbers are whole in units of 2^-b."""
    _, exponent = np.frexp(numbers[numbers != 0])
    return max(0, 53 - int(exponent.min(initial=53)))


def _integers(numbers: FloatArray, bits: int) -> IntegerArray:
    """The numbers in units of 2^-bits, rounded down."""
    mantissa, exponent = np.frexp(numbers)
    whole = (mantissa * 2.0**53).astype(np.int64).ravel().tolist()
    shifts = (exponent.astype(np.int64) + (bits - 53)).ravel().tolist()
    found = np.empty(len(whole), dtype=object)
    found[:] = [
        n << shift if shift >= 0 else n >> -shift for n, shift in zip(whole, shifts, strict=True)
    ]
    return found.reshape(numbers.shape)


def _shifted(numbers: IntegerArray, bits: int) -> IntegerArray:
    return np.asarray(numbers << bits if bits >= 0 else numbers >> -bits)


def _ratio(number: int, bits: int) -> float:
    """An integer in units of 2^-bits, rounded once; infinite if it is beyond doubles."""
    try:
        return number / (1 << bits)
    except OverflowError:
        return math.copysign(math.inf, number)


def _norm(vector: IntegerArray, bits: int) -> float:
    """Euclidean norm of a vector of integers in units of 2^-bits, rounded up."""
    square = int(vector @ vector) if len(vector) else 0
    return _ratio(math.isqrt(square) + (square > 0), bits) * _UPWARDS
