"""Decisions that are evened out between two private groups: without noise, in other forms, messages."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import svm_models
from privlp import Budget, InvalidParameterError, InvalidProblemError, MostlyNoiseWarning
from privlp.audits.tape import Tape, largest_changes
from svm_models import PrivateLPSVC, PrivateModelSelector, PrivateOneVsRestClassifier, plan
from svm_models.classifiers import fairness

N = 600


@pytest.fixture(scope="module")
def people():
    """The second feature tells of the group, and the label depends on both."""
    rng = np.random.default_rng(0)
    group = (rng.random(N) < 0.4).astype(int)
    X = np.column_stack([rng.uniform(-0.6, 0.6, N), 0.6 * group - 0.3 + rng.uniform(-0.2, 0.2, N)])
    y = np.where(X[:, 0] + X[:, 1] + 0.2 * rng.normal(size=N) > 0.05, 1, -1)
    return X, y, group


def fitted(people, eps=math.inf, of=PrivateLPSVC, **options):
    X, y, group = people
    usual = {"fairness": "demographic_parity", "classes": (-1, 1), "random_state": 0, "rounds": 60}
    options = {**usual, **options}
    given = {} if options["fairness"] is None else {"sensitive_features": group}
    return of(eps, 1e-6, **options).fit(X, y, **given)


def gap(svm, people, kind="demographic_parity"):
    X, y, group = people
    chosen, among = svm.predict(X) > 0, (y > 0) | (kind == "demographic_parity")
    return chosen[among & (group > 0)].mean() - chosen[among & (group == 0)].mean()


@pytest.mark.parametrize("of", [PrivateLPSVC, svm_models.PrivateClassifier])
@pytest.mark.parametrize("kind", fairness.KINDS)
def test_without_noise_the_gap_is_within_the_tolerance(people, of, kind):
    free = fitted(people, of=of, fairness=None)
    assert gap(free, people, kind) > 0.3
    fair = fitted(people, of=of, fairness=kind, fairness_tolerance=0.1)
    assert abs(gap(fair, people, kind)) <= 0.1
    assert fair.fairness_gap_ == pytest.approx(gap(fair, people, kind))
    assert free.score(*people[:2]) > fair.score(*people[:2]) > 0.6
    assert np.abs(fair.coef_).sum() <= fair.radius_


def test_nothing_moves_where_the_gap_is_small_enough(people):
    free, fair = (fitted(people, fairness=kind) for kind in (None, "demographic_parity"))
    loose = fitted(people, fairness_tolerance=0.99)
    np.testing.assert_array_equal(loose.coef_, free.coef_)
    assert not np.array_equal(fair.coef_, free.coef_)


def test_the_group_that_is_named_makes_no_difference(people):
    X, y, group = people
    one, other = fitted(people), fitted((X, y, 1 - group))
    assert one.fairness_gap_ == pytest.approx(-other.fairness_gap_)
    np.testing.assert_allclose(one.coef_, other.coef_)


def test_the_gap_is_paid_for_and_kept(people):
    many = tuple(np.repeat(part, 20, axis=0) for part in people)
    svm = fitted(many, 4.0, fairness_tolerance=0.1)
    assert abs(gap(svm, many)) < 0.12
    purposes = {entry.purpose: entry.draws for entry in svm.privacy_.entries}
    assert purposes[fairness.DIRECTION_PURPOSE] == 1
    assert purposes[fairness.COUNTS_PURPOSE] == fairness.COUNTS
    assert 3.99 < svm.privacy_.eps <= 4.0
    words = str(plan(PrivateLPSVC(1.0, 1e-6, fairness="demographic_parity"), N, 2))
    assert fairness.COUNTS_PURPOSE in words


@pytest.mark.parametrize("form", ["blocks", "sparse"])
def test_other_forms_give_the_same_bits(people, form):
    X, y, group = people
    if form == "sparse":
        other = sp.csr_array(X), y, group
    else:
        other = [X[:250], X[250:]], [y[:250], y[250:]], [group[:250], group[250:]]
    one, two = (fitted(given, 4.0, fairness_tolerance=0.3) for given in (people, other))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.fairness_gap_ == two.fairness_gap_


@pytest.mark.parametrize("added", [False, True])
def test_a_record_moves_what_is_released_by_no_more_than_is_paid_for(people, added):
    """A person of the other group, with the opposite record; or one who is not there."""
    X, y, group = people
    other = X.copy(), y.copy(), group.copy()
    other[0][-1], other[1][-1], other[2][-1] = -X[-1], -y[-1], 1 - group[-1]
    options = {}
    if added:
        options = {"relation": "add-remove", "nominal_n": N}
        other = tuple(part[:-1] for part in people)
    tape = Tape(seed=0)
    fitted(people, 4.0, random_state=tape, fairness_tolerance=0.3, **options)
    again = Tape(replay=tape)
    fitted(other, 4.0, random_state=again, fairness_tolerance=0.3, **options)
    found = largest_changes(tape, again)
    assert max(found.values()) <= 1
    assert found[fairness.COUNTS_PURPOSE] == pytest.approx(1)


def test_too_small_a_group_is_told(people):
    X, y, _ = people
    few = np.zeros(N, dtype=int)
    few[:20] = 1
    with pytest.warns(MostlyNoiseWarning, match="more than fairness_tolerance"):
        fitted((X, y, few), 4.0)
    with warnings.catch_warnings(action="error"):
        fitted(people, fairness_tolerance=0.0)


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"fairness": "equal"}, None, "^fairness must be None, 'demographic_parity' or"),
        ({"fairness_tolerance": 1.0}, None, r"^fairness_tolerance must be in \[0, 1\), got 1.0"),
        ({"threshold_share": 0.1}, None, "^fairness cannot stand beside threshold_share"),
        ({"rows_per_record": 2}, None, "^fairness cannot stand beside rows_per_record"),
        ({}, None, r"^fairness needs fit\(X, y, sensitive_features=...\)"),
        ({"fairness": None}, "group", "^sensitive_features has no use without fairness="),
        ({}, "short", "^sensitive_features must hold one 0 or 1 for each row"),
        ({}, "two", "^sensitive_features must hold one 0 or 1 for each row"),
        ({}, "words", "^sensitive_features must hold one 0 or 1 for each row"),
    ],
)
def test_messages(people, options, given, message):
    X, y, group = people
    of = {"group": group, "short": group[1:], "two": group + 1, "words": ["a"] * N}
    options = {"fairness": "demographic_parity", **options}
    svm = PrivateLPSVC(4.0, 1e-4, classes=(-1, 1), random_state=0, **options)
    with pytest.raises((InvalidParameterError, InvalidProblemError), match=message) as error:
        svm.fit(X, y, sensitive_features=of.get(given))
    assert str(N) not in str(error.value)
    assert not hasattr(svm, "privacy_")


def test_classifiers_without_fairness_take_no_groups_of_persons(people):
    X, y, group = people
    with pytest.raises(InvalidParameterError, match="takes X, y and groups only, not sensitive"):
        svm_models.DMWSVC(1.0, 1e-6, classes=(-1, 1)).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("several", [PrivateModelSelector, PrivateOneVsRestClassifier])
def test_what_does_not_pass_groups_on_refuses_fairness_before_it_spends(people, several):
    X, y, _ = people
    fair, budget = PrivateLPSVC(fairness="demographic_parity"), Budget(1.0, 1e-4)
    of_several = [fair, PrivateLPSVC()] if several is PrivateModelSelector else fair
    model = several(of_several, eps=1.0, delta=1e-4, classes=(-1, 1), budget=budget)
    with pytest.raises(InvalidParameterError, match="sets fairness"):
        model.fit(X, y)
    assert budget.spent() == 0


def test_a_second_fit_forgets_the_gap_of_the_first(people):
    X, y, _ = people
    svm = fitted(people)
    assert "its group" in svm.privacy_.relation
    svm.set_params(fairness=None).fit(X, y)
    assert not hasattr(svm, "fairness_gap_")
