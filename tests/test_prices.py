"""Prices: composition against the exact privacy loss of small mechanisms; calibrations."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr
from test_gaussian_dp import binomial_delta, extreme_pair, powers_of_ten

from privlp import privacy
from privlp.privacy import GaussianMechanism, LaplaceMechanism, prices
from privlp.privacy.accountant import _by_secants
from privlp.privacy.gaussian_dp import delta_of, eps_of, least_eps
from privlp.privacy.prices import Price, composed_epsilon, gaussian_excess
from svm_models.classifiers.risk import MarginLoss, huber, logistic
from tests.effort import examples, pairs


class Perturbed:
    """The minimiser w of n reg w^2/2 + sum_i loss(m_i w) + b w for b ~ N(0, sigma^2), as a law.

    b = -G(w) with G(w) = n reg w + sum_i m_i loss'(m_i w): the density of w is that of b times
    G'(w).
    """

    def __init__(self, margins: list[float], loss: MarginLoss, stiffness: float, sigma: float):
        self.margins, self.loss = np.array(margins), loss
        self.stiffness, self.sigma = stiffness, sigma

    def log_density(self, w: np.ndarray) -> np.ndarray:
        z = np.multiply.outer(w, self.margins)
        gradient = self.stiffness * w + self.loss.slope(z) @ self.margins
        curvature = self.stiffness + self.loss.curvature(z) @ self.margins**2
        return stats.norm.logpdf(gradient, scale=self.sigma) + np.log(curvature)

    def pieces(self, other: "Perturbed") -> np.ndarray:
        """Ends of small pieces of the line, with the kinks of both densities among them.

        Beyond 12 sigma the noise has a mass below 1e-32.
        """
        reach = (12 * self.sigma + 2 * len(self.margins)) / self.stiffness
        margins = [m for m in (*self.margins, *other.margins) if abs(m) > 1e-6]
        widths = (self.loss.curvature_bound * 2) ** -1  # h of the Huber loss; harmless for another
        kinks = [k / m for m in margins for k in (1 - widths, 1 + widths)]
        return np.unique([*np.linspace(-reach, reach, 1201), *(k for k in kinks if abs(k) < reach)])

    def delta(self, other: "Perturbed", eps: float) -> float:
        """The exact delta at eps between this law and another."""
        ends = self.pieces(other)
        # The integrand has a kink where the loss is eps: there, too, a piece shall end.
        inner = 1e-9 * np.diff(ends)
        left, right = ends[:-1] + inner, ends[1:] - inner
        before, after = self._loss(other, left) - eps, self._loss(other, right) - eps
        crossed = before * after < 0
        share = before[crossed] / (before[crossed] - after[crossed])
        cuts = left[crossed] + share * (right - left)[crossed]
        w, weight = nodes(np.union1d(ends, cuts))
        lost = -np.expm1(np.minimum(eps - self._loss(other, w), 0.0))
        return float(weight @ (np.exp(self.log_density(w)) * lost))

    def _loss(self, other: "Perturbed", w: np.ndarray) -> np.ndarray:
        return self.log_density(w) - other.log_density(w)


def nodes(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes of eight points a piece, and their weights."""
    x, weight = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends) / 2
    at = (ends[:-1] + half)[:, None] + np.multiply.outer(half, x)
    return at.ravel(), np.multiply.outer(half, weight).ravel()


def laws(
    one: float, two: float, others: list[float], loss: MarginLoss, stiffness: float, sigma: float
) -> tuple[Perturbed, Perturbed]:
    first, second = ([own, *others] for own in (one, two))
    return Perturbed(first, loss, stiffness, sigma), Perturbed(second, loss, stiffness, sigma)


def price(loss: MarginLoss, stiffness: float, sigma: float, cost: float | None = None) -> Price:
    """What the package charges: records of norm at most 1, slopes at most 1."""
    cost = math.log1p(loss.curvature_bound / stiffness) if cost is None else cost
    return privacy.GaussianObjectivePerturbation(2.0, sigma, cost, loss.one_sided).price


def bound(price: Price, eps: float) -> float:
    """The delta at which a draw of this price is (eps, delta)-private."""
    return sum(number * delta_of(max(eps - price.shift, 0.0), mu) for number, mu in price.corners)


def test_the_quadrature_is_right_where_the_answer_is_known():
    """Almost rigid: margins stay in the linear part of the loss, as for a Gaussian mechanism."""
    one, two = laws(1.0, -1.0, [], huber(), 100.0, 1.0)
    for eps in (0.0, 1.0, 3.0):
        assert one.delta(two, eps) == pytest.approx(delta_of(eps, 2.0), rel=1e-9)
    w, weight = nodes(one.pieces(two))
    assert float(weight @ np.exp(one.log_density(w))) == pytest.approx(1.0, abs=1e-9)


#: The record, what replaces it, the other records.
CASES = [(1.0, -1.0, [0.3, -0.9, 0.5]), (1.0, 0.0, []), (0.0, 1.0, [1.0] * 2)]
CASES += [(-1.0, 1.0, [-1.0] * 6)]
LOSSES = {"h=0.5": huber(), "h=0.1": huber(0.1), "logistic": logistic()}


@pytest.mark.parametrize(
    ("loss", "stiffness", "sigma"), pairs(LOSSES, [0.1, 1.0, 10.0], [0.7, 3.0, 20.0])
)
def test_the_corners_bound_the_true_delta_of_objective_perturbation(loss, stiffness, sigma):
    loss = LOSSES[loss]
    charged = price(loss, stiffness, sigma)
    for one, two in (laws(*case, loss, stiffness, sigma) for case in CASES):
        for step in (0.0, 0.5, 1.0, 2.0, 4.0):
            eps = charged.shift + step * 2.0 / sigma
            assert one.delta(two, eps) <= bound(charged, eps) * (1 + 1e-8) + 1e-13


@settings(max_examples=examples(40), deadline=None)
@given(
    one=st.floats(-1, 1),
    two=st.floats(-1, 1),
    others=st.lists(st.floats(-1, 1), max_size=4),
    stiffness=powers_of_ten(-1, 1.5),
    sigma=powers_of_ten(-0.5, 1.5),
    delta=powers_of_ten(-8, -1),
)
def test_no_pair_of_records_spends_more_than_the_price(one, two, others, stiffness, sigma, delta):
    for loss in (huber(), logistic()):
        eps = composed_epsilon([(price(loss, stiffness, sigma), 1)], delta)
        first, second = laws(one, two, others, loss, stiffness, sigma)
        assert first.delta(second, eps) <= delta * (1 + 1e-6) + 1e-12


def test_five_per_cent_less_noise_would_exceed_the_price():
    """So the tests above can fail: where rigid, the largest corner is attained."""
    stiffness, sigma = 1e5, 1.0
    one, two = laws(1.0, -1.0, [], huber(), stiffness, sigma)
    eps = eps_of(2.0, 1e-8)
    cheaper = price(huber(), stiffness, 1.05 * sigma)
    assert one.delta(two, eps) > bound(cheaper, eps)
    assert one.delta(two, eps) > 0.99 * bound(price(huber(), stiffness, sigma), eps)


def test_the_curvature_has_to_be_paid_for():
    """With much noise nearly all of the loss is in the curvature, and a price without it is too low."""
    stiffness, sigma, eps = 0.1, 20.0, 1.5
    one, two = laws(1.0, 0.0, [], huber(), stiffness, sigma)
    assert one.delta(two, eps) > 1e-3 > bound(price(huber(), stiffness, sigma, cost=0.0), eps)


def all_combinations(prices: list[Price]) -> tuple[np.ndarray, np.ndarray, float]:
    """Every combination of corners, none merged: number, mu, and the sum of shifts."""
    squares: Counter[float] = Counter({0.0: 1})
    for item in prices:
        wider: Counter[float] = Counter(squares)
        for (before, times), (number, mu) in itertools.product(squares.items(), item.corners):
            wider[before + mu**2] += times * number
        squares = wider
    found = np.array(sorted((math.sqrt(s), times) for s, times in squares.items() if s > 0))
    return found[:, 1], found[:, 0], sum(item.shift for item in prices)


def unmerged_delta(numbers: np.ndarray, mus: np.ndarray, eps: float) -> float:
    """The sum of Gaussian curves, by NumPy."""
    x, y = eps / mus - mus / 2, eps / mus + mus / 2
    return float(numbers @ (np.exp(log_ndtr(-x)) - np.exp(eps + log_ndtr(-y))))


@pytest.mark.parametrize("seed", range(2))
def test_merging_many_corners_is_on_the_safe_side_and_costs_little(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(0.05, 0.3, size=8)
    prices = [Price.of_corners(0.01 * rng.random(), ((1, mu), (2, mu / 2))) for mu in sizes]
    numbers, mus, shift = all_combinations(prices)
    assert len(mus) > 10 * 512
    for delta in (1e-9, 1e-6, 1e-3):
        exact = shift + least_eps(lambda e: unmerged_delta(numbers, mus, e), delta, scale=mus.max())
        merged = composed_epsilon([(item, 1) for item in prices], delta)
        assert exact * (1 - 1e-9) <= merged <= exact * 1.02


@settings(max_examples=examples(40), deadline=None)
@given(
    responses=st.tuples(powers_of_ten(-2, 0.5), st.integers(1, 30)),
    selections=st.tuples(powers_of_ten(-2, 0.7), st.floats(0.01, 0.99), st.integers(1, 30)),
    delta=powers_of_ten(-8, -2),
)
def test_composed_epsilon_covers_responses_and_selections_exactly_summed(
    responses, selections, delta
):
    (eps_r, count_r), (eps_s, share, count_s) = responses, selections
    chance = 1 / (1 + math.exp(-eps_r))
    draws = [(chance, 1 - chance, count_r), (*extreme_pair(eps_s, share * eps_s), count_s)]
    costs = [(Price.pure(eps_r), count_r), (Price.bounded_range(eps_s), count_s)]
    eps = composed_epsilon(costs, delta)
    assert binomial_delta(eps, draws) <= delta * (1 + 1e-9)
    assert composed_epsilon(costs, 0.0) == pytest.approx(eps_r * count_r + eps_s * count_s)


def test_composed_epsilon_of_responses_is_near_the_exact_one():
    """So the test above can fail: 30 % less is not enough for two hundred responses."""
    eps, count, delta = 0.05, 200, 1e-5
    chance = 1 / (1 + math.exp(-eps))
    found = composed_epsilon([(Price.pure(eps), count)], delta)
    assert binomial_delta(0.7 * found, [(chance, 1 - chance, count)]) > delta


PRICES = st.one_of(
    powers_of_ten(-3, 0).map(Price.gaussian),
    powers_of_ten(-3, 0).map(Price.bounded_range),
    powers_of_ten(-2, 0).map(Price.laplace),
    powers_of_ten(-3, 0).map(Price.pure),
    powers_of_ten(-2, 0).map(lambda eps: Price.approximate(eps, 1e-9)),
    powers_of_ten(-2, 0).map(lambda mu: Price.of_corners(0.01, ((1, mu), (2, mu / 2)))),
)
COSTS = st.lists(st.tuples(PRICES, st.integers(1, 3)), min_size=1, max_size=3)


@settings(max_examples=examples(30), deadline=None)
@given(costs=COSTS, data=st.data())
def test_the_order_of_draws_does_not_matter(costs, data):
    """Where so few draws have corners that none are merged, which would depend on the order."""
    shuffled = data.draw(st.permutations(costs))
    split = [(item, 1) for item, count in shuffled for _ in range(count)]
    whole = composed_epsilon(costs, 1e-6)
    assert composed_epsilon(shuffled, 1e-6) == pytest.approx(whole, rel=1e-6)
    assert composed_epsilon(split, 1e-6) == pytest.approx(whole, rel=1e-6)


@settings(max_examples=examples(30), deadline=None)
@given(costs=COSTS, more=PRICES, extra=st.integers(1, 5))
def test_more_draws_and_a_smaller_delta_never_cost_less(costs, more, extra):
    """To a millionth of a millionth: roots are found to 1e-14."""
    before = composed_epsilon(costs, 1e-6) * (1 - 1e-12)
    assert composed_epsilon([*costs, (more, extra)], 1e-6) >= before
    assert composed_epsilon([(item, count + extra) for item, count in costs], 1e-6) >= before
    assert composed_epsilon(costs, 1e-6 / (1 + extra)) >= before


def test_few_orders_of_renyi_divergence_find_the_best_of_all(monkeypatch):
    """To the last bit."""
    laws = ("laplace", 0.02, 500), ("pure", 3.0, 4), ("bounded range", 40.0, 1)
    costs = [((Price(law, eps=eps), n), (Price.gaussian(0.3), 2)) for law, eps, n in laws]
    cases = [(cost, delta) for cost in costs for delta in (1e-12, 0.1)]
    found = [prices._renyi_epsilon.__wrapped__(*case) for case in cases]
    monkeypatch.setattr(prices, "_APART", 1)
    assert found == [prices._renyi_epsilon.__wrapped__(*case) for case in cases]


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
@pytest.mark.parametrize("count", [1, 700])
def test_concentrated_draws_cost_what_dp_accounting_says(count, delta):
    """To the last bit, without loading it."""
    costs = [(Price.bounded_range(eps), count) for eps in (1e-4, 0.03, 2.0)]
    costs += [(Price.gaussian(0.2), 3), (Price.pure(1e-5), 2)]
    for some in (costs[:1], costs[1:2], costs[:3], costs[:4], costs):
        rhos = [(prices._rho(price), number) for price, number in some]
        orders = prices._RENYI_ORDERS[::7]
        assert prices._of_rhos(rhos, orders, delta) == prices._of_events(some, orders, delta)


@pytest.mark.parametrize(("mu", "count"), [(0.1, 1), (0.01, 1000), (0.3, 9)])
def test_gaussian_draws_cost_what_one_of_the_root_of_their_number_costs(mu, count):
    joint = composed_epsilon([(Price.gaussian(mu), count)], 1e-6)
    assert joint == pytest.approx(eps_of(mu * math.sqrt(count), 1e-6), rel=1e-9)


def test_nothing_costs_nothing_and_no_noise_costs_everything():
    assert composed_epsilon([], 0.0) == 0.0
    assert composed_epsilon([(Price.none(), 1)], 1e-6) == math.inf
    assert composed_epsilon([(Price.gaussian(0.1), 1)], 0.0) == math.inf
    assert composed_epsilon([(Price.approximate(0.1, 1e-6), 2)], 1e-6) == math.inf


def test_what_a_chance_leaves_of_delta_is_not_rounded_up():
    """By the last bit: the double next to 1e-5 - 1e-12, plus 1e-12, is more than 1e-5."""
    of_draw, chance = 1e-5 - 1e-12, 1e-12
    assert Fraction(of_draw) + Fraction(chance) > Fraction(1e-5)
    costs = [(Price("approximate", eps=0.1, delta=of_draw, chance=chance), 1)]
    assert composed_epsilon(costs, 1e-5) == math.inf
    assert composed_epsilon(costs, 1.001e-5) == pytest.approx(0.1)


def test_secants_find_a_root_from_below_or_none():
    assert 0 <= 2.5 - _by_secants(lambda x: 2 * (x - 2.5) + 0.3 * math.sin(x - 2.5)) < 3e-12
    assert _by_secants(lambda x: None if x > 1 else x - 30) is None
    assert _by_secants(lambda _: -1.0) is None


def term(mu, bend, sides):
    return privacy.GaussianObjectivePerturbation(2.0, 2.0 / mu, bend, parts=sides, largest_part=1.0)


OTHERS = GaussianMechanism, LaplaceMechanism
FAMILIES = {
    "one draw": lambda t: [(GaussianMechanism(1.0, 1 / t), 1)],
    "many draws": lambda t: [(GaussianMechanism(k, 3 / t), int(k)) for k in (1.0, 7.0, 30.0)],
    "corners": lambda t: [(term(t, 0.01, 2), 1), (GaussianMechanism(1.0, 1 / t), 8)],
    "with others": lambda t: [(m(1.0, 1 / t), n) for m, n in zip(OTHERS, (3, 1), strict=True)],
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("eps", [0.05, 1.0, 12.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.4])
def test_a_calibration_spends_all_and_no_more(family, eps, delta):
    intensity = privacy.Ledger(eps, delta).calibrate_together(family)

    def spent(t):
        return composed_epsilon([(mechanism.price, n) for mechanism, n in family(t)], delta)

    assert spent(intensity) <= eps < spent(intensity * (1 + 3e-9))


def test_what_is_left_after_earlier_charges():
    costs = [(m.price, n) for m, n in FAMILIES["many draws"](0.3)]
    for eps in (0.1, 2.0):
        excess = gaussian_excess(costs, eps, 1e-6)
        assert (excess > 0) == (composed_epsilon(costs, 1e-6) > eps)
    assert gaussian_excess(costs, 1.0, 0.0) is None
    assert gaussian_excess([(LaplaceMechanism(1.0, 1.0).price, 1)], 1.0, 1e-6) is None
