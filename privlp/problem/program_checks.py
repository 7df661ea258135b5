"""What is checked of a linear program when it is made, and the form that its fields get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from privlp.checks import WHY, frozen, is_real, real, require_kind, require_one_of, unquoted
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem import row_labels, validation
from privlp.problem.data import ProgramData
from privlp.problem.row_source import RowSource, Sides
from privlp.tables import by_name

#: What a row of a block may not have: by argument, what to do instead.
_ONLY_IN_MEMORY = {
    "private": "All rows in blocks are private. Put public limits on variables into bounds, or hold"
    " the program in memory.",
    "row_lower": "Rows in blocks say A x <= b. Write -A x <= -row_lower for a lower side.",
    "groups": "State the most rows of one record in the relation:"
    " ConstraintPrivate(rows_per_record=k).",
    "row_names": "Rows in blocks have no names.",
}


def set_fields(lp: ProgramData, **values: Any) -> None:
    """Set fields of a frozen program, while it is made."""
    for name, value in values.items():
        object.__setattr__(lp, name, value)


def check_program(lp: ProgramData, blocks_of: Callable[..., RowSource | None]) -> None:
    """Check the fields of a program that is being made, and bring them to their final form."""
    unquoted(lambda: _check(lp, blocks_of), f"The program could not be read. {WHY}")


def _check(lp: ProgramData, blocks_of: Callable[..., RowSource | None]) -> None:
    quote = not lp.neighbours.hides_rows
    source = unquoted(
        lambda: blocks_of(lp.A, lp.b, quote=quote), f"A could not be read. {WHY}", "A"
    )
    if source is None:
        _check_matrix(lp, quote=quote)
    else:
        _check_blocks(lp, source, quote=quote)
    _check_options(lp)


def _check_matrix(lp: ProgramData, *, quote: bool) -> None:
    """Rows that are a matrix in memory."""
    columns = len(lp.c) if isinstance(lp.c, Mapping) else np.size(lp.c)
    set_fields(lp, A=validation.matrix(lp.A, quote=quote, columns=None if quote else columns))
    n, d = lp.A.shape
    set_fields(lp, variable_names=row_labels.names(lp.variable_names, d, "variable", quote=quote))
    set_fields(lp, row_names=row_labels.names(lp.row_names, n, "row", quote=quote))
    _check_costs(lp, quote=quote)
    if lp.row_lower is None:
        b = validation.vector(lp.b, n, "b", "one right-hand side per row of A", quote=quote)
        set_fields(lp, b=b, row_lower=np.broadcast_to(-np.inf, n))
    else:
        lower, upper = validation.interval_ends(
            lp.row_lower, lp.b, n, lp.row_name, ("row_lower", "b"), quote=quote
        )
        set_fields(lp, b=upper, row_lower=lower)
    set_fields(lp, private=row_labels.row_mask(lp.private, n, lp.row_names, quote=quote))
    set_fields(lp, groups=row_labels.record_ids(lp.groups, n, quote=quote))
    prices = row_labels.penalties(lp.penalty, lp.private, lp.row_names, quote=quote)
    set_fields(lp, penalty=prices)


def _check_blocks(lp: ProgramData, source: RowSource, *, quote: bool) -> None:
    """Rows that are read in blocks: all of them private, and alike."""
    _check_in_blocks(lp)
    n, d = source.shape
    names = source.names if lp.variable_names is None else lp.variable_names
    price = lp.penalty[0] if isinstance(lp.penalty, np.ndarray) else lp.penalty
    prices = row_labels.penalties(price, np.ones(1, dtype=bool), None)
    set_fields(
        lp,
        A=source,
        b=Sides(source),
        row_lower=np.broadcast_to(-np.inf, n),
        private=np.broadcast_to(True, n),
        penalty=None if prices is None else np.broadcast_to(prices[0], n),
        variable_names=row_labels.names(names, d, "variable", quote=quote),
    )
    _check_costs(lp, quote=quote)


def _check_in_blocks(lp: ProgramData) -> None:
    """Refuse what needs all rows at once."""
    if not lp.neighbours.changes_whole_rows or not hasattr(lp.neighbours, "rows_per_record"):
        raise InvalidProblemError(
            "Rows in blocks are for neighbours=ConstraintPrivate(...). Other relations read numbers"
            " by their places in the program, so all rows must be in memory.",
            parameter="neighbours",
        )
    plain = {"private": True, "row_lower": -np.inf}  # of a program that was made in blocks
    for name, advice in _ONLY_IN_MEMORY.items():
        value = getattr(lp, name)
        if value is not None and not _is_constant(value, plain.get(name)):
            raise InvalidParameterError(
                f"{name} cannot be given for rows in blocks. {advice}", parameter=name
            )
    if not (lp.penalty is None or is_real(lp.penalty) or _is_constant(lp.penalty)):
        raise InvalidParameterError(
            "penalty must be one number for all rows where rows are in blocks.", parameter="penalty"
        )


def _is_constant(values: Any, value: Any = None) -> bool:
    """Whether an array repeats one value, and holds it only once."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.strides != (0,):
        return False
    return value is None or not len(values) or bool(values[0] == value)


def _check_costs(lp: ProgramData, *, quote: bool) -> None:
    """Costs and bounds of variables."""
    d, c = lp.A.shape[1], by_name(lp.c, lp.variable_names)
    set_fields(lp, c=validation.vector(c, d, "c", "one cost per column of A", quote=quote))
    bounds = validation.variable_bounds(lp.bounds, d, quote=quote)
    ends = validation.interval_ends(*bounds, d, lp.variable_name)
    set_fields(lp, bounds=frozen(np.column_stack(ends)))


def _check_options(lp: ProgramData) -> None:
    """Sense, offset and name."""
    require_one_of(lp.sense, "sense", ("min", "max"))
    set_fields(lp, offset=real(lp.offset, "offset"))
    if not np.isfinite(lp.offset):
        raise InvalidProblemError(
            f"offset must be a finite number, got {lp.offset!r}.", parameter="offset"
        )
    require_kind(lp.name, str, "name", "a string")
    unquoted(lp.name.encode, "name must be text that can be written to a file (UTF-8).", "name")
