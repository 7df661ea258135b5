"""What a private LP-SVM fixes and charges, and what its noise will do, from public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from privlp import privacy
from privlp.game.loop import weights_of_rounds
from privlp.status import Verdict
from svm_models import whitening
from svm_models.account import Neighbours, at_whole_budget
from svm_models.classifiers import fairness
from svm_models.plan import OF_ANSWER, OF_CHOICE, Part, least_enough
from svm_models.records.grid import CENTRE

# Chosen by trial on Adult and KDDCup99 (docs/results/private_lp_svc.md).
_ROUNDS, _ROUNDS_IN_LITTLE_NOISE, _RADIUS = 9.5, 4.4, 50.0
#: Between these levels of noise second moments are measured twice: below, one release shows weak
#: directions well enough; above, two show them no better.
_LEAST_FOR_TWO, _MOST_FOR_TWO = 3e-3, 1e-2
# Noise beside a mean of records of norm 1. Chosen by trial on generated families, seeds below 100:
# up to the first, fits made at most two more mistakes in a hundred records than without noise;
# beyond the second, many were mostly noise (docs/results/fallback.md).
_ENOUGH, _HOPELESS = 0.008, 0.12
# More mistakes than without noise, at most: so many times that noise, and this share of records.
_TIMES, _BESIDES = 2.5, 0.002
#: The margin of a logistic loss where noise is large.
MOST_MARGIN = 4.0

# Shares of squared Gaussian parameters: moments, moments again, the sum at weights 1/2.
_ONCE, _TWICE = (whitening.SHARE_OF_MOMENTS, 0.0, 0.35), (0.05, 0.08, 0.33)


@dataclass(frozen=True)
class Rule:
    """What is fixed before the first draw, for records of norm 1.

    `radius` R bounds ||w||_1; below `ridge` a second moment is not told from noise. The player's
    metric may be `steered` by how far apart the classes are, moments measured `twice`. `answer` and
    `choice` are shares of the budget for the class of most records and for the comparison with it;
    where `pure`, a share of eps, buys the first by Laplace noise, `answer` is 0. `fair`: whether
    decisions are evened out between two groups. `noise` is nu.
    With a `margin` the loss is logistic, and steps are `pace` times as long.
    """

    radius: float
    rounds: int
    ridge: float
    steered: bool = False
    twice: bool = False
    answer: float = 0.0
    choice: float = 0.0
    pure: float = 0.0
    fair: bool = False
    noise: float = 0.0
    margin: float | None = None
    pace: float = 1.0

    @classmethod
    def of(cls, n: int, p: int, sigma: float) -> Rule:
        """The rule for n records of p features; sigma is the noise of one sum at the whole budget.

        nu = sigma sqrt(p)/n. T = max(9.5 nu^(-1/3), 4.4 nu^(-1/2)), ridge = 150 nu^2, R = 50
        nu^(-1/2).
        """
        nu = whitening.noise_beside_a_mean(n, p, sigma)
        rounds = max(_ROUNDS * nu ** (-1 / 3), _ROUNDS_IN_LITTLE_NOISE / math.sqrt(nu))
        return cls(
            _RADIUS / math.sqrt(nu),
            math.ceil(rounds),
            whitening.ridge_of(nu),
            nu > _LEAST_FOR_TWO,
            _LEAST_FOR_TWO < nu < _MOST_FOR_TWO,
            noise=nu,
        )


def share_of_fairness() -> float:
    """What evening out takes, of squared Gaussian parameters."""
    return fairness.OF_DIRECTION + fairness.OF_COUNTS


def priced(
    neighbours: Neighbours, rule: Rule, ledger: privacy.Accountant
) -> list[tuple[privacy.Mechanism, int, str]]:
    """What takes the whole of a ledger, in the order of the draws; nothing is charged."""
    of_moments, of_sums = neighbours.moved_moments, neighbours.moved * CENTRE
    moved = float(neighbours.moved)
    of_fit = 1 - rule.answer - rule.choice - rule.fair * share_of_fairness()
    first, again, centre = (share * of_fit for share in (_TWICE if rule.twice else _ONCE))

    def requests(intensity: float) -> list[tuple[privacy.Mechanism, int, str]]:
        def once(sensitivity: float, share: float) -> privacy.GaussianMechanism:
            return privacy.GaussianMechanism(
                sensitivity, sensitivity / (intensity * math.sqrt(share))
            )

        of_rounds = of_fit - first - again - centre
        each = intensity * math.sqrt(of_rounds / rule.rounds)
        sums = privacy.WeightedGaussianMechanism(
            of_sums, of_sums / each, weights_of_rounds(rule.rounds)
        )
        found: list[tuple[privacy.Mechanism, int, str]] = [
            (once(of_moments, first), 1, whitening.PURPOSE)
        ]
        if rule.twice:
            found.append((once(of_moments, again), 1, whitening.PURPOSE_AGAIN))
        found += [
            (once(of_sums, centre), 1, "release half of the sum of records"),
            (sums, rule.rounds, "release the sum of weighted records each round"),
        ]
        if rule.choice:
            answer: privacy.Mechanism
            if rule.pure:
                answer = privacy.LaplaceMechanism.of_eps(moved, rule.pure * ledger.eps)
            else:
                answer = once(moved, rule.answer)
            found += [(answer, 1, OF_ANSWER), (once(moved, rule.choice), 1, OF_CHOICE)]
        if rule.fair:
            # A pair of counts moves as far as second moments do.
            count = once(of_moments, fairness.OF_COUNTS / fairness.COUNTS)
            direction = once(of_sums, fairness.OF_DIRECTION)
            found += [
                (direction, 1, fairness.DIRECTION_PURPOSE),
                (count, fairness.COUNTS, fairness.COUNTS_PURPOSE),
            ]
        return found

    return at_whole_budget(requests, ledger)


@dataclass(frozen=True)
class Mistakes:
    """How noisy a private classifier will be.

    `moved` is the length of the noise of one release at the whole budget, beside a mean of records
    of norm data_norm. `falls_back`: whether one class may be named for everyone; `margin`: of the
    logistic loss, if it is one.
    """

    priced: Callable[[], tuple[Part, ...]]
    moved: float
    falls_back: bool
    margin: float | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """What each kind of draws takes."""
        return self.priced()

    @property
    def excess(self) -> float:
        """What share of the records noise takes for the wrong class, at most: nearly always."""
        return _TIMES * self.moved + _BESIDES

    @property
    def verdict(self) -> Verdict:
        """Whether records and eps are enough."""
        if self.moved <= _ENOUGH:
            return Verdict.ENOUGH_ROWS
        return Verdict.ROUGH if self.moved <= _HOPELESS else Verdict.TOO_FEW_ROWS

    def advice(self, records: int, eps: float, forecast: Callable[[int, float], Mistakes]) -> str:
        """A verdict in words, with the number of records or the eps that would be enough."""
        found = self._advice(records, eps, forecast)
        if self.margin is None:
            return found
        return (
            f"{found} The loss is logistic with margin {self.margin:.1f}: 0 is logistic regression,"
            f" {MOST_MARGIN:g} nearly the hinge, which small eps and few records favour."
        )

    def _advice(self, records: int, eps: float, forecast: Callable[[int, float], Mistakes]) -> str:
        verdict = self.verdict
        if verdict is Verdict.ENOUGH_ROWS:
            return (
                f"{verdict}: noise takes at most about {100 * self.excess:.2g} in 100 records more"
                " for the wrong class, if records are about as long as data_norm. Among shorter"
                " ones, which are private, it does more."
            )
        would = least_enough(forecast, records, eps)
        if verdict is Verdict.ROUGH:
            constant = (
                " The mistakes should be no more than about those of one class for everyone, which"
                " is named where a noisy comparison does not speak for the fit."
                if self.falls_back
                else ""
            )
            return (
                f"{verdict}: how many mistakes noise adds cannot be foretold, because that depends"
                f" on how far apart the classes are, which is private.{constant}{would}"
            )
        so = (
            "one class will most likely be named for everyone"
            if self.falls_back
            else "the weights will most likely mean nothing"
        )
        return f"{verdict}: noise hides the fit, so {so}.{would}"
