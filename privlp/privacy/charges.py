"""What is charged: draws at a price, and all charges of one call."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from privlp.checks import whole
from privlp.float_errors import unnoticed
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import Price
from privlp.privacy.record import LedgerEntry
from privlp.privacy.relation import AccountedRelation

#: Delta of a call counts its chances so many times: as much as once in a share of at least half.
CHANCES = 2


@dataclass(frozen=True)
class Charge:
    """A number of draws at one price, and how a ledger words them."""

    price: Price
    entry: LedgerEntry

    @classmethod
    @unnoticed()
    def of(cls, mechanism: Mechanism, count: int, purpose: str) -> Charge:
        """The charge for `count` draws of a mechanism."""
        count = whole(count, "count")
        mechanism.of_draw(0, count)  # refuses a count that the mechanism has no price for
        words = (mechanism.sensitivity, mechanism.parameter, count, mechanism.arithmetic)
        price = replace(mechanism.price, chance=mechanism.chance)
        return cls(price, LedgerEntry(purpose, mechanism.name, *words))

    @property
    def cost(self) -> tuple[Price, int]:
        """Price of a draw, and number of draws."""
        return self.price, self.entry.draws


def total_chance(charges: Iterable[Charge]) -> float:
    """The probability that a bound fails which one of the prices rests on."""
    return math.fsum(charge.price.chance * charge.entry.draws for charge in charges)


@dataclass(frozen=True)
class Share:
    """The part of a budget through which a call was paid, with its limits."""

    identifier: str
    eps: float
    delta: float


@dataclass(frozen=True)
class Call:
    """All that one ledger charged, as the budgets above it see it."""

    #: Of the ledger.
    identifier: str
    #: The charges together are (eps, share·delta)-DP, `share` being the budget's share of delta for
    #: sums of calls. What small chances take is part of it.
    eps: float
    delta: float
    #: In order.
    charges: tuple[Charge, ...]
    #: Under which it protects records, by their description.
    relations: Mapping[str, AccountedRelation]
    #: Where random bits came from, and whether they were seeded.
    randomness: dict[str, bool]
    #: The call touches only the records of that part of that partition.
    parts: tuple[tuple[str, int], ...] = ()
    #: The outermost share of the budget, not planned itself, through which the call was paid.
    share: Share | None = None

    def delta_within(self, limit: float) -> float:
        """What it takes of a budget's delta, whose limit this is: a limit of 0 counts no chance."""
        if limit > 0:
            return self.delta
        return max(0.0, self.delta - CHANCES * self.chance)

    @property
    def chance(self) -> float:
        """The probability that a bound fails which the price of one of its draws rests on."""
        return total_chance(self.charges)

    @property
    def square(self) -> float:
        """The squares of the Gaussian parameters of all its draws, added up.

        ``inf`` if a draw has none.
        """
        return math.fsum(
            charge.price.mu * charge.price.mu * charge.entry.draws for charge in self.charges
        )
