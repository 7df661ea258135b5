"""Laws of noise of bounded support, shifted so that no entry is negative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfc, ndtri

from privlp.privacy.noise.bits import Bits, UniformReals
from privlp.privacy.noise.laws import FloatArray, Law, minus_log


@dataclass(frozen=True)
class OneSidedTruncatedLaplace(Law):
    """width + X for a Laplace X of unit scale given that abs(X) <= width.

    Entries are in [0, 2 width].
    """

    width: float

    def uniforms(self, size: int) -> int:
        return 2 * size

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        value, error = minus_log(
            math.exp(-self.width) + uniform.near[:size] * -math.expm1(-self.width)
        )
        return (
            self.width + np.minimum(value, self.width) * uniform.sign[size:],
            error + 2.0**-48 * self.width,
        )

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        least = bits.exp(-bits.iv.mpf(self.width))
        return [
            self.width - bits.log(least + bits[i] * (1 - least)) * bits.sign(size + i)
            for i in entries
        ]


@dataclass(frozen=True)
class OneSidedTruncatedGaussian(Law):
    """width + X for a standard normal X given that abs(X) <= width.

    Entries are in [0, 2 width]: a sign, and a size x that is exceeded with probability U. That is,
    P(abs(X) > x) = c + U (1 - c) with c = P(abs(X) > width).
    """

    width: float

    def uniforms(self, size: int) -> int:
        return 2 * size

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        least = float(erfc(self.width / math.sqrt(2)))
        beyond = least + uniform.near[:size] * (1 - least)
        value = np.clip(-ndtri(beyond / 2), 0.0, self.width)
        reached = erfc(value / math.sqrt(2))
        # Distance of the mass beyond `value` from the wanted one: as computed, and by rounding.
        gap = np.abs(reached - beyond) + 2.0**-46 * (beyond + reached) + 2.0**-62
        gap += 2.0**-50 * (value**2 * reached + self.width**2 * least)
        with np.errstate(over="ignore"):
            # The gap over the density. Within twice this step the density falls by less than half.
            step = gap * np.exp(value**2 / 2) / math.sqrt(2 / math.pi)
            error = np.where((value + step) * step <= 0.3, 2 * step, np.inf)
        return self.width + value * uniform.sign[size:], error + 2.0**-48 * (1 + self.width)

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        inside = bits.mass(bits.iv.mpf(self.width))
        return [
            self.width + self._size(bits, inside * (1 - bits[i])) * bits.sign(size + i)
            for i in entries
        ]

    def _size(self, bits: Bits, wanted: Any) -> Any:
        """The interval of sizes x that are not exceeded with a probability in `wanted`.

        Newton's method between the ends of a bracket finds a point. Then the mass on either side of
        the point proves how far from it x can be. The ends 0 and width need no proof.
        """
        iv, middle = bits.iv, wanted.mid
        least, most = low, high = iv.mpf(0), iv.mpf(self.width)
        x = iv.mpf(min(self.width, -float(ndtri(max(float((1 - middle).mid) / 2, 1e-300)))))
        while True:
            mass, density = bits.mass(x).mid, iv.sqrt(2 / iv.pi) * bits.exp(-x * x / 2)
            blur = wanted.delta / density
            low, high = (low, x) if mass > middle else (x, high)
            newton = (x + (middle - mass) / density).mid
            step = abs(newton - x)
            x = newton if low <= newton <= high else ((low + high) / 2).mid
            if x == newton and step.b <= blur.b:
                break
            if high.b - low.a <= most * iv.mpf(2) ** (8 - iv.prec):
                break  # as near as this precision can come
        away = (2 * blur + most * iv.mpf(2) ** (16 - iv.prec)).b
        while True:
            down, up = (x - away).a, (x + away).b
            below = least if down <= least else down if bits.mass(down).b <= wanted.a else None
            above = most if up >= most else up if bits.mass(up).a >= wanted.b else None
            if below is not None and above is not None:
                return iv.mpf([below.a, above.b])
            away = away * 2
