"""Objects that must exist once: a copy, in any process, would draw or spend a second time."""

from __future__ import annotations

import os
from typing import Any, Self

from privlp.errors import BudgetExceededError, InvalidParameterError, PrivLPError

_forks = 0


def _count_a_fork() -> None:
    global _forks  # noqa: PLW0603 (one count for the process)
    _forks += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_count_a_fork)


def this_process() -> tuple[int, int]:
    """Number of the process, and how many forks led to it.

    No two processes with a common ancestor share both. A number of a process is given again after
    its end; then the count of forks differs.

    Examples
    --------
    >>> from privlp.privacy.unique import this_process
    >>> this_process() == this_process()
    True
    """
    return os.getpid(), _forks


class Unique:
    """An object that refuses to be copied, pickled, or used in another process than its own.

    A class that derives from it says in :attr:`remedy` what to do instead. It calls
    :meth:`refuse_elsewhere` before it gives anything away, and :meth:`may_be_copied` says whether
    an object is an exception.

    Examples
    --------
    >>> import copy
    >>> from privlp.privacy.unique import Unique
    >>> class Key(Unique):
    ...     remedy = "Make a new Key."
    >>> copy.deepcopy(Key())
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: A Key cannot be copied or pickled: a copy would draw the
    same noise again. Make a new Key.
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
        >>> from privlp.privacy.unique import Unique
        >>> Unique().may_be_copied()
        False
        """
        return False

    def refuse_elsewhere(self) -> None:
        """Raise in every process but the one that made this object.

        Raises
        ------
        PrivLPError
            Of the kind :attr:`error`, with what to do.

        Examples
        --------
        >>> from privlp.privacy.unique import Unique
        >>> Unique().refuse_elsewhere()
        """
        if self._process != this_process() and not self.may_be_copied():
            raise self.error(
                f"This {self._called()} belongs to the process that made it: another one would"
                f" {self.harm}. {self.remedy}"
            )

    def _called(self) -> str:
        return self.called or type(self).__name__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What copy, deepcopy and pickle ask for."""
        if not self.may_be_copied():
            raise self.error(
                f"A {self._called()} cannot be copied or pickled: a copy would {self.harm}."
                f" {self.remedy}"
            )
        return super().__reduce_ex__(protocol)


class SpentOnce(Unique):
    """An object whose duplicate would spend again what was paid for once.

    A copy within the process is the object itself, so that a model that holds a budget can be
    cloned.
    """

    harm = "spend a second time what was paid for once"
    remedy = "Give each process a Budget of its own, or use threads."
    error = BudgetExceededError

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
