"""The default against dense multiplicative weights, published and tight, on one covering program.

Multiplicative weights at the best alpha of one grid, the default at its default; the figure of
merit is the (s+1)-th largest violation in the user's units, mean over seeds. Then the time that the
published method takes, without noise, for the violation that the default reaches with noise.
Run with ``python -m benchmarks.covering``; an interrupted run goes on where it stopped.
"""

import math
import time
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

import privlp
from benchmarks.cache import Cache
from benchmarks.problems import Instance, covering
from benchmarks.published import METHOD_STYLES, picture, write_page
from benchmarks.tables import Table, said, standard_error
from privlp.pictures import GREY

EPSILONS = (1.0, 2.0, 4.0)
ALPHAS = (10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 150.0, 300.0)
METHODS: dict[str, dict[str, Any]] = {"dmw-published": {"width": 1.0}, "dmw": {}, "auto": {}}
ON_THE_GRID = ("dmw-published", "dmw")
#: Accuracies at which the published method runs without noise, until it reaches what the default
#: does with noise.
WITHOUT_NOISE = (80.0, 56.0, 40.0, 28.0, 20.0, 14.0, 10.0)
SEEDS, S, DELTA = 10, 500, 1e-6

Key = tuple[str, float, float | None]


def left_over(instance: Instance, x: np.ndarray) -> float:
    """The (s+1)-th largest signed violation at x."""
    return float(np.partition(instance.lp.A @ x - instance.lp.b, -(S + 1))[-(S + 1)])


def solved(instance: Instance, key: Key, seed: int) -> tuple[float, privlp.Solution]:
    """The violation that one private solve leaves, and the solution."""
    method, eps, alpha = key
    asked = {"opt": instance.opt, "method": method, "rng": seed, **METHODS[method]}
    solution = privlp.solve(instance.lp, eps, DELTA, S, alpha, **asked)
    return left_over(instance, solution.x), solution


def main() -> None:
    cache = Cache("covering")
    instances = [covering(seed) for seed in range(SEEDS)]
    grid: list[Key] = [(m, e, a) for m in ON_THE_GRID for e in EPSILONS for a in ALPHAS]
    grid += [(m, e, None) for m in ("dmw", "auto") for e in EPSILONS]
    found: dict[Key, np.ndarray] = {}
    for key in tqdm(grid, unit="cell"):
        settings = dict(zip(("method", "eps", "alpha"), key, strict=True))
        runs = [partial(solved, instance, key, seed) for seed, instance in enumerate(instances)]
        found[key] = np.array(
            [
                cache.measure({**settings, "seed": seed}, lambda run=run: run()[0])
                for seed, run in enumerate(runs)
            ]
        )
    uniform = np.mean([left_over(i, i.opt / (i.lp.c * i.lp.c.size)) for i in instances])
    _draw(found, float(uniform))
    told = f"{SEEDS} seeds; uniform x leaves {uniform:.3f}."
    write_page("covering", told, _table(found), _time_without_noise(instances[0]))


def _table(found: dict[Key, np.ndarray]) -> Table:
    rows = []
    for eps in EPSILONS:
        grids = ([(m, eps, alpha) for alpha in ALPHAS] for m in ON_THE_GRID)
        best = [min(grid, key=lambda key: found[key].mean()) for grid in grids]
        shown: list[Key] = [*best, ("dmw", eps, None), ("auto", eps, None)]
        means, cells = [found[key].mean() for key in shown], [said(found[key]) for key in shown]
        published, tight, _, ours = means
        ratios = (f"{ratio:.3f}" for ratio in (tight / published, ours / published, ours / tight))
        alphas = (f"{alpha:g}" for _, _, alpha in best)
        paired = [word for pair in zip(cells[:2], alphas, strict=True) for word in pair]
        rows.append([f"{eps:g}", *paired, *cells[2:], *ratios])
    best_of = [word for method in ON_THE_GRID for word in (method, "best alpha")]
    ratios_of = ("dmw / published", "auto / published", "auto / dmw")
    return ["eps", *best_of, "dmw, alpha=None", "auto", *ratios_of], rows


def _time_without_noise(instance: Instance) -> Table:
    """How long the published method takes, without noise, and what it has reached by then."""

    def run(*key: Any) -> tuple[float, float, int]:
        start = time.process_time()
        violation, solution = solved(instance, key, 0)  # type: ignore[arg-type]
        return time.process_time() - start, violation, solution.iterations

    eps = EPSILONS[-1]
    run("auto", eps, None)  # imports, and what is prepared once, do not count
    least, aim, count = run("auto", eps, None)
    rows = [(f"auto, eps = {eps:g}", "-", f"{count:,}", f"{aim:.4f}", f"{least:.2f}", "1")]
    for alpha in WITHOUT_NOISE:
        seconds, violation, rounds = run("dmw-published", math.inf, alpha)
        reached = f"{rounds:,}", f"{violation:.4f}", f"{seconds:.2f}", f"{seconds / least:.1f}"
        rows.append(("dmw-published, no noise", f"{alpha:g}", *reached))
        if violation <= aim:
            break
    more = (alpha / aim) ** 2
    told = f"{aim:.4f}", f"{rounds * more:.2g}", "-", f"{seconds * more:.2g} (from the above)"
    rows.append(("the same, rounds that promise it", *told, f"{seconds * more / least:.2g}"))
    return ("method", "alpha", "rounds", "violation", "seconds of CPU", "ratio"), rows


def _draw(found: dict[Key, np.ndarray], uniform: float) -> None:
    with picture("covering", len(EPSILONS), sharey=True) as axes:
        for ax, eps in zip(axes, EPSILONS, strict=True):
            for method in ON_THE_GRID:
                draws = [found[method, eps, a] for a in ALPHAS]
                means, errors = ([of(x) for x in draws] for of in (np.mean, standard_error))
                ax.errorbar(ALPHAS, means, errors, label=method, **METHOD_STYLES[method])
            auto = found["auto", eps, None].mean()
            ax.axhline(auto, label="auto, default α", **METHOD_STYLES["auto"])
            ax.axhline(uniform, color=GREY, linestyle=":", label="uniform x")
            ax.set(xscale="log", yscale="log", title=f"ε = {eps:g}")
            ax.set_xlabel("α (violation per unit of ‖Aᵢ‖₂)")
        axes[0].set_ylabel(f"violation left after\ngiving up {S} rows\n(units of A x − b)")


if __name__ == "__main__":
    main()
