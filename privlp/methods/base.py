"""What every method provides: a plan from public numbers, what it predicts and charges, its run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from privlp.game.loop import Solver
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.privacy.mechanisms import Mechanism
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity

HOPELESS = 3.0  #: Difficulty of most methods beyond which results are mostly noise.
#: Share of rows up to which a larger s is worth naming, with most methods.
LARGEST_SHARE_OF_ROWS = 0.2
_LEAVES = 0.1  # What a search of difficulty 1 leaves of the amount by which a row varies.
#: Rank of methods of which ``method="auto"`` takes the one of the least predicted violation.
COMPARED = math.inf


@dataclass(frozen=True)
class NoiseOnNumbers:
    """Noise on the private numbers of one part of a program, which tightens them."""

    part: str  # "b", "A" or "c".
    # How far noise moves one number typically and at most, in its units. It only tightens b
    # and A; costs move both ways. Infinite for noise of unbounded support.
    typical: float
    most: float
    # Width of the declared public range (the median over the numbers), infinite where an
    # end was not declared.
    declared: float

    @property
    def share(self) -> float:
        """Typical noise over the declared range: 0 without a range, infinite for a point."""
        return self.typical / self.declared if self.declared > 0 else math.inf

    @property
    def is_mostly_noise(self) -> bool:
        """Whether noise is typically as wide as the declared range."""
        return self.share >= 1


@dataclass(frozen=True)
class Prediction:
    """Expected outcome of a method.

    What it leaves also depends on the private rows, of which nothing is used here. One program may
    do much better or several times worse.

    Attributes
    ----------
    method : str
        Its name.
    violation : float
        Largest violation to expect, beyond the least possible one. Where s rows may be violated, it
        is the largest of all other rows. The least possible one is 0 if some point satisfies all
        private rows. Per unit of ||A_i||_2 for constraint-private programs, whose rows are taken to
        have entries of like size; in units of A x - b for others. Infinite where
        nothing is known of the size of the variables.
    objective_loss : float or None
        Loss of objective to expect, as a share of the public range of the optimum; 0 where the
        optimum is given, ``None`` where it is not predicted.
    rounds : int
        Rounds T, each of which is charged.
    noise : float
        Deviation of one released number per unit of its sensitivity; for selections 2 over their
        eps.
    yardstick : float or None
        The amount by which a row typically varies over the public region, in the same units, where
        it is known.
    difficulty : float or None
        For searches: noise on all variables beside s rows, 1 where most draws still succeed.
    hopeless : float
        A difficulty beyond which results are mostly noise.
    largest_share : float
        A larger s than this share of the rows makes nothing easier, and is not advised.
    capped : bool
        Whether s is more, and noise is compared with that share of the rows in its place.
    whatever_s : float
        The difficulty that soft rows leave, whatever s; 0 without soft rows.
    deciding : float
        Share of the soft rows that noise is compared with.
    on_numbers : tuple of NoiseOnNumbers
        For methods that tighten the private numbers: the noise on each part of the program. It
        costs objective, which is not predicted.
    note : str
        What else public numbers say, in sentences for the advice.

    Examples
    --------
    A search with half of the noise at which most draws still succeed, where rows vary by 2:

    >>> from privlp.methods import Prediction
    >>> Prediction.of_difficulty("mine", 0.5, 2.0, rounds=10, noise=1.0).violation
    0.1
    """

    method: str
    violation: float
    objective_loss: float | None
    rounds: int
    noise: float
    yardstick: float | None = None
    difficulty: float | None = None
    on_numbers: tuple[NoiseOnNumbers, ...] = ()
    hopeless: float = HOPELESS
    largest_share: float = LARGEST_SHARE_OF_ROWS
    capped: bool = False
    whatever_s: float = 0.0
    deciding: float = 1.0
    note: str = ""

    @classmethod
    def of_difficulty(
        cls,
        method: str,
        difficulty: float,
        typical: float,
        rounds: int,
        noise: float,
        **options: Any,
    ) -> Prediction:
        """Of a search with noise on all variables, where a row typically varies by so much."""
        yardstick = None if math.isinf(typical) else typical
        return cls(
            method,
            _LEAVES * difficulty * typical,
            None,
            rounds,
            noise,
            yardstick=yardstick,
            difficulty=difficulty,
            **options,
        )


#: A mechanism, a number of draws, and what they are for, in the words of the ledger.
ChargeRequest = tuple[Mechanism, int, str]


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """One run of a method, planned from public numbers: its charges, and how it starts.

    Attributes
    ----------
    charges : sequence of (Mechanism, int, str)
        What is charged, all at once, before the first draw.
    start : callable
        Makes the :class:`~privlp.game.loop.Solver` from the private rows and the charged draws,
        one for each charge. It draws nothing yet.
    predict : callable, optional
        Predicts what the run will leave, from public numbers.
    by_place : bool
        Whether the run reads private numbers by their places in the program. All rows must then be
        in memory.
    other : PlannedRun, optional
        A run that released numbers may let take over, for the price of draws that are left; or what
        the same run foretells then.
    other_if : str
        What these numbers then say, in words.

    Examples
    --------
    >>> from privlp import LinearProgram
    >>> from privlp.methods import METHODS, SolveRequest
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> planned = METHODS["dmw"].plan(SolveRequest.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5))
    >>> [(mechanism.name, purpose) for mechanism, _, purpose in planned.charges]
    [('exponential mechanism', 'select a vertex each round')]
    >>> planned.predict().method
    'dmw'
    """

    charges: Sequence[ChargeRequest]
    start: Callable[[Any, Sequence[ChargedDraws]], Solver]
    predict: Callable[[], Prediction] | None = None
    by_place: bool = False
    other: PlannedRun | None = None
    other_if: str = ""


class Method(ABC):
    """A way to solve a program privately: plan, charge, run.

    :func:`privlp.solve` asks for a plan, charges what it says to the ledger, and runs it. A method
    of your own is an object of this class, passed as ``method=``. :func:`privlp.audit_solve` looks
    for faults in it. The statement of a result covers what was charged: a method that charges
    nothing must release nothing that depends on private rows, not even in an error.

    Attributes
    ----------
    name : str
        The name by which users ask for it.
    take_it : str
        When to take it, in words.
    rows_hold : {"nearly", "probably", "always"}
        What it promises of the rows: nothing, that all of them hold together with the probability
        ``request.feasible``, or with certainty (``feasible="always"``).
    listed : bool
        Whether :func:`privlp.plan` lists it unless it is asked for all methods.
    takes_start : bool
        Whether a run goes on from ``request.start``. If not, it is ignored, and the advice says so.
    auto_leaves_out : tuple of str
        Options that ``method="auto"`` does not pass on to it.

    Examples
    --------
    A method that returns the middle of the public bounds, and a noisy count of the rows that this
    point violates:

    >>> import numpy as np
    >>> from privlp import LinearProgram, solve
    >>> from privlp.methods import Method, PlannedRun, SolveRequest
    >>> from privlp.game.loop import Released
    >>> from privlp.privacy import LaplaceMechanism
    >>> class Middle(Method):
    ...     name = "middle"
    ...     def protects(self, relation):
    ...         return relation.changes_whole_rows
    ...     def plan(self, request):
    ...         k, eps = request.public.rows_of_one_record, request.ledger.eps
    ...         mechanism = LaplaceMechanism.of_eps(k, eps)
    ...         x = request.lp.bounds.mean(axis=1)  # public
    ...         return PlannedRun(
    ...             [(mechanism, 1, "count violated rows")],
    ...             lambda rows, draws: Count(rows, *draws, x, request.lp.objective(x)),
    ...         )
    >>> class Count:
    ...     rounds = 1
    ...     def __init__(self, rows, release, x, objective):
    ...         self.rows = rows.keep(lambda block: block)  # keeps the rows themselves
    ...         self.release, self.x, self.objective = release, x, objective
    ...     def step(self, t):
    ...         count = self.rows.total(lambda block: np.count_nonzero(block @ self.x > block.rhs))
    ...         self.noisy = self.release(float(count))
    ...     def released(self):
    ...         return Released(self.x, self.objective, {"noisy count": np.array([self.noisy])})
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-5, -3], bounds=(0, 4))
    >>> solution = solve(lp, eps=1.0, delta=0.0, method=Middle(), rng=0)
    >>> solution.x, solution.method, solution.privacy.eps
    (array([2., 2.]), 'middle', 1.0)

    What :func:`privlp.solve` asks of it:

    >>> method, request = Middle(), SolveRequest.of(lp, eps=1.0, delta=0.0)
    >>> method.protects(lp.neighbours), method.rank(request)  # auto does not take it
    (True, None)
    >>> [purpose for _, _, purpose in method.plan(request).charges]
    ['count violated rows']
    """

    name: ClassVar[str]
    take_it: ClassVar[str] = ""
    rows_hold: ClassVar[Literal["nearly", "probably", "always"]] = "nearly"
    listed: ClassVar[bool] = True
    takes_start: ClassVar[bool] = False
    auto_leaves_out: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def protects(self, relation: NeighbourRelation) -> bool:
        """Whether its privacy proof holds for a neighbour relation."""

    @abstractmethod
    def plan(self, request: SolveRequest) -> PlannedRun:
        """Fix everything about a run from public numbers, or refuse. Nothing is charged or drawn.

        Raises
        ------
        InvalidParameterError, UnsupportedProblemError
            If the method does not apply; the message says what it needs.
        BudgetExceededError
            If the budget does not allow it.
        """

    def rank(self, request: SolveRequest) -> float | None:  # noqa: ARG002
        """Where ``method="auto"`` places it, by public numbers; None, as here: it is not taken.

        Methods are tried by their rank, the least first, and the first that can be planned is
        taken. Of several of one rank, such as ``COMPARED``, the one of the least predicted
        violation is.
        """
        return None


class RowsMethod(Method):
    """A method for programs in which one record owns whole rows."""

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows


class NumbersMethod(Method):
    """A method for programs in which one record moves some numbers by a bounded amount."""

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity)
