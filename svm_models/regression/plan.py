"""What a private regression charges, and what its noise will do: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privlp.methods.counts import shares as cheap
from privlp.methods.counts import tells
from privlp.privacy import (
    Accountant,
    ChargedDraws,
    ExponentialMechanism,
    GaussianMechanism,
    Mechanism,
)
from privlp.status import Verdict
from svm_models.account import Account, Neighbours, at_whole_budget
from svm_models.plan import OF_ANSWER, OF_CHOICE, Part, noise_in, parts_of, ways_out
from svm_models.regression.losses import (
    MEDIAN,
    ResidualLoss,
    Together,
    inside,
    is_selected,
    told,
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
            answers = inside(asked) if selected else told(asked, of_counts)
            one = together * (1.0 if neighbours.replaced else max(answers[0], 1 - answers[0]))
            charge = _selecting(one) if selected else _charging([1.0], [answering])
            return cls(neighbours, p, constant, loss, [], quantiles, answers, 0.0, charge, selected)
        answers = told(asked, of_counts / math.sqrt(of_answer))
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


# Deviation of several that counts find, in units of a single release at their price: measured.
_OF_ROUNDS = 1.8
# Chosen by trial on generated families, heavy-tailed ones among them, seeds below 100: up to the
# first of each pair fits were as good as forecast; beyond the second, they were mostly noise, or
# one in three was (docs/results/fallback.md).
_EXCESS = 0.05, 1.25
_COUNTS = 0.12, 0.25
_GOOD_MOMENTS = 0.6, 3.0
# What the loss exceeds the exact fit's by at most: so many times what it would be on average if
# residuals were normal, and this share. Chosen on the same families: it held for 99 % of the fits.
_TIMES, _BESIDES = 2.5, 0.0025
# In units of the reach of y, in which y is between -1 and 1. If errors of up to 1 are ignored, a
# prediction of 0 costs nothing. Residuals within that range have a standard deviation of at most 1:
# of less than twice the errors that are ignored, where those exceed 1/2.
_ALL_IGNORED, _TOO_LARGE_TO_BE_HALF = 1.0, 0.5
_TAILS = (
    " Features of which most values fill a small part of their declared range can lose more:"
    " declare a tighter range, to which values are clipped, or take logarithms."
)
_CONSTANT = (
    " The loss should be no more than about that of one prediction for everyone, which is released"
    " where a noisy comparison does not speak for the fit."
)


@dataclass(frozen=True)
class Forecast:
    """How noisy a private regression will be: `parts` in the order of the draws.

    `moved`: standard deviation by which noise moves a typical prediction, in that of residuals;
    `excess`: by what share of the least loss that raises the loss, nearly always at most; `counts`,
    `answer`: noise of counts, as a share of the records; `moments`: noise on second moments, over
    those of records alike in all directions; `ignored`: errors that cost nothing, as a share of y's
    reach.
    """

    parts: tuple[Part, ...]
    moved: float
    excess: float
    counts: float
    moments: float
    ignored: float
    answer: float = 0.0
    alone: bool = False

    @classmethod
    def of(cls, plan: Plan, records: int, ledger: Accountant) -> Forecast:
        """The noise at a budget, for a public number of records; nothing is charged."""
        n, p, loss, charges = max(records, 1), plan.p, plan.loss, plan.priced(ledger)
        sigma = {why: noise_in(mechanism) for mechanism, _, why in charges}
        answer, scale = 0.0, loss.usual_scale
        curvature = loss.curvature(scale) * scale
        if plan.constant:
            mechanism, steps, _ = charges[0]
            noise = plan.together(plan.answers).noise
            answer = float(noise.max()) * noise_in(mechanism) / math.sqrt(steps) / n
        if plan.alone:
            by = _OF_ROUNDS * answer / curvature
            # One quantile in place of a fit, or of another quantile.
            none = p > plan.constant
            other = plan.selected and plan.answers != (plan.quantiles or (0.5,))
            return cls(
                parts=parts_of(charges, n),
                moved=math.inf if none else float(by.max()),
                excess=math.inf
                if none or other
                else _TIMES * float(loss.excess(by).max()) + _BESIDES,
                counts=math.inf if none else answer,
                moments=math.inf if none else 0.0,
                ignored=none * loss.ignored,
                answer=answer,
                alone=not none,
            )
        # Of all stages it is the noise of the last that is kept here.
        rounds = charges[-2][1]
        variance = sigma[OF_SLOPES] ** 2 / rounds
        of_sums = variance + np.square(loss.centre * sigma.get(OF_WHOLE, 0.0))
        # Whitened records have second moments of 1, so a norm of about sqrt(p): a sum in units of
        # that norm, and a prediction has p directions.
        by = np.sqrt(OF_A_MEAN * of_sums) * p / (n * curvature)
        flat = loss.ignored >= _ALL_IGNORED  # the least loss is 0, and nothing holds a fit
        return cls(
            parts=parts_of(charges, n, staged=OF_SLOPES),
            moved=math.inf if flat else float(by.max()),
            excess=math.inf if flat else _TIMES * float(loss.excess(by).max()) + _BESIDES,
            ignored=loss.ignored,
            counts=sigma[OF_SIZES] / n,
            # Noise in a symmetric matrix has eigenvalues of up to about sigma sqrt(2 p); moments of
            # records of norm 1 that are alike in all directions are n / p.
            moments=sigma[OF_MOMENTS] * math.sqrt(2 * p) * p / n,
            answer=answer,
        )

    @property
    def flat(self) -> bool:
        """Whether one prediction for everyone costs nothing, whatever the records."""
        return self.ignored >= _ALL_IGNORED

    @property
    def believable(self) -> bool:
        """Whether residuals can be as large as the forecast takes them."""
        return self.ignored <= _TOO_LARGE_TO_BE_HALF

    @property
    def starts(self) -> bool:
        """Whether counts and second moments rise above their noise at all."""
        return self.counts <= _COUNTS[1] and self.moments <= _GOOD_MOMENTS[1]

    @property
    def verdict(self) -> Verdict:
        """Whether records and eps are enough."""
        well = self.counts <= _COUNTS[0] and self.moments <= _GOOD_MOMENTS[0]
        if well and self.excess <= _EXCESS[0] and self.believable:
            return Verdict.ENOUGH_ROWS
        if self.starts and self.excess <= _EXCESS[1]:
            return Verdict.ROUGH
        return Verdict.TOO_FEW_ROWS

    def advice(self, records: int, eps: float, forecast: Callable[[int, float], Forecast]) -> str:
        """A verdict in words, with the number of records or the eps that would be enough."""
        verdict = self.verdict
        if self.flat:
            return (
                f"{verdict}: no number would be enough. epsilon is so large beside y_bounds that"
                " the same prediction for everyone costs nothing, whatever the records, so the"
                " coefficients mean nothing. Take a smaller epsilon."
            )
        supposed = _supposed(self)
        if self.alone:
            off = f"noise moves quantiles by about {100 * self.answer:.2g} % of the records"
            would = "" if verdict is Verdict.ENOUGH_ROWS else ways_out(forecast, records, eps)
            nearer = math.isinf(self.excess)
            inner = ", and one of the quartiles is looked for in place of a farther one" * nearer
            return f"{verdict}: {off}{inner}.{would}"
        if verdict is Verdict.ENOUGH_ROWS:
            return (
                f"{verdict}: noise moves a typical prediction by about {self.moved:.2g} standard"
                f" deviations of the residuals, and raises the loss by {100 * self.excess:.2g} % of"
                f" the exact fit's at most.{supposed}{_TAILS}"
            )
        would = ways_out(forecast, records, eps)
        if verdict is Verdict.ROUGH:
            return (
                f"{verdict}: how much it loses cannot be foretold, because that depends on the"
                " sizes and tails of residuals, which are private."
                f"{_CONSTANT}{would}{supposed}"
            )
        because = (
            "the last rounds"
            if self.starts
            else "the counts and second moments from which the fit starts"
        )
        so = "so one prediction for everyone will most likely take its place"
        if math.isinf(self.excess):
            because, so = "all that features tell", "so one prediction for everyone is released"
        if told((0.0,), self.answer) == (0.5,):
            so = f"{so}, and even that may lie anywhere between y_bounds"
        return f"{verdict}: noise hides {because}, {so}.{would}{supposed}"


def _supposed(found: Forecast) -> str:
    """What a forecast takes for granted where small errors cost nothing."""
    if not found.ignored:
        return ""
    size = " This supposes residuals with a standard deviation of about twice epsilon or more"
    if not found.believable:
        return f"{size}, for which epsilon is too large beside y_bounds: take a smaller epsilon."
    return f"{size}, which is private and was not looked at: smaller ones lose far more."
