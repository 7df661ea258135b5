"""Checks of what the user says about rows: names, which are private, owners and prices.

Each returns a clean read-only value or raises with what to do. As in
:mod:`privlp.problem.validation`, errors may not `quote` a number or name where the number of rows
is private.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import as_floats, frozen
from privlp.errors import InvalidProblemError

BoolArray = npt.NDArray[np.bool_]


def names(values: Any, size: int, what: str, *, quote: bool = True) -> tuple[str, ...] | None:
    """A tuple of `size` distinct names, or None."""
    if values is None:
        return None
    try:
        if isinstance(values, str):
            raise TypeError
        clean: tuple[str, ...] | None = tuple(str(value) for value in values)
        "".join(clean or ()).encode()
    except TypeError:
        raise InvalidProblemError(
            f"{what} names must be a sequence of names, got {type(values).__name__}."
        ) from None
    except UnicodeEncodeError:
        clean = None
    if clean is None:  # outside the handler: its error holds the names, and would be the context
        raise InvalidProblemError(
            f"{what} names must be text that can be written to a file (UTF-8)."
        )
    if len(clean) != size:
        counts = (
            f"{len(clean)} {what} names were given for {size} {what}s"
            if quote
            else f"Give one {what} name for each {what}"
        )
        raise InvalidProblemError(f"{counts}.")
    if len(set(clean)) != size:
        raise InvalidProblemError(f"{what} names must be distinct.")
    return clean


def row_mask(
    selection: Any, size: int, row_names: Sequence[str] | None, *, quote: bool = True
) -> BoolArray:
    """Boolean mask of the private rows, (size,).

    `selection` is a mask, indices, a glob over the names, or a sequence of names and globs; all
    rows without it. Where errors may not `quote`, a name or pattern may select no row: the only
    row that it selected may have left.
    """
    if selection is None:
        return frozen(np.ones(size, dtype=bool))
    if isinstance(selection, str):
        return frozen(_matching(selection, size, row_names, quote=quote))
    try:
        chosen = np.asarray(selection)
    except ValueError:
        chosen = None  # raised below: this error quotes a shape, and would stay as the context
    if chosen is None:
        raise InvalidProblemError(
            "private must be a boolean mask, row indices, or row names; got a ragged sequence.",
            parameter="private",
        )
    if chosen.dtype == bool:
        return frozen(_given_mask(chosen, size, quote=quote))
    if chosen.dtype.kind in "US":
        return frozen(_named(map(str, chosen.ravel()), size, row_names, quote=quote))
    return frozen(_indexed(chosen, size, quote=quote))


def _given_mask(mask: BoolArray, size: int, *, quote: bool) -> BoolArray:
    if mask.shape != (size,):
        shapes = (
            f"of shape {mask.shape}, but there are {size} rows"
            if quote
            else "without one entry for each row"
        )
        raise InvalidProblemError(f"private is a mask {shapes}.", parameter="private")
    return mask.copy()


def _named(
    names: Iterable[str], size: int, row_names: Sequence[str] | None, *, quote: bool
) -> BoolArray:
    mask = np.zeros(size, dtype=bool)
    index = {name: i for i, name in enumerate(row_names or ())}
    for name in names:
        if name in index:
            mask[index[name]] = True
        else:
            mask |= _matching(name, size, row_names, quote=quote)
    return mask


def _indexed(rows: npt.NDArray[Any], size: int, *, quote: bool) -> BoolArray:
    if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= size):
        indices = f"row indices in [0, {size})" if quote else "indices of rows that there are"
        raise InvalidProblemError(
            f"private must be a boolean mask, {indices}, or row names.", parameter="private"
        )
    mask = np.zeros(size, dtype=bool)
    mask[rows.astype(int)] = True
    return mask


def _matching(
    pattern: str,
    size: int,
    row_names: Sequence[str] | None,
    argument: str = "private",
    *,
    quote: bool,
) -> BoolArray:
    """Which rows have names that match a pattern."""
    if row_names is None and (size or quote):
        raise InvalidProblemError(
            f"{argument}={pattern!r} is a pattern over row names, but the rows have no names.",
            parameter=argument,
        )
    mask = np.array([fnmatchcase(name, pattern) for name in row_names or ()], dtype=bool)
    if quote and row_names is not None and not mask.any():
        raise InvalidProblemError(
            f"No row name matches {argument}={pattern!r}. The first row names are:"
            f" {', '.join(row_names[:5])}.",
            parameter=argument,
        )
    return mask


def record_ids(groups: Any, n: int, *, quote: bool) -> npt.NDArray[Any] | None:
    """The record that owns each row, (n,), or None."""
    if groups is None:
        return None
    try:
        ids = np.array(groups)
        np.unique(ids)
    except (TypeError, ValueError):
        ids = None  # raised below: this error quotes a shape, and would stay as the context
    each = f"each of the {n} rows" if quote else "each row"
    if ids is None:
        raise InvalidProblemError(
            f"groups must hold one record id for {each}, all of one type.", parameter="groups"
        )
    if ids.shape != (n,):
        given = f"has shape {ids.shape}; it needs" if quote else "must hold"
        raise InvalidProblemError(f"groups {given} one record id for {each}.")
    return frozen(ids)


def penalties(
    penalty: Any, private: BoolArray, row_names: Sequence[str] | None = None, *, quote: bool = True
) -> npt.NDArray[np.float64] | None:
    """Price of violation of each row, (n,), infinite for hard rows, or None.

    Two columns, (n, 2), are the prices of the lower and of the upper sides. One number is the price
    of every private row. A mapping gives prices to the private rows whose
    names match its patterns; of several patterns that match a row, the last counts. Where errors
    may not `quote`, a pattern may match no row.
    """
    if penalty is None:
        return None
    if isinstance(penalty, Mapping):
        return frozen(_by_name(penalty, private, row_names, quote=quote))
    try:
        prices = as_floats(penalty, "penalty")
    except InvalidProblemError:
        prices = np.array(np.nan)
    prices = np.where(private, prices, np.inf) if prices.ndim == 0 else prices
    if prices.shape not in (private.shape, (*private.shape, 2)) or not (prices > 0).all():
        raise InvalidProblemError(
            "penalty must be a positive number, or one positive number (inf for a hard row) per"
            " row, or two per row, for its lower and its upper side.",
            parameter="penalty",
        )
    if prices.ndim == 2 and (np.isfinite(prices[:, 0]) != np.isfinite(prices[:, 1])).any():
        raise InvalidProblemError(
            "penalty makes one side of a row soft and the other one hard: write them as two rows,"
            " owned by one record (groups).",
            parameter="penalty",
        )
    return frozen(prices)


def _by_name(
    penalty: Mapping[Any, Any],
    private: BoolArray,
    row_names: Sequence[str] | None,
    *,
    quote: bool,
) -> npt.NDArray[np.float64]:
    prices = np.full(private.shape, np.inf)
    for pattern, price in penalty.items():
        if not isinstance(pattern, str):
            raise InvalidProblemError(
                "penalty must be a positive number, or a dict from patterns over row names to"
                f" prices; a key is of type {type(pattern).__name__}.",
                parameter="penalty",
            )
        number = price if isinstance(price, Real) and not isinstance(price, bool) else np.nan
        if not 0 < float(number) < np.inf:
            raise InvalidProblemError(
                f"The penalty of {pattern!r} must be a positive finite number, got {price!r}.",
                parameter="penalty",
            )
        matching = _matching(pattern, private.size, row_names, "penalty", quote=quote) & private
        if quote and not matching.any():
            raise InvalidProblemError(
                f"The rows that match penalty={pattern!r} are public. Soft rows are private:"
                " equalities are public by default; name the private rows by private=....",
                parameter="penalty",
            )
        prices[matching] = float(number)
    return prices
