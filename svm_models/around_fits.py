"""What scikit-learn does around a private fit: repeats, and steps of pipelines before it."""

from __future__ import annotations

import math
import sys
import threading
import warnings
from traceback import walk_stack
from types import FrameType
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from joblib import Parallel
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from privlp import NotPrivateWarning
from privlp.checks import whole
from privlp.quiet import unnoticed
from svm_models.account import randomness_of
from svm_models.parameters import FloatArray, within
from svm_models.records.validation import validated

#: Functions of scikit-learn that a worker process calls for one fit of several.
_TASKS = {"_fit_and_score", "_fit_and_predict", "_fit_classifier_calibrator_pair"}
_ADVICE = (
    " Only one of these ledgers is left as privacy_. To choose among candidates take"
    " PrivateModelSelector, which costs as much as one of them; or pay for all from one shared"
    " budget=privlp.Budget(eps, delta), which says what they cost together."
)

_lock = threading.Lock()
_fits: WeakKeyDictionary[Parallel, int] = WeakKeyDictionary()


class RepeatedFitsWarning(NotPrivateWarning):
    """A private estimator without a shared budget is fitted again and again by scikit-learn.

    Each fit is a release, and their costs add up. It is given once for each search or
    cross-validation, at the second fit; in a worker process, which sees one fit only, at the first.
    Loops of your own are not seen.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.model_selection import cross_val_score
    >>> from svm_models import OutputPerturbationSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(300, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = cross_val_score(OutputPerturbationSVC(eps=0.5, classes=(-1, 1)), X, y, cv=4)
    >>> print(caught[0].message)
    cross_val_score of scikit-learn makes several fits of OutputPerturbationSVC without a shared
    budget. Each is a release, and costs add up; this one takes (eps, delta) = (0.5, 0). Only ...
    """


def warn_if_repeated(estimator: Any, eps: float, delta: float) -> None:
    """Warn where scikit-learn makes one fit of several, and no shared budget pays for them."""
    if estimator.budget is not None or math.isinf(eps):
        return
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    names = [frame.f_globals.get("__name__", "") for frame in frames]
    outer = [frame for frame, name in zip(frames, names, strict=True) if _repeats(name)]
    loops = [
        frame.f_locals["self"]
        for frame, name in zip(frames, names, strict=True)
        if name == "joblib.parallel" and isinstance(frame.f_locals.get("self"), Parallel)
    ]
    if not outer:
        return
    if loops:
        with _lock:
            _fits[loops[-1]] = count = _fits.get(loops[-1], 0) + 1
        if count != 2:
            return
    elif outer[-1].f_code.co_name not in _TASKS:
        return
    warnings.warn(
        f"{_said(outer)} makes several fits of {type(estimator).__name__} without a shared budget."
        f" Each is a release, and costs add up; this one takes (eps, delta) = ({eps:g}, {delta:g})."
        + _ADVICE,
        RepeatedFitsWarning,
        stacklevel=4,
    )


def _repeats(module: str) -> bool:
    """Whether functions of a module may fit an estimator more than once."""
    return module.startswith("sklearn.") and not module.startswith(
        ("sklearn.utils", "sklearn.base", "sklearn.pipeline", "sklearn.compose")
    )


def _said(outer: list[FrameType]) -> str:
    """What the user called; a worker process does not know."""
    owner, name = outer[-1].f_locals.get("self"), outer[-1].f_code.co_name
    if owner is not None:
        return f"{type(owner).__name__} of scikit-learn"
    return "scikit-learn" if name.startswith("_") else f"{name} of scikit-learn"


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


#: Steps that learn the number of columns only, or that were fitted before.
_HARMLESS = RandomFourierFeatures, PolynomialFeatures, FrozenEstimator
#: What to do about any other.
INSTEAD = (
    " Declare ranges by X_bounds, or take steps that learn nothing from records: a"
    " FunctionTransformer of each row by itself, or a FrozenEstimator fitted to public data."
)


def learns_nothing(step: Any) -> bool:
    """Whether a step of a pipeline learns nothing from records: it has no fit of its own."""
    if step is None or isinstance(step, (str, *_HARMLESS)):
        return True
    if isinstance(step, Pipeline):
        return all(learns_nothing(one) for _, one in step.steps)
    if isinstance(step, FunctionTransformer):
        return _of_each_row(step)
    return isinstance(step, BaseEstimator) and not get_tags(step).requires_fit


def _of_each_row(step: FunctionTransformer) -> bool:
    """Whether a function gives made-up rows the same together and alone; or fails on such rows."""
    X = np.random.default_rng(0).uniform(0.5, 2.0, (6, 4))
    try:
        together = np.asarray(step.transform(X), dtype=float)
        alone = np.vstack([np.asarray(step.transform(X[k : k + 1]), float) for k in range(6)])
    except Exception:
        return True
    return together.shape == alone.shape and np.allclose(together, alone, equal_nan=True)


def last_of(candidate: Any) -> Any:
    """An estimator, or the last step of a pipeline whose others learn nothing; else None."""
    if not isinstance(candidate, Pipeline):
        return candidate
    *steps, last = (step for _, step in candidate.steps)
    return last if all(map(learns_nothing, steps)) else None


def fit(candidate: Any, X: Any, y: npt.NDArray[Any]) -> None:
    """Train a candidate, on no record too: its other steps learn the number of columns only."""
    if isinstance(candidate, Pipeline) and not len(y):
        X = candidate[:-1].fit_transform(np.zeros((1, X.shape[1])))[:0]
        candidate = candidate[-1]
    candidate.fit(X, y)


def warn_of_unpaid_steps(estimator: Any, eps: float) -> None:
    """Warn where a pipeline of scikit-learn fitted other steps to the records before."""
    if math.isinf(eps):
        return
    frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
    outer = [frame for frame in frames if frame.f_globals.get("__name__") == "sklearn.pipeline"]
    if not outer:  # the values of all frames take time
        return
    pipelines = [one for one in map(_owner, outer) if isinstance(one, Pipeline)]
    steps = [step for one in pipelines for _, step in one.steps[:-1]]
    learning = dict.fromkeys(type(step).__name__ for step in steps if not learns_nothing(step))
    parts = [one for one in map(_owner, frames) if isinstance(one, BaseEstimator)]
    # A part of another private estimator, which told.
    told = any(
        one is not estimator and type(one).__module__.startswith("svm_models.") for one in parts
    )
    if learning and not told:
        warnings.warn(
            f"{', '.join(learning)} of the pipeline may learn from the records, and no budget pays"
            f" for that: only {type(estimator).__name__} is private.{INSTEAD}",
            NotPrivateWarning,
            stacklevel=4,
        )


def _owner(frame: FrameType) -> Any:
    """The object whose method a frame runs, if any."""
    return frame.f_locals.get("self")
