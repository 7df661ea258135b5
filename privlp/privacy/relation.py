"""What a ledger knows of the neighbour relation that it accounts for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from privlp.errors import RelationMismatchError


class AccountedRelation(Protocol):
    """A neighbour relation, as ledgers see it: words, and which others it goes together with."""

    @property
    def description(self) -> str:
        """The relation in words."""

    @property
    def key(self) -> str | None:
        """Plain text that compatible relations share; None if only equal ones are compatible."""

    def compatible_with(self, other: AccountedRelation) -> bool:
        """Whether one ledger may account for both relations."""


@dataclass(frozen=True)
class RecordedRelation:
    """A neighbour relation as a file keeps it: its words, and its key."""

    description: str
    key: str

    def compatible_with(self, other: AccountedRelation) -> bool:
        """Whether one ledger may account for both relations."""
        return self.key == other.key


def require_one_relation(
    accounted: Mapping[str, AccountedRelation], relation: AccountedRelation, words: str
) -> None:
    """Refuse a relation, called so in `words`, that is not the one accounted for."""
    for description, earlier in accounted.items():
        if not earlier.compatible_with(relation):
            raise RelationMismatchError(
                f"This budget already accounts for '{description}'; it cannot also account for"
                f" '{words}'. Use a Budget of its own for each neighbour relation,"
                " or, where one record touches several parts, a tuple of relations for all of"
                " them."
            )
