"""Rows in Dask collections: arrays or data frames whose blocks may lie on other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privlp.checks import as_floats
from privlp.errors import InvalidProblemError
from privlp.problem.row_source import Found, RowSource, inspected, other_blocks


class DaskRows(RowSource):
    """Rows A x <= b in the chunks of an array, or in the partitions of a data frame."""

    def __init__(self, A: Any, b: Any, *, quote: bool) -> None:
        if is_dask(b):
            _check_chunks(A, b)
        else:
            b = _like(A, b)
        rows, sides = ([*np.ravel(each.to_delayed())] for each in (A, b))
        if len(rows) != len(sides):
            raise other_blocks(
                len(sides), len(rows), " Take both from the same collection.", quote=quote
            )
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


def is_dask(thing: Any) -> bool:
    """Whether something is a collection of Dask, which is imported then."""
    return type(thing).__module__.partition(".")[0] == "dask" and hasattr(thing, "to_delayed")


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
