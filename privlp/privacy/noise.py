"""Real-valued noise, drawn exactly and rounded together with what it hides.

A draw from a continuous law is a function N(U) of independent uniform real numbers U. Each U is a
stream of random bits, of which only as many are drawn as are looked at. For a vector q,

    R_h(q + scale * N(U))

is released: every entry is rounded to a multiple of a grid h, a power of two that depends on the
public scale alone. 64 bits of each U and double precision locate the exact sum up to a proven
error. Where that leaves two multiples of h to choose from, the sum is enclosed anew by interval
arithmetic, with ever more bits until one multiple is left: interval refining (Haney, Desfontaines,
Hartman, Shrestha and Hay 2022).

So the release is a post-processing of the ideal mechanism, and costs what that costs. Naive noise
gives its input away by the low bits of a sum of doubles (Mironov 2012); here such a sum never
exists. Theorem, proof and error bounds: ``docs/proofs.md``, "Noise on a finite computer".
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import copysign, cos, floor, inf, log, modf, pi, sin, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erfc, ndtri

from privlp.checks import LARGEST_DOUBLE, FloatArray, without_infinities

# Generators of whose random bits 64 make a word: NumPy's default, and ChaCha20.
_OF_64_BITS = "PCG64", "ChaCha"


class UniformReals:
    """Independent uniform real numbers in (0, 1); as many bits are drawn as are asked for."""

    def __init__(self, size: int, generator: np.random.Generator) -> None:
        source: Any = getattr(generator, "bit_generator", None)
        self._generator = generator
        if type(source).__name__ in _OF_64_BITS:  # the same words, in a tenth of the time
            self._words = np.asarray(source.random_raw(size))
        else:
            self._words = generator.integers(0, 2**64, size=size, dtype=np.uint64)
        self._further: dict[int, list[int]] = {}

    @cached_property
    def near(self) -> FloatArray:
        """The numbers to a relative error of 2**-52 + 2**-64 / number."""
        return (self._words.astype(float) + 0.5) * 2.0**-64

    def one_by_one(self) -> list[float]:
        """The same, in a list."""
        return [(float(word) + 0.5) * 2.0**-64 for word in self._words.tolist()]

    @cached_property
    def sign(self) -> FloatArray:
        """1 where the first bit is set, else -1."""
        return np.where(self._words >= 2**63, 1.0, -1.0)

    def within(self, index: int, words: int, iv: Any) -> Any:
        """The interval in which the first `words` times 64 bits place a number."""
        bits, further = int(self._words[index]), self._further.setdefault(index, [])
        while len(further) < words - 1:
            further.append(int(self._generator.integers(0, 2**64, dtype=np.uint64)))
        for word in further[: words - 1]:
            bits = bits << 64 | word
        return iv.mpf([bits, bits + 1]) / 2 ** (64 * words)

    def refinements(self) -> Iterator[Bits]:
        """The first bits of the numbers, twice as many each time."""
        return (Bits(self, 2**k) for k in itertools.count(1))


class Bits:
    """The first bits of uniform real numbers, and interval arithmetic of a precision to match."""

    def __init__(self, uniform: UniformReals, words: int) -> None:
        self.iv = _interval_arithmetic(64 * words + 64)
        self._slack = self.iv.mpf([-1, 1]) / 2 ** (self.iv.prec - 8) + 1
        self._uniform, self._words = uniform, words

    def __getitem__(self, index: int) -> Any:
        return self._uniform.within(index, self._words, self.iv)

    def sign(self, index: int) -> int:
        return int(self._uniform.sign[index])

    def log(self, x: Any) -> Any:
        """An interval that holds ln x."""
        # mpmath rounds an approximation, so that its own interval may be a little too small.
        return self.iv.log(x) * self._slack

    def exp(self, x: Any) -> Any:
        """An interval that holds e^x."""
        return self.iv.exp(x) * self._slack

    def mass(self, x: Any) -> Any:
        """An interval that holds P(abs(X) <= x) for a standard normal X and a number x >= 0.

        It is sqrt(2/pi) e^(-x^2/2) (x + x^3/3 + x^5/(3·5) + ...). All terms are positive. Once each
        is less than half of the one before, the rest is less than the last one.
        """
        from mpmath.libmp import round_ceiling, round_floor, to_int  # noqa: PLC0415 (as above)

        iv, n = self.iv, 1
        one = 2**iv.prec  # terms are enclosed in whole multiples of 1/one
        low, high = (x * one)._mpi_
        term = total = to_int(low, round_floor), to_int(high, round_ceiling)
        square = term[0] ** 2 // one, term[1] ** 2 // one + 1
        while term[1] > 1 or 2 * square[1] > (n + 2) * one:
            n += 2
            term = term[0] * square[0] // (n * one), term[1] * square[1] // (n * one) + 1
            total = total[0] + term[0], total[1] + term[1]
        series = iv.mpf([total[0], total[1] + term[1]]) / one
        return iv.sqrt(2 / iv.pi) * self.exp(-x * x / 2) * series

    def floors(self, interval: Any) -> tuple[int, int] | None:
        """The largest integers below both ends of an interval; None where an end is infinite."""
        from mpmath.libmp import finf, fninf, round_floor, to_int  # noqa: PLC0415 (as above)

        low, high = interval._mpi_
        if low == fninf or high == finf:
            return None
        return to_int(low, round_floor), to_int(high, round_floor)


@cache
def _interval_arithmetic(precision: int) -> Any:
    """Interval arithmetic of a precision, in bits, which nobody changes: threads may share it."""
    from mpmath.ctx_iv import MPIntervalContext  # noqa: PLC0415 (rarely needed; slow to load)

    iv = MPIntervalContext()
    iv.prec = precision
    return iv


class Law(ABC):
    """A law of noise of unit scale, as a function of uniform real numbers."""

    def uniforms(self, size: int) -> int:
        """How many uniform numbers a vector of `size` entries is a function of: sizes, signs."""
        return 2 * size

    @abstractmethod
    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        """The vector in double precision, and a bound on the error of each entry, or ``inf``."""

    def one_by_one(self, uniform: UniformReals, size: int) -> list[tuple[float, float]]:
        """The same entry by entry, each with its bound."""
        noise, error = self.near(uniform, size)
        return list(zip(noise.tolist(), error.tolist(), strict=True))

    @abstractmethod
    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        """Intervals that hold some entries."""


def minus_log(uniform: FloatArray) -> tuple[FloatArray, FloatArray]:
    """-ln U, and a bound on its error."""
    value = 0.0 - np.log(uniform)  # 0, not -0, where U is 1
    error = 2.0**-48 * (1 + value) + 2.0**-62 / uniform
    return value, np.where(uniform < 2.0**-64, np.inf, error)


class Gaussian(Law):
    """Standard normal entries, two at a time (Box and Muller 1958)."""

    def uniforms(self, size: int) -> int:
        return size + size % 2

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        numbers = uniform.near[: self.uniforms(size)]
        half_square, error = minus_log(numbers[::2])
        radius, angle = np.sqrt(2 * half_square), 2 * np.pi * numbers[1::2]
        with np.errstate(divide="ignore"):  # a radius of 0 has an infinite error
            error = 2 * error / radius + 2.0**-46 * radius
        pairs = np.empty((len(radius), 2))
        np.multiply(radius, np.cos(angle), out=pairs[:, 0])
        np.multiply(radius, np.sin(angle), out=pairs[:, 1])
        return pairs.ravel()[:size], error.repeat(2)[:size]

    def one_by_one(self, uniform: UniformReals, size: int) -> list[tuple[float, float]]:
        numbers, found = iter(uniform.one_by_one()), []
        for u, turn in zip(numbers, numbers, strict=True):
            half_square, angle, error = 0.0 - log(u), 2 * pi * turn, inf
            radius = sqrt(2 * half_square)
            if radius > 0 and u >= 2.0**-64:
                error = 2 * (2.0**-48 * (1 + half_square) + 2.0**-62 / u) / radius
                error += 2.0**-46 * radius
            found.append((radius * cos(angle), error))
            found.append((radius * sin(angle), error))
        return found[:size]

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:  # noqa: ARG002
        iv = bits.iv
        return [
            iv.sqrt(-2 * bits.log(bits[i - i % 2]))
            * (iv.sin if i % 2 else iv.cos)(2 * iv.pi * bits[i - i % 2 + 1])
            for i in entries
        ]


class Laplace(Law):
    """Two-sided exponential entries: a size and a sign."""

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        value, error = minus_log(uniform.near[:size])
        return value * uniform.sign[size:], error

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        return [-bits.log(bits[i]) * bits.sign(size + i) for i in entries]


class EuclideanLaplace(Law):
    """A vector of density proportional to exp(-||v||_2): a uniform direction and a Gamma length."""

    def uniforms(self, size: int) -> int:
        return Gaussian().uniforms(size) + size

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        normal, normal_errors = Gaussian().near(uniform, size)
        steps, step_errors = minus_log(uniform.near[-size:])
        norm, length = math.sqrt(math.fsum(normal**2)), math.fsum(steps)
        if norm == 0 or length == 0:
            return normal, np.full(size, np.inf)
        ratio = length / norm
        relative = float(np.linalg.norm(normal_errors)) / norm
        relative += math.fsum(step_errors) / length + 2.0**-48
        if not relative < 0.1:
            return normal * ratio, np.full(size, np.inf)
        return normal * ratio, 2 * ratio * (normal_errors + np.abs(normal) * relative)

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        normal = Gaussian().within(range(size), size, bits)
        first = Gaussian().uniforms(size)
        length = -sum((bits.log(bits[first + i]) for i in range(size)), bits.iv.mpf(0))
        ratio = length / bits.iv.sqrt(sum((x**2 for x in normal), bits.iv.mpf(0)))
        return [normal[i] * ratio for i in entries]


@dataclass(frozen=True)
class OneSidedTruncatedLaplace(Law):
    """width + X for a Laplace X of unit scale given that abs(X) <= width."""

    width: float

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        numbers = math.exp(-self.width) + uniform.near[:size] * -math.expm1(-self.width)
        value, error = minus_log(numbers)
        noise = self.width + np.minimum(value, self.width) * uniform.sign[size:]
        return noise, error + 2.0**-48 * self.width

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

        Newton's method within a bracket finds a point; the mass on either side of it proves how far
        from it x can be. The ends 0 and width need no proof.
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


@dataclass(frozen=True)
class OneSidedSupNorm(Law):
    """width + X for a vector X of density proportional to exp(-max|X_i|), cut to max|X_i| <= width.

    X is a Gamma length, cut at the width, times a point that is uniform in the cube [-1, 1]^m.
    """

    width: float

    def uniforms(self, size: int) -> int:
        return 2 * size + 1

    def near(self, uniform: UniformReals, size: int) -> tuple[FloatArray, FloatArray]:
        steps, errors = minus_log(uniform.near[size:])
        length = min(math.fsum(steps), self.width)
        noise = self.width + length * (2 * uniform.near[:size] - 1)
        return noise, np.full(size, math.fsum(errors) + 2.0**-48 * self.width)

    def within(self, entries: Sequence[int], size: int, bits: Bits) -> list[Any]:
        iv = bits.iv
        length = -sum((bits.log(bits[size + i]) for i in range(size + 1)), iv.mpf(0))
        width = iv.mpf(self.width)
        cut = iv.mpf([min(length.a, width.a), min(length.b, width.b)])
        return [self.width + cut * (2 * bits[i] - 1) for i in entries]


#: The grid is finer than the scale by this power of two.
_BITS = 20
_FINEST_GRID = 2.0**-1000
_FEW = 24  #: So few entries take less time one by one.


def grid(scale: float) -> float:
    """The power of two of which releases with noise of this scale are multiples."""
    return max(math.ldexp(1.0, math.frexp(scale)[1] - 1 - _BITS), _FINEST_GRID)


def rounded_sum(
    value: npt.ArrayLike,
    scale: float,
    law: Law,
    generator: np.random.Generator,
    *,
    down: bool = False,
) -> FloatArray:
    """`value` plus `scale` times noise of `law`: the exact sum, rounded to the :func:`grid`.

    It is rounded to the nearest multiple, or `down`; to 53 bits where that is coarser. Infinities
    count as the largest doubles, which brings no two values farther apart. NaN is refused: no
    sensitivity covers it. A negative `scale` subtracts, and 0 returns `value`; 1e298 is its limit.
    """
    exact = without_infinities(value)
    if scale == 0 or exact.size == 0:
        return exact
    flat, size, h = exact.ravel(), exact.size, grid(abs(scale))
    uniform = UniformReals(law.uniforms(size), generator)
    if size <= _FEW:
        few = _one_by_one(flat.tolist(), law.one_by_one(uniform, size), scale, h, down=down)
        if few is not None:
            return np.array(few).reshape(exact.shape)
    noise, error = law.near(uniform, size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        part, whole = np.modf(flat / h)
        base = np.where(np.isfinite(whole), whole * h, flat)
        total = part + noise * (scale / h) + (0.0 if down else 0.5)
        error = error * abs(scale / h) + 2.0**-48 * (1 + np.abs(total))
        steps = np.floor(total)
        unsure = ~((total - error >= steps) & (total + error < steps + 1))
    for bits in uniform.refinements() if unsure.any() else ():
        entries = np.flatnonzero(unsure).tolist()
        for i, noise_within in zip(entries, law.within(entries, size, bits), strict=True):
            rest = bits.iv.mpf(flat[i]) - bits.iv.mpf(base[i])
            sum_within = (rest + scale * noise_within) / h + (0 if down else 0.5)
            floors = bits.floors(sum_within)
            if floors is not None:
                steps[i], last = floors
                unsure[i] = steps[i] != last
        if not unsure.any():
            break
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(base + steps * h, -LARGEST_DOUBLE, LARGEST_DOUBLE).reshape(exact.shape)


def _one_by_one(
    values: list[float], noise: list[tuple[float, float]], scale: float, h: float, *, down: bool
) -> list[float] | None:
    """What :func:`rounded_sum` returns, without arrays; None where it takes further bits."""
    rounded, unit, half = [], scale / h, 0.0 if down else 0.5
    size_of_unit = abs(unit)
    for value, (near, error) in zip(values, noise, strict=True):
        part, whole = modf(value / h)
        total = part + near * unit + half
        away = error * size_of_unit + 2.0**-48 * (1 + abs(total))
        if not (away < inf and (steps := floor(total - away)) == floor(total + away)):
            return None
        found = (whole * h if abs(whole) < inf else value) + steps * h
        rounded.append(found if abs(found) <= LARGEST_DOUBLE else copysign(LARGEST_DOUBLE, found))
    return rounded


def nearly(scale: float, law: Law, size: int, generator: np.random.Generator) -> FloatArray:
    """`scale` times noise of `law`, in every entry to ``sqrt(size) * 2**-40`` of the scale."""
    if scale == 0:  # what is returned is not to be released
        return np.zeros(size)
    uniform, enough = UniformReals(law.uniforms(size), generator), 2.0**-41 * math.sqrt(size)
    noise, error = law.near(uniform, size)
    for bits in uniform.refinements() if (error > enough).any() else ():
        entries = np.flatnonzero(error > enough).tolist()
        for i, within in zip(entries, law.within(entries, size, bits), strict=True):
            noise[i], error[i] = float(within.mid), float(within.delta)
        if (error <= enough).all():
            break
    return scale * noise
