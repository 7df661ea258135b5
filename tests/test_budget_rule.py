"""The rule of a budget that is used adaptively."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from privlp import Budget, BudgetExceededError, ConstraintPrivate
from privlp.privacy import GaussianMechanism, LaplaceMechanism, Randomness
from privlp.privacy.gaussian_dp import eps_of, mu_of
from tests.effort import examples

RELATION = ConstraintPrivate()


def charge(budget, mechanism, eps, delta):
    budget.ledger(eps, delta).charge(mechanism, 1, "test", RELATION, Randomness(0))


def gaussian(mu):
    return GaussianMechanism(1.0, 1.0 / mu)


def laplace(eps):
    return LaplaceMechanism.of_eps(1.0, eps)


def fits(make, spent):
    """Whether a further request fits a fresh budget beside those made before."""
    budget = Budget(1.0, 1e-4)
    for mechanism, eps, delta in spent:
        charge(budget, mechanism, eps, delta)
    try:
        charge(budget, *make)
    except BudgetExceededError:
        return False
    return True


def largest(make, spent, high):
    """The largest parameter of a family that still fits."""
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(make(middle), spent) else (low, middle)
    return low


def delta_of_choice(eps, first, pure, second):
    """Delta at eps of Gaussian noise (mu = first), then the worse of eps-DP with `pure` and Gaussian noise with mu = `second`.

    By quadrature over the privacy loss of the first release, in view of which the adversary
    decides.
    """
    z = np.linspace(-12, 14, 400_001)
    weights = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    left = eps - (first**2 / 2 + first * z)  # what is left of eps
    by_pure = np.maximum(0.0, -np.expm1(np.minimum(left - pure, 0.0)))
    a, b = -left / second + second / 2, -left / second - second / 2
    by_gaussian = ndtr(a) - np.exp(np.minimum(left + log_ndtr(b), 0.0))
    return float(weights @ np.maximum(by_pure, by_gaussian))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
def test_deciding_in_view_of_the_first_answer_gains_nothing(share):
    """The rest goes to pure or to Gaussian noise, whichever does more harm after the first answer."""
    eps, delta = 1.0, 1e-4
    first = share * mu_of(eps, delta / 10)
    price = eps_of(first, 0.9 * delta / 2)
    spent = [(gaussian(first), price * (1 + 1e-9), delta / 2)]
    pure = largest(lambda t: (laplace(max(t, 1e-9)), 2.0, 0.0), spent, 1.0)
    second = largest(lambda t: (gaussian(max(t, 1e-9)), 2.0, delta / 2), spent, 1.0)
    assert pure > 0.9 * (eps - price)
    assert second > 0.9 * math.sqrt(mu_of(eps, delta / 10) ** 2 - first**2)
    assert delta_of_choice(eps, first, pure, second) <= delta


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_the_least_of_several_bounds_is_no_rule_for_adaptive_requests(share):
    """The broken twin: all of delta for each bound. The same adversary passes the limit."""
    eps, delta = 1.0, 1e-4
    whole = mu_of(eps, delta)
    first = share * whole
    pure, second = eps - eps_of(first, delta), math.sqrt(whole**2 - first**2)
    assert delta_of_choice(eps, first, pure, second) > 1.05 * delta


def test_a_mixture_that_only_a_plan_could_pay_for():
    """Accepted once by the least of several bounds, for which no theorem covers requests made in view of answers."""
    calls = [(gaussian(0.12), 0.6, 1e-6), (gaussian(0.12), 0.6, 1e-6), (laplace(0.2), 0.2, 0.0)]
    planned, adaptive = Budget(1.0, 1e-6, composition="planned"), Budget(1.0, 1e-6)
    for call in calls:
        charge(planned, *call)
    assert planned.spent() <= 1.0
    for call in calls[:2]:
        charge(adaptive, *call)
    with pytest.raises(BudgetExceededError, match="would fit only if all requests had been planne"):
        charge(adaptive, *calls[2])


REQUESTS = st.tuples(st.booleans(), st.floats(0.01, 0.5), st.floats(-8.0, -4.5))


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(REQUESTS, min_size=1, max_size=12))
def test_whatever_is_asked_one_of_two_sums_stays_within_its_limit(requests):
    """Computed anew from the requests that were granted."""
    eps, delta = 1.0, 1e-5
    budget, calls, squares = Budget(eps, delta), [], 0.0
    for pure, asked, log_delta in requests:
        its_delta = 0.0 if pure else 10.0**log_delta
        ledger = budget.ledger(asked, its_delta)
        make = laplace if pure else gaussian
        mechanism = ledger.calibrate(make, 1)
        try:
            ledger.charge(mechanism, 1, "test", RELATION, Randomness(0))
        except BudgetExceededError:
            continue
        calls.append((asked, its_delta))
        squares += mechanism.price.mu**2
    sums = np.sum(calls, axis=0) if calls else np.zeros(2)
    by_calls = (sums <= np.array([eps, delta]) * (1 + 1e-9)).all()
    assert by_calls or squares <= mu_of(eps, delta / 10) ** 2


@pytest.mark.parametrize("composition", ["adaptive", "planned", "basic"])
def test_room_for_calls_to_come_is_what_the_limit_leaves(composition):
    budget = Budget(1.0, 1e-6, composition=composition)
    budget.require_room_for(0.9, 0.0)
    with pytest.raises(BudgetExceededError):
        budget.require_room_for(1.1, 0.0)


@pytest.mark.parametrize("composition", ["adaptive", "planned", "basic"])
def test_a_call_by_itself_keeps_its_own_eps_and_delta(composition):
    ledger = Budget(1.0, 1e-6, composition=composition).ledger(0.5, 1e-7)
    mechanism = ledger.calibrate(gaussian, 1)
    assert 0.45 < eps_of(mechanism.price.mu, 1e-7) <= 0.5


def test_calls_that_delta_alone_pays_for_are_not_free_together():
    """Planned: eps may be added up call by call only while delta holds all of theirs."""
    budget = Budget(1.0, 1e-6, composition="planned")
    for _ in range(20):
        charge(budget, gaussian(2e-6), 1e-3, 0.9e-6)
    assert budget.spent() >= eps_of(math.sqrt(20) * 2e-6, 1e-6) > 0
