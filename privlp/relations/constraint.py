"""Constraint-private neighbours: all rows of one record may change at will ("high sensitivity")."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, IntArray, of_usual_size, require, require_one_of, whole
from privlp.errors import InvalidProblemError, NotPrivateWarning
from privlp.problem.data import KnownProgram, ProgramData, SoftPrices
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation

# Entries of rows stay below the largest number that HiGHS takes.
_LARGEST = 9e14
_OF_ROWS = ("A", "b", "row_lower", "private")
# Programs with no more coefficients than this are cheap to write anew.
_FEW_ENTRIES = 1_000_000
_Program = TypeVar("_Program", bound=ProgramData)


def _extreme_rows(
    lp: ProgramData, own: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Random ``<=`` rows in the place of the rows `own`, of all kinds and sizes: A and b."""
    k, d = len(own), lp.shape[1]
    before = lp.A[own].toarray() if lp.is_sparse else lp.A[own]
    alike = rng.random() < 0.7  # the rows of a record add up to most if they point the same way
    vary = 1 if alike else k
    patterns = (
        rng.normal(size=(vary, d)),
        np.eye(d)[rng.integers(d, size=vary)] * rng.choice([-1.0, 1.0]),
        rng.choice([-1.0, 1.0], size=(vary, d)),
        before[:vary] * rng.choice([-1.0, 1.0]),
        np.zeros((1, d)),
    )
    kind = rng.choice(len(patterns), p=[0.25, 0.25, 0.2, 0.25, 0.05])
    pattern = np.broadcast_to(patterns[kind], (k, d))
    if rng.random() < 0.5:
        pattern = pattern * np.where(lp.c != 0, lp.c, 1.0)
    usual = rng.random() < 0.8
    size = 10.0 ** rng.uniform(-3, 3) if usual else rng.choice([1e-300, 1e-12, 1e9, 1e14])
    A = np.clip(pattern * size, -_LARGEST, _LARGEST)
    sign = rng.choice([-1.0, 1.0, 0.0], p=[0.7, 0.2, 0.1])
    rhs = sign * np.abs(A).sum(axis=1) * 10.0 ** rng.uniform(-2, 9)
    return A, np.clip(rhs, -_LARGEST, _LARGEST)


def with_rows(lp: _Program, own: IntArray, rows: FloatArray, rhs: FloatArray) -> _Program:
    """The program with other rows in place of `own`; sides and equalities stay."""
    above, below = np.isfinite(lp.b[own]), np.isfinite(lp.row_lower[own])
    equal = lp.row_lower[own] == lp.b[own]
    sign = np.where(above, 1.0, -1.0)
    b, row_lower = lp.b.copy(), lp.row_lower.copy()
    b[own] = np.where(above, rhs, np.inf)
    width = np.where(equal, 0.0, 1.0 + np.abs(rhs))
    row_lower[own] = np.where(below, sign * rhs - np.where(above, width, 0.0), -np.inf)
    A: Any = lp.A.tolil() if lp.is_sparse else np.array(lp.A)
    A[own] = sp.lil_array(sign[:, None] * rows) if lp.is_sparse else sign[:, None] * rows
    return lp.changed(A=sp.csr_array(A) if lp.is_sparse else A, b=b, row_lower=row_lower)


def without_rows(lp: _Program, own: IntArray) -> _Program:
    """The program without these rows."""
    kept = np.setdiff1d(np.arange(lp.shape[0]), own)
    given = [name for name in (*_OF_ROWS, "groups", "penalty") if getattr(lp, name) is not None]
    names = None if lp.row_names is None else [lp.row_names[i] for i in kept]
    return lp.changed(**{name: getattr(lp, name)[kept] for name in given}, row_names=names)


@dataclass(frozen=True)
class ConstraintPrivate(NeighbourRelation):
    """Neighbouring programs differ in the private rows (A_i, b_i) of one record.

    Parameters
    ----------
    change : {"replace", "add-remove"}
        Whether a neighbour replaces the record's rows by others, or adds or removes them.

        Under ``"replace"`` only the numbers in the rows are private. Public are n, row names, which
        rows are private, which share a record (``groups``), and which are equalities, ranges or
        one-sided.

        Under ``"add-remove"`` all of that is private, and every formula uses `nominal_n`. So no
        message tells any of it. Readers take equalities for private too unless told otherwise. A
        program may have no row.
    rows_per_record : int
        Bound on the number of rows of one record.

        Under ``"replace"`` the program's ``groups``, where given, say it: who owns how many rows is
        public, noise is for the record with the most, and a warning says so if that is more than
        was declared. An equality or range counts twice by itself. Under ``"add-remove"`` it is the
        declared bound on the ``<=`` rows of any record that might ever join, and an equality or
        range counts as two.
    nominal_n : int, optional
        Public number in place of n, required for ``"add-remove"``: a round number near the truth
        that would be the same without any one person. Programs with more than ten times as many
        private rows are refused at construction, an equality or range counted twice: neighbours are
        programs within that bound.
    largest_penalty : float, optional
        Public bound on the penalty of any private row, for soft rows under ``"add-remove"``: a
        record brings its own price. Programs with dearer private rows, or hard ones, are refused at
        construction. Under ``"replace"`` prices are public.

    Examples
    --------
    >>> from privlp import ConstraintPrivate
    >>> ConstraintPrivate(change="add-remove", nominal_n=5_000).description
    'constraint-private: one record (at most 1 row) added or removed, nominal n = 5000 (a program
    of more than 50000 private rows is refused)'
    >>> ConstraintPrivate(change="add-remove")
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: change='add-remove' makes the number of rows private: ...
    """

    change: Literal["replace", "add-remove"] = "replace"
    rows_per_record: int = 1
    nominal_n: int | None = None
    largest_penalty: float | None = field(default=None, kw_only=True)

    changes_whole_rows = True

    def __post_init__(self) -> None:
        require_one_of(self.change, "change", ("replace", "add-remove"))
        for name in ("rows_per_record", "nominal_n"):
            if name == "rows_per_record" or getattr(self, name) is not None:
                object.__setattr__(self, name, whole(getattr(self, name), name))
        wrong = "change='add-remove' makes the number of rows private: give a public nominal_n."
        require(self.change != "add-remove" or self.nominal_n is not None, wrong, "change")
        wrong = "nominal_n has no use with change='replace', where the number of rows is public."
        require(self.change != "replace" or self.nominal_n is None, wrong, "nominal_n")
        if self.largest_penalty is None:
            return
        wrong = "largest_penalty has no use with change='replace', where prices are public."
        require(self.change != "replace", wrong, "largest_penalty")
        largest = of_usual_size(self.largest_penalty, "largest_penalty")
        object.__setattr__(self, "largest_penalty", largest)

    @property
    def description(self) -> str:
        rows = f"at most {self.rows_per_record} row{'s' if self.rows_per_record > 1 else ''}"
        if self.change == "replace":
            return f"constraint-private: one record ({rows}) replaced"
        price = self.largest_penalty
        return (
            f"constraint-private: one record ({rows}) added or removed, nominal n ="
            f" {self.nominal_n} (a program of more than {self.largest_n()} private rows is refused)"
            + ("" if price is None else f", each at a price of at most {price:g}")
        )

    @property
    def hides_rows(self) -> bool:
        return self.change == "add-remove"

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with the rows that a record of `lp` owns."""
        return replace(self, rows_per_record=max(1, self.rows_of_one_record(lp))).description

    @property
    def key(self) -> str:
        """Records are the same people in every program of one ledger.

        The number of rows that they own may differ.
        """
        return f"ConstraintPrivate, {self.change}"

    def check(self, lp: ProgramData) -> None:
        """Under ``"add-remove"`` refuse programs beyond what is declared.

        That is `nominal_n`, `rows_per_record` and `largest_penalty`; the data must fit them.
        """
        if self.nominal_n is None:
            self._say_who_owns_more(lp)
            return
        if lp.private_sides() > self.largest_n():
            raise InvalidProblemError(
                f"The program has more than ten times nominal_n={self.nominal_n} private rows. "
                "Declare a nominal_n of the right order.",
                parameter="nominal_n",
            )
        if lp.rows_of_largest_record() > self.rows_per_record:
            raise InvalidProblemError(
                f"A record has more than rows_per_record={self.rows_per_record} private rows (an"
                " equality or range counts as two). Declare a rows_per_record that bounds every"
                " record that might ever join; or name the private rows by private=..., if rows"
                " that nobody owns are among them.",
                parameter="rows_per_record",
            )
        self._check_penalties(lp)
        self._say_what_is_public(lp, self.nominal_n)

    def _check_penalties(self, lp: ProgramData) -> None:
        """Refuse private rows that are dearer than declared, hard ones among them."""
        if self.largest_penalty is None or lp.penalty is None or not lp.private.any():
            return
        dearest = lp.penalty if lp.in_blocks else lp.prices_of_sides()[lp.private]
        if dearest.max() > self.largest_penalty:
            raise InvalidProblemError(
                f"The penalty of a private row is above largest_penalty={self.largest_penalty:g},"
                " or the row is hard. Declare a bound on the price of every record that might ever"
                " join; where records come and go, hard rows among soft ones are not offered.",
                parameter="largest_penalty",
            )

    def _say_who_owns_more(self, lp: ProgramData) -> None:
        """Warn of a record with more rows than were declared: groups, which are public, tell it."""
        if self.rows_per_record == 1 or lp.groups is None:
            return
        most = lp.vectors_of_largest_record()
        if most > self.rows_per_record:
            warnings.warn(
                f"By groups one record owns {most} private rows, more than rows_per_record"
                f"={self.rows_per_record}. Who owns which row is public here, so all {most} are"
                " protected, with noise for as many. If that may not be known, keep no more than"
                f" {self.rows_per_record} rows of each record, by a rule that looks at that record"
                " alone; or take change='add-remove', under which owners are private.",
                NotPrivateWarning,
                stacklevel=2,
            )

    @staticmethod
    def _say_what_is_public(lp: ProgramData, nominal_n: int) -> None:
        """Warn of many public inequalities, whose number neighbours share; names tell places."""
        public = np.flatnonzero(~lp.private)
        if public.size:  # rows in blocks are all private
            public = public[lp.row_lower[public] < lp.b[public]]
        if 2 * public.size < max(nominal_n, 4):
            return
        warnings.warn(
            f"{public.size} inequalities are public, so nothing protects them; about nominal_n="
            f"{nominal_n} rows were said to be private. If people's data stand in them, private=..."
            " has not selected them: compare it with row_names. (Whether it selects any row may"
            " not be told.)",
            NotPrivateWarning,
            stacklevel=2,
        )

    def conceal(self, lp: ProgramData) -> KnownProgram:
        """The program without its private rows."""
        public = ~lp.private
        penalty = None if lp.penalty is None else lp.penalty[public]
        if penalty is not None and penalty.ndim == 2 and (penalty[:, 0] == penalty[:, 1]).all():
            penalty = penalty[:, 0]  # whether private rows have two prices does not show
        own = {name: getattr(lp, name)[public] for name in _OF_ROWS}
        return KnownProgram.of(lp, **own, penalty=penalty)

    def public_rows(self, form: StandardForm) -> int:
        """The true n under ``"replace"``; the nominal n under ``"add-remove"``."""
        return form.n_private if self.nominal_n is None else self.nominal_n

    def largest_n(self, n: int = 0) -> int:
        """Public bound on the number of private rows.

        `n` itself under ``"replace"``; ten times the nominal n under ``"add-remove"``.

        Examples
        --------
        >>> from privlp import ConstraintPrivate
        >>> ConstraintPrivate().largest_n(500)
        500
        >>> ConstraintPrivate("add-remove", nominal_n=1000).largest_n()
        10000
        """
        return n if self.nominal_n is None else 10 * self.nominal_n

    def rows_of_one_record(self, lp: ProgramData) -> int:
        """Public bound k on the ``<=`` rows that one record owns."""
        if self.change == "add-remove":
            return self.rows_per_record
        return max(self.rows_per_record, lp.rows_of_largest_record(self.rows_per_record))

    def vectors_of_one_record(self, lp: ProgramData) -> int:
        """Public bound on the rows that one record owns.

        Under ``"replace"`` the two sides of an equality or range count once.
        """
        if self.change == "add-remove":
            return self.rows_per_record
        return max(self.rows_per_record, lp.vectors_of_largest_record(self.rows_per_record))

    def soft_prices(self, lp: ProgramData) -> SoftPrices | None:
        """Prices of the private soft rows, which are public where records are replaced.

        Else each side of a record's rows counts as a row at the declared price.
        """
        if lp.penalty is None:
            return None
        if self.hides_rows:
            price, k = self.largest_penalty, self.rows_per_record
            return None if price is None else SoftPrices(price, k * price, k * price, k, 0.0, 0, 0)
        if not lp.private.any():
            return None
        return SoftPrices.of(lp, self.rows_per_record)

    def dense_average_sensitivity(
        self, diameter: float, s: float, rows_of_one_record: int
    ) -> float:
        """Sensitivity min(1, k/s) * W of a dense weighted average of one vector per row.

        Parameters
        ----------
        diameter : float
            W, the largest distance between two possible row vectors, in the norm of the mechanism.
        s : float
            Density of the dual weights: no weight exceeds 1/s.
        rows_of_one_record : int
            k, from :meth:`rows_of_one_record`.

        Returns
        -------
        float
            The change of q = sum_i (Gamma_s z)_i g_i between neighbours, in the same norm, for both
            kinds of change.

        Notes
        -----
        Add a row: the cap multiplier can only fall, so every old weight falls. The old rows lose
        exactly the mass m <= 1/s that the new row takes: q' - q = m (g_new - g_mean), with g_mean a
        mean of old vectors. Its norm is at most W/s.

        Replace a row: remove, then add, with masses m <= m'. The change is
        (m' - m)(g' - g_mean) + m (g' - g), again of norm at most W/s.

        With k rows, mass at most min(1, k/s) moves. This sharpens Lemma 2 of Hsu, Roth, Roughgarden
        and Ullman (2014). Proof: ``docs/proofs.md``, "Dense average".

        Examples
        --------
        >>> from privlp import ConstraintPrivate
        >>> ConstraintPrivate().dense_average_sensitivity(diameter=2.0, s=50, rows_of_one_record=1)
        0.04
        """
        return min(1.0, rows_of_one_record / s) * diameter

    def sum_sensitivity(self, largest: float, rows_of_one_record: int) -> float:
        """Sensitivity of a sum of one vector per row.

        Each vector is a function of its row alone, and its norm is at most `largest`. A record of k
        rows adds at most k vectors: the sum moves by k * largest when the record is added or
        removed. When it is replaced, k vectors leave and k others come: twice that.

        Examples
        --------
        >>> from privlp import ConstraintPrivate
        >>> ConstraintPrivate().sum_sensitivity(1.0, 3)
        6.0
        >>> ConstraintPrivate("add-remove", nominal_n=500).sum_sensitivity(1.0, 3)
        3.0
        """
        return rows_of_one_record * largest * (2 if self.change == "replace" else 1)

    def extreme_pair(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> tuple[ProgramData, ProgramData]:
        """A program in which one record has extreme rows, and a neighbour of it.

        In the neighbour the record has the opposite rows, other extreme rows, or its own rows.
        Under ``"add-remove"`` the neighbour is without the record. Sometimes all other private rows
        are exchanged for extreme ones first: the guarantee holds whatever they are.
        """
        lp = form.lp if self.change == "replace" else form.lp.changed(groups=None)
        if lp.shape[0] * lp.shape[1] <= _FEW_ENTRIES and rng.random() < 0.3:
            everyone = np.flatnonzero(lp.private)
            lp = with_rows(lp, everyone, *_extreme_rows(lp, everyone, rng))
        own = self._rows_of_a_record(lp, rng)
        A, rhs = _extreme_rows(lp, own, rng)
        one = with_rows(lp, own, A, rhs)
        if self.change == "add-remove":
            return one, without_rows(one, own)
        kind = rng.choice(3, p=[0.5, 0.35, 0.15])
        if kind == 2:
            return one, lp
        return one, with_rows(lp, own, *((-A, rhs) if kind == 0 else _extreme_rows(lp, own, rng)))

    def _rows_of_a_record(self, lp: ProgramData, rng: np.random.Generator) -> IntArray:
        """Rows of a random record, or any rows that one record may own where groups are absent."""
        rows = rng.permutation(np.flatnonzero(lp.private))
        if lp.groups is not None:
            return np.flatnonzero(lp.private & (lp.groups == lp.groups[rows[0]]))
        sides = lp.sides()[rows] if self.change == "add-remove" else np.ones(len(rows))
        return rows[np.cumsum(sides) <= self.rows_per_record]
