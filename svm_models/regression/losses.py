"""Losses of the residuals of K fits, smoothed within `width` of a kink, and their slopes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from svm_models.parameters import FloatArray

_NORMAL = NormalDist()
#: Curvature of a loss that is flat where residuals are, in units of 1/scale.
_LEAST_CURVATURE = 0.1


@dataclass(frozen=True)
class Pinball:
    """max(q r, (q - 1) r) for each of several rising quantiles q in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.regression.losses import Pinball
    >>> Pinball((0.25, 0.5)).slopes(np.array([[2.0, -2.0]]), np.array([0.1, 0.1]))
    array([[ 0.5, -0.5]])
    """

    quantiles: tuple[float, ...]

    #: Bound on the size of each slope, less its centre.
    farthest = 0.5
    #: Residuals up to this size cost nothing.
    ignored = 0.0
    #: Standard deviation of residuals that plans assume: it matters where errors are ignored.
    usual_scale = 1.0

    @property
    def _levels(self) -> FloatArray:
        return np.array(self.quantiles)

    @property
    def count(self) -> int:
        """Number K of fits."""
        return len(self.quantiles)

    @property
    def centre(self) -> FloatArray:
        """The middle of the range of each slope, (K,)."""
        return self._levels - 0.5

    @property
    def steepest(self) -> float:
        """Bound on the Euclidean norm of the K slopes of one record, less their centres."""
        return math.sqrt(self.count) * self.farthest

    @property
    def slope(self) -> FloatArray:
        """Bound on the size of each slope, (K,)."""
        return np.maximum(self._levels, 1 - self._levels)

    def values(self, residuals: FloatArray) -> FloatArray:
        """The losses themselves at the residuals of k records, (k, K)."""
        return np.maximum(self._levels * residuals, (self._levels - 1) * residuals)

    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        """Slopes less their centres, (k, K), each row from the residuals of its own record."""
        return np.clip(residuals / (2 * width), -0.5, 0.5)

    def curvature(self, scale: float) -> FloatArray:
        """Second derivative of the mean loss for normal residuals of deviation `scale`, (K,)."""
        return np.array([_NORMAL.pdf(_NORMAL.inv_cdf(q)) for q in self.quantiles]) / scale

    def excess(self, moved: FloatArray) -> FloatArray:
        """By what share the mean loss rises if predictions move by noise of this size, (K,).

        `moved` is in standard deviations of normal residuals. Half of the curvature times its
        square, over the least mean loss: the curvature is the density at the quantile over the
        scale, the mean loss times it.
        """
        return np.asarray(np.square(moved) / 2)

    def width(self, share: float, scale: float) -> FloatArray:
        """How far the loss is smoothed, (K,): over a share of the smaller side, twice."""
        q = self._levels
        return share * np.minimum(q, 1 - q) / self.curvature(scale)


@dataclass(frozen=True)
class EpsilonInsensitive:
    """max(0, abs(r) - epsilon), with epsilon at least 0 in the units of residuals; K = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.regression.losses import EpsilonInsensitive
    >>> residuals = np.array([[-2.0], [0.5], [3.0]])
    >>> EpsilonInsensitive(1.0).slopes(residuals, np.array([0.1])).ravel()
    array([-1.,  0.,  1.])
    """

    epsilon: float

    count = 1
    centre = np.zeros(1)
    farthest = steepest = 1.0
    slope = np.ones(1)

    @property
    def ignored(self) -> float:
        """Residuals up to this size cost nothing."""
        return self.epsilon

    @property
    def usual_scale(self) -> float:
        """Standard deviation of residuals that plans assume; smaller ones lose far more."""
        return 2 * self.epsilon or 1.0

    def values(self, residuals: FloatArray) -> FloatArray:
        """As for :class:`Pinball`, and so are the others."""
        return np.maximum(np.abs(residuals) - self.epsilon, 0.0)

    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        upper = np.clip((residuals - self.epsilon) / (2 * width) + 0.5, 0.0, 1.0)
        lower = np.clip((-residuals - self.epsilon) / (2 * width) + 0.5, 0.0, 1.0)
        return upper - lower

    def curvature(self, scale: float) -> FloatArray:
        normal = 2 * _NORMAL.pdf(min(self.epsilon / scale, 1e3))
        return np.array([max(normal, _LEAST_CURVATURE)]) / scale

    def excess(self, moved: FloatArray) -> FloatArray:
        ignored = self.epsilon / self.usual_scale
        density, beyond = _NORMAL.pdf(ignored), _NORMAL.cdf(-ignored)
        return np.asarray(np.square(moved) * density / (2 * (density - ignored * beyond)))

    def width(self, share: float, scale: float) -> FloatArray:
        return np.array([share * scale / (4 * _NORMAL.pdf(0.0))])


#: What a private regression minimises.
ResidualLoss = Pinball | EpsilonInsensitive
#: Least absolute deviations, up to a factor of 2.
MEDIAN = Pinball((0.5,))
#: Standard deviations of a normal variable in its median size: 0.674.
MEDIAN_SIZE = _NORMAL.inv_cdf(0.75)


def normal_quantile(q: float) -> float:
    """Standard deviations from the mean to a quantile of a normal variable; at most 8."""
    return math.copysign(min(abs(_NORMAL.inv_cdf(q)), 8.0), q - 0.5)
