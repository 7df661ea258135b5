"""What is public about where x may lie: bounds, public rows, and directions that no private number can rule out."""

from __future__ import annotations

from collections.abc import Collection

import highspy
import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.problem.highs_model import model_of, optimum
from privlp.problem.linear_program import LinearProgram

FloatArray = npt.NDArray[np.float64]

_TOLERANCE = 1e-9
_NAMED = 3


def require_bounded(lp: LinearProgram, private_parts: Collection[str]) -> None:
    """Refuse a program whose privatised version could be unbounded, or whose public rows contradict each other.

    Uses public numbers alone. The directions in which a feasible set is unbounded depend on A and on which rows have which sides,
    not on right-hand sides: so rows whose coefficients are public count, private right-hand side or not.

    Parameters
    ----------
    lp : LinearProgram
    private_parts : collection of {"b", "A", "c"}
        Which numbers of the program are private; those of A and b in private rows only.

    Raises
    ------
    UnsupportedProblemError
        With the names of variables that need a bound.
    """
    matrix_is_private = "A" in private_parts
    public = ~lp.private | (not {"A", "b"} & set(private_parts))
    rows = ~lp.private | (not matrix_is_private)
    status, _ = optimum(model_of(np.zeros(lp.shape[1]), lp.A[public], lp.row_lower[public], lp.b[public], lp.bounds))
    if status == highspy.HighsModelStatus.kInfeasible:
        raise UnsupportedProblemError("The public rows and bounds contradict each other: no x satisfies them all.")
    limited = np.isfinite(lp.bounds)
    box = np.column_stack([np.where(limited[:, 0], 0.0, -1.0), np.where(limited[:, 1], 0.0, 1.0)])
    limits = np.where(np.isfinite(lp.row_lower[rows]), 0.0, -np.inf), np.where(np.isfinite(lp.b[rows]), 0.0, np.inf)
    for cost in _costs(lp, box, "c" in private_parts):
        _, direction = optimum(model_of(cost, lp.A[rows], *limits, box))
        if cost @ direction < -_TOLERANCE * np.abs(cost).max():
            raise UnsupportedProblemError(_message(lp, direction, matrix_is_private))


def largest_size(lp: LinearProgram) -> float:
    """Public bound on sum_j |x_j| from bounds and public rows; infinite where there is none."""
    lower, upper = lp.bounds.T
    mixed = (lower < 0) & (upper > 0)
    sign = np.where(mixed, 0.0, np.where(lower >= 0, 1.0, -1.0))
    rows = ~lp.private
    status, point = optimum(model_of(-sign, lp.A[rows], lp.row_lower[rows], lp.b[rows], lp.bounds))
    if status != highspy.HighsModelStatus.kOptimal:
        return float("inf")
    return float(sign @ point) + float(np.abs(lp.bounds[mixed]).max(axis=1, initial=0.0).sum())


def _costs(lp: LinearProgram, box: FloatArray, costs_are_private: bool) -> list[FloatArray]:
    """Objectives to minimise over the directions: the true one, or enough of them to find any direction at all."""
    if not costs_are_private:
        return [lp.sign * lp.c]
    free = np.flatnonzero((box == [-1.0, 1.0]).all(axis=1))
    signed = -np.where(np.isin(np.arange(lp.shape[1]), free), 0.0, box.sum(axis=1))
    unit = np.eye(lp.shape[1])[free]
    return [cost for cost in (signed, *unit, *-unit) if cost.any()]


def _message(lp: LinearProgram, direction: FloatArray, matrix_is_private: bool) -> str:
    largest = [j for j in np.argsort(-np.abs(direction))[:_NAMED] if abs(direction[j]) > _TOLERANCE]
    names = ", ".join(lp.variable_name(int(j)) for j in largest)
    why = " and public rows" if matrix_is_private else " and rows"
    return (
        f"The public region is unbounded: its bounds{why} let {names} grow without limit, and the objective improve, whatever the "
        "private numbers are. Give such variables finite bounds (bounds=..., or box=... in the readers)."
    )
