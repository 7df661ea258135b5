"""Few positives: public weights of classes, and a threshold that a share of eps buys."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

import svm_models as sm
from privlp.privacy import Ledger, Randomness
from svm_models.account import Account, Neighbours
from svm_models.classifiers.classes import private_threshold
from svm_models.classifiers.risk import RegularizedRisk, huber, logistic
from svm_models.records import decisions_of
from tests.effort import each

pytestmark = pytest.mark.usefixtures("short_advice")

WEIGHTED = [
    sm.OutputPerturbationSVC,
    sm.OutputPerturbationLogisticRegression,
    sm.OutputPerturbationClassifier,
    sm.ObjectivePerturbationSVC,
    sm.ObjectivePerturbationLogisticRegression,
    sm.ObjectivePerturbationClassifier,
    sm.PrivateLPSVC,
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(12_000, 5))
X[:, 0] = 1.0
Y = np.where(X[:, 1] + 0.5 * X[:, 2] + RNG.normal(size=12_000) > 2.5, "rare", "usual")
X /= np.linalg.norm(X, axis=1)[:, None]
OPTIONS = {"classes": ("rare", "usual"), "random_state": 0}


def balanced(fitted):
    return balanced_accuracy_score(Y, fitted.predict(X))


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
@pytest.mark.parametrize(
    ("estimator", "loss"),
    [(sm.ObjectivePerturbationSVC, huber()), (sm.OutputPerturbationLogisticRegression, logistic())],
)
def test_without_noise_it_is_the_minimiser_of_the_weighted_losses(estimator, loss, container):
    """Found by another solver, of reg/2 ||w||^2 + mean of weighted losses."""
    rows, signs = X[:300], np.where(Y[:300] == "usual", 1.0, -1.0)
    weights = np.where(Y[:300] == "rare", 7.0, 0.5)

    def objective(w):
        return 0.05 * w @ w + (weights * loss.value(signs * (rows @ w))).mean()

    given = {"class_weight": {"rare": 7.0, "usual": 0.5}, "fit_intercept": False, **OPTIONS}
    model = estimator(eps=math.inf, reg=0.1, **given)
    w = model.fit(container(rows), Y[:300]).coef_[0]
    found = minimize(objective, np.zeros(5), method="L-BFGS-B", options={"ftol": 1e-15})
    assert objective(w) <= found.fun + 1e-12
    np.testing.assert_allclose(w, found.x, atol=1e-4)


def test_derivatives_of_weighted_losses():
    weights = RNG.random(50)
    plain = RegularizedRisk.in_memory(X[:50], logistic(), 0.1, 1.0)
    risk = RegularizedRisk.in_memory(X[:50], logistic(), 0.1, 1.0, weights)
    w, step = RNG.normal(size=(2, 5))
    slope = (risk.value(w + 1e-6 * step) - risk.value(w - 1e-6 * step)) / 2e-6
    assert risk.gradient(w) @ step == pytest.approx(slope, rel=1e-6)
    bend = (risk.gradient(w + 1e-6 * step) - risk.gradient(w - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(risk.hessian(w) @ step, bend, rtol=1e-5, atol=1e-9)
    assert risk.value(w) < plain.value(w)


@pytest.mark.parametrize("estimator", WEIGHTED)
def test_equal_weights_change_nothing(estimator):
    options = {**OPTIONS, "delta": 1e-6} if estimator is sm.PrivateLPSVC else OPTIONS
    plain = estimator(**options).fit(X, Y)
    equal = estimator(class_weight={"rare": 1.0}, **options).fit(X, Y)
    np.testing.assert_allclose(equal.coef_, plain.coef_, rtol=1e-9)
    assert equal.privacy_.entries == plain.privacy_.entries


@pytest.mark.parametrize(
    "model",
    [sm.PrivateLPSVC(2.0, 1e-9), sm.ObjectivePerturbationLogisticRegression(eps=2.0, reg=1e-3)],
)
def test_weights_find_the_rare_class(model):
    plain = model.set_params(class_weight=None, **OPTIONS).fit(X, Y)
    assert balanced(plain) < 0.55
    weighted = model.set_params(class_weight={"rare": 20.0}).fit(X, Y)
    assert balanced(weighted) > 0.75


FIND_IT = [
    (sm.PrivateLPSVC(4.0, 1e-9), 0.7),
    (sm.ObjectivePerturbationLogisticRegression(eps=4.0, reg=1e-3), 0.7),
    (sm.OutputPerturbationSVC(eps=math.inf, reg=1e-3), 0.7),
    (sm.DMWSVC(8.0, 1e-9), 0.6),  # it has selected one feature
]


@pytest.mark.parametrize(("case", "relation"), each(range(4), ["replace", "add-remove"]))
def test_a_threshold_finds_the_rare_class(case, relation):
    model, least = FIND_IT[case]
    fitted = model.set_params(threshold_share=0.25, relation=relation, **OPTIONS).fit(X, Y)
    assert fitted.privacy_.eps <= model.eps
    assert balanced(fitted) > least
    # The ranking is that of the weights.
    decisions = fitted.decision_function(X)
    np.testing.assert_allclose(decisions, X @ fitted.coef_[0] + fitted.intercept_[0])
    assert roc_auc_score(Y == "usual", decisions) > least
    model.set_params(threshold_share=None, fit_intercept=False)
    assert model.fit(X, Y).intercept_ == 0.0


def test_all_of_eps_is_spent_in_its_shares():
    options = {**OPTIONS, "relation": "add-remove"}
    fitted = sm.ObjectivePerturbationSVC(eps=0.5, threshold_share=0.2, **options).fit(X, Y)
    assert 0.4999 < fitted.privacy_.eps <= 0.5
    purposes = [entry.purpose for entry in fitted.privacy_.entries]
    assert purposes == [
        "count the records",
        "cover the error of the computed minimiser",
        "perturb the objective",
        "count the classes",
        "choose a threshold",
    ]


def test_without_noise_it_is_the_best_candidate():
    """By trying all of them."""
    signs = np.where(Y == "usual", 1.0, -1.0)
    w = RNG.normal(size=5)
    for rows in (X, sp.csr_array(X)):
        account = Account(Ledger(math.inf, 0.0), Randomness(0))
        reach, neighbours = float(np.linalg.norm(w)), Neighbours.replacing(len(Y))
        found = private_threshold(decisions_of(rows, w), signs, reach, account, neighbours)
        grid = reach * np.geomspace(10**-2.5, 1, 48)
        candidates = [*-grid, 0.0, *grid]
        scores = {t: balanced_accuracy_score(signs > 0, X @ w > t) for t in candidates}
        assert scores[found] == pytest.approx(max(scores.values()))
