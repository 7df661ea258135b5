"""How many rounds a method plays and how much each counts, from public numbers, in advance."""

from __future__ import annotations

import math
from functools import lru_cache

from privlp.errors import InvalidParameterError

#: More are refused.
MOST_ROUNDS = 10_000_000


def weight_of_round(t: int) -> float:
    """How much round t, from 0, counts in accelerated descent: 1/theta_t, theta_t = 2/(t + 2).

    Examples
    --------
    >>> weight_of_round(0), weight_of_round(5)
    (1.0, 3.5)
    """
    return (t + 2) / 2


@lru_cache(maxsize=64)
def weights_of_rounds(rounds: int) -> tuple[float, ...]:
    """How much each of the given number of rounds counts in accelerated descent.

    Examples
    --------
    >>> weights_of_rounds(4)
    (1.0, 1.5, 2.0, 2.5)
    """
    return tuple(weight_of_round(t) for t in range(rounds))


def as_rounds(factor: float, ratio: float, alpha: float) -> int:
    """The number of rounds factor * ratio**2, rounded up."""
    rounds = factor * ratio * ratio
    if not rounds <= MOST_ROUNDS:
        raise InvalidParameterError(
            f"alpha = {alpha:g} asks for {rounds:.3g} rounds, beyond {MOST_ROUNDS:,}. Give a"
            " larger alpha.",
            parameter="alpha",
        )
    return max(1, math.ceil(rounds))
