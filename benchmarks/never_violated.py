"""Constraints that are never violated: widths of the noise, and what they cost.

On the advertising program, truncated Laplace noise of dimension-free against published width, with
Hsu et al. beside them; on programs of up to a thousand private numbers, truncated Gaussian noise as
well.

Run with ``python -m benchmarks.never_violated``; about 30 minutes of one core.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np
from tqdm import tqdm

import privlp
from benchmarks import advertising_sizes
from benchmarks.advertising_sizes import violated_rows
from benchmarks.published import over_eps, picture, write_page
from privlp import LinearProgram, RowPrivate, ScalarPrivate
from privlp.examples import advertising
from privlp.methods.tightened.noise import TruncatedGaussian, TruncatedLaplace
from privlp.pictures.figure import MARKERS
from privlp.privacy import TruncatedGaussianMechanism, TruncatedLaplaceMechanism

EPSILONS = (0.25, 0.5, 1.0, 2.0)
DELTA = 0.1
VARIANTS = {
    "budgets": "budgets private: b moves by at most 0.1 in sum (scalar-private)",
    "prices": (
        "prices private: one advertiser's 10 prices move by at most 0.001 each, in A (row-private)"
        " and in c (0.01 in sum)"
    ),
    "both": "budgets and prices private, all at once",
}
NEVER = {"dimension-free": TruncatedLaplace(), "published": "truncated-laplace-published"}
SIZES = (12, 100, 1000)
MANY_DELTA = 1e-6
EVERY = {
    "Gaussian": TruncatedGaussian(),
    "Laplace": TruncatedLaplace(),
    "published": "truncated-laplace-published",
}


def rival(lp: LinearProgram, private: str) -> LinearProgram:
    """The program as the solver of Hsu et al. can take it: with public, positive costs."""
    sold = lp.c > 0
    rows = lp.private[:, None] & (lp.A > 0)
    relations: dict[str, Any] = {
        "budgets": ScalarPrivate(0.1, norm="1"),
        "prices": RowPrivate(
            0.001,
            lower=np.where(rows, 0.0, lp.A)[:, sold],
            upper=np.where(rows, 1.0, lp.A)[:, sold],
        ),
    }
    relations["both"] = (relations["budgets"], relations["prices"])
    return replace(
        lp,
        c=lp.c[sold],
        A=lp.A[:, sold],
        bounds=lp.bounds[sold],
        variable_names=None,
        neighbours=relations[private],
    )


def measure(private: str, eps: float, draws: int) -> dict[str, np.ndarray]:
    """Sub-optimality, largest violation and number of violated rows of each draw, by method."""
    lp = advertising(private=private)  # type: ignore[arg-type]
    best = privlp.solve_exact(lp).objective
    reduced, found = rival(lp, private), {}
    jobs = {name: (lp, {"method": method}) for name, method in NEVER.items()}
    jobs["direct noise"] = lp, {"method": "direct-noise"}
    jobs["Hsu et al."] = reduced, {"method": "mw", "opt": best}
    for name, (program, options) in jobs.items():
        rows = []
        for seed in range(draws):
            x = privlp.solve(program, eps, DELTA, rng=seed, **options).x
            violation = float((program.A @ x - program.b).max())
            rows.append(
                (1 - program.objective(x) / best, max(violation, 0.0), violated_rows(program, x))
            )
        found[name] = np.array(rows)
    return found


def widths(eps: float) -> list[tuple[Any, ...]]:
    """Widths of the noise on m numbers, each of which moves by at most 1, at ``MANY_DELTA``."""
    rows = []
    for m in (1, 2, 3, 12, 100, 1000, 10_000):
        of_sum = partial(TruncatedLaplaceMechanism.of_budget, float(m), eps, MANY_DELTA)
        gaussian = TruncatedGaussianMechanism.of_budget(
            math.sqrt(m), eps, MANY_DELTA, l1=float(m), entry=1.0, touched=m
        )
        found = (
            gaussian.width,
            of_sum(entry=1.0).width,
            of_sum().width,
            of_sum(published_for=m).width,
        )
        rows.append((m, *(f"{width:,.1f}" for width in found)))
    return rows


def many(m: int) -> LinearProgram:
    """A packing program of m rows and 20 variables whose right-hand sides all move by at most 1."""
    rng = np.random.default_rng(m)
    relation = ScalarPrivate(1.0, lower=500, upper=6000)
    A, b = rng.uniform(0, 1, (m, 20)), rng.uniform(3000, 5000, m)
    return LinearProgram(rng.uniform(1, 2, 20), A, b, sense="max", neighbours=relation)


def cost_of_many(eps: float, draws: int) -> list[tuple[Any, ...]]:
    """Programs of many private numbers: mean sub-optimality of each method."""
    rows = []
    for m in SIZES:
        lp, found, violated = many(m), [], 0
        best = privlp.solve_exact(lp).objective
        for method in EVERY.values():
            points = [
                privlp.solve(lp, eps, MANY_DELTA, method=method, rng=seed).x
                for seed in range(draws)
            ]
            losses = np.array([1 - lp.objective(x) / best for x in points])
            found.append(f"{losses.mean():.4f} ± {losses.std(ddof=1) / np.sqrt(draws):.4f}")
            violated += sum(violated_rows(lp, x) for x in points)
        taken = privlp.plan(lp, eps, MANY_DELTA, feasible="always").best
        rows.append((m, f"{eps:g}", *found, violated, taken))
    return rows


@click.command()
@click.option("--draws", default=500, show_default=True, help="Draws of each method.")
@click.option(
    "--draws-of-many",
    default=30,
    show_default=True,
    help="Draws of each method on programs of many private numbers.",
)
@click.option(
    "--programs", default=3, show_default=True, help="Advertising programs of each published size."
)
def main(draws: int, draws_of_many: int, programs: int) -> None:
    """Measure, write the page, and draw the picture."""
    headers = (
        "ε",
        "dimension-free",
        "published",
        "ratio",
        "rows violated",
        "Hsu et al.: worst violation",
        "rows violated",
        "direct noise: sub-optimality",
        "worst violation",
    )
    parts: list[Any] = [
        (
            f"10 pages, 5 advertisers, budgets bind (`privlp.examples.advertising`); δ = {DELTA:g},"
            f" {draws} draws of each method. Sub-optimality: mean of 1 − revenue/optimum, ±"
            " standard error. Rows violated: mean number of true rows and bounds violated by a"
            " draw, in exact arithmetic; for the first two methods the total over all draws. Worst"
            " violation: mean over draws of the largest violation; budgets are between 4 and 8."
            " The solver of Hsu et al. (with this package's sensitivities and accounting) is given"
            " the true optimum for nothing and does not protect the costs; it keeps the revenue at"
            " the optimum and violates rows."
        )
    ]
    curves: dict[str, dict[str, list[tuple[float, float]]]] = {
        private: {name: [] for name in NEVER} for private in VARIANTS
    }
    for private, words in VARIANTS.items():
        rows = []
        for eps in tqdm(EPSILONS, desc=private):
            found = measure(private, eps, draws)
            means = {name: values.mean(axis=0) for name, values in found.items()}
            errors = {
                name: values.std(axis=0, ddof=1) / np.sqrt(draws) for name, values in found.items()
            }
            for name, points in curves[private].items():
                points.append((means[name][0], errors[name][0]))
            never = [f"{means[name][0]:.4f} ± {errors[name][0]:.4f}" for name in NEVER]
            ratio = means["dimension-free"][0] / means["published"][0]
            total = sum(int(found[name][:, 2].sum()) for name in NEVER)
            hsu, direct = means["Hsu et al."], means["direct noise"]
            rows.append(
                [
                    f"{eps:g}",
                    *never,
                    f"{ratio:.3f}",
                    total,
                    f"{hsu[1]:.3f}",
                    f"{hsu[2]:.2f}",
                    f"{direct[0]:.4f}",
                    f"{direct[1]:.3f}",
                ]
            )
        parts += [f"## {words[0].upper()}{words[1:]}", (headers, rows)]
    _draw(curves)
    parts += ["![Sub-optimality over ε](never_violated.png)"]
    parts += advertising_sizes.parts(programs, draws_of_many // 3)
    parts += _many_numbers(draws_of_many)
    write_page("never_violated", "Constraints that are never violated", parts)


def _many_numbers(draws: int) -> list[Any]:
    """The part of the page on many private numbers."""
    rows = [
        row
        for eps in tqdm((0.5, 1.0, 2.0), desc="many numbers")
        for row in cost_of_many(eps, draws)
    ]
    return [
        "## Many numbers: truncated Gaussian noise",
        (
            "Width of the noise (half of the largest decrease) on m numbers that all move by at"
            f" most 1 between neighbours, at ε = 1, δ = {MANY_DELTA:g}. Laplace with entry bound:"
            " what Laplace noise draws; without: the same when only the sum of all changes"
            " is bounded."
        ),
        (
            ("m", "Gaussian", "Laplace, with entry bound", "Laplace, without", "published"),
            widths(1.0),
        ),
        (
            "Packing programs of m rows and 20 variables, all right-hand sides private"
            " (`ScalarPrivate(1.0)`), between 3,000 and 5,000, declared between 500 and 6,000; δ ="
            f" {MANY_DELTA:g}, {draws} draws of each method. Mean sub-optimality ± standard error;"
            " rows violated: total over all draws and methods, in exact arithmetic; the last"
            ' column is what `feasible="always"` takes.'
        ),
        (("m", "ε", "Gaussian", "Laplace", "published", "rows violated", "taken"), rows),
    ]


def _draw(curves: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
    with picture("never_violated", len(curves)) as axes:
        for axis, (private, of_widths) in zip(axes, curves.items(), strict=True):
            for (name, points), marker in zip(of_widths.items(), MARKERS, strict=False):
                axis.errorbar(
                    EPSILONS, *zip(*points, strict=True), marker=marker, label=f"{name} width"
                )
            over_eps(axis, EPSILONS)
            axis.set(title=f"{private} private", ylim=(0, None))
        axes[0].set_ylabel("mean sub-optimality\n(share of the optimal revenue)")


if __name__ == "__main__":
    main()
