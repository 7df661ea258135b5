"""What noise will do to a private regression, from public numbers alone.

A fit has a start and a descent. The start releases second moments and counts: where noise drowns
them, the descent begins anywhere, and what is released is one prediction for everyone. Where the
start holds, noise of the last rounds moves predictions by an amount that follows from the charges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privlp.privacy import Accountant, LaplaceMechanism, Mechanism
from privlp.status import Verdict
from svm_models.fallback import OF_ANSWER, STEPS, told
from svm_models.neighbours import Neighbours
from svm_models.regression_losses import ResidualLoss
from svm_models.regression_plan import (
    OF_A_MEAN,
    OF_MOMENTS,
    OF_SIZES,
    OF_SLOPES,
    OF_WHOLE,
    Plan,
    starts_of,
)

# Chosen by trial on generated families, heavy-tailed ones among them, seeds below 100: up to the
# first of each pair fits were as good as forecast; beyond the second, they were mostly noise, or
# one in three was (docs/results/fallback.md, regression_plan.md).
_EXCESS = 0.05, 1.25
_COUNTS = 0.12, 0.25
_MOMENTS = 0.6, 3.0
# What the loss exceeds the exact fit's by at most: so many times what it would be on average if
# residuals were normal, and this share. Chosen on the same families: it held for 99 % of the fits.
_TIMES, _BESIDES = 2.5, 0.0025
# Numbers of records and eps beyond which nobody has to look, and steps of the search.
_MOST_RECORDS, _MOST_EPS = 1e10, 20.0
_STEPS = 24
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
class Part:
    """Draws of one kind.

    Attributes
    ----------
    purpose : str
    draws : int
    share : float
        Of the budget that moments, counts and rounds share: of its squared Gaussian parameter.
    noise : float
        Of one draw: standard deviation in units of the sensitivity, as a share of the records. That
        share of the records would have to be replaced, all in one direction, to do as much.
    """

    purpose: str
    draws: int
    share: float
    noise: float


@dataclass(frozen=True)
class Forecast:
    """How noisy a private regression will be.

    Attributes
    ----------
    parts : tuple of Part
        In the order of the draws.
    moved : float
        Standard deviation by which noise moves a typical prediction, in units of the standard
        deviation of residuals; the largest over several fits.
    excess : float
        By what share of the least loss that raises the loss at most, nearly always: the largest
        over several fits. It takes the start for good.
    counts : float
        Standard deviation of noise on one count, as a share of the records.
    moments : float
        Noise on second moments, over those of records that are alike in all directions.
    ignored : float
        Size of errors that cost nothing, as a share of the reach of y. Where it is positive,
        `moved` and `excess` take the residuals' standard deviation for twice that size.
    answer : float
        Noise of the counts for one prediction for everyone, together, as a share of the records.
    """

    parts: tuple[Part, ...]
    moved: float
    excess: float
    counts: float
    moments: float
    ignored: float
    answer: float = 0.0

    @property
    def any_answer(self) -> bool:
        """Whether noise could place the answer without features anywhere between y's bounds."""
        return told((0.0,), self.answer) == (0.5,)

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
        return self.counts <= _COUNTS[1] and self.moments <= _MOMENTS[1]

    @property
    def starts_well(self) -> bool:
        """Whether they rise well above it."""
        return self.counts <= _COUNTS[0] and self.moments <= _MOMENTS[0]

    @property
    def verdict(self) -> Verdict:
        """Whether records and eps are enough."""
        if self.starts_well and self.excess <= _EXCESS[0] and self.believable:
            return Verdict.ENOUGH_ROWS
        if self.starts and self.excess <= _EXCESS[1]:
            return Verdict.ROUGH
        return Verdict.TOO_FEW_ROWS


@dataclass(frozen=True)
class Regression:
    """A regression as forecasts see it: no record, only what is declared or released.

    Attributes
    ----------
    records : int
        Number of records: public, declared, or a released count.
    least : int
        What mechanisms take for the number of records where `records` is less.
    replaced : bool
        Whether neighbours differ in a record that is replaced; else one is added or removed.
    p : int
        Entries of a record, the constant among them.
    loss : ResidualLoss
    quantiles : tuple of float
        As for :func:`~svm_models.regression_descent.descend`.
    constant : bool
    """

    records: int
    least: int
    replaced: bool
    p: int
    loss: ResidualLoss
    quantiles: tuple[float, ...]
    constant: bool

    @property
    def neighbours(self) -> Neighbours:
        """What mechanisms know of the records."""
        n = max(self.records, self.least)
        return Neighbours.replacing(n) if self.replaced else Neighbours.adding(n)

    def forecast(self, ledger: Accountant) -> Forecast:
        """The noise at a budget; nothing is charged."""
        n, p, neighbours = max(self.records, 1), self.p, self.neighbours
        levels = starts_of(self.quantiles, constant=self.constant)
        plan = Plan.of(neighbours, p, self.loss, levels, ledger, constant=self.constant)
        charges = plan.priced(ledger)
        sigma = {why: _sigma(mechanism) for mechanism, _, why in charges}
        # Of all stages it is the noise of the last that is kept here.
        rounds = charges[-2][1]
        variance = sigma[OF_SLOPES] ** 2 / rounds
        of_sums = variance + np.square(self.loss.centre * sigma.get(OF_WHOLE, 0.0))
        # Whitened records have second moments of 1, so a norm of about sqrt(p): a sum in units of
        # that norm, and a prediction has p directions.
        scale = self.loss.usual_scale
        curvature = self.loss.curvature(scale) * scale
        by = np.sqrt(OF_A_MEAN * of_sums) * p / (n * curvature)
        flat = self.loss.ignored >= _ALL_IGNORED  # the least loss is 0, and nothing holds a fit
        return Forecast(
            parts=parts_of(charges, n),
            moved=math.inf if flat else float(by.max()),
            excess=math.inf if flat else _TIMES * float(self.loss.excess(by).max()) + _BESIDES,
            ignored=self.loss.ignored,
            counts=sigma[OF_SIZES] / n,
            # Noise in a symmetric matrix has eigenvalues of up to about sigma sqrt(2 p); moments of
            # records of norm 1 that are alike in all directions are n / p.
            moments=sigma[OF_MOMENTS] * math.sqrt(2 * p) * p / n,
            answer=sigma.get(OF_ANSWER, 0.0) / math.sqrt(STEPS) / n,
        )


def _sigma(mechanism: Mechanism) -> float:
    """The standard deviation of its noise."""
    if isinstance(mechanism, LaplaceMechanism):
        return math.sqrt(2) * mechanism.scale
    return float(mechanism.sigma)  # type: ignore[attr-defined]


def parts_of(charges: list[tuple[Mechanism, int, str]], n: int) -> tuple[Part, ...]:
    """Draws of each kind, beside n records."""
    steps = [
        (why, count, float(mechanism.sensitivity) / _sigma(mechanism))
        for mechanism, count, why in charges
    ]
    whole = math.fsum(count * step**2 for _, count, step in steps)
    stages, parts = 0, []
    for why, count, step in steps:
        if why == OF_SLOPES:
            stages += 1
        words = f"{why}, stage {stages}" if why == OF_SLOPES else why
        parts.append(Part(words, count, count * step**2 / whole, 1 / (step * n)))
    return tuple(parts)


def advice_on(
    found: Forecast, records: int, eps: float, forecast: Callable[[int, float], Forecast]
) -> str:
    """A verdict in words, with the number of records or the eps that would be enough.

    Parameters
    ----------
    found : Forecast
        With so many records, at eps.
    records : int
    eps : float
    forecast : callable
        What other numbers of records, and other eps, would do.
    """
    verdict = found.verdict
    if found.flat:
        return (
            f"{verdict}: no number would be enough. epsilon is so large beside y_bounds that the"
            " same prediction for everyone costs nothing, whatever the records, so the coefficients"
            " mean nothing. Take a smaller epsilon."
        )
    supposed = _supposed(found)
    if verdict is Verdict.ENOUGH_ROWS:
        return f"{verdict}: {_expected(found)} at most.{supposed}{_TAILS}"

    would = ways_out(least_enough(forecast, records, eps))
    if verdict is Verdict.ROUGH:
        return (
            f"{verdict}: how much it loses cannot be foretold, because that depends on the sizes"
            f" and tails of residuals, which are private.{_CONSTANT}{would}{supposed}"
        )
    because = (
        "the last rounds"
        if found.starts
        else "the counts and second moments from which the fit starts"
    )
    so = "so one prediction for everyone will most likely take its place"
    if found.any_answer:
        so = f"{so}, and even that may lie anywhere between y_bounds"
    return f"{verdict}: noise drowns {because}, {so}.{would}{supposed}"


def _supposed(found: Forecast) -> str:
    """What a forecast takes for granted where small errors cost nothing."""
    if not found.ignored:
        return ""
    size = " This supposes residuals with a standard deviation of about twice epsilon or more"
    if not found.believable:
        return f"{size}, for which epsilon is too large beside y_bounds: take a smaller epsilon."
    return f"{size}, which is private and was not looked at: smaller ones lose far more."


def _expected(found: Forecast) -> str:
    return (
        f"noise moves a typical prediction by about {found.moved:.2g} standard deviations of the"
        f" residuals, and raises the loss by {_percent(found.excess)} of the exact fit's"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def ways_out(enough: tuple[float | None, float | None]) -> str:
    """A number of records and an eps that would be enough, in words, or nothing."""
    n, eps = enough
    ways = [f"{n:,.0f} records"] if n else []
    ways += [f"eps = {eps:g}"] if eps else []
    comma = "," if len(ways) > 1 else ""
    return f" About {', or '.join(ways)}{comma} would be enough." if ways else ""


class _Judged(Protocol):
    @property
    def verdict(self) -> Verdict: ...


def least_enough(
    forecast: Callable[[int, float], _Judged], records: int, eps: float
) -> tuple[float | None, float | None]:
    """The least number of records at this eps, and the least eps for these, that are enough."""
    return (
        _least(lambda n: forecast(math.ceil(n), eps), max(records, 1), _MOST_RECORDS),
        _least(lambda more: forecast(records, more), eps, _MOST_EPS),
    )


def _least(forecast: Callable[[float], _Judged], least: float, most: float) -> float | None:
    """The least number, rounded up to two digits, at which records and eps are enough, or None."""

    def enough(number: float) -> bool:
        return forecast(number).verdict is Verdict.ENOUGH_ROWS

    if least >= most or not enough(most):
        return None
    low, high = math.log(least), math.log(most)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    found = math.exp(high)
    digit = 10.0 ** (math.floor(math.log10(found)) - 1)
    return min(math.ceil(found / digit) * digit, most)
