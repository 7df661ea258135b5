"""How many rounds a method plays, fixed in advance from public numbers."""

from __future__ import annotations

import math

from privlp.errors import InvalidParameterError

_MOST_ROUNDS = 10_000_000


def as_rounds(factor: float, ratio: float, alpha: float) -> int:
    """Round factor * ratio**2 up, if it is within reason."""
    rounds = factor * ratio * ratio
    if not rounds <= _MOST_ROUNDS:
        raise InvalidParameterError(
            f"alpha = {alpha:g} asks for {rounds:.3g} rounds, beyond {_MOST_ROUNDS:,}. Give a larger alpha."
        )
    return max(1, math.ceil(rounds))
