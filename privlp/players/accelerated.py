"""Accelerated descent on privately released sums, over any region with a mirror map."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.players.game import Released
from privlp.players.path import Path
from privlp.players.rounds import weight_of_round
from privlp.privacy import ChargedDraws
from privlp.regions.mirror_map import MirrorMap

FloatArray = npt.NDArray[np.float64]


class AcceleratedDescent:
    """Releases all scores with noise each round, and moves by accelerated mirror descent.

    This is Nesterov's method with a mirror map (Tseng 2008). With theta_t = 2/(t + 2), the duals
    see y = (1 - theta) x + theta z, z is the mirror map of the sum of scores/theta, and x becomes
    (1 - theta) x + theta z. So round t counts 1/theta_t. Noise of a variance in proportion to
    theta_t does the least harm.

    Parameters
    ----------
    mirror : MirrorMap
        The region and how to move on it.
    release : ChargedDraws
        Charged draws of an additive mechanism over the scores, one for each round.
    costs : (size,), optional
        Public costs in units of score, subtracted from each release; none by default.
    """

    def __init__(
        self, mirror: MirrorMap, release: ChargedDraws, costs: FloatArray | None = None
    ) -> None:
        self._mirror, self._release = mirror, release
        self._costs = np.zeros(mirror.size) if costs is None else costs
        self._sum = np.zeros(mirror.size)
        self._average = self._ahead = mirror.start()
        self._round, self._path = 0, Path()

    @property
    def _theta(self) -> float:
        return 1 / weight_of_round(self._round)

    @property
    def point(self) -> FloatArray:
        """The point whose violations the duals see next."""
        return self._mirror.seen((1 - self._theta) * self._average + self._theta * self._ahead)

    @property
    def shares(self) -> FloatArray:
        """The average in the coordinates of the mirror map."""
        return self._average

    @property
    def solution(self) -> FloatArray:
        """The average of the points of all rounds; later ones count more."""
        return self._mirror.seen(self._average)

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release the scores, and move."""
        theta = self._theta
        self._sum += (self._release(scores) - self._costs) / theta
        self._ahead = self._mirror.towards(self._sum)
        self._average = (1 - theta) * self._average + theta * self._ahead
        self._round += 1
        self._path.add(self.solution)
        return self.point

    def released(self) -> Released:
        """The average of all rounds."""
        x = self._mirror.undo(self.solution)
        return Released(x, self._mirror.objective(x), self._path.trace(self._mirror.undo))
