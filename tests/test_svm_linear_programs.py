"""The matrices of the linear-programming support vector machine."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from privlp import InvalidParameterError, InvalidProblemError, solve_exact
from svm_models import hard_margin_lp, soft_margin_lp
from tests.effort import examples

X = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, -4.0]])
Y = [1, -1, -1]
SIGNED = np.array([[1.0, 2.0], [-3.0, 0.0], [0.0, 4.0]])  # y_i x_i
FORMS = {
    "hard": hard_margin_lp,
    "slack": lambda records, labels: soft_margin_lp(records, labels, 2.5),
    "penalty": lambda records, labels: soft_margin_lp(records, labels, 2.5, slack=False),
}
STORAGES = [list, pd.DataFrame, lambda a: np.array(a, dtype=int)]
STORAGES += [sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_matrix]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", FORMS)
def test_the_matrices(name, storage):
    lp = FORMS[name](storage(X), Y)
    slack = name == "slack"
    np.testing.assert_array_equal(lp.c, [1, 1, 1, 1, *[2.5] * 3 * slack])
    columns = [-SIGNED, SIGNED, *[-np.eye(3)] * slack]
    assert lp.is_sparse
    np.testing.assert_array_equal(lp.A.toarray(), np.hstack(columns))
    assert (lp.penalty is None) == (name != "penalty")
    assert name != "penalty" or (lp.penalty == 2.5).all()
    assert (lp.sense, lp.offset, lp.groups) == ("min", 0.0, None)
    assert lp.private.all()
    np.testing.assert_array_equal(lp.bounds, [[0.0, np.inf]] * lp.shape[1])
    np.testing.assert_array_equal(lp.b, -np.ones(3))
    np.testing.assert_array_equal(lp.row_lower, np.full(3, -np.inf))


def test_large_sparse_records_are_never_densified():
    records = sp.random_array((20_000, 3_000), density=1e-4, format="csr", rng=0)
    labels = np.where(np.arange(20_000) % 3, 1, -1)
    lp = soft_margin_lp(records, labels, 1.0)
    assert lp.shape == (20_000, 26_000)  # dense: 4 GB
    assert lp.A.nnz == 2 * records.nnz + 20_000


@pytest.mark.parametrize(
    "labels",
    [[1, -1, -1], [1.0, -1.0, -1.0], np.array([1, -1, -1], dtype=np.int8), pd.Series([1, -1, -1])],
)
def test_labels_may_be_any_numbers_of_size_one(labels):
    np.testing.assert_array_equal(hard_margin_lp(X, labels).A.toarray()[:, 2:], SIGNED)


def test_hard_margin_of_records_that_cannot_be_separated():
    assert not solve_exact(hard_margin_lp([[1.0], [2.0]], [1, -1])).success


def test_soft_margin_by_hand():
    # w = 2 pays 2; w = 1 pays 1 + 0.5 C; w = 0 pays 2 C
    for C, value in ((0.2, 0.4), (1.0, 1.5), (3.0, 2.0)):
        exact = solve_exact(soft_margin_lp([[1.0], [0.5]], [1, 1], C))
        assert exact.objective == pytest.approx(value)


ENTRIES = st.integers(-3, 3).map(float)


@settings(deadline=None, max_examples=examples(50))
@given(st.data())
def test_both_soft_forms_agree(data):
    n, p = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    records = np.array(data.draw(st.lists(ENTRIES, min_size=n * p, max_size=n * p))).reshape(n, p)
    labels = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    C = data.draw(st.sampled_from([0.125, 1.0, 7.5]))
    storage = data.draw(st.sampled_from([np.array, sp.csr_array]))
    with_slack = soft_margin_lp(storage(records), labels, C)
    with_penalty = soft_margin_lp(storage(records), labels, C, slack=False)
    first, second = solve_exact(with_slack), solve_exact(with_penalty)
    assert first.objective == pytest.approx(second.objective, abs=1e-8)
    for x in (first.x, second.x):
        w = x[:p] - x[p : 2 * p]
        hinge = np.maximum(0.0, 1.0 - labels * (records @ w)).sum()
        assert np.abs(w).sum() + C * hinge == pytest.approx(first.objective, abs=1e-8)


def test_a_high_price_gives_the_hard_margin():
    rng = np.random.default_rng(2)
    records = rng.normal(size=(30, 3))
    labels = np.where(records @ [1.0, -2.0, 0.5] > 0, 1, -1)
    hard = solve_exact(hard_margin_lp(records, labels))
    assert hard.success
    for slack in (True, False):
        soft = solve_exact(soft_margin_lp(records, labels, 1e4, slack=slack))
        assert soft.objective == pytest.approx(hard.objective, rel=1e-8)


@pytest.mark.parametrize(
    ("records", "labels", "message"),
    [
        (X, [1, -1], r"X has shape \(3, 2\) and y has shape \(2,\); expected \(n, p\) and \(n,\)"),
        (X, [[1], [-1], [-1]], r"X has shape \(3, 2\) and y has shape \(3, 1\)"),
        (X, 1, r"X has shape \(3, 2\) and y has shape \(\)"),
        ([1.0, 2.0, 3.0], Y, r"X has shape \(3,\) and y has shape \(3,\)"),
        (np.ones((3, 2, 2)), Y, r"X has shape \(3, 2, 2\) and y has shape \(3,\)"),
        (sp.csr_array(X), [1, -1], r"X has shape \(3, 2\) and y has shape \(2,\)"),
        (X, [1, 0, -1], "Labels must be -1 or 1. Map the two classes to -1 and 1 first"),
        (X, [1, 2, 3], "Labels must be -1 or 1"),
        (X, [1, np.nan, -1], "Labels must be -1 or 1"),
        (X, [True, False, True], "Labels must be -1 or 1"),
        (X, ["yes", "no", "no"], "Labels must be -1 or 1"),
        ([[1.0, 2.0], [3.0], [4.0, 5.0]], Y, "must hold real numbers"),
        ([["a", "b"]] * 3, Y, "must hold real numbers"),
        (X * 1j, Y, "must hold real numbers"),
        ([[1.0, np.nan]] * 3, Y, "A contains NaN"),
        ([[1.0, np.inf]] * 3, Y, "A contains entries that are infinite"),
        (sp.csr_array([[1.0, np.nan]] * 3), Y, "A contains NaN"),
        (np.ones((0, 2)), [], r"The problem is empty: A has shape \(0, \d+\)"),
    ],
)
@pytest.mark.parametrize("name", FORMS)
def test_bad_records_and_labels(name, records, labels, message):
    with pytest.raises(InvalidProblemError, match=message):
        FORMS[name](records, labels)


@pytest.mark.parametrize("slack", [True, False])
@pytest.mark.parametrize("C", [0, np.nan, "1", [1.0, 2.0]])
def test_bad_prices(C, slack):
    with pytest.raises(InvalidParameterError, match="C must be a positive finite number"):
        soft_margin_lp(X, Y, C, slack=slack)


def test_slack_is_given_by_name():
    with pytest.raises(TypeError, match="positional"):
        soft_margin_lp(X, Y, 1.0, False)
