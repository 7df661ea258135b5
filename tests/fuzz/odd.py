"""Odd numbers, arrays and objects, drawn from a seeded generator."""

import array
import math
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

#: Stands in private places only; no message may hold its digits.
PLANTED = 7.123457

_REALS = (
    0, 1, -1, 2, 0.5, 1e-6, 1e-3, 1e3, 1e-12, -0.0, 1e-320, 1e-200, 1e8, 1e15, 1e16, 1e20, 1e30, 1e200, 1.7e308, 2**31, 2**64,
)  # fmt: skip
_HUGE = (10**400, -(10**400), Fraction(10**400), Fraction(1, 10**400))
_LIMITS = (math.nan, math.inf, -math.inf, -1e20, -1e300)


class Unhelpful:
    """An object that refuses whatever is asked of it."""

    def __float__(self) -> float:
        raise TypeError("no float")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("no array")

    def __len__(self) -> int:
        raise TypeError("no length")

    def __iter__(self) -> Any:
        raise TypeError("no elements")

    def __eq__(self, other: object) -> bool:
        raise TypeError("no comparison")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Unhelpful()"


def number(rng: Random) -> Any:
    """A number of any kind, or something that looks like one; every other time a harmless one."""
    if rng.random() < 0.5:
        return rng.choice((1, 2, 3, 5, 0.1, 0.5, 1e-6, 10.0 ** rng.uniform(-3, 3)))
    value = rng.choice(_REALS + _LIMITS + _HUGE)
    if rng.random() < 0.4 and value not in _HUGE:
        with np.errstate(all="ignore"):
            return rng.choice(_KINDS)(float(value))
    return value if rng.random() < 0.7 else thing(rng)


def _integer(value: float) -> Any:
    kind = (np.int8, np.uint8, np.int64, np.uint64)[hash(value) % 4]
    limits = np.iinfo(kind)
    if not value < limits.max:
        return kind(limits.max)
    return kind(limits.min if value < limits.min else int(value))


_KINDS = (
    *(np.float16, np.float32, np.float64, np.longdouble, np.array, lambda v: np.array([v])),
    *(str, Decimal, _integer),
)
_THINGS = (
    None, True, False, "", "1", "a", "x" * 5000, "ü\0\ud800", b"1", b"", [], [1], (), (1, 2), (2, 1), [None], [[1], [1, 2]], {},
    {1: 2}, set(), {1}, 1j, object(), Unhelpful(), Unhelpful, float, len, ..., NotImplemented, np.bool_(True),
    np.datetime64("2020-01-01"), np.str_("1"), np.array("a"), np.array([]), np.array([[]]), np.zeros((2, 0)),
    np.zeros((1, 1, 1)), pd.NA, pd.NaT, pd.Timestamp(0), pd.Series([1.0]), range(3), pd.DataFrame({"a": [1.0]}), pd.DataFrame(),
    sp.eye_array(2), sp.coo_array([1.0, 2.0]), memoryview(b"12"), array.array("d", [1.0]), Decimal("NaN"), Decimal("sNaN"),
    np.ma.masked, np.zeros(3, dtype="i4,f8"), slice(1), np.array([1, "a", None], dtype=object), np.array([10**400], dtype=object),
    iter,
)  # fmt: skip


def thing(rng: Random) -> Any:
    """Something that is hardly ever what was asked for."""
    chosen = rng.choice(_THINGS)
    return iter([1]) if chosen is iter else chosen


def parameters(
    rng: Random, usual: dict[str, Any], other: tuple[str, ...] = (), changes: int = 2
) -> dict[str, Any]:
    """Usual arguments with up to `changes` of them, or of others, made odd."""
    given = dict(usual)
    for _ in range(rng.randint(0, changes)):
        given[rng.choice((*usual, *other))] = number(rng) if rng.random() < 0.6 else thing(rng)
    return given


def numbers(rng: Random, *shape: int) -> np.ndarray:
    """A plain array, of small numbers and the planted one."""
    usual = (0.0, 1.0, -1.0, 2.0, 0.25, PLANTED, -PLANTED)
    return np.array([rng.choice(usual) for _ in range(math.prod(shape))]).reshape(shape)


def twisted(rng: Random, plain: np.ndarray) -> Any:
    """An array with some of its entries, its type, its shape and its container changed."""
    odd: Any = plain.copy()
    if odd.size and rng.random() < 0.4:
        value = rng.choice((*map(float, _REALS), *_LIMITS))
        odd[tuple(rng.randrange(n) for n in odd.shape)] = value
    if rng.random() < 0.3:
        odd = _of_type(rng, odd)
    if rng.random() < 0.2:
        odd = _of_shape(rng, odd)
    return _contained(rng, odd) if rng.random() < 0.5 else odd


_ENTRIES = (None, "1", b"1", 10**400, Fraction(1, 3), Decimal(1), pd.NA, [1], 1j, True, {})


_TYPES = (
    *("f2", "f4", ">f8", "g", "i1", "i8", "u1", "u8", "?", "c8", "U", "S", "O"),
    *("M8[s]", "m8[s]", "V8"),
)


def _of_type(rng: Random, plain: np.ndarray) -> Any:
    kind = rng.choice(_TYPES)
    with np.errstate(all="ignore"):
        if kind == "O":
            odd = plain.astype(object)
            if odd.size:
                odd.flat[rng.randrange(odd.size)] = rng.choice(_ENTRIES)
            return odd
        try:
            return np.zeros(plain.shape, kind) if kind in _TYPES[-3:] else plain.astype(kind)
        except (TypeError, ValueError):
            return plain


def _of_shape(rng: Random, odd: np.ndarray) -> Any:
    ways = (
        lambda: odd.T, lambda: odd[None], lambda: odd[..., None], odd.ravel, lambda: odd[:0], lambda: odd[:-1], lambda:
        odd[::-1], lambda: np.concatenate([odd, odd]), lambda: odd[..., :0], lambda: np.asfortranarray(odd), lambda: np.repeat(odd,
        2, axis=0)[::2],
    )  # fmt: skip
    return rng.choice(ways)()


def _contained(rng: Random, odd: np.ndarray) -> Any:
    ways = (
        odd.tolist, lambda: tuple(odd.tolist()), lambda: np.matrix(odd), lambda: np.ma.array(odd, mask=rng.random() < 0.5),
        lambda: np.ma.masked_equal(odd, 1.0), lambda: pd.DataFrame(odd), lambda: pd.Series(odd), lambda: pd.Index(odd),
        lambda: pd.DataFrame(odd, columns=["same"] * odd.shape[1]), lambda: pd.DataFrame(odd).convert_dtypes(),
        lambda: pd.DataFrame(odd).astype(pd.SparseDtype(float, 0.0)), lambda: pd.DataFrame(odd).astype(pd.SparseDtype(float,
        math.nan)), lambda: pd.array(odd.ravel()), lambda: memoryview(odd), lambda: (row for row in odd), lambda: str(odd), lambda:
        [*odd.tolist(), [1]], lambda: {0: odd}, lambda: _ragged_sparse(odd), *(lambda form=form: getattr(sp,
        f"{form}_{rng.choice(('array', 'matrix'))}")(odd) for form in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")),
    )  # fmt: skip
    try:
        return rng.choice(ways)()
    except Exception:  # not every container holds every array
        return odd


def _ragged_sparse(odd: np.ndarray) -> Any:
    """A sparse matrix whose parts are tampered with: unsorted, repeated or stored zeros."""
    matrix = sp.csr_array(odd)
    matrix.indices = matrix.indices[::-1].copy()
    return matrix
