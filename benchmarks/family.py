"""All constraint-private methods side by side on families of programs, at equal eps, delta and s.

One rule for all.

Run with ``python -m benchmarks.family``; an interrupted run goes on where it stopped. About half an
hour of one core.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from tqdm import tqdm

import privlp
from benchmarks import problems
from benchmarks.cache import Cache
from benchmarks.published import METHOD_STYLES, over_eps, picture, write_page
from privlp.problem.standard_form import StandardForm

FAMILIES: dict[str, Callable[[int], problems.Instance]] = {
    "covering, 2,000 x 40": lambda seed: problems.covering(seed, n=2_000, d=40),
    "covering, 20,000 x 80": problems.covering,
    "covering, 100,000 x 20": lambda seed: problems.covering(seed, n=100_000, d=20),
    "packing, 20,000 x 60": problems.packing,
    "game, 20,000 x 50": problems.game,
    "LP-SVM, 20,000 x 100": problems.classification,
    "multi-commodity flow": problems.multicommodity,
}
EPSILONS = (0.5, 1.0, 2.0, 4.0)
METHODS = ("dmw-published", "dmw", "mirror", "mirror-dense", "ftpl", "auto")
PREDICTED = ("dmw", "mirror", "mirror-dense", "ftpl", "auto")
SHARE, DELTA = 0.025, 1e-6
PUBLISHED_ROUNDS = 1_000
CALIBRATED_ON = 3
_MEGABYTE = 2**20


def given_up(instance: problems.Instance) -> int:
    """s, a fortieth of the private rows."""
    return round(SHARE * int(instance.lp.private.sum()))


def violations(instance: problems.Instance, x: np.ndarray) -> tuple[float, float]:
    """The (s+1)-th largest signed violation of a private row at x.

    In the user's units, and per unit of row norm.
    """
    lp, rank = instance.lp, given_up(instance) + 1
    private = lp.private & np.isfinite(lp.b)
    signed = (lp.A @ x - lp.b)[private]
    squares = (lp.A**2).sum(axis=1)
    norms = np.sqrt(np.asarray(squares).ravel())[private]
    scaled = signed / np.where(norms > 0, norms, 1.0)
    return tuple(float(np.partition(v, -rank)[-rank]) for v in (signed, scaled))


def options_of(instance: problems.Instance, method: str) -> dict[str, Any]:
    """Arguments that only the published method needs: true bounds, and alpha for 1,000 rounds."""
    if method != "dmw-published":
        return {}
    lp, form = instance.lp, StandardForm.of(instance.lp)
    width = float(abs(lp.A).max()), float(np.abs(lp.b).max()) or 1.0
    rho = width[0] * float((form.cost_of(instance.opt) / form.cost).max()) + width[1]
    return {"width": width, "alpha": 6 * rho * np.sqrt(np.log(form.n_private) / PUBLISHED_ROUNDS)}


def measure(instance: problems.Instance, method: str, eps: float, seed: int) -> list[float] | None:
    """Violation, violation per row norm, objective over optimum, rounds and seconds of a solve.

    None where it does not apply.
    """
    start = time.process_time()
    try:
        arguments = {
            "opt": instance.opt,
            "method": method,
            "rng": seed,
            **options_of(instance, method),
        }
        solution = privlp.solve(instance.lp, eps, DELTA, given_up(instance), **arguments)
    except privlp.UnsupportedProblemError:
        return None
    seconds = time.process_time() - start
    return [
        *violations(instance, solution.x),
        solution.objective / instance.opt,
        solution.iterations,
        seconds,
    ]


def peak_megabytes(instance: problems.Instance, method: str) -> float:
    """Peak of memory that one solve allocates beside the program."""
    tracemalloc.start()
    measure(instance, method, 1.0, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / _MEGABYTE


def highs_seconds(instance: problems.Instance) -> float:
    """Time of the exact solve."""
    start = time.process_time()
    privlp.solve_exact(instance.lp)
    return time.process_time() - start


@click.command()
@click.option(
    "--seeds", default=10, show_default=True, help="Programs and noise seeds to average over."
)
def main(seeds: int) -> None:
    """Measure, write the page, and draw the picture."""
    cache = Cache("family")
    blocks: list[Any] = []
    curves: dict[str, dict[str, list[float]]] = {}
    calibration: list[tuple[Any, ...]] = []
    for name, make in FAMILIES.items():
        instances: dict[int, problems.Instance] = {}

        def instance(seed: int, make: Any = make, instances: Any = instances) -> problems.Instance:
            return instances.setdefault(seed, make(seed))

        found: dict[tuple[str, float], np.ndarray] = {}
        for method in tqdm(METHODS, desc=name):
            for eps in EPSILONS:
                cells = [
                    cache.measure(
                        {"family": name, "method": method, "eps": eps, "seed": seed},
                        lambda m=method, e=eps, k=seed: measure(instance(k), m, e, k),
                    )
                    for seed in range(seeds)
                ]
                if all(cell is not None for cell in cells):
                    found[method, eps] = np.array(cells)
        memory = {
            method: cache.measure(
                {"family": name, "memory of": method},
                lambda m=method: peak_megabytes(instance(0), m),
            )
            for method in METHODS
            if (method, EPSILONS[0]) in found
        }
        exact = cache.measure(
            {"family": name, "seconds of": "HiGHS"}, lambda: highs_seconds(instance(0))
        )
        blocks += [
            f"## {name[0].upper()}{name[1:]}",
            _caption(instance(0), exact),
            _table(found, memory),
        ]
        calibration += _calibration(cache, name, instance, found)
        curves[name] = {
            method: [found[method, eps][:, 0].mean() for eps in EPSILONS]
            for method in METHODS
            if (method, EPSILONS[0]) in found
        }
    _draw(curves)
    headers = ("family", "ε", "method", "predicted", "measured", "predicted / measured")
    text = (
        "The (s+1)-th largest violation of a private row, signed, in units of A x − b; s = n/40, δ"
        f" = {DELTA:g}, replace, the optimum given; mean ± standard error over {seeds} programs."
        " Every method at its default, one rule for all families; `dmw-published` with the true"
        f" largest entries declared, at {PUBLISHED_ROUNDS:,} rounds. `auto` is what `privlp.plan`"
        " predicts to be best. Below zero: all but s rows hold with room to spare. Games and"
        " LP-SVMs cannot satisfy all rows. `ftpl` may cost less than the optimum, as in the game,"
        " where it plays part of a strategy. Difference: `auto` minus `dmw`, paired. Objective"
        " over optimum, rounds, seconds of CPU time and peak memory beside the program at ε = 1."
    )
    about = (
        "Predicted from public numbers by `privlp.plan`, per ‖A_i‖₂; measured: the (s+1)-th"
        " largest violation per ‖A_i‖₂ beyond the least that a long run without noise reaches, or"
        f" beyond 0 where all rows can be satisfied; mean of {CALIBRATED_ON}."
    )
    image = "![Violation over ε](family.png)"
    write_page(
        "family",
        "Constraint-private methods side by side",
        [text, image, *blocks, "## Calibration", about, (headers, calibration)],
    )


def _draw(curves: dict[str, dict[str, list[float]]]) -> None:
    with picture("family", len(curves)) as axes:
        for axis, (name, of_methods) in zip(axes, curves.items(), strict=True):
            for method, means in of_methods.items():
                axis.plot(EPSILONS, means, label=method, **METHOD_STYLES[method])
            over_eps(axis, EPSILONS)
            values = np.array(list(of_methods.values()))
            axis.set(
                title=name, yscale="log" if 0 < 100 * values.min() < values.max() else "linear"
            )
        for axis in axes[::3]:
            axis.set_ylabel("(s+1)-th largest violation\n(units of A x − b)")


def _caption(instance: problems.Instance, exact: float) -> str:
    lp = instance.lp
    return (
        f"{int(lp.private.sum()):,} private rows, s = {given_up(instance)}, {lp.shape[1]}"
        f" variables; HiGHS: {exact:.2f} s."
    )


def _table(found: dict[tuple[str, float], np.ndarray], memory: dict[str, float]) -> tuple[Any, Any]:
    headers = (
        "method",
        *(f"ε = {eps:g}" for eps in EPSILONS),
        "objective",
        "rounds",
        "seconds",
        "MB",
    )
    rows = []
    for method in METHODS:
        if (method, EPSILONS[0]) in found:
            cells = [found[method, eps][:, 0] for eps in EPSILONS]
            _, _, objective, rounds, seconds = found[method, 1.0].mean(axis=0)
            rows.append(
                (
                    method,
                    *map(_mean_and_error, cells),
                    f"{objective:.4f}",
                    f"{rounds:.0f}",
                    f"{seconds:.2f}",
                    f"{memory[method]:.1f}",
                )
            )
    if ("dmw", EPSILONS[0]) in found:
        differences = [found["auto", eps][:, 0] - found["dmw", eps][:, 0] for eps in EPSILONS]
        rows.append(("difference", *map(_mean_and_error, differences), "", "", "", ""))
    return headers, rows


def _mean_and_error(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def _calibration(
    cache: Cache, name: str, instance: Any, found: dict[tuple[str, float], np.ndarray]
) -> list[tuple[Any, ...]]:
    reference = "mirror-best" if ("mirror", EPSILONS[0]) in found else "ftpl"
    least = [
        cache.measure(
            {"family": name, "without noise": reference, "seed": seed},
            lambda k=seed: measure(instance(k), reference, float("inf"), k)[1],
        )
        for seed in range(CALIBRATED_ON)
    ]
    rows = []
    for eps in EPSILONS:
        for method in PREDICTED:
            if (method, eps) not in found:
                continue
            predicted = cache.measure(
                {"family": name, "predicted": method, "eps": eps},
                lambda m=method, e=eps: _predicted(instance(0), m, e),
            )
            satisfiable = name.startswith(("covering", "multi"))
            floors = [0.0 if satisfiable else value for value in least]
            measured = np.mean([found[method, eps][k, 1] - floors[k] for k in range(CALIBRATED_ON)])
            ratio = f"{predicted / measured:.2f}" if measured > 0 else "-"
            rows.append((name, f"{eps:g}", method, f"{predicted:.4f}", f"{measured:.4f}", ratio))
    return rows


def _predicted(instance: problems.Instance, method: str, eps: float) -> float:
    plan = privlp.plan(instance.lp, eps, DELTA, given_up(instance), opt=instance.opt)
    return plan.predictions[plan.best if method == "auto" else method].violation


if __name__ == "__main__":
    main()
