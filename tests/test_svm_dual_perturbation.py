"""Dual-variable perturbation claims eps-differential privacy."""

import warnings

import numpy as np
import pytest

from privlp import InvalidProblemError, NotPrivateWarning, audit
from svm_models import DualPerturbationSVC

LABELS = np.array([1, -1, 1])
#: The third record replaced: far from the margin in the first, a support vector off the axis in the
#: second.
DATA = np.array([[0.5, 0.0], [-0.5, 0.0], [1.0, 0.0]])
NEIGHBOUR = np.array([[0.5, 0.0], [-0.5, 0.0], [0.1, 0.9]])


def weights(records, rng):
    with warnings.catch_warnings(action="ignore", category=NotPrivateWarning):
        return abs(DualPerturbationSVC(eps=1.0, random_state=rng).fit(records, LABELS).coef_[0])


@pytest.mark.statistical
def test_the_audit_refutes_the_claim():
    """The second weight is zero without, and almost surely not zero with, the replaced record.

    False-alarm rate at most 0.001.
    """
    result = audit(weights, DATA, NEIGHBOUR, 1.0, 0.0, runs=400, rng=0)
    assert not result.passed
    assert result.eps_lower > 3.0


def test_it_warns_and_charges_nothing():
    svm = DualPerturbationSVC(eps=1.0, random_state=0)
    with pytest.warns(NotPrivateWarning, match="no proof of privacy, and audits refute its claim"):
        svm.fit(DATA, LABELS)
    assert svm.privacy_ is None


def test_without_noise_it_is_the_support_vector_machine():
    with pytest.warns(NotPrivateWarning):
        svm = DualPerturbationSVC(eps=1e12, C=10.0, random_state=0).fit(DATA[:2], LABELS[:2])
    np.testing.assert_allclose(svm.coef_, [[2.0, 0.0]], atol=1e-6)


def test_one_class_is_refused():
    with pytest.raises(InvalidProblemError, match="both classes"):
        DualPerturbationSVC(classes=(-1, 1)).fit(DATA, np.ones(3))
