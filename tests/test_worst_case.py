"""The worst case within declared ranges, and points that satisfy rows to the last bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import LinearProgram, RowPrivate, ScalarPrivate
from privlp.methods.tightened import program as tightened_program
from privlp.methods.tightened import rows as certain_point
from privlp.methods.tightened.ranges import WorstCase
from privlp.methods.tightened.rows import TightenedRows, certain_near, strictly_inside
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import ProgramNumbers
from tests.effort import examples, runs
from tests.programs import refused_for_free

INF = float("inf")


def floor_and_roof(**changed):
    """x1 >= floor and x1 + x2 <= roof."""
    fields = {
        "row_lower": [1.0, -INF],
        "row_names": ["floor", "roof"],
        "neighbours": ScalarPrivate(0.01, lower=[0.5, 2.5], upper=[1.5, 4.0]),
        **changed,
    }
    return LinearProgram([1.0, 3.0], [[1, 0], [1, 1]], [INF, 3.0], **fields)


ALWAYS = {"feasible": "always", "rng": 0}


def worst_case(lp):
    form = lp.public().form
    return WorstCase.of(form, lp.neighbours.private_numbers(form))


def test_public_costs_have_the_worst_optimum():
    worst = worst_case(floor_and_roof())
    assert worst.objective == pytest.approx(1.5)
    assert worst.cramped == ()
    assert worst.note("min") == "Whatever the noise, the objective is at most 1.5."
    slack = 2.5 - worst.inside.sum()
    assert worst.inside[0] > 1.5 + 0.1
    assert slack > 0.1


def test_no_release_is_worse_than_the_plan_says():
    lp = privlp.examples.hospital_capacities()
    worst = worst_case(lp)
    for eps in (0.02, 0.1, 1.0):
        solution = privlp.solve(lp, eps, 1e-6, **ALWAYS)
        assert solution.objective <= worst.objective * (1 + 1e-9)


def test_rows_without_room_are_named():
    rows = [[1, 1], [1, 1], [1, 0]], [1.0, 1.0, 5.0]
    names = {"row_names": ["all", "no more", "first"], "row_lower": [1.0, -INF, -INF]}
    relation = ScalarPrivate(0.1, lower=2, upper=9)
    lp = LinearProgram([1.0, 1.0], *rows, private=[2], neighbours=relation, **names)
    assert worst_case(lp).cramped == ("row 'no more'",)
    advice = privlp.plan(lp, 1.0, 1e-3, feasible="always").advice
    assert "In the worst case no x is strictly inside row 'no more': if rounding errors" in advice
    assert privlp.solve(lp, 1.0, 1e-3, **ALWAYS).success


CROSSED = ScalarPrivate(0.01, lower=[0.5, 1.0], upper=[1.5, 4.0])
LOOSE = RowPrivate(0.1, lower=-2, upper=[[-0.2, 0], [0, -0.5]], zeros="public")
IRON = {"bounds": (0, 3), "row_names": ["iron", "zinc"], "neighbours": LOOSE}
SIX = np.ones((6, 1)), np.arange(6.0) - 3


@pytest.mark.parametrize(
    ("lp", "message"),
    [
        (
            floor_and_roof(neighbours=CROSSED),
            r"In the way: row '(roof' \(lower end 1; about 1.5|floor' \(upper end 1.5; about 1)"
            r" would do\)\. Declare narrower ranges",
        ),
        (
            LinearProgram([1.0, 1.0], [[-1, 0], [0, -1]], [-1.0, -1.0], **IRON),
            r"In the way: row 'iron'\. Declare",
        ),
        (
            LinearProgram([1.0], *SIX, neighbours=ScalarPrivate(0.1, lower=-9, upper=9)),
            r"about 0 would do\) and 3 more\.",
        ),
    ],
    ids=["b", "A", "at most three"],
)
def test_rows_that_stand_in_the_way_are_named(lp, message):
    with refused_for_free(message, privlp.UnsupportedProblemError) as budget:
        privlp.solve(lp, 1.0, 1e-3, feasible="always", budget=budget)


MOVED = "x was moved by 0.05 of the way towards a point"
PUBLIC = "x is a public point that satisfies every possible"


@pytest.mark.parametrize(
    ("near", "words", "objective"),
    [
        (lambda *_: (None, 1.0), PUBLIC, 1.5),
        (lambda _, x, inside: (x + 0.05 * (inside - x), 0.05), MOVED, None),
        # A long move gives way to a better public point.
        (lambda *_: (np.array([2.0, 0.4]), 1.0), PUBLIC, 1.5),
    ],
    ids=["no point", "a long move", "a worse point"],
)
def test_far_points_come_with_a_warning(near, words, objective, monkeypatch):
    lp = floor_and_roof()
    monkeypatch.setattr(tightened_program, "certain_near", near)
    with pytest.warns(privlp.PublicPointWarning, match=words):
        solution = privlp.solve(lp, 1.0, 1e-3, **ALWAYS)
    assert words in solution.message
    if objective is not None:
        assert solution.objective == pytest.approx(objective) == worst_case(lp).objective


def test_an_only_point_is_an_optimum():
    """x >= 2 by a row whose numbers leave no double next to the bound x <= 2."""
    relation = ScalarPrivate(0.1, lower=-0.92085314, upper=5)
    row = [[-0.46042657]], [-0.92085314]
    lp = LinearProgram([-0.13], *row, bounds=(0, 2), neighbours=relation)
    solution = privlp.solve(lp, 0.05, 1e-4, **ALWAYS)
    assert solution.x[0] == 2
    assert solution.message.startswith("Noise is wider than")


@st.composite
def programs_without_room(draw):
    """Equalities, inequalities that follow from them, and others, with awkward coefficients."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    d, equal = draw(st.integers(3, 12)), draw(st.integers(1, 2))
    x = rng.uniform(0, 1, d) * 10.0 ** rng.integers(-1, 3)
    E = np.round(rng.normal(size=(equal, d)), 3)
    A = np.round(rng.normal(size=(2 * d, d)), 3)
    e = E @ x
    return LinearProgram(
        rng.uniform(0.1, 1, d),
        np.vstack([E, E, A]),
        np.concatenate([e, e, A @ x + rng.uniform(0, 1, 2 * d)]),
        row_lower=np.concatenate([e, np.full(equal + 2 * d, -INF)]),
        private=np.arange(2 * equal + 2 * d) >= 2 * equal,
        neighbours=ScalarPrivate(0.01, lower=-1e6, upper=1e6),
    )


def tight_rows(lp):
    return TightenedRows.of(ProgramNumbers.of(StandardForm.of(lp)), None)


@given(programs_without_room())
@settings(max_examples=examples(30))
def test_rows_that_follow_from_equalities_are_repaired_next_to_the_optimum(lp):
    rows = tight_rows(lp)
    x = rows.best(lp.c)
    found, share = certain_near(rows, x, strictly_inside(rows))
    assert found is not None
    assert not rows.violated(found).any()
    assert share < 1e-6
    assert found == pytest.approx(x, rel=1e-6, abs=1e-6)
    equal, values = rows.equalities()
    size = abs(equal).max(axis=1).toarray().ravel() * max(1.0, float(np.abs(x).max()))
    assert (np.abs(equal @ rows.split(found) - values) <= 1e-9 * size).all()


def test_without_nudges_some_repair_goes_far(monkeypatch):
    """The nudges are needed: equalities leave no room for other steps."""
    monkeypatch.setattr(certain_point, "_NUDGES", ())
    shares = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        E, x = rng.normal(size=(1, 6)), rng.uniform(0, 1, 6)
        cost, sides = rng.uniform(0.1, 1, 6), np.concatenate([E @ x, E @ x, -E @ x])
        fields = {"row_lower": [sides[0], -INF, -INF], "private": [1, 2]}
        relation = ScalarPrivate(0.01)
        lp = LinearProgram(cost, np.vstack([E, E, -E]), sides, neighbours=relation, **fields)
        rows = tight_rows(lp)
        found, share = certain_near(rows, rows.best(lp.c), None)
        shares.append(1.0 if found is None else share)
    assert max(shares) > 0.01


def test_released_right_hand_sides_have_the_sign_of_the_user():
    for options, name in (({"feasible": "always"}, "tightened b"), ({}, "noisy b")):
        solution = privlp.solve(floor_and_roof(), 50.0, 1e-3, rng=0, **options)
        roof, floor = solution.trace[name]  # upper sides come first
        assert (roof, floor) == (pytest.approx(3.0, abs=0.1), pytest.approx(1.0, abs=0.1))


def test_a_name_is_told_only_where_rows_are_public():
    lp = replace(floor_and_roof(), neighbours=privlp.ConstraintPrivate())
    assert lp.public().form.lp.row_names is None


def balance(b=(4.0, 0.0, 7.0), row_lower=(-INF, -INF, 0.0), **declared):
    """A limit, a balance row x1 <= x2, and a range whose lower side is zero."""
    fields = {"lower": [1.0, 5.0, 3.0], "upper": [9.0, 6.0, 9.0], "zeros": "public", **declared}
    options = {"sense": "max", "bounds": (0, 20), "neighbours": ScalarPrivate(0.1, **fields)}
    rows = [[1, 1], [1, -1], [1, 0]]
    return LinearProgram([1.0, 2.0], rows, b, row_lower=row_lower, **options)


def test_zeros_need_no_range_and_no_noise():
    lp = balance()
    (numbers,) = lp.neighbours.private_numbers(StandardForm.of(lp))
    assert (len(numbers), numbers.l1, numbers.touched) == (2, pytest.approx(0.2), 2)
    for feasible in (None, 0.99, "always"):
        solution = privlp.solve(lp, 5.0, 1e-3, feasible=feasible, rng=0)
        (released,) = solution.trace.values()
        assert released.shape == (2,)
        assert solution.x[0] <= solution.x[1] + 1e-9
    assert lp.neighbours.describe(lp).endswith("; 2 right-hand sides are declared to be 0")


def test_without_zeros_the_range_must_hold_for_them():
    message = r"outside the declared range.*zeros='public' .*--zeros-p"
    with pytest.raises(privlp.InvalidProblemError, match=message):
        balance(zeros="private")
    with pytest.raises(privlp.InvalidParameterError, match="zeros must be 'private' or 'public'"):
        balance(zeros="none")
    lp = balance(lower=None, upper=None)
    with pytest.raises(privlp.UnsupportedProblemError, match=r"needs a declared.*zeros='public'"):
        privlp.solve(lp, 1.0, 1e-3, feasible="always")


@given(st.integers(0, 2**32))
@settings(max_examples=examples(50))
def test_neighbours_keep_zeros_and_have_one_public_part(seed):
    rng = np.random.default_rng(seed)
    lp = balance(b=(rng.choice([0.05, 0.1, 4.0]), 0.0, 7.0), lower=-1, upper=9)
    _, moved = lp.neighbours.extreme_pair(StandardForm.of(lp), rng)
    assert ((moved.b == 0) == (lp.b == 0)).all()
    assert ((moved.row_lower == 0) == (lp.row_lower == 0)).all()
    assert np.abs(moved.b - lp.b).max() <= 0.1
    one, two = (lp.neighbours.conceal(program) for program in (lp, moved))
    assert np.array_equal(one.b, two.b)
    assert np.array_equal(one.row_lower, two.row_lower)
    for program in (one, two):
        (numbers,) = lp.neighbours.private_numbers(StandardForm.of(program))
        assert numbers.at[0].tolist() == [0, 2]
        assert (program.row_lower < program.b).all()


def test_a_private_equality_of_zero_is_public():
    lp = balance(b=(4.0, 0.0, 7.0), row_lower=(-INF, 0.0, -INF))
    assert privlp.solve(lp, 5.0, 1e-3, feasible="always", rng=0).success
    public = lp.public().form.lp
    assert (public.b[1], public.row_lower[1]) == (0, 0)


def test_an_audit_of_zeros_passes():
    effort = {"pairs": 4, "runs": runs(200, 0)}
    result = privlp.audit_solve(balance(), 1.0, 1e-3, **ALWAYS, **effort)
    assert result.passed, str(result)


def test_zeros_read_off_the_data_are_caught(monkeypatch):
    """A twin whose neighbours may reach zero: their public parts differ."""

    def reaching_zero(self, numbers, values, steps):
        return np.where(values == 0.1, 0.0, values)

    monkeypatch.setattr(ScalarPrivate, "_moved_values", reaching_zero)
    lp = balance(b=(0.1, 0.0, 7.0), lower=-1, upper=9)
    _, moved = lp.neighbours.extreme_pair(StandardForm.of(lp), np.random.default_rng(0))
    one, two = (lp.neighbours.conceal(program) for program in (lp, moved))
    assert not np.array_equal(one.b, two.b)
