"""Programs whose optimum nobody knows beforehand: hard rows, and soft rows as written in CVXPY.

Run with ``python -m benchmarks.unknown``; an interrupted run goes on where it stopped.
"""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import product
from typing import Any

import click
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

import privlp
from benchmarks.cache import Cache
from benchmarks.families import HARD, SOFT, Instance, missed, ratio
from benchmarks.measure import timed
from benchmarks.published import over_eps, picture, write_page
from benchmarks.tables import Table, rendered, standard_error
from privlp import Verdict
from privlp.checks import FloatArray
from privlp.pictures import GREY, MARKERS

#: Seeds below are for choosing constants.
FIRST_SEED = 1000
EPSILONS, DELTA = (0.5, 1.0, 4.0), 1e-6
#: A draw succeeds up to this cost over the optimum, and up to s rows missed.
LARGEST_COST = 1.05

#: A family and its sizes, those of a quick run, and a public bound on the cost in times OPT.
Case = tuple[str, dict[str, Any], dict[str, Any], float | None]
_TINY = {"n": 1_000, "d": 6}
CASES: dict[str, Case] = {
    "map 20,000 x 80, cost ≤ 2 OPT": ("map_covering", {}, _TINY, 2.0),
    "map 20,000 x 80, cost ≤ 5 OPT": ("map_covering", {}, _TINY, 5.0),
    "map 20,000 x 80, cost ≤ 20 OPT": ("map_covering", {}, _TINY, 20.0),
    "map 20,000 x 80": ("map_covering", {}, _TINY, None),
    "map 5,000 x 80": ("map_covering", {"n": 5_000}, {"n": 200, "d": 20}, None),
    "diet 20,000 x 25": ("diet", {}, _TINY, None),
    "diet with stock 20,000 x 25": ("diet", {"stock": True}, {"stock": True, **_TINY}, None),
    "random covering 50,000 x 12": ("random_covering", {}, {"n": 1_000, "d": 4}, None),
    "packing 20,000 x 30 (maximised)": ("packing", {}, _TINY, None),
    "transport 20,000 x 48": ("transport", {}, {"n": 1_000, "sources": 2, "sinks": 3}, None),
    "portfolio 10,000 x 11": ("portfolio", {}, {"n": 1_000, "d": 3}, None),
}
_TWO = {"n": 1_000, "d": 2}
SOFT_CASES: dict[str, Case] = {
    "L1 regression 5,000 x 8": ("l1_regression", {}, _TWO, None),
    "0.9-quantile regression 5,000 x 8": ("quantile_regression", {}, _TWO, None),
    "hinge loss 5,000 x 8": ("hinge", {}, _TWO, None),
    "CVaR of a portfolio 5,000 x 11": ("cvar", {}, _TWO, None),
}

Cell = dict[str, Any]
Result = dict[str, Any]


@lru_cache(maxsize=2)
def instance(name: str, seed: int, quick: bool) -> Instance:
    """The program of a case."""
    family, sizes, small, _ = (CASES | SOFT_CASES)[name]
    return (HARD | SOFT)[family](seed, **(small if quick else sizes))


@cache
def maximised(name: str) -> bool:
    return instance(name, FIRST_SEED, True).lp.sense == "max"


def told(name: str, optimum: float) -> tuple[float, float] | None:
    """What is public of the optimum of a case: the argument ``opt``."""
    bound = CASES[name][3]
    return None if bound is None else (0.0, bound * optimum)


_ANSWERS = dict.fromkeys(Verdict, "no") | {Verdict.ENOUGH_ROWS: "yes", Verdict.ROUGH: "rough"}


def measure(cell: Cell) -> Result:
    """The measurement that a cell asks for, in CPU seconds; a refusal is a result."""
    asked = {key: value for key, value in cell.items() if key != "what"}
    run = {"exact": exact, "plan": plan, "solve": solve, "soft": soft}[cell["what"]]
    with warnings.catch_warnings(action="ignore", category=privlp.MostlyNoiseWarning):
        return run(**asked)


def exact(case: str, seed: int, quick: bool) -> Result:
    """Seconds of the exact solve."""
    program = instance(case, seed, quick)
    return {"seconds": timed(lambda: privlp.solve_exact(program.lp))[1]}


def plan(case: str, seed: int, quick: bool, eps: float) -> Result:
    """The answer of a plan (yes, rough, no), and the s and eps that it names."""
    program = instance(case, seed, quick)
    hint = told(case, program.opt)
    try:
        found, seconds = timed(lambda: privlp.plan(program.lp, eps, DELTA, program.s, opt=hint))
    except privlp.PrivLPError as refusal:
        return {"answer": "no", "refused": str(refusal), **named(str(refusal))}
    return {"answer": _ANSWERS[found.verdict], "seconds": seconds, **named(found.advice)}


def solve(
    case: str, seed: int, quick: bool, eps: float, draw: int, s: float | None = None
) -> Result:
    """Cost over optimum, rows missed, s and the method of one private solve."""
    program = instance(case, seed, quick)
    s, hint = s or program.s, told(case, program.opt)
    try:
        found, seconds = timed(lambda: privlp.solve(program.lp, eps, DELTA, s, opt=hint, rng=draw))
    except privlp.PrivLPError as refusal:
        return {"refused": str(refusal)}
    if found.x is None:
        return {"refused": found.message}
    cost = ratio(program.lp, found.x, program.opt)
    left = missed(program.lp, found.x)
    return {"ratio": cost, "missed": left, "s": s, "method": found.method, "seconds": seconds}


def soft(case: str, seed: int, quick: bool, eps: float, draw: int) -> Result:
    """Objective of the CVXPY problem at the private answer beyond its optimum, as a share."""
    program = instance(case, seed, quick)
    problem = program.natural()
    try:
        lp = privlp.LinearProgram.from_cvxpy(problem)
        verdict = privlp.plan(lp, eps, DELTA).verdict
        found, seconds = timed(lambda: privlp.solve(lp, eps, DELTA, rng=draw))
        found.assign(problem)
    except privlp.PrivLPError as refusal:
        return {"refused": str(refusal)}
    broken = max((float(rows.violation().max()) for rows in problem.constraints), default=0.0)
    excess = float(problem.objective.value) / program.opt - 1
    return {"excess": excess, "broken": broken, "answer": _ANSWERS[verdict], "seconds": seconds}


def named(advice: str) -> Result:
    """The s and the eps that an advice names as enough, each None if it names none."""
    _, _, ways = advice.partition("About ")
    found = {name: re.search(rf"\b{name} = ([\d,.]*\d)", ways) for name in ("s", "eps")}
    return {name: hit and float(hit[1].replace(",", "")) for name, hit in found.items()}


class Runner:
    """How much is measured, and the results from disk or from processes in parallel."""

    def __init__(self, programs: int, draws: int, processes: int, *, quick: bool) -> None:
        self.programs, self.draws = (1, 1) if quick else (programs, draws)
        self._quick, self._processes = quick, processes
        self._cache = None if quick else Cache("unknown")
        self.epsilons = EPSILONS[:1] if quick else EPSILONS

    def of(self, what: str, cases: Iterable[str]) -> dict[Any, list[Result]]:
        """Results by (case, eps), program by program and draw by draw."""
        epsilons = [{}] if what == "exact" else [{"eps": eps} for eps in self.epsilons]
        programs = [{"seed": FIRST_SEED + k} for k in range(self.programs)]
        groups = {
            (case, of.get("eps")): [
                cell for one in programs for cell in self.cells(what, case=case, **one, **of)
            ]
            for case, of in product(cases, epsilons)
        }
        return self.groups(groups, what)

    def cells(self, what: str, **asked: Any) -> list[Cell]:
        """What is asked of one program: once, or with every draw."""
        of = {"what": what, "quick": self._quick, **asked}
        drawn = what in ("solve", "soft")
        return [{**of, "draw": draw} for draw in range(self.draws)] if drawn else [of]

    def groups(self, cells: dict[Any, list[Cell]], description: str) -> dict[Any, list[Result]]:
        """Results of named groups of cells, measured all together."""
        every = [cell for group in cells.values() for cell in group]
        how = {"processes": self._processes, "description": description}
        kept = self._cache and self._cache.measure_all(every, measure, **how)
        found = iter(kept or map(measure, every))
        return {name: [next(found) for _ in group] for name, group in cells.items()}


def succeeded(result: Result, *, maximised: bool) -> bool:
    """Whether a draw costs at most 1.05 OPT, or earns OPT / 1.05, and misses at most s rows."""
    if "refused" in result or result["missed"] > result["s"]:
        return False
    return result["ratio"] * LARGEST_COST >= 1 if maximised else result["ratio"] <= LARGEST_COST


def values(results: Sequence[Result], name: str) -> FloatArray:
    """One number of every draw that was not refused."""
    return np.array([result[name] for result in results if name in result], dtype=float)


def mean_and_error(numbers: FloatArray) -> str:
    """Mean ± standard error."""
    if not len(numbers):
        return "refused"
    error = f" ± {standard_error(numbers):.3f}" if len(numbers) > 1 else ""
    return f"{numbers.mean():.3f}{error}"


def span(numbers: FloatArray, digits: int = 2) -> str:
    """Least and largest number."""
    ends = [f"{end(numbers):,.{digits}f}" for end in (np.min, np.max)] if len(numbers) else ["–"]
    return "–".join(dict.fromkeys(ends))


def share(successes: Iterable[bool]) -> str:
    """How many of how many, in percent."""
    found = list(successes)
    return f"{sum(found) / len(found):.0%} ({sum(found)} of {len(found)})" if found else "none"


def counted(words: Iterable[str]) -> str:
    """Each word once, with its number where they differ."""
    found = sorted(Counter(words).items())
    return ", ".join(f"{word} {number}" if len(found) > 1 else word for word, number in found)


def _seconds(results: Iterable[Result]) -> str:
    found = [result["seconds"] for result in results if "seconds" in result]
    return f"{np.median(found):.2g}" if found else "–"


def _outcome(name: str, draws: Sequence[Result]) -> tuple[str, ...]:
    """Cost, range, rows missed and successes of the draws of a case."""
    costs, left = values(draws, "ratio"), values(draws, "missed")
    most = f"{left.mean():,.0f}; {left.max():,.0f}" if len(left) else "–"
    good = share(succeeded(draw, maximised=maximised(name)) for draw in draws)
    return mean_and_error(costs), span(costs), most, good


_OUTCOME = ("cost / OPT", "range", "missed: mean; most", "success")


def hard_rows(run: Runner) -> list[Table]:
    """Hard rows and nothing known: cost, rows missed, success, what the plan said, time."""
    measured = [run.of(what, CASES) for what in ("plan", "solve", "exact")]
    plans, solves, _ = measured
    rows, answered = [], {"yes": [], "rough": [], "no": []}
    for (name, eps), draws in solves.items():
        rows.append((name, f"{eps:g}", _planned(plans[name, eps]), *_outcome(name, draws)))
        for k, draw in enumerate(draws):
            answer = plans[name, eps][k // run.draws]["answer"]
            answered[answer].append(succeeded(draw, maximised=maximised(name)))
    times = []
    for name in CASES:
        of_case = [[d for (case, _), g in f.items() if case == name for d in g] for f in measured]
        methods = (draw["method"] for draw in of_case[1] if "method" in draw)
        times.append((name, *map(_seconds, of_case), counted(methods)))
    return [
        (("program", "ε", "plan", *_OUTCOME), rows),
        (("plan", "success"), [(answer, share(good)) for answer, good in answered.items()]),
        *_named_ways(run, plans),
        (("program", "plan", "solve", "exact solve", "method"), times),
    ]


def _planned(plans: list[Result]) -> str:
    """The answers of plans, and the median s and eps that they name."""
    ways = []
    for name, words in (("s", "s = {:,.0f}"), ("eps", "ε = {:.2g}")):
        found = [plan[name] for plan in plans if plan[name] is not None]
        ways += [words.format(np.median(found))] if found else []
    words = counted(plan["answer"] for plan in plans)
    return f"{words}: {', '.join(ways)}" if ways else words


def _named_ways(run: Runner, plans: dict[Any, list[Result]]) -> list[Table]:
    """Solves with the s, and with the eps, that a plan names which says no."""
    cells: dict[tuple[str, float, str], list[Cell]] = {}
    for ((name, eps), of_programs), way in product(plans.items(), ("s", "eps")):
        for k, plan in enumerate(of_programs):
            if plan["answer"] == "no" and plan[way] is not None:
                asked = {"case": name, "seed": FIRST_SEED + k, "eps": eps, way: plan[way]}
                cells.setdefault((name, eps, way), []).extend(run.cells("solve", **asked))
    rows = []
    for (name, eps, way), draws in run.groups(cells, "s and ε named").items():
        asked_for = span(np.array([cell[way] for cell in cells[name, eps, way]]), int(way == "eps"))
        solved = f"{'ε' if way == 'eps' else 's'} = {asked_for}"
        rows.append((name, f"{eps:g}", solved, *_outcome(name, draws)))
    return [(("program", "ε", "solved with", *_OUTCOME), rows)]


def soft_rows(run: Runner) -> list[Table]:
    """Soft rows as one writes them in CVXPY: how far from the exact optimum the answers are."""
    rows = []
    for (name, eps), draws in run.of("soft", SOFT_CASES).items():
        percent = 100 * values(draws, "excess")
        answers = counted(draw.get("answer", "refused") for draw in draws)
        broken = f"{max(values(draws, 'broken'), default=0.0):.0e}"
        ends = mean_and_error(percent), span(percent), broken, _seconds(draws)
        rows.append((name, f"{eps:g}", answers, *ends))
    headers = ("problem", "ε", "plan", "excess in %", "range", "public rows broken by", "seconds")
    return [(headers, rows)]


TABLES = {"hard": hard_rows, "soft": soft_rows}


@click.command()
@click.option("--programs", default=4, show_default=True, help=f"Of each; seeds from {FIRST_SEED}.")
@click.option("--draws", default=5, show_default=True, help="Noise seeds for each program.")
@click.option("--only", type=click.Choice(list(TABLES)), help="Print this table alone.")
@click.option("--processes", default=2, show_default=True, help="In parallel.")
@click.option("--quick", is_flag=True, help="Try tiny programs; nothing is kept or written.")
def main(programs: int, draws: int, only: str | None, processes: int, *, quick: bool) -> None:
    """Measure, and write the page with its picture; with --only or --quick print tables alone."""
    run = Runner(programs, draws, processes, quick=quick)
    parts = [part for name in ([only] if only else TABLES) for part in TABLES[name](run)]
    if only or quick:
        print(*map(rendered, parts), sep="\n\n")
        return
    _draw(run)
    write_page("unknown", *parts)


def _draw(run: Runner) -> None:
    """Cost of maps and of other programs, excess of soft rows; all from measurements on disk."""
    solves, excess = run.of("solve", CASES), run.of("soft", SOFT_CASES)

    def cost(name: str, eps: float) -> FloatArray:
        ratios = values(solves[name, eps], "ratio")
        return 1 / ratios if maximised(name) else ratios

    maps = [name for name in CASES if name.startswith("map")]
    others = [name for name in CASES if name not in maps]
    with picture("unknown", 3, size=(18.0, 5.5)) as axes:
        titled = ((maps, "covering on a map"), (others, "other programs"))
        for axis, (names, title) in zip(axes, titled, strict=False):
            _lines(axis, {name: [cost(name, eps) for eps in EPSILONS] for name in names})
            axis.axhline(1, color=GREY, linestyle=":")
            axis.set(title=title, ylabel="cost / OPT, or OPT / earnings")
        percent = {n: [100 * values(excess[n, e], "excess") for e in EPSILONS] for n in SOFT_CASES}
        _lines(axes[2], percent)
        axes[2].set(title="soft rows", ylabel="excess over the optimum in %")
        for axis in (axes[0], axes[2]):
            axis.set(yscale="log")
            axis.yaxis.set_minor_formatter(NullFormatter())


def _lines(axis: Axes, found: dict[str, list[FloatArray]]) -> None:
    """Means with standard errors over eps, one line a program, and a legend below."""
    lines = []
    for draws, marker in zip(found.values(), MARKERS, strict=False):
        means, errors = ([of(numbers) for numbers in draws] for of in (np.mean, standard_error))
        lines.append(axis.errorbar(EPSILONS, means, errors, marker=marker)[0])
    over_eps(axis, EPSILONS)
    axis.legend(lines, found, fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.2))


if __name__ == "__main__":
    main()
