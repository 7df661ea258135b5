"""Checks and normalisations of user input: each returns a clean read-only value or raises with what to do.

Where rows come and go, how many there are is private. Then errors may not `quote` any number or
name that tells of them: neither a shape, which may be that of something given in the wrong place,
nor an index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_floats, frozen, real_dtype
from privlp.errors import InvalidProblemError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Matrix: TypeAlias = FloatArray | sp.csc_array

#: HiGHS takes no matrix entry of this size or larger, and no finite cost, bound or right-hand side
#: beyond LARGEST_VALUE.
LARGEST_ENTRY = 1e15
LARGEST_VALUE = 1e20


def matrix(A: Any, *, quote: bool = True, columns: int | None = None) -> Matrix:
    """One private copy of A, in the column order that every solver here reads: Fortran-ordered or CSC.

    Given the number of `columns`, there may be no row, and an empty list is a matrix without rows.
    """
    fills = (
        [getattr(dtype, "fill_value", None) for dtype in A.dtypes]
        if hasattr(A, "columns") and hasattr(A, "sparse")
        else []
    )
    if fills and all(fill == 0 for fill in fills):
        A = A.sparse.to_coo()  # a pandas DataFrame of sparse columns
    if sp.issparse(A) and A.ndim == 2:
        clean = sp.csc_array(A, dtype=real_dtype(A.dtype, "A"), copy=True)
        clean.sum_duplicates()
        for part in (clean.data, clean.indices, clean.indptr):
            frozen(part)
        entries = clean.data
    else:
        raw = A.to_numpy() if hasattr(A, "to_numpy") else A.toarray() if sp.issparse(A) else A
        clean = as_floats(raw, "A", order="F")
        if columns is not None and clean.shape == (0,):
            clean = np.zeros((0, columns), order="F")
        entries = frozen(clean)
    if clean.ndim != 2:
        shape = f", shape {clean.shape}" if quote else ""
        raise InvalidProblemError(
            f"A must be a matrix of shape (n, d), got {clean.ndim} dimension(s){shape}.",
            parameter="A",
        )
    if columns is not None and clean.shape[1] == 0:
        raise InvalidProblemError(
            "The problem is empty: A has no column; at least one variable is needed."
        )
    if columns is None and 0 in clean.shape:
        raise InvalidProblemError(
            f"The problem is empty: A has shape {clean.shape}; at least one row and one variable"
            " are needed."
        )
    if entries.size and not max(-entries.min(), entries.max()) < LARGEST_ENTRY:
        kind = (
            "NaN"
            if np.isnan(entries.min())
            else f"entries that are infinite or not below {LARGEST_ENTRY:g} in size"
        )
        raise InvalidProblemError(
            f"A contains {kind}. Every coefficient must be finite; rescale the row or remove it."
        )
    return clean


def vector(values: Any, size: int, name: str, meaning: str, *, quote: bool = True) -> FloatArray:
    """A finite float vector of the given size."""
    clean = as_floats(values, name)
    if clean.shape != (size,):
        raise InvalidProblemError(
            f"{name} has shape {clean.shape}, but A asks for ({size},): {meaning}."
            if quote
            else f"{name} does not have the shape that A asks for: {meaning}.",
            parameter=name,
        )
    if not np.all(np.abs(clean) < LARGEST_VALUE):
        where = (
            f"{name}[{int(np.argmin(np.abs(clean) < LARGEST_VALUE))}]"
            if quote
            else f"An entry of {name}"
        )
        raise InvalidProblemError(
            f"{where} is NaN, infinite or beyond {LARGEST_VALUE:g}; every entry must be a finite"
            " number."
        )
    return frozen(clean)


def interval_ends(
    lower: Any,
    upper: Any,
    size: int,
    name: Callable[[int], str],
    arguments: tuple[str, str] = ("bounds", "bounds"),
    *,
    quote: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends, infinite where absent; refuses NaN and empty intervals.

    A finite end of a row that HiGHS would take for absent is refused: whether a private row has a
    side must not follow from the size of a private number. Bounds are public, and for them it means
    absent.
    """
    ends = []
    for values, absent, argument in zip((lower, upper), (-np.inf, np.inf), arguments, strict=True):
        clean = as_floats(values, argument)
        clean = np.full(size, clean[()]) if clean.ndim == 0 else clean
        if clean.shape != (size,):
            shapes = (
                f"has shape {clean.shape}; expected ({size},)"
                if quote
                else "does not have one entry per row of A"
            )
            raise InvalidProblemError(f"{argument} {shapes}.", parameter=argument)
        huge = np.isfinite(clean) & (np.abs(clean) >= LARGEST_VALUE)
        if huge.any() and argument != "bounds":
            raise InvalidProblemError(
                f"{argument} holds finite values beyond {LARGEST_VALUE:g}; use inf for an absent"
                " side.",
                parameter=argument,
            )
        clean[huge] = np.copysign(np.inf, clean[huge])
        if np.isnan(clean).any() or (clean == -absent).any():
            where = int(np.argmax(np.isnan(clean) | (clean == -absent)))
            raise InvalidProblemError(
                f"The bounds of {name(where)} contain NaN or an infinity of the wrong sign."
            )
        ends.append(clean)
    if (ends[0] > ends[1]).any():
        where = int(np.argmax(ends[0] > ends[1]))
        raise InvalidProblemError(
            f"Contradictory bounds: {name(where)} has its lower bound above its upper bound."
        )
    return frozen(ends[0]), frozen(ends[1])


def variable_bounds(bounds: Any, size: int, *, quote: bool = True) -> tuple[Any, Any]:
    """Split SciPy-style bounds, one (lower, upper) pair or one pair per variable, None meaning absent."""
    if type(bounds) is np.ndarray and bounds.dtype == float and bounds.shape == (size, 2):
        return bounds[:, 0], bounds[:, 1]
    table = None
    try:
        if not np.ma.is_masked(bounds):
            table = np.array(
                [
                    [_end(e, side) for e, side in zip(pair, (-np.inf, np.inf), strict=True)]
                    for pair in _pairs(bounds)
                ]
            )
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        pass  # it may quote a shape, and would go along as the context of an error raised here
    if table is None:
        raise InvalidProblemError(
            "bounds must be one (lower, upper) pair or a sequence of such pairs, None meaning no"
            " bound; for example (0, None).",
            parameter="bounds",
        )
    if len(table) == 1:
        return table[0, 0], table[0, 1]
    if len(table) != size:
        counts = (
            f"bounds has {len(table)} pairs, but there are {size} variables"
            if quote
            else "bounds needs one pair per variable"
        )
        raise InvalidProblemError(f"{counts}.")
    return table[:, 0], table[:, 1]


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
    if clean is None:  # outside the handler, which would keep the names in the error's context
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
    """Boolean mask of the private rows, from a mask, indices, a glob over the names, or a sequence of names and globs.

    Where errors may not `quote`, the only row of a name or pattern may have left: it then selects
    no row, and is no error.
    """
    if selection is None:
        return frozen(np.ones(size, dtype=bool))
    if isinstance(selection, str):
        return frozen(_matching(selection, size, row_names, quote=quote))
    try:
        chosen = np.asarray(selection)
    except ValueError:
        chosen = None  # raised below, without this error as its context, which quotes a shape
    if chosen is None:
        raise InvalidProblemError(
            "private must be a boolean mask, row indices, or row names; got a ragged sequence.",
            parameter="private",
        )
    if chosen.dtype == bool:
        if chosen.shape != (size,):
            shapes = (
                f"of shape {chosen.shape}, but there are {size} rows"
                if quote
                else "without one entry for each row"
            )
            raise InvalidProblemError(f"private is a mask {shapes}.", parameter="private")
        return frozen(chosen.copy())
    mask = np.zeros(size, dtype=bool)
    if chosen.dtype.kind in "US":
        index = {name: i for i, name in enumerate(row_names or ())}
        for name in map(str, chosen.ravel()):
            mask[
                index[name] if name in index else _matching(name, size, row_names, quote=quote)
            ] = True
        return frozen(mask)
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= size):
        indices = f"row indices in [0, {size})" if quote else "indices of rows that there are"
        raise InvalidProblemError(
            f"private must be a boolean mask, {indices}, or row names.", parameter="private"
        )
    mask[chosen.astype(int)] = True
    return frozen(mask)


def _matching(
    pattern: str, size: int, row_names: Sequence[str] | None, *, quote: bool
) -> BoolArray:
    if row_names is None and (size or quote):
        raise InvalidProblemError(
            f"private={pattern!r} is a pattern over row names, but the rows have no names.",
            parameter="private",
        )
    mask = np.array([fnmatchcase(name, pattern) for name in row_names or ()], dtype=bool)
    if quote and row_names is not None and not mask.any():
        raise InvalidProblemError(
            f"No row name matches private={pattern!r}. The first row names are:"
            f" {', '.join(row_names[:5])}.",
            parameter="private",
        )
    return mask


def _pairs(bounds: Any) -> Any:
    if bounds is None:
        return [(None, None)]
    single = len(bounds) == 2 and not any(np.iterable(end) for end in bounds)
    return [bounds] if single else bounds


def _end(value: Any, absent: float) -> float:
    if (
        isinstance(value, str | bytes | complex | np.complexfloating)
        or np.ma.is_masked(value)
        or np.ndim(value) > 0
    ):
        raise TypeError
    return absent if value is None else float(value)
