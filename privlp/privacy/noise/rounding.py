"""Real-valued noise, drawn exactly and rounded together with what it hides.

A draw from a continuous law is a function N(U) of independent uniform real numbers U. Each U is a
stream of random bits, of which only as many are drawn as are looked at. For a vector q,

    R_h(q + scale * N(U))

is released: every entry is rounded to a multiple of a grid h. The grid is a power of two that
depends on the public scale alone. The *exact* sum is rounded, not a floating-point one. 64 bits of
each U and double precision locate the sum up to a proven error. Where that leaves two multiples of
h to choose from, the sum is enclosed anew by interval arithmetic, with ever more bits until one
multiple is left. This is called interval refining (Haney, Desfontaines, Hartman, Shrestha and Hay
2022).

So the release is a post-processing of the ideal mechanism, and costs what that costs. Naive noise
gives its input away by the low bits of a sum of doubles (Mironov 2012); here such a sum never
exists. Theorem, proof and error bounds: ``docs/proofs.md``, "Noise on a finite computer".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.errors import InvalidProblemError
from privlp.privacy.noise.laws import Law, UniformReals

#: The grid is finer than the scale by this power of two.
_BITS = 20
_FINEST_GRID = 2.0**-1000
_LARGEST = float(np.finfo(float).max)
#: So few entries take less time one by one.
_FEW = 24


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
    sensitivity covers it, so that no other number may take its place. `scale` is at most 1e298 in
    size; a negative one subtracts, and 0 returns `value`.
    """
    exact = _clipped(value)
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
        return np.clip(base + steps * h, -_LARGEST, _LARGEST).reshape(exact.shape)


def _clipped(value: npt.ArrayLike) -> FloatArray:
    """A copy without infinities; NaN is refused."""
    exact = np.array(value, dtype=float)
    if not np.abs(exact).max(initial=0.0) <= _LARGEST:
        exact = np.clip(exact, -_LARGEST, _LARGEST)
        if np.isnan(exact).any():
            raise InvalidProblemError(
                "What is to be released is not a number (NaN). Nothing was drawn. The rows or"
                " records are too large or too small for double precision: measure them in other"
                " units."
            )
    return exact


def _one_by_one(
    values: list[float], noise: list[tuple[float, float]], scale: float, h: float, *, down: bool
) -> list[float] | None:
    """What :func:`rounded_sum` returns, without arrays; None where it takes further bits."""
    rounded, unit = [], scale / h
    for value, (near, error) in zip(values, noise, strict=True):
        part, whole = math.modf(value / h)
        total = part + near * unit + (0.0 if down else 0.5)
        away = error * abs(unit) + 2.0**-48 * (1 + abs(total))
        if not (away < math.inf and math.floor(total - away) == math.floor(total + away)):
            return None
        base = whole * h if math.isfinite(whole) else value
        rounded.append(min(max(base + math.floor(total) * h, -_LARGEST), _LARGEST))
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
