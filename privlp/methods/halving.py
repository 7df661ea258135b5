"""Where a count that falls along a path reaches each of several targets, by halving."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise


class Halving:
    """Places at which a count that falls along a path reaches each of several targets.

    Unlike ``Crossing``, with no model of how it falls: each count halves the interval that the
    counts so far leave to a target, and every target learns from all of them. All of it is computed
    from released counts.

    Parameters
    ----------
    targets : sequence of float
        Counts that are looked for.
    low, high : float
        They are looked for between these places.
    sigma : float
        Deviation of the noise of a count; 0 for exact ones.
    most : float
        Bound on the count, public.

    Examples
    --------
    >>> halving = Halving([100.0, 200.0], -3.0, 3.0, sigma=5.0, most=1000.0)
    >>> places = halving.search(lambda t: 100.0 * 2.0 ** (1.0 - t), order=[0, 1] * 6)
    >>> [round(place, 3) for place in places]
    [1.0, 0.0]
    """

    def __init__(
        self, targets: Sequence[float], low: float, high: float, *, sigma: float, most: float
    ) -> None:
        self._targets, self._least = targets, max(sigma, 1.0)
        self._counts = [(low, most), (high, 0.0)]

    def search(self, count: Callable[[float], float], order: Sequence[int]) -> list[float]:
        """The places of all targets after counts that halve for the targets in this order."""
        for target in order:
            (low, _), (high, _) = self._interval(self._targets[target])
            t = (low + high) / 2
            self._counts.append((t, count(t)))
        return [self._place(target) for target in self._targets]

    def _place(self, target: float) -> float:
        """Where the count reaches a target if it falls exponentially within its interval."""
        (low, above), (high, below) = self._interval(target)
        # Counts below the deviation of their noise say no more than that.
        above, aim, below = (math.log(max(c, self._least)) for c in (above, target, below))
        part = (above - aim) / (above - below) if above > below else 0.5
        return low + (high - low) * min(max(part, 0.0), 1.0)

    def _interval(self, target: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Two places with their counts: above the target, and the next one, where it is not."""
        places, counts = zip(*sorted(self._counts), strict=True)
        falling = zip(places, accumulate(counts, min), strict=True)
        return next(two for two in pairwise(falling) if two[1][1] <= target)
