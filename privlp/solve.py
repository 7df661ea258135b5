"""Solve a linear program under differential privacy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privlp.checks import (
    FloatArray,
    as_floats,
    is_one_of,
    positive,
    require,
    require_flag,
    require_kind,
    shown,
)
from privlp.errors import InvalidParameterError, MostlyNoiseWarning, UnsupportedProblemError
from privlp.game.loop import Released, drive
from privlp.linear_program import LinearProgram, require_program
from privlp.methods import METHODS, REPLACED
from privlp.methods.advice import advise, warn_of_request
from privlp.methods.auto import best_run, promises, protecting
from privlp.methods.base import Method, PlannedRun
from privlp.methods.request import SolveRequest
from privlp.privacy import Accountant, Budget, Randomness
from privlp.privacy.budget import ledger_of_call
from privlp.privacy.randomness import RandomSource
from privlp.quiet import unnoticed
from privlp.rows.program_rows import ProgramRows
from privlp.solution import Solution
from privlp.start import said_of_start, start_of
from privlp.status import Status, Verdict


def solve(
    lp: LinearProgram,
    eps: float | None,
    delta: float | None,
    s: float | str | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    method: str | Method = "auto",
    width: Any = None,
    feasible: str | float | None = None,
    split: Sequence[float] | None = None,
    prices: bool = False,
    start: Any = None,
    budget: Budget | None = None,
    rng: RandomSource = None,
    progress: bool = False,
    time_limit: float | None = None,
) -> Solution:
    """Solve `lp` with (eps, delta)-differential privacy for its neighbours, ``lp.neighbours``.

    Parameters
    ----------
    lp : LinearProgram
        The program and what its neighbours may differ in.
    eps : float
        In (0, inf]; ``inf`` means no noise, and the result is marked as not private. ``None``
        together with ``delta=None`` and a budget: all that is left of it.
    delta : float
        In [0, 1). With 1/n or more, publishing a whole record could satisfy the definition: a
        warning says so.
    s : float or str
        For constraint-private programs: number of private rows that may be violated, by more than
        alpha, or than rounding (a billionth of their side) without one, from 1 to n; or a share of
        them, such as ``"5%"``. A larger s means less noise. Soft rows and other relations have no
        use for it.
    alpha : float, optional
        Violation that is good enough: per unit of ||A_i||_2 where whole constraints are private, in
        units of A x - b for other relations and published methods. Methods that choose their rounds
        take fewer for a larger one. ``None``: none but rounding, and as many rounds as are best.
    opt : float or pair of floats
        Public optimal value, in the user's units and sense, or a public range (low, high) that
        contains it. None is needed by the default.

        For methods that count missed rows, and so for ``"auto"``, it is a hint: it says where the
        first counts are made, and counts decide. A wrong one does little harm, and c·x may end
        above or below it. Other methods use a value as it is, and nothing checks it;
        ``solution.advice`` says so. With soft rows it is a public row: c·x is no worse than the
        value, or within the range. Where numbers are released with noise, x minimises the largest
        violation among points of that value.
    method : str or Method
        ``"auto"`` takes the method that public numbers speak for (:func:`plan`), by the relation,
        the region, soft rows, `delta`, `feasible` and `prices`. ``privlp.methods.METHODS`` holds
        all by their names, and says of each when to take it (``take_it``); so does the page
        "Relations and methods" of the documentation. A method of your own is a
        :class:`~privlp.methods.Method`.
    width : float or pair, optional
        Declared bound on entries of A and b, for published methods; or on ||A_i||_2 of soft rows,
        where counts find one if it is missing. ``"auto"`` takes none.
    feasible : None, "always" or float
        ``"always"``: x satisfies every inequality row of the true program with certainty, in exact
        arithmetic (public equalities to the precision of HiGHS). Needs ranges declared in the
        neighbour relation. A probability p below 1: the inequality rows hold together with at
        least that probability over the noise, whatever the data. It costs less objective, and
        needs no delta and no ranges. If the tightened rows contradict each other, and no public
        point is known from ranges, the solve ends as infeasible. Both are refused where a whole
        constraint may change.
    split : sequence of float, optional
        Where several parts of the program are private: share of the budget for each, in the order
        in which the relations were given (b, A, c each count once). Chosen from public numbers by
        default.
    prices : bool
        Also release shadow prices of public inequality rows where whole constraints are private:
        :attr:`Solution.prices`. One draw more, which makes the noise on x a few percent larger.
        ``"auto"`` takes a method that does it, and `opt` becomes a hint. Refused where records are
        added or removed, and beyond 10^8 rows. Nothing says beforehand how far prices will be off:
        where rows are hard and few they are mostly noise. Where only numbers are private, prices
        follow at no cost, with this or without.
    start : Solution or array_like, optional
        A released solution of an earlier solve of the same program with other private rows, or
        another public point of its variables. Methods ``"chain"`` and ``"staged"``, of which
        ``"auto"`` takes one, go on from there if counts speak for it; ``"chain"`` asks for such
        counts only where their noise leaves them clear. Others ignore it, and
        ``solution.advice`` says so. The price is that of a solve without it. It is taken for
        public: an exact solution is refused, as is one of ``eps=inf``.
    budget : Budget, optional
        A budget shared with other calls; this call spends at most (eps, delta) of it.
    rng : None, int or numpy.random.Generator
        ``None``: cryptographic randomness. A seed is for experiments, and the result says so.
    progress : bool
        Show a progress bar.
    time_limit : float, optional
        Seconds for the rounds; what is computed before the first round is not limited. A solve that
        reaches the limit releases nothing, because the round at which it stopped depends on the
        machine and the data. What was charged stays charged.

    Returns
    -------
    Solution

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its domain or missing.
    UnsupportedProblemError
        If the method cannot solve this program; the message says what it needs.
    BudgetExceededError
        If the budget does not allow it. All errors are raised before any draw and leave the budget
        as it was.

    Warns
    -----
    NotPrivateWarning
        If delta is 1/n or more.
    MissedRowsWarning
        If more than `s` rows may be missed, by noisy counts at the answer: ``solution.missed``. Or
        if `s` counts all private rows.
    PublicPointWarning
        If rows are to hold, but x had to be taken from public numbers, in whole or in part.
    MostlyNoiseWarning
        If public numbers say that the result will be mostly noise; see ``advice`` of the result.
        Where that depends on noisy counts of signs, it is said after the run. Or if no limit was
        found to how far the objective improves: ``status`` is then ``UNBOUNDED``.

    Notes
    -----
    Errors and results depend on private rows only through charged draws. Whether the private rows
    are feasible is private: only :func:`solve_exact` says.

    Where c is private, ``solution.objective`` is the value under the released costs.

    Examples
    --------
    How far a unit of each supply covers each person:

    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
    >>> lp = privlp.LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(500))
    >>> solution = privlp.solve(lp, eps=2.0, delta=1e-6, s=50, rng=0)
    >>> solution.status, solution.method, solution.privacy.eps <= 2.0
    (<Status.COMPLETED: 'completed'>, 'chain', True)

    The same tomorrow, with other people:

    >>> lp = privlp.LinearProgram([1, 2, 1, 3], -needs[::-1] ** 1.1, -np.ones(500))
    >>> again = privlp.solve(lp, 2.0, 1e-6, 50, method="staged", start=solution, rng=1)
    >>> print(again.advice)
    Enough rows for this eps: ... start is taken for public. Where noise leaves them clear,...

    Capacities that one record changes by at most 1, between 10 and 40, and that the result must
    never exceed:

    >>> relation = privlp.ScalarPrivate(1.0, norm="1", lower=10, upper=40)
    >>> lp = privlp.LinearProgram(
    ...     c=[3, 5], A=[[1, 2], [3, 1]], b=[20, 30], sense="max", neighbours=relation
    ... )
    >>> solution = privlp.solve(lp, eps=1.0, delta=1e-6, feasible="always", rng=0)
    >>> solution.method, bool((lp.A @ solution.x <= lp.b).all())
    ('tightened', True)
    """
    require_program(lp)
    require_kind(budget, Budget | None, "budget", "a privlp.Budget")
    require_flag(progress, "progress")
    if time_limit is not None:
        time_limit = positive(time_limit, "time_limit")
    # Whether a number overflows depends on private rows; nobody may learn it from a warning.
    with unnoticed():
        randomness = Randomness.of(rng)
        request = SolveRequest(
            public=lp.public(),
            ledger=ledger_of_call(eps, delta, budget),
            s=s,
            alpha=alpha,
            opt=opt,
            width=width,
            split=split,
            time_limit=time_limit,
            feasible=feasible,
            prices=prices,
            start=start_of(lp, start, release=not randomness.seeded),
        )
        methods = protecting(request.relation, feasible)
        warn_of_request(request)
        return _run(lp, request, method, methods, randomness, progress=progress)


def _run(
    lp: LinearProgram,
    request: SolveRequest,
    method: str | Method,
    methods: Sequence[Method],
    randomness: Randomness,
    *,
    progress: bool,
) -> Solution:
    """Plan from public numbers, charge, start on the private rows, and play all rounds."""
    ledger = request.ledger
    name, planned = _planned(request, method, methods)
    foretold = [_foretold(request, run) for run in (planned, planned.other) if run is not None]
    warned = all(verdict in _NOISY for verdict, _ in foretold)
    if warned:  # whatever is found
        warnings.warn(foretold[0][1], MostlyNoiseWarning, stacklevel=3)
    rows = lp.rows()
    if planned.by_place and not isinstance(rows, ProgramRows):
        raise UnsupportedProblemError(
            f"method={name!r} reads private numbers by their places in the program, so all of"
            " its rows must be in memory."
        )
    draws = ledger.charge_together(
        planned.charges, request.relation, randomness, description=request.public.description
    )
    solver = planned.start(rows, draws)
    status = drive(solver, progress=progress, time_limit=request.time_limit)
    released = Released(None, None, status=status)
    if status.success:
        released = _checked(solver.released(), name, lp.shape[1])
    if released.status is Status.TIME_LIMIT:
        released = Released(None, None, status=Status.TIME_LIMIT)
    prices, missed = released.prices, released.missed
    verdict, advice = foretold[-1 if released.method else 0]
    name = released.method or name
    advice = f"{advice}{said_of_start(request, name)}".lstrip()
    if verdict in _NOISY and not warned:
        warnings.warn(advice, MostlyNoiseWarning, stacklevel=3)
    if released.status is Status.UNBOUNDED:
        verdict, advice = Verdict.NO_LIMIT, f"{Verdict.NO_LIMIT}: {released.warning}"
    if prices is not None and lp.neighbours.changes_whole_rows:  # known of public rows alone
        prices = np.full(lp.shape[0], np.nan)
        prices[~lp.private] = released.prices
    if released.warning:
        warnings.warn(released.warning, released.category, stacklevel=3)
    return Solution(
        x=released.x,
        objective=released.objective,
        method=name,
        iterations=solver.rounds,
        status=released.status,
        message=_message(released, solver.rounds, ledger) + _as_without_rows(request, released.x),
        privacy=replace(ledger.record(), missed=None if missed is None else str(missed)),
        trace=released.trace,
        variable_names=lp.variable_names,
        kept=lp.kept,
        verdict=verdict,
        advice=advice,
        released_prices=prices,
        missed=missed,
    )


def _checked(released: Any, name: str, d: int) -> Released:
    """What a method released, which may be a user's own: a point of finite numbers, or none."""
    wrong = f"method={name!r} must release a Released whose x is a vector of {d} finite numbers."
    require(isinstance(released, Released), wrong, "method")
    if released.x is None:
        return released
    x = as_floats(released.x, "x")
    require(x.shape == (d,) and np.isfinite(x).all(), wrong, "method")
    return replace(released, x=x)


def _as_without_rows(request: SolveRequest, x: FloatArray | None) -> str:
    """What is said of an x that costs and bounds alone would choose, such as 0 by a wrong sign."""
    lp, hard = request.lp, request.relation.changes_whole_rows and request.lp.penalty is None
    if x is None or not hard or lp.shape[0] or not lp.c.any():
        return ""
    best = np.where(lp.sign * lp.c > 0, *lp.bounds.T)[lp.c != 0]
    if not np.allclose(x[lp.c != 0], best, rtol=1e-9, atol=1e-8):
        return ""
    return (
        " Costs and bounds alone would choose this x, as if no private row held it back. Check the"
        " signs of costs and rows, and the sense."
    )


_NOISY = Verdict.TOO_FEW_ROWS, Verdict.TOO_MUCH_NOISE


def _foretold(request: SolveRequest, planned: PlannedRun) -> tuple[Verdict | None, str]:
    """The verdict on a planned run, and in words."""
    if planned.predict is None or math.isinf(request.ledger.eps):
        return None, ""
    try:
        return advise(request, planned.predict())
    except (InvalidParameterError, UnsupportedProblemError):  # nothing public says what to expect
        return None, ""


def _planned(
    request: SolveRequest, method: str | Method, methods: Sequence[Method]
) -> tuple[str, PlannedRun]:
    """The name of the method, and its run as planned from public numbers."""
    known = {each.name: each for each in methods}
    names = ", ".join(map(repr, known))
    if is_one_of(method, METHODS) and not is_one_of(method, known):
        method = METHODS[str(method)]  # which is refused, but not for its name
    if isinstance(method, Method):
        own = type(method).__name__
        named = isinstance(getattr(method, "name", None), str)
        require(named, f"{own} needs a name: a text by which results call it.", "method")
        if not method.protects(request.relation):
            raise UnsupportedProblemError(
                f"method={method.name!r} does not protect this neighbour relation:"
                f" {request.public.description}. Take 'auto' or one of {names}.",
                parameter="method",
            )
        asked = request.feasible
        certain = is_one_of(asked, ("always",))
        require(
            asked is None or promises(method, certain=certain),
            f"method={method.name!r} does not promise feasible={asked!r}: its rows hold"
            f" {method.rows_hold}. Take 'auto' or one of {names}.",
            "feasible",
        )
        planned = method.plan(request)
        require_kind(planned, PlannedRun, f"What {own}.plan returns", "a PlannedRun")
        return method.name, planned
    if is_one_of(method, ("auto",)):
        return best_run(request, methods)
    if is_one_of(method, known):
        return method, known[method].plan(request)
    gone = is_one_of(method, REPLACED)
    if isinstance(method, type) and issubclass(method, Method):
        own = method.__name__
        raise InvalidParameterError(
            f"method must be an object, got the class {own}: write {own}(...).", parameter="method"
        )
    raise InvalidParameterError(
        f"There is no method={method!r} any more: take {REPLACED[method]}."
        if gone
        else f"method must be 'auto' or one of {names}; got {shown(method)}. HiGHS, not private, is"
        " solve_exact.",
        parameter="method",
    )


def _message(released: Released, rounds: int, ledger: Accountant) -> str:
    """How the solve ended, in a sentence."""
    if released.status is Status.TIME_LIMIT:
        return (
            "Stopped at the time limit. Nothing is released, and what was charged stays charged."
            " Allow more time."
        )
    privacy = f"within eps = {ledger.eps:g}, delta = {ledger.delta:g}"
    privacy = "without noise: NOT PRIVATE" if math.isinf(ledger.eps) else privacy
    return f"{released.message or f'Played all {rounds} rounds'} {privacy}."
