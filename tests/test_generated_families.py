"""Generated families: a seed decides everything; sizes, optima and verdicts are what is said."""

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from benchmarks.families import covering, others, sizes
from benchmarks.families import instance as instances
from benchmarks.families.generated import FIRST_SEED, GENERATED
from benchmarks.families.instance import Instance
from privlp import LinearProgram

DRAWN = [name for name in GENERATED if "20000" not in name and "5000" not in name]
SMALL = [name for name in DRAWN if name != "covering with many rows"]
QUICK = 3


@pytest.fixture(autouse=True)
def nothing_kept(tmp_path, monkeypatch):
    """No file is written into the repository."""
    monkeypatch.setattr(instances, "_STORE", tmp_path / "optima.jsonl")


def numbers_of(lp):
    A = sp.csc_array(lp.A)
    return [lp.c, A.indptr, A.indices, A.data, lp.b, lp.row_lower, lp.bounds, lp.private]


@pytest.mark.parametrize("name", SMALL)
def test_a_seed_decides_a_program(name):
    one, again, other = (GENERATED[name](seed) for seed in (QUICK, QUICK, QUICK + 1))
    assert all(map(np.array_equal, numbers_of(one.lp), numbers_of(again.lp)))
    assert one.given == again.given
    assert not np.array_equal(one.lp.c, other.lp.c)
    assert one.lp.shape != other.lp.shape


@pytest.mark.parametrize("name", SMALL)
def test_sizes_are_within_the_stated_range(name):
    instance = GENERATED[name](FIRST_SEED)
    n, d = int(instance.lp.private.sum()), instance.lp.shape[1]
    least, most = sizes.ROWS
    assert least <= n <= most
    assert 5 <= d <= 1_000
    assert instance.s == n // 40
    filled = np.count_nonzero(sp.csr_array(instance.lp.A)[instance.lp.private].data)
    assert filled <= 1.5 * sizes.MOST_ENTRIES
    assert instance.unit > 0


def test_many_rows_are_many():
    for seed in range(20):
        rng = np.random.default_rng([2, seed])
        n, d, density = sizes.drawn(
            rng, density=(0.4, 1.0), rows=(300_000, 1_000_000), variables=(5, 12), entries=2_000_000
        )
        assert 300_000 <= n <= 1_000_000
        assert 5 <= d <= 12
        assert n * d * density <= 2_000_001 * 1.2


def test_drawn_sizes_span_the_range():
    drawn = [sizes.drawn(np.random.default_rng(k), density=(0.02, 1.0)) for k in range(400)]
    n, d, density = map(np.array, zip(*drawn, strict=True))
    assert n.min() < 1_500
    assert n.max() > 200_000
    assert d.min() < 8
    assert d.max() > 700
    assert (density * d >= 1.8).all()  # d is rounded
    # Logarithms of n are nearly uniform up to the cap.
    assert 0.2 < (n < 5_000).mean() < 0.6


@pytest.mark.parametrize("name", [name for name in SMALL if name != "LP-SVM"])
def test_the_optimum_satisfies_every_row(name):
    instance = GENERATED[name](QUICK)
    exact = privlp.solve_exact(instance.lp)
    assert exact.success
    assert instance.opt == exact.objective
    over = np.maximum(instance.lp.A @ exact.x - instance.lp.b, -np.inf)
    assert over.max() < 1e-6 * max(1.0, np.abs(exact.x).max())
    assert instance.opt > 0


def test_optima_known_beforehand():
    ours = GENERATED["our covering 20000 x 80"](QUICK)
    assert ours.opt == 10.0
    # In a game, y over its sum loses at most 1/sum y to any opponent.
    instance = others.game(QUICK)
    exact = privlp.solve_exact(instance.lp)
    strategy = exact.x / exact.x.sum()
    assert (instance.lp.A @ strategy).max() == pytest.approx(1 / instance.opt)
    # The value lies between those of pure play for us and for the opponents.
    losses = np.asarray(instance.lp.A)
    assert losses.mean(axis=0).min() * 0.5 < 1 / instance.opt <= losses.max(axis=0).min()


def test_near_infeasible_programs_have_a_point_and_little_else():
    instance = covering.near_infeasible(QUICK)
    lp = instance.lp
    upper = lp.bounds[:, 1]
    assert (lp.A @ upper <= lp.b).all()
    tight = LinearProgram(
        lp.c, lp.A, lp.b, bounds=np.column_stack([np.zeros(len(upper)), upper / 1.11])
    )
    assert privlp.solve_exact(tight).status is privlp.Status.INFEASIBLE


def test_no_rule_separates_the_noisy_labels():
    instance = others.classification(QUICK)
    assert 10 <= instance.given <= 80
    norm = privlp.LinearProgram(
        np.zeros(instance.lp.shape[1]),
        sp.vstack([sp.csr_array(instance.lp.A), sp.csr_array(np.atleast_2d(instance.lp.c))]),
        np.append(instance.lp.b, instance.given),
    )
    assert privlp.solve_exact(norm).status is privlp.Status.INFEASIBLE


def test_units_by_hand():
    A = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    assert Instance(LinearProgram([1, 1], A, [2.0, 4.0, 4.0]), 1).unit == 4.0
    homogeneous = LinearProgram([1, 1], A, [0.0, 0.0, 0.0])
    assert Instance(homogeneous, 1).unit == 2.0  # median of 4, 1, 2
