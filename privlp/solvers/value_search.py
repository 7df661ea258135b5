"""An optimum that nobody knows: an exact penalty in its place, over a region that shrinks with each released estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.checks import real
from privlp.errors import InvalidParameterError, PrivLPError
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.solvers.descent import Descent, Region, noise_of_one_release, pay
from privlp.solvers.game import Game, Released, Rows, Walker
from privlp.solvers.prediction import Prediction
from privlp.solvers.task import Task

if TYPE_CHECKING:
    from privlp.relations import ConstraintPrivate

FloatArray = npt.NDArray[np.float64]

#: Shares of the budget for ranges within a factor of 1.5, within one of 40, and for all others: all
#: stages but the last narrow it.
_STAGES = {1.5: (1.0,), 40.0: (0.1, 0.15, 0.75), math.inf: (0.05, 0.05, 0.05, 0.1, 0.75)}
# The price of a unit of violation is V over this share of the s rows, or over so many times the
# noise that a stage leaves in the sum of violations, before the last stage and in it: the price
# blurs the objective by V over that number.
_SHARE_OF_S = 0.5
_NOISE_OF_A_PRICE, _NOISE_OF_THE_LAST = 4.0, 2.0
_SHARE_OF_THE_COUNTS = 0.03
# Each stage searches up to this multiple of the value found before, or twice that where it violates
# too many rows, and no less than this share of the range.
_MARGIN, _LARGEST_EXCESS, _LEAST_SHARE = 1.5, 2.0, 0.01
# Violations within this multiple of the predicted error may be noise; others, and those beyond the
# widest softness, call for a higher price.
_BEYOND_NOISE = 4.0
_LARGEST_FACTOR = 64.0
# Rows soften over no more than this share of what they vary by from vertex to vertex.
_WIDEST = 0.25
# Measured loss of objective over the predicted error of all rows together: see
# docs/results/covering.md.
_TYPICAL_LOSS, _TYPICAL_OPTIMUM = 0.25, 0.1


class Place(Protocol):
    """Where a value is searched: regions {low <= size of the objective <= V}, each with its rows and its player.

    The size is the distance of the objective from a public reference.
    """

    #: Public range of V: low and high.
    ends: tuple[float, float]

    @property
    def region(self) -> Region:
        """The largest region."""

    def stage(
        self, value: float, price: float, descent: Descent, release: ChargedDraws
    ) -> tuple[Rows, Walker]:
        """Rows and player of a stage on the region of this V, costs being counted at this price of a unit of violation."""

    def size(self, point: FloatArray) -> float:
        """The V of a point."""


def is_range(opt: Any) -> bool:
    """Whether an optimum is given as a pair (low, high)."""
    return (isinstance(opt, tuple | list) and len(opt) == 2) or (
        isinstance(opt, np.ndarray) and opt.shape == (2,)
    )


def range_of(opt: Any) -> tuple[float, float]:
    """A range of the optimum, checked.

    Raises
    ------
    InvalidParameterError
        If it is none.
    """
    low, high = (real(end, "opt") for end in opt)
    if not -math.inf < low < high < math.inf:
        raise InvalidParameterError(
            f"opt=(low, high) must be two finite numbers in rising order, got {opt!r}."
        )
    return low, high


def search_value(
    task: Task, relation: ConstraintPrivate, place: Place, **options: Any
) -> ValueSearch:
    """Minimise costs + price (sum of violations) over the regions of a place, for an optimum publicly known to lie in a range.

    *Exact penalty.* If no dual price of a scaled row exceeds `price`, the minimum is the optimum of
    the program. The first price is 2 V/s a unit of violation, at which giving up half of s rows
    altogether would cost as much as all else; or, if that is less, V over four times the noise that
    a stage leaves in the sum of violations (twice, in the last stage).

    *Stages.* The noise of a release, times the price, blurs the objective by a share of V. So the
    first stage starts from the top of the range, and each later one sets V to 1.5 times what the
    one before found, within the range. A noisy count of rows that the stage's point violates beyond
    a public threshold tells whether the price was too low, and with it V: where the count exceeds
    s, V is multiplied by count/s, at most 2, and the price by (count/s)^2, at most 64. The shares
    of the budget are fixed from the range. No stage leaves the range, at either end.

    *Sensitivity.* Each stage is a descent with elastic duals on its own region, as in
    :func:`~privlp.solvers.mirror.mirror` and :func:`~privlp.solvers.ftpl.ftpl`. A count changes by
    at most k, the rows of one record. Costs are public and bear no noise.

    *Budget.* One ledger: descents and counts are charged before the first draw; 3 % are for the
    counts.
    """
    plan = _plan(task, relation, place, **options)
    counted = len(plan.descents) - 1
    beside = [(plan.count, counted, "count violated rows")] if counted else []
    draws = pay(task, plan.descents, plan.shares, beside=beside)
    return ValueSearch(
        task, place, plan.descents, draws[-len(plan.descents) :], draws[0] if counted else None
    )


def predict_search(
    task: Task, relation: ConstraintPrivate, place: Place, method: str, **options: Any
) -> Prediction:
    """What :func:`search_value` is expected to leave: the error of its last stage, and what that costs at the first price.

    The optimum is taken to be the geometric mean of the ends, or a tenth of the upper one.
    """
    plan = _plan(task, relation, place, **options)
    low, high = place.ends
    typical, value, loss = max(math.sqrt(low * high), _TYPICAL_OPTIMUM * high), high, 0.0
    for descent in plan.descents:
        units = _rows_of_a_price(task.density(), task.n, descent, last=descent is plan.descents[-1])
        loss = min(_TYPICAL_LOSS * descent.error * task.n / units * value, high - low)
        value = min(_MARGIN * (typical + loss), value)
    prediction = plan.descents[-1].prediction(
        method, place.region, plan.noises[-1], loss / (high - low)
    )
    return replace(prediction, rounds=sum(descent.rounds for descent in plan.descents))


@dataclass(frozen=True)
class _Plan:
    descents: list[Descent]
    noises: list[float]
    shares: tuple[float, ...]
    count: GaussianMechanism


def _plan(task: Task, relation: ConstraintPrivate, place: Place, **options: Any) -> _Plan:
    low, high = place.ends
    ratio = high / low if low > 0 else math.inf
    shares = next(shares for widest, shares in _STAGES.items() if ratio <= widest)
    noise, counted = noise_of_one_release(task), len(shares) - 1
    change, kept = (
        float(relation.rows_of_one_record(task.lp)),
        1 - _SHARE_OF_THE_COUNTS if counted else 1.0,
    )
    count = GaussianMechanism(change, change * noise * math.sqrt(counted / _SHARE_OF_THE_COUNTS))
    noises = [noise / math.sqrt(share * kept) for share in shares]
    return _Plan(
        [Descent.of(task, relation, place.region, own, **options) for own in noises],
        noises,
        shares,
        count,
    )


class ValueSearch:
    """Several descents, one after the other, each on the region and at the price that the one before pointed to.

    Parameters
    ----------
    task : Task
        The request.
    place : Place
        The regions.
    descents, releases : sequences
        One for each stage.
    count : ChargedDraws or None
        Paid noisy counts, one for each stage but the last.
    """

    def __init__(
        self,
        task: Task,
        place: Place,
        descents: Sequence[Descent],
        releases: Sequence[ChargedDraws],
        count: ChargedDraws | None,
    ) -> None:
        self.rounds = sum(descent.rounds for descent in descents)
        self._s, self._n, self._place, self._count = task.density(), task.n, place, count
        self._stages = list(zip(descents, releases, strict=True))
        self._values: list[float] = []
        self._prices: list[float] = []
        self._left, self._factor = 0, 1.0
        self._game: Game
        self._rows: Rows
        self._player: Walker

    def step(self, t: int) -> None:
        """Play a round of the present stage, or of the next."""
        if self._left == 0:
            self._begin(*self._next())
        self._game.step(t)
        self._left -= 1

    def released(self) -> Released:
        """The last stage's point, how it was reached, and the regions and prices of all stages."""
        last = self._player.released()
        trace = {
            "regions up to": np.array(self._values),
            "prices of a unit of violation": np.array(self._prices),
        }
        return replace(last, trace={**last.trace, **trace})

    def _next(self) -> tuple[float, float]:
        """V of the next region, and the factor on its price."""
        low, high = self._place.ends
        if self._count is None or not self._values:
            return high, 1.0
        found = self._player.solution
        violations = np.zeros(self._rows.count)
        self._rows.add_violations(found, 1.0, violations)
        beyond = min(
            _BEYOND_NOISE * self._stages[len(self._values) - 1][0].error,
            _WIDEST / math.sqrt(self._place.region.size),
        )
        count = float(self._count(float(np.count_nonzero(violations > beyond))))
        excess = max(1.0, count / self._s)
        margin = _MARGIN * min(excess, _LARGEST_EXCESS)
        value = float(
            np.clip(margin * self._place.size(found), max(low, _LEAST_SHARE * high), high)
        )
        factor = self._factor * min(excess**2, _LARGEST_FACTOR)
        return value, factor

    def _begin(self, value: float, factor: float) -> None:
        descent, release = self._stages[len(self._values)]
        self._factor = factor
        self._values.append(value)
        last = len(self._values) == len(self._stages)
        self._prices.append(factor * value / _rows_of_a_price(self._s, self._n, descent, last=last))
        # A higher price lets rows soften over more for the same violation; else costs would move
        # nothing in as many rounds.
        widest = _WIDEST / math.sqrt(self._place.region.size) / descent.softness
        wider = max(1.0, min(factor, widest))
        descent = replace(descent, softness=descent.softness * wider, step=descent.step * wider)
        try:
            self._rows, self._player = self._place.stage(value, self._prices[-1], descent, release)
        except (
            PrivLPError
        ):  # a region too small for HiGHS, or for floating point: all that led there is released
            self._rows, self._player = self._place.stage(
                self._place.ends[1], self._prices[-1], descent, release
            )
        self._game = descent.game(self._rows, self._player)
        self._left = descent.rounds


def _rows_of_a_price(s: float, n: int, descent: Descent, *, last: bool) -> float:
    """How many units of violation cost V at a factor of one."""
    noise = _NOISE_OF_THE_LAST if last else _NOISE_OF_A_PRICE
    return max(_SHARE_OF_S * s, noise * descent.error * n)
