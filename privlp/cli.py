"""The command line: ``privlp solve``, ``plan``, ``budget``, ``audit``, ``exact``, ``demo``."""

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

from privlp import __version__, cli_options
from privlp.audits.solve import audit_solve
from privlp.cli_options import GroupedCommand, in_flags, program, shares, what_is_private
from privlp.compare import compare
from privlp.errors import NotPrivateWarning, PrivLPError
from privlp.exact import solve_exact
from privlp.files import write_whole
from privlp.optional import save_figure
from privlp.plan import plan
from privlp.privacy import Budget
from privlp.privacy.budget_report import history_table, summary, to_dict
from privlp.problem import LinearProgram
from privlp.solution import Solution
from privlp.solve import solve
from privlp.solvers.choice import PREDICTIONS

_EXIT_CODES = """Exit codes: 0 solved; 1 ended without a solution (infeasible, unbounded, time limit, out of memory); 2 wrong input
or options, or a file that cannot be read or written; 130 interrupted."""
_STAYS_CHARGED = (
    "Nothing was released but what is printed above or saved; what was charged stays charged."
)
_EXIT_CODES_OF_AUDIT = (
    "Exit codes: 0 no fault found (no proof of privacy); 1 fault found; 2 wrong input or options;"
    " 130 interrupted."
)
_EXIT_CODES_OF_BUDGET = (
    "Exit codes: 0 made or read; 2 wrong options, or a file that cannot be used; 130 interrupted."
)
_MOST_VARIABLES_SHOWN = 20
# Plans of larger programs may take far longer than the solve: they bound each variable by linear
# programs.
_MOST_VARIABLES_PLANNED = 500
_PLANNED = ("eps", "delta", "s", "alpha", "opt", "width", "feasible")
_WORRYING = ("Too few rows", "Too much noise", "Rough")


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
                raise _Failure(in_flags(str(error))) from None
            except OSError as error:
                if (
                    error.errno == errno.EPIPE
                ):  # whoever read the output has gone: click ends quietly
                    raise
                raise _Failure(
                    f"{error.filename or 'Output'}: {error.strerror or error}."
                ) from None
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


def _example(*lines: str, exit_codes: str = _EXIT_CODES) -> str:
    """An epilogue that begins with command lines as they are."""
    return "\n".join(
        [
            "\b",
            "Example:" if len(lines) == 1 else "Examples:",
            *(f"  {line}" for line in lines),
            "",
            exit_codes,
        ]
    )


@click.group(epilog=_EXIT_CODES, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="privlp")
def main() -> None:
    """Solve linear programs under differential privacy. Each command has a --help of its own."""


@main.command(
    "solve",
    cls=GroupedCommand,
    short_help="Solve a model privately.",
    epilog=_example(
        "privlp solve model.mps --eps 1 --delta 1e-6 --s 100 --opt 4.5",
        "privlp solve model.mps --eps 1 --delta 1e-6 --scalar-private 0.1 --norm 1",
    ),
)
@click.argument("model", type=click.Path())
@cli_options.privacy(
    "--eps",
    type=float,
    required=True,
    help="Privacy parameter eps: smaller is more private; inf: no privacy.",
)
@cli_options.REQUEST
@cli_options.privacy(
    "--budget",
    "budget_file",
    type=click.Path(),
    help="Pay from the budget in this file; see `privlp budget`.",
)
@cli_options.MANNER
@cli_options.method("--time-limit", type=float, help="Seconds.")
@cli_options.output(
    "--seed",
    type=int,
    help="Reproducible noise, for experiments only: the result is not for release.",
)
@cli_options.output("--progress/--no-progress", help="Show a progress bar.")
@cli_options.output(
    "--json",
    "json_file",
    help="Write the result as JSON to this file, or to standard output for '-'.",
)
@cli_options.output(
    "--compare",
    "compared",
    is_flag=True,
    help="Also compare with the exact optimum, on standard error. NOT PRIVATE: for your eyes only.",
)
@plain_errors
def _solve(
    model: str,
    budget_file: str | None,
    json_file: str | None,
    seed: int | None,
    split: str | None,
    compared: bool,
    **options: Any,
) -> None:
    """Solve MODEL (an MPS or LP file) privately.

    By default whole rows are private: one record owns a constraint.
    """
    _require_folder(json_file)
    split_in = shares(split)
    budget = None if budget_file is None else Budget.open(budget_file)
    lp, options = _program(model, options)
    solution = solve(lp, rng=seed, split=split_in, budget=budget, **options)
    if json_file not in (None, "-"):
        try:
            solution.save(json_file)
        except OSError:
            click.echo(solution.to_json())  # paid for, so not to be lost
            raise
    if json_file == "-":
        click.echo(solution.to_json())
    else:
        _print_solution(lp, solution)
    if solution.success:
        _note_if_little_is_expected(lp, options)
    if compared:
        _print_comparison(lp, solution, options)
    sys.exit(0 if solution.success else 1)


def _program(model: str, options: dict[str, Any]) -> tuple[LinearProgram, dict[str, Any]]:
    """The program that the options describe and the options that are left, having told on standard error what is private."""
    lp, rest = program(model, options)
    click.echo(what_is_private(lp), err=True)
    return lp, rest


def _print_solution(lp: LinearProgram, solution: Solution) -> None:
    click.echo(f"{solution.status}: {solution.message}")
    if solution.x is not None:
        label = "objective of the released costs" if "noisy c" in solution.trace else "objective"
        click.echo(f"\n{label}  {solution.objective:.10g}\n\n{_variables(lp, solution.x)}")
    click.echo(f"\nPrivacy\n{solution.privacy}")
    if solution.privacy.seeded:
        click.echo("Seeded noise: an experiment, not for release.")


def _note_if_little_is_expected(lp: LinearProgram, options: dict[str, Any]) -> None:
    """What a plan of the same request says, where it is no good news; from public numbers."""
    if options["method"] not in ("auto", *PREDICTIONS) or lp.shape[1] > _MOST_VARIABLES_PLANNED:
        return
    try:
        planned = plan(lp, **{name: options[name] for name in _PLANNED})
    except PrivLPError:  # without noise, say
        return
    if planned.advice.startswith(_WORRYING):
        click.echo(
            f"Note, as `privlp plan` predicts for method {planned.best}:"
            f" {in_flags(planned.advice)}",
            err=True,
        )


def _print_comparison(lp: LinearProgram, solution: Solution, options: dict[str, Any]) -> None:
    click.echo("\nNOT PRIVATE: for your eyes only", err=True)
    if solution.x is None:
        click.echo("There is no private solution to compare.", err=True)
        return
    exact = solve_exact(lp, time_limit=options["time_limit"])
    if not exact.success:
        click.echo(f"There is no exact optimum to compare with: {exact.message}", err=True)
    click.echo(repr(compare(lp, solution, exact, s=options["s"])), err=True)


@main.command(
    "plan",
    cls=GroupedCommand,
    short_help="Predict how well a model can be solved privately; spends nothing.",
    epilog=_example("privlp plan model.mps --eps 1 --delta 1e-6 --s 100 --opt 4.5"),
)
@click.argument("model", type=click.Path())
@cli_options.privacy(
    "--eps", type=float, required=True, help="Privacy parameter eps: smaller is more private."
)
@cli_options.REQUEST
@cli_options.output(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False),
    help="Draw the predictions over eps into this file.",
)
@plain_errors
def _plan(model: str, picture: str | None, **options: Any) -> None:
    """Predict how well MODEL can be solved privately, from public numbers. Spends nothing."""
    _require_picture(picture)
    lp, options = _program(model, options)
    planned = plan(lp, **options)
    click.echo(in_flags(str(planned)))
    if picture is not None:
        save_figure(planned.plot(), picture)


@main.command(
    "audit",
    cls=GroupedCommand,
    short_help="Look for a fault in a private solve of a model; not private.",
    epilog=_example(
        "privlp audit model.mps --eps 1 --delta 1e-6 --s 6 --opt 3 --pairs 6 --runs 0",
        exit_codes=_EXIT_CODES_OF_AUDIT,
    ),
)
@click.argument("model", type=click.Path())
@cli_options.privacy(
    "--eps", type=float, required=True, help="Privacy parameter eps that is claimed; finite."
)
@cli_options.REQUEST
@cli_options.MANNER
@cli_options.audit(
    "--pairs",
    type=int,
    default=50,
    show_default=True,
    help="Pairs of neighbours to try, two solves each.",
)
@cli_options.audit(
    "--runs",
    type=int,
    default=2_000,
    show_default=True,
    help="Solves on each of the worst pair; 0: no statistics.",
)
@cli_options.audit(
    "--confidence", type=float, default=0.999, show_default=True, help="Of each statistical audit."
)
@cli_options.output("--seed", type=int, help="Reproducible audit.")
@cli_options.output(
    "--progress/--no-progress",
    default=True,
    show_default=True,
    help="Say how long it may take, and how far it is.",
)
@cli_options.output(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False),
    help="Draw the changes found against those charged.",
)
@cli_options.output(
    "--json",
    "json_file",
    help="Write the findings as JSON to this file, or to standard output for '-'.",
)
@plain_errors
def _audit(
    model: str,
    json_file: str | None,
    picture: str | None,
    seed: int | None,
    split: str | None,
    **options: Any,
) -> None:
    """Look for a fault in a private solve of MODEL, on extreme neighbours of it.

    NOT PRIVATE: do not publish what it prints.

    What one neighbour releases is played back to the other; then no number behind a release may
    move by more than was charged, and all else must be equal. A single draw of each kind, and the
    released x, are audited by statistics. An audit finds faults; it proves nothing.
    """
    _require_folder(json_file)
    _require_picture(picture)
    split_in = shares(split)
    lp, options = _program(model, options)
    found = audit_solve(lp, rng=seed, split=split_in, **options)
    document = json.dumps(found.to_dict(), indent=1)
    click.echo(document if json_file == "-" else found)
    if json_file not in (None, "-"):
        write_whole(json_file, document)
    if picture is not None:
        save_figure(found.plot(), picture)
    sys.exit(0 if found.passed else 1)


@main.command(
    "budget",
    cls=GroupedCommand,
    short_help="Make a budget that is kept in a file, or say what it has paid for.",
    epilog=_example(
        "privlp budget all.budget --eps 1 --delta 1e-6",
        "privlp solve m.mps --eps 0.2 --delta 0 --s 9 --opt 4 --budget all.budget",
        "privlp budget all.budget --history",
        exit_codes=_EXIT_CODES_OF_BUDGET,
    ),
)
@click.argument("file", type=click.Path())
@cli_options.made("--eps", type=float, help="Privacy parameter eps of all releases together.")
@cli_options.made("--delta", type=float, help="Privacy parameter delta of all releases together.")
@cli_options.made(
    "--composition",
    type=click.Choice(["adaptive", "planned", "basic"]),
    help="How calls add up [default: adaptive].",
)
@cli_options.made(
    "--adopt",
    is_flag=True,
    help="Use a file that was moved or restored; only if no other copy will be used.",
)
@cli_options.output("--history", is_flag=True, help="Also print what happened when.")
@cli_options.output(
    "--json", "json_file", help="Write all as JSON to this file, or to standard output for '-'."
)
@plain_errors
def _budget(file: str, history: bool, json_file: str | None, **options: Any) -> None:
    """Say what the budget in FILE has paid for, and how much is left.

    With --eps and --delta, make it if there is none.

    Releases over months and from several processes are paid from one file. A charge is on the disk
    before the draw that it pays for, so that a crash loses none. Keep FILE on a local disk, and
    never use two copies of it: that would spend the budget twice.
    """
    _require_folder(json_file)
    budget = Budget.open(file, **options)
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


@main.command(
    "exact",
    short_help="Solve a model exactly with HiGHS; not private.",
    epilog=_example("privlp exact model.mps"),
)
@click.argument("model", type=click.Path())
@click.option("--time-limit", type=float, help="Seconds.")
@click.option(
    "--json",
    "json_file",
    help="Write the result as JSON to this file, or to standard output for '-'.",
)
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
            click.echo(
                "\n"
                + tabulate(certificate, tablefmt="plain", disable_numparse=True)
                + f"\n\n{_variables(lp, exact.x)}"
            )
    if json_file is not None and json_file != "-":
        write_whole(json_file, document)
    sys.exit(0 if exact.success else 1)


@main.command(
    "demo",
    short_help="Solve a program on real medical records, and draw it.",
    epilog=_example("privlp demo --output demo.png"),
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
