"""Threads over parts of rows: opt-in, with the same bits, because sums over rows are exact.

One thread by default: processes that solve side by side, and BLAS, have threads of their own. The
environment variable ``PRIVLP_THREADS`` asks for more, or :func:`using`. Give BLAS one thread then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar

from privlp.float_errors import unnoticed

Item = TypeVar("Item")
Result = TypeVar("Result")

_ASKED = os.environ.get("PRIVLP_THREADS", "")
_THREADS = ContextVar("_THREADS", default=max(1, int(_ASKED)) if _ASKED.isdecimal() else 1)


@contextmanager
def using(threads: int) -> Iterator[None]:
    """So many threads within this context.

    Examples
    --------
    >>> import privlp
    >>> from privlp.rows.threads import using
    >>> lp = privlp.LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> with using(2):
    ...     solution = privlp.solve(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
    >>> bool((solution.x == privlp.solve(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0).x).all())
    True
    """
    token = _THREADS.set(max(1, threads))
    try:
        yield
    finally:
        _THREADS.reset(token)


def over(items: Sequence[Item], run: Callable[[Sequence[Item]], Result]) -> list[Result]:
    """``run`` of each share of the items, one share for each thread, in the order of the items."""
    threads = min(_THREADS.get(), len(items))
    if threads < 2:
        return [run(items)]
    cuts = [len(items) * k // threads for k in range(threads + 1)]
    shares = [items[low:high] for low, high in pairwise(cuts)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(unnoticed()(run), shares))  # settings of NumPy are the thread's own
