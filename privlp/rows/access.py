"""The only access to private rows: they stand in blocks, and only sums over rows come back.

Every release of this package is a sum over rows of a function of one row and of released values, a
count of rows, a few order statistics, or a private choice. So rows need few operations: to keep
something beside each block, to change it by released values, to add up, to merge the largest.

Contract, tested for every implementation (``tests/test_rows.py``):

* there is at least one block; where there is no row, it is a block without a row;
* a kernel computes the numbers of a row from that row and from its arguments alone: to the last
  bit they do not depend on the other rows of the block;
* what is kept has the same numbers later, but arrays that lie in several pieces may come back in
  one: kernels sum arrays of one order alone;
* kernels draw no noise: the caller adds noise to sums;
* an error inside a kernel carries no data: :class:`Rows` raises another one in its place.

A source of rows implements :meth:`Rows._keep` and :meth:`Rows._map`, in one file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np

from privlp.checks import FloatArray
from privlp.float_errors import unnoticed

BlockT_co = TypeVar("BlockT_co", covariant=True)
State = TypeVar("State")
Result = TypeVar("Result")


class Rows(ABC, Generic[BlockT_co]):
    """Private rows in blocks; only sums over them come back."""

    @abstractmethod
    def _keep(self, prepare: Callable[[BlockT_co], State]) -> Rows[State]:
        """What :meth:`keep` does, errors as they come."""

    @abstractmethod
    def _map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        """What :meth:`map` does, errors as they come."""

    def _update(self, kernel: Callable[..., None], *released: Any) -> None:
        """What :meth:`update` does, errors as they come."""
        self._map(kernel, *released)

    def keep(self, prepare: Callable[[BlockT_co], State]) -> Rows[State]:
        """Compute something from each block, and keep it where the block is.

        A source may compute it anew whenever it is wanted, so `prepare` is a pure function; or it
        may write it to a file and read it again. The result may have an attribute ``changes``, the
        names of those of its attributes that kernels change, a few numbers of each row at most.
        They are always kept; of results without it, all that an :meth:`update` went through is. An
        error in `prepare` is raised without its message, here or when what is kept is first used.
        """
        return _or_an_error_without_data(lambda: self._keep(prepare))

    def map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        """``kernel(block, *released)`` for each block, in order; errors lose their messages."""
        return _or_an_error_without_data(lambda: self._map(kernel, *released))

    def update(self, kernel: Callable[..., None], *released: Any) -> None:
        """Let the kernel change what is kept with each block."""
        _or_an_error_without_data(lambda: self._update(kernel, *released))

    def total(self, kernel: Callable[..., Any], *released: Any) -> Any:
        """The sum of the kernel's results for all blocks."""
        return reduce(add, self.map(kernel, *released))

    def largest(self, kernel: Callable[..., FloatArray], count: int, *released: Any) -> FloatArray:
        """The `count` largest of one number for each row, in falling order; all if fewer."""
        found = np.concatenate(self.map(kernel, count, *released))
        return np.sort(found)[::-1][:count]


class KernelError(Exception):
    """An error on another machine, of which no more is known than its kind."""


def _or_an_error_without_data(compute: Callable[[], Result]) -> Result:
    """What a computation on private rows returns.

    The message of an error may quote rows, or tell how many there are. So another error, of a fixed
    message, is raised after the first is gone: it is not its cause or context either.
    """
    try:
        with unnoticed():
            return compute()
    except MemoryError:
        kind = "MemoryError"
    except KernelError as error:
        kind = str(error)
    except Exception as error:
        kind = type(error).__name__
    if kind == "MemoryError":
        raise MemoryError("Too little memory for a computation on private rows.")
    raise RuntimeError(
        f"A computation on private rows failed ({kind}). The message is withheld, for it may quote"
        " rows; try the computation on rows that are made up."
    )


class InMemory(Rows[BlockT_co]):
    """One block of rows."""

    def __init__(self, block: BlockT_co) -> None:
        self._block = block

    def _keep(self, prepare: Callable[[BlockT_co], State]) -> Rows[State]:
        return InMemory(prepare(self._block))

    def _map(self, kernel: Callable[..., Result], *released: Any) -> list[Result]:
        return [kernel(self._block, *released)]
