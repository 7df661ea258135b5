"""Small programs by every method, and by the default at other s and under other relations.

Run with ``python -m benchmarks.small_methods``. Half an hour of two cores.
"""

import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

import privlp
from benchmarks.families.hard import diet, map_covering
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from benchmarks.small import half_spaces, packing, three_foods
from benchmarks.tables import in_words
from privlp import ConstraintPrivate, LinearProgram

FIRST_SEED, PROGRAMS, DRAWS, DELTA = 100, 5, 10, 1e-6
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = ((300, 3), (1000, 5), (1000, 20), (3000, 10), (5000, 40))
METHODS = ("chain", "staged", "perturbed")
FAMILIES: dict[str, Callable[[int, int, int], LinearProgram]] = {
    "map": lambda seed, n, d: map_covering(seed, n=n, d=d).lp,
    "diet": lambda seed, n, d: diet(seed, n=n, d=d).lp,
    "three foods": three_foods,
    "packing (max)": packing,
    "half-spaces": half_spaces,
}
#: What differs from s = n/20 and one row replaced: s goes so many times into n, and the relation.
VARIANTS = {
    "s = n/100": (100, ConstraintPrivate()),
    "s = n/10": (10, ConstraintPrivate()),
    "3 rows a record": (20, ConstraintPrivate(rows_per_record=3)),
    "added or removed": (20, None),
}
Program = tuple[str, int, int]


class Cell(NamedTuple):
    """The draws of a method: how many miss at most s rows unsaid or not, and what they cost."""

    verdict: str
    kept: int
    unsaid: int
    objective: float  # Mean; of half-spaces, whose optimum may be near 0, the difference to it.


@cache
def instance(program: Program, seed: int) -> tuple[LinearProgram, float]:
    """A program, and its optimum."""
    family, n, d = program
    lp = FAMILIES[family](seed, n, d)
    return lp, float(privlp.solve_exact(lp).objective or 0.0)


def cell(program: Program, eps: float, method: str, variant: str = "") -> Cell | None:
    """Ten draws; None where the method refuses."""
    of_n, relation = VARIANTS[variant] if variant else (20, ConstraintPrivate())
    (_, n, d), kept, unsaid, objectives, verdict = program, 0, 0, [], ""
    if relation is None:
        relation = ConstraintPrivate("add-remove", nominal_n=n)
    with warnings.catch_warnings(action="ignore"):
        for number in range(DRAWS):
            lp, optimum = instance(program, FIRST_SEED + number % PROGRAMS)
            try:
                under, rng = lp.changed(neighbours=relation), np.random.default_rng([number, n, d])
                found = privlp.solve(under, eps, DELTA, n // of_n, method=method, rng=rng)
            except privlp.PrivLPError:
                return None
            good = missed(lp, found.x) <= n // of_n
            kept, unsaid = kept + good, unsaid + (not good and found.missed.high <= n // of_n)
            gap = found.objective - optimum
            objectives.append(gap if program[0] == "half-spaces" else 1 + gap / optimum)
            verdict = found.verdict.name if found.verdict else ""
    return Cell(in_words(verdict), kept, unsaid, float(np.mean(objectives)))


def _chosen(program: Program, eps: float) -> str:
    """The method that the default takes."""
    lp, _ = instance(program, FIRST_SEED)
    return privlp.plan(lp, eps, DELTA, program[1] // 20).best or ""


def _beside(program: Program, eps: float) -> tuple[str, float | None]:
    """A line of the first table, and cost over that of the best other method as successful."""
    found = {method: cell(program, eps, method) for method in METHODS}
    name = _chosen(program, eps)
    ours = found.pop(name)
    others = {
        method: of.objective
        for method, of in found.items()
        if of is not None and of.kept >= ours.kept
    }
    better = max if "max" in program[0] else min
    best = better(others, key=others.__getitem__) if others else None
    beside = None
    if best is not None:
        a, b = ours.objective, others[best]
        beside = a - b if program[0] == "half-spaces" else b / a if better is max else a / b
    family, n, d = program
    other = "" if beside is None else f"{best}: {beside:.2f}"
    line = f"{family} {n:,} x {d} | {eps:g} | {ours.verdict} | {name} | {ours.kept} of {DRAWS}"
    line += f" | {ours.objective:.2f} | {other} | {ours.unsaid}"
    return line, None if program[0] == "half-spaces" else beside


def _variant(program: Program, variant: str) -> str:
    """A line of the second table, at eps = 1."""
    ours = cell(program, 1.0, "auto", variant)
    family, n, d = program
    line = f"{family} {n:,} x {d} | {variant}"
    if ours is None:
        return f"{line} | refused |  |  | "
    line += f" | {ours.verdict} | {ours.kept} of {DRAWS}"
    return f"{line} | {ours.objective:.2f} | {ours.unsaid}"


def main() -> None:
    programs = [(family, *size) for family in FAMILIES for size in SIZES]
    beside = in_two_processes(_beside, product(programs, EPSILONS), together=4)
    variants = in_two_processes(_variant, product(programs, VARIANTS), together=4)
    ratios = [ratio for _, ratio in beside if ratio is not None]
    over = sum(ratio > 1.15 for ratio in ratios)
    names = "program | ε | plan | default | at most s missed | objective | best other | unsaid"
    of_variants = "program | variant | plan | at most s missed | objective | unsaid"
    write_page(
        "small_methods",
        f"In {len(ratios)} cells of {len(beside)} another method was as successful (half-spaces"
        f" apart): mean ratio {np.mean(ratios):.3f}, largest {max(ratios):.2f}, above 1.15 in"
        f" {over}.",
        (names, [line for line, _ in beside]),
        (of_variants, variants),
    )


if __name__ == "__main__":
    main()
