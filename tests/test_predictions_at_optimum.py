"""Predictions at a given optimum: what they keep, and what no public number can tell."""

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from benchmarks.families import hard

D, N, S = 30, 2000, 50


def over_budget(shift):
    """Divide a budget of 1 among projects; nobody gets too little. Rows on the budget are shifted.

    x has the sum 1, so the shift changes no set of points: both programs are the same one.
    """
    rng = np.random.default_rng(3)
    gain = rng.normal(size=(N, D)) / np.sqrt(D)
    even = rng.dirichlet(np.full(D, 5.0))
    least = gain @ even - 0.02 * rng.exponential(size=N)
    return privlp.LinearProgram(
        np.exp(np.random.default_rng(4).normal(0, 0.5, D)),
        np.vstack([np.ones(D), -(gain + shift)]),
        np.append(1.0, -(least + shift)),
        row_lower=np.append(1.0, np.full(N, -np.inf)),
        private=np.arange(N + 1) >= 1,
    )


def left(lp, x):
    """The positive part of the (s+1)-th largest violation of a private row over its norm."""
    rows = sp.csr_array(lp.A)[lp.private]
    over = rows @ x - lp.b[lp.private]
    norms = np.sqrt(np.asarray(rows.power(2).sum(axis=1)).ravel())
    return max(float(np.sort(over / norms)[-S - 1]), 0.0)


def planned(lp, method, opt, eps=1.0):
    return privlp.plan(lp, eps, 1e-6, S, opt=opt).predictions[method]


def test_the_same_program_with_longer_rows_leaves_less_of_them():
    """Public numbers and the sets of points agree; what is left per norm does not."""
    one, other = over_budget(0.0), over_budget(6.0)
    opt = privlp.solve_exact(one).objective
    assert opt == pytest.approx(privlp.solve_exact(other).objective)
    method = "perturbed-at-opt"
    assert planned(one, method, opt) == planned(other, method, opt)
    found = [
        np.mean(
            [
                left(lp, privlp.solve(lp, 0.5, 1e-6, S, opt=opt, method=method, rng=k).x)
                for k in range(3)
            ]
        )
        for lp in (one, other)
    ]
    assert found[0] > 4 * found[1] > 0


def test_rows_of_another_kind_leave_more_at_the_same_public_numbers():
    """People on a map, and the same costs with dense rows; the same optimum after scaling b."""
    a_map = hard.map_covering(1, n=N, d=80).lp
    dense = np.random.default_rng(1).uniform(0.2, 1.0, (N, 80))
    opt = privlp.solve_exact(a_map).objective
    alike = privlp.LinearProgram(a_map.c, -dense, -np.ones(N))
    scale = opt / privlp.solve_exact(alike).objective
    alike = privlp.LinearProgram(a_map.c, -dense, -scale * np.ones(N))
    method = "staged-at-opt"
    assert planned(a_map, method, opt) == planned(alike, method, opt)
    found = [
        np.mean(
            [
                left(lp, privlp.solve(lp, 1.0, 1e-6, S, opt=opt, method=method, rng=k).x)
                for k in range(3)
            ]
        )
        for lp in (a_map, alike)
    ]
    assert found[0] > 4 * found[1]


@pytest.mark.parametrize("method", ["staged-at-opt", "perturbed-at-opt"])
def test_a_prediction_falls_with_eps_and_has_a_floor(method):
    lp = hard.map_covering(1, n=N, d=20).lp
    found = [planned(lp, method, 8.0, eps) for eps in (0.5, 1.0, 2.0, 4.0)]
    violations = [prediction.violation for prediction in found]
    assert violations == sorted(violations, reverse=True)
    assert all(p.floor == pytest.approx(0.01 * p.yardstick) for p in found)
    assert all(p.checks_opt and p.objective_loss == 0 for p in found)
