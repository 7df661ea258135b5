"""A mirror map on a polytope: the mean of the best vertices under random perturbations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.regions.polytope import Leader, PublicPolytope

FloatArray = npt.NDArray[np.float64]


class PerturbedLeader:
    """Points to the mean of vertices of K that are best under perturbations of their own.

    Each vertex minimises -step * total - G for Gumbel noise G of its own. In expectation over G
    the mean is the gradient of a smoothed support function of K (Kalai and Vempala 2005; Abernethy,
    Lee, Sinha and Tewari 2014). On a simplex it is the point of entropic mirror descent. The
    perturbations are public: they protect nothing, but without them a leader of exact sums jumps
    from vertex to vertex.

    Parameters
    ----------
    region : PublicPolytope
        K.
    step : float
        Step per row, the variables in units of their ranges.
    vertices : int
        Number of vertices that a mean is taken over.
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
        """The mean of the leaders of a total."""
        return self._mean(self._step * -total)

    def seen(self, point: FloatArray) -> FloatArray:
        """The point itself."""
        return point

    def undo(self, seen: FloatArray) -> FloatArray:
        """The point within its bounds, which HiGHS keeps to its tolerance only."""
        return np.clip(seen, *self._region.form.lp.bounds.T)

    def objective(self, x: FloatArray) -> float:
        """The value of public costs."""
        return self._region.form.lp.objective(x)

    def _mean(self, cost: FloatArray) -> FloatArray:
        """The mean of the best vertices; the last one where HiGHS finds none."""
        self._last = mean_leader(self._leader, cost, self._vertices, self._rng, self._last)
        return self._last


def mean_leader(
    leader: Leader, cost: FloatArray, count: int, rng: np.random.Generator, otherwise: FloatArray
) -> FloatArray:
    """The mean of vertices of K that are best for a cost under Gumbel perturbations.

    `otherwise` where HiGHS finds none.
    """
    mean = leader.mean_of_best(cost - rng.gumbel(size=(count, len(cost))))
    return otherwise if mean is None else mean
