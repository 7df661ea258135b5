"""Private equalities as bands, and columns that are kept: what moves, what holds, what is refused."""

import numpy as np
import pandas as pd
import pytest

import privlp
from benchmarks.never_violated import fails_with_control
from benchmarks.power_flow import CASE14, dc_opf_with_control
from privlp import ConstraintPrivate, LinearProgram, ScalarPrivate, solve, solve_exact
from privlp.errors import PrivLPError
from privlp.problem.standard_form import StandardForm

INF, T = np.inf, 6
# A day's y is a stock, which the next day begins with.
NEXT = np.vstack([np.hstack([np.eye(T), np.eye(T, k=-1) - np.eye(T)]), np.repeat([0.5, 0.0], T)])
CARRIED = {"A": NEXT, "bounds": [(0, 20)] * T + [(0, 26)] * T}


def stock(seed=0, norm="1", neighbours=None, **more):
    """Each day a plan p and a purchase y meet a private demand; capacity is public."""
    demand = np.random.default_rng(seed).uniform(8, 12, T)
    own = ScalarPrivate(0.1, norm=norm, lower=8, upper=12)
    fields = {
        "c": np.repeat([1.0, 3.0], T),
        "A": np.vstack([np.hstack([np.eye(T), 2 * np.eye(T)]), np.repeat([1.0, 0.0], T)]),
        "b": np.append(demand, 11.0 * T),
        "row_lower": np.append(demand, -INF),
        "private": np.arange(T + 1) < T,
        "bounds": [(0, 20)] * T + [(-1, 1.5)] * T,
        "variable_names": [f"{kind}{t}" for kind in "py" for t in range(T)],
        "row_names": [*(f"day {t}" for t in range(T)), "capacity"],
        **more,
    }
    return LinearProgram(**fields, neighbours=own if neighbours is None else neighbours)


def test_a_whole_row_keeps_two_sides_of_one_record():
    lp = stock(neighbours=ConstraintPrivate()).with_tolerance(0.5)
    assert lp.shape == (T + 1, 2 * T)
    assert np.allclose((lp.b - lp.row_lower)[:T], 1.0)
    assert lp.neighbours == ConstraintPrivate()
    assert lp.public().rows_of_one_record == 2
    wide = stock(neighbours=ConstraintPrivate()).with_tolerance(np.arange(1.0, T + 2))
    assert np.allclose((wide.b - wide.row_lower)[:T], 2 * np.arange(1, T + 1))
    assert wide.b[T] == 11.0 * T  # a public inequality stays


@pytest.mark.parametrize("norm", ["1", "inf"])
def test_sums_of_demands_move_by_what_is_declared(norm):
    """Stocks stand in two rows each. Sums of demands are sides; where all demands move, means."""
    lp, rng = stock(norm=norm, **CARRIED), np.random.default_rng(0)
    released, most = lp.with_recourse("y*"), 0.0
    relation = released.neighbours
    days = np.arange(1, T + 1)
    by = 1 if norm == "1" else days
    assert relation.sensitivity == pytest.approx(0.2 * T if norm == "1" else 0.1)
    assert relation.upper[: T + 1] == pytest.approx([*(-8.0 * days / by), 12])
    assert relation.lower[-T:] == pytest.approx((-12 * days - 26) / by)
    for _ in range(20):
        pair = lp.neighbours.extreme_pair(StandardForm.of(lp), rng)
        one, other = (found.with_recourse("y*") for found in pair)
        assert one.public() == other.public()
        sides = [one.b[:T] - other.b[:T], one.row_lower[-T:] - other.row_lower[-T:]]
        moved = np.abs(np.concatenate(sides))
        size = moved.sum() if norm == "1" else moved.max()
        assert size <= relation.sensitivity
        most = max(most, size)
    assert most > 0.8 * relation.sensitivity


@pytest.mark.parametrize("fields", [{}, CARRIED], ids=["one column a row", "stocks"])
def test_one_demand_moves_sides_by_the_length_that_is_declared(fields):
    """One of all stocks that follow, each by no more than itself: less than in sum."""
    lp, most = stock(**fields), np.zeros(3)
    (part,) = lp.with_recourse("y*").neighbours.private_numbers(
        StandardForm.of(lp.with_recourse("y*"))
    )
    bounds = np.array([part.l1, part.l2, part.entry])
    days = T if fields else 1
    assert bounds == pytest.approx([0.2 * days, 0.1 * (2 * days) ** 0.5, 0.1])
    for day in range(T):
        moved = lp.b + 0.1 * (np.arange(T + 1) == day) * np.where(lp.b[day] < 11, 1, -1)
        other = lp.changed(b=moved, row_lower=np.append(moved[:T], -INF))
        one, other = (each.with_recourse("y*") for each in (lp, other))
        sides = [one.b[:T] - other.b[:T], one.row_lower[-T:] - other.row_lower[-T:]]
        change = np.abs(np.concatenate(sides))
        norms = np.array([change.sum(), np.linalg.norm(change), change.max()])
        assert (norms <= bounds).all()
        most = np.maximum(most, norms)
    assert (most > 0.999 * bounds).all()


@pytest.mark.parametrize("norm", ["1", "inf"])
@pytest.mark.parametrize("other", [0.0, 1.0], ids=["one column a row", "several"])
def test_columns_without_bounds_leave_no_side(norm, other):
    lp = LinearProgram(
        [1, 1, 0, 0],
        [[1, 2, 1, other], [3, 1, other, -1]],
        [5, 6],
        row_lower=[5, 6],
        bounds=[(0, 9), (0, 9), (None, None), (None, None)],
        neighbours=ScalarPrivate(1.0, norm, lower=0, upper=10),
    )
    released = lp.with_recourse([2, 3])
    assert np.isinf(released.b).all()
    assert np.isinf(released.row_lower).all()
    assert not released.neighbours.private_numbers(StandardForm.of(released))


def test_bands_say_how_kinds_of_records_move_them():
    kinds = f"as records of {T + 1} kinds (moves) move it, and rounding by at most"
    for released in (
        stock(norm="1").with_tolerance(0.5),
        stock(norm="1").with_recourse("y*"),
        stock(norm="1", **CARRIED).with_recourse("y*"),
    ):
        assert kinds in released.neighbours.description
        assert kinds in repr(released)


def test_stocks_close_the_balance_of_every_day():
    lp = stock(**CARRIED)
    released = lp.with_recourse("y*")
    found, best = solve(released, 4.0, 1e-6, feasible="always", rng=0), solve_exact(released)
    kept = lp.recourse("y*", found.x)
    assert -1e-9 < kept.min() <= kept.max() < 26 + 1e-9
    assert np.allclose((lp.A @ np.append(found.x, kept))[:T], lp.b[:T])
    exact = np.append(best.x, lp.recourse("y*", best.x))
    assert lp.objective(exact) == pytest.approx(solve_exact(lp).objective)


def test_recourse_goes_by_names():
    lp = stock(**CARRIED)
    found = solve(lp.with_recourse("y*"), INF, 0)
    kept, names = lp.recourse("y*", found.x), found.variable_names
    values = pd.Series(found.x, names)[::-1]
    for x in (found, values, values.to_dict()):
        assert np.array_equal(lp.recourse("y*", x), kept)
    with pytest.raises(privlp.InvalidProblemError, match="x must name each variable"):
        lp.recourse("y*", values.iloc[1:])


def test_rows_that_were_multiplied_keep_public_numbers_public():
    """Where a sum holds no private demand, its side is public; and sparse rows stay sparse."""
    low, high = np.r_[[9.5] * 2, [8.0] * (T - 1)], np.r_[[9.5] * 2, [12.0] * (T - 1)]
    sides = {"b": np.r_[[9.5] * T, 9.0], "row_lower": np.r_[[9.5] * T, -INF]}
    A = {**CARRIED, "A": privlp.problem.bands.as_sparse(NEXT)}
    lp = stock(**A, **sides, neighbours=ScalarPrivate(0.1, norm="1", lower=low, upper=high))
    released = lp.with_recourse("y*")
    ends = released.neighbours
    assert released.is_sparse
    move = [False] * 2 + [True] * (T - 2)
    assert (ends.lower < ends.upper).tolist() == [*move, True, *move]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("norm", ["1", "inf"])
def test_neighbours_stay_neighbours(norm, sparse):
    """To the full distance: where one number in two rows counted once, the bound would be passed."""
    lp, rng, most = stock(norm=norm), np.random.default_rng(0), 0.0
    lp = lp.changed(A=privlp.problem.bands.as_sparse(lp.A)) if sparse else lp
    for change in (lambda lp: lp.with_tolerance(2.5), lambda lp: lp.with_recourse("y*")):
        for _ in range(5):
            one, other = map(change, lp.neighbours.extreme_pair(StandardForm.of(lp), rng))
            assert one.public() == other.public()
            moved = np.concatenate(
                [np.abs(one.b[:T] - other.b[:T]), np.abs(one.row_lower[-T:] - other.row_lower[-T:])]
            )
            size = moved.sum() if norm == "1" else moved.max()
            assert size <= one.neighbours.sensitivity
            most = max(most, size)
    assert most > 0.19 if norm == "1" else most > 0.099


@pytest.mark.parametrize("eps", [1.0, 100.0])
def test_kept_columns_close_every_equality(eps):
    lp = stock()
    released = lp.with_recourse("y*")
    assert released.variable_names == tuple(f"p{t}" for t in range(T))
    assert released.row_names[-1] == "day 5 (lower side)"
    found = solve(released, eps, 1e-6, feasible="always", rng=0)
    kept = lp.recourse("y*", found.x)
    assert (kept >= -1 - 1e-9).all()
    assert (kept <= 1.5 + 1e-9).all()
    x = np.append(found.x, kept)
    assert np.allclose((lp.A @ x)[:T], lp.b[:T])
    assert solve_exact(lp).objective <= lp.objective(x)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_without_columns_the_optimum_is_the_same(sense):
    """But for a constant, which holds private numbers."""
    lp = stock(sense=sense, c=np.append(np.ones(T), np.linspace(-4, 4, T)))
    released = lp.with_recourse([f"y{t}" for t in range(T)])
    best = solve_exact(released)
    x = np.append(best.x, lp.recourse(range(T, 2 * T), best.x))
    assert lp.objective(x) == pytest.approx(solve_exact(lp).objective)
    assert lp.objective(x) - best.objective == pytest.approx(lp.c[T:] @ (lp.b[:T] / 2))
    found = solve(released, INF, 0, feasible="always", rng=0)
    assert found.objective == pytest.approx(best.objective, rel=1e-6)


def test_a_column_without_an_end_leaves_one_side():
    """An infinite purchase: any plan below the demand will do."""
    bounds = [(0, 20)] * T + [(0, None)] * T
    released = stock(bounds=bounds).with_recourse("y*")
    assert np.isneginf(released.row_lower).all()
    assert (released.b[:T] == stock().b[:T]).all()
    assert released.neighbours.upper.max() == 12
    assert released.neighbours.sensitivity == pytest.approx(0.1)  # no number stands in two rows


def test_sides_of_which_one_sums_far_more_numbers_than_another_move_alike():
    """Where one sum moved as many times as much, all sides would get the noise of that one."""
    lp = stock(norm="inf", **CARRIED)
    released = lp.with_recourse("y*")
    more = lp.changed(b=lp.b + np.r_[[0.1] * T, 0], row_lower=lp.row_lower + 0.1)
    one, other = (of.with_recourse("y*").b[:T] for of in (lp, more))
    assert other - one == pytest.approx(np.full(T, -0.1))
    found = solve(released, 4.0, 1e-6, feasible="always", rng=0)
    kept = lp.recourse("y*", found.x)
    assert np.allclose((lp.A @ np.append(found.x, kept))[:T], lp.b[:T])


def test_a_sum_that_hardly_moves_is_not_blown_up():
    """A number of 1e-12 stands for rounding: the row keeps a size that double precision holds."""
    A = np.array([[1.0, 0, 1, 0], [0, 1, 1e-12, 1]])
    fields = {"neighbours": ScalarPrivate(0.1, lower=[4, 3], upper=[6, 3]), "bounds": (0, 9)}
    lp = LinearProgram([1, 1, 2, 2], A, [5.0, 3.0], row_lower=[5.0, 3.0], **fields)
    released = lp.with_recourse([2, 3])
    assert abs(released.A).max() <= 2.0**20
    found = solve(released, 4.0, 1e-6, feasible="always", rng=0)
    assert lp.recourse([2, 3], found.x).min() > -1e-9


@pytest.mark.parametrize("fields", [{}, CARRIED])
def test_an_audit_passes(fields):
    lp = stock(**fields).with_recourse("y*")
    assert privlp.audit_solve(lp, 1.0, 1e-6, feasible="always", pairs=3, runs=0, rng=0).passed


@pytest.mark.parametrize(("relation", "moved"), [({"norm": "1"}, 2), ({}, 1)])
def test_generators_that_follow_see_the_sum_of_loads_alone(relation, moved):
    """Or their mean, if all move. Rows of angles without bounds say nothing and add nothing."""
    lp = dc_opf_with_control(CASE14, {"sensitivity": 0.01, **relation})
    small, rng = lp.with_recourse(["angle*", "control"]), np.random.default_rng(0)
    assert small.neighbours.sensitivity == pytest.approx(0.01 * moved, rel=1e-9)
    most = 0.0
    for _ in range(10):
        pair = lp.neighbours.extreme_pair(StandardForm.of(lp), rng)
        one, other = (of.with_recourse(["angle*", "control"]) for of in pair)
        assert one.public() == other.public()
        sides = [(of.b[of.b < INF], of.row_lower[of.row_lower > -INF]) for of in (one, other)]
        change = np.abs(np.concatenate(sides[0]) - np.concatenate(sides[1]))
        size = change.sum() if relation else change.max()
        assert size <= small.neighbours.sensitivity
        most = max(most, size)
    assert most > 0.8 * small.neighbours.sensitivity


def test_a_control_balances_a_grid_at_little_loss():
    lp = dc_opf_with_control(CASE14, {"sensitivity": 0.1, "norm": "1"})
    small = lp.with_recourse(["angle*", "control"])
    found = solve(small, 1.0, 1e-6, feasible="always", rng=0)
    fails = fails_with_control(lp)
    assert not fails(found.x)
    assert fails(found.x + 200)  # beyond what generators can make
    lost = found.objective - solve_exact(small).objective
    assert 0 < lost < 0.01 * solve_exact(lp).objective
    assert privlp.audit_solve(small, 1.0, 1e-6, feasible="always", pairs=3, runs=0, rng=0).passed


FREE = ConstraintPrivate("add-remove", nominal_n=T, rows_per_record=2)
ZEROS = ScalarPrivate(0.1, zeros="public")
TWICE = {"A": np.hstack([np.eye(T + 1, T)] * 2)}
ALIKE = {"A": np.hstack([np.eye(T + 1, T), np.ones((T + 1, T))]) * np.eye(T + 1, T).sum(1)[:, None]}


def banded(tolerance=1):
    return lambda lp: lp.with_tolerance(tolerance)


def kept(columns):
    return lambda lp: lp.with_recourse(columns)


def never_violated(lp):
    return solve(lp, 1.0, 1e-6, feasible="always")


@pytest.mark.parametrize(
    ("fields", "call", "message"),
    [
        ({}, banded(0), "tolerance must be a positive finite number .*, or 7"),
        ({}, banded([1, 2]), "tolerance must be a positive finite"),
        ({"neighbours": FREE}, banded(-1), "in units of the rows[.]"),
        ({"row_lower": None}, banded(), "no private equality to which"),
        ({"neighbours": privlp.RowPrivate(0.1)}, banded(), "A band takes ConstraintPrivate, or Sc"),
        ({"neighbours": ZEROS}, banded(), "declare lower = upper = 0 for right-hand sides"),
        ({"neighbours": ConstraintPrivate()}, kept("y*"), "take with_tol"),
        ({}, kept("z*"), "columns must be names of variables, patterns"),
        ({}, kept([T + T]), "places from 0 to 11; each must be there"),
        ({}, kept("*"), "some of the variables, and not all"),
        ({}, kept("p1"), r".p1. cannot be kept as recourse: it must stand in"),
        (TWICE, kept(["p1", "y1"]), "2 columns stand in 1 .* takes sums of pri"),
        (CARRIED, kept("y2"), "1 columns stand in 2 .* the stock of each day"),
        (ALIKE, kept("y*"), "do not close the equalities .* Name other colum"),
        ({}, lambda lp: lp.recourse("y*", [1.0]), "x must have 6 entries"),
        ({}, never_violated, r"lp.with_tolerance[(]...[)], or keep columns back by with_recourse"),
    ],
)
def test_refusals(fields, call, message):
    with pytest.raises(PrivLPError, match=message):
        call(stock(**fields))


def test_rows_in_blocks_have_no_equality():
    lp = LinearProgram([1, 2], [-np.eye(2), -np.eye(2)], [[-1, -1], [-2, -2]])
    with pytest.raises(PrivLPError, match="with_tolerance has no use for rows in blocks"):
        lp.with_tolerance(1)


def test_rounding_of_all_numbers_that_move_is_declared():
    """In sum, 2^18 numbers move by 5e-7, and their 2^19 sides by 4: each sum is rounded."""
    n, tolerance, unit = 2**18, 2.0**35 + 2.0**10, 2.0**-17
    sides = []
    for b in (1 + unit / 2 - 2.0**-40, 1 + unit / 2 + 2.0**-40):
        relation = ScalarPrivate(1.0, norm="1", lower=0, upper=10)
        lp = LinearProgram(
            [1], np.ones((n, 1)), np.full(n, b), row_lower=b, neighbours=relation, bounds=(0, 1e9)
        ).with_tolerance(tolerance)
        sides.append(np.concatenate([lp.b[np.isfinite(lp.b)], lp.row_lower[n:]]))
    moved = np.abs(sides[0] - sides[1]).sum()
    assert 3.9 < moved <= lp.neighbours.sensitivity


@pytest.mark.parametrize("first", [68719.0, 68720.0])
def test_sides_that_say_nothing_refuse_no_program(first):
    """A column without ends bounds no row: how large its row's side is must not show."""
    b, R = [first, 5.0], [[1e-6, 0.0], [-1e-6, 1.0]]
    lp = LinearProgram(
        [1, 0, 0],
        np.hstack([np.ones((2, 1)), R]),
        b,
        row_lower=b,
        bounds=[(0, 9), (-INF, INF), (0, 9)],
        neighbours=ScalarPrivate(1.0, norm="1", lower=0, upper=1e5),
    )
    assert lp.with_recourse([1, 2]).neighbours.sensitivity == pytest.approx(2, rel=1e-6)
    assert lp.recourse([1, 2], [2.0]) == pytest.approx([1e6 * (first - 2), first + 1])


def test_a_band_without_room_is_said_to_need_a_larger_tolerance():
    moves = ScalarPrivate(0.1, norm="1", lower=8, upper=12)
    lp = LinearProgram([1, 1], np.eye(2), [9, 10], row_lower=[9, 10], neighbours=moves)
    words = r"way: row '\d( \(lower side\))?' .* more than half the width of the declared range"
    with pytest.raises(privlp.errors.UnsupportedProblemError, match=words):
        solve(lp.with_tolerance(0.5), 4.0, 1e-5, feasible="always")
    assert solve(lp.with_tolerance(2.01), 4.0, 1e-5, feasible="always", rng=0).success
