"""Published against tight dense multiplicative weights on the covering program.

Each method at its best alpha of one grid; the figure of merit is the (s+1)-th largest violation in the user's units, mean over
seeds. Run with ``python -m benchmarks.covering``; an interrupted run goes on where it stopped.
"""

from __future__ import annotations

from pathlib import Path

import click
import matplotlib.pyplot as plt
import numpy as np
from tabulate import tabulate
from tqdm import tqdm

import privlp
from benchmarks.cache import Cache
from benchmarks.problems import Instance, covering

EPSILONS = (1.0, 2.0, 4.0)
ALPHAS = (10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 150.0, 300.0)
METHODS = {"dmw-published": {"width": 1.0}, "dmw": {}}
S, DELTA = 500, 1e-6
RESULTS = Path(__file__).parents[1] / "docs" / "results"


def violation(instance: Instance, method: str, eps: float, alpha: float | None, seed: int) -> float:
    """The (s+1)-th largest violation of one private solve."""
    solution = privlp.solve(instance.lp, eps, DELTA, S, alpha, opt=instance.opt, method=method, rng=seed, **METHODS[method])
    return left_over(instance, solution.x)


def left_over(instance: Instance, x: np.ndarray) -> float:
    """The (s+1)-th largest signed violation at x."""
    return float(np.partition(instance.lp.A @ x - instance.lp.b, -(S + 1))[-(S + 1)])


@click.command()
@click.option("--seeds", default=10, show_default=True, help="Programs and noise seeds to average over.")
def main(seeds: int) -> None:
    """Measure, print the tables, and draw the picture."""
    cache = Cache("covering")
    instances = [covering(seed) for seed in range(seeds)]
    uniform = np.mean([left_over(i, i.opt / (i.lp.c * i.lp.c.size)) for i in instances])
    exact = [privlp.solve_exact(instance.lp).objective for instance in instances]
    n, d = instances[0].lp.shape
    print(f"covering program, n = {n}, d = {d}, s = {S}, delta = {DELTA:g}, {seeds} seeds")
    print(f"exact optimum (HiGHS): {np.mean(exact):.9f}; uniform x leaves {uniform:.3f}")
    grid = [(m, e, a) for m in METHODS for e in EPSILONS for a in (*ALPHAS, None) if a is not None or m == "dmw"]
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
        best = {m: min(ALPHAS, key=lambda a, m=m, e=eps: means[m, e, a]) for m in METHODS}
        row = [eps]
        for method, alpha in best.items():
            row += [f"{means[method, eps, alpha]:.3f} ± {errors[method, eps, alpha]:.3f}", alpha]
        ratio = means["dmw", eps, best["dmw"]] / means["dmw-published", eps, best["dmw-published"]]
        default = means["dmw", eps, None]
        rows.append([*row, f"{ratio:.3f}", f"{default:.3f} ± {errors['dmw', eps, None]:.3f}"])
    headers = ("eps", "dmw-published", "best alpha", "dmw", "best alpha", "dmw / dmw-published", "dmw, alpha=None")
    print(tabulate(rows, headers=headers, disable_numparse=True))
    RESULTS.mkdir(parents=True, exist_ok=True)
    caption = f"Violation left after giving up s = {S} rows of the covering program (n = {n}, d = {d}), delta = {DELTA:g}, replace,"
    table = tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)
    (RESULTS / "covering.md").write_text(
        f"{caption}\nmean ± standard error over {seeds} seeds; uniform x leaves {uniform:.3f}.\n\n{table}\n"
    )
    _draw(means, errors, float(uniform))


def _draw(means: dict, errors: dict, uniform: float) -> None:
    figure, axes = plt.subplots(1, len(EPSILONS), sharey=True, figsize=(11, 3.6), layout="constrained")
    for ax, eps in zip(axes, EPSILONS, strict=True):
        for method, marker in zip(METHODS, "so", strict=True):
            y = [means[method, eps, a] for a in ALPHAS]
            ax.errorbar(ALPHAS, y, [errors[method, eps, a] for a in ALPHAS], marker=marker, label=method, linewidth=2)
        ax.axhline(uniform, color="0.5", linestyle=":", label="uniform x")
        ax.set(xscale="log", xlabel="alpha", title=f"eps = {eps:g}")
    axes[0].set_ylabel(f"violation left after giving up {S} rows")
    axes[0].legend(frameon=False)
    figure.savefig(RESULTS / "covering.png", dpi=110)
    print("table and picture: docs/results/covering.md, covering.png")


if __name__ == "__main__":
    main()
