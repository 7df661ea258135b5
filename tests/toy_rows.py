"""A source of rows in one file: the private rows of a program in several blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from privlp import LinearProgram
from privlp.problem.data import KnownProgram
from privlp.problem.standard_form import StandardForm
from privlp.rows.access import Rows
from privlp.rows.blocks import InBlocks
from privlp.rows.program_rows import RowBlock


class SplitRows(Rows[Any]):
    """Blocks of rows, one after the other."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self._blocks = list(blocks)

    def _keep(self, prepare: Callable[[Any], Any]) -> SplitRows:
        return SplitRows(map(prepare, self._blocks))

    def _map(self, kernel: Callable[..., Any], *released: Any) -> list[Any]:
        return [kernel(block, *released) for block in self._blocks]


def split_rows(lp: LinearProgram, cuts: Sequence[int]) -> SplitRows:
    """The private rows of a program in blocks that begin at these private rows."""
    blocks = np.split(np.flatnonzero(lp.private), cuts)
    return SplitRows(RowBlock(StandardForm.of(_with_rows(lp, rows))) for rows in blocks)


class ReadAnew:
    """Blocks of a program, each made whenever it is read."""

    def __init__(self, lp: LinearProgram, cuts: Sequence[int]) -> None:
        self._lp, self._parts = lp, np.split(np.flatnonzero(lp.private), cuts)

    def __len__(self) -> int:
        return len(self._parts)

    def read(self, wanted: Sequence[int]) -> Iterator[RowBlock]:
        """These blocks."""
        for i in wanted:
            yield RowBlock(StandardForm.of(_with_rows(self._lp, self._parts[i])))


def read_anew(lp: LinearProgram, cuts: Sequence[int], limit: float) -> InBlocks:
    """The private rows in blocks, of which so many bytes are held."""
    return InBlocks(ReadAnew(lp, cuts), limit)


def _with_rows(lp: LinearProgram, rows: Any) -> KnownProgram:
    per_row = {name: getattr(lp, name)[rows] for name in ("A", "b", "row_lower", "private")}
    penalty = None if lp.penalty is None else lp.penalty[rows]
    return KnownProgram.of(lp, **per_row, penalty=penalty)


class SplitProgram(LinearProgram):
    """A program whose private rows stand in three blocks."""

    @classmethod
    def like(cls, lp: LinearProgram) -> SplitProgram:
        """The same program."""
        return cls(**{field.name: getattr(lp, field.name) for field in fields(lp) if field.init})

    def rows(self) -> SplitRows:  # type: ignore[override]
        """The private rows."""
        count = int(self.private.sum())
        return split_rows(self, [count // 4, count // 2])
