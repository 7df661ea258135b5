"""Audits of output and objective perturbation: curvature, several records, published scalings."""

import functools
import math

import numpy as np
import pytest

from privlp import audit
from privlp.privacy import (
    EuclideanLaplaceMechanism,
    Ledger,
    ObjectivePerturbation,
    Randomness,
    record,
)
from svm_models.account import Account
from svm_models.classifiers import perturbation
from svm_models.classifiers.losses import huber, logistic
from svm_models.classifiers.minimise import RegularizedRisk
from svm_models.classifiers.perturbation import (
    curvature_cost,
    eps_for_noise,
    perturb_objective,
    perturb_output,
)

pytestmark = pytest.mark.statistical


def audited(mechanism, pair, eps, delta=0.0, *, runs=2_000):
    sides = (np.array(side, dtype=float) for side in pair)
    return audit(mechanism, *sides, eps, delta, runs=runs, rng=1)


def passes(*arguments, **options):
    result = audited(*arguments, **options)
    assert result.passed, str(result)
    return result


def is_caught(*arguments, **options):
    result = audited(*arguments, **options)
    assert not result.passed, str(result)


@pytest.fixture(autouse=True)
def public_numbers_computed_once(monkeypatch):
    """What no noise enters is computed once.

    Calibrated noise, version numbers, minimisers without a linear term.
    """
    calibrate, known = Ledger.calibrate, {}

    def calibrate_once(self, make, count, together_with=()):
        key = (self.eps, self.delta, count, tuple(self._charges), make(1.0), tuple(together_with))
        if key not in known:
            known[key] = calibrate(self, make, count, together_with=together_with)
        return known[key]

    minimise_exactly, minimisers = RegularizedRisk.minimise, {}

    def minimise_once(self):
        if np.ndim(self.linear) or self.certified.__func__ is not certified:
            return minimise_exactly(self)
        (records,) = self.rows.map(np.ndarray.tobytes)
        key = (records, self.shape, self.loss, self.reg)
        if key not in minimisers:
            minimisers[key] = minimise_exactly(self)
        return minimisers[key]

    certified = RegularizedRisk.certified
    monkeypatch.setattr(Ledger, "calibrate", calibrate_once)
    monkeypatch.setattr(RegularizedRisk, "minimise", minimise_once)
    monkeypatch.setattr(record, "version", functools.cache(record.version))


def release(perturb, eps, delta=0.0, *, reg, loss=None, **options):
    """The mechanism as the audit runs it: signed records of norm at most 1 to noisy weights."""
    loss = huber() if loss is None else loss

    def mechanism(M, rng):
        return perturb(
            RegularizedRisk.in_memory(M, loss, reg, 1.0),
            Account(Ledger(eps, delta), Randomness(rng)),
            **options,
        )

    return mechanism


def labelled(mechanism, label):
    """A function of the release alone, hence as private."""
    return lambda M, rng: label(mechanism(M, rng))


@pytest.mark.parametrize("shape", [(), (1,), (4,)])
def test_euclidean_laplace_noise_keeps_the_shape(shape):
    for scale in (1.0, 0.0):
        released = EuclideanLaplaceMechanism(1.0, scale).release(np.ones(shape), Randomness(0))
        assert np.shape(released) == shape
    np.testing.assert_array_equal(released, np.ones(shape))


# output perturbation


@pytest.mark.slow
def test_output_perturbation_with_more_records():
    """Three records with two weights, logistic loss. False-alarm rate 0.001."""
    pair = [[0.6, 0.8], [0.0, -1.0], [1.0, 0.0]], [[0.6, 0.8], [0.0, -1.0], [-1.0, 0.0]]
    assert passes(release(perturb_output, 4.0, reg=1.0, loss=logistic()), pair, 4.0).eps_lower > 0.5


# objective perturbation

#: A record whose loss is curved for weights between 1/2 and 3/2, against one whose loss does not
#: depend on the weight.
CURVED = [[1.0]], [[0.0]]


def in_the_curved_part(w):
    return bool(0.5 < w[0] < 1.5)


@pytest.mark.slow
def test_objective_perturbation_pays_for_the_curvature():
    """Correct, and more is lost than the noise alone accounts for: the curvature's cost is real.

    False-alarm rate 0.001.
    """
    risk, eps = RegularizedRisk.in_memory(np.ones((1, 1)), huber(), 0.1, 1.0), 3.2
    assert curvature_cost(risk) == pytest.approx(math.log(11))
    released = release(perturb_objective, eps, reg=risk.reg, add_regularization=False)
    found = passes(labelled(released, in_the_curved_part), CURVED, eps)
    assert found.eps_lower > 1.2 * eps_for_noise(risk, eps)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_curvature_left_out(monkeypatch, delta):
    """With regularisation added it passes; with neither it nor the curvature's cost it is caught."""
    right = release(perturb_objective, 1.0, delta, reg=0.01)
    passes(labelled(right, in_the_curved_part), CURVED, 1.0, delta, runs=300)
    monkeypatch.setattr(perturbation, "curvature_cost", lambda risk: 0.0)
    twin = release(perturb_objective, 1.0, delta, reg=0.01, add_regularization=False)
    is_caught(labelled(twin, in_the_curved_part), CURVED, 1.0, delta, runs=1_500 if delta else 600)


def test_noise_divided_by_the_number_of_records_twice(monkeypatch):
    """Sarwate, Chaudhuri and Monteleoni (2009)."""
    pair = [[1.0], [1.0], [1.0]], [[1.0], [1.0], [-1.0]]
    mechanism = release(perturb_objective, 2.0, reg=20.0)
    passes(mechanism, pair, 2.0, runs=300)
    release_term = ObjectivePerturbation.release
    monkeypatch.setattr(
        ObjectivePerturbation, "release", lambda *arguments: release_term(*arguments) / 3
    )
    is_caught(mechanism, pair, 2.0, runs=600)


@pytest.mark.slow
def test_objective_perturbation_with_more_records():
    """Two records with two weights, of which one is replaced; logistic loss, in the curved part.

    False-alarm rate 0.001.
    """
    pair = [[0.6, 0.8], [1.0, 0.0]], [[0.6, 0.8], [0.0, 0.0]]
    mechanism = release(perturb_objective, 1.0, reg=0.05, loss=logistic())
    cells = labelled(mechanism, lambda w: tuple(np.floor(w).clip(-3, 3).tolist()))
    passes(cells, pair, 1.0, runs=800)
