"""Privacy costs as dp-accounting events, and their composition into one epsilon.

This is the only file that touches dp-accounting. The library takes more than a second to import, so
it is loaded when the first cost is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

#: A ``dp_accounting.DpEvent``; the name is here so that importing this file does not import the
#: library.
Event: TypeAlias = Any

# Finer and wider than the library's default grid: the best order of a budget is about
# ln(1/delta)/eps.
_RENYI_ORDERS = 1.0 + np.geomspace(0.02, 1e12, 570)


@cache
def _dp_accounting() -> ModuleType:
    import dp_accounting  # noqa: PLC0415
    import dp_accounting.rdp  # noqa: PLC0415

    return dp_accounting


def zcdp_event(rho: float) -> Event:
    """Cost of a mechanism whose Rényi divergence of every order a is at most ``rho a``."""
    return _dp_accounting().ZCDpEvent(rho)


def laplace_event(noise_multiplier: float) -> Event:
    """Cost of Laplace noise of scale ``noise_multiplier`` times the L1 sensitivity."""
    return _dp_accounting().LaplaceDpEvent(noise_multiplier)


def pure_dp_event(eps: float) -> Event:
    """Cost of an arbitrary ``eps``-DP mechanism: binary randomised response dominates them all.

    Beyond eps = 700 its probabilities leave the floating-point range; then only the sum of pure
    epsilons is of use. Below 1e-3 its Rényi divergences would drown in cancellation; there the
    bound eps^2/2 of zCDP (Bun and Steinke 2016) loses nothing to speak of.
    """
    if eps < 1e-3:
        return zcdp_event(eps**2 / 2)
    if eps > 700:
        return no_privacy_event()
    return _dp_accounting().RandomizedResponseDpEvent(
        noise_parameter=2.0 / (1.0 + math.exp(eps)), num_buckets=2
    )


def no_privacy_event() -> Event:
    """Cost of releasing a value without noise."""
    return _dp_accounting().NonPrivateDpEvent()


def repeat(event: Event, count: int) -> Event:
    """Cost of ``count`` adaptive uses of one mechanism."""
    return _dp_accounting().SelfComposedDpEvent(event, count)


def composed_epsilon(events: Iterable[Event], delta: float) -> float:
    """The least epsilon, by Rényi composition, at which all ``events`` are (epsilon, delta)-DP.

    Each event may be chosen in view of earlier releases.
    """
    return _composed_epsilon(tuple(events), delta)


@lru_cache(maxsize=4096)
def _composed_epsilon(events: tuple[Event, ...], delta: float) -> float:
    """As above; remembered, because fits on folds of equal size ask for the same prices again."""
    library = _dp_accounting()
    accountant = library.rdp.RdpAccountant(_RENYI_ORDERS, library.NeighboringRelation.REPLACE_ONE)
    for event in events:
        accountant.compose(event)
    return float(accountant.get_epsilon(delta))
