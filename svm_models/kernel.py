"""Random Fourier features (Rahimi and Recht 2007) of norm exactly one, for private learners."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from privlp.checks import whole
from privlp.float_errors import unnoticed
from svm_models.account import randomness_of
from svm_models.parameters import FloatArray, within
from svm_models.records.validation import validated


class RandomFourierFeatures(TransformerMixin, BaseEstimator):
    """Features z(x) with z(x)·z(x') close to the Gaussian kernel exp(-gamma ||x - x'||_2^2).

    D frequencies f_k ~ N(0, 2 gamma I) give the 2D features (cos f_k·x, sin f_k·x) / sqrt(D). Their
    Euclidean norm is exactly 1. (The cosine features sqrt(2/D) cos(f_k·x + b_k) of Algorithm 2 of
    Sarwate, Chaudhuri and Monteleoni 2009 have norms of up to sqrt(2), which voids a guarantee for
    norm 1.) The frequencies do not depend on the records, so they may be released and fitting costs
    no privacy; `gamma` and the number of frequencies must be public.

    Parameters
    ----------
    gamma : float
        Positive.
    n_components : int
        Number D of frequencies; there are 2D features.
    random_state : None, int or numpy.random.Generator

    Attributes
    ----------
    frequencies_ : (p, D) array

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models import RandomFourierFeatures
    >>> kernel = RandomFourierFeatures(gamma=0.5, n_components=100, random_state=0)
    >>> features = kernel.fit_transform(np.eye(3))
    >>> features.shape, np.linalg.norm(features, axis=1).round(12)
    ((3, 200), array([1., 1., 1.]))
    """

    def __init__(
        self, gamma: float = 1.0, n_components: int = 100, *, random_state: Any = None
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's signature)
        """Draw the frequencies; of X only the number of columns is used.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import RandomFourierFeatures
        >>> kernel = RandomFourierFeatures(gamma=0.5, n_components=100, random_state=0)
        >>> kernel.fit(np.eye(3)).frequencies_.shape
        (3, 100)
        """
        gamma = within(self.gamma, "gamma", 1e-100, 1e100)
        count = whole(self.n_components, "n_components", 10**6)
        X = validated(self, X, dtype=np.float64)
        generator = randomness_of(self.random_state).generator
        self.frequencies_ = generator.normal(0.0, np.sqrt(2 * gamma), (X.shape[1], count))
        return self

    def transform(self, X: Any) -> FloatArray:
        """The features of each row of X, shape (n, 2D).

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import RandomFourierFeatures
        >>> kernel = RandomFourierFeatures(gamma=0.5, n_components=20_000, random_state=0)
        >>> features = kernel.fit(np.eye(3)).transform(np.eye(3))
        >>> (features @ features.T).round(1)  # off the diagonal: exp(-gamma 2) = 0.37
        array([[1. , 0.4, 0.4],
               [0.4, 1. , 0.4],
               [0.4, 0.4, 1. ]])
        """
        check_is_fitted(self)
        X = validated(self, X, dtype=np.float64, reset=False)
        with unnoticed():
            phases = np.asarray(X @ self.frequencies_)
        # Records so large that a phase overflows must not be noticed: their features are those of
        # phase zero.
        phases[~np.isfinite(phases)] = 0.0
        features = np.empty((len(phases), 2 * phases.shape[1]))
        np.cos(phases, out=features[:, : phases.shape[1]])
        np.sin(phases, out=features[:, phases.shape[1] :])
        features /= np.sqrt(phases.shape[1])
        return features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
