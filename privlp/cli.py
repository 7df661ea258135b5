"""The command line: ``privlp solve``, ``privlp exact``, ``privlp demo``."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate

from privlp import __version__
from privlp.errors import NotPrivateWarning, PrivLPError
from privlp.exact import solve_exact
from privlp.problem import LinearProgram
from privlp.relations import ColumnPrivate, ConstraintPrivate, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.solution import write_whole
from privlp.solve import solve

_EXIT_CODES = """Exit codes: 0 solved; 1 ended without a solution (infeasible, unbounded, time limit); 2 wrong input or options;
130 interrupted."""
_MOST_VARIABLES_SHOWN = 20


class _Failure(click.ClickException):
    exit_code = 2


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show privlp's errors and warnings as one line each, without a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NotPrivateWarning)
            try:
                return command(*args, **kwargs)
            except PrivLPError as error:
                raise _Failure(str(error)) from None
            except OSError as error:
                raise _Failure(f"{error.filename}: {error.strerror}.") from None
            except KeyboardInterrupt:
                click.echo("Interrupted. Nothing was released; what was charged stays charged.", err=True)
                sys.exit(130)
            finally:
                for warning in caught:
                    click.echo(f"Warning: {warning.message}", err=True)

    return run


@click.group(epilog=_EXIT_CODES)
@click.version_option(__version__, prog_name="privlp")
def main() -> None:
    """Solve linear programs under differential privacy."""


@main.command("solve", epilog=_EXIT_CODES)
@click.argument("model", type=click.Path())
@click.option("--eps", type=float, required=True, help="Privacy parameter eps; inf for no privacy.")
@click.option("--delta", type=float, required=True, help="Privacy parameter delta, well below one over the number of rows.")
@click.option("--s", type=float, help="Number of private rows that may be violated by more than alpha (constraint-private).")
@click.option("--alpha", type=float, help="Violation per unit of row norm aimed at; the best the budget allows by default.")
@click.option("--opt", type=float, help="Public optimal value, in the model's units and sense.")
@click.option("--private", "pattern", help="Glob over row names of the private rows. Default: all inequalities.")
@click.option("--scalar-private", type=float, metavar="D", help="Right-hand sides of private rows move by at most D.")
@click.option("--row-private", type=float, metavar="D", help="One private row of A moves, each entry by at most D.")
@click.option("--column-private", type=float, metavar="D", help="One column of A moves, each private entry by at most D.")
@click.option("--objective-private", type=float, metavar="D", help="Costs move by at most D in sum. Several: all at once.")
@click.option("--norm", type=click.Choice(["inf", "1"]), default="inf", help="--scalar-private bounds each move, or their sum (1).")
@click.option("--b-range", type=float, nargs=2, metavar="LOW HIGH", help="Declared public range of private right-hand sides.")
@click.option("--a-range", type=float, nargs=2, metavar="LOW HIGH", help="Declared public range of private coefficients.")
@click.option("--feasible", type=click.Choice(["always"]), help="Never violate a private row (not for constraint-private).")
@click.option("--method", default="auto", show_default=True, help="auto, or a method of the relation, such as dmw or direct-noise.")
@click.option("--width", type=float, help="Declared bound on entries of A and b (dmw-published only).")
@click.option("--box", type=float, help="Public bound on every variable's size.")
@click.option("--rows-per-record", type=int, default=1, show_default=True, help="Largest number of rows that one record owns.")
@click.option("--nominal-n", type=int, help="Records may be added or removed, not replaced; this is the public number of rows.")
@click.option("--seed", type=int, help="Reproducible noise, for experiments only: the result is not for release.")
@click.option("--time-limit", type=float, help="Seconds.")
@click.option("--progress/--no-progress", help="Show a progress bar.")
@click.option("--json", "json_file", help="Write the result as JSON to this file, or to standard output for '-'.")
@plain_errors
def _solve(
    model: str, pattern: str | None, json_file: str | None, rows_per_record: int, nominal_n: int | None, box: float | None,
    seed: int | None, scalar_private: float | None, row_private: float | None, column_private: float | None,
    objective_private: float | None, norm: str, b_range: tuple[float, float] | None, a_range: tuple[float, float] | None,
    **options: Any,
) -> None:  # fmt: skip
    """Solve MODEL (an MPS or LP file) privately. By default whole rows are private: one record owns a constraint."""
    _require_folder(json_file)
    b_ends, a_ends = (dict(zip(("lower", "upper"), ends or (None, None), strict=True)) for ends in (b_range, a_range))
    low = [
        None if scalar_private is None else ScalarPrivate(scalar_private, norm, **b_ends),  # type: ignore[arg-type]
        None if row_private is None else RowPrivate(row_private, **a_ends),
        None if column_private is None else ColumnPrivate(column_private, **a_ends),
        None if objective_private is None else ObjectivePrivate(objective_private),
    ]
    touched = tuple(relation for relation in low if relation is not None)
    change = "replace" if nominal_n is None else "add-remove"
    relation: Any = ConstraintPrivate(change, rows_per_record, nominal_n)  # type: ignore[arg-type]
    if touched:
        relation = touched[0] if len(touched) == 1 else touched
    lp = LinearProgram.from_mps(model, neighbours=relation, private=pattern, box=box)
    solution = solve(lp, rng=seed, **options)
    if json_file == "-":
        click.echo(solution.to_json())
    else:
        click.echo(f"{solution.status}: {solution.message}")
        if solution.x is not None:
            click.echo(f"\nobjective  {solution.objective:.10g}\n\n{_variables(lp, solution.x)}")
        click.echo(f"\nPrivacy\n{solution.privacy}")
        if solution.privacy.seeded:
            click.echo("Seeded noise: an experiment, not for release.")
    if json_file not in (None, "-"):
        solution.save(json_file)
    sys.exit(0 if solution.success else 1)


@main.command("exact", epilog=_EXIT_CODES)
@click.argument("model", type=click.Path())
@click.option("--time-limit", type=float, help="Seconds.")
@click.option("--json", "json_file", help="Write the result as JSON to this file, or to standard output for '-'.")
@plain_errors
def _exact(model: str, time_limit: float | None, json_file: str | None) -> None:
    """Solve MODEL (an MPS or LP file) exactly with HiGHS. Not private."""
    _require_folder(json_file)
    lp = LinearProgram.from_mps(model)
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
            click.echo("\n" + tabulate(certificate, tablefmt="plain", disable_numparse=True) + f"\n\n{_variables(lp, exact.x)}")
    if json_file is not None and json_file != "-":
        write_whole(json_file, document)
    sys.exit(0 if exact.success else 1)


@main.command("demo", epilog=_EXIT_CODES)
@click.option("--output", default="privlp-demo.png", show_default=True, type=click.Path(dir_okay=False), help="Picture to write.")
@click.option("--seed", type=int, help="Reproducible noise.")
@plain_errors
def _demo(output: str, seed: int | None) -> None:
    """Solve a program on real medical records, and draw the result."""
    _require_folder(output)
    if Path(output).suffix not in (".png", ".pdf", ".svg"):
        raise _Failure(f"The picture must be a .png, .pdf or .svg file, not {output!r}.")
    from privlp.demo import run_demo  # noqa: PLC0415 (needs optional libraries)

    run_demo(Path(output), seed, click.echo)


def _require_folder(target: str | None) -> None:
    """Refuse an output file that cannot be written before anything is computed or spent."""
    if target not in (None, "-") and not Path(str(target)).resolve().parent.is_dir():
        raise _Failure(f"No such file or directory: there is no folder to hold {target!r}.")


def _variables(lp: LinearProgram, x: Any) -> str:
    """Table of the largest variables that are not zero."""
    order = sorted((j for j in range(len(x)) if x[j] != 0), key=lambda j: -abs(x[j]))
    names = lp.variable_names or [f"x[{j}]" for j in range(len(x))]
    rows = [(names[j], f"{x[j]:.6g}") for j in order[:_MOST_VARIABLES_SHOWN]]
    table = tabulate(rows, headers=("variable", "value"), disable_numparse=True)
    hidden = len(order) - _MOST_VARIABLES_SHOWN
    return f"{table}\n... and {hidden} more that are not zero" if hidden > 0 else table
