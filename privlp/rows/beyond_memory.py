"""Rows that memory does not hold: on the workers of a cluster, or in a temporary file.

Of a cluster, small results and released values travel, rows do not. What is kept of a block is a
result of Dask, made without randomness: if a worker is lost, Dask makes it anew, and no draw is
made again, for the client alone draws. An update makes a new result of the old one, for the same
reason. Errors are caught on the worker, which would log them else.

On Linux and macOS the temporary file has no name: nobody else can open it, and it is gone when it
is no longer used, however the process ends. Only its owner may read it. Arrays are written to the
file, all else stays in memory. A block is mapped to memory while it is used; what a kernel changes
of it meanwhile is changed in memory alone.
"""

from __future__ import annotations

import copy
import io
import mmap
import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from privlp.problem.data import KnownProgram, ProgramData, few_rows, of_a_block, prices_of_block
from privlp.problem.standard_form import StandardForm
from privlp.problem.validation import cleaned
from privlp.quiet import unnoticed
from privlp.readers.blocks import DaskRows
from privlp.rows.access import BlockT_co, KernelError, Result, Rows, State
from privlp.rows.program_rows import RowBlock


class OnCluster(Rows[BlockT_co]):
    """Blocks of rows that are results on workers."""

    def __init__(self, client: Any, states: list[Any]) -> None:
        self._client, self._states = client, states
        self._changes: bool | None = None

    def _keep(self, prepare: Callable[[BlockT_co], State]) -> Rows[State]:
        return OnCluster(self._client, self._submit(partial(_caught, prepare), self._states))

    def _map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        if self._changes is None:
            (self._changes,) = self._gather(self._submit(_changes, self._states[:1]))
        if self._changes:
            return self._step(kernel, released)
        return self._gather(self._submit(partial(_run, kernel, released), self._states))

    def _update(self, kernel: Callable[..., None], *released: Any) -> None:
        self._step(kernel, released)

    def _step(self, kernel: Callable[..., Result], released: tuple[Any, ...]) -> list[Result]:
        """Run a kernel on copies of what it changes, which are kept in its place."""
        pairs = self._submit(partial(_changed, kernel, released), self._states)
        results = self._gather(self._submit(itemgetter(0), pairs))
        self._states = self._submit(itemgetter(1), pairs)
        return results

    def _submit(self, task: Callable[[Any], Any], states: list[Any]) -> list[Any]:
        found: list[Any] = self._client.map(task, states, pure=False, key=_name_of(task))
        return found

    def _gather(self, futures: list[Any]) -> list[Any]:
        found: list[Any] = self._client.gather(futures)
        for each in found:
            if isinstance(each, KernelError):
                raise each
        return found


def program_on(client: Any, lp: ProgramData) -> OnCluster[RowBlock]:
    """The private rows of a program, on the workers of a client."""
    import dask  # noqa: PLC0415 (an extra; the rows are made by it)

    known = few_rows(lp)
    source: DaskRows = lp.A
    task, d = dask.delayed(_block, pure=False), source.shape[1]
    places = zip(source.blocks, source.rows_of_blocks, source.first_rows, strict=True)
    blocks = [
        task(known, A, b, (rows, d), first, prices_of_block(lp, first, rows))
        for (A, b), rows, first in places
    ]
    return OnCluster(client, client.compute(blocks))


def current_client() -> Any:
    """The client of a cluster that is in use; ``None`` if there is none."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _name_of(task: Any) -> str:
    """What Dask's logs and pages call a task."""
    inner = task.func if isinstance(task, partial) else task
    return f"privlp-{getattr(inner, '__name__', 'part').strip('_')}"


def _block(
    known: KnownProgram, A: Any, b: Any, shape: tuple[int, int], first: int, prices: Any
) -> RowBlock | KernelError:
    """The rows of a block; runs on a worker, like all functions below."""

    def made() -> RowBlock:
        rows, sides = cleaned(A, b)
        if rows.shape != shape:
            raise ValueError
        return RowBlock(StandardForm.of(of_a_block(known, rows, sides, prices)), first=first)

    return _without_data(made)


def _without_data(compute: Callable[[], Any]) -> Any:
    """What is computed, or in its place the kind of the error, and no more."""
    try:
        with unnoticed():  # a warning in a log would tell of rows
            return compute()
    except Exception as error:
        return KernelError(type(error).__name__)


def _caught(prepare: Callable[[Any], Any], block: Any) -> Any:
    """What is prepared from a block."""
    return block if isinstance(block, KernelError) else _without_data(lambda: prepare(block))


def _changes(state: Any) -> bool | KernelError:
    """Whether kernels change what is kept."""
    return state if isinstance(state, KernelError) else hasattr(state, "changes")


def _run(kernel: Callable[..., Any], released: tuple[Any, ...], state: Any) -> Any:
    """The result of a kernel."""
    return _caught(lambda kept: kernel(kept, *released), state)


def _changed(kernel: Callable[..., Any], released: tuple[Any, ...], state: Any) -> tuple[Any, Any]:
    """The result of a kernel, and what is kept after it."""
    new = _copied(state)
    return _run(kernel, released, new), new


def _copied(state: Any) -> Any:
    """A copy of all that a kernel may change; the rest is shared."""
    if not hasattr(state, "changes"):
        return copy.deepcopy(state)
    new = copy.copy(state)
    for name, value in vars(state).items():
        if name in state.changes:
            setattr(new, name, copy.deepcopy(value))
        elif hasattr(value, "changes"):
            setattr(new, name, _copied(value))
    return new


_LINE = 64  # Arrays begin at multiples of this.


class BlockInFile(NamedTuple):
    """Where a block is: its arrays in the file, as (start, end), and all else of it."""

    frame: bytes
    start: int
    arrays: list[tuple[int, int]]


class SpillFile:
    """A temporary file of blocks, in a folder or where the system keeps such files."""

    def __init__(self, folder: str | None = None, public: Sequence[Any] = ()) -> None:
        self._public = public
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 (closed with this object)
            buffering=0, prefix="privlp-", dir=folder
        )
        finalize(self, self._file.close)

    def write(self, block: Any) -> BlockInFile:
        """Write a block; an error leaves the blocks before it as they are."""
        frame, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        pickler = _Pickler(frame, protocol=5, buffer_callback=buffers.append)
        pickler.public = {id(each): k for k, each in enumerate(self._public)}
        pickler.dump(block)
        start, arrays = _next(self._file.seek(0, io.SEEK_END), mmap.ALLOCATIONGRANULARITY), []
        end = start
        for buffer in buffers:
            self._file.seek(end)
            numbers = buffer.raw()
            arrays.append((end - start, end - start + numbers.nbytes))
            end = _next(end + numbers.nbytes, _LINE)
            while numbers.nbytes:  # a write may end early
                numbers = numbers[self._file.write(numbers) :]
        return BlockInFile(frame.getvalue(), start, arrays)

    def read(self, place: BlockInFile) -> Any:
        """A block, mapped to memory until it is no longer used."""
        length = max((end for _, end in place.arrays), default=0)
        numbers = memoryview(b"")
        if length:
            file = self._file.fileno()
            numbers = memoryview(
                mmap.mmap(file, length, access=mmap.ACCESS_COPY, offset=place.start)
            )
        arrays = [numbers[low:high] for low, high in place.arrays]
        unpickler = _Unpickler(io.BytesIO(place.frame), buffers=arrays)
        unpickler.public = self._public
        return unpickler.load()


class _Pickler(pickle.Pickler):
    """Leaves out public objects, and the numbers of arrays that do not lie in one piece, too."""

    public: dict[int, int]

    def persistent_id(self, thing: Any) -> Any:
        return self.public.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is not np.ndarray or thing.flags.forc or thing.dtype.hasobject:
            return NotImplemented
        if thing.size and not any(thing.strides):  # one number, seen many times
            return np.broadcast_to, (thing[(0,) * thing.ndim], thing.shape)
        return np.ascontiguousarray(thing).__reduce_ex__(5)


class _Unpickler(pickle.Unpickler):
    """Reads what was pickled in this process and has not left it."""

    public: Sequence[Any]

    def persistent_load(self, number: Any) -> Any:
        return self.public[number]


def _next(place: int, step: int) -> int:
    """The first multiple of a step from a place on."""
    return -(-place // step) * step
