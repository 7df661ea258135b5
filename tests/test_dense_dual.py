"""The projection onto dense distributions, against an exact reference in high-precision decimals."""

import decimal
import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privlp.game.duals import DenseDual
from privlp.rows.access import InMemory
from tests.effort import examples
from tests.rounds import Projection, project, weights_of

SETTINGS = settings(deadline=None, max_examples=examples(150))
EXACT = decimal.Context(prec=60, Emax=10**9, Emin=-(10**9))


def reference(log_weights, s):
    """(1/s) min(1, zeta w_i) by sorting, with weights of 60 digits and any exponent.

    Fewer than s positive: 1/s each.
    """
    zero, one, s = decimal.Decimal(0), decimal.Decimal(1), decimal.Decimal(s)
    weights = [EXACT.exp(decimal.Decimal(float(x))) if x > -math.inf else zero for x in log_weights]
    if sum(w > 0 for w in weights) < s or len(weights) <= s:
        return np.array([float(EXACT.divide(one * (w > 0), s)) for w in weights])
    ordered = sorted(weights, reverse=True)
    for capped in range(math.ceil(s)):
        zeta = EXACT.divide(s - capped, reduce(EXACT.add, ordered[capped:], zero))
        if EXACT.multiply(zeta, ordered[capped]) <= 1:
            break
    return np.array([float(EXACT.divide(min(one, EXACT.multiply(zeta, w)), s)) for w in weights])


def assert_same(actual, expected):
    """Equal but for the grid: levels are 2^-10 apart, and weights multiples of 2^-22 or less."""
    np.testing.assert_allclose(actual, expected, rtol=4e-3, atol=2.0**-20)


moderate = st.floats(-40, 40)
levels = st.sampled_from([-3.0, 0.0, 0.5, 2.0])
wide = st.floats(-2500, 2500)
with_zeros = st.one_of(st.just(-math.inf), moderate, levels)


def density(most):
    """Whole numbers and 64ths: nearer to a whole number the smallest entries are ill-conditioned."""
    parts = st.integers(64, 64 * most).map(lambda x: x / 64)
    return st.one_of(st.integers(1, most).map(float), parts)


@st.composite
def weights_and_density(draw, most=25):
    entries = draw(st.sampled_from([moderate, levels, wide, with_zeros, st.one_of(levels, wide)]))
    log_weights = draw(st.lists(entries, min_size=1, max_size=most))
    n = len(log_weights)
    return np.array(log_weights), draw(density(n + 2))


@SETTINGS
@given(weights_and_density())
def test_matches_the_exact_reference(case):
    log_weights, s = case
    assert_same(project(log_weights, s), reference(log_weights, s))


@SETTINGS
@given(weights_and_density())
def test_is_a_dense_measure_that_keeps_order_and_ties(case):
    log_weights, s = case
    z = project(log_weights, s)
    assert z.min() >= 0
    assert z.max() <= 1 / s
    if len(log_weights) > s and np.isfinite(log_weights).sum() >= s:
        assert z.sum() == pytest.approx(1, rel=1e-12)
    order = np.argsort(log_weights, kind="stable")
    assert (np.diff(z[order]) >= 0).all()
    ties = np.diff(np.nan_to_num(log_weights[order], neginf=-1e9)) == 0
    assert (np.diff(z[order])[ties] == 0).all()


@pytest.mark.parametrize(
    ("log_weights", "s", "expected"),
    [
        ([0, 0, 0, 0], 2, [1 / 4] * 4),
        ([0, 0, 0, 0], 2.5, [1 / 4] * 4),
        ([5.0], 1, [1.0]),
        ([math.log(4), 0, 0, 0], 2, [1 / 2, 1 / 6, 1 / 6, 1 / 6]),
        # a tie between the largest weight and its cap
        ([math.log(3), 0, 0, 0], 2, [1 / 2, 1 / 6, 1 / 6, 1 / 6]),
        ([7, 7, 7, 0, 0], 3, [1 / 3, 1 / 3, 1 / 3, 0, 0]),
        ([math.log(2), math.log(2), 0, 0], 2.5, [1 / 3, 1 / 3, 1 / 6, 1 / 6]),
        ([3, -1, 2], 3, [1 / 3] * 3),  # s = n
        ([3, -1, 2], 3.5, [1 / 3.5] * 3),  # s > n
        ([3, -1, -math.inf], 4, [1 / 4, 1 / 4, 0]),
        ([0.0, -2000.0, -math.inf, -math.inf], 2, [0.5, 0.5, 0, 0]),
        # the smaller weight takes what the larger one may not
        ([0.0, -50.0, -math.inf], 1.5, [1 / 1.5, 0.5 / 1.5, 0]),
    ],
)
def test_small_cases_by_hand(log_weights, s, expected):
    tolerance = math.exp(-7) if 7 in log_weights else 2.0**-11
    np.testing.assert_allclose(project(log_weights, s), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("s", [2.5, 3, 4])
def test_missing_mass_is_not_renormalised(s):
    """With two positive weights and s > 2, each gets 1/s and the rest belongs to a public value."""
    found = project([3.0, -math.inf, -math.inf, -900.0, -math.inf], s)
    assert found.tolist() == [1 / s, 0, 0, 1 / s, 0]
    assert project([-math.inf] * 4, s).tolist() == [0, 0, 0, 0]


@SETTINGS
@given(weights_and_density(), st.floats(-1e-9, 1e-9))
def test_s_close_to_a_whole_number(case, excess):
    log_weights, s = case
    s = max(1.0, round(s) + excess)
    assert_same(project(log_weights, s), reference(log_weights, s))


@pytest.mark.parametrize("gap", [700.0, 2400.0, 20_000.0])
def test_weights_hundreds_of_orders_of_magnitude_apart(gap):
    """The one huge weight is capped."""
    z = project([gap, 0.0, 0.0, -gap], 2)
    np.testing.assert_allclose(z, [0.5, 0.25, 0.25, 0], rtol=1e-12, atol=1e-9)


def test_the_multiplier_is_exact_at_every_gap_between_capped_and_uncapped_weights():
    """The capped mass must not swallow the digits of the sum of the small weights."""
    for gap in np.arange(2.0, 80.0, 2.0):
        log_weights = [0.0, -gap, -gap, -gap - 0.5]
        assert_same(project(log_weights, 2), reference(log_weights, 2))


@SETTINGS
@given(weights_and_density(most=12), st.floats(-500, 500))
def test_a_common_factor_of_all_weights_does_not_matter(case, shift):
    log_weights, s = case
    assert_same(project(log_weights + shift, s), project(log_weights, s))


@SETTINGS
@given(st.integers(2, 15), st.data())
def test_a_warm_start_changes_nothing(n, data):
    """The multiplier is carried from call to call."""
    s = data.draw(density(n))
    sizes = st.one_of(st.just(0.0), *(st.floats(-most, most) for most in (5, 60, 1200)))
    steps = st.lists(sizes, min_size=n, max_size=n)
    warm, log_weights = Projection(n, s), np.zeros(n)
    for step in data.draw(st.lists(steps, min_size=1, max_size=6)):
        log_weights += step
        assert_same(warm(log_weights), project(log_weights, s))


def test_a_warm_start_survives_weights_that_vanish():
    warm = Projection(4, 2.0)
    assert_same(warm(np.zeros(4)), np.full(4, 0.25))
    assert warm(np.array([0.0, -np.inf, -np.inf, -np.inf])).tolist() == [0.5, 0, 0, 0]
    back = np.array([0.0, -1.0, -1.0, -np.inf])
    assert_same(warm(back), reference(back, 2))


def test_many_random_rounds_of_a_large_program():
    """Multiplicative-weights updates of n = 2000 rows."""
    rng = np.random.default_rng(0)
    n, s = 2000, 37.5
    warm, log_weights = Projection(n, s), np.zeros(n)
    for _ in range(60):
        log_weights += rng.normal(0, 1, n) * rng.choice([0.1, 3.0])
        z = warm(log_weights)
        assert_same(z, project(log_weights, s))
        assert z.sum() == pytest.approx(1, rel=1e-12)
    assert_same(z, reference(log_weights, s))


class Echo:
    """Rows whose violations are the answer, and whose scores are their weights."""

    count = 5

    def scores(self, z):
        return z.copy()

    def add_violations(self, answer, step, out):
        out += step * np.array(answer)


def test_dual_starts_uniform_and_keeps_raw_weights():
    """Projected weights are never fed back: a row's log-weight depends on that row alone."""
    dual = DenseDual(InMemory(Echo()), 2.0, step=0.5)
    assert_same(dual.scores(), np.full(5, 0.2))
    dual.learn([60.0, 0.0, 0.0, 0.0, -2.0])
    for _ in range(3):
        assert_same(dual.scores(), reference([30.0, 0.0, 0.0, 0.0, -1.0], 2))
    assert_same(weights_of(dual), dual.scores())
    assert dual.rows.map(lambda rows: rows.raw.tolist()) == [[30.0, 0.0, 0.0, 0.0, -1.0]]


@pytest.mark.parametrize("huge", [1e12, 1.2e24, 1e300])
def test_a_huge_weight_leaves_the_others_their_mass(huge):
    others = np.array([253.0, 208.0, 155.0, 2.0, 1.0, 0.0, -3.0, -1e16, -3e17])
    weights = Projection(10, 3.0)(np.append(huge, others))
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights[:3] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("size", [1.9e3, 2e4, 1.3e5])
def test_projection_is_exact_for_log_weights_of_any_size(size):
    """Exactly s rows far ahead of the rest."""
    rng = np.random.default_rng(0)
    log_weights = np.r_[size + 40 + rng.random(5), size + rng.random(95)]
    weights = Projection(100, 5.0)(log_weights)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert weights[:5] == pytest.approx(0.2, rel=1e-12)
