"""The public rows of a program, and finite ranges of its variables over them."""

from __future__ import annotations

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import UnsupportedProblemError
from privlp.problem.data import ProgramData
from privlp.problem.highs_model import optimum
from privlp.regions.ranges import tightened

FloatArray = npt.NDArray[np.float64]

#: Said where public rows and bounds have no point.
CONTRADICTION = "The public rows and bounds contradict each other: no x satisfies them all."
_NAMED = 3
_OPTIMAL = highspy.HighsModelStatus.kOptimal
_INFEASIBLE = highspy.HighsModelStatus.kInfeasible


class UnboundedRegionError(UnsupportedProblemError):
    """The public region does not bound some variables."""


class PublicRows:
    """The public rows of a program: lower <= A x <= upper, and bounds on x.

    Attributes
    ----------
    rows : (m,)
        Their places among the rows of the program.
    A, lower, upper
        The rows.
    bounds : (d, 2)
    cost : (d,)
        The objective, to minimise.
    """

    def __init__(self, lp: ProgramData) -> None:
        self.lp, self.rows = lp, np.flatnonzero(~lp.private & (lp.sides() > 0))
        self.A = sp.csr_array(lp.A[self.rows])
        self.lower, self.upper = lp.row_lower[self.rows], lp.b[self.rows]
        self.bounds = lp.bounds
        self.cost = lp.sign * lp.c

    def best(self, cost: FloatArray) -> FloatArray | None:
        """A point of least cost; None if there is none, or HiGHS finds none."""
        status, x = optimum(cost, self.A, self.lower, self.upper, self.bounds)
        return np.clip(x, *self.bounds.T) if status == _OPTIMAL else None


def finite_ranges(
    lp: ProgramData, A: sp.csr_array, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of each variable over some rows and the bounds, (d,) each.

    Interval arithmetic finds them, though perhaps wider than they are. Those that it leaves
    infinite take a linear program each.

    Raises
    ------
    UnboundedRegionError
        Names the first variables that have no finite range.
    UnsupportedProblemError
        If there is no point.
    """
    low, high = tightened(A, lower, upper, lp.bounds)
    unbounded: list[int] = []
    for found, sign in ((low, 1.0), (high, -1.0)):
        for j in np.flatnonzero(~np.isfinite(found)):
            cost = np.zeros(len(low))
            cost[j] = sign
            status, x = optimum(cost, A, lower, upper, lp.bounds)
            if status == _INFEASIBLE:
                raise UnsupportedProblemError(CONTRADICTION)
            if status != _OPTIMAL:
                unbounded.append(int(j))
                if len(unbounded) == _NAMED:
                    raise _unbounded(lp, unbounded)
            found[j] = x[j]
    if unbounded:
        raise _unbounded(lp, unbounded)
    return low, high


def _unbounded(lp: ProgramData, variables: list[int]) -> UnboundedRegionError:
    names = ", ".join(lp.variable_name(j) for j in dict.fromkeys(variables))
    return UnboundedRegionError(
        "The public region is unbounded, or HiGHS cannot bound it: its rows and bounds"
        f" put no limit on {names}. Give such variables finite bounds (bounds=..., or box=... in"
        " the readers), or write a public row that limits them, such as a bound on the cost.",
        parameter="bounds",
    )
