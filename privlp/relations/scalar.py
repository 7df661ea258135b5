"""Scalar-private neighbours: right-hand sides change a little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, require_one_of, shown
from privlp.errors import InvalidParameterError
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import (
    BoundedChange,
    no_solver_if,
    signs,
    split_among_few,
)
from privlp.relations.numbers import PrivateNumbers, equal_sides


@dataclass(frozen=True)
class ScalarPrivate(BoundedChange):
    """Neighbouring programs differ in the right-hand sides b of the private rows.

    They differ by at most `sensitivity`. A and c are public.

    Parameters
    ----------
    sensitivity : float
        Bound on the change of b, in its units.
    norm : {"inf", "1"}
        Whether it bounds the change of every entry, or the sum of all changes.
    lower, upper : float or array_like of shape (n,), optional
        Declared public range of the right-hand sides, as the user wrote them; needed by
        ``feasible="always"``. A row ``A x >= b`` has the range of b, in CVXPY too where b is a
        number; CVXPY keeps ``expression >= expression`` as ``<=`` with the sides exchanged.
    zeros : {"private", "public"}
        ``"public"``: right-hand sides that are 0 are 0 in every neighbouring program, as in balance
        rows ``inflow - outflow <= 0``, and all others are never 0. They get no noise and need no
        range. That is yours to declare; it is never decided from the data.

    Notes
    -----
    Only the numbers are private. It is public which rows are private, which sides they have, and
    which are equalities (a neighbour of a range has positive width).

    *Sensitivity.* Let m be the number of private numbers: one for each side of a row, one for an
    equality. Under ``norm="inf"`` b moves by m·D in L1 and sqrt(m)·D in L2; under ``norm="1"`` it
    moves by D in both. At a public x the violation A_i x - b_i moves by as much as b_i. All changes
    lie in [-D, D], a span of 2 D. Under ``norm="1"`` they span at most D, or 2 D where a private
    equality shows one number in two rows. Rounding of the difference is added. The change of
    variables u_j = c_j x_j/V leaves b alone.

    An unbounded change is refused: Hsu, Roth, Roughgarden and Ullman (2014) show that any private
    solver would allow the data to be reconstructed.

    Examples
    --------
    >>> from privlp import ScalarPrivate
    >>> ScalarPrivate(10.0, norm="1", lower=0).description
    'scalar-private: b changes by at most 10 in sum'
    >>> ScalarPrivate(float("inf"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: sensitivity must be finite: if b may change ...
    """

    norm: Literal["inf", "1"] = "inf"
    zeros: Literal["private", "public"] = field(default="private", kw_only=True)

    part = "b"
    numbers_are = "the right-hand sides of the private rows"
    unbounded = no_solver_if("b", "b")

    def __post_init__(self) -> None:
        super().__post_init__()
        name = {"1.0": "1"}.get(str(self.norm), str(self.norm))
        if name not in ("inf", "1"):
            raise InvalidParameterError(
                f"norm must be 'inf' or '1', got {shown(self.norm)}.", parameter="norm"
            )
        object.__setattr__(self, "norm", name)
        require_one_of(self.zeros, "zeros", ("private", "public"))

    @property
    def description(self) -> str:
        each = "each" if self.norm == "inf" else "in sum"
        return f"scalar-private: b changes by at most {self.sensitivity:g} {each}"

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with what was declared public."""
        words = super().describe(lp)
        if self.zeros == "private":
            return words
        zeros = sum(np.count_nonzero(ends[lp.private] == 0) for ends in (lp.b, lp.row_lower))
        return f"{words}; {zeros} right-hand sides are declared to be 0"

    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        n = lp.shape[0]
        values = np.concatenate([lp.b, lp.row_lower])
        lower, upper = (np.tile(np.broadcast_to(end, n), 2) for end in (self.lower, self.upper))
        return lower, upper, values, np.tile(lp.private, 2) & self._may_move(values)

    def _may_move(self, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Which sides are numbers that are not declared to be zero."""
        return np.isfinite(values) & ((values != 0) | (self.zeros == "private"))

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        lp, row = form.lp, form.row
        lower, upper = (np.broadcast_to(end, len(lp.b))[row] for end in (self.lower, self.upper))
        values = np.where(form.row_sign > 0, lp.b[row], lp.row_lower[row])
        private = lp.private[row] & (lower < upper) & self._may_move(values)
        sides = np.setdiff1d(np.flatnonzero(private), equal_sides(form)[:, 1])
        lower, upper, above = lower[sides], upper[sides], form.row_sign[sides] > 0
        count = len(sides) if self.norm == "inf" else 1
        low, high = np.where(above, lower, -upper), np.where(above, upper, -lower)
        nonzero = self.zeros == "public"
        return self._moving((sides,), low, high, count, touched=len(sides), nonzero=nonzero)

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        if self.norm == "inf":
            return self.sensitivity * signs(len(numbers), rng)
        return split_among_few(self.sensitivity, len(numbers), rng)

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """2 D, the default; D where the sum of changes is bounded and no equality is private."""
        equality = form.lp.private[form.row[equal_sides(form)[:, 0]]].any()
        span = self.sensitivity if self.norm == "1" and not equality else 2 * self.sensitivity
        return lambda x: span  # noqa: ARG005 (the same at every point)
