"""Noisy counts of missed rows: a search for where they fall to a target, and for its answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import repeat
from typing import Any

import numpy as np
from scipy.special import ndtr

from privlp.checks import FloatArray
from privlp.errors import MissedRowsWarning, MostlyNoiseWarning, UnsupportedProblemError
from privlp.game.loop import Released
from privlp.methods.base import ChargeRequest
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.rows.access import Grid, Rows
from privlp.rows.program_rows import OF_SOLVERS, SHARE, MeasuredRows
from privlp.status import MissedRows, Status


def grid_of(request: SolveRequest) -> Grid:
    """The grid on which sums over the rows are exact; too many rows are refused."""
    try:
        return Grid.of(request.largest_n)
    except OverflowError as error:
        raise UnsupportedProblemError(str(error)) from None


def noise_of_one_release(request: SolveRequest) -> float:
    """Deviation, per unit of sensitivity, of a single Gaussian release at the whole budget."""
    grid_of(request)
    request.require_delta()
    ledger = request.ledger
    return request.public.once(
        ("noise of one release", ledger),
        lambda: ledger.calibrate(lambda intensity: GaussianMechanism(1.0, 1 / intensity), 1).sigma,
    )


class NoisyCounts:
    """Counts of rows with a property, each released by a charged draw."""

    def __init__(self, rows: Rows[Any], kernel: Callable[..., int], draw: ChargedDraws) -> None:
        self._rows, self._kernel, self._draw = rows, kernel, draw
        self.sigma, self.left = draw.sigma, draw.remaining

    def __call__(self, *released: Any) -> float:
        self.left -= 1
        return float(self._draw(float(self._rows.total(self._kernel, *released))))

    def first_below(
        self, target: float, path: Callable[[float], Any], low: float, high: float
    ) -> tuple[float, float]:
        """About the least t at which the count is at most the target, and the count there."""
        found = math.inf
        while self.left:
            middle = 0.5 * (low + high)
            count = self(path(middle))
            if count <= target:
                high, found = middle, count
            else:
                low = middle
        return high, found


# How fast the logarithm of the count may fall, per unit of the path.
_SLOPES = np.geomspace(1.0, 256.0, 9)
# Deviation of true counts from an exponential, as a share of them, one slope's length away or more.
_MISFIT = 0.3
_FAR = 50.0  # Farther away, in slopes, an exponential counts as it does there.
_SIDE = 0.05  # Weight of what a count says if only its side of the target is believed.
_NOTHING = -690.0  # Logarithm of a weight that no sum with a weight of 1 notices.
# The last counts are made on the safe side, where the target is kept with this probability.
_LAST, _SAFE = 3, 0.9
# A count so many deviations below its target makes its place a safe one, whatever the model.
_FAR_BELOW = 2.0


class TargetSearch:
    """Where a count that falls along a path reaches a target: probabilistic bisection.

    Near the place t* where it does, the count is taken to be target * exp(-b (t - t*)) for a slope
    b of at least `least_slope`, up to a misfit; or, for robustness, anything that falls. A
    posterior over t* and b is kept, from released counts alone, whose noise has the deviation
    `sigma`, and which are at most `most`. Half of the prior lies between the places `likely`: if
    they are wrong, two good counts make up for it. Places are denser at the low end, by `power`.
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
        self.target, self.most, self._exact = target, most, sigma == 0
        # Exact counts are told apart to a thousandth of the target.
        self._sigma = max(sigma, 1e-3 * max(target, 1.0))
        self._places = low + (high - low) * np.linspace(0.0, 1.0, places) ** power
        self._slopes = _SLOPES[least_slope <= _SLOPES]
        self._log = np.zeros((places, len(self._slopes)))
        self._fallen = 0.0, np.empty(0, dtype=np.intp)
        # So far ahead the count is the largest there is, and so far behind it no longer changes.
        largest = max(math.log(max(most / max(target, 1e-300), 1.0)) + 1e-9, 1.0)
        self._far = np.array([-_FAR, min(largest, _FAR)]) * (1 + 1e-9) / self._slopes[0]
        if likely is not None:
            inside = (self._places >= likely[0]) & (self._places <= likely[1])
            if inside.any():
                self._log[inside] = math.log1p(places / np.count_nonzero(inside))

    def learn(self, t: float, count: float, sigma: float = 0.0) -> None:
        """Learn from a noisy count at a place; it may have noise of its own."""
        sigma = max(sigma, self._sigma)
        # Farther behind or ahead all places are alike: one of them stands for the others.
        low, high = np.searchsorted(self._places, t + self._far).tolist()
        some = slice(max(low - 1, 0), high + 1)
        # How far ahead t* is, in slopes, for each t* and b.
        ahead = self._slopes * (self._places[some, None] - t)
        near = np.abs(ahead) < _FAR
        # All that are far behind, all that are far ahead, and the others.
        told = self._log_of(np.concatenate([[-_FAR, _FAR], ahead[near]]), count, sigma)
        found = np.where(ahead > 0, told[1], told[0])
        found[near] = told[2:]
        self._log[: some.start] += found[0]
        self._log[some] += found
        self._log[some.stop :] += found[-1]
        self._log -= self._log.max()
        self.__dict__.pop("_weights", None)

    def _log_of(self, ahead: FloatArray, count: float, sigma: float) -> FloatArray:
        """The logarithm of what a noisy count says, where t* is so far ahead, in slopes."""
        mean = np.minimum(self.target * np.exp(ahead), self.most)
        misfit = _MISFIT * mean * np.minimum(1.0, np.abs(ahead))
        deviation = np.sqrt(sigma**2 + misfit**2)
        fit = np.exp(-0.5 * ((count - mean) / deviation) ** 2) * sigma / deviation
        behind, before = ndtr((self.target - count) / sigma), ndtr((count - self.target) / sigma)
        return np.log(fit + _SIDE * np.where(ahead > 0, before, behind) + 1e-300)

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray, float]:
        """The posterior but for a factor, its sums up to each place, and that of all places."""
        # What is next to nothing is as slow as it is of no use.
        weights = np.exp(np.maximum(self._log, _NOTHING))
        by_place = weights.sum(axis=1)
        return weights, np.cumsum(by_place), float(by_place.sum())

    def _place(self, up_to: FloatArray, weight: float) -> float:
        """The place where the weight of those up to it reaches a weight."""
        return float(self._places[min(int(np.searchsorted(up_to, weight)), len(self._places) - 1)])

    def quantile(self, probability: float) -> float:
        """The least place that is past t* with this probability."""
        _, up_to, total = self._weights
        return self._place(up_to, probability * total)

    def quantile_of(self, count: float, probability: float) -> float:
        """The least place where the count has fallen to this one with this probability."""
        weights = self._weights[0]
        if self._fallen[0] != count:
            further = math.log(max(self.target / count, 1e-300)) / self._slopes
            at = np.searchsorted(self._places, self._places[:, None] + further)
            self._fallen = count, at.ravel()
        by_place = np.bincount(self._fallen[1], weights.ravel(), len(self._places) + 1)
        return self._place(np.cumsum(by_place), probability * float(weights.sum()))

    @property
    def median(self) -> float:
        """The median of t*."""
        return self.quantile(0.5)

    def search(
        self, count: Callable[[float], float], number: int, probability: float = 0.5
    ) -> float:
        """The place that is past t* with this probability, after so many counts."""
        safe_places = [np.inf]
        for k in range(number):
            safe = probability > 0.5 and k >= number - _LAST
            t = self.quantile(_SAFE if safe else 0.5)
            found = count(t)
            self.learn(t, found)
            if found <= self.target - (0 if self._exact else _FAR_BELOW * self._sigma):
                safe_places.append(t)
        place = self.quantile(probability)
        if self._exact and min(safe_places) < np.inf:
            return min(safe_places)
        return min(place, *safe_places) if probability > 0.5 else place


class StagedSearch(ABC):
    """Stages with a trace; `known` holds points after a number that they hardly ever exceed."""

    def __init__(self, request: SolveRequest, rounds: int, x: FloatArray) -> None:
        self.rounds, self._x, self._lp = rounds, x, request.lp
        self.known: list[tuple[float, FloatArray]] = []
        #: The method whose search it is, if another one took its place; or nothing.
        self.method = ""
        #: What to say of a point where the search ends because nothing has limited it; or nothing.
        self.far: Callable[[FloatArray], str] = lambda _: ""
        self._trace: dict[str, list[Any]] = {}
        self._prices: FloatArray | None = None
        self._warning = ""
        self._steps = self._play()

    @abstractmethod
    def _play(self) -> Iterator[None]:
        """Play all rounds, with a stop after each."""

    def step(self, t: int) -> None:  # noqa: ARG002 (the stages follow one another)
        """Play the next round."""
        next(self._steps)

    def _note(self, name: str, value: Any) -> None:
        self._trace.setdefault(name, []).append(value)

    def released(self) -> Released:
        """The last point, with those on the way."""
        return Released(
            self._x,
            self._lp.objective(self._x),
            {name: np.array(values) for name, values in self._trace.items()},
            prices=self._prices,
            warning=self._warning,
            category=MostlyNoiseWarning,
        )


# Two counts. Their mean tells rows missed to this share of s, as far as these shares of the budget
# allow it.
_COUNTS, _OF_S, _LEAST, _MOST = 2, 0.04, 0.005, 0.06
_SURELY = 2.0  # A point is given up if its count exceeds s by so many deviations.
# A last search aims at a share of s between these.
_LEAST_TARGET, _MOST_TARGET = 0.8, 0.95


def share_of_check(request: SolveRequest, s: float) -> float:
    """The share of the budget, from public numbers."""
    v, noise = request.public.vectors_of_one_record, noise_of_one_release(request)
    share = (MissedRows.doubt(v * noise) / (_OF_S * s)) ** 2
    return min(max(share, _LEAST), _MOST)


def check_request(request: SolveRequest, share: float, intensity: float) -> ChargeRequest:
    """What a share of the budget buys, where the whole budget allows this intensity."""
    v = float(request.public.vectors_of_one_record)
    sigma = v * math.sqrt(_COUNTS / share) / intensity
    return GaussianMechanism(v, sigma), _COUNTS, "count the rows that the answer misses"


def last_target(request: SolveRequest, requests: Sequence[ChargeRequest]) -> float:
    """Rows that a last search may miss: so few that the check can tell that s are not passed."""
    mechanism, number, _ = requests[-1]
    sigma = float(mechanism.sigma) / math.sqrt(number)  # type: ignore[attr-defined]
    s = request.density()
    return min(max(s - MissedRows.doubt(sigma), _LEAST_TARGET * s), _MOST_TARGET * s)


class Checked:
    """A search, then two counts at its point, or at a cheaper or safer one that they speak for."""

    def __init__(
        self, request: SolveRequest, rows: Rows[Any], search: StagedSearch, draw: ChargedDraws
    ) -> None:
        self.search, self._request = search, request
        share = SHARE if request.has_noise else OF_SOLVERS
        measured = rows.keep(partial(MeasuredRows, alpha=request.accuracy(), share=share))
        self._counts = NoisyCounts(measured, MeasuredRows.missed, draw)
        self.rounds = search.rounds + 1
        self._released: Released | None = None

    def step(self, t: int) -> None:
        """The next round of the search, or at last the counts."""
        if t + 1 < self.rounds:
            self.search.step(t)
            return
        s, counts, sigma = self._request.density(), self._counts, self._counts.sigma
        found = self.search.released()
        x = np.asarray(found.x)
        if sigma > 0:
            x = self._cheapest(s, x)
        first = counts(x)
        bound, other = self._other(s, x)
        if sigma > 0 and first > s + _SURELY * sigma and bound < first:
            x = other
            mean = counts(x)
        else:
            mean, sigma = 0.5 * (first + counts(x)), sigma / math.sqrt(2)
        most = self._request.most_missed
        missed = MissedRows.of(mean, sigma, most)
        of_missed = missed.warning(s, self._request.ledger.eps, most)
        far = self.search.far(x)
        self._released = replace(
            found,
            x=x,
            objective=self._request.lp.objective(x),
            missed=missed,
            method=self.search.method,
            status=Status.UNBOUNDED if far else found.status,
            warning=" ".join(filter(None, (far, of_missed, found.warning))),
            category=MissedRowsWarning if of_missed and not far else found.category,
        )

    def _cost(self, x: FloatArray) -> float:
        return self._request.lp.sign * self._request.lp.objective(x)

    def _cheapest(self, s: float, x: FloatArray) -> FloatArray:
        """Of the point found, and those that hardly miss more than s rows, the best."""
        few = [at for bound, at in self.search.known if bound <= _LEAST_TARGET * s]
        return min([x, *few], key=self._cost)

    def _other(self, s: float, x: FloatArray) -> tuple[float, FloatArray]:
        """The best point that hardly misses more than s rows, or else the safest one."""
        few = [known for known in self.search.known if known[0] <= s]
        if few:
            return min(few, key=lambda known: self._cost(known[1]))
        return min(self.search.known, key=lambda known: known[0], default=(math.inf, x))

    def released(self) -> Released:
        """The point, and how many rows it misses."""
        return self.search.released() if self._released is None else self._released


_EXACT = 2.0**-10  # Products of counts and multiples of this are exact.


class CountsOfSums:
    """Counts by the draws charged for them, each together with a part of the draws of other sums.

    What moves by Delta at most pays for a count that moves by k: released is the count times
    Delta/k, rounded down so that products are exact. Each draw counts by its precision, and about
    as much of that is used for each count.
    """

    def __init__(self, own: ChargedDraws, others: Sequence[ChargedDraws], k: float) -> None:
        self.remaining = self._number = own.remaining
        self._draws: list[tuple[float, int, float, ChargedDraws]] = []  # by when they are used
        for draw in (own, *others):
            sensitivity: float = draw.mechanism.sensitivity
            times = math.floor(sensitivity / k / _EXACT) * _EXACT
            precisions = (times / np.array(draw.deviations())) ** 2
            used = np.cumsum(precisions) / precisions.sum()
            self._draws += zip(
                used - _EXACT, np.full(len(used), times), precisions, repeat(draw), strict=False
            )
        self._draws.sort(key=lambda found: found[0], reverse=True)
        #: The deviation of a count: about the same for all.
        self.sigma = math.sqrt(self._number / math.fsum(found[2] for found in self._draws))

    def __call__(self, count: float) -> float:
        self.remaining -= 1
        end, total, precision = 1 - self.remaining / self._number, 0.0, 0.0
        while self._draws and self._draws[-1][0] <= end:
            _, times, weight, draw = self._draws.pop()
            total += weight * float(draw(times * count)) / times
            precision += weight
        return total / precision
