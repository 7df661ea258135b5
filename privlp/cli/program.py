"""The program that a model file and the options describe."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np

from privlp import relations
from privlp.checks import FloatArray
from privlp.cli.options import RANGES, flag
from privlp.errors import InvalidParameterError
from privlp.linear_program import LinearProgram
from privlp.readers.model_files import read_mps
from privlp.solution import Solution

#: Pattern over row names, lower end, upper end.
RowRange = tuple[str, float, float]
_MOST_ROWS_NAMED = 3
_RELATIONS: dict[str, Callable[..., Any]] = {
    "scalar_private": relations.ScalarPrivate,
    "row_private": relations.RowPrivate,
    "column_private": relations.ColumnPrivate,
    "objective_private": relations.ObjectivePrivate,
}
#: Options that mean something for some of these relations only.
_DETAILS = {
    "norm": ("scalar_private",),
    "b_range": ("scalar_private",),
    "b_range_of": ("scalar_private",),
    "a_range": ("row_private", "column_private"),
    "zeros_public": ("scalar_private", "row_private", "column_private"),
    "c_range": ("objective_private",),
}
_LOW_SENSITIVITY_OPTIONS = (*_RELATIONS, *_DETAILS)


def row_ranges(
    names: Sequence[str], general: Any, of_rows: Sequence[RowRange]
) -> tuple[FloatArray, FloatArray]:
    """Declared ends of each row's right-hand side, (n,): of --b-range-of, or general."""
    low, high = general or (-math.inf, math.inf)
    lower, upper = np.full(len(names), low), np.full(len(names), high)
    rows = {name: row for row, name in enumerate(names)}
    for pattern, first, last in of_rows:
        named = [pattern] if pattern in rows else fnmatch.filter(names, pattern)
        chosen = [rows[name] for name in named]
        if not chosen:
            raise InvalidParameterError(f"--b-range-of: the model has no row {pattern!r}.")
        if not first <= last:
            raise InvalidParameterError(
                f"--b-range-of: the lower end of row {pattern!r} exceeds its upper end, or one of"
                " them is no number."
            )
        lower[chosen], upper[chosen] = first, last
    return lower, upper


def program(model: str, given: dict[str, Any]) -> tuple[LinearProgram, dict[str, Any]]:
    """The program that the options describe, and those left; which rows are private is told."""
    rest = dict(given)
    private = list(rest.pop("patterns")) or None
    low_sensitivity = {name: rest.pop(name) for name in _LOW_SENSITIVITY_OPTIONS}
    low_sensitivity["b_range_of"] = low_sensitivity["b_range_of"] or None
    owned = {name: rest.pop(name) for name in _OF_RECORDS}
    relation = _neighbours(model, owned, low_sensitivity)
    opt_range = rest.pop("opt_range")
    if opt_range is not None:
        if rest["opt"] is not None:
            raise InvalidParameterError("Give --opt or --opt-range, not both.")
        rest["opt"] = opt_range
    lp = LinearProgram.from_mps(
        model,
        neighbours=relation,
        private=private,
        box=rest.pop("box"),
        penalty=_penalty(rest.pop("penalties")),
        relax=rest.pop("relax"),
    )
    if rest["start"] is not None:
        rest["start"] = Solution.load(rest["start"])
    click.echo(what_is_private(lp), err=True)
    return lp, rest


def _penalty(given: tuple[str, ...]) -> float | dict[str, float] | None:
    """The prices of --penalty: one number, or numbers by pattern."""
    try:
        if len(given) < 2 and "=" not in "".join(given):
            return float(given[0]) if given else None
        pairs = [text.rpartition("=") for text in given]
        if not all(pattern for pattern, _, _ in pairs):
            raise ValueError
        return {pattern: float(price) for pattern, _, price in pairs}
    except ValueError:
        raise InvalidParameterError(
            "--penalty must be one number, or PATTERN=PRICE as often as needed; got"
            f" {', '.join(map(repr, given))}."
        ) from None


def what_is_private(lp: LinearProgram) -> str:
    """Which rows are private; where rows come and go, neither their number nor any name."""
    if lp.neighbours.changes_whole_rows:
        return _private_rows(lp, "are private")
    rows = "Costs are private; all rows are public."
    if lp.neighbours.private_parts & {"A", "b"}:
        rows = _private_rows(lp, "hold private numbers")
    return f"{rows} Public: {lp.neighbours.public_parts(lp)}."


def _private_rows(lp: LinearProgram, hold: str) -> str:
    public = [i for i, private in enumerate(lp.private) if not private]
    if lp.neighbours.hides_rows:
        told = f"{len(public)} rows are public; the number of private rows is private."
        return told if public else "All rows are private."
    n = lp.shape[0]
    if not public:
        return f"All {n} rows {hold}."
    names = [str(i) if lp.row_names is None else lp.row_names[i] for i in public[:_MOST_ROWS_NAMED]]
    more = f" and {len(public) - len(names)} more" if len(public) > len(names) else ""
    return f"{n - len(public)} of {n} rows {hold}; public: {', '.join(names)}{more}."


#: Options on whole rows of records, and what they are where nothing is said.
_OF_RECORDS = {"nominal_n": None, "largest_penalty": None, "rows_per_record": 1}


def _neighbours(model: str, owned: dict[str, Any], given: dict[str, Any]) -> Any:
    """The neighbour relation that the options describe; options without use for it are refused."""
    touched = [name for name in _RELATIONS if given[name] is not None]
    for detail, owners in _DETAILS.items():
        if given[detail] is not None and not set(owners) & set(touched):
            raise InvalidParameterError(
                f"{flag(detail)} has no use without {' or '.join(map(flag, owners))}."
            )
    if not touched:
        change: Any = "replace" if owned["nominal_n"] is None else "add-remove"
        return relations.ConstraintPrivate(change, **owned)
    unused = [name for name, value in _OF_RECORDS.items() if owned[name] != value]
    if unused:
        raise InvalidParameterError(
            f"{flag(unused[0])} has no use with {flag(touched[0])}, where the rows are public."
            " Leave it out."
        )
    found = [_relation(model, name, given) for name in touched]
    return found[0] if len(found) == 1 else tuple(found)


def _relation(model: str, name: str, given: dict[str, Any]) -> Any:
    details: dict[str, Any] = {}
    if given["zeros_public"] and name in _DETAILS["zeros_public"]:
        details["zeros"] = "public"
    ends = given[RANGES[name]]
    if name == "scalar_private":
        details |= {"norm": given["norm"]} if given["norm"] else {}
        if given["b_range_of"] is not None:
            ends = row_ranges(read_mps(model)["row_names"] or (), ends, given["b_range_of"])
    details |= {} if ends is None else dict(zip(("lower", "upper"), ends, strict=True))
    try:
        return _RELATIONS[name](given[name], **details)
    except InvalidParameterError as error:
        options = {"sensitivity": name, "lower": RANGES[name], "upper": RANGES[name]}
        option = options.get(str(error.parameter), error.parameter)
        raise InvalidParameterError(str(error), parameter=option) from None


def shares(text: str | None) -> list[float] | None:
    """The numbers of --split."""
    try:
        return None if text is None else [float(share) for share in text.split(",")]
    except ValueError:
        raise InvalidParameterError(
            f"--split must be numbers with commas between them, such as 2,1,1; got {text!r}."
        ) from None
