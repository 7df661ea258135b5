"""Constraints that are never violated: noise of published width, narrower noise, measured slacks.

On the advertising program at the sizes of Benvenuti et al. (2026), and on programs of up to a
thousand private numbers; and what they cost beside the least that any method can, on optimal power
flow, staffing, network flow and sales of seats.

Run with ``python -m benchmarks.never_violated``; about 20 minutes of one core.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import click
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from tqdm import tqdm

import privlp
from benchmarks import stale
from benchmarks.feasible import flow, staffing, violates
from benchmarks.power_flow import CASE14, Grid, dc_opf, dc_opf_with_control, read_case
from benchmarks.published import write_page
from benchmarks.tables import Part, Table, said
from privlp import LinearProgram, ScalarPrivate
from privlp.examples import advertising
from privlp.methods import SolveRequest
from privlp.methods.auto import best_with_least_slack
from privlp.methods.noisy_numbers import private_numbers
from privlp.methods.tightened.measured import MeasuredSlack, OneMargin
from privlp.methods.tightened.method import by_margin, noise_alone
from privlp.methods.tightened.noise import TruncatedGaussian, TruncatedLaplace, kinds_on
from privlp.methods.tightened.rows import TightenedRows
from privlp.privacy import TruncatedGaussianMechanism, TruncatedLaplaceMechanism
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import LowSensitivity, ProgramNumbers

#: (pages N, advertisers M) of the paper, its eps and delta, and the sub-optimality that it prints.
SIZES, EPSILONS, DELTA = ((10, 5), (20, 5), (20, 20), (20, 100)), (1.0, 2.0), 0.1
PRINTED = {(10, 2.0): (0.20, 0.20), (20, 1.0): (0.133, 0.24), (20, 2.0): (0.20, 0.20)}
FIRST_SEED = 1000
_THEIRS: dict[str, Any] = {"method": "truncated-laplace-published"}
_AUTO: dict[str, Any] = {"feasible": "always"}
METHODS: dict[str, dict[str, Any]] = {
    "measured slacks": {"method": MeasuredSlack()},
    "Gaussian noise alone": {"method": TruncatedGaussian()},
    '`feasible="always"`': _AUTO,
    "published width": _THEIRS,
}
MANY, MANY_EPSILONS, MANY_DELTA = (12, 100, 1000), (0.5, 1.0, 2.0), 1e-6
# A draw on a grid of 1,354 buses takes a minute; where columns are kept, a tenth of that.
_DRAWS_OF_LARGE = 1
_NOTHING = 1e-6  # MW, and radians.
KEPT = ["angle*", "control"]
METHODS_OF_MANY: dict[str, dict[str, Any]] = {
    "Gaussian": {"method": TruncatedGaussian()},
    "Laplace": {"method": TruncatedLaplace()},
    "published": _THEIRS,
}


def violated_rows(lp: LinearProgram, x: np.ndarray) -> int:
    """Number of rows and bounds of the true program that x violates, in exact arithmetic."""
    point = [Fraction(value) for value in x.tolist()]
    entries = (zip(row, point, strict=True) for row in lp.A.tolist())
    sums = (sum(Fraction(a) * v for a, v in row if a) for row in entries)
    over = sum(total > Fraction(b) for total, b in zip(sums, lp.b.tolist(), strict=True))
    return over + sum(v < 0 for v in point)


def lost(
    lp: LinearProgram, eps: float, delta: float, asked: dict[str, Any], draws: int
) -> tuple[np.ndarray, int]:
    """1 - revenue / optimum of each draw, and rows violated in all."""
    best = privlp.solve_exact(lp).objective
    with warnings.catch_warnings(action="ignore"):  # the paper's delta is too large to be advised
        points = [privlp.solve(lp, eps, delta, rng=draw, **asked).x for draw in range(draws)]
    broken = sum(violated_rows(lp, x) for x in points)
    return np.array([1 - lp.objective(x) / best for x in points]), broken


def published_sizes(programs: int, draws: int) -> Table:
    """Both sides of the paper's comparison, with A, b and c private."""
    rows = []
    for (pages, advertisers), eps in tqdm(list(product(SIZES, EPSILONS)), desc="published sizes"):
        make = partial(advertising, pages=pages, advertisers=advertisers, private="both")
        sold = [make(seed) for seed in range(FIRST_SEED, FIRST_SEED + programs)]
        found = {
            name: [lost(lp, eps, DELTA, asked, draws) for lp in sold]
            for name, asked in METHODS.items()
        }
        means = {name: [of.mean() for of, _ in each] for name, each in found.items()}
        slacks, theirs = (float(np.mean(means[n])) for n in ("measured slacks", "published width"))
        printed = PRINTED.get((pages, eps))
        between = "–".join(dict.fromkeys(f"{100 * end:g}" for end in printed or ()))
        row = [f"{pages} × {advertisers}", f"{eps:g}", *map(said, means.values())]
        row += [f"{slacks / theirs:.2f}", f"{between} %" if printed else "–"]
        row.append(f"{slacks / np.mean(printed):.2f}" if printed else "–")
        rows.append([*row, sum(broken for each in found.values() for _, broken in each)])
    ratios = ("ratio to it", "printed in the paper", "ratio to the middle of that")
    headers = ("pages × advertisers", "ε", *METHODS, *ratios, "rows violated")
    return headers, rows


_OF_WIDTHS = ("m", "Gaussian", "Laplace, with entry bound", "Laplace, without", "published")


def widths(eps: float) -> list[tuple[Any, ...]]:
    """Widths of the noise on m numbers, each of which moves by at most 1, at ``MANY_DELTA``."""
    rows = []
    for m in (1, 2, 3, 12, 100, 1000, 10_000):
        of_sum = partial(TruncatedLaplaceMechanism.of_budget, float(m), eps, MANY_DELTA)
        gaussian = TruncatedGaussianMechanism.of_budget(
            math.sqrt(m), eps, MANY_DELTA, l1=float(m), entry=1.0, touched=m
        )
        found = gaussian, of_sum(entry=1.0), of_sum(), of_sum(published_for=m)
        rows.append((m, *(f"{mechanism.width:,.1f}" for mechanism in found)))
    return rows


def many(m: int) -> LinearProgram:
    """A packing program of m rows and 20 variables whose right-hand sides all move by at most 1."""
    rng = np.random.default_rng(m)
    relation = ScalarPrivate(1.0, lower=500, upper=6000)
    A, b = rng.uniform(0, 1, (m, 20)), rng.uniform(3000, 5000, m)
    return LinearProgram(rng.uniform(1, 2, 20), A, b, sense="max", neighbours=relation)


def many_numbers(draws: int) -> list[Table]:
    """Widths, and what they cost where private numbers are many."""
    rows = []
    for eps, m in tqdm(list(product(MANY_EPSILONS, MANY)), desc="many numbers"):
        lp = many(m)
        found = [lost(lp, eps, MANY_DELTA, asked, draws) for asked in METHODS_OF_MANY.values()]
        broken = sum(broken for _, broken in found)
        rows.append((m, f"{eps:g}", *(said(of) for of, _ in found), broken))
    headers = ("m", "ε", *METHODS_OF_MANY, "rows violated")
    return [(_OF_WIDTHS, widths(1.0)), (headers, rows)]


def seats(seed: int, relation: ScalarPrivate) -> LinearProgram:
    """Sell seats on 20 flights as 80 trips of one to three flights; demands are private."""
    rng = np.random.default_rng(seed)
    flown = np.zeros((20, 80))
    for trip in range(80):
        flown[rng.choice(20, rng.integers(1, 4), replace=False), trip] = 1
    demand = rng.integers(15, 60, 80).astype(float)
    return LinearProgram(
        flown.sum(axis=0) ** 0.8 * rng.uniform(60, 180, 80),
        np.vstack([flown, np.eye(80)]),
        np.append(np.round(0.8 * flown @ demand), demand),
        sense="max",
        private=np.arange(100) >= 20,
        neighbours=relation,
        name="seats, demands",
    )


def least_possible(lp: LinearProgram, eps: float) -> float:
    """What every method loses on this program, as a share of its optimum, if rows never fail."""
    form, relation = StandardForm.of(lp), lp.neighbours
    assert isinstance(relation, LowSensitivity)
    numbers = ProgramNumbers.of(form)
    private = relation.private_numbers(form)
    best = best_with_least_slack(numbers, private, eps, MANY_DELTA)
    optimum = TightenedRows.of(numbers, None).best(lp.c)
    assert best is not None
    assert optimum is not None
    return float(abs(best / (lp.c @ optimum) - 1))


def beside(matpower: Path | None) -> Iterator[tuple[str, LinearProgram]]:
    """Programs, and how far one record moves their private numbers, in words."""
    grids = [CASE14] + ([] if matpower is None else [read_case(matpower / "case118.m")])
    one = {"sensitivity": 0.1, "norm": "1"}
    for grid in grids:
        yield "one load, by 0.1 MW", dc_opf(grid, one)
        yield "the same", dc_opf(grid, one, angles=False)
        yield "every load, by 0.01 MW", dc_opf(grid, {"sensitivity": 0.01})
    if matpower is not None:
        small = read_case(matpower / "case34sa.m")
        yield "one load, by 1 kW", dc_opf(small, {"sensitivity": 0.001, "norm": "1"})
        yield "every load, by 0.1 kW", dc_opf(small, {"sensitivity": 0.0001})
        large = read_case(matpower / "case1354pegase.m")
        yield "one load, by 0.1 MW", dc_opf(large, one, known=0.1)
        yield "every load, by 0.01 MW", dc_opf(large, {"sensitivity": 0.01}, known=0.1)
    demands = {"lower": 5, "upper": 120}
    for name, relation in (
        ("one number, by 1", partial(ScalarPrivate, 1.0, norm="1")),
        ("every number, by 0.1", partial(ScalarPrivate, 0.1)),
    ):
        yield name, replace(staffing(1), neighbours=relation(**demands))
        yield name, replace(flow(1), neighbours=relation(lower=20, upper=150))
        yield name, seats(1, relation(lower=5, upper=70))
    yield "every number, by 1", replace(many(100), name="packing, 100 rows")


def ways(lp: LinearProgram) -> tuple[Any, Any]:
    """Noise on each number alone, and what `feasible="always"` takes, at ε = 1."""
    request = SolveRequest.of(lp, 1.0, MANY_DELTA, feasible="always")
    parts = private_numbers(request, "tightened")
    kinds = [kinds_on(request, part)[:2] for part in parts]  # Laplace and Gaussian noise
    gaussian = any(other.width < one.width for one, other in kinds)
    by_itself = TruncatedGaussian() if gaussian else TruncatedLaplace()
    taken = OneMargin() if by_margin(request) is not None else noise_alone(request)
    return by_itself, by_itself if type(taken) is type(by_itself) else taken


def drawn(lp: LinearProgram, way: Any, count: int, seed: int) -> list[np.ndarray]:
    """Points of so many draws, at ε = 1."""
    with warnings.catch_warnings(action="ignore"):  # some ranges are narrower than the noise
        return [privlp.solve(lp, 1.0, MANY_DELTA, rng=seed + k, method=way).x for k in range(count)]


def beside_the_least(words: str, lp: LinearProgram, draws: int) -> tuple[tuple[str, ...], int, int]:
    """A row of the table, in how many draws of `feasible="always"` a row fails, and of how many."""
    count = min(draws, _DRAWS_OF_LARGE) if lp.shape[0] > 1000 else draws
    best, fails, means, broken = privlp.solve_exact(lp).objective, violates(lp), [], 0
    by_itself, taken = ways(lp)
    for way in dict.fromkeys((by_itself, taken)):
        found = drawn(lp, way, count, 20_000)
        means.append(np.array([abs(lp.objective(x) / best - 1) for x in found]))
        if way is taken:
            broken = sum(map(fails, found))
    alone, of_taken = means[0], means[-1]
    large = lp.shape[0] > 1000  # it is not tried while planning
    losses = {} if large else privlp.plan(lp, 1.0, MANY_DELTA, feasible="always").losses
    foretold = f"{losses['always']:.4f}" if losses else ""
    least, ratio = least_possible(lp, 1.0), of_taken.mean() / alone.mean()
    row = (lp.name, words, said(alone), said(of_taken), f"{ratio:.2f}")
    return (*row, f"{least:.4f}", foretold), broken, count


def _standing(name: str | None, words: str) -> list[str]:
    """A row of the table as it stands on the page."""
    lines = (stale.RESULTS / "never_violated.md").read_text(encoding="utf-8").splitlines()
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return next(row for row in cells if row[:2] == [name, words])


def together(draws: int, matpower: Path | None, *, large: bool) -> list[Part]:
    """Each number tightened alone, and what `feasible="always"` does now, beside the least."""
    rows, broken, total = [], 0, 0
    for words, lp in tqdm(list(beside(matpower)), desc="rows together"):
        if lp.shape[0] > 1000 and not large:
            rows.append(_standing(lp.name, words))
            continue
        row, failed, count = beside_the_least(words, lp, draws)
        rows, broken, total = [*rows, row], broken + failed, total + count
    said_of_all = f'Draws of `feasible="always"` in which some row fails: {broken} of {total:,}.'
    headers = ("program", "one record moves", "each alone", '`feasible="always"`', "ratio")
    return [said_of_all, ((*headers, "least", "foretold"), rows)]


def fails_with_control(lp: LinearProgram) -> Callable[[np.ndarray], bool]:
    """Whether what is kept leaves a row without balance, or exceeds a bound, beyond rounding.

    What is kept follows from the rows here, by a factorisation of its own.
    """
    made = sum(name.startswith("gen") for name in lp.variable_names or ())
    A, (low, high) = sp.csc_array(lp.A), lp.bounds.T
    solver = splu(A[:, made:])

    def fails(x: np.ndarray) -> bool:
        point = np.append(x, solver.solve(lp.b - A[:, :made] @ x))
        beyond = max((low - point).max(), (point - high).max())
        return bool(np.abs(A @ point - lp.b).max() > _NOTHING or beyond > _NOTHING)

    return fails


def followed_grids(
    matpower: Path | None, pglib: Path | None
) -> Iterator[tuple[str, Grid, float, float]]:
    """Where they are from, grids, a step of one load in MW, and the share to which it is known."""
    yield "MATPOWER", CASE14, 0.1, 0.2
    if matpower is not None:
        yield "MATPOWER", read_case(matpower / "case118.m"), 0.1, 0.2
        yield "MATPOWER", read_case(matpower / "case34sa.m"), 1e-3, 0.2
    if pglib is not None:
        for name, known in (("14_ieee", 0.1), ("118_ieee", 0.1), ("1354_pegase", 0.05)):
            yield "PGLib", read_case(pglib / f"pglib_opf_case{name}.m"), 0.1, known


def followed(draws: int, of_large: int, matpower: Path | None, pglib: Path | None) -> list[Part]:
    """Loads at each bus, and the same where angles and control follow them and are kept."""
    rows, failed, total = [], 0, 0
    for source, grid, size, known in tqdm(list(followed_grids(matpower, pglib)), desc="followed"):
        one, every = {"sensitivity": size, "norm": "1"}, {"sensitivity": size / 10}
        large = len(grid.loads) > 1000
        count, alone = (min(draws, of_large), 2) if large else (draws, min(draws, 30))
        limited = int((grid.lines[:, 3] > 0).sum())
        for relation, which in ((one, "one load"), (every, "every load")):
            lp, each = (make(grid, relation, known=known) for make in (dc_opf_with_control, dc_opf))
            begun = process_time()
            small = lp.with_recourse([*KEPT, "line*"] if limited else KEPT)
            closed = process_time()
            full, best, of_each = (privlp.solve_exact(of).objective for of in (lp, small, each))
            way, by_bus = ways(small)[1], ways(each)[1]
            started = process_time()
            found = drawn(small, way, count, 0)
            a_draw = (process_time() - started) / count
            lost = np.array([abs(small.objective(x) - best) / full for x in found])
            before = np.array(
                [abs(each.objective(x) / of_each - 1) for x in drawn(each, by_bus, alone, 0)]
            )
            failed, total = failed + sum(map(fails_with_control(lp), found)), total + count
            rows.append(
                (
                    f"{source}, {grid.name}",
                    limited,
                    f"{known:.0%}",
                    f"{which}, by {1e3 * relation['sensitivity']:g} kW",
                    said(before),
                    said(lost),
                    f"{lost.mean() / before.mean():.3f}",
                    f"{max(full / of_each - 1, 0.0):.3f}",
                    f"{closed - begun:.2g}",
                    f"{a_draw:.2g}",
                )
            )
    said_of_all = (
        "Draws in which some bus is without balance, or a bound or a line's limit is exceeded, by"
        f" 1e-6: {failed} of {total:,}."
    )
    headers = ("grid", "lines with limits", "loads known to", "one record moves", "each bus")
    more = ("kept", "ratio", "reserve costs", "s to close", "s of a draw")
    return [said_of_all, ((*headers, *more), rows)]


@click.command()
@click.option("--draws-followed", default=200, show_default=True, help="Where loads are followed.")
@click.option("--draws-large", default=3, show_default=True, help="The same, on 1,354 buses.")
@click.option("--pglib", type=click.Path(path_type=Path), help="Folder of case files of PGLib-OPF.")
@click.option("--only-followed", is_flag=True, help="Only the table of loads that are followed.")
@click.option("--only-together", is_flag=True, help="Only the table of rows together.")
@click.option("--matpower", type=click.Path(path_type=Path), help="Folder of its case files.")
@click.option("--large/--no-large", default=True, help="Whether to do 1,354 buses together again.")
@click.option("--draws-together", default=80, show_default=True, help="On rows together.")
@click.option("--draws", default=30, show_default=True, help="Of each method, on many numbers.")
@click.option("--programs", default=3, show_default=True, help="Of each published size.")
def main(
    draws: int,
    programs: int,
    draws_together: int,
    draws_followed: int,
    draws_large: int,
    matpower: Path | None,
    pglib: Path | None,
    *,
    only_followed: bool,
    only_together: bool,
    large: bool,
) -> None:
    """Measure, and write the page."""
    if only_together:
        of_rows = together(draws_together, matpower, large=large)
        write_page("never_violated", *of_rows, None, None, None, None, None)
        return
    found = followed(draws_followed, draws_large, matpower, pglib)
    if only_followed:
        write_page("never_violated", None, None, *found, None, None, None)
        return
    sizes, many = published_sizes(programs, draws // 3), many_numbers(draws)
    write_page(
        "never_violated", *together(draws_together, matpower, large=large), *found, sizes, *many
    )


if __name__ == "__main__":
    main()
