"""What row-private and column-private neighbours share: coefficients of A change a little."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import BoundedChange, FloatArray, require_zeros
from privlp.relations.private_numbers import PrivateNumbers

BoolArray = npt.NDArray[np.bool_]


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
        require_zeros(self.zeros)

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with what was declared public."""
        words = super().describe(lp)
        public = ~self._would_be_private(lp)[lp.private]
        return (
            f"{words}; {public.sum()} of {public.size} coefficients of private rows are declared"
            " public"
            if public.any()
            else words
        )

    def _private_entries(self, lp: ProgramData) -> BoolArray:
        """Which entries of A are private, (n, d).

        They stand in a private row that constrains x, and may change.
        """
        constrains = lp.private & (lp.sides() > 0)
        return self._would_be_private(lp) & constrains[:, None]

    def _would_be_private(self, lp: ProgramData) -> BoolArray:
        """Which entries would be private if their row were, (n, d)."""
        movable = np.broadcast_to(np.asarray(self.lower < self.upper), lp.shape)
        return movable if self.zeros == "private" else movable & _stored(lp.A)

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        private = self._private_entries(form.lp)
        at = np.nonzero(private)
        low, high = (np.broadcast_to(end, form.lp.shape)[at] for end in (self.lower, self.upper))
        count = self._most_changes(private)
        return PrivateNumbers(
            part="A",
            at=at,
            low=low,
            high=high,
            size=self._size(),
            l1=count * self.sensitivity,
            l2=math.sqrt(count) * self.sensitivity,
            entry=self.sensitivity,
            touched=count,
            nonzero=self.zeros == "public",
            in_one_row=self.moves_one_row,
        )

    #: Whether the entries that change stand in one row.
    moves_one_row: ClassVar[bool] = False

    @abstractmethod
    def _most_changes(self, private: BoolArray) -> int:
        """How many of the private entries, (n, d), change together, at most."""

    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        if sp.issparse(lp.A) and self.lower.ndim == self.upper.ndim == 0:
            return self._range_of_stored(lp)
        A = lp.A.toarray() if sp.issparse(lp.A) else lp.A
        lower, upper = (np.broadcast_to(end, lp.shape) for end in (self.lower, self.upper))
        private = np.broadcast_to(lp.private[:, None], lp.shape)
        return lower, upper, A, private if self.zeros == "private" else private & _stored(lp.A)

    def _range_of_stored(
        self, lp: ProgramData
    ) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """The same for a sparse A: its stored entries, and one zero for all the others."""
        entries = sp.coo_array(lp.A)
        private = lp.private[entries.row]
        others = int(lp.private.sum()) * lp.shape[1] > int(private.sum())
        values = np.append(entries.data, 0.0)
        lower, upper = (np.full(len(values), end) for end in (self.lower, self.upper))
        return lower, upper, values, np.append(private, others and self.zeros == "private")


def _stored(A: Any) -> BoolArray:
    """Which entries are stored, or not zero, (n, d)."""
    if not sp.issparse(A):
        return np.asarray(A != 0)
    stored = np.zeros(A.shape, dtype=bool)
    stored[sp.coo_array(A).coords] = True
    return stored
