"""Objective perturbation in whitened coordinates: exact without noise, what a record can change."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import sqrtm

import svm_models as sm
from privlp import Budget
from svm_models import whitening
from svm_models.classifiers.risk import RegularizedRisk, Weighted, logistic
from svm_models.whitening import noise_beside_a_mean, ridge_of, shortened, spread_of

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(1.0, 0.15, (3_000, 10)))
Y = np.where(X[:, 0] > X[:, 1], 1, -1)
X /= np.linalg.norm(X, axis=1).max()
OPTIONS = {"classes": (-1, 1), "random_state": 0}


@pytest.mark.parametrize(("container", "norm"), [(np.array, 50.0), (sp.csr_array, 1.0)])
def test_without_noise_it_is_the_minimiser_in_whitened_coordinates(container, norm):
    """By the definition: moments, their root, another call of the minimiser."""
    signs = Y.astype(float)
    ridge = ridge_of(noise_beside_a_mean(3_000, 10, 0.0))
    moments = X.T @ X / 3_000
    reach = whitening.REACH * math.sqrt(
        np.trace(moments @ np.linalg.inv(moments + ridge * np.eye(10)))
    )
    whiten = np.real(np.linalg.inv(sqrtm(moments + ridge * np.eye(10)))) / reach
    risk = RegularizedRisk.in_memory(signs[:, None] * X @ whiten, logistic(), 0.01, 1.0)
    model = sm.ObjectivePerturbationLogisticRegression(
        eps=math.inf, reg=0.01, whiten=True, data_norm=norm, fit_intercept=False, **OPTIONS
    )
    found = model.fit(container(norm * X), Y).coef_[0]
    np.testing.assert_allclose(norm * found, whiten @ risk.minimise(), rtol=2e-5, atol=1e-9)
    assert not model.privacy_.private


def test_records_are_whitened_and_none_is_longer_than_one():
    whiten = RNG.normal(size=(10, 10))
    plain = shortened(X, 0.5, whiten, shorten=False)
    np.testing.assert_allclose(plain, 2 * X @ whiten)
    short = shortened(X, 0.5, whiten)
    norms = np.linalg.norm(plain, axis=1)
    assert np.linalg.norm(short, axis=1).max() <= 1 + whitening.error_of_a_record(10, 1.0)
    np.testing.assert_allclose(short * np.maximum(norms, 1.0)[:, None], plain)
    np.testing.assert_allclose(shortened(sp.csr_array(X), 0.5, whiten), short)
    weighted = shortened(Weighted(X, np.arange(3_000.0)), 0.5, whiten)
    np.testing.assert_array_equal(weighted.M, short)
    np.testing.assert_array_equal(weighted.weights, np.arange(3_000.0))
    assert shortened(X[:0], 0.5, whiten).shape == (0, 10)


def test_errors_of_records_are_within_their_bound():
    """Compared with long doubles, at the largest norm of a whitening matrix."""
    ridge = ridge_of(noise_beside_a_mean(10**6, 10, 0.0))
    vectors = np.linalg.qr(RNG.normal(size=(10, 10)))[0]
    whiten = (vectors * np.geomspace(1e-3, 1.0, 10) * spread_of(ridge)) @ vectors.T
    exact = X.astype(np.longdouble) @ whiten.astype(np.longdouble)
    exact /= np.maximum(np.sqrt((exact**2).sum(axis=1)), 1.0)[:, None]
    error = np.abs(shortened(X, 1.0, whiten) - exact).astype(float)
    assert (
        0 < np.linalg.norm(error, axis=1).max() <= whitening.error_of_a_record(10, spread_of(ridge))
    )


def test_a_record_is_whitened_alike_wherever_it_stands():
    whiten = RNG.normal(size=(10, 10))
    for form in (np.array, sp.csr_array):
        all_but_one = shortened(form(X[1:]), 0.7, whiten)
        np.testing.assert_array_equal(shortened(form(X), 0.7, whiten)[1:], all_but_one)


@pytest.mark.parametrize("relation", [{}, {"relation": "add-remove"}])
def test_the_computed_minimiser_needs_little_noise(relation):
    """Beside weights of norm 1 and more, also at a small reg."""
    model = sm.ObjectivePerturbationSVC(reg=1e-4, delta=1e-6, whiten=True, **relation, **OPTIONS)
    entries = model.fit(X, Y).privacy_.entries
    (cover,) = [entry for entry in entries if entry.purpose.startswith("cover")]
    assert float(cover.parameter.rpartition(" ")[2]) < 0.02


def test_what_is_charged():
    budget = Budget(1.0, 1e-6)
    model = sm.ObjectivePerturbationSVC(delta=1e-6, whiten=True, budget=budget, **OPTIONS).fit(X, Y)
    moments, cover, noise = model.privacy_.entries
    assert moments.purpose == "release the second moments of the records"
    assert moments.sensitivity == pytest.approx(math.sqrt(2), rel=1e-6)
    assert cover.sensitivity < 1e-5
    assert 2 * whitening.NORM < noise.sensitivity < 2 + 1e-6  # records are rounded, too
    assert 0.999 < model.privacy_.eps <= 1.0


def test_it_beats_the_plain_one_where_records_share_a_direction():
    def score(whiten):
        fits = (
            sm.ObjectivePerturbationSVC(
                eps=1.0, reg=1e-3, delta=1e-6, whiten=whiten, classes=(-1, 1), random_state=seed
            ).fit(X, Y)
            for seed in range(6)
        )
        return np.mean([fit.score(X, Y) for fit in fits])

    assert score(True) > score(False) + 0.05
