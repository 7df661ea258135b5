"""What must exist once: an object whose copy, in this process or in another, would make the same draws again."""

from __future__ import annotations

import os
from typing import Any

from privlp.errors import InvalidParameterError, PrivLPError

_forks = 0


def _count_a_fork() -> None:
    global _forks  # noqa: PLW0603 (one count for the process)
    _forks += 1


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_count_a_fork)


def this_process() -> tuple[int, int]:
    """What no two processes with a common ancestor share: the number of the process, and how many forks led to it.

    A number of a process is given again after its end; then the count of forks differs.

    Examples
    --------
    >>> from privlp.privacy.unique import this_process
    >>> this_process() == this_process()
    True
    """
    return os.getpid(), _forks


class Unique:
    """An object that refuses to be copied, to be pickled, and to be used in a process forked off the one that made it.

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
    privlp.errors.InvalidParameterError: A Key cannot be copied or pickled: a copy would draw the same noise again. Make a new Key.
    """

    #: What a copy would do, and what to do instead, for messages.
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
                f"This {type(self).__name__} belongs to the process that made it: another one would"
                f" {self.harm}. {self.remedy}"
            )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What copy, deepcopy and pickle ask for."""
        if not self.may_be_copied():
            raise self.error(
                f"A {type(self).__name__} cannot be copied or pickled: a copy would {self.harm}."
                f" {self.remedy}"
            )
        return super().__reduce_ex__(protocol)
