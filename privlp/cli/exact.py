"""``privlp exact``."""

from __future__ import annotations

import json
import sys

import click
from tabulate import tabulate

from privlp.cli import options
from privlp.cli.messages import plain_errors
from privlp.cli.output import require_folder, variables_table
from privlp.exact import solve_exact
from privlp.files import write_whole
from privlp.problem.linear_program import LinearProgram


@click.command(
    "exact",
    epilog=options.example("privlp exact model.mps"),
)
@click.argument("model", type=click.Path())
@click.option("--time-limit", type=float, help="Seconds.")
@click.option("--relax", is_flag=True, help="Integer variables may take any value.")
@click.option(
    "--json",
    "json_file",
    help="Write the result as JSON to this file, or to standard output for '-'.",
)
@plain_errors
def command(model: str, time_limit: float | None, relax: bool, json_file: str | None) -> None:
    """Solve MODEL (an MPS or LP file) exactly with HiGHS. Not private."""
    require_folder(json_file)
    lp = LinearProgram.from_mps(model, relax=relax)
    exact = solve_exact(lp, time_limit=time_limit)
    document = json.dumps(exact.to_dict(), indent=1)
    if json_file == "-":
        click.echo(document)
    else:
        click.echo(f"{exact.status}: {exact.message} NOT PRIVATE.")
        if exact.x is not None:
            certificate = [
                ("objective", f"{exact.objective:.12g}"),
                ("primal residual", f"{exact.primal_residual:.2g}"),
                ("dual residual", f"{exact.dual_residual:.2g}"),
                ("gap", f"{exact.gap:.2g}"),
            ]
            click.echo(
                "\n"
                + tabulate(certificate, tablefmt="plain", disable_numparse=True)
                + f"\n\n{variables_table(lp, exact.x)}"
            )
    if json_file is not None and json_file != "-":
        write_whole(json_file, document)
    sys.exit(0 if exact.success else 1)
