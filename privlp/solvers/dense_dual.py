"""The dual player: multiplicative weights over rows, projected onto the 1/s-dense distributions.

Raw log-weights are kept and only projected copies leave: a row's weight depends on that row and on
what was released, never on other rows. That is what the sensitivity bound of
:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity` rests on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from privlp.solvers.game import Rows

FloatArray = npt.NDArray[np.float64]

# Newton's passes before falling back to selection; a warm start needs two or three.
_MAX_PASSES = 40
# exp() of anything in [-_SAFE, _SAFE] neither overflows nor underflows, also after adding up a
# million of them.
_SAFE = 300.0
# Beyond this, rows of a smoothed dual count as equally bad: an arbitrary right-hand side must not
# make numbers too large to add.
_LARGEST_LOG_WEIGHT = 1e6


class DenseProjection:
    """Bregman projection onto the 1/s-dense distributions: (1/s) min(1, zeta z_i) with sum_i min(1, zeta z_i) = s.

    The multiplier is exact: the set of capped rows is found, not approached. Each call takes O(n)
    expected time, by Newton's method on the concave piecewise-linear function zeta -> sum_i min(1,
    zeta z_i), warm-started from the last call. Weights come as logarithms and may span any number
    of orders of magnitude.

    If fewer than s weights are positive there is no such zeta. Those rows get 1/s each and the rest
    of the mass belongs to a fixed public value, as if s public dummy rows stood by: the returned
    weights then sum to less than one. They are not renormalised, which would break the sensitivity
    bound.

    Parameters
    ----------
    n : int
        Number of rows.
    s : float
        Density, at least 1; need not be an integer.
    """

    def __init__(self, n: int, s: float) -> None:
        self.s = s
        self._log_cap = math.log(
            max(n, 1) / s
        )  # log-weight at which a row is capped: right for equal weights
        self._relative = np.empty(n)
        self._zeta = 1.0  # multiplier of the weights in _relative
        self._weights = np.empty(n)
        self._uncapped = np.empty(n, dtype=bool)

    def __call__(self, log_weights: FloatArray) -> FloatArray:
        """Project exp(log_weights), ``-inf`` allowed.

        The result is overwritten by the next call.
        """
        if len(log_weights) > self.s and (self._newton(log_weights) or self._select(log_weights)):
            np.multiply(self._relative, self._zeta / self.s, out=self._weights)
            return np.clip(self._weights, 0.0, 1.0 / self.s, out=self._weights)
        np.greater(log_weights, -np.inf, out=self._weights)
        self._weights /= self.s
        return self._weights

    def _newton(self, log_weights: FloatArray) -> bool:
        """Newton from the last cap.

        False if it does not settle, which leaves the work to :meth:`_select`.

        Capped and uncapped weights are never subtracted from each other: one may be smaller than
        the rounding error of the other.
        """
        self._set_relative(log_weights)
        zeta, last_capped = 1.0, -1
        for _ in range(_MAX_PASSES):
            np.less(self._relative, 1.0 / zeta, out=self._uncapped)
            capped = len(log_weights) - int(np.count_nonzero(self._uncapped))
            if (
                capped >= self.s
            ):  # right of the root with a flat tangent: step left, from where Newton climbs
                zeta, last_capped = zeta / 8, -1
                continue
            if capped == last_capped:
                break
            uncapped_sum = float(
                np.multiply(self._relative, self._uncapped, out=self._weights).sum()
            )
            if not uncapped_sum > math.exp(-_SAFE):
                return False
            zeta, last_capped = (self.s - capped) / uncapped_sum, capped
            if not abs(math.log(zeta)) < _SAFE / 4:
                return False
        else:
            return False
        self._zeta = zeta
        self._log_cap -= math.log(zeta)
        return True

    def _select(self, log_weights: FloatArray) -> bool:
        """Exact cap by selection and sorting. False if fewer than s weights are positive.

        With the k largest weights capped, zeta = (s - k) / (sum of the others). The right k is the
        smallest for which the next weight stays below its cap; it is less than s, so only weights
        above the ceil(s)-th largest are candidates.
        """
        rank = math.ceil(self.s)
        anchor = float(np.partition(log_weights, -rank)[-rank])
        if anchor == -np.inf:
            return False
        ahead = log_weights - anchor
        above = np.sort(ahead[ahead > 0])[::-1]
        rest = math.log(np.exp(ahead[ahead <= 0]).sum())
        log_sum_of_others = np.logaddexp.accumulate(np.concatenate([[rest], above[::-1]]))[::-1]
        log_caps = log_sum_of_others - np.log(self.s - np.arange(len(above) + 1))
        # How far the sum of a weight and all smaller ones is ahead of it: no weight is so large
        # that this rounds to nothing.
        lead = np.logaddexp(0.0, log_sum_of_others[1:] - above)
        stays_below = np.flatnonzero(lead >= np.log(self.s - np.arange(len(above))))
        k = int(stays_below[0]) if stays_below.size else len(above)
        self._log_cap = anchor + float(log_caps[k])
        np.exp(np.minimum(ahead - log_caps[k], _SAFE), out=self._relative)
        np.less(ahead, above[k - 1] if k else np.inf, out=self._uncapped)
        uncapped = self._relative[self._uncapped]
        self._zeta = 1.0
        # The logarithms were rounded: the mass that the capped weights leave is dealt out exactly.
        self._relative[:] = 1.0
        self._relative[self._uncapped] = uncapped * (
            (self.s - len(ahead) + uncapped.size) / uncapped.sum()
        )
        return True

    def _set_relative(self, log_weights: FloatArray) -> None:
        np.subtract(log_weights, self._log_cap, out=self._relative)
        np.clip(self._relative, -np.inf, _SAFE, out=self._relative)
        np.exp(self._relative, out=self._relative)


class DenseDual:
    """Multiplicative weights with raw log-weights inside and dense distributions outside.

    Parameters
    ----------
    n : int
        Number of private rows.
    s : float
        Density.
    step : float
        Step of the log-weights per unit of scaled violation.

    Attributes
    ----------
    log_weights : (n,)
        Logarithms of the raw weights, all zero at first; private.
    """

    def __init__(self, n: int, s: float, step: float = 1.0) -> None:
        self.log_weights = np.zeros(n)
        self.step = step
        self._project = DenseProjection(n, s)

    def weights(self) -> FloatArray:
        """The dense distribution against which the primal player moves; private."""
        return self._project(self.log_weights)

    def learn(self, rows: Rows, answer: Any) -> None:
        """Make the rows heavier that a released answer violates."""
        rows.add_violations(answer, self.step, self.log_weights)


class SmoothedWorstRows:
    """A dense distribution over the rows that a point violates most, remembering nothing of earlier points.

    Weights are the projection of exp(violation/temperature): the slopes of a smoothed mean of the s
    largest violations. As the temperature falls they become 1/s on the s largest, ties sharing
    alike.

    Parameters
    ----------
    rows : Rows
        Private rows.
    start : (d,)
        The first point, public.
    s : float
        Density.
    temperature : float
        In units of scaled violation.
    """

    def __init__(self, rows: Rows, start: FloatArray, s: float, temperature: float) -> None:
        self._log_weights = np.empty(rows.count)
        self._temperature = temperature
        self._project = DenseProjection(rows.count, s)
        self.learn(rows, start)

    def weights(self) -> FloatArray:
        """The dense distribution against which the primal player moves; private."""
        return self._project(self._log_weights)

    def learn(self, rows: Rows, answer: FloatArray) -> None:
        """See how far each row is violated at a released point."""
        self._log_weights[:] = 0.0
        rows.add_violations(answer, 1.0 / self._temperature, self._log_weights)
        np.clip(self._log_weights, -_LARGEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT, out=self._log_weights)
