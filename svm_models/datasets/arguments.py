"""Checks of the arguments that fetchers and simulations share."""

from __future__ import annotations

from typing import Any

import numpy as np

from privlp.checks import real
from privlp.errors import InvalidParameterError

RandomState = None | int | np.random.Generator


def whole(value: Any, name: str, *, least: int = 1) -> int:
    """Return a whole number of at least `least` as an int.

    Raises
    ------
    InvalidParameterError
        If it is anything else; 3.0 and True are no whole numbers.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise InvalidParameterError(
            f"{name} must be a whole number, got {type(value).__name__}.", parameter=name
        )
    if value < least:
        raise InvalidParameterError(
            f"{name} must be at least {least}, got {value}.", parameter=name
        )
    return int(value)


def fraction(value: Any, name: str) -> float:
    """Return a number of [0, 1] as a float.

    Raises
    ------
    InvalidParameterError
        If it is anything else.
    """
    number = real(value, name)
    if not 0.0 <= number <= 1.0:
        raise InvalidParameterError(
            f"{name} must lie between 0 and 1, got {number}.", parameter=name
        )
    return number


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator itself, or NumPy's default one with that seed.

    Raises
    ------
    InvalidParameterError
        If `random_state` is anything but None, a non-negative int or a numpy.random.Generator.
    """
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if (
        isinstance(random_state, int | np.integer)
        and not isinstance(random_state, bool)
        and random_state >= 0
    ):
        return np.random.default_rng(int(random_state))
    raise InvalidParameterError(
        "random_state must be None, a non-negative int or a numpy.random.Generator, not"
        f" {type(random_state).__name__}.",
        parameter="random_state",
    )
