"""What is looked for, and the walk through everything an object holds.

A leak is a private number in any disguise: a float anywhere in an object graph (to a relative 1e-9,
or scaled by a power of two or ten to 1e-12), the bytes of one, or digits in a text that round or
cut a private number to as many digits as are shown.
"""

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

    Planted numbers by their first digits, whatever the magnitude; derived ones, computed from them,
    if they have more than a few digits and are not public; names; whole numbers, such as that of
    records, as they are, and by their logarithm, root and inverse.
    """

    def __init__(
        self,
        planted: Any,
        derived: Any = (),
        words: Iterable[str] = (),
        counts: Iterable[int] = (),
        public: Any = (),
    ) -> None:
        self.planted, self.words, self.counts = _sizes(planted), tuple(words), frozenset(counts)
        whole = np.array(sorted(self.counts), dtype=float)
        of_counts = np.concatenate([np.log(whole), np.log2(whole), np.sqrt(whole), 1 / whole])
        found = _sizes(np.concatenate([_sizes(derived), of_counts]))
        self.derived = np.setdiff1d(_recognisable(found), _sizes(public))
        self._every = np.union1d(self.planted, self.derived)

    def with_derived(self, derived: Any) -> "Secrets":
        """These secrets and more derived numbers."""
        derived = np.concatenate([self.derived, _sizes(derived)])
        return Secrets(self.planted, derived, self.words, self.counts)

    @functools.cached_property
    def _scaled(self) -> list[np.ndarray]:
        return [np.sort(mantissa(self._every)) for mantissa in _MANTISSAS]

    @functools.cached_property
    def _exact(self) -> np.ndarray:
        """Counts, and private numbers in single precision."""
        with np.errstate(over="ignore"):
            single = self._every.astype(np.float32).astype(float)
        return np.sort(np.append(single, [float(count) for count in self.counts]))

    @functools.cached_property
    def _singles(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            singles = np.sort(self.planted.astype(np.float32))
        return singles[np.isfinite(singles) & (singles > 1e-30)]

    def among(self, values: np.ndarray) -> np.ndarray:
        """Which of these floats are private numbers, whole or scaled, as a mask."""
        private = np.isfinite(values) & (values != 0)
        sizes = np.abs(values[private])
        found = _near(self._every, sizes, CLOSE) | _near(self._exact, sizes, 0)
        for scaled, mantissa in zip(self._scaled, _MANTISSAS, strict=True):
            found |= _near(scaled, mantissa(sizes), CLOSE_WHEN_SCALED)
        private[private] = found
        return private

    def in_text(self, text: str, *, binary: bool = False) -> list[str]:
        """Which numbers and words of `text` are private.

        In what may be no text, a count must stand in words.
        """
        found = [word for word in self.words if word.lower() in text.lower()]
        if "0x" in text:
            hexes = map(float.hex, self._every.tolist())
            found += [shown for shown in hexes if shown.partition("p")[0] in text]
        versions = {text, _GROUPED.sub("", text)}
        numbers = (match for version in versions for match in _NUMBER.finditer(version))
        is_private, is_count = self._is_private, self._is_count
        return found + [m.group() for m in numbers if is_private(m) or is_count(m, binary)]

    def _is_count(self, match: re.Match[str], binary: bool) -> bool:
        start, end = match.span()
        around = match.string[max(0, start - 4) : end + 4]
        counted = abs(float(match.group())) in self.counts
        return counted and not (binary and _BINARY.search(around))

    def _is_private(self, match: re.Match[str]) -> bool:
        digits, exponent = _shown_digits(match)
        whole, count = match.group().lstrip("+-").isdigit(), len(digits)
        if count >= (DIGITS_OF_WHOLE if whole else DIGITS_OF_PLANTED) and (
            any(digits == form for form, _ in self._forms_near(digits, planted=True))
        ):
            return True
        return count >= DIGITS_OF_DERIVED and (
            (digits, exponent) in self._forms_near(digits, planted=False)
        )

    def in_bytes(self, blob: bytes) -> list[str]:
        """Which private numbers and words stand in `blob`, as text or in binary."""
        found = self.in_text(blob.decode("utf-8", errors="replace"), binary=True)
        found += [word for word in self.words if word.encode("utf-16-le") in blob]
        with np.errstate(all="ignore"):
            for sizes in (of for order in "<>" for of in _binary(blob, f"{order}f8")):
                found += map(str, sizes[_near(self._every, sizes, CLOSE)])
            for sizes in _binary(blob, "<f4"):
                found += map(str, sizes[_near(self._singles, sizes, 0)])
        return found

    @functools.cached_property
    def _by_digits(self) -> dict[bool, tuple[np.ndarray, np.ndarray]]:
        """Planted (True) and derived numbers in the order of their digits, and these."""
        found = {}
        for planted, sizes in ((True, self.planted), (False, self.derived)):
            mantissas = _decimal_mantissa(sizes)
            order = np.argsort(mantissas)
            found[planted] = mantissas[order], sizes[order]
        return found

    def _forms_near(self, digits: str, *, planted: bool) -> Iterator[tuple[str, int]]:
        """Digits, with exponents, as rounded or cut, of all private numbers that may show these."""
        mantissas, sizes = self._by_digits[planted]
        shown, width = float(f"{digits[0]}.{digits[1:]}"), 2 * 10.0 ** (1 - len(digits)) + 1e-9
        for middle in (shown, 10 * shown):  # what is rounded up may become a power of ten
            low, high = np.searchsorted(mantissas, [middle - width, middle + width])
            for size in sizes[low:high].tolist():
                yield from _forms(*_digits(size), len(digits))


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
    leaks, places, numbers = [], [], [np.zeros(0)]
    for place, leaf in leaves(value):
        if isinstance(leaf, str):
            leaks += [Leak(channel, place, found) for found in secrets.in_text(leaf)]
        elif isinstance(leaf, bytes | bytearray | memoryview):
            leaks += [Leak(channel, place, found) for found in secrets.in_bytes(bytes(leaf))]
        else:
            places += [place] * len(leaf)
            numbers.append(leaf)
    every = np.concatenate(numbers)
    found = np.flatnonzero(secrets.among(every))
    return leaks + [Leak(channel, places[at], repr(float(every[at]))) for at in found]


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    yield "str", str(value)
    yield "repr", repr(value)
    for name in ("to_json", "to_dict", "statement", "_repr_html_"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            given = method()
            yield name, given if name == "to_json" else f"{given} {json.dumps(given, default=str)}"


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


def _parts(item: Any) -> np.ndarray:
    if isinstance(item, int) and abs(item) > 10**300:
        return np.zeros(0)
    if not isinstance(item, np.ndarray | np.number | complex):
        return np.array([float(item)])
    return flat([np.real(item), np.imag(item)] if np.iscomplexobj(item) else [item])


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
        names = ("data", "row", "col", "indptr", "indices")
        yield from ((f".{name}", getattr(item, name)) for name in names if hasattr(item, name))
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
    functools.partial: lambda item: _of(item, "func", "args", "keywords"),
    functools._lru_cache_wrapper: lambda item: [(".cache", gc.get_referents(item))],
    types.FunctionType: _inside_function,
    types.MethodType: lambda item: _of(item, "__self__", "__func__"),
    types.GeneratorType: lambda item: [
        (".locals", dict(item.gi_frame.f_locals) if item.gi_frame else {})
    ],
    BaseException: lambda item: _of(item, "args", "__cause__", "__context__"),
}


def _of(item: Any, *names: str) -> list[tuple[str, Any]]:
    return [(f".{name}", getattr(item, name)) for name in names if hasattr(item, name)]


_OF_HIGHS = (
    *("col_cost_", "col_lower_", "col_upper_", "row_lower_", "row_upper_", "value_"),
    *("col_value", "col_dual", "row_value", "row_dual"),
)


def _inside_highs(item: Any) -> Iterator[tuple[str, Any]]:
    """Models and solutions of HiGHS, whose attributes are in C++."""
    if hasattr(item, "getLp"):
        yield from ((".getLp", item.getLp()), (".getSolution", item.getSolution()))
    yield from _of(item, "a_matrix_", "row_names_")
    yield from ((name, np.asarray(part)) for name, part in _of(item, *_OF_HIGHS))


def flat(pieces: Iterable[Any]) -> np.ndarray:
    """All numbers of some arrays in one."""
    return np.concatenate([np.ravel(np.asarray(piece, dtype=float)) for piece in pieces])


def _binary(blob: bytes, kind: str) -> Iterator[np.ndarray]:
    """The sizes of the floats that stand in bytes, from each place on at which one may begin."""
    size = np.dtype(kind).itemsize
    for start in range(min(size, len(blob))):
        usable = blob[start : start + (len(blob) - start) // size * size]
        yield np.abs(np.frombuffer(usable, kind))


def _sizes(values: Any) -> np.ndarray:
    array = np.abs(np.asarray(values, dtype=float).ravel())
    return np.unique(array[np.isfinite(array) & (array > 0)])


def _recognisable(values: np.ndarray) -> np.ndarray:
    """Those with more than five digits, of nine."""
    shown = [f"{value:.8e}".partition("e")[0].rstrip("0.") for value in values.tolist()]
    return values[[len(digits) > 6 for digits in shown]]


def _near(sorted_values: np.ndarray, sizes: np.ndarray, close: float) -> np.ndarray:
    if not len(sorted_values) or not len(sizes):
        return np.zeros(len(sizes), dtype=bool)
    at, last = np.searchsorted(sorted_values, sizes), len(sorted_values) - 1
    below, above = sorted_values[np.maximum(at - 1, 0)], sorted_values[np.minimum(at, last)]
    with np.errstate(all="ignore"):
        return (np.abs(sizes - below) <= close * below) | (np.abs(sizes - above) <= close * above)


def _decimal_mantissa(sizes: np.ndarray) -> np.ndarray:
    exact = sizes.astype(np.longdouble)
    return (exact / 10 ** np.floor(np.log10(exact))).astype(float)


_MANTISSAS = (lambda sizes: np.frexp(sizes)[0], _decimal_mantissa)


def _digits(value: float) -> tuple[str, int]:
    """Significant digits and exponent of the first."""
    mantissa, _, exponent = f"{value:.16e}".partition("e")
    shortest = repr(float(mantissa)).replace(".", "").rstrip("0")
    return shortest, int(exponent)


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
