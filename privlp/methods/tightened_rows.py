"""Private rows at their tightest, given what is released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_sparse
from privlp.problem.exact_arithmetic import violated
from privlp.problem.highs_model import priced_optimum
from privlp.problem.standard_form import StandardForm
from privlp.relations.private_numbers import PrivateNumbers, ProgramNumbers

FloatArray = npt.NDArray[np.float64]

#: How far HiGHS may leave rows and bounds, in the units of its scaled model.
PRECISION = 1e-9
#: Options for HiGHS.
PRECISELY = {"primal_feasibility_tolerance": PRECISION, "dual_feasibility_tolerance": PRECISION}
_SNAP = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class TightenedRows:
    """The rows that the solution must satisfy, in variables of one sign each.

    x_j is the sum of sign_k y_k over the columns k of variable j.

    Attributes
    ----------
    form : StandardForm
    column, sign : (k,)
        User's variable behind each y, and its sign.
    bounds : (k, 2)
        Bounds on y.
    A : (r, k) sparse array
        Inequality rows A y <= rhs: private ones at their tightest, then public ones.
    rhs : (r,)
    side : (p,)
        The private side (``form.row``) behind each of the first p rows.
    owner : (r,)
        The user's row behind each row.
    """

    form: StandardForm
    column: npt.NDArray[np.int64]
    sign: FloatArray
    bounds: FloatArray
    A: sp.csr_array
    rhs: FloatArray
    side: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]

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
        public = ~lp.private & (lp.row_lower < lp.b)
        above, below = (
            np.flatnonzero(public & np.isfinite(lp.b)),
            np.flatnonzero(public & np.isfinite(lp.row_lower)),
        )
        A = as_sparse(lp.A)
        known = sp.vstack([A[above], -A[below]])
        known = sp.hstack([as_sparse(known)[:, plus], -as_sparse(known)[:, minus]])
        return cls(
            form=form,
            column=np.concatenate([plus, minus]),
            sign=np.repeat([1.0, -1.0], [len(plus), len(minus)]),
            bounds=bounds,
            A=sp.csr_array(sp.vstack([private, known])),
            rhs=np.concatenate([stated.rhs[kept], lp.b[above], -lp.row_lower[below]]),
            side=kept,
            owner=np.concatenate([form.row[kept], above, below]),
        )

    def equalities(self) -> tuple[Any, FloatArray]:
        """The equalities, all of public numbers. They hold to the precision of HiGHS."""
        lp = self.form.lp
        equal = lp.row_lower == lp.b
        return as_sparse(lp.A)[equal][:, self.column] * self.sign, lp.b[equal]

    def optimum(
        self, cost: FloatArray, options: Mapping[str, Any]
    ) -> tuple[highspy.HighsModelStatus, FloatArray]:
        """Run HiGHS on these rows with costs in the user's sense; the point is y."""
        return self.priced_optimum(cost, options)[:2]

    def priced_optimum(
        self, cost: FloatArray, options: Mapping[str, Any]
    ) -> tuple[highspy.HighsModelStatus, FloatArray, FloatArray]:
        """As :meth:`optimum`, with shadow prices of the user's rows, (n,)."""
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
        prices = np.zeros(lp.shape[0])
        np.add.at(prices, self.owner, self.side_sign * duals[:inequalities])
        np.add.at(prices, np.flatnonzero(lp.row_lower == lp.b), duals[inequalities:])
        return status, y, prices

    @property
    def side_sign(self) -> npt.NDArray[np.int8]:
        """Of each inequality: 1 for the upper side of the user's row, -1 for the lower, (r,)."""
        form, lp = self.form, self.form.lp
        public = ~lp.private & (lp.row_lower < lp.b)
        above = np.count_nonzero(public & np.isfinite(lp.b))
        below = len(self.rhs) - len(self.side) - above
        return np.concatenate(
            [form.row_sign[self.side], np.repeat(np.array([1, -1], dtype=np.int8), [above, below])]
        )

    def violated(self, x: FloatArray) -> npt.NDArray[np.bool_]:
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


def at_ends(
    stated: ProgramNumbers, part: PrivateNumbers, low: FloatArray, high: FloatArray
) -> tuple[Any, Any]:
    """Coefficients of the private ``<=`` rows: the largest possible, and the smallest possible.

    The former count where x_j >= 0, the latter where x_j <= 0.
    """
    largest, smallest = (stated.having(part, end).private_rows() for end in (high, low))
    above = stated.form.row_sign[:, None] > 0
    dense = [rows.toarray() if sp.issparse(rows) else rows for rows in (largest, smallest)]
    return np.where(above, *dense), np.where(above, *dense[::-1])
