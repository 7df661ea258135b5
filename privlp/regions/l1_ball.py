"""The ball ||w||_1 <= R, and a mirror map on it with a metric of its own."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
_ITERATIONS = 2_000
_SMALL_CHANGE = 1e-13


class L1Ball:
    """Mirror map on ||w||_1 <= radius with Euclidean distances in the coordinates v, w = root v.

    Scores are taken in the coordinates v; `root` is invertible, public or released. For a total of
    scores the point is the minimiser of ||v||_2^2/2 - step v·total over the ball. One number is
    released for each feature, whatever its sign.
    """

    def __init__(self, root: FloatArray, step: float, radius: float) -> None:
        self._root, self._step, self._radius, self.size = root, step, radius, len(root)
        inverse = np.linalg.inv(root)
        self._metric = inverse.T @ inverse
        self._curvature = float(np.linalg.norm(self._metric, 2))
        self._last = np.zeros(self.size)

    def start(self) -> FloatArray:
        """The centre."""
        return np.zeros(self.size)

    def towards(self, total: FloatArray) -> FloatArray:
        """The point of the ball nearest to step * total. The next search starts there."""
        self._last = self._nearest(self._root @ (self._step * total))
        return self._last

    def seen(self, point: FloatArray) -> FloatArray:
        """The point itself."""
        return point

    def undo(self, seen: FloatArray) -> FloatArray:
        """The point itself."""
        return seen

    def objective(self, x: FloatArray) -> None:
        """None: the ball has no costs."""

    def _nearest(self, w: FloatArray) -> FloatArray:
        """The nearest point of the ball in the metric: accelerated projected gradient."""
        if np.abs(w).sum() <= self._radius:
            return w
        best = previous = point = onto_l1_ball(self._last, self._radius)
        momentum, small = 1.0, _SMALL_CHANGE * self._radius
        for _ in range(_ITERATIONS):
            best = onto_l1_ball(point - self._metric @ (point - w) / self._curvature, self._radius)
            change = best - previous
            if np.maximum.reduce(np.abs(change)) <= small:
                break
            if (point - best) @ change > 0:
                momentum = 1.0
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            point, previous, momentum = best + (momentum - 1) / following * change, best, following
        return best


def onto_l1_ball(w: FloatArray, radius: float) -> FloatArray:
    """The point of ||w||_1 <= radius nearest to w (Duchi, Shalev-Shwartz et al. 2008)."""
    sizes = np.abs(w)
    if np.add.reduce(sizes) <= radius:
        return w
    falling = np.sort(sizes)[::-1]
    thresholds = (falling.cumsum() - radius) / np.arange(1.0, len(w) + 1)
    beyond = (falling > thresholds)[::-1]
    sizes -= thresholds[len(w) - 1 - int(beyond.argmax())]
    np.maximum(sizes, 0.0, out=sizes)
    return np.asarray(np.sign(w) * sizes)
