"""Models that people bring: cost beside the optimum, and rows missed, at three eps.

Made-up data of realistic size, and harder ones beside: a tenth of the people, or records that move
numbers five times as far. Programs and noise have seeds 1000, 1001, ...

Run with ``python -m benchmarks.models``; about 10 minutes of one core.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

import privlp
from benchmarks.families.instance import loss
from benchmarks.model_pictures import PICTURES
from benchmarks.published import over_eps, picture, write_page
from benchmarks.tables import said, standard_error
from privlp import LinearProgram, models
from privlp.models import simulated
from privlp.pictures import COLOURS, GREY, MARKERS

EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-6
SEEDS = range(1000, 1008)
#: A person or client counts as missed who gets less than is asked for, but for rounding.
SHORT = 1e-6


@dataclass(frozen=True)
class Case:
    """A model on made-up data."""

    words: str
    model: Callable[..., Any]
    data: Callable[[int], dict[str, Any]]
    share: float | None = None
    always: bool = False

    def program(self, seed: int) -> Any:
        """The model of a seed."""
        return self.model(**self.data(seed))

    def asked(self, lp: LinearProgram) -> dict[str, Any]:
        """What else `solve` is asked."""
        if self.always:
            return {"feasible": "always"}
        return {} if self.share is None else {"s": int(self.share * lp.private.sum())}


def _made(data: Callable[..., dict[str, Any]], **sizes: Any) -> Callable[[int], dict[str, Any]]:
    """Made-up data of other sizes, or with other arguments of the model."""
    moved = {"sensitivity": sizes.pop("sensitivity")} if "sensitivity" in sizes else {}
    return lambda seed: data(seed, **sizes) | moved


_FAR = {"sensitivity": 5.0}
CASES: dict[str, list[Case]] = {
    "diet": [
        Case("20,000 people, 3 nutrients, 24 foods", models.diet, simulated.canteen, 0.05),
        Case("2,000 people", models.diet, _made(simulated.canteen, people=2_000), 0.05),
    ],
    "staffing": [
        Case("20,000 clients, 20 shifts", models.staffing, simulated.care, 0.05),
        Case("2,000 clients", models.staffing, _made(simulated.care, clients=2_000), 0.05),
    ],
    "min-cost flow": [
        Case(words, models.min_cost_flow, data, always=True)
        for words, data in (
            ("80 towns, about 450 arcs; a carrier moves a capacity by 1", simulated.road_network),
            ("a carrier moves a capacity by 5", _made(simulated.road_network, **_FAR)),
        )
    ],
    "transport": [
        Case(words, models.transport, data, always=True)
        for words, data in (
            ("12 warehouses, 60 shops; a client moves an order by 1", simulated.deliveries),
            ("a client moves an order by 5", _made(simulated.deliveries, **_FAR)),
        )
    ],
    "portfolio": [
        Case("20,000 scenarios, 10 assets, beta = 0.95", models.cvar_portfolio, simulated.market),
        Case("2,000 scenarios", models.cvar_portfolio, _made(simulated.market, scenarios=2_000)),
    ],
}


def one(case: Case, lp: Any, optimum: float, eps: float, seed: int) -> dict[str, Any]:
    """What one private solve leaves."""
    with warnings.catch_warnings(action="ignore"):
        solution = privlp.solve(lp, eps, DELTA, rng=seed, **case.asked(lp))
    values = lp.values(solution)
    violations = privlp.compare(lp, solution).violations
    hard = lp.private if lp.penalty is None else ~lp.private
    missed = hard & (violations > SHORT)
    people = len(np.unique(lp.groups[missed])) if lp.groups is not None else None
    demand = np.abs(np.minimum(lp.b[~lp.private], 0)).sum() if not lp.private.all() else np.nan
    if lp.name == "transport":
        demand = lp.row_lower[np.isfinite(lp.row_lower)].sum()
    return {
        "cost": loss(lp, solution.x) / optimum,
        "lean": _beside_the_leanest(lp, solution.x, missed) if case.share else None,
        "missed": int(missed.sum()),
        "people": people,
        "short": float(values["shortages"].sum() / demand) if "shortages" in values else None,
        "verdict": solution.verdict,
        "method": solution.method,
    }


def _beside_the_leanest(lp: Any, x: np.ndarray, missed: np.ndarray) -> float:
    """Cost beside that of the cheapest answer that misses no other rows by more than `SHORT`."""
    kept = ~missed
    sides = lp.b + SHORT * lp.private
    leanest = LinearProgram(lp.c, lp.A[kept], sides[kept], bounds=lp.bounds)
    return lp.objective(x) / privlp.solve_exact(leanest).objective


def measure() -> dict[str, list[dict[float, list[dict[str, Any]]]]]:
    """The draws of each model, case and eps."""
    found: dict[str, list[dict[float, list[dict[str, Any]]]]] = {}
    for name, cases in CASES.items():
        found[name] = []
        for case in cases:
            draws: dict[float, list[dict[str, Any]]] = {eps: [] for eps in EPSILONS}
            for seed in tqdm(SEEDS, desc=f"{name}: {case.words}"):
                lp = case.program(seed)
                optimum = loss(lp, privlp.solve_exact(lp).x)
                for eps, of_eps in draws.items():
                    of_eps.append(one(case, lp, optimum, eps, seed))
            found[name].append(draws)
    return found


def table(name: str, found: list[dict[float, list[dict[str, Any]]]]) -> Any:
    """The table of one model."""
    headers = ("data", "ε", "verdict", "cost / optimum", "range", "missed: mean", "most")
    always, counted = CASES[name][0].always, CASES[name][0].share is not None
    headers += ("shortage",) if always else ("s", "cost / leanest") if counted else ()
    rows = []
    for case, draws in zip(CASES[name], found, strict=True):
        lp = case.program(0)
        for eps, of_eps in draws.items():
            cost = np.array([draw["cost"] for draw in of_eps])
            missed = [draw["missed"] for draw in of_eps]
            people = [draw["people"] for draw in of_eps]
            of_people = f" ({np.mean(people):.0f})" if people[0] is not None else ""
            row = [case.words, f"{eps:g}", of_eps[0]["verdict"], said(cost)]
            row += [f"{cost.min():.3f}–{cost.max():.3f}", f"{np.mean(missed):.0f}{of_people}"]
            row.append(max(missed))
            if always:
                row.append(f"{np.mean([draw['short'] for draw in of_eps]):.2%}")
            elif counted:
                lean = np.array([draw["lean"] for draw in of_eps])
                row.append(case.asked(lp)["s"])
                row.append(f"{lean.mean():.3f} ({lean.min():.3f}–{lean.max():.3f})")
            rows.append(row)
    return headers, rows


def main() -> None:
    for draw in PICTURES.values():
        draw(SEEDS[0])
    found = measure()
    _draw(found)
    write_page("models", *(table(name, of_cases) for name, of_cases in found.items()))


def _draw(found: dict[str, list[dict[float, list[dict[str, Any]]]]]) -> None:
    labels = ("realistic data", "harder data")
    colours = (COLOURS["blue"], COLOURS["vermilion"])
    with picture("models", len(found)) as axes:
        for axis, (name, of_cases) in zip(axes, found.items(), strict=True):
            for draws, label, marker, colour in zip(
                of_cases, labels, MARKERS, colours, strict=False
            ):
                costs = [[draw["cost"] for draw in draws[eps]] for eps in EPSILONS]
                means, errors = ([of(cost) for cost in costs] for of in (np.mean, standard_error))
                look = {"marker": marker, "color": colour, "label": label}
                axis.errorbar(EPSILONS, means, errors, **look)
            axis.axhline(1.0, color=GREY, linestyle=":", linewidth=1.2)
            low, high = axis.get_ylim()
            if high > 3 * max(low, 1.0):
                axis.set(yscale="log", yticks=(1, 3, 10, 30), yticklabels=("1", "3", "10", "30"))
                axis.set_yticks([], minor=True)
            over_eps(axis, EPSILONS)
            axis.set_title(name)
        axes[0].set_ylabel("cost / optimum")
        axes[3].set_ylabel("cost / optimum")


if __name__ == "__main__":
    main()
