"""Private rows on a simplex whose entries all have one sign, scaled to the same norm."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.regions.simplex import Simplex
from privlp.rows.on_grid import CONSTANT_ROW, RowsOnGridOfSimplex
from privlp.rows.parts import Part
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# Units to 1 in a sum of how much rows vary: exact for any number of rows.
_UNITS = 2.0**20


class RowsOfOneSign(RowsOnGridOfSimplex):
    """Rows g_i = sqrt(2) a_i/||a_i||_2 whose entries all have a given sign; all other rows are 0.

    a_i holds the values A'_ij v_j at the vertices. The inner product of two such rows is not
    negative. So for weights z, z' in [0, 1] the difference of z g and z' g' has a norm of at most
    sqrt(2 + 2) = 2: no more than that of two rows of norm 1 of any sign
    (:class:`~privlp.rows.equal_norm.RowsOfEqualNorm`), although these are longer by sqrt(2). The
    sign is enforced: a row with an entry of the other sign counts for nothing, whatever the data.
    Everything here is a function of one row. Rounding keeps a sign, or makes a 0 of it.
    """

    largest_square = 2.0

    def __init__(self, block: RowBlock, simplex: Simplex, sign: int, *, largest_n: int) -> None:
        self._sign = sign
        super().__init__(block, simplex, largest_n=largest_n)

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
    or at least 0 (if both, neither), and r is the norm of the centred row over that of the row,
    rounded to a multiple of 2^-20. The four numbers of one row are in [0, 1], and two of them are
    0: their norm is at most sqrt(2).
    """
    found = np.zeros(4)
    for _, part in block.parts(simplex.vertices):
        total = part.sums()
        square = part.squares_about(np.zeros_like(total), simplex.size)
        low, high = part.extremes()
        mean_square = np.divide(
            total**2 / simplex.size,
            square,
            out=np.ones_like(total),
            where=square > CONSTANT_ROW**2,
        )
        ratio = np.rint(np.sqrt(np.clip(1.0 - mean_square, 0.0, 1.0)) * _UNITS)
        one, other = (low < 0) & ~(high > 0), (high > 0) & ~(low < 0)
        found += [one.sum() * _UNITS, ratio[one].sum(), other.sum() * _UNITS, ratio[other].sum()]
    return found / _UNITS
