"""Column-private neighbours: the coefficients of one column change a little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import FloatArray, signs
from privlp.relations.matrix_private import BoolArray, MatrixPrivate
from privlp.relations.private_numbers import PrivateNumbers


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
        """The number of columns: each record owns one."""
        return form.lp.shape[1]

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """2 D max_j abs(x_j) over the columns with private entries."""
        movable = np.unique(self._numbers(form).at[1])
        return lambda x: 2 * self.sensitivity * float(np.abs(x[movable]).max(initial=0.0))

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """D max_j abs(scale_j): one entry of a row moves."""
        numbers = self._numbers(form)
        movable = np.unique(numbers.at[1])
        change = numbers.scaled_entry * float(np.abs(scale[movable]).max(initial=0.0))
        return change, change

    def _most_changes(self, private: BoolArray) -> int:
        return int(private.sum(axis=0).max(initial=0))

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
