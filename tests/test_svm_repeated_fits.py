"""Who fits a private estimator again and again is told; who fits once, or shares a budget, is not."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline

import svm_models as sm
from privlp import Budget

pytestmark = pytest.mark.usefixtures("short_advice")

X = np.random.default_rng(0).uniform(-1, 1, (60, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
KNOWN = {"classes": (-1, 1)}
SVC = sm.OutputPerturbationSVC(eps=0.5, **KNOWN)
SVR = sm.PrivateLPSVR(0.5, 1e-3, y_bounds=(-1, 1), data_norm=2.0)
READ = sm.OutputPerturbationSVC(eps=0.5)
GRID = {"reg": [0.1, 1.0]}
RANGE = {"param_name": "reg", "param_range": [0.1, 2.0], "cv": 2}
SIZES = {"cv": 2, "train_sizes": [0.5, 1.0]}
SELECTOR = sm.PrivateModelSelector([READ], eps=1.0, **KNOWN)
SEVERAL = sm.PrivateOneVsRestClassifier(**KNOWN)


def scored(estimator):
    return cross_val_score(estimator, X, Y, cv=2)


def calibrated(estimator, **options):
    return CalibratedClassifierCV(estimator, cv=3, **options).fit(X, Y)


def said(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if w.category is sm.RepeatedFitsWarning]


FITS = (
    "{} makes several fits of {} without a shared budget. Each is a release, and costs add up; this"
)
FITS += " one takes (eps, delta) = ({})."


@pytest.mark.parametrize(
    ("call", "owner", "name", "price"),
    [
        (lambda: GridSearchCV(SVC, GRID, cv=3).fit(X, Y), "GridSearchCV", SVC, "0.5, 0"),
        (lambda: validation_curve(SVC, X, Y, **RANGE), "validation_curve", SVC, "0.5, 0"),
        (lambda: cross_validate(SVR, X, X[:, 0], cv=2), "cross_validate", SVR, "0.5, 0.001"),
        (lambda: cross_val_predict(SVC, X, Y, cv=3), "cross_val_predict", SVC, "0.5, 0"),
        (lambda: calibrated(SVC, ensemble=True), "CalibratedClassifierCV", SVC, "0.5, 0"),
        (lambda: calibrated(READ, ensemble=False), "CalibratedClassifierCV", READ, "0.5, 0"),
        (lambda: BaggingClassifier(READ, 2).fit(X, Y), "BaggingClassifier", READ, "0.5, 0"),
        (lambda: learning_curve(SVC, X, Y, **SIZES), "learning_curve", SVC, "0.5, 0"),
        (lambda: scored(GridSearchCV(SVC, GRID, cv=2)), "cross_val_score", SVC, "0.5, 0"),
        (
            lambda: scored(make_pipeline(sm.RandomFourierFeatures(), SVC)),
            *("cross_val_score", SVC, "0.5, 0"),
        ),
        (lambda: scored(SELECTOR), "cross_val_score", SELECTOR, "1, 0"),
        (lambda: scored(SEVERAL), "cross_val_score", SEVERAL, None),
    ],
)
def test_repeated_fits_are_told_once_with_what_they_cost(call, owner, name, price):
    (found,) = said(call)
    price = price or f"{name.eps:g}, {name.delta:g}"
    assert FITS.format(f"{owner} of scikit-learn", type(name).__name__, price) in found
    assert "Only one of these ledgers is left as privacy_" in found


def test_every_search_is_told_of():
    assert len(said(lambda: [cross_val_score(SVC, X, Y, cv=3) for _ in range(3)])) == 3


@pytest.mark.parametrize(
    "call",
    [
        lambda: SVC.fit(X, Y),
        lambda: [SVR.fit(X, X[:, 0]) for _ in range(3)],
        lambda: make_pipeline(sm.RandomFourierFeatures(), SVC).fit(X, Y),
        lambda: sm.PrivateModelSelector([READ, READ], eps=1.0, **KNOWN).fit(X, Y),
        lambda: cross_val_score(
            sm.OutputPerturbationSVC(eps=0.5, budget=Budget(9, 0), **KNOWN), X, Y, cv=3
        ),
        lambda: cross_val_score(sm.OutputPerturbationSVC(eps=np.inf, **KNOWN), X, Y, cv=3),
    ],
)
def test_single_fits_and_shared_budgets_are_not_told_of(call):
    assert said(call) == []


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (sm.OutputPerturbationSVC(**KNOWN), Y),
        (SVR, X[:, 0]),
        (sm.PrivateModelSelector([READ], eps=1.0, **KNOWN), Y),
        (sm.PrivateOneVsRestClassifier(**KNOWN), Y),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_repr_says_whether_the_noise_was_seeded(estimator, labels):
    remark = "NOT FOR RELEASE: the noise came from a seeded generator."
    estimator = clone(estimator).set_params(random_state=0)
    unfitted = repr(estimator)
    assert remark not in unfitted
    assert repr(estimator.fit(X, labels)) == f"{unfitted}\n{remark}"
    assert repr(estimator.privacy_).endswith(remark)
    estimator.set_params(random_state=None).fit(X, labels)
    assert remark not in repr(estimator) + repr(estimator.privacy_)
    estimator.set_params(eps=np.inf).fit(X, labels)
    assert repr(estimator).endswith("that is, without noise. Do not release.")
