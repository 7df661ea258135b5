"""What an allocation will be charged, and what it promises, from public numbers alone."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privlp.allocation.demand import Sizes
from privlp.checks import PROBABILITY, is_probability, require, shown
from privlp.privacy import (
    Accountant,
    ExponentialMechanism,
    LaplaceMechanism,
    LaplaceObjectivePerturbation,
    Ledger,
    Mechanism,
)
from privlp.status import Verdict, rounded_up

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
    #: Lost, by trials, where wishes spread over the supplies, and where many want the same few.
    spread: float
    crowded: float
    #: A supply of each, in units of the largest use of one person, with which `ROUGH` is kept back
    #: of what is used, and by how much a larger eps does so; the same where wishes spread.
    enough: tuple[float, float]
    enough_if_spread: tuple[float, float]


def losses_of(sizes: Sizes, eps: float, kept: float, softness: float) -> Losses:
    """What is lost if so much is kept back of each supply, in units of one person's largest use.

    One person uses at most one unit in sum over supplies. So n people leave the reserve over in a
    supply that is n units larger than it; and, if their wishes spread, wherever supplies less
    reserves are n units in sum. This is counted on where n times eps is not too small.
    """
    many = sizes.people * eps >= _FEWEST
    most, people = (sizes.most_people, sizes.people) if many else (np.inf, np.inf)
    left, usable = np.maximum(sizes.supplies - kept, 0.0), np.minimum(sizes.supplies, most)
    binding = _missing(float(np.minimum(left, usable).sum()), float(usable.sum()))
    wanted = min(float(sizes.supplies.sum()), people)
    missing = _missing(min(float(left.sum()), wanted), wanted)
    mean, each = float(sizes.supplies.mean()), people / len(sizes.supplies)
    supply, spare = kept / ROUGH, mean - (1 - ROUGH) * min(mean, each)
    return Losses(
        binding,
        min(1.0, missing + _SPREAD * softness),
        min(1.0, binding + _CROWDED * softness),
        (supply, supply / mean),
        (min(supply, kept + (1 - ROUGH) * each), kept / spare),
    )


def _missing(some: float, all_of_it: float) -> float:
    return 1 - some / all_of_it if all_of_it else 0.0


def advice_of(
    verdict: Verdict,
    sizes: Sizes,
    eps: float,
    feasible: float | None,
    kept: float,
    share: float,
    losses: Losses,
    closed: int,
) -> str:
    """The verdict in words; `kept` is the reserve, or else the noise, in the user's units."""
    if math.isinf(eps):
        return "Without noise: NOT PRIVATE."
    reserve = (
        f"there is no reserve, and the use of each supply varies by {kept:.3g} (one standard"
        f" deviation), {share:.0%} of all supplies"
        if feasible is None
        else f"a reserve of {kept:.3g} of each supply, {share:.0%} of all, is kept back, so that"
        f" all supplies hold together with probability {feasible:g}"
    )
    words = (
        f"{verdict}: {reserve}. By trials, at most about {losses.spread:.0%} of the best total"
        f" value is lost where wishes spread over the supplies, {losses.crowded:.0%} where they"
        " crowd on a few."
    )
    if closed:
        words += f" {closed} of {len(sizes.supplies)} supplies are not above the reserve: unused."
    if verdict is not Verdict.ENOUGH_SUPPLY:
        words += f" To lose about a tenth, {_enough(sizes, eps, losses)}."
    return words


def _enough(sizes: Sizes, eps: float, losses: Losses) -> str:
    """Supplies, or an eps, with which about a tenth is lost."""
    crowded, spread = (
        f"supplies of {supply * sizes.unit:.3g} each would do, or an eps of about"
        f" {rounded_up(eps * factor):.3g}"
        for supply, factor in (losses.enough, losses.enough_if_spread)
    )
    if losses.enough_if_spread[1] <= 1:
        return f"these supplies do where wishes spread; where they crowd, {crowded}"
    if spread == crowded:
        return crowded
    return f"{spread}, where wishes spread; where they crowd, {crowded}"


# Where supplies are this many times the noise that eps alone would give, a second and a third stage
# pay: they cost a part of eps, but centre the quadratic of the last.
_TWO_STAGES, _THREE_STAGES = 150.0, 600.0
# Shares of eps: for the first common price, for the cover of each stage, and for the stages.
_START = 0.05
_COVER = 0.02
_SHARES = {1: (0.95,), 2: (0.12, 0.83), 3: (0.05, 0.12, 0.78)}
_CURVATURE = 0.2  # The part of a stage's eps that the curvature takes.
# But for each of its ranks no more than this: a weaker quadratic would let rounding, which the
# cover has to hide, move the minimum far.
_MOST_CURVATURE = 4.0
# Softness of choices, in units of the largest value: in the last stage it falls with the root of
# supply over noise; in earlier ones it is larger.
_SOFTNESS, _LEAST_SOFTNESS, _MOST_SOFTNESS = 0.3, 0.01, 0.06
_EARLIER = ((2.0, 0.05), (4.0, 0.1))
# Without noise.
_SHARP, _WEAK = 1e-4, 1e-3
#: A common price, among which the first is selected.
LEVELS = np.linspace(0.0, 1.0, 41)
_LEAST_TOLERANCE = 2.0**-36
# The chance that the cover of the computed minimum is larger than allowed for, at most.
_COVER_FAILS = 1e-6
_TOO_MUCH = 0.4  # Beyond this share of what can be used, noise and reserve are too much.


@dataclass(frozen=True)
class StagePlan:
    """One perturbed program: its mechanisms and its public numbers."""

    term: LaplaceObjectivePerturbation  #: The secret linear term.
    #: What covers the error of the computed minimum, in units of `tolerance`.
    cover: LaplaceMechanism
    softness: float
    strength: float
    tolerance: float
    reserve: float  #: Taken off each supply, in units of the largest use of one person.


@dataclass(frozen=True, eq=False)
class AllocationPlan:
    """What an allocation is charged and what it promises; nothing is spent on a plan.

    Attributes
    ----------
    reserve : float
        What is kept back of each supply, in its units.
    noise : float
        Standard deviation of the noise on the use of each supply, in its units.
    feasible : float or None
        The probability with which all supplies hold together.
    closed : tuple of int
        Supplies not above the reserve: nobody gets any of them.
    share : float
        The reserve and, where there is none, the noise, as a share of all supplies.
    lost_if_spread, lost_if_crowded : float
        The share of the best total value that is lost, at most about: where wishes spread over the
        supplies as these do, and where many people want the same few. Both follow from supplies,
        reserve, softness and the number of people (or the nominal one), each of whom uses at most
        one unit. They are no proof: none of the allocations measured lost more
        (``docs/results/allocation.md``). There what people get is worth from a half to all of
        `largest_value`; where it is worth far less, soft choices lose more.
    softness : float
        How sharply people choose, in units of value: options that differ by much less share.
    verdict : Verdict
    advice : str

    Examples
    --------
    >>> import numpy as np, privlp
    >>> wishes = np.random.default_rng(0).uniform(size=(500, 3))
    >>> allocation = privlp.Allocation(wishes, supplies=[100, 100, 100], largest_value=1.0)
    >>> plan = allocation.plan(eps=1.0)
    >>> plan.verdict, round(plan.reserve, 1), plan.closed
    (<Verdict.ROUGH: 'Rough'>, 9.1, ())
    >>> [purpose for _, _, purpose in plan.charges]
    ['a first common price', 'prices', "cover of the prices' error"]
    """

    reserve: float
    noise: float
    feasible: float | None
    closed: tuple[int, ...]
    share: float
    lost_if_spread: float
    lost_if_crowded: float
    softness: float
    verdict: Verdict
    advice: str
    _start: ExponentialMechanism = field(repr=False)
    _stages: tuple[StagePlan, ...] = field(repr=False)

    @property
    def charges(self) -> list[tuple[Mechanism, int, str]]:
        """What is charged, in order: mechanism, number of draws and purpose."""
        requests: list[tuple[Mechanism, int, str]] = [(self._start, 1, "a first common price")]
        for stage in self._stages:
            requests += [(stage.term, 1, "prices"), (stage.cover, 1, "cover of the prices' error")]
        return requests

    def __str__(self) -> str:
        return textwrap.fill(self.advice, 98)


def planned(sizes: Sizes, ledger: Accountant, feasible: float | None) -> AllocationPlan:
    """Plan an allocation from public numbers."""
    asked = f"feasible must be {PROBABILITY}, or None; got {shown(feasible)}."
    require(feasible is None or is_probability(feasible), asked, "feasible")
    # No part of delta is needed; to search for a use of it would take long, and gain little.
    if type(ledger) is Ledger:
        ledger = Ledger(ledger.eps, 0.0)
    # The mean supply, in units of what one person changes over eps.
    ratio = float(sizes.supplies.mean()) * ledger.eps * 2 / sizes.relation.most_changed
    softness = _SOFTNESS / math.sqrt(max(ratio, 1e-9))
    softness = min(max(softness, _LEAST_SOFTNESS), _MOST_SOFTNESS)
    softness = _SHARP if math.isinf(ratio) else softness
    number = 1 + (ratio >= _TWO_STAGES) + (ratio >= _THREE_STAGES)

    def mechanisms(eps: float) -> list[tuple[Mechanism, int]]:
        return [(each, 1) for each in _mechanisms(sizes, eps, number, softness)]

    start, *pairs = _mechanisms(sizes, ledger.calibrate_together(mechanisms), number, softness)
    stages = []
    for earlier in reversed(range(number)):
        term, cover, *pairs = pairs
        factor, least = _EARLIER[earlier - 1] if earlier else (1.0, 0.0)
        soft = max(factor * softness, least) if term.scale else softness
        stages.append(_stage(sizes, term, cover, soft, feasible))
    return _described(sizes, ledger.eps, feasible, start, tuple(stages))


def _mechanisms(sizes: Sizes, eps: float, number: int, softness: float) -> list[Any]:
    """The first selection, and the secret term and the cover of each stage, of about this eps."""
    moved, d = sizes.relation.most_changed, len(sizes.supplies)
    most = _MOST_CURVATURE * sizes.rank
    found: list[Any] = [ExponentialMechanism(1.0 + 2 * sizes.rounding(softness), _START * eps)]
    for share in _SHARES[number]:
        own = share * eps / (1 + _COVER)
        curvature = 0.0 if math.isinf(eps) else min(_CURVATURE * own, most)
        found.append(LaplaceObjectivePerturbation(moved, moved / (own - curvature), curvature))
        # Two points within the tolerance of the minimum differ by 2 tolerances in the L2 norm.
        found.append(LaplaceMechanism.of_eps(2 * math.sqrt(d), _COVER * own))
    return found


def _stage(
    sizes: Sizes,
    term: LaplaceObjectivePerturbation,
    cover: LaplaceMechanism,
    softness: float,
    feasible: float | None,
) -> StagePlan:
    d, rank = len(sizes.supplies), sizes.rank
    if term.scale == 0:
        return StagePlan(term, cover, softness, _WEAK, 2.0**-30, 0.0)
    # The curvature of one person has this rank, and a trace of at most 1/softness.
    strength = 1 / (rank * softness * math.expm1(term.curvature_cost / rank)) * (1 + 1e-12)
    gradient = sizes.rounding(softness) + 2.0**-50 * float(sizes.supplies.sum())
    error = (gradient + d * 2.0**-40 * term.scale) / strength + 2.0**-49
    tolerance = max(_LEAST_TOLERANCE, 4 * error)
    reserve = 0.0
    if feasible is not None:
        # Supplies may fail by the term, or by the cover: together with the probability left.
        fails = min(_COVER_FAILS, (1 - feasible) / 2)
        each = -math.expm1(math.log1p(-(1 - feasible - fails)) / d)
        # How far prices are from the minimum, each of them; and how fast demand follows: it is n
        # covariances, over the softness, of numbers with deviations of at most 1/2 and 1.
        moved = tolerance * (1 + cover.scale * math.log(d / fails))
        steepest = sizes.most_people / (2 * softness) + strength
        reserve = max(0.0, -term.scale * math.log(2 * each)) + steepest * moved + 2 * gradient
    return StagePlan(term, cover, softness, strength, tolerance, reserve)


def _described(
    sizes: Sizes,
    eps: float,
    feasible: float | None,
    start: ExponentialMechanism,
    stages: tuple[StagePlan, ...],
) -> AllocationPlan:
    last, unit = stages[-1], sizes.unit
    noise = math.sqrt(2) * last.term.scale
    kept = noise if feasible is None else last.reserve
    share = float(np.minimum(sizes.supplies, kept).sum() / sizes.supplies.sum())
    losses = losses_of(sizes, eps, kept, last.softness)
    closed = tuple(np.flatnonzero(sizes.supplies <= last.reserve).tolist())
    verdict = Verdict.ENOUGH_SUPPLY if losses.binding <= ROUGH else Verdict.ROUGH
    verdict = Verdict.TOO_LITTLE_SUPPLY if losses.binding > _TOO_MUCH else verdict
    return AllocationPlan(
        reserve=last.reserve * unit,
        noise=noise * unit,
        feasible=feasible,
        closed=closed,
        share=share,
        lost_if_spread=losses.spread,
        lost_if_crowded=losses.crowded,
        softness=last.softness * sizes.largest_value,
        verdict=verdict,
        advice=advice_of(verdict, sizes, eps, feasible, kept * unit, share, losses, len(closed)),
        _start=start,
        _stages=stages,
    )
