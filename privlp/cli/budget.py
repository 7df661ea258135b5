"""``privlp budget``."""

from __future__ import annotations

import json
from typing import Any

import click

from privlp.cli import options
from privlp.cli.messages import plain_errors
from privlp.cli.output import require_folder
from privlp.files import write_whole
from privlp.privacy import Budget
from privlp.privacy.budget_report import history_table, summary, to_dict

_EXIT_CODES = (
    "Exit codes: 0 made or read; 2 wrong options, or a file that cannot be used; 130 interrupted."
)


@click.command(
    "budget",
    cls=options.GroupedCommand,
    epilog=options.example(
        "privlp budget all.budget --eps 1 --delta 1e-6",
        "privlp solve m.mps --eps 0.2 --delta 0 --s 9 --opt 4 --budget all.budget",
        "privlp budget all.budget --history",
        exit_codes=_EXIT_CODES,
    ),
)
@click.argument("file", type=click.Path())
@options.made("--eps", type=float, help="Privacy parameter eps of all releases together.")
@options.made("--delta", type=float, help="Privacy parameter delta of all releases together.")
@options.made(
    "--composition",
    type=click.Choice(["adaptive", "planned", "basic"]),
    help="How calls add up [default: adaptive].",
)
@options.made(
    "--adopt",
    is_flag=True,
    help="Use a file that was moved or restored; only if no other copy will be used.",
)
@options.output("--history", is_flag=True, help="Also print what happened when.")
@options.output(
    "--json", "json_file", help="Write all as JSON to this file, or to standard output for '-'."
)
@plain_errors
def command(file: str, history: bool, json_file: str | None, **given: Any) -> None:
    """Say what the budget in FILE has paid for, and how much is left.

    With --eps and --delta, make it if there is none.

    Releases over months and from several processes are paid from one file. A charge is on the disk
    before the draw that it pays for, so that a crash loses none. Keep FILE on a local disk, and
    never use two copies of it: that would spend the budget twice.
    """
    require_folder(json_file)
    budget = Budget.open(file, **given)
    if json_file is not None:
        document = json.dumps(to_dict(budget), indent=1)
        if json_file != "-":
            write_whole(json_file, document)
    if json_file == "-":
        click.echo(document)
        return
    click.echo(summary(budget))
    if history:
        click.echo(f"\n{history_table(budget.history())}")
