"""What a private regression charges: all of it follows from public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privlp.methods.fallback import shares as cheap
from privlp.privacy import Accountant, ChargedDraws, GaussianMechanism, Mechanism
from svm_models import fallback
from svm_models.account import Account
from svm_models.neighbours import Neighbours
from svm_models.records.whitening import noise_of_one_sum
from svm_models.regression_losses import MEDIAN, ResidualLoss
from svm_models.regression_records import bits_for

OF_MOMENTS = "sum the second moments of records of norm 1 or less"
OF_NORMS = "count records by their norm"
OF_SIZES = "count records by the size of their residual"
OF_LEVELS = "count records above each quantile"
OF_WHOLE = "sum the records"
OF_SLOPES = "sum the slopes of the records' losses"

#: Sums of second moments, sizes of residuals, and counts of each bisection.
TURNS, SIZES, COUNTS = 3, 3, 7
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

    Attributes
    ----------
    loss : ResidualLoss
    share : float
        Of the squared Gaussian parameters that counts and moments leave.
    rounds : int
    step : float
        In units of 1/curvature.
    width : float or None
        Share of records within the smoothing; ``None`` for the first stage, which knows no scale.
    skipped : float
        Share of the rounds that is left out of the average: those on the way.
    """

    loss: ResidualLoss
    share: float
    rounds: int
    step: float
    width: float | None
    skipped: float = 0.15


def stages_of(loss: ResidualLoss, last_width: float, more: float = 1.0) -> list[Stage]:
    """The median first, whose slopes are the smallest; then the loss itself.

    Directions in which the loss is flatter than expected need rounds: those of records whose
    residuals spread widely, as of a rare feature. The price of a stage is that of one release
    however many rounds share it. But in much noise points stray where rounds are many: so there
    are `more` times as many in little noise. A first stage that leaves a rare direction far away is
    not made good later, where slopes are at their bounds: so the median pays more for it.

    An outer quantile is drawn towards the second stage in the end, which is paid for it.
    """
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

    Attributes
    ----------
    neighbours : Neighbours
    p : int
        Entries of a record, the constant among them.
    stages : list of Stage
    quantiles : tuple of float
        Those at which the intercepts of the last stages start; empty if the median will do.
    answers : tuple of float
        The quantiles of y that are the answers without features.
    longer : float
        Share of the records that may be longer than the bound.
    charge : callable
        The mechanisms, numbers of draws and purposes at an intensity: where there is a constant,
        the answer without features; moments, norms, sizes; where there are quantiles, the levels of
        the first and of the last intercepts; the whole where slopes are centred; one for each
        stage; and the comparison.
    """

    neighbours: Neighbours
    p: int
    stages: list[Stage]
    quantiles: tuple[float, ...]
    answers: tuple[float, ...]
    longer: float
    charge: Callable[[float], list[tuple[Mechanism, int, str]]]

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
        """The plan for a loss of K fits with p entries each; nothing is charged.

        Without a constant the answer without features is 0, which needs no counts.
        """
        n, moved = neighbours.n, neighbours.moved
        # The noise of one release of a sum of vectors of norm 1, and of one count.
        sum_noise = noise_of_one_sum(ledger, neighbours).sigma
        count_noise = sum_noise / moved
        many, rounding = loss.count, _rounding(neighbours)
        least = least_of(quantiles)
        of_counts = math.sqrt(many) * count_noise / n
        of_answer, of_choice = cheap(
            of_counts / (2 * least) ** _OF_FEW,
            math.sqrt(many / (2 * least)) * sum_noise / n,
            fallback.STEPS,
        )
        answers = fallback.told(quantiles or (0.5,), of_counts / math.sqrt(of_answer))
        of_answer *= constant
        of_fit = 1 - of_answer - of_choice
        sum_noise, count_noise = (noise / math.sqrt(of_fit) for noise in (sum_noise, count_noise))
        nu = sum_noise * math.sqrt(p) / n
        width = min(max(_MOST_WIDTH * nu / _WIDE_AT, _LEAST_WIDTH), _MOST_WIDTH)
        stages = stages_of(loss, width, min(max(_WIDE_AT / max(nu, 1e-300), 1.0), _MORE_ROUNDS))
        longer = min(max(_LONGER * nu, 0.0), _MOST_LONGER)
        norms = _share_of_counts(TURNS * COUNTS, count_noise / (_ACCURACY * n))
        sizes = _share_of_counts(SIZES * COUNTS, count_noise / (_ACCURACY * n))
        levels = len(quantiles) * COUNTS, count_noise / (_LEVEL_ACCURACY * least * n)
        shares = [_MOMENTS, norms, sizes, _share_of_counts(*levels) if quantiles else 0.0]
        counted = math.sqrt(max(len(quantiles), 1)) * rounding
        sums = [
            (math.sqrt(moved) * rounding, TURNS, OF_MOMENTS),
            (rounding, TURNS * COUNTS, OF_NORMS),
            (rounding, SIZES * COUNTS, OF_SIZES),
            (counted, COUNTS, OF_LEVELS),
            (counted, 1, OF_LEVELS),
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
        sums = [
            (math.sqrt(many) * rounding, fallback.STEPS, fallback.OF_ANSWER),
            *sums,
            (math.sqrt(many) * moved, 1, fallback.OF_CHOICE),
        ]

        def charge(intensity: float) -> list[tuple[Mechanism, int, str]]:
            return [
                (GaussianMechanism(size, size * math.sqrt(count / share) / intensity), count, why)
                for share, (size, count, why) in zip(shares, sums, strict=True)
                if share
            ]

        return cls(neighbours, p, stages, quantiles, answers, longer, charge)

    @property
    def least(self) -> float:
        """The smaller share of the records on a side of a quantile, of the outermost one."""
        return least_of(self.quantiles)

    def priced(self, ledger: Accountant) -> list[tuple[Mechanism, int, str]]:
        """What takes the whole of a ledger; nothing is charged."""
        return self.charge(
            ledger.calibrate_together(
                lambda t: [(mechanism, count) for mechanism, count, _ in self.charge(t)]
            )
        )

    def paid(self, account: Account) -> list[ChargedDraws]:
        """Charge everything at once."""
        return account.charge_together(self.priced(account.ledger))


def least_of(quantiles: tuple[float, ...]) -> float:
    """The smaller share of the records on a side of a quantile, of the outermost one."""
    return min([min(q, 1 - q) for q in quantiles], default=0.5)


def starts_of(quantiles: tuple[float, ...], *, constant: bool) -> tuple[float, ...]:
    """The levels at which intercepts start; none if there is no intercept, or the median will do.

    Examples
    --------
    >>> from svm_models.regression_plan import starts_of
    >>> starts_of((0.9,), constant=True), starts_of((0.5,), constant=True)
    ((0.9,), ())
    """
    return tuple(quantiles) if constant and tuple(quantiles) not in ((), (0.5,)) else ()


def sensitivity_of_slopes(loss: ResidualLoss, neighbours: Neighbours) -> float:
    """L2 change of a round's sum between neighbours.

    A record contributes slopes s, |s| <= steepest, each rounded by half a unit, times a vector of
    norm 1 at most.
    """
    unit = 2.0 ** -bits_for(neighbours.most)
    return neighbours.moved * (loss.steepest + math.sqrt(loss.count) / 2 * unit)


def _rounding(neighbours: Neighbours) -> float:
    """What rounding adds to a sum that is exact but for one subtraction or one product.

    Either is off by a relative 2^-53, of numbers of size n at most: on two data sets, and enlarged.
    """
    return 1 + 2.0**-30 + neighbours.most * 2.0**-50


def _share_of_counts(number: int, noise: float) -> float:
    """The share of the budget at which so many counts are accurate enough.

    `noise` is that of one count at the whole budget, in units of the accuracy.
    """
    return min(max(number * noise**2, _LEAST_COUNTS), _MOST_COUNTS)
