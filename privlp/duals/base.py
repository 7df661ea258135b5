"""What every dual player provides, and what it needs from rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class ScaledRows(Protocol):
    """A block of private rows as the player's region sees them, each scaled by itself."""

    @property
    def count(self) -> int:
        """Number of rows in the block."""

    def scores(self, z: FloatArray) -> FloatArray:
        """Score of each possible answer against dual weights z; larger is better.

        Exact for integers z, as long as their sum is not too large
        (:meth:`~privlp.rows.grid.Grid.bits_of_dense_weights`).
        """

    def add_violations(self, answer: Any, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of an answer to `out`."""


class WeighedRows(ScaledRows, Protocol):
    """Scaled rows whose weights are functions of one violation each."""

    def violations(self, answer: Any) -> FloatArray:
        """The scaled violation of each row at an answer."""

    def weighed(self, answer: Any, slope: float, offset: float) -> FloatArray:
        """Scores against weights slope * violation - offset, clipped to [0, 1]."""


class Dual(Protocol):
    """A dual player: weighs all rows, given what was released before."""

    def scores(self) -> FloatArray:
        """Score of each possible answer against the weighted rows; private."""

    def learn(self, answer: Any) -> None:
        """Update the weights by how far a released answer violates each row."""
