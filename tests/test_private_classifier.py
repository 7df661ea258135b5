"""PrivateClassifier: its loss by public numbers, probabilities, and a declared share of a rare label."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

import svm_models as sm
from privlp import MostlyNoiseWarning
from svm_models.records.grid import LogisticRecords
from svm_models.records.scaled import Preparation

RNG = np.random.default_rng(0)
X = np.clip(RNG.normal(0, 0.4, size=(6_000, 3)), -1, 1)
SCORE = 3 * X[:, 0] - 2 * X[:, 1] + 0.5
Y = np.where(RNG.random(6_000) < expit(SCORE), "yes", "no")
RARE = np.where(RNG.random(6_000) < expit(SCORE - 4), "dead", "alive")
GIVEN = {"X_bounds": (-1, 1), "random_state": 0}
PAIR, OF_RARE = {"classes": ("no", "yes"), **GIVEN}, {"classes": ("alive", "dead"), **GIVEN}


def test_without_noise_it_is_logistic_regression():
    found = sm.PrivateClassifier(math.inf, 1e-6, **PAIR).fit(X, Y)
    exact = LogisticRegression(C=1e6, tol=1e-8).fit(X, Y)
    assert found.margin_ == 0
    np.testing.assert_allclose(found.predict_proba(X), exact.predict_proba(X), atol=2e-3)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=2e-3)


def test_the_margin_grows_with_the_noise():
    def margin(eps, n):
        return sm.PrivateClassifier(eps, 1e-6)._forecast(n, 3, eps).margin

    assert margin(0.1, 500) == 4.0 > margin(1.0, 6_000) > margin(4.0, 6_000) > 0
    assert margin(10.0, 10**7) == 0
    kinds = (sm.PrivateClassifier, sm.PrivateLPSVC)
    of_both = [sm.plan(kind(4.0, 1e-6), 50_000, 3).advice for kind in kinds]
    words = " The loss is logistic with margin 0.0: 0 is logistic regression, 4 nearly the hinge,"
    words += " which small eps and few records favour."
    assert words in of_both[0]
    assert of_both[0].replace(words, "") == of_both[1]


@pytest.mark.parametrize("margin", [0.0, 1.3, 4.0])
@pytest.mark.parametrize("share", [0.003, 0.4, 0.5, 0.9])
def test_probabilities_are_those_at_which_a_decision_is_best(margin, share):
    """The decision at a share is the minimiser of the expected loss; found on a grid."""
    model = sm.PrivateClassifier(classes=(0, 1))
    model.margin_ = margin
    grid = np.linspace(-12, 12, 240_001)
    loss = share * np.logaddexp(0, margin - grid) + (1 - share) * np.logaddexp(0, margin + grid)
    best = grid[np.argmin(loss)]
    assert model._decision_at(math.log(share / (1 - share))) == pytest.approx(best, abs=2e-3)
    model.classes_, model.coef_, model.n_features_in_ = np.arange(2), np.array([[1.0]]), 1
    model.intercept_, model._fitted, model._odds, model._balance = np.zeros(1), 0.0, 0.0, None
    model._prepare = Preparation.of(100.0, None, intercept=False)
    assert model.predict_proba([[best]])[0, 1] == pytest.approx(share, abs=2e-3)


def test_a_declared_share_of_a_rare_label_finds_it():
    fits = {
        name: sm.PrivateClassifier(2.0, 1e-6, **OF_RARE, **options).fit(X, RARE)
        for name, options in {
            "as it is": {},
            "declared": {"positive_rate": {"dead": 0.08}},
            "of the others": {"positive_rate": {"alive": 0.92}},
            "weighted": {"class_weight": {"dead": 11.5}},
            "bought": {"threshold_share": 0.2},
        }.items()
    }
    found = {name: balanced_accuracy_score(RARE, fit.predict(X)) for name, fit in fits.items()}
    assert found.pop("as it is") < 0.6
    assert min(found.values()) > 0.7
    declared = fits["declared"]
    np.testing.assert_array_equal(declared.coef_, fits["of the others"].coef_)
    for fit in fits.values():  # probabilities are of the records as they are
        assert np.mean(fit.predict_proba(X)[:, 1]) == pytest.approx(
            np.mean(RARE == "dead"), abs=0.05
        )
    above = declared.predict_proba(X)[:, 1] - 0.08
    clear = np.abs(above) > 1e-9
    np.testing.assert_array_equal((declared.predict(X) == "dead")[clear], above[clear] > 0)
    entries = [(one.purpose, one.mechanism) for one in declared.privacy_.entries]
    assert not any("one answer" in str(entry) for entry in entries)  # no budget for a constant


def test_one_class_for_everyone_has_its_noisy_share():
    few, labels = np.zeros((400, 3)), np.repeat(["no", "yes"], [300, 100])
    with warnings.catch_warnings(action="ignore", category=MostlyNoiseWarning):
        fit = sm.PrivateClassifier(0.5, 1e-6, **PAIR).fit(few, labels)
    found = fit.predict_proba(X[:5])
    assert (fit.predict(X[:5]) == "no").all()
    assert (found == found[0]).all()
    assert found[0, 1] == pytest.approx(0.25, abs=0.2)
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("relation", [{}, {"relation": "add-remove", "nominal_n": 6_000}])
def test_all_forms_of_the_same_records_give_the_same_bits(relation):
    options = {**PAIR, "rounds": 6, "positive_rate": {"yes": 0.4}, **relation}
    model = sm.PrivateClassifier(1.0, 1e-6, **options)
    found = [
        (fit.coef_, fit.intercept_, fit.predict_proba(X[:9]))
        for fit in (
            sm.PrivateClassifier(**model.get_params()).fit(*records)
            for records in (
                (X, Y),
                ([X[:1_001], X[1_001:]], [Y[:1_001], Y[1_001:]]),
                (sp.csr_array(X), Y),
                (np.asfortranarray(X), Y),
            )
        )
    ]
    for one in found[1:]:
        for part, first in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(part, first)


def test_a_table_with_categories():
    table = pd.DataFrame({"age": 50 + 50 * X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    columns = {"age": (0, 100), "kind": ["a", "b"]}
    fit = sm.PrivateClassifier(4.0, 1e-6, **{**PAIR, "X_bounds": columns}).fit(table, Y)
    assert fit.coef_.shape == (1, 3)
    assert fit.score(table, Y) > 0.7
    assert fit.predict_proba(table[:2]).shape == (2, 2)


def test_dual_weights_are_between_0_and_1(monkeypatch):
    """Whatever the points that were released: half a record is the most that a sum may move by."""
    seen = []
    weigh = LogisticRecords._on_grid
    spy = lambda self, z, rows: weigh(self, seen.append(z.copy()) or z, rows)  # noqa: E731
    monkeypatch.setattr(LogisticRecords, "_on_grid", spy)
    sm.PrivateClassifier(0.2, 1e-6, positive_rate={"dead": 0.08}, **OF_RARE).fit(X, RARE)
    found = np.concatenate(seen)
    assert 0 <= found.min() < found.max() <= 1
