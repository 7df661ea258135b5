"""Private rows on a simplex whose entries all have one sign, scaled to the same norm."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.regions.rounding import CONSTANT_ROW
from privlp.regions.simplex import Simplex
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]


class RowsOfOneSign:
    """Rows g_i = sqrt(2) a_i/||a_i||_2 whose entries all have a given sign; all other rows are 0.

    a_i holds the values A'_ij v_j at the vertices. The inner product of two such rows is not
    negative. So for weights z, z' in [0, 1] the difference of z g and z' g' has a norm of at most
    sqrt(2 + 2) = 2: no more than that of two rows of norm 1 of any sign
    (:class:`~privlp.rows.equal_norm.RowsOfEqualNorm`), although these are longer by sqrt(2). The
    sign is enforced: a row with an entry of the other sign counts for nothing, whatever the data.
    Everything here is a function of one row.

    Parameters
    ----------
    block : RowBlock
    simplex : Simplex
    sign : {-1, 1}
        The sign of the entries A'_ij v_j.
    """

    def __init__(self, block: RowBlock, simplex: Simplex, sign: int) -> None:
        self._rows, self._simplex = block, simplex
        square = np.zeros(len(block.rhs))
        wrong = np.zeros(len(block.rhs), dtype=bool)
        for j, vertex in enumerate(simplex.vertices):
            values = block.column(j) * vertex
            square += values**2
            wrong |= sign * values < 0
        norm = np.sqrt(square)
        counts = (norm > CONSTANT_ROW) & ~wrong
        self._scale = np.divide(math.sqrt(2.0), norm, out=np.zeros_like(norm), where=counts)
        self._rhs = self._scale * block.rhs

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return len(self._rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """-sum_i z_i g_i, one entry for each vertex."""
        return -self._simplex.vertices * self._rows.transposed_times(z * self._scale)

    def add_violations(self, answer: FloatArray, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations at a point u of the region to `out`."""
        out += step * (self._scale * (self._rows @ answer) - self._rhs)


def signs_and_spread(block: RowBlock, simplex: Simplex) -> FloatArray:
    """How many rows have one sign, and how much rows vary: four sums over rows.

    The sums of w, r w, w' and r w', where w and w' say whether all entries of a row are at most 0,
    or at least 0 (if both, neither), and r is the norm of the centred row over that of the row.
    The four numbers of one row are in [0, 1], and two of them are 0: their norm is at most sqrt(2).
    """
    rows = len(block.rhs)
    total, square = np.zeros(rows), np.zeros(rows)
    above, below = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    for j, vertex in enumerate(simplex.vertices):
        values = block.column(j) * vertex
        total += values
        square += values**2
        above |= values > 0
        below |= values < 0
    mean_square = np.divide(
        total**2 / simplex.size, square, out=np.ones(rows), where=square > CONSTANT_ROW**2
    )
    ratio = np.sqrt(np.clip(1.0 - mean_square, 0.0, 1.0))
    one, other = below & ~above, above & ~below
    return np.array([one.sum(), ratio[one].sum(), other.sum(), ratio[other].sum()])
