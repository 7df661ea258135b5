"""Rows in the memory of this process: one block that holds them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privlp.rows.door import Block, Result, Rows, State


class InMemory(Rows[Block]):
    """One block of rows.

    Parameters
    ----------
    block
        The rows, in whatever form the kernels read.
    """

    def __init__(self, block: Block) -> None:
        self._block = block

    def keep(self, prepare: Callable[[Block], State]) -> Rows[State]:
        return InMemory(prepare(self._block))

    def map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        return [kernel(self._block, *released)]
