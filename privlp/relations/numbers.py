"""Low-sensitivity relations: which numbers in b, A or c are private, and how far they move."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, IntArray
from privlp.problem.data import KnownProgram, ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation, public_rows

_UNIT_ROUNDOFF = 2.0**-53
# Where no violation can change (at x = 0, say) scores still need a positive unit.
_LEAST_CHANGE = 1e-100
# Sums of non-negative numbers are rounded by less than that.
_UP = 1 + 2.0**-30


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PrivateNumbers:
    """Where the private numbers of a part stand, and how far neighbours move them: all public."""

    #: Right-hand sides (of the rows as ``<=`` rows), coefficients or costs.
    part: Literal["b", "A", "c"]
    #: Where they stand: (side,) for "b", (row, column) for "A", (column,) for "c".
    at: tuple[IntArray, ...]
    #: Declared public range of each number, infinite where nothing was declared, (m,).
    low: FloatArray
    high: FloatArray
    size: float  #: Public bound on the size of every number.
    l1: float  #: Largest L1 and L2 distance between the numbers of two neighbours.
    l2: float
    entry: float  #: Largest change of one number between two neighbours.
    touched: int  #: How many numbers two neighbours differ in, at most.
    nonzero: bool = False  #: Whether zeros are public, so that no private number is zero.
    #: Whether all numbers in which two neighbours differ stand in one row of A.
    in_one_row: bool = False
    #: Column j bounds how far a record of kind j moves each number, (m, k), but for `rounding`.
    moves: sp.csr_array | None = None
    rounding: float = 0.0

    def __len__(self) -> int:
        return len(self.low)

    @property
    def largest_moves(self) -> FloatArray:
        """The most that each number moves between two neighbours, (m,)."""
        if self.moves is None:
            return np.full(len(self), self.entry)
        return np.asarray(self.moves.max(axis=1).toarray()).ravel() + self.rounding

    def over(self, scale: FloatArray) -> PrivateNumbers:
        """The same places, with bounds on how far the numbers move over positive scales, (m,)."""
        if self.moves is not None:
            return self._moving_by(sp.csr_array(sp.diags_array(1 / scale) @ self.moves), scale)
        largest = np.sort(1 / scale)[::-1][: self.touched]
        return replace(
            self,
            l1=_UP * min(self.l1 * float(largest[0]), self.entry * float(largest.sum())),
            l2=_UP * min(self.l2 * float(largest[0]), self.entry * float(np.linalg.norm(largest))),
            entry=_UP * self.entry * float(largest[0]),
        )

    def by(self, moves: sp.csr_array, rounding: float) -> PrivateNumbers:
        """The same numbers, of which each record moves those of one column, (m, k)."""
        found = replace(self, moves=moves, rounding=rounding)
        found = found._moving_by(moves, np.ones(len(self)))
        own: Any = {of: min(getattr(self, of), getattr(found, of)) for of in ("l1", "l2", "entry")}
        return replace(found, **own)

    def _moving_by(self, moves: sp.csr_array, scale: FloatArray) -> PrivateNumbers:
        """Bounds by the columns of `moves`; rounding is over the scales.

        A change is at most a mean of columns, and a norm of it at most that of the largest one.
        """
        rounded, square = self.rounding / scale, moves.multiply(moves)
        l1 = float(moves.sum(axis=0).max(initial=0.0)) + float(rounded.sum())
        l2 = math.sqrt(square.sum(axis=0).max(initial=0.0)) + float(np.linalg.norm(rounded))
        entry = float(moves.max()) + float(rounded.max(initial=0.0))
        return replace(self, l1=_UP * max(l1, entry), l2=_UP * max(l2, entry), entry=_UP * entry)

    @property
    def scaled_entry(self) -> float:
        """Largest change of a number times a public scale, per unit of it, rounding included."""
        return self.entry + 2.0**-52 * self.size

    def largest_row_sum(self, d: int) -> Callable[[FloatArray], float]:
        """Largest sum of weights, (d,), over the private numbers of one row; b counts 1, c 0."""
        if self.part != "A":
            constant = 1.0 if self.part == "b" else 0.0
            return lambda weights: constant  # noqa: ARG005 (the same for all weights)
        n = int(self.at[0].max(initial=-1)) + 1
        ones = sp.csr_array((np.ones(len(self)), self.at), shape=(n, d))
        return lambda weights: float(np.max(ones @ weights, initial=0.0))


@dataclass(frozen=True, eq=False, repr=False)
class ProgramNumbers:
    """Numbers of a program, in the user's variables; a private row says sign·A x <= rhs."""

    form: StandardForm
    c: FloatArray  #: Costs in the user's sense, (d,).
    A: Any  #: All rows, (n, d) array or sparse array.
    #: Right-hand side of each private ``<=`` row (``form.row``, ``form.row_sign``), (m,).
    rhs: FloatArray

    @classmethod
    def of(cls, form: StandardForm) -> ProgramNumbers:
        """The numbers that the program holds."""
        return cls(form, form.lp.c, form.lp.A, form.sides(slice(None)))

    def values(self, numbers: PrivateNumbers) -> FloatArray:
        """The numbers at the given places, (m,)."""
        if numbers.part != "A":
            return (self.c if numbers.part == "c" else self.rhs)[numbers.at]
        return np.asarray(self.A.toarray() if sp.issparse(self.A) else self.A)[numbers.at]

    def having(self, numbers: PrivateNumbers, values: FloatArray) -> ProgramNumbers:
        """These numbers with others in place of private ones; a private equality stays one."""
        if numbers.part == "A":
            return replace(self, A=_with_entries(self.A, numbers.at, values))
        changed = (self.c if numbers.part == "c" else self.rhs).copy()
        changed[numbers.at] = values
        if numbers.part == "c":
            return replace(self, c=changed)
        for upper, lower in equal_sides(self.form):
            changed[lower] = -changed[upper]
        return replace(self, rhs=changed)

    def program(self) -> ProgramData:
        """The user's program with these numbers."""
        lp, row, above = self.form.lp, self.form.row, self.form.row_sign > 0
        b, row_lower = lp.b.copy(), lp.row_lower.copy()
        b[row[above]], row_lower[row[~above]] = self.rhs[above], -self.rhs[~above]
        return lp.changed(c=self.c, A=self.A, b=b, row_lower=row_lower)

    def private_rows(self) -> Any:
        """Coefficients of the private ``<=`` rows, (m, d)."""
        A, row, sign = self.A, self.form.row, self.form.row_sign
        if len(row) == A.shape[0] and (sign > 0).all():
            return A
        if sp.issparse(A):
            return sp.csr_array(sp.diags_array(sign.astype(float)) @ sp.csr_array(A)[row])
        return sign[:, None] * A[row]


def _with_entries(A: Any, at: tuple[IntArray, ...], values: FloatArray) -> Any:
    """A copy of A with other entries, all stored: which ones A stored before may be private."""
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


def equal_sides(form: StandardForm) -> IntArray:
    """The two ``<=`` rows (upper side, lower side) of each private equality, shape (k, 2)."""
    lp = form.lp
    below = np.flatnonzero((form.row_sign < 0) & (lp.row_lower[form.row] == lp.b[form.row]))
    above = np.flatnonzero(form.row_sign > 0)
    upper = np.zeros(lp.shape[0], dtype=np.int64)
    upper[form.row[above]] = above
    return np.column_stack([upper[form.row[below]], below])


class LowSensitivity(NeighbourRelation):
    """A relation under which private numbers move by a bounded amount.

    :meth:`private_numbers` says which numbers are private, and how far they move. How far
    violations and rows move follows from that; a relation that knows a smaller bound overrides
    :meth:`violation_span` and :meth:`row_change`.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram, RowPrivate
    >>> from privlp.problem.standard_form import StandardForm
    >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # second entries are public
    >>> lp = LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation)
    >>> form, x = StandardForm.of(lp), np.array([2.0, 5.0])
    >>> relation.private_parts, [round(change, 9) for change in relation.row_change(form, x)]
    (frozenset({'A'}), [0.2, 0.2])
    >>> (numbers,) = relation.private_numbers(form)
    >>> numbers.part, numbers.at, numbers.l1
    ('A', (array([0, 1]), array([0, 0])), 0.1)
    >>> relation.violation_span(form)(x), round(relation.violation_change(form)(x), 9)
    (0.2, 0.2)
    >>> (relation.moved(form, np.random.default_rng(0)).A - lp.A).round(9)
    array([[ 0. ,  0. ],
           [-0.1,  0. ]])
    """

    @abstractmethod
    def private_numbers(self, form: StandardForm) -> list[PrivateNumbers]:
        """The private numbers of each part of the program, with their sensitivities."""

    @property
    @abstractmethod
    def private_parts(self) -> frozenset[str]:
        """Which of "b", "A", "c" hold private numbers."""

    def public_parts(self, lp: ProgramData) -> str:
        """What of `lp` is public, in words: all but the private numbers of private rows."""
        every = {"c": "costs c", "A": "all coefficients A", "b": "all right-hand sides b"}
        words = [name for part, name in every.items() if part not in self.private_parts]
        rows = public_rows(lp) if {"A", "b"} & self.private_parts else []
        return ", ".join([*words, "bounds of variables", *rows])

    @abstractmethod
    def moved(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> ProgramData:
        """A random neighbour, as far away as the declared sensitivity and ranges allow."""

    def violation_change(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """How far apart the computed violations of the rows move, at a public point.

        A bound on max_i d_i - min_i d_i, where d is the change of the violations of all ``<=``
        rows between two neighbours. It is a function of the point x, (d,), made of public numbers:
        :meth:`violation_span`, and eight times the rounding error of a violation.
        """
        span, (entry, rhs) = self.violation_span(form), self._sizes(form)
        roundings = 8 * (form.lp.shape[1] + 3) * _UNIT_ROUNDOFF

        def bound(x: FloatArray) -> float:
            return span(x) + roundings * (entry * float(np.abs(x).sum()) + rhs) + _LEAST_CHANGE

        return bound

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """How far apart the violations of the rows move, at a public point, without rounding.

        By default twice the most that one violation moves: its right-hand side and its private
        coefficients all move by as much as they can, and another violation moves the other way.
        """
        d, private = form.lp.shape[1], self.private_numbers(form)
        parts = [(numbers.entry, numbers.largest_row_sum(d)) for numbers in private]
        return lambda x: 2.0 * sum(entry * largest(np.abs(x)) for entry, largest in parts)

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """L1 and L2 sensitivity of any one row of A, its entries multiplied by `scale`, (d,).

        By default every private entry of the row moves by as much as it can. Zeros where A is
        public.
        """
        for numbers in self.private_numbers(form):
            if numbers.part == "A":
                largest, step = numbers.largest_row_sum(form.lp.shape[1]), numbers.scaled_entry
                return step * largest(np.abs(scale)), step * math.sqrt(largest(scale**2))
        return 0.0, 0.0

    def public_rows(self, form: StandardForm) -> int:
        """The number of private rows is public."""
        return form.n_private

    def conceal(self, lp: ProgramData) -> KnownProgram:
        """The program with fixed numbers in place of the private ones.

        A coefficient or a cost becomes 1. The upper side of a row becomes 1 and the lower side 0;
        both sides of an equality become 0. So the kinds of the rows stay as they are. Where zeros
        are public no side may become 0: the lower side becomes -1, and an equality 1. Names of rows
        are public.
        """

        def stand_ins(numbers: PrivateNumbers, form: StandardForm) -> FloatArray:
            if numbers.part != "b":
                return np.ones(len(numbers))
            side, row = numbers.at[0], form.row[numbers.at[0]]
            one = (form.row_sign[side] > 0) & (lp.row_lower[row] < lp.b[row])
            return np.where(one | numbers.nonzero, 1.0, 0.0)

        return self._with(lp, stand_ins)

    def _with(
        self, lp: ProgramData, values: Callable[[PrivateNumbers, StandardForm], FloatArray]
    ) -> KnownProgram:
        """The program with other private numbers; private rows without sides become zeros."""
        A, free = lp.A, lp.private & (lp.sides() == 0)
        if "A" in self.private_parts and free.any():
            kept = sp.diags_array((~free).astype(float))
            A = sp.csr_array(kept @ A) if sp.issparse(A) else np.where(free[:, None], 0.0, A)
        known = ProgramNumbers.of(StandardForm.of(KnownProgram.of(lp, A=A)))
        for numbers in self.private_numbers(known.form):
            known = known.having(numbers, values(numbers, known.form))
        return KnownProgram.of(known.program(), row_names=lp.row_names)

    def _sizes(self, form: StandardForm) -> tuple[float, float]:
        """Public bounds on the size of entries of A and b; private ones keep to their ranges."""
        public = self._with(form.lp, lambda numbers, _: np.zeros(len(numbers)))
        ends = np.concatenate([public.b, public.row_lower])
        sizes = {
            "A": float(abs(public.A).max()) if 0 not in public.shape else 0.0,
            "b": float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0)),
            "c": 0.0,
        }
        for numbers in self.private_numbers(form):
            sizes[numbers.part] = max(sizes[numbers.part], numbers.size)
        return sizes["A"], sizes["b"]

    def extreme_pair(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> tuple[ProgramData, ProgramData]:
        """The program, and a neighbour at the full distance."""
        return form.lp, self.moved(form, rng, rows)
