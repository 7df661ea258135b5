"""The way from a point to a deeper one, on which counts find where few rows are missed."""

from __future__ import annotations

from collections.abc import Callable

from privlp.checks import FloatArray
from privlp.methods.chain.scale import GROWS
from privlp.regions.polytope import ReducedPolytope

Curve = Callable[[float], FloatArray]

# Where less is at stake than this share of what the deep point costs more than another, the way
# between them is divided in units of what is at stake; of which this share is next to nothing.
_FAR_DEARER, _NEAR_LEAST = 0.5, 0.1


def curve_between(
    region: ReducedPolytope, cost: FloatArray, x: FloatArray, deep: FloatArray
) -> Curve:
    """The way from x at t = 0 to the deep point at t = 1: a curve that leaves along the costs.

    Before x it leads against the costs, along the ends of the region.
    """
    slope, z = region.cost(cost), region.coordinates(x)
    rise = float(cost @ (deep - x)) / max(float(slope @ slope), 1e-300)

    def along(t: float) -> FloatArray:
        return region.point(region.nearest(z + t * abs(rise) * slope))

    bend = along(0.5) if rise > 0 else 0.5 * (x + deep)

    def curve(t: float) -> FloatArray:
        if t < 0:
            return along(t)
        return (1 - t) ** 2 * x + 2 * t * (1 - t) * bend + t**2 * deep

    return curve


def divided(
    curve: Curve,
    cost: FloatArray,
    cheapest: FloatArray,
    deep: FloatArray,
    x: FloatArray,
    before: FloatArray,
    beyond: float,
) -> tuple[Curve, float]:
    """The way from x to the deep point, and how far beyond x it is searched, in its units.

    If the deep point is far dearer than what is at stake, few places of the way have costs that
    matter. Then t = -1 is about the least cost, t = 1 the deep point, and near x shares of the way
    grow by units of what is at stake. That is taken from the point before, too: x may be the
    cheapest.
    """
    dearer, at_stake = abs(float(cost @ (deep - x))), float(cost @ (x - cheapest))
    left = max(at_stake, float(cost @ (before - cheapest)) / GROWS)
    if not 0 < left < _FAR_DEARER * dearer:
        return curve, beyond
    low = unit = left / dearer
    # Public rows may stand in the way of costs: then it is farther to where they are least.
    while low < beyond and float(cost @ (curve(-low) - cheapest)) > _NEAR_LEAST * left:
        low = min(2 * low, beyond)

    def in_units(t: float) -> FloatArray:
        whole = low if t < 0 else 1.0
        return curve(t * whole * (unit / whole) ** (1 - abs(t)))

    return in_units, min(beyond, 1.0)
