"""Regions of all sizes of the objective, for a search of the optimum."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.methods.task import Task
from privlp.problem.data import ProgramData
from privlp.regions.simplex import Simplex

FloatArray = npt.NDArray[np.float64]

# Sizes are looked for within this factor (its logarithm) of variables near 1. A hint farther off
# than the second takes their place.
_WIDE, _FARTHEST_HINT = 21.0, 14.0
# The first size, at equal shares, is likely between these factors of a hint (their logarithms).
_START = (-1.5, 3.0)


class Sizes:
    """Regions {u >= 0, cost·u = V} for all V, by place: the logarithm of |V|.

    Where larger V help rows, a place is log|V|; where they hurt, it is -log|V|. So fewer rows are
    missed at later places.

    Parameters
    ----------
    task : Task
    hint : (float, float) or None
        Objectives between which the optimum is likely. Those that no u >= 0 reaches are left out.

    Raises
    ------
    UnsupportedProblemError
        If the regions are no simplices.
    """

    def __init__(self, task: Task, hint: tuple[float, float] | None) -> None:
        self._form = task.form
        cost = self._form.cost
        self._sign = -1.0 if cost.size and cost[0] < 0 else 1.0
        self._at_bounds = task.lp.objective(self._form.shift)
        #: The place of a hint, or of the largest size; None if neither is known.
        self.likely: float | None = None
        #: Between these places the stages likely begin; None without a hint.
        self.likely_start: tuple[float, float] | None = None
        # Without a hint: variables near 1.
        centre = math.log(max(float(np.abs(cost).sum()), 1e-150)) * self._sign
        if hint is not None:
            likely = [self._sign * self._form.cost_of(value) for value in hint]
            known = sorted(self._sign * math.log(value) for value in likely if value > 0)
            if known:
                self.likely = (known[0] + known[-1]) / 2
                self.likely_start = known[0] + _START[0], known[-1] + _START[1]
                if abs(self.likely - centre) > _FARTHEST_HINT:
                    centre = self.likely
        smallest, largest = self._bounds(task)
        places = sorted(
            self._sign * math.log(size) if 0 < size < math.inf else self._sign * end
            for size, end in ((smallest, -math.inf), (largest, math.inf))
        )
        if self.likely is None and largest < math.inf:
            self.likely = self._sign * math.log(largest)
        self.middle = min(max(centre, places[0]), places[1])
        self.ends = max(places[0], self.middle - _WIDE), min(places[1], self.middle + _WIDE)
        for end in self.ends:  # refuses regions that are no simplices
            self.region(end)

    def value(self, place: float) -> float:
        """The objective at a place."""
        return self._at_bounds + self._form.lp.sign * self._cost(place)

    def _cost(self, place: float) -> float:
        return self._sign * math.exp(self._sign * place)

    def region(self, place: float) -> Simplex:
        """The region at a place."""
        return Simplex(self._form, None, cost=self._cost(place), capped=True)

    def _bounds(self, task: Task) -> tuple[float, float]:
        """The sizes that bounds of variables and public rows allow.

        Raises
        ------
        UnsupportedProblemError
            If a public row does more than to bound the objective, or they leave one size.
        """
        cost = self._form.cost
        smallest, largest = 0.0, float(np.abs(cost) @ self._form.upper) if cost.all() else 0.0
        if self._form.has_public_rows:
            ends = [self._sign * self._form.cost_of(end) for end in objective_range(task.lp)]
            smallest, largest = max(smallest, min(ends)), min(largest, max(ends))
        if not smallest < largest:
            raise UnsupportedProblemError(
                "method='staged' needs costs that are not 0, and bounds of variables and public"
                " rows that leave more than one objective.",
                parameter="method",
            )
        return smallest, largest

    def point(self, place: float, share: FloatArray) -> FloatArray:
        """The user's x of these shares at a place."""
        region = self.region(place)
        return self._form.undo(region.point(region.nearest(share)))

    def objective(self, x: FloatArray) -> float:
        """The objective of x."""
        return float(self._form.lp.objective(x))


def objective_range(lp: ProgramData) -> tuple[float, float]:
    """Between which objectives public rows keep; they may do no more.

    Raises
    ------
    UnsupportedProblemError
        If a public row is no multiple of the costs.
    """
    low, high = -math.inf, math.inf
    square = float(lp.c @ lp.c)
    for i in np.flatnonzero(~lp.private):
        row = lp.A[[i], :].toarray().ravel() if lp.is_sparse else lp.A[i]
        times = float(row @ lp.c) / square if square > 0 else 0.0
        if times == 0 or not np.allclose(row, times * lp.c, rtol=1e-9, atol=0.0):
            raise UnsupportedProblemError(
                "method='staged' takes public rows only if they bound the objective, and a public"
                " row does more here. Use method='perturbed'.",
                parameter="method",
            )
        ends = sorted([float(lp.row_lower[i]) / times, float(lp.b[i]) / times])
        low, high = max(low, ends[0] + lp.offset), min(high, ends[1] + lp.offset)
    return low, high
