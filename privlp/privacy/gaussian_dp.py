"""Gaussian differential privacy: the exact curve, its inverses, and mechanisms that it dominates.

A mechanism is mu-GDP if telling two neighbours apart by its output is at least as hard as telling
N(0, 1) from N(mu, 1) by one draw (Dong, Roth and Su 2022). Then it is (eps, delta)-DP for every
eps,

    delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2),

and adaptive compositions are sqrt(mu_1^2 + mu_2^2 + ...)-GDP. Every number here is rounded to the
safe side. Proofs: ``docs/proofs.md``, "Gaussian differential privacy".
"""

from __future__ import annotations

import math
from collections.abc import Callable

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

    Parameters
    ----------
    mu : float
        Non-negative; ``inf`` for no privacy.

    Examples
    --------
    >>> import math
    >>> from privlp.privacy.gaussian_dp import log_delta_of
    >>> round(math.exp(log_delta_of(1.0, 1.0)), 6)
    0.126937
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
    """The least delta at which every mu-GDP mechanism is (eps, delta)-DP, rounded up.

    Examples
    --------
    >>> from privlp.privacy.gaussian_dp import delta_of
    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    return math.exp(log_delta_of(eps, mu))


def eps_of(mu: float, delta: float) -> float:
    """The least eps at which every mu-GDP mechanism is (eps, `delta`)-DP, rounded up.

    Examples
    --------
    >>> from privlp.privacy.gaussian_dp import eps_of
    >>> round(eps_of(1.0, 1e-6), 6)
    4.886554
    """
    return least_eps(lambda eps: delta_of(eps, mu), delta, scale=mu)


def least_eps(curve: Callable[[float], float], delta: float, scale: float) -> float:
    """The least eps >= 0 with ``curve(eps) <= delta`` for a decreasing curve, rounded up.

    It is ``inf`` if there is none. `scale` is the size of a step of the search, for instance mu.
    """
    if math.isinf(scale) or delta <= 0:
        return 0.0 if curve(0.0) <= delta else math.inf
    if curve(0.0) <= delta:
        return 0.0
    high = scale
    while curve(high) > delta:
        high *= 2
        if high > 1e18:
            return math.inf
    root = _root(
        lambda eps: math.log(max(curve(eps), 1e-320) / delta), 0.0, high, xtol=1e-15 * high
    )
    step = max(root, scale) * 1e-14
    while curve(root) > delta:
        root, step = root + step, 2 * step
    return root


def mu_of(eps: float, delta: float) -> float:
    """The largest mu at which every mu-GDP mechanism is (eps, delta)-DP, rounded down.

    0 if there is none.

    Examples
    --------
    >>> from privlp.privacy.gaussian_dp import mu_of
    >>> round(mu_of(1.0, 1e-6), 6)
    0.236704
    """
    if delta <= 0:
        return 0.0
    if math.isinf(eps) or delta >= 1:
        return math.inf
    low, high = 0.0, 1e-12
    while delta_of(eps, high) <= delta:
        low, high = high, 2 * high
        if high > 1e18:
            return low
    root = _root(lambda mu: math.log(max(delta_of(eps, mu), 1e-320) / delta), max(low, 1e-13), high)
    step = root * 1e-14
    while delta_of(eps, root) > delta:
        root, step = root - step, 2 * step
    return root


def _root(
    function: Callable[[float], float], low: float, high: float, xtol: float = 2e-12
) -> float:
    from scipy.optimize import brentq  # noqa: PLC0415 (slow to load)

    return float(brentq(function, low, high, xtol=xtol, rtol=1e-14))


def mu_of_pure(eps: float) -> float:
    """The least mu such that every eps-DP mechanism is mu-GDP, rounded up.

    It is 2 Phi^{-1}(1/(1 + e^-eps)). The trade-off between errors of the first and second kind is
    at least that of binary randomised response: two line segments from (0, 1) and (1, 0) that meet
    at (p, p), p = 1/(1 + e^eps). The curve of mu-GDP is convex with the same ends and passes
    through (p, p), so that it lies below.

    Examples
    --------
    >>> from privlp.privacy.gaussian_dp import mu_of_pure
    >>> round(mu_of_pure(0.1), 6)
    0.125309
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

    Examples
    --------
    >>> from privlp.privacy.gaussian_dp import mu_of_bounded_range, mu_of_pure
    >>> mu_of_bounded_range(0.2) == mu_of_pure(0.1)
    True
    """
    return mu_of_pure(eps / 2)
