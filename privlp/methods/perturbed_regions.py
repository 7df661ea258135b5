"""Regions and scales for the stages of perturbed programs on hard rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.methods.perturbed_draws import NoisyCounts
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import norms, shares_of_norm
from privlp.rows.measured import MeasuredRows
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# The next region ends at this multiple of the cost found.
_MARGIN = 1.15
# Variables count by this power of their share of the largest one, and no less than the floor.
_POWER_OF_SHARE, _LEAST_SHARE = 0.5, 0.1
# Shares of the rows' norms within this ratio count as even.
_EVEN = 10.0
# Binary logarithms between which the scale is searched.
_LOW_SCALE, _HIGH_SCALE = -20.0, 6.0


class StageRegions:
    """The region of each stage: costs a little above those of a point, in units of that point.

    Parameters
    ----------
    public : PublicRows
    region : ReducedPolytope
        Where the search starts; used where a smaller region has no room.

    Attributes
    ----------
    cheapest : (d,)
        The best public point; one inside the region if HiGHS finds none.
    weights : (d,)
        Factors of the units of the variables.
    """

    def __init__(self, public: PublicRows, region: ReducedPolytope) -> None:
        self.region = region
        self.weights = np.ones(len(public.cost))
        self._public = public
        best = public.best(public.cost)
        self.cheapest = region.point(region.inside) if best is None else best

    def cost(self, x: FloatArray) -> float:
        """Cost of a point above the cheapest one."""
        return float(self._public.cost @ (x - self.cheapest))

    def cost_at_stake(self, x: FloatArray, far: FloatArray) -> float:
        """The cost that is at stake at x: above the cheapest point, or below the far one."""
        own, above = self.cost(x), self.cost(far) - self.cost(x)
        return max(min(own, above) if above > 0 else own, 1e-12 * (1 + abs(self.cost(far))))

    def at(self, x: FloatArray, *, weighted: bool, margin: float = _MARGIN) -> ReducedPolytope:
        """The region of costs up to a little more than that of x, scaled to the size of x."""
        own = self.cost(x)
        if own <= 0:
            return self.region
        cap = float(self._public.cost @ self.cheapest) + margin * own
        region = scaled_or(self.region, self._public, cap, self.weights)
        if not weighted or region is self.region:
            return region
        share = (np.abs(x - self.cheapest) * self.weights)[region.live] / region.unit
        weights = self.weights.copy()
        weights[region.live] *= (
            np.maximum(share / max(float(share.max()), 1e-300), _LEAST_SHARE) ** _POWER_OF_SHARE
        )
        return scaled_or(region, self._public, cap, weights)

    def evened(
        self, region: ReducedPolytope, rows: Rows[Any], draw: ChargedDraws, largest_n: int
    ) -> ReducedPolytope:
        """The region with larger units for variables with far smaller shares of the rows' norms.

        Noise hides small shares, so no unit grows beyond what noise allows. Later regions have
        these weights too.
        """
        noisy = np.asarray(draw(rows.total(shares_of_norm, region, largest_n)))
        least = 2 * draw.sigma
        ratio = max(float(noisy.max()), least) / np.maximum(noisy, least)
        self.weights = np.ones(len(self._public.cost))
        self.weights[region.live] = np.sqrt(np.maximum(ratio / _EVEN, 1.0))
        return scaled_or(region, self._public, region.cap, self.weights)


def scaled_or(
    other: ReducedPolytope, public: PublicRows, cap: float, weights: FloatArray
) -> ReducedPolytope:
    """The region of costs up to a cap with these weights of variables.

    It is the other one if floating point leaves it no room: a run has paid for its draws, and does
    not end with an error. Cap and weights are released numbers.
    """
    try:
        return ReducedPolytope(public, cap, weights)
    except UnsupportedProblemError:
        return other


def typical_side(
    rows: Rows[Any], region: ReducedPolytope, x: FloatArray, draw: ChargedDraws, n: int
) -> float:
    """A noisy median of the scaled right-hand sides of n rows."""
    counts = NoisyCounts(
        rows.keep(partial(ScaledSides, region=region, x=x)), ScaledSides.above, draw
    )
    level, _ = counts.first_below(n / 2, lambda t: 2.0**t, _LOW_SCALE, _HIGH_SCALE)
    return float(2.0**level)


class ScaledSides:
    """Sizes of right-hand sides of rows scaled to norm 1 in the coordinates of a region.

    Where a side is 0, the size of A_i x at a released point x stands for it. Each number is
    computed from its row alone.
    """

    def __init__(self, block: RowBlock, region: ReducedPolytope, x: FloatArray) -> None:
        norm, _ = norms(block, region)
        sizes = MeasuredRows(block).sizes(x)
        self._ratio = np.divide(sizes, norm, out=np.zeros_like(norm), where=norm > 0)

    def above(self, level: float) -> int:
        """Number of rows above a level."""
        return int(np.count_nonzero(self._ratio > level))
