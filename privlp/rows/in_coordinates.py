"""Private rows in the coordinates of a public polytope, each with a smoothed price of violation.

Sums over rows do not depend on their order. Numbers of size at most 1 become three digits,
multiples of 2^-18, 2^-36 and 2^-54: integers, added without error. In sums of rows one row adds up
to 2^40, and 2^23 rows would exceed 64 bits: what is beyond 2^40 is carried over to another integer,
a few rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.standard_form import row_by_row, rows_times
from privlp.regions.polytope import ReducedPolytope
from privlp.rows.access import bits_of
from privlp.rows.on_simplex import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM
from privlp.rows.parts import rows_of, slices
from privlp.rows.program_rows import RowBlock
from privlp.sparse import csr_of

Integers = npt.NDArray[np.int64]
_BITS, _COUNT = 18, 3
_UNITS_OF_DIGITS = np.ldexp(1.0, -_BITS * np.arange(1, _COUNT + 1))
BITS_OF_ENTRIES = 22  #: Bits after the point of entries of rows whose weighted sums are asked for.
_UNITS_OF_SUMS = _UNITS_OF_DIGITS * 2.0**-BITS_OF_ENTRIES
_OF_A_ROW = _BITS + BITS_OF_ENTRIES  # Bits that one row adds to an integer at most.
_ROWS_OF_A_SUM = 2**13  # So many rows at a time: sums of products of a part are at most 2^53.
# Units to 1 in entries and prices for second derivatives, and rows at a time: sums are below 2^53.
_OF_A_CURVATURE, _OF_A_PRICE, _AT_A_TIME = 2.0**12, 2.0**10, 2**14
_SOME = 2**15  # Rows whose numbers are computed at a time, so that temporary ones are few.
_NOT_CONVERTED = 2**16  # So few dense entries are kept in double precision, in half a megabyte.
_DENSER = 0.1  # Rows of which more entries are stored are multiplied faster as dense ones.
# Multiplied by this number, modulo 2^64, the digits of numbers are spread evenly (Knuth).
_MIXED = np.uint64(0x9E3779B97F4A7C15)


def digits(values: FloatArray) -> FloatArray:
    """Numbers of size at most 1 as integers, (3, m)."""
    found, rest = np.empty((_COUNT, len(values))), values * 2.0**_BITS
    np.rint(rest, out=found[0])
    for before, digit in pairwise(found):
        rest -= before
        rest *= 2.0**_BITS
        np.rint(rest, out=digit)
    return found


def exact_sum(values: FloatArray) -> Integers:
    """The sum of numbers of size at most 1, in digits, (3,)."""
    return np.asarray(digits(values).astype(np.int64).sum(axis=1))


def exact_weighted_sum(rows: Any, weigh: Callable[[slice], FloatArray]) -> Integers:
    """The sum of rows with weights of size at most 1, in digits and what they carry, (2, 3, p).

    Entries of rows are multiples of 2^-22, of size at most 1. The first half is in units of 2^40 of
    the second, which lies between 0 and 2^40. Weights are asked for a few rows at a time.
    """
    high, low = found = np.zeros((2, _COUNT, rows.shape[1]), dtype=np.int64)
    for some in slices(rows.shape[0], _ROWS_OF_A_SUM):
        sums = digits(weigh(some)) @ rows_of(rows, some)
        sums *= 2.0**BITS_OF_ENTRIES
        low += sums.astype(np.int64)
        high += low >> _OF_A_ROW
        low &= 2**_OF_A_ROW - 1
    return found


def value_of_sum(found: Integers, *, of_rows: bool = False) -> Any:
    """The number, or the vector, that digits stand for."""
    units = _UNITS_OF_DIGITS
    if of_rows:
        found, units = found[0] * 2.0**_OF_A_ROW + found[1], _UNITS_OF_SUMS
    first, second, third = (found.T * units).T
    return third + second + first


def on_grid(entries: FloatArray) -> npt.NDArray[np.float32]:
    """Entries of size at most 1 rounded to multiples of 2^-22, which single precision holds."""
    units = np.rint(entries * 2.0**BITS_OF_ENTRIES)
    return np.asarray(units * 2.0**-BITS_OF_ENTRIES, dtype=np.float32)


class SmoothedRows:
    """Sums over rows of weight_i phi(g_i·z - r_i + shift), and what they change by.

    phi(v) is 0, v^2/(2 softness) or v - softness/2 for v below 0, up to the softness, or beyond.
    """

    def __init__(self, G: Any, r: FloatArray, weight: FloatArray) -> None:
        if not sp.issparse(G) and G.size <= _NOT_CONVERTED:
            G = G.astype(np.float64)  # once, not in every round
        self.G, self.r, self.weight = G, r, weight
        self.v, self.change = np.zeros(len(r)), np.zeros(len(r))

    def _some(self) -> Iterator[slice]:
        return slices(len(self.r), _SOME)

    def go_to(self, z: FloatArray) -> None:
        """Remember the violations at z, each computed from its row alone."""
        for rows in self._some():
            self.v[rows] = self._at(rows, z)

    def _at(self, rows: slice, z: FloatArray | None = None) -> FloatArray:
        """Violations of some rows at z, or those that are remembered."""
        if z is None:
            return self.v[rows]
        return row_by_row(rows_of(self.G, rows), z) - self.r[rows]

    def farther_than(self, distance: float) -> int:
        """Number of rows whose violation, or slack, is larger than a distance."""
        return sum(int(np.count_nonzero(np.abs(self.v[rows]) > distance)) for rows in self._some())

    def aim(self, step: FloatArray) -> None:
        """Remember how violations change along a step."""
        for rows in self._some():
            self.change[rows] = row_by_row(rows_of(self.G, rows), step)

    def move(self, length: float) -> None:
        """Take a part of the step."""
        for rows in self._some():
            self.v[rows] += length * self.change[rows]

    def gradient(self, softness: float, shift: float, z: FloatArray | None = None) -> Integers:
        """Gradient of the sum of smoothed violations, in digits: exact. At z, it is one read."""

        def slope(rows: slice) -> FloatArray:
            v = self._at(rows, z) + shift
            v /= softness
            np.minimum(np.maximum(v, 0.0, out=v), 1.0, out=v)
            v *= self.weight[rows]
            return v

        return exact_weighted_sum(self.G, slope)

    def bent(self, softness: float, shift: float) -> int:
        """Number of rows whose smoothed violation is bent: within the softness."""
        return len(self._bent(softness, shift))

    def _bent(self, softness: float, shift: float) -> npt.NDArray[np.intp]:
        """The places of these rows."""
        bent = np.empty(len(self.v), dtype=bool)
        for rows in self._some():
            v = self.v[rows] + shift
            bent[rows] = (v > 0) & (v < softness) & (self.weight[rows] > 0)
        return np.flatnonzero(bent)

    def hessian(self, softness: float, shift: float, share: float = 1.0) -> Integers:
        """Second derivatives of the sum, (p, p), of this share of the rows, in integers: exact.

        The unit is 2^-34 / softness. Rows and prices are rounded to 12 and 10 bits: what is found
        is judged by gradients alone. Whether a row belongs to the share follows from the digits of
        its own violation: blocks do not matter, and other rows are taken at other points.
        """
        band = self._bent(softness, shift)
        if share < 1:
            digits = np.ascontiguousarray(self.v[band]).view(np.uint64)
            band = band[spread(digits) < share * 2.0**64]
        found = np.zeros((self.G.shape[1],) * 2, dtype=np.int64)
        for rows in slices(len(band), _AT_A_TIME):
            some = band[rows]
            found += _products(self.G[some], self.weight[some]).astype(np.int64)
        return found

    def fine_hessian(self, softness: float, shift: float) -> Integers:
        """Second derivatives of the sum, (3, p, p), to 24 bits of each entry, in integers: exact.

        For :func:`value_of_fine_hessian`. Each row times the root of its price is split into two
        numbers of 12 bits, so that sums of products are exact.
        """
        band = self._bent(softness, shift)
        found = np.zeros((3, *(self.G.shape[1],) * 2), dtype=np.int64)
        for some in slices(len(band), _AT_A_TIME):
            rows = self.G[band[some]]
            rows = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64)
            rows *= np.sqrt(self.weight[band[some]])[:, None] * _OF_A_CURVATURE
            high = np.rint(rows)
            low = np.rint((rows - high) * _OF_A_CURVATURE)
            for k, product in enumerate((high.T @ high, high.T @ low, low.T @ low)):
                found[k] += product.astype(np.int64)
        return found

    def slope(self, length: float, softness: float, shift: float, reach: float) -> Integers:
        """Derivative of the sum along the step, at a part of it, in digits of `reach`: exact."""

        def slope(rows: slice) -> Integers:
            v = self.v[rows] + shift + length * self.change[rows]
            change = np.clip(self.change[rows] / reach, -1.0, 1.0)
            return exact_sum(self.weight[rows] * np.clip(v / softness, 0.0, 1.0) * change)

        return np.asarray(sum(map(slope, self._some()), np.zeros(3, dtype=np.int64)))


UNITS_OF_HESSIAN = _OF_A_PRICE * _OF_A_CURVATURE**2  #: Units to 1 in second derivatives.


def value_of_fine_hessian(found: Integers, softness: float) -> FloatArray:
    """Second derivatives from their three parts, (p, p)."""
    high, mixed, low = found / _OF_A_CURVATURE**2
    return np.asarray(high + (mixed + mixed.T + low / _OF_A_CURVATURE) / _OF_A_CURVATURE) / softness


def _products(rows: Any, price: FloatArray) -> FloatArray:
    """Sum of price_i g_i g_i^T over a few rows, rounded, in integers."""
    rows, weight = rows.astype(np.float64), np.rint(price * _OF_A_PRICE)
    if sp.issparse(rows) and rows.nnz < _DENSER * rows.shape[0] * rows.shape[1]:
        rows.data = np.rint(rows.data * _OF_A_CURVATURE)
        return np.asarray((rows.T @ sp.diags_array(weight) @ rows).toarray())
    rows = rows.toarray() if sp.issparse(rows) else rows
    rows = np.rint(rows * _OF_A_CURVATURE)
    if (weight == weight[0]).all():
        return np.asarray(rows.T @ rows) * weight[0]  # half the work of a product of two matrices
    return np.asarray(rows.T @ (weight[:, None] * rows))


def spread(numbers: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Integers of 64 bits that lie evenly, whatever pattern the given ones follow."""
    return np.asarray(numbers.astype(np.uint64) * _MIXED)


# Norms are computed within this share, and this number of units in the last place for each entry.
_NORMS_WITHIN, _OF_AN_ENTRY = 1e-12, 2.0**-51
_DOUBLE = 53
_ENTRIES = 2**17  # Entries at a time, so that temporary numbers are few.
# Squares of rows in second moments are less than 1 by this: more than what rounding these sums once
# moves them, which is 2^-51 of the number of rows.
_SHORTER = 2.0**-17


class RowsInCoordinates(SmoothedRows):
    """Rows scale_i (a_i·x - b_i) = g_i·z - r_i in the coordinates z of a region, with |g_i| <= 1.

    Hard rows are scaled to norm 1. Soft rows are divided by one released number, or by their own
    norm where that is larger. Each number is computed from its row alone, in the same order. Soft
    rows weigh their price over the largest one, hard rows among them 1.
    """

    changes = ("v", "change")

    def __init__(
        self,
        block: RowBlock,
        region: ReducedPolytope,
        unit: float | None = None,
        largest_price: float | None = None,
        sign: int = 0,
    ) -> None:
        form = block.form
        divisor, varies, below = _divisors(block, region, unit)
        scale = np.divide(below, divisor, out=divisor, where=varies)
        scale[~varies] = 0.0
        if region.basis is None:
            G = _in_units(block, region, scale)
        else:
            G = np.empty((len(scale), region.size), dtype=np.float32)
            for rows, along in _along(block, region, region.basis):
                scaled = along * (form.row_sign[rows] * scale[rows])[:, None]
                # Entry by entry in the same order.
                norms = np.sqrt(sum((column**2 for column in scaled.T), np.zeros(len(scaled))))
                excess = np.maximum(1.0, norms / below)
                scale[rows] /= excess  # what the equalities leave may be little but rounding
                G[rows] = on_grid(scaled / excess[:, None])
        activity, r = form.activity(region.origin), np.empty(len(scale))
        for rows in slices(len(r), _SOME):
            own = form.row_sign[rows].astype(float)
            r[rows] = scale[rows] * (form.sides(rows) - own * activity[form.row[rows]])
        weight = np.broadcast_to(1.0, r.shape)
        if largest_price is not None and block.price is not None:
            weight = np.where(np.isinf(block.price), 1.0, block.price / largest_price)
        if sign:
            wrong = np.asarray((-sign * G > 0).sum(axis=1)).ravel() > 0
            weight = np.where(wrong, 0.0, weight)
        super().__init__(G, r, weight)
        self._first, self._row = block.first, form.row

    def pull(self, softness: float, z: FloatArray | None = None) -> Integers:
        """Gradient of the sum of distances from sides, smoothed near them, in digits: exact.

        The two sides of a row count half, so together they add a vector of norm 1 at most.
        """
        both = np.bincount(self._row)[self._row] > 1

        def slope(rows: slice) -> FloatArray:
            weight = self.weight[rows] * np.where(both[rows], 0.5, 1.0)
            return weight * np.clip(self._at(rows, z) / softness, -1.0, 1.0)

        return exact_weighted_sum(self.G, slope)

    def share(self, share: float) -> SmoothedRows:
        """About this share of the rows, which places choose: no result depends on it."""
        some = np.flatnonzero(spread(self._first + self._row) < share * 2.0**64)
        return SmoothedRows(self.G[some], self.r[some], self.weight[some])

    def second_moments(self, largest_n: int) -> FloatArray:
        """The sum of g_i g_i^T, shape (p, p).

        The Frobenius norm of a row's part is |g_i|^2, which is at most 1. Rows are rounded to a
        public grid, on which sums over up to `largest_n` rows are exact, whatever the blocks.
        """
        # Products of entries in these units have sums below 2^53.
        units = 2.0 ** ((_DOUBLE - 1 - bits_of(largest_n)) // 2)
        dense = np.zeros((self.G.shape[1],) * 2)
        for some in slices(len(self.r), _SOME):
            rows = _on_grid(rows_of(self.G, some).astype(np.float64), units)
            found = rows.T @ rows
            dense += found.toarray() if sp.issparse(found) else found
        return dense / units**2


def upper_of(matrix: FloatArray) -> FloatArray:
    """Upper triangle, off the diagonal times sqrt(2): its length is the matrix's Frobenius norm."""
    upper = np.triu_indices(len(matrix))
    return np.asarray(matrix[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2)))


def symmetric_of(upper: FloatArray, p: int) -> FloatArray:
    """The symmetric (p, p) matrix that :func:`upper_of` makes such a triangle of."""
    found, places = np.zeros((p, p)), np.triu_indices(p)
    found[places] = upper / np.where(places[0] == places[1], 1.0, math.sqrt(2))
    return np.triu(found) + np.triu(found, 1).T


def norms(block: RowBlock, region: ReducedPolytope) -> tuple[FloatArray, FloatArray]:
    """Euclidean norm of each row in the coordinates, and its largest entry before equalities."""
    form = block.form
    square, largest = np.zeros(len(form.row)), np.zeros(len(form.row))
    for rows, part in block.parts(region.unit, region.live):
        low, high = part.extremes()
        largest[rows] = np.maximum(-low, high)
        square[rows] = part.squares_about(np.zeros_like(low), len(region.live))
    if region.basis is None:
        return np.sqrt(square), largest
    for rows, along in _along(block, region, region.basis):
        square[rows] = np.square(along).sum(axis=1)
    return np.sqrt(square), largest


def _on_grid(rows: Any, units: float) -> Any:
    """Rows of norm 1 at most in integers, shortened by what rounding may add; longer ones are 0."""
    factor = max(units * (1 - 2 * _SHORTER) - math.sqrt(rows.shape[1]), 0.0)
    ones, most = np.ones(rows.shape[1]), units**2 * (1 - _SHORTER)
    if sp.issparse(rows):
        rows.data = np.rint(rows.data * factor)
        long = row_by_row(rows.power(2), ones) > most
        rows.data[np.repeat(long, np.diff(rows.indptr))] = 0.0
        return rows
    rows = np.rint(np.multiply(rows, factor, order="C"))
    rows[row_by_row(rows**2, ones) > most] = 0.0
    return rows


def shares_of_norm(block: RowBlock, region: ReducedPolytope, largest_n: int) -> FloatArray:
    """Sum over rows of each variable's share of a row's squared norm, (d',).

    Norms are in units of the ranges, before equalities. The shares of a row add up to 1 at most,
    rounded down to a public grid, on which sums over up to `largest_n` rows are exact.
    """
    units = 2.0 ** (_DOUBLE - 1 - bits_of(largest_n))
    found = np.zeros(len(region.live))
    for _, part in block.parts(region.unit, region.live):
        square = part.squares_about(np.zeros(len(part.sums())), len(region.live))
        square = np.maximum(square, CONSTANT_ROW)
        square *= 1 + _NORMS_WITHIN + _OF_AN_ENTRY * len(region.live)
        found += part.floors_of_shares(square, units)
    return found / units


def _divisors(
    block: RowBlock, region: ReducedPolytope, unit: float | None
) -> tuple[FloatArray, npt.NDArray[np.bool_], float]:
    """What rows are divided by, which of them are not constant, and the norm they come to."""
    norm, largest = norms(block, region)
    varies = norm > CONSTANT_ROW
    largest *= LARGEST_OF_EQUAL_NORM**-1
    if unit is not None:
        np.maximum(
            largest,
            unit if block.price is None else np.where(np.isinf(block.price), 0.0, unit),
            out=largest,
        )
    np.maximum(norm, largest, out=norm)
    below = 1 - _NORMS_WITHIN - _OF_AN_ENTRY * len(region.live)
    # Entries are rounded to a grid, on which sums over rows are exact.
    below *= max(1 - math.sqrt(region.size) * 2.0**-BITS_OF_ENTRIES, 0.0)
    return norm, varies, below


def _in_units(block: RowBlock, region: ReducedPolytope, scale: FloatArray) -> Any:
    """Rows scale_i a_i in units of the region's variables, on the grid, (m, p)."""
    form, A = block.form, block.form.lp.A
    live = A if len(region.live) == A.shape[1] else A[:, region.live]
    if not sp.issparse(A):
        G = np.empty((len(form.row), region.size), dtype=np.float32)
        for some in slices(len(G), max(1, _ENTRIES // max(1, region.size))):
            factor = form.row_sign[some] * scale[some]
            G[some] = on_grid(factor[:, None] * (live[form.row[some]] * region.unit))
        return G
    rows = sp.csr_array(live)
    if not np.array_equal(form.row, np.arange(rows.shape[0])):
        rows = rows[form.row]
    data = np.empty(len(rows.data), dtype=np.float32)
    for some in slices(rows.shape[0], _SOME):
        ends = rows.indptr[some.start : some.stop + 1]
        own = slice(ends[0], ends[-1])
        entries = rows.data[own] * region.unit[rows.indices[own]]
        entries *= np.repeat(form.row_sign[some] * scale[some], np.diff(ends))
        data[own] = on_grid(entries)
    return csr_of(data, rows.indices, rows.indptr, rows.shape)


def _along(
    block: RowBlock, region: ReducedPolytope, basis: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """A few rows a_i at a time in the directions that public equalities leave, (k, p)."""
    form, A = block.form, block.form.lp.A
    directions = np.zeros((A.shape[1], region.size))
    directions[region.live] = region.unit[:, None] * basis
    A = sp.csr_array(A) if sp.issparse(A) else A
    for some in slices(len(form.row), max(1, _ENTRIES // max(1, *directions.shape))):
        yield some, rows_times(A[form.row[some]], directions)
