"""A share of the private rows, for stages of a descent that need no more: secret coins decide.

Whether a row belongs to the share is decided by a coin of its own, from a stream cipher with a
secret key; the place of the row among the user's rows says which coin of the stream is its own.
Given the coins, a sum over the share is a sum over all rows, of terms that are 0 at the other
places, and where a record is replaced its sensitivity is that of the whole sum.

The coins are secret because places may follow from the records: a table may be sorted by a private
column. Then a record that is replaced moves the places of others. Rows that change places change
nothing about the law of a sum over a share that independent coins decide. But a public pattern of
places would read other rows thereafter, as many as moved.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from randomgen import ChaCha

from privlp.rows.program_rows import RowBlock

# Words of a block of the cipher, of 32 bits each: a coin is a word.
_OF_A_BLOCK = 16


def share_of(block: RowBlock, share: float, key: int) -> RowBlock:
    """The rows of a block that belong to a share of all rows.

    Parameters
    ----------
    share : float
        Between 0 and 1, public. Both sides of a row belong to it, or none.
    """
    form = block.form
    kept = (_coins(key, block.first, form.lp.shape[0]) < share * 2.0**32)[form.row]
    smaller = dataclasses.replace(
        form, row=form.row[kept], row_sign=form.row_sign[kept], rhs=form.rhs[kept]
    )
    return RowBlock(smaller, first=block.first)


def _coins(key: int, first: int, count: int) -> npt.NDArray[np.uint32]:
    """The words of the stream from a place on, whichever block of rows asks for them."""
    skipped = first % _OF_A_BLOCK
    cipher = ChaCha(key=key, counter=first - skipped, rounds=20)
    words = np.asarray(cipher.random_raw((skipped + count + 1) // 2), dtype="<u8").view("<u4")
    return words[skipped : skipped + count]
