"""Options that commands share, in groups under which help lists them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[..., Any]

EXIT_CODES = (
    "Exit codes: 0 solved; 1 ended without a solution (infeasible, unbounded, time limit, out of"
    " memory); 2 wrong input or options, or a file that cannot be read or written; 130 interrupted."
)


def example(*lines: str, exit_codes: str = EXIT_CODES) -> str:
    """An epilogue of help: command lines as they are typed, then the exit codes."""
    title = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {line}" for line in lines), "", exit_codes])


def flag(name: str) -> str:
    """The option that fills a parameter of a command."""
    return "--" + name.replace("_", "-")


def _feasible(value: str | float) -> str | float:
    """The word ``always``, or a number."""
    if value == "always" or isinstance(value, float):
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither 'always' nor a probability.") from None


class _GroupedOption(click.Option):
    def __init__(self, *arguments: Any, group: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group; one without a group, as --help, joins the last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        title = "Options"
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                title = getattr(parameter, "group", title)
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def options(*decorators: Decorator) -> Decorator:
    """Several options as one decorator; help shows them in this order."""
    return lambda command: functools.reduce(
        lambda inner, decorator: decorator(inner), reversed(decorators), command
    )


def _group(title: str) -> Callable[..., Decorator]:
    return functools.partial(click.option, cls=_GroupedOption, group=title)


privacy = _group("Privacy")
_rows = _group("Whole rows are private, unless an option of the next group is given")
_numbers = _group("Only numbers are private: one record moves them a little")
method = _group("Method and what it may use")
audit = _group("Audit")
made = _group("When FILE is made, or was moved")
output = _group("Output")


def json_output(what: str) -> Decorator:
    """The option --json, which writes `what`."""
    words = f"Write {what} as JSON to this file, or to standard output for '-'."
    return output("--json", "json_file", help=words)


def plot_output(words: str) -> Decorator:
    """The option --plot, for a picture."""
    return output("--plot", "picture", type=click.Path(dir_okay=False), help=words)


#: Of each relation, the option that declares the public range of its private numbers.
RANGES = {
    "scalar_private": "b_range",
    "row_private": "a_range",
    "column_private": "a_range",
    "objective_private": "c_range",
}
_RANGE: dict[str, Any] = {"type": float, "nargs": 2, "metavar": "LOW HIGH"}
_STEP: dict[str, Any] = {"type": float, "metavar": "D"}

#: What a solve, its plan and its audit all need, besides eps.
REQUEST = options(
    privacy(
        "--delta",
        type=float,
        required=True,
        help="Privacy parameter delta, well below one over the number of rows.",
    ),
    privacy(
        "--private",
        "patterns",
        multiple=True,
        help=(
            "Glob over row names of the private rows; several add up. Default: all inequalities;"
            " with --nominal-n, all rows."
        ),
    ),
    _rows(
        "--s", type=float, help="Number of private rows that may be violated by more than alpha."
    ),
    _rows(
        "--rows-per-record",
        type=int,
        default=1,
        show_default=True,
        help="Largest number of rows that one record owns.",
    ),
    _rows(
        "--nominal-n",
        type=int,
        help="Records may be added or removed, not replaced; this is the public number of rows.",
    ),
    _numbers(
        "--scalar-private", **_STEP, help="Right-hand sides of private rows move by at most D."
    ),
    _numbers("--row-private", **_STEP, help="One private row of A moves, each entry by at most D."),
    _numbers(
        "--column-private", **_STEP, help="One column of A moves, each private entry by at most D."
    ),
    _numbers(
        "--objective-private", **_STEP, help="Costs move by at most D in sum. Several: all at once."
    ),
    _numbers(
        "--norm",
        type=click.Choice(["inf", "1"]),
        help=(
            "inf (default): each right-hand side may move by D at once; 1: by D in sum, as where a"
            " record owns one row."
        ),
    ),
    _numbers("--b-range", **_RANGE, help="Declared public range of private right-hand sides."),
    _numbers(
        "--b-range-of",
        type=(str, float, float),
        multiple=True,
        metavar="ROW LOW HIGH",
        help="The range of one row, or of rows by a glob; several add up.",
    ),
    _numbers(
        "--b-ranges",
        type=click.Path(),
        metavar="FILE",
        help="Ranges row by row: a CSV file of row name, low, high.",
    ),
    _numbers("--a-range", **_RANGE, help="Declared public range of private coefficients."),
    _numbers("--c-range", **_RANGE, help="Declared public range of private costs."),
    _numbers(
        "--zeros-public",
        is_flag=True,
        default=None,
        help="Coefficients and right-hand sides that the file leaves out are zero for everyone.",
    ),
    method(
        "--opt",
        type=float,
        help="Public optimal value, in the model's units and sense; for most methods a hint.",
    ),
    method("--opt-range", **_RANGE, help="Public range of the optimal value, in place of --opt."),
    method(
        "--alpha",
        type=float,
        help="Violation per unit of row norm aimed at; the best the budget allows by default.",
    ),
    method(
        "--feasible",
        type=_feasible,
        metavar="always|P",
        help=(
            "Where only numbers are private: always, to never violate a row, or the probability"
            " that all rows hold, such as 0.99."
        ),
    ),
    method(
        "--penalty",
        "penalties",
        multiple=True,
        metavar="[PATTERN=]PRICE",
        help=(
            "Price per unit by which a private row is violated: soft rows, of which none must hold."
            " PATTERN: glob over the names of the rows; several add up."
        ),
    ),
    method("--relax", is_flag=True, help="Integer variables may take any value."),
    method("--box", type=float, help="Public bound on every variable's size."),
    method(
        "--width",
        type=float,
        help="Declared bound: entries of A and b (dmw-published), norms of soft rows.",
    ),
    method(
        "--prices",
        is_flag=True,
        help="Also release shadow prices of public inequality rows: a few percent more noise;"
        " without keeping to --opt.",
    ),
)

#: What a solve and its audit need besides.
MANNER = options(
    method(
        "--method",
        default="auto",
        show_default=True,
        help="auto, or one by name: chain, perturbed, direct-noise, ...",
    ),
    method(
        "--split", help="Shares of the budget for b, A, c where several are private, such as 2,1,1."
    ),
)
