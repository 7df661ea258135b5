"""The largest intensity of draws that still fits."""

from __future__ import annotations

import math
from collections.abc import Callable

#: Intensities that are considered, as natural logarithms.
_LOWEST, _HIGHEST = -40.0, 40.0


def largest_log_intensity(excess: Callable[[float], float]) -> float | None:
    """The largest logarithm of an intensity at which `excess` is not positive.

    ``None`` if there is none.
    """
    if excess(_LOWEST) > 0:
        return None
    high = 0.0
    while excess(high) < 0 and high < _HIGHEST:
        high += 4.0
    root = _last_below_zero(excess, high) if excess(high) > 0 else high
    while excess(root) > 0:
        root -= 1e-9
    return root


def _last_below_zero(excess: Callable[[float], float], high: float) -> float:
    """A point near the last at which an increasing function is not positive.

    It is not positive at ``_LOWEST``, and positive at `high`.
    """
    if math.isfinite(excess(high)):
        from scipy.optimize import brentq  # noqa: PLC0415 (slow to load)

        return float(brentq(excess, _LOWEST, high, xtol=1e-9))
    low = _LOWEST
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low
