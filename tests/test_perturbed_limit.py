"""With an unlimited budget, or a nearly unlimited one, perturbed programs approach the optimum."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.families.instance import missed
from privlp import LinearProgram, models, solve, solve_exact
from privlp.models import simulated
from tests.effort import each

#: How far costs may be from the optimum, as a share; and at a large eps, above it.
NEAR, WITHIN = 1e-3, 0.03


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
    "cover within far bounds": lambda: cover(1e6),
}
# Bounds on variables of 10^6 times their size: the search of a noisy start ends above that.
TOO_FAR = "cover within far bounds"


@pytest.mark.parametrize(("name", "share"), each(PROGRAMS, [1e-3, 0.05]))
def test_without_noise_the_optimum_is_found(name, share):
    lp = PROGRAMS[name]()
    best = solve_exact(lp).objective
    s = max(1, int(share * lp.private.sum()))
    found = solve(lp, math.inf, 1e-6, s, method="perturbed", rng=0)
    assert found.objective == pytest.approx(best, rel=NEAR)
    assert missed(lp, found.x) <= s


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != TOO_FAR])
def test_a_large_budget_costs_no_more_than_all_rows(name):
    lp = PROGRAMS[name]()
    best = solve_exact(lp).objective
    s = int(0.05 * lp.private.sum())
    found = solve(lp, 1e4, 1e-6, s, method="perturbed", rng=0)
    assert found.objective <= best * (1 + WITHIN)
    assert missed(lp, found.x) <= s
