"""What a staged descent charges, and the numbers of its stages: all from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from privlp.methods.base import ChargeRequest
from privlp.methods.checked import check_request, share_of_check
from privlp.methods.descent import noise_of_one_release
from privlp.methods.task import Task
from privlp.players.rounds import weights_of_rounds
from privlp.privacy import GaussianMechanism, WeightedGaussianMechanism


class _Shape(NamedTuple):
    """A stage before the noise is known.

    It follows its scores with a strength of `pull`, in units of the noise. In a search about `aim`
    times s rows are missed at its size, which is then made smaller by a factor of exp(-push).
    """

    pull: float
    aim: float = 1.0
    push: float = 0.0


# Where noise is large, the last aims are too: they are less certain. Without
# noise more stages follow.
_SEARCH = (
    _Shape(2.0, 8.0, 0.1),
    _Shape(1.0, 8.0, 0.1),
    _Shape(0.5, 6.0, 0.1),
    _Shape(0.3, 3.0, 0.05),
    _Shape(0.2, 1.5, 0.03),
    _Shape(0.1, 1.0, 0.02),
)
_SEARCH_IN_NOISE = (
    *_SEARCH[:3],
    _Shape(0.3, 4.0, 0.05),
    _Shape(0.2, 3.0, 0.03),
    _Shape(0.1, 2.0, 0.02),
)
_EXACT = tuple(_Shape(1.0, 1.0, 0.1 * 0.7**k) for k in range(12))
# Variables times noise over s up to which most draws of a search succeed: see
# docs/results/unknown.md.
_DIFFICULT = 1.75
_FEWEST_ROUNDS, _MOST_ROUNDS, _MOST_EXACT_ROUNDS = 30, 250, 1000
# A stage reads the rows beside which noise asks for so many rounds; all of them, if these are more
# than the second number as a share. The last is the most rounds of such a stage. Chosen on maps of
# 200,000 rows, seed 0.
_ROWS_READ, _LARGEST_SHARE, _MOST_ROUNDS_OF_A_SHARE = 400.0, 0.5, 200
# The number of rows that are read grows with the root of all rows beyond so many.
_MANY_ROWS = 2e5
# Share of rows times variables that bends a smoothed sum of violations.
_BENT = 0.2
# Shares of the budget: for the signs of rows, for the start, for counts between stages and after.
_SIGNS, _START, _BETWEEN, _LAST = 0.005, 0.02, 0.015, 0.12
# Numbers of counts.
_START_COUNTS, _COUNTS, _LAST_COUNTS = 12, 6, 8
# Without noise there are so many last counts.
_EXACT_COUNTS = 24
_COUNT = "count violated rows"


@dataclass(frozen=True)
class Stage:
    """One descent of several; every number is public.

    Attributes
    ----------
    rounds : int
        T.
    step : float
        Step per unit of what is released.
    softness : float
        Violation of a scaled row of norm 1 over which its weight rises.
    aim : float
        In a search: how many times s rows are missed at the size of the stage, but for the push.
    push : float
        In a search: logarithm by which the size is smaller still.
    share : float
        The stage reads this share of the rows (:mod:`privlp.rows.share`).
    """

    rounds: int
    step: float
    softness: float
    aim: float = 1.0
    push: float = 0.0
    share: float = 1.0

    @classmethod
    def of(
        cls,
        shape: _Shape,
        *,
        noise: float,
        n: float,
        size: int,
        shares: bool = True,
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
        share = read * noise / reach if shares and noise > 0 else 1.0
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
    """The stages of a run, and its mechanisms.

    Attributes
    ----------
    requests : list of (Mechanism, int, str)
        In the order in which they are charged: the signs of rows, if they help; the counts before
        the stages; and for each stage its releases, and counts after it.
    stages : list of Stage
    signs : bool
        Whether the signs of rows are asked for.
    noise : float
        Deviation of a single release at the whole budget, for rows of norm 1.
    """

    requests: list[ChargeRequest]
    stages: list[Stage]
    signs: bool
    noise: float

    @property
    def rounds(self) -> int:
        """Steps of a run: the start, the rounds of all stages, and the counts after each."""
        return 1 + sum(stage.rounds + 1 for stage in self.stages)

    @property
    def noise_of_a_round(self) -> float:
        """Deviation of a round of the last stage, on average, per unit of sensitivity."""
        releases = [m for m, *_ in self.requests if isinstance(m, WeightedGaussianMechanism)]
        return releases[-1].sigma / releases[-1].sensitivity

    @classmethod
    def of(cls, task: Task, size: int) -> StagedCharges:
        """Those of a run on a region with this number of vertices.

        Raises
        ------
        InvalidParameterError, UnsupportedProblemError, BudgetExceededError
            If the task has no delta, no hard private rows, or no budget.
        """
        relation = task.constraint_private("staged")
        k = task.public.rows_of_one_record
        change = relation.sum_sensitivity(1.0, k)
        noise = change * noise_of_one_release(task)
        signs = not relation.hides_rows and noise > 0
        make = partial(Stage.of, noise=noise, n=task.n, size=size, shares=not relation.hides_rows)
        stages = [make(shape) for shape in _search(noise, size, task.density())]
        before = [_Sums(_SIGNS, 1, "sum the signs of rows", 2.0 * k)] if signs else []
        before.append(_Sums(_START, _START_COUNTS, _COUNT, float(k)))
        after = [_Sums(_BETWEEN, _COUNTS, _COUNT, float(k))] * (len(stages) - 1)
        last = _LAST_COUNTS if noise > 0 else _EXACT_COUNTS
        after.append(_Sums(_LAST, last, _COUNT, float(k)))
        return cls(_requests(task, before, stages, after, change), stages, signs, noise)


def difficulty(noise: float, size: int, s: float) -> float:
    """Variables times noise over s, 1 where most draws of a search still succeed."""
    return size * noise / s / _DIFFICULT


def _search(noise: float, size: int, s: float) -> tuple[_Shape, ...]:
    """The stages of a search."""
    if noise == 0:
        return _SEARCH_IN_NOISE + _EXACT
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
    task: Task,
    before: list[_Sums],
    stages: list[Stage],
    after: list[_Sums],
    sensitivity: float,
) -> list[ChargeRequest]:
    """The charges at the largest intensity that the budget allows.

    Some come before the first stage, and some after each stage but perhaps the last. The stages
    share what these leave.
    """
    left = 1 - math.fsum([sums.share for sums in before] + [sums.share for sums in after])
    s = task.density()
    left -= share_of_check(task, s)

    def make(intensity: float) -> list[ChargeRequest]:
        found = [sums.request(intensity) for sums in before]
        for number, stage in enumerate(stages):
            own = intensity * math.sqrt(left / len(stages))
            release = WeightedGaussianMechanism(
                sensitivity,
                sensitivity * math.sqrt(stage.rounds) / own,
                weights_of_rounds(stage.rounds),
            )
            found.append((release, stage.rounds, "release the sum of violated rows each round"))
            found += [sums.request(intensity) for sums in after[number : number + 1]]
        return [*found, check_request(task, s, intensity)]

    intensity = task.ledger.calibrate_together(
        lambda intensity: [(mechanism, number) for mechanism, number, _ in make(intensity)]
    )
    return make(intensity)
