"""``privlp solve``."""

from __future__ import annotations

import sys
from typing import Any

import click

from privlp.cli import options
from privlp.cli.messages import plain_errors
from privlp.cli.output import prices_table, require_folder, variables_table
from privlp.cli.program import program, shares
from privlp.exact import solve_exact
from privlp.privacy import Budget
from privlp.problem.linear_program import LinearProgram
from privlp.report.compare import compare
from privlp.solution import Solution
from privlp.solve import solve
from privlp.verdict import Verdict


@click.command(
    "solve",
    cls=options.GroupedCommand,
    epilog=options.example(
        "privlp solve model.mps --eps 1 --delta 1e-6 --s 100 --opt 4.5",
        "privlp solve model.mps --eps 1 --delta 1e-6 --scalar-private 0.1 --norm 1",
    ),
)
@click.argument("model", type=click.Path())
@options.privacy(
    "--eps",
    type=float,
    required=True,
    help="Privacy parameter eps: smaller is more private; inf: no privacy.",
)
@options.REQUEST
@options.privacy(
    "--budget",
    "budget_file",
    type=click.Path(),
    help="Pay from the budget in this file; see `privlp budget`.",
)
@options.MANNER
@options.method("--time-limit", type=float, help="Seconds.")
@options.output(
    "--seed",
    type=int,
    help="Reproducible noise, for experiments only: the result is not for release.",
)
@options.output("--progress/--no-progress", help="Show a progress bar.")
@options.output(
    "--json",
    "json_file",
    help="Write the result as JSON to this file, or to standard output for '-'.",
)
@options.output(
    "--compare",
    "compared",
    is_flag=True,
    help="Also compare with the exact optimum, on standard error. NOT PRIVATE: for your eyes only.",
)
@plain_errors
def command(
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
    if solution.x is not None:
        label = "objective of the released costs" if "noisy c" in solution.trace else "objective"
        click.echo(f"\n{label}  {solution.objective:.10g}\n\n{variables_table(lp, solution.x)}")
    click.echo(f"\nPrivacy\n{solution.privacy}")
    if solution.privacy.seeded:
        click.echo("Seeded noise: an experiment, not for release.")
    if prices and solution.x is not None:
        click.echo(f"\n{prices_table(lp, solution.prices)}")


def _print_comparison(lp: LinearProgram, solution: Solution, request: dict[str, Any]) -> None:
    click.echo("\nNOT PRIVATE: for your eyes only", err=True)
    if solution.x is None:
        click.echo("There is no private solution to compare.", err=True)
        return
    exact = solve_exact(lp, time_limit=request["time_limit"])
    if not exact.success:
        click.echo(f"There is no exact optimum to compare with: {exact.message}", err=True)
    click.echo(repr(compare(lp, solution, exact, s=request["s"])), err=True)
