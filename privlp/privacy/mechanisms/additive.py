"""What every mechanism provides, and those that add noise, rounded to a public grid."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, require
from privlp.errors import InvalidParameterError
from privlp.privacy.noise import EuclideanLaplace, Gaussian, Laplace, Law, grid, rounded_sum
from privlp.privacy.prices import Price

LARGEST_SCALE = 1e298
_LEAST_DELTA = 1e-300
#: The chance that secret or one-sided noise is larger than the bound that a proof puts on it: e^-64
#: at most.
CHANCE = 2.0**-92


class HasGenerator(Protocol):
    """What a mechanism draws from: a :class:`~privlp.privacy.Randomness`."""

    @property
    def generator(self) -> np.random.Generator:
        """The generator of its random numbers."""


class Mechanism(ABC):
    """A randomised release and its price."""

    name: str
    sensitivity: float
    #: What one draw takes of delta for itself, being (pure_eps, own_delta)-private and no better.
    own_delta: float = 0.0
    #: With this probability a bound fails that the price rests on; see :class:`Price`.
    chance: float = 0.0

    @property
    @abstractmethod
    def parameter(self) -> str:
        """The noise parameter in words, for the ledger."""

    @property
    @abstractmethod
    def pure_eps(self) -> float:
        """The eps at which one draw is (eps, own_delta)-private; ``inf`` if there is none."""

    @property
    @abstractmethod
    def arithmetic(self) -> str:
        """What finite-precision arithmetic does to the guarantee, in words."""

    @property
    def price(self) -> Price:
        """Price of one draw, for the ledger."""
        eps = self.pure_eps
        return Price.approximate(eps, self.own_delta) if math.isfinite(eps) else Price.none()

    @abstractmethod
    def release(self, value: Any, randomness: HasGenerator) -> Any:
        """Draw the noisy version of `value`. Call it through a charged draw, never directly."""

    def without_noise(self, value: Any) -> Any:  # noqa: ARG002
        """What a release would be without noise, for audits; None if no such value is defined."""
        return None

    def of_draw(self, number: int, count: int) -> Mechanism:  # noqa: ARG002 (all draws are alike)
        """The mechanism of draw `number` of `count`, from 0; refused where the price is not so."""
        return self

    @abstractmethod
    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """How far two values are apart, in the norm that `sensitivity` bounds."""


def l1_distance(one: npt.ArrayLike, two: npt.ArrayLike) -> float:
    """The L1 norm of a change."""
    return float(np.abs(np.subtract(one, two)).sum())


def l2_distance(one: npt.ArrayLike, two: npt.ArrayLike) -> float:
    """The L2 norm of a change."""
    return float(np.linalg.norm(np.subtract(one, two)))


def require_positive(value: float, name: str) -> None:
    """Refuse a number that is not positive and finite."""
    require(0 < value < math.inf, f"{name} must be positive and finite, got {value!r}.", name)


def require_delta(delta: float) -> None:
    """Refuse a delta at which no noise of bounded support is private."""
    if not delta >= _LEAST_DELTA:
        raise InvalidParameterError(
            f"delta must be positive, and {_LEAST_DELTA:g} at least: noise of bounded support"
            " cannot be private without it.",
            parameter="delta",
        )


_ROUNDED = (
    "real-valued noise, exactly rounded to a public grid: the low bits of a release tell nothing"
)


class AdditiveNoise(Mechanism):
    """Add noise to a number or vector; the exact sum is rounded to a public grid."""

    arithmetic = _ROUNDED
    #: The field with the scale of the noise, in the units of the released value; 0 for no noise.
    scale_is = "scale"
    norm: Literal["L1", "L2", "Linf"] = "L1"  #: `sensitivity` bounds a change in this norm.

    def __post_init__(self) -> None:
        require_positive(self.sensitivity, "sensitivity")
        if not 0 <= self._scale < LARGEST_SCALE:
            raise InvalidParameterError(
                f"{self.scale_is} must be non-negative and below {LARGEST_SCALE:g}, got"
                f" {self._scale!r}.",
                parameter=self.scale_is,
            )

    @property
    @abstractmethod
    def _law(self) -> Law:
        """The law of the noise, at scale 1."""

    @property
    def _scale(self) -> float:
        return getattr(self, self.scale_is)

    @property
    def parameter(self) -> str:
        return f"{self.scale_is} = {self._scale:.6g}"

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        if self.norm == "Linf":
            return float(np.abs(np.subtract(one, two)).max(initial=0.0))
        return l1_distance(one, two) if self.norm == "L1" else l2_distance(one, two)

    def without_noise(self, value: Any) -> Any:
        return value

    def release(self, value: npt.ArrayLike, randomness: HasGenerator) -> FloatArray:
        return rounded_sum(value, self._scale, self._law, randomness.generator)


class OneSidedNoise(AdditiveNoise):
    """Subtract noise in [0, 2 width], rounded down: a release is never above the true value."""

    width: float

    @property
    def most(self) -> float:
        """Largest decrease of an entry: twice the width, and the rounding down."""
        return 2 * self.width + grid(self._scale) if self._scale > 0 else 0.0

    @property
    def parameter(self) -> str:
        return f"{super().parameter}, width = {self.width:.6g}"

    def release(self, value: npt.ArrayLike, randomness: HasGenerator) -> FloatArray:
        if self._scale == 0:
            return np.array(value, dtype=float)
        return rounded_sum(value, -self._scale, self._law, randomness.generator, down=True)

    def _require_width(self, most: float, most_in_words: str) -> None:
        """Refuse a width beyond `most` scales."""
        if not 0 <= self.width < math.inf or (self.width == 0) != (self._scale == 0):
            must = f"be positive and finite, or 0 where {self.scale_is} is"
        elif self.width > most * self._scale:
            must = f"be at most {most_in_words} times the {self.scale_is} of {self._scale:g}"
        else:
            return
        raise InvalidParameterError(f"width must {must}, got {self.width!r}.", parameter="width")


@dataclass(frozen=True)
class ExponentialTails(AdditiveNoise):
    """Noise whose density changes by at most exp(sensitivity / scale) over a sensitivity."""

    sensitivity: float
    scale: float

    @property
    def pure_eps(self) -> float:
        return self.sensitivity / self.scale if self.scale > 0 else math.inf


# Deviations of weighted draws are larger by this factor, which covers the few units in the last
# place that they are rounded by.
_ENLARGED = 1 + 1e-12


@dataclass(frozen=True)
class GaussianMechanism(AdditiveNoise):
    """Add independent Gaussian noise of the given standard deviation to a number or vector.

    `sensitivity` bounds the L2 change between neighbours; the release is (sensitivity /
    sigma)-Gaussian-DP (Dong, Roth and Su 2022). The exact sum is rounded to a public grid. Proof:
    ``docs/proofs.md``, "Gaussian mechanism".
    """

    sensitivity: float
    sigma: float
    name = "Gaussian mechanism"
    scale_is, norm = "sigma", "L2"
    _law = Gaussian()

    @property
    def pure_eps(self) -> float:
        return math.inf

    @property
    def price(self) -> Price:
        return Price.gaussian(self.sensitivity / self.sigma) if self.sigma > 0 else Price.none()


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

    `sigma` is an average: sigma^-2 is the mean of sigma_t^-2. Only ratios of weights matter, which
    lie between 2^-500 and 2^500.

    *Rounding.* A computed sigma_t has a relative error below 2**-50. It is enlarged by 1e-12 of
    itself, so that the draws together cost no more than is charged. Each draw is rounded like one
    of :class:`GaussianMechanism`.
    """

    weights: tuple[float, ...]
    name = "weighted Gaussian mechanism"

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = "weights must be a tuple of at least one number."
        require(isinstance(self.weights, tuple) and self.weights, wrong, "weights")
        in_range = min(self.weights) >= 2.0**-500 and max(self.weights) <= 2.0**500
        wrong = "weights must be positive numbers between 2^-500 and 2^500."
        require(in_range and not math.isnan(self._mean), wrong, "weights")
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


@dataclass(frozen=True)
class LaplaceMechanism(ExponentialTails):
    """Add independent Laplace noise of the given scale to a number or vector.

    `sensitivity` bounds the L1 change between neighbours; the release is (sensitivity / scale)-DP
    (Dwork, McSherry, Nissim and Smith 2006). The exact sum is rounded to a public grid, so that the
    low bits of a release tell nothing (:mod:`privlp.privacy.noise`). Proof:
    ``docs/proofs.md``, "Laplace mechanism".
    """

    name = "Laplace mechanism"
    _law = Laplace()

    @classmethod
    def of_eps(cls, sensitivity: float, eps: float) -> LaplaceMechanism:
        """The mechanism of the least scale, to its last bit, that spends at most eps."""
        mechanism = cls(sensitivity, sensitivity / eps)
        while mechanism.pure_eps > eps:
            mechanism = cls(sensitivity, math.nextafter(mechanism.scale, math.inf))
        return mechanism

    @property
    def price(self) -> Price:
        return Price.laplace(self.pure_eps) if self.scale > 0 else Price.none()


@dataclass(frozen=True)
class LaplaceCount(LaplaceMechanism):
    """A noisy count that bounds the true one, but for a chance: it is 64 scales too small at most.

    `sensitivity` and `scale` as for :class:`LaplaceMechanism`. What rests on the bound fails with a
    probability of half of e^-64, which is charged as `chance`. Proof: ``docs/proofs.md``, "Records
    that are added or removed".
    """

    chance = CHANCE


@dataclass(frozen=True)
class EuclideanLaplaceMechanism(ExponentialTails):
    """Add noise of density proportional to exp(-||v||_2 / scale) to a vector.

    `sensitivity` bounds the L2 change between neighbours; densities at any output differ by a
    factor of at most exp(sensitivity / scale), so the release is (sensitivity / scale)-DP
    (Chaudhuri, Monteleoni and Sarwate 2011). The noise is a uniform direction times a Gamma(p,
    scale) length; it is *not* made of independent Laplace draws. The exact sum is rounded to a
    public grid. Proof: ``docs/proofs.md``, "Euclidean Laplace mechanism".
    """

    name = "Euclidean Laplace mechanism"
    norm = "L2"
    _law = EuclideanLaplace()
