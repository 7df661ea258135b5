"""``privlp budget``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
from tabulate import tabulate

from privlp.cli import options
from privlp.cli.options import plain_errors, require_folder, write_json
from privlp.privacy import Budget
from privlp.privacy.budget import StoredBudget
from privlp.privacy.budget_file import BudgetEvent
from privlp.privacy.record import json_number

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
@options.json_output("all")
@plain_errors
def budget_command(file: str, history: bool, json_file: str | None, **given: Any) -> None:
    """Say what the budget in FILE has paid for, and how much is left.

    With --eps and --delta, make it if there is none.

    Releases over months and from several processes are paid from one file. A charge is on the disk
    before the draw that it pays for, so that a crash loses none. Keep FILE on a local disk, and
    never use two copies of it: that would spend the budget twice.
    """
    require_folder(json_file)
    budget = Budget.open(file, **given)
    if json_file is not None:
        write_json(to_dict(budget), json_file)
    if json_file == "-":
        return
    click.echo(summary(budget))
    if history:
        click.echo(f"\n{history_table(budget.history())}")


def summary(budget: StoredBudget) -> str:
    """What was spent, and of how much."""
    with budget.view():
        sums = budget.sums()
        of = f"eps = {budget.eps:g}, delta = {budget.delta:g}, composition {budget.composition}"
        lines = [
            ("limit", of),
            ("calls", f"{len(budget.calls)}"),
            ("they add up to", f"eps = {sums.eps:.6g}, delta = {sums.delta:.3g}"),
            ("Gaussian sum", f"mu = {sums.mu:.6g} of {sums.mu_limit:.6g}"),
            ("spent, if planned", f"eps = {budget.spent():.6g} at delta = {budget.delta:g}"),
        ]
        table = tabulate(lines, tablefmt="plain", disable_numparse=True)
        return f"{table}\n\n{budget.statement()}"


def history_table(events: Sequence[BudgetEvent]) -> str:
    """The history, a line for each event; of a call that came in several lines, the last counts."""
    rows = []
    for event in events:
        price = (f"{event.eps:.4g}", f"{event.delta:.3g}") if event.call else ("", "")
        rows.append((event.time, event.what, event.mechanisms, event.call[:6], *price))
    headers = ("time (UTC)", "what", "mechanisms", "call", "eps", "delta")
    return tabulate(rows, headers=headers, disable_numparse=True)


def to_dict(budget: StoredBudget) -> dict[str, Any]:
    """The statement, the sums and the history as plain data."""
    with budget.view():
        return {
            **budget.statement(),
            "sums": _plain(budget.sums()),
            "history": [_plain(event) for event in budget.history()],
        }


def _plain(thing: Any) -> dict[str, Any]:
    return {name: json_number(value) for name, value in asdict(thing).items()}
