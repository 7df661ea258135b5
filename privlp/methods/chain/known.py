"""A way by a public point, such as yesterday's solution, where counts confirm that it is good."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import ndtri

from privlp.checks import FloatArray
from privlp.methods.counts import NoisyCounts
from privlp.methods.request import KnownPoint
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows

#: Counts that a point is looked at with, at most.
LOOKS = 4
# Noise misleads any of them with this probability, at most.
_MISLED = 1e-3
_SURE = float(ndtri(1 - _MISLED / LOOKS))
# A way leads so many times as far as to the deep point, to the first end with few missed rows. The
# point is no good one unless the way to the middle misses many at this share of its cost.
_AS_FAR, _CHEAPER = (2.0, 1.0), 0.8


def looks_tell(goal: float, sigma: float) -> bool:
    """Whether counts with this noise tell points that miss so many rows from those that miss none.

    Where they do not, a start is of no use.
    """
    return _SURE * sigma <= goal


class KnownWay(NamedTuple):
    """A way from one end to the other, maybe by a known point in its middle."""

    begin: FloatArray
    far: FloatArray
    fewest: float  # The count of rows missed at the far end.
    by: FloatArray | None = None


def way_by(
    start: KnownPoint,
    counts: NoisyCounts,
    public: PublicRows,
    region: ReducedPolytope,
    cheapest: FloatArray,
    few: float,
    goal: float,
) -> KnownWay | None:
    """A way by the start to where its solve was deep; ``None`` unless counts speak for it.

    At the start the goal's number of rows or fewer are missed, at the way's end few, and more than
    the goal's at less cost on the way to the middle of the region. None of these numbers is less
    than what noise turns up in any of the counts.
    """
    cost, x = public.cost, start.x
    few = max(few, _SURE * counts.sigma)
    own, low = float(cost @ x), float(cost @ cheapest)
    if own <= low or counts(x) > goal:
        return None
    middle = region.point(region.inside)
    share = _CHEAPER * (own - low) / max(float(cost @ middle) - low, 1e-300)
    if counts(cheapest + min(share, 1.0) * (middle - cheapest)) <= goal:
        return None
    away, as_far = (x - cheapest, _AS_FAR[1:]) if start.deep is None else (start.deep - x, _AS_FAR)
    for times in as_far:
        far = region.moved(x, times * away)
        fewest = counts(far) if own < float(cost @ far) else math.inf
        if fewest <= few:
            return KnownWay(region.moved(x, x - far), far, fewest, x)
    return None
