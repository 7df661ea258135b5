"""The public grid on which contributions of rows stand, so that sums over rows are exact.

Let n be a public bound on the number of rows. Entries of rows are multiples of 2^-q, weights of
rows multiples of 2^-p, and coordinates of a point multiples of 2^-r. In these units they are
integers, and so are all products and sums of them. Double precision holds every integer up to 2^53
exactly. With bits such that no partial sum is larger, every sum is exact: whatever its order, the
block, the thread or the machine, fused operations included.

*Violations.* Entries are at most 8 in size, and coordinates at most 4 in sum: a product of a row
with a point is at most 2^(5+q+r), and q + r = 48. So a violation is a function of its row alone,
however BLAS goes about many rows at a time.

*Sums of a part* of at most 2^14 rows: at most 2^(14+3+p+q), and p + q <= 36. A part may have
2^(log2(n) - 2) rows if that is more, log2 rounded up: at most 2^(log2(n)+1+p+q), and the next
paragraph bounds p + q.

*Sums of all rows.* What a row adds has a norm of at most sqrt(2): they are at most 2^(1/2+p+q) n,
and p + q <= 52 - log2 n. In between, sums before centring are 64-bit integers: at most
2^(3+p+q) n <= 2^55.

*Norms.* An entry less its row's mean has a square of at most 2^(2q+1), as has the sum of all of
them, if the norm is at most sqrt(2); q <= 21. (A larger sum may be rounded, but not to a smaller
one than sqrt(2) allows.)

Left are these bits:

======== == ==
n         q  p
======== == ==
65,536   21 15
10^6     19 13
10^7     17 11
10^8     15 10
10^9     14  8
======== == ==

*Dense weights* have a public sum: their bits follow from it (:meth:`Grid.bits_of_dense_weights`).

Entries are rounded to the nearest, and so are weights: over n rows the errors average out, to about
0.3 (2^-p + 2^-q) sqrt(n), far below the noise of any release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privlp.checks import FloatArray

_DOUBLE = 53
# Of entries, of a coordinate and an entry together, and of an entry and a weight together.
_MOST_OF_ENTRIES, _OF_A_VIOLATION, _MOST_OF_A_TERM = 21, 48, 36
_FEWEST = 8
# Of entries and the sum of dense weights together, and of one such weight.
_OF_DENSE_WEIGHTS, _MOST_OF_A_DENSE_WEIGHT = 49, 28


def bits_of(largest_n: int) -> int:
    """The least k with 2^k at least the number of rows."""
    return max(int(largest_n) - 1, 0).bit_length()


@dataclass(frozen=True)
class Grid:
    """Bits after the point of entries, weights and coordinates; all public."""

    entries: int  #: q
    weights: int  #: p

    @classmethod
    def of(cls, largest_n: int) -> Grid:
        """The finest grid on which sums over so many rows are exact."""
        bits = min(_MOST_OF_A_TERM, _DOUBLE - 1 - bits_of(largest_n))
        entries = min(_MOST_OF_ENTRIES, (bits + 6) // 2)
        if bits - entries < _FEWEST - 1:
            raise OverflowError("There are too many rows for exact sums: the bound is 2^33.")
        return cls(entries, bits - entries)

    @property
    def of_entry(self) -> float:
        """Units to 1 in an entry of a row."""
        return 2.0**self.entries

    @property
    def of_weight(self) -> float:
        """Units to 1 in a weight."""
        return 2.0**self.weights

    @property
    def of_term(self) -> float:
        """Units to 1 in a weight times an entry."""
        return 2.0 ** (self.entries + self.weights)

    def bits_of_dense_weights(self, s: float) -> int:
        """Bits of dense weights: their sum is s 2^bits <= 2^(49-q), and entries are at most 8."""
        most = _OF_DENSE_WEIGHTS - self.entries - bits_of(math.ceil(s))
        return max(0, min(most, _MOST_OF_A_DENSE_WEIGHT))

    def point(self, coordinates: FloatArray) -> tuple[FloatArray, float]:
        """A released point in units of the grid, and the size of the unit of a violation.

        Coordinates of a simplex have a sum of at most 1. Those of any other point get fewer bits.
        """
        excess = max(0, math.frexp(float(np.abs(coordinates).sum()) / 2)[1])
        bits = _OF_A_VIOLATION - self.entries - excess
        return np.rint(coordinates * 2.0**bits), 2.0 ** -(bits + self.entries)
