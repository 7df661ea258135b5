"""What scikit-learn does around a private fit, seen on the call stack: repeats, and pipelines."""

from __future__ import annotations

import math
import sys
import threading
import warnings
from traceback import walk_stack
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from joblib import Parallel
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.utils import get_tags

from privlp import NotPrivateWarning
from svm_models.kernel import RandomFourierFeatures

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
    told = any(one is not estimator and _is_of_this_package(one) for one in parts)
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


def _is_of_this_package(estimator: Any) -> bool:
    return type(estimator).__module__.startswith("svm_models.")
