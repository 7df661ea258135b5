"""Audit a whole private solve on extreme neighbours: what stands behind each release on both."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from privlp.audits.coupled_runs import PairSearch
from privlp.audits.mechanism import LARGEST_OUTCOME, audit, require_confidence
from privlp.audits.single_draw import audit_draw
from privlp.audits.solve_price import price_faults
from privlp.audits.solve_result import AuditedRelease, SolveAudit
from privlp.audits.tape import Tape
from privlp.checks import is_integer, require_flag, whole
from privlp.errors import InvalidParameterError
from privlp.methods.base import Method
from privlp.privacy import Randomness
from privlp.privacy.limits import validated_budget
from privlp.privacy.randomness import RandomSource
from privlp.problem.linear_program import LinearProgram
from privlp.solve import solve

FloatArray = npt.NDArray[np.float64]

# A single draw is much cheaper than a solve.
_RUNS_OF_A_DRAW = 10
# The eps that a solver that pays nothing is held to.
_NEXT_TO_NOTHING = 1e-12
# Seconds before progress is shown, and between two lines of it where nobody watches a terminal.
_PATIENCE, _BETWEEN_LINES = 5.0, 10.0


def audit_solve(
    lp: LinearProgram,
    eps: float,
    delta: float,
    s: float | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    method: str | Method = "auto",
    width: Any = None,
    feasible: str | float | None = None,
    split: Sequence[float] | None = None,
    prices: bool = False,
    pairs: int = 50,
    runs: int = 2_000,
    confidence: float = 0.999,
    rng: RandomSource = None,
    progress: bool = False,
) -> SolveAudit:
    """Look for a fault in :func:`solve`, or in a solver of your own, on neighbours of a program.

    Not private: the result is computed from the rows without noise. If the rows are really private,
    do not publish it, not even whether the audit passed.

    1. *Coupled replay.* The neighbour relation proposes pairs of extreme neighbours that resemble
       `lp`. One is solved. The other is solved too, and is given the numbers that the first one
       released. Then each release has an exact value on either program. If the two are farther
       apart than the sensitivity that was charged, that is a fault for certain.
    2. *Side outputs.* Everything else in both solutions must be equal: x, status, message, trace,
       ledger, errors and warnings.
    3. *Price.* The draws that were made must be those that were paid for, and together cost no more
       than (eps, delta).
    4. *Statistics.* A single draw of each kind of release is audited (:func:`audit`) along the
       largest change that was found. The change is stretched to the size that noise of the charged
       size hides worst. The released x as a whole is audited on the worst pair, which finds gross
       faults only.

    Parameters
    ----------
    lp, eps, delta, s, alpha, opt, method, width, feasible, split, prices
        As for :func:`solve`; eps finite. A :class:`~privlp.methods.Method` audits one of your own.
    pairs : int
        Pairs of neighbours to try, two solves each.
    runs : int
        Solves on each program of the worst pair, at least 100, or 0 for no statistics at all.
    confidence : float
        Of each statistical audit, in (0, 1). Their false-alarm rate together is at most
        1 - confidence times their number. The rest has no false alarms.
    rng : None, int or numpy.random.Generator
        Source of pairs and noise.
    progress : bool
        If the audit takes longer than a few seconds, say on standard error about how long, and
        show a bar. An interrupted audit (Ctrl-C) returns nothing.

    Returns
    -------
    SolveAudit

    Raises
    ------
    InvalidParameterError, UnsupportedProblemError, BudgetExceededError
        As :func:`solve` on `lp`.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(60, 3))
    >>> lp = privlp.LinearProgram(c=[1, 2, 1], A=-needs, b=-np.ones(60))
    >>> request = {"s": 6, "method": "staged"}
    >>> found = privlp.audit_solve(lp, 1.0, 1e-6, **request, pairs=6, runs=0, rng=0)
    >>> found.passed, [f"{release.ratio:.2f}" for release in found.releases]
    (True, ['0.91', '1.00', '0.98', '1.00'])
    """
    eps, delta = validated_budget(eps, delta)
    if math.isinf(eps):
        raise InvalidParameterError(
            "eps must be finite: without noise there is no claim to audit.", parameter="eps"
        )
    _require_counts(pairs, runs)
    require_flag(progress, "progress")
    confidence = require_confidence(confidence)
    request = {
        **{"eps": eps, "delta": delta, "s": s, "alpha": alpha, "opt": opt, "method": method},
        **{"width": width, "feasible": feasible, "split": split, "prices": prices},
    }
    lp = lp.in_memory()
    generator = Randomness(rng).generator
    seed = int(generator.integers(2**32))
    base = Tape(seed, quiet=True)
    solution = solve(lp, rng=base, **request)
    selected = np.unique(solution.trace.get("selected rows", ())).astype(int)
    search = PairSearch(lp, request, seed, selected)
    end_to_end = None
    with _progress_bar(2 * (pairs + runs), shown=progress) as bar:
        _try_pairs(search, pairs, generator, bar, shown=progress)
        releases = search.table(base)
        if runs:
            bar.set_description("audit of single draws", refresh=False)
            releases = _with_single_draws(releases, search, runs, generator, confidence)
            bar.set_description("audit of x", refresh=False)
            spent = max(solution.privacy.eps, _NEXT_TO_NOTHING), solution.privacy.delta
            run = _end_to_end(request, lp.shape[1], bar)
            end_to_end = audit(
                run, *search.worst, *spent, runs=runs, rng=generator, confidence=confidence
            )
    return SolveAudit(
        eps=eps,
        delta=delta,
        method=solution.method,
        relation=lp.neighbours.describe(lp),
        pairs=pairs,
        releases=tuple(releases),
        side_outputs=tuple(search.leaks),
        price=price_faults(lp, base, solution),
        end_to_end=end_to_end,
        worst=search.worst,
    )


def _try_pairs(
    search: PairSearch, pairs: int, generator: np.random.Generator, bar: Any, *, shown: bool
) -> None:
    """Solve a number of pairs of neighbours, every other pair without noise."""
    for number in range(pairs):
        started = time.perf_counter()
        search.try_one(generator, quiet=number % 2 == 0)
        if number == 0 and shown:
            _tell_duration(bar.total, (time.perf_counter() - started) / 2)
        bar.update(2)


def _with_single_draws(
    releases: list[AuditedRelease],
    search: PairSearch,
    runs: int,
    generator: np.random.Generator,
    confidence: float,
) -> list[AuditedRelease]:
    """The releases, each with a statistical audit of one draw along its largest change."""
    draws = _RUNS_OF_A_DRAW * runs
    return [
        replace(
            release,
            audit=audit_draw(*search.widest[release.purpose], draws, generator, confidence),
        )
        for release in releases
    ]


def _require_counts(pairs: Any, runs: Any) -> None:
    whole(pairs, "pairs")
    if not is_integer(runs) or (runs < 100 and runs != 0):
        raise InvalidParameterError(
            f"runs must be an integer of at least 100, or 0 for no statistics; got {runs!r}.",
            parameter="runs",
        )


def _progress_bar(solves: int, *, shown: bool) -> Any:
    interval = 0.1 if sys.stderr.isatty() else _BETWEEN_LINES
    return tqdm(
        total=solves,
        disable=not shown,
        desc="audit of pairs",
        unit="solve",
        delay=_PATIENCE,
        mininterval=interval,
        dynamic_ncols=True,
    )


def _tell_duration(solves: int, seconds: float) -> None:
    """Say how long the solves take, at this many seconds each, if that is long."""
    total = solves * seconds
    if total > _PATIENCE:
        duration = f"{total / 60:.2g} min" if total > 60 else f"{total:.0f} s"
        tqdm.write(
            f"{solves} solves of {seconds:.2g} s: about {duration}. Fewer pairs or runs take less.",
            file=sys.stderr,
        )


def _end_to_end(
    request: dict[str, Any], d: int, bar: Any
) -> Callable[[LinearProgram, np.random.Generator], FloatArray]:
    """A solve as a mechanism for :func:`audit`.

    It returns x and a last entry of 0. Without a usable x it returns zeros and another last entry:
    1 if there is no x, 2 after an error, 3 if x is too large.
    """

    def released(lp: LinearProgram, rng: np.random.Generator) -> FloatArray:
        bar.update()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                x = solve(lp, rng=rng, **request).x
            except Exception:
                return np.append(np.zeros(d), 2.0)
        if x is None:
            return np.append(np.zeros(d), 1.0)
        return (
            np.append(x, 0.0)
            if np.all(np.abs(x) <= LARGEST_OUTCOME)
            else np.append(np.zeros(d), 3.0)
        )

    return released
