"""Sums over rows on a public grid are exact: equal to the last bit in any order and company."""

import math
import os
import subprocess
import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex
from privlp.rows import in_coordinates, parts
from privlp.rows.access import Grid
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign, signs_and_spread
from privlp.rows.program_rows import RowBlock
from tests.effort import examples, pairs
from tests.programs import covering, refused_for_free

SOFTNESS = 0.3
STORAGE = {"dense": np.array, "columns": np.asfortranarray, "sparse": sp.csr_array}
KINDS = {"equal norm": RowsOfEqualNorm, "one sign": partial(RowsOfOneSign, sign=-1)}


def table(n, d, seed=0):
    """Rows of many sizes, some entries 0, all of one sign; and right-hand sides."""
    rng = np.random.default_rng(seed)
    A = -rng.exponential(1.0, (n, d)) * rng.choice([1e-9, 1.0, 1e7], (n, 1))
    A[rng.random((n, d)) < 0.4] = 0.0
    return A, A.sum(axis=1) * rng.uniform(0.0, 0.1, n)


class Summed:
    """The rows of a table as a descent sees them, at a released point."""

    def __init__(self, A, b, kind, storage, largest_n=1000):
        costs = np.random.default_rng(1).uniform(0.5, 2.0, A.shape[1])
        form = StandardForm.of(LinearProgram(costs, storage(A), b, neighbours=COMES_AND_GOES))
        simplex = Simplex(form, 3.0)
        share = np.random.default_rng(2).dirichlet(np.ones(simplex.size))
        self.rows = KINDS[kind](RowBlock(form), simplex=simplex, largest_n=largest_n)
        self.point = simplex.point(share)
        self.violations = self.rows.violations(self.point)
        self.sum = self.rows.weighed(self.point, 1 / SOFTNESS)


COMES_AND_GOES = ConstraintPrivate("add-remove", nominal_n=1000)


TABLES = pairs([1, 2, 3, 17, 64, 300], KINDS, STORAGE)
tables = pytest.mark.parametrize(("d", "kind", "storage"), TABLES)


def assert_same(found, *others):
    """The same violations and sums, to the last bit."""
    for other in others:
        np.testing.assert_array_equal(other.violations, found.violations)
        np.testing.assert_array_equal(other.sum, found.sum)


class TestToTheLastBit:
    @pytest.mark.parametrize(
        ("kept", "d", "kind", "storage"),
        pairs([1, 2, 7, 60], [1, 2, 3, 17, 64, 300], KINDS, STORAGE),
    )
    def test_rows_that_are_there_or_not(self, d, kind, storage, kept):
        """The sum is that of some rows plus that of the others, without any error."""
        A, b = table(61, d)
        both, parts = (A, b), (slice(None), slice(kept), slice(kept, None))
        cut = ((rows[part] for rows in both) for part in parts)
        whole, some, others = (Summed(*rows, kind, STORAGE[storage]) for rows in cut)
        apart = np.append(some.violations, others.violations)
        np.testing.assert_array_equal(whole.violations, apart)
        np.testing.assert_array_equal(whole.sum, some.sum + others.sum)

    @tables
    def test_parts_of_any_size(self, d, kind, storage, monkeypatch):
        A, b = table(150, d)
        whole = Summed(A, b, kind, STORAGE[storage])
        monkeypatch.setattr(parts, "MOST_ROWS", 7)
        assert_same(whole, Summed(A, b, kind, STORAGE[storage]))

    @tables
    def test_it_is_the_sum_of_fractions(self, d, kind, storage):
        A, b = table(23, d)
        found = Summed(A, b, kind, STORAGE[storage])
        contributions = [Summed(A[[i]], b[[i]], kind, STORAGE[storage]).sum for i in range(23)]
        exact = [sum(map(Fraction, c), Fraction(0)) for c in zip(*contributions, strict=True)]
        assert list(map(Fraction, found.sum)) == exact


entries = st.one_of(
    st.floats(-3, 3), st.sampled_from([0.0, 1.0, -1.0, 1e-8, 9e14, -9e14, 1e-300, 1 / 3])
)


class TestNorms:
    @settings(deadline=None, max_examples=examples(150))
    @given(
        row=st.lists(entries, min_size=1, max_size=5),
        largest_n=st.sampled_from([1, 10**3, 10**6, 10**9]),
    )
    def test_of_a_row_in_fractions(self, row, largest_n):
        """At most 1 without any error; and a row of one sign at most the square root of 2."""
        form = StandardForm.of(LinearProgram(np.arange(1.0, len(row) + 1), [row], [-1e9]))
        simplex = Simplex(form, 2.0)
        point = simplex.point(np.full(simplex.size, 1 / simplex.size))
        for build, largest in (
            (RowsOfEqualNorm, 1),
            (partial(RowsOfOneSign, sign=1), 2),
            (partial(RowsOfOneSign, sign=-1), 2),
        ):
            rows = build(RowBlock(form), simplex=simplex, largest_n=largest_n)
            contribution = rows.weighed(point, 1e12)
            assert sum(Fraction(entry) ** 2 for entry in contribution) <= largest

    def test_a_row_that_is_too_long_counts_for_nothing(self, monkeypatch):
        """Whatever arithmetic does to its factor: the norm is taken from integers."""
        original = RowsOfEqualNorm._scaled

        def longer(self, part):
            scale, centre = original(self, part)
            return scale * np.where(np.arange(len(scale)) % 2, 1.001, 1.0), centre

        A, b = table(10, 5)
        kept = Summed(A[::2], b[::2] - 1e9, "equal norm", np.array)
        monkeypatch.setattr(RowsOfEqualNorm, "_scaled", longer)
        np.testing.assert_array_equal(Summed(A, b - 1e9, "equal norm", np.array).sum, kept.sum)

    def test_no_row_is_lost(self):
        """Rounding makes no row too long, whatever the number of its entries."""
        for d in (1, 2, 50, 900):
            A, b = table(300, d, seed=d)
            one = Summed(A, b - 1e9, "one sign", np.array, largest_n=10**9)
            rows = [np.linalg.norm(part._entries, axis=1) for _, part in one.rows._parts]
            norms = np.concatenate(rows) / one.rows.grid.of_entry
            assert norms == pytest.approx(np.where(A.any(axis=1), math.sqrt(2), 0.0), rel=0.003)


@given(n=st.integers(1, 10**9))
def test_bits_are_enough_for_every_sum(n):
    """The inequalities of the grid, in integers."""
    grid = Grid.of(n)
    entry, weight = 2**grid.entries, 2**grid.weights
    assert 8 * entry <= 2**24  # single precision holds an entry
    assert parts.MOST_ROWS * 8 * entry * weight <= 2**53  # a part
    larger = parts.rows_of_a_part((n, 1), 0, sparse=True, private=n)
    assert larger * 8 * entry * weight <= 2**53
    assert (n * entry * weight) ** 2 * 2 <= 2**106  # all rows, of norm sqrt(2)
    assert n * 8 * entry * weight < 2**62
    point, unit = grid.point(np.full(7, 1 / 7))
    assert 8 * entry * point.sum() <= 2**53
    assert unit * entry * point.sum() == pytest.approx(1.0, rel=1e-4)
    for s in (1, 100, n):  # dense weights, whose sum is s, are exact in double precision
        bits = grid.bits_of_dense_weights(s)
        assert bits == 0 or 8 * entry * s * 2**bits <= 2**53


def test_a_point_beyond_the_region_gets_fewer_bits():
    grid = Grid.of(100)
    for size in (1e-3, 1.0, 3.9, 4.1, 1e6, 1e30):
        point, unit = grid.point(np.array([size, -size]))
        assert np.abs(point).sum() * 8 * grid.of_entry <= 2**53
        assert point[0] * unit * grid.of_entry == pytest.approx(size, abs=1e-6, rel=1e-6)


def test_signs_and_spread_are_exact():
    A, _ = table(60, 5)
    A[::3] *= -1

    def found(rows):
        form = StandardForm.of(LinearProgram(np.ones(5), rows, np.ones(len(rows))))
        return signs_and_spread(RowBlock(form), Simplex(form, 1.0))

    np.testing.assert_array_equal(found(A), sum(found(A[[i]]) for i in range(60)))
    np.testing.assert_array_equal(found(A), found(A[::-1]))


@pytest.mark.parametrize(("change", "moved"), [("replace", 2.0), ("add-remove", 1.0)])
@pytest.mark.parametrize("k", [1, 3])
def test_the_ledger_says_exactly_what_a_record_moves(k, change, moved):
    nominal = {"nominal_n": 500} if change == "add-remove" else {}
    lp = covering(200, neighbours=ConstraintPrivate(change, k, **nominal))
    solution = privlp.solve(lp, 1.0, 1e-6, 9, method="staged", rng=0)
    sums = [e.sensitivity for e in solution.privacy.entries if "violated rows each" in e.purpose]
    assert sums
    assert set(sums) == {moved * k}


@pytest.mark.parametrize("kind", KINDS)
def test_however_the_matrix_is_held(kind, tmp_path):
    """In either order, copied, read-only or on disk: the same bits; sparse rows among themselves."""
    A, b = table(200, 9)
    np.save(tmp_path / "A.npy", A)
    held = A.copy()
    held.setflags(write=False)
    forms = [A, np.asfortranarray(A), held, np.load(tmp_path / "A.npy", mmap_mode="r")]
    sparse = [sp.csr_array(A), sp.csc_array(A), sp.coo_array(A)]
    for group in (forms, sparse):
        found = [Summed(given, b, kind, lambda given: given) for given in group]
        assert_same(*found)


def test_threads_that_the_environment_asks_for():
    code = "from privlp.rows import parts; print(len(parts.over([1, 2, 3], len)))"
    for asked, expected in (("3", b"3"), ("many", b"1"), ("0", b"1")):
        environment = {**os.environ, "PRIVLP_THREADS": asked}
        done = subprocess.check_output([sys.executable, "-c", code], env=environment)
        assert done.strip() == expected


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_duplicates_of_a_row_are_added_whatever_other_rows_are(form):
    """Also where their sum depends on the order, and another row is out of order."""
    d, rng = 20, np.random.default_rng(0)
    columns = np.sort(np.r_[np.arange(d), np.full(20, 3)])
    values, at = np.full(40, 0.001), np.flatnonzero(columns == 3)
    values[at] = rng.permutation(np.r_[9e14, -9e14, rng.uniform(-0.05, 0.05, len(at) - 2)])
    found = set()
    for last in ([0, 1], [1, 0]):
        parts = (np.r_[values, 1.0, 2.0], np.r_[columns, last])
        A = sp.csr_array((*parts, [0, 40, 42]), shape=(2, d))
        if form == "coo":
            A = sp.coo_array((parts[0], (np.repeat([0, 1], [40, 2]), parts[1])), shape=(2, d))
        found.add(float(LinearProgram(np.ones(d), A, np.ones(2)).A[0, 3]))
    assert len(found) == 1


def test_the_places_of_a_sparse_matrix_are_not_copied():
    """SciPy copies a part of an array, unless it is asked not to."""
    A, b = table(5_000, 200)
    form = StandardForm.of(LinearProgram(np.ones(200), sp.csr_array(A), b))
    rows = RowsOfEqualNorm(RowBlock(form), Simplex(form, 3.0), largest_n=5_000)
    assert len(rows._parts) > 1
    for _, part in rows._parts:
        for matrix in (part._rows, part._columns):
            assert np.shares_memory(matrix.indices, form.lp.A.indices)
            assert np.shares_memory(matrix.data, part._data)


def test_flags_of_a_matrix_are_not_believed():
    A = sp.csr_array((np.ones(50), np.zeros(50, int), [0, 50]), shape=(1, 100))
    A.has_canonical_format = True
    for part in (A.data, A.indices, A.indptr):
        part.setflags(write=False)
    held = LinearProgram(np.ones(100), A, [-1e9]).A
    assert held.nnz == 1
    assert held[0, 0] == 50


def test_more_rows_than_any_grid_carries_are_refused_before_anything_is_paid():
    lp = covering(200, neighbours=ConstraintPrivate("add-remove", 1, nominal_n=10**10))
    with refused_for_free("too many rows for exact sums", privlp.UnsupportedProblemError) as budget:
        privlp.solve(lp, 1.0, 1e-12, 9, method="staged", budget=budget)


def test_a_view_of_an_array_that_may_change_is_copied():
    base = np.ones((3, 2))
    view = base.view()
    view.flags.writeable = False
    lp = LinearProgram([1.0, 1.0], view, np.ones(3))
    base[0, 0] = np.nan
    assert lp.A[0, 0] == 1


@pytest.mark.parametrize("n", [2**23 - 1, 2**23])
def test_limbs_carry_what_64_bits_cannot_hold(n):
    """Rows e_1 with weight 1 add 2^40 each: a sum that wrapped around jumped by 2^24 there."""
    found = in_coordinates.exact_weighted_sum(np.ones((n, 1)), (-np.ones(n)).__getitem__)
    assert in_coordinates.value_of_sum(found, of_rows=True) == [-n]


def test_limbs_are_exact_for_the_largest_rows_and_weights():
    """All of one sign and near 1, for as many rows as are summed in double precision at a time."""
    rng = np.random.default_rng(0)
    entries = 2**22 - rng.integers(0, 2**10, (2**13, 8))
    weights = 2**19 - rng.integers(0, 2**10, 2**13)
    found = in_coordinates.exact_weighted_sum(entries / 2**22, (weights / 2**19).__getitem__)
    total = [Fraction(0)] * 8
    for k, (high, low) in enumerate(zip(*found.tolist(), strict=True), start=1):
        unit = Fraction(1, 2 ** (in_coordinates._BITS * k + 22))
        carried = [
            (h << in_coordinates._OF_A_ROW) + rest for h, rest in zip(high, low, strict=True)
        ]
        total = [so_far + unit * more for so_far, more in zip(total, carried, strict=True)]
    assert total == [Fraction(int(each), 2**41) for each in weights @ entries]


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(0, 400), st.booleans())
def test_limbs_are_the_exact_sum_however_rows_are_cut(seed, n, cut, sparse):
    rng = np.random.default_rng(seed)
    rows = in_coordinates.on_grid(rng.uniform(-1, 1, (n, 2)))
    weights = rng.choice([0.0, 1.0, -1.0, *rng.uniform(-1, 1, 5)], n)
    held = sp.csr_array(rows) if sparse else rows
    whole, one, two = (
        in_coordinates.exact_weighted_sum(held[part], weights[part].__getitem__)
        for part in (slice(None), slice(cut), slice(cut, None))
    )
    found, apart = (in_coordinates.value_of_sum(of, of_rows=True) for of in (whole, one + two))
    np.testing.assert_array_equal(found, apart)
    for value, column in zip(found, rows.T.astype(float), strict=True):
        exact = sum(map(Fraction.__mul__, map(Fraction, weights), map(Fraction, column)))
        assert abs(Fraction(value) - exact) <= n * (Fraction(1, 2**55) + Fraction(3, 2**53))
