"""A noisy sum that chooses between the answer of a search and one that costs little.

Each record says by how much the first does worse on it, a number in [-1, 1]. The noise on their
sum is known: the first is kept unless the sum speaks against it, and the less the sum can tell, the
more it has to speak for it. Proof: ``docs/proofs.md``, "The better of a fit and a constant".
"""

from __future__ import annotations

import math

import numpy as np

from privlp.checks import BoolArray, FloatArray

# Each draw for the cheap answer is to be this accurate, and the comparison this accurate, as a
# share of the records: as far as these shares of the budget allow it. Chosen by trial on generated
# families, seeds below 100 (docs/results/fallback.md).
_ANSWER, _LEAST_ANSWER, _MOST_ANSWER = 0.1, 0.01, 0.8
_CHOICE, _LEAST_CHOICE, _MOST_CHOICE = 0.02, 0.005, 0.12
# A sum is held against a fit beyond so many deviations of its noise. A fit half as bad again as
# the cheap answer adds about this share of the records: a sum must be so many deviations below it.
_AGAINST, HALF_AS_BAD_AGAIN, _DOUBT = 2.0, 0.1, 2.5
# No fit seen was better than the cheap answer by so much that its sum fell by this share of the
# records: where that could not be told, none is looked for. Found on the same families.
_AT_BEST = 0.2
# What a record says is bounded by five typical sizes, or by more where noise is small beside this
# share of the records.
LEAST_REACH, _REACH = 5.0, 0.1


def shares(
    of_answer: float,
    of_choice: float,
    number: float,
    most: tuple[float, float] = (_MOST_ANSWER, _MOST_CHOICE),
) -> tuple[float, float]:
    """What the cheap answer and the comparison take of the budget."""
    answer = number * (of_answer / _ANSWER) ** 2
    choice = (of_choice / _CHOICE) ** 2
    return (min(max(answer, _LEAST_ANSWER), most[0]), min(max(choice, _LEAST_CHOICE), most[1]))


def keeps(total: FloatArray | float, sigma: float, n: float) -> BoolArray:
    """Whether a fit is kept, by the noisy sum of what its records lose to the cheap answer."""
    total = np.asarray(total)
    if sigma == 0:  # without noise the fit is exact
        return np.ones(total.shape, dtype=bool)
    return np.asarray(total <= min(_AGAINST * sigma, HALF_AS_BAD_AGAIN * n - _DOUBT * sigma))


def tells(sigma: float, n: float) -> bool:
    """Whether such a sum can speak for the best fit; by public numbers."""
    return HALF_AS_BAD_AGAIN * n - _DOUBT * sigma > -_AT_BEST * n


def reach(sigma: float, n: int, least: float = LEAST_REACH) -> float:
    """A bound on what a record says, in units of what records typically say: public."""
    return max(least, _REACH * n / sigma) if sigma else math.inf
