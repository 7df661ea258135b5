"""The game of a dual player over private rows against a private primal player.

Each round the dual player weighs the private rows. The primal player answers to their weighted sum,
released with noise. The dual player learns how far the answer violates each row. Only the answers
are released; the solution is made from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.duals.base import Dual
from privlp.errors import PublicPointWarning
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import Simplex
from privlp.status import MissedRows, Status

FloatArray = npt.NDArray[np.float64]
Trace = dict[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Released:
    """What a solver releases.

    Attributes
    ----------
    x : (d,) array or None
        A point in the user's variables, None if none was found.
    objective : float or None
        The objective of x under public or released costs.
    trace : dict of arrays
        The released values that x was made from.
    status : Status
        How the solver ended.
    message : str
        What it did, as the beginning of a sentence.
    warning : str
        What to warn of, from released values; empty for nothing.
    category : type of UserWarning
        The kind of warning.
    prices : (n,) array or None
        Shadow prices of the user's rows under released numbers, None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp.players.game import Released
    >>> Released(np.array([2.0, 2.0]), 6.0).status.success
    True
    """

    x: FloatArray | None
    objective: float | None
    trace: Trace = field(default_factory=dict)
    status: Status = Status.COMPLETED
    message: str = ""
    warning: str = ""
    category: type[UserWarning] = PublicPointWarning
    prices: FloatArray | None = None
    missed: MissedRows | None = None


class Solver(Protocol):
    """A run that is ready to start: its rounds are fixed, and its draws are charged.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp.players.driver import drive
    >>> from privlp.players.game import Released
    >>> class Middle:  # looks at nothing private
    ...     rounds = 1
    ...     def step(self, t):
    ...         self.x = np.array([2.0, 2.0])
    ...     def released(self):
    ...         return Released(self.x, 6.0)
    >>> solver = Middle()
    >>> drive(solver, progress=False, time_limit=None).success, solver.rounds
    (True, 1)
    """

    @property
    def rounds(self) -> int:
        """Number of rounds, fixed before the first draw."""

    def step(self, t: int) -> None:
        """Play round t.

        Examples
        --------
        >>> import privlp
        >>> from privlp.methods import METHODS, Task
        >>> from privlp.privacy import Randomness
        >>> lp = privlp.LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5)
        >>> planned = METHODS["dmw"].plan(task)
        >>> draws = task.ledger.charge_together(planned.charges, task.relation, Randomness(0))
        >>> solver = planned.start(lp.rows(), draws)
        >>> for t in range(solver.rounds):
        ...     solver.step(t)
        """

    def released(self) -> Released:
        """The outcome after all rounds.

        Examples
        --------
        >>> import privlp
        >>> from privlp.methods import METHODS, Task
        >>> from privlp.players.driver import drive
        >>> from privlp.privacy import Randomness
        >>> lp = privlp.LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5)
        >>> planned = METHODS["dmw"].plan(task)
        >>> draws = task.ledger.charge_together(planned.charges, task.relation, Randomness(0))
        >>> solver = planned.start(lp.rows(), draws)
        >>> status = drive(solver, progress=False, time_limit=None)
        >>> round(solver.released().objective, 6)  # the public optimum
        2.5
        """


class Player(Protocol):
    """A private primal player: it sees private scores, and its answers are released."""

    def respond(self, scores: FloatArray) -> Any:
        """Answer the scores of this round through a charged draw: a vertex, or a point."""

    def released(self) -> Released:
        """The outcome of all answers."""


class SelectionPlayer:
    """Selects one vertex of the simplex a round by the exponential mechanism.

    Parameters
    ----------
    simplex : Simplex
        Public region.
    select : ChargedDraws
        Charged draws of an exponential mechanism over the vertices, one for each round.
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
        vertices, form = self._simplex.vertices, self._simplex.form
        share = np.bincount(self._selected, minlength=len(vertices)) / len(self._selected)
        x = form.undo(share * vertices)
        return Released(x, form.lp.objective(x), {"selected": form.column[self._selected]})


class Game:
    """A dual player over private rows against a private primal player.

    With a dense dual and a :class:`SelectionPlayer` this is Algorithm 2 of Hsu, Roth, Roughgarden
    and Ullman (2014).

    Parameters
    ----------
    dual : Dual
        The dual player.
    player : Player
        The private primal player.
    rounds : int
        Number of rounds T, fixed in advance from public numbers.
    """

    def __init__(self, dual: Dual, player: Player, *, rounds: int) -> None:
        self.rounds = rounds
        self.dual, self.player = dual, player

    def step(self, t: int) -> None:  # noqa: ARG002 (every round is alike)
        """Play a round: weigh the rows, let the player answer, learn which rows it violates."""
        self.dual.learn(self.player.respond(self.dual.scores()))

    def released(self) -> Released:
        """The outcome of the player's answers."""
        return self.player.released()
