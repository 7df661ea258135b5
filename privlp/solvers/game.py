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
from privlp.problem import StandardForm
from privlp.solvers.dense_dual import DenseDual
from privlp.solvers.simplex import Simplex
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Released:
    """What a solver gives away.

    Attributes
    ----------
    x : (d,) array or None
        A point in the user's variables, None if none was found.
    objective : float or None
        Its value: of public costs, or of released ones.
    trace : dict of arrays
        The released values that x was made from.
    status : Status
        How the solver ended.
    message : str
        What it did, as the beginning of a sentence.
    """

    x: FloatArray | None
    objective: float | None
    trace: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    status: Status = Status.COMPLETED
    message: str = ""

    @classmethod
    def at(cls, form: StandardForm, u: FloatArray, trace: dict[str, npt.NDArray[np.generic]]) -> Released:
        """The point u of a standard form with public costs."""
        x = form.undo(u)
        return cls(x, form.lp.objective(x), trace)


class Solver(Protocol):
    """What the driver needs to know of a solver. All of it is fixed before the first draw."""

    rounds: int

    def step(self, t: int) -> None:
        """Play round t."""

    def released(self) -> Released:
        """The outcome after all rounds."""


class Player(Protocol):
    """A private primal player: sees private scores, answers with something released."""

    def respond(self, scores: FloatArray) -> int:
        """Answer the scores of this round through a paid draw."""

    def released(self) -> Released:
        """The outcome of all answers."""


class Rows(Protocol):
    """Private rows as the player's region sees them."""

    @property
    def count(self) -> int:
        """Number of private rows."""

    def scores(self, z: FloatArray) -> FloatArray:
        """Score of each possible answer against dual weights z; larger is better."""

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of answer j to `out`."""


class SelectionPlayer:
    """Selects one vertex of the simplex a round by the exponential mechanism.

    Parameters
    ----------
    simplex : Simplex
        Public region.
    select : ChargedDraws
        Paid draws of an exponential mechanism over the vertices, one for each round.
    """

    def __init__(self, simplex: Simplex, select: ChargedDraws) -> None:
        self._simplex = simplex
        self._select = select
        self._selected: list[int] = []

    def respond(self, scores: FloatArray) -> int:
        """Select a vertex."""
        vertex: int = self._select(scores)
        self._selected.append(vertex)
        return vertex

    def released(self) -> Released:
        """The average of the selected vertices."""
        vertices = self._simplex.vertices
        share = np.bincount(self._selected, minlength=len(vertices)) / len(self._selected)
        return Released.at(self._simplex.form, share * vertices, {"selected": self._simplex.form.column[self._selected]})


class Game:
    """Multiplicative weights over private rows against a private primal player.

    With a :class:`SelectionPlayer` this is Algorithm 2 of Hsu, Roth, Roughgarden and Ullman (2014). Constants come from
    :mod:`privlp.solvers.dmw`.

    Parameters
    ----------
    rows : Rows
        Private rows as the player's region sees them.
    player : Player
        The private primal player.
    s : float
        Density of the dual weights.
    rounds : int
        Number of rounds T, fixed in advance from public numbers.
    step : float
        Step of the log-weights per unit of scaled violation.
    """

    def __init__(self, rows: Rows, player: Player, *, s: float, rounds: int, step: float) -> None:
        self.rounds = rounds
        self._rows = rows
        self._player = player
        self._dual = DenseDual(rows.count, s)
        self._step = step

    def step(self, t: int) -> None:  # noqa: ARG002 (every round is alike)
        """Play a round: weigh the rows, let the player answer, make the rows that the answer violates heavier."""
        answer = self._player.respond(self._rows.scores(self._dual.weights()))
        self._rows.add_violations(answer, self._step, self._dual.log_weights)

    def released(self) -> Released:
        """What the player's answers come to."""
        return self._player.released()
