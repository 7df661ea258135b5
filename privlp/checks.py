"""Checks of arguments that are numbers or arrays of numbers.

An error names the argument, in its message and as ``parameter``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import InvalidParameterError, InvalidProblemError, NotPrivateWarning


def real(value: Any, name: str) -> float:
    """Return a Python or NumPy real number as a float, infinities and NaN included.

    Raises
    ------
    InvalidParameterError
        If it is anything else; a string of digits or a bool is no number.
    """
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        raise InvalidParameterError(
            f"{name} must be a number, got {type(value).__name__}.", parameter=name
        )
    try:
        return float(value)
    except OverflowError:
        raise InvalidParameterError(
            f"{name} is beyond double precision; the largest number is 1.8e308.", parameter=name
        ) from None


def positive(value: Any, name: str, *, finite: bool = False) -> float:
    """Return a positive number as a float; ``inf`` passes unless it must be finite.

    Raises
    ------
    InvalidParameterError
        If it is anything else.
    """
    number = (
        real(value, name)
        if isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        else np.nan
    )
    if not number > 0 or (finite and number == np.inf):
        raise InvalidParameterError(
            f"{name} must be a positive {'finite ' if finite else ''}number, got {value!r}.",
            parameter=name,
        )
    return number


def is_one_of(value: Any, options: Collection[str]) -> bool:
    """Whether a value is one of some strings.

    An array, which compares entry by entry, is none of them.
    """
    return isinstance(value, str) and value in options


def is_probability(value: Any) -> bool:
    """Whether a value is a number strictly between 0 and 1."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def real_dtype(dtype: np.dtype[Any], name: str) -> type[np.float64]:
    """Refuse a dtype that holds no real numbers."""
    if dtype.kind not in "fiub":
        raise InvalidProblemError(
            f"{name} must hold real numbers, got dtype {dtype}.", parameter=name
        )
    return np.float64


def as_floats(values: Any, name: str, order: Any = "K") -> npt.NDArray[np.float64]:
    """A new float array of real numbers.

    A string of digits is no number, and what is masked is none either.
    """
    if sp.issparse(values):
        values = values.toarray().ravel()
    if np.ma.is_masked(values):
        raise InvalidProblemError(
            f"{name} has masked entries. Fill them in, or leave their rows out.", parameter=name
        )
    try:
        raw = np.asarray(values)
        if raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat):
            raise TypeError
        return np.array(
            raw,
            dtype=float if raw.dtype.kind == "O" else real_dtype(raw.dtype, name),
            order=order,
            copy=True,
        )
    except InvalidProblemError:
        raise
    except (TypeError, ValueError, OverflowError):
        pass  # it may quote a number, and would go along as the context of an error raised here
    raise InvalidProblemError(f"{name} must hold real numbers in a regular array.", parameter=name)


def as_sparse(A: Any, layout: Any = sp.csr_array) -> Any:
    """A as a sparse array, by way of where its entries stand.

    SciPy's own conversion of a dense array quotes that array in an error of its own, whatever
    failed within it: too little memory, for instance. Here the first error is all there is.
    """
    if sp.issparse(A):
        return layout(A)
    where = np.nonzero(A)
    return layout((A[where], where), shape=A.shape)


def warn_of_large_delta(eps: float, delta: float, records: float, *, stacklevel: int = 3) -> None:
    """Warn where publishing a whole record would satisfy (eps, delta): from delta = 1/n on.

    Here n is the public number of records.
    """
    if math.isfinite(eps) and delta * records >= 1:
        warnings.warn(
            f"delta = {delta:g} is at least 1/n = {1 / records:g}: publishing one whole record at"
            " random would satisfy it. Choose delta well below 1/n.",
            NotPrivateWarning,
            stacklevel=stacklevel,
        )
