"""The private rows of a program, wherever they are; blocks of rows that are read in every pass.

What is prepared from a block is a pure function of it and of released values: so it is prepared
anew where there is no room for it, and results do not depend on that, not in the last bit. Room is
``PRIVLP_MEMORY`` megabytes, :func:`using_memory` bytes, or by default 3/16 of the size of the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from privlp.problem.data import KnownProgram, ProgramData, of_a_block
from privlp.problem.standard_form import StandardForm
from privlp.problem.validation import is_mapped
from privlp.readers.blocks import DaskRows
from privlp.rows.access import BlockT_co, Result, Rows, State
from privlp.rows.cluster import current_client, program_on
from privlp.rows.program_rows import ProgramRows, RowBlock

_ASKED = os.environ.get("PRIVLP_MEMORY", "")
_BYTES: ContextVar[float | None] = ContextVar(
    "_BYTES", default=float(_ASKED) * 1e6 if _ASKED.isdecimal() else None
)
_SHARE = 3 / 16
# Entries of a block of a memory map.
_ENTRIES = 2**22
_OF_ROWS = ("A", "b", "row_lower", "private", "penalty")


@contextmanager
def using_memory(size: float) -> Iterator[None]:
    """So many bytes for prepared blocks within this context."""
    token = _BYTES.set(size)
    try:
        yield
    finally:
        _BYTES.reset(token)


def limit_for(size: float) -> float:
    """How many bytes may stay in memory of data of a size."""
    asked = _BYTES.get()
    return _SHARE * size if asked is None else asked


class Memory:
    """Room for prepared blocks; whoever used them least recently gives way."""

    def __init__(self, limit: float) -> None:
        self._limit, self._uses = limit, count()
        self._last_use: WeakKeyDictionary[_Prepared, int] = WeakKeyDictionary()

    def use(self, holder: _Prepared) -> None:
        """Note that a holder is in use."""
        self._last_use[holder] = next(self._uses)

    def has_room(self, size: int, *users: _Prepared) -> bool:
        """Whether so many bytes more may be held, if need be in place of others than the users'."""
        if size > self._limit:
            return False
        while sum(holder.held_bytes for holder in self._last_use) + size > self._limit:
            others = [each for each in self._last_use if each.held_bytes and each not in users]
            if not others:
                return False
            min(others, key=lambda holder: self._last_use[holder]).forget()
        return True


def size_of(thing: Any, besides: Any = None) -> int:
    """Bytes of all arrays of an object, but those of another and those mapped to a file."""
    seen: set[int] = set()
    _add_up(besides, seen)
    return _add_up(thing, seen)


def _add_up(thing: Any, seen: set[int]) -> int:
    array = isinstance(thing, np.ndarray)
    place = thing.__array_interface__["data"][0] if array else id(thing)
    if place in seen:
        return 0
    seen.add(place)
    if array:
        return 0 if is_mapped(thing) else thing.nbytes
    return sum(_add_up(part, seen) for part in _parts(thing))


def _parts(thing: Any) -> Iterable[Any]:
    """What an object of ours, a sparse array or a container holds."""
    if isinstance(thing, list | tuple):
        return thing
    if isinstance(thing, dict):
        return thing.values()
    ours = type(thing).__module__.partition(".")[0] in ("privlp", "svm_models")
    return getattr(thing, "__dict__", {}).values() if ours or sp.issparse(thing) else ()


def places_of_blocks(rows: int, columns: int) -> list[slice]:
    """Rows of each block of a matrix that is mapped to a file; of none, one block without a row."""
    step = max(1, _ENTRIES // max(1, columns))
    return [slice(k, min(k + step, rows)) for k in range(0, rows, step)] or [slice(0, 0)]


class Blocks(Protocol[BlockT_co]):
    """Blocks of rows that can be read again and again."""

    def __len__(self) -> int: ...

    def read(self, wanted: Sequence[int]) -> Iterator[BlockT_co]:
        """These blocks, in this order, one at a time."""


class MadeBlocks(Blocks[BlockT_co]):
    """So many blocks, each made of its number."""

    def __init__(self, number: int, make: Callable[[int], BlockT_co]) -> None:
        self._number, self._make = number, make

    def __len__(self) -> int:
        return self._number

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

    def _users(self) -> list[_Prepared]:
        return []


class _Prepared(InBlocks[Any]):
    """What is prepared from each block of other rows."""

    def __init__(self, rows: InBlocks[Any], prepare: Callable[[Any], Any]) -> None:
        self._rows, self._prepare, self.memory = rows, prepare, rows.memory
        self._updates, self.held_bytes = False, 0
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
            if hasattr(state, "changes"):  # remember what a kernel changed
                self._changed[i] = {name: getattr(state, name) for name in state.changes}
            elif self._updates:
                self._replaced[i] = state
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
        return [*self._rows._users(), self]

    def holds(self, number: int) -> bool:
        return number in self._held

    def forget(self) -> None:
        """Hold no blocks but what changed."""
        self._held, self.held_bytes = {}, 0


def private_rows(lp: ProgramData) -> Rows[RowBlock]:
    """The private rows of a program, wherever they are."""
    if lp.in_blocks:
        client = current_client() if isinstance(lp.A, DaskRows) else None
        if client is not None:
            return program_on(client, lp)
        limit = np.inf if lp.A.in_memory_anyway else limit_for(lp.A.size)
        return InBlocks(SourceBlocks(lp), limit)
    if is_mapped(lp.A) and lp.neighbours.changes_whole_rows:
        places = places_of_blocks(*lp.shape)
        names = [name for name in _OF_ROWS if getattr(lp, name) is not None]

        def block(number: int) -> RowBlock:
            """A few rows: views of them."""
            rows = places[number]
            own = {name: getattr(lp, name)[rows] for name in names}
            return RowBlock(StandardForm.of(KnownProgram.of(lp, **own)), first=rows.start)

        return InBlocks(MadeBlocks(len(places), block), limit_for(lp.A.nbytes))
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
