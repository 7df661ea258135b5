"""Variables one by one: each falls as far as the rows that need it most allow."""

from __future__ import annotations

import math

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.counts import noise_of_one_release
from privlp.methods.request import SolveRequest

LEVELS = 16  #: Parts of the way of a variable that are told apart.
#: Variables fall from sizes that are larger by this logarithm; and where so many times s rows are
#: missed then, they had better not.
LARGER, MOST_MISSED = 0.5, 1.2
# The noise of a count is this share of s, if that costs at most so much of the budget. Chosen with
# all others here on needs of one product, maps, diets and random coverings, seeds 0 to 2.
_OF_S, _MOST = 0.04, 0.15
# A count of so many deviations is believed; other rows are taken for none. Variables fall until
# this share of s is missed.
_CLEAR, _SPARE = 2.5, 0.5
_HALVINGS = 60


def share_of_trim(request: SolveRequest, sensitivity: float) -> float:
    """The share of the budget, from public numbers; 0 if it is too large."""
    sigma = sensitivity * noise_of_one_release(request)
    share = (sigma / (_OF_S * request.density())) ** 2
    return share if share <= _MOST else 0.0


def levels_of(noisy: FloatArray, sigma: float, cost: FloatArray, s: float) -> FloatArray:
    """The cheapest part of `cost` for each variable, (d,), by noisy counts of rows (d, LEVELS)."""
    above = np.cumsum(noisy[:, ::-1], axis=1)
    alone = np.cumsum(np.where(noisy > _CLEAR * sigma, noisy, 0.0)[:, ::-1], axis=1)
    clear = above > _CLEAR * sigma * np.sqrt(np.arange(1, LEVELS + 1))
    missed = np.maximum.accumulate(np.maximum(alone, np.where(clear, above, 0.0)), axis=1)
    missed = np.column_stack([missed[:, ::-1], np.zeros(len(missed))])
    parts = np.arange(LEVELS + 1) / LEVELS
    low, high = -30.0, 30.0  # the logarithm of what a row may cost
    unit = cost.sum() / s
    chosen = np.full(len(cost), LEVELS)
    for _ in range(_HALVINGS):
        price = 0.5 * (low + high)
        found = (cost[:, None] * parts + unit * math.exp(price) * missed).argmin(axis=1)
        if np.take_along_axis(missed, found[:, None], axis=1).sum() <= _SPARE * s:
            high, chosen = price, found
        else:
            low = price
    return parts[chosen]
