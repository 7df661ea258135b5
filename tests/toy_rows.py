"""A source of rows in one file: the private rows of a program in several blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import partial
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
    return SplitRows(_block(lp, rows) for rows in np.split(np.flatnonzero(lp.private), cuts))


def read_anew(lp: LinearProgram, cuts: Sequence[int], limit: float) -> InBlocks:
    """The private rows in blocks that are made when they are read; so many bytes are held."""
    parts = np.split(np.flatnonzero(lp.private), cuts)
    return InBlocks(len(parts), partial(map, lambda number: _block(lp, parts[number])), limit)


def _block(lp: LinearProgram, rows: Any) -> RowBlock:
    per_row = {name: getattr(lp, name)[rows] for name in ("A", "b", "row_lower", "private")}
    penalty = None if lp.penalty is None else lp.penalty[rows]
    return RowBlock(StandardForm.of(KnownProgram.of(lp, **per_row, penalty=penalty)))


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
