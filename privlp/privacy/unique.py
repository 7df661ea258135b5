"""Objects that must exist once, and forks, which copy a process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from privlp.errors import BudgetExceededError, BudgetFileError, InvalidParameterError, PrivLPError

_forks = 0


def this_process() -> tuple[int, int]:
    """Number of the process, and how many forks led to it.

    No two processes with a common ancestor share both. A number of a process is given again after
    its end; then the count of forks differs.
    """
    return os.getpid(), _forks


class Unique:
    """An object that refuses to be copied, pickled, or used in another process than its own.

    It calls :meth:`refuse_elsewhere` before it gives anything away.
    """

    #: For messages: what the object is called (by default its class), what a copy would do, and
    #: what to do instead.
    called: str | None = None
    harm = "draw the same noise again"
    remedy = ""
    error: type[PrivLPError] = InvalidParameterError

    def __init__(self) -> None:
        self._process = this_process()

    def may_be_copied(self) -> bool:
        """Whether copies and other processes do no harm.

        Examples
        --------
        >>> from privlp import Budget
        >>> Budget(eps=1.0, delta=0.0).may_be_copied()
        False
        """
        return False

    def refuse_elsewhere(self) -> None:
        """Raise :attr:`error` in every process but the one that made this object.

        Examples
        --------
        >>> from privlp import Budget
        >>> Budget(eps=1.0, delta=0.0).refuse_elsewhere()  # it was made here
        """
        if self._process != this_process() and not self.may_be_copied():
            called = self.called or type(self).__name__
            raise self.error(
                f"This {called} belongs to the process that made it: another one would {self.harm}."
                f" {self.remedy}"
            )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What copy, deepcopy and pickle ask for."""
        if not self.may_be_copied():
            called = self.called or type(self).__name__
            raise self.error(
                f"A {called} cannot be copied or pickled: a copy would {self.harm}. {self.remedy}"
            )
        return super().__reduce_ex__(protocol)


class SpentOnce(Unique):
    """An object whose duplicate would spend again what was paid for once.

    A copy within the process is the object itself, so that a model with a budget can be cloned.
    """

    harm = "spend a second time what was paid for once"
    remedy = "Give each process a Budget of its own, or use threads."
    error = BudgetExceededError

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


#: Seconds that a fork waits until no thread is at work on a file of SQLite's. SQLite notes in
#: memory which locks the process holds. A child that is forked in the middle would believe for ever
#: that a thread, which it does not have, holds one, and could use the file no more.
PATIENCE = 60.0


class _Accesses:
    """The accesses that are under way in this process; `cut` if it was forked in the middle."""

    def __init__(self, *, cut: bool = False) -> None:
        self.changed, self.count, self.cut = threading.Condition(), 0, cut


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


def _before_a_fork() -> None:
    _accesses.changed.acquire()  # from now on no access begins
    _accesses.changed.wait_for(lambda: _accesses.count == 0, PATIENCE)


def _in_the_child() -> None:
    global _accesses, _forks  # noqa: PLW0603 (one for the process)
    _forks += 1
    _accesses = _Accesses(cut=_accesses.cut or _accesses.count > 0)


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before_a_fork,
        after_in_parent=lambda: _accesses.changed.release(),  # noqa: PLW0108 (of that moment)
        after_in_child=_in_the_child,
    )
