"""Hard rows and nothing known: cost, rows missed, success, what the plan said, time."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.unknown_tables.cases import CASES, EPSILONS, maximised
from benchmarks.unknown_tables.cells import Cell, Result
from benchmarks.unknown_tables.draws import (
    LARGEST_COST,
    counted,
    mean_and_error,
    mean_and_most,
    seconds,
    share,
    span,
    succeeded,
    values,
)
from benchmarks.unknown_tables.runner import Runner

TITLE = "Nothing known"
_MAP, _LARGE = dict(zip(EPSILONS, (1.05, 1.0, 0.95), strict=True)), ("≤ 2 ", "≤ 5 ", "≤ 20 ")
#: Costs aimed at.
AIMS: dict[str, dict[float, float]] = {
    **{name: _MAP for name in CASES if any(bound in name for bound in _LARGE)},
    "map 5,000 x 80": {4.0: 1.0},
}
_SUCCESS = f"cost ≤ {LARGEST_COST:g} OPT (earnings ≥ OPT / {LARGEST_COST:g}), at most s rows missed"
ABOUT = (
    'Each program is solved by `privlp.solve` with `method="auto"`. Of the optimum nothing is told,'
    " or a bound on the cost, `opt=(0, bound)`, where the name says so; packing, transport and"
    " portfolio have bounds on variables or public equalities. OPT meets every row, so a cost below"
    " 1 is earned by rows that are missed; s of them may be. Rows missed: by more than 1 % of their"
    f" side. Success: {_SUCCESS}. Plan: what `privlp.plan` says beforehand (yes, rough, no), then"
    " the s and the ε that it names."
)
_HEADERS = ("program", "ε", "plan", "cost / OPT", "aim", "range", "missed: mean; most", "s")


def parts(run: Runner) -> list[Any]:
    """Paragraphs and tables."""
    epsilons = run.some(EPSILONS)
    solves = run.groups(
        {(name, eps): solve_cells(run, name, eps) for name in CASES for eps in epsilons},
        "hard rows",
    )
    plans = run.groups(
        {(name, eps): plan_cells(run, name, eps) for name in CASES for eps in epsilons}, "plans"
    )
    exact = run.groups(
        {name: [run.cell("exact", name, seed) for seed in run.seeds] for name in CASES},
        "exact optima",
    )
    rows = [_row(name, eps, solves[name, eps], plans[name, eps]) for name, eps in solves]
    return [
        f"## {TITLE}",
        ABOUT,
        ((*_HEADERS, "success"), rows),
        *_by_answer(run, solves, plans),
        *_named_ways(run, plans),
        "Seconds of CPU with one thread, medians over draws and ε, measured in one run.",
        (
            ("program", "plan", "solve", "exact solve", "method"),
            [_times(name, solves, plans, exact[name]) for name in CASES],
        ),
    ]


def solve_cells(run: Runner, name: str, eps: float, **settings: object) -> list[Cell]:
    """The draws of a case, with what is public of its optimum."""
    return list(run.solves(name, eps=eps, opt=CASES[name].known, **settings))


def plan_cells(run: Runner, name: str, eps: float) -> list[Cell]:
    """The plans of a case, one for each program."""
    opt = CASES[name].known
    return [run.cell("plan", name, seed, eps=eps, opt=opt) for seed in run.seeds]


def _row(name: str, eps: float, draws: list[Result], plans: list[Result]) -> tuple[Any, ...]:
    costs, missed = values(draws, "ratio"), values(draws, "missed")
    aim = AIMS.get(name, {}).get(eps)
    return (
        name,
        f"{eps:g}",
        _planned(plans),
        mean_and_error(costs),
        "" if aim is None else f"{aim:g}",
        span(costs),
        mean_and_most(missed),
        "–" if not draws or "s" not in draws[0] else f"{draws[0]['s']:g}",
        share(succeeded(draw, maximised=maximised(name)) for draw in draws),
    )


def _planned(plans: list[Result]) -> str:
    """The answers of plans, and the median s and eps that they name."""
    ways = []
    for name in ("s", "eps"):
        found = [plan[name] for plan in plans if plan[name] is not None]
        if found:
            middle = np.median(found)
            ways.append(f"s = {middle:,.0f}" if name == "s" else f"ε = {middle:.2g}")
    words = counted(plan["answer"] for plan in plans)
    return f"{words}: {', '.join(ways)}" if ways else words


def _by_answer(
    run: Runner,
    solves: dict[tuple[str, float], list[Result]],
    plans: dict[tuple[str, float], list[Result]],
) -> list[Any]:
    """Success rates over all draws of which the plan said the same."""
    found: dict[str, list[bool]] = {"yes": [], "rough": [], "no": []}
    for (name, eps), draws in solves.items():
        for k, draw in enumerate(draws):
            answer = plans[name, eps][k // run.draws]["answer"]
            good = succeeded(draw, maximised=maximised(name))
            found.setdefault(answer, []).append(good)
    rows = [(answer, share(successes)) for answer, successes in found.items()]
    return [
        "Success by what the plan said, over all programs, ε and draws (aim: 95 % where it said"
        " yes):",
        (("plan", "success"), rows),
    ]


def _named_ways(run: Runner, plans: dict[tuple[str, float], list[Result]]) -> list[Any]:
    """Solves with the s, and with the eps, that a plan names which says no."""
    cells: dict[tuple[str, float, str], list[Cell]] = {}
    for (name, eps), of_programs in plans.items():
        for seed, plan in zip(run.seeds, of_programs, strict=True):
            if plan["answer"] != "no":
                continue
            for way in ("s", "eps"):
                if plan[way] is not None:
                    asked = {"eps": eps, "s": None, way: plan[way], "opt": CASES[name].known}
                    cells.setdefault((name, eps, way), []).extend(
                        run.cell("solve", name, seed, draw=draw, **asked)
                        for draw in range(run.draws)
                    )
    if not cells:
        return ["No plan said no."]
    rows = []
    for (name, eps, way), draws in run.groups(cells, "s and ε named").items():
        asked = sorted({cell[way] for cell in cells[name, eps, way]})
        rows.append(
            (
                name,
                f"{eps:g}",
                f"{'ε' if way == 'eps' else 's'} = {span(asked, 1 if way == 'eps' else 0)}",
                mean_and_error(values(draws, "ratio")),
                mean_and_most(values(draws, "missed")),
                share(succeeded(draw, maximised=maximised(name)) for draw in draws),
            )
        )
    headers = ("program", "ε", "solved with", "cost / OPT", "missed: mean; most", "success")
    return [
        "Where the plan said no: the same with the s, or the ε, that it names.",
        (headers, rows),
    ]


def _times(
    name: str,
    solves: dict[tuple[str, float], list[Result]],
    plans: dict[tuple[str, float], list[Result]],
    exact: list[Result],
) -> tuple[str, ...]:
    draws = [draw for (case, _), group in solves.items() if case == name for draw in group]
    planned = [plan for (case, _), group in plans.items() if case == name for plan in group]
    methods = counted(draw["method"] for draw in draws if "method" in draw) if draws else "–"
    return name, seconds(planned), seconds(draws), seconds(exact), methods
