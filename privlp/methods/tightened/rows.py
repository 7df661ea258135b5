"""Rows at the tight ends of released intervals, and points that satisfy them for certain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, IntArray
from privlp.problem.data import ProgramData
from privlp.problem.highs import optimum, priced_optimum, row_sizes
from privlp.problem.standard_form import StandardForm, sides_of, violated
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers
from privlp.sparse import as_sparse

# How far HiGHS may leave rows and bounds, in the units of its scaled model.
_PRECISION = _SNAP = _LEAST_SIZE = 1e-9
#: Options for HiGHS.
PRECISELY = {"primal_feasibility_tolerance": _PRECISION, "dual_feasibility_tolerance": _PRECISION}


@dataclass(frozen=True, eq=False, repr=False)
class TightenedRows:
    """Rows in variables of one sign each: x_j sums sign_k y_k over the columns k of variable j."""

    form: StandardForm
    column: IntArray  # User's variable behind each y, and its sign.
    sign: FloatArray
    bounds: FloatArray  # Bounds on y.
    A: sp.csr_array  # Inequality rows A y <= rhs: private ones at their tightest, then public ones.
    rhs: FloatArray
    side: IntArray  # The private side (``form.row``) behind each of the first p rows.
    owner: IntArray  # The user's row behind each row.

    @classmethod
    def tightest(cls, form: StandardForm, numbers: list[PrivateNumbers]) -> TightenedRows:
        """Private numbers at the tight ends of their declared ranges: the worst case, public."""
        stated, ends = ProgramNumbers.of(form), None
        for part in numbers:
            if part.part == "b":
                stated = stated.having(part, part.low)
            elif part.part == "A":
                ends = part, part.low, part.high
        return cls.of(stated, ends)

    @classmethod
    def of(
        cls, stated: ProgramNumbers, ends: tuple[PrivateNumbers, FloatArray, FloatArray] | None
    ) -> TightenedRows:
        """Rows with these right-hand sides; private coefficients lie between the given ends."""
        form, lp = stated.form, stated.form.lp
        lower, upper = lp.bounds.T
        mixed = (lower < 0) & (upper > 0) if ends is not None else np.zeros(len(lower), dtype=bool)
        negative, zero = (upper <= 0) & (lower < 0), (lower == 0) & (upper == 0)
        plus, minus = np.flatnonzero(~negative & ~zero), np.flatnonzero(negative | mixed)
        split = mixed[np.concatenate([plus, minus])]
        bounds = np.vstack([lp.bounds[plus], -lp.bounds[minus][:, ::-1]])
        bounds[split, 0] = 0.0
        grown, fallen = (stated.private_rows(),) * 2 if ends is None else at_ends(stated, *ends)
        # Private equalities whose numbers are public count as public.
        kept = np.flatnonzero(lp.row_lower[form.row] < lp.b[form.row])
        private = sp.hstack([as_sparse(grown)[kept][:, plus], -as_sparse(fallen)[kept][:, minus]])
        known, known_rhs, owner, _ = public_inequalities(lp)
        known = sp.hstack([as_sparse(known)[:, plus], -as_sparse(known)[:, minus]])
        return cls(
            form=form,
            column=np.concatenate([plus, minus]),
            sign=np.repeat([1.0, -1.0], [len(plus), len(minus)]),
            bounds=bounds,
            A=sp.csr_array(sp.vstack([private, known])),
            rhs=np.concatenate([stated.rhs[kept], known_rhs]),
            side=kept,
            owner=np.concatenate([form.row[kept], owner]),
        )

    def equalities(self) -> tuple[Any, FloatArray]:
        """The equalities, all of public numbers. They hold to the precision of HiGHS."""
        lp = self.form.lp
        equal = lp.row_lower == lp.b
        return as_sparse(lp.A)[equal][:, self.column] * self.sign, lp.b[equal]

    def best(self, cost: FloatArray, options: Mapping[str, Any] = PRECISELY) -> FloatArray | None:
        """The x that is best for costs in the user's sense; None if HiGHS finds none."""
        found = self.best_with_prices(cost, options)
        return None if found is None else found[0]

    def best_with_prices(
        self, cost: FloatArray, options: Mapping[str, Any] = PRECISELY
    ) -> tuple[FloatArray, FloatArray] | None:
        """The same x, and shadow prices of the user's rows; None if HiGHS finds none."""
        status, y, prices = self.priced_optimum(cost, options)
        return (self.point(y), prices) if status == highspy.HighsModelStatus.kOptimal else None

    def priced_optimum(
        self, cost: FloatArray, options: Mapping[str, Any]
    ) -> tuple[highspy.HighsModelStatus, FloatArray, FloatArray]:
        """HiGHS on these rows: its status, the point y, and shadow prices of the user's rows."""
        equal, values = self.equalities()
        status, y, duals = priced_optimum(
            cost[self.column] * self.sign,
            sp.vstack([self.A, equal]),
            np.concatenate([np.full(len(self.rhs), -np.inf), values]),
            np.concatenate([self.rhs, values]),
            self.bounds,
            sense=self.form.lp.sense,
            options=options,
        )
        lp, inequalities = self.form.lp, len(self.rhs)
        # Of each inequality: 1 for the upper side of the user's row, -1 for the lower.
        sign = np.concatenate([self.form.row_sign[self.side], public_inequalities(lp)[3]])
        prices = np.zeros(lp.shape[0])
        np.add.at(prices, self.owner, sign * duals[:inequalities])
        np.add.at(prices, np.flatnonzero(lp.row_lower == lp.b), duals[inequalities:])
        return status, y, prices

    def violated(self, x: FloatArray) -> BoolArray:
        """Which inequality rows x violates in exact arithmetic, (r,)."""
        return violated(self.A, self.split(x), self.rhs)

    def slack(self, x: FloatArray) -> FloatArray:
        """How far x is inside each inequality row, (r,), in double precision."""
        return self.rhs - self.A @ self.split(x)

    def split(self, x: FloatArray) -> FloatArray:
        """The y of a point."""
        y = self.sign * x[self.column]
        return np.maximum(y, 0.0) if len(np.unique(self.column)) < len(self.column) else y

    def point(self, y: FloatArray) -> FloatArray:
        """The user's x behind y, within its bounds; an entry very near a bound is set to it."""
        x = np.zeros(self.form.lp.shape[1])
        np.add.at(x, self.column, self.sign * y)
        lower, upper = self.form.lp.bounds.T
        nearest = np.where(np.abs(x - lower) <= np.abs(x - upper), lower, upper)
        x = np.where(np.abs(x - nearest) <= _SNAP * np.abs(x).max(initial=0.0), nearest, x)
        return np.clip(x, *self.form.lp.bounds.T)


def public_inequalities(lp: ProgramData) -> tuple[Any, FloatArray, IntArray, npt.NDArray[np.int8]]:
    """Public rows A x <= rhs; the user's row behind each, and 1 for its upper side, else -1."""
    A = as_sparse(lp.A)
    row, sides, rhs = sides_of(lp, ~lp.private & (lp.row_lower < lp.b))
    above, below = row[sides > 0], row[sides < 0]
    return sp.vstack([A[above], -A[below]]), rhs, row, sides


def at_ends(
    stated: ProgramNumbers, part: PrivateNumbers, low: FloatArray, high: FloatArray
) -> tuple[Any, Any]:
    """Private ``<=`` rows at their largest, which count where x_j >= 0, and at their smallest."""
    largest, smallest = (stated.having(part, end).private_rows() for end in (high, low))
    above = stated.form.row_sign[:, None] > 0
    dense = [rows.toarray() if sp.issparse(rows) else rows for rows in (largest, smallest)]
    return np.where(above, *dense), np.where(above, *dense[::-1])


_MOST_REPAIRS, _MOST_POINTS = 5, 4
_STEPS = (*np.geomspace(2.0**-50, 0.25, 25), 1.0)
#: Shares of the precision by which equalities may be left, and rounding errors, of nudges.
_NUDGES = ((0.0, 2.0**-48), (0.25, 2.0**-48), (0.25, 2.0**-51))
_PLENTY = 1e3  #: Longest nudge, in units of the largest shift that a row needs.
_SHORT = 13  #: Steps of at most 2^-26: they cost next to nothing of the objective.


def certain(
    rows: TightenedRows, x: FloatArray, steps: tuple[float, ...] = _STEPS
) -> FloatArray | None:
    """A point that satisfies all rows in exact arithmetic, by a step into those that fail."""
    failing = rows.violated(x)
    for _ in range(_MOST_REPAIRS):
        if not failing.any():
            return x
        inside = point_inside(rows, failing)
        if inside is None:
            return None
        moved, _, still = _towards(rows, x, inside, steps)
        if moved is not None:
            return moved
        failing |= still
    return None


def certain_near(
    rows: TightenedRows, x: FloatArray, inside: FloatArray | None
) -> tuple[FloatArray | None, float]:
    """A point that satisfies all rows in exact arithmetic, and the share of the way to `inside`."""
    # Short steps and nudges cost nothing; towards `inside` every step fails by less than before.
    found = certain(rows, x, _STEPS[:_SHORT])
    found = nudged(rows, x) if found is None else found
    if found is not None:
        return found, 0.0
    inside = strictly_inside(rows) if inside is None else inside
    if inside is not None:
        moved, step, _ = _towards(rows, x, inside, _STEPS[:-1])
        if moved is not None:
            return moved, step
    return certain(rows, x), 1.0


def nudged(rows: TightenedRows, x: FloatArray) -> FloatArray | None:
    """A point that satisfies all rows in exact arithmetic, next to x; None if none is found."""
    if not rows.violated(x).any():
        return x
    for equalities, rounding in _NUDGES:
        found = _nudged(rows, x, equalities, rounding)
        if found is not None:
            return found
    return None


def _nudged(
    rows: TightenedRows, x: FloatArray, equalities: float, rounding: float
) -> FloatArray | None:
    """The point after the smallest nudge of x that leaves every row room for rounding."""
    y, (equal, _), count = rows.split(x), rows.equalities(), len(rows.rhs)
    size = abs(rows.A) @ np.abs(y) + np.abs(rows.rhs)
    room = rows.slack(x) - rounding * size
    unit = float(-room.min(initial=-np.finfo(float).tiny))  # the largest shift that a row needs
    room = np.minimum(room / unit, _PLENTY)
    apart = np.minimum(equalities * _PRECISION / unit * row_sizes(equal), _PLENTY)
    up, down = (
        np.clip((end - y) * sign / unit, 0.0, _PLENTY)
        for end, sign in zip(rows.bounds.T[::-1], (1, -1), strict=True)
    )
    matrix = sp.vstack([rows.A, equal])
    status, nudge = optimum(
        np.ones(2 * len(y)),
        sp.hstack([matrix, -matrix]),
        np.concatenate([np.full(count, -np.inf), -apart]),
        np.concatenate([room, apart]),
        np.column_stack([np.zeros(2 * len(y)), np.concatenate([up, down])]),
        options=PRECISELY,
    )
    if status != highspy.HighsModelStatus.kOptimal:
        return None
    moved = x.copy()
    np.add.at(moved, rows.column, rows.sign * unit * (nudge[: len(y)] - nudge[len(y) :]))
    moved = np.clip(moved, *rows.form.lp.bounds.T)
    return None if rows.violated(moved).any() else moved


def _towards(
    rows: TightenedRows, x: FloatArray, inside: FloatArray, steps: tuple[float, ...]
) -> tuple[FloatArray | None, float, BoolArray]:
    """The first step at which all rows hold, and the rows that fail at the last one tried."""
    still = np.ones(len(rows.rhs), dtype=bool)
    for step in steps:
        moved = np.clip(x + step * (inside - x), *rows.form.lp.bounds.T)
        still = rows.violated(moved)
        if not still.any():
            return moved, step, still
    return None, 1.0, still


def point_inside(rows: TightenedRows, chosen: BoolArray) -> FloatArray | None:
    """The point farthest inside the chosen rows, in units of their largest coefficients, if any."""
    inward = np.where(chosen, np.maximum(row_sizes(rows.A), _LEAST_SIZE), 0.0)
    found = solved_with(rows, sp.csr_array(inward[:, None]), -1.0, 1.0, PRECISELY)
    return None if found is None else rows.point(found[:-1])


def strictly_inside(rows: TightenedRows) -> FloatArray | None:
    """A point strictly inside rows that leave room, the mean of several; public if they are."""
    sizes = np.maximum(row_sizes(rows.A), _LEAST_SIZE)
    tight, found = np.ones(len(sizes), dtype=bool), []
    for _ in range(_MOST_POINTS):
        inward = sp.diags_array(np.where(tight, sizes, 0.0), format="csr")[:, tight]
        point = solved_with(rows, inward, -1.0, 1.0, PRECISELY)
        if point is None:
            break
        found.append(rows.point(point[: len(rows.column)]))
        still = rows.slack(np.mean(found, axis=0)) <= _LEAST_SIZE * sizes
        if not still.any() or (len(found) > 1 and still.sum() == tight.sum()):
            break
        tight = still
    return np.mean(found, axis=0) if found else None


def solved_with(
    rows: TightenedRows, more: Any, cost: float, most: float, options: Any = None
) -> FloatArray | None:
    """The optimum over (y, t), 0 <= t <= most, of cost times the sum of t, A y + more t <= rhs."""
    equal, values = rows.equalities()
    count, depth = more.shape
    none = sp.csr_array((len(values), depth))
    status, point = optimum(
        np.append(np.zeros(len(rows.column)), np.full(depth, cost)),
        sp.vstack([sp.hstack([rows.A, more]), sp.hstack([equal, none])]),
        np.concatenate([np.full(count, -np.inf), values]),
        np.concatenate([rows.rhs, values]),
        np.vstack([rows.bounds, np.tile([0.0, most], (depth, 1))]),
        options=options,
    )
    return point if status == highspy.HighsModelStatus.kOptimal else None
