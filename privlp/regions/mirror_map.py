"""How a descent moves on a region."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class MirrorMap(Protocol):
    """How a descent finds the point of a region for a total of scores."""

    @property
    def size(self) -> int:
        """Number of scores."""

    def start(self) -> FloatArray:
        """The point for a total of zero."""

    def towards(self, total: FloatArray) -> FloatArray:
        """The point for a total of scores, (size,): farther where scores are larger."""

    def seen(self, point: FloatArray) -> FloatArray:
        """The point in the coordinates in which violations of rows are computed."""

    def undo(self, seen: FloatArray) -> FloatArray:
        """A point in these coordinates, in the user's variables."""

    def objective(self, x: FloatArray) -> float | None:
        """The objective of x in the user's variables, if there is one."""
