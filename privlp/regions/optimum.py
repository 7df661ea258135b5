"""A public optimum: a value, or a range that contains it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privlp.checks import of_usual_size, real, shown
from privlp.errors import InvalidParameterError


def is_range(opt: Any) -> bool:
    """Whether an optimum is given as a pair (low, high)."""
    return (isinstance(opt, tuple | list) and len(opt) == 2) or (
        isinstance(opt, np.ndarray) and opt.shape == (2,)
    )


def range_of(opt: Any) -> tuple[float, float]:
    """A range of the optimum, checked."""
    low, high = (real(end, "opt") for end in opt)
    if not -math.inf < low < high < math.inf:
        raise InvalidParameterError(
            f"opt=(low, high) must be two finite numbers in rising order, got {opt!r}.",
            parameter="opt",
        )
    _require_usual_size(low)
    _require_usual_size(high)
    return low, high


def require_optimum(opt: Any) -> None:
    """Refuse what is neither a finite number nor a range.

    Examples
    --------
    >>> require_optimum(2.5)
    >>> require_optimum((2.0, 3.0))
    >>> require_optimum(float("nan"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: opt must be a finite number, or a range (low, high), ...
    """
    if is_range(opt):
        range_of(opt)
    elif _is_sequence(opt) or not math.isfinite(real(opt, "opt")):
        raise InvalidParameterError(
            f"opt must be a finite number, or a range (low, high), got {shown(opt)}.",
            parameter="opt",
        )
    else:
        _require_usual_size(opt)


def _require_usual_size(end: float) -> None:
    if end != 0:
        of_usual_size(abs(end), "opt")


def _is_sequence(opt: Any) -> bool:
    return isinstance(opt, tuple | list) or (isinstance(opt, np.ndarray) and opt.ndim > 0)
