"""``privlp demo``: a program of real patients, each of whom owns one constraint."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from tabulate import tabulate

from privlp.cli import options
from privlp.cli.messages import plain_errors
from privlp.cli.output import require_picture
from privlp.errors import MissingDependencyError, MostlyNoiseWarning
from privlp.exact import solve_exact
from privlp.examples import screening
from privlp.privacy import Budget
from privlp.problem.linear_program import LinearProgram
from privlp.report.compare import compare
from privlp.report.figure import drawing_on, new_axes, save_figure
from privlp.report.style import GREY
from privlp.solution import Solution
from privlp.solve import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
_DELTA = 1e-5
_TOTAL_EPS = 12.0
_GIVEN_UP = 171
_PUBLIC_RADIUS = 50.0

_INTRODUCTION = """\
{n} patients were examined for breast cancer; each has {p} measurements and a diagnosis. We look
for the weighing of measurements with the smallest total weight that puts every patient on the
right side of a threshold by at least one point:

    minimise  sum_j |w_j|   subject to   y_i (w·x_i + w_0) >= 1   for every patient i

Each patient owns one constraint, and the exact solution may give one away. The private solutions
below must not: whichever patient's record is replaced by any other, their distribution hardly
changes. Instead, up to s = {s} patients are given up.
"""


def run_demo(picture: Path, seed: int | None, echo: Callable[[str], Any]) -> None:
    """Print the demonstration through `echo` and draw the picture.

    Parameters
    ----------
    picture : Path
        PNG file to write.
    seed : int or None
        Reproducible noise.
    echo : callable
        Takes each piece of text.
    """
    lp = screening()
    echo(_INTRODUCTION.format(n=lp.shape[0], p=lp.shape[1] // 2 - 1, s=_GIVEN_UP))
    exact = solve_exact(lp)
    echo(f"Exact optimum (HiGHS, not private): {exact.objective:.1f}.")
    echo(
        f"The private solves look for rules of total weight {_PUBLIC_RADIUS:g}, a number declared"
        " public.\n"
    )
    budget = Budget(
        _TOTAL_EPS, _DELTA, composition="planned"
    )  # all of _EPSILONS are fixed beforehand
    axes, rows = _axes(), []
    for eps in _EPSILONS:
        solution = _solution(lp, eps, budget, seed)
        comparison = compare(lp, solution, exact)
        comparison.plot(axes, label=f"ε = {eps:g}")
        missing = f"{comparison.violation_at(_GIVEN_UP):.3f}"
        right_side = np.count_nonzero(lp.A @ solution.x < 0)
        rows.append((f"{eps:g}", solution.verdict, comparison.n_violated(), missing, right_side))
    drowned = [row[0] for row in rows if row[2] > _GIVEN_UP]
    headers = (
        "eps",
        "foreseen",
        "rows violated*",
        f"violation after {_GIVEN_UP}*",
        "patients on the right side*",
    )
    echo(tabulate(rows, headers=headers, disable_numparse=True))
    echo("* computed from the patients' records without noise, for this demonstration only.")
    if drowned:
        echo(
            f"More than s are violated at eps = {', '.join(drowned)}: too few patients for so much"
            " noise. Do not use such rules."
        )
    total = (
        f"Alone they cost eps = {sum(_EPSILONS):g} in sum; composed they cost less, and fit into a"
        f" budget of {_TOTAL_EPS:g}."
    )
    echo(f"\nThe ledger of all solves together. {total}\n{budget}\n")
    echo(f"{budget.statement()}\n")
    with drawing_on(axes):
        axes.axhline(_GIVEN_UP, color=GREY, linestyle="--", label=f"s = {_GIVEN_UP} given up")
        axes.set(
            xlabel="points missing to the required margin", ylabel="patients who miss more (number)"
        )
        axes.set_title(f"{lp.shape[0]} patients; not private: computed from their records")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save_figure(axes, picture)
    echo(f"Picture: {picture}")


@click.command(
    "demo",
    epilog=options.example("privlp demo --output demo.png"),
)
@click.option(
    "--output",
    default="privlp-demo.png",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Picture to write.",
)
@click.option("--seed", type=int, help="Reproducible noise.")
@plain_errors
def command(output: str, seed: int | None) -> None:
    """Solve a program on real medical records, and draw the result."""
    require_picture(output)
    run_demo(Path(output), seed, click.echo)


def _solution(lp: LinearProgram, eps: float, budget: Budget, seed: int | None) -> Solution:
    """A rule of the public total weight, by a method that keeps to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MostlyNoiseWarning)  # the table shows verdicts
        return solve(
            lp,
            eps,
            _DELTA,
            _GIVEN_UP,
            opt=_PUBLIC_RADIUS,
            method="mirror-best",
            budget=budget,
            rng=seed,
        )


def _axes() -> Axes:
    try:
        return new_axes()
    except MissingDependencyError as error:
        raise MissingDependencyError(
            "The demonstration needs scikit-learn and Matplotlib: pip install 'privlp[demo]'."
        ) from error
