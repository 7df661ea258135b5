"""Roots of functions of one number, without ``scipy.optimize``, which is slow to load."""

from __future__ import annotations

import math
from collections.abc import Callable


def root_between(
    f: Callable[[float], float], low: float, high: float, xtol: float, rtol: float = 2.0**-50
) -> float:
    """A root between two numbers at which signs differ, by Brent's method (1973).

    Step by step what ``scipy.optimize.brentq`` does: the roots are equal to the last bit.
    """
    before, x = low, high
    f_before, f_x = f(before), f(x)
    if f_before == 0:
        return before
    other = f_other = last = step = 0.0
    for _ in range(100):
        if f_x != 0 != f_before and (f_before < 0) != (f_x < 0):
            other, f_other = before, f_before
            last = step = x - before
        if abs(f_other) < abs(f_x):
            before, x, other = x, other, x
            f_before, f_x, f_other = f_x, f_other, f_x
        least, half = (xtol + rtol * abs(x)) / 2, (other - x) / 2
        if f_x == 0 or abs(half) < least:
            return x
        short = math.inf
        if abs(last) > least and abs(f_x) < abs(f_before):
            short = _interpolated(before, f_before, x, f_x, other, f_other)
        if 2 * abs(short) < min(abs(last), 3 * abs(half) - least):
            last, step = step, short
        else:
            last = step = half
        before, f_before = x, f_x
        x += step if abs(step) > least else math.copysign(least, half)
        f_x = f(x)
    return x


def _interpolated(
    before: float, f_before: float, x: float, f_x: float, other: float, f_other: float
) -> float:
    """The step to the root of a line through two points, or of a curve through three."""
    if before == other:
        return -f_x * (x - before) / (f_x - f_before)
    slope = (f_before - f_x) / (before - x)
    of_other = (f_other - f_x) / (other - x)
    divisor = of_other * slope * (f_other - f_before)
    return -f_x * (f_other * of_other - f_before * slope) / divisor if divisor else math.inf


def root_by_secants(rising: Callable[[float], float | None]) -> float | None:
    """A number just below the root of a function that rises about as fast as its argument.

    None if the function is None on the way, or the root is nowhere near.
    """
    x, slope, value = 0.0, 1.0, rising(0.0)
    for _ in range(30):
        if value is None:
            return None
        step = min(max(-value / slope, -8.0), 8.0)
        if abs(step) < 1e-9:
            return x + step - 1e-12
        x, before, value = x + step, value, rising(x + step)
        slope = max(0.5, ((0.0 if value is None else value) - before) / step)
    return None
