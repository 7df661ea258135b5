"""Noise: its distribution, its price, its refusals."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from privlp.errors import InvalidParameterError
from privlp.privacy import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Ledger,
    Randomness,
    prices,
)
from privlp.privacy.mechanisms.exponential import bernoulli_exp
from privlp.privacy.prices import Price, composed_epsilon
from privlp.relations import ConstraintPrivate
from tests.effort import runs

FALSE_ALARM = 1e-6


def draws(mechanism, value, count, seed):
    randomness = Randomness(seed)
    return np.array([mechanism.release(value, randomness) for _ in range(count)])


def selection_probabilities(scores, sensitivity, eps):
    odds = np.exp((scores - scores.max()) * eps / (2 * sensitivity))
    return odds / odds.sum()


# exponential mechanism


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("scores", "sensitivity", "eps"),
    [
        ([0.0, 1.0, 2.0, 3.0], 1.0, 1.0),
        ([5.0, 5.0, 5.0], 0.1, 2.0),
        ([-1e6, -1e6 + 1, -1e6 - 3], 2.0, 3.0),
        ([0.0, 0.5, 1.0], 0.25, 6.0),
        (list(np.linspace(0, 1, 40)), 0.5, 4.0),
        ([1.0, 2.0], 1.0, 0.0),
    ],
)
def test_selection_follows_the_exponential_law(scores, sensitivity, eps):
    """Chi-square test of 10,000 draws. False-alarm rate 1e-6 per case, seed fixed."""
    scores, count = np.array(scores), runs(40_000, 10_000)
    chosen = draws(ExponentialMechanism(sensitivity, eps), scores, count, seed=1)
    expected = selection_probabilities(scores, sensitivity, eps) * len(chosen)
    assert (
        stats.chisquare(np.bincount(chosen, minlength=len(scores)), expected).pvalue > FALSE_ALARM
    )


@pytest.mark.statistical
def test_rare_candidates_are_selected_as_often_as_they_should_be():
    """5,000 candidates of probability 1e-6 (relative to the likely one).

    Binomial test, false-alarm rate 1e-6, seed fixed.
    """
    scores = np.full(5001, -math.log(1e6))
    scores[17] = 0.0
    chosen = draws(ExponentialMechanism(0.5, 1.0), scores, runs(12_000, 4_000), seed=2)
    rare = 1 - selection_probabilities(scores, 0.5, 1.0)[17]
    assert rare == pytest.approx(0.005, rel=0.01)
    assert stats.binomtest(int((chosen != 17).sum()), len(chosen), rare).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_rejected_blocks_of_proposals_do_not_bias_the_selection():
    """Blocks are short when most candidates are likely, so some blocks accept nothing.

    Chi-square, false-alarm rate 1e-6.
    """
    scores = np.array([0.0, *[-30.0] * 7])
    chosen = draws(ExponentialMechanism(1.0, 0.3), scores, runs(40_000, 10_000), seed=3)
    expected = selection_probabilities(scores, 1.0, 0.3) * len(chosen)
    assert stats.chisquare(np.bincount(chosen, minlength=8), expected).pvalue > FALSE_ALARM


def test_hopeless_candidates_are_never_selected():
    scores = np.array([-1e9, 0.0, -1e9])
    assert set(draws(ExponentialMechanism(1e-3, 1.0), scores, 500, seed=4)) == {1}


def test_infinite_eps_selects_the_largest_score():
    scores = np.array([0.0, 3.0, 2.9999999, 3.0])
    assert set(draws(ExponentialMechanism(1.0, math.inf), scores, 20, seed=0)) == {1}


def test_selection_returns_a_plain_integer():
    assert type(ExponentialMechanism(1.0, 1.0).release(np.zeros(3), Randomness(0))) is int


def test_selection_leaves_the_scores_alone():
    scores = np.array([0.0, 1.0, -5.0])
    ExponentialMechanism(1.0, 1.0).release(scores, Randomness(0))
    assert scores.tolist() == [0.0, 1.0, -5.0]


# coins


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", [1e-3, 0.5, 0.999, 1.0, 1.5, 2.0, 3.7, 8.25])
def test_coin_frequencies(exponent):
    """3 million coins of probability exp(-exponent). Binomial test, false-alarm rate 1e-6, seed fixed."""
    coins = bernoulli_exp(np.full(3_000_000, exponent), np.random.default_rng(5))
    assert stats.binomtest(int(coins.sum()), coins.size, math.exp(-exponent)).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_rare_coins_have_a_small_relative_error():
    """20 million coins of probability 6.1e-6. Binomial test, false-alarm rate 1e-6, seed fixed."""
    rng = np.random.default_rng(6)
    hits = sum(int(bernoulli_exp(np.full(2_000_000, 12.0), rng).sum()) for _ in range(10))
    assert stats.binomtest(hits, 20_000_000, math.exp(-12)).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_coins_of_one_call_are_independent():
    """Neighbouring coins of different exponents.

    Chi-square on the 2 x 2 table, false-alarm rate 1e-6, seed fixed.
    """
    coins = bernoulli_exp(np.tile([0.5, 1.7], 200_000), np.random.default_rng(7)).reshape(-1, 2)
    table = np.array(
        [
            [np.sum((coins[:, 0] == a) & (coins[:, 1] == b)) for b in (False, True)]
            for a in (False, True)
        ]
    )
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_certain_and_impossible_coins():
    coins = bernoulli_exp(np.array([0.0, 700.0, 0.0, 700.0]), np.random.default_rng(8))
    assert coins.tolist() == [True, False, True, False]


# additive noise


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (LaplaceMechanism(1.0, 0.7), stats.laplace(scale=0.7)),
        (LaplaceMechanism(5.0, 1e-3), stats.laplace(scale=1e-3)),
        (GaussianMechanism(1.0, 2.5), stats.norm(scale=2.5)),
        (GaussianMechanism(0.1, 1e4), stats.norm(scale=1e4)),
    ],
)
def test_noise_follows_its_law(mechanism, law):
    """Kolmogorov-Smirnov test of 100,000 entries of one vector, then of 5,000 single draws.

    False-alarm rate 1e-6 each.
    """
    value = np.linspace(-3, 3, 100_000)
    assert (
        stats.kstest(mechanism.release(value, Randomness(9)) - value, law.cdf).pvalue > FALSE_ALARM
    )
    assert stats.kstest(draws(mechanism, 2.0, 5_000, seed=10) - 2.0, law.cdf).pvalue > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [LaplaceMechanism(1.0, 1.0), GaussianMechanism(1.0, 1.0)])
def test_noise_is_independent_over_entries_and_draws(mechanism):
    """Correlations of 10,000 pairs stay below 5 standard errors.

    False-alarm rate below 1e-6 each, seed fixed.
    """
    count = runs(50_000, 10_000)
    noise = draws(mechanism, np.zeros(2), count, seed=11)
    for pair in ((noise[:, 0], noise[:, 1]), (noise[1:, 0], noise[:-1, 0])):
        assert abs(np.corrcoef(*pair)[0, 1]) < 5 / math.sqrt(count)


@pytest.mark.parametrize("mechanism", [LaplaceMechanism(1.0, 0.5), GaussianMechanism(1.0, 0.5)])
def test_noise_keeps_the_shape(mechanism):
    randomness = Randomness(0)
    assert mechanism.release(3, randomness).shape == ()
    assert mechanism.release([1, 2, 3], randomness).shape == (3,)
    assert mechanism.release(np.zeros((2, 4)), randomness).shape == (2, 4)


@pytest.mark.parametrize("mechanism", [LaplaceMechanism(1.0, 0.5), GaussianMechanism(1.0, 0.5)])
def test_every_draw_is_new(mechanism):
    assert len(set(draws(mechanism, 0.0, 100, seed=12))) == 100


@pytest.mark.parametrize("mechanism", [LaplaceMechanism(1.0, 0.0), GaussianMechanism(1.0, 0.0)])
def test_no_noise_returns_the_value_and_has_no_finite_price(mechanism):
    assert mechanism.release([1.5, -2.0], Randomness(0)).tolist() == [1.5, -2.0]
    assert mechanism.pure_eps == math.inf
    assert composed_epsilon([(mechanism.price, 1)], 1e-6) == math.inf


# prices


@pytest.mark.parametrize("eps", [1e-3, 0.5, 8 - 1e-9])
def test_selection_costs_an_eighth_of_eps_squared(eps):
    mechanism = ExponentialMechanism(0.3, eps)
    assert mechanism.price.rho == pytest.approx(eps**2 / 8, rel=1e-6)
    assert mechanism.price.rho > eps**2 / 8  # rounding of the draw is charged on top
    assert eps < mechanism.pure_eps <= eps + 1e-11


@pytest.mark.parametrize("eps", [8.001, 12.0, 200.0, 699.0])
def test_beyond_eight_a_selection_costs_its_pure_epsilon(eps):
    """Then pure eps-DP, dominated by randomised response, is the smaller price."""
    price = composed_epsilon([(ExponentialMechanism(1.0, eps).price, 1)], 1e-9)
    assert price <= eps * (1 + 1e-6)
    assert price > 0.8 * eps


def test_far_beyond_eight_only_the_pure_epsilon_is_left():
    """Randomised response leaves the floating-point range at eps = 700."""
    ledger = Ledger(6000.0, 1e-6)
    ledger.charge(ExponentialMechanism(1.0, 5000.0), 1, "test", ConstraintPrivate(), Randomness(0))
    assert ledger.spent() == pytest.approx(5000.0)


def test_infinite_eps_has_no_finite_price():
    mechanism = ExponentialMechanism(1.0, math.inf)
    assert mechanism.pure_eps == math.inf
    assert composed_epsilon([(mechanism.price, 1)], 1e-6) == math.inf


@pytest.mark.parametrize("eps", [0.1, 1.0, 9.0])
@pytest.mark.parametrize("count", [1, 30])
def test_pure_event_is_randomised_response(eps, count):
    """Against the best order of the Renyi divergences of binary randomised response."""
    order = 1 + np.geomspace(0.01, 1e7, 200_000)
    log_moment = np.logaddexp(order * eps, (1 - order) * eps) - np.logaddexp(
        eps, 0
    )  # of p^a q^(1-a) + q^a p^(1-a), p = e^eps q
    excess = order - 1
    exact = (
        count * log_moment / excess
        + np.log1p(-1 / order)
        - (math.log(1e-6) + np.log(order)) / excess
    ).min()
    ledger = prices._renyi_epsilon(((Price.pure(eps), count),), 1e-6)
    assert exact * (1 - 1e-6) <= ledger <= exact * 1.01


@pytest.mark.parametrize(("scale", "sensitivity"), [(2.0, 1.0), (0.3, 3.0)])
def test_laplace_price(scale, sensitivity):
    mechanism = LaplaceMechanism(sensitivity, scale)
    assert mechanism.pure_eps == pytest.approx(sensitivity / scale)
    assert (mechanism.price.law, mechanism.price.eps) == ("laplace", mechanism.pure_eps)


@pytest.mark.parametrize(("sigma", "sensitivity"), [(2.0, 1.0), (0.3, 3.0)])
def test_gaussian_price(sigma, sensitivity):
    mechanism = GaussianMechanism(sensitivity, sigma)
    assert mechanism.pure_eps == math.inf
    assert mechanism.price.mu == pytest.approx(sensitivity / sigma)


def test_gaussian_price_is_below_that_of_its_zcdp():
    """Delta^2 / (2 sigma^2)-zCDP holds as well, and is a weaker guarantee."""
    price = composed_epsilon([(GaussianMechanism(3.0, 5.0).price, 1)], 1e-6)
    of_rho = prices._renyi_epsilon(((Price.gaussian(3.0 / 5.0), 1),), 1e-6)
    assert 0.9 * of_rho < price < 0.97 * of_rho


# refusals and descriptions


@pytest.mark.parametrize("make", [ExponentialMechanism, LaplaceMechanism, GaussianMechanism])
@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan])
def test_sensitivity_must_be_positive(make, sensitivity):
    with pytest.raises(
        InvalidParameterError,
        match=rf"sensitivity must be positive and finite, got {sensitivity!r}",
    ):
        make(sensitivity, 1.0)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (ExponentialMechanism, "eps of the exponential mechanism"),
        (LaplaceMechanism, "scale"),
        (GaussianMechanism, "sigma"),
    ],
)
@pytest.mark.parametrize("noise", [-1e-9, -math.inf, math.nan])
def test_noise_must_not_be_negative(make, name, noise):
    with pytest.raises(
        InvalidParameterError,
        match=rf"{name} must be non-negative( and below 1e\+298)?, got {noise!r}",
    ):
        make(1.0, noise)


@pytest.mark.parametrize(
    ("mechanism", "name", "parameter", "arithmetic"),
    [
        (
            ExponentialMechanism(0.1, 0.25),
            "exponential mechanism",
            "eps = 0.25",
            "an index is selected",
        ),
        (
            LaplaceMechanism(0.1, 0.25),
            "Laplace mechanism",
            "scale = 0.25",
            "exactly rounded to a public grid",
        ),
        (
            GaussianMechanism(0.1, 0.25),
            "Gaussian mechanism",
            "sigma = 0.25",
            "exactly rounded to a public grid",
        ),
    ],
)
def test_descriptions(mechanism, name, parameter, arithmetic):
    assert mechanism.name == name
    assert mechanism.parameter == parameter
    assert arithmetic in mechanism.arithmetic


@pytest.mark.parametrize("make", [ExponentialMechanism, LaplaceMechanism, GaussianMechanism])
def test_a_mechanism_cannot_be_changed_after_it_was_priced(make):
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(1.0, 1.0).sensitivity = 0.1
