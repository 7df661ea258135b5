"""Follow the perturbed leader: textbook programs without noise, covering and routing with noise.

Run with ``python -m benchmarks.ftpl``; about five minutes of one core. The textbook programs are
read from ../shared/data/lp.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import click
import numpy as np

import privlp
from benchmarks import problems
from benchmarks.measure import ROOT
from benchmarks.published import METHOD_STYLES, over_eps, picture, write_page
from privlp import LinearProgram, solve_exact

PROGRAMS = ROOT.parent / "shared" / "data" / "lp"
NAMES = ("adlittle", "afiro", "avgas", "e226", "israel", "scrs8", "shell", "stair")
#: Given up in each.
FAMILIES = {"covering": 500, "multicommodity": 50}
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
FIGURES = (
    "family",
    "ε",
    "method",
    "(s+1)-th largest violation",
    "largest",
    "mean excess",
    "rounds",
    "seconds",
)


def netlib(name: str) -> tuple[LinearProgram, privlp.ExactSolution]:
    """One of the textbook programs, with a public box, and its optimum."""
    path = PROGRAMS / f"{name}.mps"
    size = np.abs(solve_exact(LinearProgram.from_mps(path)).x).max()
    lp = LinearProgram.from_mps(path, box=10 * (1 + size))
    return lp, solve_exact(lp)


def without_noise(name: str) -> list[object]:
    """A row of the table of textbook programs."""
    lp, exact = netlib(name)
    start = time.process_time()
    solution = privlp.solve(lp, math.inf, 0.0, 1, opt=exact.objective, method="ftpl", rng=0)
    seconds = time.process_time() - start
    scale = (np.abs(np.where(np.isfinite(lp.b), lp.b, lp.row_lower)) + abs(lp.A) @ np.abs(exact.x))[
        lp.private
    ]
    left = privlp.compare(lp, solution, exact).violations[lp.private]
    relative = (left[scale > 0] / scale[scale > 0]).max(initial=0.0)
    others = f"{left[scale == 0].max():.1e}" if (scale == 0).any() else "–"
    gap = (solution.objective - exact.objective) / (1 + abs(exact.objective))
    rows = f"{int((~lp.private).sum())} + {int(lp.private.sum())}"
    seconds_each = 1e3 * seconds / solution.iterations
    return [
        name,
        rows,
        lp.shape[1],
        solution.iterations,
        f"{relative:.2%}",
        others,
        f"{gap:+.0e}",
        f"{seconds:.1f}",
        f"{seconds_each:.1f}",
    ]


def with_noise(
    family: str, s: int, seeds: int
) -> tuple[list[list[object]], dict[str, list[float]]]:
    """Rows of the table, and the means of each method over eps."""
    make = {"covering": problems.covering, "multicommodity": problems.multicommodity}[family]
    methods = ("ftpl", "mirror") if family == "covering" else ("ftpl",)
    instances = [make(seed) for seed in range(seeds)]
    rows, means = [], {method: [] for method in methods}
    for eps in EPSILONS:
        for method in methods:
            start = time.process_time()
            solutions = [
                privlp.solve(i.lp, eps, DELTA, s, opt=i.opt, method=method, rng=seed)
                for seed, i in enumerate(instances)
            ]
            seconds = (time.process_time() - start) / seeds
            left = []
            for instance, solution in zip(instances, solutions, strict=True):
                signed = np.sort((instance.lp.A @ solution.x - instance.lp.b)[instance.lp.private])
                left.append((signed[-s - 1], signed[-1], np.maximum(signed, 0).mean()))
            at, worst, mean = np.mean(left, axis=0)
            means[method].append(at)
            error = np.std(left, axis=0, ddof=1)[0] / math.sqrt(seeds)
            rows.append(
                [
                    family,
                    f"{eps:g}",
                    method,
                    f"{at:.4f} ± {error:.4f}",
                    f"{worst:.4f}",
                    f"{mean:.4f}",
                    solutions[0].iterations,
                    f"{seconds:.2f}",
                ]
            )
    return rows, means


def cheapest(instance: problems.Instance) -> np.ndarray:
    """What is best without any private row."""
    lp = instance.lp
    rows = ~lp.private
    return solve_exact(
        LinearProgram(lp.c, lp.A[rows], lp.b[rows], row_lower=lp.row_lower[rows], bounds=lp.bounds)
    ).x


@click.command()
@click.option(
    "--seeds", default=5, show_default=True, help="Programs and noise seeds to average over."
)
def main(seeds: int) -> None:
    """Measure, write the page, and draw the picture."""
    blocks: list[object] = []
    if Path(PROGRAMS).exists():
        headers = (
            "program",
            "rows, public + private",
            "variables",
            "rounds",
            "largest violation, relative",
            "of rows that are 0 at x*",
            "objective over the optimum, relative",
            "seconds",
            "ms per round",
        )
        blocks += [
            (
                "## Without noise\n\nEqualities are public, inequalities private, abs(x_j) at most"
                " 10 (1 + the largest entry of x*), the optimum given. Largest violation over"
                " private rows relative to abs(b_i) + abs(A_i)·abs(x*); rows for which that is 0"
                " (all their variables are 0 at x*) are listed apart, in their own units."
            ),
            (headers, [without_noise(name) for name in NAMES]),
        ]
    found = {family: with_noise(family, s, seeds) for family, s in FAMILIES.items()}
    _draw({family: means for family, (_, means) in found.items()})
    instance = problems.multicommodity(0)
    signed = np.sort((instance.lp.A @ cheapest(instance) - instance.lp.b)[instance.lp.private])
    n, d = int(instance.lp.private.sum()), instance.lp.shape[1]
    blocks += [
        (
            f"## With noise\n\nδ = {DELTA:g}, replace, mean ± standard error over {seeds} programs,"
            " violations in units of A x − b. Covering: n = 20,000, d = 80, s = 500."
            f" Multicommodity (seed 0): {n:,} private capacities of links in each of 96 hours, {d}"
            " shares of 25 commodities on up to four paths each, which public rows make add up to"
            " 1; a violation of 0.1 is a load of 10 % over capacity, and s = 50. The cheapest"
            f" routes regardless of capacity exceed them by {signed[-51]:.2f} at s = 50,"
            f" {signed[-1]:.2f} at most and {np.maximum(signed, 0).mean():.3f} on average."
        ),
        (FIGURES, [row for rows, _ in found.values() for row in rows]),
        "![Violation over ε](ftpl.png)",
    ]
    write_page("ftpl", "Follow the perturbed leader", blocks)


def _draw(found: dict[str, dict[str, list[float]]]) -> None:
    with picture("ftpl", len(found)) as axes:
        for axis, (family, means) in zip(axes, found.items(), strict=True):
            for method, values in means.items():
                axis.plot(EPSILONS, values, label=method, **METHOD_STYLES[method])
            over_eps(axis, EPSILONS)
            axis.set(title=f"{family}, s = {FAMILIES[family]}", ylim=(0, None))
        axes[0].set_ylabel("(s+1)-th largest violation\n(units of A x − b)")


if __name__ == "__main__":
    main()
