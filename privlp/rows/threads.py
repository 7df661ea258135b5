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
    """So many threads within this context."""
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
