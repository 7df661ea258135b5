"""Losses of residuals y - prediction, smoothed: what a private regression sums the slopes of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

_NORMAL = NormalDist()
#: Curvature of a loss that is flat where residuals are, in units of 1/scale.
_LEAST_CURVATURE = 0.1


class ResidualLoss(ABC):
    """A loss of each of K fits: their residuals go in together, and so do their slopes.

    A residual is y minus a prediction. Slopes are those of the loss as a function of the residual,
    smoothed over residuals within `width` of a kink.
    """

    @property
    @abstractmethod
    def count(self) -> int:
        """Number K of fits."""

    @property
    @abstractmethod
    def centre(self) -> FloatArray:
        """The middle of the range of each slope, (K,)."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """Bound on the Euclidean norm of the K slopes of one record, less their centres."""

    @property
    @abstractmethod
    def slope(self) -> FloatArray:
        """Bound on the size of each slope, (K,)."""

    @abstractmethod
    def values(self, residuals: FloatArray) -> FloatArray:
        """The losses themselves at the residuals of k records, (k, K)."""

    @abstractmethod
    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        """Slopes less their centres, at the residuals of k records, (k, K).

        Each row is computed from its own residuals.
        """

    @abstractmethod
    def curvature(self, scale: float) -> FloatArray:
        """Second derivative of the mean loss for normal residuals about a median fit, (K,).

        `scale` is their standard deviation.
        """

    @abstractmethod
    def excess(self, moved: FloatArray) -> FloatArray:
        """By what share the mean loss rises if predictions move by noise of this size, (K,).

        `moved` is in standard deviations of the residuals, which are normal about the best fits:
        half of the curvature times its square, over the least mean loss.
        """

    @property
    def usual_scale(self) -> float:
        """Standard deviation of residuals that plans assume: it matters where errors are ignored.

        It is private. Plans take it for twice the size of the errors that are ignored: larger
        residuals lose less than that forecast, smaller ones far more.
        """
        return 1.0

    @property
    def ignored(self) -> float:
        """Residuals up to this size cost nothing, in the units of residuals."""
        return 0.0

    @abstractmethod
    def width(self, share: float, scale: float) -> FloatArray:
        """How far around each kink the loss is smoothed, (K,), so that a share of records is."""


@dataclass(frozen=True)
class Pinball(ResidualLoss):
    """max(q r, (q - 1) r) for each of several quantiles q.

    Attributes
    ----------
    quantiles : tuple of float
        In (0, 1), rising.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.regression_losses import Pinball
    >>> Pinball((0.25, 0.5)).slopes(np.array([[2.0, -2.0]]), np.array([0.1, 0.1]))
    array([[ 0.5, -0.5]])
    """

    quantiles: tuple[float, ...]

    @property
    def _levels(self) -> FloatArray:
        return np.array(self.quantiles)

    @property
    def count(self) -> int:
        return len(self.quantiles)

    @property
    def centre(self) -> FloatArray:
        return self._levels - 0.5

    @property
    def steepest(self) -> float:
        return math.sqrt(self.count) / 2

    @property
    def slope(self) -> FloatArray:
        return np.maximum(self._levels, 1 - self._levels)

    def values(self, residuals: FloatArray) -> FloatArray:
        return np.maximum(self._levels * residuals, (self._levels - 1) * residuals)

    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        return np.clip(residuals / (2 * width), -0.5, 0.5)

    def curvature(self, scale: float) -> FloatArray:
        return np.array([_NORMAL.pdf(_NORMAL.inv_cdf(q)) for q in self.quantiles]) / scale

    def excess(self, moved: FloatArray) -> FloatArray:
        # The curvature is the density at the quantile over the scale; the mean loss, times it.
        return np.asarray(np.square(moved) / 2)

    def width(self, share: float, scale: float) -> FloatArray:
        # A share of those on the smaller side, counted twice, is within the width.
        q = self._levels
        return share * np.minimum(q, 1 - q) / self.curvature(scale)


@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """max(0, abs(r) - epsilon): nothing within epsilon.

    Attributes
    ----------
    epsilon : float
        At least 0, in the units of residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.regression_losses import EpsilonInsensitive
    >>> residuals = np.array([[-2.0], [0.5], [3.0]])
    >>> EpsilonInsensitive(1.0).slopes(residuals, np.array([0.1])).ravel()
    array([-1.,  0.,  1.])
    """

    epsilon: float

    @property
    def count(self) -> int:
        return 1

    @property
    def centre(self) -> FloatArray:
        return np.zeros(1)

    @property
    def steepest(self) -> float:
        return 1.0

    @property
    def slope(self) -> FloatArray:
        return np.ones(1)

    def values(self, residuals: FloatArray) -> FloatArray:
        return np.maximum(np.abs(residuals) - self.epsilon, 0.0)

    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        upper = np.clip((residuals - self.epsilon) / (2 * width) + 0.5, 0.0, 1.0)
        lower = np.clip((-residuals - self.epsilon) / (2 * width) + 0.5, 0.0, 1.0)
        return upper - lower

    def curvature(self, scale: float) -> FloatArray:
        normal = 2 * _NORMAL.pdf(min(self.epsilon / scale, 1e3))
        return np.array([max(normal, _LEAST_CURVATURE)]) / scale

    @property
    def ignored(self) -> float:
        return self.epsilon

    def excess(self, moved: FloatArray) -> FloatArray:
        ignored = self.epsilon / self.usual_scale
        density, beyond = _NORMAL.pdf(ignored), _NORMAL.cdf(-ignored)
        return np.asarray(np.square(moved) * density / (2 * (density - ignored * beyond)))

    @property
    def usual_scale(self) -> float:
        return 2 * self.epsilon or 1.0

    def width(self, share: float, scale: float) -> FloatArray:
        return np.array([share * scale / (4 * _NORMAL.pdf(0.0))])


#: Least absolute deviations, up to a factor of 2.
MEDIAN = Pinball((0.5,))
#: Standard deviations of a normal variable in its median size: 0.674.
MEDIAN_SIZE = _NORMAL.inv_cdf(0.75)


def normal_quantile(q: float) -> float:
    """Standard deviations from the mean to a quantile of a normal variable; at most 8.

    Examples
    --------
    >>> from svm_models.regression_losses import normal_quantile
    >>> round(normal_quantile(0.9), 3)
    1.282
    """
    return math.copysign(min(abs(_NORMAL.inv_cdf(q)), 8.0), q - 0.5)
