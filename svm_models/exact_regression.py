"""Quantile and support vector regression to a certified optimum by HiGHS: **not private**."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import InvalidParameterError, LinearProgram, solve_exact
from privlp.checks import real, require_flag
from svm_models.exact import UncertifiedOptimumError, certified_gap
from svm_models.parameters import MOST_SIZE, PRICE, finite, within
from svm_models.regression_base import LinearRegressor

FloatArray = npt.NDArray[np.float64]

#: Quantiles are as far from 0 and 1: beyond, a smoothed loss has no digits left.
_LEAST = 1e-6


def quantiles_of(quantile: Any) -> tuple[float, ...]:
    """One quantile or several, as a tuple.

    Raises
    ------
    InvalidParameterError
        If they are not between 0 and 1, or do not rise.
    """
    try:
        found = tuple(real(q, "quantile") for q in np.atleast_1d(quantile).tolist())
    except (TypeError, ValueError):
        found = ()
    rising = all(a < b for a, b in pairwise(found))
    if not found or not rising or not all(_LEAST <= q <= 1 - _LEAST for q in found):
        raise InvalidParameterError(
            "quantile must be a number between 0 and 1, or a rising sequence of such numbers, at"
            f" least {_LEAST:g} from 0 and from 1; got {_shown(found)}.",
            parameter="quantile",
        )
    return found


def epsilon_of(epsilon: Any) -> float:
    """The parameter epsilon of support vector regression.

    Raises
    ------
    InvalidParameterError
        If it is negative or not finite.
    """
    found = real(epsilon, "epsilon")
    if not 0 <= found < math.inf:
        raise InvalidParameterError(
            f"epsilon must be at least 0 and finite, got {epsilon!r}.", parameter="epsilon"
        )
    return finite(found, "epsilon", MOST_SIZE)


def _shown(found: tuple[float, ...]) -> str:
    return ", ".join(map(repr, found[:5])) or "none"


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

    def __init__(self, quantile: Any = 0.5, *, fit_intercept: bool = True) -> None:
        self.quantile = quantile
        self.fit_intercept = fit_intercept

    def _gives_one_fit(self) -> bool:
        return np.ndim(self.quantile) == 0

    def _fitted(self, X: Any, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        require_flag(self.fit_intercept, "fit_intercept")
        quantiles = quantiles_of(self.quantile)
        A = _with_constant(X, constant=self.fit_intercept)
        found, objectives, gaps = [], [], []
        for q in quantiles:
            w, dual = _optimum(A, y, (q - 1.0, q), np.zeros(A.shape[1]))
            r = y - A @ w
            total = float(np.maximum(q * r, (q - 1) * r).sum())
            gaps.append(certified_gap(total, dual))
            found.append(w)
            objectives.append(total / len(y))
        one = self._gives_one_fit()
        self.objective_ = objectives[0] if one else np.array(objectives)
        self.gap_ = max(gaps)
        return _split(np.array(found), constant=self.fit_intercept)


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

    def __init__(self, C: float = 1.0, *, epsilon: float = 0.1, fit_intercept: bool = True) -> None:
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept

    def _fitted(self, X: Any, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        C, epsilon = within(self.C, "C", *PRICE), epsilon_of(self.epsilon)
        require_flag(self.fit_intercept, "fit_intercept")
        A = _with_constant(X, constant=self.fit_intercept)
        slack = np.ones(A.shape[1])
        if self.fit_intercept:
            slack[0] = 0.0
        w, dual = _optimum(A, y, (-C, C), slack, epsilon=epsilon)
        coef, intercept = _split(w[None], constant=self.fit_intercept)
        errors = np.maximum(0.0, np.abs(y - A @ w) - epsilon)
        self.objective_ = float(np.abs(coef).sum() + C * errors.sum())
        self.gap_ = certified_gap(self.objective_, dual)
        return coef, intercept


def _optimum(
    A: Any,
    y: FloatArray,
    box: tuple[float, float],
    slack: FloatArray,
    *,
    epsilon: float = 0.0,
) -> tuple[FloatArray, float]:
    """The duals w of the rows of: maximise y·a - epsilon ||a||_1, abs(A^T a) <= slack, a in a box.

    And the optimal value.
    """
    n, bounds, rows, gain = len(y), box, sp.csr_array(A).T, y
    if epsilon:  # a is the difference of two variables
        bounds, rows = (0.0, box[1]), sp.hstack([rows, -rows])
        gain = np.concatenate([y - epsilon, -y - epsilon])
    dual = LinearProgram(
        gain,
        sp.csr_array(rows),
        slack,
        row_lower=-slack,
        bounds=bounds,
        sense="max",
        private=np.zeros(len(slack), dtype=bool),
        name=f"regression of {n} records",
    )
    solved = solve_exact(dual)
    if solved.dual is None or solved.objective is None:
        raise UncertifiedOptimumError(
            f"HiGHS found no certified optimum of the dual linear program: {solved.message}"
        )
    return np.asarray(solved.dual), float(solved.objective)


def _with_constant(X: Any, *, constant: bool) -> Any:
    if not constant:
        return X
    ones = np.ones((X.shape[0], 1))
    return sp.csr_array(sp.hstack([ones, X])) if sp.issparse(X) else np.hstack([ones, X])


def _split(w: FloatArray, *, constant: bool) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts."""
    return (w[:, 1:], w[:, 0]) if constant else (w, np.zeros(len(w)))
