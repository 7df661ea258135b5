"""Accelerated descent on noisy sums, and its elastic dual player."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.game.loop import Path, Released, WeighedRows, weight_of_round
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import MirrorMap
from privlp.rows.access import Rows


class ElasticDual:
    """Weights min(1, (violation - level)/softness) of rows beyond a level, and 0 of all others."""

    def __init__(
        self,
        rows: Rows[WeighedRows],
        start: FloatArray,
        softness: float,
        level: float = 0.0,
        *,
        finish: Callable[[Any], FloatArray] | None = None,
    ) -> None:
        self.rows = rows.keep(partial(ElasticRows, softness=softness, level=level))
        self.point, self._finish = start, finish

    def scores(self) -> FloatArray:
        """Score of each possible answer against the weighted rows, in one read of them; private."""
        total = np.asarray(self.rows.total(ElasticRows.scores, self.point))
        return total if self._finish is None else self._finish(total)

    def learn(self, answer: FloatArray) -> None:
        """Weights are those at a released point from now on."""
        self.point = answer


class ElasticRows:
    """A block of rows with elastic weights."""

    def __init__(self, rows: WeighedRows, *, softness: float, level: float = 0.0) -> None:
        self._rows, self._slope, self._offset = rows, 1.0 / softness, level / softness

    def scores(self, point: FloatArray) -> FloatArray:
        return self._rows.weighed(point, self._slope, self._offset)

    def weights(self, point: FloatArray) -> FloatArray:
        """The weights of rows at a point, but for rounding to a grid."""
        return np.clip(self._slope * self._rows.violations(point) - self._offset, 0.0, 1.0)


class AcceleratedDescent:
    """Releases all scores with noise each round, and moves by accelerated mirror descent.

    Nesterov's method with a mirror map (Tseng 2008). With theta_t = 2/(t + 2), the duals see
    y = (1 - theta) x + theta z, z is the mirror map of the sum of scores/theta, and x becomes
    (1 - theta) x + theta z. Public costs, in units of score, are subtracted from each release.
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
