"""Rows whose weighted sums are made in two passes: violations first, then the sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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

    def weighed(self, answer: Any, weigh: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """The scores against the weights that `weigh` makes of the violations at an answer."""
        return self.scores(weigh(self.violations(answer)))
