"""Objective-private neighbours: costs change a little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import BoundedChange, FloatArray, split_among_few
from privlp.relations.private_numbers import PrivateNumbers


@dataclass(frozen=True)
class ObjectivePrivate(BoundedChange):
    """Neighbouring programs differ in the costs c, by at most `sensitivity` in L1.

    A and b are public, private rows or not.

    Parameters
    ----------
    sensitivity : float
        Bound on ||c - c'||_1, in the units of c.
    lower, upper : float or array_like of shape (d,), optional
        Declared public range of the costs. Where the ends meet the cost is public.

    Notes
    -----
    *Sensitivity.* ||c - c'||_2 <= ||c - c'||_1 <= D. The objective of a result is that of the
    released costs, c_hat·x: the true c·x is private.

    An unbounded change is refused: Hsu, Roth, Roughgarden and Ullman (2014).

    Examples
    --------
    >>> from privlp import ObjectivePrivate
    >>> ObjectivePrivate(2.0).description
    'objective-private: c changes by at most 2 in sum'
    >>> ObjectivePrivate(float("inf"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: sensitivity must be finite: if c may change ...
    """

    part = "c"
    numbers_are = "the costs c"
    unbounded = (
        "if c may change without bound, no private solver can be accurate (Hsu, Roth, Roughgarden"
        " and Ullman 2014: it would let the data be reconstructed). Declare how far one record"
        " moves c."
    )

    @property
    def description(self) -> str:
        return f"objective-private: c changes by at most {self.sensitivity:g} in sum"

    def records(self, form: StandardForm) -> int:
        """The number of costs: each record owns some of them."""
        return form.lp.shape[1]

    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        d = lp.shape[1]
        return np.broadcast_to(self.lower, d), np.broadcast_to(self.upper, d), lp.c, slice(None)

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        lower, upper, _, _ = self._range_of(form.lp)
        at = np.flatnonzero(lower < upper)
        return PrivateNumbers(
            part="c",
            at=(at,),
            low=lower[at],
            high=upper[at],
            size=self._size(),
            l1=self.sensitivity,
            l2=self.sensitivity,
            entry=self.sensitivity,
            touched=len(at),
        )

    def _steps(
        self,
        numbers: PrivateNumbers,
        rng: np.random.Generator,
        rows: Sequence[int],  # noqa: ARG002
    ) -> FloatArray:
        return split_among_few(self.sensitivity, len(numbers), rng)
