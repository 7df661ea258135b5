"""All rows of a program, of which one is selected each round."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.standard_form import StandardForm
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]


class SelectableRows:
    """All ``<=`` rows of a block, public ones among them, one of which is selected each round."""

    def __init__(self, block: RowBlock) -> None:
        lp = block.lp
        form = StandardForm.of(lp, every_row=True)
        self._form = form
        self._A = sp.csr_array(lp.A) if lp.is_sparse else lp.A
        above = form.row_sign > 0
        self._rhs = np.where(above, lp.b[form.row], -lp.row_lower[form.row])
        self._plain = len(form.row) == lp.shape[0] and bool(above.all())

    def violations(self, x: FloatArray) -> FloatArray:
        """Violation of each row at a released point, in the order of the form."""
        activity = np.asarray(self._A @ x)
        if self._plain:
            return activity - self._rhs
        return self._form.row_sign * activity[self._form.row] - self._rhs

    def coefficients(self, side: int) -> FloatArray:
        """The coefficients of a selected row, (d,): private where A is."""
        row = int(self._form.row[side])
        entries = self._A[[row]].toarray()[0] if self._form.lp.is_sparse else self._A[row]
        return self._form.row_sign[side] * entries
