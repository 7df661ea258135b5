"""PrivateLPSVC: the same bits for any blocks, threads and storage; memory; what is refused."""

import math
import tracemalloc
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from privlp import InvalidProblemError
from svm_models import PrivateLPSVC, PrivateQuantileRegressor
from svm_models.records import grid as grids

pytestmark = pytest.mark.usefixtures("short_advice")

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(1.0, 0.15, (6_000, 8)))
X[:, 3] = np.where(RNG.random(6_000) < 0.8, 0.0, X[:, 3])
Y = np.where(X[:, 0] > X[:, 1], "b", "a")
X /= 0.9 * np.linalg.norm(X, axis=1).max()
FITS = {
    "measured once": {"eps": 0.3},
    "measured twice": {"eps": 3.0},
    "no noise": {"eps": math.inf, "rounds": 20},
    "a record added": {"relation": "add-remove"},
    "weights and a threshold": {"threshold_share": 0.1, "class_weight": {"a": 2.0}},
}


def fitted(records, labels, options):
    """All that a fit tells, to the last bit."""
    svm = PrivateLPSVC(**{"delta": 1e-8, "classes": ("a", "b"), "random_state": 0, **options})
    svm.fit(records, labels)
    return svm.coef_.tolist(), svm.intercept_.tolist(), svm.privacy_.entries


@pytest.mark.parametrize("name", FITS)
def test_blocks_threads_and_storage_change_no_bit(name, tmp_path, monkeypatch):
    whole = fitted(X, Y, FITS[name])
    for count in (1, 3, 40):
        blocks = np.array_split(X, count)
        assert fitted(blocks, np.array_split(Y, count), FITS[name]) == whole
    assert fitted([X[:0], X], Y, FITS[name]) == whole
    with mock.patch("privlp.rows.blocks.MEMORY", 0):
        assert fitted(tuple(blocks), Y, FITS[name]) == whole
    monkeypatch.setattr("privlp.rows.parts.rows_of_a_part", lambda *_, **__: 500)
    with mock.patch("privlp.rows.parts.THREADS", 2):
        assert fitted(X, Y, FITS[name]) == whole
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr("privlp.rows.blocks._ENTRIES", 8 * 700)
    with mock.patch("privlp.rows.blocks.MEMORY", 8 * 8 * 1_000):
        assert fitted(np.load(tmp_path / "X.npy", mmap_mode="r"), Y, FITS[name]) == whole
    sparse = sp.csr_array(X)
    assert fitted(sparse, Y, FITS[name]) == fitted([sparse[:99], sparse[99:]], Y, FITS[name])


def test_narrow_numbers_are_read_as_they_are():
    whole = X.astype(np.float32)
    options = FITS["measured twice"]
    assert fitted(whole, Y, options) == fitted(whole.astype(float), Y, options)
    small = np.rint(100 * X).astype(np.int8)
    assert fitted(small, Y, options) == fitted(sp.csr_array(small), Y, options)


def narrow_csr(records):
    """Records in CSR and in single precision."""
    return sp.csr_array(records.astype(np.float32))


@pytest.mark.parametrize(
    ("form", "most"),
    [(np.asarray, 0.75), (np.float32, 1.35), (sp.csr_array, 1.2), (narrow_csr, 1.75)],
)
def test_memory_beyond_the_records(form, most):
    """Of 120,000 records with 50 features."""
    records = RNG.normal(size=(120_000, 50)) / 15
    labels = np.where(records[:, 0] > records[:, 1], 1, -1)
    if form in (sp.csr_array, narrow_csr):
        records *= RNG.random(records.shape) < 0.5
    records = form(records)
    own = (records.data, records.indices) if sp.issparse(records) else (records,)
    svm = PrivateLPSVC(1.0, 1e-8, classes=(-1, 1), random_state=0, rounds=3)
    tracemalloc.start()
    try:
        svm.fit(records, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= most * sum(part.nbytes for part in own)


def exact_sum(M, weights, columns):
    """Sum of weights times records times columns, in integers of any length."""
    of_records = [sum(int(w) * int(m) for w, m in zip(weights, c, strict=True)) for c in M.T]
    return [sum(s * int(c) for s, c in zip(of_records, one, strict=True)) for one in columns.T]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 9),
    most=st.sampled_from([40, 10**6, 10**9]),
    scale=st.floats(-6, 6),
)
def test_sums_are_exact_and_no_record_adds_more_than_a_half(seed, p, most, scale):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(p, p))
    grid = grids.RecordGrid.of(most)
    whiten = grids.Whitening.of(root @ root.T * 10.0**scale, grid)
    given_records = rng.normal(size=(40, p)) * 10.0 ** rng.uniform(-3, 3, (40, 1))
    signs = rng.choice([-1.0, 1.0], 40)
    records = grids.RecordsOnGrid(
        grids.SignedRecords(given_records, signs), data_norm=1.0, grid=grid
    )
    M = np.vstack([part.in_double().table() for _, part in records.parts])
    assert (np.square(M).sum(axis=1) <= (grid.of_entry * (1 - grids.SLACK)) ** 2).all()
    rows, z = grids.WhitenedRecords(records, whiten), rng.random(40)
    halves = rows._halves
    weights = np.rint(2 * (z - 0.5) * halves)
    sums = [part.transposed_times(rows._on_grid(z[at], at)) for at, part in records.parts]
    found = whiten.of_sum(sum(of.astype(np.int64) for of in sums))
    power = int(np.log2(whiten.unit)) - grid.weights
    expected = [math.ldexp(each, power) for each in exact_sum(M, weights, whiten.columns)]
    np.testing.assert_array_equal(found, expected)
    for m, half in zip(M, halves, strict=True):
        square = sum(each**2 for each in exact_sum(m[None], [half], whiten.columns))
        # The square of 1/2 in the same units, in integers.
        limit = 4 ** (grid.weights - 1) * int(4.0 ** -math.log2(whiten.unit))
        assert square <= limit


def test_bits_fit_into_their_integers():
    for k in range(36):
        grid, bits = grids.RecordGrid.of(2**k), min(k, 31)
        assert bits + 2 * grid.entries <= 62
        assert bits + grid.entries + grid.weights <= 62
        assert 13 + grid.entries + grid.weights <= 53
        assert 11 + 2 * grid.entries <= 53
    assert grids.RecordGrid.of(grids.MOST_RECORDS) == grids.RecordGrid.of(10**15)


@pytest.mark.parametrize(
    ("records", "labels", "message"),
    [
        ([X[:10], X[10:20]], [Y[:10]], "y has 1 blocks, but X has 2: one block of labels"),
        ([X[:10], X[10:20]], Y[:19], "y does not have one label per row of X"),
        ([X[:10], X[10:20, :5]], Y[:20], "X has 5 features, but PrivateLPSVC is expecting 8"),
        ([X[:10], X[10:20] * np.nan], Y[:20], "Input X contains NaN"),
        ([X[:10], X[10:20]], [Y[:11], Y[11:20]], "inconsistent numbers of samples"),
    ],
)
def test_malformed_blocks_are_refused(records, labels, message):
    with pytest.raises((InvalidProblemError, ValueError), match=message):
        PrivateLPSVC(classes=("a", "b")).fit(records, labels)


def test_more_records_than_a_grid_carries_are_refused(monkeypatch):
    monkeypatch.setattr(grids, "MOST_RECORDS", 5_999)
    with pytest.raises(InvalidProblemError, match="at most 2\\^31 records"):
        PrivateLPSVC(classes=("a", "b")).fit(X, Y)
    with pytest.raises(InvalidProblemError, match="at most 2\\^31 records"):
        PrivateQuantileRegressor(X_bounds=(-1, 1), y_bounds=(-1, 1)).fit(X, X[:, 0])
