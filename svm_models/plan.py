"""What a private fit is expected to reach, before anything is charged and without a record."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator
from tabulate import tabulate

from privlp import InvalidParameterError, UnsupportedProblemError, Verdict
from privlp.checks import shown
from privlp.privacy import LaplaceMechanism
from svm_models.forecast import Part
from svm_models.neighbours import SHARE_OF_THE_COUNT, accounted
from svm_models.parameters import privacy
from svm_models.private_lp_svc import PrivateLPSVC
from svm_models.regression_base import PrivateLinearRegressor

_COLUMNS = 98
# Larger records, and more of them, than a fit can hold.
_MOST_FEATURES, _MOST_RECORDS = 10**6, 10**15


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
        deviation of the residuals of the best fit. Of several quantiles, the noisiest. Of a
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
    estimator : PrivateQuantileRegressor, PrivateLPSVR or PrivateLPSVC
        With its bounds; it need not be fitted.
    n_samples : int or None
        Number of records. If it is private (``relation="add-remove"``), a public number near it:
        never the number itself. ``None`` takes the estimator's nominal_n.
    n_features : int

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
    records, and the plan may be wrong for others (``docs/results/regression_plan.md``). Three
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
            "estimator must be a PrivateQuantileRegressor, a PrivateLPSVR or a PrivateLPSVC with"
            f" its parameters, got {type(estimator).__name__}.",
            parameter="estimator",
        )
    if not isinstance(estimator, PrivateLinearRegressor | PrivateLPSVC):
        raise UnsupportedProblemError(
            "There are plans for PrivateQuantileRegressor, PrivateLPSVR and PrivateLPSVC, not for"
            f" {type(estimator).__name__}. Try it on made-up records of the same number instead."
        )
    eps, _ = privacy(estimator.eps, estimator.delta)
    counts = _counts(estimator, n_features)
    records = _records(estimator, n_samples)
    if math.isinf(eps):
        raise InvalidParameterError(
            "eps must be finite: without noise there is nothing to plan.", parameter="eps"
        )
    found = estimator._forecast(records, n_features, eps)
    return FitPlan(
        verdict=found.verdict,
        advice=estimator._advice(found, records, n_features),
        prediction_noise=found.moved,
        excess_loss=found.excess if found.verdict is Verdict.ENOUGH_ROWS else math.inf,
        parts=_with_count(found.parts, eps, records) if counts else found.parts,
        n_samples=records,
        n_features=n_features,
    )


def _counts(estimator: PrivateLinearRegressor | PrivateLPSVC, n_features: Any) -> bool:
    """Whether a noisy count of records is bought; an error if a public parameter is wrong."""
    _require_positive(n_features, "n_features", _MOST_FEATURES)
    accounted(estimator.relation, estimator.nominal_n)
    estimator._require_delta()
    return estimator._counts()


def _records(estimator: PrivateLinearRegressor | PrivateLPSVC, n_samples: Any) -> int:
    nominal = estimator.nominal_n
    if n_samples is None and nominal is None:
        raise InvalidParameterError(
            "n_samples is missing: give the number of records, or a public number near it where it"
            " is private.",
            parameter="n_samples",
        )
    found: Any = nominal if n_samples is None else n_samples
    _require_positive(found, "n_samples", _MOST_RECORDS)
    if nominal is not None and found != nominal:
        raise InvalidParameterError(
            f"n_samples = {found} is not nominal_n = {nominal}, by which fit goes. Give None.",
            parameter="n_samples",
        )
    return int(found)


def _require_positive(value: Any, name: str, most: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InvalidParameterError(
            f"{name} must be a positive integer, got {shown(value)}.", parameter=name
        )
    if int(value) > most:
        raise InvalidParameterError(f"{name} must be at most {most:,}.", parameter=name)


def _with_count(parts: tuple[Part, ...], eps: float, n: int) -> tuple[Part, ...]:
    """The parts after a noisy count of the records."""
    share = SHARE_OF_THE_COUNT
    count = LaplaceMechanism.of_eps(1.0, share * eps)
    first = Part("count the records", 1, share, math.sqrt(2) * count.scale / n)
    rest = [Part(p.purpose, p.draws, p.share * (1 - share), p.noise) for p in parts]
    return (first, *rest)
