"""A primal player that collects released cuts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.players.game import Released
from privlp.players.path import Path
from privlp.privacy import ChargedDraws
from privlp.regions.perturbed_leader import mean_leader
from privlp.regions.polytope import PublicPolytope

FloatArray = npt.NDArray[np.float64]

# Vertices that the first point is the mean of.
_FIRST_VERTICES = 40
_SHARE_OF_THE_WAY = 0.7
_CUTS_KEPT = 150
_LEAST_SLOPE = 1e-7


class LeaderOfCuts:
    """Releases a cut each round: the sum of violated rows as its slope, and its value.

    It then goes most of the way to the point at which the largest of all cuts is least.

    All rows hold at x only if value_t + slope_t·(x - y_t) <= 0 for every round t. The slope is the
    sum of z_i g_i and the value that of z_i min(violation_i, 1) (Kelley 1960). The point that
    satisfies the cuts by most is that of Elzinga and Moore (1975). Cuts that HiGHS's last vertex
    does not touch are dropped after some rounds. The solution is the point of least released value.
    """

    def __init__(self, region: PublicPolytope, release: ChargedDraws) -> None:
        self._region, self._release = region, release
        self._leader, self._round, self._path = region.leader(), 0, Path()
        start = mean_leader(
            self._leader,
            np.zeros(region.size),
            _FIRST_VERTICES,
            np.random.default_rng(0),
            region.middle,
        )
        self.point: FloatArray = start
        self._best, self._least = start, math.inf

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release the slope and the value of a cut, and move."""
        released = self._release(scores)
        slope, value = -released[:-1], float(released[-1])
        if value < self._least:
            self._best, self._least = self.point, value
        self._path.add(self._best)
        if np.linalg.norm(slope) > _LEAST_SLOPE:
            self._leader.cut(slope, self.point, value)
            deepest = self._leader.deepest()
            if deepest is not None:
                self.point = self.point + _SHARE_OF_THE_WAY * (deepest - self.point)
        self._round += 1
        if self._round % _CUTS_KEPT == 0:
            self._leader.forget_slack_cuts(_CUTS_KEPT)
        return self.point

    def released(self) -> Released:
        """The point of least released value."""
        lp = self._region.form.lp

        def within_bounds(x: FloatArray) -> FloatArray:
            return np.clip(x, *lp.bounds.T)

        x = within_bounds(self._best)
        return Released(x, lp.objective(x), self._path.trace(within_bounds))
