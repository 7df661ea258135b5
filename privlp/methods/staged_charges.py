"""What a staged descent charges, and the numbers of its stages: all from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
    times s rows are missed at its size, which is then made smaller by a factor of exp(-push). If
    the stages start afresh, the pull is the last number, if it is given.
    """

    pull: float
    aim: float = 1.0
    push: float = 0.0
    afresh: float | None = None


# With a given size of the objective: few stages where noise is large, or many.
_FEW = (
    _Shape(2.0),
    _Shape(0.5, 8.0, 0.1, 2.0),
    _Shape(0.2, 4.0, 0.05, 0.7),
    _Shape(0.1, 2.0, 0.02, 0.2),
)
_MANY = (
    _Shape(2.0),
    _Shape(0.5, 8.0, 0.1, 2.0),
    _Shape(0.5, 6.0, 0.1, 1.0),
    _Shape(0.2, 3.0, 0.05, 0.5),
    _Shape(0.2, 1.5, 0.03, 0.3),
    _Shape(0.1, 1.0, 0.02, 0.2),
)
# With an unknown one. Where noise is large, the last aims are too: they are less certain. Without
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
_LARGE_NOISE = 1e-3
# Variables times noise over s up to which most draws of a search succeed: see
# docs/results/unknown.md.
_DIFFICULT = 1.75
# What a descent at a given optimum leaves of the error of a single release: a part of it, and more
# where noise is large beside s. Chosen on coverings of 2,000 to 20,000 rows, seeds 30 to 32.
_LEFT, _MORE_LEFT = 0.08, 2.5
_FEWEST_ROUNDS, _MOST_ROUNDS, _MOST_EXACT_ROUNDS = 30, 250, 1000
# A stage reads the rows beside which noise asks for so many rounds; all of them, if these are more
# than the second number as a share. The last is the most rounds of such a stage. Chosen on maps of
# 200,000 rows, seed 0.
_ROWS_READ, _LARGEST_SHARE, _MOST_ROUNDS_OF_A_SHARE = 400.0, 0.5, 200
# If alpha is given, no stage has a softness below this part of it.
_OF_ALPHA = 0.25
# The number of rows that are read grows with the root of all rows beyond so many.
_MANY_ROWS = 2e5
# Share of rows times variables that bends a smoothed sum of violations.
_BENT = 0.2
# Shares of the budget: for the signs of rows, for the start, for counts between stages and after.
_SIGNS, _START, _BETWEEN, _LAST = 0.005, 0.02, 0.015, 0.12
#: Numbers of counts.
_START_COUNTS, COUNTS, _LAST_COUNTS = 12, 6, 8
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
    bolder : float
        If the stages started afresh: by so much step and softness are larger.
    share : float
        The stage reads this share of the rows (:mod:`privlp.rows.share`).
    """

    rounds: int
    step: float
    softness: float
    aim: float = 1.0
    push: float = 0.0
    bolder: float = 1.0
    share: float = 1.0

    @property
    def afresh(self) -> Stage:
        """The stage for points that start afresh, with the same rounds."""
        b = self.bolder
        return replace(self, step=self.step * b, softness=self.softness * b, push=self.push * b)

    @classmethod
    def of(
        cls,
        shape: _Shape,
        *,
        noise: float,
        n: float,
        size: int,
        shares: bool = True,
        finest: float = 0.0,
    ) -> Stage:
        """The stage that follows its scores with a strength of `pull`, at this noise of a sum.

        The logarithms of shares move by pull sqrt(ln(d)/2) for each deviation of the noise.
        Rounds are as many as softness of the size of the noise needs, within limits. If
        these are too few, the step is that of the noise for which they are enough. Of many rows,
        a stage reads no more than it takes for the noise to be so large beside them; with
        `shares`, if that many are known. Rounds are fewer if softness would be below `finest`.
        """
        pull, aim, push, afresh = shape
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
        if finest > 0:
            enough = math.ceil(math.sqrt(n * total / (size * finest)))
            rounds = max(_FEWEST_ROUNDS, min(rounds, enough))
        softness = n * total / (size * rounds**2)
        step = total / math.fsum(weights_of_rounds(rounds))
        return cls(rounds, step, softness, aim, push, (afresh or pull) / pull, share)


@dataclass(frozen=True)
class StagedCharges:
    """The stages of a run, and its mechanisms.

    Attributes
    ----------
    requests : list of (Mechanism, int, str)
        In the order in which they are charged: the signs of rows, if they help; the counts before
        the stages, if the size of the objective is searched; and for each stage its releases, and
        counts after it.
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

    def error(self, size: int, n: int) -> float:
        """Error of the sum of violations that a single release would leave, for each row."""
        return _error(self.noise, size, n)

    def left_over(self, size: int, task: Task) -> float:
        """The share of the norm of rows by which they are violated at a given optimum.

        It is a small part of the error of a single release where noise is small beside s.
        """
        beside_s = self.noise / task.density()
        return self.error(size, task.n) * min(1.0, _LEFT + _MORE_LEFT * beside_s**1.5)

    @classmethod
    def of(
        cls, task: Task, size: int, *, search: bool, longest: float | None = None
    ) -> StagedCharges:
        """Those of a run on a region with this number of vertices, with or without a search.

        If alpha is given, and the length `longest` by which it is divided to be the violation of a
        scaled row, no stage is softer than a small part of alpha.

        Raises
        ------
        InvalidParameterError, UnsupportedProblemError, BudgetExceededError
            If the task has no delta, no hard private rows, or no budget.
        """
        relation = task.constraint_private("staged" if search else "staged-at-opt")
        k = task.public.rows_of_one_record
        change = relation.sum_sensitivity(1.0, k)
        noise = change * noise_of_one_release(task)
        signs = not relation.hides_rows and noise > 0
        if search:
            shapes = _search(noise, size, task.density())
        else:
            shapes = _FEW if _error(noise, size, task.n) > _LARGE_NOISE else _MANY
        alpha, finest = task.accuracy(), 0.0
        if alpha is not None and longest is not None:
            finest = _OF_ALPHA * alpha / longest
        make = partial(
            Stage.of,
            noise=noise,
            n=task.n,
            size=size,
            shares=not relation.hides_rows,
            finest=finest,
        )
        stages = [make(shape) for shape in shapes]
        before = [_Sums(_SIGNS, 1, "sum the signs of rows", 2.0 * k)] if signs else []
        if search:
            before.append(_Sums(_START, _START_COUNTS, _COUNT, float(k)))
            after = [_Sums(_BETWEEN, COUNTS, _COUNT, float(k))] * (len(stages) - 1)
            last = _LAST_COUNTS if noise > 0 else _EXACT_COUNTS
            after.append(_Sums(_LAST, last, _COUNT, float(k)))
        else:  # sizes and levels are looked for
            after = [_Sums(2 * _BETWEEN, 2 * COUNTS, _COUNT, float(k))] * (len(stages) - 1)
            after.append(_Sums(_LAST / 2, _LAST_COUNTS, _COUNT, float(k)))
        requests = _requests(task, before, stages, after, change)
        return cls(requests, stages, signs, noise)


def _error(noise: float, size: int, n: int) -> float:
    return noise * math.sqrt(2 * math.log(max(2, size))) / n


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
