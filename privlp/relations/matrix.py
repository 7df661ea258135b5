"""Row- and column-private neighbours: coefficients of one row or of one column change a little."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, require_one_of
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import BoundedChange, no_solver_if, signs
from privlp.relations.numbers import PrivateNumbers


@dataclass(frozen=True)
class MatrixPrivate(BoundedChange):
    """Entries of A in private rows are private; those whose declared range is a point are public.

    Parameters
    ----------
    zeros : {"private", "public"}
        Whether entries that A does not store (of a dense A: that are zero) are private like the
        others, or zero in every neighbouring program.
    """

    zeros: Literal["private", "public"] = field(default="private", kw_only=True)

    part = "A"
    numbers_are = "the coefficients of the private rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self.zeros, "zeros", ("private", "public"))

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with what was declared public."""
        words, public = super().describe(lp), ~self._would_be_private(lp)[lp.private]
        if not public.any():
            return words
        share = f"{public.sum()} of {public.size}"
        return f"{words}; {share} coefficients of private rows are declared public"

    def _would_be_private(self, lp: ProgramData) -> BoolArray:
        """Which entries would be private if their row were, (n, d)."""
        movable = np.broadcast_to(np.asarray(self.lower < self.upper), lp.shape)
        return movable if self.zeros == "private" else movable & _stored(lp.A)

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        constrains = form.lp.private & (form.lp.sides() > 0)
        private = self._would_be_private(form.lp) & constrains[:, None]
        at = np.nonzero(private)
        low, high = (np.broadcast_to(end, form.lp.shape)[at] for end in (self.lower, self.upper))
        count = int(private.sum(axis=1 - self._axis).max(initial=0))
        more = {"nonzero": self.zeros == "public", "in_one_row": self._axis == 0}
        return self._moving(at, low, high, count, **more)

    _axis: ClassVar[int]  #: Whether a row, 0, or a column, 1, changes.

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        some = owners = numbers.at[self._axis]
        if self._axis == 0 and len(rows) and rng.random() < 0.5:
            some = owners[np.isin(owners, rows)]
        own = owners == rng.choice(some if len(some) else owners)
        return np.where(own, self.sensitivity * signs(len(numbers), rng), 0.0)

    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        if sp.issparse(lp.A) and self.lower.ndim == self.upper.ndim == 0:
            # The stored entries, and one zero for all the others.
            entries = sp.coo_array(lp.A)
            private, values = lp.private[entries.row], np.append(entries.data, 0.0)
            others = int(lp.private.sum()) * lp.shape[1] > int(private.sum())
            lower, upper = (np.full(len(values), end) for end in (self.lower, self.upper))
            return lower, upper, values, np.append(private, others and self.zeros == "private")
        A = lp.A.toarray() if sp.issparse(lp.A) else lp.A
        lower, upper = (np.broadcast_to(end, lp.shape) for end in (self.lower, self.upper))
        private = np.broadcast_to(lp.private[:, None], lp.shape)
        return lower, upper, A, private if self.zeros == "private" else private & _stored(lp.A)


@dataclass(frozen=True)
class RowPrivate(MatrixPrivate):
    """Neighbouring programs differ in one private row of A, each entry by at most `sensitivity`.

    The right-hand sides b and the costs c are public.

    Parameters
    ----------
    sensitivity : float
        Bound D on the change of each entry of the row, in the units of A.
    lower, upper : float or array_like of shape (n, d), optional
        Declared public range of the entries of private rows, needed by ``feasible="always"`` and by
        ``method="mw"``. Where the ends meet the entry is public: so declared zeros cost nothing.
        Without ranges every entry counts, stored or not.
    zeros : {"private", "public"}
        ``"public"``: entries that A does not store (of a dense A: that are zero) are zero in every
        neighbouring program.

    Notes
    -----
    *Sensitivity.* Only the row that changes moves. With k private entries in a row, A moves by k·D
    in L1 and sqrt(k)·D in L2. At a public x its violation moves by at most D·||x||_1 (over the
    private entries), all others by nothing: the changes span D·||x||_1, or twice that if a private
    row has two sides. After the change of variables A'_ij = V A_ij/c_j a row moves by at most
    D·V·sqrt(sum_j c_j^-2) in L2, and a score by at most D' = D·V/min c_j, since
    ||x||_1 <= V/min c_j on K. This scaling is missing in Hsu, Roth, Roughgarden and Ullman (2014).
    A row that may change without bound is constraint-private.

    Examples
    --------
    >>> from privlp import RowPrivate
    >>> RowPrivate(0.1, lower=0, upper=1).description
    'row-private: one row of A changes, each entry by at most 0.1'
    """

    _axis = 0
    unbounded = (
        "a row that may change without bound is constraint-private: use ConstraintPrivate(), and"
        " give up s rows."
    )

    @property
    def description(self) -> str:
        return f"row-private: one row of A changes, each entry by at most {self.sensitivity:g}"

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """D times the largest ||x||_1 over the private entries of a row.

        Twice that if a private row has two sides: they move in opposite directions.
        """
        sides = int(form.lp.sides()[form.lp.private].max(initial=0))
        largest = self._largest_row_sum(form)
        return lambda x: sides * self.sensitivity * largest(np.abs(x))

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """D times the largest norm of `scale` over the private entries of a row."""
        largest, step = self._largest_row_sum(form), self._numbers(form).scaled_entry
        return step * largest(np.abs(scale)), step * math.sqrt(largest(scale**2))

    def _largest_row_sum(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """The largest sum of weights, (d,), over the private entries of one row."""
        if np.ndim(self.lower < self.upper) == 0 and self.zeros == "private":
            return lambda weights: float(weights.sum())  # every entry is private
        return self._numbers(form).largest_row_sum(form.lp.shape[1])


@dataclass(frozen=True)
class ColumnPrivate(MatrixPrivate):
    """Neighbouring programs differ in one column of A.

    Each entry in a private row changes by at most `sensitivity`. The right-hand sides b and the
    costs c are public.

    Parameters
    ----------
    sensitivity : float
        Bound D on the change of each entry of the column, in the units of A.
    lower, upper, zeros
        As for :class:`RowPrivate`.

    Notes
    -----
    *Sensitivity.* With k private entries in a column, A moves by k·D in L1 and sqrt(k)·D in L2.
    At a public x every violation may move, by at most D·abs(x_j) for the column j that changes:
    the changes span 2 D·max_j abs(x_j). After the change of variables A'_ij = V A_ij/c_j a row
    moves in one entry, by at most D' = D·V/min c_j, which also bounds the change of a score.

    An unbounded change is refused, as for b: Hsu, Roth, Roughgarden and Ullman (2014).

    Examples
    --------
    >>> from privlp import ColumnPrivate
    >>> ColumnPrivate(0.5).description
    'column-private: one column of A changes, each entry by at most 0.5'
    >>> ColumnPrivate(float("inf"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: sensitivity must be finite: if a column of A may change ...
    """

    _axis = 1
    unbounded = no_solver_if("a column of A", "its entries")

    @property
    def description(self) -> str:
        most = f"{self.sensitivity:g}"
        return f"column-private: one column of A changes, each entry by at most {most}"

    def records(self, form: StandardForm) -> int:
        """The number of columns: each record owns one."""
        return form.lp.shape[1]

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """2 D max_j abs(x_j) over the columns with private entries."""
        movable = np.unique(self._numbers(form).at[1])
        return lambda x: 2 * self.sensitivity * float(np.abs(x[movable]).max(initial=0.0))

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """D max_j abs(scale_j): one entry of a row moves."""
        numbers = self._numbers(form)
        change = numbers.scaled_entry * float(np.abs(scale[numbers.at[1]]).max(initial=0.0))
        return change, change


def _stored(A: Any) -> BoolArray:
    """Which entries are stored, or not zero, (n, d)."""
    if not sp.issparse(A):
        return np.asarray(A != 0)
    stored = np.zeros(A.shape, dtype=bool)
    stored[sp.coo_array(A).coords] = True
    return stored
