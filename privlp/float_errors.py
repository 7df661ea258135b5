"""What this package does when a number overflows, underflows or is not defined: it goes on.

Whether that happens may depend on private rows, so neither a warning nor an error may tell. NumPy
and SciPy would ask the settings of the caller's thread (``numpy.seterr``,
``scipy.special.seterr``), or in a new thread their defaults. Code that reads private rows, draws,
plans or prices runs under these settings instead, in whichever thread it runs.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ContextDecorator
from typing import Any

import numpy as np


class unnoticed(ContextDecorator):  # noqa: N801 (a function to those who use it)
    """Within it, or within a function that it decorates, no floating-point error is noticed."""

    _settings: list[AbstractContextManager[Any]]

    def _recreate_cm(self) -> unnoticed:  # each call of a decorated function has its own
        return unnoticed()

    def __enter__(self) -> None:
        import scipy.special  # noqa: PLC0415 (slow to load)

        told = scipy.special.geterr()
        told.pop("memory", None)
        self._settings = [np.errstate(all="ignore")]
        if {*told.values()} != {"ignore"}:  # SciPy's default, slower to set than to look at
            self._settings.append(scipy.special.errstate(all="ignore"))
        for settings in self._settings:
            settings.__enter__()

    def __exit__(self, *error: object) -> None:
        for settings in self._settings:
            settings.__exit__(*error)  # type: ignore[arg-type]
