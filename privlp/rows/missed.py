"""Which private rows a point misses, and by how much that is measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.problem.standard_form import row_by_row
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# Rounding of A x, as a share of a row's size.
_ROUNDING = 1e-12


def too_many_missed(fewest: float, s: float) -> str:
    """What to say where the fewest missed rows, by noisy counts, are more than s; or nothing."""
    if fewest <= s:
        return ""
    return (
        f"No point was found that misses so few rows: by noisy counts at least {fewest:,.0f} are"
        f" missed at every cost that was tried, not s = {s:g}. Give a larger s or eps, or check"
        " that so many rows can be satisfied."
    )


class MeasuredRows:
    """Private rows in the user's variables, each with its own measure of a violation.

    A row counts as missed at x if A_i x - b_i exceeds `alpha` ||A_i||_2; or, without an alpha, 1 %
    of |b_i|. Where b_i is 0, it is 1 % of sum_j |A_ij x_j| instead. Each number of a row is
    computed from that row alone, by the same additions in the same order for every row.

    Parameters
    ----------
    block : RowBlock
    alpha : float, optional
    share : float, optional
        The violation that counts without an alpha, as a share of |b_i|; 1 % by default.
    """

    #: The violation that counts, as a share of |b_i|.
    SHARE = 0.01

    def __init__(self, block: RowBlock, alpha: float | None = None, share: float = SHARE) -> None:
        form, lp = block.form, block.form.lp
        self.block, self._form = block, form
        self.sign = form.row_sign.astype(float)
        self.side = np.where(self.sign > 0, lp.b[form.row], -lp.row_lower[form.row])
        self._norms = None if alpha is None else alpha * form.row_norms()[form.row]
        self._share = share
        self._no_side = self.side == 0

    def missed(self, x: FloatArray) -> int:
        """Number of rows that x misses."""
        beyond = self.sign * self._form.activity(x)[self._form.row] - self.side
        allowed = self._share * self.sizes(x) if self._norms is None else self._norms
        return int(np.count_nonzero(beyond > allowed + _ROUNDING * self.sizes(x)))

    def sizes(self, x: FloatArray) -> FloatArray:
        """|b_i|, or sum_j |A_ij x_j| where that is 0."""
        size = np.abs(self.side)
        if self._no_side.any():
            at_x = row_by_row(abs(self._form.lp.A), np.abs(x))[self._form.row]
            size = np.where(self._no_side, at_x, size)
        return size
