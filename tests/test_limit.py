"""Without noise methods find the optimum, and come near it as eps grows."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from benchmarks.families.instance import missed
from privlp import LinearProgram, models, solve, solve_exact
from privlp.models import simulated
from tests.effort import each

# methods for hard rows come near the optimum as eps grows, and without noise give it exactly


#: How far objectives may be from the optimum, as a share of it: without noise, and with little.
NEAR, WITHIN = 1e-6, 0.08


def covering(box, rng, kinds):
    rows = rng.uniform(0.2, 1, (kinds, 8))[rng.integers(0, kinds, 300)]
    return LinearProgram(rng.uniform(1, 3, 8), -rows, -np.ones(300), bounds=(0, box))


def packing(box, rng, kinds):
    rows = rng.uniform(0.2, 1, (kinds, 6))[rng.integers(0, kinds, 300)]
    return LinearProgram(rng.uniform(1, 3, 6), rows, np.ones(300), bounds=(0, box), sense="max")


def half_spaces(box, rng, kinds):
    """Around a point, in a box around 0."""
    a, which = rng.normal(size=(kinds, 4)), rng.integers(0, kinds, 300)
    a /= np.linalg.norm(a, axis=1)[:, None]
    b = a @ rng.uniform(-0.5, 0.5, 4) + 0.2 + rng.exponential(0.3, kinds)
    return LinearProgram(rng.normal(size=4), a[which], b[which], bounds=(-box, box))


def fit(box, rng, kinds):
    """Of least largest error, about a value that is far from 0."""
    u, which = rng.uniform(-1, 1, kinds), rng.integers(0, kinds, 300)
    B = np.vander(u, 3)
    y = min(1000.0, 0.5 * box) + B @ [0.3, -0.2, 0.1] + 0.1 * rng.normal(size=kinds)
    A = np.vstack([np.column_stack([sign * B[which], -np.ones(300)]) for sign in (1, -1)])
    bounds = [(-box, box)] * 3 + [(0, box)]
    return LinearProgram([0, 0, 0, 1.0], A, np.append(y[which], -y[which]), bounds=bounds)


def shares(box, rng, kinds):
    """With a public equality."""
    lp = covering(box, rng, kinds)
    A, low = np.vstack([[1, -1, 0, 0, 0, 0, 0, 0], lp.A]), np.append(0.0, np.full(300, -math.inf))
    b, private = np.append(0.0, lp.b), np.arange(301) > 0
    return LinearProgram(lp.c, A, b, row_lower=low, private=private, bounds=(0, box))


SHAPES = {make.__name__: make for make in (covering, packing, half_spaces, fit, shares)}
#: What each method takes.
WAYS = [(name, method) for name in SHAPES for method in ("chain", "perturbed")]
WAYS += [(name, "staged") for name in ("covering", "packing")]


@pytest.mark.parametrize(
    ("way", "box", "kinds"), each(WAYS, [1.0, 1e3, 1e6, 1e9, 1e12], [1, 5, 300])
)
def test_without_noise_the_answer_is_exact(way, box, kinds):
    name, method = way
    lp = SHAPES[name](box, np.random.default_rng(0), kinds)
    best = privlp.solve_exact(lp).objective
    found = privlp.solve(lp, math.inf, 0.0, 15, method=method, rng=0)
    assert found.objective == pytest.approx(best, rel=NEAR, abs=NEAR)
    assert found.missed.high == 0


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, m) for name, m in WAYS if m != "perturbed" and name not in ("fit", "shares")],
)
def test_with_hardly_any_noise_the_search_itself_comes_near(name, method):
    """Noise is drawn here: what is exact without it takes no part."""
    lp = SHAPES[name](3.0, np.random.default_rng(0), 300)
    best = privlp.solve_exact(lp).objective
    found = privlp.solve(lp, 1e5, 1e-6, 1, method=method, rng=0)
    # A chain makes 280 steps at most, whatever eps: half-spaces about a point are the farthest off.
    within = 2 * WITHIN if (name, method) == ("half_spaces", "chain") else WITHIN
    assert found.objective == pytest.approx(best, rel=within)


@pytest.mark.parametrize("unit", [1e-6, 1e9, 1e12])
def test_without_public_limits_numbers_of_all_sizes_are_found(unit):
    lp = packing(None, np.random.default_rng(0), 300)
    best = privlp.solve_exact(lp).objective
    lp = LinearProgram(lp.c, lp.A, unit * lp.b, sense="max")
    found = privlp.solve(lp, math.inf, 0.0, 15, rng=0)
    assert found.objective == pytest.approx(unit * best, rel=NEAR)
    assert found.status is not privlp.Status.UNBOUNDED


def test_without_any_limit_that_is_said():
    lp = packing(None, np.random.default_rng(0), 300)
    A = np.where(np.arange(6) == 2, 0.0, lp.A)  # no row touches this variable
    with pytest.warns(UserWarning, match="x is no answer"):
        found = privlp.solve(LinearProgram(lp.c, A, lp.b, sense="max"), math.inf, 0.0, 15, rng=0)
    assert found.status is privlp.Status.UNBOUNDED


def test_rows_that_contradict_each_other_are_missed_least():
    """One row in twenty asks for less than the others, who have a point of their own."""
    rng = np.random.default_rng(0)
    A, less = rng.uniform(0.5, 1, (400, 3)), np.arange(400) % 20 == 0
    b = np.where(less, 0.5, -1.0)
    lp = LinearProgram(np.ones(3), np.where(less[:, None], A, -A), b, bounds=(0, 10))
    found = privlp.solve(lp, math.inf, 0.0, 80, rng=0)
    assert 20 <= found.missed.high <= 80
    assert found.objective < 3


# with an unlimited budget, or a nearly unlimited one, perturbed programs approach the optimum


def cover(upper, *, emergency=1e4, n=400, d=6):
    """Cover needs at least cost; one more variable covers every row at a very large price."""
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.uniform(0, 1, (n, d)), np.ones(n)])
    costs = np.append(rng.uniform(1, 2, d), emergency)
    return LinearProgram(costs, -A, -rng.uniform(0.5, 1, n), bounds=(0, upper))


def transport(n=400, sources=3, sinks=4):
    """Ship public supplies to sinks; each private row asks for enough in a few of them."""
    rng = np.random.default_rng(0)
    supply = rng.uniform(0.5, 1.5, sources)
    weight = rng.uniform(0.3, 1, (n, sinks)) * (rng.random((n, sinks)) < 0.5)
    asked = weight @ np.full(sinks, supply.sum() / sinks) * rng.beta(4, 3, n)
    leaves = np.kron(np.eye(sources), np.ones(sinks))
    return LinearProgram(
        rng.uniform(0.1, 1, sources * sinks),
        sp.vstack([sp.csc_array(leaves), -sp.csc_array(np.tile(weight, sources))]),
        np.append(supply, -asked),
        row_lower=np.append(supply, np.full(n, -math.inf)),
        private=np.arange(sources + n) >= sources,
    )


def many_needs(n=4000, d=25, nutrients=8):
    """A diet without bounds, of people who draw differently from each food."""
    rng = np.random.default_rng(0)
    table = np.exp(rng.normal(0, 0.6, (nutrients, d))) * (rng.random((nutrients, d)) < 0.6)
    table[np.arange(nutrients), rng.integers(0, d, nutrients)] += 1
    kind = rng.integers(0, nutrients, n)
    need = np.exp(rng.normal(0, 0.25, n)) * rng.uniform(2, 6, nutrients)[kind]
    cost = rng.uniform(0.5, 1.5, d) * (0.3 + table.mean(axis=0))
    return LinearProgram(cost, -table[kind] * rng.uniform(0.7, 1.3, (n, d)), -need)


PROGRAMS = {
    "staffing": lambda: models.staffing(**simulated.care(4, clients=2000)),
    "diet": lambda: models.diet(**simulated.canteen(0, people=200)),
    "diet without bounds": many_needs,
    "transport": transport,
    "cover": lambda: cover(5.0),
    "cover without bounds": lambda: cover(math.inf),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_large_budget_costs_no_more_than_all_rows(name):
    lp = PROGRAMS[name]()
    best = solve_exact(lp).objective
    s = int(0.05 * lp.private.sum())
    found = solve(lp, 1e4, 1e-6, s, method="perturbed", rng=0)
    assert found.objective <= best * (1 + 0.03)
    assert missed(lp, found.x) <= s
