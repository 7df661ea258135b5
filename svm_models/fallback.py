"""The best answer without features, and a private choice between it and a fit.

A fit to few records may be far worse than one answer for everyone. That answer costs little: counts
of y alone, or of the classes. So does the comparison (:mod:`privlp.methods.fallback`). Proof:
``docs/proofs.md``, "The better of a fit and a constant".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from privlp.methods.fallback import HALF_AS_BAD_AGAIN, keeps
from privlp.privacy import ChargedDraws
from svm_models.regression_losses import ResidualLoss

FloatArray = npt.NDArray[np.float64]

OF_ANSWER = "count records for one answer for everyone"
OF_CHOICE = "compare the fit with one answer for everyone"

#: Counts that find a quantile of y, binary digits of its place, and of a compared number.
STEPS, _PLACES, _BITS = 28, 16, 20
# Where fewer records than so many deviations of a single count are beyond a quantile of y, noise
# could place it anywhere in its range: one farther inside is looked for.
_TOLD = 5.0


def told(quantiles: tuple[float, ...], noise: float) -> tuple[float, ...]:
    """The quantiles of y that counts can tell from its ends, the nearest to those asked for.

    `noise` is that of a single count at the price of all, as a share of the records.

    Examples
    --------
    >>> from svm_models.fallback import told
    >>> told((0.1, 0.5, 0.95), 0.02), told((0.9,), 1.0)
    ((0.1, 0.5, 0.9), (0.5,))
    """
    least = min(_TOLD * noise, 0.5)
    return tuple(min(max(q, least), 1 - least) for q in quantiles)


def larger_class(
    decisions: FloatArray,
    signs: FloatArray,
    weights: FloatArray | None,
    answer: ChargedDraws,
    choice: ChargedDraws,
    n: int,
) -> float:
    """The sign of the larger class if its mistakes are fewer than those of the decisions, else 0.

    Records count their public class weights, in units of the larger one: rounded to multiples of
    2^-20, so that sums are exact. Both sums move by one weight where a record is added or removed:
    by 1 at most, and by 2 where one is replaced.

    Parameters
    ----------
    decisions : (n,) array
        Positive where a record is taken for positive; each from its record and released numbers.
    signs : (n,) array
    weights : (n,) array, optional
    answer, choice : ChargedDraws
        One draw each, the second Gaussian.
    n : int
        The public number of records.
    """
    size = np.ones(len(signs)) if weights is None else np.rint(weights * 2.0**_BITS) / 2.0**_BITS
    balance = float(answer(float(np.sum(size * signs))))
    larger = 1.0 if balance > 0 else -1.0
    wrong = (decisions > 0) != (signs > 0)
    more = size * (wrong.astype(float) - (signs != larger))
    # A fit that errs half as often again as the constant adds half of the smaller class.
    half = 0.25 * max(n - abs(balance), 0.0) / HALF_AS_BAD_AGAIN
    kept = keeps(np.array(choice(float(np.sum(more)))), choice.sigma, half)
    return 0.0 if kept else larger


def bisected(
    excess: Callable[[FloatArray], FloatArray],
    draws: ChargedDraws,
    low: FloatArray,
    high: FloatArray,
    steps: int,
) -> tuple[FloatArray, FloatArray]:
    """Ends between which falling sums pass 0, by bisection with noise."""
    for _ in range(steps):
        middle = 0.5 * (low + high)
        below = np.asarray(draws(excess(middle))) <= 0
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return low, high


def crossings(
    excess: Callable[[FloatArray], FloatArray], draws: ChargedDraws, number: int
) -> FloatArray:
    """About where falling sums pass 0 between -1 and 1, by all charged draws, (number,).

    Each asks at the median of what is believed, and its chance of being right weighs both sides:
    bisection, if there is no noise. An early error is mended by later draws.
    """
    sigma, cells = draws.sigma, 2**_PLACES
    belief, edges = np.full((number, cells), 1.0 / cells), np.linspace(-1.0, 1.0, cells + 1)
    k = np.arange(cells)

    def middle() -> npt.NDArray[np.intp]:
        return np.argmax(np.cumsum(belief, axis=1) >= 0.5 * (1 - 2.0**-40), axis=1)

    while draws.remaining:
        left = k <= middle()[:, None]
        found = np.asarray(draws(excess(edges[middle() + 1])))
        beyond = ndtr(found / sigma) if sigma else (found > 0).astype(float)
        beyond = np.clip(beyond, 1e-9, 1 - 1e-9)[:, None]
        belief *= np.where(left, 1 - beyond, beyond)
        belief /= belief.sum(axis=1, keepdims=True)
    at = middle()
    return np.asarray(0.5 * (edges[at] + edges[at + 1]))


def above(pairs: tuple[FloatArray, FloatArray], levels: FloatArray, shares: FloatArray) -> Any:
    """sum_i (1[y_i > level_k] - share_k), (K,)."""
    y = pairs[1]
    return (y[:, None] > levels).sum(axis=0) - shares * len(y)


def lost(
    y: FloatArray, moved: FloatArray, constant: FloatArray, limit: FloatArray, loss: ResidualLoss
) -> FloatArray:
    """sum_i of what each fit loses more than its constant on record i, in units of the limit, (K,).

    `moved`, (n, K), is how far predictions are from the constant, within the limit. A loss rises by
    at most its steepest slope times that, so each term is within -1 and 1. It is computed from its
    record alone and rounded to a multiple of 2^-20: sums are exact. One that is no number is 0.
    """
    residuals = y[:, None] - constant
    moved = np.clip(moved, -limit, limit)
    more = (loss.values(residuals - moved) - loss.values(residuals)) / (loss.slope * limit)
    found = np.rint(np.clip(more, -1.0, 1.0) * 2.0**_BITS)
    found[np.isnan(found)] = 0.0
    return np.asarray(found.sum(axis=0) / 2.0**_BITS)
