"""The public grid on which private records stand, so that sums over them are exact.

Let n be a public bound on the number of records. Entries of records of norm 1 at most are integers
in units of 2^-q, and weights in [-1/2, 1/2] integers in units of 2^-p. With q <= 21, p + q <= 40
and both 2q and p + q at most 62 - log2 n, log2 rounded up:

* a sum over at most 2^14 records is at most 2^(14 + p + q - 1) <= 2^53 in size: double precision
  holds it, and all its partial sums, exactly;
* so is a sum of products of two entries over at most 2^11 records, 2^(11 + 2q);
* sums over all records are 64-bit integers, at most 2^62.

Products of a record with a vector of norm at most 2^(53 - q), in its units, are exact too: no
partial sum exceeds the product of both norms.

====== == ==
n       q  p
====== == ==
10^6   21 19
10^7   19 19
10^8   17 18
10^9   16 16
====== == ==
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privlp.rows.grid import bits_of

FloatArray = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_DOUBLE, _LONG = 53, 62
_MOST_OF_ENTRIES, _MOST_OF_A_TERM = 21, 40

#: Sums over more records are not exact.
MOST_RECORDS = 2**31
#: Records of whose entries products add up exactly.
OF_PRODUCTS = 2**11
#: What records are shortened by, for what is rounded after the sum: see ``docs/proofs.md``.
SLACK = 2.0**-20


@dataclass(frozen=True)
class RecordGrid:
    """Bits after the point, public.

    Attributes
    ----------
    entries, weights : int
        q and p.
    """

    entries: int
    weights: int

    @classmethod
    def of(cls, most: int) -> RecordGrid:
        """The finest grid on which sums over at most so many records are exact.

        That for 2^31 records if the bound is larger: more of them are refused.

        Examples
        --------
        >>> from svm_models.record_grid import RecordGrid
        >>> RecordGrid.of(10**6), RecordGrid.of(10**8)
        (RecordGrid(entries=21, weights=19), RecordGrid(entries=17, weights=18))
        """
        left = _LONG - bits_of(min(most, MOST_RECORDS))
        entries = min(_MOST_OF_ENTRIES, left // 2)
        return cls(entries, min(_MOST_OF_A_TERM, left) - entries)

    @property
    def of_entry(self) -> float:
        """Units to 1 in an entry."""
        return 2.0**self.entries

    @property
    def of_half(self) -> float:
        """Units to 1/2 in a weight."""
        return 2.0 ** (self.weights - 1)

    def shorter(self, p: int) -> float:
        """Units to what a record of norm 1 is shortened to, so that rounding keeps it within 1."""
        return max(self.of_entry * (1 - SLACK) - math.sqrt(p), 0.0)

    def vector(self, values: FloatArray) -> tuple[FloatArray, float]:
        """Released columns in units whose products with records are exact, and the product's unit.

        Parameters
        ----------
        values : (p,) or (p, m) array
            A vector, or columns.
        """
        longest = float(np.sqrt(np.square(values).sum(axis=0)).max())
        # Rounding adds sqrt(p)/2 units at most, less than half of the largest norm.
        bits = _DOUBLE - 1 - self.entries - math.frexp(longest)[1]
        return np.rint(np.ldexp(values, bits)), 2.0 ** -(bits + self.entries)


@dataclass(frozen=True, eq=False)
class Whitening:
    """A whitening matrix on the grid.

    Attributes
    ----------
    grid : RecordGrid
    columns : (p, p) array
        Integers.
    unit : float
        Of a product of a record and a column.
    """

    grid: RecordGrid
    columns: FloatArray
    unit: float

    @classmethod
    def of(cls, matrix: FloatArray, grid: RecordGrid) -> Whitening:
        """The matrix, rounded."""
        return cls(grid, *grid.vector(matrix))

    def of_sum(self, total: Integers) -> FloatArray:
        """The matrix times a weighed sum of records: exact, then each entry is rounded once.

        The sum is cut into limbs so short that no partial sum exceeds 2^53.

        Parameters
        ----------
        total : (p,) array
            In units of an entry times a weight.
        """
        bits = self.grid.entries - math.ceil(math.log2(max(len(total), 1)) / 2)
        found: list[int] = [0] * len(total)
        sign, rest, power = np.sign(total), np.abs(total), 0
        while rest.any():
            limb = (sign * (rest & (2**bits - 1))).astype(np.float64)
            part = (limb @ self.columns).tolist()
            found = [each + (int(more) << power) for each, more in zip(found, part, strict=True)]
            rest, power = rest >> bits, power + bits
        unit = math.frexp(self.unit)[1] - 1 - self.grid.weights
        return np.array([math.ldexp(each, unit) for each in found])
