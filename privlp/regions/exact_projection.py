"""A projection whose entries are short binary fractions: exact for vectors of integers."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_MOST_BITS = 16
# Bits of an entry of a row, of half a double, and of a double.
_ENTRY, _HALF, _DOUBLE = 24, 27, 53
_AT_A_TIME = 2**20
_UNITS = 2.0**80


class TableOfIntegers(Protocol):
    """Rows of integers."""

    def products(self, columns: FloatArray) -> FloatArray:
        """The product of each row with each column."""

    def table(self, rows: slice = ...) -> FloatArray:
        """Entries of some rows."""


class ExactProjection:
    """P = I - R^T R, the rows of R orthonormal, but for rounding them to multiples of 2^-bits.

    Singular values of R are near 1. So eigenvalues of P are 1, or near 0: its norm is 1.
    """

    def __init__(self, directions: FloatArray) -> None:
        r, d = directions.shape
        beyond = max((d - 1).bit_length() + _ENTRY, (r - 1).bit_length() + _HALF)
        self._bits = max(min(_MOST_BITS, _DOUBLE - beyond), 0)
        self._rows = np.rint(directions * 2.0**self._bits)

    def squares(self, part: TableOfIntegers) -> FloatArray:
        """Squared norms of P times each row, within 2^-30 of the square of its entries.

        Products of rows with R, and of these with R again, in two halves, are sums of integers
        below 2^53: they are exact. So what is found of a row depends on that row alone.
        """
        along = part.products(self._rows.T)
        found = np.empty(len(along))
        step = max(1, _AT_A_TIME // self._rows.shape[1])
        for start in range(0, len(found), step):
            rows = slice(start, start + step)
            high = np.rint(along[rows] / 2.0**_HALF)
            low = along[rows] - high * 2.0**_HALF
            back = (high @ self._rows) * 2.0**_HALF + low @ self._rows
            left = part.table(rows) - back * 4.0**-self._bits
            np.multiply(left, left, out=left)
            found[rows] = np.ascontiguousarray(left).sum(axis=1)
        return found

    def __call__(self, parts: FloatArray) -> FloatArray:
        """P times a sum of vectors of multiples of 2^-80; each entry of it is rounded once."""
        whole = np.array([[int(entry) for entry in part * _UNITS] for part in parts], dtype=object)
        rows = np.array([[int(entry) for entry in row] for row in self._rows], dtype=object)
        total = whole.sum(axis=0)
        left = total * 4**self._bits - rows.T @ (rows @ total)
        return np.array([math.ldexp(float(entry), -2 * self._bits) for entry in left]) / _UNITS
