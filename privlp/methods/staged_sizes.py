"""Regions of all sizes of the objective, for a search of the optimum."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError
from privlp.methods.task import Task
from privlp.regions.simplex import Simplex

FloatArray = npt.NDArray[np.float64]

# Sizes are looked for within this factor (its logarithm) of the first guess; a hint is
# believed by this much for each factor of e beyond it.
_WIDE, _BELIEF = 21.0, 0.5


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
        #: Places between which V is likely.
        self.hint: tuple[float, float] | None = None
        # Without a hint: variables near 1.
        centre = math.log(max(float(np.abs(cost).sum()), 1e-150)) * self._sign
        if hint is not None and not all(map(math.isfinite, hint)):
            raise InvalidParameterError(
                f"opt must be a finite number, got {hint!r}.", parameter="opt"
            )
        if hint is not None:
            likely = [self._sign * self._form.cost_of(value) for value in hint]
            known = sorted(self._sign * math.log(value) for value in likely if value > 0)
            if known:
                self.hint = known[0], known[-1]
                centre = sum(self.hint) / 2
        self.ends = centre - _WIDE, centre + _WIDE
        self.middle = centre
        for end in self.ends:  # refuses regions that are no simplices
            self.region(end)

    def value(self, place: float) -> float:
        """The objective at a place."""
        return self._at_bounds + self._form.lp.sign * self._cost(place)

    def _cost(self, place: float) -> float:
        return self._sign * math.exp(self._sign * place)

    def region(self, place: float) -> Simplex:
        """The region at a place."""
        return Simplex(self._form, None, cost=self._cost(place))

    def point(self, place: float, share: FloatArray) -> FloatArray:
        """The user's x of these shares at a place."""
        return self._form.undo(self.region(place).point(share))

    def objective(self, x: FloatArray) -> float:
        """The objective of x."""
        return float(self._form.lp.objective(x))

    def prior(self, places: FloatArray) -> FloatArray:
        """Logarithm of the belief at places before any count."""
        if self.hint is None:
            return np.zeros_like(places)
        low, high = self.hint
        return -_BELIEF * (np.maximum(low - places, 0.0) + np.maximum(places - high, 0.0))
