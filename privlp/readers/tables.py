"""Programs whose rows are tables, and the arguments of SciPy's linprog, which may be tables.

Lazy tables are computed once, into a temporary file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import tables
from privlp.checks import FloatArray, as_floats, frozen, is_real, require_data
from privlp.errors import InvalidProblemError
from privlp.problem import validation
from privlp.problem.data import ProgramData
from privlp.problem.validation import Sides
from privlp.quiet import WHY, unquoted
from privlp.readers.blocks import ParquetRows, pyarrow_modules

#: Fields with an entry for each row. A text among them names a column.
_OF_ROWS = ("b", "groups", "row_lower", "penalty", "row_names")
_ENTRIES = 2**19  # Entries that are converted at a time.


class LazyRows(ParquetRows):
    """Rows of a lazy table, computed once into a temporary file that only its owner may read."""

    def __init__(
        self, frame: Any, columns: Any, rhs: str | None = None, *, name: str, quote: bool = True
    ) -> None:
        self._name = name
        tables.refuse_kinds(frame, [*columns, *([] if rhs is None else [rhs])], name)
        _, pyarrow = pyarrow_modules()  # before the query runs
        with tempfile.TemporaryDirectory(prefix="privlp-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, "rows.parquet")
            failure = f"{name} could not be computed. {WHY}"
            unquoted(lambda: frame.sink_parquet(path), failure, name)
            self._file = pyarrow.OSFile(str(path))
            super().__init__(path, rhs, columns, sparse=False, quote=quote)
        self.names = self.columns

    def _opened(self, file: Path) -> Any:  # noqa: ARG002 (it has no name any more)
        return super()._opened(self._file)

    def _of(self, file: Path) -> str:  # noqa: ARG002 (users know of none)
        return self._name

    def _numbers(self, batch: Any, name: str, dtype: Any, file: Path) -> npt.NDArray[Any]:
        some = not batch.column(name).null_count
        found = super()._numbers(batch, name, dtype, file) if some else np.array([np.nan])
        return tables.numbers(found, name, self._name)

    def _name_of(self, number: int) -> str:  # noqa: ARG002 (users know of none)
        return "The table"

    def block(self, number: int) -> npt.NDArray[Any]:
        """The rows of a block."""
        return next(self._raw([number]))[0]

    def matrix(self) -> FloatArray:
        """All rows at once, as those of an array lie."""
        A = np.empty((sum(place.rows for place in self._places), len(self.columns)))
        low = 0
        with self._opened(Path()) as data:  # column by column: of each a page is held
            for group in range(data.metadata.num_row_groups):
                for j, name in enumerate(self.columns):
                    high = low
                    for batch in data.iter_batches(_ENTRIES, row_groups=[group], columns=[name]):
                        first, high = high, high + len(batch)
                        A[first:high, j] = self._numbers(batch, name, np.float64, Path())
                low = high
        return frozen(A)

    def column(self, name: str, argument: str) -> npt.NDArray[Any]:
        """A column, of any kind."""
        with self._opened(Path()) as data:
            return tables.column(tables.opened(data.read([name]), argument), name, argument)


def read_table(
    table: Any, given: Mapping[str, Any], name: str = "A"
) -> tuple[Any, dict[str, Any], list[Any]]:
    """The numbers of a table, what is `given` beside them, and the names of the columns."""
    frame, given = tables.opened(table, name), tables.aligned(given, tables.index_of(table), name)
    columns, named = columns_of(frame, given, name), _named(given)
    if tables.is_lazy(frame):
        rows = LazyRows(frame, columns, name=name)
        found = {key: rows.column(named[key], key) for key in named}
        return rows.matrix(), {**given, **found}, columns
    found = {key: tables.column(frame, named[key], key) for key in named}
    return tables.matrix(table, name, named.values()), {**given, **found}, columns


def columns_of(frame: Any, given: Mapping[str, Any], name: str) -> list[Any]:
    """The columns of an opened table that are those of variables, not named by what is `given`."""
    columns, named = frame.collect_schema().names(), _named(given)
    for key, value in given.items():
        by_place = not (value is None or isinstance(value, str | Mapping) or is_real(value))
        if by_place and tables.is_lazy(frame):
            how = "Name rows by row_names and a pattern" if key == "private" else "Name a column"
            raise InvalidProblemError(
                f"The rows of a lazy table have no fixed order, so {key} cannot be matched to those"
                f" of {name}. {how}, or collect both in one order first.",
                parameter=key,
            )
        if key in named and value not in columns:
            raise InvalidProblemError(
                f"{key}={value!r} names no column of {name}. Its columns are:"
                f" {tables.listed([*map(repr, columns)])}.",
                parameter=key,
            )
    others = [column for column in columns if column not in named.values()]
    require_data(others, f"The problem is empty: {name} has no column.", name)
    return others


def _named(given: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in given.items() if isinstance(value, str)}


def fields_of_table(lp: ProgramData) -> dict[str, Any]:
    """The fields of a program whose rows are a table, some of whose columns may be named."""
    given = {field: getattr(lp, field) for field in _OF_ROWS}
    if not isinstance(lp.private, str):  # which is a pattern over names of rows
        given["private"] = lp.private
    frame = tables.opened(lp.A, "A")
    columns, named = columns_of(frame, given, "A"), _named(given)
    if tables.is_lazy(frame) and {*named} == {"b"} and hasattr(lp.neighbours, "rows_per_record"):
        quote = not lp.neighbours.hides_rows
        rows = LazyRows(frame, columns, named["b"], name="A", quote=quote)
        rows.check(quote=quote)
        fields: dict[str, Any] = {"A": rows, "b": Sides(rows)}
    else:
        A, fields, columns = read_table(lp.A, given)
        fields["A"] = A
    if lp.variable_names is None:
        fields["variable_names"] = columns
    if lp.row_names is None:
        fields["row_names"] = tables.labels(lp.A, 0)
    return fields


def read_linprog(
    c: Any,
    A_ub: Any,
    b_ub: Any,
    A_eq: Any,
    b_eq: Any,
    bounds: Any,
    *,
    of_rows: Mapping[str, Any],
    quote: bool = True,
) -> dict[str, Any]:
    """Fields of the program; without `quote` there may be no row, and errors count none."""
    given = tables.index_of(*(matrix for matrix in (A_ub, A_eq) if matrix is not None))
    of_rows = tables.aligned(of_rows, given, "A_ub" if A_eq is None else "A_ub and A_eq")
    groups = of_rows["groups"]
    blocks, lower, upper, names = [], [], [], []
    size = len(c) if isinstance(c, Mapping) else np.size(c)
    for matrix, sides, name, equality in ((A_ub, b_ub, "ub", False), (A_eq, b_eq, "eq", True)):
        if (matrix is None) != (sides is None):
            raise InvalidProblemError(f"A_{name} and b_{name} belong together: give both or none.")
        if matrix is None:
            continue
        if tables.is_table(matrix):
            mine = {f"b_{name}": sides} | (
                {} if equality or A_eq is not None else {"groups": groups}
            )
            block, found, columns = read_table(matrix, mine, f"A_{name}")
            rhs, groups = found[f"b_{name}"], found.get("groups", groups)
            names.append(columns)
        else:
            block, rhs = _block(matrix, f"A_{name}", None if quote else size), sides
        if block.ndim != 2:
            shape = f", got shape {block.shape}" if quote else ""
            raise InvalidProblemError(f"A_{name} must be a matrix of shape (n, d){shape}.")
        meaning = f"one right-hand side per row of A_{name}"
        clean = validation.vector(rhs, block.shape[0], f"b_{name}", meaning, quote=quote)
        blocks.append(block)
        upper.append(clean)
        lower.append(clean if equality else np.full(len(clean), -np.inf))
    if not blocks and not quote:
        blocks, lower, upper = [np.zeros((0, size))], [np.zeros(0)], [np.zeros(0)]
    if not blocks:
        raise InvalidProblemError(
            "The problem has no constraints: give A_ub and b_ub, or A_eq and b_eq."
        )
    if len({block.shape[1] for block in blocks}) > 1:
        counts = [block.shape[1] for block in blocks]
        told = (
            f"A_ub has {counts[0]} columns and A_eq has {counts[1]}" if quote else "A_ub and A_eq"
        )
        raise InvalidProblemError(f"{told}: they must have the same number of columns.")
    if names and names[0] != names[-1]:
        has = (tables.listed([*map(repr, columns)]) for columns in names)
        raise InvalidProblemError(
            f"A_ub and A_eq must have the same columns in one order: {' is not '.join(has)}.",
            parameter="A_eq",
        )
    stack = sp.vstack if any(map(sp.issparse, blocks)) else np.vstack
    d = blocks[0].shape[1]
    called = [*map(str, names[0])] if names else None
    ends = validation.variable_bounds(bounds, d, called, quote=quote)
    return {
        "c": c,
        "A": blocks[0] if len(blocks) == 1 else stack(blocks),
        "b": np.concatenate(upper),
        "row_lower": np.concatenate(lower),
        "bounds": np.column_stack([np.broadcast_to(end, d) for end in ends]),
        "variable_names": called,
        **of_rows,
        "groups": groups,
    }


def require_continuous(integrality: Any) -> None:
    """Refuse SciPy's `integrality` unless it is 0 for every variable."""
    if integrality is not None and np.any(as_floats(integrality, "integrality") != 0):
        raise InvalidProblemError(
            "integrality asks for integer or semi-continuous variables; privlp solves linear"
            " programs only: what it protects and promises holds for points of any value, and"
            " rounding them may violate rows. Leave integrality out to let variables take any value"
            " within their bounds.",
            parameter="integrality",
        )


def _block(matrix: Any, name: str, columns: int | None) -> Any:
    """A matrix; with the number of columns given, an empty list is a matrix without rows."""
    if sp.issparse(matrix):
        return matrix
    clean = as_floats(matrix, name)
    none = columns is not None and clean.shape == (0,)
    return np.zeros((0, columns or 0)) if none else np.atleast_2d(clean)
