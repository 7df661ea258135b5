"""What a private regression charges, and what its noise will do: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privlp.methods.fallback import shares as cheap
from privlp.methods.fallback import tells
from privlp.privacy import (
    Accountant,
    ChargedDraws,
    ExponentialMechanism,
    GaussianMechanism,
    Mechanism,
)
from svm_models.account import Account, Neighbours, at_whole_budget
from svm_models.plan import OF_ANSWER, OF_CHOICE
from svm_models.regression.losses import (
    MEDIAN,
    ResidualLoss,
    Together,
    distinguishable,
    inside,
    is_selected,
)
from svm_models.whitening import noise_of_one_sum

OF_MOMENTS = "sum the second moments of records of norm 1 or less"
OF_NORMS = "count records by their norm"
OF_SIZES = "count records by the size of their residual"
OF_LEVELS = "count records above each quantile"
OF_WHOLE = "sum the records"
OF_SLOPES = "sum the slopes of the records' losses"

#: Sums of second moments, sizes of residuals, and counts of each bisection.
TURNS, SIZES, COUNTS = 3, 3, 7
#: Counts that find a quantile of y.
STEPS = 28
# Rounds of counts that find several without noise.
_EXACT_STEPS = 64
#: Variance of the mean of a stage's points, in units of that of a single release at their price:
#: measured, points stray and directions differ.
OF_A_MEAN = 1.9
# Chosen by trial on generated families, seeds below 100 (docs/results/regression.md).
_MOMENTS = 0.04
# Each count is to be this accurate, as a share of the records it is compared with, for a share of
# the budget between these two.
_ACCURACY, _LEAST_COUNTS, _MOST_COUNTS = 0.05, 0.01, 0.1
_LEVEL_ACCURACY = 0.35
# The fewer records are beyond a quantile of y, by this power, the more accurate its counts are.
_OF_FEW = 0.75
# The share of the counts that move the last intercepts.
_LAST_LEVELS = 0.04
# Records that may be longer than the bound: this many times the noise of one release.
_LONGER, _MOST_LONGER = 300.0, 0.85
# The last stage smooths this much at little noise, and so much at most.
_LEAST_WIDTH, _MOST_WIDTH, _WIDE_AT = 0.02, 0.35, 0.008
# Below that noise stages take more rounds, up to so many times.
_MORE_ROUNDS = 2.5
# Deviation of what rounds release, in units of a single release at their price.
_INEFFICIENCY = 1.8


@dataclass(frozen=True)
class Stage:
    """Some rounds of descent.

    `share` is that of squared Gaussian parameters, `step` in units of 1/curvature, `width` the
    share of records within the smoothing (None: no scale is known), `skipped` what the average
    leaves out.
    """

    loss: ResidualLoss
    share: float
    rounds: int
    step: float
    width: float | None
    skipped: float = 0.15


def stages_of(loss: ResidualLoss, last_width: float, more: float = 1.0) -> list[Stage]:
    """The median first, whose slopes are the smallest; then the loss itself."""
    if loss == MEDIAN:
        return [
            Stage(MEDIAN, 0.1, 12, 0.7, None, 0.6),
            Stage(loss, 0.1, math.ceil(20 * more), 0.5, 0.5, 0.6),
            Stage(loss, 0.8, 16, 0.6, last_width),
        ]
    return [
        Stage(MEDIAN, 0.05, 10, 0.7, None, 0.6),
        Stage(MEDIAN, 0.12, math.ceil(16 * more), 0.5, 0.5),
        Stage(loss, 0.08, math.ceil(10 * more), 0.5, 0.6, 0.6),
        Stage(loss, 0.75, math.ceil(12 * more), 0.5, last_width),
    ]


@dataclass(frozen=True)
class Plan:
    """What a descent charges, from public numbers alone.

    A record has `p` entries, the first of them 1 if `constant`. Last intercepts start at
    `quantiles`, `answers` are the quantiles of y without features, `longer` the share of records
    that may be longer than the bound. Without `stages` the answers are all that is released. One
    is `selected`, or counts find it. `charge` gives mechanisms, draws and purposes at an intensity.
    """

    neighbours: Neighbours
    p: int
    constant: bool
    loss: ResidualLoss
    stages: list[Stage]
    quantiles: tuple[float, ...]
    answers: tuple[float, ...]
    longer: float
    charge: Callable[[float], list[tuple[Mechanism, int, str]]]
    selected: bool = False

    @classmethod
    def of(
        cls,
        neighbours: Neighbours,
        p: int,
        loss: ResidualLoss,
        quantiles: tuple[float, ...],
        ledger: Accountant,
        *,
        constant: bool,
    ) -> Plan:
        """The plan for a loss of K fits with p entries each; without a constant 0 is the answer."""
        if not constant or quantiles == (0.5,):
            quantiles = ()
        n, moved, rows = neighbours.n, neighbours.moved, neighbours.rows
        # The noise of one release of a sum of vectors of norm 1, and of one count.
        sum_noise = noise_of_one_sum(ledger, neighbours).sigma
        count_noise = sum_noise * rows / moved
        many, rounding = loss.count, _rounding(neighbours)
        least = least_of(quantiles)
        asked = quantiles or (0.5,)
        joint = Together.counts(asked, neighbours.replaced)
        steps = STEPS if many == 1 else joint.steps if math.isfinite(ledger.eps) else _EXACT_STEPS
        counted = float(joint.noise.max())
        of_counts = counted * count_noise / n
        compared = math.sqrt(many / (2 * least)) * sum_noise / n
        of_answer, of_choice = cheap(of_counts / (2 * least) ** _OF_FEW, compared, STEPS)
        together = rows * (1 + len(asked) ** 2 * (rounding - 1))
        answering = (together, steps, OF_ANSWER)
        # There are no features, or what they tell is hidden.
        if p == constant or (constant and not tells(compared / math.sqrt(of_choice), 1.0)):
            selected = is_selected(asked, of_counts)
            answers = inside(asked) if selected else distinguishable(asked, of_counts)
            one = together * (1.0 if neighbours.replaced else max(answers[0], 1 - answers[0]))
            charge = _selecting(one) if selected else _charging([1.0], [answering])
            return cls(neighbours, p, constant, loss, [], quantiles, answers, 0.0, charge, selected)
        answers = distinguishable(asked, of_counts / math.sqrt(of_answer))
        of_answer *= constant
        of_fit = 1 - of_answer - of_choice
        sum_noise, count_noise = (noise / math.sqrt(of_fit) for noise in (sum_noise, count_noise))
        nu = sum_noise * math.sqrt(p) / n
        width = min(max(_MOST_WIDTH * nu / _WIDE_AT, _LEAST_WIDTH), _MOST_WIDTH)
        stages = stages_of(loss, width, min(max(_WIDE_AT / max(nu, 1e-300), 1.0), _MORE_ROUNDS))
        longer = min(max(_LONGER * nu, 0.0), _MOST_LONGER)
        norms = _share_of_counts(TURNS * COUNTS, count_noise / (_ACCURACY * n))
        sizes = _share_of_counts(SIZES * COUNTS, count_noise / (_ACCURACY * n))
        levels = counted**2 * COUNTS, count_noise / (_LEVEL_ACCURACY * least * n)
        shares = [_MOMENTS, norms, sizes, _share_of_counts(*levels) if quantiles else 0.0]
        sums = [
            (neighbours.moved_moments * rounding, TURNS, OF_MOMENTS),
            (rows * rounding, TURNS * COUNTS, OF_NORMS),
            (rows * rounding, SIZES * COUNTS, OF_SIZES),
            (together, COUNTS, OF_LEVELS),
            (together, 1, OF_LEVELS),
            (float(moved), 1, OF_WHOLE),
        ]
        shares.append(_LAST_LEVELS if quantiles else 0.0)
        left = 1 - math.fsum(shares)
        centre = float(np.linalg.norm(loss.centre))
        shares.append(left * centre / (centre + _INEFFICIENCY * loss.steepest))
        left -= shares[-1]
        for stage in stages:
            shares.append(left * stage.share)
            sums.append((sensitivity_of_slopes(stage.loss, neighbours), stage.rounds, OF_SLOPES))
        shares = [of_answer, *(share * of_fit for share in shares), of_choice]
        sums = [answering, *sums, (math.sqrt(many) * moved, 1, OF_CHOICE)]
        charge = _charging(shares, sums)
        return cls(neighbours, p, constant, loss, stages, quantiles, answers, longer, charge)

    @property
    def least(self) -> float:
        """The smaller share of the records on a side of a quantile, of the outermost one."""
        return least_of(self.quantiles)

    @property
    def alone(self) -> bool:
        """Whether quantiles of y are all that is released."""
        return not self.stages

    def together(self, quantiles: tuple[float, ...]) -> Together:
        """How counts above rising levels, one for each quantile, are released."""
        return Together.counts(quantiles, self.neighbours.replaced)

    def priced(self, ledger: Accountant) -> list[tuple[Mechanism, int, str]]:
        """What takes the whole of a ledger; nothing is charged."""
        return at_whole_budget(self.charge, ledger)

    def paid(self, account: Account) -> list[ChargedDraws]:
        """Charge everything at once."""
        return account.charge_together(self.priced(account.ledger))


def _charging(
    shares: list[float], sums: list[tuple[float, int, str]]
) -> Callable[[float], list[tuple[Mechanism, int, str]]]:
    """What is charged at an intensity: `sums` are sensitivities, draws and purposes."""

    def charge(intensity: float) -> list[tuple[Mechanism, int, str]]:
        return [
            (GaussianMechanism(size, size * math.sqrt(count / share) / intensity), count, why)
            for share, (size, count, why) in zip(shares, sums, strict=True)
            if share
        ]

    return charge


def _selecting(size: float) -> Callable[[float], list[tuple[Mechanism, int, str]]]:
    """What is charged at an intensity for a level that is selected."""
    return lambda intensity: [(ExponentialMechanism(size, intensity), 1, OF_ANSWER)]


def least_of(quantiles: tuple[float, ...]) -> float:
    """The smaller share of the records on a side of a quantile, of the outermost one."""
    return min([min(q, 1 - q) for q in quantiles], default=0.5)


def sensitivity_of_slopes(loss: ResidualLoss, neighbours: Neighbours) -> float:
    """L2 change of a round's sum between neighbours.

    A record adds slopes s, |s| <= steepest, times a vector of norm <= 1; their product is rounded,
    but never beyond that vector's length.
    """
    return neighbours.moved * loss.steepest


def _rounding(neighbours: Neighbours) -> float:
    """What rounding sums of size n at most by a relative 2^-53, on two data sets, adds."""
    return 1 + 2.0**-30 + neighbours.most * 2.0**-50


def _share_of_counts(number: float, noise: float) -> float:
    """The share at which counts are accurate; `noise` of one at the whole budget, in that unit."""
    return min(max(number * noise**2, _LEAST_COUNTS), _MOST_COUNTS)
