"""Where a count that falls along a path reaches a target, from noisy counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

FloatArray = npt.NDArray[np.float64]

# How fast the logarithm of the count may fall, per unit of the path.
_SLOPES = np.geomspace(1.0, 256.0, 9)
# Deviation of true counts from an exponential, as a share of them, one slope's length away or more.
_MISFIT = 0.3
# Weight of what a count says if only its side of the target is believed.
_SIDE = 0.05
# The last counts are made on the safe side, where the target is kept with this probability.
_LAST, _SAFE = 3, 0.9
# A count so many deviations below its target makes its place a safe one, whatever the model.
_FAR_BELOW = 2.0
# A count hardly exceeds what is believed with this probability.
_SURE = 0.95


class Crossing:
    """Belief about the place t at which a count falls to a target, from noisy counts.

    Near its crossing t* the count is taken to be target * exp(-b (t - t*)) for some slope b, up to
    a misfit; or, for robustness, anything that falls. All of it is computed from released counts.

    Parameters
    ----------
    target : float
        The count at the crossing.
    low, high : float
        The crossing is looked for between these.
    sigma : float
        Deviation of the noise of a count; 0 for exact ones.
    most : float
        Bound on the count, public.
    places : int, optional
        Number of places between low and high that are told apart.
    power : float, optional
        Places become denser towards the low end by this power; 1 for equal distances.
    likely : (float, float), optional
        Two places between which the crossing is expected. Half of the belief begins there, the
        other half is even; so if they are wrong, two good counts or so make up for it.
    least_slope : float, optional
        The logarithm of the count falls at least so fast.

    Examples
    --------
    >>> crossing = Crossing(100.0, -3.0, 3.0, sigma=5.0, most=1000.0)
    >>> for _ in range(8):
    ...     t = crossing.middle
    ...     crossing.learn(t, 100.0 * np.exp(-4 * (t - 1.0)))
    >>> abs(crossing.middle - 1.0) < 0.05, crossing.surely(0.97) >= crossing.middle
    (True, True)
    """

    def __init__(
        self,
        target: float,
        low: float,
        high: float,
        *,
        sigma: float,
        most: float,
        places: int = 400,
        power: float = 1.0,
        likely: tuple[float, float] | None = None,
        least_slope: float = 1.0,
    ) -> None:
        self.target, self._most = target, most
        # Exact counts are told apart to a thousandth of the target.
        self._sigma = max(sigma, 1e-3 * max(target, 1.0))
        self._places = low + (high - low) * np.linspace(0.0, 1.0, places) ** power
        self._slopes = _SLOPES[least_slope <= _SLOPES]
        self._log = np.zeros((places, len(self._slopes)))
        if likely is not None:
            inside = (self._places >= likely[0]) & (self._places <= likely[1])
            if inside.any():
                self._log[inside] = math.log1p(places / np.count_nonzero(inside))

    def learn(self, t: float, count: float, sigma: float = 0.0) -> None:
        """Learn from a noisy count at a place; it may have noise of its own."""
        sigma = max(sigma, self._sigma)
        ahead = self._slopes * (self._places[:, None] - t)
        mean = np.minimum(self.target * np.exp(np.clip(ahead, -50.0, 50.0)), self._most)
        misfit = _MISFIT * mean * np.minimum(1.0, np.abs(ahead))
        deviation = np.sqrt(sigma**2 + misfit**2)
        fit = np.exp(-0.5 * ((count - mean) / deviation) ** 2) * sigma / deviation
        side = np.where(self._places > t, 1.0, -1.0) * (count - self.target) / sigma
        self._log += np.log(fit + _SIDE * ndtr(side)[:, None] + 1e-300)
        self._log -= self._log.max()

    def surely(self, probability: float) -> float:
        """The least place that is believed to be past the crossing with this probability."""
        belief = np.exp(self._log).sum(axis=1)
        place = np.searchsorted(np.cumsum(belief), probability * belief.sum())
        return float(self._places[min(int(place), len(self._places) - 1)])

    def past(self, count: float, probability: float) -> float:
        """The least place where the count is believed to have fallen to this one, as surely."""
        belief = np.exp(self._log)
        further = math.log(max(self.target / count, 1e-300)) / self._slopes
        at = np.searchsorted(self._places, self._places[:, None] + further)
        by_place = np.bincount(at.ravel(), belief.ravel(), len(self._places) + 1)
        place = np.searchsorted(np.cumsum(by_place), probability * belief.sum())
        return float(self._places[min(int(place), len(self._places) - 1)])

    def most_at(self, t: float) -> float:
        """What the count at a place hardly exceeds, by what is believed."""
        belief = np.exp(self._log).ravel()
        ahead = self._slopes * (self._places[:, None] - t)
        mean = np.minimum(self.target * np.exp(np.clip(ahead, -50.0, 50.0)), self._most).ravel()
        order = np.argsort(mean)
        place = np.searchsorted(np.cumsum(belief[order]), _SURE * belief.sum())
        return float(mean[order[min(int(place), len(order) - 1)]])

    @property
    def middle(self) -> float:
        """The median of the belief."""
        return self.surely(0.5)

    def search(
        self,
        count: Callable[[float], float],
        number: int,
        probability: float = 0.5,
    ) -> float:
        """The place that is surely past the crossing after this number of counts.

        The last counts are made where the target is likely to be kept, if `probability` asks for
        more than a half.
        """
        safe_places = [np.inf]
        for k in range(number):
            safe = probability > 0.5 and k >= number - _LAST
            t = self.surely(_SAFE if safe else 0.5)
            found = count(t)
            self.learn(t, found)
            if found <= self.target - _FAR_BELOW * self._sigma:
                safe_places.append(t)
        place = self.surely(probability)
        return min(place, *safe_places) if probability > 0.5 else place
