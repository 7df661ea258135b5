"""Rows in blocks that are read one after the other: only a few of them are in memory at a time.

What is prepared from a block (:meth:`~privlp.rows.door.Rows.keep`) is a pure function of the block
and of public or released values. So it need not be kept: it is prepared anew when it is wanted and
there is no room for it (:mod:`privlp.rows.memory`). Only what kernels changed is always kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from privlp.rows.door import BlockT_co, Result, Rows, State
from privlp.rows.memory import Memory, size_of
from privlp.rows.parts import slices

# Entries of a block of a memory map.
_ENTRIES = 2**22


def places_of_blocks(rows: int, columns: int) -> list[slice]:
    """Rows of each block of a matrix that is mapped to a file; of none, one block without a row."""
    return [*slices(rows, max(1, _ENTRIES // max(1, columns)))] or [slice(0, 0)]


class Blocks(Protocol[BlockT_co]):
    """Blocks of rows that can be read again and again."""

    def __len__(self) -> int: ...

    def read(self, wanted: Sequence[int]) -> Iterator[BlockT_co]:
        """These blocks, in this order, one at a time."""


class MadeBlocks(Blocks[BlockT_co]):
    """So many blocks, each made of its number."""

    def __init__(self, count: int, make: Callable[[int], BlockT_co]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def read(self, wanted: Sequence[int]) -> Iterator[BlockT_co]:
        return map(self._make, wanted)


class InBlocks(Rows[BlockT_co]):
    """Blocks of rows, read one after the other in every pass."""

    def __init__(self, blocks: Blocks[BlockT_co], limit: float) -> None:
        self._blocks, self.memory = blocks, Memory(limit)
        self._updates = False

    def __len__(self) -> int:
        return len(self._blocks)

    def _keep(self, prepare: Callable[[BlockT_co], State]) -> Rows[State]:
        return _Prepared(self, prepare)

    def _map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        return [kernel(state, *released) for state in self.states(range(len(self)))]

    def _update(self, kernel: Callable[..., None], *released: Any) -> None:
        self._updates = True
        try:
            self._map(kernel, *released)
        finally:
            self._updates = False

    def states(self, wanted: Sequence[int]) -> Iterator[Any]:
        """What is kept of these blocks, one at a time."""
        return self._blocks.read(wanted)

    def holds(self, number: int) -> bool:  # noqa: ARG002 (blocks as they are read are not held)
        """Whether what is kept of a block is in memory."""
        return False


class _Prepared(InBlocks[Any]):
    """What is prepared from each block of other rows."""

    def __init__(self, rows: InBlocks[Any], prepare: Callable[[Any], Any]) -> None:
        self._rows, self._prepare, self.memory = rows, prepare, rows.memory
        self._updates = False
        self.held_bytes = 0
        self._held: dict[int, Any] = {}
        self._replaced: dict[int, Any] = {}
        self._changed: dict[int, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def states(self, wanted: Sequence[int]) -> Iterator[Any]:
        self.memory.use(self)
        held = {i: self._held[i] for i in wanted if i in self._held} | self._replaced
        others = self._rows.states([i for i in wanted if i not in held])
        for i in wanted:
            state = held[i] if i in held else self._state(i, next(others))
            yield state
            self._remember(i, state)
        for _ in others:  # so that it remembers, too
            pass

    def _state(self, i: int, block: Any) -> Any:
        """What is kept of a block that was read, held from now on if there is room."""
        state = self._prepare(block)
        for name, value in self._changed.get(i, {}).items():
            setattr(state, name, value)
        size = size_of(state, besides=block if self._rows.holds(i) else None)
        if self.memory.has_room(size, *self._users()):
            self._held[i] = state
            self.held_bytes += size
        return state

    def _users(self) -> list[_Prepared]:
        """Whatever holds blocks on the way from the source to here."""
        below = self._rows._users() if isinstance(self._rows, _Prepared) else []
        return [*below, self]

    def _remember(self, i: int, state: Any) -> None:
        """Remember what a kernel changed."""
        if hasattr(state, "changes"):
            self._changed[i] = {name: getattr(state, name) for name in state.changes}
        elif self._updates:
            self._replaced[i] = state

    def holds(self, number: int) -> bool:
        return number in self._held

    def forget(self) -> None:
        """Hold no blocks but what changed."""
        self._held, self.held_bytes = {}, 0
