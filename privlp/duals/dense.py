"""The dense dual player: a distribution over the rows in which no row has more than 1/s."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.duals.base import ScaledRows
from privlp.duals.projection import DenseProjection, LogWeights, Place
from privlp.rows.door import Rows
from privlp.rows.grid import Grid

FloatArray = npt.NDArray[np.float64]

# Scores count less by this share: that is more than what rounding them once moves them.
_LESS = 2.0**-16


class DenseDual:
    """Multiplicative weights: raw log-weights, projected to a dense distribution each round.

    Parameters
    ----------
    rows : Rows of ScaledRows
        Private rows as the player's region sees them.
    s : float
        Density.
    step : float
        Step of the log-weights per unit of scaled violation.
    grid : Grid
        The grid of the rows; by default that of few rows.

    Attributes
    ----------
    place : Place
        Where the weights have their sum; private.
    """

    def __init__(
        self, rows: Rows[ScaledRows], s: float, step: float, grid: Grid | None = None
    ) -> None:
        self._step = step
        self.rows = rows.keep(DenseRows)
        self._project = DenseProjection(self.rows, s, Grid.of(0) if grid is None else grid)

    def scores(self) -> FloatArray:
        """Score of each possible answer against the dense distribution; private.

        Sums over rows are exact. What is made of two of them is rounded: by 2^-50 of the largest
        possible score at most. So scores are less by 2^-16 of themselves, and the sensitivity is
        that of exact ones: 2^-16 W k/s is more than two such errors for all s that a grid carries.
        """
        project = self._project
        self.place = project()
        scores, of_moving = self.rows.total(DenseRows.scores, self.place, project.bits)
        moving = self.place.share * self.place.jump(project.bits)
        unit = (1 - _LESS) * 2.0**-project.bits / project.s
        return np.asarray((scores + moving * of_moving) * unit)

    def weights(self) -> list[FloatArray]:
        """The dense distribution of the last scores, block by block; private."""
        return self.rows.map(LogWeights.weights, self.place, self._project.bits, self._project.s)

    def learn(self, answer: Any) -> None:
        """Increase the weights of the rows that a released answer violates."""
        self.rows.update(DenseRows.add, answer, self._step)


class DenseRows(LogWeights):
    """A block of rows with its part of a dense distribution."""

    def __init__(self, rows: ScaledRows) -> None:
        super().__init__(rows.count)
        self._rows = rows

    def add(self, answer: Any, step: float) -> None:
        """Add the violations of an answer to the raw log-weights."""
        self._rows.add_violations(answer, step, self.raw)

    def scores(self, place: Place, bits: int) -> FloatArray:
        """The block's part of the scores, in units of a weight: unmoved, and of rows that move."""
        weights, moves = self.unmoved(place, bits)
        unmoved = self._rows.scores(weights)
        if not place.share or not moves.any():
            return np.stack([unmoved, np.zeros_like(unmoved)])
        return np.stack([unmoved, self._rows.scores(moves.astype(np.float64))])
