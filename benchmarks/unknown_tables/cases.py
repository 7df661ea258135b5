"""The programs of the page, what is public of their optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from benchmarks.families.hard import (
    diet,
    map_covering,
    packing,
    portfolio,
    random_covering,
    transport,
)
from benchmarks.families.instance import Instance
from benchmarks.families.soft import cvar, hinge, l1_regression, quantile_regression

#: Seeds below are for choosing constants.
FIRST_SEED = 1000
EPSILONS, DELTA = (0.5, 1.0, 4.0), 1e-6


@dataclass(frozen=True)
class Case:
    """A family at one size."""

    make: Callable[..., Instance]
    known: str = "none"
    sizes: dict[str, Any] = field(default_factory=dict)
    small: dict[str, Any] = field(default_factory=dict)


_TINY_MAP, _TINY_DIET = {"n": 1_000, "d": 6}, {"n": 1_000, "d": 6}
CASES = {
    "map 20,000 x 80, cost ≤ 2 OPT": Case(map_covering, "bound 2", small=_TINY_MAP),
    "map 20,000 x 80, cost ≤ 5 OPT": Case(map_covering, "bound 5", small=_TINY_MAP),
    "map 20,000 x 80, cost ≤ 20 OPT": Case(map_covering, "bound 20", small=_TINY_MAP),
    "map 20,000 x 80": Case(map_covering, small=_TINY_MAP),
    "map 5,000 x 80": Case(map_covering, sizes={"n": 5_000}, small={"n": 200, "d": 20}),
    "diet 20,000 x 25": Case(diet, small=_TINY_DIET),
    "diet with stock 20,000 x 25": Case(
        diet, sizes={"stock": True}, small={"stock": True, **_TINY_DIET}
    ),
    "random covering 50,000 x 12": Case(random_covering, small={"n": 1_000, "d": 4}),
    "packing 20,000 x 30 (maximised)": Case(packing, small={"n": 1_000, "d": 6}),
    "transport 20,000 x 48": Case(transport, small={"n": 1_000, "sources": 2, "sinks": 3}),
    "portfolio 10,000 x 11": Case(portfolio, small={"n": 1_000, "d": 3}),
}
SOFT_CASES = {
    "L1 regression 5,000 x 8": Case(l1_regression, small={"n": 1_000, "d": 2}),
    "0.9-quantile regression 5,000 x 8": Case(quantile_regression, small={"n": 1_000, "d": 2}),
    "hinge loss 5,000 x 8": Case(hinge, small={"n": 1_000, "d": 2}),
    "CVaR of a portfolio 5,000 x 11": Case(cvar, small={"n": 1_000, "d": 2}),
}
#: What may be said of the optimum; factors of it.
HINTS: dict[str, float | tuple[float, float] | None] = {
    "none": None,
    "half": 0.5,
    "exact": 1.0,
    "twice": 2.0,
    "half to twice": (0.5, 2.0),
    "bound 2": (0.0, 2.0),
    "bound 5": (0.0, 5.0),
    "bound 20": (0.0, 20.0),
}


@lru_cache(maxsize=2)
def instance(name: str, seed: int, quick: bool) -> Instance:
    """The program of a case."""
    case = {**CASES, **SOFT_CASES}[name]
    return case.make(seed, **(case.small if quick else case.sizes))


@cache
def maximised(name: str) -> bool:
    """Whether more is better in a case."""
    return instance(name, FIRST_SEED, True).lp.sense == "max"


def told(hint: str, optimum: float) -> float | tuple[float, float] | None:
    """The argument ``opt`` of a hint."""
    factor = HINTS[hint]
    if isinstance(factor, tuple):
        low, high = sorted(end * optimum for end in factor)
        return low, high
    return None if factor is None else factor * optimum
