"""What truncated Gaussian noise costs, and how wide it has to be: formulas without a draw.

All bounds are computed in logarithms and rounded up, as in :mod:`privlp.privacy.gaussian_dp`, so
that a stated delta is never below the bound it stands for. Proof of the bounds: ``docs/proofs.md``,
"Truncated Gaussian mechanism".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from scipy.special import erf

from privlp.privacy.gaussian_dp import log_delta_of, log_density, mills_ratio

#: Widest noise, in standard deviations: the mass beyond is below 1e-880.
MOST_DEVIATIONS = 64.0
#: A change of more deviations than this would leave too little of the width above.
_MOST_SHIFT = 24.0
_ERROR = 2.0**-44


@dataclass(frozen=True)
class Change:
    """How far a vector may move between neighbours."""

    #: Bounds on its L2 and L1 change.
    l2: float
    l1: float
    #: Bound on the change of every entry.
    entry: float
    #: Number of entries that move, at most.
    touched: int


def log_mass(start: float, length: float) -> float:
    """Upper bound on ln P(start <= X <= start + length) for a standard normal X and start >= 0."""
    end = start + length
    near, far = mills_ratio(start), mills_ratio(end)
    ratio = near - far - far * math.expm1(-0.5 * length * (start + end)) + _ERROR * near
    return (
        log_density(start)
        + math.log(min(ratio, length * (1 + _ERROR)))
        + _ERROR * (1 + start * start)
    )


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
    """Deviation and least width at which truncated Gaussian noise spends at most (eps, delta).

    The standard deviation is searched for, from the least at which noise that is not truncated
    would do. All of this depends on public numbers alone.

    Examples
    --------
    >>> sigma, width = least_width(1.0, 1e-6, Change(l2=10.0, l1=100.0, entry=1.0, touched=100))
    >>> round(sigma, 1), round(width, 1)
    (43.4, 234.8)
    """
    from scipy.optimize import brentq, minimize_scalar  # noqa: PLC0415 (slow to load)

    unit = change.l2  # solved in units of the L2 change, and then stretched
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
    """Least width at this standard deviation; the bound falls as the width grows.

    Infinite if there is none.
    """
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
