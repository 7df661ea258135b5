"""Gaussian differential privacy."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.special import ndtri

from privlp.privacy import gaussian_dp
from privlp.privacy.gaussian_dp import delta_of, eps_of, mu_of, mu_of_bounded_range, root_of
from tests.effort import examples, pairs

DIGITS = 60
#: Below, a delta is of no use, and double precision comes to its end.
LEAST_DELTA = 1e-290
#: Relative error that the exact sums of this file are allowed: about a thousand rounded terms.
ROUNDING = 1e-11


def exact_delta(eps: float, mu: float) -> mpmath.mpf:
    """The curve to 60 digits, from its definition."""
    with mpmath.workdps(DIGITS):
        e, m, root = mpmath.mpf(eps), mpmath.mpf(mu), mpmath.sqrt(2)
        near, far = e / m - m / 2, e / m + m / 2
        return (mpmath.erfc(near / root) - mpmath.exp(e) * mpmath.erfc(far / root)) / 2


def powers_of_ten(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@settings(max_examples=examples(400), deadline=None)
@given(eps=powers_of_ten(-12, 2.5), mu=powers_of_ten(-13, 2.5))
def test_the_curve_is_never_below_the_exact_one_and_hardly_above(eps, mu):
    """By a millionth. For a tiny eps its two terms cancel; what is lost is added."""
    exact = exact_delta(eps, mu)
    assume(exact > LEAST_DELTA)
    lost = 1e-14 if eps < 1e-3 or mu < 1e-4 else 0.0
    assert exact <= mpmath.mpf(delta_of(eps, mu)) <= exact * (1 + mpmath.mpf("1e-6")) + lost


def test_the_ends_of_the_curve():
    assert delta_of(1.0, 0.0) == 0.0
    assert delta_of(1.0, math.inf) == 1.0
    assert delta_of(0.0, 1e4) == 1.0
    assert delta_of(800.0, 1.0) == 0.0  # e^eps is beyond floating-point numbers
    assert 0.99 < delta_of(800.0, 60.0) <= 1.0


@settings(max_examples=examples(100), deadline=None)
@given(
    curve=st.sampled_from([math.tanh, math.expm1, lambda x: math.copysign(min(abs(x), 1e-3), x)]),
    root=st.floats(-0.99, 0.99),
    steepness=powers_of_ten(-2, 2),
    tolerances=st.sampled_from([(2e-12, 1e-14), (1e-9, 2.0**-50)]),
)
def test_roots_have_the_bits_of_scipy(curve, root, steepness, tolerances):
    def f(x):
        return curve(steepness * (x - root)) ** 3 + 0.1 * curve(steepness * (x - root))

    xtol, rtol = tolerances
    assert root_of(f, -1.5, 1.7, xtol, rtol) == optimize.brentq(f, -1.5, 1.7, xtol=xtol, rtol=rtol)


def test_a_root_needs_two_signs():
    with pytest.raises(ValueError, match="one sign"):
        root_of(lambda x: x * x + 1, -1.0, 1.0)


@settings(max_examples=examples(200), deadline=None)
@given(eps=powers_of_ten(-3, 2), delta=powers_of_ten(-12, -1))
def test_mu_of_is_on_the_safe_side_and_tight(eps, delta):
    mu = mu_of(eps, delta)
    assert exact_delta(eps, mu) <= delta < exact_delta(eps, mu * (1 + 1e-6))


@settings(max_examples=examples(200), deadline=None)
@given(mu=powers_of_ten(-3, 1.3), delta=powers_of_ten(-12, -1))
def test_eps_of_is_on_the_safe_side_and_tight(mu, delta):
    eps = eps_of(mu, delta)
    assert exact_delta(eps, mu) <= delta
    assume(eps > 1e-3)  # below, the curve is so flat that its own rounding decides
    assert exact_delta(eps * (1 - 1e-6), mu) > delta


def test_where_inverses_have_no_finite_answer():
    assert mu_of(1.0, 0.0) == 0.0
    assert mu_of(math.inf, 1e-6) == math.inf
    assert eps_of(1.0, 0.0) == math.inf
    assert eps_of(0.0, 1e-6) == 0.0
    assert gaussian_dp.least_eps(lambda eps: 0.5, 0.1, scale=1.0) == math.inf


def extreme_pair(eps: float, t: float) -> tuple[float, float]:
    """The probabilities of one of two outcomes whose log-ratios are t and t - eps."""
    p = math.expm1(t - eps) / math.expm1(-eps)
    return p, math.exp(-t) * p


def quantile_gap(eps: float, t: float) -> mpmath.mpf:
    """Phi^-1(p) - Phi^-1(q) of that pair, to 30 digits."""
    with mpmath.workdps(30):
        e, u = mpmath.mpf(eps), mpmath.mpf(t)
        p = mpmath.expm1(u - e) / mpmath.expm1(-e)
        rest = mpmath.exp(-e) * mpmath.expm1(u) / -mpmath.expm1(-e)  # 1 - p, without cancellation
        q, rest_q = mpmath.exp(-u) * p, -mpmath.expm1(-u) / -mpmath.expm1(-e)
        return _quantile(p, rest) - _quantile(q, rest_q)


def _quantile(p: mpmath.mpf, rest: mpmath.mpf) -> mpmath.mpf:
    """Phi^-1(p), by Newton's method from double precision; `rest` is 1 - p."""
    tail, sign = (p, -1) if p < rest else (rest, 1)
    x = mpmath.mpf(-ndtri(float(tail)))
    for _ in range(6):
        density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
        x += (mpmath.erfc(x / mpmath.sqrt(2)) / 2 - tail) / density
    return sign * x


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 4.0, 30.0])
def test_no_pair_of_bounded_range_is_easier_to_tell_apart_than_two_normals(eps):
    mu = mpmath.mpf(mu_of_bounded_range(eps))
    shares = np.concatenate([np.linspace(0, 1, 61)[1:-1], 10.0 ** -np.arange(2.0, 9.0)])
    gaps = [quantile_gap(eps, eps * share) for share in [*shares, *(1 - shares)]]
    assert max(gaps) <= mu
    # The middle pair attains the bound: 5 % less would be violated.
    assert float(quantile_gap(eps, eps / 2)) == pytest.approx(float(mu), rel=1e-8)


@settings(max_examples=examples(200), deadline=None)
@given(eps=powers_of_ten(-6, 2.7))
def test_mu_of_a_pure_mechanism_is_that_of_randomised_response_rounded_up(eps):
    """The corner of its trade-off, (p, p) with p = 1/(1 + e^eps), lies on the curve of mu."""
    with mpmath.workdps(300):
        half = mpmath.mpf(gaussian_dp.mu_of_pure(eps)) / 2
        tail, p = mpmath.erfc(half / mpmath.sqrt(2)) / 2, 1 / (1 + mpmath.exp(mpmath.mpf(eps)))
        assert tail <= p
        smaller = mpmath.erfc(half * (1 - mpmath.mpf("1e-8")) / mpmath.sqrt(2)) / 2
        assert smaller > p


def binomial_delta(eps: float, groups: list[tuple[float, float, int]]) -> float:
    """The exact delta of independent two-outcome draws: count times outcome 1 of chance p, or q."""
    log_p, log_q = np.zeros(1), np.zeros(1)
    for p, q, count in groups:
        k = np.arange(count + 1)
        log_p = np.add.outer(log_p, stats.binom.logpmf(k, count, p)).ravel()
        log_q = np.add.outer(log_q, stats.binom.logpmf(k, count, q)).ravel()
    lost = np.maximum(-np.expm1(np.minimum(eps + log_q - log_p, 0.0)), 0.0)
    return math.fsum(np.exp(log_p) * lost)


COUNTS = [1, 7, 1000]


def _grid_of_eps(mu: float) -> list[float]:
    return [0.0, *(mu * np.linspace(0.1, 6.0, 25) + mu * mu / 2)]


@pytest.mark.parametrize(
    ("eps", "share", "count"), pairs([0.01, 0.5, 4.0], [0.02, 0.5, 0.8], COUNTS)
)
def test_composed_selections_from_two_stay_below_the_curve(eps, share, count):
    pair = extreme_pair(eps, share * eps)
    mu = math.sqrt(count) * mu_of_bounded_range(eps)
    for total in _grid_of_eps(mu):
        for one, two in (pair, pair[::-1]):
            exact = binomial_delta(total, [(one, two, count)])
            assert exact <= delta_of(total, mu) * (1 + ROUNDING) + 1e-14


@pytest.mark.parametrize("eps", [0.01, 1.0, 3.0])
def test_five_per_cent_less_would_not_cover_a_single_draw(eps):
    """So the tests above can fail: the bound is attained by one draw."""
    p = 1 / (1 + math.exp(-eps))
    assert binomial_delta(0.0, [(p, 1 - p, 1)]) > delta_of(0.0, 0.95 * gaussian_dp.mu_of_pure(eps))
    middle = extreme_pair(eps, eps / 2)
    assert binomial_delta(0.0, [(*middle, 1)]) > delta_of(0.0, 0.95 * mu_of_bounded_range(eps))
