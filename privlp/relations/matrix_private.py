"""Row-private and column-private neighbours: coefficients of one row, or of one column, change a little."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import is_one_of
from privlp.errors import InvalidParameterError
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.low_sensitivity import BoundedChange, FloatArray, signs
from privlp.relations.private_numbers import PrivateNumbers


@dataclass(frozen=True)
class _MatrixPrivate(BoundedChange):
    """Entries of A in private rows are private; those whose declared range is a point are public.

    Parameters
    ----------
    zeros : {"private", "public"}
        Whether entries that A does not store (of a dense A: that are zero) are private like the others, or zero in every
        neighbouring program.
    """

    zeros: Literal["private", "public"] = field(default="private", kw_only=True)

    part = "A"
    numbers_are = "the coefficients of the private rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_one_of(self.zeros, ("private", "public")):
            raise InvalidParameterError(
                f"zeros must be 'private' or 'public', got {self.zeros!r}.", parameter="zeros"
            )

    def _movable(self, lp: ProgramData) -> npt.NDArray[np.bool_]:
        """Which entries would be private if their row were, (n, d)."""
        movable = np.broadcast_to(np.asarray(self.lower < self.upper), lp.shape)
        return movable if self.zeros == "private" else movable & _stored(lp.A)

    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        if (
            sp.issparse(lp.A) and self.lower.ndim == self.upper.ndim == 0
        ):  # stored entries, and one zero for all the others
            entries = sp.coo_array(lp.A)
            private = lp.private[entries.row]
            others = self.zeros == "private" and int(lp.private.sum()) * lp.shape[1] > int(
                private.sum()
            )
            values, private = np.append(entries.data, 0.0), np.append(private, others)
            return (
                np.full(len(values), self.lower),
                np.full(len(values), self.upper),
                values,
                private,
            )
        A = lp.A.toarray() if sp.issparse(lp.A) else lp.A
        lower, upper = (np.broadcast_to(end, lp.shape) for end in (self.lower, self.upper))
        private = np.broadcast_to(lp.private[:, None], lp.shape)
        return lower, upper, A, private if self.zeros == "private" else private & _stored(lp.A)

    def support(self, form: StandardForm) -> npt.NDArray[np.bool_]:
        """Which entries of A are private, (n, d).

        Examples
        --------
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> relation.support(form)
        array([[ True, False],
               [ True, False]])
        """
        constrains = form.lp.private & (form.lp.sides() > 0)
        return self._movable(form.lp) & constrains[:, None]

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with what was declared public."""
        words = super().describe(lp)
        points = ~self._movable(lp)[lp.private]
        return (
            f"{words}; {points.sum()} of {points.size} coefficients of private rows are declared"
            " public"
            if points.any()
            else words
        )

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        lp = form.lp
        support = self.support(form)
        row, column = np.nonzero(support)
        low, high = (
            np.broadcast_to(end, lp.shape)[row, column] for end in (self.lower, self.upper)
        )
        count, delta = self._most_entries(support), self.sensitivity
        return PrivateNumbers(
            "A",
            low,
            high,
            count * delta,
            math.sqrt(count) * delta,
            delta,
            count,
            (row, column),
        )

    def _moved_values(
        self, numbers: PrivateNumbers, values: FloatArray, steps: FloatArray
    ) -> FloatArray:
        moved = super()._moved_values(numbers, values, steps)
        if self.zeros == "public":  # which entries are zero stays as it is
            moved = np.where(moved == 0, values / 2, moved)
        return moved

    @abstractmethod
    def _most_entries(self, support: npt.NDArray[np.bool_]) -> int:
        """How many private entries change together, at most."""

    def private_entries(self, form: StandardForm, row: int) -> npt.NDArray[np.bool_]:
        """In a private row, the entries whose declared range is no point."""
        return self._movable(form.lp)[row] & form.lp.private[row]

    def entry_bounds(self, form: StandardForm) -> tuple[FloatArray, FloatArray] | None:
        """The declared ranges in private rows, the entries themselves in public ones."""
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            return None
        private = form.lp.private[:, None]
        if self.zeros == "public":
            private = private & _stored(form.lp.A)
        if private.all():
            return self.lower, self.upper
        A = form.lp.A.toarray() if sp.issparse(form.lp.A) else form.lp.A
        return np.where(private, self.lower, A), np.where(private, self.upper, A)

    def _step(self) -> float:
        """The change of an entry times a public number, per unit of that number: both products are rounded."""
        return self.sensitivity + 2.0**-52 * self.largest()

    def private_sizes(self) -> dict[str, float]:
        """Of A."""
        return {"A": self.largest(of_points=True)}


def _stored(A: Any) -> npt.NDArray[np.bool_]:
    """Which entries are stored, or not zero."""
    if not sp.issparse(A):
        return np.asarray(A != 0)
    stored = np.zeros(A.shape, dtype=bool)
    stored[sp.coo_array(A).coords] = True
    return stored


@dataclass(frozen=True)
class RowPrivate(_MatrixPrivate):
    """Neighbouring programs differ in one private row of A, each entry by at most `sensitivity`.

    B and c are public.

    Parameters
    ----------
    sensitivity : float
        Bound D on the change of each entry of the row, in the units of A.
    lower, upper : float or array_like of shape (n, d), optional
        Declared public range of the entries of private rows, needed by ``feasible="always"`` and by ``method="mw"``. Where the
        ends meet the entry is public: so declared zeros cost nothing. Without ranges every entry counts, stored or not.
    zeros : {"private", "public"}
        ``"public"``: entries that A does not store (of a dense A: that are zero) are zero in every neighbouring program.

    Notes
    -----
    *Sensitivity.* Only the row that changes moves. With k private entries in a row, A moves by k·D in L1 and sqrt(k)·D in L2.
    At a public x its violation moves by at most D·||x||_1 (over the private entries), all others by nothing: the changes span
    D·||x||_1, twice that if a private row has two sides. After the change of variables A'_ij = V A_ij/c_j a row moves by at most
    D·V·sqrt(sum_j c_j^-2) in L2, and a score by at most D' = D·V/min c_j, since ||x||_1 <= V/min c_j on K. This scaling is missing
    in Hsu, Roth, Roughgarden and Ullman (2014). A row that may change without bound is constraint-private.

    Examples
    --------
    >>> from privlp import RowPrivate
    >>> RowPrivate(0.1, lower=0, upper=1).description
    'row-private: one row of A changes, each entry by at most 0.1'
    """

    unbounded = (
        "a row that may change without bound is constraint-private: use ConstraintPrivate(), and"
        " give up s rows."
    )

    @property
    def description(self) -> str:
        return f"row-private: one row of A changes, each entry by at most {self.sensitivity:g}"

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        owners = numbers.at[0]
        promising = owners[np.isin(owners, rows)] if len(rows) and rng.random() < 0.5 else owners
        own = owners == rng.choice(promising if len(promising) else owners)
        return np.where(own, self.sensitivity * signs(len(numbers), rng), 0.0)

    def _most_entries(self, support: npt.NDArray[np.bool_]) -> int:
        return int(support.sum(axis=1).max(initial=0))

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """D times the largest ||x||_1 over the private entries of a row, twice that for two-sided rows.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.25)
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], neighbours=relation))
        >>> relation.violation_span(form)(np.array([1.0, 3.0]))
        1.0
        """
        sides = int(form.lp.sides()[form.lp.private].max(initial=0))
        largest = self._largest_over_rows(form)
        return lambda x: sides * self.sensitivity * largest(np.abs(x))

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """D times the largest norm of `scale` over the private entries of a row.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.25)
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], neighbours=relation))
        >>> l1, l2 = relation.row_change(form, np.array([3.0, 4.0]))
        >>> round(l1, 3), round(l2, 3)
        (1.75, 1.25)
        """
        largest = self._largest_over_rows(form)
        l1, squared = largest(np.abs(scale)), largest(scale**2)
        return self._step() * l1, self._step() * math.sqrt(squared)

    def _largest_over_rows(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """The largest sum of weights, (d,), over the private entries of one row."""
        if np.ndim(self.lower < self.upper) == 0 and self.zeros == "private":
            return lambda weights: float(weights.sum())
        support = sp.csr_array(self.support(form).astype(float))
        return lambda weights: float(np.max(support @ weights, initial=0.0))


@dataclass(frozen=True)
class ColumnPrivate(_MatrixPrivate):
    """Neighbouring programs differ in one column of A, each entry in a private row by at most `sensitivity`; b and c are public.

    Parameters
    ----------
    sensitivity : float
        Bound D on the change of each entry of the column, in the units of A.
    lower, upper, zeros
        As for :class:`RowPrivate`.

    Notes
    -----
    *Sensitivity.* With k private entries in a column, A moves by k·D in L1 and sqrt(k)·D in L2. At a public x every violation
    may move, by at most D·abs(x_j) for the column j that changes: the changes span 2 D·max_j abs(x_j). After the change of
    variables A'_ij = V A_ij/c_j a row moves in one entry, by at most D' = D·V/min c_j, which also bounds the change of a score.

    An unbounded change is refused, as for b: Hsu, Roth, Roughgarden and Ullman (2014).

    Examples
    --------
    >>> from privlp import ColumnPrivate
    >>> ColumnPrivate(0.5).description
    'column-private: one column of A changes, each entry by at most 0.5'
    >>> ColumnPrivate(float("inf"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: sensitivity must be finite: if a column of A may change without bound, no private solver \
can be accurate (Hsu, Roth, Roughgarden and Ullman 2014: it would let the data be reconstructed). Declare how far one record moves \
its entries.
    """

    unbounded = (
        "if a column of A may change without bound, no private solver can be accurate (Hsu, Roth,"
        " Roughgarden and Ullman 2014: it would let the data be reconstructed). Declare how far one"
        " record moves its entries."
    )

    @property
    def description(self) -> str:
        return (
            f"column-private: one column of A changes, each entry by at most {self.sensitivity:g}"
        )

    def records(self, form: StandardForm) -> int:
        """Records own columns.

        Examples
        --------
        >>> from privlp import LinearProgram, ColumnPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = ColumnPrivate(0.25)
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], neighbours=relation))
        >>> relation.records(form)
        2
        """
        return form.lp.shape[1]

    def _steps(
        self,
        numbers: PrivateNumbers,
        rng: np.random.Generator,
        rows: Sequence[int],  # noqa: ARG002
    ) -> FloatArray:
        owners = numbers.at[1]
        return np.where(
            owners == rng.choice(owners), self.sensitivity * signs(len(numbers), rng), 0.0
        )

    def _most_entries(self, support: npt.NDArray[np.bool_]) -> int:
        return int(support.sum(axis=0).max(initial=0))

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """2 D max_j abs(x_j) over the columns with private entries.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, ColumnPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = ColumnPrivate(0.25)
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], neighbours=relation))
        >>> relation.violation_span(form)(np.array([1.0, 3.0]))
        1.5
        """
        movable = self.support(form).any(axis=0)
        return lambda x: 2 * self.sensitivity * float(np.abs(x[movable]).max(initial=0.0))

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """D max_j abs(scale_j): one entry of a row moves.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, ColumnPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = ColumnPrivate(0.25)
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], neighbours=relation))
        >>> l1, l2 = relation.row_change(form, np.array([3.0, 4.0]))
        >>> round(l1, 3), round(l2, 3)
        (1.0, 1.0)
        """
        movable = self.support(form).any(axis=0)
        reach = self._step() * float(np.abs(scale[movable]).max(initial=0.0))
        return reach, reach
