"""What truncated Gaussian noise costs, and how wide it has to be: formulas without a draw.

All bounds are computed in logarithms and rounded up, so that a stated delta is never below the bound it stands for. scipy's
``erfcx`` and ``erf`` are assumed to be within 2**-46 of the truth, relatively; they promise about 2**-50. Proof of the bounds:
``docs/proofs.md``, "Truncated Gaussian mechanism".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from scipy.optimize import brentq, minimize_scalar
from scipy.special import erf, erfcx

#: Widest noise, in standard deviations: the mass beyond is below 1e-880.
MOST_DEVIATIONS = 64.0
#: A change of more deviations than this would leave too little of the width above.
_MOST_SHIFT = 24.0
_ERROR = 2.0**-44
_LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(math.pi / 2)


@dataclass(frozen=True)
class Change:
    """How far a vector may move between neighbours.

    Attributes
    ----------
    l2, l1 : float
        Bounds on its L2 and L1 change.
    entry : float
        Bound on the change of every entry.
    touched : int
        Number of entries that move, at most.
    """

    l2: float
    l1: float
    entry: float
    touched: int


def _mills(x: float) -> float:
    """Mass of a standard normal beyond x over its density there."""
    return _ROOT_HALF_PI * float(erfcx(x / math.sqrt(2)))


def _log_density(x: float) -> float:
    return -0.5 * x * x - _LOG_ROOT_TAU


def log_mass(start: float, length: float) -> float:
    """Upper bound on ln P(start <= X <= start + length) for a standard normal X and start >= 0."""
    end = start + length
    ratio = _mills(start) - _mills(end) - _mills(end) * math.expm1(-0.5 * length * (start + end)) + _ERROR * _mills(start)
    return _log_density(start) + math.log(min(ratio, length * (1 + _ERROR))) + _ERROR * (1 + start * start)


def log_delta_of_gaussian(eps: float, ratio: float) -> float:
    """Upper bound on the logarithm of the delta of Gaussian noise at `eps`, `ratio` being sensitivity/sigma.

    delta = P(X > a) - e^eps P(X > b) with a = eps/ratio - ratio/2 and b = a + ratio (Balle and Wang 2018). Since e^eps times the
    density at b is the density at a, delta is that density times a difference of two Mills ratios, which loses no digits.

    Examples
    --------
    >>> import math
    >>> round(math.exp(log_delta_of_gaussian(1.0, 1.0)), 6)
    0.126937
    """
    a, b = eps / ratio - ratio / 2, eps / ratio + ratio / 2
    rounding = 2.0**-48 * (1 + b) * (1 + abs(a))
    if a < -5:
        delta = 0.5 * (1 + float(erf(-a / math.sqrt(2)))) - math.exp(_log_density(a)) * _mills(b)
        return min(0.0, math.log(delta) + _ERROR + rounding)
    difference = _mills(a) - _mills(b) + _ERROR * (1 + _mills(a))
    if a >= 0:  # the Mills ratio falls by less than 1/(1 + x^2) at x
        difference = min(difference, ratio / (1 + a * a) * (1 + _ERROR))
    return min(0.0, _log_density(a) + math.log(difference) + _ERROR + rounding)


def log_delta(eps: float, change: Change, sigma: float, width: float) -> float:
    """Upper bound on the logarithm of the delta, at `eps`, of Gaussian noise truncated to [-width, width].

    With x = width/sigma and Z = P(-x <= X <= x) the sum of two terms: the delta of Gaussian noise that is not truncated, over
    Z^touched, and the mass of outputs that only one of the neighbours can release, over Z.
    """
    x = width / sigma
    log_inside = math.log(float(erf(x / math.sqrt(2))))
    inside = log_delta_of_gaussian(eps, change.l2 / sigma) - change.touched * log_inside
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
    """Standard deviation and least width at which truncated Gaussian noise spends no more than (eps, delta).

    A search over the standard deviation, from the least at which noise that is not truncated would do. A function of public
    numbers alone.

    Examples
    --------
    >>> sigma, width = least_width(1.0, 1e-6, Change(l2=10.0, l1=100.0, entry=1.0, touched=100))
    >>> round(sigma, 1), round(width, 1)
    (43.4, 234.8)
    """
    unit = change.l2  # solved in units of the L2 change, and then stretched
    scaled = Change(1.0, change.l1 / unit, change.entry / unit, change.touched)
    goal = math.log(delta) - 2.0**-38

    def excess(log_sigma: float) -> float:
        return max(log_delta_of_gaussian(eps, math.exp(-log_sigma)), -1e4) - goal

    least = max(math.exp(brentq(excess, -60.0, 60.0, xtol=1e-13)), scaled.entry / _MOST_SHIFT)

    def sigma_at(log_surplus: float) -> float:
        return least * (1 + math.exp(log_surplus))

    best = minimize_scalar(
        lambda t: _width(eps, goal, scaled, sigma_at(t)), bounds=(-14.0, 3.0), method="bounded", options={"xatol": 1e-4}
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
    """Least width at this standard deviation; the bound falls as the width grows. Infinite if there is none."""
    low, high = 0.0, MOST_DEVIATIONS * (1 - 1e-9) * sigma
    if log_delta(eps, change, sigma, high) > goal:
        return math.inf
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if log_delta(eps, change, sigma, middle) > goal:
            low = middle
        else:
            high = middle
    return high
