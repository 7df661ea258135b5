"""Projection onto the dense distributions, for rows in blocks.

Raw log-weights stay with the rows; each round uses a projected copy. So the weight of a row depends
on that row, on released values and on one multiplier common to all rows. The sensitivity bound
:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity` needs this.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.rows.door import Rows

FloatArray = npt.NDArray[np.float64]

# Passes of Newton's method before selection takes over; a warm start needs two or three.
_MAX_PASSES = 40
# exp() of anything in [-_SAFE, _SAFE] neither overflows nor underflows, also after adding up a
# million of them.
_SAFE = 300.0


class LogWeights:
    """Raw log-weights of a block of rows, and their projected weights.

    Parameters
    ----------
    count : int
        Number of rows.

    Attributes
    ----------
    raw : (count,)
        Logarithms of the raw weights, all zero at first; private. ``-inf`` is allowed.
    weights : (count,)
        The block's part of the dense distribution; private.
    """

    changes = ("raw", "weights", "_relative", "_uncapped")

    def __init__(self, count: int) -> None:
        self.raw = np.zeros(count)
        self.weights = np.empty(count)
        self._relative = np.empty(count)
        self._uncapped = np.empty(count, dtype=bool)

    def size(self) -> int:
        """Number of rows."""
        return len(self.raw)

    def set_relative(self, log_cap: float) -> None:
        """Express weights in units of the weight at which a row is capped."""
        np.subtract(self.raw, log_cap, out=self._relative)
        np.clip(self._relative, -np.inf, _SAFE, out=self._relative)
        np.exp(self._relative, out=self._relative)

    def count_uncapped(self, zeta: float) -> int:
        """How many weights stay below the cap with this multiplier."""
        np.less(self._relative, 1.0 / zeta, out=self._uncapped)
        return int(np.count_nonzero(self._uncapped))

    def sum_uncapped(self) -> float:
        """The sum of the weights last found to stay below the cap."""
        return float(np.multiply(self._relative, self._uncapped, out=self.weights).sum())

    def largest_raw(self, count: int) -> FloatArray:
        """The largest raw log-weights, `count` of them or all."""
        if len(self.raw) <= count:
            return self.raw
        return np.partition(self.raw, -count)[-count:]

    def sum_up_to(self, anchor: float) -> float:
        """The sum of the weights at or below an anchor, in units of it."""
        ahead = self.raw - anchor
        return float(np.exp(ahead[ahead <= 0]).sum())

    def set_relative_to(
        self, anchor: float, log_cap: float, bound: float
    ) -> npt.NDArray[np.float64]:
        """Express weights in units of the cap; rows at or above `bound` are capped.

        Returns
        -------
        (2,)
            How many stay below the cap, and their sum.
        """
        ahead = self.raw - anchor
        np.exp(np.minimum(ahead - log_cap, _SAFE), out=self._relative)
        np.less(ahead, bound, out=self._uncapped)
        uncapped = self._relative[self._uncapped]
        return np.array([uncapped.size, uncapped.sum()])

    def share_out(self, factor: float) -> None:
        """Set capped weights to one unit, and scale the others by a factor."""
        shares = self._relative[self._uncapped] * factor
        self._relative[:] = 1.0
        self._relative[self._uncapped] = shares

    def weigh(self, zeta: float, s: float) -> None:
        """Set the weights to (1/s) min(1, zeta z_i)."""
        np.multiply(self._relative, zeta / s, out=self.weights)
        np.clip(self.weights, 0.0, 1.0 / s, out=self.weights)

    def weigh_positive(self, s: float) -> None:
        """Give each row with a positive weight 1/s."""
        np.greater(self.raw, -np.inf, out=self.weights)
        self.weights /= s


class DenseProjection:
    """Bregman projection onto the 1/s-dense distributions.

    The weights become (1/s) min(1, zeta z_i) with sum_i min(1, zeta z_i) = s. The multiplier zeta
    is exact, because the exact set of capped rows is found. Each projection takes O(n) expected
    time, by Newton's method on the concave piecewise-linear function
    zeta -> sum_i min(1, zeta z_i), which starts from the last multiplier. Weights are given by
    their logarithms, and may span any number of orders of magnitude.

    If fewer than s weights are positive there is no such zeta. Then those rows get 1/s each, and
    the weights sum to less than one: the rest of the mass belongs to a fixed public value, as if
    there were s public dummy rows. Normalising the weights would break the sensitivity bound.

    Parameters
    ----------
    rows : Rows of LogWeights
        Private rows with their raw log-weights.
    s : float
        Density, at least 1; need not be an integer.
    """

    def __init__(self, rows: Rows[LogWeights], s: float) -> None:
        self._rows, self.s = rows, s
        self._n: int = rows.total(LogWeights.size)
        # Log-weight at which a row is capped. The first value is exact for equal weights.
        self._log_cap = math.log(max(self._n, 1) / s)
        self._zeta = 1.0

    def __call__(self) -> None:
        """Project the raw log-weights of all rows."""
        if self._n > self.s and (self._newton() or self._select()):
            self._rows.update(LogWeights.weigh, self._zeta, self.s)
        else:
            self._rows.update(LogWeights.weigh_positive, self.s)

    def _newton(self) -> bool:
        """Newton's method from the last cap. False if it does not settle: then use `_select`.

        Capped and uncapped weights are never subtracted from each other: one may be smaller than
        the rounding error of the other.
        """
        self._rows.update(LogWeights.set_relative, self._log_cap)
        zeta, last_capped = 1.0, -1
        for _ in range(_MAX_PASSES):
            capped = self._n - self._rows.total(LogWeights.count_uncapped, zeta)
            if capped >= self.s:
                # Right of the root the tangent is flat: step left, where Newton's method rises.
                zeta, last_capped = zeta / 8, -1
                continue
            if capped == last_capped:
                break
            uncapped_sum = self._rows.total(LogWeights.sum_uncapped)
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

    def _select(self) -> bool:
        """Exact cap by selection and sorting. False if fewer than s weights are positive.

        With the k largest weights capped, zeta = (s - k) / (sum of the others). The right k is the
        smallest for which the next weight stays below its cap; it is less than s, so only weights
        above the ceil(s)-th largest are candidates.
        """
        largest = self._rows.largest(LogWeights.largest_raw, math.ceil(self.s))
        anchor = float(largest[-1])
        if anchor == -np.inf:
            return False
        ahead = largest - anchor
        above = ahead[ahead > 0]
        rest = math.log(self._rows.total(LogWeights.sum_up_to, anchor))
        log_sum_of_others = np.logaddexp.accumulate(np.concatenate([[rest], above[::-1]]))[::-1]
        log_caps = log_sum_of_others - np.log(self.s - np.arange(len(above) + 1))
        # Log of (a weight and all smaller ones) over that weight. No weight is so large that this
        # rounds to zero.
        lead = np.logaddexp(0.0, log_sum_of_others[1:] - above)
        stays_below = np.flatnonzero(lead >= np.log(self.s - np.arange(len(above))))
        k = int(stays_below[0]) if stays_below.size else len(above)
        self._log_cap, self._zeta = anchor + float(log_caps[k]), 1.0
        bound = float(above[k - 1]) if k else np.inf
        count, total = self._rows.total(
            LogWeights.set_relative_to, anchor, float(log_caps[k]), bound
        )
        # The logarithms were rounded: the other rows share the mass that is left, exactly.
        self._rows.update(LogWeights.share_out, (self.s - self._n + count) / total)
        return True
