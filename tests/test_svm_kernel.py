"""Random Fourier features: exact norm, the kernel they approximate, messages."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from svm_models import RandomFourierFeatures
from tests.effort import examples


@settings(max_examples=examples(40), deadline=None)
@given(st.floats(1e-3, 1e3), st.integers(1, 50), st.integers(0, 100))
def test_every_row_has_norm_one(gamma, count, seed):
    X = np.random.default_rng(seed).normal(0, 10, (7, 3))
    features = RandomFourierFeatures(gamma, count, random_state=seed).fit_transform(X)
    assert features.shape == (7, 2 * count)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, rtol=1e-12)


@pytest.mark.statistical
def test_products_approximate_the_gaussian_kernel():
    """Averages of D bounded terms."""
    X = np.random.default_rng(0).uniform(-1, 1, (6, 3))
    features = RandomFourierFeatures(0.7, 20_000, random_state=1).fit_transform(X)
    kernel = np.exp(-0.7 * np.square(X[:, None] - X[None]).sum(axis=2))
    assert np.abs(features @ features.T - kernel).max() < 5 / np.sqrt(20_000)


def test_frequencies_do_not_depend_on_the_records():
    both = (np.full((n, 2), x) for n, x in ((3, 0.0), (50, 9.0)))
    one, two = (RandomFourierFeatures(random_state=0).fit(X) for X in both)
    np.testing.assert_array_equal(one.frequencies_, two.frequencies_)


def test_sparse_and_dense_records_agree():
    X = np.eye(4)
    features = RandomFourierFeatures(random_state=0).fit(X)
    np.testing.assert_allclose(features.transform(sp.csr_array(X)), features.transform(X))
