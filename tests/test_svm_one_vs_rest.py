"""Several classes from private classifiers of each against the rest, within one budget."""

import math
from unittest import mock

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

import svm_models as sm
from privlp import Budget, InvalidParameterError, NotPrivateWarning
from privlp.privacy import Ledger, Randomness
from privlp.privacy.gaussian_dp import mu_of
from tests import conformance_kit as kit

RNG = np.random.default_rng(0)
LABELS = np.array(["a", "b", "c", "d"])
Y = RNG.integers(4, size=3000)
X = np.eye(4)[Y] / 2 + RNG.uniform(-0.2, 0.2, (3000, 4))
Y = LABELS[Y]
QUICK = sm.OutputPerturbationSVC(reg=0.1)


def several(estimator=QUICK, eps=2.0, delta=1e-6, **options):
    options = {"classes": LABELS, "random_state": 0, **options}
    return sm.PrivateOneVsRestClassifier(estimator, eps, delta, **options)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (sm.PrivateLPSVC(), {}),
        (sm.PrivateLPSVC(), {"relation": "add-remove"}),
        (sm.PrivateLPSVC(), {"relation": "add-remove", "nominal_n": 3000}),
        (sm.PrivateLPSVC(threshold_share=0.2), {}),
        (sm.ObjectivePerturbationSVC(reg=0.1), {"delta": 0.0}),
        (sm.ObjectivePerturbationSVC(reg=0.1), {}),
        (sm.OutputPerturbationSVC(reg=0.1), {}),
        (sm.DMWSVC(radius=3.0, alpha=9.0), {}),
    ],
)
def test_all_classes_together_spend_the_budget_and_no_more(estimator, options):
    fitted = several(estimator, **options).fit(X, Y)
    spent, allowed = fitted.privacy_, options.get("delta", 1e-6)
    assert 2.0 * (1 - 1e-6) < spent.eps <= 2.0
    assert spent.delta <= (allowed or 4 * 2.0**-92)  # a chance for each class
    assert len(fitted.estimators_) == 4
    assert ("added or removed" in spent.relation) == ("relation" in options)
    assert "the 4 classes, which were declared, are public" in spent.relation
    assert fitted.decision_function(X[:7]).shape == (7, 4)


def test_gaussian_parameters_of_the_classes_add_up_by_squares():
    """Each class gets mu/sqrt(k), where a part of eps and delta would be about mu/k."""
    fitted = several(sm.PrivateLPSVC(rounds=5)).fit(X, Y)
    parts = [mu_of(one.eps, one.delta) for one in fitted.estimators_]
    assert len(fitted.privacy_.entries) == sum(len(o.privacy_.entries) for o in fitted.estimators_)
    np.testing.assert_allclose(parts, mu_of(2.0, 1e-6) / 2, rtol=1e-6)
    assert math.hypot(*parts) <= mu_of(2.0, 1e-6)


def test_a_twin_that_gives_every_class_the_whole_budget_is_refused():
    def whole(self, estimator, eps, delta, count):
        return {"eps": eps, "delta": delta}, Budget(eps, delta, composition="planned")

    refused = several(sm.PrivateLPSVC(rounds=5))
    patch = mock.patch.object(sm.PrivateOneVsRestClassifier, "_split", whole)
    with patch, pytest.raises(Exception, match="budget"):
        refused.fit(X, Y)
    assert not hasattr(refused, "estimators_")


def _joint_loss(split):
    """A lower bound of eps from releases for one record and for its opposite, three classes.

    Each classifier votes by its sign. The event is that all votes are for the first record. A false
    alarm has probability 1e-3 at most; seeds are fixed. Each fit is made once, by real code, and
    what it releases is drawn again and again.
    """
    count, seen = 4_000, []
    for x in (1.0, -1.0):
        one = sm.OutputPerturbationSVC(reg=4.0, fit_intercept=False)
        fit = several(one, 1.5, 0.0, classes=(0, 1, 2))
        with mock.patch.object(sm.PrivateOneVsRestClassifier, "_split", split):
            releases = kit.play(lambda x: fit.fit([[x]], [1]), x).tape.releases  # noqa: B023
        source = Randomness(len(seen))
        signs = [kit.release_many(r.mechanism, r.exact, source, count)[:, 0] > 0 for r in releases]
        seen.append(int((~signs[0] & signs[1] & ~signs[2]).sum()))
    low = stats.beta.ppf(5e-4, seen[0], count + 1 - seen[0])
    return math.log(low / stats.beta.ppf(1 - 5e-4, seen[1] + 1, count - seen[1]))


def test_the_joint_release_keeps_eps():
    assert _joint_loss(sm.PrivateOneVsRestClassifier._split) <= 1.5
    rest = several(eps=1.5, classes=(0, 1, 2)).fit([[1.0]], [1]).estimators_[::2]
    assert rest[0].coef_ != rest[1].coef_, "noise of its own for each class: the records are alike"


def test_a_twin_that_charges_one_class_only_is_caught():
    """The others are trained for nothing, each as if it were alone."""

    class OneClassPays(Budget):
        def ledger(self, eps, delta):
            return super().ledger(eps, delta) if not self.entries else Ledger(eps, delta)

    def one_pays(self, classifiers, eps, delta):
        return {"eps": eps, "delta": delta}, OneClassPays(eps, delta)

    assert _joint_loss(one_pays) > 3.0


def test_two_classes_need_one_classifier():
    fitted = several(eps=1.0, classes=("a", "b")).fit(X[Y < "c"], Y[Y < "c"])
    assert len(fitted.estimators_) == 1
    assert fitted.decision_function(X[:3]).shape == (3,)
    assert fitted.score(X[Y < "c"], Y[Y < "c"]) > 0.9
    one = sm.OutputPerturbationSVC(eps=1.0, delta=1e-6, reg=0.1, classes=(0, 1), random_state=0)
    coef = one.fit(X[Y < "c"], (Y[Y < "c"] == "b").astype(int)).coef_
    np.testing.assert_array_equal(fitted.estimators_[0].coef_, coef)


def test_a_class_without_records_is_kept():
    fitted = several(classes=[*LABELS, "e"]).fit(X, Y)
    assert fitted.classes_.tolist() == ["a", "b", "c", "d", "e"]
    assert fitted.score(X, Y) > 0.9


def test_what_a_class_is_charged_does_not_depend_on_labels():
    entries = [several(sm.PrivateLPSVC(rounds=5)).fit(X, y).privacy_.entries for y in (Y, Y[::-1])]
    assert entries[0] == entries[1]


def test_without_noise_digits_are_told_apart():
    data = load_digits()
    Z = np.column_stack([data.data / 16, np.ones(len(data.data))])
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    exact = several(sm.HuberSVC(), eps=math.inf)
    with pytest.raises(InvalidParameterError, match="HuberSVC may learn from records without"):
        exact.fit(Z, data.target)
    estimator = sm.OutputPerturbationSVC(reg=1e-4)
    fitted = several(estimator, eps=math.inf, classes=range(10)).fit(Z, data.target)
    assert fitted.score(Z, data.target) > 0.95
    assert not fitted.privacy_.private


def test_classes_that_are_read_are_warned_of():
    with pytest.warns(NotPrivateWarning, match="The classes are read from the records"):
        fitted = several(classes=None).fit(X, Y)
    assert "the 4 classes, which were read from the records, are public" in str(fitted.privacy_)


@pytest.mark.parametrize("learner", [QUICK, sm.PrivateLPSVC(rounds=5)])
def test_a_pipeline_of_steps_that_learn_nothing(learner):
    steps = FunctionTransformer(np.tanh), PolynomialFeatures(2, include_bias=False)
    fitted = several(make_pipeline(*steps, learner)).fit(X, Y)
    before = make_pipeline(*steps).fit_transform(X)
    expected = several(learner).fit(before, Y)
    np.testing.assert_array_equal(
        fitted.decision_function(X[:9]), expected.decision_function(before[:9])
    )
    assert fitted.privacy_.to_dict() == expected.privacy_.to_dict()
    added = several(make_pipeline(*steps, learner), relation="add-remove", nominal_n=50)
    assert added.fit(X[:0], Y[:0]).predict(X[:3]).shape == (3,)


def test_steps_that_learn():
    with pytest.warns(NotPrivateWarning, match="StandardScaler of the") as told:
        make_pipeline(StandardScaler(), FunctionTransformer(), several()).fit(X, Y)
    assert len(told) == 1
    make_pipeline(StandardScaler(), several(eps=math.inf)).fit(X, Y)
