"""A mirror map on a polytope: the mean of the best vertices under random perturbations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.regions.oracle import Leader
from privlp.regions.polytope import PublicPolytope

FloatArray = npt.NDArray[np.float64]


class PerturbedLeader:
    """The mean of vertices of K that are best under random perturbations.

    Each vertex minimises -step * total - G for Gumbel noise G of its own. In expectation over G
    the mean is the gradient of a smoothed support function of K (Kalai and Vempala 2005; Abernethy,
    Lee, Sinha and Tewari 2014). On a simplex it is the point of entropic mirror descent. The
    perturbations are public and protect nothing. Without them the best vertex of the sums would
    jump from vertex to vertex.
    """

    def __init__(self, region: PublicPolytope, step: float, *, vertices: int) -> None:
        self._region, self._step, self._vertices = region, step, vertices
        self.size = region.size
        self._leader, self._rng = region.leader(), np.random.default_rng(0)
        self._last = region.middle

    def start(self) -> FloatArray:
        """The mean of vertices that are best under perturbations alone."""
        return self._mean(np.zeros(self.size))

    def towards(self, total: FloatArray) -> FloatArray:
        """The mean of vertices that are best for a total."""
        return self._mean(self._step * -total)

    def seen(self, point: FloatArray) -> FloatArray:
        """The point itself."""
        return point

    def undo(self, seen: FloatArray) -> FloatArray:
        """The point, clipped to its bounds: HiGHS keeps to them within a tolerance only."""
        return np.clip(seen, *self._region.form.lp.bounds.T)

    def objective(self, x: FloatArray) -> float:
        """The objective, whose costs are public."""
        return self._region.form.lp.objective(x)

    def _mean(self, cost: FloatArray) -> FloatArray:
        """The mean of the best vertices; the last mean if HiGHS finds none."""
        self._last = mean_leader(self._leader, cost, self._vertices, self._rng, self._last)
        return self._last


def mean_leader(
    leader: Leader, cost: FloatArray, count: int, rng: np.random.Generator, otherwise: FloatArray
) -> FloatArray:
    """The mean of vertices of K that are best for a cost under Gumbel perturbations.

    `otherwise` if HiGHS finds none.
    """
    mean = leader.mean_of_best(cost - rng.gumbel(size=(count, len(cost))))
    return otherwise if mean is None else mean
