"""The families that rules are judged by: a seed decides the sizes and parameters of a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks import problems
from benchmarks.families import covering, hard, others
from benchmarks.families.instance import Instance

#: Rules are fixed on seeds below 100, and reported on seeds from here on.
FIRST_SEED = 1000


def _ours(seed: int) -> Instance:
    made = problems.covering(seed)
    return Instance(made.lp, made.lp.shape[0] // 40, given=made.opt)


#: The first three have the sizes that targets are stated for.
GENERATED: dict[str, Callable[[int], Instance]] = {
    "map covering 20000 x 80": hard.map_covering,
    "map covering 5000 x 80": partial(hard.map_covering, n=5_000),
    "our covering 20000 x 80": _ours,
    "random covering": covering.random_covering,
    "covering with many rows": covering.many_rows,
    "diet": covering.diet,
    "near-infeasible": covering.near_infeasible,
    "roster": covering.roster,
    "packing": others.packing,
    "zero-sum game": others.game,
    "LP-SVM": others.classification,
    "transport": others.transport,
    "capacity": others.capacity,
    "fairness": others.fairness,
}
