"""Which data sets are neighbours, and which number stands for the number of records.

With ``relation="replace"`` one record is replaced, and n is public. With ``relation="add-remove"``
one record is added or removed. Then n is private: a nominal number takes its place in every
formula. It is declared, or made of a noisy count that a share of eps buys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from privlp import ConstraintPrivate, InvalidParameterError, InvalidProblemError
from privlp.checks import is_one_of, shown
from privlp.privacy.mechanisms.additive import LaplaceCount
from svm_models.account import Account

RELATIONS = ("replace", "add-remove")
#: Share of eps that buys the count of records, where no nominal number is declared.
SHARE_OF_THE_COUNT = 0.02
#: There are at most so many times as many records as the nominal number says.
_MOST = 10
#: A noisy count is below the truth by so many scales with a probability of half of e^-64.
_TAIL = 64
#: Larger counts are noise.
_LARGEST = 2.0**48


class PartOfNominal(int):
    """A part's share of a nominal number, where one bound holds for the records of all parts.

    Records are dealt to parts by coins. So a part may hold them all, and must never be refused.
    """

    most: int

    @classmethod
    def of(cls, nominal_n: int, parts: int, *, times: int) -> PartOfNominal:
        """One of several parts of at most so many times `nominal_n` records."""
        share = cls(math.ceil(nominal_n / parts))
        share.most = times * nominal_n
        return share


@dataclass(frozen=True)
class Neighbours:
    """What a mechanism may know of the records, all of it public or released.

    Attributes
    ----------
    n : int
        Number of records; under ``"add-remove"`` the nominal one.
    most : int
        Bound on the number of records: for rounding errors only.
    moved : int
        Records that leave or enter between neighbours: 2 if one is replaced, else 1. A sum of one
        vector of norm 1 a record moves by as much.
    """

    n: int
    most: int
    moved: int

    @classmethod
    def replacing(cls, n: int) -> Neighbours:
        """One of n records is replaced."""
        return cls(n, n, 2)

    @classmethod
    def adding(cls, nominal_n: int) -> Neighbours:
        """One record is added or removed, of at most ten times `nominal_n`, or what it says."""
        most = nominal_n.most if isinstance(nominal_n, PartOfNominal) else _MOST * nominal_n
        return cls(nominal_n, most, 1)

    @property
    def relation(self) -> ConstraintPrivate:
        """One record is one private row."""
        return (
            ConstraintPrivate()
            if self.moved == 2
            else ConstraintPrivate("add-remove", nominal_n=max(self.n, -(-self.most // _MOST)))
        )


def adds_or_removes(relation: Any) -> bool:
    """Whether it is not replacement; :func:`accounted` refuses what is neither."""
    return not is_one_of(relation, ("replace",))


def accounted(relation: Any, nominal_n: Any) -> ConstraintPrivate:
    """The relation, as a ledger knows it."""
    if not is_one_of(relation, RELATIONS):
        raise InvalidParameterError(
            f"relation must be 'replace' or 'add-remove', got {shown(relation)}.",
            parameter="relation",
        )
    if nominal_n is not None and not adds_or_removes(relation):
        raise InvalidParameterError(
            "nominal_n has no use with relation='replace', where the number of records is public.",
            parameter="nominal_n",
        )
    return (
        ConstraintPrivate()
        if not adds_or_removes(relation)
        else ConstraintPrivate("add-remove", nominal_n=1 if nominal_n is None else nominal_n)
    )


def require_nominal(count: int, nominal_n: int | None, *, times: int = _MOST) -> None:
    """Refuse more records than a declared nominal number allows; those of a part were counted.

    Raises
    ------
    InvalidProblemError
        If there are more than so many times as many; the message does not say how many there are.
    """
    if nominal_n is None or isinstance(nominal_n, PartOfNominal):
        return
    if count > times * nominal_n:
        raise InvalidProblemError(
            f"There are more than {times} times nominal_n={nominal_n} records. Declare a nominal_n"
            " of the right order.",
            parameter="nominal_n",
        )


def counted(count: int, account: Account) -> Neighbours:
    """Neighbours by a noisy count of the records, which takes all of the account.

    The nominal number is the noisy count, or a little more than 7 scales of its noise if that is
    more. The bound on their number is the noisy count plus 64 scales, and one for the record that a
    neighbour has besides. Noise is below -64 scales with a probability of half of e^-64, which is
    charged as a chance. The bound is at most one more than ten times the nominal number, for 9
    times that is at least 64 scales. Sensitivity 1: one record is added or removed.
    """
    mechanism = LaplaceCount.of_eps(1.0, account.ledger.eps)
    noisy = float(account.charge(mechanism, "count the records")(float(count)))
    tail = math.ceil(_TAIL * mechanism.scale)
    found = round(min(max(noisy, 0.0), _LARGEST))
    n = max(1, math.ceil(tail / (_MOST - 1)), found)
    return Neighbours(n, max(1, found + tail + 1), 1)
