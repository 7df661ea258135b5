"""Sharing supplies by private prices: what it reaches, promises, refuses and says."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from benchmarks.allocation import FAMILIES
from privlp import Allocation, Budget, PersonPrivate, Verdict, allocate
from privlp.allocation.allocate import PriceProgram
from privlp.allocation.demand import People, rounding
from tests.effort import examples

INF = math.inf


def wishes(n=1000, k=4, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, k))


def rooms(n=1000, k=4, supply=None, **options):
    supplies = [supply or n / k] * k
    return Allocation(wishes(n, k), supplies, largest_value=1.0, **options)


def welfare(allocation, result):
    best = privlp.solve_exact(allocation.program()).objective
    return allocation.worth(result.shares_of(allocation)) / best


def test_known_prices():
    """Two units, three people: the price lies between the second and the third value."""
    allocation = Allocation([[5.0], [3.0], [1.0]], [2.0], largest_value=5.0)
    result = allocate(allocation, INF, rng=0)
    assert 1.0 <= result.prices[0] <= 3.0
    assert result.shares_of(allocation).round(6).tolist() == [[1], [1], [0]]
    assert not result.privacy.private
    assert "NOT PRIVATE" in result.statement()


@pytest.mark.parametrize("kind", ["slots", "bundles", "own uses", "limits"])
def test_without_noise_prices_are_the_duals_and_shares_the_optimum(kind):
    rng, n, k = np.random.default_rng(3), 120, 4
    options = {
        "slots": {},
        "bundles": {"uses": np.eye(k) + np.roll(np.eye(k), 1, axis=1)},
        "own uses": {"uses": rng.uniform(0, 1, (n, k, k)), "largest_use": float(k)},
        "limits": {"limits": rng.uniform(0, 2, n), "largest_limit": 2.0},
    }[kind]
    allocation = Allocation(wishes(n, k, 1), [n / k / 3] * k, largest_value=1.0, **options)
    result = allocate(allocation, INF, rng=0)
    exact = privlp.solve_exact(allocation.program())
    assert welfare(allocation, result) == pytest.approx(1, abs=2e-3)
    duals = np.abs(exact.dual[-k:])
    if kind == "bundles":  # what a bundle costs is determined; the price of a slot is not
        assert allocation.uses @ result.prices == pytest.approx(allocation.uses @ duals, abs=0.02)
    else:
        assert result.prices == pytest.approx(duals, abs=0.02)
    assert (allocation.used(result.shares_of(allocation)) <= n / k / 3 * (1 + 1e-3)).all()


@pytest.mark.parametrize(("n", "eps", "least"), [(1000, 1.0, 0.8), (1000, 4.0, 0.93)])
def test_welfare_and_supplies(n, eps, least):
    """Ten slots for n people; all supplies hold in each of three runs (a chance of 0.86 at least)."""
    allocation = Allocation(wishes(n, 10), [n / 10] * 10, largest_value=1.0)
    best = privlp.solve_exact(allocation.program()).objective
    for seed in range(3):
        result = allocate(allocation, eps, rng=seed)
        shares = result.shares_of(allocation)
        assert allocation.worth(shares) > least * best
        assert (allocation.used(shares) <= allocation.supplies).all()
        assert result.privacy.eps <= eps
        assert result.privacy.delta <= 3 * 2.0**-92  # a chance for each stage


def test_supplies_hold_as_often_as_is_promised():
    """60 runs at 0.8: fewer than 37 hold with a chance below 0.001. Supplies that are scarce."""
    allocation = rooms(200, 3, supply=30)
    held = 0
    for seed in range(60):
        shares = allocate(allocation, 2.0, feasible=0.8, rng=seed).shares_of(allocation)
        held += bool((allocation.used(shares) <= allocation.supplies).all())
    assert held >= 37


@pytest.mark.parametrize("eps", [60.0, 1e4])
def test_a_large_eps_does_no_harm(eps):
    """One supply: all of the curvature's share of eps made the quadratic too weak to compute with."""
    allocation = Allocation(wishes(1000, 1), [100.0], largest_value=1.0)
    best = privlp.solve_exact(allocation.program()).objective
    assert allocation.plan(eps).reserve < allocation.plan(30.0).reserve
    shares = allocate(allocation, eps, rng=0).shares_of(allocation)
    assert allocation.worth(shares) > 0.95 * best


def test_scarce_supplies_are_closed_and_said_to_be():
    allocation = Allocation(wishes(300, 2), [1.0, 100.0], largest_value=1.0)
    plan = allocation.plan(1.0)
    assert plan.closed == (0,)
    assert "1 of 2 supplies are not above the reserve: unused." in str(plan.advice)
    shares = allocate(allocation, 1.0, rng=0).shares_of(allocation)
    assert not shares[:, 0].any()
    assert shares[:, 1].sum() > 50


def test_too_little_supply_warns_and_says_what_would_be_enough():
    with pytest.warns(privlp.MostlyNoiseWarning, match="Too little supply for this eps: a reserve"):
        result = allocate(rooms(40), 0.1, rng=0)
    assert result.verdict is Verdict.TOO_LITTLE_SUPPLY
    enough = float(result.advice.split("supplies of ")[-1].split()[0])
    assert rooms(supply=enough * 1.01).plan(0.1).verdict is Verdict.ENOUGH_SUPPLY


PAGE = Path(__file__).parents[1] / "docs" / "results" / "allocation.md"


def measured_rows():
    """Family, people, eps, and the losses measured with and without a reserve, of the page."""
    family, names = "", []
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            family = line[3:].split(":")[0]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "welfare, no reserve" in cells:
            names = cells
        elif family in FAMILIES and len(cells) == len(names) and cells[0][0].isdigit():
            row = dict(zip(names, cells, strict=True))
            lost = [1 - float(row[w][:-1]) / 100 for w in ("welfare", "welfare, no reserve")]
            yield family, int(row["n"].replace(",", "")), float(row["ε"]), *lost


def test_plans_say_no_less_is_lost_than_was_measured():
    """Nor much more: 1.65 times at most, where it is more than a tenth and people are many."""
    rows, made = list(measured_rows()), {}
    assert len(rows) == 90
    for family, n, eps, lost, bare in rows:
        if (family, n) not in made:
            made[family, n] = FAMILIES[family][0](n, np.random.default_rng(0))
        with_reserve, without = (made[family, n].plan(eps, feasible=p) for p in (0.95, None))
        kind = "lost_if_crowded" if family == "popular" else "lost_if_spread"
        assert getattr(without, kind) >= bare, (family, n, eps)
        assert getattr(with_reserve, kind) >= lost, (family, n, eps)
        if lost > 0.1 and n * eps >= 200:
            assert getattr(with_reserve, kind) <= 1.65 * lost, (family, n, eps)


@pytest.mark.parametrize(
    ("people", "places", "words"),
    [
        (1000, 100, "supplies of 105 each would do, or an eps of about 1.8, where wishes spread;"),
        (1000, 110, "these supplies do where wishes spread; where they crowd, supplies of 176 ea"),
        (3000, 150, "a tenth, supplies of 201 each would do, or an eps of about 1.4."),
        (150, 100, "a tenth, supplies of 176 each would do, or an eps of about 1.8."),
    ],
)
def test_what_would_be_enough_depends_on_the_number_of_people(people, places, words):
    """Of 1,000 people, 105 places each were measured to reach 92 %."""
    assert words in rooms(people, 10, supply=places).plan(1.0).advice


def test_a_reserve_that_nobody_can_use_costs_nothing():
    """220 people cannot use up 250 places less a reserve of 14; 245 people may."""
    few, many = (rooms(n, 10, supply=250).plan(1.0) for n in (220, 245))
    assert few.verdict is Verdict.ENOUGH_SUPPLY
    assert few.lost_if_crowded == pytest.approx(4 * few.softness)
    assert few.share == pytest.approx(many.share, rel=1e-3)
    assert many.lost_if_crowded > few.lost_if_crowded
    assert many.lost_if_spread == few.lost_if_spread
    # As many as may come, not the nominal number.
    hidden = PersonPrivate("add-remove", nominal_n=220)
    plan = rooms(220, 10, supply=250, neighbours=hidden).plan(1.0)
    assert plan.lost_if_crowded > 4 * plan.softness + 0.02


def test_plans_see_no_private_number():
    one, other = rooms(), Allocation(wishes(seed=9), [250.0] * 4, largest_value=1.0)
    assert str(one.plan(0.5)) == str(other.plan(0.5))
    assert one.plan(0.5).reserve == other.plan(0.5).reserve
    noise = [
        rooms(neighbours=relation).plan(1.0).noise
        for relation in (PersonPrivate(), PersonPrivate("add-remove", nominal_n=1000))
    ]
    assert noise[0] == pytest.approx(2 * noise[1])  # halved where people come and go
    # 40 people at eps = 0.1 lost 28 % with supplies of 139, of which 98 are kept back.
    few = rooms(40, 4, supply=139).plan(0.1)
    assert few.lost_if_spread > few.share > 0.7
    assert few.verdict is Verdict.TOO_LITTLE_SUPPLY
    assert "not promised to hold" in allocate(rooms(), 1.0, feasible=None, rng=0).statement()


def test_a_person_alone_finds_what_all_together_do():
    rng = np.random.default_rng(5)
    uses = rng.uniform(0, 1, (400, 3, 2))
    bounds = {"largest_value": 1.0, "largest_use": 2.0, "largest_limit": 2.0}
    limits = rng.uniform(0, 2, 400)
    allocation = Allocation(wishes(400, 3), [150.0] * 2, uses=uses, limits=limits, **bounds)
    result = allocate(allocation, 2.0, rng=0)
    everybody = result.shares_of(allocation)
    for i in (0, 17, 399):
        own = result.share(allocation.values[i], uses[i], allocation.limits[i])
        assert own == pytest.approx(everybody[i], abs=1e-12)
        assert own.sum() <= allocation.limits[i]
    with pytest.raises(privlp.InvalidParameterError, match="Give uses, of shape"):
        result.share(allocation.values[0])


def test_what_a_person_cannot_take():
    values = wishes(300, 3)
    values[:, 1] = -INF
    allocation = Allocation(values, [90.0] * 3, largest_value=1.0)
    result = allocate(allocation, 2.0, rng=0)
    shares = result.shares_of(allocation)
    assert not shares[:, 1].any()
    assert math.isfinite(allocation.worth(shares))
    assert result.choose([-INF, -INF, -INF], rng=0) is None


def test_choices_follow_shares():
    """600 draws, within five deviations."""
    result = allocate(rooms(), 1.0, rng=0)
    own = result.share([0.7, 0.69, 0.1, 0.0])
    rng = np.random.default_rng(0)
    drawn = [result.choose([0.7, 0.69, 0.1, 0.0], rng=rng) for _ in range(600)]
    for j, p in enumerate(own):
        assert abs(drawn.count(j) - 600 * p) <= 5 * math.sqrt(600 * p * (1 - p)) + 1


def test_saved_and_loaded(tmp_path):
    result = allocate(rooms(), 1.0, rng=0)
    result.save(tmp_path / "prices.json")
    again = privlp.AllocationResult.load(tmp_path / "prices.json")
    assert json.loads(again.to_json()) == json.loads(result.to_json())
    assert (again.shares_of(rooms()) == result.shares_of(rooms())).all()
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(privlp.ReadError, match="is not an allocation saved by privlp"):
        privlp.AllocationResult.load(tmp_path / "other.json")


def test_seeds_budgets_and_statement():
    budget = Budget(2.0, 0.0)
    one = allocate(rooms(), 1.0, 0.0, budget=budget, rng=3)
    other = allocate(rooms(), None, None, budget=budget, rng=3)
    assert (one.prices == allocate(rooms(), 1.0, rng=3).prices).all()
    assert other.privacy.eps <= 2.0
    with pytest.raises(privlp.BudgetExceededError):
        allocate(rooms(), 1.0, budget=budget, rng=0)
    words = one.statement()
    assert "Jointly (1, 4.03897e-28)-differentially private" in words
    assert "values, uses and limit of one person replaced" in words
    assert "All supplies hold together with probability 0.95" in words
    budget, others = Budget(2.0, 0.0), PersonPrivate("add-remove", nominal_n=1000)
    allocate(rooms(), 1.0, budget=budget, rng=0)
    with pytest.raises(privlp.RelationMismatchError):
        allocate(rooms(neighbours=others), 1.0, budget=budget)


ONE, COME_AND_GO = {"largest_value": 1.0}, PersonPrivate("add-remove", nominal_n=1)
REFUSED = [
    (([[0.5]], [1.0]), {"largest_value": 0.0}, "largest_value must be a positive finite number"),
    (([0.5], [1.0]), ONE, "values must be a table"),
    (([[0.5, np.nan]], [1.0, 1]), ONE, "values hold "),
    (([[0.5, 7.25]], [1.0, 1]), ONE, "Some values exceed largest_value=1. Declare"),
    (([[0.5, 0.5]], [1.0]), ONE, r"There are 2 options for 1 people and 1 supplies. Say by uses"),
    (([[0.5]], [0.0]), ONE, "supplies must be positive and finite"),
    (([[0.5]], []), ONE, "supplies must be a list"),
    (([[0.5]], [1e101]), ONE, "supplies must be between 1e-100 and 1e\\+100"),
    (([[0.5]], [1.0]), {"largest_value": 1e300}, "largest_value must be between 1e-100 and 1e"),
    (([[0.5]], [1.0]), {**ONE, "uses": [[-1.0]]}, "uses must be finite and at least 0"),
    (([[0.5]], [1.0]), {**ONE, "uses": [[1.0, 2.0]]}, r"uses must have the shape \(1, 1\)"),
    (([[0.5]], [1.0]), {**ONE, "uses": [[[1.0]]]}, "declare largest_use"),
    (([[0.5]], [1.0]), {**ONE, "uses": [[[3.5]]], "largest_use": 2.0}, "Some uses exceed larges"),
    (([[0.5]], [1.0]), {**ONE, "limits": [2.0]}, "declare largest_limit"),
    (([[0.5]], [1.0]), {**ONE, "limits": [2.0], "largest_limit": 1}, "Some limits exceed"),
    (([[0.5]], [1.0]), {**ONE, "limits": [2.0, 3.0]}, "limits must be a number, or one"),
    (([[0.5]], [1.0]), {**ONE, "neighbours": 3}, "neighbours must be a privlp.PersonPrivate"),
    ((np.ones((11, 1)), [1.0]), {**ONE, "neighbours": COME_AND_GO}, "more than twice nominal_n=1"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), REFUSED)
def test_malformed_allocations_are_refused(arguments, options, message):
    with pytest.raises(privlp.PrivLPError, match=message) as caught:
        Allocation(*arguments, **options)
    assert "7.25" not in str(caught.value)
    assert "3.5" not in str(caught.value)


FEW = Allocation([[3, 2], [2, 0]], supplies=[1, 1], largest_value=3)
ONE_SUPPLY = Allocation([[3]], supplies=[1], largest_value=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: allocate(FEW, -1), "eps must be positive"),
        (lambda: allocate(FEW, 1.0, feasible=1.0), "feasible must be a probability between 0 and"),
        (lambda: allocate(FEW, None, None), "Give eps and delta"),
        (lambda: allocate(FEW, 1.0, budget=3), "budget must be a privlp.Budget"),
        (lambda: allocate(FEW, 1.0, rng="x"), "rng must be None"),
        (lambda: allocate(np.ones((2, 2)), 1.0), "allocation must be"),
        (lambda: PersonPrivate("add-remove"), "give a public nominal_n"),
        (lambda: PersonPrivate(nominal_n=3), "nominal_n has no use"),
        (lambda: PersonPrivate("swap"), "change must be"),
        (lambda: FEW.used([[1.0, 0.0]]), "one row per person"),
        (lambda: allocate(FEW, 9.0, rng=0).shares_of(ONE_SUPPLY), "1 supplies, but 2 have prices"),
        (lambda: FEW.worth(np.ones((3, 3))), "one row per person"),
        (lambda: FEW.worth(1.0), "one row per person"),
    ],
)
def test_parameters_are_refused_before_anything_is_spent(call, message):
    with pytest.raises(privlp.PrivLPError, match=message):
        call()


def some_people(seed, n=30, k=3, d=3, own=False):
    rng = np.random.default_rng(seed)
    uses = rng.dirichlet(np.ones(d + 1), (n, k) if own else k)[..., :d]
    return People(rng.uniform(-0.2, 1, (n, k)), uses, rng.uniform(0, 1, n))


@settings(max_examples=examples(30))
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.02, 0.1]))
def test_demand_is_the_gradient_and_its_bounds_hold(seed, own, h):
    """Each person uses at most a unit; curvature is positive, of trace at most 1/h a person."""
    people = some_people(seed, own=own)
    p = np.random.default_rng(seed).uniform(0, 1, 3)
    hessian = people.hessian(p, h)
    for supply in range(3):
        step = 1e-6 * np.eye(3)[supply]
        change = people.demand(p - step, h) - people.demand(p + step, h)
        assert change / 2e-6 == pytest.approx(hessian[:, supply], rel=1e-4, abs=1e-4)
    assert np.linalg.eigvalsh(hessian).min() >= -1e-9
    one = People(people.values[:1], people.uses if not own else people.uses[:1], people.limits[:1])
    assert np.trace(one.hessian(p, h)) <= 1 / h
    assert one.demand(p, h).sum() <= 1 + 1e-12
    at_once = people.uses_at_one_price(np.array([p[0]]), h)
    assert at_once[0] == pytest.approx(people.demand(np.full(3, p[0]), h).sum())


@settings(max_examples=examples(20))
@given(st.integers(0, 10**6))
def test_the_minimum_is_certified(seed):
    """Two ways to the minimum agree, by Newton's method and by accelerated gradients."""
    people, rng = some_people(seed), np.random.default_rng(seed)
    h, strength = 0.05, 20.0
    program = PriceProgram(
        people, rng.uniform(0, 9, 3), rng.uniform(0, 1, 3), strength, h, strength + 30 / h
    )
    newton = program.minimise(1e-10)
    slow = program._accelerated(program.centre, 1e-10)
    assert (newton >= 0).all()
    assert newton == pytest.approx(slow, abs=3e-10)


def test_computed_demand_is_within_its_bound_of_the_exact_one():
    from mpmath import mp

    people, p, h = some_people(4), np.array([0.3, 0.1, 0.7]), 0.01
    mp.dps = 40
    exact = np.vectorize(mp.mpf, otypes=[object])
    uses, costs = exact(people.uses), exact(people.uses) @ exact(p)
    weights = np.vectorize(mp.exp, otypes=[object])((exact(people.values) - costs) / mp.mpf(h))
    shares = exact(people.limits)[:, None] * weights / (1 + weights.sum(axis=1))[:, None]
    error = np.abs((shares @ uses).sum(axis=0) - exact(people.demand(p, h))).sum()
    assert error <= rounding(30, 3, 1, h)
