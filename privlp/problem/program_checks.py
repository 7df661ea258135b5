"""What is checked of a linear program when it is made, and the form that its fields get."""

from __future__ import annotations

from typing import Any

import numpy as np

from privlp.checks import WHY, frozen, is_one_of, real, shown, unquoted
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem import row_labels, validation
from privlp.problem.dask_rows import is_dask
from privlp.problem.data import ProgramData
from privlp.problem.program_in_blocks import check_in_blocks, source_of
from privlp.problem.row_source import RowSource, Sides


def set_fields(lp: ProgramData, **values: Any) -> None:
    """Set fields of a frozen program, while it is made."""
    for name, value in values.items():
        object.__setattr__(lp, name, value)


def check_program(lp: ProgramData) -> None:
    """Check the fields of a program that is being made, and bring them to their final form.

    Its neighbour relation is there already: it says whether messages may tell numbers of rows.
    """
    unquoted(lambda: _check(lp), f"The program could not be read. {WHY}")


def _check(lp: ProgramData) -> None:
    """Check the fields one after the other."""
    quote = not lp.neighbours.hides_rows
    if lp.variable_names is None and is_dask(lp.A):
        set_fields(lp, variable_names=getattr(lp.A, "columns", None))
    source = unquoted(
        lambda: source_of(lp.A, lp.b, quote=quote), f"A could not be read. {WHY}", "A"
    )
    if source is None:
        _check_matrix(lp, quote=quote)
    else:
        _check_blocks(lp, source, quote=quote)
    _check_options(lp)


def _check_matrix(lp: ProgramData, *, quote: bool) -> None:
    """Rows that are a matrix in memory."""
    frame = lp.A if hasattr(lp.A, "columns") and hasattr(lp.A, "index") else None
    columns = None if quote else np.size(lp.c)
    set_fields(lp, A=validation.matrix(lp.A, quote=quote, columns=columns))
    _check_names(lp, frame, quote=quote)
    _check_costs(lp, quote=quote)
    _check_sides(lp, quote=quote)
    _check_rows(lp, quote=quote)


def _check_blocks(lp: ProgramData, source: RowSource, *, quote: bool) -> None:
    """Rows that are read in blocks: all of them private, and alike."""
    check_in_blocks(lp)
    n, d = source.shape
    names = row_labels.names(lp.variable_names, d, "variable", quote=quote)
    price = lp.penalty[0] if isinstance(lp.penalty, np.ndarray) else lp.penalty
    prices = row_labels.penalties(price, np.ones(1, dtype=bool), None)
    set_fields(
        lp,
        A=source,
        b=Sides(source),
        row_lower=np.broadcast_to(-np.inf, n),
        private=np.broadcast_to(True, n),
        penalty=None if prices is None else np.broadcast_to(prices[0], n),
        variable_names=names,
    )
    _check_costs(lp, quote=quote)


def _check_names(lp: ProgramData, frame: Any, *, quote: bool) -> None:
    """Names of variables and rows: as given, or those of a DataFrame."""
    n, d = lp.A.shape
    variables, rows = lp.variable_names, lp.row_names
    if frame is not None:
        variables = frame.columns if variables is None else variables
        rows = frame.index if rows is None else rows
    set_fields(lp, variable_names=row_labels.names(variables, d, "variable", quote=quote))
    set_fields(lp, row_names=row_labels.names(rows, n, "row", quote=quote))


def _check_sides(lp: ProgramData, *, quote: bool) -> None:
    """Sides of the rows."""
    n = lp.A.shape[0]
    if lp.row_lower is None:
        b = validation.vector(lp.b, n, "b", "one right-hand side per row of A", quote=quote)
        set_fields(lp, b=b, row_lower=np.broadcast_to(-np.inf, n))
    else:
        lower, upper = validation.interval_ends(
            lp.row_lower, lp.b, n, lp.row_name, ("row_lower", "b"), quote=quote
        )
        set_fields(lp, b=upper, row_lower=lower)


def _check_costs(lp: ProgramData, *, quote: bool) -> None:
    """Costs and bounds of variables."""
    d = lp.A.shape[1]
    set_fields(lp, c=validation.vector(lp.c, d, "c", "one cost per column of A", quote=quote))
    bounds = validation.variable_bounds(lp.bounds, d, quote=quote)
    ends = validation.interval_ends(*bounds, d, lp.variable_name)
    set_fields(lp, bounds=frozen(np.column_stack(ends)))


def _check_rows(lp: ProgramData, *, quote: bool) -> None:
    """Which rows are private, who owns them, and what their violation costs."""
    n = lp.A.shape[0]
    set_fields(lp, private=row_labels.row_mask(lp.private, n, lp.row_names, quote=quote))
    set_fields(lp, groups=row_labels.record_ids(lp.groups, n, quote=quote))
    prices = row_labels.penalties(lp.penalty, lp.private, lp.row_names, quote=quote)
    set_fields(lp, penalty=prices)


def _check_options(lp: ProgramData) -> None:
    """Sense, offset and name."""
    if not is_one_of(lp.sense, ("min", "max")):
        raise InvalidParameterError(
            f"sense must be 'min' or 'max', got {shown(lp.sense)}.", parameter="sense"
        )
    set_fields(lp, offset=real(lp.offset, "offset"))
    if not np.isfinite(lp.offset):
        raise InvalidProblemError(
            f"offset must be a finite number, got {lp.offset!r}.", parameter="offset"
        )
    if not isinstance(lp.name, str):
        raise InvalidParameterError(
            f"name must be a string, got {type(lp.name).__name__}.", parameter="name"
        )
    unquoted(lp.name.encode, "name must be text that can be written to a file (UTF-8).", "name")
