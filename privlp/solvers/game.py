"""The game under every constraint-private solver: dense duals against a private primal player.

Each round the duals offer a dense distribution over private rows, the player answers from a noisy view of it, and the duals
learn how much each row is violated by the answer. Only the answers leave; the solution is their average.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privlp.privacy.ledger import ChargedDraws
from privlp.solvers.dense_dual import DenseDual
from privlp.solvers.simplex import RowsOnSimplex, Simplex

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """What a solver gives away: a point in standard-form variables, and the released values it was made from."""

    u: FloatArray
    trace: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)


class Solver(Protocol):
    """What the driver needs to know of a solver. All of it is fixed before the first draw."""

    rounds: int

    def step(self, t: int) -> None:
        """Play round t."""

    def released(self) -> Released:
        """The outcome after all rounds."""


class SelectionGame:
    """Dense multiplicative weights against a player that selects one vertex a round by the exponential mechanism.

    Algorithm 2 of Hsu, Roth, Roughgarden and Ullman (2014). Constants come from :mod:`privlp.solvers.dmw`.

    Parameters
    ----------
    simplex : Simplex
        Public region.
    rows : RowsOnSimplex
        Private rows on it.
    s : float
        Density of the dual weights.
    rounds : int
        Number of rounds T, fixed in advance from public numbers.
    step : float
        Step of the log-weights per unit of scaled violation.
    select : ChargedDraws
        T paid draws of an exponential mechanism over the vertices.
    """

    def __init__(self, simplex: Simplex, rows: RowsOnSimplex, *, s: float, rounds: int, step: float, select: ChargedDraws) -> None:
        self.rounds = rounds
        self._simplex = simplex
        self._rows = rows
        self._dual = DenseDual(rows.count, s)
        self._step = step
        self._select = select
        self._selected = np.zeros(rounds, dtype=np.int64)

    def step(self, t: int) -> None:
        """Play round t: weigh the rows, select a vertex, make the rows it violates heavier."""
        vertex = self._select(self._rows.scores(self._dual.weights()))
        self._rows.add_violations(vertex, self._step, self._dual.log_weights)
        self._selected[t] = vertex

    def released(self) -> Released:
        """The average of the selected vertices."""
        share = np.bincount(self._selected, minlength=len(self._simplex.vertices)) / self.rounds
        return Released(share * self._simplex.vertices, {"selected": self._simplex.form.column[self._selected]})
