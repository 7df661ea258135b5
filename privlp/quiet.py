"""What other libraries would say of private data is dropped: errors, warnings, logs."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np

from privlp.errors import (
    InvalidProblemError,
    MissedRowsWarning,
    MostlyNoiseWarning,
    NotPrivateWarning,
    PrivLPError,
    PublicPointWarning,
)

_Found = TypeVar("_Found")
#: What privlp raises itself, warnings turned into errors included: it holds no private data.
_OWN = (PrivLPError, MissedRowsWarning, MostlyNoiseWarning, NotPrivateWarning, PublicPointWarning)
#: Of errors whose kind is all that is known.
WHY = "The error is not shown, because it may quote private data."


#: Categories of others whose warnings are known to quote nothing in the reads under way.
_HARMLESS: set[type[Warning]] = set()


@contextmanager
def _silence() -> Iterator[None]:
    """Drop log messages of all libraries, and warnings but those of privlp and harmless ones."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.CRITICAL))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    logging.disable(before)
    passing = (*_OWN, *_HARMLESS)
    _HARMLESS.clear()
    for one in heard:
        if isinstance(one.message, passing):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


class _Reading:
    """While a thread is within it, the whole process is silent: logs and warnings belong to all.

    The first to enter begins that, and the last to leave ends it.
    """

    def __init__(self) -> None:
        self._lock, self._threads = threading.RLock(), set[int]()

    def is_mine(self) -> bool:
        """Whether this thread is within it, so it need not enter again, which is slower."""
        return threading.get_ident() in self._threads

    def __enter__(self) -> None:
        with self._lock:
            if not self._threads:
                self._silence = _silence()
                self._silence.__enter__()
            self._threads.add(threading.get_ident())

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._threads.remove(threading.get_ident())
            if not self._threads:
                self._silence.__exit__(None, None, None)  # warnings of other reads pass, too


_reading = _Reading()


@contextmanager
def harmless_warnings(*others: type[Warning]) -> Iterator[None]:
    """As while data are read, but for warnings of others that are known to quote nothing."""
    _HARMLESS.update(others)
    with nullcontext() if _reading.is_mine() else _reading:
        yield


def unquoted(read: Callable[[], _Found], message: str, parameter: str | None = None) -> _Found:
    """What `read` returns; an error of its own, with nothing behind it, if it raises.

    Errors and warnings of privlp pass: they hold no private data. Others may quote some: their
    words, and log messages, are dropped, in all threads. A lack of memory stays one.
    """
    memory = False
    try:
        if _reading.is_mine():
            return read()
        with _reading:
            return read()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except _OWN as raised:
        raised.__context__ = raised.__cause__ = None
        raise
    except MemoryError:
        memory = True
    except BaseException:  # noqa: S110 (of any library, Rust's panics too; it would be the context)
        pass
    if memory:
        raise MemoryError(f"There is too little memory for {parameter or 'what is read'}.")
    raise InvalidProblemError(message, parameter=parameter)


class unnoticed(ContextDecorator):  # noqa: N801 (a function to those who use it)
    """Within it, or within a function that it decorates, no floating-point error is noticed.

    Whether a number overflows, underflows or is not defined may depend on private rows, so neither
    a warning nor an error may tell. NumPy and SciPy would ask the settings of the caller's thread
    (``numpy.seterr``, ``scipy.special.seterr``), or in a new thread their defaults. Code that reads
    private rows, draws, plans or prices runs under these settings instead, in whichever thread.
    """

    _settings: list[AbstractContextManager[Any]]

    def _recreate_cm(self) -> unnoticed:  # each call of a decorated function has its own
        return unnoticed()

    def __enter__(self) -> None:
        import scipy.special  # noqa: PLC0415 (slow to load)

        told = scipy.special.geterr()
        told.pop("memory", None)
        self._settings = []
        # Within another one all is set already, which is slower than to look.
        if {*np.geterr().values()} != {"ignore"}:
            self._settings.append(np.errstate(all="ignore"))
        if {*told.values()} != {"ignore"}:
            self._settings.append(scipy.special.errstate(all="ignore"))
        for settings in self._settings:
            settings.__enter__()

    def __exit__(self, *error: object) -> None:
        for settings in self._settings:
            settings.__exit__(*error)  # type: ignore[arg-type]
