"""Every estimator keeps scikit-learn's conventions, as scikit-learn's own checks see them."""

import contextlib
import traceback
import warnings
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import svm_models as sm
from privlp import NotPrivateWarning
from tests.effort import THOROUGH

#: The checks that compare two fits need a seed; those that compare scores get little noise.
SEEDED = {"eps": 100.0, "random_state": 0}

#: Public bounds that hold for the records of scikit-learn's checks.
BOUNDS = {"X_bounds": (-200, 200), "y_bounds": (-400, 400)}

ESTIMATORS = [
    sm.LPSVC(),
    sm.QPSVC(),
    sm.HuberSVC(),
    sm.RegularizedLogisticRegression(),
    sm.OutputPerturbationSVC(**SEEDED),
    sm.ObjectivePerturbationSVC(delta=1e-5, **SEEDED),
    sm.OutputPerturbationLogisticRegression(**SEEDED),
    sm.ObjectivePerturbationLogisticRegression(**SEEDED),
    sm.OutputPerturbationClassifier(**SEEDED),
    sm.ObjectivePerturbationClassifier(**SEEDED),
    sm.DMWSVC(eps=10.0, radius=5.0, alpha=2.0, random_state=0),
    sm.PrivateLPSVC(),
    sm.PrivateClassifier(),
    sm.DualPerturbationSVC(**SEEDED),
    sm.RandomFourierFeatures(n_components=7, random_state=0),
    sm.PrivateModelSelector([sm.ObjectivePerturbationSVC(), sm.OutputPerturbationSVC()], **SEEDED),
    sm.PrivateOneVsRestClassifier(sm.OutputPerturbationSVC(), **SEEDED),
    sm.LPQuantileRegressor(),
    sm.LPSVR(),
    sm.PrivateQuantileRegressor(**BOUNDS, **SEEDED),
    sm.PrivateLPSVR(**BOUNDS, **SEEDED),
]

#: They fit by the code of another one, and differ in parameters: whole in a thorough run.
TWINS = (
    ()
    if THOROUGH
    else (
        sm.OutputPerturbationLogisticRegression,
        sm.OutputPerturbationClassifier,
        sm.ObjectivePerturbationLogisticRegression,
        sm.ObjectivePerturbationClassifier,
        sm.PrivateClassifier,
        sm.PrivateLPSVR,
    )
)
OF_PARAMETERS = ("param", "clone", "repr", "tags", "setattr", "mutable")
#: Skipped by scikit-learn itself unless an environment variable is set.
SKIPPED_BY_SCIKIT_LEARN = {"check_array_api_input"}


def name_of(value):
    if hasattr(value, "get_params"):
        given = ", ".join(
            f"{key}={v!r}"
            for key, v in value.get_params().items()
            if key in ("eps", "delta", "random_state")
        )
        return f"{type(value).__name__}({given})"
    return getattr(getattr(value, "func", value), "__name__", None)


@pytest.mark.usefixtures("short_advice")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_scikit_learns_checks(estimator):
    failures, tried = {}, 0
    for each, check in estimator_checks_generator(estimator, mark=None):
        name = name_of(check)
        if name in SKIPPED_BY_SCIKIT_LEARN:
            continue
        if type(estimator) in TWINS and not any(word in name for word in OF_PARAMETERS):
            continue
        tried += 1
        try:
            with warnings.catch_warnings(), contextlib.suppress(SkipTest):
                if isinstance(estimator, sm.DualPerturbationSVC) or hasattr(estimator, "budget"):
                    warnings.simplefilter("ignore", NotPrivateWarning)  # classes are left out
                check(each)
        except Exception:
            failures[name] = traceback.format_exc()
    assert not failures, "\n".join(failures.values())
    assert tried > (4 if type(estimator) in TWINS else 20)


def test_every_public_estimator_is_checked():
    public = {getattr(sm, name) for name in sm.__all__}
    estimators = {value for value in public if hasattr(value, "get_params")}
    assert estimators == {type(estimator) for estimator in ESTIMATORS}


def test_a_delta_at_which_a_record_could_be_published_is_pointed_out():
    X, y = np.random.default_rng(0).uniform(-0.5, 0.5, (50, 2)), np.tile([-1, 1], 25)
    with pytest.warns(NotPrivateWarning, match=r"delta = 0.02 is at least 1/n = 0.02") as caught:
        sm.PrivateLPSVC(1.0, 0.02, classes=(-1, 1), random_state=0).fit(X, y)
    assert caught[0].filename == __file__
