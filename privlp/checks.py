"""Checks of arguments that are numbers or arrays of numbers; no error quotes what is private."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection
from contextlib import suppress
from decimal import Decimal
from importlib import import_module
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import (
    InvalidParameterError,
    InvalidProblemError,
    MissingDependencyError,
    NotPrivateWarning,
)
from privlp.quiet import unquoted

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: Public numbers that are multiplied and divided have sizes between these.
SMALLEST, LARGEST = 1e-100, 1e100
LARGEST_DOUBLE = float(np.finfo(float).max)
_LEAST_PROBABILITY, _LEAST_COMPLEMENT = 1e-5, 1e-12
_PERCENT = 100
_SHORT = 40  # Texts that messages quote have so many characters at most.
#: What messages say of probabilities.
PROBABILITY = "a probability between 0 and 1 (at least 1e-5, at most 1 - 1e-12)"


def real(value: Any, name: str) -> float:
    """Return a Python or NumPy real number as a float, infinities and NaN included."""
    require(is_real(value), f"{name} must be a number, got {type(value).__name__}.", name)
    try:
        return float(value)
    except OverflowError:
        raise InvalidParameterError(
            f"{name} is beyond double precision; the largest number is 1.8e308.", parameter=name
        ) from None


def rows_of_share(s: Any, n: int) -> Any:
    """A number of rows: of a text such as ``"5%"``, that share of n public rows, rounded down."""
    require(
        not isinstance(s, dict | list | tuple),
        "s is one number for all hard private rows together. To let rows of one kind count several"
        " times, repeat them, and let groups say that copies have one owner:"
        " rows = np.repeat(np.arange(n), times); LinearProgram(c, A[rows], b[rows], groups=rows)."
        " Or give those that matter less a price, penalty={rows: price}; only the others count"
        " towards s then.",
        "s",
    )
    if not isinstance(s, str):
        return s
    share = math.nan
    with suppress(ValueError):
        share = float(s.strip().removesuffix("%")) if s.strip().endswith("%") else math.nan
    require(
        0 < share <= _PERCENT,
        f"s must be a number of private rows, or a share of them such as '5%', got {shown(s)}.",
        "s",
    )
    found = math.floor(share * n / _PERCENT * (1 + 1e-12))
    require(found, f"s = {shown(s)} of {n:,} private rows is less than one row. Give s=1.", "s")
    return float(found)


def require(met: Any, message: str, name: str) -> None:
    """Refuse an argument unless a condition is met."""
    if not met:
        raise InvalidParameterError(message, parameter=name)


def require_data(met: Any, message: str, name: str) -> None:
    """Refuse data unless a condition is met."""
    if not met:
        raise InvalidProblemError(message, parameter=name)


def require_kind(value: Any, kind: Any, name: str, words: str) -> None:
    """Refuse what is no object of a class; `words` name the class with its article."""
    require(isinstance(value, kind), f"{name} must be {words}, got {type(value).__name__}.", name)


def optional(module: str, message: str) -> Any:
    """A module of a library that not every user needs; the message says what brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(message) from error


def positive(value: Any, name: str, *, finite: bool = False) -> float:
    """Return a positive number as a float; ``inf`` passes unless it must be finite."""
    number = real(value, name) if is_real(value) else np.nan
    kind = "a positive finite number" if finite else "a positive number"
    met = number > 0 and not (finite and number == np.inf)
    require(met, f"{name} must be {kind}, got {shown(value)}.", name)
    return number


def of_usual_size(value: Any, name: str) -> float:
    """Return a number between 1e-100 and 1e100, whose products and quotients are finite."""
    number = positive(value, name, finite=True)
    require(
        SMALLEST <= number <= LARGEST,
        f"{name} must lie between {SMALLEST:g} and {LARGEST:g}, got {value!r}. Beyond, numbers"
        " overflow: measure in other units.",
        name,
    )
    return number


def shown(value: Any) -> str:
    """What messages say was given: a number or a short text; of all else its kind alone."""
    short = isinstance(value, str) and len(value) <= _SHORT
    told = value is None or isinstance(value, bool | np.bool_) or is_real(value) or short
    return repr(value) if told else type(value).__name__


def require_flag(value: Any, name: str) -> bool:
    """Return True or False; a text, which is true whatever it says, is neither."""
    flag = isinstance(value, bool | np.bool_)
    require(flag, f"{name} must be True or False, got {shown(value)}.", name)
    return bool(value)


def whole(value: Any, name: str, most: int | None = None, *, least: int = 1, bits: int = 53) -> int:
    """A positive integer, of `least` to `most` or 2^bits, as Python's: NumPy's may overflow."""
    kind = "a positive integer" if least == 1 else f"an integer of at least {least}"
    met = is_integer(value) and value >= least
    require(met, f"{name} must be {kind}, got {shown(value)}.", name)
    limit = f"2^{bits}" if most is None else f"{most:,}"
    largest = 2**bits if most is None else most
    require(value <= largest, f"{name} must be at most {limit}.", name)
    return int(value)


def is_real(value: Any) -> bool:
    """Whether a value is a real number; bools, strings and lengths of time are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_ | np.timedelta64)


def is_integer(value: Any) -> TypeGuard[int | np.integer]:
    """Whether a value is an integer of Python or NumPy."""
    return isinstance(value, int | np.integer) and is_real(value)


def are_places(values: npt.NDArray[Any], size: int) -> bool:
    """Whether an array lists distinct places in [0, size): 0/1 flags repeat a number."""
    if values.ndim != 1 or not values.size:
        return values.ndim == 1
    inside = values.dtype.kind in "iu" and values.min() >= 0 and values.max() < size
    return bool(inside) and len(np.unique(values)) == len(values)


def is_one_of(value: Any, options: Collection[str]) -> bool:
    """Whether a value is one of some strings; an array, which compares by entry, is none."""
    return isinstance(value, str) and value in options


def require_one_of(value: Any, name: str, options: Collection[str]) -> None:
    """Refuse what is none of some strings."""
    *others, last = map(repr, options)
    known = f"{', '.join(others)} or {last}"
    require(is_one_of(value, options), f"{name} must be {known}, got {shown(value)}.", name)


def is_probability(value: Any) -> bool:
    """Whether a value is a number between 0 and 1, and so far from both that quantiles exist."""
    return bool(is_real(value) and _LEAST_PROBABILITY <= value <= 1 - _LEAST_COMPLEMENT)


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def real_dtype(dtype: np.dtype[Any], name: str) -> type[np.float64]:
    """Refuse a dtype without real numbers; lengths of texts and names of fields are not told."""
    text = ": convert texts of digits to numbers first" if dtype.kind in "UST" else ""
    kind = {"U": "text", "T": "text", "S": "bytes", "V": "records"}.get(dtype.kind, dtype)
    known = dtype.kind in "fiub"
    require_data(known, f"{name} must hold real numbers, got dtype {kind}{text}.", name)
    return np.float64


def as_floats(values: Any, name: str, *, flags: bool = True) -> FloatArray:
    """A new array of floats: no strings of digits, nothing masked; booleans where `flags`."""

    def read() -> FloatArray:
        dense = values.toarray().ravel() if sp.issparse(values) else values
        filled = f"{name} has masked entries. Fill them in, or leave their rows out."
        require_data(not _has_mask(dense), filled, name)
        raw = np.asarray(dense)
        if not flags and raw.dtype == bool:
            raise TypeError
        if raw.dtype.kind == "O" and raw.ndim:
            _require_numbers(raw, name)
        dtype = float if raw.dtype.kind == "O" else real_dtype(raw.dtype, name)
        return np.array(raw, dtype=dtype, copy=True)

    return unquoted(read, f"{name} must hold real numbers in a regular array.", name)


def _require_numbers(array: npt.NDArray[Any], name: str) -> None:
    """Refuse an array of objects of which NumPy would make numbers: strings, dates, ``None``."""
    for value in array.flat:
        if is_real(value) or isinstance(value, bool | np.bool_ | Decimal):
            continue
        if isinstance(value, str | bytes):
            fault = ", not text: convert texts of digits to numbers first"
        elif is_missing(value):
            fault = ", and some entries are missing. Fill them in, or leave their rows out"
        else:
            fault = " in a regular array"
        raise InvalidProblemError(f"{name} must hold real numbers{fault}.", parameter=name)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: ``None``, or what pandas and masked arrays have for it."""
    return value is None or type(value).__name__ in ("NAType", "NaTType", "MaskedConstant")


def _has_mask(values: Any) -> bool:
    """Whether something is masked in an array, or in a list of arrays or of lists."""
    if isinstance(values, list | tuple):
        return any(
            _has_mask(value) for value in values if isinstance(value, list | tuple | np.ndarray)
        )
    return bool(np.ma.is_masked(values))


def warn_of_large_delta(eps: float, delta: float, records: float, *, stacklevel: int = 3) -> None:
    """Warn where publishing a whole record would do: from delta = 1/n on, of a public n."""
    if math.isfinite(eps) and delta * records >= 1:
        warnings.warn(
            f"delta = {delta:g} is at least 1/n = {1 / records:g}: publishing one whole record at"
            " random would satisfy it. Choose delta well below 1/n.",
            NotPrivateWarning,
            stacklevel=stacklevel,
        )


def without_infinities(value: npt.ArrayLike) -> FloatArray:
    """A copy with the largest doubles in place of infinities; NaN is refused."""
    exact = np.array(value, dtype=float)
    if not np.isfinite(exact).all():
        exact = np.clip(exact, -LARGEST_DOUBLE, LARGEST_DOUBLE)
        if np.isnan(exact).any():
            raise InvalidProblemError(
                "What is to be released is not a number (NaN). Nothing was drawn. The rows or"
                " records are too large or too small for double precision: measure them in other"
                " units."
            )
    return exact
