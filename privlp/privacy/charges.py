"""What is charged: draws at a price, and all charges of one call, also as plain data for a file."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from privlp.checks import whole
from privlp.errors import InvalidParameterError, RelationMismatchError
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import Price
from privlp.privacy.record import LedgerEntry, json_number
from privlp.quiet import unnoticed


class AccountedRelation(Protocol):
    """A neighbour relation, as ledgers see it."""

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
    """A neighbour relation as a file keeps it."""

    description: str
    key: str

    def compatible_with(self, other: AccountedRelation) -> bool:
        return self.key == other.key


def require_one_relation(
    accounted: Mapping[str, AccountedRelation], relation: AccountedRelation, words: str
) -> None:
    """Refuse a relation, called so in `words`, that is not the one accounted for."""
    for description, earlier in accounted.items():
        if not earlier.compatible_with(relation):
            raise RelationMismatchError(
                f"This budget already accounts for '{description}'; it cannot also account for"
                f" '{words}'. Use a Budget of its own for each neighbour relation, or, where one"
                " record touches several parts, a tuple of relations for all of them."
            )


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
        price, _ = cost_of(mechanism, count)
        return cls(price, LedgerEntry(purpose, mechanism.name, *words))

    @property
    def cost(self) -> tuple[Price, int]:
        """Price of a draw, and number of draws."""
        return self.price, self.entry.draws


def cost_of(mechanism: Mechanism, count: int) -> tuple[Price, int]:
    """As :attr:`Charge.cost`, without the words."""
    price = mechanism.price
    return replace(price, chance=mechanism.chance) if mechanism.chance else price, count


def total_chance(charges: Iterable[Charge]) -> float:
    """The probability that a bound fails which one of the prices rests on."""
    return math.fsum(price.chance * count for price, count in (c.cost for c in charges))


@dataclass(frozen=True)
class Share:
    """The part of a budget through which a call was paid, with its limits."""

    identifier: str
    eps: float
    delta: float


@dataclass(frozen=True)
class Call:
    """All that one ledger charged, as the budgets above it see it."""

    identifier: str  # of the ledger
    #: The charges together are (eps, share·delta)-DP, `share` being the budget's share of delta for
    #: sums of calls. What small chances take is part of it.
    eps: float
    delta: float
    charges: tuple[Charge, ...]
    #: Under which it protects records, by their description.
    relations: Mapping[str, AccountedRelation]
    randomness: dict[str, bool]  #: Where random bits came from, and whether they were seeded.
    #: The call touches only the records of that part of that partition.
    parts: tuple[tuple[str, int], ...] = ()
    #: The outermost share of the budget, not planned itself, through which the call was paid.
    share: Share | None = None

    @property
    def chance(self) -> float:
        return total_chance(self.charges)

    @property
    def square(self) -> float:
        """The squares of the Gaussian parameters of all its draws, added up, or ``inf``."""
        return math.fsum(price.mu * price.mu * n for price, n in (c.cost for c in self.charges))


def largest_sum(calls: Iterable[Call], number: Callable[[Call], float]) -> float:
    """The largest sum of a number of each call over all records, each in a part of a partition."""
    common, partitions = _divided(calls)
    largest = (max(largest_sum(p, number) for p in parts.values()) for parts in partitions.values())
    return math.fsum([*map(number, common), *largest])


def calls_by_record(calls: Sequence[Call]) -> list[list[Call]] | None:
    """The calls that touch a record, for each of at most 64 choices of a part of each partition."""
    found = list(itertools.islice(_choices(calls), 65))
    return found if len(found) <= 64 else None


def _divided(calls: Iterable[Call]) -> tuple[list[Call], dict[str, dict[int, list[Call]]]]:
    """Calls that touch all records; the others by partition and part, which is taken off them."""
    common: list[Call] = []
    partitions: dict[str, dict[int, list[Call]]] = defaultdict(lambda: defaultdict(list))
    for call in calls:
        if call.parts:
            *inner, (partition, part) = call.parts
            partitions[partition][part].append(replace(call, parts=tuple(inner)))
        else:
            common.append(call)
    return common, partitions


def _choices(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Of parts that were charged alike, one stands for all."""
    partitions: dict[str, dict[int, list[object]]] = defaultdict(lambda: defaultdict(list))
    for call in calls:
        costs = tuple(charge.cost for charge in call.charges)
        for partition, part in call.parts:
            rest = tuple(other for other in call.parts if other[0] != partition)
            partitions[partition][part].append((call.eps, call.delta, costs, rest))
    alike = [{repr(paid): part for part, paid in of.items()} for of in partitions.values()]
    for parts in itertools.product(*(kinds.values() for kinds in alike)):
        chosen = set(zip(partitions, parts, strict=True))
        yield [call for call in calls if chosen.issuperset(call.parts)]


def call_to_dict(call: Call) -> dict[str, Any]:
    """Plain data that JSON keeps exactly: floats are written with all digits that matter."""
    for relation in call.relations.values():
        if relation.key is None:
            raise InvalidParameterError(
                f"A budget in a file cannot account for '{relation.description}': give"
                f" {type(relation).__name__} a `key`, which says in words what it may be accounted"
                " for with."
            )
    return {
        "kind": "call",
        "identifier": call.identifier,
        "eps": json_number(call.eps),
        "delta": json_number(call.delta),
        "charges": [
            {"price": _numbers(charge.price), "entry": _numbers(charge.entry)}
            for charge in call.charges
        ],
        "relations": {text: relation.key for text, relation in call.relations.items()},
        "randomness": call.randomness,
        "parts": call.parts,
        "share": None if call.share is None else _numbers(call.share),
    }


def _numbers(thing: Any) -> dict[str, Any]:
    values = {one.name: getattr(thing, one.name) for one in fields(thing)}
    if "corners" in values:
        values["corners"] = [[int(number), json_number(mu)] for number, mu in values["corners"]]
    return {name: json_number(value) for name, value in values.items()}


def call_from_dict(body: dict[str, Any]) -> Call:
    """Undo :func:`call_to_dict`; other data raise Key-, Type-, Value- or AttributeError."""
    share = body["share"]
    limits = [] if share is None else [_number(share["eps"]), _number(share["delta"])]
    return Call(
        identifier=str(body["identifier"]),
        eps=_number(body["eps"]),
        delta=_number(body["delta"]),
        charges=tuple(
            Charge(_price(charge["price"]), _entry(charge["entry"])) for charge in body["charges"]
        ),
        relations={
            text: RecordedRelation(text, str(key)) for text, key in body["relations"].items()
        },
        randomness={str(text): bool(seeded) for text, seeded in body["randomness"].items()},
        parts=tuple((str(partition), int(part)) for partition, part in body["parts"]),
        share=None if share is None else Share(str(share["identifier"]), *limits),
    )


def _price(data: dict[str, Any]) -> Price:
    corners = tuple((int(number), _number(mu)) for number, mu in data["corners"])
    numbers = {name: _number(data[name]) for name in ("eps", "delta", "mu", "shift")}
    # Older versions knew no chances.
    return Price(law=data["law"], corners=corners, chance=_number(data.get("chance", 0)), **numbers)


def _entry(data: dict[str, Any]) -> LedgerEntry:
    numbers = {"sensitivity": _number(data["sensitivity"]), "draws": int(data["draws"])}
    return LedgerEntry(**{**data, **numbers})


def _number(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError(value)
    return number
