"""What is declared of the columns of X, and whose each row is.

A column has a public range or a public list of categories. What becomes of a record depends on it
and on what is declared alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from privlp import InvalidParameterError, InvalidProblemError, tables
from privlp.checks import IntArray, as_floats, require, require_data
from privlp.privacy import Randomness
from privlp.problem.program_checks import record_ids
from privlp.quiet import WHY, unquoted
from privlp.readers.blocks import is_sequence_of_blocks
from privlp.readers.tables import columns_of
from svm_models.account import adds_or_removes, rows_of
from svm_models.parameters import LEAST_SIZE, MOST_SIZE, FloatArray
from svm_models.records.validation import named

#: Public ends of the entries of a record, each (p,).
Ranges = tuple[FloatArray, FloatArray]
_MOST_NAMED = 5
_TABLE = "Categories need X as a table in memory: one row for each record, one column for each key."
_NUMBERS = "X must hold real numbers in each column for which X_bounds declares a range."


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of X in their order, each with a range (low, high) or a list of categories.

    A list becomes an entry for each category, 1 where a record has it: an unknown one, or none at
    all, leaves zeros, and nobody is told.
    """

    names: list[Any] | None
    declared: tuple[Any, ...]

    @classmethod
    def of(cls, bounds: Any, X: Any, y: Any = None) -> Columns | None:
        """From a dict, for the columns of X, or its own if X is None; no other bounds name any."""
        if not isinstance(bounds, Mapping):
            return None
        names = None if X is None else names_of(X)
        if names is not None and isinstance(y, str):
            names = [name for name in names if name != y]
        known = [*bounds] if X is None else [*range(_width(X))] if names is None else names
        keys = {known[key] if _is_place(key, known) else key: key for key in bounds}
        array = "" if names else " (which has no names: give places, {0: ...}, or a table)"
        unknown = [key for key in keys if key not in known]
        _refuse(f"names what is no column of X{array}", unknown)
        _refuse("leaves out columns of X", [name for name in known if name not in keys])
        return cls(names, tuple(_one(bounds[keys[name]], keys[name]) for name in known))

    @cached_property
    def ranges(self) -> Ranges:
        """Of each entry; a category is 1 or 0, and stays so."""
        each = [[(-1.0, 1.0)] * len(d) if isinstance(d, list) else [d] for d in self.declared]
        low, high = np.array([pair for pairs in each for pair in pairs], dtype=float).T
        return low, high

    def entries(self, n_features: int) -> int:
        """How many entries so many columns, or entries, have."""
        count = len(self.ranges[0])
        wrong = f"X_bounds declares {len(self.declared)} columns, but n_features = {n_features}."
        require(n_features in (len(self.declared), count), wrong, "n_features")
        return count

    @property
    def spread(self) -> bool:
        """Whether there are categories, which become entries of their own."""
        return any(isinstance(one, list) for one in self.declared)

    def numbers(self, X: Any, estimator: Any, *, reset: bool) -> Any:
        """X with an entry for each category; X itself where there are none.

        Of X as it is, the estimator learns, or compares, names and number of columns.
        """
        if not self.spread:
            return X
        if is_sequence_of_blocks(X):
            return [self.numbers(block, estimator, reset=reset) for block in X]
        X, names = in_memory(X), names_of(X)
        wrong = "X must have the columns that it had for fit, in their order."
        columns = unquoted(lambda: _columns(X, names), _TABLE, "X")
        same = len(columns) == len(self.declared)
        require_data(same or names is not None, _TABLE, "X")
        header = np.empty((0, len(columns)))
        header = header if names is None else named(header, names)
        validate_data(estimator, header, reset=reset, skip_check_array=True)
        same &= self.names is None or names in (None, self.names)
        require_data(same, wrong, "X")
        each = zip(columns, self.declared, names or range(len(columns)), strict=True)
        return np.column_stack([_read(*one) for one in each])


def planned(bounds: Any, n_features: int) -> tuple[int, Any]:
    """The entries of a record of so many columns, and their ranges; no record is read."""
    columns = Columns.of(bounds, None)
    return (
        (n_features, bounds) if columns is None else (columns.entries(n_features), columns.ranges)
    )


def ranges_of(bounds: Any, p: int) -> Ranges:
    """The ranges of p entries."""
    low, high = pair_of(bounds, "X_bounds")
    if low.shape not in ((), (p,)) or high.shape not in ((), (p,)):
        raise InvalidParameterError(
            f"X_bounds must be two numbers, or two arrays of {p}: one entry for each feature; or a"
            " dict with a range or a list of categories for each column.",
            parameter="X_bounds",
        )
    return np.broadcast_to(low, (p,)), np.broadcast_to(high, (p,))


def pair_of(bounds: Any, name: str, more: str = "") -> Ranges:
    """Two public ends, low below high."""
    found: list[FloatArray] = []
    with suppress(TypeError, ValueError):
        found = [as_floats(side, name) for side in bounds]
    wrong = f"{name} must be a pair (low, high) of public numbers.{more}"
    require(len(found) == 2, wrong, name)
    low, high = found
    wrong = f"{name} must be finite numbers of at most {MOST_SIZE:g} in size."
    require(np.all(np.abs(low) <= MOST_SIZE) and np.all(np.abs(high) <= MOST_SIZE), wrong, name)
    if low.ndim < 2 and high.ndim < 2 and not np.all(high - low >= LEAST_SIZE):
        raise InvalidParameterError(f"{name}: low must be below high.", parameter=name)
    return low, high


def without_labels(bounds: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Records and labels, where y may name a column of a table with declared categories."""
    tables.require_order(y, X, "y")
    if not (isinstance(y, str) and tables.is_table(X)):
        return X, y
    read = partial(columns_of, tables.opened(X, "X"), {"y": y}, "X")  # which knows its columns
    unquoted(read, f"X could not be read. {WHY}", "X")
    if isinstance(bounds, Columns):
        declared: Iterable[Any] = bounds.declared
    else:
        declared = bounds.values() if isinstance(bounds, Mapping) else ()
    return taken_out(X, y, "y") if any(isinstance(one, list) for one in declared) else (X, y)


def taken_out(X: Any, name: str, parameter: str) -> tuple[Any, Any]:
    """A table without one of its columns, and that column; a lazy table is computed."""
    frame = tables.opened(in_memory(X), "X")
    found = tables.column(frame, name, parameter)
    return frame.drop(name).to_native(), found


def in_memory(X: Any) -> Any:
    """A lazy table with its rows computed; anything else as it is."""
    if not tables.is_table(X):
        return X
    frame = tables.opened(X, "X")
    if not tables.is_lazy(frame):
        return X
    return unquoted(
        lambda: frame.collect().to_native(), "The rows of X could not be computed.", "X"
    )


def names_of(X: Any) -> list[Any] | None:
    """Names of columns, as far as X, or its first block, has any."""
    X = X[0] if is_sequence_of_blocks(X) else X
    if tables.is_table(X):
        return [*tables.opened(X, "X").collect_schema().names()]
    found = getattr(X, "column_names", getattr(X, "columns", None))
    return None if found is None else list(found)


def _width(X: Any) -> int:
    X = X[0] if is_sequence_of_blocks(X) else X
    return unquoted(lambda: X.shape[1] if hasattr(X, "shape") else len(X[0]), _TABLE, "X")


def _is_place(key: Any, known: list[Any]) -> bool:
    """Whether a key is the position of a column, and no name."""
    return isinstance(key, int) and key not in known and 0 <= key < len(known)


def _refuse(fault: str, keys: list[Any]) -> None:
    if keys:
        shown = ", ".join(map(repr, keys[:_MOST_NAMED])) + " and others" * bool(keys[_MOST_NAMED:])
        raise InvalidParameterError(
            f"X_bounds {fault}: {shown}. Declare a range (low, high), or a list of categories, for"
            " each column.",
            parameter="X_bounds",
        )


def _one(declared: Any, key: Any) -> Any:
    """A range or a list of categories, if it is one and not the other."""
    name = f"X_bounds[{key!r}]"
    if not isinstance(declared, list):
        low, high = pair_of(declared, name, " Categories are a list, such as ['a', 'b'].")
        require(low.ndim == high.ndim == 0, f"{name} must be two numbers.", "X_bounds")
        return float(low), float(high)
    numbers = all(isinstance(one, Real) for one in declared)
    hashable = all(isinstance(one, str | Real) for one in declared)
    exact = hashable and all(abs(one) <= 2**53 for one in declared if not isinstance(one, str))
    if (numbers and len(declared) < 3) or not exact or len({*declared}) < len(declared):
        raise InvalidParameterError(
            f"{name} must be a range, a tuple (low, high), or a list of different categories, texts"
            " or numbers of 2^53 at most. Of two numbers give a range: it tells as much.",
            parameter="X_bounds",
        )
    return declared


def _columns(X: Any, names: list[Any] | None) -> list[Any]:
    if names is None:
        X = np.array(X, dtype=object)
        return list(X.T) if X.ndim == 2 else []
    if tables.is_table(X):
        frame = tables.opened(X, "X")
        return [frame.get_column(name) for name in names]
    return [np.asarray(X[name]) for name in names]


def _read(column: Any, declared: Any, name: Any) -> FloatArray:
    """A column as numbers, (n,), or as an entry for each category, (n, k); read one by one."""
    if not isinstance(declared, list):
        numbers = column if isinstance(column, np.ndarray) else column.to_native()
        return unquoted(lambda: as_floats(np.asarray(numbers), f"X[{name!r}]"), _NUMBERS, "X")
    places = {category: place for place, category in enumerate(declared)}

    def read() -> FloatArray:
        entries = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        at = [places.get(value, len(places)) for value in entries]
        return np.eye(len(places) + 1)[at, :-1]

    return unquoted(read, _TABLE, "X")


def with_owners(X: Any, groups: Any) -> tuple[Any, Any]:
    """Records and their owners, where groups may name a column of a table."""
    if groups is not None and tables.is_table(X):
        return unquoted(lambda: _of_table(X, groups), f"X could not be read. {WHY}", "X")
    if is_sequence_of_blocks(X) and isinstance(groups, list | tuple) and np.ndim(groups[0]) == 1:
        message = "groups must hold one record id for each row, all of one type."
        return X, unquoted(lambda: np.concatenate([*groups]), message, "groups")
    return X, groups


def _of_table(X: Any, groups: Any) -> tuple[Any, Any]:
    """Of a lazy table, whose rows have no order of their own, `groups` must be a column."""
    columns_of(tables.opened(X, "X"), {"groups": groups}, "X")
    tables.require_order(groups, X, "groups")
    if not isinstance(groups, str):
        return X, groups
    X = in_memory(X)
    if tables.opened(X, "X").get_column(groups).null_count():
        raise InvalidProblemError(
            "groups has missing record ids. Rows without a known owner may be one person's: give"
            " each row its owner.",
            parameter="groups",
        )
    return taken_out(X, groups, "groups")


def refuse(estimator: Any, unsupported: Any, groups: Any = None, *, private: bool = True) -> None:
    """Refuse what fit does not take, before a record is read."""
    name = type(estimator).__name__
    if unsupported:
        taken = "X, y and groups" if private else "X and y"
        why = "."
        if private and "sample_weight" in unsupported:
            why = ": what a record adds is bounded for records of equal weight."
            if "class_weight" in estimator.get_params():
                why += " Classes have public weights: class_weight."
        raise InvalidParameterError(
            f"{name}.fit takes {taken} only, not {', '.join(sorted(unsupported))}{why}",
            parameter=min(unsupported),
        )
    if groups is not None and not private:
        raise InvalidParameterError(
            f"groups has no use here: {name} protects nobody, and so does not ask which rows are"
            " one person's. Leave it out.",
            parameter="groups",
        )


def owners_of(estimator: Any, groups: Any, count: int) -> IntArray:
    """The number of the owner of each of so many rows; the most rows of one must be declared."""
    hidden = adds_or_removes(estimator.relation)
    ids: Any = record_ids(groups, count, quote=not hidden)
    owners = np.unique(ids, return_inverse=True)[1].astype(np.int64)
    if estimator.rows_per_record is None:
        told = "" if hidden else f"; here nobody has more than {np.bincount(owners).max()}"
        raise InvalidParameterError(
            "rows_per_record is missing: say how many rows of one person fit may learn from. Of a"
            " person with more, so many are kept, drawn at random. Noise grows with this number"
            f"{told}.",
            parameter="rows_per_record",
        )
    return owners


def kept(estimator: Any, groups: Any, count: int, randomness: Randomness) -> IntArray | None:
    """The places of the rows that are kept; None for all of them."""
    rows = rows_of(estimator)
    if groups is None:
        return None
    return kept_rows(owners_of(estimator, groups, count), rows, randomness.generator)


def kept_rows(owners: IntArray, most: int, generator: np.random.Generator) -> IntArray:
    """The places of the rows that are kept, rising: `most` of each owner, drawn at random.

    Each row has a draw of its own: which rows of one person are kept has no bearing on another's.
    """
    order = np.lexsort((generator.random(len(owners)), owners))
    sizes = np.bincount(owners)
    rank = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[rank < most])
