"""Noise: its distribution, its price, its refusals."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from privlp import privacy
from privlp.errors import InvalidParameterError
from privlp.privacy import (
    ExponentialMechanism,
    GaussianMechanism,
    GaussianObjectivePerturbation,
    LaplaceMechanism,
    Randomness,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
    WeightedGaussianMechanism,
)
from privlp.privacy.mechanisms.selection import bernoulli_exp
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


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("given", "sensitivity", "eps"),
    [
        ([-1e6, -1e6 + 1, -1e6 - 3], 2.0, 3.0),
        (list(np.linspace(0, 1, 40)), 0.5, 4.0),
        ([1.0, 2.0], 1.0, 0.0),
        ([0.0, *[-30.0] * 7], 1.0, 0.3),  # short blocks of proposals, some without any accepted
    ],
)
def test_selection_follows_the_exponential_law(given, sensitivity, eps):
    """Chi-square test of 4,000 draws. False-alarm rate 1e-6 per case, seed fixed."""
    scores, count = np.array(given), runs(40_000, 4_000)
    chosen = draws(ExponentialMechanism(sensitivity, eps), scores, count, seed=1)
    expected = selection_probabilities(scores, sensitivity, eps) * len(chosen)
    assert (scores == given).all()
    found = np.bincount(chosen, minlength=len(scores))
    assert stats.chisquare(found, expected).pvalue > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("exponent", [1e-3, 0.999, 1.0, 3.7])
def test_coin_frequencies(exponent):
    """2 million coins of probability exp(-exponent). Binomial test, false-alarm rate 1e-6, seed fixed."""
    coins = bernoulli_exp(np.full(2_000_000, exponent), np.random.default_rng(5))
    assert stats.binomtest(int(coins.sum()), coins.size, math.exp(-exponent)).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_rare_coins_have_a_small_relative_error():
    """10 million coins of probability 6.1e-6. Binomial test, false-alarm rate 1e-6, seed fixed."""
    rng = np.random.default_rng(6)
    hits = sum(int(bernoulli_exp(np.full(2_000_000, 12.0), rng).sum()) for _ in range(5))
    assert stats.binomtest(hits, 10_000_000, math.exp(-12)).pvalue > FALSE_ALARM


@pytest.mark.statistical
def test_coins_of_one_call_are_independent():
    """Neighbouring coins of different exponents.

    Chi-square on the 2 x 2 table, false-alarm rate 1e-6, seed fixed.
    """
    coins = bernoulli_exp(np.tile([0.5, 1.7], 200_000), np.random.default_rng(7)).reshape(-1, 2)
    table = np.histogram2d(*coins.T.astype(int), bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_certain_and_impossible_coins():
    coins = bernoulli_exp(np.array([0.0, 700.0, 0.0, 700.0]), np.random.default_rng(8))
    assert coins.tolist() == [True, False, True, False]


NOISES = [LaplaceMechanism, GaussianMechanism, privacy.EuclideanLaplaceMechanism]


@pytest.mark.parametrize("kind", NOISES)
def test_noise_keeps_the_shape_and_every_draw_is_new(kind):
    randomness, mechanism = Randomness(0), kind(1.0, 0.5)
    for value, shape in ((3, ()), ([1, 2, 3], (3,)), (np.zeros((2, 4)), (2, 4))):
        assert mechanism.release(value, randomness).shape == shape
    assert len(set(draws(mechanism, 0.0, 100, seed=12))) == 100


WITHOUT_NOISE = [kind(1.0, 0.0) for kind in NOISES]
WITHOUT_NOISE.append(TruncatedGaussianMechanism.of_budget(1.0, math.inf, 0.0))
WITHOUT_NOISE.append(TruncatedSupNormMechanism.of_budget(1.0, math.inf, 0.0, 2))


@pytest.mark.parametrize("mechanism", WITHOUT_NOISE, ids=lambda of: of.name)
def test_no_noise_returns_the_value_and_has_no_finite_price(mechanism):
    assert mechanism.release([0.1, 1e-300], Randomness(0)).tolist() == [0.1, 1e-300]
    of_cuts = ("width", "most", "own_delta")
    assert not any(getattr(mechanism, name, 0) for name in of_cuts)
    assert mechanism.pure_eps == math.inf
    assert composed_epsilon([(mechanism.price, 1)], 1e-6) == math.inf


@pytest.mark.parametrize("kind", NOISES)
def test_only_infinities_are_cut_off_at_the_largest_number(kind):
    large, most = 1e200, np.finfo(float).max
    found = kind(1.0, 1e-3).release([large, -large, np.inf, -np.inf], Randomness(0))
    np.testing.assert_allclose(found, [large, -large, most, -most])


def test_infinite_eps_selects_the_largest_score_and_has_no_price():
    mechanism, scores = ExponentialMechanism(1.0, math.inf), np.array([0.0, 3.0, 2.9999999, 3.0])
    assert set(draws(mechanism, scores, 20, seed=0)) == {1}
    assert type(mechanism.release(scores, Randomness(0))) is int
    assert mechanism.pure_eps == math.inf
    assert composed_epsilon([(mechanism.price, 1)], 1e-6) == math.inf


@pytest.mark.parametrize("eps", [1e-3, 0.5, 8 - 1e-9])
def test_selection_costs_an_eighth_of_eps_squared(eps):
    mechanism = ExponentialMechanism(0.3, eps)
    assert mechanism.price.rho == pytest.approx(eps**2 / 8, rel=1e-6)
    assert mechanism.price.rho > eps**2 / 8  # rounding of the draw is charged on top
    assert eps < mechanism.pure_eps <= eps + 1e-11


@pytest.mark.parametrize("eps", [8.001, 699.0])
def test_beyond_eight_a_selection_costs_its_pure_epsilon(eps):
    """Then pure eps-DP, dominated by randomised response, is the smaller price."""
    price = composed_epsilon([(ExponentialMechanism(1.0, eps).price, 1)], 1e-9)
    assert price <= eps * (1 + 1e-6)
    assert price > 0.8 * eps


def test_far_beyond_eight_only_the_pure_epsilon_is_left():
    """Randomised response leaves the floating-point range at eps = 700."""
    ledger = privacy.Ledger(6000.0, 1e-6)
    ledger.charge(ExponentialMechanism(1.0, 5000.0), 1, "test", ConstraintPrivate(), Randomness(0))
    assert ledger.spent() == pytest.approx(5000.0)


@pytest.mark.parametrize(("eps", "count"), [(0.1, 30), (1.0, 1), (9.0, 30)])
def test_pure_event_is_randomised_response(eps, count):
    """Against the best order of the Renyi divergences of binary randomised response."""
    order = 1 + np.geomspace(0.01, 1e7, 100_000)
    # of p^a q^(1-a) + q^a p^(1-a), p = e^eps q
    log_moment = np.logaddexp(order * eps, (1 - order) * eps) - np.logaddexp(eps, 0)
    of_delta = (math.log(1e-6) + np.log(order)) / (order - 1)
    exact = (count * log_moment / (order - 1) + np.log1p(-1 / order) - of_delta).min()
    ledger = privacy.prices._renyi_epsilon(((Price.pure(eps), count),), 1e-6)
    assert exact * (1 - 1e-6) <= ledger <= exact * 1.01


@pytest.mark.parametrize("make", [ExponentialMechanism, *NOISES])
@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan])
def test_sensitivity_must_be_positive(make, sensitivity):
    message = f"sensitivity must be positive and finite, got {sensitivity!r}"
    with pytest.raises(InvalidParameterError, match=message):
        make(sensitivity, 1.0)


SCALES = {
    ExponentialMechanism: "eps of the exponential mechanism must be non-negative",
    LaplaceMechanism: r"scale must be non-negative and below 1e\+298",
    privacy.EuclideanLaplaceMechanism: r"scale must be non-negative and below 1e\+298",
    GaussianMechanism: r"sigma must be non-negative and below 1e\+298",
}


OF_LAPLACE, OF_GAUSS = TruncatedLaplaceMechanism, TruncatedGaussianMechanism
OF_SUP_NORM, WEIGHTED = TruncatedSupNormMechanism, WeightedGaussianMechanism
truncated = partial(dataclasses.replace, OF_GAUSS(1.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1))
perturbing = partial(GaussianObjectivePerturbation, 2.0, 2.0, 0.1, parts=2, largest_part=1.0)
eight = WEIGHTED(1.0, 3.0, tuple(map(float, range(1, 9))))
WIDTH, DRAWN = (
    "width must be positive and finite",
    r"drawn from by number: use of_draw\(number, cou",
)
#: What makes or draws the noise, and what is said of it.
WRONG = [
    (partial(OF_LAPLACE, 1.0, 1.0, math.inf), WIDTH),
    (
        partial(OF_LAPLACE.of_budget, 1.0, 1.0, 0.1, entry=2.0),
        "at most the sensitivity of 1, got 2",
    ),
    (partial(OF_SUP_NORM, 0.0, 1.0, 9.0, 2), "sensitivity must be positive"),
    (partial(OF_SUP_NORM, 1.0, 1.0, 9.0, 0), "size must be a positive"),
    (partial(OF_SUP_NORM, 1.0, 1.0, 2.0, 2), "width must exceed size times scale, 2, got 2"),
    (partial(OF_SUP_NORM, 1.0, 1.0, math.inf, 2), WIDTH),
    (partial(OF_SUP_NORM, 1.0, 0.0, 9.0, 2), f"{WIDTH}, or 0 where scale is"),
    (partial(OF_SUP_NORM.of_budget, 1.0, 1.0, 0.0, 2), "delta must be positive"),
    (
        lambda: OF_SUP_NORM.of_budget(1.0, 1.0, 0.1, 2).release([1.0], Randomness(0)),
        "value must be a vector of 2 entries",
    ),
    (partial(truncated, sensitivity=0.0), "sensitivity must be positive"),
    (partial(truncated, l1=math.nan), "l1 must be positive"),
    (partial(truncated, entry=-1.0), "entry must be positive"),
    *((partial(truncated, touched=t), "touched must be a positive integer") for t in (0, 1.5)),
    *((partial(truncated, sigma=s), "sigma must be non-negative and") for s in (-1.0, math.inf)),
    *((partial(truncated, width=w), f"{WIDTH}, or 0 where sigma is") for w in (math.inf, 0.0)),
    (partial(truncated, width=65.0), "width must be at most 64 times the sigma of 1"),
    *((partial(truncated, eps=eps), "eps must be positive, and finite") for eps in (0.0, math.inf)),
    (partial(OF_GAUSS.of_budget, 1.0, 1.0, 0.0), "delta must be positive"),
    (
        partial(OF_GAUSS.of_budget, 1.0, 1.0, 0.1, touched=0),
        "touched must be a positive integer, g",
    ),
    *((partial(WEIGHTED, 1.0, 1.0, w), "tuple of at least one number") for w in ((), [1.0])),
    *(
        (partial(WEIGHTED, 1.0, 1.0, weights), "positive numbers between")
        for weights in ((math.nan, 1.0), *((1.0, w) for w in (0.0, -1.0, math.nan, math.inf)))
    ),
    (partial(WEIGHTED, 1.0, -1.0, (1.0,)), "sigma must be non-negative"),
    (partial(WEIGHTED, 1.0, 2.3e-308, (1.0, 2.0, 3.0)), "standard deviation between .* 2.3e-308"),
    (partial(WEIGHTED, 1.0, 1e297, (1e-40, 1e40)), "standard deviation between .* got 1e[+]?297"),
    (partial(eight.release, 0.0, Randomness(0)), DRAWN),
    *((partial(eight.of_draw, k, 8), f"numbers 0 to 7, got {k}") for k in (-1, 8)),
    *(
        (partial(perturbing, opposite_part=part), "opposite_part must lie between 0 and")
        for part in (-0.1, 1.1, math.nan)
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_parameters_outside_their_domain_are_refused(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


@pytest.mark.parametrize("make", SCALES)
def test_noise_must_not_be_negative_or_without_bounds(make):
    for noise in (
        -1e-9,
        -math.inf,
        math.nan,
        *([] if make is ExponentialMechanism else [math.inf]),
    ):
        with pytest.raises(InvalidParameterError, match=f"{SCALES[make]}, got {noise!r}"):
            make(1.0, noise)


ROUNDED, SECRET = "exactly rounded to a public grid", "covered by noise of its own"
DESCRIPTIONS = [
    (ExponentialMechanism(0.1, 0.25), "exponential mechanism", "eps", "an index is selected"),
    (LaplaceMechanism(0.1, 0.25), "Laplace mechanism", "scale", ROUNDED),
    (GaussianMechanism(0.1, 0.25), "Gaussian mechanism", "sigma", ROUNDED),
    (privacy.EuclideanLaplaceMechanism(0.1, 0.25), "Euclidean Laplace mechanism", "scale", ROUNDED),
    (privacy.ObjectivePerturbation(0.1, 0.25, 0.1), "objective perturbation", "scale", SECRET),
    (
        privacy.GaussianObjectivePerturbation(0.1, 0.25, 0.1),
        "Gaussian objective perturbation",
        "sigma",
        SECRET,
    ),
]


@pytest.mark.parametrize(("mechanism", "name", "noise", "arithmetic"), DESCRIPTIONS)
def test_descriptions(mechanism, name, noise, arithmetic):
    assert (mechanism.name, mechanism.parameter) == (name, f"{noise} = 0.25")
    assert arithmetic in mechanism.arithmetic


@pytest.mark.parametrize("make", [ExponentialMechanism, LaplaceMechanism, GaussianMechanism])
def test_a_mechanism_cannot_be_changed_after_it_was_priced(make):
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(1.0, 1.0).sensitivity = 0.1


def test_the_largest_decrease_of_truncated_noise_counts_the_rounding_down():
    """A zero just below a grid point, under noise of 2 width, is released a whole step lower."""
    assert privacy.TruncatedLaplaceMechanism(1.0, 1.0, 3.0).most > 6.0
