"""Programs whose optimum nobody knows beforehand: hard rows, soft rows, model files.

Run with ``python -m benchmarks.unknown``; an interrupted run goes on where it stopped. ``--only``
measures some of the tables and prints them; all together write the page. Model files are read from
the folder that the environment variable PRIVLP_DATA names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from benchmarks.cache import Cache
from benchmarks.measure import print_table
from benchmarks.published import over_eps, picture, write_page
from benchmarks.unknown_tables import files, hard, soft
from benchmarks.unknown_tables.cases import (
    CASES,
    DELTA,
    EPSILONS,
    FIRST_SEED,
    SOFT_CASES,
    maximised,
)
from benchmarks.unknown_tables.cells import Cell, Result
from benchmarks.unknown_tables.draws import standard_error, values
from benchmarks.unknown_tables.runner import Runner
from privlp.pictures.figure import GREY, MARKERS

TABLES = {"hard": hard, "soft": soft, "files": files}
_FULL = 20


@click.command()
@click.option(
    "--programs", default=4, show_default=True, help=f"Of each family; seeds from {FIRST_SEED}."
)
@click.option("--draws", default=5, show_default=True, help="Noise seeds for each program.")
@click.option(
    "--only", multiple=True, type=click.Choice(list(TABLES)), help="Print these tables alone."
)
@click.option(
    "--without", multiple=True, type=click.Choice(list(TABLES)), help="Leave these tables out."
)
@click.option("--processes", default=2, show_default=True, help="In parallel.")
@click.option("--quick", is_flag=True, help="Try tiny programs; nothing is kept or written.")
def main(
    programs: int,
    draws: int,
    only: tuple[str, ...],
    without: tuple[str, ...],
    processes: int,
    *,
    quick: bool,
) -> None:
    """Measure, and write the page with its picture; with --only or --quick print tables alone."""
    cache = None if quick else Cache("unknown")
    programs, draws = (1, 1) if quick else (programs, draws)
    run = Runner(programs, draws, quick, processes, cache)
    found = {name: TABLES[name].parts(run) for name in only or TABLES if name not in without}
    if only or quick:
        for part in (part for parts in found.values() for part in parts):
            _print(part)
        return
    _draw(run)
    write_page(
        "unknown",
        "Nothing known beforehand",
        [
            _about(run),
            "![Cost and excess over ε](unknown.png)",
            *(part for parts in found.values() for part in parts),
        ],
    )


def _about(run: Runner) -> str:
    short = "**A short run, to try the page.** " if run.programs * run.draws < _FULL else ""
    return (
        f"{short}Programs of which nobody knows the optimum: what a private solve costs, what it"
        f" misses, and whether `privlp.plan` foretold it. δ = {DELTA:g}, one record with its row is"
        " replaced. The programs are those of `benchmarks/families`. The constants of the methods"
        f" were chosen on seeds below 100; what is shown here has seeds from {FIRST_SEED} on:"
        f" {run.programs} of each family, {run.draws} noise seeds for each. Mean ± standard error"
        " over all draws."
    )


def _print(part: Any) -> None:
    if isinstance(part, str):
        print(f"\n{part}")
    else:
        print_table("", *part, disable_numparse=True)


def _draw(run: Runner) -> None:
    """Cost of maps and of other programs, excess of soft rows; all from measurements on disk."""
    maps = [name for name in CASES if name.startswith("map")]
    others = [name for name in CASES if name not in maps]
    with picture("unknown", 3, size=(18.0, 5.5)) as axes:
        for axis, names, title in (
            (axes[0], maps, "covering on a map"),
            (axes[1], others, "other programs"),
        ):
            costs = {
                name: [_cost(name, draws) for draws in _at_each_eps(run, name, hard.solve_cells)]
                for name in names
            }
            _lines(axis, costs)
            axis.axhline(1, color=GREY, linestyle=":")
            axis.set(title=title, ylabel="cost / OPT, or OPT / earnings")
        excess = {
            name: [100 * values(draws, "excess") for draws in _at_each_eps(run, name, soft.cells)]
            for name in SOFT_CASES
        }
        _lines(axes[2], excess)
        axes[2].set(title="soft rows", ylabel="excess over the optimum in %")
        for axis in (axes[0], axes[2]):
            axis.set(yscale="log")
            axis.yaxis.set_minor_formatter(NullFormatter())


def _at_each_eps(
    run: Runner, name: str, cells: Callable[[Runner, str, float], list[Cell]]
) -> list[list[Result]]:
    return list(run.groups({eps: cells(run, name, eps) for eps in EPSILONS}, name).values())


def _cost(name: str, draws: list[Result]) -> np.ndarray:
    """Cost over optimum, and optimum over earnings where more is better."""
    ratios = values(draws, "ratio")
    return 1 / ratios if maximised(name) else ratios


def _lines(axis: Axes, found: dict[str, list[np.ndarray]]) -> None:
    """Means with standard errors over eps, one line a program, and a legend below."""
    lines = []
    for draws, marker in zip(found.values(), MARKERS, strict=False):
        means = [np.nanmean(numbers) for numbers in draws]
        errors = [standard_error(numbers) for numbers in draws]
        lines.append(axis.errorbar(EPSILONS, means, errors, marker=marker)[0])
    over_eps(axis, EPSILONS)
    axis.legend(lines, found, fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.2))


if __name__ == "__main__":
    main()
