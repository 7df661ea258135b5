"""Checks and normalisations of user input: each returns a clean read-only value or raises with what to do."""

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

#: HiGHS takes no matrix entry of this size or larger, and no finite cost, bound or right-hand side beyond LARGEST_VALUE.
LARGEST_ENTRY = 1e15
LARGEST_VALUE = 1e20


def matrix(A: Any) -> Matrix:
    """One private copy of A, in the column order that every solver here reads: Fortran-ordered or CSC."""
    fills = [getattr(dtype, "fill_value", None) for dtype in A.dtypes] if hasattr(A, "columns") and hasattr(A, "sparse") else []
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
        clean = entries = frozen(as_floats(raw, "A", order="F"))
    if clean.ndim != 2:
        raise InvalidProblemError(f"A must be a matrix of shape (n, d), got {clean.ndim} dimension(s), shape {clean.shape}.")
    if 0 in clean.shape:
        raise InvalidProblemError(f"The problem is empty: A has shape {clean.shape}; at least one row and one variable are needed.")
    if entries.size and not max(-entries.min(), entries.max()) < LARGEST_ENTRY:
        kind = "NaN" if np.isnan(entries.min()) else f"entries that are infinite or not below {LARGEST_ENTRY:g} in size"
        raise InvalidProblemError(f"A contains {kind}. Every coefficient must be finite; rescale the row or remove it.")
    return clean


def vector(values: Any, size: int, name: str, meaning: str) -> FloatArray:
    """A finite float vector of the given size."""
    clean = as_floats(values, name)
    if clean.shape != (size,):
        raise InvalidProblemError(f"{name} has shape {clean.shape}, but A asks for ({size},): {meaning}.")
    if not np.all(np.abs(clean) < LARGEST_VALUE):
        raise InvalidProblemError(
            f"{name}[{int(np.argmin(np.abs(clean) < LARGEST_VALUE))}] is NaN, infinite or beyond {LARGEST_VALUE:g}; "
            "every entry must be a finite number."
        )
    return frozen(clean)


def interval_ends(
    lower: Any, upper: Any, size: int, name: Callable[[int], str], arguments: tuple[str, str] = ("bounds", "bounds")
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends, infinite where absent; refuses NaN and empty intervals.

    A finite end of a row that HiGHS would take for absent is refused: whether a private row has a side must not follow from the
    size of a private number. Bounds are public, and for them it means absent.
    """
    ends = []
    for values, absent, argument in zip((lower, upper), (-np.inf, np.inf), arguments, strict=True):
        clean = as_floats(values, argument)
        clean = np.full(size, clean[()]) if clean.ndim == 0 else clean
        if clean.shape != (size,):
            raise InvalidProblemError(f"{argument} has shape {clean.shape}; expected ({size},).")
        huge = np.isfinite(clean) & (np.abs(clean) >= LARGEST_VALUE)
        if huge.any() and argument != "bounds":
            raise InvalidProblemError(f"{argument} holds finite values beyond {LARGEST_VALUE:g}; use inf for an absent side.")
        clean[huge] = np.copysign(np.inf, clean[huge])
        if np.isnan(clean).any() or (clean == -absent).any():
            where = int(np.argmax(np.isnan(clean) | (clean == -absent)))
            raise InvalidProblemError(f"The bounds of {name(where)} contain NaN or an infinity of the wrong sign.")
        ends.append(clean)
    if (ends[0] > ends[1]).any():
        where = int(np.argmax(ends[0] > ends[1]))
        raise InvalidProblemError(f"Contradictory bounds: {name(where)} has its lower bound above its upper bound.")
    return frozen(ends[0]), frozen(ends[1])


def variable_bounds(bounds: Any, size: int) -> tuple[Any, Any]:
    """Split SciPy-style bounds, one (lower, upper) pair or one pair per variable, None meaning absent."""
    if type(bounds) is np.ndarray and bounds.dtype == float and bounds.shape == (size, 2):
        return bounds[:, 0], bounds[:, 1]
    try:
        if np.ma.is_masked(bounds):
            raise TypeError
        table = np.array([[_end(e, side) for e, side in zip(pair, (-np.inf, np.inf), strict=True)] for pair in _pairs(bounds)])
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        raise InvalidProblemError(
            "bounds must be one (lower, upper) pair or a sequence of such pairs, None meaning no bound; for example (0, None)."
        ) from None
    if len(table) == 1:
        return table[0, 0], table[0, 1]
    if len(table) != size:
        raise InvalidProblemError(f"bounds has {len(table)} pairs, but there are {size} variables.")
    return table[:, 0], table[:, 1]


def names(values: Any, size: int, what: str) -> tuple[str, ...] | None:
    """A tuple of `size` distinct names, or None."""
    if values is None:
        return None
    try:
        if isinstance(values, str):
            raise TypeError
        clean: tuple[str, ...] | None = tuple(str(value) for value in values)
        "".join(clean or ()).encode()
    except TypeError:
        raise InvalidProblemError(f"{what} names must be a sequence of names, got {type(values).__name__}.") from None
    except UnicodeEncodeError:
        clean = None
    if clean is None:  # outside the handler, which would keep the names in the error's context
        raise InvalidProblemError(f"{what} names must be text that can be written to a file (UTF-8).")
    if len(clean) != size:
        raise InvalidProblemError(f"{len(clean)} {what} names were given for {size} {what}s.")
    if len(set(clean)) != size:
        raise InvalidProblemError(f"{what} names must be distinct.")
    return clean


def row_mask(selection: Any, size: int, row_names: Sequence[str] | None, *, quote: bool = True) -> BoolArray:
    """Boolean mask of the private rows, from a mask, indices, a glob over the names, or a sequence of names and globs.

    Errors may `quote` names of rows, or not.
    """
    if selection is None:
        return frozen(np.ones(size, dtype=bool))
    if isinstance(selection, str):
        return frozen(_matching(selection, row_names, quote=quote))
    try:
        chosen = np.asarray(selection)
    except ValueError:
        raise InvalidProblemError("private must be a boolean mask, row indices, or row names; got a ragged sequence.") from None
    if chosen.dtype == bool:
        if chosen.shape != (size,):
            raise InvalidProblemError(f"private is a mask of shape {chosen.shape}, but there are {size} rows.")
        return frozen(chosen.copy())
    mask = np.zeros(size, dtype=bool)
    if chosen.dtype.kind in "US":
        index = {name: i for i, name in enumerate(row_names or ())}
        for name in map(str, chosen.ravel()):
            mask[index[name] if name in index else _matching(name, row_names, quote=quote)] = True
        return frozen(mask)
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= size):
        raise InvalidProblemError(f"private must be a boolean mask, row indices in [0, {size}), or row names.")
    mask[chosen.astype(int)] = True
    return frozen(mask)


def _matching(pattern: str, row_names: Sequence[str] | None, *, quote: bool) -> BoolArray:
    if row_names is None:
        raise InvalidProblemError(f"private={pattern!r} is a pattern over row names, but the rows have no names.")
    mask = np.array([fnmatchcase(name, pattern) for name in row_names])
    if not mask.any():
        sample = f" The first row names are: {', '.join(row_names[:5])}." if quote else ""
        raise InvalidProblemError(f"No row name matches private={pattern!r}.{sample}")
    return mask


def _pairs(bounds: Any) -> Any:
    if bounds is None:
        return [(None, None)]
    single = len(bounds) == 2 and not any(np.iterable(end) for end in bounds)
    return [bounds] if single else bounds


def _end(value: Any, absent: float) -> float:
    if isinstance(value, str | bytes | complex | np.complexfloating) or np.ma.is_masked(value) or np.ndim(value) > 0:
        raise TypeError
    return absent if value is None else float(value)
