"""Scalar-, row- and column-private covering programs: multiplicative weights against direct noise, predicted and measured.

Run with ``python -m benchmarks.low_sensitivity``; about five minutes of one core.
"""

from __future__ import annotations

from typing import Any

import click
import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import privlp
from benchmarks.published import save_picture, write_page
from privlp import ColumnPrivate, LinearProgram, RowPrivate, ScalarPrivate
from privlp.privacy import Ledger, Randomness
from privlp.problem import StandardForm
from privlp.relations import NeighbourRelation
from privlp.solvers import Task, best_method
from privlp.solvers.direct_noise import predicted_violation
from privlp.solvers.multiplicative_weights import Plan

ROWS = (100, 1_000, 10_000, 100_000)
STEPS = (1e-4, 3e-4, 1e-3)
D, EPS, DELTA = 20, 1.0, 1e-6
METHODS = {"mw": "multiplicative weights", "direct-noise": "direct noise"}


def covering(n: int, relation: NeighbourRelation, seed: int = 0) -> LinearProgram:
    """Cover n needs from 20 services, half of which help with each; a mix of four services leaves slacks of about 0.1."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, D)) < 0.5, rng.uniform(0.2, 1.0, (n, D)), 0.0)
    c, x = rng.uniform(0.5, 2.0, D), np.zeros(D)
    used = rng.choice(D, 4, replace=False)
    x[used] = 3.0 * rng.dirichlet(np.ones(4)) / c[used]
    return LinearProgram(c, -A, -(A @ x - np.abs(rng.normal(0, 0.1, n))), neighbours=relation)


def predictions(lp: LinearProgram, opt: float) -> tuple[dict[str, float], str]:
    """Predicted violation of each method from public numbers, and what ``"auto"`` takes."""
    task = Task(StandardForm.of(lp), None, None, opt, None, Ledger(EPS, DELTA), Randomness(0))
    plan = Plan(task)
    predicted = {"mw": plan.predicted_violation(), "direct-noise": predicted_violation(task, plan.typical_size())}
    return predicted, best_method(task, lp.neighbours.methods)


def worst_violation(lp: LinearProgram, method: str, opt: float, seed: int) -> float:
    """The largest violation of one private solve."""
    return float(np.max(lp.A @ privlp.solve(lp, EPS, DELTA, method=method, opt=opt, rng=seed).x - lp.b))


@click.command()
@click.option("--draws", default=10, show_default=True, help="Draws of each method.")
def main(draws: int) -> None:
    """Measure, write the page, and draw the picture."""
    relations = {
        "scalar-private": ScalarPrivate,
        "column-private": lambda step: ColumnPrivate(step, lower=-1.0, upper=0.0),
        "row-private": lambda step: RowPrivate(step, lower=-1.0, upper=0.0),
    }
    headers = ("sensitivity", "n", "mw predicted", "mw measured", "direct predicted", "direct measured", "better", "auto")
    parts: list[Any] = [
        f"Worst violation in units of A x − b (right-hand sides are about 1), mean ± standard error of {draws} draws; covering "
        f"programs with {D} variables, ε = {EPS:g}, δ = {DELTA:g}, the optimum given to both methods. *auto* takes the smaller "
        "prediction; it sees public numbers alone. Differences below two standard errors count as a tie.",
    ]
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    right = compared = 0
    for axis, (name, relation) in zip(axes, relations.items(), strict=True):
        rows, curves = [], {}
        for step in STEPS:
            for n in tqdm(ROWS, desc=f"{name} {step:g}"):
                lp = covering(n, relation(step))
                opt = privlp.solve_exact(lp).objective
                predicted, auto = predictions(lp, opt)
                found = {m: np.array([worst_violation(lp, m, opt, seed) for seed in range(draws)]) for m in METHODS}
                mean = {method: values.mean() for method, values in found.items()}
                error = {method: values.std(ddof=1) / np.sqrt(draws) for method, values in found.items()}
                better = min(mean, key=mean.__getitem__)
                tie = abs(mean["mw"] - mean["direct-noise"]) < 2 * np.hypot(error["mw"], error["direct-noise"])
                compared += not tie
                right += not tie and better == auto
                cells = [text for m in METHODS for text in (f"{predicted[m]:.4f}", f"{mean[m]:.4f} ± {error[m]:.4f}")]
                rows.append([f"{step:g}", f"{n:,}", *cells, "tie" if tie else better, auto])
                for method in METHODS:
                    curves.setdefault((step, method), []).append((predicted[method], mean[method]))
        parts += [f"## {name.capitalize()}", (headers, rows)]
        step = STEPS[1]
        for (size, method), points in curves.items():
            if size == step:
                expected, measured = np.transpose(points)
                (line,) = axis.plot(ROWS, measured, marker="o", label=f"{METHODS[method]}, measured")
                axis.plot(ROWS, expected, linestyle="--", color=line.get_color(), label=f"{METHODS[method]}, predicted")
        axis.set(xscale="log", yscale="log", xlabel="private rows n", title=f"{name}, sensitivity {step:g}")
    axes[0].set_ylabel("worst violation")
    axes[0].legend(frameon=False, fontsize=8)
    save_picture("low_sensitivity", figure)
    parts.append(f"*auto* is on the right side in {right} of the {compared} cells that are no tie.")
    write_page("low_sensitivity", "Low-sensitivity programs", [*parts, "![Violation over n](low_sensitivity.png)"])


if __name__ == "__main__":
    main()
