"""The lemma under every constraint-private solver."""

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from privlp import ConstraintPrivate, LinearProgram, solve
from privlp.methods.published.dmw import rows_within_bounds
from privlp.regions.simplex import Simplex
from privlp.rows.on_simplex import RowsOnSimplex
from tests.effort import examples
from tests.rounds import project, scaled_rows, selection_round, violations_at_vertices

SETTINGS = settings(deadline=None, max_examples=examples(150))
NORMS = [1, 2, np.inf]
ROUNDING = 1e-11


def dense_average(log_weights, g, s, public):
    """q = sum_i (Gamma_s z)_i g_i.

    Where fewer than s weights are positive, the missing mass goes to a fixed public vector.
    """
    z = project(log_weights, s)
    missing = 1 - np.count_nonzero(z) / s if np.isfinite(log_weights).sum() < s else 0.0
    return z, z @ g + missing * public


def diameter(points, norm):
    differences = (points[:, None, :] - points[None, :, :]).reshape(-1, points.shape[1])
    return np.linalg.norm(differences, norm, axis=1).max()


log_weight = st.one_of(
    st.just(-math.inf), st.sampled_from([0.0, 1.0]), st.floats(-60, 60), st.floats(-800, 800)
)
all_positive = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-60, 60))


def several(of, count):
    return st.lists(of, min_size=count, max_size=count)


def density(most):
    """Whole numbers and 64ths.

    Any s will do, but sums of weights are ill-conditioned when s is just above a whole number.
    """
    return st.one_of(st.integers(1, most), st.integers(64, 64 * most).map(lambda x: x / 64)).map(
        float
    )


@st.composite
def neighbouring_rows(draw, change):
    """Log-weights and vectors of two neighbours, rows of one record last; s; k; a public vector."""
    dimension, k = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    n = k + draw(st.integers(0 if change == "replace" else 1, 8))
    weight = draw(st.sampled_from([log_weight, all_positive]))
    log_weights = np.array(draw(several(weight, n)))
    g = np.array(draw(several(several(st.floats(-1, 1), dimension), n + k)))
    s = draw(density(n + 2))
    public = np.array(draw(several(st.floats(-1, 1), dimension)))
    if change == "replace":
        other = log_weights.copy()
        other[n - k :] = draw(several(weight, k))
        other_g = np.vstack([g[: n - k], g[n:]])
    else:
        other, other_g = log_weights[: n - k], g[: n - k]
    return (log_weights, g[:n]), (other, other_g), s, k, public


@pytest.mark.parametrize("change", ["replace", "add-remove"])
def test_dense_average_changes_by_at_most_its_sensitivity(change):
    """And the L1 distance of the two dense distributions is at most min(1, k/s)·2 for k rows."""
    relation = ConstraintPrivate(change, nominal_n=None if change == "replace" else 10)

    @SETTINGS
    @given(neighbouring_rows(change))
    def check(case):
        (log_weights, g), (other, other_g), s, k, public = case
        z, q = dense_average(log_weights, g, s, public)
        other_z, other_q = dense_average(other, other_g, s, public)
        for norm in NORMS:
            width = diameter(np.vstack([g, other_g, public]), norm)
            bound = relation.dense_average_sensitivity(width, s, k)
            assert np.linalg.norm(q - other_q, norm) <= bound + ROUNDING
        padded = np.append(other_z, np.zeros(len(z) - len(other_z)))
        assert np.abs(z - padded).sum() <= 2 * min(1, k / s) + ROUNDING

    check()


@SETTINGS
@given(st.integers(2, 8), st.data())
def test_raising_one_weight_lowers_every_other(n, data):
    """Why the lemma holds."""
    log_weights = np.array(data.draw(st.lists(st.floats(-30, 30), min_size=n, max_size=n)))
    s = data.draw(density(n))
    before = project(log_weights, s)
    log_weights[0] += data.draw(st.floats(0, 50))
    after = project(log_weights, s)
    assert (after[1:] <= before[1:] * (1 + 1e-12)).all()
    assert after[0] >= before[0] * (1 - 1e-12)
    assert after.sum() == pytest.approx(before.sum(), rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(("s", "k"), [(1, 1), (2.5, 1), (7, 1), (7, 3), (2, 3)])
def test_bound_is_attained(s, k, norm):
    """Rows of one record at full weight flip from one end of the set to the other."""
    ends = np.array([[1.0, -1.0, 0.5], [-1.0, 0.0, 0.5]])
    own = np.arange(12) < k
    log_weights, g = 100.0 * own, np.tile(ends[0], (12, 1))
    flipped = np.where(own[:, None], ends[1], g)
    # With k > s not all rows of the record fit under the caps; they hold all the mass.
    _, q = dense_average(log_weights, g, s, ends[0])
    _, other_q = dense_average(log_weights, flipped, s, ends[0])
    bound = ConstraintPrivate().dense_average_sensitivity(diameter(ends, norm), s, k)
    assert 0.999 * bound <= np.linalg.norm(q - other_q, norm) <= bound + ROUNDING


@pytest.mark.parametrize("s", [1, 2.5, 7])
def test_bound_is_attained_by_adding_a_row(s):
    rows = np.append(np.zeros(9), 100.0), np.append(np.ones(9), -1.0)[:, None], s, np.ones(1)
    _, q = dense_average(np.zeros(9), np.ones((9, 1)), s, np.ones(1))
    _, other_q = dense_average(*rows)
    bound = ConstraintPrivate("add-remove", nominal_n=10).dense_average_sensitivity(2.0, s, 1)
    assert 0.999 * bound <= abs(q - other_q)[0] <= bound + ROUNDING


def test_mass_bound_is_attained():
    heavy = 100.0 * np.eye(6)[0]
    moved = np.abs(project(heavy, 3.0) - project(-heavy, 3.0)).sum()
    assert moved == pytest.approx(2 / 3, rel=1e-3)


def test_renormalising_missing_mass_would_break_the_bound():
    """Three positive weights at s = 15."""
    log_weights = np.array([0.0, 0.0, 0.0, *[-np.inf] * 20])
    g = np.ones((23, 1))
    flipped = g - 2 * np.eye(23, 1)
    z, q = dense_average(log_weights, g, 15, np.zeros(1))
    _, other_q = dense_average(log_weights, flipped, 15, np.zeros(1))
    bound = 2 / 15
    assert abs(q - other_q)[0] <= bound + ROUNDING
    assert abs(z @ g - z @ flipped)[0] / z.sum() == pytest.approx(5 * bound)


def program(A, b=None):
    A = np.asarray(A, dtype=float)
    return LinearProgram(np.ones(A.shape[1]), A, np.zeros(len(A)) if b is None else b)


entry = st.one_of(
    st.floats(-1, 1),
    st.sampled_from([0.0, 0.0, 1.0, -1.0, 1e14, -1e14, 9e14, 1e-300, -1e-300, 0.1, 100.0]),
)
side = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1e19, -1e19, 1e-300, 50.0]))
cost = st.sampled_from([1.0, 1.0, 0.1, 3.0, 1e3, 1e-3])


@st.composite
def neighbouring_programs(draw):
    """(A, b) of two neighbours that differ in one row, and everything public."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(2, 5))
    A = np.array(draw(several(several(entry, d), n + 1)))
    b, c = np.array(draw(several(side, n + 1))), draw(several(cost, d))
    i = draw(st.integers(0, n - 1))
    other_A, other_b = A[:n].copy(), b[:n].copy()
    other_A[i], other_b[i] = A[n], b[n]
    return {
        "pair": ((A[:n], b[:n]), (other_A, other_b)),
        "c": c,
        "opt": draw(st.sampled_from([1.0, 0.01, 250.0])),
        "s": draw(density(n)),
        "history": draw(st.lists(st.integers(0, d - 1), max_size=5)),
        "step": draw(st.sampled_from([0.05, 1.0, 4.0, 12.0])),
        "storage": draw(st.sampled_from([np.array, sp.csc_array])),
    }


@pytest.mark.parametrize("storage", [np.array, sp.csc_array])
def test_a_pair_of_programs_attains_the_bound(storage):
    """A row that every past vertex violates holds full weight."""
    n, d, s = 30, 6, 4.0
    rng = np.random.default_rng(5)
    A = rng.uniform(-1, 1, (n, d))
    A[:, 5] = A.min(axis=1)
    c, scores = np.array([1.0, 2, 0.5, 10, 1, 0.1]), []
    for A[0] in ([-1, 1, 1, 1, 1, 1], [1, -1, -1, -1, -1, 1]):
        lp = LinearProgram(c, storage(A * c * [7.0]), np.zeros(n))
        scores.append(selection_round(lp, 3.0, s, [5] * 6, 2.0)[0])
    sensitivity = ConstraintPrivate().dense_average_sensitivity(2.0, s, 1)
    change = scores[1] - scores[0]
    assert 0.95 * sensitivity <= np.abs(change).max() <= sensitivity
    assert 0.95 * 2 * sensitivity <= np.ptp(change) <= 2 * (sensitivity)


def test_one_row_far_ahead_of_the_others():
    """The weights of the others must not lose digits to its capped one: they carry most of the mass."""
    n, s = 60, 20.0
    A = np.tile([1.0, -1.0, -1.0], (n, 1))
    ahead = A.copy()
    ahead[0] = [1.0, -1.0, 1.0]
    programs = [program(matrix, b=np.ones(n)) for matrix in (A, ahead)]
    for lead in np.arange(4.0, 44.0):
        one, two = (selection_round(lp, 1.0, s, [2], lead / 2)[0] for lp in programs)
        assert np.ptp(one - two) <= 2 * (2 / s), lead


@SETTINGS
@given(neighbouring_programs())
def test_rows_of_equal_range(case):
    """Values of a row span at most 2 on K, violations stay within [-2, 2], and nothing overflows."""
    (A, b), _ = case["pair"]
    lp = LinearProgram(case["c"], case["storage"](A), b)
    table = violations_at_vertices(scaled_rows(lp, case["opt"]), len(case["c"]))
    values = A * Simplex(lp.public().form, case["opt"]).vertices
    assert np.isfinite(table).all()
    assert np.ptp(table, axis=1).max() <= 2 * (1 + 1e-12)
    assert np.abs(table).max() <= 2 * (1 + 1e-12)
    clearly_varying = np.ptp(values, axis=1) > np.maximum(np.abs(values).max(axis=1) / 31, 1e-150)
    np.testing.assert_allclose(np.ptp(table[clearly_varying], axis=1), 2, rtol=1e-12)


@SETTINGS
@given(neighbouring_programs(), st.data())
def test_a_positive_multiple_of_a_row_is_the_same_row(case, data):
    """Scaling (A_i, b_i) changes neither the differences of scores now nor the weights later."""
    (A, b), _ = case["pair"]
    A = np.where(np.abs(A) > 1e3, 1.0, np.where(np.abs(A) < 1e-130, 0.0, A))
    b = np.clip(b, -1e3, 1e3)
    factors = np.array(data.draw(several(st.sampled_from([1.0, 1e-6, 3.0, 0.1, 1e9]), len(b))))
    (now, z), (other, other_z) = (
        selection_round(
            LinearProgram(case["c"], case["storage"](A * factor[:, None]), b * factor),
            *(case["opt"], case["s"], case["history"], 0.5),
        )
        for factor in (np.ones(len(b)), factors)
    )
    np.testing.assert_allclose(other.max() - other, now.max() - now, rtol=0, atol=3e-3)
    np.testing.assert_allclose(other_z, z, rtol=3e-3, atol=2.0**-20)


def test_constant_rows_have_no_part_in_the_game():
    """A row proportional to the costs is the same at every vertex, however hard it is violated."""
    c = np.array([1.0, 2.0, 4.0])
    A = [[5.0, 10.0, 20.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    lp = LinearProgram(c, A, [-1e18, -1e18, 0.5])
    table = violations_at_vertices(scaled_rows(lp, 1.0), 3)
    assert (table[:2] == 0).all()
    assert table[2].tolist() == [1.0, -1.0, -1.0]


def test_right_hand_sides_beyond_the_span_are_clipped():
    lp = program([[1.0, -1.0]] * 3, b=[1e19, -1e19, 0.25])
    table = violations_at_vertices(scaled_rows(lp, 1.0), 2)
    assert table.tolist() == [[0.0, -2.0], [2.0, 0.0], [0.75, -1.25]]


def test_nearly_constant_rows_are_stretched_no_further_than_their_digits_allow():
    """If values differ in the last digit a row stays bounded by 64, and scores keep their accuracy."""
    lp = program([[1e14, np.nextafter(1e14, 2e14)], [1.0, -1.0]])
    now, _ = selection_round(lp, 1.0, 2.0, [], 1.0)
    assert np.abs(now).max() <= 64
    assert np.ptp(violations_at_vertices(scaled_rows(lp, 1.0), 2)[0]) <= 1e-12


@pytest.mark.parametrize(
    "hostile", [[1e-279, 0.0], [0.0, 3e-310], [1e14, -1e14], [-5e-324, 9e14], [1e-250, 1e-300]]
)
@pytest.mark.parametrize("storage", [np.array, sp.csc_array])
def test_no_row_makes_a_number_overflow(hostile, storage):
    """A record may choose any entries that a program accepts."""
    A = storage(np.array([hostile, [1.0, -0.5], [0.0, 1.0]]))
    for tiny_cost in (1e-15, 1e-30, 1e-90):
        lp = LinearProgram([1.0, tiny_cost], A, [1e-300, 1.0, 1.0])
        assert all(np.isfinite(p).all() for p in selection_round(lp, 1.0, 2.0, [0, 1, 1], 2.0))
        assert np.abs(violations_at_vertices(scaled_rows(lp, 1.0), 2)).max() <= 2 * (1 + 1e-12)


@SETTINGS
@given(neighbouring_programs())
def test_rows_within_declared_bounds(case):
    """The published scaling: rows beyond the bounds are scaled down."""
    a, a_b = 2.0, 5.0
    scores = []
    for A, b in case["pair"]:
        lp = LinearProgram(case["c"], case["storage"](A), b)
        simplex = Simplex(lp.public().form, case["opt"])
        rows = lp.rows().keep(partial(rows_within_bounds, simplex, a, a_b))
        largest = a * simplex.vertices.max()
        table = violations_at_vertices(rows, len(case["c"]))
        assert np.abs(table).max() <= (largest + a_b) * (1 + 1e-12)
        fits = (np.abs(A) <= a).all(axis=1) & (np.abs(b) <= a_b)
        plain = (A * simplex.vertices - b[:, None])[fits]
        np.testing.assert_allclose(table[fits], plain, rtol=1e-12, atol=1e-12 * largest)
        scores.append(rows.total(RowsOnSimplex.scores, project(np.zeros(len(b)), case["s"])))
    assert np.abs(scores[0] - scores[1]).max() <= 2 * largest / case["s"] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("relation", "groups", "k"),
    [
        (ConstraintPrivate(), None, 1),
        (ConstraintPrivate(rows_per_record=3), None, 3),
        (ConstraintPrivate(), [0, 0, *range(1, 11)], 2),
        (ConstraintPrivate("add-remove", rows_per_record=2, nominal_n=20), None, 2),
    ],
)
def test_solve_charges_the_sensitivity_of_the_lemma(relation, groups, k):
    """Tight: W = 2 whatever A, b and the costs are."""
    A = 50 * np.random.default_rng(1).uniform(-1, 1, (12, 3))
    lp = LinearProgram([1.0, 0.1, 2.0], A, np.ones(12), neighbours=relation, groups=groups)
    for s in (2.0, 5.5):
        ask = partial(solve, lp, 1.0, 1e-4, s=s, alpha=500.0, opt=4.0, rng=0)
        tight, published = ask(method="dmw"), ask(method="dmw-published", width=3.0)
        assert tight.privacy.entries[0].sensitivity == 2 * min(1, k / s)
        sensitivity = published.privacy.entries[0].sensitivity
        assert sensitivity == pytest.approx(3 * 3.0 * 40.0 * k / s)
