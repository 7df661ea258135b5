"""How a descent moves on a region."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class MirrorMap(Protocol):
    """The point of a region to which a total of scores points."""

    @property
    def size(self) -> int:
        """Number of scores."""

    def start(self) -> FloatArray:
        """The point at a total of zero."""

    def towards(self, total: FloatArray) -> FloatArray:
        """The point to which a total of scores, (size,), points: more where scores are larger."""

    def seen(self, point: FloatArray) -> FloatArray:
        """The point in the coordinates in which rows take points."""

    def undo(self, seen: FloatArray) -> FloatArray:
        """A point that rows take, in the user's variables."""

    def objective(self, x: FloatArray) -> float | None:
        """The objective of x in the user's variables, if there is one."""


class Region(Protocol):
    """What the parameters of a descent depend on."""

    @property
    def size(self) -> int:
        """Number of numbers in a release: vertices, or directions."""

    @property
    def longest(self) -> float:
        """Euclidean norm of a row on the region per unit of ||A_i||_2, at most."""

    @property
    def typical_norm(self) -> float:
        """The same, typically."""
