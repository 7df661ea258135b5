"""The region of a stage of the chain, its slack and force, and how they change between stages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privlp.checks import FloatArray
from privlp.regions.polytope import ReducedPolytope

# Where a descent leads far, the next one has more room and longer steps, by this factor; and then
# less again, by no more than leaves the next softness this share of what was saved.
GROWS, _OF_GAIN = 8.0, 0.5
# The change of the force of costs where counts show that a stage went too far, or not far enough.
_CHANGE, _FAR_BACK, _FAR_BEYOND = 1.4, 0.5, -0.3


@dataclass
class Scale:
    """The region of a stage, and what follows from one stage for the next."""

    region: ReducedPolytope
    deep: FloatArray
    slack: float  # Of rows at the deep point, in the coordinates.
    found: FloatArray  # Where the last descent led, before counts moved it.
    soft: float = 0.0  # Softness of the last stage.
    force: float = 1.0
    wider: float = 1.0
    stopped: bool = False  # Whether rows stopped a descent, after the first.
    kept: int = 0  # Rounds that are kept to see whether the search still moves.
    # Whether rows have less slack at the deep point than stages can tell; and whether counts led
    # back after one of these, most of the way there.
    thin: bool = False
    back: bool = False
    far: bool = False  # Whether the last stage went as far as it could.
    # Whether points half way to the least cost missed few rows, by counts.
    halves: bool = True
    moved: float = 0.0  # How far costs of stages after the first moved, in softnesses.

    def shrink(self, x: FloatArray, most: float) -> None:
        """So much slack at most, or as much less as one stage may have; the deep point follows."""
        share = max(most / self.slack, 1 / GROWS)
        if share < 1:
            self.slack *= share
            self.deep = x + share * (self.deep - x)

    def change(self, t: float, gain: float, *, far: bool) -> None:
        """How the next stage differs from one that went too far by t on its way, or not so far.

        The gain is what it saved, in softnesses of the next one, if that were as wide.
        """
        self.back |= t > _FAR_BACK
        self.force *= _CHANGE if t < _FAR_BEYOND else 1 / _CHANGE if t > _FAR_BACK else 1.0
        self.far = far and t <= _FAR_BACK  # If counts led back, more room leads to worse points.
        if self.far:
            self.wider *= GROWS
        elif self.wider > 1:
            self.wider *= min(max(_OF_GAIN * gain, 1 / GROWS), 1.0)


def mean_unit(region: ReducedPolytope) -> float:
    """The geometric mean of the units of variables."""
    return float(np.exp(np.mean(np.log(region.unit))))
