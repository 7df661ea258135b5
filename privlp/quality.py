"""A private report on how far a solution violates the private rows, charged to a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from privlp.checks import FloatArray, real, require, require_kind
from privlp.errors import UnsupportedProblemError
from privlp.exact import ExactSolution
from privlp.linear_program import LinearProgram, require_program
from privlp.privacy import Budget, LaplaceMechanism, Ledger, PrivacyRecord, Randomness
from privlp.privacy.randomness import RandomSource
from privlp.quiet import unnoticed
from privlp.relations import ConstraintPrivate, RowPrivate
from privlp.relations.numbers import LowSensitivity
from privlp.rows.program_rows import RowBlock
from privlp.solution import Solution, point_of

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Quality:
    """What may be said about a private solution's rows.

    Attributes
    ----------
    n_violated : float or None
        Noisy number of private rows violated by more than alpha, a whole number from 0; ``None``
        where any number of rows may change at once.
    largest_violation : float or None
        Noisy largest violation of a private row, in units of A x - b, where any number of rows may
        change at once; negative where every row holds with room to spare.
    alpha : float
        Violation per unit of ||A_i||_2 that does not count.
    margin : float
        The number is within this of the truth with probability 0.95.
    privacy : PrivacyRecord
        What was spent on it.

    Examples
    --------
    >>> import privlp
    >>> lp = privlp.LinearProgram(c=[1, 2], A=[[-1, -1], [-3, -4]], b=[-2, -3])
    >>> report = privlp.quality(lp, [1.0, 1.0], eps=0.5, rng=0)
    >>> round(report.margin, 2), report.privacy.eps
    (5.99, 0.5)
    >>> str(report).endswith("private rows are violated (95 %).")
    True
    """

    n_violated: float | None
    largest_violation: float | None
    alpha: float
    margin: float
    privacy: PrivacyRecord

    def __str__(self) -> str:
        if self.n_violated is not None:
            beyond = f" by more than {self.alpha:g} per unit of row norm" if self.alpha else ""
            number = f"{self.n_violated:.0f} ± {math.ceil(self.margin)}"
            return f"{number} private rows are violated{beyond} (95 %)."
        room = (self.largest_violation or 0) < 0
        below = "; below 0, all private rows hold with so much to spare" if room else ""
        return (
            f"The largest violation of a private row is {self.largest_violation:.4g} ±"
            f" {self.margin:.2g} (95 %{below})."
        )


def quality(
    lp: LinearProgram,
    solution: Solution | Any,
    eps: float,
    *,
    alpha: float = 0.0,
    budget: Budget | None = None,
    rng: RandomSource = None,
) -> Quality:
    """Report privately how well a released point satisfies the private rows.

    *Neighbours*: those of ``lp.neighbours``. *Sensitivity*: where one record owns k rows that may
    change altogether, or one row of A may change, the number of violated rows changes by at most k,
    or by 1. Where any number of rows may move a little, the largest violation changes by at most as
    much as any violation does. *Release*: Laplace noise, eps-DP. Proof: ``docs/proofs.md``,
    "Quality".

    Parameters
    ----------
    lp : LinearProgram
        The program.
    solution : Solution or array_like of shape (d,)
        A point that was released: it counts as public.
    eps : float
        Spent on the report; ``inf`` for no noise, which is not private.
    alpha : float
        Count rows violated by more than this per unit of ||A_i||_2. Without use where the largest
        violation is reported.
    budget : Budget, optional
        A budget shared with other calls.
    rng : None, int or numpy.random.Generator
        As for :func:`solve`.

    Raises
    ------
    InvalidParameterError
        If the point has the wrong shape or is not finite, an exact solution is given (which is not
        released), or a number is outside its domain.
    UnsupportedProblemError
        If the program has no private rows, or rows whose numbers are all public.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
    >>> lp = privlp.LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(500))
    >>> budget = privlp.Budget(eps=2.5, delta=1e-6)
    >>> solution = privlp.solve(lp, eps=2.0, delta=1e-6, s=50, budget=budget, rng=0)
    >>> report = privlp.quality(lp, solution, eps=0.5, budget=budget, rng=1)
    >>> report.n_violated <= 100, round(report.margin, 1), budget.spent() <= 2.5
    (True, 6.0, True)
    """
    require_program(lp)
    require(
        not isinstance(solution, ExactSolution),
        "An exact solution depends on private rows without noise; a report on it would not be"
        " private.",
        "solution",
    )
    require_kind(budget, Budget | None, "budget", "a privlp.Budget")
    # Whether a number overflows depends on private rows: a warning would tell.
    with unnoticed():
        x = point_of(lp, solution)
        alpha = real(alpha, "alpha")
        finite = f"alpha must be finite and not negative, got {alpha!r}."
        require(0 <= alpha < math.inf, finite, "alpha")
        relation = lp.neighbours
        counts = isinstance(relation, ConstraintPrivate | RowPrivate)
        change = _change(lp, x, counts=counts)
        ledger = Ledger(eps, 0.0) if budget is None else budget.ledger(eps, 0.0)
        randomness = Randomness.of(rng)
        mechanism = LaplaceMechanism.of_eps(change, ledger.eps)
        purpose = "count violated rows" if counts else "largest violation"
        release = ledger.charge(
            mechanism, 1, purpose, relation, randomness, description=relation.describe(lp)
        )
        margin = mechanism.scale * math.log(1 / (1 - _CONFIDENCE))
        rows = lp.rows()
        number: float | None = None
        largest: float | None = None
        if counts:
            noisy = float(release(float(rows.total(_violated_by_more, x, alpha))))
            number = max(0.0, float(np.round(noisy)))
        else:
            largest = float(release(float(rows.largest(_largest_violation, 1, x)[0])))
        return Quality(number, largest, alpha, margin, ledger.record())


def _change(lp: LinearProgram, x: FloatArray, *, counts: bool) -> float:
    """How far the number moves between neighbours; refused where nothing of rows is private."""
    relation, public = lp.neighbours, lp.public()
    if not counts and not (
        isinstance(relation, LowSensitivity) and set(relation.private_parts) & {"A", "b"}
    ):
        raise UnsupportedProblemError(
            "All rows are public under this neighbour relation: lp.A @ x - lp.b says how far they"
            " hold."
        )
    if not public.n:
        raise UnsupportedProblemError(
            "The program has no private rows, so there is nothing to report."
        )
    if relation.changes_whole_rows:
        return float(relation.vectors_of_one_record(lp))
    return 1.0 if counts else float(relation.violation_change(public.form)(x))


def _violations(block: RowBlock, x: FloatArray) -> FloatArray:
    """How far x violates each private row of a block, on the side that it violates more."""
    lp, activity = block.lp, block.form.activity(x)
    return np.asarray(np.maximum(activity - lp.b, lp.row_lower - activity)[lp.private])


def _violated_by_more(block: RowBlock, x: FloatArray, alpha: float) -> int:
    """How many rows of a block x violates by more than alpha times their norm."""
    norms = block.form.row_norms()[block.lp.private]
    return int(np.count_nonzero(_violations(block, x) > alpha * norms))


def _largest_violation(block: RowBlock, count: int, x: FloatArray) -> FloatArray:
    """The largest violations of rows of a block."""
    return np.sort(_violations(block, x))[-count:]
