"""Tables that narwhals reads. Entries become numbers here alone; errors quote no entry."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, frozen, is_missing, optional
from privlp.errors import InvalidProblemError
from privlp.quiet import unquoted

# Entries that are converted at a time: 4 megabytes.
_ENTRIES = 2**19
_MOST_NAMED = 8

#: What keeps privacy where numbers are missing. Other libraries' means and medians do not.
FILL_IN = (
    "Fill in each of them by a public number, or from the same record. A mean or a nearest"
    " neighbour among other records is made of private numbers that no budget pays for."
)
#: What to do with texts.
_TEXTS = (
    "Convert texts of digits to numbers, and encode categories by a public list of them; a column"
    " that says who owns a row is named by groups=..."
)
_DATES = datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64
#: What is no number: types of entries, kinds of arrays, and what to do.
_FAULTS: dict[str, tuple[Any, str, str]] = {
    "text": (str, "UT", _TEXTS),
    "bytes": (bytes | bytearray | memoryview, "SV", "Give real numbers."),
    "dates": (_DATES, "mM", "Give numbers, such as days since a public date."),
    "complex numbers": (complex | np.complexfloating, "c", "Give real numbers."),
    "missing entries": (type(None), "", FILL_IN),
    "other things than numbers": ((), "", "Give real numbers, a column for each."),
}
#: What columns hold that narwhals calls so.
_HOLDS = dict.fromkeys(("String", "Categorical", "Enum"), "text") | {"Binary": "bytes"}
_HOLDS |= dict.fromkeys(("Date", "Datetime", "Duration", "Time"), "dates")


def is_dask(thing: Any) -> bool:
    """Whether something is a collection of Dask, which is imported then."""
    return type(thing).__module__.partition(".")[0] == "dask" and hasattr(thing, "to_delayed")


def is_table(thing: Any) -> bool:
    """Whether something is a table; Dask's are read in blocks of their own."""
    return hasattr(type(thing), "columns") and not is_dask(thing)


def opened(table: Any, name: str) -> Any:
    """A table as narwhals has it, which is imported by the first."""
    need = "narwhals is needed to read tables: pip install narwhals. Or give arrays."
    narwhals = optional("narwhals.stable.v2", need)

    def read() -> Any:
        try:
            return narwhals.from_native(table)
        except narwhals.exceptions.DuplicateError:
            raise InvalidProblemError(
                f"The columns of {name} must have distinct names.", parameter=name
            ) from None

    kind = type(table).__name__
    return unquoted(read, f"{name} is no table that narwhals reads, got {kind}.", name)


def is_lazy(frame: Any) -> bool:
    """Whether the rows of an opened table are yet to be computed, in an order that is not known."""
    return not hasattr(frame, "shape")


def refuse(faults: Iterable[tuple[str, str]], name: str) -> None:
    """Refuse columns with faults, given as pairs of their names and of words of `_FAULTS`."""
    named: dict[str, list[str]] = {}
    for column, fault in faults:
        if fault:
            named.setdefault(fault, []).append(column)
    for fault, columns in named.items():
        where = f"column{'s' if len(columns) > 1 else ''} {listed(columns)}"
        message = f"{name} holds {fault} in {where}. {_FAULTS[fault][2]}"
        raise InvalidProblemError(message, parameter=name)


def listed(names: Sequence[str]) -> str:
    """The first of some names, for messages."""
    return ", ".join(names[:_MOST_NAMED]) + (" and others" if names[_MOST_NAMED:] else "")


def fault_of(column: npt.NDArray[Any]) -> str:
    """What in a column is no number, in a word of :data:`_FAULTS`; empty if nothing is."""
    kind = column.dtype.kind
    if kind != "O":
        return next((fault for fault, (_, kinds, _) in _FAULTS.items() if kind in kinds), "")
    others = [e for e in column.ravel().tolist() if not isinstance(e, Real | np.bool_ | Decimal)]
    for fault, (types, _, _) in _FAULTS.items():
        if any(isinstance(entry, types) for entry in others):
            return fault
    return "missing entries" if any(map(is_missing, others)) else ""


def refuse_kinds(frame: Any, columns: Sequence[Any], name: str) -> None:
    """Refuse columns of a kind that holds no numbers; of unknown kinds entries are looked at."""
    kinds = frame.collect_schema()
    other = {column: "other things than numbers" for column in columns if kinds[column].is_nested()}
    held = {column: _HOLDS.get(type(kinds[column]).__name__, "") for column in columns}
    refuse(((repr(column), fault) for column, fault in (held | other).items()), name)


def matrix(table: Any, name: str, leave_out: Collection[str] = ()) -> Any:
    """The numbers of a table that is not lazy, (n, d): row by row as in an array, or sparse."""
    frame = opened(table, name)
    columns = [column for column in frame.columns if column not in leave_out]
    if columns and hasattr(type(table), "sparse"):
        ends = (getattr(table.dtypes[column], "fill_value", None) for column in columns)
        if all(end == 0 for end in ends):
            return table[columns].sparse.to_coo()
    refuse_kinds(frame, columns, name)
    A, places = np.empty((len(frame), len(columns))), {c: j for j, c in enumerate(columns)}
    step = max(1, _ENTRIES // max(1, len(columns)))
    for low in range(0, len(A), step):
        for column in frame[low : low + step].iter_columns():
            if column.name in places:
                j, values = places[column.name], column.to_numpy()
                A[low : low + step, j] = numbers(values, column.name, name)
    return frozen(A)


def numbers(values: npt.NDArray[Any], column: Any, name: str) -> FloatArray:
    """The entries of a column; none is missing."""
    fault = fault_of(values)
    if not fault:
        try:
            values = values.astype(float, copy=False)
        except (TypeError, ValueError):
            fault = "other things than numbers"
        else:
            fault = "missing entries" if np.isnan(values).any() else ""
    refuse([(repr(column), fault)], name)
    return values


def column(frame: Any, column: str, name: str) -> npt.NDArray[Any]:
    """A column of an opened table as an array; no entry is missing."""
    found = frame.get_column(column)
    if found.null_count():
        refuse([(repr(column), "missing entries")], name)
    return np.asarray(found.to_native())


def labels(values: Any, axis: int) -> list[str] | None:
    """Names along an axis of a table, or of a column; ``None`` where pandas has only counted."""
    index = getattr(values, ("index", "columns")[axis], None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [*map(str, opened(values, "A table").columns if axis and is_table(values) else index)]


def names_along(what: str, *given: tuple[str, Any, int]) -> list[str] | None:
    """Names that tables and columns share along an axis, in one order, as entries go by place."""
    first, found = "", None
    for argument, values, axis in given:
        message = f"{argument} has names of {what} that are no text."
        names = unquoted(partial(labels, values, axis), message, argument)
        if names is not None and found not in (None, names):
            raise InvalidProblemError(
                f"{first} and {argument} name the {what} differently, or in another order. Arrange"
                " them alike, or leave names out by to_numpy(): entries are matched by place.",
                parameter=argument,
            )
        if found is None and names is not None:
            first, found = argument, names
    return found


def index_of(*blocks: Any) -> Any:
    """The labels that pandas has for the rows of some tables one below the other, or ``None``."""
    found: list[Any] = [None if is_dask(of) else getattr(of, "index", None) for of in blocks]
    if not found or not all(hasattr(index, "get_indexer") for index in found):
        return None
    return found[0].append(found[1:]) if found[1:] else found[0]


def places(values: Any, rows: Any, name: str, of: str) -> npt.NDArray[Any] | None:
    """Where labelled values have the entries of labelled rows; ``None`` if in the same order.

    What is matched is matched by labels, whatever these are: one record's label must not decide
    how those of all others are paired.
    """
    own = index_of(values)
    if own is None or rows is None or len(own) != len(rows) or own.equals(rows):
        return None
    at = _matched(own, rows)
    if at is None:
        raise InvalidProblemError(
            f"{name} has other labels (index) than the rows of {of}. Give it theirs, in any order;"
            f" or match rows by their order: {name}.to_numpy().",
            parameter=name,
        )
    return at


def in_order_of_rows(values: Any, names: Sequence[str] | None, name: str) -> Any:
    """What is labelled, in the order of rows that have names; anything else as it is."""
    if names is None or index_of(values) is None or labels(values, 0) is None:
        return values
    own = values.index.map(str)
    at = places(values.set_axis(own), type(own)(names), name, "the program")
    return values if at is None else values.iloc[at]


def _matched(own: Any, rows: Any) -> npt.NDArray[Any] | None:
    """Where the same labels stand in another order; ``None`` if they are not the same."""
    at = own.get_indexer(rows) if own.is_unique and rows.is_unique else np.array([-1])
    return np.asarray(at) if (at >= 0).all() else None


def require_order(values: Any, table: Any, name: str) -> None:
    """Refuse labels of records that are not theirs, in their order."""
    own, rows = index_of(values), index_of(table)
    if own is None or rows is None or len(own) != len(rows) or own.equals(rows):
        return
    how = "other labels (index) than the rows of X. Give it theirs, in the same order"
    if _matched(own, rows) is not None:
        how = f"the labels (index) of the rows of X, in another order. Give {name}.loc[X.index]"
    raise InvalidProblemError(
        f"{name} has {how}; or match rows by their order: {name}.to_numpy().", parameter=name
    )


def aligned(given: Mapping[str, Any], rows: Any, of: str) -> dict[str, Any]:
    """What is given for rows, in the order of their labels where both sides have labels.

    What is matched has no labels then.
    """
    found = {key: places(value, rows, key, of) for key, value in given.items()}
    ordered = {k: v if found[k] is None else v.iloc[found[k]] for k, v in given.items()}
    matched = {k for k, v in given.items() if rows is not None and index_of(v) is not None}
    return {k: v.to_numpy() if k in matched else v for k, v in ordered.items()}


def by_name(given: Any, names: Sequence[str] | None, argument: str, what: str = "variable") -> Any:
    """Entries that are given by name, in the order of the names; without labels as they are.

    Labels that are no names may be those of people: errors quote the keys of a mapping alone.
    """
    order, labelled = "", not isinstance(given, Mapping)
    if labelled:
        own = None if names is None or is_table(given) else labels(given, 0)
        if own is None:
            return given
        order = f" Or go by order: {argument}.to_numpy()."
        if len({*own}) < len(own):
            twice = f"{argument} has several entries of one label.{order}"
            raise InvalidProblemError(twice, parameter=argument)
        given = dict(zip(own, given, strict=True))
    elif len({*map(str, given)}) == len(given):  # columns may be numbers or tuples
        given = {str(name): value for name, value in given.items()}
    if names is None:
        raise InvalidProblemError(
            f"{argument} goes by name, but the {what}s have no names. Give A as a table, or"
            f" {what}_names.",
            parameter=argument,
        )
    without = [repr(name) for name in names if name not in given]
    unknown = [repr(name) for name in given if name not in names]
    if without or unknown:
        said = [f"nothing is given for {listed(without)}"] if without else []
        if unknown:
            called = f"no {what} is called {listed(unknown)}"
            said.append(f"other labels are no {what}s" if labelled else called)
        raise InvalidProblemError(
            f"{argument} must name each {what}, and no other: {'; '.join(said)}.{order}",
            parameter=argument,
        )
    return [given[name] for name in names]
