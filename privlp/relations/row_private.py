"""Row-private neighbours: the coefficients of one row change a little."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import FloatArray, signs
from privlp.relations.matrix_private import BoolArray, MatrixPrivate
from privlp.relations.private_numbers import PrivateNumbers


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

    moves_one_row = True
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

    def _most_changes(self, private: BoolArray) -> int:
        return int(private.sum(axis=1).max(initial=0))

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        owners = numbers.at[0]
        promising = owners[np.isin(owners, rows)] if len(rows) and rng.random() < 0.5 else owners
        own = owners == rng.choice(promising if len(promising) else owners)
        return np.where(own, self.sensitivity * signs(len(numbers), rng), 0.0)
