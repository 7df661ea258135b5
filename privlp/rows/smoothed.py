"""Rows g_i·z - r_i with a smoothed price of their violation, in sums that do not depend on order.

Numbers of size at most 1 become three digits, multiples of 2^-18, 2^-36 and 2^-54: integers, added
without error. In sums of rows one row adds up to 2^40, and 2^23 rows would exceed 64 bits: what is
beyond 2^40 is carried over to another integer, a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.standard_form import row_by_row
from privlp.rows.parts import rows_of, slices

Integers = npt.NDArray[np.int64]
_BITS, _COUNT = 18, 3
_UNITS_OF_DIGITS = np.ldexp(1.0, -_BITS * np.arange(1, _COUNT + 1))
BITS_OF_ENTRIES = 22  #: Bits after the point of entries of rows whose weighted sums are asked for.
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
    for digit in found:
        np.rint(rest, out=digit)
        rest -= digit
        rest *= 2.0**_BITS
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
        low += np.rint(sums, out=sums).astype(np.int64)
        high += low >> _OF_A_ROW
        low &= 2**_OF_A_ROW - 1
    return found


def value_of_sum(found: Integers, *, of_rows: bool = False) -> Any:
    """The number, or the vector, that digits stand for."""
    if of_rows:
        found = (found[0] * 2.0**_OF_A_ROW + found[1]) * 2.0**-BITS_OF_ENTRIES
    first, second, third = (found.T * _UNITS_OF_DIGITS).T
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
