"""What calls cost a record, where some of them touch only the records of one part of a partition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privlp.privacy.ledger import Call

_MOST_PLACES = 64


def largest_sum(calls: Iterable[Call], number: Callable[[Call], float]) -> float:
    """The largest sum of a number of each call, over all places where a record may lie.

    Examples
    --------
    >>> from operator import attrgetter
    >>> from privlp.privacy.ledger import Call
    >>> from privlp.privacy.partitions import largest_sum
    >>> calls = [Call("0", 0.5, 0.0, (), {}, {})]
    >>> calls += [Call(str(part), 0.1 * part, 0.0, (), {}, {}, parts=(("a", part),)) for part in (1, 2)]
    >>> largest_sum(calls, attrgetter("eps"))
    0.7
    """
    common, partitions = _divided(calls)
    sums = [number(call) for call in common]
    sums += [
        max(largest_sum(part, number) for part in parts.values()) for parts in partitions.values()
    ]
    return math.fsum(sums)


def few_places(calls: Sequence[Call]) -> list[list[Call]] | None:
    """The calls that touch a record, for each place where a record may lie.

    ``None`` if there are too many places.

    A place is one part of each partition. Of parts that were charged alike, one stands for all.
    """
    found = list(itertools.islice(_places(calls), _MOST_PLACES + 1))
    return found if len(found) <= _MOST_PLACES else None


def _divided(calls: Iterable[Call]) -> tuple[list[Call], dict[str, dict[int, list[Call]]]]:
    """Calls that touch all records, and the others by outermost partition and part, with that taken off."""
    common: list[Call] = []
    partitions: dict[str, dict[int, list[Call]]] = {}
    for call in calls:
        if not call.parts:
            common.append(call)
            continue
        *inner, (partition, part) = call.parts
        partitions.setdefault(partition, {}).setdefault(part, []).append(
            replace(call, parts=tuple(inner))
        )
    return common, partitions


def _places(calls: Sequence[Call]) -> Iterator[list[Call]]:
    partitions: dict[str, dict[int, list[object]]] = {}
    for call in calls:
        for partition, part in call.parts:
            rest = tuple(other for other in call.parts if other[0] != partition)
            costs = tuple(charge.cost for charge in call.charges)
            partitions.setdefault(partition, {}).setdefault(part, []).append(
                (call.eps, call.delta, costs, rest)
            )
    alike = [
        {repr(paid): part for part, paid in of_parts.items()} for of_parts in partitions.values()
    ]
    for parts in itertools.product(*(kinds.values() for kinds in alike)):
        place = set(zip(partitions, parts, strict=True))
        yield [call for call in calls if place.issuperset(call.parts)]
