"""Which numbers of a program a low-sensitivity relation calls private, and how far they move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PrivateNumbers:
    """Where the private numbers of one part of a program stand, and how far neighbours move them.

    All of this is public. :meth:`ProgramNumbers.values` reads the numbers themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram, RowPrivate
    >>> from privlp.problem.standard_form import StandardForm
    >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # second entries are public
    >>> lp = LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation)
    >>> (numbers,) = relation.private_numbers(StandardForm.of(lp))
    >>> len(numbers), numbers.low, numbers.entry
    (2, array([-4., -4.]), 0.1)
    """

    #: Right-hand sides (of the rows as ``<=`` rows), coefficients or costs.
    part: Literal["b", "A", "c"]
    #: Where they stand: (side,) for "b", (row, column) for "A", (column,) for "c".
    at: tuple[IntArray, ...]
    #: Declared public range of each number, infinite where nothing was declared, (m,).
    low: FloatArray
    high: FloatArray
    #: Public bound on the size of every number.
    size: float
    #: Largest L1 and L2 distance between the numbers of two neighbours.
    l1: float
    l2: float
    #: Largest change of one number between two neighbours.
    entry: float
    #: How many numbers two neighbours differ in, at most.
    touched: int
    #: Whether zeros are public, so that no private number is zero.
    nonzero: bool = False
    #: Whether all numbers in which two neighbours differ stand in one row of A.
    in_one_row: bool = False

    def __len__(self) -> int:
        return len(self.low)

    @property
    def scaled_entry(self) -> float:
        """Largest change of a number times a public scale, per unit of the scale.

        The products are rounded, which adds to the change.
        """
        return self.entry + 2.0**-52 * self.size

    def largest_row_sum(self, d: int) -> Callable[[FloatArray], float]:
        """The largest sum of weights over the private numbers of one row.

        A function of the weights of the columns, (d,). A right-hand side counts as one entry of
        weight 1; a cost is in no row.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> lp = LinearProgram([1, 2], [[-2, -1]], [-2], neighbours=RowPrivate(0.1))
        >>> (numbers,) = lp.neighbours.private_numbers(StandardForm.of(lp))
        >>> numbers.largest_row_sum(2)(np.array([3.0, 4.0]))
        7.0
        """
        if self.part != "A":
            constant = 1.0 if self.part == "b" else 0.0
            return lambda weights: constant  # noqa: ARG005 (the same for all weights)
        n = int(self.at[0].max(initial=-1)) + 1
        ones = sp.csr_array((np.ones(len(self)), self.at), shape=(n, d))
        return lambda weights: float(np.max(ones @ weights, initial=0.0))


@dataclass(frozen=True, eq=False, repr=False)
class ProgramNumbers:
    """Costs, coefficients and right-hand sides of a program, any of which may have been exchanged.

    Everything is in the user's variables. A private row says sign·A x <= rhs.
    """

    form: StandardForm
    #: Costs in the user's sense, (d,).
    c: FloatArray
    #: All rows, (n, d) array or sparse array.
    A: Any
    #: Right-hand side of each private ``<=`` row (``form.row``, ``form.row_sign``), (m,).
    rhs: FloatArray

    @classmethod
    def of(cls, form: StandardForm) -> ProgramNumbers:
        """The numbers that the program holds."""
        lp = form.lp
        above = form.row_sign > 0
        return cls(form, lp.c, lp.A, np.where(above, lp.b[form.row], -lp.row_lower[form.row]))

    def values(self, numbers: PrivateNumbers) -> FloatArray:
        """The numbers at the given places, (m,)."""
        if numbers.part == "c":
            return self.c[numbers.at]
        if numbers.part == "b":
            return self.rhs[numbers.at]
        A = self.A.toarray() if sp.issparse(self.A) else self.A
        return np.asarray(A)[numbers.at]

    def having(self, numbers: PrivateNumbers, values: FloatArray) -> ProgramNumbers:
        """These numbers with other values in place of private numbers.

        A private equality keeps its two sides equal.
        """
        if numbers.part == "c":
            c = self.c.copy()
            c[numbers.at] = values
            return replace(self, c=c)
        if numbers.part == "A":
            return replace(self, A=_with_entries(self.A, numbers.at, values))
        rhs = self.rhs.copy()
        rhs[numbers.at] = values
        for upper, lower in equal_sides(self.form):
            rhs[lower] = -rhs[upper]
        return replace(self, rhs=rhs)

    def program(self) -> ProgramData:
        """The user's program with these numbers."""
        form, lp = self.form, self.form.lp
        above = form.row_sign > 0
        b, row_lower = lp.b.copy(), lp.row_lower.copy()
        b[form.row[above]] = self.rhs[above]
        row_lower[form.row[~above]] = -self.rhs[~above]
        return lp.changed(c=self.c, A=self.A, b=b, row_lower=row_lower)

    def private_rows(self) -> Any:
        """Coefficients of the private ``<=`` rows, (m, d)."""
        form = self.form
        if len(form.row) == self.A.shape[0] and (form.row_sign > 0).all():
            return self.A
        if sp.issparse(self.A):
            return sp.csr_array(
                sp.diags_array(form.row_sign.astype(float)) @ sp.csr_array(self.A)[form.row]
            )
        return form.row_sign[:, None] * self.A[form.row]


def _with_entries(A: Any, at: tuple[IntArray, ...], values: FloatArray) -> Any:
    """A copy of A with other entries.

    A sparse result stores all of them: which ones A stored before may be private.
    """
    if not sp.issparse(A):
        changed = A.copy()
        changed[at] = values
        return changed
    old = sp.coo_array(A)
    place, new = (np.ravel_multi_index(position, A.shape) for position in (old.coords, at))
    kept = ~np.isin(place, new)
    coords = tuple(
        np.concatenate([was[kept], now]) for was, now in zip(old.coords, at, strict=True)
    )
    return sp.csr_array((np.concatenate([old.data[kept], values]), coords), shape=A.shape)


def without_entries(A: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """A copy of A with zeros in some rows, (n,)."""
    if sp.issparse(A):
        return sp.csr_array(sp.diags_array((~rows).astype(float)) @ A)
    return np.where(rows[:, None], 0.0, A)


def equal_sides(form: StandardForm) -> npt.NDArray[np.int64]:
    """The two ``<=`` rows (upper side, lower side) of each private equality, shape (k, 2)."""
    lp = form.lp
    below = np.flatnonzero((form.row_sign < 0) & (lp.row_lower[form.row] == lp.b[form.row]))
    above = np.flatnonzero(form.row_sign > 0)
    position = (
        {int(row): int(side) for row, side in zip(form.row[above], above, strict=True)}
        if len(below)
        else {}
    )
    return np.array(
        [(position[int(form.row[side])], side) for side in below], dtype=np.int64
    ).reshape(-1, 2)
