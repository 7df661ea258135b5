"""What no private method can do: the bound, and methods that it must not exclude."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privlp
from privlp import LinearProgram
from privlp.methods.advice import least_missed


@pytest.mark.parametrize(("eps", "rows"), [(1.0, 10.76), (0.5, 21.9), (0.1, 111.0)])
def test_figures_for_eighty_variables(eps, rows):
    assert least_missed(80, 10**6, eps, 0.0) == pytest.approx(rows, rel=0.005)


@given(d=st.integers(1, 200), eps=st.floats(0.01, 5.0), n=st.integers(1, 10**6))
def test_grows_like_d_over_eps_and_never_beyond_all_rows(d, eps, n):
    found = least_missed(d, n, eps, 0.0)
    assert 0 <= found <= min(0.1393 * d / eps, n / 2)
    assert least_missed(d, n, eps, 1e-3) <= found
    assert least_missed(d, n, eps, 0.0, excess=0.5) == pytest.approx(found / 2)
    assert least_missed(d, 3 * n, eps, 0.0, rows_of_one_record=3) == pytest.approx(3 * found)


@pytest.mark.parametrize("eps", [0.3, 1.0])
def test_noisy_counts_of_needs_miss_more_than_the_bound(eps):
    """A private method that costs E[OPT]: half of the coordinates, those of the largest counts.

    It misses no fewer rows than the bound says, but for four deviations of the mean (a false alarm
    in 30,000 runs); and at most six times as many, so that the bound is of the right size.
    """
    rng, d, least = np.random.default_rng(5), 80, least_missed(80, 10**6, eps, 0.0)
    found = []
    for m in {max(1, round(t / eps)) for t in (0.5, 1.3, 2.0)}:
        needed = rng.random((4000, d)) < 0.5
        # A replaced record moves two counts by one each.
        noisy = needed * m + rng.laplace(scale=2 / eps, size=needed.shape)
        bought = noisy >= np.sort(noisy, axis=1)[:, [d // 2]]
        missed = m * (needed & ~bought).sum(axis=1)
        u = 1 / (1 + np.exp(m * eps))
        assert missed.mean() + 4 * missed.std() / np.sqrt(4000) >= d / 2 * m * u
        found.append(missed.mean())
    assert max(found) <= 6 * least, [f / least for f in found]


@pytest.mark.parametrize("eps", [1e-100, 1e-9, 39.0, 41.0, 1e100])
def test_any_eps_that_a_plan_takes(eps):
    assert 0 <= least_missed(3, 4, eps, 0.5) <= least_missed(3, 4, eps, 0.0) <= 2
    lp = LinearProgram([1.0], -np.ones((4, 1)), -np.ones(4))
    assert "as private misses" in " ".join(str(privlp.plan(lp, min(eps, 1e6), 1e-6, 2)).split())


def test_plans_say_how_many_times_the_bound_s_is():
    lp = LinearProgram(np.ones(80), -np.ones((20_000, 80)), -np.ones(20_000))
    text = " ".join(str(privlp.plan(lp, 1.0, 1e-6, 500)).split())
    assert "misses 10.8 rows on average, or more, of some program of this size" in text
    assert "s is 46 times that." in text


def test_plans_for_private_numbers_say_nothing_of_it():
    lp = LinearProgram([1.0], [[-1.0]], [-1.0], neighbours=privlp.ScalarPrivate(0.1), bounds=(0, 9))
    assert "as private" not in str(privlp.plan(lp, 1.0, 1e-6))
