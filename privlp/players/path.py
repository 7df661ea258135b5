"""The solution after each round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_MOST_NUMBERS = 50_000


class Path:
    """The points after the rounds, thinned out evenly: at most 50,000 numbers are kept.

    Points are made from released values alone, so all of them may be released.
    """

    def __init__(self) -> None:
        self._points: list[FloatArray] = []
        self._round, self._stride = 0, 1

    def add(self, point: FloatArray) -> None:
        """Add the point after one more round, shape (k,); it must not change afterwards."""
        self._round += 1
        if self._round % self._stride == 0:
            self._points.append(point)
            if len(self._points) * point.size > _MOST_NUMBERS:
                self._points = self._points[1::2]
                self._stride *= 2

    def trace(self, undo: Callable[[FloatArray], FloatArray]) -> dict[str, npt.NDArray[Any]]:
        """The rounds kept, and x after each of them.

        `undo` takes a point to the user's variables.
        """
        if not self._points:
            return {}
        rounds = self._stride * np.arange(1, len(self._points) + 1)
        return {
            "rounds": rounds,
            "x after rounds": np.array([undo(point) for point in self._points]),
        }
