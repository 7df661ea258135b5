"""Audits of output and objective perturbation on worst-case records; every correct mechanism passes, each broken twin is caught.

Each audit has confidence 0.999 and a fixed seed. So over the choice of seed a correct mechanism is accused, and a test here
fails without cause, at a rate of at most 0.001 per audit; runs are chosen so that a twin is missed, and a bound on a correct
mechanism found too low, at a rate below 0.01.
"""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from privlp import audit
from privlp.privacy import EuclideanLaplaceMechanism, LaplaceMechanism, Ledger, Randomness, events, record
from svm_models import ObjectivePerturbationSVC, OutputPerturbationSVC, base, minimise, perturbation
from svm_models.base import Account, within_norm
from svm_models.losses import huber, logistic
from svm_models.minimise import RegularizedRisk
from svm_models.perturbation import curvature_cost, eps_for_noise, perturb_objective, perturb_output

pytestmark = pytest.mark.statistical

FALSE_ALARM = 1e-6


def passes(mechanism, pair, eps, delta=0.0, *, runs=4_000, seed=1):
    result = audit(mechanism, *(np.array(side, dtype=float) for side in pair), eps, delta, runs=runs, rng=seed)
    assert result.passed, str(result)
    return result


def is_caught(mechanism, pair, eps, delta=0.0, *, runs=2_000, seed=1):
    result = audit(mechanism, *(np.array(side, dtype=float) for side in pair), eps, delta, runs=runs, rng=seed)
    assert not result.passed, str(result)


@pytest.fixture(autouse=True)
def public_numbers_computed_once(monkeypatch):
    """What no noise enters is computed once: compositions, calibrated noise, version numbers, minimisers without a linear term."""
    compose, calibrate, known = events.composed_epsilon, Ledger.calibrate, {}
    once = functools.cache(compose)

    def calibrate_once(self, make, count, beside=()):
        key = (self.eps, self.delta, count, tuple(self._charges), make(1.0), tuple(beside))
        if key not in known:
            known[key] = calibrate(self, make, count, beside=beside)
        return known[key]

    minimise_exactly, minimisers = RegularizedRisk.minimise, {}

    def minimise_once(self):
        if np.ndim(self.linear) or self.certified.__func__ is not certified:
            return minimise_exactly(self)
        key = (self.M.tobytes(), self.M.shape, self.loss, self.reg)
        if key not in minimisers:
            minimisers[key] = minimise_exactly(self)
        return minimisers[key]

    certified = RegularizedRisk.certified
    monkeypatch.setattr(events, "composed_epsilon", lambda costs, delta: once(tuple(costs), delta))
    monkeypatch.setattr(Ledger, "calibrate", calibrate_once)
    monkeypatch.setattr(RegularizedRisk, "minimise", minimise_once)
    monkeypatch.setattr(record, "version", functools.cache(record.version))


def release(perturb, eps, delta=0.0, *, reg, loss=None, **options):
    """The mechanism as the audit runs it: signed records of norm at most 1 to noisy weights."""
    loss = huber() if loss is None else loss

    def mechanism(M, rng):
        return perturb(RegularizedRisk(M, loss, reg, 1.0), Account(Ledger(eps, delta), Randomness(rng)), **options)

    return mechanism


def labelled(mechanism, label):
    """A function of the release alone, hence as private."""
    return lambda M, rng: label(mechanism(M, rng))


# ---------------------------------------------------------------------------------------------- Euclidean Laplace mechanism


@pytest.mark.parametrize("p", [1, 2, 3, 20])
def test_euclidean_laplace_noise_has_its_law(p):
    """Length and direction by Kolmogorov and Smirnov's test of 20,000 draws. False-alarm rate 1e-6 per test, seed fixed."""
    mechanism, randomness = EuclideanLaplaceMechanism(1.0, 0.7), Randomness(5)
    centre = np.arange(float(p))
    noise = np.array([mechanism.release(centre, randomness) for _ in range(20_000)]) - centre
    lengths = np.linalg.norm(noise, axis=1)
    assert stats.kstest(lengths, stats.gamma(p, scale=0.7).cdf).pvalue > FALSE_ALARM
    if p > 1:
        # The square of one coordinate of a uniform direction follows a beta law; its sign is a fair coin; both have nothing to
        # do with the length.
        first = noise[:, 0] / lengths
        assert stats.kstest(first**2, stats.beta(0.5, (p - 1) / 2).cdf).pvalue > FALSE_ALARM
        assert stats.spearmanr(lengths, first).pvalue > FALSE_ALARM
    assert stats.binomtest(int((noise[:, -1] > 0).sum()), len(noise), 0.5).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [(), (1,), (4,)])
def test_euclidean_laplace_noise_keeps_the_shape(shape):
    assert np.shape(EuclideanLaplaceMechanism(1.0, 1.0).release(np.ones(shape), Randomness(0))) == shape
    np.testing.assert_array_equal(EuclideanLaplaceMechanism(1.0, 0.0).release(np.ones(shape), Randomness(0)), np.ones(shape))


def by_density_ratio(mechanism, pair):
    """The release, reduced to the density ratio that a Euclidean Laplace mechanism has there: the sharpest label."""
    first, second = (np.array(side, dtype=float) for side in pair)

    def label(released):
        return round(8 * float(np.linalg.norm(released - second) - np.linalg.norm(released - first)))

    return lambda value, rng: label(mechanism.release(value, Randomness(rng)))


@pytest.mark.parametrize("p", [1, 2])
def test_euclidean_laplace_mechanism(p):
    """Correct: the bound comes within 20 % of the claim. False-alarm rate 0.001."""
    pair = [0.0] * p, [2.0] + [0.0] * (p - 1)
    mechanism = EuclideanLaplaceMechanism(2.0, 1.0)
    result = passes(by_density_ratio(mechanism, pair), pair, mechanism.pure_eps, runs=30_000)
    assert result.eps_lower > 0.8 * mechanism.pure_eps
    is_caught(by_density_ratio(EuclideanLaplaceMechanism(1.4, 0.7), pair), pair, mechanism.pure_eps, runs=30_000)


# ---------------------------------------------------------------------------------------------- output perturbation

#: The record's loss is linear around both minimisers +-1/4, which are as far apart as the bound allows.
OPPOSITE = [[1.0]], [[-1.0]]
REG = 4.0


@pytest.mark.parametrize("eps", [0.5, 2.0])
def test_output_perturbation(eps):
    """Correct, on a pair of records that attains the sensitivity. False-alarm rate 0.001."""
    assert passes(release(perturb_output, eps, reg=REG), OPPOSITE, eps, runs=8_000).eps_lower > 0.6 * eps


def test_output_perturbation_with_more_records():
    """Three records with two weights, logistic loss. False-alarm rate 0.001."""
    pair = [[0.6, 0.8], [0.0, -1.0], [1.0, 0.0]], [[0.6, 0.8], [0.0, -1.0], [-1.0, 0.0]]
    assert passes(release(perturb_output, 4.0, reg=1.0, loss=logistic()), pair, 4.0).eps_lower > 0.5


@pytest.mark.parametrize("perturb", [perturb_output, perturb_objective])
@pytest.mark.parametrize("factor", [0.5, 0.7])
def test_sensitivity_of_the_gradient_too_small(monkeypatch, perturb, factor):
    """Caught; a factor 1/2 is the sensitivity of Sarwate, Chaudhuri and Monteleoni (2009). Miss rate below 0.01."""
    slope = perturbation._slope
    monkeypatch.setattr(perturbation, "_slope", lambda risk: factor * slope(risk))
    is_caught(release(perturb, 2.0, reg=40.0), OPPOSITE, 2.0, runs=1_000 if factor == 0.5 else 6_000)


@pytest.mark.parametrize("perturb", [perturb_output, perturb_objective])
def test_rows_longer_than_the_bound(perturb):
    """Scaled to norm 1 they pass, unscaled they are caught. False-alarm and miss rate 0.001."""
    pair = [[3.0]], [[-3.0]]
    mechanism = release(perturb, 2.0, reg=40.0)
    passes(lambda X, rng: mechanism(within_norm(X, 1.0), rng), pair, 2.0, runs=2_000)
    is_caught(mechanism, pair, 2.0, runs=1_000)


def test_independent_laplace_noise(monkeypatch):
    """In four dimensions, independent draws of the same scale are less than the Euclidean ones. Rates 0.001."""
    pair = [[0.5] * 4], [[-0.5] * 4]
    mechanism = labelled(release(perturb_output, 2.0, reg=REG), lambda w: int((w > 0).sum()))
    passes(mechanism, pair, 2.0)
    monkeypatch.setattr(EuclideanLaplaceMechanism, "release", LaplaceMechanism.release)
    is_caught(mechanism, pair, 2.0, runs=8_000)


def test_minimiser_stopped_after_one_step(monkeypatch):
    """The first line search ends at another of its points if one of 1,000 records is replaced. Rates 0.001."""
    records = np.ones((1_000, 1))
    pair = records, np.vstack([records[1:], [[0.0]]])
    mechanism = release(perturb_output, 1.0, reg=0.2631)
    passes(mechanism, pair, 1.0, runs=1_000)
    monkeypatch.setattr(minimise, "_NEWTON_STEPS", 1)
    monkeypatch.setattr(RegularizedRisk, "certified", lambda self, w: True)
    is_caught(mechanism, pair, 1.0, runs=1_000)


@pytest.mark.parametrize("perturb", [perturb_output, perturb_objective])
def test_one_draw_used_for_two_releases(perturb):
    """Weights and the weights of the negated records: fresh draws pass, the same ones are caught. Rates 0.001."""
    mechanism = release(perturb, 1.0, reg=40.0)

    def two_releases(M, first, second):
        return np.concatenate([mechanism(M, first), mechanism(-M, second)])

    def one_draw(M, rng):
        seed = int(rng.integers(2**62))
        return two_releases(M, seed, seed)

    passes(lambda M, rng: two_releases(M, rng, rng), OPPOSITE, 2.0, runs=2_000)
    is_caught(one_draw, OPPOSITE, 2.0, runs=1_000)


@pytest.mark.parametrize("perturb", [perturb_output, perturb_objective])
def test_fixed_seed(perturb):
    """Caught. Miss rate below 0.001."""
    mechanism = release(perturb, 1.0, reg=40.0)
    is_caught(lambda M, rng: mechanism(M, 7), OPPOSITE, 1.0, runs=200)


# ---------------------------------------------------------------------------------------------- objective perturbation


@pytest.mark.parametrize("eps", [1.0, 3.0])
def test_objective_perturbation(eps):
    """Correct, where the gradient changes by as much as it can, and the curvature does not. False-alarm rate 0.001."""
    assert passes(release(perturb_objective, eps, reg=40.0), OPPOSITE, eps, runs=3_000).eps_lower > 0.5 * eps


#: A record whose loss is curved for weights between 1/2 and 3/2, against one whose loss does not depend on the weight.
CURVED = [[1.0]], [[0.0]]


def in_the_curved_part(w):
    return bool(0.5 < w[0] < 1.5)


def test_objective_perturbation_pays_for_the_curvature():
    """Correct, and more is lost than the noise alone accounts for: the curvature's cost is real. False-alarm rate 0.001."""
    risk, eps = RegularizedRisk(np.ones((1, 1)), huber(), 0.1, 1.0), 3.2
    assert curvature_cost(risk) == pytest.approx(math.log(11))
    mechanism = labelled(release(perturb_objective, eps, reg=risk.reg, add_regularization=False), in_the_curved_part)
    assert passes(mechanism, CURVED, eps, runs=3_000).eps_lower > 1.3 * eps_for_noise(risk, eps)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_curvature_left_out(monkeypatch, delta):
    """With regularisation added it passes; with neither it nor the curvature's cost it is caught. Rates 0.001."""
    passes(labelled(release(perturb_objective, 1.0, delta, reg=0.01), in_the_curved_part), CURVED, 1.0, delta, runs=2_000)
    monkeypatch.setattr(perturbation, "curvature_cost", lambda risk: 0.0)
    twin = release(perturb_objective, 1.0, delta, reg=0.01, add_regularization=False)
    is_caught(labelled(twin, in_the_curved_part), CURVED, 1.0, delta, runs=3_000 if delta else 1_000)


def test_noise_divided_by_the_number_of_records_twice(monkeypatch):
    """Sarwate, Chaudhuri and Monteleoni (2009): noise of scale 1/(eps n), in an objective that divides it by n. Rates 0.001."""
    pair = [[1.0], [1.0], [1.0]], [[1.0], [1.0], [-1.0]]
    mechanism = release(perturb_objective, 2.0, reg=20.0)
    passes(mechanism, pair, 2.0, runs=2_000)
    linear_term = perturbation.ObjectivePerturbation.release
    monkeypatch.setattr(
        perturbation.ObjectivePerturbation, "release", lambda self, value, randomness: linear_term(self, value, randomness) / 3
    )
    is_caught(mechanism, pair, 2.0, runs=1_000)


def test_objective_perturbation_with_more_records():
    """Two records with two weights, of which one is replaced; logistic loss, in the curved part. False-alarm rate 0.001."""
    pair = [[0.6, 0.8], [1.0, 0.0]], [[0.6, 0.8], [0.0, 0.0]]
    mechanism = release(perturb_objective, 1.0, reg=0.05, loss=logistic())
    passes(labelled(mechanism, lambda w: tuple(np.floor(w).clip(-3, 3).tolist())), pair, 1.0, runs=2_000)


# ---------------------------------------------------------------------------------------------- Gaussian noise


def exact_delta(eps, multiplier):
    """Of Gaussian noise of `multiplier` times the sensitivity (Balle and Wang 2018)."""
    a, b = 1 / (2 * multiplier), eps * multiplier
    return float(stats.norm.cdf(a - b) - math.exp(eps) * stats.norm.cdf(-a - b))


@pytest.mark.parametrize("perturb", [perturb_output, perturb_objective])
def test_gaussian_noise_at_the_price_of_the_ledger(perturb):
    """Correct. False-alarm rate 0.001."""
    assert passes(release(perturb, 2.0, 1e-3, reg=40.0), OPPOSITE, 2.0, 1e-3, runs=3_000).eps_lower > 0.1


@pytest.mark.parametrize("perturb", [perturb_output, perturb_objective])
def test_standard_deviation_too_small(monkeypatch, perturb):
    """On OPPOSITE the loss is that of a Gaussian mechanism, to which the exact delta is a sharper claim than the ledger's: it
    passes, and a standard deviation 30 % too small is caught. Rates 0.001, miss rate below 0.01.
    """
    ledger = Ledger(8.0, 1e-3)
    perturb(RegularizedRisk(np.ones((1, 1)), huber(), 40.0, 1.0), Account(ledger, Randomness(0)))
    noise = max((charge.mechanism for charge in ledger._charges), key=lambda mechanism: mechanism.sensitivity)
    delta = exact_delta(1.0, noise.sigma / noise.sensitivity)
    mechanism = release(perturb, 8.0, 1e-3, reg=40.0)
    passes(mechanism, OPPOSITE, 1.0, delta, runs=3_000)
    slope = perturbation._slope
    monkeypatch.setattr(perturbation, "_slope", lambda risk: 0.7 * slope(risk))
    is_caught(mechanism, OPPOSITE, 1.0, delta)


# ---------------------------------------------------------------------------------------------- fit()


@pytest.mark.parametrize("estimator", [OutputPerturbationSVC, ObjectivePerturbationSVC])
def test_fit(monkeypatch, estimator):
    """A label flipped and a record too long: passes; without the scaling it is caught. Rates 0.001."""

    def fitted(records, rng):
        svm = estimator(eps=2.0, reg=40.0, classes=(-1, 1), random_state=rng)
        return svm.fit(records[:, :1], records[:, 1].astype(int)).coef_[0]

    pair = [[5.0, 1.0]], [[5.0, -1.0]]
    passes(fitted, pair, 2.0, runs=600)
    monkeypatch.setattr(base, "within_norm", lambda X, data_norm: X)
    is_caught(fitted, pair, 2.0, runs=300)
