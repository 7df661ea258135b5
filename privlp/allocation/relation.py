"""Neighbouring allocations: all data of one person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privlp.checks import is_integer, is_one_of, shown
from privlp.errors import InvalidParameterError
from privlp.privacy.relation import AccountedRelation


@dataclass(frozen=True)
class PersonPrivate:
    """Neighbouring allocations differ in all data of one person: values, uses and limit.

    Parameters
    ----------
    change : {"replace", "add-remove"}
        Whether a neighbour replaces one person by another, or adds or removes one. Under
        ``"replace"`` the number of people is public. Under ``"add-remove"`` it is private, and
        noise is half as large.
    nominal_n : int, optional
        Public number in place of the number of people, required for ``"add-remove"``: a round
        number near the truth that would be the same without any one person. Allocations of more
        than twice as many people are refused.

    Examples
    --------
    >>> from privlp import PersonPrivate
    >>> PersonPrivate().description
    'person-private: values, uses and limit of one person replaced'
    >>> PersonPrivate("add-remove", nominal_n=1_000).most_changed
    1.0
    """

    change: Literal["replace", "add-remove"] = "replace"
    nominal_n: int | None = None

    def __post_init__(self) -> None:
        if not is_one_of(self.change, ("replace", "add-remove")):
            raise InvalidParameterError(
                f"change must be 'replace' or 'add-remove', got {shown(self.change)}.",
                parameter="change",
            )
        n = self.nominal_n
        if n is not None and (not is_integer(n) or not 1 <= n <= 2**40):
            raise InvalidParameterError(
                f"nominal_n must be a positive integer of at most 2^40, got {shown(n)}.",
                parameter="nominal_n",
            )
        if (self.change == "add-remove") != (n is not None):
            raise InvalidParameterError(
                "change='add-remove' makes the number of people private: give a public nominal_n."
                if n is None
                else "nominal_n has no use with change='replace', where the number of people is"
                " public.",
                parameter="nominal_n",
            )

    @property
    def description(self) -> str:
        """The relation in words.

        Examples
        --------
        >>> from privlp import PersonPrivate
        >>> PersonPrivate("add-remove", nominal_n=50).description
        'person-private: one person added or removed, nominal n = 50 (more than 100 people are
        refused)'
        """
        if self.nominal_n is None:
            return "person-private: values, uses and limit of one person replaced"
        return (
            f"person-private: one person added or removed, nominal n = {self.nominal_n} (more than"
            f" {2 * self.nominal_n} people are refused)"
        )

    @property
    def key(self) -> str:
        """Text that is equal for relations that one budget may account for together.

        Examples
        --------
        >>> from privlp import PersonPrivate
        >>> PersonPrivate().key
        'PersonPrivate, replace'
        """
        return f"PersonPrivate, {self.change}"

    def compatible_with(self, other: AccountedRelation) -> bool:
        """Whether one ledger may account for both relations.

        Examples
        --------
        >>> from privlp import ConstraintPrivate, PersonPrivate
        >>> PersonPrivate().compatible_with(ConstraintPrivate())
        False
        """
        return self.key == other.key

    @property
    def hides_people(self) -> bool:
        """Whether the number of people is private.

        Examples
        --------
        >>> from privlp import PersonPrivate
        >>> PersonPrivate().hides_people
        False
        """
        return self.change == "add-remove"

    @property
    def most_changed(self) -> float:
        """How far one person moves total use in sum over supplies, in units of the largest use.

        What a person uses has entries of at least 0 and a sum of at most 1. If she is replaced, two
        such vectors differ by at most 2 in sum; if she joins or leaves, by at most 1.

        Examples
        --------
        >>> from privlp import PersonPrivate
        >>> PersonPrivate().most_changed
        2.0
        """
        return 1.0 if self.hides_people else 2.0
