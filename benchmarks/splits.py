"""Other splits of the budget of ``"chain"``, beside the one that it has.

Run with ``python -m benchmarks.splits``. Ten minutes of two cores. The split was chosen on
seeds 0 to 2; the page has others.
"""

from __future__ import annotations

import warnings

import numpy as np

import privlp
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from benchmarks.small_methods import FIRST_SEED, PROGRAMS, Program, instance
from privlp.methods.chain import charges

DRAWS, DELTA, FACTORS = 10, 1e-6, (0.5, 2.0)
EPS = 1.0
#: Shares by what they are for; slopes have the rest.
SHARES = {
    "counts at the start": "_START",
    "counts of near sides, on the way": "_WAY",
    "counts of near sides, by variable": "_WIDTHS",
    "counts away from rows": "_DEEP",
    "counts by slack": "_SLACK",
    "counts between stages": "_BETWEEN",
    "counts in the last search": "_LAST",
    "counts by signs": "_SIGNS",
    "counts by cells": "_CELLS",
}
SIZES = ((1000, 5), (3000, 10), (5000, 40))
PROGRAMS_BY_NAME: list[Program] = [
    (family, *size)
    for family in ("map", "diet", "three foods", "packing (max)", "half-spaces")
    for size in SIZES
]
Split = tuple[str, float]
OWN: Split = ("", 1.0)


def cell(split: Split, program: Program) -> tuple[int, float, float]:
    """Draws that miss at most s rows, the mean logarithm of objectives, and its variance.

    Objectives are over the optimum; of half-spaces, whose optimum may be near 0, they are not
    compared.
    """
    name, factor = split
    before, kept, logs = getattr(charges, name, None), 0, []
    if before is not None:
        setattr(charges, name, tuple(factor * share for share in before))
    try:
        for number in range(DRAWS):
            lp, optimum = instance(program, FIRST_SEED + number % PROGRAMS)
            s = program[1] // 20
            with warnings.catch_warnings(action="ignore"):
                found = privlp.solve(
                    lp, EPS, DELTA, s, method="chain", rng=np.random.default_rng([number, 77])
                )
            assert found.x is not None
            kept += missed(lp, found.x) <= s
            if program[0] != "half-spaces":
                worse = -1 if lp.sense == "max" else 1
                logs.append(worse * np.log(found.objective / optimum))
    finally:
        if before is not None:
            setattr(charges, name, before)
    return (kept, float(np.mean(logs)), float(np.var(logs, ddof=1))) if logs else (kept, 0.0, 0.0)


def main() -> None:
    """Measure, and write the page."""
    splits = [OWN, *((name, factor) for name in SHARES.values() for factor in FACTORS)]
    cells = PROGRAMS_BY_NAME
    requests = [(split, of) for split in splits for of in cells]
    found = in_two_processes(cell, requests, together=len(cells))
    by_split = {
        split: np.array(found[k * len(cells) : (k + 1) * len(cells)])
        for k, split in enumerate(splits)
    }
    own, lines, best = by_split.pop(OWN), [], np.inf
    compared = [program[0] != "half-spaces" for program in cells]
    for (name, factor), other in by_split.items():
        beside = (other - own)[compared, 1]
        doubt = np.sqrt(np.sum((own + other)[compared, 2]) / DRAWS) / len(beside)
        best = min(best, float(np.exp(beside.mean())))
        purpose = next(key for key, of in SHARES.items() if of == name)
        lines.append(
            [
                purpose,
                f"{factor:g}",
                f"{np.exp(beside.mean()):.3f} ± {doubt:.3f}",
                f"{np.exp(beside.min()):.2f} to {np.exp(beside.max()):.2f}",
                f"{int(other[:, 0].sum()):,}",
            ]
        )
    write_page(
        "splits",
        f"No share halved or doubled lowers objectives by more than {100 * (1 - best):.1f} % on"
        f" average. With its own split {int(own[:, 0].sum())} of {len(cells) * DRAWS} draws miss at"
        " most s rows.",
        (HEADERS, lines),
    )


HEADERS = "share of | times | objective | over programs | at most s missed"

if __name__ == "__main__":
    main()
