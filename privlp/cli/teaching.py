"""``privlp demo``: a program of real people; ``privlp explore``: a page for teaching."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from tabulate import tabulate

from privlp import examples
from privlp.checks import BoolArray
from privlp.cli import options
from privlp.cli.options import plain_errors, require_folder, require_picture
from privlp.errors import MissedRowsWarning, MissingDependencyError, MostlyNoiseWarning, ReadError
from privlp.exact import solve_exact
from privlp.examples import doctor_visits
from privlp.explore.grid import EPSILONS
from privlp.explore.page import EXAMPLES, explore
from privlp.linear_program import LinearProgram
from privlp.pictures import COLOURS, GREY, drawing_on, new_axes, save_figure
from privlp.solution import Solution
from privlp.solve import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPSILONS = (0.1, 0.25, 0.5, 1.0, 4.0)
_EPS_OF_LEDGER = 1.0
_DELTA = 1e-6
_GIVEN_UP = 400
_DRAWS = 8

_INTRODUCTION = """\
A health plan grants visits to a doctor by a public formula: so many to everyone, and more to those
who are limited by a physical condition, who have chronic illnesses, or whose health is good, fair
or poor rather than excellent. We have {n:,} records of the RAND health insurance experiment; each
says how often one person saw a doctor in one year. We look for the formula that grants the fewest
visits to an average member, so that each person is granted as many as she made:

    minimise  average visits granted   subject to   granted to i >= visits of i   for every record i
"""

_PRIVACY = """\
Each record owns one constraint. The exact formula is set by the few people with the most visits,
and gives them away. A private formula must not: whichever record is replaced by any other, the
distribution of formulas hardly changes. So up to s = {s} people (2 %) may get fewer visits than
they made. That makes it cheaper too.

The private solves know nothing of the answer beforehand. Each is drawn {draws} times here, to show
what noise does; a real release draws once.
"""

_HEADERS = (
    "eps (less is\nmore private)",
    "plan, from public\nnumbers alone",
    f"visits granted to\nan average member\n({_DRAWS} draws)",
    f"people who get\ntoo few visits*\n({_DRAWS} draws)",
)

_NOTE = """\
*  counted from the records without noise, for this demonstration only.
** the cheapest formula found that misses at most {s} people; not private. Private formulas come
   near to it as eps grows. At a small eps they grant too much, or miss too many people.\
"""


def _written(name: str, file: str, what: str) -> options.Decorator:
    """The option for the file that a command writes."""
    kind = click.Path(dir_okay=False)
    return click.option(name, default=file, show_default=True, type=kind, help=f"{what} to write.")


@click.command("demo", epilog=options.example("privlp demo --output demo.png"))
@_written("--output", "privlp-demo.png", "Picture")
@click.option("--seed", type=int, help="Reproducible noise.")
@plain_errors
def demo_command(output: str, seed: int | None) -> None:
    """Solve a program of 20,190 real people, and draw the result."""
    require_picture(output)
    try:
        axes = new_axes()
    except MissingDependencyError as error:
        raise MissingDependencyError(
            "The demonstration needs statsmodels and Matplotlib: pip install 'privlp[demo]'."
        ) from error
    lp = doctor_visits()
    click.echo(_INTRODUCTION.format(n=lp.shape[0]))
    exact = solve_exact(lp)
    click.echo(f"Exact optimum (HiGHS, not private): {exact.objective:.1f} visits.\n")
    click.echo(_PRIVACY.format(s=_GIVEN_UP, draws=_DRAWS))
    draws, missed = {}, {}
    for k, eps in enumerate(_EPSILONS):
        draws[eps] = _draws(lp, eps, k, seed)
        missed[eps] = [int(_too_few(lp, solution).sum()) for solution in draws[eps]]
    cheapest = _cheapest(lp, draws[_EPSILONS[-1]])
    rows: list[tuple[str, ...]] = [
        ("none: exact", "", f"{exact.objective:.1f}", "0"),
        ("none: exact**", "", *(f"{cheapest[0]:.1f}", str(cheapest[1]))),
    ]
    rows += [_row(eps, drawn, missed[eps]) for eps, drawn in draws.items()]
    click.echo(tabulate(rows, headers=_HEADERS, disable_numparse=True))
    click.echo(_NOTE.format(s=_GIVEN_UP) + "\n")
    released = draws[_EPS_OF_LEDGER][0]
    visits = zip(lp.variable_names or [], np.asarray(released.x), strict=True)
    formula = "; ".join(f"{name} {x:.2f}" for name, x in visits)
    click.echo(
        f"The first formula at eps = {_EPS_OF_LEDGER:g}:\n{_in_lines(f'visits: {formula}.')}\n"
    )
    click.echo(f"What it spent:\n{released.privacy}\n")
    click.echo(f"The same in words:\n{_in_lines(released.privacy.statement())}\n")
    _dots(axes, draws, missed, cheapest[0])
    save_figure(axes, output)
    click.echo(f"Picture: {output}")


def _in_lines(text: object) -> str:
    """As broad as the tables above."""
    return click.wrap_text(str(text), 100)


def _draws(lp: LinearProgram, eps: float, k: int, seed: int | None) -> list[Solution]:
    """Formulas at the `k`-th level of privacy, each with noise of its own."""
    first = None if seed is None else (seed * len(_EPSILONS) + k) * _DRAWS
    seeds = [None if first is None else first + draw for draw in range(_DRAWS)]
    with warnings.catch_warnings():
        # the table shows the verdict and the people missed
        warnings.simplefilter("ignore", MostlyNoiseWarning)
        warnings.simplefilter("ignore", MissedRowsWarning)
        return [solve(lp, eps, _DELTA, _GIVEN_UP, rng=rng) for rng in seeds]


def _too_few(lp: LinearProgram, solution: Solution) -> BoolArray:
    """Who gets too few visits, shape (n,); not private."""
    return np.asarray(lp.A @ solution.x > lp.b + 1e-9)


def _cheapest(lp: LinearProgram, solutions: list[Solution]) -> tuple[float, int]:
    """Cost and people missed of the best exact formula for those whom a private one serves."""
    found = []
    for solution in solutions:
        enough = ~_too_few(lp, solution)
        missed = int(np.count_nonzero(~enough))
        if missed <= _GIVEN_UP:
            exact = solve_exact(LinearProgram(lp.c, lp.A[enough], lp.b[enough]))
            found.append((float(exact.objective or math.nan), missed))
    return min(found, default=(math.nan, 0))


def _row(eps: float, solutions: list[Solution], missed: list[int]) -> tuple[str, ...]:
    granted = _span((solution.objective for solution in solutions), ".1f")
    return f"{eps:g}", str(solutions[0].verdict), granted, _span(missed, ",d")


def _span(values: Iterable[Any], digits: str) -> str:
    ordered = sorted(values)
    return f"{ordered[0]:{digits}} to {ordered[-1]:{digits}}"


def _dots(
    axes: Axes, draws: dict[float, list[Solution]], missed: dict[float, list[int]], cheapest: float
) -> None:
    """Visits granted, one dot a draw, over the levels of privacy."""
    offsets = np.linspace(-0.2, 0.2, _DRAWS)
    granted = np.array([[one.objective for one in drawn] for drawn in draws.values()])
    too_few = np.array(list(missed.values())) > _GIVEN_UP
    places = np.arange(len(draws))[:, None] + offsets
    with drawing_on(axes):
        for which, marker, colour, label in (
            (~too_few, "o", "blue", f"at most {_GIVEN_UP} people get too few"),
            (too_few, "x", "orange", f"more than {_GIVEN_UP} do"),
        ):
            if which.any():
                axes.plot(places[which], granted[which], marker, color=COLOURS[colour], label=label)
        axes.axhline(cheapest, color=GREY, linestyle="--", label="cheapest found, not private")
        labels = [f"ε = {eps:g}\n{_span(numbers, ',d')}" for eps, numbers in missed.items()]
        axes.set_xticks(range(len(draws)), labels)
        axes.set_xlabel("people who get too few visits, below each ε (not private: counted)")
        axes.set_ylabel("visits granted to an average member")
        axes.set_title(f"{_DRAWS} private formulas at each ε")
        axes.legend(loc="upper right")


@click.command(
    "explore",
    epilog=options.example(
        "privlp explore kitchen --out page.html",
        "privlp explore model.mps --private 'patient*' --not-private --out page.html",
    ),
)
@click.argument("program")
@_written("--out", "page.html", "Page")
@click.option("--not-private", is_flag=True, help="The rows of this model file may be shown.")
@click.option("--private", "patterns", multiple=True, help="As for privlp solve.")
@click.option("--variables", type=int, nargs=2, help="Which two to draw, counted from 0.")
@click.option(
    "--eps",
    type=float,
    multiple=True,
    default=EPSILONS,
    show_default=True,
    help="Where the slider for eps stops; several, in ascending order.",
)
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Of all solves.")
@click.option(
    "--draws",
    type=int,
    help="Private answers for each eps, s and n: 8 by default, up to 36 where s and n are fixed.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of noise.")
@plain_errors
def explore_command(program: str, out: str, patterns: tuple[str, ...], **given: Any) -> None:
    """Write a page with sliders for eps, s and n: one HTML file, for teaching, NOT PRIVATE.

    PROGRAM is kitchen, doctor_visits, screening, advertising, hospital_capacities, diet or
    matrix_game; or a model file. It takes about a minute.
    """
    require_folder(out)
    if program in EXAMPLES:
        lp = getattr(examples, program)()
    elif Path(program).exists():
        lp = LinearProgram.from_mps(program, private=list(patterns) or None)
    else:
        raise ReadError(f"There is no file {program!r}. The examples: {', '.join(EXAMPLES)}.")
    explore(lp, out, progress=True, **given)
    click.echo(f"Page: {out}. Made from private rows: for teaching, not for release.")
