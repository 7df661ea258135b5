"""Rows that may be missed for 95 % success, beside what no private method can do.

Run with ``python -m benchmarks.beside_bound``. Nine minutes of two cores.
"""

import warnings
from functools import cache
from itertools import product

import numpy as np

import privlp
from benchmarks.families.hard import diet, map_covering, packing
from benchmarks.families.instance import Instance, missed, ratio
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from privlp import Verdict
from privlp.methods.advice import least_missed

FAMILIES = {"map": map_covering, "diet": diet, "packing": packing}
VARIABLES, EPSILONS, N, DELTA = (10, 40, 80), (0.5, 1.0, 4.0), 10_000, 1e-6
#: s is so many times the bound.
TIMES = (20, 14, 10, 7, 5, 3.5)
#: So many draws, each of its own program; so many may fail; a success costs at most so many times
#: the optimum.
FIRST_SEED, DRAWS, MAY_FAIL, LARGEST_COST = 1000, 20, 1, 1.05
Cell = tuple[str, int, float]


@cache
def instance(family: str, d: int, number: int) -> Instance:
    """A program of a family; five in turn."""
    return FAMILIES[family](FIRST_SEED + number % 5, n=N, d=d)


def succeeds(cell: Cell, s: int, number: int) -> bool:
    """Whether one draw misses at most s rows at nearly the cost of the optimum."""
    family, d, eps = cell
    program = instance(family, d, number)
    found = privlp.solve(program.lp, eps, DELTA, s, rng=np.random.default_rng([number, s, d]))
    cost = ratio(program.lp, found.x, program.opt)
    enough = cost >= 1 / LARGEST_COST if program.lp.sense == "max" else cost <= LARGEST_COST
    return bool(enough and missed(program.lp, found.x) <= s)


def needed(cell: Cell) -> tuple[float, int, int]:
    """The bound; the least s at which, and at all larger ones, draws succeed; that of the plan."""
    family, d, eps = cell
    bound, lp = least_missed(d, N, eps, DELTA), instance(family, d, 0).lp
    least = 0
    with warnings.catch_warnings(action="ignore"):
        for times in TIMES:
            s, failures = max(1, round(times * bound)), 0
            for number in range(DRAWS):
                failures += not succeeds(cell, s, number)
                if failures > MAY_FAIL:
                    break
            if failures > MAY_FAIL:
                break
            least = s
        low, high = 1, N
        while high - low > 1:
            middle = (low + high) // 2
            plan = privlp.plan(lp, eps, DELTA, middle)  # of rows of one sign, as these are
            enough = plan.advice.endswith(f'have one sign, "{Verdict.ENOUGH_ROWS}".')
            enough |= plan.verdict is Verdict.ENOUGH_ROWS
            low, high = (low, middle) if enough else (middle, high)
    instance.cache_clear()
    return bound, least, high


def main() -> None:
    rows = []
    cells = list(product(FAMILIES, VARIABLES, EPSILONS))
    found = in_two_processes(needed, ((cell,) for cell in cells))
    for (family, d, eps), (bound, s, asked) in zip(cells, found, strict=True):
        least = f"{s:,} | {s / bound:.2g}" if s else f"> {TIMES[0] * bound:,.0f} | > {TIMES[0]}"
        over = f"{asked / s:.1f}" if s else ""
        name = f"{family} {N:,} x {d} | {eps:g} | {bound:.2g}"
        rows.append(f"{name} | {least} | {asked:,} | {over}")
    names = "program | ε | bound | s needed | over the bound | s of the plan | over s needed"
    write_page("beside_bound", (names, rows))


if __name__ == "__main__":
    main()
