"""The private report on a solution: what it says, what it may move by, what an audit sees of it."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import LinearProgram, quality
from privlp.privacy import LaplaceMechanism
from tests.effort import examples
from tests.programs import refused_for_free

POINT = np.array([1.0, 0.5])
A = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0], [1.0, 1.0]])
B = np.array([0.5, 1.0, 0.0, 1.4])  # violated by 0.5, -0.5, 5 (1 per unit of norm) and 0.1


def program(A=A, b=B, **fields):
    return LinearProgram([1.0, 1.0], A, b, **fields)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3))
def test_laplace_noise_of_an_eps_never_costs_more_and_hardly_less(sensitivity, eps):
    mechanism = LaplaceMechanism.of_eps(sensitivity, eps)
    assert eps * (1 - 2**-50) <= mechanism.pure_eps <= eps


class TestWithoutNoise:
    """eps = inf says what is true."""

    @pytest.mark.parametrize(
        ("alpha", "count", "convert"),
        [(0.0, 3, np.asarray), (0.08, 2, sp.csr_array), (0.5, 1, np.asarray), (1.5, 0, np.asarray)],
    )
    def test_count(self, alpha, count, convert):
        report = quality(program(convert(A)), POINT, math.inf, alpha=alpha)
        assert report.n_violated == count
        assert report.largest_violation is None
        assert report.margin == 0
        assert not report.privacy.private

    def test_only_private_rows_count_and_a_range_counts_once(self):
        assert quality(program(private=[0, 1]), POINT, math.inf).n_violated == 1
        assert quality(program(row_lower=[-1, 0.9, -1, -1]), POINT, math.inf).n_violated == 4

    @pytest.mark.parametrize(("room", "largest"), [(0, 5.0), (6, -1.0)])
    def test_largest_violation(self, room, largest):
        relation = privlp.ScalarPrivate(0.1, lower=-10, upper=10)
        report = quality(program(b=B + room, neighbours=relation), POINT, math.inf)
        assert report.largest_violation == pytest.approx(largest)
        assert report.n_violated is None


def sensitivity(relation):
    report = quality(program(neighbours=relation), POINT, 1.0, rng=0)
    return report.privacy.entries[0].sensitivity


def test_sensitivities():
    assert sensitivity(privlp.ConstraintPrivate(rows_per_record=3)) == 3
    assert sensitivity(privlp.RowPrivate(0.1, lower=-5, upper=5)) == 1
    assert sensitivity(privlp.ScalarPrivate(0.1, lower=-10, upper=10)) >= 0.1
    assert sensitivity(privlp.ColumnPrivate(0.1, lower=-5, upper=5)) >= 0.1


moves = st.lists(st.floats(-1, 1), min_size=4, max_size=4).map(np.array)


@settings(deadline=None, max_examples=examples(100))
@given(moves, st.sampled_from(["b", "column"]))
def test_the_largest_violation_moves_by_no_more(move, part):
    """Neighbours of scalar- and column-private programs, violations without noise."""
    relation = {"b": privlp.ScalarPrivate, "column": privlp.ColumnPrivate}[part](
        0.1, lower=-20, upper=20
    )
    moved = (A, B + 0.1 * move) if part == "b" else (A + 0.1 * np.outer(move, [1, 0]), B)
    one, two = (
        quality(program(*pair, neighbours=relation), POINT, math.inf).largest_violation
        for pair in ((A, B), moved)
    )
    assert abs(one - two) <= sensitivity(relation)


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(st.floats(-9, 9), min_size=3, max_size=3).map(np.array), st.sampled_from([0.0, 0.3])
)
def test_the_count_moves_by_one_at_most(row, alpha):
    other = np.vstack([A[:3], row[:2]]), np.append(B[:3], row[2])
    counts = [
        quality(program(*pair), POINT, math.inf, alpha=alpha).n_violated for pair in ((A, B), other)
    ]
    assert abs(counts[0] - counts[1]) <= 1


def test_it_is_paid_from_the_budget_with_the_solve():
    rng = np.random.default_rng(0)
    lp = LinearProgram([1, 2, 1, 3], -rng.uniform(0.2, 1.0, (500, 4)), -np.ones(500))
    budget = privlp.Budget(1.5, 1e-6)
    request = {"opt": 3.0, "alpha": 3.0, "method": "dmw"}
    solution = privlp.solve(lp, 1.0, 1e-6, 50, budget=budget, rng=0, **request)
    report = quality(lp, solution, 0.5, budget=budget, rng=1)
    assert budget.entries[-1].purpose == "count violated rows"
    assert report.privacy.eps == pytest.approx(0.5)
    with pytest.raises(privlp.BudgetExceededError):
        quality(lp, solution, 0.5, budget=budget)


def test_it_is_a_whole_number_of_rows_and_says_how_sure_it_is():
    reports = [quality(program(), POINT, 0.5, rng=seed) for seed in range(200)]
    counts, margin = np.array([report.n_violated for report in reports]), reports[0].margin
    assert ((counts >= 0) & (counts == np.round(counts))).all()
    assert np.mean(np.abs(counts - 3) <= math.ceil(margin)) >= 0.9
    assert str(reports[0]).endswith(f"± {math.ceil(margin)} private rows are violated (95 %).")
    strict = quality(program(), POINT, 0.5, alpha=0.1, rng=0)
    assert "by more than 0.1 per unit of row norm" in str(strict)


@pytest.mark.parametrize(("point", "alpha"), [(np.full(2, 1e300), 0.0), (POINT, 1e300)])
def test_whether_numbers_overflow_is_not_told(point, alpha):
    """Neighbours of which one overflows at a huge public point or alpha."""
    for row in ([1e-3, 1e-3], [9e14, -9e14]):
        quality(program(np.vstack([A[:3], row])), point, 1.0, alpha=alpha, rng=0)


def test_nothing_else_of_the_rows_is_told():
    one, two = (quality(program(b=b), POINT, 1e-6, rng=3) for b in (B, B + 100))
    assert (one.margin, one.privacy) == (two.margin, two.privacy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lp": "model"}, "lp must be a LinearProgram, got str"),
        ({"solution": [1.0]}, r"has shape \(1,\), but the program has 2 variables"),
        ({"solution": [np.nan, 1.0]}, "NaN or infinite"),
        ({"solution": privlp.solve_exact(program(sense="max"))}, "An exact solution depends on"),
        ({"eps": 0.0}, "eps must be positive"),
        ({"alpha": -1.0}, "alpha must be finite and not negative"),
        ({"budget": 3.0}, "budget must be a privlp.Budget"),
        ({"lp": program(private=[])}, "no private rows, so there is nothing to report"),
        ({"lp": program(neighbours=privlp.ObjectivePrivate(1.0))}, "All rows are public under"),
    ],
)
def test_messages(change, message):
    with refused_for_free(message, privlp.PrivLPError) as budget:
        arguments = {"lp": program(), "solution": POINT, "eps": 1.0, "budget": budget, **change}
        quality(**arguments)
