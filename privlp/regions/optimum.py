"""A public optimum: a value, or a range that contains it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privlp.checks import real
from privlp.errors import InvalidParameterError


def is_range(opt: Any) -> bool:
    """Whether an optimum is given as a pair (low, high)."""
    return (isinstance(opt, tuple | list) and len(opt) == 2) or (
        isinstance(opt, np.ndarray) and opt.shape == (2,)
    )


def range_of(opt: Any) -> tuple[float, float]:
    """A range of the optimum, checked.

    Raises
    ------
    InvalidParameterError
        If it is not a range of finite numbers.
    """
    low, high = (real(end, "opt") for end in opt)
    if not -math.inf < low < high < math.inf:
        raise InvalidParameterError(
            f"opt=(low, high) must be two finite numbers in rising order, got {opt!r}.",
            parameter="opt",
        )
    return low, high
