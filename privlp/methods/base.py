"""What every method provides: a plan from public numbers, which says its charges and its run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from privlp.game.loop import Solver
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws
from privlp.privacy.mechanisms import Mechanism
from privlp.relations.base import NeighbourRelation

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

    Examples
    --------
    >>> from privlp import LinearProgram
    >>> from privlp.methods import METHODS, Task
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> planned = METHODS["dmw"].plan(Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5))
    >>> [(mechanism.name, purpose) for mechanism, _, purpose in planned.charges]
    [('exponential mechanism', 'select a vertex each round')]
    >>> planned.predict().method
    'dmw'
    """

    charges: Sequence[ChargeRequest]
    start: Callable[[Any, Sequence[ChargedDraws]], Solver]
    predict: Callable[[], Prediction] | None = None
    by_place: bool = False


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
    rows_hold : {"nearly", "probably", "always"}
        What it promises of the rows: nothing, that all of them hold together with the probability
        ``task.feasible``, or with certainty (``feasible="always"``).
    listed : bool
        Whether :func:`privlp.plan` lists it.

    Examples
    --------
    A method that returns the middle of the public bounds, and a noisy count of the rows that this
    point violates:

    >>> import numpy as np
    >>> from privlp import LinearProgram, solve
    >>> from privlp.methods import Method, PlannedRun
    >>> from privlp.game.loop import Released
    >>> from privlp.privacy import LaplaceMechanism
    >>> class Middle(Method):
    ...     name = "middle"
    ...     def protects(self, relation):
    ...         return relation.changes_whole_rows
    ...     def plan(self, task):
    ...         mechanism = LaplaceMechanism.of_eps(task.public.rows_of_one_record, task.ledger.eps)
    ...         x = task.lp.bounds.mean(axis=1)  # public
    ...         return PlannedRun(
    ...             [(mechanism, 1, "count violated rows")],
    ...             lambda rows, draws: Count(rows, *draws, x, task.lp.objective(x)),
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
    """

    name: ClassVar[str]
    rows_hold: ClassVar[Literal["nearly", "probably", "always"]] = "nearly"
    listed: ClassVar[bool] = True

    @abstractmethod
    def protects(self, relation: NeighbourRelation) -> bool:
        """Whether its privacy proof holds for a neighbour relation.

        Examples
        --------
        >>> from privlp import ConstraintPrivate, ScalarPrivate
        >>> from privlp.methods import METHODS
        >>> dmw = METHODS["dmw"]
        >>> dmw.protects(ConstraintPrivate()), dmw.protects(ScalarPrivate(1.0))
        (True, False)
        """

    @abstractmethod
    def plan(self, task: Task) -> PlannedRun:
        """Fix everything about a run from public numbers, or refuse. Nothing is charged or drawn.

        Raises
        ------
        InvalidParameterError, UnsupportedProblemError
            If the method does not apply; the message says what it needs.
        BudgetExceededError
            If the budget does not allow it.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.methods import METHODS, Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> planned = METHODS["dmw"].plan(Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5))
        >>> [purpose for _, _, purpose in planned.charges]
        ['select a vertex each round']
        """

    def competes(self, task: Task) -> bool:  # noqa: ARG002
        """Whether ``method="auto"`` considers it for a task; False by default.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.methods import METHODS, Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5)
        >>> METHODS["dmw"].competes(task), METHODS["dmw-published"].competes(task)
        (True, False)
        """
        return False

    def adapted(self, task: Task) -> Task:
        """The task without arguments that only other candidates of ``"auto"`` use.

        Examples
        --------
        >>> from privlp import LinearProgram, ScalarPrivate
        >>> from privlp.methods import METHODS, Task
        >>> lp = LinearProgram([1, 2], [[-1, -1]], [-2], neighbours=ScalarPrivate(0.1))
        >>> task = Task.of(lp, eps=1.0, delta=0.0, alpha=0.5)
        >>> METHODS["direct-noise"].adapted(task).alpha is None
        True
        """
        return task
