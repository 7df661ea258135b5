"""The private rows of a program that is read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privlp.problem.dask_rows import DaskRows
from privlp.problem.data import KnownProgram, ProgramData
from privlp.problem.program_in_blocks import of_a_block
from privlp.problem.standard_form import StandardForm
from privlp.problem.validation import is_mapped
from privlp.rows.door import Rows
from privlp.rows.in_blocks import InBlocks, MadeBlocks, places_of_blocks
from privlp.rows.memory import limit_for
from privlp.rows.on_cluster import current_client, program_on
from privlp.rows.program_rows import ProgramRows, RowBlock


def rows_of(lp: ProgramData) -> Rows[RowBlock]:
    """The private rows of a program, wherever they are."""
    if lp.in_blocks:
        client = current_client() if isinstance(lp.A, DaskRows) else None
        if client is not None:
            return program_on(client, lp)
        limit = np.inf if lp.A.in_memory_anyway else limit_for(lp.A.size)
        return InBlocks(SourceBlocks(lp), limit)
    if is_mapped(lp.A) and lp.neighbours.changes_whole_rows:
        places = places_of_blocks(*lp.shape)
        blocks = MadeBlocks(len(places), lambda number: _mapped_block(lp, places[number]))
        return InBlocks(blocks, limit_for(lp.A.nbytes))
    return ProgramRows(StandardForm.of(lp))


class SourceBlocks:
    """Blocks of a program that holds a source of rows."""

    def __init__(self, lp: ProgramData) -> None:
        self._lp, self._source = lp, lp.A

    def __len__(self) -> int:
        return len(self._source)

    def read(self, wanted: Sequence[int]) -> Iterator[RowBlock]:
        """These blocks, one at a time."""
        for number, (A, b) in zip(wanted, self._source.read(wanted), strict=True):
            form = StandardForm.of(of_a_block(self._lp, A, b))
            yield RowBlock(form, first=self._source.first_rows[number])


def _mapped_block(lp: ProgramData, rows: slice) -> RowBlock:
    """A few rows of a program whose matrix is mapped to a file: views of them."""
    own: dict[str, Any] = {
        name: getattr(lp, name)[rows] for name in ("A", "b", "row_lower", "private")
    }
    own["penalty"] = None if lp.penalty is None else lp.penalty[rows]
    return RowBlock(StandardForm.of(KnownProgram.of(lp, **own)), first=rows.start)
