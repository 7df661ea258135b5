"""What a private LP-SVM fixes before its first draw, and what it charges, from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privlp.game.loop import weights_of_rounds
from privlp.privacy import (
    Accountant,
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    WeightedGaussianMechanism,
)
from svm_models import fallback
from svm_models.neighbours import Neighbours
from svm_models.records.grid import CENTRE
from svm_models.records.whitening import (
    PURPOSE,
    PURPOSE_AGAIN,
    SHARE_OF_MOMENTS,
    noise_beside_a_mean,
    ridge_of,
    sensitivity_of_moments,
)

# Chosen by trial on Adult and KDDCup99 (docs/results/private_lp_svc.md).
_ROUNDS, _ROUNDS_IN_LITTLE_NOISE, _RADIUS = 9.5, 4.4, 50.0
#: Between these levels of noise second moments are measured twice: below, one release shows weak
#: directions well enough; above, two show them no better.
_LEAST_FOR_TWO, _MOST_FOR_TWO = 3e-3, 1e-2


@dataclass(frozen=True)
class Shares:
    """Shares of the budget (of squared Gaussian parameters); rounds take what they leave.

    Attributes
    ----------
    moments, again : float
        For the second moments, and for those of the whitened records.
    centre : float
        For the sum at dual weights of 1/2.
    """

    moments: float
    again: float
    centre: float


_ONCE = Shares(SHARE_OF_MOMENTS, 0.0, 0.35)
_TWICE = Shares(0.05, 0.08, 0.33)


@dataclass(frozen=True)
class Rule:
    """What is fixed before the first draw, for records of norm 1.

    Attributes
    ----------
    radius : float
        R: bound on ||w||_1.
    rounds : int
        T.
    ridge : float
        Second moment below which a direction of the records is not told from noise.
    steered : bool
        Whether the player's metric follows how far apart the classes are.
    twice : bool
        Whether second moments are measured twice.
    answer, choice : float
        Shares of the budget for the class of most records, and for the comparison with it.
    pure : float
        Share of eps for the first, by Laplace noise; then `answer` is 0.
    """

    radius: float
    rounds: int
    ridge: float
    steered: bool = False
    twice: bool = False
    answer: float = 0.0
    choice: float = 0.0
    pure: float = 0.0

    @property
    def shares(self) -> Shares:
        """What buys what."""
        of_fit, found = 1 - self.answer - self.choice, _TWICE if self.twice else _ONCE
        return Shares(found.moments * of_fit, found.again * of_fit, found.centre * of_fit)

    @classmethod
    def of(cls, n: int, p: int, sigma: float) -> Rule:
        """The rule, from public numbers.

        There are n records of p features; `sigma` is the noise of a single release of the sum at
        the whole budget. nu = sigma sqrt(p)/n is the length of that noise beside a mean of records
        of norm 1. T is the larger of 9.5 nu^(-1/3) and 4.4 nu^(-1/2), ridge = 150 nu^2, R = 50
        nu^(-1/2), nu within 2e-4 and 1. Above nu = 0.003 the
        player is steered, and up to 0.01 second moments are measured twice.
        """
        nu = noise_beside_a_mean(n, p, sigma)
        rounds = max(_ROUNDS * nu ** (-1 / 3), _ROUNDS_IN_LITTLE_NOISE / math.sqrt(nu))
        return cls(
            _RADIUS / math.sqrt(nu),
            math.ceil(rounds),
            ridge_of(nu),
            nu > _LEAST_FOR_TWO,
            _LEAST_FOR_TWO < nu < _MOST_FOR_TWO,
        )


def priced(
    neighbours: Neighbours, rule: Rule, ledger: Accountant
) -> list[tuple[Mechanism, int, str]]:
    """What takes the whole of a ledger; nothing is charged.

    Second moments, twice if they are measured twice; half of the sum of records; all rounds; and
    two counts, if one class may be named for everyone.
    """
    of_moments, of_sums = sensitivity_of_moments(neighbours), neighbours.moved * CENTRE
    shares = rule.shares

    def once(sensitivity: float, share: float, intensity: float) -> GaussianMechanism:
        return GaussianMechanism(sensitivity, sensitivity / (intensity * math.sqrt(share)))

    def requests(intensity: float) -> list[tuple[Mechanism, int, str]]:
        of_fit = 1 - rule.answer - rule.choice
        of_rounds = of_fit - shares.moments - shares.again - shares.centre
        each = intensity * math.sqrt(of_rounds / rule.rounds)
        sums = WeightedGaussianMechanism(of_sums, of_sums / each, weights_of_rounds(rule.rounds))
        moments: list[tuple[Mechanism, int, str]] = [
            (once(of_moments, shares.moments, intensity), 1, PURPOSE)
        ]
        moved = float(neighbours.moved)
        of_fallback: list[tuple[Mechanism, int, str]] = []
        if rule.choice:
            answer: Mechanism
            if rule.pure:
                answer = LaplaceMechanism.of_eps(moved, rule.pure * ledger.eps)
            else:
                answer = once(moved, rule.answer, intensity)
            of_fallback = [
                (answer, 1, fallback.OF_ANSWER),
                (once(moved, rule.choice, intensity), 1, fallback.OF_CHOICE),
            ]
        if rule.twice:
            moments.append((once(of_moments, shares.again, intensity), 1, PURPOSE_AGAIN))
        return [
            *moments,
            (once(of_sums, shares.centre, intensity), 1, "release half of the sum of records"),
            (sums, rule.rounds, "release the sum of weighted records each round"),
            *of_fallback,
        ]

    def releases(intensity: float) -> list[tuple[Mechanism, int]]:
        return [(mechanism, count) for mechanism, count, _ in requests(intensity)]

    return requests(ledger.calibrate_together(releases))
