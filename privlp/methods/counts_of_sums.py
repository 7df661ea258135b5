"""Counts by draws that were charged for other sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat

import numpy as np

from privlp.privacy import ChargedDraws

# Products of counts and multiples of this are exact.
_EXACT = 2.0**-10


class CountsOfSums:
    """Counts by the draws charged for them, each together with a part of the draws of other sums.

    What moves by Delta at most pays for a count that moves by k: released is the count times
    Delta/k, rounded down so that products are exact. Each draw counts by its precision, and about
    as much of that is used for each count.
    """

    def __init__(self, own: ChargedDraws, others: Sequence[ChargedDraws], k: float) -> None:
        self.remaining = self._number = own.remaining
        self._draws: list[tuple[float, int, float, ChargedDraws]] = []  # by when they are used
        for draw in (own, *others):
            sensitivity: float = draw.mechanism.sensitivity
            times = math.floor(sensitivity / k / _EXACT) * _EXACT
            precisions = (times / np.array(draw.deviations())) ** 2
            used = np.cumsum(precisions) / precisions.sum()
            self._draws += zip(
                used - _EXACT, np.full(len(used), times), precisions, repeat(draw), strict=False
            )
        self._draws.sort(key=lambda found: found[0], reverse=True)
        #: The deviation of a count: about the same for all.
        self.sigma = math.sqrt(self._number / math.fsum(found[2] for found in self._draws))

    def __call__(self, count: float) -> float:
        self.remaining -= 1
        end, total, precision = 1 - self.remaining / self._number, 0.0, 0.0
        while self._draws and self._draws[-1][0] <= end:
            _, times, weight, draw = self._draws.pop()
            total += weight * float(draw(times * count)) / times
            precision += weight
        return total / precision
