"""What is charged: draws at a price, and all charges of one call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from privlp.checks import whole
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import Price
from privlp.privacy.record import LedgerEntry
from privlp.privacy.relation import AccountedRelation


@dataclass(frozen=True)
class Charge:
    """A number of draws at one price, and how a ledger words them."""

    price: Price
    entry: LedgerEntry

    @classmethod
    def of(cls, mechanism: Mechanism, count: int, purpose: str) -> Charge:
        """The charge for `count` draws of a mechanism.

        Raises
        ------
        InvalidParameterError
            If `count` is not a positive integer, or not one that the mechanism has a price for.
        """
        count = whole(count, "count")
        mechanism.of_draw(0, count)  # refuses a count that the mechanism has no price for
        words = (mechanism.sensitivity, mechanism.parameter, count, mechanism.arithmetic)
        return cls(mechanism.price, LedgerEntry(purpose, mechanism.name, *words))

    @property
    def cost(self) -> tuple[Price, int]:
        """Price of a draw, and number of draws."""
        return self.price, self.entry.draws


@dataclass(frozen=True)
class Share:
    """The part of a budget through which a call was paid, with its limits."""

    identifier: str
    eps: float
    delta: float


@dataclass(frozen=True)
class Call:
    """All that one ledger charged, as the budgets above it see it.

    Attributes
    ----------
    identifier : str
        Of the ledger.
    eps, delta : float
        The charges together are (eps, share·delta)-DP, `share` being the budget's share of delta
        for sums of calls.
    charges : tuple of Charge
        In order.
    relations : dict of str to AccountedRelation
        Under which it protects records, by their description.
    randomness : dict of str to bool
        Where random bits came from, and whether they were seeded.
    parts : tuple of (str, int)
        The call touches only the records of that part of that partition.
    share : Share or None
        The outermost share of the budget, not planned itself, through which the call was paid.
    """

    identifier: str
    eps: float
    delta: float
    charges: tuple[Charge, ...]
    relations: Mapping[str, AccountedRelation]
    randomness: dict[str, bool]
    parts: tuple[tuple[str, int], ...] = ()
    share: Share | None = None

    @property
    def square(self) -> float:
        """The squares of the Gaussian parameters of all its draws, added up.

        ``inf`` if a draw has none.
        """
        return math.fsum(
            charge.price.mu * charge.price.mu * charge.entry.draws for charge in self.charges
        )
