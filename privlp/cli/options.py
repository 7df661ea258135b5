"""Options that commands share, in groups under which help lists them; errors and files."""

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

from privlp import errors
from privlp.errors import PrivLPError

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


def _number_or(what: str, is_text: Callable[[str], bool]) -> Callable[[str | float], str | float]:
    """Reads a number, or a text of one kind."""

    def read(value: str | float) -> str | float:
        if isinstance(value, str) and is_text(value):
            return value
        try:
            return float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is neither {what}.") from None

    return read


_ROWS = _number_or("a number nor a share such as 5%", lambda text: text.strip().endswith("%"))
_FEASIBLE = _number_or("'always' nor a probability", lambda text: text == "always")


class _GroupedOption(click.Option):
    def __init__(self, *arguments: Any, group: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group


#: Without one of these, rows are private and hard, and s is needed.
_IN_PLACE_OF_S = {
    "penalties",
    *(f"{of}_private" for of in ("scalar", "row", "column", "objective")),
}


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings; all that are missing are named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed."""
        typed = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            given, _, _ = self.make_parser(ctx).parse_args(typed)
            needed = {p for p in self.params if p.required}
            if not _IN_PLACE_OF_S & given.keys():
                needed |= {p for p in self.params if p.name == "s"}
            names = [
                p.human_readable_name if isinstance(p, click.Argument) else p.opts[0]
                for p in self.params
                if p in needed and not isinstance(given.get(str(p.name)), str)
            ]
            if len(names) < 2:
                raise
            raise click.UsageError(f"Missing: {', '.join(names)}.", ctx) from error

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
    """Options under a heading; what help says of one is given, or stands in the table below."""

    def option(name: str, *more: str, help: str | None = None, **settings: Any) -> Decorator:  # noqa: A002
        words = _HELP_OF[name] if help is None else help
        return click.option(name, *more, cls=_GroupedOption, group=title, help=words, **settings)

    return option


privacy = _group("Privacy")
_rows = _group("Whole rows are private, unless an option of the next group is given")
_numbers = _group("Only numbers are private: one record moves them a little; few rows are enough")
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
#: What help says of options, by option.
_HELP = """
--delta: Privacy parameter delta, well below one over the number of rows.
--private: Glob over row names of the private rows; several add up. Default: all inequalities; with
  --nominal-n, all rows.
--s: Number of private rows that may be violated, or a share such as 5%.
--rows-per-record: Largest number of rows that one record owns.
--nominal-n: Records may be added or removed, not replaced; this is the public number of rows.
--largest-penalty: With --nominal-n and --penalty: public bound on the prices of private rows.
--scalar-private: Right-hand sides of private rows move by at most D.
--row-private: One private row of A moves, each entry by at most D.
--column-private: One column of A moves, each private entry by at most D.
--objective-private: Costs move by at most D in sum. Several: all at once.
--norm: inf (default): each right-hand side may move by D at once; 1: by D in sum, as where a record
  owns one row.
--b-range: Declared public range of private right-hand sides.
--b-range-of: The range of one row, or of rows by a glob; several add up.
--a-range: Declared public range of private coefficients.
--c-range: Declared public range of private costs.
--zeros-public: Coefficients and right-hand sides that the file leaves out are zero for everyone.
--opt: Public optimal value, in the model's units and sense; for most methods a hint.
--opt-range: Public range of the optimal value, in place of --opt.
--alpha: Violation per unit of row norm aimed at; the best the budget allows by default.
--feasible: Where only numbers are private: always, to never violate a row, or the probability that
  all rows hold, such as 0.99.
--penalty: Price per unit by which a private row is violated: soft rows, of which none must hold.
  PATTERN: glob over the names of the rows; several add up.
--relax: Integer variables may take any value.
--box: Public bound on every variable's size.
--width: Declared bound: entries of A and b (dmw-published), norms of soft rows.
--start: Go on from the result in this file, of an earlier solve of the same model (--json FILE).
--prices: Also release shadow prices of public inequality rows: a few percent more noise; without
  keeping to --opt.
--budget: Pay from the budget in this file; see `privlp budget`.
--seed: Reproducible noise, for experiments only: the result is not for release.
--compare: Also compare with the exact optimum, on standard error. NOT PRIVATE: for your eyes only.
--pairs: Pairs of neighbours to try, two solves each.
--runs: Solves on each of the worst pair; 0: no statistics.
--confidence: Of each statistical audit.
--method: auto, or one by name: chain, perturbed, direct-noise, ...
--split: Shares of the budget for b, A, c where several are private, such as 2,1,1.
"""
_HELP_OF = dict(line.split(": ", 1) for line in _HELP.strip().replace("\n  ", " ").splitlines())
_RANGE: dict[str, Any] = {"type": float, "nargs": 2, "metavar": "LOW HIGH"}
_STEP: dict[str, Any] = {"type": float, "metavar": "D"}
_SEVERAL: dict[str, Any] = {"multiple": True}

#: What a solve, its plan and its audit all need, besides eps.
REQUEST = options(
    privacy("--delta", type=float, required=True),
    privacy("--private", "patterns", **_SEVERAL),
    _rows("--s", type=_ROWS, metavar="ROWS|PERCENT%"),
    _rows("--rows-per-record", type=int, default=1, show_default=True),
    _rows("--nominal-n", type=int),
    _rows("--largest-penalty", type=float, metavar="PRICE"),
    *(_numbers(f"--{part}-private", **_STEP) for part in ("scalar", "row", "column", "objective")),
    _numbers("--norm", type=click.Choice(["inf", "1"])),
    _numbers("--b-range", **_RANGE),
    _numbers("--b-range-of", type=(str, float, float), metavar="ROW LOW HIGH", **_SEVERAL),
    _numbers("--a-range", **_RANGE),
    _numbers("--c-range", **_RANGE),
    _numbers("--zeros-public", is_flag=True, default=None),
    method("--opt", type=float),
    method("--opt-range", **_RANGE),
    method("--alpha", type=float),
    method("--feasible", type=_FEASIBLE, metavar="always|P"),
    method("--penalty", "penalties", metavar="[PATTERN=]PRICE", **_SEVERAL),
    method("--relax", is_flag=True),
    method("--box", type=float),
    method("--width", type=float),
    method("--start", type=click.Path(), metavar="FILE"),
    method("--prices", is_flag=True),
)
#: What a solve and its audit need besides.
MANNER = options(method("--method", default="auto", show_default=True), method("--split"))


_STAYS_CHARGED = (
    "Nothing was released but what is printed above or saved; what was charged stays charged."
)


class Failure(click.ClickException):
    """A mistake in the input or the options: one line on standard error, exit code 2."""

    exit_code = 2


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show privlp's errors and warnings as one line each, without a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
        with warnings.catch_warnings(record=True) as caught:
            for category in _SHOWN:
                warnings.simplefilter("always", category)
            try:
                return command(*args, **kwargs)
            except PrivLPError as error:
                raise Failure(message_of(error)) from None
            except OSError as error:
                if error.errno == errno.EPIPE:  # nobody reads the output: click ends quietly
                    raise
                raise Failure(f"{error.filename or 'Output'}: {error.strerror or error}.") from None
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


#: Warnings that are always shown.
_SHOWN = (
    errors.NotPrivateWarning,
    errors.MostlyNoiseWarning,
    errors.MissedRowsWarning,
    errors.PublicPointWarning,
)
#: Options that fill a parameter of the library, or may take its place, under another name.
_OPTIONS_OF = {
    "bounds": ("box", "opt", "opt_range"),
    "change": ("nominal_n",),
    "opt": ("opt", "opt_range"),
    "penalty": ("penalties",),
    "private": ("patterns",),
    "random_state": ("seed",),
    "rng": ("seed",),
    "zeros": ("zeros_public",),
}


def message_of(error: PrivLPError) -> str:
    """The message of an error, which begins with the option at fault as it is typed."""
    message, options = str(error), _options(error.parameter)
    if options == [flag(str(error.parameter))] and message.startswith(f"{error.parameter} "):
        return options[0] + message.removeprefix(str(error.parameter))
    return f"{' or '.join(options)}: {message}" if options else message


def _options(parameter: str | None) -> list[str]:
    """The options of the command that fill a parameter, or that may take its place."""
    if parameter is None:
        return []
    context = click.get_current_context()
    options = {
        str(option.name): option.opts[0]
        for option in context.command.params
        if isinstance(option, click.Option)
    }
    names = _OPTIONS_OF.get(parameter, (parameter,))
    if parameter in ("lower", "upper"):
        given = [name for name in RANGES if context.params.get(name) is not None]
        names = tuple(dict.fromkeys(RANGES[name] for name in given))
    return [options[name] for name in names if name in options]


def require_folder(target: str | None) -> None:
    """Refuse an output file without a folder, before anything is computed or spent."""
    if target not in (None, "-") and not Path(str(target)).resolve().parent.is_dir():
        raise Failure(f"No such file or directory: there is no folder to hold {target!r}.")


def require_picture(target: str | None) -> None:
    """Refuse a picture that cannot be written, or is of no known kind."""
    require_folder(target)
    if target is not None and Path(target).suffix not in (".png", ".pdf", ".svg"):
        raise Failure(f"The picture must be a .png, .pdf or .svg file, not {target!r}.")


def write_json(data: Any, target: str | None) -> None:
    """Write data to a file, or to standard output for ``-``; nothing without a target."""
    document = json.dumps(data, indent=1)
    if target == "-":
        click.echo(document)
    elif target is not None:
        from privlp.files import write_whole  # noqa: PLC0415 (loads NumPy)

        write_whole(target, document)
