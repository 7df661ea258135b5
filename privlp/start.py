"""A released point from which a solve goes on: what is asked of it before budget is spent."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.errors import InvalidParameterError, PrivLPError
from privlp.exact import ExactSolution
from privlp.linear_program import LinearProgram
from privlp.methods import METHODS
from privlp.methods.request import KnownPoint, SolveRequest
from privlp.solution import Solution, point_of
from privlp.tables import index_of

# Outside bounds and public rows by this share of their sizes is rounding.
_ROUNDING = 1e-6
_PUBLIC = "Give what was released, such as Solution.load(...) of an earlier day"
_SAME = "It must be a point of the same program, whose private rows alone may differ."


def start_of(lp: LinearProgram, start: Any, *, release: bool = False) -> KnownPoint | None:
    """The public points of a start, within their bounds; a start that is none is refused."""
    if start is None:
        return None
    fault = ""
    if isinstance(start, ExactSolution):
        fault = f"must be public, and an exact solution is not. {_PUBLIC}."
    elif not lp.neighbours.changes_whole_rows:
        fault = "has no use where only numbers are private: they are released once, with noise."
        fault += " Leave it out."
    elif isinstance(start, Solution):
        if math.isinf(start.privacy.eps):
            fault = f"was solved without noise (eps = inf): it is not public. {_PUBLIC}."
        elif release and start.privacy.seeded:
            fault = "was drawn with a seed, so it is not for release, nor is what follows from it."
            fault += " For an experiment give a seed here too (rng=0, or --seed 0)."
    elif hasattr(start, "x") and index_of(start) is None:
        fault = "must be a Solution that was released, or an array of public numbers, got a"
        fault += f" {type(start).__name__}."
    if fault:
        raise InvalidParameterError(f"start {fault}", parameter="start")
    return KnownPoint(_inside(lp, point_of(lp, start, "start")), _deep_point(lp, start))


def _deep_point(lp: LinearProgram, start: Any) -> FloatArray | None:
    """The last deep point in the trace of a start, if there is one that is a point of lp."""
    if isinstance(start, Solution) and "deep point" in start.trace:
        with suppress(PrivLPError, IndexError):
            return _inside(
                lp, point_of(lp, replace(start, x=start.trace["deep point"][-1]), "start")
            )
    return None


def _inside(lp: LinearProgram, x: FloatArray) -> FloatArray:
    """The point within its bounds; refused where it breaks a bound or a public row by more."""
    data = lp.public().form.lp
    low, high = data.bounds.T
    room = _ROUNDING * (1 + np.abs(x))
    outside = np.flatnonzero((x < low - room) | (x > high + room))
    if outside.size:
        beyond = f"start is outside the bounds of {data.variable_name(int(outside[0]))}. {_SAME}"
        raise InvalidParameterError(beyond, parameter="start")
    rows = sp.csr_array(data.A[~data.private])
    activity, size = rows @ x, 1 + abs(rows) @ np.abs(x)
    lower, upper = data.row_lower[~data.private], data.b[~data.private]
    fails = (activity < lower - _ROUNDING * size) | (activity > upper + _ROUNDING * size)
    if fails.any():
        broken = f"start breaks {int(fails.sum())} public rows of the program. {_SAME}"
        raise InvalidParameterError(broken, parameter="start")
    return np.clip(x, low, high)


def said_of_start(request: SolveRequest, method: str) -> str:
    """What a plan, or the advice of a solution, says of a start."""
    if request.start is None:
        return ""
    found = METHODS.get(method)
    if not request.has_noise or found is None or not found.takes_start:
        return f" start is not used by method={method!r}."
    return (
        " start is taken for public. Where noise leaves them clear, counts say whether the search"
        " goes on from it; this is foretold as without it."
    )
