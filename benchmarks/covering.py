"""The default against dense multiplicative weights, published and tight, on one covering program.

Multiplicative weights at the best alpha of one grid, the default method at its default; the figure
of merit is the (s+1)-th largest violation in the user's units, mean over seeds. Then the time that
the published method takes, without noise, for the violation that the default reaches with noise.
Run with ``python -m benchmarks.covering``; an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate
from tqdm import tqdm

import privlp
from benchmarks.cache import Cache
from benchmarks.problems import Instance, covering
from benchmarks.published import METHOD_STYLES, picture
from benchmarks.stale import stamp
from privlp.pictures.figure import GREY

EPSILONS = (1.0, 2.0, 4.0)
ALPHAS = (10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 150.0, 300.0)
METHODS = {"dmw-published": {"width": 1.0}, "dmw": {}, "auto": {}}
ON_THE_GRID = ("dmw-published", "dmw")
# Accuracies at which the published method runs without noise, until it reaches what the default
# method does with noise.
WITHOUT_NOISE = (80.0, 56.0, 40.0, 28.0, 20.0, 14.0, 10.0)
S, DELTA = 500, 1e-6
RANGES, ALPHA_OF_COUNTS = ((0.8, 1.2), (0.2, 5.0), (0.0, 50.0)), 0.02
RESULTS = Path(__file__).parents[1] / "docs" / "results"


def violation(instance: Instance, method: str, eps: float, alpha: float | None, seed: int) -> float:
    """The (s+1)-th largest violation of one private solve."""
    solution = privlp.solve(
        instance.lp,
        eps,
        DELTA,
        S,
        alpha,
        opt=instance.opt,
        method=method,
        rng=seed,
        **METHODS[method],
    )
    return left_over(instance, solution.x)


def left_over(instance: Instance, x: np.ndarray) -> float:
    """The (s+1)-th largest signed violation at x."""
    return float(np.partition(instance.lp.A @ x - instance.lp.b, -(S + 1))[-(S + 1)])


@click.command()
@click.option(
    "--seeds", default=10, show_default=True, help="Programs and noise seeds to average over."
)
def main(seeds: int) -> None:
    """Measure, print the tables, and draw the picture."""
    cache = Cache("covering")
    instances = [covering(seed) for seed in range(seeds)]
    uniform = np.mean([left_over(i, i.opt / (i.lp.c * i.lp.c.size)) for i in instances])
    exact = [privlp.solve_exact(instance.lp).objective for instance in instances]
    n, d = instances[0].lp.shape
    print(f"covering program, n = {n}, d = {d}, s = {S}, delta = {DELTA:g}, {seeds} seeds")
    print(f"exact optimum (HiGHS): {np.mean(exact):.9f}; uniform x leaves {uniform:.3f}")
    grid = [(m, e, a) for m in ON_THE_GRID for e in EPSILONS for a in ALPHAS]
    grid += [(m, e, None) for m in ("dmw", "auto") for e in EPSILONS]
    means, errors = {}, {}
    for method, eps, alpha in tqdm(grid, unit="cell"):
        found = [
            cache.measure(
                {"method": method, "eps": eps, "alpha": alpha, "seed": seed},
                lambda m=method, e=eps, a=alpha, k=seed: violation(instances[k], m, e, a, k),
            )
            for seed in range(seeds)
        ]
        means[method, eps, alpha] = np.mean(found)
        errors[method, eps, alpha] = np.std(found, ddof=1) / np.sqrt(seeds)
    rows = []
    for eps in EPSILONS:
        best = {m: min(ALPHAS, key=lambda a, m=m, e=eps: means[m, e, a]) for m in ON_THE_GRID}
        row = [eps]
        for method, alpha in best.items():
            row += [f"{means[method, eps, alpha]:.3f} ± {errors[method, eps, alpha]:.3f}", alpha]
        published, tight = (means[m, eps, best[m]] for m in ON_THE_GRID)
        ours = means["auto", eps, None]
        row += [f"{means[m, eps, None]:.4f} ± {errors[m, eps, None]:.4f}" for m in ("dmw", "auto")]
        rows.append(
            [
                *row,
                *(f"{ratio:.3f}" for ratio in (tight / published, ours / published, ours / tight)),
            ]
        )
    headers = (
        "eps",
        *(word for m in ON_THE_GRID for word in (m, "best alpha")),
        "dmw, alpha=None",
        "auto",
        "dmw / published",
    )
    headers += ("auto / published", "auto / dmw")
    print(tabulate(rows, headers=headers, disable_numparse=True))
    RESULTS.mkdir(parents=True, exist_ok=True)
    caption = (
        f"Violation left after giving up s = {S} rows of the covering program (n = {n}, d = {d}),"
        f" delta = {DELTA:g}, replace,"
    )
    table = tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)
    (RESULTS / "covering.md").write_text(
        f"# Covering program\n\n{caption}\nmean ± standard error over {seeds} seeds; uniform x"
        " leaves"
        f" {uniform:.3f}.\n\n{table}\n\n{_time_without_noise(instances[0])}\n\n"
        f"{_unknown_optimum(cache, instances)}\n\n![Violation"
        f" over alpha](covering.png)\n\n{stamp('covering')}"
    )
    _draw(means, errors, float(uniform))


def _time_without_noise(instance: Instance) -> str:
    """How long the published method takes, without noise, and what it has reached by then."""

    def run(
        method: str, eps: float, alpha: float | None, **options: float
    ) -> tuple[float, float, int]:
        start = time.process_time()
        solution = privlp.solve(
            instance.lp, eps, DELTA, S, alpha, opt=instance.opt, method=method, rng=0, **options
        )
        return time.process_time() - start, left_over(instance, solution.x), solution.iterations

    run("auto", EPSILONS[-1], None)  # imports, and what is prepared once, do not count
    ours = run("auto", EPSILONS[-1], None)
    rows = [
        (
            f"auto, eps = {EPSILONS[-1]:g}",
            "-",
            f"{ours[2]:,}",
            f"{ours[1]:.4f}",
            f"{ours[0]:.2f}",
            "1",
        )
    ]
    for alpha in WITHOUT_NOISE:
        seconds, violation, rounds = run("dmw-published", float("inf"), alpha, width=1.0)
        ratio = f"{seconds / ours[0]:.1f}"
        rows.append(
            (
                "dmw-published, no noise",
                f"{alpha:g}",
                f"{rounds:,}",
                f"{violation:.4f}",
                f"{seconds:.2f}",
                ratio,
            )
        )
        if violation <= ours[1]:
            break
    promised = rounds * (alpha / ours[1]) ** 2
    seconds *= promised / rounds
    ratio = f"{seconds / ours[0]:.2g}"
    rows.append(
        (
            "the same, rounds that promise it",
            f"{ours[1]:.4f}",
            f"{promised:.2g}",
            "-",
            f"{seconds:.2g} (from the above)",
            ratio,
        )
    )
    headers = ("method", "alpha", "rounds", "violation", "seconds of CPU", "ratio")
    table = tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)
    print(table)
    return f"Time, measured in one run, for the violation that the default reaches:\n\n{table}"


def _unknown_optimum(cache: Cache, instances: list[Instance]) -> str:
    """Objective and violation where only a range of the optimum is public."""

    def run(instance: Instance, eps: float, ends: tuple[float, float], seed: int) -> list[float]:
        opt = tuple(end * instance.opt for end in ends)
        solution = privlp.solve(instance.lp, eps, DELTA, S, opt=opt, rng=seed)
        found = privlp.compare(instance.lp, solution)
        assert solution.privacy.eps <= eps
        return [
            solution.objective / instance.opt,
            left_over(instance, solution.x),
            found.n_violated(ALPHA_OF_COUNTS),
        ]

    rows = []
    for ends in RANGES:
        for eps in EPSILONS:
            found = [
                cache.measure(
                    {"range": ends, "eps": eps, "seed": seed},
                    lambda i=i, e=eps, r=ends, k=seed: run(i, e, r, k),
                )
                for seed, i in enumerate(instances)
            ]
            objective, violation, count = np.mean(found, axis=0)
            worst = np.max(np.array(found)[:, 2])
            rows.append(
                (
                    f"{ends[0]:g} to {ends[1]:g}",
                    f"{eps:g}",
                    f"{objective:.4f}",
                    f"{violation:.4f}",
                    f"{count:.0f}",
                    f"{worst:.0f}",
                )
            )
    headers = (
        "range / optimum",
        "eps",
        "objective / optimum",
        "violation",
        f"rows beyond {ALPHA_OF_COUNTS:g} ‖A_i‖₂",
        "the most of all seeds",
    )
    table = tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)
    print(table)
    return (
        "Only a public range of the optimum is given; search and solve share the"
        f" budget:\n\n{table}"
    )


def _draw(means: dict, errors: dict, uniform: float) -> None:
    with picture("covering", len(EPSILONS), sharey=True) as axes:
        for ax, eps in zip(axes, EPSILONS, strict=True):
            for method in ON_THE_GRID:
                y = [means[method, eps, a] for a in ALPHAS]
                ax.errorbar(
                    ALPHAS,
                    y,
                    [errors[method, eps, a] for a in ALPHAS],
                    label=method,
                    **METHOD_STYLES[method],
                )
            ax.axhline(means["auto", eps, None], label="auto, default α", **METHOD_STYLES["auto"])
            ax.axhline(uniform, color=GREY, linestyle=":", label="uniform x")
            ax.set(
                xscale="log",
                yscale="log",
                xlabel="α (violation per unit of ‖Aᵢ‖₂)",
                title=f"ε = {eps:g}",
            )
        axes[0].set_ylabel(f"violation left after\ngiving up {S} rows\n(units of A x − b)")


if __name__ == "__main__":
    main()
