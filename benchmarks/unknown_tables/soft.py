"""Soft rows as one writes them in CVXPY: how far from the exact optimum the answers are."""

from __future__ import annotations

from typing import Any

from benchmarks.unknown_tables.cases import EPSILONS, SOFT_CASES
from benchmarks.unknown_tables.cells import Cell
from benchmarks.unknown_tables.draws import counted, mean_and_error, seconds, span, values
from benchmarks.unknown_tables.runner import Runner

TITLE = "Soft rows, as written in CVXPY"
_REGRESSION = dict(zip(EPSILONS, (0.6, 0.3, 0.1), strict=True))
#: Excess over the optimum aimed at, in percent.
AIMS: dict[str, dict[float, float]] = {
    "L1 regression 5,000 x 8": _REGRESSION,
    "0.9-quantile regression 5,000 x 8": _REGRESSION,
    "CVaR of a portfolio 5,000 x 11": {1.0: 10.0},
}
ABOUT = (
    "`LinearProgram.from_cvxpy(problem)`, `privlp.solve(lp, eps, delta)`,"
    " `solution.assign(problem)`: the value that the CVXPY problem then has, beyond its exact"
    " optimum, in percent. The coefficients are free in a box ten times too large, stated as bounds"
    " of the variables. No s, no penalty, no width is given."
)
_HEADERS = (
    "problem",
    "ε",
    "plan",
    "excess in %",
    "aim",
    "range",
    "public rows broken by",
    "seconds",
)


def cells(run: Runner, name: str, eps: float) -> list[Cell]:
    """The draws of a problem."""
    return [
        run.cell("soft", name, seed, eps=eps, draw=draw)
        for seed in run.seeds
        for draw in range(run.draws)
    ]


def parts(run: Runner) -> list[Any]:
    """Paragraphs and tables."""
    found = run.groups(
        {(name, eps): cells(run, name, eps) for name in SOFT_CASES for eps in run.some(EPSILONS)},
        "soft rows",
    )
    rows = []
    for (name, eps), draws in found.items():
        percent, aim = 100 * values(draws, "excess"), AIMS.get(name, {}).get(eps)
        rows.append(
            (
                name,
                f"{eps:g}",
                counted(draw.get("answer", "refused") for draw in draws),
                mean_and_error(percent),
                "" if aim is None else f"{aim:g}",
                span(percent),
                f"{values(draws, 'broken').max():.0e}",
                seconds(draws),
            )
        )
    return [f"## {TITLE}", ABOUT, (_HEADERS, rows)]
