"""Rows far from their sides are left out of sums while points stay near: sums keep their bits."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from privlp import LinearProgram
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex
from privlp.rows import on_simplex
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign
from privlp.rows.program_rows import RowBlock


def many_short(A):
    return sp.csr_array(np.where(np.arange(A.shape[1]) % 4 == np.arange(len(A))[:, None] % 4, A, 0))


def program(storage, d=20, n=600, seed=0):
    rng = np.random.default_rng(seed)
    A = storage(-rng.uniform(0.2, 1, (n, d)) * (rng.random((n, d)) < 0.7))
    lower = np.where(rng.random(n) < 0.1, -30.0, -np.inf)
    return LinearProgram(rng.uniform(1, 3, d), A, -rng.uniform(0.1, 1, n), row_lower=lower)


def walk(simplex, steps, rng):
    """Points of small and of large steps, with parts of all sizes and sums that change."""
    share = rng.dirichlet(np.ones(simplex.size))
    for t in range(120):
        length = rng.choice(steps)
        share = np.abs(share + length * rng.normal(size=simplex.size) / simplex.size)
        share /= share.sum()
        yield share * (1 + (t % 3 == 0) * length) * simplex.vertices


@pytest.mark.parametrize("make", [RowsOfEqualNorm, partial(RowsOfOneSign, sign=-1)])
@pytest.mark.parametrize(
    ("storage", "cost"), [(np.array, 3.0), (sp.csr_array, 3.0), (many_short, 15.0)]
)
@pytest.mark.parametrize("steps", [[1e-4], [1e-3, 0.03], [1e-3, 1.0]])
def test_sums_are_those_of_all_rows_to_the_last_bit(make, storage, cost, steps, monkeypatch):
    monkeypatch.setattr(on_simplex, "_MANY", 1)
    monkeypatch.setattr(on_simplex, "SHORT", 0)  # some parts may be short
    lp, rng, alone = program(storage), np.random.default_rng(3), 0
    block, simplex = RowBlock(StandardForm.of(lp)), Simplex(StandardForm.of(lp), None, cost=cost)
    beside = make(block, simplex=simplex, largest_n=600, in_memory=True)
    every = make(block, simplex=simplex, largest_n=600)
    for u in walk(simplex, steps, rng):
        one, other = (rows.weighed(u, 5.0) for rows in (beside, every))
        np.testing.assert_array_equal(one, other)
        some = beside._near._some
        alone += some is not None and 0 < len(some.rhs) < 0.9 * len(every._rhs)
    assert alone > 10


@pytest.mark.parametrize("change", [0.01, -0.01])
def test_a_sum_of_shares_that_changes_moves_rows_of_equal_norm_by_their_mean(change, monkeypatch):
    """Rows that hardly vary: only the sum of shares moves them."""
    monkeypatch.setattr(on_simplex, "_MANY", 1)
    rng = np.random.default_rng(0)
    A = 1 + 0.1 * rng.random((200, 20))
    lp = LinearProgram(np.ones(20), A, np.linspace(1.04, 1.2, 200), bounds=(0, 5))
    block = RowBlock(StandardForm.of(lp))
    simplex = Simplex(StandardForm.of(lp), None, cost=1.0, capped=True)
    beside = RowsOfEqualNorm(block, simplex, largest_n=200, in_memory=True)
    every = RowsOfEqualNorm(block, simplex, largest_n=200)
    share = np.full(20, 0.05)
    for size in (1.0, 1 + 1e-5, 1 + 1e-5, 1 + 1e-5 + change, 1 + 1e-5):
        one, other = (rows.weighed(size * share, 5.0) for rows in (beside, every))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_a_solve_has_the_same_bits(storage, monkeypatch):
    lp = program(storage, n=3_000).changed(row_lower=None)
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(on_simplex, "_MANY", many)
        found.append(privlp.solve(lp, 2.0, 1e-6, 150, method="staged", rng=0))
    np.testing.assert_array_equal(found[0].x, found[1].x)
    assert found[0].missed == found[1].missed
