"""What one fit is charged to, and what it may know of the number of records.

With ``relation="add-remove"`` n is private: a nominal number, declared or bought, takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from privlp import Budget, ConstraintPrivate, InvalidProblemError
from privlp.checks import is_one_of, require, require_kind, require_one_of, whole
from privlp.privacy import Accountant, ChargedDraws, Mechanism, PrivacyRecord, Randomness
from privlp.privacy.budget import ledger_of_call
from privlp.privacy.charges import CHANCES
from privlp.privacy.mechanisms.additive import CHANCE, LaplaceCount
from svm_models.parameters import LEAST_EPS_OF_SEVERAL, privacy

#: The neighbour relation in words.
_ONE = "one record (x_i, y_i)"
_RECORDS = _ONE + " replaced; {}"
_DECLARED, _READ = "declared", "read from the records"
_TWO = "the number of records and the two classes, which were {}, are public"
DECLARED = _RECORDS.format(_TWO.format(_DECLARED))
READ = _RECORDS.format(_TWO.format(_READ))
_ADDED = _ONE + " added or removed; the number of records is private; "
#: One record is one private row.
RELATION = ConstraintPrivate()
#: What a part with a delta leaves for the chances of two other calls.
_FOR_CHANCES = 2 * CHANCES * CHANCE
#: Sums of parts must not exceed the whole by rounding.
_LESS = 1 - 1e-12
#: Share of eps that buys the count of records, where no nominal number is declared.
SHARE_OF_THE_COUNT = 0.02
#: There are at most so many times as many records as the nominal number says.
MOST_TIMES = 10
#: One person owns so many rows at most: prices of objective perturbation are known so far.
MOST_ROWS = 500
#: A noisy count is below the truth by so many scales with a probability of half of e^-64.
_TAIL = 64
#: Larger counts are noise.
_LARGEST = 2.0**48


@dataclass(frozen=True, eq=False)
class Account:
    """What one fit is charged to: ledger, randomness, and the neighbour relation, also in words."""

    ledger: Accountant
    randomness: Randomness
    relation: str = DECLARED
    neighbours: ConstraintPrivate = RELATION

    def part(self, share: float, delta: float = 0.0, *, several_calls: bool = False) -> Account:
        """An account of a share of eps, for one planned call or several; of a budget alone."""
        eps, delta = self.budget.eps * share * _LESS, max(0.0, delta - _FOR_CHANCES)
        if several_calls:
            return replace(self, ledger=self.budget.share(eps, delta, composition="basic"))
        return replace(self, ledger=self.budget.ledger(eps, delta))

    @property
    def budget(self) -> Budget:
        """The ledger, which is a budget of several calls."""
        assert isinstance(self.ledger, Budget)  # noqa: S101 (by open_budget)
        return self.ledger

    def charge(self, mechanism: Mechanism, purpose: str) -> ChargedDraws:
        """Charge one draw."""
        return self.charge_together([(mechanism, 1, purpose)])[0]

    def charge_together(self, requests: Sequence[tuple[Mechanism, int, str]]) -> list[ChargedDraws]:
        """Charge mechanisms, each with a number of draws and a purpose: all of them, or none."""
        return self.ledger.charge_together(
            requests, self.neighbours, self.randomness, description=self.relation
        )

    def record(self) -> PrivacyRecord:
        """What was spent, and where the classes are from, also if a linear program was charged."""
        record = self.ledger.record()
        if record.relation is None or self.relation in record.relation:
            return record
        return replace(record, relation=f"{record.relation} and {self.relation}")


def open_ledger(eps: float, delta: float, budget: Budget | None) -> Accountant:
    """The ledger of a planned call of (eps, delta), within `budget` if there is one."""
    require_kind(budget, Budget | None, "budget", "a privlp.Budget")
    return ledger_of_call(*privacy(eps, delta), budget)


def open_budget(eps: float, delta: float, budget: Budget | None) -> Budget:
    """A budget for several calls whose eps and delta add up, within `budget` if there is one."""
    require_kind(budget, Budget | None, "budget", "a privlp.Budget")
    eps, delta = privacy(eps, delta, least=LEAST_EPS_OF_SEVERAL)
    if budget is None:
        return Budget(eps, delta, composition="basic")
    # As a whole, before its first call is charged.
    budget.require_room_for(eps, delta)
    return budget.share(eps, delta, composition="basic")


def at_whole_budget(
    requests: Callable[[float], list[tuple[Mechanism, int, str]]], ledger: Accountant
) -> list[tuple[Mechanism, int, str]]:
    """Requests at the intensity that takes the whole of a ledger; nothing is charged."""
    return requests(ledger.calibrate_together(lambda t: [one[:2] for one in requests(t)]))


def randomness_of(random_state: Any) -> Randomness:
    """A random source of privlp; from scikit-learn's legacy RandomState a seed is taken."""
    if isinstance(random_state, np.random.RandomState):
        return Randomness(int(check_random_state(random_state).randint(2**31 - 1)))
    return Randomness.of(random_state, "random_state")


def with_remark(estimator: Any, text: str) -> str:
    """The text of an estimator, and whether what it learned is not for release."""
    record = getattr(estimator, "privacy_", None)
    return text if record is None or record.remark is None else f"{text}\n{record.remark}"


class PartOfNominal(int):
    """A part of a nominal number; coins may deal it all records, up to `most`: none is refused."""

    most: int

    @classmethod
    def of(cls, nominal_n: int, parts: float, *, times: int) -> PartOfNominal:
        """One of `parts` parts of at most so many times `nominal_n` records."""
        share = cls(math.ceil(nominal_n / parts))
        share.most = times * nominal_n
        return share


@dataclass(frozen=True)
class Neighbours:
    """What a mechanism may know of the records: public or released numbers.

    `n` is their number, or the nominal one; `most` bounds it, for rounding errors only. One person
    owns `rows` of them at most: these leave, or enter, or both (`ways` is 1 or 2).
    """

    n: int
    most: int
    ways: int
    rows: int = 1

    @classmethod
    def replacing(cls, n: int) -> Neighbours:
        """One of n records is replaced."""
        return cls(n, n, 2)

    @classmethod
    def adding(cls, nominal_n: int) -> Neighbours:
        """One record is added or removed, of at most ten times `nominal_n`, or what it says."""
        most = nominal_n.most if isinstance(nominal_n, PartOfNominal) else MOST_TIMES * nominal_n
        return cls(nominal_n, most, 1)

    def owned(self, rows: int) -> Neighbours:
        """The same where one person owns so many records."""
        return replace(self, rows=rows)

    @property
    def replaced(self) -> bool:
        """Whether as many enter as leave."""
        return self.ways == 2

    @property
    def moved(self) -> int:
        """How many leave or enter: how far a sum of one vector of norm 1 a record moves."""
        return self.ways * self.rows

    @property
    def moved_moments(self) -> float:
        """How far sum_i m_i m_i^T moves in the Frobenius norm, ||m_i||_2 <= 1.

        Of one record, ||m m^T - m' m'^T||_F^2 = ||m||^4 + ||m'||^4 - 2 (m·m')^2 <= 2; without m' it
        is at most 1. Records of one person add up.
        """
        return self.rows * math.sqrt(self.ways)

    @property
    def relation(self) -> ConstraintPrivate:
        """One record is one private row."""
        if self.replaced:
            return ConstraintPrivate(rows_per_record=self.rows)
        nominal = max(self.n, -(-self.most // MOST_TIMES))
        return ConstraintPrivate("add-remove", self.rows, nominal)


def adds_or_removes(relation: Any) -> bool:
    """Whether it is not replacement; :func:`accounted` refuses what is neither."""
    return not is_one_of(relation, ("replace",))


def counts(estimator: Any) -> bool:
    """Whether an estimator buys a noisy count of its records."""
    return adds_or_removes(estimator.relation) and estimator.nominal_n is None


def rows_of(estimator: Any) -> int:
    """The most rows that one person owns: 1 unless declared."""
    given = estimator.rows_per_record
    return 1 if given is None else whole(given, "rows_per_record", MOST_ROWS)


def accounted(estimator: Any) -> ConstraintPrivate:
    """The relation, as a ledger knows it."""
    relation, nominal_n, rows = estimator.relation, estimator.nominal_n, rows_of(estimator)
    require_one_of(relation, "relation", ("replace", "add-remove"))
    if not adds_or_removes(relation):
        require(
            nominal_n is None,
            "nominal_n has no use with relation='replace', where the number of records is public.",
            "nominal_n",
        )
        return ConstraintPrivate(rows_per_record=rows)
    return ConstraintPrivate("add-remove", rows, 1 if nominal_n is None else nominal_n)


def require_nominal(count: int, nominal_n: int | None, *, times: int = MOST_TIMES) -> None:
    """Refuse more records than `nominal_n` allows, without saying how many; parts are counted."""
    if nominal_n is None or isinstance(nominal_n, PartOfNominal):
        return
    if count > times * nominal_n:
        raise InvalidProblemError(
            f"There are more than {times} times nominal_n={nominal_n} records. Declare a nominal_n"
            " of the right order.",
            parameter="nominal_n",
        )


def neighbours_of(estimator: Any, count: int, account: Account) -> Neighbours:
    """What an estimator's mechanisms may know of its records; a count of them is its own call."""
    rows = rows_of(estimator)
    if not adds_or_removes(estimator.relation):
        return Neighbours.replacing(count).owned(rows)
    if estimator.nominal_n is None:
        return counted(count, account.part(SHARE_OF_THE_COUNT), rows)
    require_nominal(count, estimator.nominal_n)
    return Neighbours.adding(estimator.nominal_n).owned(rows)


def supposed(estimator: Any, n: int) -> Neighbours:
    """The same for a plan, which supposes n records."""
    adding = adds_or_removes(estimator.relation)
    found = Neighbours.adding(n) if adding else Neighbours.replacing(n)
    return found.owned(rows_of(estimator))


def tail_of_count(scale: float) -> int:
    """What is added to a noisy count of records to bound them, at a scale of its noise."""
    return math.ceil(_TAIL * scale)


def counted(count: int, account: Account, rows: int = 1) -> Neighbours:
    """Neighbours by a noisy count of the records, which takes all of the account.

    One person moves it by the number of rows that one person owns.

    The nominal number is the count, or a little more than 7 scales of its noise; the bound is the
    count plus 64 scales and what one person may add. Noise is below -64 scales with a probability
    of half of e^-64, which is charged as a chance. The bound is at most that more than ten times
    the nominal number.
    """
    mechanism = LaplaceCount.of_eps(float(rows), account.ledger.eps)
    noisy = float(account.charge(mechanism, "count the records")(float(count)))
    tail = tail_of_count(mechanism.scale)
    found = round(min(max(noisy, 0.0), _LARGEST))
    return Neighbours(least_nominal(tail, found), max(1, found + tail + rows), 1, rows)


def least_nominal(tail: int, found: int = 1) -> int:
    """The nominal number for a released count: ten times it bounds the number of records."""
    return max(1, math.ceil(tail / (MOST_TIMES - 1)), found)


@dataclass(frozen=True, eq=False)
class ReadClasses:
    """Two labels that a selector read from the records, for its candidates; it warned of it."""

    labels: npt.NDArray[Any]


def protecting(words: str, estimator: Any) -> str:
    """A relation in words, of the person who owns the record; with its group, where that counts."""
    if getattr(estimator, "fairness", None) is not None:
        words = words.replace("(x_i, y_i)", "(x_i, y_i) with its group")
    rows = rows_of(estimator)
    if estimator.rows_per_record is None:
        return words
    person = f"one person (at most {rows} record{'s' if rows > 1 else ''})"
    words = words.replace(_ONE, person)
    return words.replace("replaced; ", "replaced; who owns which record is public; ")


def relation_in_words(estimator: Any, *, number: str = "two") -> str:
    """The neighbour relation of a fit, and whether its classes, so many, were declared."""
    classes, nominal_n = estimator.classes, estimator.nominal_n
    whence = _READ if classes is None or isinstance(classes, ReadClasses) else _DECLARED
    named = f"the {number} classes, which were {whence}, are public"
    if not adds_or_removes(estimator.relation):
        return protecting(_RECORDS.format(f"the number of records and {named}"), estimator)
    added = named if nominal_n is None else f"the nominal number {nominal_n} and {named}"
    return protecting(_ADDED + added, estimator)
