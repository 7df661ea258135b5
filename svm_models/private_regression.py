"""Private medians, quantiles and support vector regression, with nothing to tune."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from svm_models.exact_regression import epsilon_of, quantiles_of
from svm_models.regression_base import PrivateLinearRegressor
from svm_models.regression_losses import EpsilonInsensitive, Pinball, ResidualLoss


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
    each would have about K times.

    *Neighbours*: one record replaced; n is public. Or one record added or removed: then a nominal
    number takes the place of n.

    *Sensitivity*. A round: record i contributes slopes s_k in [q_k - 1, q_k] of K losses, less the
    middles q_k - 1/2 of these ranges, times one vector of norm 1 at most. So sums move by 2 S if a
    record is replaced, by S if one is added or removed; S = sqrt(K)/2. The middles times the sum of
    these vectors are added afterwards: that sum is released once, at 2 or 1. Moments of records
    scaled to norm 1: sqrt(2), or 1. Counts: 1, and sqrt(K) for K of them at once. All sums are
    exact.

    *Budget*: one ledger. All draws are Gaussian and charged before the first. Proof:
    ``docs/proofs.md``, "Regression by averaged descent".

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
    X_bounds : pair of floats or of (p,) arrays, optional
        Public ranges of the features. Values beyond them are moved to them.
    data_norm : float, optional
        In place of X_bounds: a public bound on the Euclidean norm of a record, as for classifiers.
        Longer ones are scaled down.
    fit_intercept : bool
        Whether there is a b. No constant column is needed.
    budget : privlp.Budget, optional
        A budget shared with other fits.
    random_state : None, int or numpy.random.Generator
        ``None``: cryptographic randomness. A seed is for experiments, and ``privacy_`` says so.
    relation : {"replace", "add-remove"}
        Whether neighbours differ in one record that is replaced, or that one has and the other has
        not. The second takes half the noise for the same eps, and promises less.
    nominal_n : int, optional
        For ``"add-remove"``: a public number near the number of records. ``None`` buys a noisy
        count for a fiftieth of eps.

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

    def _gives_one_fit(self) -> bool:
        return np.ndim(self.quantile) == 0

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
    eps : float
        In (0, inf]; ``inf`` adds no noise, and ``privacy_`` says so.
    delta : float
        In (0, 1), well below 1/n.
    epsilon : float
        Residuals up to this size cost nothing; in units of y, at least 0. A loss, and no privacy.
    y_bounds, X_bounds, data_norm, fit_intercept, budget, random_state, relation, nominal_n
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
