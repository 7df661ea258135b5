"""Scalar-private neighbours: right-hand sides change a little."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from privlp.checks import (
    BoolArray,
    FloatArray,
    as_floats,
    frozen,
    real,
    real_dtype,
    require,
    require_data,
    require_one_of,
    shown,
)
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import BoundedChange, no_solver_if, signs, split_among_few
from privlp.relations.numbers import PrivateNumbers, equal_sides
from privlp.tables import index_of


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
    moves : array_like or sparse array of shape (n, k), optional
        Kinds of records, with ``norm="1"``: one of kind j moves each side of row i by at most
        ``moves[i, j]``, in units of b. Entries are finite and from 0, not all 0 on private rows; no
        column exceeds `sensitivity` in sum. Declare a kind for every record: nothing that moves b
        otherwise is protected. What may turn one kind into another is a kind too, the sum of both.
        All is public; do not read it off the data.
    rounding : float
        By how much each side may move besides, in units of b, from 0; only with `moves`.

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

    With `moves` two bounds hold at once: changes are at most D in sum, rounding included, and
    abs(b - b') <= moves @ z + rounding for some z >= 0 with a sum of at most 1. So b moves by D or
    by the largest column with rounding in every entry, whichever is less, in L1 and in L2.

    An unbounded change is refused: Hsu, Roth, Roughgarden and Ullman (2014) show that any private
    solver would allow the data to be reconstructed.

    Examples
    --------
    >>> from privlp import ScalarPrivate
    >>> ScalarPrivate(10.0, norm="1", lower=0).description
    'scalar-private: b changes by at most 10 in sum'
    >>> ScalarPrivate(3.0, norm="1", moves=[[1], [1], [1]]).description
    'scalar-private: b changes by at most 3 in sum, each by at most 1, as records of 1 kind (moves)
    move it'
    >>> pairs = [[1, 0], [1, 1], [0, 1]]  # days on which one person travels; sides in whole tens
    >>> ScalarPrivate(32.0, norm="1", moves=pairs, rounding=10).description
    'scalar-private: b changes by at most 32 in sum, each by at most 11, as records of 2 kinds
    (moves) move it, and rounding by at most 10'
    >>> ScalarPrivate(float("inf"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: sensitivity must be finite: if b may change ...
    """

    norm: Literal["inf", "1"] = "inf"
    zeros: Literal["private", "public"] = field(default="private", kw_only=True)
    moves: Any = field(default=None, kw_only=True, compare=False)
    rounding: float = field(default=0.0, kw_only=True)
    _moves_digest: str = field(default="", init=False, repr=False)  #: Compared, for `moves`.

    part = "b"
    numbers_are = "the right-hand sides of the private rows"
    unbounded = no_solver_if("b", "b")

    def __post_init__(self) -> None:
        super().__post_init__()
        name = {"1.0": "1"}.get(str(self.norm), str(self.norm))
        wrong = f"norm must be 'inf' or '1', got {shown(self.norm)}."
        require(name in ("inf", "1"), wrong, "norm")
        object.__setattr__(self, "norm", name)
        require_one_of(self.zeros, "zeros", ("private", "public"))
        rounding = real(self.rounding, "rounding")
        require(0 <= rounding < math.inf, "rounding must be 0 or more, and finite.", "rounding")
        object.__setattr__(self, "rounding", rounding)
        if self.moves is None:
            alone = "rounding is for use with moves: without them sensitivity includes all changes."
            require(rounding == 0, alone, "rounding")
        else:
            object.__setattr__(self, "moves", kinds(self.moves))
            object.__setattr__(self, "_moves_digest", digest(self.moves))
            require(self.norm == "1", "moves is for norm='1': one record, of some kind.", "moves")
            inside = (self.moves.sum(axis=0) <= self.sensitivity * (1 + 2.0**-30)).all()
            require(inside, "A column of moves must not exceed the sensitivity in sum.", "moves")

    @property
    def description(self) -> str:
        each = "each" if self.norm == "inf" else "in sum"
        if self.moves is not None:
            most, k = self.moves.max() + self.rounding, self.moves.shape[1]
            each += f", each by at most {min(most, self.sensitivity):g}, as records of {k}"
            each += f" kind{'s' * (k > 1)} (moves) move it"
        if self.rounding:
            each += f", and rounding by at most {self.rounding:g}"
        return f"scalar-private: b changes by at most {self.sensitivity:g} {each}"

    def check(self, lp: ProgramData) -> None:
        """What every bounded change is checked for, and the shape of `moves`."""
        super().check(lp)
        if self.moves is not None:
            wrong = (
                f"moves must have one row for each of {lp.shape[0]} rows; got {self.moves.shape}."
            )
            require_data(self.moves.shape[0] == lp.shape[0], wrong, "moves")
            lower, upper, _, private = self._range_of(lp)
            rows = (private & (lower < upper)).reshape(2, -1).any(axis=0)
            unmoved = (
                "moves is 0 on every row with a private right-hand side: no record moves any."
                " Declare these rows public, or how far they move."
            )
            known = self.rounding > 0 or not rows.any() or self.moves[rows].nnz > 0
            require_data(known, unmoved, "moves")

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

    def _may_move(self, values: FloatArray) -> BoolArray:
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
        found = self._moving((sides,), low, high, count, touched=len(sides), nonzero=nonzero)
        if self.moves is None or not len(sides):
            return found
        return found.by(self.moves[row[sides]], float(self.rounding))

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        if self.norm == "inf":
            return self.sensitivity * signs(len(numbers), rng)
        if numbers.moves is not None:
            moving = np.flatnonzero(numbers.moves.sum(axis=0))
            kind = rng.choice(moving, 1) if len(moving) else [0]
            most = numbers.moves[:, kind].toarray().ravel() + numbers.rounding
            return up_to(self.sensitivity, most, rng) * signs(len(numbers), rng)
        return split_among_few(self.sensitivity, len(numbers), rng)

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """Twice the change of one side; that in sum, if it is less and no equality is private."""
        equality = form.lp.private[form.row[equal_sides(form)[:, 0]]].any()
        span = 2 * max((of.entry for of in self.private_numbers(form)), default=self.sensitivity)
        if self.norm == "1" and not equality:
            span = min(span, self.sensitivity)
        return lambda x: span  # noqa: ARG005 (the same at every point)


def kinds(moves: Any) -> sp.csr_array:
    """How far records of each kind move the numbers, (n, k), read-only."""
    sparse = sp.issparse(moves)
    given = moves if sparse else as_floats(moves, "moves")
    require(given.ndim == 2, f"moves must be a matrix (n, k); got shape {given.shape}.", "moves")
    kind = real_dtype(given.dtype, "moves")
    found = sp.csr_array(given, dtype=kind, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    right = (np.isfinite(found.data) & (found.data >= 0)).all() and found.nnz > 0
    require(right, "moves must hold finite numbers from 0, not all of them 0.", "moves")
    for part in (found.data, found.indices, found.indptr):
        frozen(part)
    found.index = index_of(moves)  # labels of rows wait for those of a program
    return found


def up_to(total: float, most: FloatArray, rng: np.random.Generator) -> FloatArray:
    """As much of each entry as the sum allows, the largest first or in any order, (m,)."""
    if most.sum() <= total:
        return most
    order = rng.permutation(len(most))
    if rng.random() < 0.5:
        order = order[np.argsort(-most[order])]
    before = np.cumsum(most[order]) - most[order]
    steps = np.zeros(len(most))
    steps[order] = np.clip((1 - 2.0**-40) * total - before, 0.0, most[order])
    return steps


def digest(matrix: sp.csr_array) -> str:
    """Of a sparse matrix without duplicates and zeros: equal matrices have equal ones."""
    parts = (matrix.shape, matrix.indptr, matrix.indices)
    whole = b"".join(np.asarray(part, dtype=np.int64).tobytes() for part in parts)
    return hashlib.sha256(whole + matrix.data.tobytes()).hexdigest()
