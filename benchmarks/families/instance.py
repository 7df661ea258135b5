"""A program of a family: what is public, its exact optimum, and how answers are judged."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import LinearProgram, solve_exact


@dataclass(frozen=True)
class Instance:
    """A program, and what its owner may say about it in public.

    Attributes
    ----------
    lp : LinearProgram
    s : int or None
        Rows that may be missed; None for a program whose private rows are all soft.
    natural : callable, optional
        The same program as one writes it in CVXPY: returns a fresh ``cvxpy.Problem``. Constraints
        are public, the data in the objective are private.
    """

    lp: LinearProgram
    s: int | None
    natural: Callable[[], Any] | None = None

    @cached_property
    def opt(self) -> float:
        """The exact optimum by HiGHS with every row met, penalties included."""
        exact = solve_exact(self.lp)
        if exact.objective is None:
            raise RuntimeError(f"{self.lp.name}: {exact.message}")
        return exact.objective


def missed(lp: LinearProgram, x: npt.ArrayLike, *, tolerance: float = 1e-6) -> int:
    """Number of hard private rows that x misses by more than `tolerance` times abs(side).

    Where the side is 0, by more than `tolerance` times abs(A_i)·abs(x).
    """
    point = np.asarray(x, dtype=float)
    activity, size = lp.A @ point, abs(lp.A) @ np.abs(point)
    bad = np.zeros(len(activity), dtype=bool)
    for side, over in ((lp.b, activity - lp.b), (lp.row_lower, lp.row_lower - activity)):
        scale = np.where(side == 0, size, np.abs(side))
        bad |= np.isfinite(side) & (over > tolerance * np.where(np.isfinite(side), scale, 0))
    hard = lp.private if lp.penalty is None else lp.private & np.isinf(lp.penalty)
    return int((bad & hard).sum())


def ratio(lp: LinearProgram, x: npt.ArrayLike, optimum: float) -> float:
    """Objective at x over the optimum: small is good for "min", large for "max"."""
    return lp.objective(x) / optimum


def loss(lp: LinearProgram, x: npt.ArrayLike) -> float:
    """Objective at x, the price of violated soft rows included."""
    activity = lp.A @ np.asarray(x, dtype=float)
    above, below = np.maximum(0, activity - lp.b), np.maximum(0, lp.row_lower - activity)
    return lp.objective(x) + lp.price_of(above - below)
