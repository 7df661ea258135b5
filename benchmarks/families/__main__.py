"""Print the families: sizes, s, optima, and the time to make and to solve them."""

from __future__ import annotations

import time

import click

from benchmarks.families import HARD, SOFT, diet, loss
from benchmarks.measure import print_table
from privlp import solve_exact


@click.command()
@click.option("--seed", default=0, show_default=True, help="Below 100 to try, from 1000 to report.")
def main(seed: int) -> None:
    """Make every program, solve it exactly, and print the table."""
    makers = {**HARD, "diet stock": lambda seed: diet(seed, stock=True), **SOFT}
    rows = []
    for make in makers.values():
        start = time.perf_counter()
        instance = make(seed)
        made = time.perf_counter() - start
        lp, exact = instance.lp, solve_exact(instance.lp)
        solved = time.perf_counter() - start - made
        natural, gap = "", ""
        if instance.natural is not None:
            natural = instance.natural().solve(solver="CLARABEL")
            gap = f"{loss(lp, exact.x) - exact.objective:.1e}"
        rows.append([lp.name, instance.s, instance.factor, exact.objective, natural, gap])
        rows[-1] += [exact.status.value, made, solved, abs(exact.x).max()]
    headers = ["program", "s", "bound/OPT", "OPT", "CVXPY", "loss - OPT", "status"]
    print_table(
        f"Programs of seed {seed}.",
        [*headers, "make, s", "solve, s", "largest x"],
        rows,
        floatfmt=".5g",
    )


if __name__ == "__main__":
    main()
