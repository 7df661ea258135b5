"""The methods of earlier versions with the optimum given, and ``auto`` without it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.unknown_tables.cases import CASES, maximised
from benchmarks.unknown_tables.cells import Cell, Result
from benchmarks.unknown_tables.draws import (
    mean_and_error,
    mean_and_most,
    seconds,
    share,
    succeeded,
    values,
)
from benchmarks.unknown_tables.hard import solve_cells
from benchmarks.unknown_tables.runner import Runner

TITLE = "Against methods that know the optimum"
EPSILONS = (1.0, 4.0)
#: The same programs differ in their bounds only, which these methods do not use.
COMPARED = tuple(name for name, case in CASES.items() if case.known == "none")
PUBLIC_ROWS = ("diet with stock 20,000 x 25", "transport 20,000 x 48")
ABOUT = (
    "What earlier versions did: `mirror-best` given the optimum, `mirror` given the range from half"
    " of it to twice; `ftpl` for both where the public region is no simplex. Beside it `auto` with"
    " nothing known. Difference: auto minus the old way, at the same programs and noise seeds."
)
ABOUT_FTPL = (
    "Programs with public rows, the optimum given: `ftpl` and `perturbed`. Seconds of CPU, medians."
)
_HEADERS = ("program", "ε", "way", "cost / OPT", "auto minus it", "missed: mean; most", "success")


def parts(run: Runner) -> list[Any]:
    """Paragraphs and tables."""
    return [f"## {TITLE}", ABOUT, _old_and_new(run), ABOUT_FTPL, _ftpl_and_perturbed(run)]


def _old_and_new(run: Runner) -> tuple[Any, Any]:
    cells: dict[tuple[str, float, str], list[Cell]] = {}
    for name in run.some(COMPARED):
        simplex = CASES[name].old == "mirror-best"
        for eps in run.some(EPSILONS):
            cells[name, eps, "auto, nothing known"] = solve_cells(run, name, eps)
            for hint in ("exact", "half to twice"):
                method = "ftpl" if not simplex else "mirror-best" if hint == "exact" else "mirror"
                cells[name, eps, f"{method}, {hint}"] = list(
                    run.solves(name, eps=eps, opt=hint, method=method)
                )
    found = run.groups(cells, "the old way")
    rows = []
    for (name, eps, way), draws in found.items():
        new = found[name, eps, "auto, nothing known"]
        difference = "" if draws is new else mean_and_error(_difference(new, draws))
        rows.append((name, f"{eps:g}", way, *_quality(name, draws, difference)))
    return _HEADERS, rows


def _quality(name: str, draws: list[Result], difference: str) -> tuple[str, ...]:
    return (
        mean_and_error(values(draws, "ratio")),
        difference,
        mean_and_most(values(draws, "missed")),
        share(succeeded(draw, maximised=maximised(name)) for draw in draws),
    )


def _difference(new: list[Result], old: list[Result]) -> Any:
    return values(new, "ratio") - values(old, "ratio")


def _ftpl_and_perturbed(run: Runner) -> tuple[Any, Any]:
    found = run.groups(
        {
            (name, eps, method): list(run.solves(name, eps=eps, opt="exact", method=method))
            for name in run.some(PUBLIC_ROWS)
            for eps in run.some(EPSILONS)
            for method in ("ftpl", "perturbed")
        },
        "programs with public rows",
    )
    rows = []
    for (name, eps, method), draws in found.items():
        other = found[name, eps, "ftpl"]
        difference = "" if draws is other else mean_and_error(_difference(draws, other))
        times = np.median(values(other, "seconds")) / np.median(values(draws, "seconds"))
        faster = "" if draws is other else f"{times:.2g}"
        quality = _quality(name, draws, difference)
        rows.append((name, f"{eps:g}", method, *quality, seconds(draws), faster))
    headers = list(_HEADERS)
    headers[2], headers[4] = "method", "minus ftpl"
    return (*headers, "seconds", "times as fast"), rows
