"""Public points at which ways begin and end."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from privlp.checks import FloatArray
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows

# A way leads beyond the middle so many times as far as to it, at most.
_FARTHEST = 1e6
# How hard cost pulls from the middle to the cheapest point, in units of the root of p; and points
# are as cheap if they cost no more than this share of what the middle costs beyond the cheapest. So
# many ranges pull variables to their ends.
_PULL, _AS_CHEAP, _TO_AN_END = 1e3, 1e-9, 10.0
# A corner of the bounds is in the region if this is no farther away, in ranges of variables.
_CORNER = 1e-9
_SIDES = (-_TO_AN_END, _TO_AN_END)


def cheapest_point(public: PublicRows, region: ReducedPolytope, side: float = 0.0) -> FloatArray:
    """A point of least cost: of several, the one nearest to the middle of the region.

    Or to the point that lies so many times the ranges of variables to one side of it.
    """
    middle, slope = region.point(region.inside), region.cost(public.cost)
    best = public.best(public.cost)
    if best is None or not slope.any():
        return middle if best is None else best
    pull = _PULL * math.sqrt(region.size) / float(np.linalg.norm(slope))
    towards = region.inside + side - pull * slope
    x = np.clip(region.point(region.nearest(towards)), *public.bounds.T)
    dearer = float(public.cost @ (x - best))
    return x if dearer <= _AS_CHEAP * float(public.cost @ (middle - best)) else best


def as_cheap(public: PublicRows, region: ReducedPolytope, x: FloatArray) -> list[FloatArray]:
    """Points of least cost, but x: of several, those nearest to the lower and upper ends."""
    found = [cheapest_point(public, region, side) for side in _SIDES]
    return [other for other in found if not np.allclose(other, x)]


def all_at_an_end(region: ReducedPolytope) -> list[FloatArray]:
    """The points of the region nearest to far lower and far upper ends of all coordinates."""
    return [region.point(region.nearest(region.inside + side)) for side in _SIDES]


def safe_ends(
    public: PublicRows, region: ReducedPolytope, cheapest: FloatArray, middle: FloatArray
) -> Iterator[FloatArray]:
    """A corner that is cheaper than the middle, the middle, ends beyond it, the dearest."""
    cost = public.cost
    for corner in public.bounds.T:
        if np.isfinite(corner).all() and cost @ cheapest < cost @ corner < cost @ middle:
            nearest = region.point(region.nearest(region.coordinates(corner)))
            if np.allclose(nearest, corner, _CORNER, _CORNER * region.ranges_of_variables):
                yield corner
    yield middle
    for direction in (region.inside - region.coordinates(cheapest), region.cost(cost)):
        if direction.any():
            unit = direction / np.linalg.norm(direction)
            reach = min(region.reach(region.inside, unit), _FARTHEST)
            yield region.point(region.within(region.inside + reach * unit))
    dearest = public.best(-cost)
    if dearest is not None:
        yield dearest
