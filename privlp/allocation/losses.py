"""How much of the best total value noise and reserve cost, from public numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privlp.allocation.sizes import Sizes

#: Up to this share of what can be used kept back, nine tenths of the best total value were reached
#: in trials, or nearly so; beyond it a plan is rough.
ROUGH = 0.07
# Soft choices and prices that are off lose value besides: in trials less than so many times the
# softness, where wishes spread over supplies and where they crowd on a few. Chosen so as to cover
# docs/results/allocation.md, and trials with other seeds.
_SPREAD, _CROWDED = 2.5, 4.0
# With fewer people times eps the first common price may be far off, and supplies that hold more
# than people can use do not help as they should: 48 % were lost where the reserve cost 7 %.
_FEWEST = 200.0


@dataclass(frozen=True)
class Losses:
    """What is lost, at most, as a share; and what would be enough."""

    #: The share of what can be used that is kept back, if people want what is kept back. A supply
    #: of more than what all people together can use counts as that much.
    binding: float
    #: Lost, by trials, where wishes spread over the supplies as these do.
    spread: float
    #: Lost, by trials, where many people want the same few.
    crowded: float
    #: A supply of each, in units of the largest use of one person, with which `ROUGH` is kept back
    #: of what is used; the same where wishes spread.
    supply: float
    supply_if_spread: float
    #: By how much a larger eps does so.
    factor: float
    factor_if_spread: float


def losses_of(sizes: Sizes, eps: float, kept: float, softness: float) -> Losses:
    """What is lost if so much is kept back of each supply, in units of one person's largest use.

    One person uses at most one unit in sum over supplies. So n people leave the reserve over in a
    supply that is n units larger than it; and, if their wishes spread, wherever supplies less
    reserves are n units in sum. This is counted on where n times eps is not too small.
    """
    many = sizes.people * eps >= _FEWEST
    most, people = (sizes.most_people, sizes.people) if many else (np.inf, np.inf)
    left = np.maximum(sizes.supplies - kept, 0.0)
    usable = np.minimum(sizes.supplies, most)
    binding = _missing(float(np.minimum(left, usable).sum()), float(usable.sum()))
    wanted = min(float(sizes.supplies.sum()), people)
    missing = _missing(min(float(left.sum()), wanted), wanted)
    mean, each = float(sizes.supplies.mean()), people / len(sizes.supplies)
    supply, spare = kept / ROUGH, mean - (1 - ROUGH) * min(mean, each)
    return Losses(
        binding=binding,
        spread=min(1.0, missing + _SPREAD * softness),
        crowded=min(1.0, binding + _CROWDED * softness),
        supply=supply,
        supply_if_spread=min(supply, kept + (1 - ROUGH) * each),
        factor=supply / mean,
        factor_if_spread=kept / spare,
    )


def _missing(some: float, all_of_it: float) -> float:
    return 1 - some / all_of_it if all_of_it else 0.0
