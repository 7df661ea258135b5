"""Ranges of variables from rows and bounds, by interval arithmetic."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

FloatArray = npt.NDArray[np.float64]

_PASSES = 10


def tightened(
    A: sp.csr_array, lower: FloatArray, upper: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of each variable over {x : lower <= A x <= upper, bounds}.

    Each row bounds each of its variables, given the ranges of the others. Some passes over all rows
    are made; so the ranges may be wider than the true ones, and infinite.
    """
    low, high = (np.array(end) for end in bounds.T)
    entries = A.tocoo()
    row, column, value = entries.row, entries.col, entries.data
    row, column, value = (part[entries.data != 0] for part in (row, column, value))
    for _ in range(_PASSES):
        before = low.copy(), high.copy()
        _one_pass(row, column, value, lower, upper, low, high)
        if (before[0] == low).all() and (before[1] == high).all():
            break
    return low, high


def _one_pass(
    row: npt.NDArray[np.intp],
    column: npt.NDArray[np.intp],
    value: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Let each row bound its variables once."""
    n = len(upper)
    for sides, sign in ((upper, 1.0), (-lower, -1.0)):
        factor = sign * value
        least = factor * np.where(factor > 0, low[column], high[column])
        open_ended = ~np.isfinite(least)
        finite = np.where(open_ended, 0.0, least)
        total = np.bincount(row, weights=finite, minlength=n)
        count = np.bincount(row, weights=open_ended, minlength=n)
        others_bounded = (count[row] - open_ended == 0) & np.isfinite(sides[row])
        end = np.where(others_bounded, (sides[row] - (total[row] - finite)), np.nan) / factor
        up = others_bounded & (factor > 0)
        down = others_bounded & (factor < 0)
        np.minimum.at(high, column[up], end[up])
        np.maximum.at(low, column[down], end[down])
    np.maximum(high, low, out=high)
