"""What this package does when a number overflows, underflows or is not defined: it goes on.

Whether that happens may depend on private rows, so neither a warning nor an error may tell. NumPy
and SciPy would ask the settings of the caller's thread (``numpy.seterr``,
``scipy.special.seterr``), or in a new thread their defaults. Code that reads private rows, draws,
plans or prices runs under these settings instead, in whichever thread it runs.
"""

from __future__ import annotations

from contextlib import ContextDecorator, ExitStack
from contextvars import ContextVar
from threading import get_ident

import numpy as np

# The thread in which this holds already: settings belong to threads, or to contexts of threads.
_THREAD: ContextVar[int] = ContextVar("thread", default=0)


class unnoticed(ContextDecorator):  # noqa: N801 (used like a function)
    """Within it, or within a function that it decorates, no floating-point error is noticed."""

    def _recreate_cm(self) -> unnoticed:
        return unnoticed()  # threads may share a function that is decorated

    def __enter__(self) -> None:
        thread = get_ident()
        self._settings = None if _THREAD.get() == thread else ExitStack()
        if self._settings is None:
            return
        from scipy import special  # noqa: PLC0415 (slow to load)

        told = special.geterr()
        told.pop("memory", None)
        self._settings.enter_context(np.errstate(all="ignore"))
        if {*told.values()} != {"ignore"}:  # SciPy's default, slower to set than to look at
            self._settings.enter_context(special.errstate(all="ignore"))
        self._settings.callback(_THREAD.reset, _THREAD.set(thread))

    def __exit__(self, *error: object) -> None:
        if self._settings is not None:
            self._settings.close()
