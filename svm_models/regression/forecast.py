"""How noisy a private regression will be: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privlp.privacy import Accountant
from privlp.status import Verdict
from svm_models.plan import Part, least_enough, noise_in, parts_of
from svm_models.regression.losses import distinguishable
from svm_models.regression.plan import OF_A_MEAN, OF_MOMENTS, OF_SIZES, OF_SLOPES, OF_WHOLE, Plan

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
        assumption = _assumption(self)
        if self.alone:
            off = f"noise moves quantiles by about {100 * self.answer:.2g} % of the records"
            would = "" if verdict is Verdict.ENOUGH_ROWS else least_enough(forecast, records, eps)
            nearer = math.isinf(self.excess)
            inner = ", and one of the quartiles is looked for in place of a farther one" * nearer
            return f"{verdict}: {off}{inner}.{would}"
        if verdict is Verdict.ENOUGH_ROWS:
            return (
                f"{verdict}: noise moves a typical prediction by about {self.moved:.2g} standard"
                f" deviations of the residuals, and raises the loss by {100 * self.excess:.2g} % of"
                f" the exact fit's at most.{assumption}{_TAILS}"
            )
        would = least_enough(forecast, records, eps)
        if verdict is Verdict.ROUGH:
            return (
                f"{verdict}: how much it loses cannot be foretold, because that depends on the"
                " sizes and tails of residuals, which are private."
                f"{_CONSTANT}{would}{assumption}"
            )
        because = (
            "the last rounds"
            if self.starts
            else "the counts and second moments from which the fit starts"
        )
        so = "so one prediction for everyone will most likely take its place"
        if math.isinf(self.excess):
            because, so = "all that features tell", "so one prediction for everyone is released"
        if distinguishable((0.0,), self.answer) == (0.5,):
            so = f"{so}, and even that may lie anywhere between y_bounds"
        return f"{verdict}: noise hides {because}, {so}.{would}{assumption}"


def _assumption(found: Forecast) -> str:
    """What a forecast takes for granted where small errors cost nothing."""
    if not found.ignored:
        return ""
    size = " This supposes residuals with a standard deviation of about twice epsilon or more"
    if not found.believable:
        return f"{size}, for which epsilon is too large beside y_bounds: take a smaller epsilon."
    return f"{size}, which is private and was not looked at: smaller ones lose far more."
