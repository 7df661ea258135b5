"""Gaussian noise: of one deviation, and of one deviation for each draw."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property

import numpy.typing as npt

from privlp.errors import InvalidParameterError
from privlp.privacy.mechanisms.additive import AdditiveNoise
from privlp.privacy.mechanisms.base import (
    LARGEST_SCALE,
    FloatArray,
    HasGenerator,
    l2_distance,
    require_positive,
    require_scale,
)
from privlp.privacy.noise.laws import Gaussian, Law
from privlp.privacy.prices import Price

# Weights of draws, in a range in which their mean is computed to full precision.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 2.0**-500, 2.0**500
# Deviations of weighted draws are larger by this factor, which covers the few units in the last
# place that they are rounded by.
_ENLARGED = 1 + 1e-12


@dataclass(frozen=True)
class GaussianMechanism(AdditiveNoise):
    """Add independent Gaussian noise of the given standard deviation to a number or vector.

    `sensitivity` bounds the L2 change between neighbours; the release is (sensitivity /
    sigma)-Gaussian-DP (Dong, Roth and Su 2022). The exact sum is rounded to a public grid. Proof:
    ``docs/proofs.md``, "Gaussian mechanism".

    Parameters
    ----------
    sensitivity, sigma : float
        In the units of the released value.
    """

    sensitivity: float
    sigma: float
    name = "Gaussian mechanism"

    def __post_init__(self) -> None:
        require_positive(self.sensitivity, "sensitivity")
        require_scale(self.sigma, "sigma")

    @property
    def _scale(self) -> float:
        return self.sigma

    @property
    def _law(self) -> Law:
        return Gaussian()

    @property
    def parameter(self) -> str:
        return f"sigma = {self.sigma:.6g}"

    @property
    def pure_eps(self) -> float:
        return math.inf

    @property
    def price(self) -> Price:
        return Price.gaussian(self.sensitivity / self.sigma) if self.sigma > 0 else Price.none()

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L2 norm of the change."""
        return l2_distance(one, two)


@dataclass(frozen=True)
class WeightedGaussianMechanism(GaussianMechanism):
    """Gaussian noise for several draws that are charged together; draws of more weight have less.

    Draw t of T has the standard deviation sigma_t = sigma sqrt(mean(weights) / weights[t]).
    `sensitivity` bounds the L2 change of each released value between neighbours, for whichever
    neighbour relation it was derived. Draw t has the squared Gaussian parameter (sensitivity /
    sigma_t)^2, which is proportional to its weight. All of them together have T (sensitivity /
    sigma)^2: as much as T draws with noise sigma, also where a value depends on earlier releases.
    So each draw is charged as one with noise sigma, but only all T of them at once: a charge for
    another number of draws is refused. Of all noise levels of this total price, these give the sum
    of weights[t] times noise t its least variance. Proof: ``docs/proofs.md``, "Weighted Gaussian
    noise".

    *Rounding.* A computed sigma_t has a relative error below 2**-50. It is enlarged by 1e-12 of
    itself, so that the draws together cost no more than is charged. Each draw is rounded like one
    of :class:`GaussianMechanism`.

    Parameters
    ----------
    sensitivity, sigma : float
        In the units of the released value. `sigma` is an average: sigma^-2 is the mean of
        sigma_t^-2.
    weights : tuple of float
        One for each draw, in order; between 2^-500 and 2^500. Only their ratios matter.

    Examples
    --------
    >>> from privlp import Budget, ConstraintPrivate
    >>> from privlp.privacy import Randomness, WeightedGaussianMechanism
    >>> mechanism = WeightedGaussianMechanism(sensitivity=1.0, sigma=10.0, weights=(1.0, 3.0))
    >>> [round(mechanism.of_draw(t, 2).sigma, 6) for t in range(2)]
    [14.142136, 8.164966]
    >>> whose = ConstraintPrivate(), Randomness(0)
    >>> release = Budget(1.0, 1e-6).charge(mechanism, 2, "two sums", *whose)
    >>> noisy = release(17.0), release(23.0)
    >>> Budget(1.0, 1e-6).charge(mechanism, 1, "one sum", *whose)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: This weighted Gaussian mechanism has a price for all of
    its 2 draws, not for 1: ...
    """

    weights: tuple[float, ...]
    name = "weighted Gaussian mechanism"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weights, tuple) or not self.weights:
            raise InvalidParameterError(
                "weights must be a tuple of at least one number.", parameter="weights"
            )
        in_range = min(self.weights) >= _LEAST_WEIGHT and max(self.weights) <= _LARGEST_WEIGHT
        if not in_range or math.isnan(self._mean):
            raise InvalidParameterError(
                "weights must be positive numbers between 2^-500 and 2^500.",
                parameter="weights",
            )
        least, largest = self._span
        if self.sigma > 0 and not (least >= sys.float_info.min and largest < LARGEST_SCALE):
            raise InvalidParameterError(
                "sigma must be 0, or give each draw a standard deviation between "
                f"{sys.float_info.min:.3g} and {LARGEST_SCALE:g}; got {self.sigma!r}.",
                parameter="sigma",
            )

    @cached_property
    def _mean(self) -> float:
        return math.fsum(self.weights) / len(self.weights)

    @cached_property
    def _span(self) -> tuple[float, float]:
        """The least and the largest standard deviation."""
        return self._deviation(max(self.weights)), self._deviation(min(self.weights))

    def _deviation(self, weight: float) -> float:
        return self.sigma * math.sqrt(self._mean / weight) * _ENLARGED

    @property
    def parameter(self) -> str:
        if self.sigma == 0:
            return super().parameter
        least, largest = self._span
        return f"sigma = {self.sigma:.6g} on average, {least:.3g} to {largest:.3g}"

    def of_draw(self, number: int, count: int) -> GaussianMechanism:
        if count != len(self.weights):
            raise InvalidParameterError(
                f"This {self.name} has a price for all of its {len(self.weights)} draws, not for "
                f"{count}: charge it with count={len(self.weights)}."
            )
        if not 0 <= number < count:
            raise InvalidParameterError(
                f"The {count} draws have the numbers 0 to {count - 1}, got {number}."
            )
        return GaussianMechanism(self.sensitivity, self._deviation(self.weights[number]))

    def release(self, value: npt.ArrayLike, randomness: HasGenerator) -> FloatArray:  # noqa: ARG002
        """Refuse: the noise of a draw depends on its number."""
        raise InvalidParameterError(
            f"A {self.name} is drawn from by number: use of_draw(number, count).release(...)."
        )
