"""Private equalities as bands, and columns that are kept: what moves, what holds, what is refused."""

import numpy as np
import pytest

import privlp
from privlp import ConstraintPrivate, LinearProgram, ScalarPrivate, solve, solve_exact
from privlp.errors import PrivLPError
from privlp.problem.standard_form import StandardForm

INF, T = np.inf, 6


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


def test_an_audit_passes():
    lp = stock().with_recourse("y*")
    assert privlp.audit_solve(lp, 1.0, 1e-6, feasible="always", pairs=3, runs=0, rng=0).passed


FREE = ConstraintPrivate("add-remove", nominal_n=T, rows_per_record=2)


@pytest.mark.parametrize(
    ("fields", "call", "message"),
    [
        (
            {},
            lambda lp: lp.with_tolerance(0),
            "tolerance must be a positive finite number .*, or 7",
        ),
        ({}, lambda lp: lp.with_tolerance([1, 2]), "tolerance must be a positive finite"),
        ({"neighbours": FREE}, lambda lp: lp.with_tolerance(-1), "in units of the rows[.]"),
        ({"row_lower": None}, lambda lp: lp.with_tolerance(1), "no private equality to which"),
        (
            {"neighbours": privlp.RowPrivate(0.1)},
            lambda lp: lp.with_tolerance(1),
            "A band takes ConstraintPrivate, or ScalarPrivate alone",
        ),
        (
            {"neighbours": ScalarPrivate(0.1, zeros="public")},
            lambda lp: lp.with_tolerance(1),
            "declare lower = upper = 0 for right-hand sides",
        ),
        ({"neighbours": ConstraintPrivate()}, lambda lp: lp.with_recourse("y*"), "take with_tol"),
        ({}, lambda lp: lp.with_recourse("z*"), "columns must be names of variables, patterns"),
        ({}, lambda lp: lp.with_recourse([T + T]), "places from 0 to 11; each must be there"),
        ({}, lambda lp: lp.with_recourse("*"), "some of the variables, and not all"),
        (
            {},
            lambda lp: lp.with_recourse("p1"),
            r"variable .p1. cannot be kept as recourse: it must .* takes sums of their",
        ),
        (
            {"A": np.hstack([np.eye(T + 1, T)] * 2)},
            lambda lp: lp.with_recourse(["p1", "y1"]),
            "Two of the columns stand in one row",
        ),
        ({}, lambda lp: lp.recourse("y*", [1.0]), "x must have 6 entries"),
        (
            {},
            lambda lp: solve(lp, 1.0, 1e-6, feasible="always"),
            r"lp.with_tolerance[(]...[)], or keep columns back by with_recourse",
        ),
    ],
)
def test_refusals(fields, call, message):
    with pytest.raises(PrivLPError, match=message):
        call(stock(**fields))


def test_rows_in_blocks_have_no_equality():
    lp = LinearProgram([1, 2], [-np.eye(2), -np.eye(2)], [[-1, -1], [-2, -2]])
    with pytest.raises(PrivLPError, match="with_tolerance has no use for rows in blocks"):
        lp.with_tolerance(1)
