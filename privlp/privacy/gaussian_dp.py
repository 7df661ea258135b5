"""Gaussian differential privacy: the exact curve, its inverses, and truncated Gaussian noise.

A mechanism is mu-GDP if telling two neighbours apart by its output is at least as hard as telling
N(0, 1) from N(mu, 1) by one draw (Dong, Roth and Su 2022). Then it is (eps, delta)-DP for every
eps,

    delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2),

and adaptive compositions are sqrt(mu_1^2 + mu_2^2 + ...)-GDP. Every number here is computed in
logarithms and rounded to the safe side. Proofs: ``docs/proofs.md``, "Gaussian differential privacy"
and "Truncated Gaussian mechanism".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from scipy.special import erf, erfcx, ndtri_exp

#: SciPy's erf and erfcx are taken to be exact but for a quarter of this, relatively; they promise
#: about 2^-50.
_ERROR = 2.0**-44
_SQRT2 = math.sqrt(2)
_LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)


def mills_ratio(x: float) -> float:
    """Mass of a standard normal law beyond x over its density there."""
    return _ROOT_HALF_PI * float(erfcx(x / _SQRT2))


def log_density(x: float) -> float:
    """Logarithm of the density of the standard normal law."""
    return -0.5 * x * x - _LOG_ROOT_TAU


def log_delta_of(eps: float, mu: float) -> float:
    """Logarithm of the least delta at which every mu-GDP mechanism is (eps, delta)-DP, rounded up.

    With x = eps/mu - mu/2 and y = x + mu, e^eps phi(y) = phi(x), so that delta = phi(x) (M(x) -
    M(y)) with Mills' ratio M. This loses few digits where both terms of the curve are tiny. Where
    M(x) and M(y) are close themselves, a bound takes over: M is convex with slope x M(x) - 1, so
    that M(x) - M(y) is at most mu (1 - x M(x)).
    """
    if mu == 0:
        return -math.inf
    if math.isinf(mu):
        return 0.0
    x, y = eps / mu - mu / 2, eps / mu + mu / 2
    rounding = _ERROR + 2.0**-48 * (1 + y) * (1 + abs(x))
    if x < -5:
        delta = 0.5 * (1 + float(erf(-x / _SQRT2))) - math.exp(log_density(x)) * mills_ratio(y)
        return min(0.0, math.log(delta) + rounding)
    difference = mills_ratio(x) - mills_ratio(y) + _ERROR * mills_ratio(x)
    steepest = (1 - x * mills_ratio(x)) * (1 + _ERROR) + _ERROR * abs(x)  # of M at x
    difference = min(difference, mu * steepest)
    if difference <= 0:  # below the floating-point range
        return -math.inf
    return min(0.0, log_density(x) + math.log(difference) + rounding)


def delta_of(eps: float, mu: float) -> float:
    """The least delta at which every mu-GDP mechanism is (eps, delta)-DP, rounded up."""
    return math.exp(log_delta_of(eps, mu))


def eps_of(mu: float, delta: float) -> float:
    """The least eps at which every mu-GDP mechanism is (eps, `delta`)-DP, rounded up."""
    return least_eps(lambda eps: delta_of(eps, mu), delta, scale=mu)


def least_eps(curve: Callable[[float], float], delta: float, scale: float) -> float:
    """The least eps >= 0 with ``curve(eps) <= delta``, which falls, rounded up; or inf."""
    if curve(0.0) <= delta:
        return 0.0
    if math.isinf(scale) or delta <= 0:
        return math.inf
    high = scale
    while curve(high) > delta:
        high *= 2
        if high > 1e18:
            return math.inf
    root = root_of(lambda eps: math.log(max(curve(eps), 1e-320) / delta), 0.0, high, 1e-15 * high)
    step = max(root, scale) * 1e-14
    while curve(root) > delta:
        root, step = root + step, 2 * step
    return root


def mu_of(eps: float, delta: float) -> float:
    """The largest mu at which every mu-GDP mechanism is (eps, delta)-DP, rounded down; or 0."""
    if delta <= 0:
        return 0.0
    if math.isinf(eps) or delta >= 1:
        return math.inf
    low, high = 0.0, 1e-12
    while delta_of(eps, high) <= delta:
        low, high = high, 2 * high
        if high > 1e18:
            return low
    low = max(low, 1e-13)
    root = root_of(lambda mu: math.log(max(delta_of(eps, mu), 1e-320) / delta), low, high)
    step = root * 1e-14
    while delta_of(eps, root) > delta:
        root, step = root - step, 2 * step
    return root


def root_of(
    f: Callable[[float], float],
    low: float,
    high: float,
    xtol: float = 2e-12,
    rtol: float = 1e-14,
    steps: int = 100,
) -> float:
    """A root between two ends: the bits of ``scipy.optimize.brentq``, which is slow to load."""
    before, x, other = low, high, low  # the root lies between x, the best point, and the other
    at_before, at_x, at_other = f(before), f(x), 0.0
    if at_before == 0 or at_x == 0:
        return before if at_before == 0 else x
    if (at_before < 0) == (at_x < 0):
        raise ValueError("f has one sign at both ends.")
    last = step = 0.0
    for _ in range(steps):
        if at_before != 0 and at_x != 0 and (at_before < 0) != (at_x < 0):
            other, at_other = before, at_before
            last = step = x - before
        if abs(at_other) < abs(at_x):
            before, x, other = x, other, x
            at_before, at_x, at_other = at_x, at_other, at_x
        least, half = (xtol + rtol * abs(x)) / 2, (other - x) / 2
        if at_x == 0 or abs(half) < least:
            return x
        tried = math.inf
        if abs(last) > least and abs(at_x) < abs(at_before):
            if before == other:  # a secant
                tried = -at_x * (x - before) / (at_x - at_before)
            else:  # a parabola through three points, in x
                slope = (at_before - at_x) / (before - x)
                of_other = (at_other - at_x) / (other - x)
                below = of_other * slope * (at_other - at_before)
                above = -at_x * (at_other * of_other - at_before * slope)
                tried = above / below if below else math.inf
        good = 2 * abs(tried) < min(abs(last), 3 * abs(half) - least)
        last, step = (step, tried) if good else (half, half)
        before, at_before = x, at_x
        x += step if abs(step) > least else math.copysign(least, half)
        at_x = f(x)
    return x


def mu_of_pure(eps: float) -> float:
    """The least mu such that every eps-DP mechanism is mu-GDP, rounded up.

    It is 2 Phi^{-1}(1/(1 + e^-eps)). The trade-off between errors of the first and second kind is
    at least that of binary randomised response: two line segments from (0, 1) and (1, 0) that meet
    at (p, p), p = 1/(1 + e^eps). The curve of mu-GDP is convex with the same ends and passes
    through (p, p), so that it lies below.
    """
    if eps == 0 or math.isinf(eps):
        return eps
    # -log(1 + e^eps) is the logarithm of p; for small eps the quantile near 1/2 needs its slope
    # instead.
    if eps < 1e-4:
        return math.sqrt(math.pi / 2) * eps * (1 + 1e-9)
    return -2 * float(ndtri_exp(-math.log1p(math.exp(-eps)) - eps)) * (1 + 1e-12) + 1e-15


def mu_of_bounded_range(eps: float) -> float:
    """The least mu such that every eps-bounded-range mechanism is mu-GDP.

    It is 2 Phi^{-1}(1/(1 + e^(-eps/2))). Consider a pair whose log-ratios lie in [t - eps, t]. Its
    trade-off is two line segments with their corner at type I error q and type II error 1 - p,
    where logit p = logit q + eps whatever t is. The curve of mu-GDP lies below all of these corners
    if Phi^{-1}(p) - Phi^{-1}(q) <= mu. The left side is largest at q = 1 - p, because logit(Phi(u))
    is odd and, as the hazard rate of the normal law is convex (Sampford 1953), convex for u > 0.
    """
    return mu_of_pure(eps / 2)


MOST_DEVIATIONS = 64.0  #: Widest noise, in standard deviations: the mass beyond is below 1e-880.
#: A change of more deviations than this would leave too little of the width above.
_MOST_SHIFT = 24.0


@dataclass(frozen=True)
class Change:
    """How far a vector may move between neighbours, at most: in L2, in L1, and each entry."""

    l2: float
    l1: float
    entry: float
    touched: int  # how many entries move


def log_mass(start: float, length: float) -> float:
    """Upper bound on ln P(start <= X <= start + length) for a standard normal X and start >= 0."""
    end = start + length
    near, far = mills_ratio(start), mills_ratio(end)
    ratio = near - far - far * math.expm1(-0.5 * length * (start + end)) + _ERROR * near
    log_ratio = math.log(min(ratio, length * (1 + _ERROR)))
    return log_density(start) + log_ratio + _ERROR * (1 + start * start)


def log_delta(eps: float, change: Change, sigma: float, width: float) -> float:
    """Upper bound on the logarithm of the delta of truncated Gaussian noise, at `eps`.

    The noise is truncated to [-width, width]. With x = width/sigma and Z = P(-x <= X <= x), delta
    is at most the sum of two terms: the delta of Gaussian noise that is not truncated, over
    Z^touched, and the mass of outputs that only one of the neighbours can release, over Z.
    """
    x = width / sigma
    log_inside = math.log(float(erf(x / math.sqrt(2))))
    inside = log_delta_of(eps, change.l2 / sigma) - change.touched * log_inside
    step = min(change.entry, change.l1 / change.touched) / sigma
    outside = eps + math.log(change.touched) + log_mass(x, step)
    if change.entry <= width:
        step = change.entry / sigma
        count = min(float(change.touched), change.l1 / change.entry)
        outside = min(outside, math.log(count) + log_mass(max(x - step, 0.0), step))
    outside -= log_inside
    larger, smaller = max(inside, outside), min(inside, outside)
    slack = 2.0**-42 * (1 + change.touched * -log_inside + abs(eps) * 2.0**-8)
    return larger + math.log1p(math.exp(smaller - larger)) + slack


@lru_cache(maxsize=256)
def least_width(eps: float, delta: float, change: Change) -> tuple[float, float]:
    """Deviation and least width at which truncated Gaussian noise spends at most (eps, delta)."""
    from scipy.optimize import brentq, minimize_scalar  # noqa: PLC0415 (slow to load)

    unit = change.l2  # solved in units of the L2 change, and then scaled
    scaled = Change(1.0, change.l1 / unit, change.entry / unit, change.touched)
    goal = math.log(delta) - 2.0**-38

    def excess(log_sigma: float) -> float:
        return max(log_delta_of(eps, math.exp(-log_sigma)), -1e4) - goal

    least = max(math.exp(brentq(excess, -60.0, 60.0, xtol=1e-13)), scaled.entry / _MOST_SHIFT)

    def sigma_at(log_surplus: float) -> float:
        return least * (1 + math.exp(log_surplus))

    best = minimize_scalar(
        lambda t: _width(eps, goal, scaled, sigma_at(t)),
        bounds=(-14.0, 3.0),
        method="bounded",
        options={"xatol": 1e-4},
    )
    sigma = sigma_at(float(best.x))
    width = _width(eps, goal, scaled, sigma)
    if not math.isfinite(width):  # not seen: the least deviation leaves no room for the tails
        sigma = sigma_at(3.0)
        width = _width(eps, goal, scaled, sigma)
    sigma, width = sigma * unit, width * unit
    while log_delta(eps, change, sigma, width) > math.log(delta):
        width *= 1 + 1e-12
    return sigma, width


def _width(eps: float, goal: float, change: Change, sigma: float) -> float:
    """Least width at this standard deviation, or inf; the bound falls as the width grows."""
    low, high = 0.0, MOST_DEVIATIONS * (1 - 1e-9) * sigma
    if log_delta(eps, change, sigma, high) > goal:
        return math.inf
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        too_narrow = log_delta(eps, change, sigma, middle) > goal
        low, high = (middle, high) if too_narrow else (low, middle)
    return high
