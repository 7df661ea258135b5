"""Whether the public bounds and rows bound the solution, whatever the private numbers are."""

from __future__ import annotations

from collections.abc import Sequence

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_sparse
from privlp.errors import UnsupportedProblemError
from privlp.problem.data import ProgramData
from privlp.problem.highs import optimum
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers

FloatArray = npt.NDArray[np.float64]
_TOLERANCE = 1e-9
_NAMED = 3


def require_bounded(
    form: StandardForm, numbers: Sequence[PrivateNumbers], *, within_ranges: bool = False
) -> None:
    """Refuse a program that noise could make unbounded, or with contradictory public rows.

    Only public numbers are used. Directions in which a feasible set is unbounded do not depend on
    right-hand sides: rows with public coefficients count even where these are private. If released
    coefficients keep to their ranges (`within_ranges`), a row counts with the loosest in them.
    """
    lp, parts = form.lp, {part.part for part in numbers}
    public = ~lp.private | (not {"A", "b"} & parts)
    status, _ = optimum(
        np.zeros(lp.shape[1]), lp.A[public], lp.row_lower[public], lp.b[public], lp.bounds
    )
    if status == highspy.HighsModelStatus.kInfeasible:
        raise UnsupportedProblemError(
            "The public rows and bounds contradict each other: no x satisfies them all."
        )
    limited = np.isfinite(lp.bounds)
    box = np.column_stack([np.where(limited[:, 0], 0.0, -1.0), np.where(limited[:, 1], 0.0, 1.0)])
    rows = _rows_of_directions(form, numbers, box, within_ranges=within_ranges)
    limits = np.full(rows.shape[0], -np.inf), np.zeros(rows.shape[0])
    for cost in _costs(lp, box, numbers):
        _, direction = optimum(cost, rows, *limits, box)
        if cost @ direction < -_TOLERANCE * np.abs(cost).max():
            raise UnsupportedProblemError(_message(lp, direction), parameter="bounds")


def _rows_of_directions(
    form: StandardForm, numbers: Sequence[PrivateNumbers], box: FloatArray, *, within_ranges: bool
) -> sp.csr_array:
    """Rows r, (k, d), such that r·x <= 0 if a possible program is unbounded in the direction x."""
    lp = form.lp
    A, public = as_sparse(lp.A), ~lp.private
    kept = [A[public & np.isfinite(lp.b)], -A[public & np.isfinite(lp.row_lower)]]
    owner = next((part for part in numbers if part.part == "A"), None)
    if owner is None:
        kept.append(as_sparse(ProgramNumbers.of(form).private_rows()))
    else:
        movable, own = np.isin(form.row, owner.at[0]), ProgramNumbers.of(form)
        ends = [own.having(owner, end).private_rows() for end in (owner.low, owner.high)]
        dense = [end.toarray() if sp.issparse(end) else end for end in ends]
        low, high = np.minimum(*dense), np.maximum(*dense)
        loosest = np.where(box.sum(axis=1) >= 0, low, high)
        both_ways = (box[:, 0] < 0) & (box[:, 1] > 0)
        known = np.isfinite(loosest).all(axis=1) & ~((low < high) & both_ways).any(axis=1)
        kept.append(as_sparse(loosest[known if within_ranges else ~movable]))
    return sp.csr_array(sp.vstack(kept))


def largest_size(lp: ProgramData) -> float:
    """Public bound on sum_j |x_j| from bounds and public rows; infinite where there is none."""
    lower, upper = lp.bounds.T
    mixed = (lower < 0) & (upper > 0)
    sign = np.where(mixed, 0.0, np.where(lower >= 0, 1.0, -1.0))
    rows = ~lp.private
    status, point = optimum(-sign, lp.A[rows], lp.row_lower[rows], lp.b[rows], lp.bounds)
    if status != highspy.HighsModelStatus.kOptimal:
        return float("inf")
    return float(sign @ point) + float(np.abs(lp.bounds[mixed]).max(axis=1, initial=0.0).sum())


def _costs(lp: ProgramData, box: FloatArray, numbers: Sequence[PrivateNumbers]) -> list[FloatArray]:
    """Objectives: if that of any possible program falls without limit, one of these does too.

    A variable that can move in one direction has the cost in its range that makes this direction
    best. Where there is no such cost, random costs of either sign stand for all.
    """
    low, high = (lp.sign * lp.c for _ in range(2))
    for part in numbers:
        if part.part == "c":
            ends = np.sort(lp.sign * np.column_stack([part.low, part.high]), axis=1)
            low[part.at], high[part.at] = ends.T
    # 1 or -1 for a variable that can only grow or fall; 0 for one that can do neither or both.
    direction = box.sum(axis=1)
    best = np.where(direction >= 0, low, high)
    both_ways = (box[:, 0] < box[:, 1]) & (direction == 0) & (low < high)
    unlimited = ~np.isfinite(best) | both_ways
    # Random costs are orthogonal to no direction that matters.
    generic = np.where(unlimited, np.random.default_rng(0).normal(size=len(best)), 0.0)
    costs = [np.where(unlimited, 0.0, best), generic, -generic]
    return [cost for cost in costs if cost.any()]


def _message(lp: ProgramData, direction: FloatArray) -> str:
    """The error for a program that is unbounded in a direction."""
    largest = [j for j in np.argsort(-np.abs(direction))[:_NAMED] if abs(direction[j]) > _TOLERANCE]
    names = ", ".join(lp.variable_name(int(j)) for j in largest)
    return (
        f"The public region is unbounded: its bounds and rows let {names} grow without limit, and"
        " the objective improve, for some possible values of the private numbers. Give such"
        " variables finite bounds (bounds=..., or box=... in the readers)."
    )
