"""Where a budget keeps its calls: what any store provides, and the store in memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import MappingProxyType
from typing import Protocol

from privlp.privacy.charges import Call


class CallStore(Protocol):
    """The calls of a budget, by the identifiers of their ledgers."""

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """The lock of the budget and of all ledgers and budgets below it."""

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call."""

    def new_name(self) -> str:
        """A name that no other call, share or partition of the budget has."""

    def view(self) -> AbstractContextManager[None]:
        """Within it, the calls that are read are those of one moment."""

    def transaction(self) -> AbstractContextManager[None]:
        """Within it, nobody else changes the calls.

        What is entered is kept if it ends without an error, and else not.
        """

    def enter(self, call: Call) -> None:
        """Keep a call, or more charges of one that is kept already; within a transaction."""


class MemoryStore:
    """A store in memory, for one process."""

    def __init__(self, calls: Mapping[str, Call] = MappingProxyType({})) -> None:
        self.lock = threading.RLock()
        self._calls = dict(calls)
        self._names = itertools.count()

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call."""
        return MappingProxyType(self._calls)

    def new_name(self) -> str:
        """The next number."""
        return str(next(self._names))

    def view(self) -> AbstractContextManager[None]:
        """Nothing: the calls are in memory."""
        return nullcontext()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is entered within is taken back after an error; the caller holds the lock."""
        before = self._calls.copy()
        try:
            yield
        except BaseException:
            self._calls = before
            raise

    def enter(self, call: Call) -> None:
        """Keep a call."""
        self._calls[call.identifier] = call
