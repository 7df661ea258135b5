"""The stages of a search, and what they charge."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from privlp.checks import FloatArray
from privlp.game.loop import weights_of_rounds
from privlp.methods.base import ChargeRequest
from privlp.methods.counts import check_request, noise_of_one_release, share_of_check
from privlp.methods.request import SolveRequest
from privlp.privacy import GaussianMechanism, WeightedGaussianMechanism


class _Shape(NamedTuple):
    """A stage before the noise is known, in units of which `pull` is its strength."""

    pull: float
    aim: float = 1.0
    push: float = 0.0


# Pulls are small: a stage moves shares by the noise that it follows, and later stages take that
# back slowly. Where noise is large, the last aims are too: they are less certain. Without noise
# more stages follow. Chosen on maps, diets, rosters, random coverings and needs of one product of
# 5,000 to 20,000 rows, seeds 0 to 2.
_PULLS, _PUSHES = (0.5, 0.3, 0.2, 0.15, 0.1, 0.07), (0.1, 0.1, 0.1, 0.05, 0.03, 0.02)
_AIMS, _AIMS_IN_NOISE = (8.0, 8.0, 6.0, 3.0, 1.5, 1.0), (8.0, 8.0, 6.0, 4.0, 3.0, 2.0)
_SEARCH, _SEARCH_IN_NOISE, _EXACT = (
    tuple(map(_Shape, pulls, aims, _PUSHES))
    for pulls, aims in (
        (_PULLS, _AIMS),
        (_PULLS, _AIMS_IN_NOISE),
        ((2.0, 1.0, 0.5, 0.3, 0.2, 0.1), _AIMS_IN_NOISE),
    )
)
# Those from a known point, which larger ones would only disturb. What is charged for all other
# stages is spent on counts. Chosen on maps and diets of 5,000 rows, five days each, seeds 0 to 2.
_FROM_KNOWN = (_Shape(0.3, 3.0, 0.1), _Shape(0.15, 2.0, 0.05), _Shape(0.07, 1.5, 0.03))
_EXACT += tuple(_Shape(1.0, 1.0, 0.1 * 0.7**k) for k in range(12))
# Variables times noise over s up to which most draws of a search succeed: see
# docs/results/unknown.md.
_DIFFICULT = 1.75
# Descents have this noise at least, in rows, but not for more than that share of the noise which is
# easy: with less they spread what few rows ask for over more variables. Chosen on needs, random
# coverings and diets, seeds 0 to 2.
_LEAST_NOISE, _OF_EASY = 0.25, 0.03
_FEWEST_ROUNDS, _MOST_ROUNDS, _MOST_EXACT_ROUNDS = 30, 250, 1000
# A stage reads the rows beside which noise asks for so many rounds; all of them, if these are more
# than the second number as a share. The last is the most rounds of such a stage. Chosen on maps of
# 200,000 rows, seed 0.
_ROWS_READ, _LARGEST_SHARE, _MOST_ROUNDS_OF_A_SHARE = 400.0, 0.5, 200
# But of s rows it reads so many, and no smaller share than so many times the difficulty: what few
# rows ask for must be seen beside chance and noise.
_READ_OF_S, _READ_IN_NOISE = 100.0, 1.5
_MANY_ROWS = 2e5  # The number of rows that are read grows with the root of all rows beyond so many.
_BENT = 0.2  # Share of rows times variables that bends a smoothed sum of violations.
# Shares of the budget: for the signs of rows, for the start, for counts between stages and after.
_SIGNS, _START, _BETWEEN, _LAST = 0.005, 0.02, 0.015, 0.12
# Numbers of counts.
_START_COUNTS, _COUNTS, _LAST_COUNTS = 12, 6, 8
# Without noise there are so many last counts.
_EXACT_COUNTS = 24
_COUNT = "count violated rows"


@dataclass(frozen=True)
class Stage:
    """One descent of several; every number is public."""

    rounds: int  # T.
    step: float  # Step per unit of what is released.
    softness: float  # Violation of a scaled row of norm 1 over which its weight rises.
    # In a search: how many times s rows are missed at the size of the stage, but for the push.
    aim: float = 1.0
    push: float = 0.0  # In a search: logarithm by which the size is smaller still.
    share: float = 1.0  # The stage reads this share of the rows (:mod:`privlp.rows.program_rows`).

    def from_known(self, shape: _Shape, charged: _Shape) -> Stage:
        """With another pull, in as many rounds as are charged."""
        less = shape.pull / charged.pull
        step, softness = self.step * less, self.softness * less
        return replace(self, step=step, softness=softness, aim=shape.aim, push=shape.push)

    @classmethod
    def of(
        cls, shape: _Shape, *, noise: float, n: float, s: float, size: int, shares: bool = True
    ) -> Stage:
        """The stage that follows its scores with a strength of `pull`, at this noise of a sum.

        The logarithms of shares move by pull sqrt(ln(d)/2) for each deviation of the noise.
        Rounds are as many as softness of the size of the noise needs, within limits. If
        these are too few, the step is that of the noise for which they are enough. Of many rows,
        a stage reads no more than it takes for the noise to be so large beside them; with
        `shares`, if that many are known.
        """
        pull, aim, push = shape
        log_d = math.log(max(2, size))
        reach = n * math.sqrt(pull / (_BENT * size))
        read = _ROWS_READ * max(1.0, math.sqrt(n / _MANY_ROWS))
        few = max(_READ_OF_S / s, _READ_IN_NOISE * difficulty(noise, size, s))
        share = max(read * noise / reach, few) if shares and noise > 0 else 1.0
        if share > _LARGEST_SHARE:
            share = 1.0
        most = _MOST_ROUNDS if share == 1 else _MOST_ROUNDS_OF_A_SHARE
        most = most if noise > 0 else _MOST_EXACT_ROUNDS
        n, reach = n * share, reach * share
        noise = max(noise, reach / _MOST_EXACT_ROUNDS)
        rounds = max(_FEWEST_ROUNDS, min(most, math.floor(reach / noise)))
        total = pull * math.sqrt(log_d / 2) / noise
        softness = n * total / (size * rounds**2)
        step = total / math.fsum(weights_of_rounds(rounds))
        return cls(rounds, step, softness, aim, push, share)


@dataclass(frozen=True)
class StagedCharges:
    """The stages of a run, and its mechanisms."""

    # In the order in which they are charged: the signs of rows, if they help; the counts
    # before the stages; and for each stage its releases, and counts after it.
    requests: list[ChargeRequest]
    stages: list[Stage]
    signs: bool  # Whether the signs of rows are asked for.
    trim: bool  # Whether variables fall one by one after the last stage.
    noise: float  # Deviation of a single release of descents at the whole budget, for norm 1.

    @property
    def rounds(self) -> int:
        """Steps of a run: the start, the rounds of all stages, and the counts after each."""
        return 1 + sum(stage.rounds + 1 for stage in self.stages)

    @property
    def from_known(self) -> list[Stage]:
        """The stages from a known point: fewer, with the rounds of the first ones."""
        shapes = zip(self.stages, _FROM_KNOWN, _SEARCH, strict=False)
        return [stage.from_known(shape, charged) for stage, shape, charged in shapes]

    @property
    def noise_of_a_round(self) -> float:
        """Deviation of a round of the last stage, on average, per unit of sensitivity."""
        releases = [m for m, *_ in self.requests if isinstance(m, WeightedGaussianMechanism)]
        return releases[-1].sigma / releases[-1].sensitivity

    @classmethod
    def of(cls, request: SolveRequest, size: int, *, trim: bool) -> StagedCharges:
        """Those of a run on a region with this number of vertices."""
        relation = request.constraint_private("staged")
        k = request.public.rows_of_one_record
        v = float(request.public.vectors_of_one_record)
        change, noise = noise_of_sum(request)
        s = request.density()
        largest = math.inf
        if 0 < noise < (least := min(_LEAST_NOISE, _OF_EASY * _DIFFICULT * s / size)):
            noise, largest = least, change / least
        signs, shares = not relation.hides_rows and noise > 0, not relation.hides_rows
        make = partial(Stage.of, noise=noise, n=request.n, s=s, size=size, shares=shares)
        stages = [make(shape) for shape in _search(noise, size, s)]
        before = [_Sums(_SIGNS, 1, "sum the signs of rows", 2.0 * k)] if signs else []
        before.append(_Sums(_START, _START_COUNTS, _COUNT, v))
        after = [_Sums(_BETWEEN, _COUNTS, _COUNT, v)] * (len(stages) - 1)
        moves = math.sqrt(k * change)
        trimmed = share_of_trim(request, moves) if noise > 0 and trim else 0.0
        if trimmed:
            after.append(_Sums(trimmed, 1, "count rows by the variable that they need most", moves))
        last = _LAST_COUNTS + bool(trimmed) if noise > 0 else _EXACT_COUNTS
        after.append(_Sums(_LAST, last, _COUNT, v))
        requests = _requests(request, before, stages, after, change, largest)
        return cls(requests, stages, signs, bool(trimmed), noise)


def noise_of_sum(request: SolveRequest) -> tuple[float, float]:
    """How far a sum over rows of norm 1 moves, and its noise in one release at the whole budget."""
    k = request.public.rows_of_one_record
    change = request.constraint_private("staged").sum_sensitivity(1.0, k)
    return change, change * noise_of_one_release(request)


def difficulty(noise: float, size: int, s: float) -> float:
    """Variables times noise over s, 1 where most draws of a search still succeed."""
    return size * noise / s / _DIFFICULT


def _search(noise: float, size: int, s: float) -> tuple[_Shape, ...]:
    """The stages of a search."""
    if noise == 0:
        return _EXACT
    return _SEARCH if difficulty(noise, size, s) <= 1 else _SEARCH_IN_NOISE


class _Sums(NamedTuple):
    """Sums or counts of one kind, and the share of the budget for all of them."""

    share: float
    draws: int
    purpose: str
    sensitivity: float

    def request(self, intensity: float) -> ChargeRequest:
        """What is charged, if the whole budget allows this intensity."""
        own = intensity * math.sqrt(self.share / self.draws)
        mechanism = GaussianMechanism(self.sensitivity, self.sensitivity / own)
        return mechanism, self.draws, self.purpose


def _requests(
    request: SolveRequest,
    before: list[_Sums],
    stages: list[Stage],
    after: list[_Sums],
    sensitivity: float,
    largest: float,
) -> list[ChargeRequest]:
    """The charges at the largest intensity that the budget allows; that of stages has an end."""
    left = 1 - math.fsum([sums.share for sums in before] + [sums.share for sums in after])
    checked = share_of_check(request, request.density())
    left -= checked
    more = "" if request.start is None else ", or count them"
    purpose = f"release the sum of violated rows each round{more}"

    def make(intensity: float) -> list[ChargeRequest]:
        found = [sums.request(intensity) for sums in before]
        for number, stage in enumerate(stages):
            own = min(intensity, largest) * math.sqrt(left / len(stages))
            release = WeightedGaussianMechanism(
                sensitivity,
                sensitivity * math.sqrt(stage.rounds) / own,
                weights_of_rounds(stage.rounds),
            )
            found.append((release, stage.rounds, purpose))
            found += [sums.request(intensity) for sums in after[number : number + 1]]
        found += [sums.request(intensity) for sums in after[len(stages) :]]
        return [*found, check_request(request, checked, intensity)]

    intensity = request.ledger.calibrate_together(
        lambda intensity: [(mechanism, number) for mechanism, number, _ in make(intensity)]
    )
    return make(intensity)


LEVELS = 16  #: Parts of the way of a variable that are told apart.
#: Variables fall from sizes that are larger by this logarithm; and where so many times s rows are
#: missed then, they had better not.
LARGER, MOST_MISSED = 0.5, 1.2
# The noise of a count is this share of s, if that costs at most so much of the budget. Chosen with
# all others here on needs of one product, maps, diets and random coverings, seeds 0 to 2.
_OF_S, _MOST = 0.04, 0.15
# A count of so many deviations is believed; other rows are taken for none. Variables fall until
# this share of s is missed.
_CLEAR, _SPARE = 2.5, 0.5
_HALVINGS = 60


def share_of_trim(request: SolveRequest, sensitivity: float) -> float:
    """The share of the budget, from public numbers; 0 if it is too large."""
    sigma = sensitivity * noise_of_one_release(request)
    share = (sigma / (_OF_S * request.density())) ** 2
    return share if share <= _MOST else 0.0


def levels_of(noisy: FloatArray, sigma: float, cost: FloatArray, s: float) -> FloatArray:
    """The cheapest part of `cost` for each variable, (d,), by noisy counts of rows (d, LEVELS)."""
    above = np.cumsum(noisy[:, ::-1], axis=1)
    alone = np.cumsum(np.where(noisy > _CLEAR * sigma, noisy, 0.0)[:, ::-1], axis=1)
    clear = above > _CLEAR * sigma * np.sqrt(np.arange(1, LEVELS + 1))
    missed = np.maximum.accumulate(np.maximum(alone, np.where(clear, above, 0.0)), axis=1)
    missed = np.column_stack([missed[:, ::-1], np.zeros(len(missed))])
    parts = np.arange(LEVELS + 1) / LEVELS
    low, high = -30.0, 30.0  # the logarithm of what a row may cost
    unit = cost.sum() / s
    chosen = np.full(len(cost), LEVELS)
    for _ in range(_HALVINGS):
        price = 0.5 * (low + high)
        found = (cost[:, None] * parts + unit * math.exp(price) * missed).argmin(axis=1)
        if np.take_along_axis(missed, found[:, None], axis=1).sum() <= _SPARE * s:
            high, chosen = price, found
        else:
            low = price
    return parts[chosen]
