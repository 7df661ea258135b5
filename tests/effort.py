"""How much the tests do.

``make test`` takes minutes. ``make test-thorough`` sets ``PRIVLP_THOROUGH=1``: then properties are
tried on four times as many examples, which are new in every run, what is marked ``slow`` runs, and
products of parameters are run whole.
"""

import os
from collections.abc import Hashable, Iterable
from itertools import combinations, product
from typing import Any

from hypothesis import settings

THOROUGH = os.environ.get("PRIVLP_THOROUGH") == "1"

settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=100, deadline=None)
settings.load_profile("thorough" if THOROUGH else "quick")


def examples(thorough: int) -> int:
    """Examples of a property: a quarter of those of a thorough run, but ten at least."""
    return thorough if THOROUGH else min(thorough, max(10, thorough // 4))


def runs(thorough: int, quick: int) -> int:
    """Runs of a trial."""
    return thorough if THOROUGH else quick


def each(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Of a product, cases in which every value of each axis occurs; all in a thorough run."""
    return covering(product(*axes), together=1)


def pairs(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Of a product, cases in which any two values of two axes meet; all in a thorough run."""
    return covering(product(*axes))


def covering(cases: Iterable[tuple[Any, ...]], together: int = 2) -> list[tuple[Any, ...]]:
    """Of these cases, some in which all values that meet in them, so many `together`, still meet.

    Greedy: next comes the case with the most new meetings. All cases in a thorough run.
    """
    cases = list(cases)
    if THOROUGH or not cases:
        return cases
    together = min(together, len(cases[0]))
    left = {place: _meetings(case, together) for place, case in enumerate(cases)}
    met: set[Hashable] = set()
    chosen = []
    while left:
        left = {place: new for place, old in left.items() if (new := old - met)}
        if left:
            place = max(left, key=lambda place: len(left[place]))
            met |= left[place]
            chosen.append(place)
    return [cases[place] for place in sorted(chosen)]


def _meetings(case: tuple[Any, ...], together: int) -> set[Hashable]:
    """Values of a case with their axes, so many together."""
    return set(combinations([(axis, *_key(value)) for axis, value in enumerate(case)], together))


def _key(value: Any) -> tuple[Hashable, ...]:
    try:
        hash(value)
    except TypeError:
        return type(value), id(value)
    return type(value), value
