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

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Generic, TypeVar

import numpy as np

from privlp.checks import FloatArray
from privlp.quiet import unnoticed

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


_DOUBLE = 53
# Of entries, of a coordinate and an entry together, and of an entry and a weight together.
_MOST_OF_ENTRIES, _OF_A_VIOLATION, _MOST_OF_A_TERM = 21, 48, 36
_FEWEST = 8
# Of entries and the sum of dense weights together, and of one such weight.
_OF_DENSE_WEIGHTS, _MOST_OF_A_DENSE_WEIGHT = 49, 28


def bits_of(largest_n: int) -> int:
    """The least k with 2^k at least the number of rows."""
    return max(int(largest_n) - 1, 0).bit_length()


@dataclass(frozen=True)
class Grid:
    """The public grid on which contributions of rows stand; bits after the point of numbers.

    Let n be a public bound on the number of rows. Entries of rows are multiples of 2^-q, weights of
    rows multiples of 2^-p, and coordinates of a point multiples of 2^-r. In these units they are
    integers, and so are all products and sums of them. Double precision holds every integer up to
    2^53 exactly. With bits such that no partial sum is larger, every sum is exact: whatever its
    order, the block, the thread or the machine, fused operations included.

    *Violations.* Entries are at most 8 in size, and coordinates at most 4 in sum: a product of a
    row with a point is at most 2^(5+q+r), and q + r = 48. So a violation is a function of its row
    alone, however BLAS goes about many rows at a time.

    *Sums of a part* of at most 2^14 rows: at most 2^(14+3+p+q), and p + q <= 36. A part may have
    2^(log2(n) - 2) rows if that is more, log2 rounded up: at most 2^(log2(n)+1+p+q), and the next
    paragraph bounds p + q. A row that stands for equal ones counts as many.

    *Sums of all rows.* What a row adds has a norm of at most sqrt(2): they are at most 2^(1/2+p+q)
    n, and p + q <= 52 - log2 n. In between, sums before centring are 64-bit integers: at most
    2^(3+p+q) n <= 2^55.

    *Norms.* An entry less its row's mean has a square of at most 2^(2q+1), as has the sum of all of
    them, if the norm is at most sqrt(2); q <= 21. (A larger sum may be rounded, but not to a
    smaller one than sqrt(2) allows.)

    Left are these bits:

    ======== == ==
    n         q  p
    ======== == ==
    65,536   21 15
    10^6     19 13
    10^7     17 11
    10^8     15 10
    10^9     14  8
    ======== == ==

    *Dense weights* have a public sum: their bits follow from it
    (:meth:`Grid.bits_of_dense_weights`).

    Entries are rounded to the nearest, and so are weights: over n rows the errors average out, to
    about 0.3 (2^-p + 2^-q) sqrt(n), far below the noise of any release.
    """

    entries: int  #: q
    weights: int  #: p

    @classmethod
    def of(cls, largest_n: int) -> Grid:
        """The finest grid on which sums over so many rows are exact."""
        bits = min(_MOST_OF_A_TERM, _DOUBLE - 1 - bits_of(largest_n))
        entries = min(_MOST_OF_ENTRIES, (bits + 6) // 2)
        if bits - entries < _FEWEST - 1:
            raise OverflowError("There are too many rows for exact sums: the bound is 2^33.")
        return cls(entries, bits - entries)

    @property
    def of_entry(self) -> float:
        """Units to 1 in an entry of a row."""
        return 2.0**self.entries

    @property
    def of_weight(self) -> float:
        """Units to 1 in a weight."""
        return 2.0**self.weights

    @property
    def of_term(self) -> float:
        """Units to 1 in a weight times an entry."""
        return 2.0 ** (self.entries + self.weights)

    def bits_of_dense_weights(self, s: float) -> int:
        """Bits of dense weights: their sum is s 2^bits <= 2^(49-q), and entries are at most 8."""
        most = _OF_DENSE_WEIGHTS - self.entries - bits_of(math.ceil(s))
        return max(0, min(most, _MOST_OF_A_DENSE_WEIGHT))

    def point(self, coordinates: FloatArray) -> tuple[FloatArray, float]:
        """A released point in units of the grid, and the size of the unit of a violation."""
        excess = max(0, math.frexp(float(np.abs(coordinates).sum()) / 2)[1])
        bits = _OF_A_VIOLATION - self.entries - excess
        return np.rint(coordinates * 2.0**bits), 2.0 ** -(bits + self.entries)
