"""Comparison with the exact optimum and with every row: values by hand, edge cases and the plot."""

import dataclasses
import math
import sys
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from privlp import Comparison, InvalidParameterError, LinearProgram, compare, solve_exact

INF = np.inf

# Rows of norm 5, 0, 13, 1, 2; at x = (1, 2) they read 11, 0, 29, 2, 2.
A = np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0], [0.0, 1.0], [2.0, 0.0]])
PROGRAM = {"c": [1.0, 1.0], "A": A, "b": [1.0, 0.0, 16.0, 1.5, 9.0]}
X = [1.0, 2.0]


def comparison_of(violations, scaled=None):
    scaled = violations if scaled is None else scaled
    return Comparison(1.0, 1.0, np.array(violations, float), np.array(scaled, float))


@pytest.mark.parametrize("storage", [np.array, sp.csr_array, sp.csc_matrix, pd.DataFrame])
def test_violations_by_hand(storage):
    lp = LinearProgram(**PROGRAM | {"A": storage(A)})
    comparison = compare(lp, X)
    np.testing.assert_allclose(comparison.violations, [10, 0, 13, 0.5, 0])
    np.testing.assert_allclose(comparison.scaled_violations, [2, 0, 1, 0.5, 0])
    assert comparison.objective == 3.0
    assert comparison.exact_objective == 0.0
    assert comparison.objective_gap == 3.0


def test_two_sided_rows_are_violated_on_either_side():
    lp = LinearProgram(
        [1.0], [[2.0]] * 6, [1, 4, 7, INF, INF, 4], row_lower=[0, 3, 6, 5, -INF, 4], private=[]
    )
    comparison = compare(lp, [2.0], exact=solve_exact(LinearProgram([1.0], [[1.0]], [1.0])))
    np.testing.assert_allclose(comparison.violations, [3, 0, 2, 1, 0, 0])
    np.testing.assert_allclose(comparison.scaled_violations, [1.5, 0, 1, 0.5, 0, 0])


def test_each_side_has_its_price():
    lp = LinearProgram(
        [1.0], [[1.0], [1.0]], [1.0, 5.0], row_lower=[1.0, 5.0], penalty=[[0.1, 0.9]] * 2
    )
    assert compare(lp, [2.0]).objective == pytest.approx(2 + 0.9 * 1 + 0.1 * 3)


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_rows_of_zeros(storage):
    lp = LinearProgram([1.0, 1.0], storage(np.zeros((3, 2))), [0.0, 2.0, -3.0])
    comparison = compare(lp, X)
    np.testing.assert_array_equal(comparison.violations, [0, 0, 3])
    np.testing.assert_array_equal(comparison.scaled_violations, [0, 0, INF])
    assert comparison.n_violated(1e300) == 1


def test_scaling_a_row_changes_its_violation_but_not_the_scaled_one():
    scale = np.array([1.0, 1.0, 1e3, 1e-3, 7.0])
    comparison = compare(LinearProgram(**PROGRAM), X)
    scaled = compare(LinearProgram(PROGRAM["c"], A * scale[:, None], PROGRAM["b"] * scale), X)
    np.testing.assert_allclose(scaled.violations, comparison.violations * scale)
    np.testing.assert_allclose(scaled.scaled_violations, comparison.scaled_violations, atol=1e-12)


@pytest.mark.parametrize(
    ("sense", "objective", "gap"),
    [("min", 3.5, (3.5 - 2.5) / 3.5), ("max", 3.5, (3.5 - 6.5) / 7.5)],
)
def test_objective_gap_in_the_users_sense(sense, objective, gap):
    lp = LinearProgram([1.0, 1.0], [[-1.0, -1.0], [1.0, 1.0]], [-2.0, 6.0], sense=sense, offset=0.5)
    comparison = compare(lp, X)
    assert comparison.objective == objective
    assert comparison.objective_gap == pytest.approx(gap)


def test_no_gap_where_there_is_no_optimum():
    infeasible = LinearProgram([1.0], [[1.0], [-1.0]], [1.0, -2.0])
    comparison = compare(infeasible, [1.5])
    assert comparison.exact_objective is None
    assert comparison.objective_gap is None
    np.testing.assert_allclose(comparison.violations, [0.5, 0.5])
    assert "objective_gap=none" in repr(comparison)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_no_point_beats_the_optimum_of_a_soft_program(sense):
    sign = {"min": 1.0, "max": -1.0}[sense]
    lp = LinearProgram([sign], [[-1.0], [-1.0]], [-2.0, -4.0], penalty=[0.7, 0.6], sense=sense)
    exact = solve_exact(lp)
    # x = 2, and two units of the second row are paid for
    assert exact.objective == pytest.approx(sign * (2.0 + 0.6 * 2.0))
    assert compare(lp, exact).objective_gap == pytest.approx(0.0, abs=1e-9)
    for x in (0.0, 1.0, 4.0, 10.0):
        assert sign * compare(lp, [x]).objective_gap > 0.01, f"x = {x}"


def test_a_given_exact_solution_is_used(monkeypatch):
    lp = LinearProgram(**PROGRAM)
    exact = dataclasses.replace(solve_exact(lp), objective=1.0)  # recognisable
    monkeypatch.setattr(sys.modules["privlp.compare"], "solve_exact", None)
    comparison = compare(lp, X, exact)
    assert comparison.exact_objective == 1.0
    assert comparison.objective_gap == 1.0


def test_the_exact_solution_of_other_variables_is_refused():
    exact = solve_exact(LinearProgram([1.0], [[-1.0]], [-1.0]))
    with pytest.raises(InvalidParameterError, match=r"The exact has shape \(1,\), but the program"):
        compare(LinearProgram(**PROGRAM), X, exact)


@pytest.mark.parametrize("x", [(1, 2), np.array([1, 2]), pd.Series(X), np.float32(X)])
def test_any_point_can_be_compared(x):
    assert compare(LinearProgram(**PROGRAM), x).objective == 3.0


@pytest.mark.parametrize(
    ("s", "expected"),
    [
        *((0, 7.0), (2, 5.0), (4, 0.0), (5, 0.0), (10**9, 0.0), (1.99, 5.0)),
        *((np.int64(3), 2.0), (INF, 0)),
    ],
)
def test_violation_at(s, expected):
    result = comparison_of([5.0, 0.0, 7.0, 2.0, 5.0], [9.0] * 5).violation_at(s)
    assert result == expected
    assert type(result) is float


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0.0, 4), (0.5, 3), (0.51, 3), (0.6, 2), (1.0, 1), (2.0, 1), (3.0, 1), (INF, 0)],
)
def test_n_violated_counts_scaled_violations_above_alpha(alpha, expected):
    comparison = comparison_of([9.0, 9.0, 9.0, 9.0, 9.0], scaled=[0.5, 0.0, 1.0, INF, 0.6])
    assert comparison.n_violated(alpha) == expected
    assert type(comparison.n_violated(alpha)) is int


LP = LinearProgram(**PROGRAM)
INFEASIBLE = LinearProgram([1.0], [[1.0], [-1.0]], [1.0, -2.0])
SHAPE = r"The solution has shape \(.*\), but the program has 2 variables"
NO_X = "The solution holds no x: it did not complete, so there is nothing to go by"


@pytest.mark.parametrize(
    ("make", "several", "message"),
    [
        (comparison_of([5.0]).violation_at, [-1, -0.5, -INF, np.nan], "s must not be negative"),
        (comparison_of([5.0]).violation_at, ["all", None, 1j], "s must "),
        (comparison_of([1.0]).n_violated, [np.nan, "none"], "alpha must "),
        (lambda x: compare(LP, x), [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 5.0], SHAPE),
        (lambda x: compare(LP, x), ["abc", ["a", "b"], [1j, 2.0], [[1.0], [1.0, 2.0]]], "The sol"),
        (lambda x: compare(LP, [x, 0.0]), [np.nan, INF], r"The solution .*(NaN|finite)"),
        (lambda x: compare(INFEASIBLE, x), [solve_exact(INFEASIBLE), None], NO_X),
        (lambda lp: compare(lp, X), [None, "model.mps", A], "lp must be a LinearProgram, got "),
        (lambda exact: compare(LP, X, exact), [3.0, "optimal", X], "exact must be "),
        (lambda s: compare(LP, X, s=s), [-1, np.nan, "all"], "s must "),
        (lambda t: compare(LP, X, tolerance=t), [-1, np.nan, INF, "none", None], "tolerance must "),
    ],
)
def test_what_is_refused(make, several, message):
    for one in several:
        with pytest.raises(InvalidParameterError, match=message):
            make(one)


def test_a_comparison_says_that_it_is_not_private():
    comparison = compare(LinearProgram(**PROGRAM), X)
    assert repr(comparison) == (
        "Comparison(NOT PRIVATE: objective_gap=+3, rows violated=3 of 5 beyond tolerance 1e-06,"
        " worst violation=2, per unit of row norm)"
    )
    assert "Not private" in Comparison.__doc__
    assert "not private" in compare.__doc__


def test_rows_that_may_be_given_up_are_shown_if_they_are_told(pyplot):
    comparison = compare(LinearProgram(**PROGRAM), X, s=1)
    assert repr(comparison).endswith(
        "rows violated=3 of 5 (s=1) beyond tolerance 1e-06, worst violation=2 (beyond s rows: 1),"
        " per unit of row norm)"
    )
    assert comparison.scaled_violations.max() == 2.0
    assert comparison.violation_at(1) == 10.0  # in the row's own unit
    (text,) = comparison.plot().get_legend().get_texts()
    assert text.get_text() == "s = 1 rows given up"


def test_violations_within_the_tolerance_are_rounding():
    lp = LinearProgram([1.0, 1.0], [[-3.0, -4.0]] * 3, [-1.0, -1.0 - 4e-6, -1.0 - 6e-6])
    found = compare(lp, [1 / 3, 0.0])
    assert (found.n_violated(), found.n_violated(0.0), found.tolerance) == (1, 2, 1e-6)
    assert compare(lp, [1 / 3, 0.0], tolerance=0).n_violated() == 2
    wide = compare(lp, [1 / 3, 0.0], tolerance=0.01)
    assert wide.n_violated() == 0
    assert "rows violated=0 of 3 beyond tolerance 0.01" in repr(wide)


@pytest.mark.parametrize(
    ("amount", "rows"), [(0.5, 4), (1.9, 4), (2.1, 3), (4.9, 3), (5.1, 1), (6.9, 1)]
)
def test_plot_counts_the_rows_above_each_amount(pyplot, amount, rows):
    line = comparison_of([5.0, 0.0, 7.0, 2.0, 5.0]).plot().lines[0]
    corners = mpl.cbook.STEP_LOOKUP_MAP[line.get_drawstyle()]
    x, y = corners(*line.get_data())
    here = (np.minimum(x[1:], x[:-1]) < amount) & (np.maximum(x[1:], x[:-1]) > amount)
    assert np.flatnonzero(here).size == 1
    assert y[1:][here] == y[:-1][here] == rows


def test_plot_on_given_axes_with_label_and_s(pyplot):
    _, ax = pyplot.subplots()
    first = comparison_of([3.0, 1.0]).plot(ax, label="eps = 1", s=1.0)
    second = comparison_of([2.0, 1.0]).plot(ax, label="eps = 2")
    assert first is second is ax
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["eps = 1", "s = 1 rows given up", "eps = 2"]
    assert list(ax.lines[1].get_ydata()) == [1.0, 1.0]
    comparison_of([9.0, 8.0, 7.0, 0.5]).plot(ax)
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0.0
    assert ax.get_xlim()[1] >= 9.0
    assert ax.get_ylim()[1] >= 4.0


@pytest.mark.parametrize("violations", [[0.0, 0.0], [0.0], [1e-12], [1e12, 0.0]])
def test_plot_of_extreme_violations(pyplot, violations):
    ax = comparison_of(violations).plot(s=0.5)
    ax.figure.canvas.draw()
    assert all(math.isfinite(end) for end in (*ax.get_xlim(), *ax.get_ylim()))
    assert ax.get_xlim()[1] > 0.0


def covering(n, seed=0):
    rng = np.random.default_rng(seed)
    return LinearProgram(rng.uniform(1, 2, 3), -rng.uniform(0.2, 1, (n, 3)), -np.ones(n))


def without(lp, rows):
    left = np.setdiff1d(np.arange(lp.shape[0]), rows)
    return solve_exact(LinearProgram(lp.c, lp.A[left], lp.b[left])).objective


@pytest.mark.parametrize("seed", [0, 1])
def test_a_reference_that_gives_up_rows_lies_between_the_best_one_and_the_exact_optimum(seed):
    lp = covering(12, seed)
    best = min(without(lp, list(rows)) for rows in combinations(range(12), 2))
    found = compare(lp, np.full(3, 9.0), s=2, give_up=True)
    assert best * (1 - 1e-9) <= found.given_up_objective <= best * 1.12
    assert found.given_up_objective < 0.95 * found.exact_objective
    assert "beside a reference that also gives up s rows=" in repr(found)


def test_public_rows_are_not_given_up():
    lp = covering(12)
    first = LinearProgram(lp.c, lp.A, lp.b, private=np.arange(12) > 5)
    public = LinearProgram(lp.c, lp.A[:6], lp.b[:6])
    found = compare(first, np.full(3, 9.0), s=6, give_up=True).given_up_objective
    assert found >= solve_exact(public).objective * (1 - 1e-9)
    assert compare(lp, np.full(3, 9.0), s="50%").s == 6


def test_a_reference_needs_an_optimum_and_stays_bounded():
    """With all rows given up the second program has no optimum; the first has none anyway."""
    infeasible = LinearProgram([1.0], [[1.0], [-1.0]], [1.0, -2.0])
    unbounded = LinearProgram([-1.0], [[1.0], [2.0]], [1.0, 3.0])
    assert compare(infeasible, [1.0], s=1, give_up=True).given_up_gap is None
    assert compare(unbounded, [1.0], s=2, give_up=True).given_up_objective == -1.5


@pytest.mark.parametrize("asked", [{}, {"s": 1, "penalty": 2.0}])
def test_a_reference_is_refused_without_s_or_with_soft_rows(asked):
    lp = LinearProgram([1.0], [[-1.0]], [-1.0], penalty=asked.pop("penalty", None))
    with pytest.raises(InvalidParameterError, match="give_up=True needs s"):
        compare(lp, [1.0], **asked, give_up=True)
