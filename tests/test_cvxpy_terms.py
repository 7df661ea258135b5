"""Piecewise-linear terms of CVXPY objectives: soft rows for private records, epigraphs for others."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ConstraintPrivate, LinearProgram, RowPrivate, errors, solve_exact
from privlp.readers.cvxpy_terms import Line, RecordTerms
from tests.effort import examples

INF = np.inf
RNG = np.random.default_rng(3)
N, D = 30, 3
X = RNG.normal(size=(N, D))
Y = X @ [1.0, 2.0, -1.0] + RNG.normal(size=N)
LABELS = np.sign(Y)
RETURNS = RNG.normal(0.02, 0.3, size=(N, D))


class Model:
    """Variables and the usual expressions, made anew for each test."""

    def __init__(self, data=X):
        self.w = cp.Variable(D, name="w", bounds=[-10, 10])
        self.b = cp.Variable(name="b", bounds=[-10, 10])
        self.p = cp.Variable(D, name="p", nonneg=True)
        self.t = cp.Variable(name="t", bounds=[-9, 9])
        self.r = Y - data @ self.w - self.b
        self.margin = cp.multiply(LABELS, X @ self.w + self.b)
        self.loss = -RETURNS @ self.p
        self.whole = [cp.sum(self.p) == 1]


def optimum(problem):
    """CVXPY's optimum; its own interval arithmetic warns of infinite bounds."""
    with np.errstate(all="ignore"):
        return problem.solve(solver=cp.HIGHS)


def both(objective, constraints=()):
    """The optimum of CVXPY, and the program that was read with its exact solution."""
    problem = cp.Problem(objective, list(constraints))
    expected = optimum(problem)
    lp = LinearProgram.from_cvxpy(problem)
    exact = solve_exact(lp)
    assert exact.success
    assert exact.objective == pytest.approx(expected, abs=1e-7, rel=1e-7)
    exact.assign(problem)
    assert problem.objective.value == pytest.approx(expected, abs=1e-6, rel=1e-6)
    return lp


# private records

ABSOLUTE = {
    "norm1": lambda m: cp.norm1(m.r),
    "norm": lambda m: cp.norm(m.r, 1),
    "sum of abs": lambda m: cp.sum(cp.abs(m.r)),
    "vector times abs": lambda m: np.ones(N) @ cp.abs(m.r),
    "abs of the negative": lambda m: cp.sum(cp.abs(-m.r)),
    "pos and neg": lambda m: cp.sum(cp.pos(m.r) + cp.neg(m.r)),
    "maximum": lambda m: cp.sum(cp.maximum(m.r, -m.r)),
    "middle quantile": lambda m: 2 * cp.sum(cp.maximum(0.5 * m.r, -0.5 * m.r)),
    "mean": lambda m: N * cp.mean(cp.abs(m.r)),
}


@pytest.mark.parametrize("write", ABSOLUTE.values(), ids=ABSOLUTE)
def test_absolute_values_are_soft_equalities(write):
    m = Model()
    lp = both(cp.Minimize(write(m)))
    assert lp.shape == (N, D + 1)
    assert lp.private.all()
    assert lp.groups is None
    np.testing.assert_allclose(lp.penalty, 1.0)
    np.testing.assert_array_equal(lp.b, lp.row_lower)
    np.testing.assert_allclose(np.abs(lp.b / Y), 1.0)
    np.testing.assert_array_equal(lp.c, 0.0)
    assert lp.offset == 0.0


Q = 0.9
PINBALL = {
    "maximum": lambda r: cp.sum(cp.maximum(Q * r, (Q - 1) * r)),
    "maximum and 0": lambda r: cp.sum(cp.maximum((Q - 1) * r, 0, Q * r)),
    "abs and r": lambda r: cp.sum(0.5 * cp.abs(r) + (Q - 0.5) * r),
    "norm1 and a sum": lambda r: 0.5 * cp.norm1(r) + (Q - 0.5) * cp.sum(r),
    "pos and neg": lambda r: Q * cp.sum(cp.pos(r)) + (1 - Q) * cp.sum(cp.neg(r)),
    "pos and r": lambda r: cp.sum(cp.pos(r) - (1 - Q) * r),
    "plain r beside abs": lambda r: N * (0.8 * cp.sum(r) + cp.norm1(r)) / N / 2,
}


@pytest.mark.parametrize("write", PINBALL.values(), ids=PINBALL)
def test_every_way_to_write_the_pinball_loss_is_one_row_with_two_prices(write):
    lp = both(cp.Minimize(write(Model().r) / N))
    assert lp.shape == (N, D + 1)
    np.testing.assert_array_equal(lp.c, 0.0)
    assert lp.offset == pytest.approx(0.0)
    assert lp.groups is None
    assert lp.rows_of_largest_record() == 2
    np.testing.assert_allclose(lp.penalty, np.tile([(1 - Q) / N, Q / N], (N, 1)))
    np.testing.assert_allclose(lp.b, -Y)
    np.testing.assert_array_equal(lp.b, lp.row_lower)


def test_sides_of_different_records_are_rows_of_their_own():
    """Records 0-4 pay for either side, the others above 0 only: one row cannot say both."""
    some = (np.arange(N) < 5).astype(float)
    r = Model().r
    lp = both(cp.Minimize((cp.sum(cp.pos(r)) + some @ cp.neg(r)) / N))
    assert lp.shape == (N + 5, D + 1)
    np.testing.assert_array_equal(lp.groups, np.append(np.arange(N), np.arange(5)))


def test_pos_and_neg_are_one_side():
    m = Model()
    below = both(cp.Minimize(cp.sum(cp.pos(m.r)) + cp.sum(m.w)))
    np.testing.assert_allclose(below.b, -Y)
    np.testing.assert_array_equal(below.row_lower, -INF)
    above = both(cp.Minimize(cp.sum(cp.neg(m.r)) - cp.sum(m.w)))
    np.testing.assert_allclose(above.row_lower, -Y)
    np.testing.assert_array_equal(above.b, INF)


def test_hinge_with_a_norm():
    m = Model()
    lp = both(cp.Minimize(cp.sum(cp.pos(1 - m.margin)) / N + 0.1 * cp.norm1(m.w)))
    assert lp.shape == (N + 2 * D, D + 1 + D)
    np.testing.assert_array_equal(lp.private, np.arange(N + 2 * D) < N)
    np.testing.assert_allclose(lp.penalty, np.where(lp.private, 1 / N, INF))
    np.testing.assert_allclose(lp.c, [0] * (D + 1) + [0.1] * D)
    np.testing.assert_array_equal(lp.bounds[-D:], [[0, 10]] * D)
    assert lp.variable_names[-1] == "abs#0[2]"


def test_a_tube_without_price_is_a_soft_range():
    lp = both(cp.Minimize(cp.mean(cp.pos(cp.abs(Model().r) - 0.25))))
    assert lp.shape[0] == N
    np.testing.assert_allclose(lp.b - lp.row_lower, 0.5)


WORST = 7.5
CVAR = {
    "written out": lambda m: m.t + cp.sum(cp.pos(m.loss - m.t)) / WORST,
    "as a maximum": lambda m: cp.sum(cp.maximum(m.loss, m.t)) / WORST - (N / WORST - 1) * m.t,
    "cvar": lambda m: cp.cvar(m.loss, 1 - WORST / N),
    "sum_largest": lambda m: cp.sum_largest(m.loss, WORST) / WORST,
}


@pytest.mark.parametrize("write", CVAR.values(), ids=CVAR)
def test_conditional_value_at_risk(write):
    m = Model()
    problem = cp.Problem(cp.Minimize(write(m)), m.whole)
    lp = LinearProgram.from_cvxpy(problem)
    reference = cp.Minimize(m.t + cp.sum(cp.pos(m.loss - m.t)) / WORST)
    expected = optimum(cp.Problem(reference, m.whole))
    assert solve_exact(lp).objective == pytest.approx(expected, abs=1e-7)
    assert lp.shape == (1 + N, D + 1)
    np.testing.assert_array_equal(lp.private, np.arange(N + 1) > 0)
    np.testing.assert_allclose(lp.penalty[1:], 1 / WORST)
    np.testing.assert_allclose(lp.c, np.where(lp.c == 0, 0.0, 1.0))
    assert lp.c.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "write", [lambda r: cp.max(cp.abs(r)), cp.norm_inf, lambda r: cp.norm(r, "inf")]
)
def test_the_worst_record_is_a_variable_with_hard_rows(write):
    lp = both(cp.Minimize(write(Model().r)))
    assert lp.shape == (2 * N, D + 2)
    assert lp.private.all()
    assert lp.penalty is None
    assert lp.rows_of_largest_record() == 2
    np.testing.assert_array_equal(lp.bounds[-1], [0, INF])
    np.testing.assert_array_equal(lp.c, [0, 0, 0, 0, 1])
    boxed = LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(write(Model().r))), box=50)
    np.testing.assert_array_equal(boxed.bounds[-1], [0, 50])


OTHERS = {
    "maximise": lambda m: cp.Maximize(5 - cp.mean(cp.abs(m.r)) - 0.2 * cp.norm1(m.w)),
    "maximise a minimum": lambda m: cp.Maximize(cp.sum(cp.minimum(m.r, 0)) - cp.sum(m.w)),
    "maximise the worst": lambda m: cp.Maximize(cp.min(m.r) - cp.norm1(m.w)),
    "weights": lambda m: cp.Minimize(np.linspace(0, 2, N) @ cp.abs(m.r)),
    "weights entry by entry": lambda m: cp.Minimize(
        cp.sum(cp.multiply(np.linspace(1, 2, N), cp.pos(m.r))) + cp.sum(m.w)
    ),
    "several lines": lambda m: cp.Minimize(cp.sum(cp.maximum(m.r, -2 * m.r + 1, 3 * m.r - 4, 0.5))),
    "several terms": lambda m: cp.Minimize(
        cp.norm1(m.r) + 2 * cp.sum(cp.pos(m.r - 1)) + cp.sum(cp.neg(m.r + 0.5))
    ),
    "fused": lambda m: cp.Minimize(cp.norm1(m.r) + 3 * cp.tv(m.w)),
    "public maxima": lambda m: cp.Minimize(
        cp.maximum(cp.norm1(m.w), 3 * cp.abs(m.b), 1) + cp.norm1(m.r) / N + cp.max(m.w)
    ),
    "public k largest": lambda m: cp.Minimize(cp.sum_largest(cp.abs(m.w), 2) + cp.norm1(m.r) / N),
    "largest of columns": lambda m: cp.Minimize(
        cp.sum(cp.max(cp.vstack([m.w, 2 * m.w - 1]), axis=0)) + cp.norm1(m.r)
    ),
    "one record": lambda m: cp.Minimize(cp.abs(m.r[0]) + cp.pos(m.r[1] + m.r[2]) + cp.sum(m.w)),
    "shapes": lambda m: cp.Minimize(cp.sum(cp.abs(cp.reshape(m.r, (5, 6), order="F")))),
    "slices": lambda m: cp.Minimize(cp.norm1(m.r[:10]) + cp.norm1(m.r[10:]) / 2),
    "all dropped": lambda m: cp.Minimize(0 * cp.norm1(m.r) + cp.sum(m.w)),
    "capacity": lambda m: cp.Minimize(3 * cp.sum(cp.pos(np.abs(X) @ m.p - 1)) - cp.sum(m.p)),
}


@pytest.mark.parametrize("write", OTHERS.values(), ids=OTHERS)
def test_values_of_other_terms(write):
    m = Model()
    both(write(m), [m.p <= 2, m.b <= 3])


def test_sparse_data_stay_sparse():
    m = Model(sp.csr_array(np.where(np.abs(X) > 0.5, X, 0)))
    lp = both(cp.Minimize(cp.norm1(m.r)))
    assert lp.is_sparse
    assert lp.A.nnz < N * (D + 1)


def test_a_linear_term_that_no_price_covers_stays_a_cost_and_warns():
    r = Model().r
    problem = cp.Problem(cp.Minimize(cp.norm1(r) / N + 2 * cp.sum(r) / N))
    with pytest.warns(errors.NotPrivateWarning, match="costs are public"):
        lp = LinearProgram.from_cvxpy(problem)
    assert lp.shape == (N, D + 1)
    assert np.abs(lp.c).min() > 0
    assert solve_exact(lp).objective == pytest.approx(optimum(problem))


def test_mean_returns_are_costs_and_warn():
    m = Model()
    for loss in (m.loss, -RETURNS @ m.p):
        objective = cp.Minimize(cp.sum(m.loss) / N + cp.sum_largest(loss, 5))
        with pytest.warns(errors.NotPrivateWarning, match="holds the data of private terms"):
            LinearProgram.from_cvxpy(cp.Problem(objective, m.whole))


def test_costs_of_other_data_do_not_warn():
    m = Model()
    prices = np.array([1.0, 2.0, 3.0])
    with warnings.catch_warnings(action="error"):
        lp = LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.norm1(m.r) + prices @ m.w)))
    np.testing.assert_array_equal(lp.c, [1, 2, 3, 0])


def test_no_number_of_a_record_leaves_its_row():
    """Two neighbours differ in the rows of the record, and in nothing else."""

    def read(record, write):
        data, sides = X.copy(), Y.copy()
        data[7], sides[7] = record
        w = cp.Variable(D, name="w", bounds=[-10, 10])
        r = sides - data @ w
        return LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(write(r, w))))

    for write in (
        *(lambda r, w, f=f: f(r) + cp.norm1(w) for f in PINBALL.values()),
        lambda r, w: cp.norm1(r) + cp.sum(cp.pos(r - 1)),
        lambda r, w: cp.sum_largest(r, 4) + cp.max(cp.abs(r)) + w[0],  # two terms: two rows
        lambda r, w: cp.sum(cp.maximum(r + 1, -2 * r, 0)),
    ):
        one, other = (read(record, write) for record in (([1.0, 0, 0], 5.0), ([0, -3.0, 1], -80.0)))
        assert one.public() == other.public()
        np.testing.assert_array_equal(one.c, other.c)
        assert one.offset == other.offset
        changed = (one.A != other.A).toarray().any(axis=1) | (one.b != other.b)
        owners = np.arange(len(one.b)) if one.groups is None else one.groups
        assert 1 <= len(np.unique(owners[changed])) <= 2


# what is private


def test_private_terms_are_chosen_by_their_objects():
    m = Model()
    loss, size = cp.pos(1 - m.margin), cp.norm1(m.w)
    need = m.w[0] + m.w[1] >= 1
    problem = cp.Problem(cp.Minimize(cp.sum(loss) / N + size), [need])

    def private(*chosen):
        lp = LinearProgram.from_cvxpy(problem, private=list(chosen))
        assert solve_exact(lp).objective == pytest.approx(optimum(problem), abs=1e-7)
        return lp.shape, int(lp.private.sum())

    assert private() == ((1 + 2 * N + 2 * D, D + 1 + N + D), 0)
    assert private(loss) == ((1 + N + 2 * D, D + 1 + D), N)
    assert private(need, cp.sum(loss)) == ((1 + N + 2 * D, D + 1 + D), N + 1)
    assert private(size, loss) == ((1 + N + D, D + 1), N + D)
    assert private(loss + size) == ((1 + N + D, D + 1), N + D)


@pytest.mark.parametrize(
    "foreign",
    [lambda m: cp.norm1(m.w), lambda m: m.r, lambda m: cp.pos(1 - m.margin), lambda m: m.w],
)
def test_what_is_no_term_cannot_be_private(foreign):
    m = Model()
    problem = cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - m.margin)) + cp.sum(m.r)))
    with pytest.raises(errors.ReadError, match="no piecewise-linear term of the") as caught:
        LinearProgram.from_cvxpy(problem, private=[foreign(m)])
    assert caught.value.parameter == "private"


def test_data_of_one_entry_are_data():
    w = cp.Variable(name="w", bounds=[-1, 1])
    for data in (np.array([2.0]), np.array([[2.0]])):
        problem = cp.Problem(cp.Minimize(cp.norm1(np.ones(data.shape) - cp.multiply(data, w))))
        lp = LinearProgram.from_cvxpy(problem)
        assert lp.private.tolist() == [True]
        assert lp.shape == (1, 1)


def test_rows_of_constraints_come_first_and_owners_can_be_told():
    m = Model()
    need = X @ m.w <= 4
    problem = cp.Problem(cp.Minimize(cp.norm1(m.r) + cp.norm1(m.w)), [need])
    owners = [*range(N), *range(N), *range(1000, 1000 + 2 * D)]
    lp = LinearProgram.from_cvxpy(problem, groups=owners)
    assert lp.rows_of_largest_record() == 3  # one row, and both sides of another
    after = lp.private & (np.arange(len(lp.b)) >= N)
    np.testing.assert_array_equal(np.isfinite(lp.row_lower), after)
    with pytest.raises(errors.InvalidProblemError, match="one record id for each of the"):
        LinearProgram.from_cvxpy(problem, groups=owners[:-1])


def test_records_that_come_and_go():
    r = Model().r
    relation = ConstraintPrivate("add-remove", rows_per_record=2, nominal_n=2 * N)
    quantile = cp.Problem(cp.Minimize(cp.sum(cp.maximum(0.9 * r, -0.1 * r))))
    assert LinearProgram.from_cvxpy(quantile, neighbours=relation).groups is None
    single = ConstraintPrivate("add-remove", nominal_n=N)
    with pytest.raises(errors.InvalidProblemError, match="more than rows_per_record=1 private"):
        LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.norm1(r))), neighbours=single)


def test_no_constant_tells_the_number_of_records_that_come_and_go():
    relation = ConstraintPrivate("add-remove", rows_per_record=2, nominal_n=2 * N)

    def read(write, n):
        w = cp.Variable(D, name="w", bounds=[-10, 10])
        problem = cp.Problem(cp.Minimize(write(Y[:n] - X[:n] @ w) / 100 + cp.norm1(w)))
        return LinearProgram.from_cvxpy(problem, neighbours=relation)

    for write in (*PINBALL.values(), cp.norm1, lambda r: cp.sum_largest(r, 4)):
        if write is not PINBALL["plain r beside abs"]:
            assert read(write, N).public() == read(write, N - 1).public()
    with pytest.raises(errors.ReadError, match="and tell the number of records"):
        read(lambda r: cp.sum(cp.maximum(r, -r, 0.5)), N)
    assert read(lambda r: cp.sum(cp.maximum(r - 0.5, -r - 0.5, 0)), N).shape == (N + 2 * D, 2 * D)


def test_two_rows_of_a_record_need_a_relation_of_records():
    r = Model().r
    twice = cp.Problem(cp.Minimize(cp.sum(cp.pos(r) + cp.pos(r - 1))))
    with pytest.raises(errors.InvalidParameterError, match="gives each private record two rows"):
        LinearProgram.from_cvxpy(twice, neighbours=RowPrivate(0.1))
    once = cp.Problem(cp.Minimize(cp.norm1(r)))
    assert LinearProgram.from_cvxpy(once, neighbours=RowPrivate(0.1)).shape == (N, D + 1)


# refusals

REFUSED = {
    "a square": (lambda m: cp.sum_squares(m.r), "quad_over_lin is no piecewise-linear term"),
    "a root": (lambda m: cp.norm2(m.r), r"Pnorm\w* is no piecewise-linear term that privlp reads"),
    "a power of 1": (lambda m: cp.sum(cp.power(cp.abs(m.r), 1)), r"Power\w* is no piecewise-"),
    "an affine power": (lambda m: cp.sum(cp.power(m.w, 1)), r"Power\w* is no piecewise-linear"),
    "huber": (lambda m: cp.sum(cp.huber(m.r)), "huber is no piecewise-linear term"),
    "two expressions": (
        lambda m: cp.sum(cp.maximum(m.r, m.margin)),
        r"not multiples of one expression of each private record.* r = y - X @ w",
    ),
    "written twice": (
        lambda m: cp.sum(cp.maximum(0.9 * (Y - X @ m.w), -0.1 * (Y - X @ m.w))),
        "not multiples of one expression",
    ),
    "rising on both sides": (lambda m: cp.sum(cp.maximum(m.r, 2 * m.r)), "has a linear part"),
    "not convex": (lambda m: cp.sum(m.w) - cp.norm1(m.r), "where it is not convex"),
    "not convex, public": (lambda m: cp.sum(m.w) - cp.norm1(m.w), "where it is not convex"),
    "not convex within": (lambda m: cp.sum(cp.maximum(-cp.abs(m.r), 1)), "holds maximum where it"),
    "largest of abs": (lambda m: cp.sum_largest(cp.abs(m.r), 5), "not multiples of one expression"),
    "largest sum": (
        lambda m: cp.max(cp.sum(cp.abs(cp.reshape(m.r, (5, 6), order="F")), axis=0)),
        "Sum within a term of private records is no piecewise-linear term",
    ),
}


@pytest.mark.parametrize(("write", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals_say_what_to_write(write, message):
    with pytest.raises(errors.ReadError, match=message):
        LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(write(Model()))))


def test_what_is_convex_is_not_maximised():
    with pytest.raises(errors.ReadError, match="No linear program says that"):
        LinearProgram.from_cvxpy(cp.Problem(cp.Maximize(cp.norm1(Model().r))))


# penalties


def test_constraints_with_prices():
    m = Model()
    rows, other = X @ m.w <= Y, m.w >= 1
    problem = cp.Problem(cp.Minimize(-cp.sum(m.w)), [rows, other, m.b == 0])
    prices = np.linspace(1, 2, N)
    lp = LinearProgram.from_cvxpy(problem, penalty={rows: prices / N})
    np.testing.assert_allclose(lp.penalty, [*prices / N, *[INF] * 4])
    total = -cp.sum(m.w) + prices @ cp.pos(X @ m.w - Y) / N
    same = cp.Problem(cp.Minimize(total), [other, m.b == 0])
    assert solve_exact(lp).objective == pytest.approx(optimum(same))
    number = LinearProgram.from_cvxpy(problem, penalty=3)
    np.testing.assert_array_equal(number.penalty, [*[3] * (N + 3), INF])
    two = LinearProgram.from_cvxpy(problem, penalty={rows: 1, other: 2.0}, private=[rows, other])
    np.testing.assert_array_equal(two.penalty, [*[1] * N, 2, 2, 2, INF])


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        (0, "penalty must be a positive number"),
        ("a", "penalty must be a positive number"),
        ([1.0, 2.0], "penalty must be a positive number"),
        ({"rows": 0}, "or a dict from constraints to prices"),
        ({"rows": [1.0, 2.0]}, "one for each row of the constraint"),
        ({"equal": 1.0}, "penalty names a public constraint.* Name it too in private"),
        ({"none": 1.0}, "penalty names what is no constraint"),
    ],
)
def test_bad_penalties_of_constraints(penalty, message):
    m = Model()
    found = {"rows": X @ m.w <= Y, "equal": m.b == 0, "none": m.w >= 0}
    problem = cp.Problem(cp.Minimize(-cp.sum(m.w)), [found["rows"], found["equal"]])
    if isinstance(penalty, dict):
        penalty = {found[name]: price for name, price in penalty.items()}
    with pytest.raises(errors.InvalidProblemError, match=message) as caught:
        LinearProgram.from_cvxpy(problem, penalty=penalty)
    assert caught.value.parameter == "penalty"


# the way back


def test_values_come_back_column_by_column():
    W, v = cp.Variable((2, 3), name="W", bounds=[0, 1]), cp.Variable(name="v", nonneg=True)
    costs = np.array([[1.0, -2, 3], [-4, 5, -6]])
    total = cp.sum(cp.multiply(costs, W)) + 0.5 * cp.norm1(W[:, 0] - 0.5) + v
    problem = cp.Problem(cp.Minimize(total), [v >= 2])
    exact = solve_exact(LinearProgram.from_cvxpy(problem))
    exact.assign(problem)
    np.testing.assert_allclose(W.value, [[0.0, 1, 0], [1, 0, 1]], atol=1e-9)
    assert v.value == pytest.approx(2.0)
    assert v.value.shape == ()
    W.value[0, 0] = 7.0
    assert exact.x[0] != 7.0


def test_a_private_solution_is_assigned(tmp_path):
    m = Model()
    problem = cp.Problem(cp.Minimize(cp.sum(m.w)), [X[:20] @ m.w >= -2])
    lp = LinearProgram.from_cvxpy(problem, neighbours=privlp.ObjectivePrivate(0.1))
    solution = privlp.solve(lp, eps=1.0, delta=0, rng=0)
    solution.save(tmp_path / "solution.json")
    privlp.Solution.load(tmp_path / "solution.json").assign(problem)
    np.testing.assert_array_equal(m.w.value, solution.x)


def test_values_are_assigned_to_the_problem_that_was_read():
    m = Model()
    problem = cp.Problem(cp.Minimize(cp.norm1(m.r)))
    exact = solve_exact(LinearProgram.from_cvxpy(problem))
    swapped = cp.Problem(cp.Minimize(m.b + cp.norm1(m.w)), [m.w >= 0, m.b >= 0])
    larger = cp.Problem(cp.Minimize(cp.sum(m.p)), [m.w >= 0, m.b >= 0, m.p >= 1])
    for other in (swapped, larger):
        with pytest.raises(errors.InvalidParameterError, match="are not those of the solution"):
            exact.assign(other)
    with pytest.raises(errors.InvalidParameterError, match="must be the model that was read"):
        exact.assign(m.r)
    infeasible = solve_exact(LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(m.b), [m.b >= 11])))
    with pytest.raises(errors.InvalidParameterError, match="The solution holds no x"):
        infeasible.assign(problem)


# random objectives

WEIGHTS = st.sampled_from([0.25, 1.0, 3.0])
NUMBERS = st.integers(-2, 2).map(float)


@st.composite
def objectives(draw):
    """A convex piecewise-linear objective of few records, and a box."""
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    entries = st.lists(NUMBERS, min_size=n * d, max_size=n * d)
    data = [np.reshape(draw(entries), (n, d)) for _ in range(2)]
    w = cp.Variable(d, name="w", bounds=[-2, 3])
    t = cp.Variable(name="t", bounds=[-4, 4])
    r = data[0] @ w - np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    e = data[1] @ w - t
    slopes = draw(
        st.sampled_from([(0.0, -1.0), (0.5, 0.0), (0.5, -0.25), (2.0, -0.25), (2.0, -1.0)])
    )
    number = draw(NUMBERS)
    terms = [
        lambda: cp.norm1(r),
        lambda: cp.mean(cp.abs(e)),
        lambda: cp.sum(cp.pos(number - r)),
        lambda: cp.sum(cp.neg(e - 1)),
        lambda: cp.sum(cp.maximum(slopes[0] * r, slopes[1] * r)),
        lambda: cp.sum(cp.maximum(slopes[0] * r + number, slopes[1] * r, number)),
        lambda: cp.sum(cp.abs(r) - 0.5 * r),
        lambda: cp.sum(cp.maximum(data[1] @ w, t)),
        lambda: cp.max(cp.abs(r)),
        lambda: -cp.min(e),
        lambda: -cp.sum(cp.minimum(e, 0)),
        lambda: cp.sum_largest(r, draw(st.integers(1, n))),
        lambda: cp.sum(cp.pos(cp.abs(r) - abs(number))),
        lambda: cp.norm1(w),
        lambda: cp.maximum(cp.norm_inf(w), t, 1),
        lambda: cp.pos(w[0] - t),
        lambda: cp.sum(w) - 2 * t + 1,
    ]
    chosen = draw(st.lists(st.sampled_from(terms), min_size=1, max_size=4))
    total = sum(draw(WEIGHTS) * make() for make in chosen)
    least = draw(st.booleans())
    bound = [t >= -4, w >= -2]
    return cp.Problem(cp.Minimize(total) if least else cp.Maximize(-total), bound)


@settings(deadline=None, max_examples=examples(60))
@given(objectives())
def test_the_program_that_is_read_has_the_optimum_of_the_problem(problem):
    expected = optimum(problem)
    lp = LinearProgram.from_cvxpy(problem)
    exact = solve_exact(lp)
    assert exact.objective == pytest.approx(expected, abs=1e-6)
    exact.assign(problem)
    assert problem.objective.value == pytest.approx(expected, abs=1e-6)


LINES = st.lists(
    st.tuples(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 3.0]), NUMBERS), min_size=1, max_size=5
)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.tuples(WEIGHTS, LINES), min_size=1, max_size=3), st.sampled_from([-1.0, 0, 0.5]))
def test_sides_say_what_lines_say(chosen, slope):
    terms = RecordTerms(
        np.array([slope]), [(np.array([w]), [Line(*line) for line in lines]) for w, lines in chosen]
    )

    def value(r):
        return slope * r + sum(w * max(k * r + h for k, h in lines) for w, lines in chosen)

    ends = [value(sign * 1e6) - value(sign * 1e5) for sign in (1, -1)]
    assert terms.is_closed() == (min(ends) >= -1e-3)
    if terms.is_closed() and len({k for _, lines in chosen for k, _ in lines}) > 1:
        sides = terms.sides()
        for r in np.linspace(-7, 7, 57):
            paid = sum(
                side.above[0] * max(r - side.upper, 0) + side.below[0] * max(side.lower - r, 0)
                for side in sides
            )
            least = terms.least()[0] if np.isfinite(terms.least()[0]) else value(0.0)
            assert value(r) == pytest.approx(least + paid, abs=1e-9)


def test_constraints_without_data_beside_others_are_named():
    """They stay private: a number, or which variables a row compares, may be somebody's."""
    w, data = cp.Variable(3, bounds=[0, 1]), np.ones((4, 3))
    rising, least, sums = cp.diff(w) >= 0, data @ w >= 1, cp.sum(w) <= 2
    problem = cp.Problem(cp.Minimize(cp.sum(w)), [rising, least, sums])
    message = r"constants: constraints 0, 2, counted from 0\. Private"
    with pytest.warns(errors.MissedRowsWarning, match=message):
        lp = LinearProgram.from_cvxpy(problem)
    assert lp.private.all()
    assert LinearProgram.from_cvxpy(problem, private=[least]).private.sum() == 4
    assert LinearProgram.from_cvxpy(problem, private=iter([least])).private.sum() == 4
    loss = cp.Problem(cp.Minimize(cp.norm1(data @ w - 1)), [rising])
    with pytest.warns(errors.MissedRowsWarning, match="constraints 0, counted"):
        assert LinearProgram.from_cvxpy(loss).private.all()
    alone = cp.Problem(cp.Minimize(cp.sum(w)), [rising, sums])
    assert LinearProgram.from_cvxpy(alone).private.all()


@pytest.mark.parametrize("people", [0, 1, 2])
@pytest.mark.parametrize("by_constraint", [True, False])
def test_rows_that_come_and_go_are_soft_even_if_there_are_none(people, by_constraint):
    x = cp.Variable(2)
    own = [x[0] + 2 * x[1] >= 1] * people
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, x <= 5, *own])
    penalty = dict.fromkeys(own, 3.0) if by_constraint else 3.0
    relation = ConstraintPrivate("add-remove", nominal_n=40, largest_penalty=3.0)
    read = LinearProgram.from_cvxpy(problem, neighbours=relation, private=own, penalty=penalty)
    assert relation.conceal(read).penalty is not None
