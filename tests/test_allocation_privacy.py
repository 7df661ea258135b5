"""The privacy of allocation by prices: the theorem in numbers, audits, and broken twins."""

import json
import math
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from privlp import Allocation, PersonPrivate, allocate, audit
from privlp.allocation import allocate as stages
from privlp.allocation import people as people_module
from privlp.allocation.demand import People
from privlp.audits.tape import Tape, changes, differences
from privlp.privacy import LaplaceObjectivePerturbation

pytestmark = pytest.mark.statistical


class Density:
    """The law of y = strength centre - xi + demand(P(y)); P(y) = max(0, (y - supplies)/strength)."""

    def __init__(self, term, strength, softness, d, rng):
        self.term, self.strength, self.h, self.d = term, strength, softness, d
        self.centre, self.supplies = rng.uniform(0, 1, d), rng.uniform(0, 2, d)
        self.uses = np.eye(d)

    def person(self, kind, rng, near):
        """One who is undecided at certain prices, wants one supply, or wants nothing."""
        surplus = rng.normal(0, self.h / 2, self.d)
        if kind != "undecided":
            surplus = np.full(self.d, -20 * self.h)
            surplus[{"first": [0], "last": [-1], "nothing": []}[kind]] = 20 * self.h
        return People((self.uses @ near + surplus)[None], self.uses, np.ones(1))

    def log(self, people, y):
        """The logarithm of the density at some points, (points,)."""
        found = []
        for at in y:
            free = at - self.supplies
            p = np.maximum(0.0, free / self.strength)
            xi = self.strength * self.centre - at + people.demand(p, self.h)
            Q = np.diag((free > 0) / self.strength)
            jacobian = np.eye(self.d) + people.hessian(p, self.h) @ Q
            found.append(-np.abs(xi).sum() / self.term.scale + np.linalg.slogdet(jacobian)[1])
        return np.array(found)


def worst_loss(d, kind, *, weaker=1.0, noise=1.0):
    """Largest privacy loss of random neighbours over what is charged; at most 1 is allowed."""
    moved = {"replace": 2.0, "add-remove": 1.0}[kind]
    term = LaplaceObjectivePerturbation(moved, moved / 0.4, 0.6)
    softness, found = 0.05, 0.0
    strength = 1 / (d * softness * math.expm1(term.curvature_cost / d)) / weaker
    for seed in range(12):
        rng = np.random.default_rng(seed)
        law = Density(replace(term, scale=noise * term.scale), strength, softness, d, rng)
        near = rng.uniform(0, 1, d)
        common = law.person("first", rng, near)
        kinds = ("undecided", "first", "nothing")[seed % 3], ("nothing", "last")[seed % 2]
        sides = [law.person(wish, rng, near) for wish in kinds]
        if kind == "add-remove":
            sides[1] = replace(sides[1], limits=np.zeros(1))
        pairs = [[(each.values, each.limits) for each in (common, side)] for side in sides]
        joined = [map(np.concatenate, zip(*pair, strict=True)) for pair in pairs]
        both = [People(values, law.uses, limits) for values, limits in joined]
        prices = near + rng.normal(0, 2 * softness, (200, d))
        y = law.supplies + strength * prices
        loss = np.abs(law.log(both[0], y) - law.log(both[1], y)).max()
        found = max(found, loss / term.pure_eps)
    return found


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kind", ["replace", "add-remove"])
def test_theorem(kind, d):
    assert 0.25 < worst_loss(d, kind) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("d", "kind", "fault"),
    [
        (1, "replace", {"weaker": 50.0}),
        (1, "add-remove", {"weaker": 50.0}),
        (2, "replace", {"noise": 0.2}),
    ],
)
def test_a_curvature_that_is_not_paid_and_too_little_noise_are_seen(d, kind, fault):
    assert worst_loss(d, kind, **fault) > 1.5


def allocation(values, relation, supply):
    options = {"neighbours": relation or PersonPrivate()}
    return Allocation(values, [supply, supply], largest_value=1.0, **options)


def neighbours(relation=None, supply=6.0):
    """The first person wants only the first slot, or only the second; or she leaves."""
    others = np.random.default_rng(2).uniform(size=(12, 2))
    one = np.vstack([[1.0, -1.0], others])
    two = others if relation else np.vstack([[-1.0, 1.0], others])
    return allocation(one, relation, supply), allocation(two, relation, supply)


def taped(pair, eps=1.0, seed=1, **options):
    one = Tape(seed=seed)
    first = allocate(pair[0], eps, rng=one, **options)
    two = Tape(replay=one)
    return first, allocate(pair[1], eps, rng=two, **options), one, two


@pytest.mark.parametrize("feasible", [0.5, None])
@pytest.mark.parametrize("relation", [None, PersonPrivate("add-remove", nominal_n=13)])
def test_neighbours_that_see_the_same_releases(relation, feasible):
    """All sensitivities hold, nearly attained by the prices; all that is published is equal."""
    first, second, one, two = taped(neighbours(relation), feasible=feasible)
    assert not differences(one, two)
    shares = {a.purpose: share for a, _, share in changes(one, two)}
    assert max(shares.values()) <= 1
    assert shares["prices"] > 0.5
    assert json.loads(first.to_json()) == json.loads(second.to_json())


def of_any_size(values, uses, limits, closed, units):
    return People(values / units[0], 3 * uses / units[1], limits / units[2])


@pytest.mark.parametrize(
    "twin",
    [(people_module, "people_of", of_any_size), (PersonPrivate, "most_changed", 1.0)],
    ids=["uses as they are", "noise as if nobody were replaced"],
)
def test_broken_twins_are_seen(twin):
    """No randomness."""
    with mock.patch.object(*twin):
        _, _, one, two = taped(neighbours(supply=60.0), feasible=None)
    assert max(share for _, _, share in changes(one, two)) > 1.1


def by_exact_demand(prices, centre, sizes, plan):
    """The broken twin: what is served is checked against the demand without noise."""
    demand = by_exact_demand.people.demand(prices, plan._stages[-1].softness)
    return np.minimum(1.0, sizes.supplies / np.maximum(demand, 1e-9))


def test_a_check_of_demand_without_noise_is_seen():
    """Released values are equal, what is published differs. No randomness."""
    original = stages.private_prices

    def remembered(people, *rest):
        by_exact_demand.people = people
        return original(people, *rest)

    home = "privlp.allocation.allocate"
    with mock.patch.multiple(home, private_prices=remembered, taken_off=by_exact_demand):
        several = [taped(neighbours(), 20.0, seed, feasible=None)[:2] for seed in range(4)]
    assert all((first.prices == second.prices).all() for first, second in several)
    assert any((first.served != second.served).any() for first, second in several)


def rise(data, generator):
    """The last price, from the first one that was released."""
    with pytest.warns(match="Too little supply"):
        trace = allocate(data, 0.5, feasible=None, rng=generator).trace["prices"]
    return trace[-1] - trace[0]


def pair_alone():
    """Of two people one wants the supply, or does not."""
    return tuple(Allocation([[1.0], [v]], [0.6], largest_value=1.0) for v in (1.0, -1.0))


@pytest.mark.slow  # what moves between neighbours is compared above
def test_whole_runs_pass():
    """False-alarm rate 0.001."""
    assert audit(rise, *pair_alone(), 0.5, 0.0, runs=100, rng=1).passed


def test_a_last_stage_without_noise_is_caught():
    """The broken twin draws no secret term."""
    silent = mock.patch.object(LaplaceObjectivePerturbation, "release", lambda _, value, __: value)
    with silent:
        assert not audit(rise, *pair_alone(), 0.5, 0.0, runs=100, rng=1).passed


def test_a_minimum_that_is_not_covered_is_seen():
    """The cover is charged at the distance that two computed minima may have: the twin forgets it."""
    program = stages.PriceProgram
    pair = neighbours()
    _, _, one, _ = taped(pair)
    covers = [release for release in one.releases if "cover" in release.purpose]
    assert covers
    for release in covers:
        assert release.mechanism.sensitivity == pytest.approx(2 * math.sqrt(2))
    stage = pair[0].plan(1.0)._stages[-1]
    people, sizes = pair[0].people(), pair[0].sizes()
    plan = program(people, sizes.supplies, np.ones(2), stage.strength, stage.softness, 1e4)
    found = plan.minimise(stage.tolerance / 2), plan._accelerated(np.ones(2), stage.tolerance / 2)
    assert np.linalg.norm(found[0] - found[1]) <= stage.tolerance


def with_a_value(value, uses=None):
    """Three hundred people; what one of them would not take at any price is worth this to her."""
    wishes = np.random.default_rng(3).uniform(size=(300, 2))
    wishes[7] = value
    options = {} if uses is None else {"uses": uses, "largest_use": 1.0}
    return Allocation(wishes, [75, 75], largest_value=1.0, **options)


@pytest.mark.parametrize("value", [-1e5, -1.7e308, -np.inf])
@pytest.mark.parametrize("own", [False, True])
def test_no_warning_tells_of_a_value_that_overflows(value, own):
    uses = np.tile(np.eye(2), (300, 1, 1)) if own else None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = allocate(with_a_value(value, uses), 1.0, rng=0).shares_of(with_a_value(value, uses))
    assert not told
    assert (found[7] == 0).all()


def test_no_error_tells_of_a_value_that_underflows():
    """A user who makes NumPy strict does not make her charged calls fail where data say so."""
    with np.errstate(all="raise"):
        found = allocate(with_a_value(-1e5), 1.0, rng=0)
    assert np.isfinite(found.prices).all()


@pytest.mark.parametrize("feasible", [1e-5, 0.5, 0.95, 1 - 1e-7, 1 - 1e-12])
def test_the_reserve_leaves_room_for_the_cover_to_fail(feasible):
    """The secret term and the cover together fail with no more than the probability left."""
    supplies = [50.0, 60.0, 70.0]
    allocation = Allocation(np.ones((200, 3)), supplies=supplies, largest_value=1.0)
    stage = allocation.plan(eps=1.0, feasible=feasible)._stages[-1]
    d, fails = len(supplies), min(1e-6, (1 - feasible) / 2)
    moved = stage.tolerance * (1 + stage.cover.scale * math.log(d / fails))
    for_the_term = stage.reserve - (200 / (2 * stage.softness) + stage.strength) * moved
    by_the_term = d * 0.5 * math.exp(-max(for_the_term, 0.0) / stage.term.scale)
    each = min(by_the_term / d, 0.5)
    assert -math.expm1(d * math.log1p(-each)) + fails <= (1 - feasible) * (1 + 1e-6)
