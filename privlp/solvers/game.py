"""The game under every constraint-private solver: dense duals against a private primal player.

Each round the duals offer a dense distribution over private rows, the player answers from a noisy
view of it, and the duals learn how much each row is violated by the answer. Only the answers leave;
the solution is their average.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.privacy import ChargedDraws
from privlp.problem import StandardForm
from privlp.solvers.rounds import weight_of_round
from privlp.solvers.simplex import Simplex
from privlp.solvers.walk import Walk
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
    def at(
        cls, form: StandardForm, u: FloatArray, trace: dict[str, npt.NDArray[np.generic]]
    ) -> Released:
        """The point u of a standard form with public costs."""
        x = form.undo(u)
        return cls(x, form.lp.objective(x), trace)


class Solver(Protocol):
    """What the driver needs to know of a solver. All of it is fixed before the first draw.

    Examples
    --------
    A method that looks at nothing private, so that it pays nothing, answers with the middle of the public bounds:

    >>> from privlp import LinearProgram, solve
    >>> from privlp.solvers.game import Released
    >>> class Middle:
    ...     rounds = 1
    ...     def __init__(self, task):
    ...         self.lp = task.lp
    ...     def step(self, t):
    ...         self.x = self.lp.bounds.mean(axis=1)
    ...     def released(self):
    ...         return Released(self.x, self.lp.objective(self.x))
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], bounds=(0, 4))
    >>> solution = solve(lp, eps=1.0, delta=0.0, method=Middle)
    >>> solution.x, solution.objective, solution.privacy.eps
    (array([2., 2.]), 6.0, 0.0)
    """

    rounds: int

    def step(self, t: int) -> None:
        """Play round t.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import METHODS, Task
        >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
        >>> lp = LinearProgram([1, 2, 1, 3], -needs, -np.ones(500))
        >>> solver = METHODS["mirror"](task := Task.of(lp, eps=2.0, delta=1e-6, s=50, opt=3.0, rng=0))
        >>> for t in range(solver.rounds):
        ...     solver.step(t)
        >>> solver.rounds == task.ledger.entries[0].draws
        True
        """

    def released(self) -> Released:
        """The outcome after all rounds.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import METHODS, Task
        >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
        >>> lp = LinearProgram([1, 2, 1, 3], -needs, -np.ones(500))
        >>> solver = METHODS["mirror"](Task.of(lp, eps=2.0, delta=1e-6, s=50, opt=3.0, rng=0))
        >>> for t in range(solver.rounds):
        ...     solver.step(t)
        >>> round(solver.released().objective, 6)
        3.0
        """


class Player(Protocol):
    """A private primal player: sees private scores, answers with something released."""

    def respond(self, scores: FloatArray) -> Any:
        """Answer the scores of this round through a paid draw: by a vertex, or by a point."""

    def released(self) -> Released:
        """The outcome of all answers."""


class Walker(Player, Protocol):
    """A player that answers with points of its region."""

    @property
    def point(self) -> FloatArray:
        """Where the duals look next."""

    @property
    def solution(self) -> FloatArray:
        """What all answers come to, as the rows take a point."""


class Rows(Protocol):
    """Private rows as the player's region sees them."""

    @property
    def count(self) -> int:
        """Number of private rows."""

    def scores(self, z: FloatArray) -> FloatArray:
        """Score of each possible answer against dual weights z; larger is better."""

    def add_violations(self, answer: Any, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of an answer to `out`."""


class Dual(Protocol):
    """A dual player: weighs the rows by what was released before."""

    def weights(self) -> FloatArray:
        """Weights of the rows, each a function of that row and of released values, but for a dense projection; private."""

    def learn(self, rows: Rows, answer: Any) -> None:
        """Take in how far each row is violated by a released answer."""


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
        return Released.at(
            self._simplex.form,
            share * vertices,
            {"selected": self._simplex.form.column[self._selected]},
        )


class MirrorPlayer:
    """Releases the whole score vector with noise each round, and follows it by entropic mirror descent.

    With theta_t = 2/(t + 2): the duals see y = (1 - theta) x + theta z; z is proportional to
    exp(step * sum of scores/theta); x becomes (1 - theta) x + theta z (Nesterov's method with
    entropic distances, Tseng 2008). So round t counts 1/theta_t; noise costs least with a variance
    in proportion to theta_t. Plain descent has theta_t = 1/(t + 1) in averages and 1 elsewhere: the
    duals see z, and x is the average of what they saw.

    Parameters
    ----------
    simplex : Simplex
        Public region.
    release : ChargedDraws
        Paid draws of an additive mechanism over the vertices, one for each round.
    step : float
        Step per unit of score.
    costs : (size,), optional
        Public costs of the vertices, in units of score; none by default.
    accelerated : bool
        Whether to accelerate.
    """

    def __init__(
        self,
        simplex: Simplex,
        release: ChargedDraws,
        step: float,
        costs: FloatArray | None = None,
        *,
        accelerated: bool = True,
    ) -> None:
        self._simplex, self._release, self._step, self._accelerated = (
            simplex,
            release,
            step,
            accelerated,
        )
        self._costs = np.zeros(simplex.size) if costs is None else costs
        self._sum = np.zeros(simplex.size)
        self._average = self._ahead = simplex.nearest(np.full(simplex.size, 1 / simplex.size))
        self._round, self._walk = 0, Walk()

    @property
    def _theta(self) -> float:
        return 1 / weight_of_round(self._round)

    @property
    def point(self) -> FloatArray:
        """Where the duals look next, as u on the region."""
        if not self._accelerated:
            return self._simplex.point(self._ahead)
        return self._simplex.point((1 - self._theta) * self._average + self._theta * self._ahead)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release the scores, and move."""
        theta = self._theta if self._accelerated else 1 / (self._round + 1)
        if not self._accelerated:
            self._average = (1 - theta) * self._average + theta * self._ahead
        self._sum += (self._release(scores) - self._costs) / (theta if self._accelerated else 1.0)
        log_weights = self._step * (self._sum - self._sum.max())
        weights = np.exp(np.maximum(log_weights, -700.0))
        self._ahead = self._simplex.nearest(weights / weights.sum())
        if self._accelerated:
            self._average = (1 - theta) * self._average + theta * self._ahead
        self._round += 1
        self._walk.add(self.solution)
        return self.point

    @property
    def solution(self) -> FloatArray:
        """The average of the points of all rounds, later ones counting more if accelerated.

        U on the region.
        """
        return self._simplex.point(self._average)

    def released(self) -> Released:
        """The average of all rounds."""
        return Released.at(
            self._simplex.form, self.solution, self._walk.trace(self._simplex.form.undo)
        )


class Game:
    """A dual player over private rows against a private primal player.

    With a dense dual and a :class:`SelectionPlayer` this is Algorithm 2 of Hsu, Roth, Roughgarden
    and Ullman (2014). Constants come from :mod:`privlp.solvers.dmw` and
    :mod:`privlp.solvers.mirror`.

    Parameters
    ----------
    rows : Rows
        Private rows as the player's region sees them.
    player : Player
        The private primal player.
    dual : Dual
        The dual player.
    rounds : int
        Number of rounds T, fixed in advance from public numbers.
    """

    def __init__(self, rows: Rows, player: Player, dual: Dual, *, rounds: int) -> None:
        self.rounds = rounds
        self._rows, self._player, self._dual = rows, player, dual

    def step(self, t: int) -> None:  # noqa: ARG002 (every round is alike)
        """Play a round: weigh the rows, let the player answer, learn which rows the answer violates."""
        answer = self._player.respond(self._rows.scores(self._dual.weights()))
        self._dual.learn(self._rows, answer)

    def released(self) -> Released:
        """What the player's answers come to."""
        return self._player.released()
