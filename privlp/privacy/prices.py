"""What a draw costs, and what several planned draws cost together.

A :class:`Price` is all that accounting needs to know of a mechanism. Proofs: ``docs/proofs.md``,
"Composition".
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from privlp.privacy.gaussian_dp import (
    delta_of,
    least_eps,
    log_delta_of,
    mu_of_bounded_range,
    mu_of_pure,
)
from privlp.quiet import unnoticed

# Finer and wider than the library's default grid: the best order of a budget is about
# ln(1/delta)/eps.
_RENYI_ORDERS = 1.0 + np.geomspace(0.02, 1e12, 570)
_APART = 15
_MOST_KINDS = 16  #: With more kinds of draws, single kinds are not tried apart from the others.

Law: TypeAlias = Literal[
    "gaussian", "bounded range", "laplace", "pure", "approximate", "corners", "none"
]


@dataclass(frozen=True)
class Price:
    """The price of one draw."""

    law: Law  #: What is known of the privacy loss.
    eps: float = math.inf  #: The draw is (eps, `delta`)-DP; ``inf`` if no such eps is known.
    delta: float = 0.0  #: What one draw takes of delta for itself.
    #: The draw is mu-Gaussian-DP; ``inf`` if no such mu is known. With `corners`, see there.
    mu: float = math.inf
    shift: float = 0.0  #: Added to the privacy loss of the corners.
    #: The privacy loss is at most `shift` plus the largest of 0 and several Gaussian losses. Each
    #: pair (number, mu) stands for that number of losses with parameter mu.
    corners: tuple[tuple[int, float], ...] = ()
    #: With so small a probability, a bound that the price rests on fails. It is taken of delta
    #: where delta is positive; a delta of 0 leaves it aside, and records state it.
    chance: float = 0.0

    @classmethod
    def gaussian(cls, mu: float) -> Price:
        """Gaussian noise of standard deviation sensitivity/mu."""
        return cls("gaussian", mu=mu)

    @classmethod
    def bounded_range(cls, eps: float) -> Price:
        """A selection whose log-probabilities change by numbers that span at most eps."""
        return cls("bounded range", eps=eps, mu=mu_of_bounded_range(eps))

    @classmethod
    def laplace(cls, eps: float) -> Price:
        """Laplace noise of scale sensitivity/eps."""
        return cls("laplace", eps=eps, mu=mu_of_pure(eps))

    @classmethod
    def pure(cls, eps: float) -> Price:
        """Any eps-DP mechanism."""
        return cls("pure", eps=eps, mu=mu_of_pure(eps))

    @classmethod
    def approximate(cls, eps: float, delta: float) -> Price:
        """Any (eps, delta)-DP mechanism."""
        return cls("approximate", eps=eps, delta=delta) if delta > 0 else cls.pure(eps)

    @classmethod
    def of_corners(cls, shift: float, corners: Iterable[tuple[int, float]]) -> Price:
        """A privacy loss of at most `shift` plus the largest of 0 and several Gaussian losses."""
        return cls("corners", shift=shift, corners=tuple(corners))

    @classmethod
    def none(cls) -> Price:
        """A release without noise."""
        return cls("none")

    @property
    def rho(self) -> float:
        """The draw is rho-zCDP; ``inf`` if no such rho is known."""
        if self.law == "gaussian":
            return self.mu**2 / 2
        if self.law == "bounded range":
            return self.eps**2 / 8
        return self.eps**2 / 2 if self.law in ("laplace", "pure") else math.inf


Costs: TypeAlias = Iterable[tuple[Price, int]]


def composed_epsilon(costs: Costs, delta: float) -> float:
    """The least eps known at which all draws together are (eps, `delta`)-DP, if they were planned.

    Planned means: which draws are made was fixed before the first. Each may depend on what the
    earlier ones released.
    """
    counts: Counter[Price] = Counter()
    for price, count in costs:
        counts[price] += count
    return _composed_epsilon(tuple(counts.items()), delta)


@lru_cache(maxsize=4096)
@unnoticed()
def _composed_epsilon(costs: tuple[tuple[Price, int], ...], delta: float) -> float:
    """The best of several proven bounds.

    The pure epsilons of some draws are added to a joint bound on the others: of none, of one kind,
    of all pure draws. The joint bound is the Gaussian one or the Rényi one.
    """
    if not costs:
        return 0.0
    chance = math.fsum(price.chance * count for price, count in costs)
    if delta > 0 and chance > 0:
        delta = math.nextafter(delta - chance, -math.inf)  # a difference may be rounded up
        if delta <= 0:
            return math.inf
    apart = [cost for cost in costs if cost[0].law == "approximate"]
    rest = [cost for cost in costs if cost[0].law != "approximate"]
    delta -= math.fsum(price.delta * count for price, count in apart)
    eps = math.fsum(price.eps * count for price, count in apart)
    if delta < 0 or math.isinf(eps):
        return math.inf
    pure = [cost for cost in rest if math.isfinite(cost[0].eps)]
    aside: list[list[tuple[Price, int]]] = [[]]
    if 1 < len(rest) <= _MOST_KINDS:
        aside += [[cost] for cost in pure]
    if len(pure) > 1 or len(pure) == len(rest):
        aside.append(pure)
    return eps + min(
        math.fsum(price.eps * count for price, count in some)
        + _joint([cost for cost in rest if cost not in some], delta)
        for some in aside
    )


def _joint(costs: list[tuple[Price, int]], delta: float) -> float:
    if not costs:
        return 0.0
    if delta <= 0:
        return math.inf
    gaussian = _gaussian_epsilon(costs, delta)
    if _is_gaussian(costs):
        return gaussian
    return min(gaussian, _renyi_epsilon(tuple(costs), delta))


def gaussian_excess(costs: Costs, eps: float, delta: float) -> float | None:
    """How far the noise of all draws together is from that of (eps, `delta`), as a logarithm.

    It rises by about 1 where all noise is divided by e, and is 0 where :func:`composed_epsilon` is
    `eps`, but for rounding. None where delta alone does not decide: for draws with other bounds,
    or if no noise is enough.
    """
    costs = list(costs)
    delta -= math.fsum(price.chance * count for price, count in costs)
    if not (_is_gaussian(costs) and 0 < delta < 1):
        return None
    shift, curves = _gaussian_curves(costs)
    if not curves or not eps > shift:
        return None
    if len(curves) == 1:
        found = log_delta_of(eps - shift, curves[0][1])
    else:
        total = math.fsum(times * delta_of(eps - shift, mu) for times, mu in curves)
        found = math.log(max(total, 1e-320))
    return 0.5 * math.log(math.log(delta) / min(max(found, -1e300), -1e-300))


def _is_gaussian(costs: Costs) -> bool:
    """Whether no bound on these draws is better than that of Gaussian differential privacy."""
    return all(price.law in ("gaussian", "corners") for price, _ in costs)


def _gaussian_epsilon(costs: list[tuple[Price, int]], delta: float) -> float:
    """By the curve of Gaussian differential privacy, summed over all corners."""
    shift, curves = _gaussian_curves(costs)
    if not curves:
        return math.inf
    largest = max(mu for _, mu in curves)
    if largest == 0:
        return shift

    def curve(eps: float) -> float:
        return math.fsum(times * delta_of(eps, mu) for times, mu in curves)

    return shift + least_eps(curve, delta, scale=largest)


def _gaussian_curves(costs: list[tuple[Price, int]]) -> tuple[float, list[tuple[float, float]]]:
    """A shift of eps, and pairs (times, mu) whose curves add up to delta; none if one is infinite.

    E[(1 - e^(eps - loss))_+] is at most its sum over all combinations of corners, each of which is
    a Gaussian composition: the squares of the mu add.
    """
    squares: dict[float, float] = {0.0: 1.0}
    square = shift = 0.0
    for price, count in costs:
        shift += price.shift * count
        if price.law != "corners":
            square += price.mu * price.mu * count
            continue
        for _ in range(count):
            wider = defaultdict(float, squares)
            for number, mu in price.corners:
                for before, times in squares.items():
                    wider[before + mu * mu] += number * times
            squares = _merged(wider)
    if math.isinf(square + max(squares) + shift + sum(squares.values())):
        return math.inf, []
    return shift, [(times, math.sqrt(square + more)) for more, times in squares.items()]


def _merged(squares: dict[float, float]) -> dict[float, float]:
    """The same sums, or at most 512 of them, rounded up: a larger mu never makes delta smaller."""
    if len(squares) <= 512:
        return squares
    step, merged = max(squares) / 512, defaultdict[float, float](float)
    for square, times in squares.items():
        merged[math.ceil(square / step) * step * (1 + 1e-15)] += times
    return merged


@lru_cache(maxsize=4096)  # fits on folds of equal size ask for the same prices again
def _renyi_epsilon(costs: tuple[tuple[Price, int], ...], delta: float) -> float:
    """By Rényi divergence. Only draws without a rho load dp-accounting, which takes a second."""
    if any(price.law in ("corners", "none") for price, _ in costs):
        return math.inf
    rhos = [(rho, count) for price, count in costs if (rho := _rho(price)) is not None]

    def least(orders: np.ndarray) -> tuple[float, float]:
        alone = len(rhos) == len(costs)
        return _of_rhos(rhos, orders, delta) if alone else _of_events(costs, orders, delta)

    # Any orders give a bound. It has one valley: few of them show where, and its orders how deep.
    eps, order = least(_RENYI_ORDERS[::_APART])
    place = int(np.searchsorted(_RENYI_ORDERS, order))
    return float(min(eps, least(_RENYI_ORDERS[max(0, place - _APART) : place + _APART + 1])[0]))


def _rho(price: Price) -> float | None:
    """The rho of zero-concentrated privacy that a draw is charged by, if it is.

    Below an eps of 1e-3 the Rényi divergences of other laws would drown in cancellation; there the
    bound eps^2/2 (Bun and Steinke 2016) loses almost nothing.
    """
    concentrated = price.law == "gaussian" or (price.law == "bounded range" and price.eps <= 8)
    return price.rho if concentrated or price.eps < 1e-3 else None


def _of_rhos(
    rhos: Iterable[tuple[float, int]], orders: np.ndarray, delta: float
) -> tuple[float, float]:
    """The least eps of some orders above 1, and its order, for draws of zero-concentrated privacy.

    The divergence of order a is rho a, and converted as by dp-accounting: by Canonne, Kamath and
    Steinke (2020), Proposition 12, or to 0 where delta alone covers it (Bretagnolle and Huber).
    """
    total, found = np.zeros(len(orders)), []
    for rho, count in rhos:
        total += count * (rho * orders)
    for a, divergence in zip(orders.tolist(), total.tolist(), strict=True):
        eps = divergence + math.log1p(-1 / a) - math.log(delta * a) / (a - 1)
        found.append((0.0 if delta**2 + math.expm1(-divergence) > 0 else eps, a))
    eps, order = min(found)
    return max(0.0, eps), order


def _of_events(
    costs: Iterable[tuple[Price, int]], orders: np.ndarray, delta: float
) -> tuple[float, float]:
    """The same by dp-accounting, for all draws."""
    import dp_accounting  # noqa: PLC0415
    from dp_accounting.rdp import RdpAccountant  # noqa: PLC0415

    accountant = RdpAccountant(orders, dp_accounting.NeighboringRelation.REPLACE_ONE)
    for price, count in costs:
        event = _event(price, dp_accounting)
        accountant.compose(dp_accounting.SelfComposedDpEvent(event, count))
    eps, order = accountant.get_epsilon_and_optimal_order(delta)
    return float(eps), float(order)


def _event(price: Price, library: Any) -> Any:
    """The cost of a draw as dp-accounting states it.

    Binary randomised response dominates every eps-DP mechanism. Beyond eps = 700 its probabilities
    leave the floating-point range; then only the sum of pure epsilons is of use.
    """
    rho = _rho(price)
    if math.isinf(price.eps) and math.isinf(price.mu):
        return library.NonPrivateDpEvent()
    if rho is not None:
        return library.ZCDpEvent(rho)
    if price.law == "laplace":
        return library.LaplaceDpEvent(1 / price.eps)
    if price.eps > 700:
        return library.NonPrivateDpEvent()
    noise = 2.0 / (1.0 + math.exp(price.eps))
    return library.RandomizedResponseDpEvent(noise_parameter=noise, num_buckets=2)
