"""Private rows A x <= b that are read block by block, because they need not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import WHY, FloatArray, unquoted
from privlp.errors import InvalidProblemError
from privlp.problem import validation

_UNREADABLE = f"A block of rows could not be read. {WHY} Read the block by itself to see it."


class Found(NamedTuple):
    """What a check finds in a block: public sizes, or what is wrong."""

    rows: int = 0
    columns: int = 0
    is_sparse: bool = False
    fault: str = ""


def cleaned(A: Any, b: Any) -> tuple[validation.Matrix, FloatArray]:
    """A block of rows for reading, and its right-hand sides; refused without data if malformed."""
    matrix = validation.matrix(A, quote=False, columns=0)
    meaning = "one right-hand side per row of A"
    return matrix, validation.vector(b, matrix.shape[0], "b", meaning, quote=False)


def inspected(A: Any, b: Any) -> Found:
    """Check a block."""
    try:
        matrix, _ = cleaned(A, b)
    except InvalidProblemError as error:
        return Found(fault=str(error))
    n, d = matrix.shape
    return Found(n, d, sp.issparse(matrix))


def other_blocks(sides: int, rows: int, advice: str = "", *, quote: bool) -> InvalidProblemError:
    """The refusal of sides in other blocks; how many there are tells how many rows, about."""
    counts = f"b has {sides} blocks, but A has {rows}"
    counts = counts if quote else "b and A differ in their blocks"
    return InvalidProblemError(
        f"{counts}: one block of right-hand sides for each block of rows.{advice}", parameter="b"
    )


class RowSource(ABC):
    """Rows A x <= b in blocks."""

    #: Bytes that prepared blocks may take in memory, ``None`` for the default; and a folder for the
    #: temporary file that holds those beyond, ``None`` where the system keeps such files.
    memory_limit: float | None = None
    spill_folder: str | None = None
    names: Any = None  #: Names of the variables, where the rows have some.

    @abstractmethod
    def __len__(self) -> int:
        """Number of blocks."""

    @abstractmethod
    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """A and b of these blocks, in this order, one block at a time."""

    def _name_of(self, number: int) -> str:
        """What messages call a block."""
        return f"A[{number}], a block of rows"

    def _inspected(self) -> list[Found]:
        """What is found in each block."""
        return [inspected(A, b) for A, b in self._raw(range(len(self)))]

    def check(self, *, quote: bool) -> None:
        """Check all blocks, and learn their shapes."""
        found = unquoted(self._inspected, _UNREADABLE, "A")
        for number, each in enumerate(found):
            name, fault = self._name_of(number) if quote else "A block of rows", ""
            if each.fault:
                fault = f"{name}: {each.fault}"
            elif each.columns != found[0].columns:
                fault = (
                    f"{name} has {each.columns} columns, but the first block has"
                    f" {found[0].columns}: one column per variable."
                )
            elif each.is_sparse != found[0].is_sparse:
                fault = "Some blocks of A are sparse and others are dense. Give all of one kind."
            if fault:
                raise InvalidProblemError(fault, parameter="A")
        self.rows_of_blocks = tuple(each.rows for each in found)
        self.first_rows = tuple(accumulate(self.rows_of_blocks[:-1], initial=0))
        self.shape = sum(self.rows_of_blocks), found[0].columns
        self.is_sparse = found[0].is_sparse
        if quote and not self.shape[0]:
            raise validation.empty(self.shape)

    def read(self, wanted: Sequence[int]) -> Iterator[tuple[validation.Matrix, FloatArray]]:
        """Clean blocks, in this order, one at a time."""
        raw = self._raw(wanted)
        for number in wanted:
            A, b = cleaned(*unquoted(lambda: next(raw), _UNREADABLE, "A"))
            if A.shape != (self.rows_of_blocks[number], self.shape[1]):
                raise InvalidProblemError("A block of rows changed its shape since it was checked.")
            yield A, b

    def of_each_block(self, compute: Any) -> list[Any]:
        """A function of A and b, for each block."""
        return [compute(A, b) for A, b in self.read(range(len(self)))]

    def in_memory(self) -> tuple[validation.Matrix, FloatArray]:
        """All rows at once."""
        blocks = list(self.read(range(len(self))))
        stack = sp.vstack if self.is_sparse else np.vstack
        A: Any = stack([A for A, _ in blocks])
        return (sp.csr_array(A) if self.is_sparse else A), np.concatenate([b for _, b in blocks])

    def __matmul__(self, x: npt.ArrayLike) -> FloatArray:
        """A x, (n,), block by block."""
        return np.concatenate(self.of_each_block(lambda A, _: A @ np.asarray(x)))

    def __repr__(self) -> str:
        return f"<rows in blocks, {'sparse' if self.is_sparse else 'dense'}>"


class Sides:
    """The right-hand sides of rows in blocks; an array of them is made when one is asked for."""

    def __init__(self, source: RowSource) -> None:
        self.source = source

    @property
    def shape(self) -> tuple[int]:
        """Number of rows."""
        return (self.source.shape[0],)

    def __len__(self) -> int:
        return self.source.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.concatenate(self.source.of_each_block(lambda _, b: b)).astype(dtype or float)

    def __repr__(self) -> str:
        return "<right-hand sides in blocks>"
