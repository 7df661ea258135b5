"""Mechanisms that release an exact value plus noise, rounded to a public grid."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError
from privlp.privacy.mechanisms.base import (
    FloatArray,
    HasGenerator,
    Mechanism,
    l1_distance,
    require_positive,
    require_scale,
)
from privlp.privacy.noise.laws import Law
from privlp.privacy.noise.rounding import grid, rounded_sum

_ROUNDED = (
    "real-valued noise, exactly rounded to a public grid: the low bits of a release tell nothing"
)


class AdditiveNoise(Mechanism):
    """Add noise to a number or vector; the exact sum is rounded to a public grid."""

    arithmetic = _ROUNDED

    @property
    @abstractmethod
    def _law(self) -> Law:
        """The law of the noise, at scale 1."""

    @property
    @abstractmethod
    def _scale(self) -> float:
        """The scale of the noise, in the units of the released value; 0 for no noise."""

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

    def release(self, value: npt.ArrayLike, randomness: HasGenerator) -> FloatArray:
        if self._scale == 0:
            return np.array(value, dtype=float)
        return rounded_sum(value, -self._scale, self._law, randomness.generator, down=True)

    def _require_width(self, name: str, most: float, most_in_words: str) -> None:
        """Refuse a width beyond `most` scales; `name` is that of the scale, for messages."""
        if not 0 <= self.width < math.inf or (self.width == 0) != (self._scale == 0):
            raise InvalidParameterError(
                f"width must be positive and finite, or 0 where {name} is, got {self.width!r}.",
                parameter="width",
            )
        if self.width > most * self._scale:
            raise InvalidParameterError(
                f"width must be at most {most_in_words} times the {name} of {self._scale:g}, got"
                f" {self.width!r}.",
                parameter="width",
            )


@dataclass(frozen=True)
class ExponentialTails(AdditiveNoise):
    """Noise whose density changes by a factor of at most exp(sensitivity / scale).

    That is, between two positions that are `sensitivity` apart.
    """

    sensitivity: float
    scale: float

    def __post_init__(self) -> None:
        require_positive(self.sensitivity, "sensitivity")
        require_scale(self.scale, "scale")

    @property
    def _scale(self) -> float:
        return self.scale

    @property
    def parameter(self) -> str:
        return f"scale = {self.scale:.6g}"

    @property
    def pure_eps(self) -> float:
        return self.sensitivity / self.scale if self.scale > 0 else math.inf

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L1 norm of the change."""
        return l1_distance(one, two)
