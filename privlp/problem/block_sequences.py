"""Rows in a sequence of blocks: arrays in memory, memory maps, or whatever makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import as_floats, unquoted
from privlp.errors import InvalidProblemError
from privlp.problem.row_source import RowSource, other_blocks
from privlp.problem.validation import is_mapped

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
        self.in_memory_anyway = isinstance(A, list | tuple) and not any(map(is_mapped, A))

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
    return hasattr(block, "columns") and hasattr(block, "index")


def in_blocks(
    values: Any, blocks: Sequence[Any], read: Callable[[Any], Any], message: str, parameter: str
) -> Any:
    """Numbers or labels of each block, cut if they were given for all rows at once.

    Raises
    ------
    InvalidProblemError
        With the message, if there is not one for each row.
    """
    several = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    if several and unquoted(lambda: np.ndim(values[0]), message, parameter) > 0:
        return values
    found = read(values)
    ends = np.cumsum([0] + [block.shape[0] for block in blocks])
    if found.shape != (ends[-1],):
        raise InvalidProblemError(message, parameter=parameter)
    return [found[low:high] for low, high in pairwise(ends.tolist())]
