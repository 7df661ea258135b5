"""What every linear regression here shares: several fits at once, and an account of privacy."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils.validation import check_is_fitted

from privlp import Budget, MostlyNoiseWarning
from privlp.checks import require, require_flag, warn_of_large_delta
from privlp.privacy import LaplaceMechanism, Ledger, PrivacyRecord, Randomness
from privlp.quiet import unnoticed
from privlp.rows.access import InMemory
from svm_models import account as accounts
from svm_models.around_fits import warn_if_repeated, warn_of_unpaid_steps
from svm_models.parameters import FloatArray, require_delta
from svm_models.plan import warn_of_noise
from svm_models.records import columns
from svm_models.records.columns import Columns, planned, without_labels
from svm_models.records.grid import RecordGrid, require_exact_sums
from svm_models.records.validation import as_numbers, scored, validated, without_table
from svm_models.regression.descent import descend
from svm_models.regression.forecast import Forecast
from svm_models.regression.losses import ResidualLoss
from svm_models.regression.plan import Plan
from svm_models.regression.records import Units

_REPLACED = "one record (x_i, y_i) replaced; the number of records is public"
_ADDED = "one record (x_i, y_i) added or removed; the number of records is private"
_NOMINAL = "; the nominal number {} is public"
_INSTEAD = (
    "A noisy comparison of losses does not speak for the fit, so one prediction for everyone is"
    " released in its place, and coefficients are 0; of several quantiles, for those that are. More"
    " records, a larger eps or fewer features would help, unless features tell little of y."
)
# Of what is released in units of half the range of y, so near an end is at it.
_AT_AN_END = 0.98
_AT_END_OF_Y = (
    "The released quantile of y alone is at an end of y_bounds={}. If y goes on beyond it, the fit"
    " says little: such values were moved to that end. Declare the range that y can have."
)


class LinearRegressor(RegressorMixin, BaseEstimator):
    """x·w + b, for one fit or for several whose predictions are put in order."""

    coef_: FloatArray
    intercept_: Any
    #: What is declared of columns.
    X_bounds: Any = None
    _columns: Columns | None = None
    #: Whether it protects persons.
    _is_private: ClassVar[bool] = False

    def fit(self, X: Any, y: Any, groups: Any = None, **unsupported: Any) -> Self:
        """Fit n records.

        Parameters
        ----------
        X : array, sparse array or table, shape (n, p), or None
            A table of any library that narwhals reads; its columns are the features. ``None`` for
            private quantiles of y alone: `intercept_` holds them, and no bounds on features are
            needed.
        y : array_like, shape (n,), or str
            Numbers; or the column of the table that holds them, as it must be of a lazy one.
        groups : array_like, shape (n,), or str, optional
            Whose each row is, for private fits with `rows_per_record`; or the column of the table
            that says it, which then is no feature.

        Examples
        --------
        >>> from svm_models import LPQuantileRegressor
        >>> fitted = LPQuantileRegressor(0.5).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> fitted.predict([[3.0]]).round(6)
        array([7.])
        """
        columns.refuse(self, unsupported, groups, private=self._is_private)
        # Weights of an earlier fit must not pass for this one's, should this one be cut short.
        for name in ("coef_", "intercept_", "privacy_"):
            self.__dict__.pop(name, None)
        hidden = self._number_is_private()
        # Whether a number overflows depends on the records; no warning may tell.
        with unnoticed():
            features = int(X is not None)
            if X is None:
                y = np.asarray(as_numbers(y))
                X = np.empty((y.size, 0))
            X, groups = columns.with_owners(X, groups)
            X, y = without_labels(self.X_bounds, X, y)
            self._columns = Columns.of(self.X_bounds, X, y)
            given: dict[str, Any] = {"ensure_min_features": features, "count_is_private": hidden}
            X = self._numbers(X, reset=True)
            X, y = validated(self, X, y, dtype=np.float64, y_numeric=True, **given)
            coef, intercept = self._fitted(X, np.asarray(y, dtype=float), groups)
        one = self._gives_one_fit()
        self.coef_ = coef[0] if one else coef
        self.intercept_ = float(intercept[0]) if one else intercept
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predictions, shape (n,); (n, K) for K fits. X=None, for fits without features: n is 1.

        What lies beyond declared `X_bounds` or `data_norm` is moved as it is for :meth:`fit`.

        Those of several fits are put in rising order for each record: quantiles never cross, and
        sorted predictions are no farther from the true quantiles (Chernozhukov, Fernandez-Val and
        Galichon 2010).

        Examples
        --------
        >>> from svm_models import LPQuantileRegressor
        >>> X, y = [[0.0], [0.0], [0.0], [1.0]], [1.0, 2.0, 3.0, 4.0]
        >>> LPQuantileRegressor((0.3, 0.7)).fit(X, y).predict([[0.0]]).shape
        (1, 2)
        """
        return self._for(X, 1)

    def _for(self, X: Any, count: int) -> FloatArray:
        """Predictions; without features, for so many records."""
        check_is_fitted(self, "coef_")
        least = min(self.n_features_in_, 1)
        wrong = f"X is missing: fit had {self.n_features_in_} features. None is for fits without."
        require(not (least and X is None), wrong, "X")
        X = np.empty((count, 0)) if X is None else self._numbers(X)
        X = validated(self, X, dtype=np.float64, reset=False, ensure_min_features=least)
        found = self._predicted(X)
        return np.sort(found, axis=1) if np.ndim(self.intercept_) else found[:, 0]

    def _predicted(self, X: Any) -> FloatArray:
        """Predictions of the K fits, (n, K)."""
        return np.asarray(X @ np.atleast_2d(self.coef_).T + self.intercept_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination on (X, y), as in scikit-learn. **Not private**.

        X=None, for fits without features: the same prediction for each y.

        Of several quantiles, the mean over them of the share of the pinball loss of a constant that
        is saved (``sklearn.metrics.d2_pinball_score``).

        Examples
        --------
        >>> from svm_models import LPQuantileRegressor
        >>> fitted = LPQuantileRegressor(0.5).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> round(fitted.score([[3.0], [4.0]], [7.0, 9.0]), 6)
        1.0
        """
        X, y = without_labels(self.X_bounds, X, y)
        X, y = without_table(X, y) if isinstance(y, str) else (X, y)
        found = self._for(X, len(as_numbers(y)) if X is None else 0)
        if found.ndim == 1:
            return scored(r2_score, y, found, sample_weight, numbers=True)
        several = zip(np.atleast_1d(getattr(self, "quantile", 0.5)), found.T, strict=True)
        return float(
            np.mean(
                [
                    scored(partial(d2_pinball_score, alpha=q), y, one, sample_weight, numbers=True)
                    for q, one in several
                ]
            )
        )

    def _gives_one_fit(self) -> bool:
        return np.ndim(getattr(self, "quantile", 0.5)) == 0

    def _number_is_private(self) -> bool:
        return False

    def _numbers(self, X: Any, *, reset: bool = False) -> Any:
        """X with an entry for each declared category."""
        return X if self._columns is None else self._columns.numbers(X, self, reset=reset)

    def _fitted(self, X: Any, y: FloatArray, groups: Any) -> tuple[FloatArray, FloatArray]:
        """Coefficients (K, p) and intercepts (K,)."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class PrivateLinearRegressor(LinearRegressor):
    """A linear regression that protects each record it was fitted on.

    Attributes
    ----------
    prediction_bounds_ : (2, K) array
        Predictions are moved to these ends: within y_bounds, and five typical lengths or more from
        the best constant, the more the less of a fit is noise. Without noise there are none.
    privacy_ : PrivacyRecord
        What was spent on what, after :meth:`fit`.
    """

    _: KW_ONLY
    y_bounds: Any = None
    X_bounds: Any = None
    data_norm: float | None = None
    fit_intercept: bool = True
    budget: Budget | None = None
    random_state: Any = None
    relation: str = "replace"
    nominal_n: int | None = None
    rows_per_record: int | None = None
    prediction_bounds_: FloatArray = field(init=False)
    privacy_: PrivacyRecord = field(init=False)
    _units: Units = field(init=False)

    eps: float = field(init=False)
    delta: float = field(init=False)
    _is_private = True

    def _number_is_private(self) -> bool:
        accounts.accounted(self)
        return accounts.adds_or_removes(self.relation)

    def _loss(self, reach: float) -> tuple[ResidualLoss, tuple[float, ...]]:
        """The loss of residuals in units of `reach`, and the quantiles of its fits, if any."""
        raise NotImplementedError

    def _declared(self, p: int, bounds: Any) -> tuple[bool, Units, ResidualLoss, tuple[float, ...]]:
        """Whether there is a constant, the units, the loss and its quantiles, for p entries."""
        constant = require_flag(self.fit_intercept, "fit_intercept")
        wrong = "fit_intercept=False leaves nothing to fit where there are no features (X=None)."
        require(p or constant, wrong, "fit_intercept")
        units = Units.declared(p, bounds, self.data_norm, self.y_bounds, constant=constant)
        return constant, units, *self._loss(units.reach)

    def _fitted(self, X: Any, y: FloatArray, groups: Any) -> tuple[FloatArray, FloatArray]:
        count, p = X.shape
        require_exact_sums(count)
        randomness = accounts.randomness_of(self.random_state)
        kept = columns.kept(self, groups, count, randomness)
        if kept is not None:
            X, y, count = X[kept], y[kept], len(kept)
        bounds = self.X_bounds if self._columns is None else self._columns.ranges
        constant, units, loss, quantiles = self._declared(p, bounds)
        self._units = units
        opened = self._open(randomness)
        require_delta(self, self.eps, self.delta)
        warn_if_repeated(self, opened.ledger.eps, opened.ledger.delta)
        warn_of_unpaid_steps(self, opened.ledger.eps)
        try:
            neighbours, account = self._neighbours(count, opened)
            eps, delta = account.ledger.eps, account.ledger.delta
            warn_of_large_delta(eps, delta, neighbours.n, stacklevel=4)
            warned = warn_of_noise(self, self._public_number(neighbours), p, stacklevel=4)
            grid = RecordGrid.of(neighbours.most)
            rows: InMemory[Any] = InMemory(units.pairs(X, y, grid))
            plan = Plan.of(
                neighbours, p + constant, loss, quantiles, account.ledger, constant=constant
            )
            found = descend(rows, units.lift(grid), plan, account)
        finally:
            self.privacy_ = opened.record()
        ends = np.array([found.constant - found.limit, found.constant + found.limit])
        ends = units.middle + units.reach * ends
        noisy = math.isfinite(self.eps)
        self.prediction_bounds_ = np.clip(ends, *self.y_bounds) if noisy else ends
        if not (warned or found.kept.all()):
            warnings.warn(_INSTEAD, MostlyNoiseWarning, stacklevel=3)
        elif not warned and noisy and np.abs(found.constant).max() > _AT_AN_END:
            warnings.warn(_AT_END_OF_Y.format(self.y_bounds), MostlyNoiseWarning, stacklevel=3)
        return units.coefficients(found.points)

    def _predicted(self, X: Any) -> FloatArray:
        """Predictions of the K fits at records as fitted, within the released bounds, (n, K)."""
        return np.clip(super()._predicted(self._units.moved(X)), *self.prediction_bounds_)

    def _forecast(self, records: int, n_features: int, eps: float) -> Forecast:
        """What noise will do at an eps; for a small count mechanisms take a larger number."""
        # What pays for moments, counts and rounds.
        ledger = Ledger(
            eps * (1 - accounts.SHARE_OF_THE_COUNT if accounts.counts(self) else 1.0), self.delta
        )
        p, bounds = planned(self.X_bounds, n_features)
        constant, _, loss, quantiles = self._declared(p, bounds)
        n = max(records, accounts.least_nominal(self._tail(eps)) if accounts.counts(self) else 1)
        neighbours, p = accounts.supposed(self, n), p + constant
        plan = Plan.of(neighbours, p, loss, quantiles, ledger, constant=constant)
        return Forecast.of(plan, records, ledger)

    def _public_number(self, neighbours: accounts.Neighbours) -> int:
        """The number of records as far as it is public; of a small count, from its bound."""
        if not accounts.counts(self):
            return neighbours.n
        return max(1, min(neighbours.n, neighbours.most - self._tail(self.eps) - 1))

    def _tail(self, eps: float) -> int:
        """What is added to a noisy count of records that a share of eps bought, to bound them."""
        bought = accounts.SHARE_OF_THE_COUNT * eps
        moved = float(accounts.rows_of(self))
        return accounts.tail_of_count(LaplaceMechanism.of_eps(moved, bought).scale)

    def _open(self, randomness: Randomness) -> accounts.Account:
        """The account of the fit; the count of records, if it is bought, is a call of its own."""
        neighbours = accounts.accounted(self)
        words = _REPLACED
        if accounts.adds_or_removes(self.relation):
            words = _ADDED + ("" if self.nominal_n is None else _NOMINAL.format(self.nominal_n))
        opened = (accounts.open_budget if accounts.counts(self) else accounts.open_ledger)(
            self.eps, self.delta, self.budget
        )
        words = accounts.protecting(words, self)
        return accounts.Account(opened, randomness, words, neighbours)

    def _neighbours(
        self, count: int, account: accounts.Account
    ) -> tuple[accounts.Neighbours, accounts.Account]:
        """What mechanisms may know of the number of records, and the account left for them."""
        found = accounts.neighbours_of(self, count, account)
        left = (
            account.part(1 - accounts.SHARE_OF_THE_COUNT, self.delta)
            if accounts.counts(self)
            else account
        )
        return found, left

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return accounts.with_remark(self, super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.regressor_tags.poor_score = True
        return tags
