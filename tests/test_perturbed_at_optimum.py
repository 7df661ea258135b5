"""Perturbed programs at a given cost: what becomes of a wrong one, and what the user is told."""

import warnings

import numpy as np
import pytest

import privlp
from benchmarks.families import others

# Divide a budget over 49 projects so that 2,034 people get enough: s = 50.
FAIRNESS = others.fairness(1)
OPTIMUM = privlp.solve_exact(FAIRNESS.lp).objective


def solve(share, *, eps=1.0, method="auto", rng=1):
    """At this share of the optimum; and what the user is warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = privlp.solve(
            FAIRNESS.lp, eps, 1e-6, FAIRNESS.s, opt=share * OPTIMUM, method=method, rng=rng
        )
    return found, {warning.category for warning in told}


def missed(x):
    return int(np.sum(FAIRNESS.lp.A @ x - FAIRNESS.lp.b > 1e-3))


@pytest.mark.parametrize("rng", range(4))
def test_a_cost_that_noise_keeps_too_low_is_warned_of(rng):
    """At half of the optimum five to ten times s rows are missed: noise hides it, the last counts tell.

    Their mean has a deviation below s, so all four seeds warn but for 1 in a million.
    """
    found, told = solve(0.5, rng=rng)
    assert found.method == "perturbed-at-opt"
    assert missed(found.x) > 4 * FAIRNESS.s
    assert privlp.MissedRowsWarning in told


@pytest.mark.parametrize("rng", range(4))
def test_the_right_cost_is_not_taken_for_too_low(rng):
    """As many as s rows may be missed at it: then counts cannot be sure, and say so.

    Chance of a false alarm: 1 in 40 for each seed, if as many as s rows are missed.
    """
    found, told = solve(1.0, eps=4.0, rng=rng)
    assert found.method == "perturbed-at-opt"
    assert found.objective <= OPTIMUM * (1 + 1e-6)
    assert found.missed.low <= FAIRNESS.s
    assert (privlp.MissedRowsWarning in told) == (found.missed.high > FAIRNESS.s)


def test_a_cost_that_no_public_point_reaches_is_a_hint():
    cheapest = float(FAIRNESS.lp.c.min())  # on the simplex nothing is cheaper
    share = 0.9 * cheapest / OPTIMUM
    assert solve(share)[0].method == "chain"
    with pytest.raises(privlp.InvalidParameterError, match=r"is below the least objective"):
        solve(share, method="perturbed-at-opt")
    assert solve(1.1 * cheapest / OPTIMUM)[0].method == "perturbed-at-opt"


@pytest.mark.parametrize("method", ["perturbed", "staged"])
def test_advice_names_the_method_that_keeps_to_a_value(method):
    rows = np.random.default_rng(0).uniform(0.2, 1.0, (400, 40))
    lp = privlp.LinearProgram(np.ones(40), -rows, -np.ones(400), bounds=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = privlp.solve(lp, 0.5, 1e-6, 10, opt=2.0, method=method, rng=0)
    assert f"known to be right, method='{method}-at-opt' may do better" in found.advice
    assert "ftpl" not in found.advice
