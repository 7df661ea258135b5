"""The game of a dual player over private rows against a primal player, and the one loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.errors import InvalidParameterError, PublicPointWarning
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import Simplex
from privlp.status import MissedRows, Status

#: More are refused.
MOST_ROUNDS = 10_000_000
_MOST_NUMBERS = 50_000
Trace = dict[str, npt.NDArray[np.generic]]


class ScaledRows(Protocol):
    """A block of private rows as the player's region sees them, each scaled by itself."""

    @property
    def count(self) -> int: ...

    def scores(self, z: FloatArray) -> FloatArray:
        """Score of each answer against dual weights z, exact for integers; larger is better."""

    def add_violations(self, answer: Any, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of an answer to `out`."""


class WeighedRows(Protocol):
    """Scaled rows whose weights are functions of one violation each."""

    def weighed(self, answer: Any, slope: float) -> FloatArray:
        """Scores against weights slope * violation, clipped to [0, 1]."""


class Dual(Protocol):
    """A dual player: scores answers by all rows, and learns how far each breaks a released one."""

    def scores(self) -> FloatArray: ...

    def learn(self, answer: Any) -> None: ...


def weight_of_round(t: int) -> float:
    """How much round t, from 0, counts in accelerated descent: 1/theta_t, theta_t = 2/(t + 2)."""
    return (t + 2) / 2


@lru_cache(maxsize=64)
def weights_of_rounds(rounds: int) -> tuple[float, ...]:
    """How much each of the given number of rounds counts in accelerated descent."""
    return tuple(weight_of_round(t) for t in range(rounds))


def as_rounds(factor: float, ratio: float, alpha: float) -> int:
    """The number of rounds factor * ratio**2, rounded up."""
    rounds = factor * ratio * ratio
    if not rounds <= MOST_ROUNDS:
        raise InvalidParameterError(
            f"alpha = {alpha:g} asks for {rounds:.3g} rounds, beyond {MOST_ROUNDS:,}. Give a"
            " larger alpha.",
            parameter="alpha",
        )
    return max(1, math.ceil(rounds))


class Path:
    """The released points after the rounds, thinned out evenly: at most 50,000 numbers are kept."""

    def __init__(self) -> None:
        self._points: list[FloatArray] = []
        self._round, self._stride = 0, 1

    def add(self, point: FloatArray) -> None:
        """Add the point after one more round, shape (k,); it must not change afterwards."""
        self._round += 1
        if self._round % self._stride == 0:
            self._points.append(point)
            if len(self._points) * point.size > _MOST_NUMBERS:
                self._points, self._stride = self._points[1::2], 2 * self._stride

    def trace(self, undo: Callable[[FloatArray], FloatArray]) -> dict[str, npt.NDArray[Any]]:
        """The rounds kept, and x after each; `undo` takes a point to the user's variables."""
        if not self._points:
            return {}
        rounds = self._stride * np.arange(1, len(self._points) + 1)
        return {"rounds": rounds, "x after rounds": np.array([undo(p) for p in self._points])}


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
    missed : MissedRows or None
        An interval for the number of private rows that x misses, None if none was counted.
    method : str
        The name of the method whose search took over, by released numbers, or of this one if they
        say what the plan foretells in that case; empty otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp.game.loop import Released
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
    method: str = ""


class Solver(Protocol):
    """A run that is ready to start: its rounds are fixed, and its draws are charged.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp.game.loop import drive
    >>> from privlp.game.loop import Released
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
        >>> from privlp.methods import METHODS, SolveRequest
        >>> from privlp.privacy import Randomness
        >>> lp = privlp.LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> request = SolveRequest.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5)
        >>> planned = METHODS["dmw"].plan(request)
        >>> draws = request.ledger.charge_together(planned.charges, request.relation, Randomness(0))
        >>> solver = planned.start(lp.rows(), draws)
        >>> for t in range(solver.rounds):
        ...     solver.step(t)
        """

    def released(self) -> Released:
        """The outcome after all rounds.

        Examples
        --------
        >>> import privlp
        >>> from privlp.methods import METHODS, SolveRequest
        >>> from privlp.game.loop import drive
        >>> from privlp.privacy import Randomness
        >>> lp = privlp.LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> request = SolveRequest.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5)
        >>> planned = METHODS["dmw"].plan(request)
        >>> draws = request.ledger.charge_together(planned.charges, request.relation, Randomness(0))
        >>> solver = planned.start(lp.rows(), draws)
        >>> status = drive(solver, progress=False, time_limit=None)
        >>> round(solver.released().objective, 6)  # the public optimum
        2.5
        """


class Player(Protocol):
    """A private primal player: its answers to private scores are charged draws."""

    def respond(self, scores: FloatArray) -> Any: ...

    def released(self) -> Released: ...


class SelectionPlayer:
    """Selects one vertex of the simplex a round by the exponential mechanism."""

    def __init__(self, simplex: Simplex, select: ChargedDraws) -> None:
        self._simplex, self._select = simplex, select
        self._selected: list[int] = []

    def respond(self, scores: FloatArray) -> int:
        """Select a vertex."""
        self._selected.append(self._select(scores))
        return self._selected[-1]

    def released(self) -> Released:
        """The average of the selected vertices."""
        vertices, form = self._simplex.vertices, self._simplex.form
        share = np.bincount(self._selected, minlength=len(vertices)) / len(self._selected)
        x = form.undo(share * vertices)
        return Released(x, form.lp.objective(x), {"selected": form.column[self._selected]})


class Game:
    """A dual player over private rows against a private primal player, in rounds fixed beforehand.

    With a dense dual and a :class:`SelectionPlayer` this is Algorithm 2 of Hsu, Roth, Roughgarden
    and Ullman (2014).
    """

    def __init__(self, dual: Dual, player: Player, *, rounds: int) -> None:
        self.dual, self.player, self.rounds = dual, player, rounds

    def step(self, t: int) -> None:  # noqa: ARG002 (every round is alike)
        """Weigh the rows, let the player answer, learn which rows it violates."""
        self.dual.learn(self.player.respond(self.dual.scores()))

    def released(self) -> Released:
        """The outcome of the player's answers."""
        return self.player.released()


def drive(solver: Solver, *, progress: bool, time_limit: float | None) -> Status:
    """Play all rounds, fixed in advance and charged before the first, or stop at the time limit."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    rounds: Iterable[int] = range(solver.rounds)
    if progress:
        from tqdm import tqdm  # noqa: PLC0415 (slow to load)

        rounds = tqdm(rounds, unit="round")
    for t in rounds:
        if deadline is not None and time.monotonic() > deadline:
            return Status.TIME_LIMIT
        solver.step(t)
    return Status.COMPLETED
