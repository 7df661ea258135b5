"""What neighbours may differ in, and the public part of a program: planning sees only this."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from privlp.errors import PrivLPError
from privlp.problem.data import KnownProgram, ProgramData, SoftPrices, few_rows
from privlp.problem.standard_form import StandardForm
from privlp.sparse import as_sparse

if TYPE_CHECKING:
    from privlp.privacy.charges import AccountedRelation

_T = TypeVar("_T")


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
    SoftPrices(largest=3.0, of_record=3.0, of_sides=6.0, rows=1, opposite=3.0, hard=0,
    hard_rows=0, weaker=1.0)
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
        """Refuse a program that does not fit the relation, at its construction."""

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
        """Public bound on the private ``<=`` rows that one record owns."""
        return 0

    def vectors_of_one_record(self, lp: ProgramData) -> int:
        """As :meth:`rows_of_one_record`; the two sides of a row may count once."""
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


@dataclass(frozen=True, eq=False)
class PublicPart:
    """What neighbouring programs have in common, and public bounds on where they differ.

    Two neighbours have equal public parts. Everything that is decided before a draw follows from
    this object: regions, predictions, mechanisms, rounds, and every refusal.
    """

    #: Standard form of the program without what is private: fixed numbers, or no rows, stand in
    #: place of private ones (:meth:`~privlp.relations.NeighbourRelation.conceal`).
    form: StandardForm
    relation: NeighbourRelation  #: What neighbours may differ in.
    description: str  #: The relation in words, as it stands for this program.
    n: int  #: Public number of private ``<=`` rows.
    rows: int  #: The same, where the two sides of a row may count once: no point misses both.
    #: Public bound on the private rows of one record; 0 where only numbers change.
    rows_of_one_record: int
    vectors_of_one_record: int  #: The same, where the two sides of a row may count once.
    records: int  #: Public number of records: delta must be well below one over it.
    has_private_rows: bool  #: Whether there may be private rows at all.
    prices: SoftPrices | None  #: Prices of private soft rows, where they are public.
    deciding: float = 1.0  #: Share of the soft rows that decide the optimum.

    @classmethod
    def of(cls, lp: ProgramData) -> PublicPart:
        """The public part of a program. Rows in blocks are not read."""
        relation: NeighbourRelation = lp.neighbours
        priced, deciding = lp, float(getattr(lp, "deciding", 1.0))
        if lp.in_blocks:
            nominal_n = lp.neighbours.nominal_n
            n = rows = records = lp.shape[0] if nominal_n is None else nominal_n
            lp = few_rows(lp)
            one_price = priced.penalty is None or priced.penalty.strides == (0,)
            priced = lp if one_price else priced
        else:
            form = StandardForm.of(lp)
            n, records = relation.public_rows(form), relation.records(form)
            rows = n if relation.hides_rows else int((lp.private & (lp.sides() > 0)).sum())
        return cls(
            form=StandardForm.of(relation.conceal(lp)),
            relation=relation,
            description=relation.describe(lp),
            n=n,
            rows=rows,
            rows_of_one_record=relation.rows_of_one_record(lp),
            vectors_of_one_record=relation.vectors_of_one_record(lp),
            records=records,
            has_private_rows=relation.hides_rows or bool(lp.private.any()),
            prices=relation.soft_prices(priced),
            deciding=deciding,
        )

    @property
    def largest_price(self) -> float | None:
        """Largest price of a private soft row, where prices are public; ``inf`` if one is hard."""
        return None if self.prices is None else self.prices.largest

    @cached_property
    def _made(self) -> dict[Any, tuple[Any, PrivLPError | None]]:
        return {}

    def once(self, key: Any, make: Callable[[], _T]) -> _T:
        """What `make` returns or raises; made once for all methods that a request is planned for.

        It must follow from this part and from `key` alone.
        """
        if key not in self._made:
            try:
                self._made[key] = make(), None
            except PrivLPError as error:
                self._made[key] = None, error
        found, refusal = self._made[key]
        if refusal is not None:
            raise refusal
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicPart):
            return NotImplemented
        return all(map(_same, self._parts(), other._parts()))

    def _parts(self) -> list[Any]:
        """Everything in which two neighbours agree."""
        own = [getattr(self, field.name) for field in fields(self) if field.name != "form"]
        return own + [getattr(self.form.lp, field.name) for field in fields(KnownProgram)]

    __hash__ = None  # type: ignore[assignment]


def _same(one: Any, other: Any) -> bool:
    """Whether two values, which may be dense or sparse arrays, are equal."""
    if hasattr(one, "tocsr"):
        return hasattr(other, "tocsr") and not (as_sparse(one) != as_sparse(other)).nnz
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)
