"""Rows in the memory of this process: one block that holds them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privlp.rows.door import BlockT_co, Result, Rows, State


class InMemory(Rows[BlockT_co]):
    """One block of rows."""

    def __init__(self, block: BlockT_co) -> None:
        self._block = block

    def _keep(self, prepare: Callable[[BlockT_co], State]) -> Rows[State]:
        return InMemory(prepare(self._block))

    def _map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        return [kernel(self._block, *released)]
