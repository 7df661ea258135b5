"""Checks of what the functions of models are given, in the words of the model.

A message names the argument, its shape and what was expected; it quotes no entry. Names of
variables are public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import as_floats
from privlp.errors import InvalidProblemError

FloatArray = npt.NDArray[np.float64]


def table(
    values: Any, name: str, meaning: str, shape: tuple[int | None, int | None] = (None, None)
) -> FloatArray:
    """A matrix of finite numbers; of a shape, where it is fixed by other arguments.

    Parameters
    ----------
    values : array_like or DataFrame
    name, meaning : str
        Of the argument, and what its rows and columns are: "one row per person".
    shape : pair of int or None
        Expected rows and columns; None where any number will do.

    Raises
    ------
    InvalidProblemError
        If it is no such matrix.
    """
    array = _numbers(values, name)
    fits = array.ndim == 2 and 0 not in array.shape
    if not fits or any(
        e is not None and e != got for e, got in zip(shape, array.shape, strict=True)
    ):
        rows, columns = ("any" if size is None else size for size in shape)
        raise InvalidProblemError(
            f"{name} has shape {array.shape}, but it needs ({rows}, {columns}): {meaning}.",
            parameter=name,
        )
    return array


def column(values: Any, name: str, meaning: str, size: int | None = None) -> FloatArray:
    """A vector of finite numbers; of a size, where it is fixed by other arguments.

    Raises
    ------
    InvalidProblemError
        If it is no such vector.
    """
    array = _numbers(values, name)
    if array.ndim != 1 or not array.size or (size is not None and array.size != size):
        expected = "any length but 0" if size is None else f"length {size}"
        raise InvalidProblemError(
            f"{name} has shape {array.shape}, but it needs one axis of {expected}: {meaning}.",
            parameter=name,
        )
    return array


def each(values: Any, name: str, meaning: str, size: int) -> FloatArray:
    """A number for all, or a vector with one for each; ``inf`` is allowed.

    Raises
    ------
    InvalidProblemError
        If it is neither.
    """
    array = as_floats(values, name)
    if array.shape not in ((), (size,)) or np.isnan(array).any():
        raise InvalidProblemError(
            f"{name} must be a number or an array of shape ({size},): {meaning}; got shape"
            f" {array.shape}.",
            parameter=name,
        )
    return np.broadcast_to(array, (size,)).copy()


def nonnegative(array: FloatArray, name: str) -> FloatArray:
    """The array, if no entry is negative.

    Raises
    ------
    InvalidProblemError
        If an entry is.
    """
    if (array < 0).any():
        raise InvalidProblemError(f"{name} must not be negative anywhere.", parameter=name)
    return array


def positive_everywhere(array: FloatArray, name: str) -> FloatArray:
    """The array, if all entries are positive.

    Raises
    ------
    InvalidProblemError
        If one is not.
    """
    if not (array > 0).all():
        raise InvalidProblemError(f"{name} must be positive everywhere.", parameter=name)
    return array


def labels(given: Any, name: str, size: int, what: str) -> list[str]:
    """Names as given, or "food 1", "food 2", and so on.

    Raises
    ------
    InvalidProblemError
        If there are not `size` of them.
    """
    if given is None:
        return [f"{what} {number + 1}" for number in range(size)]
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        given = [] if isinstance(given, str) else list(given)
    if len(given) != size:
        raise InvalidProblemError(
            f"{name} must hold {size} names, one for each {what}; got {len(given)}.",
            parameter=name,
        )
    return [str(label) for label in given]


def distinct(names: Sequence[str]) -> list[str]:
    """Names, of which repeated ones get a number: "a to b", "a to b (2)"."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def range_of_each(lower: Any, upper: Any, of: str, size: int) -> tuple[FloatArray, FloatArray]:
    """The ends of a declared public range, one for each number; infinite where none is declared.

    Parameters
    ----------
    lower, upper : None, float or array_like of shape (size,)
    of : str
        What the range is of, at the end of the names of the arguments, such as ``"_supply"``.
    size : int
    """
    low, high = (-np.inf if lower is None else lower), (np.inf if upper is None else upper)
    meaning = "the declared public range"
    return each(low, f"lower{of}", meaning, size), each(high, f"upper{of}", meaning, size)


def _numbers(values: Any, name: str) -> FloatArray:
    array = as_floats(values, name)
    if not np.isfinite(array).all():
        raise InvalidProblemError(
            f"{name} holds NaN or infinite entries. Fill them in, or leave their rows out.",
            parameter=name,
        )
    return array
