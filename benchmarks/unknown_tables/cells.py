"""One measurement each: an exact solve, a plan, a private solve, soft rows written in CVXPY."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from typing import Any

import privlp
from benchmarks.families.instance import missed, ratio
from benchmarks.unknown_tables.cases import DELTA, instance, told
from privlp.status import Verdict

Cell = dict[str, Any]
Result = dict[str, Any]

_ANSWERS = {
    Verdict.ENOUGH_ROWS: "yes",
    Verdict.ROUGH: "rough",
    Verdict.TOO_FEW_ROWS: "no",
    Verdict.TOO_MUCH_NOISE: "no",
}


def measure(cell: Cell) -> Result:
    """The measurement that a cell asks for; it runs in a process of its own."""
    wanted = dict(cell)
    run = _MEASUREMENTS[wanted.pop("what")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", privlp.MostlyNoiseWarning)
        return run(**wanted)


def exact(case: str, seed: int, quick: bool) -> Result:
    """Seconds of the exact solve."""
    program = instance(case, seed, quick)
    found, seconds = _timed(lambda: privlp.solve_exact(program.lp))
    return {"status": found.status, "seconds": seconds}


def plan(case: str, seed: int, quick: bool, eps: float, opt: str) -> Result:
    """The answer of a plan (yes, rough, no), and the s and eps that it names."""
    program = instance(case, seed, quick)
    hint = told(opt, program.opt)
    try:
        found, seconds = _timed(lambda: privlp.plan(program.lp, eps, DELTA, program.s, opt=hint))
    except privlp.PrivLPError as refusal:
        return {"answer": "no", "seconds": None, "refused": str(refusal), **named(str(refusal))}
    answer = _ANSWERS.get(found.verdict, "unknown")
    return {"answer": answer, "best": found.best, "seconds": seconds, **named(found.advice)}


def solve(
    case: str,
    seed: int,
    quick: bool,
    eps: float,
    opt: str,
    draw: int,
    method: str = "auto",
    s: float | None = None,
) -> Result:
    """Cost over optimum, rows missed by more than 1 %, s and the method of one private solve."""
    program = instance(case, seed, quick)
    s, hint = s or program.s, told(opt, program.opt)
    try:
        found, seconds = _timed(
            lambda: privlp.solve(program.lp, eps, DELTA, s, opt=hint, method=method, rng=draw)
        )
    except privlp.PrivLPError as refusal:
        return {"refused": str(refusal)}
    if found.x is None:
        return {"refused": found.message}
    return {
        "ratio": ratio(program.lp, found.x, program.opt),
        "missed": missed(program.lp, found.x),
        "s": s,
        "method": found.method,
        "seconds": seconds,
    }


def soft(case: str, seed: int, quick: bool, eps: float, draw: int) -> Result:
    """Objective of the CVXPY problem at the private answer, beyond its optimum, as a share of it."""
    program = instance(case, seed, quick)
    assert program.natural is not None
    problem = program.natural()
    try:
        lp = privlp.LinearProgram.from_cvxpy(problem)
        planned, plan_seconds = _timed(lambda: privlp.plan(lp, eps, DELTA))
        found, seconds = _timed(lambda: privlp.solve(lp, eps, DELTA, rng=draw))
        found.assign(problem)
    except privlp.PrivLPError as refusal:
        return {"refused": str(refusal)}
    broken = [float(constraint.violation().max()) for constraint in problem.constraints]
    return {
        "excess": float(problem.objective.value) / program.opt - 1,
        "broken": max(broken, default=0.0),
        "answer": _ANSWERS.get(planned.verdict, "unknown"),
        "method": found.method,
        "plan": plan_seconds,
        "seconds": seconds,
    }


def named(advice: str) -> Result:
    """The s and the eps that an advice names as enough, each None if it names none.

    Examples
    --------
    >>> from benchmarks.unknown_tables.cells import named
    >>> named("Rough: ... About s = 1,900, or eps = 7.5, or 38,000 rows, would do.")
    {'s': 1900.0, 'eps': 7.5}
    >>> named("Enough rows for this eps: .... Up to s = 125 rows are given up.")
    {'s': None, 'eps': None}
    """
    ways = advice.partition("About ")[2]
    found = {name: re.search(rf"\b{name} = ([\d,.]*\d)", ways) for name in ("s", "eps")}
    return {name: hit and float(hit[1].replace(",", "")) for name, hit in found.items()}


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return run(), time.process_time() - start


_MEASUREMENTS: dict[str, Callable[..., Result]] = {
    "exact": exact,
    "plan": plan,
    "solve": solve,
    "soft": soft,
}
