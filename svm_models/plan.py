"""What a private fit is expected to reach, before anything is charged and without a record.

Estimators with a plan have a ``_forecast``, with `verdict`, `moved`, `excess`, `parts` and
`advice`.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator
from tabulate import tabulate

from privlp import InvalidParameterError, MostlyNoiseWarning, UnsupportedProblemError, Verdict
from privlp.checks import require, whole
from privlp.privacy import ExponentialMechanism, LaplaceMechanism, Mechanism
from privlp.status import rounded_up
from svm_models.account import SHARE_OF_THE_COUNT, accounted, counts, rows_of
from svm_models.parameters import privacy, require_delta

#: Purposes of draws that classifiers and regressions share.
OF_ANSWER = "count records for one answer for everyone"
OF_CHOICE = "compare the fit with one answer for everyone"
_COLUMNS = 98
# Larger records, and more of them, than a fit can hold.
_MOST_FEATURES, _MOST_RECORDS = 10**6, 10**15
# Numbers of records and eps beyond which nobody has to look, and steps of the search.
_ENOUGH_RECORDS, _ENOUGH_EPS, _STEPS = 1e10, 20.0, 24


@dataclass(frozen=True)
class Part:
    """Draws of one kind, with their share of the budget."""

    purpose: str
    draws: int
    share: float
    noise: float


@dataclass(frozen=True)
class FitPlan:
    """How noisy a private fit will be, from public numbers alone; nothing is spent on it.

    Attributes
    ----------
    verdict : Verdict
        Whether the number of records and eps are enough. With ``TOO_FEW_ROWS`` ``fit`` warns.
    advice : str
        The verdict in words, with the number of records or the eps that would be enough.
    prediction_noise : float
        Standard deviation by which noise moves a typical prediction, in units of the standard
        deviation of the residuals of the best fit. Of several quantiles, the noisiest. Infinite
        where one prediction for everyone is all that is looked for. Of a
        classifier, the length of noise beside a mean of records of norm data_norm.
    excess_loss : float
        By what share the mean loss exceeds that of the exact fit at most: it held for 97 % of fits
        (``docs/results/fallback.md``). For :class:`~svm_models.PrivateLPSVR`, if the residuals'
        standard deviation is twice `epsilon`. Of a classifier: what share of the records is taken
        for the wrong class more than without noise, at most. Infinite where it cannot be foretold:
        under any verdict but ``ENOUGH_ROWS``.
    parts : tuple of Part
        On what the budget goes: ``purpose``, number of ``draws``, ``share`` of the budget, and
        ``noise`` of one draw, as the share of the records that would have to be replaced, all in
        one direction, to do as much.
    n_samples, n_features : int

    Examples
    --------
    >>> from svm_models import PrivateQuantileRegressor, plan
    >>> median = PrivateQuantileRegressor(0.1, 1e-6, X_bounds=(0, 1), y_bounds=(0, 100))
    >>> plan(median, 200, 5).verdict
    <Verdict.TOO_FEW_ROWS: 'Too few rows for this eps'>
    """

    verdict: Verdict
    advice: str
    prediction_noise: float
    excess_loss: float
    parts: tuple[Part, ...]
    n_samples: int
    n_features: int

    def __str__(self) -> str:
        rows = [
            (part.purpose, part.draws, f"{part.share:.1%}", f"{part.noise:.2%}")
            for part in self.parts
        ]
        headers = ["part", "draws", "share of budget", "noise of a draw (of n)"]
        table = tabulate(rows, headers=headers, disable_numparse=True)
        return f"{table}\n\n{textwrap.fill(self.advice, _COLUMNS)}"


def plan(estimator: Any, n_samples: int | None, n_features: int) -> FitPlan:
    """Predict how noisy a private fit will be, before spending anything.

    No record is read and nothing is drawn or charged: a plan may be published. A `budget` of the
    estimator is not asked whether it has room.

    Parameters
    ----------
    estimator : PrivateQuantileRegressor, PrivateLPSVR, PrivateClassifier or PrivateLPSVC
        With its bounds; it need not be fitted.
    n_samples : int or None
        Number of records. If it is private (``relation="add-remove"``), a public number near it:
        never the number itself. ``None`` takes the estimator's nominal_n.
    n_features : int
        0 for a regression of y alone, fitted with X=None.

    Returns
    -------
    FitPlan

    Raises
    ------
    InvalidParameterError
        If `estimator` is a class or no estimator, a parameter or a bound is missing or out of
        range, eps is infinite, or n_samples is not the declared nominal_n.
    UnsupportedProblemError
        If the estimator has no plan: other classifiers have none.

    Notes
    -----
    The noise follows from the charges. What it does to the loss was calibrated on generated
    records, and the plan may be wrong for others (``docs/results/fallback.md``). Three
    things are private, so that no plan sees them:

    - Long tails. A feature of which most values lie in a small part of X_bounds can lose hundreds
      of times as much as predicted: declare tighter bounds, to which values are clipped, or take
      logarithms.
    - The size of residuals beside y_bounds. Bounds a few thousand times as far apart as residuals
      are large cost next to nothing, ten thousand times a few percent, and a million times
      everything: no scale as small as that is looked for.
    - The size of residuals beside `epsilon` of :class:`~svm_models.PrivateLPSVR`. The plan supposes
      a standard deviation of twice `epsilon`. Larger residuals lose less; those with half of
      `epsilon`, many times as much. Where y_bounds leave no room for residuals of that size,
      the verdict is ``ROUGH`` at best; where one prediction for everyone costs nothing whatever
      the records, ``TOO_FEW_ROWS``.

    Examples
    --------
    >>> from svm_models import PrivateQuantileRegressor, plan
    >>> median = PrivateQuantileRegressor(1.0, 1e-6, X_bounds=(0, 1), y_bounds=(0, 100))
    >>> print(plan(median, 5000, 5).advice)
    Enough rows for this eps: ...
    >>> print(plan(median, 100, 5).advice)
    Too few rows for this eps: ...
    """
    if isinstance(estimator, type):
        name = estimator.__name__
        raise InvalidParameterError(
            f"estimator must be an estimator with its parameters, got the class {name}: write"
            f" {name}(eps, delta, ...).",
            parameter="estimator",
        )
    if not isinstance(estimator, BaseEstimator):
        raise InvalidParameterError(
            "estimator must be a PrivateQuantileRegressor, a PrivateLPSVR, a PrivateClassifier or a"
            f" PrivateLPSVC with its parameters, got {type(estimator).__name__}.",
            parameter="estimator",
        )
    if not hasattr(estimator, "_forecast"):
        raise UnsupportedProblemError(
            "There are plans for PrivateQuantileRegressor, PrivateLPSVR, PrivateClassifier and"
            f" PrivateLPSVC, not for {type(estimator).__name__}. Try it on made-up records of the"
            " same number instead."
        )
    eps, _ = privacy(estimator.eps, estimator.delta)
    if not (n_features == 0 and hasattr(estimator, "y_bounds")):  # of y alone
        whole(n_features, "n_features", _MOST_FEATURES)
    accounted(estimator)
    require_delta(estimator, estimator.eps, estimator.delta)
    records = _records(estimator.nominal_n, n_samples)
    wrong = "eps must be finite: without noise there is nothing to plan."
    require(math.isfinite(eps), wrong, "eps")
    found = estimator._forecast(records, n_features, eps)
    return FitPlan(
        verdict=found.verdict,
        advice=_advice(estimator, found, records, n_features) + _of_lengths(estimator),
        prediction_noise=found.moved,
        excess_loss=found.excess if found.verdict is Verdict.ENOUGH_ROWS else math.inf,
        parts=_with_count(found.parts, estimator, eps, records)
        if counts(estimator)
        else found.parts,
        n_samples=records,
        n_features=n_features,
    )


def _advice(estimator: Any, found: Any, records: int, n_features: int) -> str:
    """A forecast in words, with the number of records or the eps that would be enough."""
    return found.advice(
        records, estimator.eps, lambda n, eps: estimator._forecast(n, n_features, eps)
    )


def _of_lengths(estimator: Any) -> str:
    """What to declare for a classifier, where nothing is said of how long its records are."""
    if hasattr(estimator, "y_bounds") or not (estimator.X_bounds is estimator.data_norm is None):
        return ""
    return (
        " Neither X_bounds nor data_norm is declared, so longer records than 1 are scaled down to"
        " 1: declare one of the two, unless none is longer."
    )


def _records(nominal: int | None, n_samples: Any) -> int:
    if n_samples is None and nominal is None:
        raise InvalidParameterError(
            "n_samples is missing: give the number of records, or a public number near it where it"
            " is private.",
            parameter="n_samples",
        )
    found = whole(nominal if n_samples is None else n_samples, "n_samples", _MOST_RECORDS)
    wrong = f"n_samples = {found} is not nominal_n = {nominal}, by which fit goes. Give None."
    require(nominal in (None, found), wrong, "n_samples")
    return found


def _with_count(parts: tuple[Part, ...], estimator: Any, eps: float, n: int) -> tuple[Part, ...]:
    """The parts after a noisy count of the records."""
    share = SHARE_OF_THE_COUNT
    count = LaplaceMechanism.of_eps(float(rows_of(estimator)), share * eps)
    first = Part("count the records", 1, share, math.sqrt(2) * count.scale / n)
    return (first, *(replace(part, share=part.share * (1 - share)) for part in parts))


def warn_of_noise(estimator: Any, records: int, n_features: int, *, stacklevel: int) -> bool:
    """Warn, by public numbers, of a fit that will be mostly noise; whether it was."""
    if math.isinf(estimator.eps):
        return False
    found = estimator._forecast(records, n_features, estimator.eps)
    if found.verdict is not Verdict.TOO_FEW_ROWS:
        return False
    advice = _advice(estimator, found, records, n_features)
    warnings.warn(advice, MostlyNoiseWarning, stacklevel=stacklevel)
    return True


def noise_in(mechanism: Mechanism) -> float:
    """The standard deviation of its noise."""
    if isinstance(mechanism, LaplaceMechanism):
        return math.sqrt(2) * mechanism.scale
    if isinstance(mechanism, ExponentialMechanism):  # scores fall by one count as from a Laplace
        return math.sqrt(8) * mechanism.sensitivity / mechanism.eps
    return float(mechanism.sigma)  # type: ignore[attr-defined]


def parts_of(
    charges: list[tuple[Mechanism, int, str]], n: int, *, staged: str = ""
) -> tuple[Part, ...]:
    """Draws of each kind, beside n records; those of purpose `staged` are numbered."""
    steps = [
        (why, count, float(mechanism.sensitivity) / noise_in(mechanism))
        for mechanism, count, why in charges
    ]
    whole = math.fsum(count * step**2 for _, count, step in steps)
    stages, parts = 0, []
    for why, count, step in steps:
        if why == staged:
            stages += 1
        words = f"{why}, stage {stages}" if why == staged else why
        parts.append(Part(words, count, count * step**2 / whole, 1 / (step * n)))
    return tuple(parts)


def least_enough(forecast: Callable[[int, float], Any], records: int, eps: float) -> str:
    """The least number of records at this eps, and the least eps for these, that are enough."""
    n = _least(lambda n: forecast(math.ceil(n), eps), max(records, 1), _ENOUGH_RECORDS)
    more = _least(lambda more: forecast(records, more), eps, _ENOUGH_EPS)
    ways = [f"{n:,.0f} records"] if n else []
    ways += [f"eps = {more:g}"] if more else []
    comma = "," if len(ways) > 1 else ""
    return f" About {', or '.join(ways)}{comma} would be enough." if ways else ""


def _least(forecast: Callable[[float], Any], least: float, most: float) -> float | None:
    """The least number, rounded up to two digits, at which records and eps are enough, or None."""

    def enough(number: float) -> bool:
        return forecast(number).verdict is Verdict.ENOUGH_ROWS

    if least >= most or not enough(most):
        return None
    low, high = math.log(least), math.log(most)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return min(rounded_up(math.exp(high)), most)
