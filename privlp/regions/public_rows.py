"""The public rows of a program: finite ranges of its variables, and points inside."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.data import ProgramData
from privlp.problem.highs import Optima, optimum
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers
from privlp.sparse import as_sparse, norms_of_rows, row_of, stacked

_PASSES = 10
#: Said where public rows and bounds have no point.
CONTRADICTION = "The public rows and bounds contradict each other: no x satisfies them all."
_NAMED = 3
# A variable that may grow by 1 grows if it does by this.
_GROWS = 0.5
_OPTIMAL = highspy.HighsModelStatus.kOptimal
_INFEASIBLE = highspy.HighsModelStatus.kInfeasible
FLAT = 1e-7  #: Less slack than this, in units of the ranges, and a row counts as an equality.
# A row with more slack than the first number is not flat. Slack beyond the second counts for
# nothing in the search for such rows, so that few linear programs find all of them.
_SLACK, _ENOUGH = 10 * FLAT, 20 * FLAT
_MOST_CENTRED, _CENTRING_STEPS, _CENTRED = 400, 30, 1e-3


def tightened(
    A: sp.csr_array, lower: FloatArray, upper: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ranges of variables over some rows and bounds by interval arithmetic: perhaps too wide."""
    (low, high), n = (np.array(end) for end in bounds.T), len(upper)
    row, stored = np.repeat(np.arange(n), np.diff(A.indptr)), A.data != 0
    row, column, value = row[stored], A.indices[stored], A.data[stored]
    for _ in range(_PASSES):
        before = low.copy(), high.copy()
        for sides, sign in ((upper, 1.0), (-lower, -1.0)):
            if np.isinf(sides).all():
                continue
            factor = sign * value
            least = factor * np.where(factor > 0, low[column], high[column])
            open_ended = ~np.isfinite(least)
            finite = np.where(open_ended, 0.0, least)
            total = np.bincount(row, weights=finite, minlength=n)
            count = np.bincount(row, weights=open_ended, minlength=n)
            others_bounded = (count[row] - open_ended == 0) & np.isfinite(sides[row])
            end = np.where(others_bounded, (sides[row] - (total[row] - finite)), np.nan) / factor
            up, down = others_bounded & (factor > 0), others_bounded & (factor < 0)
            np.minimum.at(high, column[up], end[up])
            np.maximum.at(low, column[down], end[down])
        np.maximum(high, low, out=high)
        if (before[0] == low).all() and (before[1] == high).all():
            break
    return low, high


class UnboundedRegionError(UnsupportedProblemError):
    """The public region does not bound some variables."""


class ContradictionError(UnsupportedProblemError):
    """The public rows and bounds have no point."""


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
            self.A = stacked(self.A, row_of(self.cost))
            self.lower = np.append(self.lower, costs[0])
            self.upper = np.append(self.upper, costs[1])

    def _require_reached(self, low: float, high: float) -> None:
        """Refuse costs that no point has."""
        if not self.cost.any():
            useless = "opt has no use here: every cost is 0. Leave it out."
            raise InvalidParameterError(useless, parameter="opt")
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
        new, (lower, upper) = copy.copy(self), self.bounds.T
        new.bounds = np.column_stack([np.maximum(lower, low), np.minimum(upper, high)])
        return new

    def best(self, cost: FloatArray) -> FloatArray | None:
        """A point of least cost; None if there is none, or HiGHS finds none."""
        status, x = optimum(cost, self.A, self.lower, self.upper, self.bounds)
        return np.clip(x, *self.bounds.T) if status == _OPTIMAL else None


def finite_ranges(
    lp: ProgramData, A: sp.csr_array, lower: FloatArray, upper: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ranges as of :func:`tightened`, and by a linear program for each end left infinite."""
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
            raise ContradictionError(CONTRADICTION)
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
    A: sp.csr_array, lower: FloatArray, upper: FloatArray, bounds: FloatArray, ends: BoolArray
) -> BoolArray:
    """Which ends some direction leads to that no row and no bound limits, (2, d), about."""
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
    others = ", perhaps others" if len(variables) >= _NAMED else ""
    return UnboundedRegionError(
        "The public region is unbounded, or HiGHS cannot bound it: its rows and bounds"
        f" put no limit on {names}{others}. Private rows may, but do not count. Give such"
        " variables finite bounds, which may be loose: bounds=(0, 1e6), or the model's own, or"
        " box=1e6 in the readers (--box 1e6), for -1e6 to 1e6 where the model has no narrower ones."
        " Or write a public row that limits them, such as a bound on the cost.",
        parameter="bounds",
    )


def point_inside(
    rows: sp.csr_array, sides: FloatArray, E: sp.csr_array, e: FloatArray, free: BoolArray
) -> tuple[FloatArray, float]:
    """A point far from all rows, and its least slack in units of the rows' norms.

    A variable without a cost that no row ties to another one (`free`, among others) is at its
    middle.
    """
    d = rows.shape[1]
    norms = norms_of_rows(rows)
    if not E.shape[0]:
        entries = np.diff(rows.indptr)
        alone = free & (
            np.bincount(rows.indices[np.repeat(entries > 1, entries)], minlength=d) == 0
        )
        for size in (0.5, 0.5 / d, 1e-3 / d):
            guess = np.where(alone, 0.5, size)
            least = float(np.min((sides - rows @ guess) / norms, initial=1.0))
            if least > FLAT:
                return guess, least
    norms_beside = sp.csr_array(norms[:, None])
    status, found = _most_slack(rows, sides, E, e, norms_beside, (-1.0, 1.0))
    if status != _OPTIMAL or found[-1] < -FLAT:
        raise ContradictionError(CONTRADICTION)
    u = found[:-1]
    if E.shape[0]:  # to working precision
        dense = E.toarray()
        u = u - np.linalg.lstsq(dense, dense @ u - e, rcond=None)[0]
    return u, float(np.min((sides - rows @ u) / norms, initial=1.0))


def _most_slack(
    rows: sp.csr_array,
    sides: FloatArray,
    E: sp.csr_array,
    e: FloatArray,
    slack: sp.csr_array,
    within: tuple[float, float],
) -> tuple[highspy.HighsModelStatus, FloatArray]:
    """Status, and x and t of the largest sum of t with rows x + slack t <= sides and E x = e."""
    (m, d), k = rows.shape, slack.shape[1]
    beside = sp.csr_array((E.shape[0], k))
    everything = sp.csr_array(sp.vstack([sp.hstack([rows, slack]), sp.hstack([E, beside])]))
    lower = np.concatenate([np.full(m, -np.inf), e])
    bounds = np.vstack([np.tile([-np.inf, np.inf], (d, 1)), np.tile(within, (k, 1))])
    cost = np.concatenate([np.zeros(d), -np.ones(k)])
    return optimum(cost, everything, lower, np.concatenate([sides, e]), bounds)


def flat_rows(rows: sp.csr_array, sides: FloatArray, E: sp.csr_array, e: FloatArray) -> BoolArray:
    """The rows in which no point has slack."""
    m, d = rows.shape
    flat = np.ones(m, dtype=bool)
    while flat.any():
        own = np.flatnonzero(flat)
        slack = sp.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(m, len(own)))
        status, found = _most_slack(rows, sides, E, e, slack, (0.0, _ENOUGH))
        free = own[found[d:] > _SLACK] if status == _OPTIMAL else own[:0]
        if not free.size:
            return flat
        flat[free] = False
    return flat


def central_point(rows: sp.csc_array, sides: FloatArray, inside: FloatArray) -> FloatArray:
    """A point near the analytic centre by Newton's method; in many coordinates the given one."""
    if len(inside) > _MOST_CENTRED:
        return inside
    dense, z = rows.toarray(), inside
    for _ in range(_CENTRING_STEPS):
        inverse = 1 / (sides - dense @ z)
        gradient, scaled = dense.T @ inverse, dense * inverse[:, None]
        step = -np.linalg.lstsq(scaled.T @ scaled, gradient, rcond=None)[0]
        decrement = math.sqrt(max(0.0, -float(gradient @ step)))
        if not math.isfinite(decrement) or decrement < _CENTRED:
            break
        z = z + step / (1 + decrement)
    return z if np.isfinite(z).all() and (sides - dense @ z > 0).all() else inside


_TOLERANCE = 1e-9


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
    if status == _INFEASIBLE:
        raise ContradictionError(CONTRADICTION)
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
    if status != _OPTIMAL:
        return float("inf")
    return float(sign @ point) + float(np.abs(lp.bounds[mixed]).max(axis=1, initial=0.0).sum())


def _costs(lp: ProgramData, box: FloatArray, numbers: Sequence[PrivateNumbers]) -> list[FloatArray]:
    """Objectives: if that of any possible program falls without limit, one of these does too."""
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
