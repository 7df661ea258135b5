"""Rows whose weighted sums are made in two passes: violations first, then the sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


class RowsInTwoPasses(ABC):
    """Rows that add up, and that tell their violations, each in a pass of its own."""

    @abstractmethod
    def scores(self, z: FloatArray) -> FloatArray:
        """Score of each possible answer against weights z."""

    @abstractmethod
    def violations(self, answer: Any) -> FloatArray:
        """The scaled violation of each row at an answer."""

    def add_violations(self, answer: Any, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of an answer to `out`."""
        out += step * self.violations(answer)

    def weighed(self, answer: Any, slope: float, offset: float) -> FloatArray:
        """The scores against weights slope * violation - offset, clipped to [0, 1]."""
        weights = self.violations(answer)
        weights *= slope
        weights -= offset
        return self.scores(np.clip(weights, 0.0, 1.0, out=weights))
