"""Programs whose rows are read block by block: what they may hold, and what is public of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import is_real
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem.block_sequences import BlockSequence, is_sequence_of_blocks
from privlp.problem.dask_rows import DaskRows, is_dask
from privlp.problem.data import KnownProgram, ProgramData
from privlp.problem.row_source import RowSource, Sides

FloatArray = npt.NDArray[np.float64]

#: What a row of a block may not have: by argument, what to do instead.
_ONLY_IN_MEMORY = {
    "private": "All rows in blocks are private. Put public limits on variables into bounds, or hold"
    " the program in memory.",
    "row_lower": "Rows in blocks say A x <= b. Write -A x <= -row_lower for a lower side.",
    "groups": "State the most rows of one record in the relation:"
    " ConstraintPrivate(rows_per_record=k).",
    "row_names": "Rows in blocks have no names.",
}


def source_of(A: Any, b: Any, *, quote: bool) -> RowSource | None:
    """Rows in blocks, checked; or ``None``, if A is a matrix."""
    if isinstance(A, RowSource):
        if not isinstance(b, Sides) or b.source is not A:
            raise InvalidProblemError(
                "Rows in blocks come with their own right-hand sides. Make a new program of both.",
                parameter="b",
            )
        return A
    if is_dask(A):
        source: RowSource = DaskRows(A, b, quote=quote)
    elif is_sequence_of_blocks(A):
        source = BlockSequence(A, b, quote=quote)
    else:
        return None
    source.check(quote=quote)
    return source


def check_in_blocks(lp: ProgramData) -> None:
    """Refuse what needs all rows at once."""
    if not lp.neighbours.changes_whole_rows or not hasattr(lp.neighbours, "rows_per_record"):
        raise InvalidProblemError(
            "Rows in blocks are for neighbours=ConstraintPrivate(...). Other relations read numbers"
            " by their places in the program, so all rows must be in memory.",
            parameter="neighbours",
        )
    plain = {"private": True, "row_lower": -np.inf}  # of a program that was made in blocks
    for name, advice in _ONLY_IN_MEMORY.items():
        value = getattr(lp, name)
        if value is not None and not _is_constant(value, plain.get(name)):
            raise InvalidParameterError(
                f"{name} cannot be given for rows in blocks. {advice}", parameter=name
            )
    if not (lp.penalty is None or is_real(lp.penalty) or _is_constant(lp.penalty)):
        raise InvalidParameterError(
            "penalty must be one number for all rows where rows are in blocks.", parameter="penalty"
        )


def _is_constant(values: Any, value: Any = None) -> bool:
    """Whether an array repeats one value, and holds it only once."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.strides != (0,):
        return False
    return value is None or not len(values) or bool(values[0] == value)


def few_rows(lp: ProgramData) -> KnownProgram:
    """As many rows as one record may own, of zeros: all that is public of rows is seen in them."""
    count = min(lp.shape[0], lp.neighbours.rows_per_record)
    empty = np.zeros((count, lp.shape[1]))
    return of_a_block(lp, sp.csr_array(empty) if lp.is_sparse else empty, np.zeros(count))


def of_a_block(lp: ProgramData, A: Any, b: FloatArray) -> KnownProgram:
    """The program of the rows of one block."""
    count = len(b)
    price = None if lp.penalty is None else next(iter(lp.penalty), np.inf)
    return KnownProgram.of(
        lp,
        A=A,
        b=b,
        row_lower=np.broadcast_to(-np.inf, count),
        private=np.broadcast_to(True, count),
        penalty=None if price is None else np.full(count, price),
    )
