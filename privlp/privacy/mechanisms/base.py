"""What every mechanism provides: a release and its price; checks that several of them share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError
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
    if not 0 < value < math.inf:
        raise InvalidParameterError(
            f"{name} must be positive and finite, got {value!r}.", parameter=name
        )


def require_delta(delta: float) -> None:
    """Refuse a delta at which no noise of bounded support is private."""
    if not delta >= _LEAST_DELTA:
        raise InvalidParameterError(
            f"delta must be positive, and {_LEAST_DELTA:g} at least: noise of bounded support"
            " cannot be private without it.",
            parameter="delta",
        )
