"""The elastic dual player: a row's weight is a function of its own violation, and of no other row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.solvers.game import Rows

FloatArray = npt.NDArray[np.float64]


class ElasticDual:
    """Weights min(1, violation/softness) of violated rows, 0 of all others: the slopes of a smoothed sum of violations.

    Parameters
    ----------
    rows : Rows
        Private rows.
    start : (d,)
        The first point, public.
    softness : float
        Violation, as the rows measure it, from which on a row has its full weight.
    """

    def __init__(self, rows: Rows, start: FloatArray, softness: float) -> None:
        self._softness = softness
        self._weights = np.empty(rows.count)
        self.learn(rows, start)

    def learn(self, rows: Rows, answer: FloatArray) -> None:
        """See how far each row is violated at a released point."""
        self._weights[:] = 0.0
        rows.add_violations(answer, 1.0 / self._softness, self._weights)
        np.clip(self._weights, 0.0, 1.0, out=self._weights)

    def weights(self) -> FloatArray:
        """The weights against which the primal player moves; private."""
        return self._weights
