"""Disjoint parts of the records cost what the dearest costs."""

import math
from itertools import product
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privlp import Budget, BudgetExceededError, ConstraintPrivate, privacy
from privlp.privacy.charges import Call, largest_sum
from privlp.privacy.gaussian_dp import delta_of
from privlp.privacy.prices import composed_epsilon
from tests.effort import examples

REPLACE = ConstraintPrivate()
SETTINGS = settings(deadline=None, max_examples=examples(40))


def charge(ledger, mechanism, count=1, purpose="test"):
    return ledger.charge(mechanism, count, purpose, REPLACE, privacy.Randomness(0))


def planned(eps, delta):
    """Of fixed requests, so that prices are the least known."""
    return Budget(eps, delta, composition="planned")


def laplace(eps):
    return privacy.LaplaceMechanism(1.0, 1.0 / eps)


def gaussian(sigma):
    return privacy.GaussianMechanism(1.0, sigma)


def spent_on(mechanisms, delta):
    """One ledger that pays for all."""
    ledger = privacy.Ledger(1e6, delta)
    for mechanism in mechanisms:
        charge(ledger, mechanism)
    return ledger.spent()


@given(
    st.lists(st.lists(st.floats(0.01, 2.0), max_size=3), min_size=1, max_size=5),
    st.lists(st.floats(0.01, 2.0), max_size=2),
)
@SETTINGS
def test_pure_parts_cost_what_the_dearest_costs(parts, common):
    budget = planned(1e6, 0.0)
    for ledger, epsilons in zip(budget.disjoint(len(parts)), parts, strict=True):
        for eps in epsilons:
            charge(ledger, laplace(eps))
        assert ledger.spent() == pytest.approx(sum(epsilons))
    for eps in common:
        charge(budget, laplace(eps))
    assert budget.spent() == pytest.approx(sum(common) + max(sum(epsilons) for epsilons in parts))


MECHANISMS = st.one_of(
    st.floats(0.01, 3.0).map(laplace),
    st.floats(0.01, 3.0).map(lambda eps: privacy.ExponentialMechanism(1.0, eps)),
    st.floats(0.5, 20.0).map(gaussian),
    st.floats(0.5, 20.0).map(lambda sigma: privacy.GaussianObjectivePerturbation(1.0, sigma, 0.1)),
)


@given(st.lists(st.tuples(st.integers(0, 1), MECHANISMS), min_size=1, max_size=4))
@settings(deadline=None, max_examples=examples(15))
def test_parts_cost_no_less_than_the_dearest_and_no_more_than_all(charges):
    """Any mechanisms at delta > 0, among them such with a slack."""
    delta = 1e-6
    budget = planned(1e6, delta)
    parts = budget.disjoint(2)
    for part, mechanism in charges:
        charge(parts[part], mechanism)
    dearest = max(spent_on([m for p, m in charges if p == part], delta) for part in (0, 1))
    assert budget.spent() == pytest.approx(dearest)
    assert budget.spent() <= spent_on([m for _, m in charges], delta) * (1 + 1e-12)
    assert budget.spent() >= max(part.spent() for part in parts) * (1 - 1e-12)


def test_dearest_place_is_not_the_dearest_part_of_each_partition_alone():
    """With Rényi composition the costs of a place are composed, not added."""
    budget = planned(100.0, 1e-6)
    for _ in range(2):
        parts = budget.disjoint(2)
        charge(parts[0], gaussian(3.0))
        charge(parts[1], gaussian(2.0))
    assert budget.spent() == pytest.approx(spent_on([gaussian(2.0)] * 2, 1e-6))
    assert budget.spent() < 2 * spent_on([gaussian(2.0)], 1e-6)


def test_nested_parts():
    """Part 0 is divided further; the records of part 1 see none of what was paid for its parts."""
    budget = planned(10.0, 0.0)
    left, right = budget.disjoint(2)
    charge(left, laplace(0.1))
    inner = left.disjoint(3)
    for ledger, eps in zip(inner, (0.2, 0.3, 0.4), strict=True):
        charge(ledger, laplace(eps))
    assert left.spent() == pytest.approx(0.5)
    charge(right, laplace(0.45))
    assert budget.spent() == pytest.approx(0.5)
    charge(right, laplace(0.1))
    assert budget.spent() == pytest.approx(0.55)
    charge(budget, laplace(1.0))
    assert budget.spent() == pytest.approx(1.55)
    assert left.spent() == pytest.approx(0.5)


def test_a_refusal_leaves_every_ledger_as_it_was():
    budget = planned(1.0, 0.0)
    left, right = budget.disjoint(2)
    inner = left.disjoint(2)
    charge(budget, laplace(0.3), purpose="common")
    charge(inner[0], laplace(0.6), purpose="inner")
    ledgers = [budget, left, right, *inner]
    before = [ledger.record() for ledger in ledgers]
    for ledger in (budget, left, inner[0]):
        with pytest.raises(BudgetExceededError, match="Nothing was drawn and nothing was charged"):
            charge(ledger, laplace(0.2))
    assert [ledger.record() for ledger in ledgers] == before
    charge(inner[1], laplace(0.7))
    charge(right, laplace(0.7))
    assert budget.spent() == pytest.approx(1.0)


def test_every_charge_is_listed_with_its_part():
    budget = planned(10.0, 0.0)
    parts = budget.disjoint(2)
    charge(budget, laplace(0.1), purpose="common")
    charge(parts[1], laplace(0.2), count=3, purpose="second")
    charge(parts[0], laplace(0.3), purpose="first")
    assert [(entry.purpose, entry.draws) for entry in budget.entries] == [
        ("common", 1),
        ("second, part 2 of the records", 3),
        ("first, part 1 of the records", 1),
    ]
    assert [entry.purpose for entry in parts[1].entries] == ["second"]
    assert "second, part 2 of the records" in str(budget.statement())


def test_calibration_inside_a_part():
    budget = planned(2.0, 1e-6)
    parts = budget.disjoint(2)
    for part in parts:
        mechanism = part.calibrate(lambda intensity: gaussian(1 / intensity), 3)
        charge(part, mechanism, count=3)
    assert budget.spent() <= 2.0
    assert budget.spent() == pytest.approx(2.0, rel=1e-6)


def objective(sigma, cost=0.0, *, one_sided=False):
    return privacy.GaussianObjectivePerturbation(1.0, sigma, cost, one_sided)


def corners_at(eps, sigma, one_sided, extra=0.0):
    """Sum of the Gaussian curves of all corners. Together with Gaussian noise of squared parameter `extra`."""
    mu = 1.0 / sigma
    numbers = [(1, mu), (2, mu / 2), (1, 0.0)] if one_sided else [(4, mu), (1, 0.0)]
    return sum(k * delta_of(eps, math.hypot(each, math.sqrt(extra))) for k, each in numbers)


@pytest.mark.parametrize("one_sided", [False, True])
@pytest.mark.parametrize("sigma", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("beside", [None, 5.0])
def test_one_draw_costs_the_curves_of_its_corners(one_sided, sigma, beside):
    delta, extra = 1e-6, 0.0
    ledger = privacy.Ledger(1e6, delta)
    charge(ledger, objective(sigma, 0.25, one_sided=one_sided))
    if beside is not None:
        charge(ledger, gaussian(beside))
        extra = beside**-2
    eps = ledger.spent() - 0.25
    assert corners_at(eps, sigma, one_sided, extra) * (1 - 1e-9) <= delta
    assert delta < corners_at(eps * (1 - 1e-6), sigma, one_sided, extra)


@pytest.mark.parametrize("apart", [False, True])
def test_draws_with_corners_compose_by_all_pairs_of_corners(apart):
    """One charge of two draws, or two charges."""
    ledger, delta = privacy.Ledger(100.0, 1e-5), 1e-5
    for _ in range(2 if apart else 1):
        charge(ledger, objective(3.0), count=1 if apart else 2)
    eps, mu = ledger.spent(), 1 / 3.0
    # Both draws at one of four corners each, one at a corner and the other at 0, twice.
    found = 16 * delta_of(eps, mu * math.sqrt(2)) + 8 * delta_of(eps, mu)
    assert found == pytest.approx(delta, rel=1e-6)


def test_curvature_is_paid_as_pure_eps():
    ledger, without = privacy.Ledger(100.0, 1e-5), privacy.Ledger(100.0, 1e-5)
    charge(ledger, objective(3.0, 0.25), count=2)
    charge(without, objective(3.0), count=2)
    assert ledger.spent() == pytest.approx(without.spent() + 0.5)
    pure = privacy.Ledger(10.0, 0.0)
    charge(pure, privacy.ObjectivePerturbation(1.0, 2.0, 0.25))
    assert pure.spent() == pytest.approx(0.75)


def test_gaussian_objective_perturbation_has_no_pure_price():
    assert math.isinf(objective(2.0).pure_eps)
    with pytest.raises(BudgetExceededError, match="eps = inf at delta = 0"):
        charge(privacy.Ledger(100.0, 0.0), objective(1e6))
    with pytest.raises(BudgetExceededError):
        charge(privacy.Ledger(1e9, 0.5), objective(0.0))


def counted(monkeypatch):
    """How many costs were composed, each time that a budget composed some."""
    asked = []

    def counting(costs, delta):
        costs = list(costs)
        asked.append(len(costs))
        return composed_epsilon(costs, delta)

    monkeypatch.setattr("privlp.privacy.budget_rule.composed_epsilon", counting)
    return asked


def test_partitions_alike_do_not_multiply(monkeypatch):
    """Three times four parts that cost the same need few compositions, not 64."""
    asked = counted(monkeypatch)
    budget = planned(100.0, 1e-6)
    for _ in range(3):
        for part in budget.disjoint(4):
            charge(part, gaussian(3.0))
    asked.clear()
    budget.spent()
    assert len(asked) <= 12


def test_a_share_of_a_planned_budget_counts_with_its_limits():
    """What is asked for within it may follow answers, so that its draws are no part of the list."""
    budget = planned(1.0, 1e-6)
    share = budget.share(0.6, 5e-7)
    charge(share.ledger(0.1, 0.0), laplace(0.1))
    assert budget.spent() == pytest.approx(0.6)
    alone = privacy.Ledger(10.0, 5e-7)
    charge(alone, gaussian(20.0))
    charge(budget, gaussian(20.0))
    assert budget.spent() == pytest.approx(0.6 + alone.spent())


def test_a_basic_budget_says_what_its_calls_add_up_to():
    budget = Budget(1.0, 1e-6, composition="basic")
    for _ in range(3):
        ledger = budget.ledger(0.2, 1e-7)
        charge(ledger, ledger.calibrate(lambda t: gaussian(1 / t), 1))
    assert budget.spent() == pytest.approx(0.6, rel=1e-6)


def test_a_series_of_calls_is_refused_before_the_first():
    budget = Budget(0.5, 1e-6)
    message = r"Calls of \(1, 1e-06\) in all do not .* \(0.5, 1e-06\): its calls add up to \(0, 0\)"
    with pytest.raises(BudgetExceededError, match=message):
        budget.require_room_for(1.0, 1e-6)
    charge(budget, laplace(0.2))
    budget.require_room_for(0.3, 1e-6)
    with pytest.raises(BudgetExceededError, match="its calls add up to"):
        budget.share(0.25, 0.0).require_room_for(0.31, 0.0)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0.0, 1.0)), max_size=8),
    st.lists(st.floats(0.0, 1.0), max_size=3),
)
@SETTINGS
def test_the_largest_sum_is_that_of_the_dearest_place(calls, common):
    """Two partitions: against all nine places."""
    given_calls = [Call(str(i), eps, 0.0, (), {}, {}) for i, eps in enumerate(common)]
    given_calls += [
        Call(f"p{i}", eps, 0.0, (), {}, {}, parts=((("a", "b")[i % 2], (one, two)[i % 2]),))
        for i, (one, two, eps) in enumerate(calls)
    ]
    places = [
        sum(c.eps for c in given_calls if not c.parts or c.parts[0] in (("a", one), ("b", two)))
        for one, two in product(range(3), repeat=2)
    ]
    assert largest_sum(given_calls, attrgetter("eps")) == pytest.approx(max(places))


def test_many_partitions_do_not_multiply():
    """Twenty selections of three parts each: 3^20 places, summed in proportion to the calls."""
    budget = Budget(100.0, 1e-6)
    for number in range(20):
        for part, ledger in enumerate(budget.disjoint(3)):
            charge(ledger, gaussian(50.0 + number + part / 7))
    assert 0 < budget.spent() < 100.0
    mu = math.sqrt(sum((50.0 + number) ** -2 for number in range(20)))
    assert budget.sums().mu == pytest.approx(mu)


@pytest.mark.parametrize("shares", [2, 6])
def test_shares_with_partitions_count_with_their_limits_however_many_there_are(shares):
    """Six shares of three parts each make 729 places."""
    budget = planned(10.0, 1e-5)
    for _ in range(shares):
        share = budget.share(0.5, 1e-6, composition="basic")
        for number, part in enumerate(share.disjoint(3)):
            charge(part.ledger(0.1, 0.0), laplace(0.02 * (number + 1)))
    assert budget.spent() == pytest.approx(0.5 * shares)
    charge(budget.ledger(0.3, 0.0), laplace(0.3))
    assert budget.spent() == pytest.approx(0.5 * shares + 0.3, rel=1e-4)
