"""Standard form: what goes in comes out again, and no row changes its owner or its meaning."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.problem import standard_form
from privlp.problem.standard_form import StandardForm, row_by_row, rows_times
from privlp.regions.simplex import Simplex
from privlp.rows.program_rows import RowBlock
from tests.effort import examples

INF = np.inf
PROPERTY = settings(deadline=None, max_examples=examples(80))

QUARTERS = st.integers(-12, 12).map(lambda k: k / 4)
SIZES = st.integers(0, 12).map(lambda k: k / 4)


@st.composite
def variable_bounds(draw):
    kind = draw(st.sampled_from(["non-negative", "lower", "upper", "free", "fixed", "boxed"]))
    low = draw(QUARTERS)
    return {
        "non-negative": (0.0, None),
        "lower": (low, None),
        "upper": (None, low),
        "free": (None, None),
        "fixed": (low, low),
        "boxed": (low, low + 0.25 + draw(SIZES)),
    }[kind]


@st.composite
def row_ends(draw):
    kind = draw(st.sampled_from(["<=", ">=", "==", "range", "free"]))
    low = draw(QUARTERS)
    return {
        "<=": (-INF, low),
        ">=": (low, INF),
        "==": (low, low),
        "range": (low, low + 0.25 + draw(SIZES)),
        "free": (-INF, INF),
    }[kind]


@st.composite
def programs(draw):
    """Programs with every kind of bound, row and owner, dense and sparse, for minimisation and maximisation."""
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))

    def vector(size):
        return np.array(draw(st.lists(QUARTERS, min_size=size, max_size=size)))

    def flags(size):
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))

    matrix = vector(n * d).reshape(n, d)
    if draw(st.booleans()):
        matrix[flags(n * d).reshape(n, d)] = 0.0
    plain = draw(st.booleans())
    kinds = st.tuples(st.just(-INF), QUARTERS) if plain else row_ends()
    lower, upper = np.array(draw(st.lists(kinds, min_size=n, max_size=n))).T
    return LinearProgram(
        vector(d),
        draw(st.sampled_from([np.array, sp.csr_array, sp.coo_array]))(matrix),
        upper,
        row_lower=lower,
        bounds=draw(st.lists(variable_bounds(), min_size=d, max_size=d)),
        private=None if plain and draw(st.booleans()) else flags(n),
        sense=draw(st.sampled_from(["min", "max"])),
        offset=draw(QUARTERS),
    )


@st.composite
def points(draw):
    """A program and a point u of its standard form."""
    lp = draw(programs())
    form = StandardForm.of(lp)
    u = [min(draw(SIZES), upper) for upper in form.upper]
    return lp, form, np.array(u)


def dense_rows(form):
    """A', column by column from what a step along u_j does to the user's rows."""
    start = form.undo(np.zeros(len(form.column)))
    steps = [form.lp.A @ (form.undo(unit) - start) for unit in np.eye(len(form.column))]
    columns = np.array([form.row_sign * step[form.row] for step in steps])
    return columns.reshape(len(form.column), len(form.row)).T


def numbers(data, size):
    return np.array(data.draw(st.lists(QUARTERS, min_size=size, max_size=size)))


@PROPERTY
@given(points())
def test_undo_stays_within_the_bounds(drawn):
    lp, form, u = drawn
    x = form.undo(u)
    assert x.shape == lp.c.shape
    lower, upper = lp.bounds.T
    assert (x >= lower).all()
    assert (x <= upper).all()


@PROPERTY
@given(programs(), st.data())
def test_every_point_within_the_bounds_is_reached(lp, data):
    form = StandardForm.of(lp)
    lower, upper = lp.bounds.T
    x = np.clip(numbers(data, len(lower)), lower, upper)
    steps = np.maximum(form.column_sign * (x - form.shift)[form.column], 0.0)
    assert (steps <= form.upper).all()
    np.testing.assert_array_equal(form.undo(steps), x)


@PROPERTY
@given(points())
def test_cost_is_the_users_objective_in_minimisation_sense(drawn):
    lp, form, u = drawn
    objective = lp.objective(form.undo(u))
    assert form.cost_of(objective) == form.cost @ u
    constant = lp.sign * lp.objective(form.shift)
    assert form.cost @ u + constant == lp.sign * objective


@PROPERTY
@given(points())
def test_private_rows_keep_their_meaning(drawn):
    lp, form, u = drawn
    activity = lp.A @ form.undo(u)
    above, below = activity - lp.b, lp.row_lower - activity
    expected = np.where(form.row_sign > 0, above[form.row], below[form.row])
    residual = RowBlock(form) @ u - form.rhs
    np.testing.assert_array_equal(residual, expected)
    users = ((activity <= lp.b) & (activity >= lp.row_lower))[lp.private].all()
    assert (residual <= 0).all() == users


@PROPERTY
@given(programs())
def test_every_finite_side_of_a_private_row_appears_once(lp):
    form = StandardForm.of(lp)
    sides = {(int(i), float(sign)) for i, sign in zip(form.row, form.row_sign, strict=True)}
    above = {(i, 1.0) for i in np.flatnonzero(lp.private & np.isfinite(lp.b)).tolist()}
    below = {(i, -1.0) for i in np.flatnonzero(lp.private & np.isfinite(lp.row_lower)).tolist()}
    assert sides == above | below
    assert len(form.row) == form.n_private == len(sides) == lp.sides()[lp.private].sum()
    assert form.has_public_rows == any(lp.sides()[~lp.private])


@PROPERTY
@given(programs())
def test_costs_bounds_and_variables_do_not_depend_on_private_rows(lp):
    public = {"bounds": lp.bounds, "sense": lp.sense, "offset": lp.offset}
    other = LinearProgram(lp.c, np.full(lp.shape, 7.5), np.full(lp.shape[0], 3.0), **public)
    mine, theirs = StandardForm.of(lp), StandardForm.of(other)
    for name in ("column", "column_sign", "shift", "cost", "upper"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)


@PROPERTY
@given(points())
def test_products_agree_with_a_dense_matrix(drawn):
    _, form, u = drawn
    rows, dense = RowBlock(form), dense_rows(form)
    assert rows.shape == dense.shape
    np.testing.assert_array_equal(rows @ u, dense @ u)


@PROPERTY
@given(programs(), st.data())
def test_columns_agree_with_a_dense_matrix(lp, data):
    form = StandardForm.of(lp)
    rows, dense = RowBlock(form), dense_rows(form)
    factor = data.draw(QUARTERS)
    scale, start = numbers(data, len(dense)), numbers(data, len(dense))
    for j in range(dense.shape[1]):
        np.testing.assert_array_equal(rows.column(j), dense[:, j])
        unsigned = form.column_sign[j] * dense[:, j]
        np.testing.assert_array_equal(rows.column(j, signed=False), unsigned)
        out = start.copy()
        rows.add_column(j, factor, scale, out)
        np.testing.assert_array_equal(out, start + factor * scale * dense[:, j])


@PROPERTY
@given(programs(), st.data())
def test_extremes_agree_with_a_dense_matrix(lp, data):
    form = StandardForm.of(lp)
    if len(form.column) == 0:  # all variables are fixed
        return
    factors = numbers(data, len(form.column))
    scaled = dense_rows(form) * factors
    low, high = RowBlock(form).extremes(factors)
    np.testing.assert_array_equal(low, scaled.min(axis=1))
    np.testing.assert_array_equal(high, scaled.max(axis=1))


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
@pytest.mark.parametrize("private", [None, [0]])
def test_the_operator_changes_neither_its_arguments_nor_the_program(storage, private):
    matrix = np.array([[1.0, 2.0], [0.0, 4.0]])
    fields = {"bounds": (None, None), "private": private}
    lp = LinearProgram([1.0, 1.0], storage(matrix), [1.0, 2.0], **fields)
    rows = RowBlock(StandardForm.of(lp))
    z, factors = np.arange(rows.shape[0]) + 1.0, np.array([1.0, -2.0, 3.0, -4.0])
    u = np.array([1.0, 2.0, 3.0, 4.0])
    before = [a.copy() for a in (z, factors, u)]
    rows.extremes(factors)
    rows.add_column(1, 2.0, z, np.zeros(len(z)))
    assert (rows @ u).shape == z.shape
    for given_array, copy in zip((z, factors, u), before, strict=True):
        np.testing.assert_array_equal(given_array, copy)
    for column in (rows.column(j, signed=signed) for j in range(4) for signed in (True, False)):
        if column.flags.writeable:
            column[:] = 5.0
    np.testing.assert_array_equal(lp.A.toarray() if lp.is_sparse else lp.A, matrix)


def test_each_kind_of_bound():
    bounds = [(1, None), (None, 2), (None, None), (3, 3), (-1, 4)]
    lp = LinearProgram([1.0, 2.0, 3.0, 4.0, 5.0], [[1.0] * 5], [10.0], bounds=bounds, offset=0.5)
    form = StandardForm.of(lp)
    np.testing.assert_array_equal(form.shift, [1, 2, 0, 3, -1])
    np.testing.assert_array_equal(form.undo(np.zeros(5)), [1, 2, 0, 3, -1])
    signs = zip(form.column.tolist(), form.column_sign.tolist(), strict=True)
    found = dict(zip(signs, zip(form.cost, form.upper, strict=True), strict=True))
    free = {(2, 1.0): (3, INF), (2, -1.0): (-3, INF)}
    assert found == free | {(0, 1.0): (1, INF), (1, -1.0): (-2, INF), (4, 1.0): (5, 5)}
    assert form.rhs.tolist() == [10 - (1 + 2 + 3 - 1)]
    assert form.cost_of(lp.objective(form.shift)) == 0.0


@pytest.mark.parametrize(
    ("relation", "expected"),
    [(ConstraintPrivate(), 4), (ConstraintPrivate("add-remove", 2, nominal_n=1000), 1000)],
)
def test_formulas_use_the_public_number_of_rows(relation, expected):
    fields = {"row_lower": [-INF, 2.0, -INF], "neighbours": relation}
    lp = LinearProgram([1.0], [[1.0]] * 3, [1.0, 2.0, 3.0], **fields)
    assert relation.public_rows(StandardForm.of(lp)) == expected


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_nothing_private_is_shown(storage):
    planted = 0.123454321
    lp = LinearProgram([1.0], storage([[planted]]), [planted], bounds=(2, None))
    form = StandardForm.of(lp)
    shown = repr(form) + str(RowBlock(form))
    assert form.rhs == [planted - 2 * planted]
    assert "12345" not in shown


def test_the_matrix_is_not_copied():
    fields = {"bounds": (None, None), "private": np.arange(200)}
    lp = LinearProgram(np.ones(50), np.ones((400, 50)), np.ones(400), **fields)
    rows = RowBlock(StandardForm.of(lp))
    held = [value for value in vars(rows).values() if isinstance(value, np.ndarray)]
    assert held
    assert all(np.shares_memory(value, lp.A) for value in held if value.size >= lp.A.size)


@PROPERTY
@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6), st.floats(0.0, 1.0))
def test_undo_is_accurate_to_rounding(lower, width, share):
    lp = LinearProgram([1.0], [[1.0]], [0.0], bounds=(lower, lower + width))
    form = StandardForm.of(lp)
    if len(form.column) == 0:
        assert form.undo(np.array([])) == [lower]
        return
    u = form.upper * share
    exact = Fraction(lower) + Fraction(float(u[0]))
    error = abs(Fraction(float(form.undo(u)[0])) - exact)
    assert error <= Fraction(2) ** -52 * (abs(Fraction(lower)) + abs(exact))


def shifted_program(n, storage):
    """Rows whose right-hand side is moved by a sum of huge cancelling terms."""
    fixed = np.random.default_rng(1).uniform(-9e14, 9e14, 7)
    row = np.r_[1e-3, -1e-3, 0.0, fixed, -fixed.sum() / 8]
    bounds = [(0, None)] * 3 + [(1, 1)] * 8
    costs = np.r_[1.0, 1.0, 1.0, np.zeros(8)]
    return LinearProgram(costs, storage(np.tile(row, (n, 1))), np.zeros(n), bounds=bounds)


@pytest.mark.parametrize("storage", [np.array, sp.csc_array])
def test_a_right_hand_side_does_not_depend_on_the_number_of_rows(storage):
    """BLAS rounds the last rows of a dense matrix differently."""
    values = [StandardForm.of(shifted_program(n, storage)).rhs for n in range(36, 45)]
    assert len({value for rhs in values for value in rhs.tolist()}) == 1


def test_all_variables_fixed_is_told():
    lp = LinearProgram([1.0], [[1.0]], [1.0], bounds=(1, 1))
    with pytest.raises(privlp.UnsupportedProblemError, match="every variable is fixed"):
        Simplex(StandardForm.of(lp), 5.0)


# Products of rows: each depends on its row alone, to the last bit.

LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "single": lambda A: A.astype(np.float32),
    "every other": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "backwards": lambda A: A[::-1].copy()[::-1],
    "out of place": lambda A: np.frombuffer(b"0" + A.tobytes(), offset=1).reshape(A.shape),
    "other bytes": lambda A: A.astype(A.dtype.newbyteorder()),
    "sparse": sp.csr_array,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 10, 33, 80, 1000])
def test_a_product_of_a_row_depends_on_that_row_alone(layout, columns, monkeypatch):
    """In parts of any size, from any row on, beside any other rows, in every layout."""
    rng = np.random.default_rng(columns)
    A = rng.normal(size=(29, columns)).astype(np.float32).astype(float)
    A[:, ::3] = np.where(rng.random(A[:, ::3].shape) < 0.3, -0.0, A[:, ::3])
    x, matrix = rng.normal(size=columns), rng.normal(size=(columns, 4))
    placed = LAYOUTS[layout](A)
    whole, several = row_by_row(placed, x), rows_times(placed, matrix)
    assert whole == pytest.approx(A @ x, rel=1e-9, abs=1e-12)
    assert several == pytest.approx(A @ matrix, rel=1e-9, abs=1e-12)
    if layout != "sparse":
        np.testing.assert_array_equal(whole, row_by_row(A, x))
        np.testing.assert_array_equal(several, rows_times(A, np.asfortranarray(matrix)))
    for first in range(29):
        for last in (first + 1, 29):
            some = placed[first:last]
            np.testing.assert_array_equal(row_by_row(some, x), whole[first:last])
            np.testing.assert_array_equal(rows_times(some, matrix), several[first:last])
    others = rng.normal(size=A.shape)
    others[11] = A[11]
    assert row_by_row(LAYOUTS[layout](others), x)[11] == whole[11]
    for entries in (1, 5 * columns):
        monkeypatch.setattr(standard_form, "_ENTRIES_AT_A_TIME", entries)
        np.testing.assert_array_equal(row_by_row(placed, x), whole)


def by_blas(how, rows, factor):
    """Rounds the last row of three otherwise, as a library may."""
    found = np.asarray(rows @ factor)
    found[len(found) // 3 * 3 :] *= 1 + 2.0**-50
    return found


@pytest.mark.parametrize("columns", [2, 80])
def test_where_products_of_rows_depend_on_others_sums_are_taken(columns, monkeypatch):
    A, x = np.random.default_rng(0).normal(size=(50, columns)), np.ones(columns)
    standard_form.goes_by_rows.cache_clear()
    assert standard_form.goes_by_rows(columns)
    standard_form.goes_by_rows.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(np, "einsum", by_blas)
        assert not standard_form.goes_by_rows(columns)
        np.testing.assert_array_equal(row_by_row(A, x), (A * x).sum(axis=1))
        both = np.column_stack([x, 2 * x])
        np.testing.assert_array_equal(rows_times(A, both)[:, 1], 2 * (A * x).sum(axis=1))
    standard_form.goes_by_rows.cache_clear()
