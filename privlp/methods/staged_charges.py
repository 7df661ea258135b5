"""What a staged descent charges, and the numbers of its stages: all from public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privlp.methods.base import ChargeRequest
from privlp.methods.descent import noise_of_one_release
from privlp.methods.task import Task
from privlp.players.rounds import weights_of_rounds
from privlp.privacy import GaussianMechanism, WeightedGaussianMechanism
from privlp.regions import rounding

# How strongly each stage follows its scores, in units of the noise: with a known size of the
# objective, few stages where noise is large; with an unknown one.
_FEW, _MANY = (2.0, 0.5, 0.2, 0.1), (2.0, 0.5, 0.5, 0.2, 0.2, 0.1)
# In a search also: how many times s rows are missed at the size of the stage, and by how much (as
# a logarithm) it is smaller still. Without noise there are more stages.
# Where noise is large, the last aims are too: they are less certain.
_SEARCH = (
    (2.0, 8.0, 0.1),
    (1.0, 8.0, 0.1),
    (0.5, 6.0, 0.1),
    (0.3, 3.0, 0.05),
    (0.2, 1.5, 0.03),
    (0.1, 1.0, 0.02),
)
_SEARCH_IN_NOISE = (*_SEARCH[:3], (0.3, 4.0, 0.05), (0.2, 3.0, 0.03), (0.1, 2.0, 0.02))
_EXACT = tuple((1.0, 1.0, 0.1 * 0.7**k) for k in range(12))
_LARGE_NOISE = 1e-3
# Variables times noise over s up to which most draws of a search succeed: see
# docs/results/unknown.md.
_DIFFICULT = 1.75
_FEWEST_ROUNDS, _MOST_ROUNDS, _MOST_EXACT_ROUNDS = 30, 250, 1000
# Share of rows times variables that bends a smoothed sum of violations.
_BENT = 0.2
# Shares of the budget: for the signs of rows, for the start, for counts between stages and after.
_SIGNS, _START, _BETWEEN, _LAST = 0.005, 0.02, 0.015, 0.12
#: Numbers of counts.
START_COUNTS, COUNTS, LAST_COUNTS = 12, 6, 8


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
    """

    rounds: int
    step: float
    softness: float
    aim: float = 1.0
    push: float = 0.0

    @classmethod
    def of(cls, pull: float, aim: float, push: float, *, noise: float, n: int, size: int) -> Stage:
        """The stage that follows its scores with a strength of `pull`, at this noise of a sum.

        The logarithms of shares move by pull sqrt(ln(d)/2) for each deviation of the noise.
        Rounds are as many as softness of the size of the noise needs, within limits. If
        these are too few, the step is that of the noise for which they are enough.
        """
        log_d = math.log(max(2, size))
        most = _MOST_ROUNDS if noise > 0 else _MOST_EXACT_ROUNDS
        reach = n * math.sqrt(pull / (_BENT * size))
        noise = max(noise, reach / _MOST_EXACT_ROUNDS)
        rounds = max(_FEWEST_ROUNDS, min(most, math.floor(reach / noise)))
        total = pull * math.sqrt(log_d / 2) / noise
        softness = n * total / (size * rounds**2)
        step = total / math.fsum(weights_of_rounds(rounds))
        return cls(rounds, step, softness, aim, push)


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
        """Rounds of all stages."""
        return sum(stage.rounds for stage in self.stages)

    @property
    def noise_of_a_round(self) -> float:
        """Deviation of a round of the last stage, on average, per unit of sensitivity."""
        releases = [m for m, *_ in self.requests if isinstance(m, WeightedGaussianMechanism)]
        return releases[-1].sigma / releases[-1].sensitivity

    def error(self, size: int, n: int) -> float:
        """Error of the sum of violations that a single release would leave, for each row."""
        return self.noise * math.sqrt(2 * math.log(max(2, size))) / n

    @classmethod
    def of(cls, task: Task, size: int, *, search: bool) -> StagedCharges:
        """For a region with this number of vertices."""
        relation = task.constraint_private("staged")
        k = task.public.rows_of_one_record
        change = relation.sum_sensitivity(1.0, k)
        sensitivity = change + 2 * rounding.of_sum(task.largest_n, size)
        noise = change * noise_of_one_release(task)
        signs = not relation.hides_rows and noise > 0
        error = noise * math.sqrt(2 * math.log(max(2, size))) / task.n
        if search:
            shapes = _search(noise, size, task.density())
        else:
            shapes = tuple((pull, 1.0, 0.0) for pull in (_FEW if error > _LARGE_NOISE else _MANY))
        stages = [Stage.of(*shape, noise=noise, n=task.n, size=size) for shape in shapes]
        before: list[tuple[float, int, str, float]] = []
        if signs:
            signs_change = 2.0 * k + 2 * rounding.of_sum(task.largest_n, size)
            before.append((_SIGNS, 1, "sum the signs of rows", signs_change))
        if search:
            before.append((_START, START_COUNTS, "count violated rows", float(k)))
        between = (2 - search) * COUNTS
        after = [(_BETWEEN * (2 - search), between)] * (len(stages) - 1)
        if search:
            after.append((_LAST, LAST_COUNTS))
        requests = _requests(task, before, stages, after, sensitivity)
        return cls(requests, stages, signs, noise)


def difficulty(noise: float, size: int, s: float) -> float:
    """Variables times noise over s, 1 where most draws of a search still succeed."""
    return size * noise / s / _DIFFICULT


def _search(noise: float, size: int, s: float) -> tuple[tuple[float, float, float], ...]:
    """The stages of a search."""
    if noise == 0:
        return _SEARCH + _EXACT
    return _SEARCH if difficulty(noise, size, s) <= 1 else _SEARCH_IN_NOISE


def _requests(
    task: Task,
    before: Sequence[tuple[float, int, str, float]],
    stages: Sequence[Stage],
    after: Sequence[tuple[float, int]],
    sensitivity: float,
) -> list[ChargeRequest]:
    """The charges at the largest intensity that the budget allows."""
    k = float(task.public.rows_of_one_record)
    left = 1 - math.fsum([share for share, *_ in before] + [share for share, _ in after])

    def make(intensity: float) -> list[ChargeRequest]:
        found: list[ChargeRequest] = [
            (_gaussian(change, intensity * math.sqrt(share / number)), number, purpose)
            for share, number, purpose, change in before
        ]
        for number, stage in enumerate(stages):
            own = intensity * math.sqrt(left / len(stages))
            release = WeightedGaussianMechanism(
                sensitivity,
                sensitivity * math.sqrt(stage.rounds) / own,
                weights_of_rounds(stage.rounds),
            )
            found.append((release, stage.rounds, "release the sum of violated rows each round"))
            if number < len(after):
                share, counts = after[number]
                count = _gaussian(k, intensity * math.sqrt(share / counts))
                found.append((count, counts, "count violated rows"))
        return found

    intensity = task.ledger.calibrate_together(
        lambda intensity: [(mechanism, number) for mechanism, number, _ in make(intensity)]
    )
    return make(intensity)


def _gaussian(change: float, intensity: float) -> GaussianMechanism:
    return GaussianMechanism(change, change / intensity)
