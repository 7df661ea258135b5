"""Checks of arguments that are numbers or arrays of numbers; no error quotes what is private."""

from __future__ import annotations

import logging
import math
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import (
    AbstractContextManager,
    ContextDecorator,
    contextmanager,
    nullcontext,
    suppress,
)
from copy import copy
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import (
    InvalidParameterError,
    InvalidProblemError,
    MissedRowsWarning,
    MostlyNoiseWarning,
    NotPrivateWarning,
    PrivLPError,
    PublicPointWarning,
)

_Found = TypeVar("_Found")
#: What privlp raises itself, warnings turned into errors included: it holds no private data.
_OWN = (PrivLPError, MissedRowsWarning, MostlyNoiseWarning, NotPrivateWarning, PublicPointWarning)
#: Of errors whose kind is all that is known.
WHY = "The error is not shown, because it may quote private data."


#: Categories of others whose warnings are known to quote nothing in the reads under way.
_HARMLESS: set[type[Warning]] = set()


@contextmanager
def _hushed() -> Iterator[None]:
    """Drop log messages of all libraries, and warnings but those of privlp and harmless ones."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.CRITICAL))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    logging.disable(before)
    passing = (*_OWN, *_HARMLESS)
    _HARMLESS.clear()
    for one in heard:
        if isinstance(one.message, passing):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


class _Reading:
    """While a thread is within it, the whole process is hushed: logs and warnings belong to all.

    The first to enter begins that, and the last to leave ends it.
    """

    def __init__(self) -> None:
        self._lock, self._threads = threading.RLock(), set[int]()

    def here(self) -> bool:
        """Whether this thread is within it, so it need not enter again, which is slower."""
        return threading.get_ident() in self._threads

    def __enter__(self) -> None:
        with self._lock:
            if not self._threads:
                self._hushed = _hushed()
                self._hushed.__enter__()
            self._threads.add(threading.get_ident())

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._threads.remove(threading.get_ident())
            if not self._threads:
                self._hushed.__exit__(None, None, None)  # warnings of other reads pass, too


_reading = _Reading()


@contextmanager
def harmless_warnings(*others: type[Warning]) -> Iterator[None]:
    """As while data are read, but for warnings of others that are known to quote nothing."""
    _HARMLESS.update(others)
    with nullcontext() if _reading.here() else _reading:
        yield


def unquoted(read: Callable[[], _Found], message: str, parameter: str | None = None) -> _Found:
    """What `read` returns; an error of its own, with nothing behind it, if it raises.

    Errors and warnings of privlp pass: they hold no private data. Others may quote some: their
    words, and log messages, are dropped, in all threads. A lack of memory stays one.
    """
    memory = False
    try:
        if _reading.here():
            return read()
        with _reading:
            return read()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except _OWN as raised:
        raised.__context__ = raised.__cause__ = None
        raise
    except MemoryError:
        memory = True
    except BaseException:  # noqa: S110 (of any library, Rust's panics too; it would be the context)
        pass
    if memory:
        raise MemoryError(f"There is too little memory for {parameter or 'what is read'}.")
    raise InvalidProblemError(message, parameter=parameter)


class unnoticed(ContextDecorator):  # noqa: N801 (a function to those who use it)
    """Within it, or within a function that it decorates, no floating-point error is noticed.

    Whether a number overflows, underflows or is not defined may depend on private rows, so neither
    a warning nor an error may tell. NumPy and SciPy would ask the settings of the caller's thread
    (``numpy.seterr``, ``scipy.special.seterr``), or in a new thread their defaults. Code that reads
    private rows, draws, plans or prices runs under these settings instead, in whichever thread.
    """

    _settings: list[AbstractContextManager[Any]]

    def _recreate_cm(self) -> unnoticed:  # each call of a decorated function has its own
        return unnoticed()

    def __enter__(self) -> None:
        import scipy.special  # noqa: PLC0415 (slow to load)

        told = scipy.special.geterr()
        told.pop("memory", None)
        self._settings = []
        # Within another one all is set already, which is slower than to look.
        if {*np.geterr().values()} != {"ignore"}:
            self._settings.append(np.errstate(all="ignore"))
        if {*told.values()} != {"ignore"}:
            self._settings.append(scipy.special.errstate(all="ignore"))
        for settings in self._settings:
            settings.__enter__()

    def __exit__(self, *error: object) -> None:
        for settings in self._settings:
            settings.__exit__(*error)  # type: ignore[arg-type]


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
    require(found, f"s = {shown(s)} of {n:,} private rows is less than one row.", "s")
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
            require_numbers(raw, name)
        dtype = float if raw.dtype.kind == "O" else real_dtype(raw.dtype, name)
        return np.array(raw, dtype=dtype, copy=True)

    return unquoted(read, f"{name} must hold real numbers in a regular array.", name)


def require_numbers(array: npt.NDArray[Any], name: str) -> None:
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


def as_sparse(A: Any, layout: Any = sp.csr_array) -> Any:
    """A as a sparse array, by its places: SciPy's own conversion quotes A in an error."""
    if sp.issparse(A):
        return layout(A)
    where = np.nonzero(A)
    return layout((A[where], where), shape=A.shape)


def csr_of(
    data: npt.NDArray[Any],
    places: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    shape: Any,
    form: Any = sp.csr_array,
) -> Any:
    """A matrix of these arrays themselves; SciPy would check them, and copy parts of others."""
    found = copy(_empty(form, tuple(shape)))
    found.data, found.indices, found.indptr = data, places, starts
    return found


@lru_cache(maxsize=256)
def _empty(form: Any, shape: tuple[int, int]) -> Any:
    """A matrix that waits for its arrays: SciPy takes longer for one than a copy takes."""
    found = form(shape)
    found.indptr = found.indices  # as long as there are rows
    return found


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
