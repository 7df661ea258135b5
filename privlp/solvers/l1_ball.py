"""A private primal player on the ball ||w||_1 <= R that moves in a metric of its own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.privacy import ChargedDraws
from privlp.solvers.game import Released
from privlp.solvers.rounds import weight_of_round

FloatArray = npt.NDArray[np.float64]

_ITERATIONS = 2_000
_SMALL_CHANGE = 1e-13


class L1BallPlayer:
    """Releases a p-vector of scores each round, and follows it by accelerated mirror descent on ||w||_1 <= radius.

    Scores are taken in coordinates v, w = root v. With theta_t = 2/(t + 2) the duals see y = (1 - theta) x + theta z; z minimises
    ||v||_2^2/2 - step v·(sum of scores/theta) over the ball; x becomes (1 - theta) x + theta z (Nesterov's method, Tseng 2008).
    Round t counts 1/theta_t. One number is released for each feature, whichever its sign.

    Parameters
    ----------
    release : ChargedDraws
        Paid draws of an additive mechanism over p numbers, one for each round.
    root : (p, p) array
        Invertible, public or released.
    step : float
        Step per unit of score.
    radius : float
        R.
    """

    def __init__(self, release: ChargedDraws, root: FloatArray, step: float, radius: float) -> None:
        self._release, self._root, self._step, self._radius = release, root, step, radius
        inverse = np.linalg.inv(root)
        self._metric = inverse.T @ inverse
        self._curvature = float(np.linalg.norm(self._metric, 2))
        self._sum, self._average, self._ahead = np.zeros((3, len(root)))
        self._round = 0

    @property
    def point(self) -> FloatArray:
        """Where the duals look next."""
        theta = 1 / weight_of_round(self._round)
        return (1 - theta) * self._average + theta * self._ahead

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release the scores, and move."""
        theta = 1 / weight_of_round(self._round)
        self._sum += self._release(scores) / theta
        self._ahead = self._nearest(self._root @ (self._step * self._sum))
        self._average = (1 - theta) * self._average + theta * self._ahead
        self._round += 1
        return self.point

    def released(self) -> Released:
        """The average of the points of all rounds, later ones counting more."""
        return Released(self._average, None)

    def _nearest(self, w: FloatArray) -> FloatArray:
        """The point of the ball nearest to w in the metric: accelerated projected gradient from the last one, with restarts."""
        if np.abs(w).sum() <= self._radius:
            return w
        best = previous = point = onto_l1_ball(self._ahead, self._radius)
        momentum = 1.0
        for _ in range(_ITERATIONS):
            best = onto_l1_ball(point - self._metric @ (point - w) / self._curvature, self._radius)
            change = best - previous
            if np.abs(change).max() <= _SMALL_CHANGE * self._radius:
                break
            if (point - best) @ change > 0:
                momentum = 1.0
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            point, previous, momentum = best + (momentum - 1) / following * change, best, following
        return best


def onto_l1_ball(w: FloatArray, radius: float) -> FloatArray:
    """The point of ||w||_1 <= radius nearest to w in Euclidean distance (Duchi, Shalev-Shwartz, Singer and Chandra 2008).

    Examples
    --------
    >>> onto_l1_ball(np.array([3.0, -1.0, 0.5]), 3.0)
    array([ 2.5, -0.5,  0. ])
    """
    sizes = np.abs(w)
    if sizes.sum() <= radius:
        return w
    falling = np.sort(sizes)[::-1]
    thresholds = (np.cumsum(falling) - radius) / np.arange(1, len(w) + 1)
    threshold = thresholds[np.flatnonzero(falling > thresholds)[-1]]
    return np.sign(w) * np.maximum(sizes - threshold, 0.0)
