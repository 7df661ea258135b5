"""Prepared blocks of rows in a temporary file, where memory has no room for them.

On Linux and macOS the file has no name: nobody else can open it, and it is gone when it is no
longer used, however the process ends. Only its owner may read it. Arrays are written to the file,
all else stays in memory. A block is mapped to memory while it is used; what a kernel changes of it
meanwhile is changed in memory alone.
"""

from __future__ import annotations

import io
import mmap
import pickle
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

# Arrays begin at multiples of this.
_LINE = 64


class Place(NamedTuple):
    """Where a block is: its arrays in the file, as (start, end), and all else of it."""

    frame: bytes
    start: int
    arrays: list[tuple[int, int]]


class SpillFile:
    """A temporary file of blocks, in a folder or where the system keeps such files.

    The public objects, which all blocks share, stay in memory.
    """

    def __init__(self, folder: str | None = None, public: Sequence[Any] = ()) -> None:
        self._public = public
        self._file = tempfile.TemporaryFile(  # noqa: SIM115 (closed with this object)
            buffering=0, prefix="privlp-", dir=folder
        )
        finalize(self, self._file.close)

    def write(self, block: Any) -> Place:
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
        return Place(frame.getvalue(), start, arrays)

    def read(self, place: Place) -> Any:
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
