"""From people to released prices: a first common price, then perturbed programs one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.allocation.demand import People
from privlp.allocation.planning import AllocationPlan, StagePlan
from privlp.allocation.sizes import Sizes
from privlp.players.prices import PriceProgram
from privlp.privacy import ChargedDraws

FloatArray = npt.NDArray[np.float64]


class HiddenDemand:
    """What a secret term hides: minus the total use at the minimum.

    As a value to release it is 0, because the secret term itself is drawn. An audit shows two
    neighbours the same minimum, and moves the secret term of one by the difference of their total
    uses there.
    """

    def __init__(self, people: People, supplies: int, softness: float) -> None:
        self._people, self._supplies, self._softness = people, supplies, softness
        self.minimum: FloatArray | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.zeros(self._supplies, dtype=dtype)

    def at(self, prices: FloatArray) -> FloatArray:
        """Minus the total use at given prices. Not private: for audits."""
        return -self._people.demand(prices, self._softness)


def private_prices(
    people: People, sizes: Sizes, plan: AllocationPlan, draws: Sequence[ChargedDraws]
) -> tuple[list[FloatArray], FloatArray]:
    """The released prices of the start and of each stage, and the last stage's centre.

    In units of the largest value over the largest use. `draws` are those of ``plan.charges``.
    """
    stages = plan._stages
    supplies = np.maximum(sizes.supplies - stages[-1].reserve, 0.0)
    supplies[list(plan.closed)] = 1.0  # nobody asks for them, and their price falls to 0
    start, *pairs = draws
    levels = plan._levels
    uses = people.uses_at_one_price(levels, stages[0].softness)
    # One person moves each total by at most 1.
    level = levels[start(-np.abs(uses - supplies.sum()))]
    released = [np.full(len(supplies), level)]
    for stage, term, cover in zip(stages, pairs[::2], pairs[1::2], strict=True):
        centre = released[-1]
        released.append(_minimum(people, supplies, sizes, stage, centre, term, cover))
    return released, centre


def _minimum(
    people: People,
    supplies: FloatArray,
    sizes: Sizes,
    stage: StagePlan,
    centre: FloatArray,
    term: ChargedDraws,
    cover: ChargedDraws,
) -> FloatArray:
    """The released minimum of one perturbed program.

    The secret term is drawn once. The point is computed to a certified distance, and noise of its
    own covers that distance.
    """
    hidden = HiddenDemand(people, len(supplies), stage.softness)
    secret = np.asarray(term(hidden))
    program = PriceProgram(
        people=people,
        linear=supplies + secret,
        centre=centre,
        strength=stage.strength,
        softness=stage.softness,
        smoothness=stage.strength + sizes.most_people / stage.softness,
    )
    # Half of the tolerance is for rounding.
    prices = program.minimise(stage.tolerance / 2, sharp=stage.term.scale == 0)
    hidden.minimum = prices
    return np.maximum(stage.tolerance * np.asarray(cover(prices / stage.tolerance)), 0.0)


def taken_off(
    prices: FloatArray, centre: FloatArray, sizes: Sizes, plan: AllocationPlan
) -> FloatArray:
    """The part of each supply's demand that is served, in [0, 1]: of released numbers.

    At the minimum demand is at most supply - reserve + noise + strength (price - centre). The last
    of these is known: so much is taken off everybody's shares.
    """
    last = plan._stages[-1]
    supplies = np.maximum(sizes.supplies - last.reserve, 0.0)
    excess = np.maximum(last.strength * (prices - centre), 0.0)
    served = np.divide(supplies, supplies + excess, out=np.zeros_like(supplies), where=supplies > 0)
    return np.asarray(served)
