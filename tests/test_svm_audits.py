"""Audits of what objective perturbation pays, and of dual perturbation, which is refuted."""

import functools
import warnings

import numpy as np
import pytest

from privlp import InvalidProblemError, NotPrivateWarning, audit
from privlp.privacy import Ledger, Randomness, record
from svm_models import DualPerturbationSVC
from svm_models.account import Account
from svm_models.classifiers import perturbation
from svm_models.classifiers.perturbation import perturb_objective
from svm_models.classifiers.risk import RegularizedRisk, huber


@pytest.fixture
def calibrated_once(monkeypatch):
    """Calibrated noise and version numbers, which follow from public numbers alone."""
    calibrate, known = Ledger.calibrate, {}

    def once(self, make, count, together_with=()):
        key = (self.eps, self.delta, count, tuple(self._charges), make(1.0), tuple(together_with))
        if key not in known:
            known[key] = calibrate(self, make, count, together_with=together_with)
        return known[key]

    monkeypatch.setattr(Ledger, "calibrate", once)
    monkeypatch.setattr(record, "version", functools.cache(record.version))


@pytest.mark.statistical
@pytest.mark.usefixtures("calibrated_once")
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_curvature_left_out(monkeypatch, delta):
    """With regularisation added it passes; with neither it nor the curvature's cost it is caught.

    The loss of one record is curved for weights between 1/2 and 3/2; that of its neighbour does not
    depend on the weight.
    """

    def audited(runs, **options):
        def in_the_curved_part(M, rng):
            risk = RegularizedRisk.in_memory(M, huber(), 0.01, 1.0)
            account = Account(Ledger(1.0, delta), Randomness(rng))
            return bool(0.5 < perturb_objective(risk, account, **options)[0] < 1.5)

        return audit(in_the_curved_part, np.eye(1), np.zeros((1, 1)), 1.0, delta, runs=runs, rng=1)

    result = audited(300)
    assert result.passed, str(result)
    monkeypatch.setattr(perturbation, "curvature_cost", lambda risk: 0.0)
    assert not audited(1_500 if delta else 600, add_regularization=False).passed


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
