"""The exact solver."""

import dataclasses
import math
import subprocess
import sys

import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from privlp import InvalidParameterError, LinearProgram, Status, solve_exact
from tests.effort import examples

INF = np.inf


BEALE = {"c": [-0.75, 20, -0.5, 6], "b": [0, 0, 1]}
BEALE["A"] = [[0.25, -8, -1, 9], [0.5, -12, -0.5, 3], [0, 0, 1, 0]]
CUBE = {"c": [100, 10, 1], "A": [[1, 0, 0], [20, 1, 0], [200, 20, 1]], "b": [1, 100, 10_000]}
TWO_SIDES = {"c": [2, 3], "A": [[1, 1], [1, -1]], "b": [4, 1], "row_lower": [4, -2]}
FREE = {"c": [-1, 4], "A": [[-3, 1], [1, 2]], "b": [6, 4], "bounds": [(None, None), (-3, None)]}
MAXIMISE = {"c": [3, 2], "A": [[1, 1], [1, 3]], "b": [4, 8], "bounds": [(0, 3), (0, None)]}
USELESS = {"c": [1, 1], "A": [[0, 0], [-1, -1], [1, 1]], "b": [5, -1, INF], "row_lower": [-INF] * 3}
FIXED = {"c": [1, 1], "A": [[-1, -1]], "b": [-5], "bounds": [(2, 2), (0, None)]}
VERTEX = {"c": [-1, -1], "A": [[1, 0], [0, 1], [1, 1], [2, 2]], "b": [1, 1, 2, 4]}
COVERED = {"c": [1, 2], "A": [[-1, -1], [-1, -3]], "b": [-2, -3]}
#: Programs with their optima; None where the optimal point or the dual is not unique.
KNOWN = {
    "covering": (COVERED, 2.5, [1.5, 0.5], [-0.5, -0.5]),
    "maximise": (MAXIMISE | {"sense": "max"}, 11.0, [3, 1], [2, 0]),
    "equality and upper side of a range": (TWO_SIDES, 9.5, [2.5, 1.5], [2.5, -0.5]),
    "equality and lower side": (TWO_SIDES | {"sense": "max"}, 11.0, [1, 3], [2.5, -0.5]),
    "free and upper-bounded variables": (FREE, -22.0, [10, -3], [0, -1]),
    "offset": ({"c": [1], "A": [[-1]], "b": [-2], "offset": 100.0}, 102.0, [2], [-1]),
    "rows of no use": (USELESS, 1.0, None, [0, -1, 0]),
    "fixed variable": (FIXED, 5.0, [2, 3], [-1]),
    "degenerate (Beale 1955)": (BEALE, -1.25, [1, 0, 1, 0], [0, -1.5, -1.25]),
    "degenerate vertex": (VERTEX, -2.0, [1, 1], None),
    "several optima": ({"c": [1, 1], "A": [[-1, -1]], "b": [-1]}, 1.0, None, [-1]),
    "cube (Klee, Minty 1972)": (CUBE | {"sense": "max"}, 10_000.0, [0, 0, 10_000], [0, 0, 1]),
    "no cost": ({"c": [0, 0], "A": [[1, 1]], "b": [1]}, 0.0, None, [0]),
}


def with_rows(program, storage):
    return LinearProgram(**program | {"A": storage(np.array(program["A"], dtype=float))})


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
@pytest.mark.parametrize("known", KNOWN)
def test_known_optima(known, storage):
    program, objective, x, dual = KNOWN[known]
    lp = with_rows(program, storage)
    exact = solve_exact(lp)
    assert (exact.status, exact.success) == (Status.OPTIMAL, True)
    assert exact.message == "Optimal, and certified: see the residuals and the gap."
    assert exact.objective == pytest.approx(objective, rel=1e-12, abs=1e-12)
    assert lp.objective(exact.x) == pytest.approx(exact.objective, rel=1e-12, abs=1e-12)
    if x is not None:
        np.testing.assert_allclose(exact.x, x, atol=1e-9)
    if dual is not None:
        np.testing.assert_allclose(exact.dual, dual, atol=1e-9)
    assert exact.dual.shape == lp.b.shape
    assert all(0 <= number < 1e-9 for number in residuals(exact))


def residuals(exact):
    return exact.primal_residual, exact.dual_residual, exact.gap


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ({"c": [1], "A": [[1], [-1]], "b": [1, -2]}, Status.INFEASIBLE),
        ({"c": [1, 1], "A": [[1, 1]], "b": [-1]}, Status.INFEASIBLE),
        ({"c": [0, 0], "A": [[1, 1], [1, 1]], "b": [1, 2], "row_lower": [1, 2]}, Status.INFEASIBLE),
        ({"c": [1], "A": [[1]], "b": [9], "row_lower": [5], "bounds": (0, 3)}, Status.INFEASIBLE),
        ({"c": [1], "A": [[0]], "b": [-1]}, Status.INFEASIBLE),
        ({"c": [-1], "A": [[-1]], "b": [1]}, Status.UNBOUNDED),
        ({"c": [1], "A": [[-1]], "b": [1], "sense": "max"}, Status.UNBOUNDED),
        ({"c": [1, 1], "A": [[1, 1]], "b": [5], "bounds": (None, None)}, Status.UNBOUNDED),
        ({"c": [-1, 0], "A": [[0, 1]], "b": [1]}, Status.UNBOUNDED),
    ],
)
def test_programs_without_optimum(program, status):
    exact = solve_exact(LinearProgram(**program))
    assert (exact.status, exact.success) == (status, False)
    assert exact.x is exact.objective is exact.dual is None
    assert all(map(math.isnan, residuals(exact)))
    expected = {Status.INFEASIBLE: "No x satisfies all rows and bounds."}
    expected[Status.UNBOUNDED] = "The objective improves without limit over the feasible set."
    assert exact.message == expected[status]


COVERING = LinearProgram(**COVERED)


@pytest.mark.parametrize("lp", [None, [1, 2], "model.mps", LinearProgram])
def test_refuses_what_is_no_program(lp):
    with pytest.raises(InvalidParameterError, match="lp must be a LinearProgram, got "):
        solve_exact(lp)


def test_nothing_is_printed():
    """Not even by HiGHS, which has versions that print their names once a process."""
    code = "import privlp; privlp.solve_exact(privlp.LinearProgram([1.0], [[-1.0]], [-1.0]))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def _slacked(lp):
    """The soft program with its slack columns written out by hand, row by row."""
    columns, costs = [], []
    matrix = lp.A.toarray() if lp.is_sparse else lp.A
    for i, prices in enumerate(lp.penalty):
        below, above = np.broadcast_to(prices, 2)
        for finite, direction, price in (
            (np.isfinite(lp.b[i]), -1.0, above),
            (np.isfinite(lp.row_lower[i]), 1.0, below),
        ):
            if np.isfinite(price) and finite:
                columns.append(direction * np.eye(lp.shape[0])[i])
                costs.append(lp.sign * price)
    slacks = np.array(columns).reshape(-1, lp.shape[0]).T
    bounds = [tuple(pair) for pair in lp.bounds] + [(0, None)] * len(costs)
    return dataclasses.replace(
        lp, c=np.append(lp.c, costs), A=np.hstack([matrix, slacks]), bounds=bounds, penalty=None
    )


ONE, EITHER = {"c": [1], "A": [[-1]], "b": [-2]}, {"A": [[-1], [1]], "b": [-4, 3]}
GAIN = {"c": [3], "A": [[1]], "b": [2], "sense": "max", "bounds": (0, 10)}
MEDIAN = {"c": [0], "A": [[1]] * 3, "b": [1, 2, 4], "row_lower": [1, 2, 4]}
RANGE = {"A": [[1]], "b": [3], "row_lower": [1]}


@pytest.mark.parametrize(
    ("program", "objective", "x"),
    [
        # x >= 2 at cost 1 each, or 0.5 for each unit short of it
        (ONE | {"penalty": 0.5}, 1.0, [0]),
        (ONE | {"penalty": 1.5}, 2.0, [2]),
        (ONE | {"penalty": 0.5, "offset": 10.0}, 11.0, [0]),
        # contradictory rows: x >= 4 for 0.5 a unit, x <= 3 for 5 a unit
        (EITHER | {"c": [1], "penalty": [0.5, 5]}, 2.0, [0]),
        (EITHER | {"c": [0], "penalty": [0.5, 5]}, 0.5, [3]),
        (EITHER | {"c": [0], "penalty": [0.5, INF]}, 0.5, [3]),
        (EITHER | {"c": [0], "penalty": [INF, 5]}, 5.0, [4]),
        (MEDIAN | {"penalty": [[0.4, 0.5]] * 3}, 0.4 * 2 + 0.5 * 1, [2]),
        # maximisation: each unit above 2 brings 3 and costs 4, or 2
        (GAIN | {"penalty": 4}, 6.0, [2]),
        (GAIN | {"penalty": 2}, 14.0, [10]),
        # soft equality and range
        ({"c": [1], "A": [[1]], "b": [3], "row_lower": [3], "penalty": 0.5}, 1.5, [0]),
        (RANGE | {"c": [-1], "penalty": 0.5, "bounds": (0, 10)}, -6.5, [10]),
        (RANGE | {"c": [1], "penalty": 2}, 1.0, [1]),
        # the price of a public row is infinite
        ({"c": [1], "A": [[-1], [-1]], "b": [-2, -5], "private": [0], "penalty": 0.5}, 5.0, [5]),
    ],
)
@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_soft_rows_by_hand(program, objective, x, storage):
    lp = with_rows(program, storage)
    exact = solve_exact(lp)
    assert exact.status is Status.OPTIMAL
    assert exact.objective == pytest.approx(objective, abs=1e-9)
    np.testing.assert_allclose(exact.x, x, atol=1e-9)
    assert exact.dual.shape == lp.b.shape
    assert solve_exact(_slacked(lp)).objective == pytest.approx(objective, abs=1e-9)


ENTRIES = st.integers(-4, 4).map(float)


@settings(deadline=None, max_examples=examples(60))
@given(st.data())
def test_soft_programs_agree_with_slacks_written_out(data):
    n, d = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))

    def vector(size):
        return np.array(data.draw(st.lists(ENTRIES, min_size=size, max_size=size)))

    lower = vector(n)
    width = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, INF]), min_size=n, max_size=n)))
    open_below = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    lp = LinearProgram(
        vector(d),
        data.draw(st.sampled_from([np.array, sp.csr_array]))(vector(n * d).reshape(n, d)),
        lower + width,
        row_lower=np.where(open_below, -INF, lower),
        bounds=(-5, 5),
        penalty=np.array(
            data.draw(st.lists(st.sampled_from([0.5, 2.0, 7.0]), min_size=n, max_size=n))
        ),
        sense=data.draw(st.sampled_from(["min", "max"])),
    )
    exact, written_out = solve_exact(lp), solve_exact(_slacked(lp))
    assert exact.status is written_out.status is Status.OPTIMAL
    assert exact.objective == pytest.approx(written_out.objective, abs=1e-8)
    activity = lp.A @ exact.x
    missed = np.maximum(np.maximum(activity - lp.b, lp.row_lower - activity), 0.0)
    paid = lp.objective(exact.x) + lp.sign * lp.penalty @ missed
    assert exact.objective == pytest.approx(paid, abs=1e-8)
    assert max(residuals(exact)) < 1e-9


@st.composite
def solvable_programs(draw):
    """Feasible programs over a box: an optimum always exists."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 5))

    def vector(size):
        return np.array(draw(st.lists(ENTRIES, min_size=size, max_size=size)))

    matrix, inside = vector(n * d).reshape(n, d), vector(d)
    gaps = st.lists(st.sampled_from([0.0, 1.5, INF]), min_size=n, max_size=n)
    above, below = (np.array(draw(gaps)) for _ in range(2))
    return LinearProgram(
        vector(d),
        draw(st.sampled_from([np.array, sp.csr_array]))(matrix),
        matrix @ inside + above,
        row_lower=matrix @ inside - below,
        bounds=draw(st.sampled_from([(-4, 4), (-4, 9), (-7, 4)])),
        sense=draw(st.sampled_from(["min", "max"])),
        offset=draw(ENTRIES),
    )


@settings(deadline=None, max_examples=examples(100))
@given(solvable_programs())
def test_agrees_with_scipy_and_duals_prove_it(lp):
    exact = solve_exact(lp)
    matrix = lp.A.toarray() if lp.is_sparse else lp.A
    upper, lower = np.isfinite(lp.b), np.isfinite(lp.row_lower)
    reference = linprog(
        lp.sign * lp.c,
        A_ub=np.vstack([matrix[upper], -matrix[lower]]),
        b_ub=np.concatenate([lp.b[upper], -lp.row_lower[lower]]),
        bounds=lp.bounds,
        method="highs",
    )
    assert exact.status is Status.OPTIMAL
    assert exact.objective == pytest.approx(lp.sign * reference.fun + lp.offset, abs=1e-7)
    assert max(residuals(exact)) < 1e-7

    # Weak duality, checked without the solver's own certificate.
    prices = lp.sign * exact.dual  # at most 0 on an upper side, at least 0 on a lower side
    sides = np.where(prices > 0, lp.row_lower, lp.b)
    used = np.abs(prices) > 1e-9
    assert np.isfinite(sides[used]).all()
    reduced = lp.sign * lp.c - lp.A.T @ prices
    lower, upper = lp.bounds.T
    bound = prices[used] @ sides[used]
    bound += np.where(reduced > 0, reduced * lower, reduced * upper).sum()
    assert lp.sign * (exact.objective - lp.offset) == pytest.approx(bound, abs=1e-7)


@pytest.mark.parametrize(("sides", "costs"), [(1e12, 1.0), (1.0, 1e12)])
def test_the_certificate_is_relative(sides, costs):
    """Rounding alone leaves absolute residuals of more than the tolerance."""
    rng = np.random.default_rng(0)
    A, c, b = -rng.random((60, 20)), rng.uniform(1, 2, 20), -rng.uniform(1, 2, 60)
    exact = solve_exact(LinearProgram(costs * c, A, sides * b))
    assert exact.status is Status.OPTIMAL
    assert max(residuals(exact)) < 1e-9


class _Claims:
    """A HiGHS that claims an optimum which it does not have."""

    def __init__(self, columns, duals):
        self.col_value, self.row_dual = columns, duals
        self.row_value, self.col_dual = [-sum(columns)], [1.0 + duals[0], 2.0 + duals[0]]

    def getSolution(self):  # noqa: N802
        return self


@pytest.mark.parametrize(
    ("columns", "duals", "certified"),
    [
        ([2.0, 0.0], [-1.0], True),
        ([1.0, 0.0], [-1.0], False),
        ([2.0, 0.0], [-0.5], False),
        ([2.0, 0.0], [1.0], False),
    ],
    ids=["right", "primal infeasible", "wrong dual", "dual of the wrong sign"],
)
def test_a_claimed_optimum_is_checked(columns, duals, certified):
    """Minimise x + 2y subject to x + y >= 2: only the true primal and dual pair passes."""
    from privlp.exact import _certified
    from privlp.problem.highs import to_highs

    lp = LinearProgram([1.0, 2.0], [[-1.0, -1.0]], [-2.0])
    exact = _certified(lp, to_highs(lp), _Claims(columns, duals))
    assert exact.success is certified
    assert (exact.x is not None) is certified


def test_a_solve_by_highs_before_changes_nothing():
    """Such as modellers make; HiGHS refuses another number of threads than it began with."""
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(0, 5)
    other.run()
    assert solve_exact(LinearProgram([1, 1], [[-1, -1], [-2, -1]], [-1, -1])).success
    other.run()
    assert other.getModelStatus() == highspy.HighsModelStatus.kOptimal


@pytest.mark.parametrize("of_rows", [1e-6, 1.0])
@pytest.mark.parametrize("of_costs", [1e-7, 1.0])
@pytest.mark.parametrize("of_sides", [1e-6, 1.0])
@pytest.mark.parametrize("penalty", [None, 0.1])
def test_small_units_are_solved_as_well_as_others(of_rows, of_costs, of_sides, penalty):
    """The tolerances of HiGHS are absolute."""
    rng = np.random.default_rng(0)
    A, b = -rng.uniform(0.2, 1, (300, 4)), -rng.uniform(0.5, 2, 300)
    c, bounds = rng.uniform(1, 2, 4), np.array([0.0, 30.0])
    usual = LinearProgram(c, A, b, bounds=bounds, penalty=penalty, offset=3.0)
    unit = of_sides / of_rows
    lp = LinearProgram(
        of_costs * c,
        of_rows * A,
        of_sides * b,
        bounds=unit * bounds,
        penalty=None if penalty is None else penalty * of_costs / of_rows,
        offset=3.0 * of_costs * unit,
    )
    exact, small = solve_exact(usual), solve_exact(lp)
    assert small.success
    assert small.objective == pytest.approx(of_costs * unit * exact.objective, rel=1e-7)
    assert small.x == pytest.approx(unit * exact.x, rel=1e-6, abs=1e-7 * unit)
    assert small.dual == pytest.approx(of_costs / of_rows * exact.dual, rel=1e-6, abs=1e-9)
    assert ((lp.A @ small.x - lp.b) <= 1e-6 * of_sides).all() or penalty


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("size", "penalty"), [(1e-300, 1e-30), (1e-310, None)])
def test_units_are_left_where_others_cannot_be_written(size, penalty, storage):
    A = storage(np.array([[-1.0, 0.0], [0.0, -size]]))
    exact = solve_exact(LinearProgram([1, 1], A, [-1, 0], bounds=(0, 5), penalty=penalty))
    assert exact.status is not Status.INFEASIBLE
