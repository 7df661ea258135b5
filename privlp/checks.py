"""Checks of scalar arguments, shared by everything that takes some."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from privlp.errors import InvalidParameterError


def real(value: Any, name: str) -> float:
    """Return a Python or NumPy real number as a float, infinities and NaN included.

    Raises
    ------
    InvalidParameterError
        If it is anything else; a string of digits or a bool is no number.
    """
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} must be a number, got {type(value).__name__}.")
    return float(value)


def positive(value: Any, name: str, *, finite: bool = False) -> float:
    """Return a positive number as a float; ``inf`` passes unless it must be finite.

    Raises
    ------
    InvalidParameterError
        If it is anything else.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool | np.bool_) else np.nan
    if not number > 0 or (finite and number == np.inf):
        raise InvalidParameterError(f"{name} must be a positive {'finite ' if finite else ''}number, got {value!r}.")
    return number
