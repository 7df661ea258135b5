"""DMWSVC end to end, and the count score underneath. Audits: ``test_conformance.py``."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from privlp import InvalidParameterError, LinearProgram
from privlp.game.duals import DenseDual
from privlp.methods.published.dmw import CountScore
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex
from privlp.rows.access import InMemory
from privlp.rows.program_rows import RowBlock
from svm_models import DMWSVC, make_separable_sphere
from tests.effort import examples, pairs

#: Classes are left out here where they do not matter.
pytestmark = pytest.mark.filterwarnings("ignore:The two classes are read from the records")
X, Y = make_separable_sphere(1_500, n_features=4, margin=0.1, random_state=0)


def counted(lp, phi=0.0, opt=1.0):
    form = StandardForm.of(lp)
    return CountScore(phi).scaled(Simplex(form, opt), RowBlock(form))


def scores_of_dense_weights(rows, s, raw):
    """Scores against the dense distribution that has these raw log-weights."""
    dual = DenseDual(InMemory(rows), s, 1.0)
    dual.rows.update(lambda block: block.raw.__setitem__(slice(None), raw))
    return dual.scores()


def test_the_count_score_is_the_weight_of_the_satisfied_rows():
    lp = LinearProgram([1.0, 2.0], [[1.0, 4.0], [-1.0, 0.0], [3.0, 1.0]], [2.0, -1.5, 0.5])
    z = np.array([0.2, 0.3, 0.5])
    # The vertices are (1, 0) and (0, 0.5); the values of the rows there are (1, -1, 3) and (2, 0,
    # 0.5).
    np.testing.assert_allclose(counted(lp).scores(z), [0.2, 0.7])
    np.testing.assert_allclose(counted(lp, phi=0.5).scores(z), [0.5, 0.7])
    np.testing.assert_allclose(counted(lp, phi=10.0).scores(z), [1.0, 1.0])


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(-0.5, 0.5))
def test_no_count_score_changes_by_more_than_one_over_s(seed, s, phi):
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(-1, 1, (12, 3)), rng.uniform(-1, 1, 12)
    log_weights = rng.normal(0, 3, 12)
    other_A, other_b, other_log_weights = A.copy(), b.copy(), log_weights.copy()
    other_A[0], other_b[0] = rng.uniform(-1, 1, 3), rng.uniform(-1, 1)
    other_log_weights[0] = rng.normal(0, 10)
    scores = []
    for a, rhs, logs in ((A, b, log_weights), (other_A, other_b, other_log_weights)):
        rows = counted(LinearProgram(np.ones(3), a, rhs), phi)
        scores.append(scores_of_dense_weights(rows, s, logs))
    assert np.abs(scores[0] - scores[1]).max() <= 1 / s + 1e-12


def test_some_pair_of_neighbours_attains_the_sensitivity_of_the_count():
    A, b, s = np.zeros((12, 2)), np.ones(12), 3
    A[0] = [2.0, 0.0]  # violated at the first vertex
    other = A.copy()
    other[0] = 0.0
    scores = []
    logs = np.append(50.0, np.zeros(11))  # the first row is at its cap
    for a in (A, other):
        rows = counted(LinearProgram(np.ones(2), a, b))
        scores.append(scores_of_dense_weights(rows, s, logs))
    assert np.abs(scores[0] - scores[1]).max() == pytest.approx(1 / s, rel=1e-4)  # rounded


@pytest.mark.parametrize(
    ("method", "score", "form", "radius"),
    pairs(["dmw", "dmw-published"], ["distance", "count"], ["hard", "soft"], [None, 8.0]),
)
def test_every_variant_stays_within_its_budget(method, score, form, radius):
    alpha = 20.0 if method == "dmw-published" else None
    given = {"score": score, "method": method, "form": form, "radius": radius}
    svm = DMWSVC(2.0, 1e-6, 0.5, alpha, reg=0.05, random_state=0, **given)
    svm.fit(X[:200], Y[:200])
    assert 0 < svm.privacy_.eps <= 2.0
    assert svm.privacy_.delta == 1e-6
    assert svm.privacy_.seeded
    assert np.abs(svm.coef_).sum() <= svm.radius_ * (1 + 1e-9)
    bought = {None: 3 if form == "hard" else 4}.get(radius, 1)
    assert len(svm.privacy_.entries) == bought


def test_the_tight_method_spends_all_that_is_left_after_the_radius():
    svm = DMWSVC(1.0, 1e-6, radius_share=0.3, random_state=0).fit(X, Y)
    assert svm.solution_.privacy.eps == pytest.approx(0.7, rel=1e-3)
    assert 0.95 < svm.privacy_.eps <= 1.0


def test_s_is_a_share_below_one_and_a_number_above():
    share = DMWSVC(1.0, 1e-6, s=0.5, radius=8.0, random_state=0).fit(X, Y)
    number = DMWSVC(1.0, 1e-6, s=750, radius=8.0, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(share.coef_, number.coef_)


def test_the_published_alpha_is_lowered_where_the_radius_is_small():
    svm = DMWSVC(1.0, 1e-6, alpha=200.0, method="dmw-published", radius=1.0, random_state=0).fit(
        X, Y
    )
    assert svm.solution_.success


def test_parameters_by_position():
    svm = DMWSVC(1.0, 1e-6, 0.75, 200.0, "count", 0.5, 20.0, "dmw-published")
    given = {"alpha": 200.0, "score": "count", "phi": 0.5, "radius": 20.0}
    assert given.items() <= svm.get_params().items()


def test_score_is_both_a_parameter_and_a_method():
    svm = DMWSVC(math.inf, 0.0, score="count", radius=8.0)
    assert svm.get_params()["score"] == "count"
    assert clone(svm).get_params()["score"] == "count"
    assert clone(svm).set_params(score="distance").get_params()["score"] == "distance"
    assert 0.5 < svm.fit(X, Y).score(X, Y) <= 1.0
    assert "score='count'" in repr(svm)


@pytest.mark.parametrize("method", ["dmw", "dmw-published"])
def test_an_alpha_that_the_bought_radius_forbids_is_raised(method, monkeypatch):
    """A radius of 1 would allow this alpha, and the bought one is larger."""
    most, alpha = (1_000, 3.0) if method == "dmw-published" else (200, 0.2)
    for module in ("privlp.game.loop", "svm_models.classifiers.dmw"):
        monkeypatch.setattr(f"{module}.MOST_ROUNDS", most)
    given = {"alpha": alpha, "method": method, "classes": (-1, 1), "random_state": 0}
    svm = DMWSVC(100.0, 1e-6, **given).fit(X, Y)
    assert svm.radius_ > 4
    assert svm.solution_.iterations == most
    with pytest.raises(InvalidParameterError, match="asks for"):
        DMWSVC(100.0, 1e-6, radius=svm.radius_, **given).fit(X, Y)


@pytest.mark.parametrize("s", [1e-6, 1_400, 10**6])
def test_an_s_that_the_bought_count_forbids_is_moved(s):
    svm = DMWSVC(1.0, 1e-6, s, radius=1.0, relation="add-remove", classes=(-1, 1), random_state=0)
    assert svm.fit(X, Y).coef_.shape == (1, 4)
