"""The public rows of a program, and finite ranges of its variables over them."""

from __future__ import annotations

import copy

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.data import ProgramData
from privlp.problem.highs_model import Optima, optimum
from privlp.regions.ranges import tightened

FloatArray = npt.NDArray[np.float64]

#: Said where public rows and bounds have no point.
CONTRADICTION = "The public rows and bounds contradict each other: no x satisfies them all."
_NAMED = 3
# A variable that may grow by 1 grows if it does by this.
_GROWS = 0.5
_OPTIMAL = highspy.HighsModelStatus.kOptimal
_INFEASIBLE = highspy.HighsModelStatus.kInfeasible


class UnboundedRegionError(UnsupportedProblemError):
    """The public region does not bound some variables."""


class PublicRows:
    """The public rows of a program: lower <= A x <= upper, and bounds on x."""

    def __init__(self, lp: ProgramData, costs: tuple[float, float] | None = None) -> None:
        self.lp, self.rows = lp, np.flatnonzero(~lp.private & (lp.sides() > 0))
        self.A = sp.csr_array(lp.A[self.rows])
        self.lower, self.upper = lp.row_lower[self.rows], lp.b[self.rows]
        self.bounds = lp.bounds
        self.cost = lp.sign * lp.c
        if costs is not None:
            self._require_reached(*costs)
            self.A = sp.csr_array(sp.vstack([self.A, sp.csr_array(self.cost[None, :])]))
            self.lower, self.upper = (
                np.append(ends, end)
                for ends, end in zip((self.lower, self.upper), costs, strict=True)
            )

    def _require_reached(self, low: float, high: float) -> None:
        """Refuse costs that no point has."""
        if not self.cost.any():
            raise InvalidParameterError(
                "opt has no use here: every cost is 0. Leave it out.", parameter="opt"
            )
        cheapest, dearest = self.best(self.cost), self.best(-self.cost)
        if cheapest is not None and high < (end := float(self.cost @ cheapest)):
            below = self.lp.sign > 0
        elif dearest is not None and low > (end := float(self.cost @ dearest)):
            below = self.lp.sign < 0
        else:
            return
        way = "below the least" if below else "above the largest"
        raise InvalidParameterError(
            f"opt is {way} objective within the public rows and bounds,"
            f" {self.lp.sign * end + self.lp.offset:g}: no x reaches it.",
            parameter="opt",
        )

    def narrowed(self, low: FloatArray, high: FloatArray) -> PublicRows:
        """The same rows with narrower bounds."""
        new = copy.copy(self)
        new.bounds = np.column_stack(
            [np.maximum(self.bounds[:, 0], low), np.minimum(self.bounds[:, 1], high)]
        )
        return new

    def best(self, cost: FloatArray) -> FloatArray | None:
        """A point of least cost; None if there is none, or HiGHS finds none."""
        status, x = optimum(cost, self.A, self.lower, self.upper, self.bounds)
        return np.clip(x, *self.bounds.T) if status == _OPTIMAL else None


def finite_ranges(
    lp: ProgramData, A: sp.csr_array, lower: FloatArray, upper: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of each variable over some rows and bounds, (d,) each.

    Interval arithmetic finds them, though perhaps wider than they are. Those that it leaves
    infinite take a linear program each: first those that directions of the region say are infinite.
    """
    ends = tightened(A, lower, upper, bounds)
    infinite = [(side, int(j)) for side in (0, 1) for j in np.flatnonzero(~np.isfinite(ends[side]))]
    if not infinite:
        return ends
    optima = Optima(A, lower, upper, bounds)
    endless = growing(A, lower, upper, bounds, np.isinf(ends))
    unbounded: list[int] = []
    for side, j in sorted(infinite, key=lambda end: not endless[end]):
        cost = np.zeros(len(bounds))
        cost[j] = (1.0, -1.0)[side]
        status, x = optima(cost)
        if status == _INFEASIBLE:
            raise UnsupportedProblemError(CONTRADICTION)
        if status != _OPTIMAL:
            if endless[side, j]:  # as the other directions say, too
                later = [other for at, other in infinite if endless[at, other] and other != j]
                raise _unbounded(lp, [*unbounded, j, *later][:_NAMED])
            unbounded.append(j)
            if len(unbounded) == _NAMED:
                break
        ends[side][j] = x[j]
    if unbounded:
        raise _unbounded(lp, unbounded)
    return ends


def growing(
    A: sp.csr_array,
    lower: FloatArray,
    upper: FloatArray,
    bounds: FloatArray,
    ends: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Which of these ends some direction leads to that no row and no bound limits, (2, d).

    A linear program for least values, and one for largest: a direction in which as many variables
    as can grow by 1. Tolerances may find too many; of variables without bounds some may be missed.
    """
    found = np.zeros((2, len(bounds)), dtype=bool)
    rows = np.where(np.isfinite(lower), 0.0, -np.inf), np.where(np.isfinite(upper), 0.0, np.inf)
    cone = np.where(np.isfinite(bounds), 0.0, [-np.inf, np.inf])
    for side, sign in ((0, -1.0), (1, 1.0)):
        own = np.flatnonzero(ends[side])
        if own.size:  # what they grow by is sign * (a number in [0, 1]) + the rest
            both = sp.csr_array(sp.hstack([A, sign * A[:, own]]))
            box = np.vstack([cone, np.tile([0.0, 1.0], (len(own), 1))])
            cost = np.repeat([0.0, -1.0], [len(cone), len(own)])
            status, by = optimum(cost, both, *rows, box)
            if status == _OPTIMAL:
                grows = sign * by[own] + by[len(cone) :]
                found[side, own] = grows > _GROWS
    return found


def _unbounded(lp: ProgramData, variables: list[int]) -> UnboundedRegionError:
    names = ", ".join(lp.variable_name(j) for j in dict.fromkeys(variables))
    return UnboundedRegionError(
        "The public region is unbounded, or HiGHS cannot bound it: its rows and bounds"
        f" put no limit on {names}. Give such variables finite bounds (bounds=..., or box=... in"
        " the readers), or write a public row that limits them, such as a bound on the cost.",
        parameter="bounds",
    )
