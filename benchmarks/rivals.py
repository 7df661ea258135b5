"""The default beside other ways to a private answer, at equal (eps, delta).

Run with ``python -m benchmarks.rivals``. Six minutes of two cores.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from scipy.stats import binom

import privlp
from benchmarks import beside_bound
from benchmarks.beside_bound import LARGEST_COST
from benchmarks.families.hard import needs
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import picture, write_page
from benchmarks.rival_methods import RIVALS, Told, settings
from benchmarks.small_methods import FAMILIES as SMALL
from benchmarks.stale import RESULTS
from benchmarks.tables import in_words
from privlp import LinearProgram
from privlp.methods.advice import least_missed
from privlp.pictures import COLOURS, GREY

FIRST_SEED, PROGRAMS, DRAWS, DELTA = 100, 5, 10, 1e-6
TUNING = range(3)
EPSILONS = (0.5, 1.0, 4.0)
SIZES = ((1000, 5), (3000, 10), (5000, 40))


def one_number(seed: int, n: int, d: int) -> LinearProgram:
    """The least x that is enough for each of n people, whose needs are log-normal."""
    need = np.exp(np.random.default_rng(seed).normal(0, 0.5, n))
    return LinearProgram(np.ones(d), -np.ones((n, d)), -need)


FAMILIES: dict[str, Callable[[int, int, int], LinearProgram]] = {
    **SMALL,
    "needs": lambda seed, n, d: needs(seed, n=n, d=d, m=n // 20).lp,
    "one number": one_number,
}
#: Rivals beside the limit: of programs with so many rows and variables.
LIMIT_ROWS, LIMIT_VARIABLES = beside_bound.N, (10, 40)
LIMIT_RIVALS = tuple(RIVALS)[:-2]
_OURS = {"map": ("blue", "o"), "diet": ("vermilion", "s"), "packing": ("green", "D")}
Program = tuple[str, int, int]
# Costs that differ by less count as the same; a maximum below this share of the optimum as this.
_SAME, _LEAST = 0.02, 1e-3


@dataclass(frozen=True)
class Cell:
    """Draws of one way: how many miss at most s rows, and what those cost beside the optimum."""

    kept: int
    cost: float  # Mean, over the optimum (a maximum: the optimum over it); half-spaces: less it.

    def ahead_of(self, other: Cell) -> bool:
        """Whether no fewer draws are kept at no more cost, and one of both is better."""
        if self.kept < other.kept or not self.kept:
            return False
        return (
            not other.kept
            or self.cost < other.cost - _SAME
            or (self.kept > other.kept and self.cost <= other.cost + _SAME)
        )

    def __str__(self) -> str:
        cost = f"{self.cost:.2f}" if self.cost < 1000 else f"{self.cost:.1e}"
        return f"{self.kept}; {cost}" if self.kept else "0"


#: All programs, in the order of the page.
CASES: list[Program] = [
    (family, n, 1 if family == "one number" else d) for family in FAMILIES for n, d in SIZES
]
Cells = dict[str, Cell]
Points = list[tuple[int, npt.NDArray[np.float64]]]
Setting = tuple[int, float]


@cache
def told(program: Program, seed: int) -> Told:
    """A program and what rivals are told: ranges are those of the exact optima of other seeds."""
    family, n, d = program
    lp = FAMILIES[family](seed, n, d)
    kind = {"packing (max)": "pack", "half-spaces": "around"}.get(family, "cover")
    low, high = _ranges(program)
    return Told(lp, float(privlp.solve_exact(lp).objective or 0.0), low, high, kind)


@cache
def _ranges(program: Program) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """One range for all variables: to 1.5 times the largest in the optima of tuning seeds."""
    family, n, d = program
    optima = [privlp.solve_exact(FAMILIES[family](seed, n, d)).x for seed in TUNING]
    high = np.full(d, 1.5 * max(np.abs(x).max() for x in optima if x is not None))
    return (-high if family == "half-spaces" else 0 * high), high


def judged(program: Program, points: Points) -> Cell:
    """Points, each of the program of a seed."""
    costs = []
    for seed, x in points:
        of = told(program, seed)
        if missed(of.lp, x) > program[1] // 20:
            continue
        objective = of.lp.objective(x)
        if of.kind == "around":
            costs.append(objective - of.optimum)
        else:
            beside = objective / of.optimum
            costs.append(beside if of.kind == "cover" else 1 / max(beside, _LEAST))
    return Cell(len(costs), float(np.mean(costs)) if costs else np.inf)


def default(program: Program, eps: float) -> Cell:
    """Draws of ``privlp.solve`` as it is."""
    points = []
    for number in range(DRAWS):
        seed = FIRST_SEED + number % PROGRAMS
        rng = np.random.default_rng([number, program[1], program[2]])
        found = privlp.solve(told(program, seed).lp, eps, DELTA, program[1] // 20, rng=rng)
        points.append((seed, found.x))
    return judged(program, points)


def drawn(name: str, program: Program, eps: float, seeds: Sequence[int], of: Setting) -> Points:
    """Answers of a rival, one for each seed of a program."""
    run = RIVALS[name][0]
    return [
        (seed, run(told(program, seed), eps, DELTA, number, *of))
        for number, seed in enumerate(seeds)
    ]


def rival(name: str, program: Program, eps: float) -> Cell:
    """Draws of a rival, tuned on other seeds."""
    grid = settings(name, told(program, FIRST_SEED))
    tuned = {of: judged(program, drawn(name, program, eps, TUNING, of)) for of in grid}
    best = min(tuned, key=lambda of: (-tuned[of].kept, tuned[of].cost))
    seeds = [FIRST_SEED + number % PROGRAMS for number in range(DRAWS)]
    return judged(program, drawn(name, program, eps, seeds, best))


def line(program: Program) -> list[Cells]:
    """A program at every eps: the default, and the rivals that can be asked."""
    asked = [name for name in RIVALS if settings(name, told(program, FIRST_SEED))]
    with warnings.catch_warnings(action="ignore"):
        found = [
            {
                "default": default(program, eps),
                **{name: rival(name, program, eps) for name in asked},
            }
            for eps in EPSILONS
        ]
    told.cache_clear()
    return found


def main() -> None:
    programs = sorted(CASES, key=lambda case: -case[2])  # the slow ones first
    asked = [(name, d, eps) for d in LIMIT_VARIABLES for name in LIMIT_RIVALS for eps in EPSILONS]
    lines = in_two_processes(line, ((program,) for program in programs))
    least = in_two_processes(least_s, asked, together=len(EPSILONS))
    write(dict(zip(programs, lines, strict=True)), dict(zip(asked, least, strict=True)))


def write(lines: dict[Program, list[Cells]], least: dict[tuple[str, int, float], int]) -> None:
    """The page and its picture, from what was measured."""
    found = {
        (f"{family} {n:,} x {d}", f"{eps:g}", _word((family, n, d), eps)): cells
        for family, n, d in CASES
        for eps, cells in zip(EPSILONS, lines[family, n, d], strict=True)
    }
    enough = [cells for (_, _, word), cells in found.items() if word != "too few"]
    _draw_limit(least)
    of_rivals = (
        'rival | cells | default ahead | neither | rival ahead | of these, plan not "too few"'
    )
    summaries = [
        [name, *_summary(name, [*found.values()]), _summary(name, enough)[-1]] for name in RIVALS
    ]
    limits = list(product(LIMIT_VARIABLES, EPSILONS))
    of_limits = [
        [name, *(f"{of:,}" if (of := least[name, *at]) < LIMIT_ROWS else "none" for at in limits)]
        for name in LIMIT_RIVALS
    ]
    all_cells = [
        [*names, *(_said(cells, name) for name in ("default", *RIVALS))]
        for names, cells in found.items()
    ]
    write_page(
        "rivals",
        (of_rivals, summaries),
        _beside_the_bound(),
        (["rival", *(f"{d} x, ε = {eps:g}" for d, eps in limits)], of_limits),
        (["program", "ε", "plan", "default", *RIVALS], all_cells),
    )


def least_s(name: str, d: int, eps: float) -> int:
    """The least s at which 19 of 20 draws succeed as on the page beside_bound; n: at none."""
    program = ("diet", LIMIT_ROWS, d)

    def needed(seeds: Sequence[int], of: Setting) -> list[int]:
        points = drawn(name, program, eps, seeds, of)
        return sorted(
            missed(on.lp, x) if on.lp.objective(x) <= LARGEST_COST * on.optimum else LIMIT_ROWS
            for on, x in ((told(program, seed), x) for seed, x in points)
        )

    grid = settings(name, told(program, TUNING[0]))
    best = min(grid, key=lambda of: sum(needed(TUNING, of)))
    seeds = [beside_bound.FIRST_SEED + number % PROGRAMS for number in range(beside_bound.DRAWS)]
    return needed(seeds, best)[-1 - beside_bound.MAY_FAIL]


def _word(case: Program, eps: float) -> str:
    """What the plan says of the rows."""
    family, n, d = case
    lp = FAMILIES[family](FIRST_SEED, n, d)
    return in_words(privlp.plan(lp, eps, DELTA, n // 20).verdict)


def _summary(name: str, found: list[Cells]) -> list[int]:
    pairs = [(cells["default"], cells[name]) for cells in found if name in cells]
    ours = sum(own.ahead_of(other) for own, other in pairs)
    theirs = sum(other.ahead_of(own) for own, other in pairs)
    return [len(pairs), ours, len(pairs) - ours - theirs, theirs]


def _said(cells: Cells, name: str) -> str:
    if name not in cells:
        return ""
    return f"{cells[name]}{' *' if cells[name].ahead_of(cells['default']) else ''}"


def _exponential_mechanism(d: int, eps: float) -> tuple[float, float]:
    """Rows that the proof's method misses of the bound's programs: in 95 % of draws, on average.

    The worst number m of people counts, who ask for the same of one variable.
    """
    m = np.arange(1, max(2, 50 / eps))
    u = 1 / (1 + np.exp(m * eps / 4))
    return float((m * binom.ppf(0.95, d, u)).max()), float((d * m * u).max())


def _draw_limit(least: dict[tuple[str, int, float], int]) -> None:
    """The picture: s over d/eps; of the default, from the page beside_bound."""
    page = (RESULTS / "beside_bound.md").read_text()
    cell = r"^\| (\w+) [\d,]+ x (\d+) +\| ([\d.]+) +\| [^|]+\| (> )?([\d,]+)"
    ours = [(*of[:-1], int(of[-1].replace(",", ""))) for of in re.findall(cell, page, re.M)]
    with picture("rivals", len(EPSILONS), size=(11.0, 6.0), sharey=True) as axes:
        for ax, eps in zip(axes, EPSILONS, strict=True):
            _draw_defaults(ax, [of for of in ours if float(of[2]) == eps])
            for name, mark in zip(LIMIT_RIVALS, "x+v12*", strict=True):
                at = [(d / e, s) for (of, d, e), s in least.items() if (of, e) == (name, eps)]
                at = [(x, s) for x, s in at if s < LIMIT_ROWS]
                if at:
                    _points(ax, at, f"{name}, diet", marker=mark, linestyle="", color=GREY)
            d = np.array(beside_bound.VARIABLES)
            missed_rows = [_exponential_mechanism(int(of), eps)[0] for of in d]
            bound = [least_missed(int(of), LIMIT_ROWS, eps, DELTA) for of in d]
            label = "exponential mechanism, told, programs of the bound"
            ax.plot(d / eps, missed_rows, "--", color=COLOURS["purple"], label=label)
            ax.plot(
                d / eps, bound, color=COLOURS["black"], label="no private method: fewer, on average"
            )
            ax.set(xscale="log", yscale="log", xlabel="d/ε", title=f"ε = {eps:g}")
            ax.set_xticks(d / eps, [f"{x:g}" for x in d / eps])
            ax.set_xticks([], minor=True)
        axes[0].set_ylabel("rows that may be missed, s")


def _draw_defaults(ax: Axes, ours: list[tuple[str, str, str, str, int]]) -> None:
    """Hollow marks, beside one another; triangles where s is larger than was tried."""
    for shift, (family, (colour, mark)) in zip((0.93, 1.0, 1.07), _OURS.items(), strict=True):
        look = {"color": COLOURS[colour], "linestyle": "", "fillstyle": "none"}
        for more, sign in (("", mark), ("> ", "^")):
            at = [
                (shift * int(d) / float(e), s) for f, d, e, m, s in ours if (f, m) == (family, more)
            ]
            label = f"default, {family}{': more than' if more else ''}"
            if at:
                _points(ax, at, label, marker=sign, **look)


def _points(ax: Axes, at: Sequence[tuple[float, float]], label: str, **look: Any) -> None:
    ax.plot(*np.array(at).T, label=label, **look)


def _beside_the_bound() -> str:
    """How far the proof's method is from the bound on the bound's own programs."""
    d = beside_bound.VARIABLES[-1]
    times = [
        _exponential_mechanism(d, e)[1] / least_missed(d, LIMIT_ROWS, e, DELTA) for e in EPSILONS
    ]
    said = ", ".join(f"{of:.1f} (ε = {eps:g})" for of, eps in zip(times, EPSILONS, strict=True))
    return (
        f"On the bound's own programs, {d} variables and the worst number of people who ask for the"
        f" same, the exponential mechanism of the proof misses on average {said} times the bound."
    )


if __name__ == "__main__":
    main()
