"""What is looked for, and the walk through everything an object holds.

A leak is a private number in any disguise: a float anywhere in an object graph (to a relative 1e-9,
or scaled by a power of two or ten to 1e-12), the bytes of one, or digits in a text that round or
cut a private number to as many digits as are shown.
"""

from __future__ import annotations

import functools
import gc
import json
import pickle
import re
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

CLOSE, CLOSE_WHEN_SCALED = 1e-9, 1e-12
#: Digits that a text must show: of a planted number, recognisable by its first three (five of a
#: whole number, which may count rounds); of a number computed from planted ones.
DIGITS_OF_PLANTED, DIGITS_OF_WHOLE, DIGITS_OF_DERIVED = 3, 5, 6
#: Digits beyond these are not compared: a float has no more of its own.
MOST_DIGITS = 15
_NUMBER = re.compile(r"(?<![\w.])[-+]?(\d+\.?\d*|\.\d+)(?:[eE]([-+]?\d+))?")
#: What stands in no text: next to it, a few digits are a chance.
_BINARY = re.compile(r"[^\n\r\t -~\xa0-\ufffc]")
_GROUPED = re.compile(r"(?<=\d)[,_](?=\d{3}(?!\d))")


class Secrets:
    """Private numbers and strings, and how to recognise them.

    Parameters
    ----------
    planted : array_like
        Numbers whose first digits are recognisable, whatever the magnitude.
    derived : array_like
        Numbers computed from planted ones; those of few digits, such as 0 or 0.5, are left out.
    words : sequence of str
        Private names.
    counts : sequence of int
        Private whole numbers, such as the number of records, recognisable as they are, and by their logarithm, root and inverse.
    """

    def __init__(
        self,
        planted: Any,
        derived: Any = (),
        words: Iterable[str] = (),
        counts: Iterable[int] = (),
        public: Any = (),
    ) -> None:
        known = _sizes(public)
        self.planted = _sizes(planted)
        self.words = tuple(words)
        self.counts = frozenset(counts)
        whole = np.array(sorted(self.counts), dtype=float)
        of_counts = np.concatenate([np.log(whole), np.log2(whole), np.sqrt(whole), 1 / whole])
        self.derived = np.setdiff1d(
            _recognisable(_sizes(np.concatenate([_sizes(derived), of_counts]))), known
        )
        every = np.union1d(self.planted, self.derived)
        self._every = every
        self._scaled = [
            np.sort(mantissa(every)) for mantissa in (_binary_mantissa, _decimal_mantissa)
        ]
        with np.errstate(over="ignore"):
            self._single = every.astype(np.float32).astype(float)
        self._digits_of_planted = {_digits(value) for value in self.planted.tolist()}
        self._digits_of_derived = {_digits(value) for value in self.derived.tolist()}
        self._shown: dict[tuple[bool, int], set[tuple[str, int]]] = {}

    def with_derived(self, derived: Any) -> Secrets:
        """These secrets and more derived numbers."""
        return Secrets(
            self.planted, np.concatenate([self.derived, _sizes(derived)]), self.words, self.counts
        )

    def in_floats(self, values: Any) -> list[float]:
        """Which of `values` are private numbers, whole or scaled."""
        original = np.asarray(values, dtype=float).ravel()
        sizes = np.abs(original)
        finite = np.isfinite(sizes) & (sizes > 0)
        original, sizes = original[finite], sizes[finite]
        found = _near(self._every, sizes, CLOSE)
        for scaled, mantissa in zip(
            self._scaled, (_binary_mantissa, _decimal_mantissa), strict=True
        ):
            found |= _near(scaled, mantissa(sizes), CLOSE_WHEN_SCALED)
        found |= np.isin(sizes, [float(count) for count in self.counts]) | np.isin(
            sizes, self._single
        )
        return original[found].tolist()

    def in_text(self, text: str, *, binary: bool = False) -> list[str]:
        """Which numbers and words of `text` are private.

        In what may be no text, a count must stand in words.
        """
        found = [word for word in self.words if word.lower() in text.lower()]
        found += (
            [value.hex() for value in self._every.tolist() if _bare_hex(value) in text]
            if "0x" in text
            else []
        )
        numbers = (
            match
            for version in {text, _GROUPED.sub("", text)}
            for match in _NUMBER.finditer(version)
        )
        return found + [
            match.group()
            for match in numbers
            if self._is_private(match) or self._is_count(match, binary)
        ]

    def _is_count(self, match: re.Match[str], binary: bool) -> bool:
        start, end = match.span()
        return _value(match) in self.counts and not (
            binary and _BINARY.search(match.string[max(0, start - 4) : end + 4])
        )

    def _is_private(self, match: re.Match[str]) -> bool:
        digits, exponent = _shown_digits(match)
        whole = match.group().lstrip("+-")
        enough = DIGITS_OF_WHOLE if whole.isdigit() else DIGITS_OF_PLANTED
        return (
            len(digits) >= enough
            and any(digits == shown for shown, _ in self._as_shown(len(digits), planted=True))
        ) or (
            len(digits) >= DIGITS_OF_DERIVED
            and (digits, exponent) in self._as_shown(len(digits), planted=False)
        )

    def in_bytes(self, blob: bytes) -> list[str]:
        """Which private numbers and words stand in `blob`, as text or in binary."""
        found = self.in_text(blob.decode("utf-8", errors="replace"), binary=True)
        found += [word for word in self.words if word.encode("utf-16-le") in blob]
        with np.errstate(all="ignore"):
            for start in range(min(8, len(blob))):
                usable = blob[start : start + (len(blob) - start) // 8 * 8]
                for order in "<>":
                    sizes = np.abs(np.frombuffer(usable, f"{order}f8"))
                    found += [str(value) for value in sizes[_near(self._every, sizes, CLOSE)]]
            singles = self.planted.astype(np.float32)
            for start in range(min(4, len(blob))):
                usable = blob[start : start + (len(blob) - start) // 4 * 4]
                sizes32 = np.abs(np.frombuffer(usable, "<f4"))
                found += [
                    str(value)
                    for value in sizes32[
                        np.isin(sizes32, singles[np.isfinite(singles) & (singles > 1e-30)])
                    ]
                ]
        return found

    def _as_shown(self, count: int, *, planted: bool) -> set[tuple[str, int]]:
        """Digits, with exponents, of the private numbers rounded or cut to `count` digits."""
        key = planted, count
        if key not in self._shown:
            of = self._digits_of_planted if planted else self._digits_of_derived
            self._shown[key] = {
                form for digits, exponent in of for form in _forms(digits, exponent, count)
            }
        return self._shown[key]


@dataclass(frozen=True)
class Leak:
    """A private number, and where it was found."""

    channel: str
    place: str
    found: str

    def __str__(self) -> str:
        return f"{self.channel} {self.place}: {self.found}"


def leaks_in(value: Any, secrets: Secrets, channel: str) -> list[Leak]:
    """Search an object, its texts, its JSON where it has one, and its pickle."""
    leaks = _leaks_in_graph(value, secrets, channel)
    for name, text in _texts(value):
        leaks += [Leak(channel, name, found) for found in secrets.in_text(text)]
    try:
        blob = pickle.dumps(value)
    except Exception:  # what cannot be pickled is no file
        return leaks
    leaks += [Leak(channel, "pickle", found) for found in secrets.in_bytes(blob)]
    return leaks + _leaks_in_graph(pickle.loads(blob), secrets, f"{channel} unpickled")


def _leaks_in_graph(value: Any, secrets: Secrets, channel: str) -> list[Leak]:
    leaks = []
    for place, leaf in leaves(value):
        if isinstance(leaf, str):
            leaks += [Leak(channel, place, found) for found in secrets.in_text(leaf)]
        elif isinstance(leaf, bytes | bytearray | memoryview):
            leaks += [Leak(channel, place, found) for found in secrets.in_bytes(bytes(leaf))]
        else:
            leaks += [Leak(channel, place, repr(found)) for found in secrets.in_floats(leaf)]
    return leaks


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    yield "str", str(value)
    yield "repr", repr(value)
    for name in ("to_json", "to_dict", "statement", "_repr_html_"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            yield (
                name,
                (
                    method()
                    if name == "to_json"
                    else f"{method()} {json.dumps(method(), default=str)}"
                ),
            )


#: Immutable, and one object wherever they stand, if they are small: each place counts, whether the
#: object was seen or not.
_NUMBERS = bool | np.bool_ | int | float | complex | Fraction | Decimal | np.number


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Every text, byte string and array of numbers that can be reached from an object, with the way to it.

    Attributes, slots, containers, closures, defaults, partial and bound functions, weak references,
    caches, exceptions and the arrays that a view looks into; not modules, classes and frames.
    """
    seen: set[int] = set()
    kept = []  # so that no id is used twice
    stack = [("", value)]
    while stack:
        place, item = stack.pop()
        if isinstance(item, _NUMBERS):
            if not isinstance(item, bool | np.bool_):
                yield place, _parts(item)
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        kept.append(item)
        if item is None or isinstance(
            item, type | types.ModuleType | types.FrameType | types.TracebackType | types.CodeType
        ):
            continue
        if isinstance(item, str | bytes | bytearray | memoryview):
            yield place, item
        else:
            if isinstance(item, np.ndarray) and item.dtype.kind in "fiuc":
                yield place, np.concatenate([_parts(item), np.array(item.shape, dtype=float)])
            elif isinstance(item, np.ndarray) and item.dtype.kind in "US":
                yield place, " ".join(map(str, item.ravel().tolist()))
            stack += [(f"{place}{step}", part) for step, part in _inside(item)]


def _parts(item: Any) -> Any:
    if isinstance(item, complex) or (
        isinstance(item, np.ndarray | np.number) and item.dtype.kind == "c"
    ):
        return np.concatenate([np.ravel(np.real(item)), np.ravel(np.imag(item))]).astype(float)
    if isinstance(item, int) and abs(item) > 10**300:
        return np.array([], dtype=float)
    return (
        np.asarray(item, dtype=float).ravel()
        if isinstance(item, np.ndarray)
        else np.array([float(item)])
    )


def _inside(item: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, each with its step."""
    for kind, parts in _CONTAINERS.items():
        if isinstance(item, kind):
            yield from parts(item)
    if type(item).__name__.endswith("iterator"):
        yield ".rest", item.__reduce__()
    if type(item).__module__.startswith("highspy"):
        yield from _inside_highs(item)
    if sp.issparse(item):
        yield from (
            (f".{name}", getattr(item, name))
            for name in ("data", "row", "col", "indptr", "indices")
            if hasattr(item, name)
        )
    yield from ((f".{name}", part) for name, part in getattr(item, "__dict__", {}).items())
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(item, name) and not name.startswith("__"):
                yield f".{name}", getattr(item, name)


def _inside_function(item: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(item.__code__.co_freevars, item.__closure__ or (), strict=True):
        if cell != types.CellType():
            yield f".closure[{name}]", cell.cell_contents
    yield from ((".defaults", item.__defaults__), (".kwdefaults", item.__kwdefaults__))


_CONTAINERS: dict[Any, Callable[[Any], Iterable[tuple[str, Any]]]] = {
    Mapping: lambda item: (
        [(f"[{key!r:.40}]", part) for key, part in item.items()] + [(" keys", list(item))]
    ),
    (list, tuple, set, frozenset): lambda item: [(f"[{i}]", part) for i, part in enumerate(item)],
    np.ndarray: lambda item: [
        (".base", item.base),
        (".list", item.ravel().tolist() if item.dtype.kind == "O" else None),
    ],
    weakref.ref: lambda item: [("()", item())],
    functools.partial: lambda item: [
        (".func", item.func),
        (".args", item.args),
        (".keywords", item.keywords),
    ],
    functools._lru_cache_wrapper: lambda item: [(".cache", gc.get_referents(item))],
    types.FunctionType: _inside_function,
    types.MethodType: lambda item: [(".self", item.__self__), (".func", item.__func__)],
    types.GeneratorType: lambda item: [
        (".locals", dict(item.gi_frame.f_locals) if item.gi_frame else {})
    ],
    BaseException: lambda item: [
        (".args", item.args),
        (".cause", item.__cause__),
        (".context", item.__context__),
    ],
}


def _inside_highs(item: Any) -> Iterator[tuple[str, Any]]:
    """Models and solutions of HiGHS, whose attributes are in C++."""
    if hasattr(item, "getLp"):
        yield from ((".getLp", item.getLp()), (".getSolution", item.getSolution()))
    for name in (
        "col_cost_",
        "col_lower_",
        "col_upper_",
        "row_lower_",
        "row_upper_",
        "a_matrix_",
        "value_",
        "row_names_",
    ):
        if hasattr(item, name):
            part = getattr(item, name)
            yield f".{name}", np.asarray(part) if name not in ("a_matrix_", "row_names_") else part
    for name in ("col_value", "col_dual", "row_value", "row_dual"):
        if hasattr(item, name):
            yield f".{name}", np.asarray(getattr(item, name))


def _sizes(values: Any) -> np.ndarray:
    array = np.abs(np.asarray(values, dtype=float).ravel())
    return np.unique(array[np.isfinite(array) & (array > 0)])


def _recognisable(values: np.ndarray) -> np.ndarray:
    """Those with more than five digits, of nine."""
    return np.array(
        [
            value
            for value in values.tolist()
            if len(f"{value:.8e}".partition("e")[0].rstrip("0.")) > 6
        ]
    )


def _near(sorted_values: np.ndarray, sizes: np.ndarray, close: float) -> np.ndarray:
    if not len(sorted_values) or not len(sizes):
        return np.zeros(len(sizes), dtype=bool)
    at = np.searchsorted(sorted_values, sizes)
    below, above = (
        sorted_values[np.maximum(at - 1, 0)],
        sorted_values[np.minimum(at, len(sorted_values) - 1)],
    )
    with np.errstate(all="ignore"):
        return (np.abs(sizes - below) <= close * below) | (np.abs(sizes - above) <= close * above)


def _binary_mantissa(sizes: np.ndarray) -> np.ndarray:
    return np.frexp(sizes)[0]


def _decimal_mantissa(sizes: np.ndarray) -> np.ndarray:
    exact = sizes.astype(np.longdouble)
    return (exact / 10 ** np.floor(np.log10(exact))).astype(float)


def _digits(value: float) -> tuple[str, int]:
    """Significant digits and exponent of the first."""
    mantissa, _, exponent = f"{value:.16e}".partition("e")
    shortest = repr(float(mantissa)).replace(".", "").rstrip("0")
    return shortest, int(exponent)


def _bare_hex(value: float) -> str:
    return value.hex().partition("p")[0]


def _value(match: re.Match[str]) -> float:
    """The number that a text shows; infinite beyond double precision."""
    return abs(float(match.group()))


def _shown_digits(match: re.Match[str]) -> tuple[str, int]:
    """Significant digits of a number in a text, and the exponent of the first."""
    whole, _, fraction = match.group(1).partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    exponent = len(whole) - 1 - (len(digits) - len(significant)) + int((match.group(2) or "0")[:6])
    return significant[:MOST_DIGITS], exponent


def _forms(digits: str, exponent: int, count: int) -> Iterator[tuple[str, int]]:
    """A number rounded to `count` digits, and cut off after them."""
    if len(digits) <= count:
        yield digits.ljust(count, "0"), exponent
        return
    yield digits[:count], exponent
    rounded = str(int(digits[:count]) + (digits[count] >= "5"))
    yield (rounded, exponent) if len(rounded) == count else (rounded[:-1], exponent + 1)
