"""Low-sensitivity relations."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ColumnPrivate, LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.methods.published.low_sensitivity import MovingRows
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
            sides, in_sum = len(above) + len(below), part.norm == "1"
            change = movement(rng, sides, part.sensitivity, in_sum=in_sum)
            other["b"][above] += change[: len(above)]
            other["row_lower"][below] += change[len(above) :]
            other["row_lower"][equal] = other["b"][equal]
        elif private.size:
            change = np.zeros_like(other["A"])
            of_a_row = isinstance(part, RowPrivate)
            place = rng.choice(private) if of_a_row else (private, rng.integers(change.shape[1]))
            change[place] = movement(rng, change[place].shape, part.sensitivity)
            other["A"] += change * (part.lower < part.upper) * program["private"][:, None]
    return {**program, **other}


def pair(program, parts, rng):
    neighbours = parts[0] if len(parts) == 1 else parts
    both = program, neighbour_of(program, parts, rng)
    return tuple(StandardForm.of(linear_program(each, neighbours)) for each in both)


def violations(form, x):
    """Of all private ``<=`` rows, in the user's units."""
    return form.row_sign * (form.lp.A @ x)[form.row] - ProgramNumbers.of(form).rhs


def values_of(form, numbers):
    """The private numbers that a program holds at given places."""
    return ProgramNumbers.of(form).values(numbers)


def public_point(rng, d):
    return rng.normal(size=d) * rng.choice([0.0, 1.0, 1.0], d) * rng.choice([0.1, 1.0, 30.0])


# no pair moves further


def numbers_move_no_further(one, other):
    relation = one.lp.neighbours
    both = [relation.private_numbers(form) for form in (one, other)]
    for first, second in zip(*both, strict=True):
        assert first.part == second.part
        assert all(np.array_equal(a, b) for a, b in zip(first.at, second.at, strict=True))
        assert (first.l1, first.l2) == (second.l1, second.l2)
        moved = np.abs(values_of(one, first) - values_of(other, second))
        assert moved.sum() <= first.l1 + ROUNDING
        assert np.linalg.norm(moved) <= first.l2 + ROUNDING
        assert first.l2 <= first.l1


def violations_move_no_further(one, other, x):
    """Nor does a bound that a relation need not state, from its numbers alone, say less."""
    relation = one.lp.neighbours
    for every_row in (False, True):
        forms = [StandardForm.of(form.lp, every_row=every_row) for form in (one, other)]
        if not len(forms[0].row):
            continue
        change = np.ptp(violations(forms[0], x) - violations(forms[1], x))
        bounds = [relation.violation_change(form)(x) for form in forms]
        assert change * (len(forms[0].row) > 1) <= min(bounds)
        assert bounds[0] == bounds[1]  # else it would itself give private numbers away
        if not len(one.row):
            continue
        stated, default = (
            (kind.violation_span(relation, forms[0])(x), *kind.row_change(relation, forms[0], x))
            for kind in (type(relation), LowSensitivity)
        )  # a tuple counts roundings twice
        assert (np.array(stated) <= np.array(default) * (1 + 1e-4)).all()


def rows_move_no_further(one, other, scale):
    relation, constrains = one.lp.neighbours, one.lp.sides() > 0
    A, B = (sp.csr_array(form.lp.A).toarray() for form in (one, other))
    l1, l2 = relation.row_change(one, scale)
    assert (l1, l2) == relation.row_change(other, scale)
    moved = np.abs((A - B) * scale)[constrains]
    assert moved.sum(axis=1).max(initial=0) <= l1 + ROUNDING * 100
    assert np.sqrt((moved**2).sum(axis=1)).max(initial=0) <= l2 + ROUNDING * 100
    private = [part for part in relation.private_numbers(one) if part.part == "A"]
    places = {at for part in private for at in zip(*part.at, strict=True)}
    assert {(i, j) for i, j in np.argwhere(A != B) if constrains[i]} <= places


@pytest.mark.parametrize("name", RELATIONS)
def test_no_pair_moves_further_than_stated(name):
    """Numbers, violations and rows; what is stated is the same for both neighbours."""

    @SETTINGS
    @given(numbers_of_a_program())
    def check(case):
        program, rng = case
        one, other = pair(program, RELATIONS[name], rng)
        relation, x = one.lp.neighbours, public_point(rng, len(program["c"]))
        numbers_move_no_further(one, other)
        violations_move_no_further(one, other, x)
        rows_move_no_further(one, other, x)
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
        movable = ~fixed & (program["private"] & (one.lp.sides() > 0))[:, None]
        count = movable.sum(axis=1 if kind is RowPrivate else 0).max()
        if count == 0:
            assert relation.private_numbers(one) == []
            return
        (numbers,), x = relation.private_numbers(one), public_point(rng, A.shape[1])
        assert (numbers.l1, numbers.l2) == pytest.approx((0.2 * count, 0.2 * math.sqrt(count)))
        numbers_move_no_further(one, other)
        rows_move_no_further(one, other, x)
        change = violations(one, x) - violations(other, x)
        still = [0.0] * (kind is RowPrivate)
        assert np.ptp(np.append(change, still)) <= relation.violation_change(one)(x)

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


def moves(forms, x):
    """Changes of numbers in L1 and L2, and of violations and rows, as shares of stated bounds."""
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


ROW_STEP = 0.2 * np.outer(np.eye(4)[0], np.sign(X))
#: Up in the first private row, down in the others.
COLUMN_STEP = 0.25 * np.outer([1.0, -1.0, -1.0, 0.0], [0, np.sign(X[1]), 0])
WIDE = {"lower": -9, "upper": 9}
#: Of two rows' entries in one column.
NARROW = {name: np.where(np.eye(4, 3)[[1, 3, 3, 3]] > 0, end, A_FULL) for name, end in WIDE.items()}
ROW, COLUMN, SCALAR = RowPrivate(0.2, **WIDE), ColumnPrivate(0.25, **WIDE), ScalarPrivate(0.3)
IN_SUM, COST = ScalarPrivate(0.3, norm="1"), ObjectivePrivate(0.4)
BELOW = {"row_lower": np.array([-5.0, -INF, -INF, -INF])}
EQUAL = {"row_lower": np.array([1.0, -INF, -INF, -INF])}
OPPOSITE, B, OF_ROWS = [-0.3, 0.3, 0.3, 0], "b l1, b l2, ", "row l1, row l2"
UP = {"b": [0.3, 0, 0, 0], "row_lower": [0.3, 0, 0, 0]}
#: A relation, what changes of the program, which bounds that attains, and other fields.
ATTAINED = {
    "b": (SCALAR, {"b": [0.3, -0.3, 0.3, 0]}, B + "violations"),
    "b in sum, up": (IN_SUM, {"b": [0.3, 0, 0, 0]}, B + "violations"),
    "b in sum, down": (IN_SUM, {"b": [0, 0, -0.3, 0]}, B + "violations"),
    "b in sum, halves": (IN_SUM, {"b": [0.15, -0.15, 0, 0]}, "b l1, violations"),
    "an equality": (SCALAR, UP, "violations", EQUAL),
    "an equality, in sum": (IN_SUM, UP, B + "violations", EQUAL),
    "row": (ROW, {"A": ROW_STEP}, "A l1, A l2, violations, " + OF_ROWS),
    "row of two sides": (ROW, {"A": ROW_STEP}, "violations", BELOW),
    "column": (COLUMN, {"A": COLUMN_STEP}, "A l1, A l2, violations, " + OF_ROWS),
    "costs": (COST, {"c": [0, -0.4, 0]}, "c l1, c l2"),
    "row and column": ((ROW, COLUMN), {"A": ROW_STEP + COLUMN_STEP}, "A l1, violations, row l1"),
    "row and column, one entry": (
        (RowPrivate(0.2, **NARROW), ColumnPrivate(0.25, **NARROW)),
        {"A": 0.45 * np.eye(4, 3)[[1, 3, 3, 3]]},
        "A l1, A l2, " + OF_ROWS,
    ),
    "row, b and costs": (
        (ROW, SCALAR, COST),
        {"A": ROW_STEP, "b": OPPOSITE, "c": [0.4, 0, 0]},
        B + "A l1, A l2, c l1, c l2, violations, " + OF_ROWS,
    ),
    "column and b": (
        (COLUMN, SCALAR),
        {"A": COLUMN_STEP, "b": OPPOSITE},
        B + "A l1, A l2, violations, " + OF_ROWS,
    ),
}


@pytest.mark.parametrize("case", ATTAINED)
def test_bounds_are_attained(case):
    relation, steps, attained, *rest = ATTAINED[case]
    here = {**PLAIN, **(rest[0] if rest else {})}
    there = {**here, **{name: here[name] + step for name, step in steps.items()}}
    forms = [StandardForm.of(linear_program(fields, relation)) for fields in (here, there)]
    shares = moves(forms, np.array([0.01, -3.0, 0.01]) if "one entry" in case else X)
    assert all(share <= 1 + ROUNDING for share in shares.values())
    assert min(shares[name] for name in attained.split(", ")) >= 0.9
    if case == "costs":
        assert shares["violations"] == 0
        assert relation.violation_change(forms[0])(X) < 1e-12
    if "equality" in case:  # it shows one number in two rows
        assert len(relation.private_numbers(forms[0])[0]) == 3


# the change of variables


@st.composite
def simplices(draw):
    """Costs c > 0, V, points of K = {x >= 0, c·x = V}, its vertices among them, and rows."""
    d = draw(st.integers(1, 6))
    c = np.array(draw(st.lists(st.floats(0.01, 100), min_size=d, max_size=d)))
    V = draw(st.sampled_from([0.02, 1.0, 300.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shares = np.vstack([np.eye(d), rng.dirichlet(np.full(d, 0.3), 10)])
    return c, V, shares * V / c, rng.uniform(-1, 1, (3, d))


@SETTINGS
@given(simplices())
def test_private_numbers_after_the_change_of_variables(case):
    """A'_ij = V A_ij/c_j: a row moves by D V sqrt(sum c_j^-2) in L2 or, with a column, by D V / min c_j.

    So does a score: both are attained. A private right-hand side is left alone.
    """
    c, V, points, A = case
    most = V / c.min()

    def of(relation):
        form = StandardForm.of(LinearProgram(c, A, np.ones(3), neighbours=relation))
        change = form.lp.neighbours.violation_change(form)
        return relation.row_change(form, V / c), [change(x) for x in points]

    (_, l2), changes = of(RowPrivate(0.2, lower=-1, upper=1))
    assert l2 == pytest.approx(0.2 * V * math.sqrt((c**-2.0).sum()))
    assert max(changes) == pytest.approx(0.2 * most, rel=1e-12)
    moved, changes = of(ColumnPrivate(0.25, lower=-1, upper=1))
    assert moved == pytest.approx((0.25 * most,) * 2)
    assert max(changes) == pytest.approx(2 * 0.25 * most, rel=1e-12)
    for norm, span in (("inf", 0.6), ("1", 0.3)):
        _, changes = of(ScalarPrivate(0.3, norm=norm, lower=-2, upper=2))
        assert changes == pytest.approx([span] * len(points))


# declared ranges


def small(neighbours, **fields):
    A = [[-1.0, -2.0], [-3.0, 0.0]]
    return LinearProgram([1.0, 2.0], A, [-1.0, -2.0], neighbours=neighbours, **fields)


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
    fields = {"row_lower": [-INF, 2, -INF], "private": [0, 1], "neighbours": relation}
    form = StandardForm.of(LinearProgram([1.0], np.ones((3, 1)), [4, INF, 3], **fields))
    (b,) = relation.private_numbers(form)
    assert values_of(form, b).tolist() == [4, -2]
    assert (b.low.tolist(), b.high.tolist()) == ([-5, -9], [5, -1])


@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (-5, 5),
        (np.full((2, 2), -5.0), np.full((2, 2), 5.0)),
        (sp.csr_array(np.full((2, 2), -5.0)), sp.csc_array(np.full((2, 2), 5.0))),
        (-5, sp.coo_matrix((2, 2))),
    ],
    ids=["scalars", "arrays", "sparse", "scalar and sparse zeros"],
)
def test_declared_ranges_of_coefficients(kind, lower, upper):
    (A,) = numbers(kind(0.5, lower=lower, upper=upper))
    assert (A.low == -5).all()
    assert set(A.high) <= {5.0, 0.0}
    assert (len(A), A.l1, A.l2) == (4, 1.0, pytest.approx(math.sqrt(2) / 2))


def test_costs_whose_ends_meet_are_public():
    (c,) = numbers(ObjectivePrivate(0.5, lower=[0, 2], upper=[3, 2]))
    assert (c.part, c.at[0].tolist(), c.l1, c.l2) == ("c", [0], 0.5, 0.5)
    assert numbers(ObjectivePrivate(0.5, lower=[1, 2], upper=[1, 2])) == []


@pytest.mark.parametrize("kind", [RowPrivate, ColumnPrivate])
def test_entries_of_public_rows_need_no_range_and_do_not_count(kind):
    relation = kind(0.5, lower=-4, upper=0)
    (A,) = numbers(relation, private=[1])
    assert (A.at[0].tolist(), A.at[1].tolist()) == ([1, 1], [0, 1])
    fields = {"neighbours": relation, "private": [1]}
    lp = LinearProgram([1.0, 2.0], [[-1e9, -2], [-3, 0]], [-1, -2], **fields)
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

RIGHT_HAND_SIDES = "the right-hand sides of the private rows"
COEFFICIENTS = "the coefficients of the private rows"
NAMES = dict(zip(KINDS, (RIGHT_HAND_SIDES, COEFFICIENTS, COEFFICIENTS, "the costs c"), strict=True))
BAD_SENSITIVITIES = {
    0: "positive and finite, got 0.",
    -1.5: "positive and finite, got -1.5.",
    -INF: "positive and finite, got -inf.",
    math.nan: "positive and finite, got nan.",
    "0.1": "a number, got str.",
    None: "a number, got NoneType.",
    True: "a number, got bool.",
    (0.1,): "a number, got tuple.",
}


@pytest.mark.parametrize("kind", KINDS)
def test_bad_sensitivities(kind):
    for sensitivity, message in BAD_SENSITIVITIES.items():
        told = f"^{re.escape(f'sensitivity must be {message}')}$"
        with pytest.raises(privlp.InvalidParameterError, match=told):
            kind(sensitivity)


SOURCE = "Hsu, Roth, Roughgarden and Ullman 2014"
UNBOUNDED = {
    ScalarPrivate: ["if b may change without bound", SOURCE, "how far one record moves b"],
    RowPrivate: ["may change without bound is constraint-private", "use ConstraintPrivate()"],
    ColumnPrivate: ["if a column of A may change without bound", SOURCE],
    ObjectivePrivate: ["if c may change without bound", SOURCE, "how far one record moves c"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_unbounded_change_is_refused_with_the_reason(kind):
    with pytest.raises(privlp.InvalidParameterError, match=r"^sensitivity must be fini") as told:
        kind(INF)
    assert all(part in str(told.value) for part in UNBOUNDED[kind])


def test_sensitivity_and_norm_may_be_numpy_numbers():
    assert ScalarPrivate(np.float32(0.5)).sensitivity == 0.5
    assert RowPrivate(np.int64(2)).description.endswith("each entry by at most 2")
    assert (ScalarPrivate(1.0, norm=1).norm, ScalarPrivate(1.0, norm=np.inf).norm) == ("1", "inf")


@pytest.mark.parametrize("norm", ["2", 2, "one", None, "INF"])
def test_bad_norms(norm):
    told = re.escape(f"norm must be 'inf' or '1', got {norm!r}.")
    with pytest.raises(privlp.InvalidParameterError, match=told):
        ScalarPrivate(1.0, norm=norm)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (1, 0, "lower must not exceed upper anywhere"),
        ([0, 3], [1, 2], "lower must not exceed upper anywhere"),
        (math.nan, 1, "lower holds NaN"),
        (0, [1, math.nan], "upper holds NaN"),
        ("low", 1, "lower must hold real numbers"),
        (0, ["1", "2"], "upper must hold real numbers"),
        ([0, 0], [1, 1, 1], r"lower has shape \(2,\) and upper \(3,\): they must agree"),
    ],
)
def test_bad_ranges(lower, upper, message):
    for kind in KINDS:
        with pytest.raises(privlp.InvalidParameterError, match=message):
            kind(1.0, lower=lower, upper=upper)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *((ScalarPrivate, shape) for shape in ((3,), (2, 2))),
        (RowPrivate, (3, 2)),
        (ColumnPrivate, (2, 3)),
        (ObjectivePrivate, (3,)),
    ],
)
def test_ranges_of_the_wrong_shape(kind, shape):
    of = {
        ScalarPrivate: "(2,) with a number for each row, public ones too",
        ObjectivePrivate: "(2,) with a number for each variable",
    }.get(kind, "(2, 2) with a number for each entry of A: of each variable in each row")
    message = f"lower and upper must be numbers, or arrays of shape {of}"
    with pytest.raises(privlp.InvalidProblemError, match=re.escape(message)):
        small(kind(1.0, upper=np.zeros(shape)))


PLANTED = 0.123454321
PLANTED_PROGRAM = ([1.0, PLANTED], [[-1.0, -PLANTED], [-3.0, 0.0]], [-PLANTED, -2.0])


def refused(message, neighbours, storage=np.array):
    """The planted number is in no message."""
    c, A, b = PLANTED_PROGRAM
    with pytest.raises(privlp.InvalidProblemError, match=message) as caught:
        LinearProgram(c, storage(A), b, neighbours=neighbours)
    assert "12345" not in str(caught.value).replace("_", "")


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        (ScalarPrivate, {"lower": 0}),
        (ScalarPrivate, {"upper": [-1, -1]}),
        (RowPrivate, {"lower": -1, "upper": 5}),
        (ColumnPrivate, {"upper": -1}),
        (ObjectivePrivate, {"lower": 0.5}),
    ],
)
@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_numbers_outside_their_declared_range(kind, ends, storage):
    message = f"Some of {NAMES[kind]} lie outside the declared range"
    first, *others = (other(1.0) for other in KINDS if other is not kind)
    refused(message, kind(1.0, **ends), storage)
    refused(message, (first, kind(1.0, **ends), *others), storage)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_too_large_for_the_sensitivity(kind):
    refused(rf"Some of {NAMES[kind]} exceed 6.87e\+10 times the sensitivity, 1e-12", kind(1e-12))


def test_public_numbers_may_be_large():
    A, b = [[-1e14, 0.0], [-1.0, -1.0]], [-1e19, -1.0]
    for relation in (ScalarPrivate(1e-3), RowPrivate(1e-3), ColumnPrivate(1e-3)):
        assert LinearProgram([1.0, 1.0], A, b, private=[1], neighbours=relation).shape == (2, 2)


class TestTuples:
    def test_zeros_of_sides_need_not_be_public_where_those_of_entries_are(self):
        for zeros in (("public", "private"), ("private", "public")):
            parts = RowPrivate(0.5, zeros=zeros[0]), ScalarPrivate(1.0, zeros=zeros[1])
            assert small(parts).neighbours == Combined(parts)

    def test_a_tuple_or_list_becomes_a_combined_relation(self):
        parts = (RowPrivate(0.5), ScalarPrivate(1.0))
        assert small(parts).neighbours == small(list(parts)).neighbours == Combined(parts)
        assert (
            small(parts).neighbours.description
            == "all at once: row-private: one row of A changes, each entry by at most 0.5;"
            " scalar-private: b changes by at most 1 each"
        )

    def test_its_records_are_those_of_the_part_with_the_fewest(self, monkeypatch):
        few, many = RowPrivate(0.5), ScalarPrivate(1.0)
        form = StandardForm.of(small((few, many)))
        monkeypatch.setattr(RowPrivate, "records", lambda *_: 3)
        monkeypatch.setattr(ScalarPrivate, "records", lambda *_: 7)
        for parts in ((few, many), (many, few)):
            assert Combined(parts).records(form) == 3

    ADD = privlp.ConstraintPrivate("add-remove", nominal_n=9)
    NESTED = Combined((RowPrivate(0.5), ScalarPrivate(1.0)))

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            (
                (privlp.ConstraintPrivate(), ScalarPrivate(1.0)),
                "tuple, not: constraint-private: one rec",
            ),
            ((ScalarPrivate(1.0), ADD), "in a tuple, not: constraint-private"),
            ((NESTED, ObjectivePrivate(1.0)), "not: all at once: row-private"),
            ((ScalarPrivate(1.0), "row"), "in a tuple, not: str"),
            ((0.5, ScalarPrivate(1.0)), "in a tuple, not: float"),
            ((ScalarPrivate(1.0), ScalarPrivate), "in a tuple, not: the class ScalarPrivate"),
            ((ScalarPrivate(1.0),), "needs two or more, each of another kind"),
            ((), "needs two or more, each of another kind"),
            ((RowPrivate(1.0), RowPrivate(0.5)), "needs two or more, each of another kind"),
            (
                (RowPrivate(1.0, zeros="public"), ColumnPrivate(1.0)),
                "must agree on zeros='private'",
            ),
            *(
                (relation, "neighbours must be a neighbour relation, got")
                for relation in ("scalar", 1.0, None, ScalarPrivate)
            ),
        ],
    )
    def test_bad_relations(self, parts, message):
        with pytest.raises(privlp.InvalidParameterError, match=message):
            small(parts)

    def test_methods_are_what_every_part_allows(self):
        assert {*methods_for(self.NESTED)} - {"truncated-laplace-published"} == {
            *("mw", "direct-noise", "quantile-noise"),
            *("truncated-laplace", "truncated-gaussian", "measured-slack"),
        }
        costs = Combined((ObjectivePrivate(0.5), ScalarPrivate(1.0)))
        assert "mw" not in methods_for(costs)

    def test_numbers_are_listed_once_for_each_part(self):
        found = numbers(tuple(kind(0.5) for kind in KINDS))
        assert sorted(part.part for part in found) == ["A", "b", "c"]


@pytest.mark.parametrize("kind", KINDS)
def test_declared_ranges_are_not_part_of_the_name(kind):
    assert repr(kind(1.0, lower=-7.5, upper=3.25)) == repr(kind(1.0))
    assert kind(1.0, lower=-7.5) == kind(1.0)
    assert hash(kind(1.0, lower=np.zeros((2, 2)))) == hash(kind(1.0))
    assert kind(1.0) != kind(2.0)


# zeros


@pytest.mark.parametrize(
    ("kind", "storage"), [(RowPrivate, np.array), (ColumnPrivate, sp.csr_array)]
)
def test_zeros_may_be_public(kind, storage):
    A = storage(np.array([[-1.0, 0.0, -2.0], [0.0, 0.0, -3.0]]))
    relation = kind(0.5, lower=-4, upper=-0.25, zeros="public")
    lp = LinearProgram([1.0, 2.0, 1.0], A, [-1, -2], neighbours=relation)
    form = StandardForm.of(lp)
    (numbers,) = relation.private_numbers(form)
    values = values_of(form, numbers)
    assert sorted(values.tolist()) == [-3, -2, -1]
    assert numbers.l1 == 0.5 * 2
    assert moving_rows(lp, 3.0).private_coefficients(1).tolist() == [False, False, True]
    reach = 0.5 * 3 if kind is RowPrivate else 2 * 0.5 * 2
    change = relation.violation_change(form)(np.array([1.0, 50.0, 2.0]))
    assert change == pytest.approx(reach, rel=1e-6)
    low, high = moving_rows(lp, 3.0).ranges()
    assert (low[0, 1], high[0, 1], low[0, 0], high[0, 0]) == (0, 0, -4, -0.25)
    moved = ProgramNumbers.of(form).having(numbers, values - 1)
    assert sp.issparse(moved.A) == sp.issparse(A)
    assert sp.csr_array(moved.A).toarray().tolist() == [[-2, 0, -3], [0, 0, -4]]
    for method in methods_for(relation):
        opt = 3.0 if method == "mw" else None
        assert privlp.solve(lp, 1.0, 1e-3, opt=opt, method=method_of(method), rng=0).success
    wrong = "zeros must be 'private' or 'public', got 'none'"
    with pytest.raises(privlp.InvalidParameterError, match=wrong):
        kind(0.5, zeros="none")


@pytest.mark.parametrize("zeros", ["public", "private"])
def test_the_public_part_has_as_many_private_sides_where_zeros_are_public(zeros):
    """What stands for a side is none of the zeros that are public: noise is planned from it."""
    relation = ScalarPrivate(0.5, zeros=zeros)
    ends = {"b": [INF, 3, 3], "row_lower": [1, -INF, 3]}
    lp = LinearProgram([1, 1], [[1, 1], [1, 2], [2, 1]], **ends, neighbours=relation)
    (numbers,) = relation.private_numbers(lp.public().form)
    assert numbers.l1 == pytest.approx(3 * 0.5)
