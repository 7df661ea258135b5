"""Stages of a descent on many rows read a share of them, by secret coins of places."""

import numpy as np
import pytest
import scipy.sparse as sp

from privlp import InvalidParameterError, LinearProgram, solve
from privlp.methods.staged import charges as staged_charges
from privlp.methods.staged.charges import Stage
from privlp.problem.standard_form import StandardForm
from privlp.rows.program_rows import RowBlock, share_of
from tests.test_row_blocks import assert_same, split

MANY = 30_000
KEY = 2**255 + 12345


def block(A, b, first=0, **options):
    lp = LinearProgram(np.ones(A.shape[1]), A, b, **options)
    return RowBlock(StandardForm.of(lp), first=first)


def numbered(n, first=0):
    return block(np.ones((n, 1)), np.arange(float(first), float(first + n)), first)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.37])
def test_a_share_has_its_size_on_every_stretch(share):
    """Within five deviations: a chance below one in a million, for this key."""
    kept = share_of(numbered(20_000), share, KEY).rhs
    deviation = np.sqrt(20_000 * share * (1 - share))
    assert len(kept) == pytest.approx(20_000 * share, abs=5 * deviation)
    stretch = (kept >= 5_000) & (kept < 10_000)
    assert np.count_nonzero(stretch) == pytest.approx(5_000 * share, abs=2.5 * deviation)


def test_coins_of_places_are_independent_and_alike():
    """Then rows may stand in any order: a table sorted by a private column tells nothing by it."""
    rows, keys = numbered(40), np.random.default_rng(0)
    taken = np.zeros((4_000, 40))
    for row in taken:
        row[share_of(rows, 0.3, int.from_bytes(keys.bytes(32), "little")).rhs.astype(int)] = 1
    some = taken[:, [0, 1, 2, 17, 39]]
    together = some.T @ some / len(some)
    expected = np.where(np.eye(5), 0.3, 0.09)
    assert (abs(together - expected) < 5 * np.sqrt(expected * (1 - expected) / 4_000)).all()


def test_every_stage_has_coins_of_its_own_that_nobody_else_has(shares):
    costs, A, b = many_rows()
    found = [solved(LinearProgram(costs, A, b), rng=None) for _ in range(2)]
    keys = [key for _, key in shares]
    assert len(set(keys)) == len(keys) == 12
    assert max(keys).bit_length() > 240
    told = "".join(solution.to_json() for solution in found)
    assert not any(str(key) in told for key in keys)


@pytest.mark.parametrize("cut", [1, 333, 999])
def test_blocks_that_know_their_place_make_the_same_choice(cut):
    whole = share_of(numbered(1_000), 0.3, KEY).rhs
    parts = [share_of(rows, 0.3, KEY).rhs for rows in (numbered(cut), numbered(1_000 - cut, cut))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_coins_of_places_decide_and_numbers_do_not():
    """What a record that is replaced says about itself changes no other row's place."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(500, 3)), rng.normal(size=500)
    other, side = A.copy(), b.copy()
    other[17], side[17] = 9.0, -4.0
    one, two = (share_of(rows, 0.4, KEY) for rows in (block(A, b), block(other, side)))
    np.testing.assert_array_equal(one.form.row, two.form.row)
    assert 0 < len(one.form.row) < 500


def test_both_sides_of_a_row_belong_to_a_share_or_none():
    A = np.ones((100, 2))
    kept = share_of(block(A, np.ones(100), row_lower=np.zeros(100)), 0.3, KEY).form
    above, below = kept.row[kept.row_sign > 0], kept.row[kept.row_sign < 0]
    np.testing.assert_array_equal(above, below)


def test_few_rows_and_rows_that_come_and_go_are_all_read():
    shape = staged_charges._SEARCH[2]
    options = {"noise": 8.5, "size": 80, "s": 500}
    assert Stage.of(shape, n=20_000, **options).share == 1
    assert Stage.of(shape, n=10**6, shares=False, **options).share == 1
    assert Stage.of(shape, n=10**6, **{**options, "noise": 0.0}).share == 1


def test_the_rows_that_are_read_grow_with_the_root_of_all_rows():
    shape = staged_charges._SEARCH[2]
    read = [n * Stage.of(shape, n=n, s=n / 40, noise=8.5, size=80).share for n in (10**6, 10**8)]
    assert read[1] == pytest.approx(10 * read[0])
    assert read[0] < 100_000


@pytest.mark.parametrize("noise", [2.0, 0.01])
def test_what_s_rows_ask_for_is_seen_at_any_eps(noise):
    share = Stage.of(staged_charges._SEARCH[2], n=10**6, s=400, noise=noise, size=80).share
    assert share == max(0.25, 1.5 * staged_charges.difficulty(noise, 80, 400))


@pytest.mark.parametrize(("eps", "most"), [(100.0, 1.25), (1e4, 1.2)])
def test_needs_of_few_rows_are_met_where_noise_is_small(eps, most):
    """Half of 40 products are needed by 100 people each; most of the 20,000 rows are empty."""
    A, rng = np.zeros((20_000, 40)), np.random.default_rng(0)
    A[rng.permutation(20_000)[:2_000], np.repeat(np.arange(20), 100)] = -1.0
    lp = LinearProgram(np.ones(40), A, np.where(A.any(axis=1), -1.0, 0.0))
    solution = solve(lp, eps, 1e-6, 400, method="staged", rng=2)
    assert 16 <= solution.objective <= most * 20
    assert solution.privacy.eps <= eps


def many_rows():
    """Costs, A and b of so many rows that stages read a share of them."""
    rng = np.random.default_rng(1)
    A = -rng.uniform(0.2, 1, (MANY, 5))
    return rng.uniform(1, 3, 5), A, -np.ones(MANY)


def solved(lp, rng=0):
    return solve(lp, 1.0, 1e-6, MANY // 40, opt=5.0, method="staged", rng=rng)


@pytest.fixture
def shares(monkeypatch):
    """The shares that are taken of blocks, and the keys of their coins."""
    found = []
    monkeypatch.setattr(
        "privlp.methods.staged.search.share_of",
        lambda rows, share, key: found.append((share, key)) or share_of(rows, share, key),
    )
    return found


def test_a_solve_that_reads_a_share_misses_few_rows_wherever_they_stand(
    shares, tmp_path, monkeypatch
):
    """Blocks and memory maps know the places of their rows."""
    costs, A, b = many_rows()
    whole = solved(LinearProgram(costs, A, b))
    assert np.count_nonzero(A @ whole.x > -1 + 0.01) <= MANY // 40
    assert_same(whole, solved(LinearProgram(costs, sp.csr_array(A), b)))
    assert len(shares) == 12
    assert max(shares)[0] < 0.5
    for cuts in ([1], list(range(0, MANY, 3_333))):
        assert_same(whole, solved(LinearProgram(costs, *split(A, b, cuts))))
    monkeypatch.setattr("privlp.rows.blocks._ENTRIES", 5 * 7_001)
    np.save(tmp_path / "A.npy", A)
    shares.clear()
    assert_same(whole, solved(LinearProgram(costs, np.load(tmp_path / "A.npy", mmap_mode="r"), b)))
    assert len(shares) > 12


@pytest.mark.parametrize("s", [{"patient*": 3}, [3, 4]])
def test_s_is_one_number_for_all_hard_rows(s):
    lp = LinearProgram([1, 2], -np.ones((50, 2)), -np.ones(50))
    with pytest.raises(
        InvalidParameterError,
        match=r"s is one number for all hard .* repeat them, and let groups say .* Or give those .* a",
    ):
        solve(lp, 1.0, 1e-6, s=s)


def test_copies_with_one_owner_hold_each_kind_of_rows_to_its_own_s():
    """At the noise of the smallest s for all: rows that matter less may be missed more, for less."""
    rng, n, s = np.random.default_rng(0), 3600, np.array([40, 200])
    c, A, b = rng.uniform(1, 2, 4), -rng.uniform(0.2, 1, (n, 4)), -rng.lognormal(0, 0.4, n)
    matters = np.arange(n) < 600
    rows = np.repeat(np.arange(n), np.where(matters, s[1] // s[0], 1))
    copies = LinearProgram(c, A[rows], b[rows], groups=rows, bounds=(0, 50))
    assert copies.public().rows_of_one_record == 5
    found = solve(copies, 2.0, 1e-6, s=int(s[1]), rng=0)
    alone = solve(LinearProgram(c, A, b, bounds=(0, 50)), 2.0, 1e-6, s=int(s[0]), rng=0)
    missed = A @ found.x > b + 1e-9
    assert missed[matters].sum() <= s[0]
    assert s[0] < missed[~matters].sum() <= s[1]
    assert found.objective < 0.9 * alone.objective
