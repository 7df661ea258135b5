"""Hard rows among soft ones: known answers without noise, what a record moves, what is refused."""

import math
import re
import warnings

import numpy as np
import pytest

import privlp
from privlp import LinearProgram, Verdict, solve, solve_exact
from privlp.audits.tape import Tape
from privlp.errors import MostlyNoiseWarning, PrivLPError
from privlp.methods import SolveRequest
from privlp.methods.perturbed.draws import Bend
from privlp.methods.perturbed.hard import MixedRowSearch
from privlp.problem.standard_form import StandardForm
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.in_coordinates import RowsInCoordinates
from privlp.rows.program_rows import RowBlock

N = 50


def menu(seed=0, n=N, sense="min", **more):
    """The first rows are needs, which must be met; the others are wishes, at a price."""
    rng = np.random.default_rng(seed)
    needs, wishes = rng.uniform(0.2, 1, (n, 3)), rng.uniform(0, 1, (n, 3))
    return LinearProgram(
        (1 if sense == "min" else -1) * rng.uniform(1, 2, 3),
        -np.vstack([needs, wishes]),
        -np.append(np.ones(n), rng.uniform(1, 2.5, n)),
        penalty=np.append(np.full(n, math.inf), np.full(n, 4 / n)),
        bounds=(0, 10),
        sense=sense,
        **more,
    )


def loss(lp, x):
    return lp.sign * (lp.objective(x) + lp.price_of(np.maximum(lp.A @ x - lp.b, 0)))


def missed(lp, x):
    hard = np.isinf(lp.penalty)
    return int((lp.A[hard] @ x - lp.b[hard] > 0.01 * np.abs(lp.b[hard])).sum())


@pytest.mark.parametrize("sense", ["min", "max"])
def test_without_noise_the_exact_optimum_is_found(sense):
    lp = menu(sense=sense)
    found = solve(lp, math.inf, 0, s=1, rng=0)
    best = loss(lp, solve_exact(lp).x)
    assert found.method == "perturbed"
    assert loss(lp, found.x) == pytest.approx(best, rel=2e-3)
    assert missed(lp, found.x) == found.missed.high == 0


def test_few_hard_rows_are_missed_at_about_the_least_loss():
    """The default takes it; the loss is far below that of the hard rows alone."""
    lp = menu(n=3000)
    found = solve(lp, 3.0, 1e-6, s=90, rng=0)
    best = loss(lp, solve_exact(lp).x)
    assert loss(lp, found.x) < 1.1 * best < 0.3 * loss(lp, found.trace["x"][0])
    assert found.missed.low <= missed(lp, found.x) <= found.missed.high <= 90
    assert privlp.plan(lp, 3.0, 1e-6, s=90).best == "perturbed"


def test_a_public_point_that_keeps_the_hard_rows_is_not_passed_over():
    """Caps that x = 0 keeps, needs at a price; noise leads the first stage far beyond the caps."""
    rng = np.random.default_rng(0)
    most, needs = rng.uniform(0, 1, (2000, 8)), rng.uniform(0.2, 1, (2000, 8))
    lp = LinearProgram(
        np.zeros(8),
        np.vstack([most, -needs]),
        np.append(2.6 * most.sum(axis=1), -2 * needs.sum(axis=1) * rng.uniform(0.6, 1.4, 2000)),
        penalty=np.append(np.full(2000, math.inf), np.ones(2000)),
        bounds=(0, 20),
    )
    with pytest.warns(MostlyNoiseWarning, match="Too few rows"):
        found = [solve(lp, 1.0, 1e-6, s=100, rng=seed) for seed in range(3)]
    assert max(missed(lp, each.x) for each in found) <= 100


def test_the_dearer_hard_rows_are_the_less_a_record_moves():
    """What was charged for hard rows at the largest price of soft ones holds at every ratio."""
    rows = menu(groups=np.arange(2 * N) % N)  # each owns a hard and a soft one
    prices, block = rows.public().prices, RowBlock(StandardForm.of(rows))
    assert (prices.hard, prices.rows, prices.of_record) == (N, 2, pytest.approx(8 / N))
    region = ReducedPolytope(PublicRows(rows.public().form.lp))
    bend = Bend.of(rows.public())
    for ratio in (1.0, 2.0, 30.0, math.inf):
        with np.errstate(invalid="ignore"):
            own = RowsInCoordinates(block, region, 1.0, ratio * prices.largest)
        size = own.weight * np.sqrt((own.G.astype(float) ** 2).sum(axis=1))
        most = (size[:N] + size[N:]).max()
        assert most <= prices.of_record / prices.largest + 1e-9
        assert (own.weight[:N] + own.weight[N:]).max() <= bend.total + 1e-9
        assert np.allclose(size[:N], 1, atol=1e-3)  # of norm 1, however the row was written


@pytest.mark.parametrize("seed", range(3))
def test_no_stage_has_a_lower_ratio_than_is_charged(seed):
    """Few hard rows, easily met: counts ask for a lower price of them in every stage."""
    rng = np.random.default_rng(0)
    A, hard = rng.uniform(0.2, 1, (2000, 3)), np.arange(2000) < 500
    A[hard] *= -1
    lp = LinearProgram(
        [0.1, 0.2, 0.1],
        A,
        np.where(hard, -1.0, 0.8),
        penalty=np.where(hard, math.inf, 1.0),
        bounds=(0, 5),
    )
    with warnings.catch_warnings(action="ignore"):
        found = solve(lp, 1.0, 1e-6, s="10%", rng=seed)
    assert len(found.trace["ratio"]) == 3
    assert found.trace["ratio"].min() >= 2


def test_an_audit_passes():
    limited = menu(n=10, private=np.arange(20) > 0)  # its first row has a shadow price
    for lp, more in ((menu(n=10), {}), (limited, {"prices": True})):
        assert privlp.audit_solve(lp, 2.0, 1e-6, s=5, pairs=2, runs=0, rng=0, **more).passed


@pytest.mark.parametrize(("n", "quiet"), [(300, True), (1000, False)])
def test_a_hard_row_costs_at_least_twice_what_the_dearest_soft_row_does(n, quiet):
    """In every stage, however few are counted: soft rows would say more than is charged below 1."""
    ratios = solve(menu(n=n), 1.0, 1e-6, s=30, rng=Tape(0, quiet=quiet)).trace["ratio"]
    assert len(ratios) == 3
    assert ratios.min() == 2 < ratios[0]  # counts lower it


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({}, {}, "s is missing: how many private rows"),
        ({}, {"s": N + 1}, f"between 1 and the number of hard private rows, {N}; got {N + 1}"),
        ({}, {"s": 5, "prices": True}, "needs a public inequality row"),
        (
            {"neighbours": privlp.ConstraintPrivate("add-remove", nominal_n=N)},
            {"s": 5},
            "come and go",
        ),
    ],
)
def test_refusals(fields, options, message):
    with pytest.raises(PrivLPError, match=message):
        solve(menu(**fields), 1.0, 1e-6, **options)


def test_a_plan_says_which_s_or_eps_would_do():
    """What it says is enough. Where soft rows are too few, no s is named."""
    lp = menu(n=4000)
    few = privlp.plan(lp, 4.0, 1e-6, s=5)
    assert few.verdict is not Verdict.ENOUGH_ROWS
    assert "as large as s rows allow" in few.advice
    s = int(re.search(r"About s = (\d+), or", few.advice)[1])
    assert privlp.plan(lp, 4.0, 1e-6, s).verdict is Verdict.ENOUGH_ROWS
    for given in (200, 2000):
        advice = privlp.plan(lp, 0.5, 1e-6, given).advice
        assert "How much that costs cannot be foretold" in advice
        assert "as large as the soft rows allow" in advice
        assert not re.search(r"\bs =", advice)
        eps = float(re.search(r"About eps = ([\d.]+), or", advice)[1])
        assert privlp.plan(lp, eps, 1e-6, given).verdict is Verdict.ENOUGH_ROWS
    assert SolveRequest.of(menu(), 1.0, 1e-6, s=5).density() == 5


@pytest.mark.parametrize("seed", range(3))
def test_noise_on_counts_does_not_choose_a_far_end(seed):
    """Where counts are noisy and bounds wide, few rows decide and ask for a thousandth of them."""
    rng = np.random.default_rng(seed)
    A, hard = rng.uniform(0, 1, (5000, 6)), np.arange(5000) < 1000
    lp = LinearProgram(
        rng.uniform(1, 2, 6),
        -A,
        -np.where(hard, 4, rng.gamma(5, 1.2, 5000)),
        penalty=np.where(hard, math.inf, 0.01),
        bounds=(0, 3000),
    )
    with warnings.catch_warnings(action="ignore"):
        found = solve(lp, 1.0, 1e-6, s=50, rng=seed)
    assert loss(lp, found.x) < 1.3 * loss(lp, solve_exact(lp).x)
    assert missed(lp, found.x) <= 50


def test_a_line_is_searched_for_few_missed_rows_in_either_direction():
    """Caps are kept towards the cheaper end, where needs at a price would not lead."""
    rng = np.random.default_rng(0)
    most, needs = rng.uniform(0, 1, (4000, 3)), rng.uniform(0.2, 1, (4000, 3))
    lp = LinearProgram(
        [10.0, 20.0, 30.0],
        np.vstack([most, -needs]),
        np.append(most.sum(axis=1) * rng.uniform(0.8, 2, 4000), -3 * needs.sum(axis=1)),
        penalty=np.append(np.full(4000, math.inf), np.ones(4000)),
        bounds=(0, 100),
    )
    with warnings.catch_warnings(action="ignore"):
        found = solve(lp, 2.0, 1e-6, s=200, rng=0)
    assert missed(lp, found.trace["point of a public line"][0]) > 2000
    assert missed(lp, found.x) <= 200
    assert loss(lp, found.x) < 1.1 * loss(lp, solve_exact(lp).x)


def test_what_the_way_to_fewer_missed_rows_costs_is_said(monkeypatch):
    """The way ends where public costs are largest."""
    monkeypatch.setattr(MixedRowSearch, "_on_the_way", lambda *of: np.full(3, 10.0))
    monkeypatch.setattr(MixedRowSearch, "_is_worse", lambda *of: False)
    with pytest.warns(MostlyNoiseWarning, match="public costs are much larger"):
        solve(menu(n=2000), 4.0, 1e-6, s=100, rng=0)
