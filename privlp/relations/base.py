"""What every neighbour relation provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privlp.problem.data import KnownProgram, ProgramData, SoftPrices
from privlp.problem.standard_form import StandardForm

if TYPE_CHECKING:
    from privlp.privacy.charges import AccountedRelation


class NeighbourRelation(ABC):
    """What two neighbouring linear programs may differ in.

    A relation is part of the linear program (``lp.neighbours``) and of every ledger. It checks that
    a program fits it, says which part of a program is public, and states how far neighbours move
    sums over rows and numbers. Methods say which relations they protect.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import ConstraintPrivate, LinearProgram, ObjectivePrivate, ScalarPrivate
    >>> from privlp.problem.standard_form import StandardForm
    >>> relation = ConstraintPrivate("add-remove", nominal_n=100)
    >>> lp = LinearProgram([1, 2], [[-1, -1]] * 93, [-2] * 93, neighbours=relation)
    >>> form = StandardForm.of(lp)
    >>> relation.hides_rows, relation.public_rows(form), relation.records(form)
    (True, 100, 100)
    >>> relation.compatible_with(ConstraintPrivate()), ConstraintPrivate(rows_per_record=3).key
    (False, 'ConstraintPrivate, replace')
    >>> ranges = LinearProgram([1, 2], [[1, 1]], [2], row_lower=[1], penalty=3)
    >>> relation = ranges.neighbours
    >>> relation.rows_of_one_record(ranges), relation.vectors_of_one_record(ranges)
    (2, 1)
    >>> relation.soft_prices(ranges)
    SoftPrices(largest=3.0, of_record=3.0, of_sides=6.0, rows=1, opposite=3.0, hard=0)
    >>> relation.describe(ranges)
    'constraint-private: one record (at most 2 rows) replaced'
    >>> relation.public_parts(ranges)
    'costs c, bounds of variables'
    >>> relation = ScalarPrivate(0.5)
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], neighbours=relation)
    >>> relation.conceal(lp).b
    array([1., 1.])
    >>> one, other = relation.extreme_pair(StandardForm.of(lp), np.random.default_rng(0))
    >>> abs(one.b - other.b)
    array([0.5, 0.5])
    >>> ObjectivePrivate(0.1, lower=0, upper=1).check(lp)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidProblemError: Some of the costs c lie outside the declared range. ...
    """

    @property
    @abstractmethod
    def description(self) -> str:
        """The relation in words, for ledgers and statements."""

    @abstractmethod
    def describe(self, lp: ProgramData) -> str:
        """The relation in words, as it stands for `lp`."""

    def public_parts(self, lp: ProgramData) -> str:
        """What of `lp` is public, in words."""
        return ", ".join(["costs c", "bounds of variables", *public_rows(lp)])

    #: Whether a whole row may change. Then methods let some of the rows be violated.
    changes_whole_rows: ClassVar[bool] = False

    @property
    def hides_rows(self) -> bool:
        """Whether a neighbour may have more or fewer private rows.

        If so, the number of private rows, their places, names and kinds are private, and no message
        tells them.
        """
        return False

    @abstractmethod
    def check(self, lp: ProgramData) -> None:
        """Refuse a program that does not fit the relation, at its construction.

        Raises
        ------
        InvalidProblemError
            With what is wrong and what to do.
        """

    @abstractmethod
    def conceal(self, lp: ProgramData) -> KnownProgram:
        """The program with fixed public numbers, or nothing, in place of what is private.

        Two neighbours become equal. Planning sees this program only.
        """

    @abstractmethod
    def public_rows(self, form: StandardForm) -> int:
        """The number of private rows that formulas use. It is the same for two neighbours."""

    def soft_prices(self, lp: ProgramData) -> SoftPrices | None:
        """Prices of the private soft rows, where they are public; None by default."""
        return None

    def rows_of_one_record(self, lp: ProgramData) -> int:
        """Public bound on the private ``<=`` rows that one record owns.

        0, the default, where only numbers within rows change.
        """
        return 0

    def vectors_of_one_record(self, lp: ProgramData) -> int:
        """As :meth:`rows_of_one_record`; the two sides of a row may count once.

        Their coefficients are one vector, up to its sign.
        """
        return self.rows_of_one_record(lp)

    def records(self, form: StandardForm) -> int:
        """Public number of records: delta must be well below one over it."""
        return self.public_rows(form)

    @property
    def key(self) -> str | None:
        """A text that is equal for relations that one budget may account for together.

        A budget in a file keeps this key. With ``None``, the default, a budget accounts for equal
        relations only, and cannot be in a file.
        """
        return None

    def compatible_with(self, other: AccountedRelation) -> bool:
        """Whether one ledger may account for both relations."""
        return self == other if self.key is None else self.key == other.key

    @abstractmethod
    def extreme_pair(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> tuple[ProgramData, ProgramData]:
        """Two random neighbours that resemble a program, for audits: **not private**.

        They are about as far apart as neighbours can be. All that is public is as in the program.
        Where one row changes, `rows` names rows that are worth a try.

        Raises
        ------
        InvalidProblemError
            If the numbers drawn do not fit the relation: draw again.
        """


def public_rows(lp: ProgramData) -> list[str]:
    """How many rows are public, and how many of them equalities, in words; empty if none is."""
    rows, equal = int((~lp.private).sum()), int((~lp.private & (lp.row_lower == lp.b)).sum())
    if rows < 2:
        return ["1 public row" + " (an equality)" * equal] * rows
    return [f"{rows} public rows" + (f" ({equal} of them equalities)" if equal else "")]


def own_name(kind: type) -> str:
    """The name of a class, with its module unless it belongs to this package."""
    ours = kind.__module__.partition(".")[0] == "privlp"
    return kind.__name__ if ours else f"{kind.__module__}.{kind.__qualname__}"


def in_words(value: object) -> str:
    """How messages call what was given instead of a relation."""
    if isinstance(value, type):
        return f"the class {value.__name__} (call it: {value.__name__}(...))"
    return type(value).__name__
