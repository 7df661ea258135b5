"""The elastic dual player: the weight of a row depends on the violation of that row alone."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from privlp.duals.base import ScaledRows
from privlp.rows.door import Rows

FloatArray = npt.NDArray[np.float64]


class ElasticDual:
    """Weights min(1, (violation - level)/softness) of rows beyond a level, and 0 of all others.

    These are the slopes of a smoothed sum of violations.

    Parameters
    ----------
    rows : Rows of ScaledRows
        Private rows as the player's region sees them.
    start : (d,)
        The first point, public.
    softness : float
        Scaled violation from which on a row has weight 1.
    level : float, optional
        Violation beyond which a row counts as violated, in the same units.
    """

    def __init__(
        self, rows: Rows[ScaledRows], start: FloatArray, softness: float, level: float = 0.0
    ) -> None:
        self.rows = rows.keep(partial(ElasticRows, start=start, softness=softness, level=level))

    def scores(self) -> FloatArray:
        """Score of each possible answer against the weighted rows; private."""
        return np.asarray(self.rows.total(ElasticRows.scores))

    def learn(self, answer: FloatArray) -> None:
        """Set the weights by how far a released point violates each row."""
        self.rows.update(ElasticRows.learn, answer)


class ElasticRows:
    """A block of rows with elastic weights."""

    def __init__(
        self, rows: ScaledRows, *, start: FloatArray, softness: float, level: float = 0.0
    ) -> None:
        self._rows, self._softness, self._level = rows, softness, level
        self.weights = np.empty(rows.count)
        self.learn(start)

    def learn(self, answer: FloatArray) -> None:
        """Set the weights by how far a released point violates each row."""
        self.weights[:] = -self._level / self._softness
        self._rows.add_violations(answer, 1.0 / self._softness, self.weights)
        np.clip(self.weights, 0.0, 1.0, out=self.weights)

    def scores(self) -> FloatArray:
        """The block's part of the scores."""
        return self._rows.scores(self.weights)

    def violated_by_more(self, point: FloatArray, threshold: float) -> int:
        """How many rows of the block a point violates by more than a threshold."""
        violations = np.zeros(self._rows.count)
        self._rows.add_violations(point, 1.0, violations)
        return int(np.count_nonzero(violations > threshold))
