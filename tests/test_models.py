"""Linear programs in the words of their field: known answers, neighbours, and messages."""

import dataclasses

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import InvalidParameterError, InvalidProblemError, models, solve_exact
from privlp.models import simulated
from tests.effort import examples

SEEDS = st.integers(0, 10_000)


def dense(lp):
    return lp.A.toarray() if lp.is_sparse else np.asarray(lp.A)


def moved_rows(one, two):
    return (dense(one) != dense(two)).any(axis=1) | (one.b != two.b)


def arguments(name, seed=0, **sizes):
    """The made-up data of a model: the arguments of its function."""
    return getattr(simulated, name)(seed, **sizes)


def test_values_have_the_shapes_of_the_parts():
    lp = models.Model([1, 2, 3], np.eye(3), np.ones(3), parts=[("pair", (1, 2)), ("one", ())])
    x = np.array([4.0, 5.0, 6.0])
    values = lp.values(x)
    assert values["pair"].tolist() == [[4, 5]]
    assert float(values["one"]) == 6
    solved = solve_exact(lp)
    np.testing.assert_array_equal(lp.values(solved)["pair"].ravel(), solved.x[:2])
    assert models.Model([1, 2], np.eye(2), np.ones(2)).values([3, 4])["x"].tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        values["pair"][0] = 5
    assert x.flags.writeable
    with pytest.raises(InvalidParameterError, match="parts have 3 entries for 2 variables"):
        models.Model([1, 2], np.eye(2), np.ones(2), parts=[("x", (3,))])


def test_a_changed_copy_keeps_its_parts():
    lp = models.transport([[1, 2]], [5], [2, 2], sensitivity=1)
    assert dataclasses.replace(lp, name="other").parts == lp.parts


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1, 2, 3], r"solution has shape \(3,\), but the program has 2 variables"),
        ("x", "solution must be a vector of real numbers"),
        (None, "The solution holds no x"),
    ],
)
def test_values_of_what_is_no_solution(x, message):
    with pytest.raises((InvalidParameterError, InvalidProblemError), match=message):
        models.Model([1, 2], np.eye(2), np.ones(2)).values(x)


def test_menu_of_one_person_is_known():
    """Iron asks for 1 unit of beans, and energy for 2 of bread besides."""
    lp = models.diet([1.0, 3.0], [[5, 5], [0, 2]], [[15, 2]])
    exact = solve_exact(lp)
    np.testing.assert_allclose(lp.values(exact)["amounts"], [2, 1])
    assert exact.objective == pytest.approx(5)


def test_coverage_is_the_share_of_a_need():
    lp = models.diet([1, 1], [[4, 1], [2, 3]], [[8, 0]], eats=[[1, 0.5]])
    np.testing.assert_allclose(dense(lp) @ [1, 2], [-(4 + 0.5 * 2) / 8, 0])
    assert lp.b.tolist() == [-1, 0]
    assert "at most 2 rows" in repr(lp)


@given(SEEDS)
def test_another_person_changes_the_rows_of_that_person_only(seed):
    """Whatever the needs and tastes, or the hours of a client: the neighbour relation is right."""
    rng, who = np.random.default_rng(seed), seed % 6
    data, other = (arguments("canteen", people=6) for _ in "12")
    other["needs"][who] = rng.choice([0.0, 1e-3, 7.0, 1e6], 3)
    other["eats"][who] = rng.integers(0, 2, 24)
    one, two = models.diet(**data), models.diet(**other)
    assert set(one.groups[moved_rows(one, two)]) <= {who}
    np.testing.assert_array_equal(one.bounds, two.bounds)
    np.testing.assert_array_equal(one.groups, two.groups)
    three = "constraint-private: one record (at most 3 rows) replaced"
    assert one.neighbours.describe(one) == three
    data, other = (arguments("care", clients=6) for _ in "12")
    other["wanted"][who] = rng.integers(0, 2, 24)
    other["hours"][who] = rng.choice([0.0, 1e-3, 12.0])
    moved = moved_rows(models.staffing(**data), models.staffing(**other))
    assert set(np.flatnonzero(moved)) <= {who}


def test_roster_of_two_clients_is_known():
    """One worker is on each shift of two hours for two hours of work; the night has one besides."""
    shifts = [[1, 1, 0], [0, 0, 1]]
    lp = models.staffing([2.0, 3.0], shifts, [[1, 1, 0], [1, 0, 0]], [2, 3], at_least=[0, 0, 1])
    exact = solve_exact(lp)
    np.testing.assert_allclose(lp.values(exact)["workers"], [3, 1])
    assert lp.private.tolist() == [True, True, False, False, False]


ARCS = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
FLOW = {"arcs": ARCS, "costs": [1, 2, 1, 1], "capacities": [6, 9, 9, 9]}
FLOW |= {"supply": {"a": 10, "d": -10}, "sensitivity": 1}


def test_flow_of_least_cost_is_known():
    lp = models.min_cost_flow(**FLOW)
    exact = solve_exact(lp)
    np.testing.assert_allclose(lp.values(exact)["flows"], [6, 4, 6, 4])
    assert exact.objective == pytest.approx(24)


def test_a_demand_goes_without_at_its_price():
    changes = {"capacities": [2, 3, 9, 9], "supply": {"d": -7, "b": -1, "a": 9}}
    lp = models.min_cost_flow(**{**FLOW, **changes}, shortage_cost=50)
    values = lp.values(solve_exact(lp))
    np.testing.assert_allclose(values["flows"], [2, 3, 1, 3])
    np.testing.assert_allclose(values["shortages"], [3, 0])  # in the order of supply: d, then b
    assert lp.variable_names[4:] == ("shortage at d", "shortage at b")


def test_capacities_are_the_only_private_numbers():
    one = models.min_cost_flow(**FLOW, lower=0, upper=20)
    two = models.min_cost_flow(**{**FLOW, "capacities": [7, 9, 9, 9]}, lower=0, upper=20)
    np.testing.assert_array_equal(dense(one), dense(two))
    assert np.flatnonzero(one.b != two.b).tolist() == [0]
    assert one.private.tolist() == [True] * 4 + [False] * 4


@settings(max_examples=examples(40))
@given(SEEDS)
def test_flow_is_conserved_and_within_capacities(seed):
    """For any noise, with shortages where noise leaves too little."""
    data = arguments("road_network", seed, nodes=20)
    lp = models.min_cost_flow(**data)
    solution = privlp.solve(lp, eps=0.3, delta=1e-6, feasible="always", rng=seed)
    flows, shortages = lp.values(solution).values()
    assert (flows >= 0).all()
    assert (flows <= data["capacities"]).all()
    net = dict.fromkeys(range(20), 0.0)
    for (tail, head), flow in zip(data["arcs"], flows, strict=True):
        net[tail] += flow
        net[head] -= flow
    short = iter(shortages)
    for node, units in data["supply"].items():
        assert net[node] <= units + 1e-5 if units > 0 else True
        if units < 0:
            assert net[node] == pytest.approx(units + next(short), abs=1e-5)


@given(SEEDS)
def test_transport_agrees_with_scipy(seed):
    rng = np.random.default_rng(seed)
    costs, demands = rng.uniform(1, 5, (3, 4)), rng.uniform(1, 5, 4)
    supplies = rng.uniform(0.5, 1.5, 3) * demands.sum()
    lp = models.transport(costs, supplies, demands, sensitivity=1)
    sends, gets = np.kron(np.eye(3), np.ones(4)), np.tile(np.eye(4), 3)
    reference = scipy.optimize.linprog(
        costs.ravel(), np.vstack([sends, -gets]), np.append(supplies, -demands)
    )
    assert solve_exact(lp).objective == pytest.approx(reference.fun, rel=1e-7)


def test_no_route_is_not_used_and_a_shortage_has_its_price():
    lp = models.transport([[1, np.inf], [4, 1]], [5, 3], [4, 5], sensitivity=1, shortage_cost=100)
    values = lp.values(solve_exact(lp))
    np.testing.assert_allclose(values["shipments"], [[4, 0], [0, 3]])
    np.testing.assert_allclose(values["shortages"], [0, 2])


@settings(max_examples=examples(40))
@given(SEEDS)
def test_true_margins_hold_under_any_noise(seed):
    data = arguments("deliveries", seed, suppliers=4, customers=8)
    lp = models.transport(**data)
    solution = privlp.solve(lp, eps=0.3, delta=1e-6, feasible="always", rng=seed)
    shipments, shortages = lp.values(solution).values()
    assert (shipments.sum(axis=1) <= data["supplies"] + 1e-9).all()
    assert (shipments.sum(axis=0) + shortages >= data["demands"] - 1e-9).all()


def cvar(losses, beta):
    """The mean of the worst 1 - beta of the losses; their number must be whole."""
    worst = round((1 - beta) * len(losses))
    return np.sort(losses)[-worst:].mean()


@given(SEEDS)
def test_portfolio_of_two_assets_by_trying_all_weights(seed):
    returns = np.random.default_rng(seed).standard_t(4, (40, 2)) * [0.02, 0.03]
    lp = models.cvar_portfolio(returns, bound=1.0, beta=0.9)
    exact = solve_exact(lp)
    weights = lp.values(exact)["weights"]
    shares = np.linspace(0, 1, 501)
    best = np.sort(-returns @ [shares, 1 - shares], axis=0)[-4:].mean(axis=0).min()
    assert cvar(-returns @ weights, 0.9) <= best + 1e-9
    assert exact.objective == pytest.approx(cvar(-returns @ weights, 0.9), abs=1e-9)


def test_target_holds_and_costs_risk():
    data = arguments("market", scenarios=500)
    target = data.pop("target")
    free = models.cvar_portfolio(data["returns"], bound=0.5)
    bound = models.cvar_portfolio(**data, target=target)
    assert float(data["expected"] @ bound.values(solve_exact(bound))["weights"]) >= target - 1e-9
    risks = [
        cvar(-data["returns"] @ lp.values(solve_exact(lp))["weights"], 0.95) for lp in (free, bound)
    ]
    assert risks[0] <= risks[1] + 1e-12
    solution = privlp.solve(bound, eps=1.0, delta=1e-6, rng=0)
    weights = bound.values(solution)["weights"]
    assert float(data["expected"] @ weights) >= target - 1e-9
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-9)


def test_risk_aversion_trades_return_for_risk():
    returns = [[0.05, 0.01], [-0.06, 0.01], [0.05, 0.0], [0.05, 0.01]]
    request = {"bound": 0.1, "beta": 0.75, "expected": [0.04, 0.008]}
    bold, careful = (
        models.cvar_portfolio(returns, **request, risk_aversion=price) for price in (0.01, 10.0)
    )
    assert bold.sense == "max"
    np.testing.assert_allclose(bold.values(solve_exact(bold))["weights"], [1, 0], atol=1e-9)
    np.testing.assert_allclose(solve_exact(bold).objective, 0.04 - 0.01 * 0.06, atol=1e-9)
    assert careful.values(solve_exact(careful))["weights"][1] > 0.9


def test_returns_beyond_the_bound_are_moved_to_it():
    lp = models.cvar_portfolio([[0.5, -3.0], [0.1, 0.2]], bound=1.0)
    np.testing.assert_array_equal(dense(lp)[1:, :2], [[-0.5, 1.0], [-0.1, -0.2]])


GOOD = {
    models.diet: {"prices": [1, 2], "content": [[1, 2]], "needs": [[3]]},
    models.staffing: {"wages": [1], "shifts": [[1, 1]], "wanted": [[1, 0]], "hours": [1]},
    models.min_cost_flow: FLOW,
    models.transport: {"costs": [[1, 2]], "supplies": [9], "demands": [1, 2], "sensitivity": 1},
    models.cvar_portfolio: {"returns": [[0.1, 0.2], [0.0, -0.1]], "bound": 0.5},
}
EXPECTED = {"expected": [0.1, 0.2]}
WRONG = {
    models.diet: [
        ({"content": [[1, 2, 3]]}, r"content has shape \(1, 3\), but it needs \(any, 2\)"),
        ({"needs": [[1, 2]]}, r"needs has shape \(1, 2\), but it needs \(any, 1\): people by nut"),
        ({"needs": [1, 2]}, r"needs has shape \(2,\), but it needs \(any, 1\)"),
        ({"needs": [[-1]]}, "needs must not be negative anywhere"),
        ({"needs": [[np.nan]]}, "needs holds NaN or infinite entries. Fill them in"),
        ({"eats": [[2, 0]]}, "eats must hold shares between 0 and 1"),
        ({"eats": [[1, 1], [1, 1]]}, r"eats has shape \(2, 2\), but it needs \(1, 2\)"),
        ({"prices": []}, r"prices has shape \(0,\), but it needs one axis of any length but 0"),
        ({"most": [1, 2, 3]}, r"most must be a number or an array of shape \(2,\)"),
        ({"most": 0}, "most must be positive everywhere"),
        ({"foods": ["bread"]}, "foods must hold 2 names, one for each food; got 1"),
        ({"foods": "ab"}, "foods must hold 2 names"),
    ],
    models.staffing: [
        ({"wanted": [[1, 1, 1]]}, r"wanted has shape \(1, 3\), but it needs \(any, 2\): clients"),
        ({"hours": [1, 1]}, r"hours has shape \(2,\), but it needs one axis of length 1"),
        ({"shifts": [[1, 0], [0, 1]]}, r"shifts has shape \(2, 2\), but it needs \(1, any\)"),
        ({"hours": [-1]}, "hours must not be negative anywhere"),
        ({"at_least": [1, 2, 3]}, r"at_least must be a number or an array of shape \(2,\)"),
    ],
    models.min_cost_flow: [
        ({"supply": {"a": 10, "d": -9}}, "supply sums to 1, not to 0: what enters must leave"),
        ({"supply": {"a": 10, "z": -10}}, "supply names z, which no arc touches"),
        ({"supply": [10, 0, 0, -10]}, "supply must be a dict {node: amount}"),
        ({"supply": {"a": "10"}}, "supply must hold real numbers"),
        ({"arcs": ["ab", "ac", "bd", "cd"]}, r"arcs must be a sequence of pairs \(tail, head\)"),
        ({"arcs": [("a", "a"), *ARCS[1:]]}, "arcs must not lead from a node to itself"),
        ({"capacities": [1, 2]}, r"capacities has shape \(2,\), but it needs one axis of length 4"),
        ({"capacities": [1, 2, 3, -1]}, "capacities must not be negative anywhere"),
        ({"lower": [1, 2]}, r"lower must be a number or an array of shape \(4,\)"),
        ({"lower": 7}, "Some capacities lie outside lower and upper. Declare a public range"),
        ({"shortage_cost": 0}, "shortage_cost must be a positive finite number"),
    ],
    models.transport: [
        ({"costs": [1, 2]}, r"costs has shape \(2,\), but it needs two axes: suppliers by cust"),
        ({"costs": [[-1, 2]]}, "costs must be numbers that are not negative, or inf"),
        ({"costs": [[np.nan, 2]]}, "costs must be numbers that are not negative, or inf"),
        ({"costs": [[np.inf, np.inf]]}, "costs has no route"),
        ({"supplies": [1, 2]}, r"supplies has shape \(2,\), but it needs one axis of length 1"),
        ({"demands": [1]}, r"demands has shape \(1,\), but it needs one axis of length 2"),
        ({"customers": ["x"]}, "customers must hold 2 names, one for each customer; got 1"),
        ({"upper_demand": 1.5}, "Some demands lie outside lower_demand and upper_demand"),
        ({"lower_demand": [1, 2, 3]}, r"lower_demand must be a number or an array of shape \(2,\)"),
    ],
    models.cvar_portfolio: [
        ({"beta": 1.0}, "beta must be a probability between 0 and 1 .*, got 1.0"),
        ({"beta": 95}, "beta must be a probability between 0 and 1 .*, got 95"),
        ({"bound": 0}, "bound must be a positive finite number"),
        ({"target": 0.1}, "need expected: a public forecast"),
        ({"expected": [1, 2]}, "expected has no use without a target"),
        ({"expected": [1], "target": 0}, "it needs one axis of length 2"),
        ({**EXPECTED, "target": 0.3}, "target = 0.3 is out of reach: .* allowed weights is 0.2"),
        ({**EXPECTED, "target": 0.18, "most": 0.5}, "expected return of allowed weights is 0.15"),
        ({"most": 0.4}, "most sums to 0.8: weights that sum to 1"),
        ({"returns": [1, 2]}, r"returns has shape \(2,\)"),
        ({**EXPECTED, "risk_aversion": -1}, "risk_aversion must be a positive finite number"),
        ({**EXPECTED, "target": "high"}, "target must be a number, got str"),
        ({**EXPECTED, "target": np.nan}, "target must be a finite number, got nan"),
    ],
}


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [(model, *row) for model, rows in WRONG.items() for row in rows],
)
def test_models_say_what_is_wrong(model, changes, message):
    with pytest.raises((InvalidProblemError, InvalidParameterError), match=message):
        model(**{**GOOD[model], **changes})


def test_names_of_frames_are_used_and_must_agree():
    pd = pytest.importorskip("pandas")
    content = pd.DataFrame([[1.0, 2.0]], index=["iron"], columns=["oats", "milk"])
    needs = pd.DataFrame([[1.0], [2.0]], columns=["iron"])
    prices = pd.Series({"oats": 1.0, "milk": 3.0})
    lp = models.diet(prices, content, needs)
    assert lp.variable_names == ("oats", "milk")
    assert models.diet(prices, content, needs, foods=["a", "b"]).variable_names == ("a", "b")
    with pytest.raises(InvalidProblemError, match="prices and content name the foods differently"):
        models.diet(prices[::-1], content, needs)
    with pytest.raises(InvalidProblemError, match="content and needs name the nutrients diff"):
        models.diet(prices, content, needs.rename(columns={"iron": "zinc"}))


def test_names_of_people_must_agree_and_are_not_told():
    pd = pytest.importorskip("pandas")
    needs = pd.DataFrame([[1.0], [2.0]], index=["ann", "bob"])
    eats = pd.DataFrame([[1.0, 0.5], [1.0, 1.0]], index=["bob", "ann"])
    with pytest.raises(InvalidProblemError, match="needs and eats name the people") as caught:
        models.diet([1, 2], [[1, 1]], needs, eats=eats)
    assert "ann" not in str(caught.value)


def test_a_flow_from_tables_and_with_parallel_arcs():
    pd = pytest.importorskip("pandas")
    arcs = pd.DataFrame(ARCS, columns=["from", "to"])
    lp = models.min_cost_flow(**{**FLOW, "arcs": arcs, "supply": pd.Series(FLOW["supply"])})
    assert lp.variable_names == models.min_cost_flow(**FLOW).variable_names
    arcs = np.array([[0, 1], [0, 1]])
    lp = models.min_cost_flow(arcs, [1, 2], [3, 9], {0: 5, 1: -5}, sensitivity=1)
    assert lp.variable_names == ("flow 0 to 1", "flow 0 to 1 (2)")
    np.testing.assert_allclose(lp.values(solve_exact(lp))["flows"], [3, 2])


def test_a_sparse_table_is_a_table():
    plain = models.diet([1, 2], [[1, 0]], [[3]])
    sparse = models.diet([1, 2], scipy.sparse.csr_array([[1, 0]]), [[3]])
    np.testing.assert_array_equal(plain.A, sparse.A)


def test_names_of_a_table_of_costs():
    pd = pytest.importorskip("pandas")
    costs = pd.DataFrame([[1.0, 2.0]], index=["mill"], columns=["north", "south"])
    lp = models.transport(costs, [9], pd.Series({"north": 1, "south": 2}), sensitivity=1)
    assert lp.variable_names == ("mill to north", "mill to south")
    returns = pd.DataFrame([[0.1, 0.2]], columns=["bonds", "land"])
    assert models.cvar_portfolio(returns, bound=1).variable_names[:2] == ("bonds", "land")


@pytest.mark.parametrize(
    ("name", "model", "private", "eps", "asked"),
    [
        ("canteen", models.diet, 60_000, 1.0, {"s": 3000}),
        ("care", models.staffing, 20_000, 1.0, {"s": 1000}),
        ("deliveries", models.transport, 72, 1.0, {"feasible": "always"}),
        ("road_network", models.min_cost_flow, 452, 1.0, {"feasible": "always"}),
        ("market", models.cvar_portfolio, 20_000, 10.0, {}),
    ],
)
def test_made_up_data_are_enough_for_a_private_answer(name, model, private, eps, asked):
    lp = model(**arguments(name))
    assert int(lp.private.sum()) == private
    assert not privlp.plan(lp, eps, 1e-6, **asked).verdict.worrying
