"""The command line: ``privlp solve``, ``privlp plan``, ``privlp audit``, ``privlp exact``, ``privlp demo``."""

from __future__ import annotations

import errno
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
from privlp.errors import InvalidParameterError, NotPrivateWarning, PrivLPError
from privlp.exact import solve_exact
from privlp.files import write_whole
from privlp.optional import save_figure
from privlp.plan import plan
from privlp.problem import LinearProgram
from privlp.relations import ColumnPrivate, ConstraintPrivate, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.solve import solve
from privlp.solve_audit import audit_solve

_EXIT_CODES = """Exit codes: 0 solved; 1 ended without a solution (infeasible, unbounded, time limit, out of memory); 2 wrong input
or options, or a file that cannot be read or written; 130 interrupted."""
_STAYS_CHARGED = "Nothing was released but what is printed above or saved; what was charged stays charged."
_EXIT_CODES_OF_AUDIT = (
    "Exit codes: 0 no fault found (no proof of privacy); 1 fault found; 2 wrong input or options; 130 interrupted."
)
_MOST_VARIABLES_SHOWN = 20


class _Failure(click.ClickException):
    exit_code = 2


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show privlp's errors and warnings as one line each, without a traceback, and what the terminal has no letter for as ``?``."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NotPrivateWarning)
            try:
                return command(*args, **kwargs)
            except PrivLPError as error:
                raise _Failure(str(error)) from None
            except OSError as error:
                if error.errno == errno.EPIPE:  # whoever read the output has gone: click ends quietly
                    raise
                raise _Failure(f"{error.filename or 'Output'}: {error.strerror or error}.") from None
            except MemoryError:
                click.echo(f"Error: Out of memory. {_STAYS_CHARGED}", err=True)
                sys.exit(1)
            except KeyboardInterrupt:
                click.echo(f"Interrupted. {_STAYS_CHARGED}", err=True)
                sys.exit(130)
            finally:
                for warning in caught:
                    click.echo(f"Warning: {warning.message}", err=True)

    return run


@click.group(epilog=_EXIT_CODES)
@click.version_option(__version__, prog_name="privlp")
def main() -> None:
    """Solve linear programs under differential privacy."""


#: What a solve and its plan both need.
_REQUEST = [
    click.option("--eps", type=float, required=True, help="Privacy parameter eps; inf for no privacy."),
    click.option("--delta", type=float, required=True, help="Privacy parameter delta, well below one over the number of rows."),
    click.option("--s", type=float, help="Number of private rows that may be violated by more than alpha (constraint-private)."),
    click.option("--alpha", type=float, help="Violation per unit of row norm aimed at; the best the budget allows by default."),
    click.option("--opt", type=float, help="Public optimal value, in the model's units and sense."),
    click.option(
        "--opt-range", type=float, nargs=2, metavar="LOW HIGH", help="Public range of the optimal value, in place of --opt."
    ),
    click.option("--private", "pattern", help="Glob over row names of the private rows. Default: all inequalities."),
    click.option("--scalar-private", type=float, metavar="D", help="Right-hand sides of private rows move by at most D."),
    click.option("--row-private", type=float, metavar="D", help="One private row of A moves, each entry by at most D."),
    click.option("--column-private", type=float, metavar="D", help="One column of A moves, each private entry by at most D."),
    click.option("--objective-private", type=float, metavar="D", help="Costs move by at most D in sum. Several: all at once."),
    click.option(
        "--norm",
        type=click.Choice(["inf", "1"]),
        help="inf (default): each right-hand side may move by D at once; 1: by D in sum, as where a record owns one row.",
    ),
    click.option("--b-range", type=float, nargs=2, metavar="LOW HIGH", help="Declared public range of private right-hand sides."),
    click.option("--a-range", type=float, nargs=2, metavar="LOW HIGH", help="Declared public range of private coefficients."),
    click.option("--zeros-public", is_flag=True, default=None, help="Coefficients that the file leaves out are zero for everyone."),
    click.option("--c-range", type=float, nargs=2, metavar="LOW HIGH", help="Declared public range of private costs."),
    click.option("--width", type=float, help="Declared bound: entries of A and b (dmw-published), norms of soft rows."),
    click.option("--box", type=float, help="Public bound on every variable's size."),
    click.option("--rows-per-record", type=int, default=1, show_default=True, help="Largest number of rows that one record owns."),
    click.option("--nominal-n", type=int, help="Records may be added or removed, not replaced; this is the public number of rows."),
]


#: What a solve and its audit need besides.
_MANNER = [
    click.option("--split", help="Shares of the budget for b, A, c where several are private, such as 2,1,1."),
    click.option("--feasible", type=click.Choice(["always"]), help="Never violate a private row (not for constraint-private)."),
    click.option(
        "--method", default="auto", show_default=True, help="auto, or a method of the relation, such as mirror or direct-noise."
    ),
]


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Add options to a command."""
    return lambda command: functools.reduce(lambda inner, option: option(inner), reversed(options), command)


@main.command("solve", epilog=_EXIT_CODES)
@click.argument("model", type=click.Path())
@_options(*_REQUEST, *_MANNER)
@click.option("--seed", type=int, help="Reproducible noise, for experiments only: the result is not for release.")
@click.option("--time-limit", type=float, help="Seconds.")
@click.option("--progress/--no-progress", help="Show a progress bar.")
@click.option("--json", "json_file", help="Write the result as JSON to this file, or to standard output for '-'.")
@plain_errors
def _solve(model: str, json_file: str | None, seed: int | None, split: str | None, **options: Any) -> None:
    """Solve MODEL (an MPS or LP file) privately. By default whole rows are private: one record owns a constraint."""
    _require_folder(json_file)
    shares = None if split is None else _shares(split)
    lp, options = _program(model, options)
    solution = solve(lp, rng=seed, split=shares, **options)
    if json_file not in (None, "-"):
        try:
            solution.save(json_file)
        except OSError:
            click.echo(solution.to_json())  # paid for, so not to be lost
            raise
    if json_file == "-":
        click.echo(solution.to_json())
    else:
        click.echo(f"{solution.status}: {solution.message}")
        if solution.x is not None:
            label = "objective of the released costs" if "noisy c" in solution.trace else "objective"
            click.echo(f"\n{label}  {solution.objective:.10g}\n\n{_variables(lp, solution.x)}")
        click.echo(f"\nPrivacy\n{solution.privacy}")
        if solution.privacy.seeded:
            click.echo("Seeded noise: an experiment, not for release.")
    sys.exit(0 if solution.success else 1)


@main.command("plan", epilog=_EXIT_CODES)
@click.argument("model", type=click.Path())
@_options(*_REQUEST)
@click.option("--plot", "picture", type=click.Path(dir_okay=False), help="Draw the predictions over eps into this file.")
@plain_errors
def _plan(model: str, picture: str | None, **options: Any) -> None:
    """Predict how well MODEL can be solved privately, from public numbers. Spends nothing."""
    _require_picture(picture)
    lp, options = _program(model, options)
    planned = plan(lp, **options)
    click.echo(planned)
    if picture is not None:
        save_figure(planned.plot(), picture)


@main.command("audit", epilog=_EXIT_CODES_OF_AUDIT)
@click.argument("model", type=click.Path())
@_options(*_REQUEST, *_MANNER)
@click.option("--pairs", type=int, default=50, show_default=True, help="Pairs of neighbours to try, two solves each.")
@click.option("--runs", type=int, default=2_000, show_default=True, help="Solves on each of the worst pair; 0: no statistics.")
@click.option("--seed", type=int, help="Reproducible audit.")
@click.option("--progress/--no-progress", help="Show a progress bar.")
@click.option("--plot", "picture", type=click.Path(dir_okay=False), help="Draw the changes found against those charged.")
@click.option("--json", "json_file", help="Write the findings as JSON to this file, or to standard output for '-'.")
@plain_errors
def _audit(model: str, json_file: str | None, picture: str | None, seed: int | None, split: str | None, **options: Any) -> None:
    """Look for a fault in a private solve of MODEL, on extreme neighbours of it. NOT PRIVATE: do not publish what it prints.

    What one neighbour releases is played back to the other; then no number behind a release may move by more than was charged, and
    all else must be equal. A single draw of each kind, and the released x, are audited by statistics. An audit finds faults; it
    proves nothing.
    """
    _require_folder(json_file)
    _require_picture(picture)
    shares = None if split is None else _shares(split)
    lp, options = _program(model, options)
    found = audit_solve(lp, rng=seed, split=shares, **options)
    document = json.dumps(found.to_dict(), indent=1)
    click.echo(document if json_file == "-" else found)
    if json_file not in (None, "-"):
        write_whole(json_file, document)
    if picture is not None:
        save_figure(found.plot(), picture)
    sys.exit(0 if found.passed else 1)


def _program(model: str, options: dict[str, Any]) -> tuple[LinearProgram, dict[str, Any]]:
    """The program that the options describe, and the options that are left."""
    rest = dict(options)
    low_sensitivity = {name: rest.pop(name) for name in _LOW_SENSITIVITY_OPTIONS}
    relation = _neighbours(rest.pop("rows_per_record"), rest.pop("nominal_n"), low_sensitivity)
    opt_range = rest.pop("opt_range")
    if opt_range is not None:
        if rest["opt"] is not None:
            raise InvalidParameterError("Give --opt or --opt-range, not both.")
        rest["opt"] = opt_range
    return LinearProgram.from_mps(model, neighbours=relation, private=rest.pop("pattern"), box=rest.pop("box")), rest


_RELATIONS: dict[str, Callable[..., Any]] = {
    "scalar_private": ScalarPrivate,
    "row_private": RowPrivate,
    "column_private": ColumnPrivate,
    "objective_private": ObjectivePrivate,
}
#: Options that mean something for some of these relations only.
_DETAILS = {
    "norm": ("scalar_private",),
    "b_range": ("scalar_private",),
    "a_range": ("row_private", "column_private"),
    "zeros_public": ("row_private", "column_private"),
    "c_range": ("objective_private",),
}
_RANGES = {"scalar_private": "b_range", "row_private": "a_range", "column_private": "a_range", "objective_private": "c_range"}
_LOW_SENSITIVITY_OPTIONS = (*_RELATIONS, *_DETAILS)


def _neighbours(rows_per_record: int, nominal_n: int | None, given: dict[str, Any]) -> Any:
    """The neighbour relation that the options describe; options without use for it are refused."""
    touched = [name for name in _RELATIONS if given[name] is not None]
    for detail, owners in _DETAILS.items():
        if given[detail] is not None and not set(owners) & set(touched):
            raise InvalidParameterError(f"{_option(detail)} has no use without {' or '.join(map(_option, owners))}.")
    if not touched:
        return ConstraintPrivate("replace" if nominal_n is None else "add-remove", rows_per_record, nominal_n)
    if nominal_n is not None or rows_per_record != 1:
        unused = "--nominal-n" if nominal_n is not None else "--rows-per-record"
        raise InvalidParameterError(f"{unused} has no use with {_option(touched[0])}, where the rows are public. Leave it out.")
    relations = []
    for name in touched:
        details: dict[str, Any] = {"norm": given["norm"]} if name == "scalar_private" and given["norm"] else {}
        if given["zeros_public"] and name in _DETAILS["zeros_public"]:
            details["zeros"] = "public"
        ends = given[_RANGES[name]]
        details |= {} if ends is None else dict(zip(("lower", "upper"), ends, strict=True))
        relations.append(_RELATIONS[name](given[name], **details))
    return relations[0] if len(relations) == 1 else tuple(relations)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _shares(text: str) -> list[float]:
    try:
        return [float(share) for share in text.split(",")]
    except ValueError:
        raise InvalidParameterError(f"--split must be numbers with commas between them, such as 2,1,1; got {text!r}.") from None


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
    _require_picture(output)
    from privlp.demo import run_demo  # noqa: PLC0415 (needs optional libraries)

    run_demo(Path(output), seed, click.echo)


def _require_folder(target: str | None) -> None:
    """Refuse an output file that cannot be written before anything is computed or spent."""
    if target not in (None, "-") and not Path(str(target)).resolve().parent.is_dir():
        raise _Failure(f"No such file or directory: there is no folder to hold {target!r}.")


def _require_picture(target: str | None) -> None:
    _require_folder(target)
    if target is not None and Path(target).suffix not in (".png", ".pdf", ".svg"):
        raise _Failure(f"The picture must be a .png, .pdf or .svg file, not {target!r}.")


def _variables(lp: LinearProgram, x: Any) -> str:
    """Table of the largest variables that are not zero."""
    order = sorted((j for j in range(len(x)) if x[j] != 0), key=lambda j: -abs(x[j]))
    if not order:
        return "All variables are 0."
    names = lp.variable_names or [f"x[{j}]" for j in range(len(x))]
    rows = [(names[j], f"{x[j]:.6g}") for j in order[:_MOST_VARIABLES_SHOWN]]
    table = tabulate(rows, headers=("variable", "value"), disable_numparse=True)
    hidden = len(order) - _MOST_VARIABLES_SHOWN
    return f"{table}\n... and {hidden} more that are not zero" if hidden > 0 else table
