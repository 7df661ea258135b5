"""Sums of real numbers that do not depend on their order: each is written as a few integers.

A number of size at most 1 is rounded to a multiple of 2^-18, what is left to one of 2^-36, and what
is left then to one of 2^-54. Integers are added without error.

In sums of rows one row adds up to 2^40 to an integer, and 2^23 rows would exceed 64 bits. So what
is beyond 2^40 is carried over to another integer, a few rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.rows.parts import rows_of, slices

FloatArray = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BITS, _COUNT = 18, 3
#: Bits after the point of entries of rows whose weighted sums are asked for.
BITS_OF_ENTRIES = 22
# Bits that one row adds to an integer at most.
_OF_A_ROW = _BITS + BITS_OF_ENTRIES
# So many rows at a time: sums of products of a part are at most 2^53.
_AT_A_TIME = 2**13


def limbs(values: FloatArray) -> FloatArray:
    """Numbers of size at most 1 as integers, (3, m)."""
    found, rest = np.empty((_COUNT, len(values))), values
    for k in range(_COUNT):
        rest = rest * 2.0**_BITS
        np.rint(rest, out=found[k])
        rest = rest - found[k]
    return found


def total(values: FloatArray) -> Integers:
    """The sum of numbers of size at most 1, in limbs, (3,)."""
    return np.asarray(limbs(values).astype(np.int64).sum(axis=1))


def weighed(rows: Any, weigh: Callable[[slice], FloatArray]) -> Integers:
    """The sum of rows with weights of size at most 1, in limbs and what they carry, (2, 3, p).

    Entries of rows are multiples of 2^-22, of size at most 1. The first half is in units of 2^40 of
    the second, which lies between 0 and 2^40. Weights are asked for a few rows at a time.
    """
    high, low = found = np.zeros((2, _COUNT, rows.shape[1]), dtype=np.int64)
    for some in slices(rows.shape[0], _AT_A_TIME):
        sums = limbs(weigh(some)) @ rows_of(rows, some)
        low += np.rint(sums * 2.0**BITS_OF_ENTRIES).astype(np.int64)
        high += low >> _OF_A_ROW
        low &= 2**_OF_A_ROW - 1
    return found


def value(found: Integers, *, of_rows: bool = False) -> Any:
    """The number, or the vector, that limbs stand for."""
    powers = 2.0 ** (-_BITS * np.arange(1, _COUNT + 1))
    if not of_rows:
        first, second, third = found * powers
        return third + second + first
    parts = (found[0] * 2.0**_OF_A_ROW + found[1]) * powers[:, None]
    return (parts[2] + parts[1] + parts[0]) * 2.0**-BITS_OF_ENTRIES


def on_grid(entries: FloatArray) -> npt.NDArray[np.float32]:
    """Entries of size at most 1 rounded to multiples of 2^-22, which single precision holds."""
    units = np.rint(entries * 2.0**BITS_OF_ENTRIES)
    return np.asarray(units * 2.0**-BITS_OF_ENTRIES, dtype=np.float32)
