"""Forks wait until no thread is at work on a file of SQLite's.

SQLite notes in memory which locks the process holds. A child that is forked in the middle would
believe for ever that a thread, which it does not have, holds one, and could use the file no more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from privlp.errors import BudgetFileError

#: Seconds that a fork waits.
PATIENCE = 60.0


class _Accesses:
    """The accesses that are under way in this process."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.count = 0
        #: Whether this process was forked in the middle of one.
        self.cut = False


_accesses = _Accesses()


@contextmanager
def unforked() -> Iterator[None]:
    """Within it, no other thread forks."""
    accesses = _accesses
    if accesses.cut:
        raise BudgetFileError(
            "This process was forked while another thread was at work on a budget file, so it"
            " cannot use budget files. Nothing was drawn and nothing was charged. Start the process"
            " again, or by another way than fork."
        )
    with accesses.changed:
        accesses.count += 1
    try:
        yield
    finally:
        with accesses.changed:
            accesses.count -= 1
            accesses.changed.notify_all()


def _before() -> None:
    _accesses.changed.acquire()  # from now on no access begins
    _accesses.changed.wait_for(lambda: _accesses.count == 0, PATIENCE)


def _after_in_parent() -> None:
    _accesses.changed.release()


def _after_in_child() -> None:
    global _accesses  # noqa: PLW0603 (one for the process)
    cut = _accesses.cut or _accesses.count > 0
    _accesses = _Accesses()
    _accesses.cut = cut


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
