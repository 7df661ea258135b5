"""The commands ``privlp solve``, ``plan``, ``exact``, ``audit`` and ``budget``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click
import numpy as np
from tabulate import tabulate

from privlp.cli import options
from privlp.cli.options import plain_errors, require_folder, require_picture, write_json
from privlp.cli.program import program, shares
from privlp.compare import compare
from privlp.exact import solve_exact
from privlp.linear_program import LinearProgram
from privlp.pictures import save_figure
from privlp.plan import plan
from privlp.privacy import Budget
from privlp.privacy.budget import StoredBudget
from privlp.privacy.budget_file import BudgetEvent
from privlp.privacy.record import json_number
from privlp.solution import Solution
from privlp.solve import solve
from privlp.status import Verdict

_MOST_SHOWN = 20
_MODEL = click.argument("model", type=click.Path())
_AUDIT_EXIT_CODES = (
    "Exit codes: 0 no fault found (no proof of privacy); 1 fault found; 2 wrong input or options;"
    " 130 interrupted."
)


def _eps(words: str) -> options.Decorator:
    return options.privacy("--eps", type=float, required=True, help=f"Privacy parameter eps{words}")


@click.command(
    "solve",
    cls=options.GroupedCommand,
    epilog=options.example(
        "privlp solve model.mps --eps 1 --delta 1e-6 --s 100 --opt 4.5",
        "privlp solve model.mps --eps 1 --delta 1e-6 --scalar-private 0.1 --norm 1",
    ),
)
@_MODEL
@_eps(": smaller is more private; inf: no privacy.")
@options.REQUEST
@options.privacy("--budget", "budget_file", type=click.Path())
@options.MANNER
@options.method("--time-limit", type=float, help="Seconds.")
@options.output("--seed", type=int)
@options.output("--progress/--no-progress", help="Show a progress bar.")
@options.json_output("the result")
@options.output("--compare", "compared", is_flag=True)
@plain_errors
def solve_command(
    model: str,
    budget_file: str | None,
    json_file: str | None,
    seed: int | None,
    split: str | None,
    compared: bool,
    **given: Any,
) -> None:
    """Solve MODEL (an MPS or LP file) privately.

    By default whole rows are private: one record owns a constraint.
    """
    require_folder(json_file)
    split_in = shares(split)
    budget = None if budget_file is None else Budget.open(budget_file)
    lp, request = program(model, given)
    solution = solve(lp, rng=seed, split=split_in, budget=budget, **request)
    if json_file not in (None, "-"):
        try:
            solution.save(json_file)
        except OSError:
            click.echo(solution.to_json())  # it is paid for
            raise
    if json_file == "-":
        click.echo(solution.to_json())
    else:
        _print_solution(lp, solution, prices=request["prices"])
    if solution.success and solution.verdict is Verdict.ROUGH:
        click.echo(f"Note: {solution.advice}", err=True)
    if compared:
        _print_comparison(lp, solution, request)
    sys.exit(0 if solution.success else 1)


def _print_solution(lp: LinearProgram, solution: Solution, *, prices: bool) -> None:
    click.echo(f"{solution.status}: {solution.message}")
    for name, said in (("Verdict", solution.verdict), ("Missed", solution.missed)):
        if said is not None:
            click.echo(f"{name}: {said}")
    if solution.x is not None:
        label = "objective of the released costs" if "noisy c" in solution.trace else "objective"
        click.echo(f"\n{label}  {solution.objective:.10g}\n\n{_variables(lp, solution.x)}")
    click.echo(f"\nPrivacy\n{solution.privacy}")
    if solution.privacy.seeded:
        click.echo("Seeded noise: an experiment, not for release.")
    if prices and solution.x is not None:
        names = lp.row_names or [f"row[{i}]" for i in range(lp.shape[0])]
        table = _largest(names, np.nan_to_num(solution.prices), ("row", "shadow price"))
        click.echo(f"\n{table or 'All shadow prices are 0.'}")


def _print_comparison(lp: LinearProgram, solution: Solution, request: dict[str, Any]) -> None:
    click.echo("\nNOT PRIVATE: for your eyes only", err=True)
    if solution.x is None:
        click.echo("There is no private solution to compare.", err=True)
        return
    exact = solve_exact(lp, time_limit=request["time_limit"])
    if not exact.success:
        click.echo(f"There is no exact optimum to compare with: {exact.message}", err=True)
    click.echo(repr(compare(lp, solution, exact, s=request["s"])), err=True)


@click.command(
    "plan",
    cls=options.GroupedCommand,
    epilog=options.example("privlp plan model.mps --eps 1 --delta 1e-6 --s 100 --opt 4.5"),
)
@_MODEL
@_eps(": smaller is more private.")
@options.REQUEST
@options.plot_output("Draw the predictions over eps into this file.")
@plain_errors
def plan_command(model: str, picture: str | None, **given: Any) -> None:
    """Predict how well MODEL can be solved privately, from public numbers. Spends nothing."""
    require_picture(picture)
    lp, request = program(model, given)
    planned = plan(lp, **request)
    click.echo(planned)
    if picture is not None:
        save_figure(planned.plot(), picture)


@click.command("exact", epilog=options.example("privlp exact model.mps"))
@_MODEL
@click.option("--time-limit", type=float, help="Seconds.")
@click.option("--relax", is_flag=True, help="Integer variables may take any value.")
@options.json_output("the result")
@plain_errors
def exact_command(model: str, time_limit: float | None, relax: bool, json_file: str | None) -> None:
    """Solve MODEL (an MPS or LP file) exactly with HiGHS. Not private."""
    require_folder(json_file)
    lp = LinearProgram.from_mps(model, private=[], relax=relax)
    exact = solve_exact(lp, time_limit=time_limit)
    if json_file != "-":
        click.echo(f"{exact.status}: {exact.message} NOT PRIVATE.")
        if exact.x is not None:
            kinds = ("primal_residual", "dual_residual", "gap")
            certificate = [("objective", f"{exact.objective:.12g}")]
            certificate += [
                (kind.replace("_", " "), f"{getattr(exact, kind):.2g}") for kind in kinds
            ]
            table = tabulate(certificate, tablefmt="plain", disable_numparse=True)
            click.echo(f"\n{table}\n\n{_variables(lp, exact.x)}")
    write_json(exact.to_dict(), json_file)
    sys.exit(0 if exact.success else 1)


@click.command(
    "audit",
    cls=options.GroupedCommand,
    epilog=options.example(
        "privlp audit model.mps --eps 1 --delta 1e-6 --s 6 --opt 3 --pairs 6 --runs 0",
        exit_codes=_AUDIT_EXIT_CODES,
    ),
)
@_MODEL
@_eps(" that is claimed; finite.")
@options.REQUEST
@options.MANNER
@options.audit("--pairs", type=int, default=50, show_default=True)
@options.audit("--runs", type=int, default=2_000, show_default=True)
@options.audit("--confidence", type=float, default=0.999, show_default=True)
@options.output("--seed", type=int, help="Reproducible audit.")
@options.output(
    "--progress/--no-progress",
    default=True,
    show_default=True,
    help="Say how long it may take, and how far it is.",
)
@options.plot_output("Draw the changes found against those charged.")
@options.json_output("the findings")
@plain_errors
def audit_command(
    model: str,
    json_file: str | None,
    picture: str | None,
    seed: int | None,
    split: str | None,
    **given: Any,
) -> None:
    """Look for a fault in a private solve of MODEL, on extreme neighbours of it.

    NOT PRIVATE: do not publish what it prints.

    What one neighbour releases is played back to the other; then no number behind a release may
    move by more than was charged, and all else must be equal. A single draw of each kind, and the
    released x, are audited by statistics. An audit finds faults; it proves nothing.
    """
    from privlp.audits import audit_solve  # noqa: PLC0415 (no other command needs it)

    require_folder(json_file)
    require_picture(picture)
    split_in = shares(split)
    lp, request = program(model, given)
    found = audit_solve(lp, rng=seed, split=split_in, **request)
    if json_file != "-":
        click.echo(found)
    write_json(found.to_dict(), json_file)
    if picture is not None:
        save_figure(found.plot(), picture)
    sys.exit(0 if found.passed else 1)


def _variables(lp: LinearProgram, x: Any) -> str:
    """Table of the largest variables that are not zero."""
    names = lp.variable_names or [f"x[{j}]" for j in range(len(x))]
    return _largest(names, x, ("variable", "value")) or "All variables are 0."


def _largest(names: Sequence[str], values: Any, headers: tuple[str, str]) -> str:
    """Table of the largest values that are not zero; empty if all are."""
    order = sorted((j for j in range(len(values)) if values[j] != 0), key=lambda j: -abs(values[j]))
    rows = [(names[j], f"{values[j]:.6g}") for j in order[:_MOST_SHOWN]]
    table = tabulate(rows, headers=headers, disable_numparse=True) if rows else ""
    hidden = len(order) - _MOST_SHOWN
    return f"{table}\n... and {hidden} more that are not zero" if hidden > 0 else table


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
