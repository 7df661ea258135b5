"""Search for an unknown optimum, over regions that shrink with each released estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.duals.base import WeighedRows
from privlp.duals.elastic import ElasticDual, ElasticRows, Finish
from privlp.errors import PrivLPError
from privlp.methods.base import PlannedRun
from privlp.methods.descent import Descent, noise_of_one_release, requests
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.players.game import Game, PointPlayer, Released
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.regions.mirror_map import Region
from privlp.relations.constraint_private import ConstraintPrivate
from privlp.rows.door import Rows

FloatArray = npt.NDArray[np.float64]

#: Shares of the budget of all stages, for ranges within a factor of 1.5, within a factor of 40, and
#: for all others. All stages but the last one narrow the range.
_STAGES = {1.5: (1.0,), 40.0: (0.1, 0.15, 0.75), math.inf: (0.05, 0.05, 0.05, 0.1, 0.75)}
# The price of a unit of violation is V over this share of the s rows, or V over this many times the
# noise that a stage leaves in the sum of violations, before the last stage and in it. The error of
# the objective is the price times this noise.
_SHARE_OF_S = 0.5
_NOISE_OF_A_PRICE, _NOISE_OF_THE_LAST = 4.0, 2.0
_SHARE_OF_THE_COUNTS = 0.03
# Each stage searches up to this multiple of the value found before, or up to twice that if the
# point found violates too many rows, and no less than this share of the range.
_MARGIN, _LARGEST_EXCESS, _LEAST_SHARE = 1.5, 2.0, 0.01
# Violations within this multiple of the predicted error may be noise. Larger ones, and those beyond
# the widest softness, call for a higher price.
_BEYOND_NOISE = 4.0
_LARGEST_FACTOR = 64.0
# The softness is at most this share of the amount by which rows vary from vertex to vertex.
_WIDEST = 0.25
# Loss of objective over the predicted error of all rows together, as measured in
# docs/results/covering.md.
_TYPICAL_LOSS, _TYPICAL_OPTIMUM = 0.25, 0.1


class Regions(Protocol):
    """Regions {low <= size of the objective <= V}, each with its rows and its player.

    The size is the distance of the objective from a public reference.
    """

    #: Public range of V: low and high.
    ends: tuple[float, float]

    @property
    def region(self) -> Region:
        """The largest region."""

    def stage(
        self, value: float, price: float, descent: Descent, release: ChargedDraws
    ) -> tuple[Callable[[Any], WeighedRows], PointPlayer, Finish | None]:
        """How blocks become rows of a stage on the region of this V, and its player.

        And what is made of a sum over all rows, if anything. `price` is that of a unit of
        violation.
        """

    def size(self, point: FloatArray) -> float:
        """The V of a point."""


def plan_search(
    task: Task, relation: ConstraintPrivate, regions: Regions, method: str, **options: Any
) -> PlannedRun:
    """Minimise costs + price (sum of violations) over regions, for an optimum in a public range.

    *Exact penalty.* If no dual price of a scaled row exceeds `price`, the minimum is the optimum of
    the program. The first price is 2 V/s for a unit of violation: at this price half of s rows,
    violated by one unit each, would cost as much as the objective. It is V over four times the
    noise that a stage leaves in the sum of violations (twice, in the last stage), if that is less.

    *Stages.* The noise of a release, times the price, is an error in the objective, a share of V.
    So the first stage takes the upper end of the range for V, and each later one 1.5 times the
    value found before, within the range. A noisy count of the rows that the stage's point violates
    beyond a public threshold says whether the price, and with it V, was too low. If the count
    exceeds s, V is multiplied by count/s, at most 2, and the price by (count/s)^2, at most 64. The
    shares of the budget follow from the range. No stage leaves the range, at either end.

    *Sensitivity.* Each stage is a descent with elastic duals on its own region, as in
    :class:`~privlp.methods.mirror.Mirror` and
    :class:`~privlp.methods.ftpl.FollowThePerturbedLeader`. A count changes by at most k, the rows
    of one record. Costs are public and have no noise.

    *Budget.* Descents and counts are charged to one ledger before the first draw; the counts take
    3 %.
    """
    stages = _Stages.of(task, relation, regions, **options)
    counted = len(stages.descents) - 1
    counts = [(stages.count, counted, "count violated rows")] if counted else []

    def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> ValueSearch:
        releases = draws[-len(stages.descents) :]
        count = draws[0] if counted else None
        return ValueSearch(task, regions, rows, stages.descents, releases, count)

    return PlannedRun(
        requests(task, stages.descents, stages.shares, counts),
        start,
        lambda: _prediction(task, regions, stages, method),
    )


def _prediction(task: Task, regions: Regions, stages: _Stages, method: str) -> Prediction:
    """The error of the last stage, and the loss of objective from it at the first price.

    The optimum is taken to be the geometric mean of the ends, or a tenth of the upper end if that
    is larger.
    """
    low, high = regions.ends
    typical, value, loss = max(math.sqrt(low * high), _TYPICAL_OPTIMUM * high), high, 0.0
    for descent in stages.descents:
        last = descent is stages.descents[-1]
        units = _rows_of_a_price(task.density(), task.n, descent, last=last)
        loss = min(_TYPICAL_LOSS * descent.error * task.n / units * value, high - low)
        value = min(_MARGIN * (typical + loss), value)
    prediction = stages.descents[-1].prediction(
        method, regions.region, stages.noises[-1], loss / (high - low)
    )
    return replace(prediction, rounds=sum(descent.rounds for descent in stages.descents))


@dataclass(frozen=True)
class _Stages:
    """The descents of all stages, the noise and the share of the budget of each, and the count."""

    descents: list[Descent]
    noises: list[float]
    shares: tuple[float, ...]
    count: GaussianMechanism

    @classmethod
    def of(
        cls, task: Task, relation: ConstraintPrivate, regions: Regions, **options: Any
    ) -> _Stages:
        low, high = regions.ends
        ratio = high / low if low > 0 else math.inf
        shares = next(shares for widest, shares in _STAGES.items() if ratio <= widest)
        noise, counted = noise_of_one_release(task), len(shares) - 1
        change = float(task.public.rows_of_one_record)
        kept = 1 - _SHARE_OF_THE_COUNTS if counted else 1.0
        deviation = change * noise * math.sqrt(counted / _SHARE_OF_THE_COUNTS)
        count = GaussianMechanism(change, deviation)
        noises = [noise / math.sqrt(share * kept) for share in shares]
        descents = [Descent.of(task, relation, regions.region, own, **options) for own in noises]
        return cls(descents, noises, shares, count)


class ValueSearch:
    """Several descents in a row, each on a region and at a price that follow from the one before.

    Parameters
    ----------
    task : Task
        The request.
    regions : Regions
    rows : Rows
        Private rows.
    descents, releases : sequences
        One for each stage.
    count : ChargedDraws or None
        Charged noisy counts, one for each stage but the last.
    """

    def __init__(
        self,
        task: Task,
        regions: Regions,
        rows: Rows[Any],
        descents: Sequence[Descent],
        releases: Sequence[ChargedDraws],
        count: ChargedDraws | None,
    ) -> None:
        self.rounds = sum(descent.rounds for descent in descents)
        self._s, self._n, self._regions, self._count = task.density(), task.n, regions, count
        self._rows = rows
        self._stages = list(zip(descents, releases, strict=True))
        self._values: list[float] = []
        self._prices: list[float] = []
        self._left, self._factor = 0, 1.0
        self._game: Game
        self._dual: ElasticDual
        self._player: PointPlayer

    def step(self, t: int) -> None:
        """Play a round of the current stage, or of the next one."""
        if self._left == 0:
            self._begin(*self._next())
        self._game.step(t)
        self._left -= 1

    def released(self) -> Released:
        """The point of the last stage, with the regions and prices of all stages."""
        last = self._player.released()
        trace = {
            "regions up to": np.array(self._values),
            "prices of a unit of violation": np.array(self._prices),
        }
        return replace(last, trace={**last.trace, **trace})

    def _next(self) -> tuple[float, float]:
        """V of the next region, and the factor on its price."""
        low, high = self._regions.ends
        if self._count is None or not self._values:
            return high, 1.0
        found = self._player.solution
        beyond = min(
            _BEYOND_NOISE * self._stages[len(self._values) - 1][0].error,
            _WIDEST / math.sqrt(self._regions.region.size),
        )
        violated = self._dual.rows.total(ElasticRows.violated_by_more, found, beyond)
        count = float(self._count(float(violated)))
        excess = max(1.0, count / self._s)
        margin = _MARGIN * min(excess, _LARGEST_EXCESS)
        value = float(
            np.clip(margin * self._regions.size(found), max(low, _LEAST_SHARE * high), high)
        )
        factor = self._factor * min(excess**2, _LARGEST_FACTOR)
        return value, factor

    def _begin(self, value: float, factor: float) -> None:
        """Start the next stage."""
        descent, release = self._stages[len(self._values)]
        self._factor = factor
        self._values.append(value)
        last = len(self._values) == len(self._stages)
        self._prices.append(factor * value / _rows_of_a_price(self._s, self._n, descent, last=last))
        # At a higher price weights rise over more violation. Otherwise costs, which count less,
        # would move nothing in as many rounds.
        widest = _WIDEST / math.sqrt(self._regions.region.size) / descent.softness
        wider = max(1.0, min(factor, widest))
        descent = replace(descent, softness=descent.softness * wider, step=descent.step * wider)
        try:
            stage = self._regions.stage(value, self._prices[-1], descent, release)
        except PrivLPError:
            # The region is too small for HiGHS, or for floating point. It follows from released
            # values, so taking the largest region instead tells nothing.
            stage = self._regions.stage(self._regions.ends[1], self._prices[-1], descent, release)
        scaled, self._player, finish = stage
        self._dual = ElasticDual(
            self._rows.keep(scaled), self._player.point, descent.softness, finish=finish
        )
        self._game = Game(self._dual, self._player, rounds=descent.rounds)
        self._left = descent.rounds


def _rows_of_a_price(s: float, n: int, descent: Descent, *, last: bool) -> float:
    """How many units of violation cost V, at a factor of one."""
    noise = _NOISE_OF_THE_LAST if last else _NOISE_OF_A_PRICE
    return max(_SHARE_OF_S * s, noise * descent.error * n)
