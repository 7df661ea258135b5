"""A share of the private rows, for stages of a descent that need no more: places decide.

Whether a row belongs to the share is a public function of its place among the user's rows. So a sum
over the share is a sum over all rows, of terms that are 0 at the other places, and where a record
is replaced its sensitivity is that of the whole sum. Where records are added or removed, the places
of others are private. Then there is no such share.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from privlp.rows.program_rows import RowBlock

# Multiples of the golden ratio, modulo 1, are spread evenly, also over any stretch of the rows.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def share_of(block: RowBlock, share: float) -> RowBlock:
    """The rows of a block that belong to a share of all rows.

    Parameters
    ----------
    block : RowBlock
    share : float
        Between 0 and 1, public. Both sides of a row belong to it, or none.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram
    >>> from privlp.problem.standard_form import StandardForm
    >>> from privlp.rows.program_rows import RowBlock
    >>> lp = LinearProgram([1.0], np.ones((8, 1)), np.arange(8.0))
    >>> share_of(RowBlock(StandardForm.of(lp)), 0.3).rhs
    array([0., 2., 5.])
    """
    form = block.form
    places = np.arange(block.first, block.first + form.lp.shape[0], dtype=np.uint64)
    kept = (places * _GOLDEN < share * 2.0**64)[form.row]
    smaller = dataclasses.replace(
        form, row=form.row[kept], row_sign=form.row_sign[kept], rhs=form.rhs[kept]
    )
    return RowBlock(smaller, first=block.first)
