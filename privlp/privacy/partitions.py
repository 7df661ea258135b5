"""What calls cost a record, where some calls touch only the records of one part of a partition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from privlp.privacy.charges import Call

_MOST_CHOICES = 64


def largest_sum(calls: Iterable[Call], number: Callable[[Call], float]) -> float:
    """The largest sum of a number of each call, over all records.

    A record lies in one part of each partition.

    Examples
    --------
    >>> from operator import attrgetter
    >>> from privlp.privacy.charges import Call
    >>> from privlp.privacy.partitions import largest_sum
    >>> calls = [
    ...     Call("0", 0.5, 0.0, (), {}, {}),
    ...     Call("1", 0.1, 0.0, (), {}, {}, parts=(("a", 1),)),
    ...     Call("2", 0.2, 0.0, (), {}, {}, parts=(("a", 2),)),
    ... ]
    >>> largest_sum(calls, attrgetter("eps"))
    0.7
    """
    common, partitions = _divided(calls)
    sums = [number(call) for call in common]
    sums += [
        max(largest_sum(part, number) for part in parts.values()) for parts in partitions.values()
    ]
    return math.fsum(sums)


def calls_by_record(calls: Sequence[Call]) -> list[list[Call]] | None:
    """The calls that touch a record, for each choice of one part of each partition.

    ``None`` if there are too many choices. Of parts that were charged alike, one stands for all.
    """
    found = list(itertools.islice(_choices(calls), _MOST_CHOICES + 1))
    return found if len(found) <= _MOST_CHOICES else None


def _divided(calls: Iterable[Call]) -> tuple[list[Call], dict[str, dict[int, list[Call]]]]:
    """Calls that touch all records; the others by outermost partition and part.

    The outermost part is taken off the others.
    """
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


def _choices(calls: Sequence[Call]) -> Iterator[list[Call]]:
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
        chosen = set(zip(partitions, parts, strict=True))
        yield [call for call in calls if chosen.issuperset(call.parts)]
