"""What a chain of descents charges: all of it follows from public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privlp.methods.base import ChargeRequest
from privlp.methods.checked import check_request, share_of_check
from privlp.methods.descent import noise_of_one_release
from privlp.methods.perturbed_charges import secret_term
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws, GaussianMechanism

# Noise on all coordinates, in rows, over s: below the first number a program is easy, beyond the
# second hard. Shares are interpolated in its logarithm between the two.
_EASY, _HARD = 0.1, 1.0
# Shares of the budget in easy and in hard programs.
_START, _DEEP, _DEEP_COUNTS = (0.04, 0.1), (0.16, 0.34), (0.03, 0.05)
_SLACK, _BETWEEN, _LAST = (0.03, 0.03), (0.1, 0.08), (0.12, 0.18)
# Numbers of stages and of counts after each, in the last search.
_STAGES, _COUNTS, _LAST_COUNTS = (5, 2), (5, 3), (7, 4)
_START_COUNTS, _SLACK_COUNTS = 9, 6
#: Rounds of each descent, and descents towards a deep point.
ROUNDS, DEEP = 40, 2


@dataclass(frozen=True)
class ChainDraws:
    """The charged draws of a run, in the order in which they are charged."""

    start: ChargedDraws
    deep: ChargedDraws
    deep_counts: ChargedDraws
    slack: ChargedDraws
    ray: ChargedDraws
    stages: Sequence[tuple[ChargedDraws, ChargedDraws]]
    last: ChargedDraws
    last_target: float

    @classmethod
    def of(cls, draws: Sequence[ChargedDraws], last_target: float) -> ChainDraws:
        """The draws by what they are for, and the rows that the last search may miss."""
        stages = list(zip(draws[5:-1:2], draws[6:-1:2], strict=True))
        start, deep, deep_counts, slack, ray = draws[:5]
        return cls(start, deep, deep_counts, slack, ray, stages, draws[-1], last_target)


@dataclass(frozen=True)
class ChainCharges:
    """The mechanisms of a run.

    A gradient is a sum of vectors s_i g_i with |g_i| <= 1: it moves between neighbours by what the
    secret term of a perturbed program is charged for. A count moves by at most k.

    Attributes
    ----------
    requests : list of (Mechanism, int, str)
    difficulty : float
        Noise of one release on all coordinates, in rows, over s.
    """

    requests: list[ChargeRequest]
    difficulty: float

    @property
    def rounds(self) -> int:
        """Start, deep point, scale and last search, a round for each stage, and the check."""
        return 5 + (len(self.requests) - 7) // 2

    @property
    def noise(self) -> float:
        """Deviation of a slope of the last stage, per unit of sensitivity."""
        last: Any = self.requests[-4][0]
        return float(last.sigma / last.sensitivity)

    @classmethod
    def of(cls, task: Task, s: float, size: int) -> ChainCharges:
        """For so many coordinates."""
        k = float(task.public.rows_of_one_record)
        largest = secret_term(task, 1.0, 0.0).sensitivity
        difficulty = largest * math.sqrt(size) * noise_of_one_release(task) / s
        hard = _hardness(difficulty)

        def between(ends: tuple[float, float]) -> float:
            return ends[0] + hard * (ends[1] - ends[0])

        stages = round(between(_STAGES))
        shares = [_START, _DEEP, _DEEP_COUNTS, _SLACK, _BETWEEN, _LAST]
        start, deep, deep_counts, slack, ray, last = map(between, shares)
        descents = 1 - math.fsum(map(between, shares)) - share_of_check(task, s)
        number = round(between(_COUNTS))

        def make(intensity: float) -> list[ChargeRequest]:
            def counts(share: float, number: int, purpose: str) -> ChargeRequest:
                sigma = k * math.sqrt(number / share) / intensity
                return GaussianMechanism(k, sigma), number, purpose

            def slopes(share: float, number: int, purpose: str) -> ChargeRequest:
                sigma = largest * math.sqrt(number / share) / intensity
                return GaussianMechanism(largest, sigma), number, purpose

            found = [
                counts(start, _START_COUNTS, "count missed rows on a public ray"),
                slopes(deep, DEEP * ROUNDS, "sum the slopes of violations, away from rows"),
                counts(deep_counts, DEEP, "count missed rows"),
                counts(slack, _SLACK_COUNTS, "count rows by their slack"),
                counts(ray / (stages + 1), number, "count missed rows"),
            ]
            for _ in range(stages):
                found += [
                    slopes(descents / stages, ROUNDS, "sum the slopes of violations"),
                    counts(ray / (stages + 1), number, "count missed rows"),
                ]
            return [
                *found,
                counts(last, round(between(_LAST_COUNTS)), "count missed rows"),
                check_request(task, s, intensity),
            ]

        intensity = task.ledger.calibrate_together(
            lambda intensity: [(mechanism, number) for mechanism, number, _ in make(intensity)]
        )
        return cls(make(intensity), difficulty)


def _hardness(difficulty: float) -> float:
    """0 for easy programs, 1 for hard ones."""
    ends = [math.log(_EASY), math.log(_HARD)]
    return float(np.interp(math.log(max(difficulty, 1e-300)), ends, [0.0, 1.0]))
