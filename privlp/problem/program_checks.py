"""What is checked of a linear program when it is made: fields, and what is said about rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import checks
from privlp.checks import (
    LARGEST,
    SMALLEST,
    BoolArray,
    FloatArray,
    as_floats,
    frozen,
    is_real,
    real,
    require,
    require_data,
    require_kind,
    require_one_of,
    shown,
)
from privlp.errors import InvalidProblemError
from privlp.problem import validation
from privlp.problem.data import ProgramData
from privlp.problem.named_rows import _matching, names, row_mask
from privlp.problem.validation import RowSource, Sides
from privlp.quiet import WHY, unquoted
from privlp.tables import by_name, in_order_of_rows

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
    known = None if quote and getattr(lp.neighbours, "private_parts", "") != {"c"} else columns
    set_fields(lp, A=validation.matrix(lp.A, quote=quote, columns=known))
    n, d = lp.A.shape
    set_fields(lp, variable_names=names(lp.variable_names, d, "variable", quote=quote))
    set_fields(lp, row_names=names(lp.row_names, n, "row", quote=quote))
    for field in ("b", "row_lower", "groups", "penalty", "private"):
        value = getattr(lp, field)
        if field != "private" or getattr(getattr(value, "dtype", None), "kind", "") == "b":
            set_fields(lp, **{field: in_order_of_rows(value, lp.row_names, field)})
    _check_costs(lp, quote=quote)
    if lp.row_lower is None:
        b = validation.vector(lp.b, n, "b", "one right-hand side per row of A", quote=quote)
        set_fields(lp, b=b, row_lower=np.broadcast_to(-np.inf, n))
    else:
        lower, upper = validation.interval_ends(
            lp.row_lower, lp.b, n, lp.row_name, ("row_lower", "b"), quote=quote
        )
        set_fields(lp, b=upper, row_lower=lower)
    set_fields(lp, private=row_mask(lp.private, n, lp.row_names, quote=quote))
    set_fields(lp, groups=record_ids(lp.groups, n, quote=quote))
    prices = penalties(lp.penalty, lp.private, lp.row_names, quote=quote)
    set_fields(lp, penalty=_of_soft_rows(prices, quote=quote))


def _check_blocks(lp: ProgramData, source: RowSource, *, quote: bool) -> None:
    """Rows that are read in blocks: all of them private, and alike."""
    _check_in_blocks(lp)
    n, d = source.shape
    labels = source.names if lp.variable_names is None else lp.variable_names
    prices = _of_soft_rows(_prices_in_blocks(lp.penalty, n), quote=quote)
    set_fields(
        lp,
        A=source,
        b=Sides(source),
        row_lower=np.broadcast_to(-np.inf, n),
        private=np.broadcast_to(True, n),
        penalty=prices,
        variable_names=names(labels, d, "variable", quote=quote),
    )
    _check_costs(lp, quote=quote)


def _prices_in_blocks(given: Any, n: int) -> FloatArray | None:
    """One price, held once, or one for each row: as an array, or an array for each block."""
    if given is None or is_real(given) or _is_constant(given):
        price = given[:1] if isinstance(given, np.ndarray) and given.ndim else given
        found = penalties(price, np.ones(1, dtype=bool), None)
        return None if found is None else np.broadcast_to(found[0], n)
    wrong = (
        "penalty must be one number where rows are in blocks, or one for each row (inf for a hard"
        " row): as an array, or a list with an array for each block."
    )

    require(not isinstance(given, Mapping), wrong, "penalty")

    def read() -> FloatArray:
        several = isinstance(given, list | tuple) and all(np.ndim(block) == 1 for block in given)
        return np.asarray(as_floats(np.concatenate(given) if several else given, "penalty"))

    prices = unquoted(read, wrong, "penalty")
    require(prices.shape == (n,), wrong, "penalty")
    return penalties(prices, np.ones(n, dtype=bool))


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
        wrong = f"{name} cannot be given for rows in blocks. {advice}"
        require(value is None or _is_constant(value, plain.get(name)), wrong, name)


def _is_constant(values: Any, value: Any = None) -> bool:
    """Whether an array repeats one value, and holds it only once."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.strides != (0,):
        return False
    return value is None or not len(values) or bool(values[0] == value)


def _check_costs(lp: ProgramData, *, quote: bool) -> None:
    """Costs and bounds of variables."""
    d, c = lp.A.shape[1], by_name(lp.c, lp.variable_names, "c")
    set_fields(lp, c=validation.vector(c, d, "c", "one cost per column of A", quote=quote))
    bounds = validation.variable_bounds(lp.bounds, d, lp.variable_names, quote=quote)
    ends = validation.interval_ends(*bounds, d, lp.variable_name)
    set_fields(lp, bounds=frozen(np.column_stack(ends)))


def _check_options(lp: ProgramData) -> None:
    """Sense, offset and name."""
    of_rows = isinstance(lp.sense, list | tuple | np.ndarray)
    rows = "sense must be 'min' or 'max', got one for each row. For rows >= b give -A and -b."
    require(not of_rows, rows, "sense")
    require_one_of(lp.sense, "sense", ("min", "max"))
    set_fields(lp, offset=real(lp.offset, "offset"))
    wrong = f"offset must be a finite number, got {lp.offset!r}."
    require_data(np.isfinite(lp.offset), wrong, "offset")
    require_kind(lp.name, str, "name", "a string")
    unquoted(lp.name.encode, "name must be text that can be written to a file (UTF-8).", "name")


def record_ids(groups: Any, n: int, *, quote: bool) -> npt.NDArray[Any] | None:
    """The record that owns each row, (n,), or None."""
    if groups is None:
        return None
    each = f"each of the {n} rows" if quote else "each row"
    must = f"groups must hold one record id for {each}"

    def read() -> tuple[npt.NDArray[Any], bool]:
        masked, ids = np.ma.is_masked(groups), np.array(groups)
        if ids.dtype.kind == "O":
            np.unique(ids)  # refused if they cannot be sorted
        # NaN differs from itself.
        return ids, bool(masked or (ids.size and (ids != ids).any()))  # noqa: PLR0124

    ids, some_are_missing = unquoted(read, f"{must}, all of one type.", "groups")
    fault = ""
    if isinstance(groups, str):
        fault = f"{must}: groups={shown(groups)} would name a column of a table, and A is none."
    elif ids.shape != (n,):
        given = f"groups has shape {ids.shape}; it needs one record id for {each}."
        fault = given if quote else f"{must}."
    elif some_are_missing:
        fault = (
            "groups has missing record ids. Rows without a known owner may belong to one record:"
            " give each row its owner."
        )
    elif n and ids.dtype.kind in "bO" and all(isinstance(own, bool) for own in ids.tolist()):
        fault = f"{must}, and a mask holds none. Say by private which rows are private."
    if fault:
        raise InvalidProblemError(fault, parameter="groups")
    return frozen(ids)


def penalties(
    penalty: Any, private: BoolArray, row_names: Sequence[str] | None = None, *, quote: bool = True
) -> FloatArray | None:
    """Price of violation of each row, (n,), infinite for hard rows; (n, 2) for two sides; or None.

    The last pattern that matches a name counts. Where errors may not `quote`, it may match none.
    """
    if penalty is None:
        return None
    if isinstance(penalty, Mapping):
        read = partial(_by_name, penalty, private, row_names, quote=quote)
        message = "penalty must be a dict from patterns over row names to prices."
        return frozen(unquoted(read, message, "penalty"))
    prices = np.array(np.nan)
    with suppress(InvalidProblemError):
        prices = as_floats(penalty, "penalty", flags=False)
    prices = np.where(private, prices, np.inf) if prices.ndim == 0 else prices
    if prices.shape not in (private.shape, (*private.shape, 2)) or not (prices > 0).all():
        raise InvalidProblemError(
            "penalty must be a positive number, or one positive number (inf for a hard row) per"
            " row, or two per row, for its lower and its upper side.",
            parameter="penalty",
        )
    finite = prices[np.isfinite(prices)]
    if not ((finite >= SMALLEST) & (finite <= LARGEST)).all():
        raise InvalidProblemError(_price_beyond("penalty"), parameter="penalty")
    if prices.ndim == 2 and (np.isfinite(prices[:, 0]) != np.isfinite(prices[:, 1])).any():
        raise InvalidProblemError(
            "penalty makes one side of a row soft and the other one hard: write them as two rows,"
            " owned by one record (groups).",
            parameter="penalty",
        )
    return frozen(prices)


def _of_soft_rows(prices: FloatArray | None, *, quote: bool) -> FloatArray | None:
    """The prices; None if all rows are hard, unless prices are private (not `quote`)."""
    return None if quote and prices is not None and np.isinf(prices).all() else prices


def _price_beyond(what: str) -> str:
    return (
        f"{what} must lie between {SMALLEST:g} and {LARGEST:g}, or be inf for a hard row: beyond,"
        " numbers overflow."
    )


def _by_name(
    penalty: Mapping[Any, Any], private: BoolArray, row_names: Sequence[str] | None, *, quote: bool
) -> FloatArray:
    prices = np.full(private.shape, np.inf)
    for pattern, price in penalty.items():
        if not isinstance(pattern, str):
            raise InvalidProblemError(
                "penalty must be a positive number, or a dict from patterns over row names to"
                f" prices; a key is of type {type(pattern).__name__}.",
                parameter="penalty",
            )
        number = checks.real(price, "penalty") if checks.is_real(price) else np.nan
        which = f"The penalty of {pattern!r}" if quote else "A penalty"
        if not number > 0:
            given = f"{number:g}" if checks.is_real(price) else type(price).__name__
            raise InvalidProblemError(
                f"{which} must be a positive number (inf for hard rows){f', got {given}' * quote}.",
                parameter="penalty",
            )
        if not (SMALLEST <= number <= LARGEST or number == np.inf):
            raise InvalidProblemError(_price_beyond(which), parameter="penalty")
        matching = _matching(pattern, private.size, row_names, "penalty", quote=quote) & private
        if quote and not matching.any():
            raise InvalidProblemError(
                f"The rows that match penalty={pattern!r} are public; soft rows are private. Name"
                " these too in private=..., or write a public soft row by a variable of its own,"
                " with a cost.",
                parameter="penalty",
            )
        prices[matching] = number
    return prices
