"""Options of the command line: in groups, what they describe, and their names in messages."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from privlp.errors import InvalidParameterError
from privlp.problem import LinearProgram
from privlp.relations import (
    ColumnPrivate,
    ConstraintPrivate,
    ObjectivePrivate,
    RowPrivate,
    ScalarPrivate,
)

Decorator = Callable[..., Any]


class _GroupedOption(click.Option):
    def __init__(self, *arguments: Any, group: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group.

        One without a group, such as --help, joins the last.
        """
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

_MOST_ROWS_NAMED = 3
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
    _numbers("--a-range", **_RANGE, help="Declared public range of private coefficients."),
    _numbers("--c-range", **_RANGE, help="Declared public range of private costs."),
    _numbers(
        "--zeros-public",
        is_flag=True,
        default=None,
        help="Coefficients that the file leaves out are zero for everyone.",
    ),
    method("--opt", type=float, help="Public optimal value, in the model's units and sense."),
    method("--opt-range", **_RANGE, help="Public range of the optimal value, in place of --opt."),
    method(
        "--alpha",
        type=float,
        help="Violation per unit of row norm aimed at; the best the budget allows by default.",
    ),
    method(
        "--feasible",
        type=click.Choice(["always"]),
        help="Never violate a private row (where only numbers are private).",
    ),
    method("--box", type=float, help="Public bound on every variable's size."),
    method(
        "--width",
        type=float,
        help="Declared bound: entries of A and b (dmw-published), norms of soft rows.",
    ),
)

#: What a solve and its audit need besides.
MANNER = options(
    method(
        "--method",
        default="auto",
        show_default=True,
        help="auto, or one by name: mirror, direct-noise, ...",
    ),
    method(
        "--split", help="Shares of the budget for b, A, c where several are private, such as 2,1,1."
    ),
)


def program(model: str, given: dict[str, Any]) -> tuple[LinearProgram, dict[str, Any]]:
    """The program that the options describe, and the options that are left."""
    rest = dict(given)
    private = list(rest.pop("patterns")) or None
    low_sensitivity = {name: rest.pop(name) for name in _LOW_SENSITIVITY_OPTIONS}
    relation = _neighbours(rest.pop("rows_per_record"), rest.pop("nominal_n"), low_sensitivity)
    opt_range = rest.pop("opt_range")
    if opt_range is not None:
        if rest["opt"] is not None:
            raise InvalidParameterError("Give --opt or --opt-range, not both.")
        rest["opt"] = opt_range
    return (
        LinearProgram.from_mps(model, neighbours=relation, private=private, box=rest.pop("box")),
        rest,
    )


def what_is_private(lp: LinearProgram) -> str:
    """Which rows the options made private.

    Where rows come and go, neither their number nor any name is told.
    """
    whole_rows = isinstance(lp.neighbours, ConstraintPrivate)
    if not whole_rows and not lp.neighbours.private_parts & {"A", "b"}:
        return "Costs are private; all rows are public."
    public = [i for i, private in enumerate(lp.private) if not private]
    if whole_rows and lp.neighbours.nominal_n is not None:
        return (
            f"{len(public)} rows are public; the number of private rows is private."
            if public
            else "All rows are private."
        )
    hold = "are private" if whole_rows else "hold private numbers"
    n = lp.shape[0]
    if not public:
        return f"All {n} rows {hold}."
    names = [str(i) if lp.row_names is None else lp.row_names[i] for i in public[:_MOST_ROWS_NAMED]]
    more = f" and {len(public) - len(names)} more" if len(public) > len(names) else ""
    return f"{n - len(public)} of {n} rows {hold}; public: {', '.join(names)}{more}."


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
_RANGES = {
    "scalar_private": "b_range",
    "row_private": "a_range",
    "column_private": "a_range",
    "objective_private": "c_range",
}
_LOW_SENSITIVITY_OPTIONS = (*_RELATIONS, *_DETAILS)


def _neighbours(rows_per_record: int, nominal_n: int | None, given: dict[str, Any]) -> Any:
    """The neighbour relation that the options describe; options without use for it are refused."""
    touched = [name for name in _RELATIONS if given[name] is not None]
    for detail, owners in _DETAILS.items():
        if given[detail] is not None and not set(owners) & set(touched):
            raise InvalidParameterError(
                f"{_flag(detail)} has no use without {' or '.join(map(_flag, owners))}."
            )
    if not touched:
        return ConstraintPrivate(
            "replace" if nominal_n is None else "add-remove", rows_per_record, nominal_n
        )
    if nominal_n is not None or rows_per_record != 1:
        unused = "--nominal-n" if nominal_n is not None else "--rows-per-record"
        raise InvalidParameterError(
            f"{unused} has no use with {_flag(touched[0])}, where the rows are public. Leave it"
            " out."
        )
    relations = [_relation(name, given) for name in touched]
    return relations[0] if len(relations) == 1 else tuple(relations)


def _relation(name: str, given: dict[str, Any]) -> Any:
    details: dict[str, Any] = (
        {"norm": given["norm"]} if name == "scalar_private" and given["norm"] else {}
    )
    if given["zeros_public"] and name in _DETAILS["zeros_public"]:
        details["zeros"] = "public"
    ends = given[_RANGES[name]]
    details |= {} if ends is None else dict(zip(("lower", "upper"), ends, strict=True))
    try:
        return _RELATIONS[name](given[name], **details)
    except InvalidParameterError as error:
        message = str(error).replace("sensitivity", _flag(name), 1).replace("upper", "HIGH")
        raise InvalidParameterError(
            message.replace("lower must", f"{_flag(_RANGES[name])}: LOW must")
        ) from None


def shares(text: str | None) -> list[float] | None:
    """The numbers of --split."""
    try:
        return None if text is None else [float(share) for share in text.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"--split must be numbers with commas between them, such as 2,1,1; got {text!r}."
        ) from None


# ----------------------------------------------------------------------------------------------
# messages

_PHRASES = {
    "opt=(low, high)": "--opt-range LOW HIGH",
    "bounds=..., or box=... in the readers": "--box",
    "or give opt or a range": "or give --opt or --opt-range",
    "(and opt, if given)": "(and --opt, if given)",
    "opt must be a number, got tuple": "This method takes --opt, not --opt-range",
    "opt must be a number with this method, got a sequence": (
        "This method takes --opt, not --opt-range"
    ),
    "by a mask of True or the pattern '*'": "by --private '*'",
    "sides b: give the neighbour relation a finite": "sides b: by --b-range, with a finite",
    "coefficients A: give the neighbour relation a finite": (
        "coefficients A: by --a-range, with a finite"
    ),
    "give lower and upper to the neighbour relation": "give --a-range",
    "feasible must be None here": "--feasible has no use here",
    "or None for the best": "or left out for the best",
    "The parameters s and alpha say": "--s and --alpha say",
    "use solve_exact": "use `privlp exact`",
}
_AT_THE_START = r"(?:^|(?<=[.:] ))({})(?= (?:must|is missing|has no use|needs|=))"
_WITH_A_VALUE = r"\b({})=('[^']*'|\.\.\.|[-\w.]*\w)"


def in_flags(text: str) -> str:
    """A message in which the options of the present command stand for the parameters of the library."""
    known = click.get_current_context().command.params
    flags = {
        str(option.name): option.opts[0] for option in known if isinstance(option, click.Option)
    }
    if "patterns" in flags:
        flags["private"] = flags.pop("patterns")
    for phrase, said in _PHRASES.items():
        text = text.replace(phrase, said)
    names = "|".join(flags)
    text = re.sub(
        _WITH_A_VALUE.format(names),
        lambda found: f"{flags[found[1]]} {_plain(found[2])}".strip(),
        text,
    )
    text = re.sub(_AT_THE_START.format(names), lambda found: flags[found[1]], text)
    return re.sub(r"\b\w+_\w+\b", lambda found: flags.get(found[0], found[0]), text)


def _plain(value: str) -> str:
    """A value as one types it: a plain word without quotes."""
    return "" if value == "..." else re.sub(r"^'([-\w]+)'$", r"\1", value)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
