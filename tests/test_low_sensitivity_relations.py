"""Low-sensitivity relations."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import (
    ColumnPrivate,
    ConstraintPrivate,
    LinearProgram,
    ObjectivePrivate,
    RowPrivate,
    ScalarPrivate,
)
from privlp.methods.published.multiplicative_weights import MovingRows
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex
from privlp.relations import Combined, LowSensitivity
from privlp.relations.numbers import ProgramNumbers
from tests.effort import examples
from tests.programs import method_of, methods_for

SETTINGS = settings(deadline=None, max_examples=examples(120))
INF = float("inf")
ROUNDING = 1e-12

RELATIONS = {
    "scalar inf": (ScalarPrivate(0.3),),
    "scalar 1": (ScalarPrivate(0.3, norm="1"),),
    "row": (RowPrivate(0.2),),
    "column": (ColumnPrivate(0.25),),
    "objective": (ObjectivePrivate(0.4),),
    "row and column": (RowPrivate(0.2), ColumnPrivate(0.25)),
    "row, scalar and objective": (RowPrivate(0.2), ScalarPrivate(0.3), ObjectivePrivate(0.4)),
    "column and scalar 1": (ColumnPrivate(0.25), ScalarPrivate(0.3, norm="1")),
    "all four": (ObjectivePrivate(0.4), ColumnPrivate(0.25), RowPrivate(0.2), ScalarPrivate(0.3)),
}
KINDS = [ScalarPrivate, RowPrivate, ColumnPrivate, ObjectivePrivate]
relation_names = pytest.mark.parametrize("name", RELATIONS)


# random neighbours

ROW_KINDS = ["<=", "<=", ">=", "range", "equality", "free"]
BOUNDS = [(0, None), (0, None), (1.5, None), (-1, 2), (0.7, 0.7), (None, 0), (None, None), (-2, -1)]


@st.composite
def numbers_of_a_program(draw):
    """A, both sides of every row, costs, bounds and private rows, with a generator for all else."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    kinds = draw(st.lists(st.sampled_from(ROW_KINDS), min_size=n, max_size=n))
    A = rng.uniform(-1, 1, (n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.4, 1.0])))
    low, high = rng.uniform(-2, 0, n), rng.uniform(2, 4, n)
    for i, kind in enumerate(kinds):
        low[i] = {"<=": -INF, "free": -INF, "equality": high[i]}.get(kind, low[i])
        high[i] = {">=": INF, "free": INF}.get(kind, high[i])
    private = np.array(draw(st.lists(st.sampled_from([True, True, False]), min_size=n, max_size=n)))
    program = {
        "A": A,
        "b": high,
        "row_lower": low,
        "c": rng.uniform(0.5, 2, d) * rng.choice([-1, 1], d),
        "bounds": draw(st.lists(st.sampled_from(BOUNDS), min_size=d, max_size=d)),
        "private": private,
        "sparse": draw(st.booleans()),
    }
    return program, rng


def linear_program(program, neighbours, **changed):
    fields = {**program, **changed}
    A = sp.csc_array(fields.pop("A")) if fields.pop("sparse") else fields.pop("A")
    return LinearProgram(fields.pop("c"), A, fields.pop("b"), neighbours=neighbours, **fields)


def movement(rng, shape, sensitivity, *, in_sum=False):
    """Changes of at most the sensitivity each, or in sum, the extreme ones included."""
    change = rng.choice([-1.0, 1.0], shape) if rng.random() < 0.5 else rng.uniform(-1, 1, shape)
    if in_sum and change.size:
        share = rng.dirichlet(np.full(change.size, rng.choice([0.05, 1.0])))
        change = change * share.reshape(shape)
    return sensitivity * change


def movable(part, program):
    """Entries of A that may change: those of private rows whose declared range is no point."""
    return (
        np.broadcast_to(part.lower < part.upper, program["A"].shape) & program["private"][:, None]
    )


def neighbour_of(program, parts, rng):
    """The program after a change of every given kind."""
    other = {name: np.array(program[name], dtype=float) for name in ("A", "b", "row_lower", "c")}
    private = np.flatnonzero(program["private"])
    for part in parts:
        if isinstance(part, ObjectivePrivate):
            other["c"] += movement(rng, len(other["c"]), part.sensitivity, in_sum=True)
        elif isinstance(part, ScalarPrivate):
            equal = program["b"] == program["row_lower"]
            above = np.flatnonzero(program["private"] & np.isfinite(program["b"]))
            below = np.flatnonzero(program["private"] & np.isfinite(program["row_lower"]) & ~equal)
            change = movement(
                rng, len(above) + len(below), part.sensitivity, in_sum=part.norm == "1"
            )
            other["b"][above] += change[: len(above)]
            other["row_lower"][below] += change[len(above) :]
            other["row_lower"][equal] = other["b"][equal]
        elif private.size:
            change = np.zeros_like(other["A"])
            place = (
                rng.choice(private)
                if isinstance(part, RowPrivate)
                else (private, rng.integers(change.shape[1]))
            )
            change[place] = movement(rng, change[place].shape, part.sensitivity)
            other["A"] += change * movable(part, program)
    return {**program, **other}


def pair(program, parts, rng):
    neighbours = parts[0] if len(parts) == 1 else parts
    return tuple(
        StandardForm.of(linear_program(p, neighbours))
        for p in (program, neighbour_of(program, parts, rng))
    )


def violations(form, x):
    """Of all private ``<=`` rows, in the user's units."""
    return form.row_sign * (form.lp.A @ x)[form.row] - ProgramNumbers.of(form).rhs


def values_of(form, numbers):
    """The private numbers that a program holds at given places."""
    return ProgramNumbers.of(form).values(numbers)


def public_point(rng, d):
    return rng.normal(size=d) * rng.choice([0.0, 1.0, 1.0], d) * rng.choice([0.1, 1.0, 30.0])


# no pair moves further


@relation_names
def test_private_numbers_move_no_further_than_stated(name):
    @SETTINGS
    @given(numbers_of_a_program())
    def check(case):
        program, rng = case
        one, other = pair(program, RELATIONS[name], rng)
        relation = one.lp.neighbours
        for first, second in zip(
            relation.private_numbers(one), relation.private_numbers(other), strict=True
        ):
            assert first.part == second.part
            assert all(np.array_equal(a, b) for a, b in zip(first.at, second.at, strict=True))
            assert (first.l1, first.l2) == (second.l1, second.l2)
            moved = np.abs(values_of(one, first) - values_of(other, second))
            assert moved.sum() <= first.l1 + ROUNDING
            assert np.linalg.norm(moved) <= first.l2 + ROUNDING
            assert first.l2 <= first.l1

    check()


@relation_names
def test_violations_move_no_further_than_stated(name):
    @SETTINGS
    @given(numbers_of_a_program(), st.booleans())
    def check(case, every_row):
        program, rng = case
        forms = [
            StandardForm.of(form.lp, every_row=every_row)
            for form in pair(program, RELATIONS[name], rng)
        ]
        if not len(forms[0].row):
            return
        x = public_point(rng, len(program["c"]))
        change = (
            np.ptp(violations(forms[0], x) - violations(forms[1], x))
            if len(forms[0].row) > 1
            else 0.0
        )
        for form in forms:
            assert change <= form.lp.neighbours.violation_change(form)(x)

    check()


@relation_names
def test_rows_move_no_further_than_stated(name):
    @SETTINGS
    @given(numbers_of_a_program())
    def check(case):
        program, rng = case
        one, other = pair(program, RELATIONS[name], rng)
        relation, scale = one.lp.neighbours, public_point(rng, len(program["c"]))
        A, B = (form.lp.A.toarray() if program["sparse"] else form.lp.A for form in (one, other))
        l1, l2 = relation.row_change(one, scale)
        assert (l1, l2) == relation.row_change(other, scale)
        moved = np.abs((A - B) * scale)[one.lp.sides() > 0]
        assert moved.sum(axis=1).max(initial=0) <= l1 + ROUNDING * 100
        assert np.sqrt((moved**2).sum(axis=1)).max(initial=0) <= l2 + ROUNDING * 100
        moved_entries = {(i, j) for i, j in np.argwhere(A != B) if one.lp.sides()[i]}
        private = {
            at
            for part in relation.private_numbers(one)
            if part.part == "A"
            for at in zip(*part.at, strict=True)
        }
        assert moved_entries <= private

    check()


@relation_names
def test_bounds_that_a_relation_need_not_state_are_no_smaller(name):
    """The bounds that follow from the private numbers alone."""

    @SETTINGS
    @given(numbers_of_a_program())
    def check(case):
        program, rng = case
        form, _ = pair(program, RELATIONS[name], rng)
        lp, relation, x = form.lp, form.lp.neighbours, public_point(rng, len(program["c"]))
        if not len(StandardForm.of(lp).row):
            return
        for form in (StandardForm.of(lp), StandardForm.of(lp, every_row=True)):
            bounds = [
                (kind.violation_span(relation, form)(x), *kind.row_change(relation, form, x))
                for kind in (type(relation), LowSensitivity)
            ]
            stated, default = map(np.array, bounds)
            assert (stated <= default * (1 + 1e-4)).all()  # a tuple counts roundings twice

    check()


@pytest.mark.parametrize("name", sorted(RELATIONS))
def test_stated_bounds_are_the_same_for_both_neighbours(name):
    """A sensitivity that followed private numbers would itself give them away."""

    @SETTINGS
    @given(numbers_of_a_program())
    def check(case):
        program, rng = case
        one, other = pair(program, RELATIONS[name], rng)
        relation, x = one.lp.neighbours, public_point(rng, len(program["c"]))
        if len(one.row):
            assert relation.violation_change(one)(x) == relation.violation_change(other)(x)
        assert relation.public_rows(one) == relation.public_rows(other)
        assert relation.records(one) == relation.records(other)
        assert one.lp.public() == other.lp.public()

    check()


@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
def test_declared_public_entries_do_not_count(kind):
    """With random entries whose ends meet."""

    @SETTINGS
    @given(numbers_of_a_program())
    def check(case):
        program, rng = case
        A = program["A"]
        fixed = rng.random(A.shape) < 0.5
        relation = kind(0.2, lower=np.where(fixed, A, -2.0), upper=np.where(fixed, A, 2.0))
        one, other = pair(program, (relation,), rng)
        constrains = program["private"] & (
            np.isfinite(program["b"]) | np.isfinite(program["row_lower"])
        )
        count = (~fixed & constrains[:, None]).sum(axis=1 if kind is RowPrivate else 0).max()
        if count == 0:
            assert relation.private_numbers(one) == []
            return
        (first,), (second,) = relation.private_numbers(one), relation.private_numbers(other)
        assert first.l1 == pytest.approx(0.2 * count)
        assert first.l2 == pytest.approx(0.2 * math.sqrt(count))
        assert np.abs(values_of(one, first) - values_of(other, second)).sum() <= first.l1 + ROUNDING
        x = public_point(rng, A.shape[1])
        change = violations(one, x) - violations(other, x)
        assert np.ptp(
            np.append(change, 0.0) if kind is RowPrivate else change
        ) <= relation.violation_change(one)(x)
        l1, l2 = relation.row_change(one, x)
        moved = sp.csr_array(np.abs((other.lp.A - one.lp.A) * x))[constrains]
        assert moved.sum(axis=1).max() <= l1 + ROUNDING * 100
        assert np.sqrt((moved**2).sum(axis=1)).max() <= l2 + ROUNDING * 100

    check()


@SETTINGS
@given(numbers_of_a_program(), st.sampled_from([1e3, 1e6, 1e9]))
def test_rounding_of_large_right_hand_sides_is_within_the_bound(case, size):
    program, rng = case
    shift = np.round(size * rng.uniform(1, 3, len(program["b"])))
    large = {**program, "b": program["b"] + shift, "row_lower": program["row_lower"] + shift}
    for parts in (RELATIONS["scalar inf"], RELATIONS["row"], RELATIONS["column"]):
        one, other = pair(large, parts, rng)
        if len(one.row) > 1:
            x = public_point(rng, len(program["c"]))
            change = np.ptp(violations(one, x) - violations(other, x))
            assert change <= one.lp.neighbours.violation_change(one)(x)


# some pair moves as far

A_FULL = np.array([[0.5, -1.0, 0.25], [1.0, 0.5, -0.75], [-0.5, 0.25, 1.0], [0.1, 0.2, 0.3]])
PLAIN = {
    "A": A_FULL,
    "b": np.array([1.0, 2.0, 3.0, 4.0]),
    "row_lower": np.full(4, -INF),
    "c": np.array([1.0, 2.0, 0.5]),
    "bounds": (0, None),
    "private": np.array([True, True, True, False]),
    "sparse": False,
}
X = np.array([2.0, -3.0, 0.5])


def forms_of(relation, **changed):
    return [StandardForm.of(linear_program(p, relation)) for p in (PLAIN, {**PLAIN, **changed})]


def moves(forms, x=X):
    """L1 and L2 change of the private numbers, span of the change of violations, as shares of the stated bounds."""
    relation, found = forms[0].lp.neighbours, {}
    for first, second in zip(*(relation.private_numbers(form) for form in forms), strict=True):
        moved = np.abs(values_of(forms[0], first) - values_of(forms[1], second))
        found[f"{first.part} l1"] = moved.sum() / first.l1
        found[f"{first.part} l2"] = np.linalg.norm(moved) / first.l2
    span = np.ptp(violations(forms[0], x) - violations(forms[1], x))
    found["violations"] = span / max(relation.violation_change(forms[0])(x), 1e-300)
    l1, l2 = relation.row_change(forms[0], x)
    if l1:
        moved = np.abs(forms[0].lp.A - forms[1].lp.A) * np.abs(x)
        found["row l1"] = moved.sum(axis=1).max() / l1
        found["row l2"] = np.linalg.norm(moved, axis=1).max() / l2
    return found


def row_step(size, row=0, x=X):
    change = np.zeros((4, 3))
    change[row] = size * np.where(x < 0, -1.0, 1.0)
    return change


def column_step(size, column=1, x=X):
    """Up in the first private row, down in the others."""
    change = np.zeros((4, 3))
    change[:3, column] = size * np.array([1.0, -1.0, -1.0]) * np.sign(x[column])
    return change


def attained(shares, *expected):
    for name in expected:
        assert 0.9 <= shares.pop(name) <= 1 + ROUNDING, name
    return shares


def test_scalar_bounds_are_attained():
    forms = forms_of(ScalarPrivate(0.3), b=PLAIN["b"] + [0.3, -0.3, 0.3, 0])
    assert attained(moves(forms), "b l1", "b l2", "violations") == {}


def test_scalar_bounds_in_sum_are_attained():
    """All of it on one number for the norms."""
    for change in ([0.3, 0, 0, 0], [0.0, 0.0, -0.3, 0]):
        assert (
            attained(
                moves(forms_of(ScalarPrivate(0.3, norm="1"), b=PLAIN["b"] + change)),
                "b l1",
                "b l2",
                "violations",
            )
            == {}
        )
    halves = moves(forms_of(ScalarPrivate(0.3, norm="1"), b=PLAIN["b"] + [0.15, -0.15, 0, 0]))
    attained(halves, "b l1", "violations")


def test_a_private_equality_shows_one_number_in_two_rows():
    low = np.array([1.0, -INF, -INF, -INF])
    for norm in ("1", "inf"):
        forms = [
            StandardForm.of(
                linear_program(
                    PLAIN, ScalarPrivate(0.3, norm=norm), b=b, row_lower=np.append(b[0], low[1:])
                )
            )
            for b in (PLAIN["b"], PLAIN["b"] + [0.3, 0, 0, 0])
        ]
        attained(moves(forms), "violations")
        assert len(forms[0].lp.neighbours.private_numbers(forms[0])[0]) == 3


def test_row_bounds_are_attained():
    forms = forms_of(RowPrivate(0.2, lower=-9, upper=9), A=A_FULL + row_step(0.2))
    assert attained(moves(forms), "A l1", "A l2", "violations", "row l1", "row l2") == {}


def test_row_bounds_of_two_sided_rows_are_attained():
    relation = RowPrivate(0.2, lower=-9, upper=9)
    low = np.array([-5.0, -INF, -INF, -INF])
    forms = [
        StandardForm.of(linear_program(PLAIN, relation, A=A, row_lower=low))
        for A in (A_FULL, A_FULL + row_step(0.2))
    ]
    attained(moves(forms), "violations")


def test_column_bounds_are_attained():
    forms = forms_of(ColumnPrivate(0.25, lower=-9, upper=9), A=A_FULL + column_step(0.25))
    assert attained(moves(forms), "A l1", "A l2", "violations", "row l1", "row l2") == {}


def test_objective_bounds_are_attained():
    forms = forms_of(ObjectivePrivate(0.4), c=PLAIN["c"] + [0, -0.4, 0])
    shares = attained(moves(forms), "c l1", "c l2")
    assert shares == {"violations": 0.0}
    assert forms[0].lp.neighbours.violation_change(forms[0])(X) < 1e-12


def test_sums_of_row_and_column_changes_are_attained():
    """The L2 bounds are sums as well."""
    relation = (RowPrivate(0.2, lower=-9, upper=9), ColumnPrivate(0.25, lower=-9, upper=9))
    forms = forms_of(relation, A=A_FULL + row_step(0.2) + column_step(0.25))
    shares = attained(moves(forms), "A l1", "violations", "row l1")
    assert all(share <= 1 for share in shares.values())
    x = np.array([0.01, -3.0, 0.01])
    narrow = [np.where(np.eye(4, 3)[[1, 3, 3, 3]] > 0, end, A_FULL) for end in (-9, 9)]
    relation = (
        RowPrivate(0.2, lower=narrow[0], upper=narrow[1]),
        ColumnPrivate(0.25, lower=narrow[0], upper=narrow[1]),
    )
    change = np.zeros((4, 3))
    change[0, 1] = 0.45
    attained(moves(forms_of(relation, A=A_FULL + change), x), "A l1", "A l2", "row l1", "row l2")


def test_sums_of_row_scalar_and_objective_changes_are_attained():
    relation = (RowPrivate(0.2, lower=-9, upper=9), ScalarPrivate(0.3), ObjectivePrivate(0.4))
    change = {
        "A": A_FULL + row_step(0.2),
        "b": PLAIN["b"] + [-0.3, 0.3, 0.3, 0],
        "c": PLAIN["c"] + [0.4, 0, 0],
    }
    everything = ("A l1", "A l2", "b l1", "b l2", "c l1", "c l2", "violations", "row l1", "row l2")
    assert attained(moves(forms_of(relation, **change)), *everything) == {}


def test_sums_of_column_and_scalar_changes_are_attained():
    relation = (ColumnPrivate(0.25, lower=-9, upper=9), ScalarPrivate(0.3))
    change = {"A": A_FULL + column_step(0.25), "b": PLAIN["b"] + [-0.3, 0.3, 0.3, 0]}
    attained(
        moves(forms_of(relation, **change)),
        "A l1",
        "A l2",
        "b l1",
        "b l2",
        "violations",
        "row l1",
        "row l2",
    )


# the change of variables


@st.composite
def simplices(draw):
    """Costs c > 0, V, and points of K = {x >= 0, c·x = V}, its vertices among them."""
    d = draw(st.integers(1, 6))
    c = np.array(draw(st.lists(st.floats(0.01, 100), min_size=d, max_size=d)))
    V = draw(st.sampled_from([0.02, 1.0, 300.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = np.vstack([np.eye(d), rng.dirichlet(np.full(d, 0.3), 10)])
    return c, V, shares * V / c, rng


@SETTINGS
@given(simplices())
def test_a_private_row_after_the_change_of_variables(case):
    """A row A'_ij = V A_ij/c_j moves by D V sqrt(sum c_j^-2) in L2, a score by at most D V / min c_j: both are attained."""
    c, V, points, rng = case
    D, n = 0.2, 3
    A, relation = rng.uniform(-1, 1, (n, len(c))), RowPrivate(D, lower=-1, upper=1)
    form = StandardForm.of(LinearProgram(c, A, np.zeros(n), neighbours=relation))
    assert form.lp.neighbours.row_change(form, V / c)[1] == pytest.approx(
        D * V * math.sqrt((c**-2.0).sum())
    )
    assert max(relation.violation_change(form)(x) for x in points) == pytest.approx(
        D * V / c.min(), rel=1e-12
    )
    assert np.linalg.norm(D * V / c) == pytest.approx(relation.row_change(form, V / c)[1])


@SETTINGS
@given(simplices())
def test_a_private_column_after_the_change_of_variables(case):
    """One entry of a row moves, by at most D' = D V / min c_j, and so does a score."""
    c, V, points, rng = case
    D, n = 0.25, 3
    relation = ColumnPrivate(D, lower=-1, upper=1)
    form = StandardForm.of(
        LinearProgram(c, rng.uniform(-1, 1, (n, len(c))), np.zeros(n), neighbours=relation)
    )
    most = D * V / c.min()
    assert form.lp.neighbours.row_change(form, V / c) == pytest.approx((most, most))
    changes = [relation.violation_change(form)(x) for x in points]
    assert max(changes) == pytest.approx(2 * most, rel=1e-12)


@SETTINGS
@given(simplices())
def test_a_private_right_hand_side_is_left_alone_by_the_change_of_variables(case):
    c, _, points, rng = case
    A, b = rng.uniform(-1, 1, (3, len(c))), np.ones(3)
    for norm, span in (("inf", 0.6), ("1", 0.3)):
        form = StandardForm.of(
            LinearProgram(c, A, b, neighbours=ScalarPrivate(0.3, norm=norm, lower=-2, upper=2))
        )
        assert [form.lp.neighbours.violation_change(form)(x) for x in points] == pytest.approx(
            [span] * len(points)
        )


# declared ranges


def small(neighbours, **fields):
    return LinearProgram(
        [1.0, 2.0], [[-1.0, -2.0], [-3.0, 0.0]], [-1.0, -2.0], neighbours=neighbours, **fields
    )


def moving_rows(lp, opt):
    """What multiplicative weights knows of the rows of a program."""
    return MovingRows(lp.neighbours, Simplex(StandardForm.of(lp, every_row=True), opt))


def numbers(neighbours, **fields):
    lp = small(neighbours, **fields)
    return lp.neighbours.private_numbers(StandardForm.of(lp))


RANGES = {
    "scalars": (-5, 0.5),
    "one per row": ([-5, -6], [0.5, 0.0]),
    "numpy scalars": (np.float64(-5), np.int64(1)),
    "one end": (None, 2),
    "no end": (None, None),
}


@pytest.mark.parametrize("name", RANGES)
def test_declared_ranges_of_right_hand_sides(name):
    lower, upper = RANGES[name]
    (b,) = numbers(ScalarPrivate(1.0, lower=lower, upper=upper))
    assert b.part == "b"
    assert b.low.tolist() == np.broadcast_to(-INF if lower is None else lower, 2).tolist()
    assert b.high.tolist() == np.broadcast_to(INF if upper is None else upper, 2).tolist()


def test_declared_ranges_are_in_the_users_sense():
    """For a >= row the stored ``<=`` row has its sign changed, and its range with it."""
    relation = ScalarPrivate(1.0, lower=[-5, 1, 100], upper=[5, 9, 200])
    lp = LinearProgram(
        [1.0],
        [[1.0], [1.0], [1.0]],
        [4, INF, 3],
        row_lower=[-INF, 2, -INF],
        private=[0, 1],
        neighbours=relation,
    )
    form = StandardForm.of(lp)
    (b,) = relation.private_numbers(form)
    assert (values_of(form, b).tolist(), b.low.tolist(), b.high.tolist()) == (
        [4, -2],
        [-5, -9],
        [5, -1],
    )


@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
@pytest.mark.parametrize(
    "ends",
    [
        pytest.param((-5, 5), id="scalars"),
        pytest.param((np.full((2, 2), -5.0), np.full((2, 2), 5.0)), id="arrays"),
        pytest.param(
            (sp.csr_array(np.full((2, 2), -5.0)), sp.csc_array(np.full((2, 2), 5.0))), id="sparse"
        ),
        pytest.param((-5, sp.coo_matrix((2, 2))), id="scalar and sparse zeros"),
    ],
)
def test_declared_ranges_of_coefficients(kind, ends):
    (A,) = numbers(kind(0.5, lower=ends[0], upper=ends[1]))
    assert (A.low == -5).all()
    assert set(A.high) <= {5.0, 0.0}
    assert (len(A), A.l1, A.l2) == (4, 1.0, pytest.approx(math.sqrt(2) / 2))


@pytest.mark.parametrize("storage", [np.array, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
def test_declared_zeros_are_public(kind, storage):
    lower = storage(np.array([[-5.0, 0.0], [-5.0, 0.0]]))
    lp = LinearProgram(
        [1.0, 2.0],
        storage([[-1.0, 0.0], [-3.0, 0.0]]),
        [-1, -2],
        neighbours=kind(0.5, lower=lower, upper=0),
    )
    form = StandardForm.of(lp)
    (A,) = lp.neighbours.private_numbers(form)
    assert values_of(form, A).tolist() == [-1, -3]
    assert A.l1 == 0.5 * (1 if kind is RowPrivate else 2)
    assert list(zip(*A.at, strict=True)) == [(0, 0), (1, 0)]
    assert lp.neighbours.row_change(form, np.array([2.0, 50.0])) == pytest.approx((1.0, 1.0))
    assert lp.neighbours.violation_change(form)(np.array([0.0, 7.0])) < 1e-10


def test_costs_whose_ends_meet_are_public():
    (c,) = numbers(ObjectivePrivate(0.5, lower=[0, 2], upper=[3, 2]))
    assert (c.part, c.at[0].tolist(), c.l1, c.l2) == ("c", [0], 0.5, 0.5)
    assert numbers(ObjectivePrivate(0.5, lower=[1, 2], upper=[1, 2])) == []


@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
def test_entries_of_public_rows_need_no_range_and_do_not_count(kind):
    (A,) = numbers(kind(0.5, lower=-4, upper=0), private=[1])
    assert A.at[1].tolist() == [0, 1]
    assert A.at[0].tolist() == [1, 1]
    lp = LinearProgram(
        [1.0, 2.0],
        [[-1e9, -2], [-3, 0]],
        [-1, -2],
        neighbours=kind(0.5, lower=-4, upper=0),
        private=[1],
    )
    lower, upper = moving_rows(lp, 3.0).ranges()
    assert lower.tolist() == [[-1e9, -2], [-4, -4]]
    assert upper.tolist() == [[-1e9, -2], [0, 0]]


def test_ranges_of_coefficients_are_known_only_if_declared():
    for relation in (RowPrivate(0.5), (ScalarPrivate(1.0), ColumnPrivate(0.5, lower=-5))):
        with pytest.raises(privlp.UnsupportedProblemError, match="none was declared"):
            moving_rows(small(relation), 3.0).span_and_spread()
    lp = small(ScalarPrivate(1.0))
    low, high = moving_rows(lp, 3.0).ranges()
    assert low.tolist() == high.tolist() == lp.A.tolist()


def test_ranges_of_a_tuple_are_intersected():
    (A,) = numbers((RowPrivate(0.5, lower=-5, upper=1), ColumnPrivate(0.25, lower=-4, upper=2)))
    assert (set(A.low), set(A.high)) == ({-4.0}, {1.0})
    assert (A.l1, A.l2) == (1.5, pytest.approx(0.75 * math.sqrt(2)))


def test_a_tuple_must_agree_on_what_is_public():
    row = RowPrivate(0.5, lower=[[-5, -5], [-5, 0]], upper=[[0, 0], [0, 0]])
    with pytest.raises(privlp.InvalidParameterError, match="must declare the same entries public"):
        numbers((row, ColumnPrivate(0.25, lower=-4, upper=0)))


def test_declared_arrays_are_copied():
    lower = np.array([-5.0, -5.0])
    relation = ScalarPrivate(1.0, lower=lower)
    lower[:] = 5
    assert relation.lower.tolist() == [-5, -5]
    with pytest.raises(ValueError, match="read-only"):
        relation.lower[0] = 5


# bad input

SOURCE = "Hsu, Roth, Roughgarden and Ullman 2014"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("sensitivity", "message"),
    [
        (0, "sensitivity must be positive and finite, got 0."),
        (-1.5, "sensitivity must be positive and finite, got -1.5."),
        (-INF, "sensitivity must be positive and finite, got -inf."),
        (math.nan, "sensitivity must be positive and finite, got nan."),
        ("0.1", "sensitivity must be a number, got str."),
        (None, "sensitivity must be a number, got NoneType."),
        (True, "sensitivity must be a number, got bool."),
        ([0.1], "sensitivity must be a number, got list."),
    ],
)
def test_bad_sensitivities(kind, sensitivity, message):
    with pytest.raises(privlp.InvalidParameterError, match=f"^{re.escape(message)}$"):
        kind(sensitivity)


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (ScalarPrivate, ["if b may change without bound", SOURCE, "how far one record moves b"]),
        (
            RowPrivate,
            [
                "a row that may change without bound is constraint-private",
                "use ConstraintPrivate()",
            ],
        ),
        (ColumnPrivate, ["if a column of A may change without bound", SOURCE]),
        (ObjectivePrivate, ["if c may change without bound", SOURCE, "how far one record moves c"]),
    ],
)
def test_an_unbounded_change_is_refused_with_the_reason(kind, parts):
    with pytest.raises(
        privlp.InvalidParameterError, match=r"^sensitivity must be finite: "
    ) as caught:
        kind(INF)
    assert all(part in str(caught.value) for part in parts)


def test_sensitivity_may_be_a_numpy_number():
    assert ScalarPrivate(np.float32(0.5)).sensitivity == 0.5
    assert (
        RowPrivate(np.int64(2)).description
        == "row-private: one row of A changes, each entry by at most 2"
    )


@pytest.mark.parametrize("norm", ["2", 2, "one", None, "INF"])
def test_bad_norms(norm):
    with pytest.raises(
        privlp.InvalidParameterError, match=re.escape(f"norm must be 'inf' or '1', got {norm!r}.")
    ):
        ScalarPrivate(1.0, norm=norm)


def test_norms_may_be_numbers():
    assert (ScalarPrivate(1.0, norm=1).norm, ScalarPrivate(1.0, norm=np.inf).norm) == ("1", "inf")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((1, 0), "lower must not exceed upper anywhere"),
        (([0, 3], [1, 2]), "lower must not exceed upper anywhere"),
        ((math.nan, 1), "lower holds NaN"),
        ((0, [1, math.nan]), "upper holds NaN"),
        (("low", 1), "lower must hold real numbers"),
        ((0, ["1", "2"]), "upper must hold real numbers"),
        (([0, 0], [1, 1, 1]), r"lower has shape \(2,\) and upper \(3,\): they must agree"),
    ],
)
def test_bad_ranges(kind, ends, message):
    with pytest.raises(privlp.InvalidParameterError, match=message):
        kind(1.0, lower=ends[0], upper=ends[1])


SHAPES = [
    pytest.param(ScalarPrivate, np.zeros(3), "the right-hand sides of the private rows", id="b"),
    pytest.param(
        ScalarPrivate,
        np.zeros((2, 2)),
        "the right-hand sides of the private rows",
        id="b as a matrix",
    ),
    pytest.param(RowPrivate, np.zeros((3, 2)), "the coefficients of the private rows", id="row"),
    pytest.param(
        ColumnPrivate, np.zeros((2, 3)), "the coefficients of the private rows", id="column"
    ),
    pytest.param(ObjectivePrivate, np.zeros(3), "the costs c", id="c"),
]


@pytest.mark.parametrize(("kind", "upper", "what"), SHAPES)
def test_ranges_of_the_wrong_shape(kind, upper, what):
    message = (
        f"lower and upper must be numbers, or arrays of the shape of {what}; got () and"
        f" {upper.shape} for 2 rows and 2 variables."
    )
    with pytest.raises(privlp.InvalidProblemError, match=re.escape(message)):
        small(kind(1.0, upper=upper))


PLANTED = 0.123454321
PLANTED_PROGRAM = ([1.0, PLANTED], [[-1.0, -PLANTED], [-3.0, 0.0]], [-PLANTED, -2.0])


def assert_no_leak(text):
    assert "12345" not in text.replace("_", "")


OUTSIDE = [
    pytest.param(
        ScalarPrivate, {"lower": 0}, "the right-hand sides of the private rows", id="b below"
    ),
    pytest.param(
        ScalarPrivate, {"upper": [-1, -1]}, "the right-hand sides of the private rows", id="b above"
    ),
    pytest.param(
        RowPrivate, {"lower": -1, "upper": 5}, "the coefficients of the private rows", id="row"
    ),
    pytest.param(ColumnPrivate, {"upper": -1}, "the coefficients of the private rows", id="column"),
    pytest.param(ObjectivePrivate, {"lower": 0.5}, "the costs c", id="c"),
]


@pytest.mark.parametrize(("kind", "ends", "what"), OUTSIDE)
@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_numbers_outside_their_declared_range(kind, ends, what, storage):
    c, A, b = PLANTED_PROGRAM
    with pytest.raises(
        privlp.InvalidProblemError, match=f"Some of {what} lie outside the declared range"
    ) as caught:
        LinearProgram(c, storage(A), b, neighbours=kind(1.0, **ends))
    assert_no_leak(str(caught.value))
    others = tuple(other(1.0) for other in KINDS if other is not kind)
    with pytest.raises(privlp.InvalidProblemError, match=f"Some of {what} lie outside"):
        LinearProgram(c, storage(A), b, neighbours=(others[0], kind(1.0, **ends), *others[1:]))


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (ScalarPrivate, "the right-hand sides of the private rows"),
        (RowPrivate, "the coefficients of the private rows"),
        (ColumnPrivate, "the coefficients of the private rows"),
        (ObjectivePrivate, "the costs c"),
    ],
)
def test_numbers_too_large_for_the_sensitivity(kind, what):
    with pytest.raises(
        privlp.InvalidProblemError,
        match=f"Some of {what} exceed 6.87e\\+10 times the sensitivity, 1e-12",
    ) as caught:
        LinearProgram(*PLANTED_PROGRAM, neighbours=kind(1e-12))
    assert_no_leak(str(caught.value))


def test_public_numbers_may_be_large():
    A, b = [[-1e14, 0.0], [-1.0, -1.0]], [-1e19, -1.0]
    for relation in (ScalarPrivate(1e-3), RowPrivate(1e-3), ColumnPrivate(1e-3)):
        assert LinearProgram([1.0, 1.0], A, b, private=[1], neighbours=relation).shape == (2, 2)


class TestTuples:
    def test_a_tuple_or_list_becomes_a_combined_relation(self):
        parts = (RowPrivate(0.5), ScalarPrivate(1.0))
        for given_as in (parts, list(parts)):
            lp = small(given_as)
            assert lp.neighbours == Combined(parts)
        assert (
            lp.neighbours.description
            == "all at once: row-private: one row of A changes, each entry by at most 0.5;"
            " scalar-private: b changes by at most 1 each"
        )

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            (
                (ConstraintPrivate(), ScalarPrivate(1.0)),
                "in a tuple, not: constraint-private: one record",
            ),
            (
                (ScalarPrivate(1.0), ConstraintPrivate("add-remove", nominal_n=9)),
                "in a tuple, not: constraint-private",
            ),
            ((ScalarPrivate(1.0), "row"), "in a tuple, not: str"),
            ((0.5, ScalarPrivate(1.0)), "in a tuple, not: float"),
            ((ScalarPrivate(1.0), ScalarPrivate), "in a tuple, not: the class ScalarPrivate"),
            ((ScalarPrivate(1.0),), "needs two or more, each of another kind"),
            ((), "needs two or more, each of another kind"),
            ((RowPrivate(1.0), RowPrivate(0.5)), "needs two or more, each of another kind"),
            (
                (ScalarPrivate(1.0), RowPrivate(1.0), ScalarPrivate(1.0, norm="1")),
                "needs two or more, each of another kind",
            ),
        ],
    )
    def test_bad_tuples(self, parts, message):
        with pytest.raises(privlp.InvalidParameterError, match=message):
            small(parts)

    def test_a_tuple_within_a_tuple_is_refused(self):
        inner = Combined((RowPrivate(0.5), ScalarPrivate(1.0)))
        with pytest.raises(privlp.InvalidParameterError, match="not: all at once: row-private"):
            small((inner, ObjectivePrivate(1.0)))

    def test_methods_are_what_every_part_allows(self):
        truncated = {"truncated-laplace", "truncated-gaussian", "measured-slack"}
        rows = Combined((RowPrivate(0.5), ScalarPrivate(1.0)))
        assert {*methods_for(rows)} - {"truncated-laplace-published"} == {
            "mw",
            "direct-noise",
            "quantile-noise",
            *truncated,
        }
        costs = Combined((ObjectivePrivate(0.5), ScalarPrivate(1.0)))
        assert "mw" not in methods_for(costs)

    def test_numbers_are_listed_once_for_each_part(self):
        found = numbers(
            (ColumnPrivate(0.5), ObjectivePrivate(1.0), ScalarPrivate(1.0), RowPrivate(0.25))
        )
        assert sorted(part.part for part in found) == ["A", "b", "c"]


@pytest.mark.parametrize("relation", ["scalar", 1.0, None, ScalarPrivate])
def test_what_is_no_relation_is_refused(relation):
    with pytest.raises(
        privlp.InvalidParameterError, match="neighbours must be a neighbour relation, got"
    ):
        small(relation)


# what is shown


@pytest.mark.parametrize("kind", KINDS)
def test_declared_ranges_are_not_part_of_the_name(kind):
    assert repr(kind(1.0, lower=-7.5, upper=3.25)) == repr(kind(1.0))
    assert kind(1.0, lower=-7.5) == kind(1.0)
    assert hash(kind(1.0, lower=np.zeros((2, 2)))) == hash(kind(1.0))
    assert kind(1.0) != kind(2.0)


# one ledger, one relation


@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
@pytest.mark.parametrize("storage", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_zeros_may_be_public(kind, storage):
    A = storage(np.array([[-1.0, 0.0, -2.0], [0.0, 0.0, -3.0]]))
    lp = LinearProgram(
        [1.0, 2.0, 1.0], A, [-1, -2], neighbours=kind(0.5, lower=-4, upper=-0.25, zeros="public")
    )
    form = StandardForm.of(lp)
    (numbers,) = lp.neighbours.private_numbers(form)
    values = values_of(form, numbers)
    assert sorted(values.tolist()) == [-3, -2, -1]
    assert numbers.l1 == 0.5 * 2
    assert moving_rows(lp, 3.0).private_coefficients(1).tolist() == [False, False, True]
    reach = 0.5 * 3 if kind is RowPrivate else 2 * 0.5 * 2
    assert lp.neighbours.violation_change(form)(np.array([1.0, 50.0, 2.0])) == pytest.approx(
        reach, rel=1e-6
    )
    low, high = moving_rows(lp, 3.0).ranges()
    assert (low[0, 1], high[0, 1], low[0, 0], high[0, 0]) == (0, 0, -4, -0.25)
    moved = ProgramNumbers.of(form).having(numbers, values - 1)
    assert sp.issparse(moved.A) == sp.issparse(A)
    assert (moved.A.toarray() if sp.issparse(A) else moved.A).tolist() == [[-2, 0, -3], [0, 0, -4]]
    for method in methods_for(lp.neighbours):
        assert privlp.solve(
            lp, 1.0, 1e-3, opt=3.0 if method == "mw" else None, method=method_of(method), rng=0
        ).success
    with pytest.raises(
        privlp.InvalidParameterError, match="zeros must be 'private' or 'public', got 'none'"
    ):
        kind(0.5, zeros="none")
