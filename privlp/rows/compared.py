"""By how much soft rows cost more at one point than at another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.rows.parts import slices
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# Units to 1 in what a row says, and rows at a time.
_UNITS, _SOME = 2.0**20, 2**15


class ComparedRows:
    """Soft rows in the user's variables, each with its price.

    Parameters
    ----------
    block : RowBlock
    largest_price : float
        The price that counts as 1.
    """

    def __init__(self, block: RowBlock, largest_price: float) -> None:
        self._form = block.form
        price = np.zeros(len(block.form.row)) if block.price is None else block.price
        self._weight = price / largest_price

    def costlier(self, x: FloatArray, other: FloatArray, limit: float) -> float:
        """Sum over sides of rows of what they cost more at x than at the other point.

        A side adds its weight times the difference of its two violations over the limit, within -1
        and 1: a number of its row alone, rounded towards 0 to a multiple of 2^-20. So the sum is
        exact. The two sides of a row never add numbers of one sign: what moves a row beyond one
        side moves it away from the other. What is no number counts 0.
        """
        form, found = self._form, 0.0
        here, there = form.activity(x), form.activity(other)
        for rows in slices(len(form.row), _SOME):
            sign, row, sides = form.row_sign[rows].astype(float), form.row[rows], form.sides(rows)
            at_x = np.maximum(sign * here[row] - sides, 0.0)
            at_other = np.maximum(sign * there[row] - sides, 0.0)
            more = np.clip((at_x - at_other) / limit, -1.0, 1.0)
            more[np.isnan(more)] = 0.0
            found += float(np.trunc(self._weight[rows] * more * _UNITS).sum())
        return found / _UNITS
