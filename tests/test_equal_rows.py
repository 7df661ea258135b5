"""Rows that are equal to the last bit are computed once, and sums over them have the same bits."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from privlp import LinearProgram
from privlp.methods.request import SolveRequest
from privlp.methods.staged import charges as staged_charges
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import Simplex
from privlp.rows import equal, parts
from privlp.rows.equal import DifferentRows, each_once
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign, signs_and_spread
from privlp.rows.program_rows import MeasuredRows, RowBlock, share_of

KEY = 2**255 + 12345
STORAGE = [np.array, np.asfortranarray, sp.csr_array, sp.csc_array]


def covering(n=3_000, d=20, *, kinds=40, storage=sp.csr_array, sided=False, seed=0):
    """Rows of a few kinds, the first one of half of them; with `sided`, some are ranges."""
    rng = np.random.default_rng(seed)
    kind = np.where(rng.random(n) < 0.5, 0, rng.integers(0, kinds, n))
    A = (rng.random((kinds, d)) < 0.3) * rng.choice([1.0, 2.0], (kinds, d))
    A[np.arange(kinds), rng.integers(0, d, kinds)] = 1.0
    lower = np.where(kind % 3 == 0, -60.0, -np.inf) if sided else np.full(n, -np.inf)
    return LinearProgram(rng.uniform(1, 3, d), storage(-A[kind]), -1.0 - kind % 2, row_lower=lower)


def block_of(lp):
    return RowBlock(StandardForm.of(lp))


def kernels(lp):
    """What solves compute of rows, as functions of a block."""
    simplex, rng = Simplex(StandardForm.of(lp), None, cost=6.0), np.random.default_rng(5)
    shares = rng.dirichlet(np.ones(simplex.size), 3)
    n, x, step = lp.shape[0], rng.random(lp.shape[1]), rng.normal(size=lp.shape[1])
    for make in (RowsOfEqualNorm, partial(RowsOfOneSign, sign=-1)):
        for u in shares * simplex.vertices:
            yield lambda block, make=make, u=u: make(block, simplex=simplex, largest_n=n).weighed(
                u, 3.0
            )
    yield partial(signs_and_spread, simplex=simplex)
    for alpha in (None, 0.1):
        for kernel, *released in (
            (MeasuredRows.missed, 0.3 * x),
            (MeasuredRows.needs, x, np.zeros(len(x)), 4),
            (MeasuredRows.near, x, np.abs(step)),
            (MeasuredRows.near_along, x, step),
            (MeasuredRows.crossings, np.zeros(len(x)), x, 7),
            (MeasuredRows.signs,),
        ):
            yield lambda block, alpha=alpha, kernel=kernel, released=released: kernel(
                MeasuredRows(block, alpha), *released
            )


@pytest.mark.parametrize("most", [None, 100])
@pytest.mark.parametrize("sided", [False, True])
@pytest.mark.parametrize("storage", STORAGE)
def test_sums_are_those_over_all_rows_to_the_last_bit(storage, sided, most, monkeypatch):
    """Also where a row is too many for one part, and stands there several times."""
    lp = covering(storage=storage, sided=sided)
    if most is not None:
        monkeypatch.setattr(parts, "MOST_ROWS", most)
    block, other = block_of(lp), each_once(block_of(lp))
    assert isinstance(other, DifferentRows)
    assert other.count == block.count
    assert other.shape[0] < block.shape[0] / 10
    for share in (1.0, 0.3):
        some = [each if share == 1 else share_of(each, share, KEY) for each in (block, other)]
        for kernel in kernels(lp):
            one, two = map(kernel, some)
            assert np.asarray(one).any()
            np.testing.assert_array_equal(one, two)


def test_no_part_stands_for_more_rows_than_sums_are_exact_for(monkeypatch):
    monkeypatch.setattr(parts, "MOST_ROWS", 100)
    block = each_once(block_of(covering()))
    for some in (block, share_of(block, 0.5, KEY)):
        counts = [some.times[rows].sum() for rows, _ in some.parts(np.ones(20))]
        assert max(counts) <= 100
        assert sum(counts) == some.count


def test_a_row_is_another_one_if_a_bit_differs():
    lp = covering()
    A, b = lp.A.toarray(), np.array(lp.b)
    A[5, 0], A[6, 1], b[7], b[8] = -0.3, -np.nextafter(0.3, 1), np.nextafter(b[7], 0), -9.0
    other = each_once(block_of(LinearProgram(lp.c, A, b)))
    different = len(np.unique(np.column_stack([A, b]), axis=0))
    assert other.shape[0] == different == 44 - (40 - len(np.unique(lp.A.toarray(), axis=0)))


@pytest.mark.parametrize(
    "changed",
    [
        {"penalty": 2.0},
        {"private": np.arange(3_000) > 0},
        {"A": -np.random.default_rng(0).random((3_000, 20))},
    ],
)
def test_few_equal_rows_soft_and_public_ones_stay_as_they_are(changed):
    block = block_of(covering().changed(**changed))
    assert each_once(block) is block


@pytest.mark.parametrize("storage", STORAGE)
def test_rows_that_only_look_equal_stay_as_they_are(storage, monkeypatch):
    """Hashes of a few bits: different rows share one, and are found out."""
    monkeypatch.setattr(equal, "_mixed", lambda numbers: np.full(numbers.shape, 4, np.uint64))
    lp = covering(storage=storage)
    block = block_of(lp.changed(A=lp.A * np.random.default_rng(0).random((3_000, 1))))
    assert each_once(block) is block


@pytest.mark.parametrize("share_read", [False, True])
@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_a_solve_has_the_same_bits(storage, share_read, monkeypatch):
    if share_read:
        monkeypatch.setattr(staged_charges, "_ROWS_READ", 1.0)
        monkeypatch.setattr(staged_charges, "_READ_IN_NOISE", 0.1)
        monkeypatch.setattr(staged_charges, "_READ_OF_S", 10.0)
    lp = covering(storage=storage)
    request = SolveRequest.of(lp, eps=1.0, delta=1e-6, s=150)
    stages = staged_charges.StagedCharges.of(request, 20, trim=True).stages
    assert share_read == any(stage.share < 1 for stage in stages)

    def solved():
        return privlp.solve(lp, 1.0, 1e-6, 150, method="staged", rng=3)

    found = solved()
    monkeypatch.setattr(equal, "_few", lambda *_: True)
    other = solved()
    np.testing.assert_array_equal(found.x, other.x)
    assert found.missed == other.missed
    for name, values in other.trace.items():
        np.testing.assert_array_equal(found.trace[name], values)
