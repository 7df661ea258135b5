"""Noise by the weight of a round."""

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import BudgetExceededError, ConstraintPrivate, InvalidParameterError
from privlp.audits import Tape
from privlp.audits.solve import price_faults
from privlp.game.loop import weight_of_round, weights_of_rounds
from privlp.methods import SolveRequest
from privlp.methods.counts import noise_of_one_release
from privlp.privacy import GaussianMechanism, Ledger, Randomness, WeightedGaussianMechanism
from privlp.relations import NeighbourRelation
from svm_models import PrivateLPSVC
from tests import programs
from tests.conformance_kit import deviations, draws_of, overspent

RELATION: NeighbourRelation = ConstraintPrivate()
WEIGHTS = weights_of_rounds(8)


def charge(ledger, mechanism, count, randomness=0):
    return ledger.charge(mechanism, count, "a sum each round", RELATION, Randomness(randomness))


def exact_price(draws):
    """sum (sensitivity / sigma)^2, exactly."""
    return sum((Fraction(draw.sensitivity) / Fraction(draw.sigma)) ** 2 for draw in draws)


positive = st.floats(-100, 100).map(lambda exponent: 2.0**exponent)


@settings(deadline=None)
@given(st.lists(positive, min_size=1, max_size=40), positive, positive)
def test_all_draws_together_cost_what_is_charged(weights, sensitivity, sigma):
    """In exact arithmetic, no more than as many draws of the average; and hardly less."""
    mechanism = WeightedGaussianMechanism(sensitivity, sigma, tuple(weights))
    charged = len(weights) * (Fraction(sensitivity) / Fraction(sigma)) ** 2
    drawn = exact_price(draws_of(mechanism))
    assert drawn <= charged
    assert drawn >= charged * (1 - Fraction(1, 10**11))


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=10), st.data())
def test_no_noise_of_the_same_price_leaves_less(weights, data):
    """Variance of the weighted mean of the noise."""
    mechanism = WeightedGaussianMechanism(1.0, 3.0, tuple(weights))
    w = np.array(weights)

    def left(sigmas):
        return np.sum((w * sigmas) ** 2) / w.sum() ** 2

    assert left(deviations(mechanism)) == pytest.approx(3.0**2 / len(w), rel=1e-9)
    other = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=len(w), max_size=len(w))))
    other *= math.sqrt(np.sum(other**-2.0) / (len(w) / 3.0**2))  # the same price
    assert left(other) >= left(deviations(mechanism)) * (1 - 1e-9)


def test_each_draw_has_the_noise_of_its_number():
    mechanism, tape = WeightedGaussianMechanism(1.0, 3.0, (1.0, 4.0, 9.0)), Tape(0)
    release = Ledger(10.0, 1e-6).charge(mechanism, 3, "a sum each round", RELATION, tape)
    for value in range(3):
        release(float(value))
    assert [made.mechanism for made in tape.releases] == [mechanism.of_draw(t, 3) for t in range(3)]
    sigmas = [made.mechanism.sigma for made in tape.releases]
    np.testing.assert_allclose(np.multiply(sigmas, [1, 2, 3]), sigmas[0])
    with pytest.raises(BudgetExceededError, match=r"All paid draws of the weighted Gaussian mecha"):
        release(0.0)


@pytest.mark.parametrize("count", [1, 7, 9])
def test_another_number_of_draws_is_refused_before_it_is_paid_for(count):
    """The two most accurate of eight draws cost more than two of average noise."""
    ledger = Ledger(1e6, 1e-6)
    message = rf"price for all of its 8 draws, not for {count}: .* count=8"
    with pytest.raises(InvalidParameterError, match=message):
        charge(ledger, WeightedGaussianMechanism(1.0, 3.0, WEIGHTS), count)
    assert ledger.spent() == 0
    assert not ledger.entries


def test_words_for_the_ledger():
    ledger = Ledger(1e6, 1e-6)
    charge(ledger, WeightedGaussianMechanism(1.0, 3.0, (1.0, 3.0)), 2)
    (entry,) = ledger.entries
    assert (entry.mechanism, entry.draws) == ("weighted Gaussian mechanism", 2)
    assert entry.parameter == "sigma = 3 on average, 2.45 to 4.24"
    assert WeightedGaussianMechanism(1.0, 0.0, (1.0, 3.0)).parameter == "sigma = 0"


def fault(ratio):
    """Noise of another standard deviation, in units of sigma."""
    return lambda self, weight: self.sigma * ratio(np.array(self.weights), weight)


FAULTS = {
    "weights inverted": fault(lambda w, own: math.sqrt(own / w.mean())),
    "least weight for the mean": fault(lambda w, own: math.sqrt(w.min() / own)),
    "harmonic mean for the mean": fault(lambda w, own: math.sqrt(1 / np.mean(1 / w) / own)),
    "noise by the weight itself": fault(lambda w, own: w.mean() / own),
}
#: Weights far apart, so that faults show in few runs.
STEEP = (1.0, 4.0, 16.0, 64.0)


def spent_on(mechanism):
    ledger = Ledger(1e6, 1e-6)
    charge(ledger, mechanism, len(draws_of(mechanism)))
    return ledger.spent()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_noise_costs_more_than_is_charged(fault):
    """By an account of its own. No randomness."""
    with mock.patch.object(WeightedGaussianMechanism, "_deviation", FAULTS[fault]):
        mechanism = WeightedGaussianMechanism(1.0, 3.0, STEEP)
        assert exact_price(draws_of(mechanism)) > 1.1 * len(STEEP) / 9
        assert overspent(draws_of(mechanism), spent_on(mechanism), 1e-6)


@pytest.mark.parametrize("fault", ["weights inverted", "least weight for the mean"])
def test_an_audit_of_a_solve_prices_the_noise_that_was_drawn(fault):
    tape = Tape(0)
    with mock.patch.object(WeightedGaussianMechanism, "_deviation", FAULTS[fault]):
        solution = privlp.solve(covering(), 1.0, 1e-9, 5, opt=3.0, method="staged", rng=tape)
    fault = "the draws that were made cost more than eps = 1, delta = 1e-09"
    assert price_faults(covering(), tape, solution) == (fault,)


def test_an_audit_of_a_solve_counts_weighted_draws():
    """A draw more, with noise that the budget has room for."""
    tape = Tape(0)
    solution = privlp.solve(covering(), 1.0, 1e-9, 5, opt=3.0, method="staged", rng=tape)
    assert price_faults(covering(), tape, solution) == ()
    purpose = "release the sum of violated rows each round"
    paid = sum(e.draws for e in solution.privacy.entries if e.purpose == purpose)
    tape.draw(GaussianMechanism(2.0, 1e9), np.zeros(3), purpose)
    fault = f"{paid} draws were paid for, {paid + 1} made: {purpose}"
    assert price_faults(covering(), tape, solution) == (fault,)


def covering(n=60, **options):
    return programs.covering(n, costs=[1.0, 2.0, 1.0], **options)


def tape_of_solve(method, *, bounds=(0, None), **options):
    tape, options = Tape(0), {"opt": 3.0, "method": method, **options}
    privlp.solve(covering(bounds=bounds), 1.0, 1e-6, 6, rng=tape, **options)
    return tape


def tape_of_fit():
    X, tape = np.random.default_rng(0).normal(size=(400, 3)), Tape(0)
    y = np.where(X[:, 0] > 0, 1, -1)
    with mock.patch.object(Randomness, "draw", lambda _, *draw: tape.draw(*draw)):
        PrivateLPSVC(1.0, 1e-6, classes=(-1, 1), random_state=0).fit(X, y)
    return tape


DESCENTS = {"staged": (lambda: tape_of_solve("staged"), 6), "PrivateLPSVC": (tape_of_fit, 1)}


@pytest.mark.parametrize("name", DESCENTS)
def test_rounds_of_a_descent_bear_noise_by_their_weight(name):
    """sigma_t^2 w_t is the same for all rounds of a stage; a stage begins where noise rises."""
    run, stages = DESCENTS[name]
    rounds = (m for m in run().releases if "each round" in m.purpose)
    of_rounds = (m.mechanism for m in rounds if m.purpose.startswith("release the"))
    sigmas = np.array([noise.sigma / noise.sensitivity for noise in of_rounds])
    begins = [0, *(np.flatnonzero(np.diff(sigmas) > 0) + 1), len(sigmas)]
    assert len(begins) == stages + 1
    for one, following in itertools.pairwise(begins):
        weights = np.array([weight_of_round(t) for t in range(following - one)])
        weighted = sigmas[one:following] ** 2 * weights
        np.testing.assert_allclose(weighted, sigmas[one] ** 2, rtol=1e-9)


@pytest.mark.parametrize("rounds", [1, 10, 300])
def test_all_rounds_leave_the_noise_of_one_release(rounds):
    """The weighted mean of the noise of all rounds, beside one release at the whole budget."""
    task = SolveRequest.of(covering(), eps=1.0, delta=1e-6, s=6, opt=3.0)
    noise = noise_of_one_release(task)
    weights = weights_of_rounds(rounds)
    sigmas = deviations(WeightedGaussianMechanism(2.0, 2.0 * math.sqrt(rounds) * noise, weights))
    assert len(sigmas) == rounds
    assert np.linalg.norm(weights * sigmas) / np.sum(weights) == pytest.approx(2 * noise, rel=1e-9)
