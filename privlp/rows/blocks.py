"""The private rows of a program, wherever they are; blocks of rows that are read in every pass.

What is prepared from a block is a pure function of it and of released values. It stays in memory as
far as a limit allows, and else in a temporary file. Where that is full it is prepared anew. Results
do not depend on that, not in the last bit.
"""

from __future__ import annotations

import copy
import os
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import InvalidParameterError
from privlp.problem.data import (
    KnownProgram,
    ProgramData,
    is_mapped,
    of_a_block,
    prices_of_block,
)
from privlp.problem.standard_form import StandardForm
from privlp.problem.validation import RowSource
from privlp.readers.blocks import DaskRows
from privlp.rows.access import BlockT_co, Result, Rows, State
from privlp.rows.beyond_memory import BlockInFile, SpillFile, current_client, program_on
from privlp.rows.program_rows import ProgramRows, RowBlock

_ASKED = os.environ.get("PRIVLP_MEMORY", "")
#: How many bytes prepared blocks may take in memory where nothing else is asked for.
MEMORY = float(_ASKED) * 1e6 if _ASKED.isdecimal() else 2.0**29
# Of a block that adds less than this share to what it was prepared from, that is kept alone.
_LITTLE = 0.2
# Entries of a block of a memory map.
_ENTRIES = 2**22
_OF_ROWS = ("A", "b", "row_lower", "private", "penalty")
_FULL = (
    "Prepared rows could not be written to a temporary file (is the disk full?). They are prepared"
    " anew in every round instead: the same results, but slower. Allow more by memory_limit or"
    " PRIVLP_MEMORY, or have the file in another folder by spill_folder or TMPDIR."
)


class Memory:
    """So many bytes in memory for prepared blocks, and a folder for those beyond."""

    def __init__(self, limit: float, folder: str | None = None) -> None:
        self._limit, self._folder = limit, folder
        self.holders: WeakSet[_Prepared] = WeakSet()  # what they hold counts while they are used
        self._full = False

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may be held."""
        return sum(holder.held_bytes for holder in self.holders) + size <= self._limit

    def write(self, state: Any, holder: _Prepared) -> BlockInFile | None:
        """Write a state to the holder's file; ``None`` if that fails."""
        if self._full:
            return None
        try:
            if holder.file is None:
                holder.file = SpillFile(self._folder, holder.public)
            return holder.file.write(state)
        except OSError:
            self._full = True
            with suppress(RuntimeWarning):  # where warnings are errors, a paid solve goes on
                warnings.warn(_FULL, RuntimeWarning, stacklevel=2)
        except (pickle.PicklingError, AttributeError, TypeError, InvalidParameterError):
            pass  # nothing that is prepared here, but perhaps in a method of the user's own
        return None


def size_of(thing: Any, besides: Any = None, *, mapped: bool = False) -> int:
    """Bytes of all arrays of an object, but those of another and those mapped to a file."""
    seen: set[int] = set()
    for _ in _arrays_of(besides, seen):
        pass
    return sum(each.nbytes for each in _arrays_of(thing, seen) if mapped or not is_mapped(each))


def _arrays_of(thing: Any, seen: set[int]) -> Iterator[npt.NDArray[Any]]:
    array = isinstance(thing, np.ndarray)
    place = thing.__array_interface__["data"][0] if array else id(thing)
    if place in seen:
        return
    seen.add(place)
    if array:
        yield thing
    else:
        for part in _parts(thing):
            yield from _arrays_of(part, seen)


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


class InBlocks(Rows[BlockT_co]):
    """So many blocks of rows, read one after the other in every pass."""

    def __init__(
        self,
        number: int,
        read: Callable[[Sequence[int]], Iterator[BlockT_co]],
        limit: float,
        folder: str | None = None,
    ) -> None:
        self._number, self._read, self.memory = number, read, Memory(limit, folder)
        self._updates = False

    def __len__(self) -> int:
        return self._number

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

    def states(self, wanted: Sequence[int], *, retain: bool = True) -> Iterator[Any]:  # noqa: ARG002
        """What is kept of these blocks, one at a time; retained if there is room, and need be."""
        return self._read(wanted)

    def holds(self, number: int) -> bool:  # noqa: ARG002 (blocks as they are read are not held)
        """Whether what is kept of a block is in memory."""
        return False


class _Prepared(InBlocks[Any]):
    """What is prepared from each block of other rows."""

    def __init__(self, rows: InBlocks[Any], prepare: Callable[[Any], Any]) -> None:
        self._rows, self._prepare, self.memory = rows, prepare, rows.memory
        self._updates, self.held_bytes = False, 0
        self._held: dict[int, Any] = {}
        self._replaced: dict[int, Any] = {}
        self._changed: dict[int, dict[str, Any]] = {}
        self.file: SpillFile | None = None
        own = [*getattr(prepare, "args", ()), *getattr(prepare, "keywords", {}).values()]
        self.public = [each for each in own if hasattr(each, "__dict__")]
        self._written: dict[int, BlockInFile] = {}
        # Blocks of which nothing is retained here.
        self._passing: set[int] = set()
        self.memory.holders.add(self)

    def __len__(self) -> int:
        return len(self._rows)

    def states(self, wanted: Sequence[int], *, retain: bool = True) -> Iterator[Any]:
        held = {i: self._held[i] for i in wanted if i in self._held} | self._replaced
        others = self._rows.states(
            [i for i in wanted if i not in held and i not in self._written], retain=False
        )
        for i in wanted:
            state = held[i] if i in held else self._state(i, others, retain=retain)
            yield state
            if hasattr(state, "changes"):  # remember what a kernel changed
                self._changed[i] = {name: getattr(state, name) for name in state.changes}
            elif self._updates:
                self._replaced[i] = state
        for _ in others:  # so that it remembers, too
            pass

    def _state(self, i: int, others: Iterator[Any], *, retain: bool) -> Any:
        """What is kept of a block: from the file, or prepared from the next of the others."""
        if self.file is not None and i in self._written:
            state, block = self.file.read(self._written[i]), None
            if self._updates and not hasattr(state, "changes"):
                state = copy.deepcopy(state)  # to stay in memory from now on
        else:
            block = next(others)
            state = self._prepare(block)
        for name, value in self._changed.get(i, {}).items():
            setattr(state, name, value)
        if retain and block is not None:
            self._retain(i, state, block)
        return state

    def _retain(self, i: int, state: Any, block: Any = None) -> None:
        """Keep a state, in memory or in the file; or the block, if the state adds little to it."""
        if i in self._passing or i in self._held or i in self._written:
            return
        parent = self._rows if isinstance(self._rows, _Prepared) else None
        size, place = size_of(state, besides=None if parent is None else block), None
        little = size < _LITTLE * size_of(state, mapped=True)
        if parent is not None and little:
            parent._retain(i, block)
        whole = size if self._rows.holds(i) else size_of(state)
        if (parent is None or not little or parent.holds(i)) and self.memory.has_room(whole):
            self._held[i] = state
            self.held_bytes += whole
        elif not little and (place := self.memory.write(state, self)) is not None:
            self._written[i] = place
        else:
            self._passing.add(i)

    def holds(self, number: int) -> bool:
        return number in self._held


def private_rows(lp: ProgramData) -> Rows[RowBlock]:
    """The private rows of a program, wherever they are."""
    if lp.in_blocks:
        client = current_client() if isinstance(lp.A, DaskRows) else None
        if client is not None:
            return program_on(client, lp)
        source: RowSource = lp.A
        limit = MEMORY if source.memory_limit is None else source.memory_limit
        read = partial(_read, lp)
        return InBlocks(len(source), read, limit, source.spill_folder).keep(lambda block: block)
    if is_mapped(lp.A) and lp.neighbours.changes_whole_rows:
        places = places_of_blocks(*lp.shape)
        read = partial(_views, lp, places)
        return InBlocks(len(places), read, MEMORY)
    return ProgramRows(StandardForm.of(lp))


def _views(lp: ProgramData, places: Sequence[slice], wanted: Sequence[int]) -> Iterator[RowBlock]:
    """These blocks of a program whose A is mapped to memory, one at a time."""
    names = [name for name in _OF_ROWS if getattr(lp, name) is not None]
    for rows in map(places.__getitem__, wanted):
        own = {name: getattr(lp, name)[rows] for name in names}
        yield RowBlock(StandardForm.of(KnownProgram.of(lp, **own)), first=rows.start)


def _read(lp: ProgramData, wanted: Sequence[int]) -> Iterator[RowBlock]:
    """These blocks of a program that holds a source of rows, one at a time."""
    for number, (A, b) in zip(wanted, lp.A.read(wanted), strict=True):
        first = lp.A.first_rows[number]
        own = of_a_block(lp, A, b, prices_of_block(lp, first, len(b)))
        yield RowBlock(StandardForm.of(own), first=first)
