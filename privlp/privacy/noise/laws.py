"""Laws of noise as functions of uniform real numbers: Gaussian, Laplace, Euclidean Laplace."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.privacy.noise.bits import Bits, UniformReals

FloatArray = npt.NDArray[np.float64]


class Law(ABC):
    """A law of noise of unit scale, as a function of uniform real numbers."""

    @abstractmethod
    def uniforms(self, size: int) -> int:
        """How many uniform numbers a vector of `size` entries is a function of."""

    @abstractmethod
    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        """The vector in double precision, and a bound on the error of each entry.

        The bound is ``inf`` where none is known.
        """

    @abstractmethod
    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        """Intervals that hold some entries."""


def minus_log(uniform: FloatArray) -> tuple[FloatArray, FloatArray]:
    """-ln U, and a bound on its error."""
    value = -np.log(uniform)
    error = 2.0**-48 * (1 + value) + 2.0**-62 / uniform
    return value, np.where(uniform < 2.0**-64, np.inf, error)


@dataclass(frozen=True)
class Gaussian(Law):
    """Standard normal entries, two at a time (Box and Muller 1958)."""

    def uniforms(self, size: int) -> int:
        return size + size % 2

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        numbers = uniform.near[: self.uniforms(size)]
        half_square, error = minus_log(numbers[::2])
        radius, angle = np.sqrt(2 * half_square), 2 * np.pi * numbers[1::2]
        error = (
            np.divide(2 * error, radius, out=np.full(radius.shape, np.inf), where=radius > 0)
            + 2.0**-46 * radius
        )
        pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return pairs.ravel()[:size], np.repeat(error, 2)[:size]

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:  # noqa: ARG002
        iv = bits.iv
        return [
            iv.sqrt(-2 * bits.log(bits[i - i % 2]))
            * (iv.sin if i % 2 else iv.cos)(2 * iv.pi * bits[i - i % 2 + 1])
            for i in entries
        ]


@dataclass(frozen=True)
class Laplace(Law):
    """Two-sided exponential entries: a size and a sign."""

    def uniforms(self, size: int) -> int:
        return 2 * size

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        value, error = minus_log(uniform.near[:size])
        return value * uniform.sign[size:], error

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        return [-bits.log(bits[i]) * bits.sign(size + i) for i in entries]


@dataclass(frozen=True)
class EuclideanLaplace(Law):
    """A vector of density proportional to exp(-||v||_2).

    It is a uniform direction times a Gamma(size) length.
    """

    def uniforms(self, size: int) -> int:
        return Gaussian().uniforms(size) + size

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        normal, normal_errors = Gaussian().near(uniform, size)
        steps, step_errors = minus_log(uniform.near[-size:])
        norm, length = math.sqrt(math.fsum(normal**2)), math.fsum(steps)
        if norm == 0 or length == 0:
            return normal, np.full(size, np.inf)
        ratio = length / norm
        relative = (
            float(np.linalg.norm(normal_errors)) / norm + math.fsum(step_errors) / length + 2.0**-48
        )
        return normal * ratio, (
            2 * ratio * (normal_errors + np.abs(normal) * relative)
            if relative < 0.1
            else np.full(size, np.inf)
        )

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        normal = Gaussian().within(range(size), size, bits)
        first = Gaussian().uniforms(size)
        length = -sum((bits.log(bits[first + i]) for i in range(size)), bits.iv.mpf(0))
        ratio = length / bits.iv.sqrt(sum((x**2 for x in normal), bits.iv.mpf(0)))
        return [normal[i] * ratio for i in entries]
