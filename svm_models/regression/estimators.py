"""Quantile and support vector regression: private with nothing to tune, and exact by HiGHS."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp import InvalidParameterError
from privlp.checks import real, require, require_flag
from svm_models.classifiers.exact import certified_gap, dual_optimum
from svm_models.parameters import MOST_SIZE, PRICE, FloatArray, finite, within
from svm_models.regression.base import LinearRegressor, PrivateLinearRegressor
from svm_models.regression.losses import EpsilonInsensitive, Pinball, ResidualLoss

#: Quantiles are as far from 0 and 1: beyond, a smoothed loss has no digits left.
_LEAST = 1e-6


def quantiles_of(quantile: Any) -> tuple[float, ...]:
    """One quantile or several rising ones, between 0 and 1, as a tuple."""
    try:
        found = tuple(real(q, "quantile") for q in np.atleast_1d(quantile).tolist())
    except (TypeError, ValueError):
        found = ()
    shown = ", ".join(map(repr, found[:5])) or "none"
    rising = all(a < b for a, b in pairwise(found))
    if not found or not rising or not all(_LEAST <= q <= 1 - _LEAST for q in found):
        raise InvalidParameterError(
            "quantile must be a number between 0 and 1, or a rising sequence of such numbers, at"
            f" least {_LEAST:g} from 0 and from 1; got {shown}.",
            parameter="quantile",
        )
    return found


def epsilon_of(epsilon: Any) -> float:
    """The parameter epsilon of support vector regression: finite, at least 0."""
    found = real(epsilon, "epsilon")
    require(
        0 <= found < math.inf, f"epsilon must be at least 0 and finite, got {epsilon!r}.", "epsilon"
    )
    return finite(found, "epsilon", MOST_SIZE)


@dataclass(eq=False, repr=False)
class PrivateQuantileRegressor(PrivateLinearRegressor):
    """Private linear quantile regression: the median, any other quantile, or several at once.

    Minimises the mean of max(q r, (q - 1) r) over residuals r = y - x·w - b. With q = 1/2 it fits
    by least absolute deviations. Nothing is to be guessed but bounds on X and y.

    A small share of the budget buys coordinates in which records are alike in all directions.
    There, records longer than a released bound are shortened. Noisy counts find the size of
    residuals. Then come rounds of gradient descent from the median to the quantiles: each releases
    the sum of the slopes of the records' losses, with Gaussian noise. The mean of the last points
    is the fit; the slopes of an outer quantile are drawn towards those of the median as far as
    noise explains the difference, and a last noisy count moves its intercept. Several quantiles
    share everything but the last rounds and counts, and these are released for all of them
    together: the noise for K is sqrt(K) times that for one, where K fits with a share of the budget
    each would have about K times. Counts above rising levels are noisier by far less than sqrt(K).
    ``fit(None, y)`` gives quantiles of y alone: `intercept_`.

    *Neighbours*: one record replaced; n is public. Or one record added or removed: then a nominal
    number takes the place of n.

    *Sensitivity*. A round: record i contributes slopes s_k in [q_k - 1, q_k] of K losses, less the
    middles q_k - 1/2 of these ranges, times one vector of norm 1 at most. So sums move by 2 S if a
    record is replaced, by S if one is added or removed; S = sqrt(K)/2. The middles times the sum of
    these vectors are added afterwards: that sum is released once, at 2 or 1. Moments of records
    scaled to norm 1: sqrt(2), or 1. Counts: 1, and 1 for K of them in public coordinates in which
    that is all that one record can move them. All sums are exact.

    *Budget*: one ledger, charged before the first draw. All are Gaussian; where public numbers show
    that noise would hide whatever features tell, one draw by the exponential mechanism, or counts,
    buy quantiles of y alone with all of it. Proof: ``docs/proofs.md``, "Regression by averaged
    descent", "The better of a fit and a constant".

    Parameters
    ----------
    eps : float
        In (0, inf]; ``inf`` adds no noise, and ``privacy_`` says so.
    delta : float
        In (0, 1), well below 1/n: the noise is Gaussian.
    quantile : float or sequence of float
        In (0, 1). A rising sequence gives several quantiles from one budget; their predictions do
        not cross.
    y_bounds : pair of floats
        Public range of y; values beyond it are moved to it, and how many is not told.
    X_bounds : dict, or pair of floats or of (p,) arrays, optional
        Public ranges of the features. Values beyond them are moved to them, in predictions too. A
        dict has for each column, by name or position, a tuple (low, high), or a list of categories:
        these become columns of 0 and 1, in the place of theirs and in the order of the list; others
        leave zeros.
    data_norm : float, optional
        In place of X_bounds: a public bound on the Euclidean norm of a record. Longer ones are
        scaled down to it, in predictions too.
    fit_intercept : bool
        Whether there is a b. No constant column is needed.
    budget, random_state, relation, nominal_n, rows_per_record
        As for :class:`PrivateLPSVC`.

    Attributes
    ----------
    coef_ : (p,) array, or (K, p) for a sequence of quantiles
    intercept_ : float, or (K,) array
    privacy_ : privlp.privacy.PrivacyRecord

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models import PrivateQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 1))
    >>> y = 3 * X[:, 0] + rng.normal(0, 2, 5000)
    >>> bounds = {"X_bounds": (0, 10), "y_bounds": (-20, 60)}
    >>> fitted = PrivateQuantileRegressor(1.0, 1e-6, **bounds, random_state=0).fit(X, y)
    >>> abs(float(fitted.coef_[0]) - 3) < 0.1
    True
    >>> several = PrivateQuantileRegressor(1.0, 1e-6, (0.1, 0.9), **bounds, random_state=0)
    >>> several.fit(X, y).predict([[5.0]]).shape
    (1, 2)
    """

    eps: float = 1.0
    delta: float = 1e-6
    quantile: Any = 0.5
    _: KW_ONLY

    def _loss(self, reach: float) -> tuple[ResidualLoss, tuple[float, ...]]:  # noqa: ARG002
        quantiles = quantiles_of(self.quantile)
        return Pinball(quantiles), quantiles


@dataclass(eq=False, repr=False)
class PrivateLPSVR(PrivateLinearRegressor):
    """Private linear support vector regression: least mean of max(0, abs(r) - epsilon).

    r = y - x·w - b are residuals. As :class:`PrivateQuantileRegressor` in all else: slopes lie in
    [-1, 1], so a round's sum moves by 2 if a record is replaced, by 1 if one is added or removed.
    There is no penalty on w: the exact twin is :class:`LPSVR` with a large C.

    Proof: ``docs/proofs.md``, "Regression by averaged descent".

    Parameters
    ----------
    epsilon : float
        Residuals up to this size cost nothing; in units of y, at least 0. A loss, and no privacy.
    eps, delta, y_bounds, X_bounds, data_norm, fit_intercept, budget, random_state, relation
        As for :class:`PrivateQuantileRegressor`.

    Attributes
    ----------
    coef_ : (p,) array
    intercept_ : float
    privacy_ : privlp.privacy.PrivacyRecord

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models import PrivateLPSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (5000, 1))
    >>> y = 3 * X[:, 0] + rng.normal(0, 2, 5000)
    >>> bounds = {"X_bounds": (0, 10), "y_bounds": (-20, 60)}
    >>> fitted = PrivateLPSVR(1.0, 1e-6, epsilon=1.0, **bounds, random_state=0).fit(X, y)
    >>> abs(float(fitted.coef_[0]) - 3) < 0.1
    True
    """

    eps: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    epsilon: float = 0.1

    def _loss(self, reach: float) -> tuple[ResidualLoss, tuple[float, ...]]:
        return EpsilonInsensitive(epsilon_of(self.epsilon) / reach), ()


@dataclass(eq=False, repr=False)
class LPQuantileRegressor(LinearRegressor):
    """Exact linear quantile regression: least mean of max(q r, (q - 1) r). **Not private**.

    r = y - x·w - b are residuals. HiGHS solves the dual, maximise sum_i y_i a_i subject to sum_i
    a_i x_i = 0 and sum_i a_i = 0, q - 1 <= a_i <= q: p + 1 rows in place of n; w and b are the
    duals of its rows (Koenker and Bassett 1978).

    Parameters
    ----------
    quantile : float or sequence of float
        In (0, 1); 0.5 is the median (least absolute deviations). Several, rising, are fitted one by
        one, and their predictions are put in order.
    fit_intercept : bool
        Whether there is a b.

    Attributes
    ----------
    coef_ : (p,) array, or (K, p) for a sequence of quantiles
    intercept_ : float, or (K,) array
    objective_ : float, or (K,) array
        The mean loss, computed from the coefficients.
    gap_ : float
        The largest (objective - dual objective) / (1 + objective): the certificate.

    Examples
    --------
    >>> from svm_models import LPQuantileRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, 3.0, 40.0]
    >>> fitted = LPQuantileRegressor(0.5).fit(X, y)
    >>> fitted.coef_.round(6), fitted.gap_ < 1e-6
    (array([1.]), True)
    """

    quantile: Any = 0.5
    _: KW_ONLY
    fit_intercept: bool = True

    def _fitted(self, X: Any, y: FloatArray, groups: Any) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        require_flag(self.fit_intercept, "fit_intercept")
        quantiles = quantiles_of(self.quantile)
        A = _with_constant(X, constant=self.fit_intercept)
        found, objectives, gaps = [], [], []
        for q in quantiles:
            w, dual = dual_optimum(y, sp.csr_array(A).T, np.zeros(A.shape[1]), (q - 1.0, q))
            r = y - A @ w
            total = float(np.maximum(q * r, (q - 1) * r).sum())
            gaps.append(certified_gap(total, dual))
            found.append(w)
            objectives.append(total / len(y))
        one = self._gives_one_fit()
        self.objective_ = objectives[0] if one else np.array(objectives)
        self.gap_ = max(gaps)
        return _split(np.array(found), constant=self.fit_intercept)


@dataclass(eq=False, repr=False)
class LPSVR(LinearRegressor):
    """Exact support vector regression as a linear program. **Not private**.

    Minimises ||w||_1 + C sum_i max(0, abs(r_i) - epsilon) over residuals r = y - x·w - b. HiGHS
    solves the dual, maximise sum_i y_i a_i - epsilon abs(a_i) subject to abs(sum_i a_i x_ij) <= 1,
    sum_i a_i = 0 and abs(a_i) <= C.

    Parameters
    ----------
    C : float
        Price of a unit of error, positive.
    epsilon : float
        Residuals up to this size cost nothing, at least 0.
    fit_intercept : bool
        Whether there is a b, which has no price.

    Attributes
    ----------
    coef_ : (p,) array
    intercept_ : float
    objective_ : float
        Computed from the coefficients.
    gap_ : float
        (objective - dual objective) / (1 + objective): the certificate.

    Examples
    --------
    >>> from svm_models import LPSVR
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> fitted = LPSVR(C=100.0, epsilon=0.3).fit(X, y)
    >>> fitted.coef_.round(6), round(fitted.objective_, 6)
    (array([1.8]), 1.8)
    """

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1
    fit_intercept: bool = True

    def _fitted(self, X: Any, y: FloatArray, groups: Any) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        C, epsilon = within(self.C, "C", *PRICE), epsilon_of(self.epsilon)
        require_flag(self.fit_intercept, "fit_intercept")
        A = _with_constant(X, constant=self.fit_intercept)
        slack = np.ones(A.shape[1])
        if self.fit_intercept:
            slack[0] = 0.0
        gain, rows, bounds = y, sp.csr_array(A).T, (-C, C)
        if epsilon:  # a is the difference of two variables
            gain, rows = np.concatenate([y - epsilon, -y - epsilon]), sp.hstack([rows, -rows])
            bounds = 0.0, C
        w, dual = dual_optimum(gain, rows, slack, bounds)
        coef, intercept = _split(w[None], constant=self.fit_intercept)
        errors = np.maximum(0.0, np.abs(y - A @ w) - epsilon)
        self.objective_ = float(np.abs(coef).sum() + C * errors.sum())
        self.gap_ = certified_gap(self.objective_, dual)
        return coef, intercept


def _with_constant(X: Any, *, constant: bool) -> Any:
    if not constant:
        return X
    ones = np.ones((X.shape[0], 1))
    return sp.csr_array(sp.hstack([ones, X])) if sp.issparse(X) else np.hstack([ones, X])


def _split(w: FloatArray, *, constant: bool) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts."""
    return (w[:, 1:], w[:, 0]) if constant else (w, np.zeros(len(w)))
