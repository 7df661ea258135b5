"""Audits of objective perturbation: what its curvature costs. Other faults: test_conformance.py."""

import functools

import numpy as np
import pytest

from privlp import audit
from privlp.privacy import Ledger, Randomness, record
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
