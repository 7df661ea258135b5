"""Noise on all entries of a vector together, which is cut to its width."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaincc

import privlp
from privlp.privacy import (
    Randomness,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
)
from privlp.privacy.noise import OneSidedSupNorm, rounded_sum
from tests.effort import each
from tests.programs import WAYS, way_of

made = TruncatedSupNormMechanism.of_budget


@pytest.mark.parametrize(
    ("eps", "delta", "size"), each([1e-3, 1.0, 30.0], [1e-300, 1e-6, 0.4], [1, 12, 168, 10_000])
)
def test_the_price_is_near_what_the_cut_costs(eps, delta, size):
    """Never below (1 + e^eps) P(length > width), and hardly above. No randomness."""
    mechanism = made(0.1, eps, delta, size)
    assert mechanism.pure_eps == pytest.approx(eps)
    assert 0.999 * delta < mechanism.own_delta <= delta
    exact = (1 + math.exp(eps)) * gammaincc(size + 1, mechanism.width / mechanism.scale)
    assert exact <= mechanism.own_delta * (1 + 1e-9)
    if delta < 0.1:
        assert mechanism.own_delta < 2 * exact or exact < 1e-290


def exact_delta_of_one(eps, width, step):
    """Of one entry that moves by `step` scales, by sums over a fine grid and both ends' masses.

    X is -r or r times uniform: density e^-|x| / 2 less the cut lengths, and (lengths at the cut) /
    (2 width) more.
    """
    at_cut = gammaincc(2, width)
    fine = step / 400
    middle = (np.arange(math.ceil(2 * width / fine)) + 0.5) * fine - width
    mass = fine * (np.exp(-np.abs(middle)) - math.exp(-width) + at_cut / width) / 2
    other = np.append(np.zeros(400), mass)
    return np.maximum(np.append(mass, np.zeros(400)) - math.exp(eps) * other, 0).sum()


@pytest.mark.parametrize(("eps", "delta"), [(0.5, 1e-5), (1.0, 1e-3), (2.0, 0.02)])
def test_the_claim_holds_for_one_entry(eps, delta):
    """By its exact law; with half of the width it would not. No randomness."""
    width = made(1.0, eps, delta, 1).width * eps
    assert exact_delta_of_one(eps, width, eps) <= delta
    assert exact_delta_of_one(eps, 0.5 * width, eps) > delta


@pytest.mark.statistical
@pytest.mark.parametrize("size", [1, 3, 40])
def test_its_law(size):
    """The largest entry is Gamma of shape `size`, and its place and sign are fair; seed fixed."""
    law, source = OneSidedSupNorm(500.0), np.random.default_rng(1)
    noise = np.array([rounded_sum(np.zeros(size), 1.0, law, source) for _ in range(4000)]) - 500
    assert stats.kstest(np.abs(noise).max(axis=1), stats.gamma(size).cdf).pvalue > 1e-3
    largest = np.take_along_axis(noise, np.abs(noise).argmax(axis=1)[:, None], axis=1)
    assert abs(np.sign(largest).mean()) < 0.06
    assert np.ptp(np.bincount(np.abs(noise).argmax(axis=1), minlength=size)) < 400
    others = noise[:, 1:] / np.abs(noise).max(axis=1)[:, None]
    assert size == 1 or stats.kstest(others[np.abs(others) < 1], "uniform", (-1, 2)).pvalue > 1e-3


def test_a_release_never_exceeds_the_truth():
    mechanism, value = made(0.1, 1.0, 0.4, 50), np.linspace(-1e6, 1e6, 50)
    for seed in range(200):
        decrease = value - mechanism.release(value, Randomness(seed))
        assert decrease.min() >= 0
        assert decrease.max() <= mechanism.most + np.spacing(1e6)


@pytest.mark.parametrize(("m", "share"), [(3, 0.6), (11, 0.51), (30, 0.54), (99, 0.68), (168, 0.8)])
def test_it_is_narrower_where_all_entries_move(m, share):
    """Than Gaussian and Laplace noise, at (1, 1e-6). No randomness."""
    gaussian = TruncatedGaussianMechanism.of_budget(
        math.sqrt(m), 1.0, 1e-6, l1=float(m), entry=1.0, touched=m
    )
    laplace = TruncatedLaplaceMechanism.of_budget(float(m), 1.0, 1e-6, entry=1.0)
    assert made(1.0, 1.0, 1e-6, m).width < share * min(gaussian.width, laplace.width)


def rows(m, sensitivity=1.0, norm="inf"):
    relation = privlp.ScalarPrivate(sensitivity, norm, lower=0, upper=10_000)
    A = np.vstack([np.eye(m), np.ones(m)])
    lp = {"sense": "max", "neighbours": relation, "private": np.arange(m + 1) < m}
    return privlp.LinearProgram(np.linspace(1, 2, m), A, np.full(m + 1, 5_000.0), **lp)


def test_it_is_taken_where_all_numbers_move_and_few_are_there():
    lp = rows(20)
    solution = privlp.solve(lp, 1.0, 1e-6, feasible="always", rng=0)
    assert way_of(solution) == "truncated-sup-norm"
    assert (lp.A @ solution.x <= lp.b).all()
    assert (solution.trace["tightened b"] <= lp.b[:20]).all()
    assert solution.privacy.eps <= 1
    assert solution.privacy.delta <= 1e-6
    for other in (rows(20, norm="1"), rows(400)):
        assert way_of(privlp.solve(other, 1.0, 1e-6, feasible="always", rng=0)) != way_of(solution)


def test_it_loses_less_there():
    """About half of what noise on each number loses."""
    lp = rows(20, 5.0)
    lp = privlp.LinearProgram(lp.c, np.eye(20), lp.b[:20], sense="max", neighbours=lp.neighbours)
    best, lost = privlp.solve_exact(lp).objective, {}
    for name in ("truncated-sup-norm", "truncated-gaussian"):
        found = [privlp.solve(lp, 1.0, 1e-6, method=WAYS[name], rng=k).objective for k in range(5)]
        lost[name] = best - np.mean(found)
    assert lost["truncated-sup-norm"] < 0.6 * lost["truncated-gaussian"]
