"""Dual-variable perturbation, as its published abstract reads: UNPROVEN, kept for comparison."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.svm import SVC

from privlp import InvalidProblemError, NotPrivateWarning
from svm_models.account import randomness_of
from svm_models.base import LinearBinaryClassifier
from svm_models.parameters import PRICE, privacy, within

FloatArray = npt.NDArray[np.float64]


class DualPerturbationSVC(LinearBinaryClassifier):
    """Linear SVM with Laplace noise on its dual variables.

    **UNPROVEN**: claims eps-differential privacy and does not have it.

    The abstract of "A Differential Privacy Support Vector Machine Classifier Based on Dual Variable
    Perturbation" gives neither proof nor noise scale. Built as it reads: SMO solves min ||w||^2/2 +
    C sum_i xi_i (scikit-learn's ``SVC``); support vector i has the error E_i = f(x_i) - y_i and the
    share r_i = abs(E_i)/sum_j abs(E_j); its dual variable a_i gets Laplace noise of scale C/(r_i
    eps). The weights are sum_i (a_i + noise_i) y_i x_i, the intercept is SMO's.

    Which records are support vectors, their errors and the intercept enter the result without
    noise, and a record that is no support vector in one of two neighbouring data sets adds noise in
    a direction of its own in the other: an audit on such a pair measures far more than eps
    (``tests/test_svm_dual_perturbation.py``). So no ledger is charged, ``privacy_`` is None, and
    :meth:`fit` warns.

    Parameters
    ----------
    eps : float
        The claim.
    C : float
        Price of a unit of margin error, positive.
    classes : pair of labels, optional
    random_state : None, int or numpy.random.Generator

    Attributes
    ----------
    coef_ : (1, p) array
    intercept_ : (1,) array
    classes_ : (2,) array
    privacy_ : None

    Examples
    --------
    >>> import warnings
    >>> from svm_models import DualPerturbationSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(300, random_state=0)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     svm = DualPerturbationSVC(eps=1e6, random_state=0).fit(X, y)
    >>> svm.score(X, y) > 0.9
    True
    """

    def __init__(
        self, eps: float = 1.0, C: float = 1.0, *, classes: Any = None, random_state: Any = None
    ) -> None:
        self.eps = eps
        self.C = C
        self.classes = classes
        self.random_state = random_state

    def _train(self, X: Any, signs: FloatArray) -> FloatArray:
        (eps, _), C = privacy(self.eps, 0.0), within(self.C, "C", *PRICE)
        generator = randomness_of(self.random_state).generator
        if len(np.unique(signs)) < 2:
            raise InvalidProblemError("SMO needs records of both classes.", parameter="y")
        warnings.warn(
            "DualPerturbationSVC has no proof of privacy, and audits refute its claim. Do not"
            " release what it learns.",
            NotPrivateWarning,
            stacklevel=3,
        )
        svc = SVC(kernel="linear", C=C).fit(X, signs)
        vectors = X[svc.support_]
        errors = np.abs(svc.decision_function(vectors) - signs[svc.support_])
        shares = (
            errors / errors.sum() if errors.sum() > 0 else np.full(len(errors), 1 / len(errors))
        )
        scale = C / (np.maximum(shares, np.finfo(float).tiny) * eps)
        noisy = np.abs(
            svc.dual_coef_[0]
            if not hasattr(svc.dual_coef_, "toarray")
            else svc.dual_coef_.toarray()[0]
        )
        noisy = noisy + generator.laplace(0.0, scale)
        self.intercept_ = np.array(svc.intercept_, dtype=float)
        return np.asarray(vectors.T @ (noisy * signs[svc.support_]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags
