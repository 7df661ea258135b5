"""Hinge or logistic loss, chosen by public numbers, with probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from privlp import InvalidParameterError
from privlp.privacy import Accountant
from svm_models.account import Neighbours
from svm_models.classifiers.lp_svc import PrivateLPSVC
from svm_models.classifiers.lp_svc_plan import MOST_MARGIN, Rule
from svm_models.parameters import FloatArray, within
from svm_models.records.grid import LogisticRecords, WhitenedRecords

# Chosen by trial on the tuning sets of docs/results/classifier.md: the noise nu of a logistic loss
# without a margin, and that of the largest margin; steps at the latter, and how they grow with nu.
_LITTLE, _MUCH, _PACE, _POWER = 2e-4, 0.02, 8.0, 0.6
# Steps of a logistic loss without noise, in those of the hinge: its curvature is a quarter.
_PACE_WITHOUT_NOISE = 4.0
_RATES = 1e-6, 1 - 1e-6
# No noisy share of records is taken for less.
_LEAST_SHARE = 1e-4


@dataclass(eq=False, repr=False)
class PrivateClassifier(PrivateLPSVC):
    """A private linear classifier with nothing to tune, and probabilities: where to begin.

    Minimises the mean of ln(1 + exp(b - m_i)), m_i = y_i x_i·w, over ||w||_1 <= R by the private
    game of :class:`PrivateLPSVC`. The margin b is a function of public numbers: 0 makes it logistic
    regression, for many records and a large eps, and at 4 it is nearly the hinge, for few records
    and a small eps. There the noise of a sum is as large whatever the loss, and a margin keeps dual
    weights near 1, so that each round tells the whole difference between the classes.

    *Privacy*: that of :class:`PrivateLPSVC`, with z_i = 1/(1 + exp(m_i + y_i o - b)) in [0, 1] as
    the dual weight of record i. It depends on record i, on released points and on public numbers;
    no other property of it is used. Probabilities are computed from released numbers. Proof:
    ``docs/proofs.md``, "Elastic duals on an L1 ball", Logistic duals.

    *Rule*: with nu as for :class:`PrivateLPSVC`, b = 2 log10(nu/0.0002), within 0 and 4; steps are
    8 (nu/0.02)^0.6 times those of the hinge, 8 at most. Chosen by trial:
    ``docs/results/classifier.md`` names the sets that it was chosen on, and others.

    Parameters
    ----------
    eps, delta, radius, rounds
        As for :class:`PrivateLPSVC`.
    positive_rate : dict, optional
        One label with the share of records that have it, public: ``{"dead": 0.05}``. Then training
        starts from this share, and :meth:`predict` decides for balanced accuracy: it names the
        label where its probability is above the share. For rare labels. It costs no budget, and a
        wrong share costs accuracy, not privacy. ``None``: decide at 1/2, for few mistakes.
    fallback : bool
        Name one class for everyone where a noisy comparison does not speak for the fit: see
        :class:`PrivateLPSVC`. Not beside `positive_rate`, which has another aim.
    common_parameters

    Attributes
    ----------
    coef_ : (1, p) array
    intercept_ : (1,) array
    classes_ : (2,) array
    margin_ : float
        b, public.
    radius_ : float
    rounds_ : int
    privacy_ : privlp.privacy.PrivacyRecord

    Notes
    -----
    :meth:`fit` takes what that of :class:`PrivateLPSVC` takes. :func:`plan` says how noisy a fit
    will be, and which loss it will have.

    Examples
    --------
    >>> from svm_models import PrivateClassifier, make_unseparable_ball
    >>> X, y = make_unseparable_ball(4000, random_state=0)
    >>> model = PrivateClassifier(eps=1.0, delta=1e-8, classes=(-1, 1), random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.8, model.predict_proba(X[:2]).shape
    (True, (2, 2))
    """

    _: KW_ONLY
    positive_rate: Any = None
    margin_: float = field(init=False)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class for each row of X, shape (n, 2), from released numbers alone.

        The loss itself says what decisions mean: the odds at which a decision d is best are (1 +
        exp(d - b))/(1 + exp(-d - b)), exp(d) for b = 0. No calibration is bought. Noise is not
        allowed for: where it is large, so are errors of these probabilities. Where one class is
        named for everyone, everyone has its share, by a noisy count.

        Examples
        --------
        >>> from svm_models import PrivateClassifier, make_separable_sphere
        >>> X, y = make_separable_sphere(4000, random_state=0)
        >>> model = PrivateClassifier(1.0, 1e-6, classes=(-1, 1), random_state=0).fit(X, y)
        >>> (model.predict_proba(X).argmax(axis=1) == (model.predict(X) == 1)).all()
        np.True_
        """
        decisions = self.decision_function(X)
        if self._balance is None:
            own = decisions + (self._fitted - self.intercept_[0] + self._odds)
            odds = np.logaddexp(0.0, own - self.margin_) - np.logaddexp(0.0, -own - self.margin_)
            positive = expit(odds - self._of_weights())
        else:
            positive = np.full(len(decisions), self._share(self._balance))
        return np.column_stack([1 - positive, positive])

    def _of_loss(self, rule: Rule) -> Callable[..., WhitenedRecords]:
        self.margin_ = float(rule.margin or 0.0)
        declared = self.positive_rate is not None
        self._odds = self._decision_at(self._log_odds() + self._of_weights()) if declared else 0.0
        return partial(LogisticRecords, margin=self.margin_, odds=self._odds)

    def _share(self, balance: float) -> float:
        """The share of positive records, by the noisy balance that named one class."""
        _, (negative, positive) = self._class_weights() or (1.0, (1.0, 1.0))
        return min(
            max((balance + negative) / (negative + positive), _LEAST_SHARE), 1 - _LEAST_SHARE
        )

    def _rule(self, neighbours: Neighbours, p: int, ledger: Accountant) -> Rule:
        rule = super()._rule(neighbours, p, ledger)
        margin = MOST_MARGIN * math.log(rule.noise / _LITTLE) / math.log(_MUCH / _LITTLE)
        pace = min(_PACE * (rule.noise / _MUCH) ** _POWER, _PACE)
        if math.isinf(ledger.eps):
            pace = _PACE_WITHOUT_NOISE
        return replace(rule, margin=min(max(margin, 0.0), MOST_MARGIN), pace=pace)

    def _check_parameters(self, p: int) -> None:
        super()._check_parameters(p)
        self._log_odds()

    def _falls_back(self) -> bool:
        return super()._falls_back() and self.positive_rate is None

    def _log_odds(self) -> float:
        """Of the second class, as declared; 0 if nothing is."""
        if self.positive_rate is None:
            return 0.0
        labels, declared = self.classes_.tolist(), self.positive_rate
        if not isinstance(declared, Mapping) or len(declared) != 1 or not {*declared} <= {*labels}:
            raise InvalidParameterError(
                "positive_rate must be a dict of one label of classes and the public share of"
                " records that have it, such as {1: 0.05}.",
                parameter="positive_rate",
            )
        [(label, rate)] = declared.items()
        rate = within(rate, "positive_rate", *_RATES)
        return math.log(rate / (1 - rate)) * (1 if label == labels[1] else -1)

    def _of_weights(self) -> float:
        """By how much class weights raise the log odds."""
        _, (negative, positive) = self._class_weights() or (1.0, (1.0, 1.0))
        return math.log(positive / negative)

    def _decision_at(self, log_odds: float) -> float:
        """The decision that is best at these odds: of a quadratic equation in its exponential."""
        r, b = math.exp(-abs(log_odds)), math.exp(-self.margin_)
        found = math.log(2 * r * b / (1 - r + math.hypot(1 - r, 2 * b * math.sqrt(r))))
        return -found if log_odds > 0 else found
