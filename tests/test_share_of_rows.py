"""Stages of a descent on many rows read a share of them, by public places."""

import numpy as np
import pytest
import scipy.sparse as sp

from privlp import LinearProgram, solve
from privlp.methods import staged_charges
from privlp.methods.staged_charges import Stage
from privlp.problem.standard_form import StandardForm
from privlp.rows.program_rows import RowBlock
from privlp.rows.share import share_of


def block(A, b, first=0, **options):
    lp = LinearProgram(np.ones(A.shape[1]), A, b, **options)
    return RowBlock(StandardForm.of(lp), first=first)


def numbered(n, first=0):
    return block(np.ones((n, 1)), np.arange(float(first), float(first + n)), first)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.37])
def test_a_share_has_its_size_on_every_stretch(share):
    kept = share_of(numbered(20_000), share).rhs
    assert len(kept) == pytest.approx(20_000 * share, abs=5)
    stretch = (kept >= 5_000) & (kept < 10_000)
    assert np.count_nonzero(stretch) == pytest.approx(5_000 * share, abs=5)


@pytest.mark.parametrize("cut", [1, 333, 999])
def test_blocks_that_know_their_place_make_the_same_choice(cut):
    whole = share_of(numbered(1_000), 0.3).rhs
    parts = share_of(numbered(cut), 0.3).rhs, share_of(numbered(1_000 - cut, cut), 0.3).rhs
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_places_decide_and_numbers_do_not():
    """What a record that is replaced says about itself changes no other row's place."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(500, 3)), rng.normal(size=500)
    other, side = A.copy(), b.copy()
    other[17], side[17] = 9.0, -4.0
    one, two = share_of(block(A, b), 0.4), share_of(block(other, side), 0.4)
    np.testing.assert_array_equal(one.form.row, two.form.row)
    assert 0 < len(one.form.row) < 500


def test_both_sides_of_a_row_belong_to_a_share_or_none():
    A = np.ones((100, 2))
    kept = share_of(block(A, np.ones(100), row_lower=np.zeros(100)), 0.3).form
    above, below = kept.row[kept.row_sign > 0], kept.row[kept.row_sign < 0]
    np.testing.assert_array_equal(above, below)


def test_few_rows_and_rows_that_come_and_go_are_all_read():
    shape = staged_charges._MANY[2]
    options = {"noise": 8.5, "size": 80}
    assert Stage.of(shape, n=20_000, **options).share == 1
    assert Stage.of(shape, n=10**6, shares=False, **options).share == 1
    assert Stage.of(shape, n=10**6, **{**options, "noise": 0.0}).share == 1


def test_the_rows_that_are_read_grow_with_the_root_of_all_rows():
    shape = staged_charges._MANY[2]
    read = [n * Stage.of(shape, n=n, noise=8.5, size=80).share for n in (10**6, 10**8)]
    assert read[1] == pytest.approx(10 * read[0])
    assert read[0] < 50_000


def test_a_solve_that_reads_a_share_misses_few_rows(monkeypatch):
    rng = np.random.default_rng(1)
    n, d = 30_000, 5
    A = sp.csr_array(-rng.uniform(0.2, 1, (n, d)))
    lp = LinearProgram(rng.uniform(1, 3, d), A, -np.ones(n))
    shares = []
    monkeypatch.setattr(
        "privlp.methods.staged_run.share_of",
        lambda rows, share: shares.append(share) or share_of(rows, share),
    )
    solution = solve(lp, 1.0, 1e-6, n // 40, opt=5.0, method="staged-at-opt", rng=0)
    assert len(shares) == 6
    assert max(shares) < 0.5
    assert np.count_nonzero(A @ solution.x > -1 + 0.01) <= n // 40
