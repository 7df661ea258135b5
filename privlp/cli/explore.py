"""``privlp explore``: a page for teaching, of an example or of a model file."""

from __future__ import annotations

from typing import Any

import click

from privlp import examples
from privlp.cli import options
from privlp.cli.messages import plain_errors, require_folder
from privlp.explore.page import EXAMPLES, explore
from privlp.linear_program import LinearProgram


@click.command(
    "explore",
    epilog=options.example(
        "privlp explore kitchen --out page.html",
        "privlp explore model.mps --private 'patient*' --not-private --out page.html",
    ),
)
@click.argument("program")
@click.option(
    "--out",
    default="page.html",
    show_default=True,
    type=click.Path(dir_okay=False),
    help="Page to write.",
)
@click.option("--not-private", is_flag=True, help="The rows of this model file may be shown.")
@click.option("--private", "patterns", multiple=True, help="As for privlp solve.")
@click.option("--variables", type=int, nargs=2, help="Which two to draw, counted from 0.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="Of all solves.")
@click.option("--draws", type=int, help="Private answers for each eps, s and n: 4 or more.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of noise.")
@plain_errors
def explore_command(program: str, out: str, patterns: tuple[str, ...], **given: Any) -> None:
    """Write a page with sliders for eps, s and n: one HTML file, for teaching, NOT PRIVATE.

    PROGRAM is kitchen, doctor_visits, screening, advertising, hospital_capacities, diet or
    matrix_game; or a model file. It takes about a minute.
    """
    require_folder(out)
    lp = (
        getattr(examples, program)()
        if program in EXAMPLES
        else LinearProgram.from_mps(program, private=list(patterns) or None)
    )
    explore(lp, out, progress=True, **given)
    click.echo(f"Page: {out}. Made from private rows: for teaching, not for release.")
