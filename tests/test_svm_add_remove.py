"""Private classifiers where a record is added or removed: their number is private."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import privlp
import svm_models as sm
from privlp import Budget, InvalidProblemError, RelationMismatchError
from privlp.privacy import GaussianMechanism, Ledger, Randomness
from svm_models.account import Account, Neighbours, counted
from svm_models.classifiers.base import PrivateLinearClassifier
from tests.effort import each, pairs
from tests.programs import refused_for_free
from tests.test_svm_hostile_records import (
    HOSTILE,
    LABELS,
    N,
    assert_neighbours_are_alike,
    csr,
    labels_ending_in,
    rows_of,
)
from tests.test_svm_hostile_records import PRIVATE as REPLAYED

pytestmark = pytest.mark.usefixtures("short_advice")

DECLARED = {"relation": "add-remove", "nominal_n": 20}
COUNTED = {"relation": "add-remove"}
#: Of the estimators that are replayed: not those that need the number of records, or alike others.
OTHERS = ("LP,", "DMW, soft", "DMW, count", "quantile", "SVR", "selector of a")
WITHOUT_NOMINAL = ("output, SVC, Gaussian", "output, logistic", "objective, any loss")
WITHOUT_NOMINAL += ("DMW, radius bought", "selector of pipelines")
PRIVATE = {
    name: clone(estimator).set_params(**(COUNTED if name in WITHOUT_NOMINAL else DECLARED))
    for name, estimator in REPLAYED.items()
    if not name.startswith(OTHERS)
}
PRIVATE |= {
    f"{name}, counted": clone(PRIVATE[name]).set_params(nominal_n=None)
    for name in ("objective, SVC", "LP")
}
PRIVATE["selector"].set_params(nominal_n=24)
X, Y = sm.make_separable_sphere(3_000, n_features=4, random_state=0)


def with_and_without(row):
    rows = rows_of(HOSTILE[row])
    return csr(rows), csr(rows[:-1]), (labels_ending_in(-1), LABELS[:-1])


@pytest.mark.parametrize(
    ("name", "row", "quiet"),
    pairs(PRIVATE, ["ordinary", "huge", "zero", "sum to infinity"], [True, False]),
)
def test_with_a_record_and_without_it(name, row, quiet):
    one, two, labels = with_and_without(row)
    assert one.shape[0] == N
    assert_neighbours_are_alike(PRIVATE[name], one, two, labels, quiet=quiet)


@pytest.mark.parametrize("name", ["output, SVC", "objective, SVC", "LP", "DMW"])
def test_a_twin_that_knows_the_true_number_is_seen(name, monkeypatch):
    monkeypatch.setattr(
        PrivateLinearClassifier, "_neighbours", lambda self, n, account: Neighbours.adding(n)
    )
    one, two, labels = with_and_without("ordinary")
    with pytest.raises(AssertionError):
        assert_neighbours_are_alike(PRIVATE[name], one, two, labels, quiet=True)


@pytest.mark.parametrize(("name", "container"), each(PRIVATE, [np.array, sp.csr_array]))
def test_there_may_be_no_record(name, container):
    for count in (0, 1):
        fitted = clone(PRIVATE[name]).set_params(classes=(-1, 1), random_state=0)
        fitted.fit(container(X[:count, :3]), Y[:count])
        assert fitted.predict(X[:5, :3]).shape == (5,)


@pytest.mark.filterwarnings("ignore:The two classes are read from the records")
def test_without_records_no_classes_are_read():
    for count in (0, 1):
        with pytest.raises(InvalidProblemError, match="y has one class only; give labels of two"):
            sm.ObjectivePerturbationSVC(**COUNTED).fit(X[:count], Y[:count])


def entry(estimator, purpose):
    return next(e for e in estimator.fit(X, Y).privacy_.entries if e.purpose.startswith(purpose))


@pytest.mark.parametrize(
    ("estimator", "purpose", "ratio"),
    [
        (sm.OutputPerturbationSVC(reg=0.1), "perturb", 2),
        (sm.ObjectivePerturbationSVC(reg=0.1), "perturb", 2),
        (sm.ObjectivePerturbationLogisticRegression(reg=0.1, delta=1e-6), "perturb", 2),
        (sm.PrivateLPSVC(), "release the sum", 2),
        (sm.PrivateLPSVC(), "release half of the sum", 2),
        (sm.PrivateLPSVC(), "release the second moments", math.sqrt(2)),
    ],
)
def test_sensitivities_are_half_of_those_of_a_replaced_record(estimator, purpose, ratio):
    estimator.set_params(classes=(-1, 1), random_state=0)
    replaced = entry(estimator, purpose).sensitivity
    added = entry(
        estimator.set_params(relation="add-remove", nominal_n=len(Y)), purpose
    ).sensitivity
    assert replaced / added == pytest.approx(ratio, rel=1e-4)


@pytest.mark.parametrize("eps", [0.01, 1.0])
def test_the_nominal_number_is_seldom_a_tenth_of_the_truth(eps):
    """At the nominal number that the largest noise of 64 scales below the truth would give."""
    for count in (0, 5, 1_000, 10**6):
        account = Account(Ledger(eps, 0.0), Randomness(0))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "privlp.privacy.LaplaceMechanism.release", lambda self, n, _: n - 64 * self.scale
            )
            found = counted(count, account)
            assert count + 1 <= found.most <= 10 * found.n + 1


def test_a_count_is_near_the_truth():
    found = [counted(10**6, Account(Ledger(0.02, 0.0), Randomness(k))).n for k in range(200)]
    assert np.mean(np.abs(np.array(found) - 10**6)) == pytest.approx(50, rel=0.3)
    exact = counted(17, Account(Ledger(math.inf, 0.0), Randomness(0)))
    assert (exact.n, exact.moved) == (17, 1)


def test_the_statement_says_so():
    options = {"classes": (-1, 1), "random_state": 0}
    declared = str(sm.PrivateLPSVC(**DECLARED | {"nominal_n": 3_000}, **options).fit(X, Y).privacy_)
    assert "added or removed; the number of records is private; the nominal number 3000" in declared
    tuned = sm.PrivateModelSelector([sm.ObjectivePerturbationSVC()], **COUNTED, **options).fit(X, Y)
    for model in (sm.ObjectivePerturbationSVC(**COUNTED, **options).fit(X, Y), tuned):
        words = str(model.privacy_.statement())
        assert "added or removed; the number of records is private; the two classes, which" in words
        assert "replaced" not in words
        assert not re.search(r"\b3000\b", words + str(model.privacy_))


def test_one_budget_does_not_take_both_relations():
    budget = Budget(2.0, 0.0)
    sm.ObjectivePerturbationSVC(eps=0.5, classes=(-1, 1), budget=budget).fit(X, Y)
    with pytest.raises(RelationMismatchError, match=r"replaced.*added or removed"):
        sm.ObjectivePerturbationSVC(eps=0.5, classes=(-1, 1), budget=budget, **DECLARED).fit(
            X[:50], Y[:50]
        )


@pytest.mark.parametrize(
    ("records", "labels"),
    [(X, Y[:-1]), (X[:, :0], Y), (X, np.stack([Y, Y], axis=1)), ([[1.0], [1.0, 2.0]] * 1_500, Y)],
)
def test_messages_hold_no_number_of_records(records, labels):
    with pytest.raises((ValueError, TypeError)) as caught:
        sm.ObjectivePerturbationSVC(classes=(-1, 1), **COUNTED).fit(records, labels)
    assert not re.search(r"3000|2999", str(caught.value))
    with pytest.raises(InvalidProblemError, match="more than 10 times nominal_n=20 records") as far:
        sm.ObjectivePerturbationSVC(classes=(-1, 1), **DECLARED).fit(X, Y)
    assert "3000" not in str(far.value)


def test_a_large_delta_is_measured_by_the_nominal_number():
    with pytest.warns(privlp.NotPrivateWarning, match="delta = 0.1 is at least 1/n = 0.05:"):
        sm.PrivateLPSVC(delta=0.1, classes=(-1, 1), random_state=0, **DECLARED).fit(X[:30], Y[:30])


def test_noise_is_drawn_after_all_is_charged(monkeypatch):
    seen, release, budget = [], GaussianMechanism.release, Budget(1.0, 1e-6)

    def spying(self, value, randomness):
        seen.append(budget.spent())
        return release(self, value, randomness)

    monkeypatch.setattr(GaussianMechanism, "release", spying)
    sm.PrivateLPSVC(budget=budget, classes=(-1, 1), **COUNTED).fit(X, Y)
    assert set(seen) == {budget.spent()}
    assert 0.97 < budget.spent() <= 1.0  # a budget of any calls adds up better than the fit's own


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        sm.ObjectivePerturbationSVC,
        sm.ObjectivePerturbationLogisticRegression,
        sm.ObjectivePerturbationClassifier,
    ],
)
def test_no_reg_is_refused_after_a_count_was_paid_for(kind, whiten):
    """One record would add enough regularisation, and so many do not."""
    X, y = sm.make_separable_sphere(400, random_state=0)
    given = {"reg": 1e-12, "delta": 1e-6, "whiten": whiten}
    given |= {"classes": (-1, 1), "relation": "add-remove"}
    assert kind(eps=300.0, random_state=0, **given).fit(X, y).privacy_.eps <= 300
    with refused_for_free("too small for the minimiser") as budget:
        kind(eps=300.0, nominal_n=400, budget=budget, **given).fit(X, y)
