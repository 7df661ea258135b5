"""What this package does when a number overflows, underflows or is not defined: it goes on.

Whether that happens may depend on private rows, so neither a warning nor an error may tell. NumPy
and SciPy would ask the settings of the caller's thread (``numpy.seterr``,
``scipy.special.seterr``), or in a new thread their defaults. Code that reads private rows, draws,
plans or prices runs under these settings instead, in whichever thread it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def unnoticed() -> Iterator[None]:
    """Within it, or within a function that it decorates, no floating-point error is noticed."""
    from scipy import special  # noqa: PLC0415 (slow to load)

    told = special.geterr()
    told.pop("memory", None)
    with np.errstate(all="ignore"):
        if {*told.values()} == {"ignore"}:  # SciPy's default, slower to set than to look at
            yield
        else:
            with special.errstate(all="ignore"):
                yield
