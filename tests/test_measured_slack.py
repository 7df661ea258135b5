"""Slacks at a released point: how far they move, that rows hold, audits and broken twins."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from benchmarks.never_violated import violated_rows
from privlp import ColumnPrivate, LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.methods import SolveRequest
from privlp.methods.tightened import measured, ranges
from privlp.methods.tightened.measured import MeasuredSlack, change_of_slacks
from privlp.methods.tightened.method import by_slacks
from privlp.privacy import Ledger
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import ProgramNumbers
from tests.effort import examples as few
from tests.programs import WAYS, method_of, way_of

MEASURED = MeasuredSlack()
ROW, COLUMN = (kind(0.1, lower=0, upper=1.2) for kind in (RowPrivate, ColumnPrivate))
SIDES = {"lower": 1, "upper": 10}
RELATIONS = {
    "row": ROW,
    "column": COLUMN,
    "row and b": (ROW, ScalarPrivate(0.5, norm="1", **SIDES)),
    "row and column": (ROW, COLUMN),
    "all parts": (COLUMN, ScalarPrivate(0.5, **SIDES), ObjectivePrivate(0.3, lower=0, upper=4)),
}


def packing(relation, *, seed=0, rows=5, d=4, two_sided=False):
    """Maximise c·x subject to A x <= b, and a public row; all numbers within their ranges."""
    rng = np.random.default_rng(seed)
    A = np.vstack([rng.uniform(0.1, 1.1, (rows, d)), np.ones(d)])
    lower = np.full(rows + 1, -np.inf)
    if two_sided:
        lower[0] = 0.0
    return LinearProgram(
        rng.uniform(1, 3, d),
        A,
        np.append(rng.uniform(3, 6, rows), 20.0),
        row_lower=lower,
        bounds=(0, 10),
        sense="max",
        private=np.arange(rows + 1) < rows,
        neighbours=relation,
    )


def slacks(lp, y):
    known = ProgramNumbers.of(StandardForm.of(lp))
    return known.rhs - known.private_rows() @ y


@settings(max_examples=few(120), deadline=None)
@given(st.sampled_from(sorted(RELATIONS)), st.integers(0, 10_000), st.booleans())
def test_slacks_of_neighbours_move_no_further_than_stated(name, seed, two_sided):
    two_sided = two_sided and "b" not in name and name != "all parts"  # the side 0 has no range
    lp = packing(RELATIONS[name], seed=seed, two_sided=two_sided)
    rng, form = np.random.default_rng(seed), StandardForm.of(lp)
    y = rng.uniform(-2, 5, 4) * (rng.random(4) < 0.7)
    stated = change_of_slacks(form, lp.neighbours.private_numbers(form), y)
    moved = lp.neighbours.moved(form, rng)
    assert np.abs(slacks(moved, y) - slacks(lp, y)).sum() <= stated * (1 + 1e-12) + 1e-12


def test_the_bound_is_attained():
    y = np.array([1.0, 0.0, 3.0, 2.0])
    for name, two_sided, expected in (
        ("row", False, 0.1 * 6),
        ("row", True, 1.2),
        ("column", False, 0.1 * 5 * 3),
        ("row and b", False, 0.1 * 6 + 0.5),
        ("all parts", False, 0.1 * 5 * 3 + 0.5 * 5),
    ):
        lp = packing(RELATIONS[name], two_sided=two_sided)
        form = StandardForm.of(lp)
        numbers = lp.neighbours.private_numbers(form)
        assert change_of_slacks(form, numbers, y) == pytest.approx(expected)


def test_rows_and_columns_together_are_not_in_one_row():
    form = StandardForm.of(packing(RELATIONS["row and column"]))
    (numbers,) = form.lp.neighbours.private_numbers(form)
    assert not numbers.in_one_row
    (alone,) = RELATIONS["row"].private_numbers(form)
    assert alone.in_one_row


@settings(max_examples=few(40), deadline=None)
@given(
    st.sampled_from(sorted(RELATIONS)),
    st.integers(0, 10_000),
    st.sampled_from([0.05, 1.0, 30.0, math.inf]),
)
def test_no_row_is_ever_violated(name, seed, eps):
    lp = packing(RELATIONS[name], seed=seed)
    solution = privlp.solve(lp, eps, 1e-3, method=MEASURED, rng=seed)
    assert violated_rows(lp, solution.x) == 0
    assert (solution.x <= 10).all()


def test_certain_slacks_are_below_the_true_ones():
    lp = packing(RELATIONS["row and b"])
    for seed in range(10):
        trace = privlp.solve(lp, 1.0, 1e-3, method=MEASURED, rng=seed).trace
        assert (trace["slacks"] <= slacks(lp, trace["y"])).all()


def test_it_loses_less_than_tightened_numbers_on_advertising():
    """Mean over 10 draws, seeds fixed; the means differ by more than five standard errors."""
    lp = privlp.examples.advertising(7, pages=20, private="both")
    best = privlp.solve_exact(lp).objective
    lost = []
    for way in (MEASURED, method_of("truncated-gaussian")):
        points = [privlp.solve(lp, 1.0, 0.1, method=way, rng=k).x for k in range(10)]
        lost.append(np.array([1 - lp.objective(x) / best for x in points]))
    new, old = lost
    assert (old - new).mean() > 5 * (old - new).std(ddof=1) / math.sqrt(10)
    assert new.mean() < 0.75 * old.mean()


def test_equalities_and_variables_of_either_sign():
    """x_0 + x_1 = 3 is public; the game value v lies in [-1, 1]."""
    for lp in (
        LinearProgram(
            [1.0, 2.0],
            [[1.0, 1.0], [0.5, 1.0], [-0.5, 1.0]],
            [3.0, 2.5, 2.0],
            row_lower=[3.0, -np.inf, -np.inf],
            bounds=[(0, 10), (-5, 5)],
            sense="max",
            private=[False, True, True],
            neighbours=RowPrivate(
                0.01,
                lower=[[1, 1], [0.4, 0.9], [-0.6, 0.9]],
                upper=[[1, 1], [0.6, 1.1], [-0.4, 1.1]],
            ),
        ),
        privlp.examples.matrix_game(),
    ):
        solution = privlp.solve(lp, 5.0, 1e-3, method=MEASURED, rng=0)
        over = (lp.A @ solution.x - lp.b)[lp.private]
        assert over.max() <= 0
        equal = lp.row_lower == lp.b
        assert (lp.A @ solution.x)[equal] == pytest.approx(lp.b[equal], abs=1e-7)


def test_three_fifths_of_the_budget_are_for_the_slacks():
    lp = packing(RELATIONS["all parts"])
    ledger = Ledger(2.0, 1e-4)
    solution = privlp.solve(lp, 2.0, 1e-4, method=MEASURED, rng=0)
    assert solution.privacy.eps <= 2.0
    assert solution.privacy.delta <= 1e-4
    charges = MEASURED.plan(SolveRequest(lp.public(), ledger)).charges
    *numbers, (slack, count, purpose) = charges
    assert (count, purpose) == (1, "measure the slacks of rows at a released point")
    assert slack.pure_eps == pytest.approx(1.2)
    assert slack.own_delta == pytest.approx(6e-5)
    assert sum(mechanism.pure_eps for mechanism, *_ in numbers) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"s": 2}, "no row is given up"),
        ({"split": [1.0]}, "split needs 2 positive"),
        ({"delta": 0.0}, "delta must be positive"),
    ],
)
def test_wrong_requests_say_what_to_do(options, message):
    lp = packing(RELATIONS["row and b"])
    with pytest.raises(privlp.PrivLPError, match=message):
        privlp.solve(lp, 1.0, **{"delta": 1e-4, "method": MEASURED, **options})


@pytest.mark.filterwarnings("ignore:delta = 0.1 is at least")
@pytest.mark.parametrize(
    ("pages", "advertisers", "private", "expected"),
    [
        (20, 5, "both", "measured-slack"),
        (20, 20, "both", "measured-slack"),
        (20, 100, "both", "truncated-gaussian"),  # pages bind, and not budgets
        (10, 5, "prices", "measured-slack"),
        (10, 5, "budgets", "truncated-laplace"),
    ],
)
def test_auto_takes_it_where_budgets_bind(pages, advertisers, private, expected):
    lp = privlp.examples.advertising(3, pages=pages, advertisers=advertisers, private=private)
    plan = privlp.plan(lp, 1.0, 0.1, feasible="always")
    assert plan.best == "tightened"
    assert way_of(privlp.solve(lp, 1.0, 0.1, feasible="always", rng=0)) == expected
    assert ("Three fifths of the budget measure" in plan.advice) == (expected == "measured-slack")


@pytest.mark.parametrize(
    ("relation", "options"),
    [
        (RowPrivate(0.1, upper=1.2), {}),  # a range with an end missing: nothing to draw from
        (ROW, {"eps": math.inf}),
        (ROW, {"delta": 0.0}),
        (ROW, {"s": 2}),
        (COLUMN, {}),
    ],
)
def test_elsewhere_it_does_not_compete(relation, options):
    asked = {"eps": 1.0, "delta": 1e-3, **options}
    assert by_slacks(SolveRequest.of(packing(relation), **asked)) is None


def test_programs_that_are_too_large_are_not_tried(monkeypatch):
    lp = privlp.examples.advertising(3, private="both")
    task = SolveRequest.of(lp, 1.0, 0.1)
    assert by_slacks(task) is not None
    monkeypatch.setattr(ranges, "_TRIALS", {10: 1})
    assert by_slacks(task) is None


def test_made_up_costs_follow_their_coefficients_and_stay_within_ranges():
    lp = privlp.examples.advertising(3, private="both")
    numbers = lp.neighbours.private_numbers(StandardForm.of(lp))
    made_up = ranges.made_up_numbers(numbers, np.random.default_rng(0))
    for part in numbers:
        assert (made_up[part.part] >= part.low).all()
        assert (made_up[part.part] <= part.high).all()
    assert made_up["c"] == pytest.approx(made_up["A"])  # both within [0, 1], one row a variable
    assert made_up["b"].min() >= 4
    assert made_up["b"].max() <= 8


def test_losses_in_trials_are_near_those_of_solves():
    """Seeds fixed; trials are of the law that draws the example, but for prices of zero."""
    lp = privlp.examples.advertising(3, private="prices")
    task, best = SolveRequest.of(lp, 1.0, 0.1), privlp.solve_exact(lp).objective
    numbers = lp.neighbours.private_numbers(StandardForm.of(lp))
    names = "measured-slack", "truncated-gaussian"
    runs = [WAYS[name].plan(task) for name in names]
    for name, loss in zip(names, ranges.loss_in_trials(task, numbers, runs), strict=True):
        points = [privlp.solve(lp, 1.0, 0.1, method=WAYS[name], rng=k).x for k in range(5)]
        assert 0.4 < loss / np.mean([1 - lp.objective(x) / best for x in points]) < 2.5


def audited(name, pairs=8):
    lp, effort = packing(RELATIONS[name]), {"pairs": pairs, "runs": 0, "rng": 1}
    return privlp.audit_solve(lp, 1.0, 1e-3, method=MEASURED, **effort)


@pytest.mark.parametrize("name", RELATIONS)
def test_audits_pass(name):
    """No false alarms: releases are replayed exactly."""
    found = audited(name)
    assert found.passed, str(found)
    measured = found.releases[-1]
    assert measured.purpose == "measure the slacks of rows at a released point"
    assert measured.ratio > 0.8 or name != "row"  # the largest change is seen


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("row", lambda form, numbers, y: change_of_slacks(form, numbers, np.minimum(y, 0.5))),
        ("row and b", lambda form, numbers, y: change_of_slacks(form, numbers[:1], y)),
    ],
    ids=["the size of the point", "right-hand sides"],
)
def test_a_twin_that_forgets_a_part_of_the_change_is_caught(name, change, monkeypatch):
    monkeypatch.setattr(measured, "change_of_slacks", change)
    found = audited(name, pairs=4)
    assert not found.passed
    assert any("measure the slacks" in fault for fault in found.faults), str(found)


def test_a_twin_that_measures_at_a_private_point_is_caught(monkeypatch):
    """y is the optimum of the true program, not of the released one."""

    def true_optimum(self):
        known = ProgramNumbers.of(self._form)
        for part, values in zip(self._numbers, self._values, strict=True):
            known = known.having(part, values)
        return measured.TightenedRows.of(known, None).best(known.c)

    monkeypatch.setattr(measured.SlackProgram, "_point_of_middles", true_optimum)
    assert not audited("column", pairs=6).passed
