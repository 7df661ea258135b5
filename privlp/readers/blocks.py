"""Rows in blocks: a sequence of arrays or memory maps, or a Dask collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import as_floats, unquoted
from privlp.errors import InvalidProblemError
from privlp.problem.row_source import Found, RowSource, Sides, inspected, other_blocks
from privlp.problem.validation import is_mapped
from privlp.tables import is_dask, is_table

_SIDES = (
    "b does not have one right-hand side per row of A. Give one array for all rows, or a sequence"
    " with one array for each block."
)


class BlockSequence(RowSource):
    """Blocks A[i] with right-hand sides b[i]."""

    def __init__(self, A: Sequence[Any], b: Any, *, quote: bool) -> None:
        self._A, self._b = A, in_blocks(b, A, partial(as_floats, name="b"), _SIDES, "b")
        if len(self._b) != len(A):
            raise other_blocks(len(self._b), len(A), quote=quote)
        if isinstance(A, list | tuple) and not any(map(is_mapped, A)):
            self.memory_limit = np.inf  # rows are in memory anyway

    def __len__(self) -> int:
        return len(self._A)

    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        for number in wanted:
            yield self._A[number], self._b[number]


def is_sequence_of_blocks(A: Any) -> bool:
    """Whether A is a sequence of matrices, and not the rows of one matrix."""
    if isinstance(A, list | tuple):
        return bool(A) and all(map(_is_matrix, A))
    if not isinstance(A, Sequence) or isinstance(A, str | bytes | bytearray | memoryview):
        return False
    return len(A) > 0 and _is_matrix(A[0])


def _is_matrix(block: Any) -> bool:
    if sp.issparse(block) or isinstance(block, np.ndarray):
        return block.ndim == 2
    return is_table(block)


def in_blocks(
    values: Any, blocks: Sequence[Any], read: Callable[[Any], Any], message: str, parameter: str
) -> Any:
    """Numbers or labels of each block, cut if given for all rows; else refused by the message."""
    several = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    if several and unquoted(lambda: np.ndim(values[0]), message, parameter) > 0:
        return values
    found = read(values)
    ends = np.cumsum([0] + [block.shape[0] for block in blocks])
    if found.shape != (ends[-1],):
        raise InvalidProblemError(message, parameter=parameter)
    return [found[low:high] for low, high in pairwise(ends.tolist())]


class DaskRows(RowSource):
    """Rows A x <= b in the chunks of an array, or in the partitions of a data frame."""

    def __init__(self, A: Any, b: Any, *, quote: bool) -> None:
        self.names = getattr(A, "columns", None)
        if is_dask(b):
            _check_chunks(A, b)
        else:
            b = _like(A, b)
        rows, sides = ([*np.ravel(each.to_delayed())] for each in (A, b))
        if len(rows) != len(sides):
            advice = " Take both from the same collection."
            raise other_blocks(len(sides), len(rows), advice, quote=quote)
        self.blocks = list(zip(rows, sides, strict=True))

    def __len__(self) -> int:
        return len(self.blocks)

    def _name_of(self, number: int) -> str:
        return f"Block {number} of A"

    def _inspected(self) -> list[Found]:
        """Blocks are inspected where they are."""
        import dask  # noqa: PLC0415 (an extra; A is made by it)

        task = dask.delayed(inspected, pure=False)
        return list(dask.compute(*(task(A, b) for A, b in self.blocks)))

    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        import dask  # noqa: PLC0415 (an extra; A is made by it)

        for number in wanted:
            yield dask.compute(*self.blocks[number])


def _check_chunks(A: Any, b: Any) -> None:
    """Refuse chunks that hold parts of rows, or that differ."""
    chunks = getattr(A, "chunks", None)
    if chunks is None:
        return
    if A.ndim != 2:
        raise InvalidProblemError(
            f"A must be a matrix of shape (n, d), got {A.ndim} dimension(s).", parameter="A"
        )
    if len(chunks[1]) > 1:
        raise InvalidProblemError(
            "The columns of A are in several chunks, but each block must hold whole rows. Give"
            " A.rechunk({1: -1}).",
            parameter="A",
        )
    sides = getattr(b, "chunks", None)
    if sides is not None and not np.array_equal(chunks[0], sides[0], equal_nan=True):
        raise InvalidProblemError(
            "The rows of A and b are not in the same chunks. Give b.rechunk((A.chunks[0],)).",
            parameter="b",
        )


def _like(A: Any, b: Any) -> Any:
    """Right-hand sides in memory, in the chunks of A."""
    import dask.array  # noqa: PLC0415 (an extra; A is made by it)

    sides, chunks = as_floats(b, "b"), getattr(A, "chunks", ((np.nan,),))
    _check_chunks(A, sides)
    if sides.shape != (np.sum(chunks[0]),):
        raise InvalidProblemError(
            "b does not have one right-hand side per row of A. Take both from one Dask collection.",
            parameter="b",
        )
    return dask.array.from_array(sides, chunks=(chunks[0],))


def blocks_of(A: Any, b: Any, *, quote: bool) -> RowSource | None:
    """Rows in blocks, checked; or ``None``, if A is a matrix."""
    if isinstance(A, RowSource):
        if not isinstance(b, Sides) or b.source is not A:
            raise InvalidProblemError(
                "Rows in blocks come with their own right-hand sides. Make a new program of both.",
                parameter="b",
            )
        return A
    if not is_dask(A) and not is_sequence_of_blocks(A):
        return None
    source = (DaskRows if is_dask(A) else BlockSequence)(A, b, quote=quote)
    source.check(quote=quote)
    return source
