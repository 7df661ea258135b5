"""How much of what is prepared from blocks of rows stays in memory between two passes.

Rows that do not fit into memory are read, and prepared, anew in every pass. What fits is kept, and
costs a pass nothing. Results do not depend on it, not in the last bit. The environment variable
``PRIVLP_MEMORY`` gives the number of megabytes, or :func:`using` the number of bytes. By default it
is 3/16 of the size of the data.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np
import scipy.sparse as sp

from privlp.problem.validation import is_mapped

_ASKED = os.environ.get("PRIVLP_MEMORY", "")
_BYTES: ContextVar[float | None] = ContextVar(
    "_BYTES", default=float(_ASKED) * 1e6 if _ASKED.isdecimal() else None
)
_SHARE = 3 / 16


@contextmanager
def using(size: float) -> Iterator[None]:
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


class Holder(Protocol):
    """Whoever holds prepared blocks."""

    #: How many bytes they take.
    held_bytes: int

    def forget(self) -> None:
        """Hold them no longer."""

    def __hash__(self) -> int: ...


class Memory:
    """Room for prepared blocks; whoever used them least recently gives way."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._holders: WeakSet[Holder] = WeakSet()
        self._order: dict[int, int] = {}
        self._uses = 0

    def use(self, holder: Holder) -> None:
        """Note that a holder is in use."""
        self._uses += 1
        self._holders.add(holder)
        self._order[id(holder)] = self._uses

    def has_room(self, size: int, *users: Holder) -> bool:
        """Whether so many bytes more may be held, if need be in place of others than the users'."""
        if size > self._limit:
            return False
        while sum(holder.held_bytes for holder in self._holders) + size > self._limit:
            others = [each for each in self._holders if each.held_bytes and each not in users]
            if not others:
                return False
            min(others, key=lambda holder: self._order[id(holder)]).forget()
        return True


def size_of(thing: Any, besides: Any = None) -> int:
    """Bytes of all arrays that an object holds, less those that another holds too.

    Arrays that are mapped to a file take no memory of their own.
    """
    seen: set[int] = set()
    if besides is not None:
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
