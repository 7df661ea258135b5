"""Uniform real numbers as streams of random bits: as many are drawn as are looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

import numpy as np

from privlp.checks import FloatArray

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
