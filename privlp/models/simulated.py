"""Made-up data of realistic size for each model, by the names of its arguments: nobody's."""

from __future__ import annotations

from typing import Any

import numpy as np

from privlp.checks import FloatArray

#: Food, price of 100 g, and in 100 g: energy in 100 kcal, protein in 10 g, iron in mg.
_TABLE = """
oats 0.25 3.7 1.3 4.3; bread 0.3 2.5 0.9 2.5; rice 0.2 1.3 0.27 0.2; pasta 0.2 1.6 0.58 0.5;
potatoes 0.12 0.8 0.2 0.8; lentils 0.3 1.2 0.9 3.3; beans 0.28 1.3 0.9 2.5; tofu 0.6 1.4 1.4 2.7;
eggs 0.45 1.5 1.3 1.8; milk 0.12 0.6 0.34 0.03; yoghurt 0.3 0.6 0.5 0.1; cheese 0.9 4 2.5 0.3;
chicken 0.9 1.7 2.7 1; beef 1.4 2.5 2.6 2.6; fish 1.6 1.8 2.2 0.6; carrots 0.15 0.4 0.09 0.3;
cabbage 0.15 0.25 0.13 0.5; spinach 0.45 0.23 0.29 2.7; tomatoes 0.35 0.2 0.09 0.3;
apples 0.25 0.5 0.03 0.1; bananas 0.2 0.9 0.11 0.3; oranges 0.25 0.5 0.09 0.1; nuts 1.2 6 2 3.5;
oil 0.5 8.8 0 0
"""
_ROWS = [row.split() for row in _TABLE.split(";")]
FOODS = tuple(food for food, *_ in _ROWS)
_PRICE, *_CONTENT = np.array([numbers for _, *numbers in _ROWS], dtype=float).T


def canteen(seed: int = 0, *, people: int = 20_000) -> dict[str, Any]:
    """A day's menu of 24 foods for people with needs of energy, protein and iron.

    Needs vary with body and sex; one in five people leaves out a group of foods, such as meat. At
    most 300 g of each food. Prices and contents are rounded from common knowledge.

    Examples
    --------
    >>> from privlp.models import diet, simulated
    >>> diet(**simulated.canteen(people=100)).shape
    (300, 24)
    """
    rng = np.random.default_rng(seed)
    size, bleeds = rng.normal(1.0, 0.12, people).clip(0.6, 1.5), rng.random(people) < 0.35
    energy, protein = (each * size * rng.uniform(0.9, 1.2, people) for each in (21, 5.5))
    iron = np.where(bleeds, 14.0, 9.0) * rng.uniform(0.8, 1.1, people)
    needs = np.column_stack([energy, protein, iron])
    eats = np.ones((people, len(FOODS)))
    kinds = [["beef", "chicken", "fish"], ["milk", "yoghurt", "cheese"], ["nuts"], ["bread"]]
    avoids = np.where(rng.random(people) < 0.2, rng.integers(0, len(kinds), people), -1)
    for kind, foods in enumerate(kinds):
        eats[np.ix_(avoids == kind, [FOODS.index(food) for food in foods])] = 0.0
    return {
        "prices": _PRICE.copy(),
        "content": np.array(_CONTENT),
        "needs": needs,
        "eats": eats,
        "most": 3.0,
        "foods": list(FOODS),
    }


def care(seed: int = 0, *, clients: int = 20_000) -> dict[str, Any]:
    """A weekday's roster of 20 shifts for clients who may call in hours of their own.

    Shifts of eight hours start at every even hour and at 21, those of five hours at every even hour
    from 6 to 18. Nights cost more. At least two workers are on duty at any time.

    Examples
    --------
    >>> from privlp.models import simulated, staffing
    >>> staffing(**simulated.care(clients=100)).shape
    (124, 20)
    """
    rng = np.random.default_rng(seed)
    clock = np.arange(24)
    spans = [(start, 8) for start in (*range(0, 24, 2), 21)] + [(s, 5) for s in range(6, 20, 2)]
    shifts = np.array([((clock - start) % 24 < span) * 1.0 for start, span in spans])
    night = np.where((clock < 6) | (clock > 21), 1.5, 1.0)
    early = rng.random(clients) < 0.6
    begins = np.where(early, rng.normal(9, 2.5, clients), rng.normal(17, 3.0, clients))
    lasts = rng.integers(2, 7, clients)
    wanted = ((clock - np.round(begins)[:, None]) % 24 < lasts[:, None]) * 1.0
    busy = 8 + 6 * np.sin((clock - 6) / 24 * 2 * np.pi)
    hours = (wanted @ busy) * rng.uniform(0.5, 1.0, clients)
    return {
        "wages": shifts @ night * rng.uniform(0.95, 1.05, len(shifts)) * 20,
        "shifts": shifts,
        "wanted": wanted,
        "hours": hours,
        "at_least": 2.0,
        "shift_names": [f"{start:02d}:00, {span} h" for start, span in spans],
    }


def road_network(seed: int = 0, *, nodes: int = 80) -> dict[str, Any]:
    """Roads between towns on a map, from three depots to twelve towns.

    Towns are joined to their neighbours (Delaunay's triangulation), both ways. A capacity is the
    number of loads that carriers offer on a road: one carrier offers at most one load more or less.
    Cost is length. Capacities lie between 60 and 240.

    Examples
    --------
    >>> from privlp.models import min_cost_flow, simulated
    >>> data = simulated.road_network(seed=0)
    >>> len(data["arcs"]) > 400, sum(data["supply"].values())
    (True, 0.0)
    >>> min_cost_flow(**data).name
    'min-cost flow'
    """
    from scipy.spatial import Delaunay  # noqa: PLC0415 (slow to load)

    at = towns(seed, nodes=nodes)
    rng = np.random.default_rng([seed, 1])
    triangles = Delaunay(at).simplices
    pairs = np.sort(np.vstack([triangles[:, ends] for ends in ([0, 1], [1, 2], [0, 2])]), axis=1)
    roads = sorted({(a, b) for a, b in pairs.tolist()})
    arcs = [*roads, *((head, tail) for tail, head in roads)]
    length = np.array([np.linalg.norm(at[a] - at[b]) for a, b in arcs])
    ends = rng.permutation(nodes)[:15]
    supply = {int(depot): 280.0 for depot in ends[:3]}
    supply |= {int(town): -70.0 for town in ends[3:]}
    return {
        "arcs": arcs,
        "costs": length,
        "capacities": rng.integers(80, 200, len(arcs)).astype(float),
        "supply": supply,
        "sensitivity": 1.0,
        "lower": 60.0,
        "upper": 240.0,
        "shortage_cost": 1000.0,
    }


def towns(seed: int = 0, *, nodes: int = 80) -> FloatArray:
    """Where the towns of :func:`road_network` lie on the map, shape (nodes, 2).

    Examples
    --------
    >>> from privlp.models import simulated
    >>> simulated.towns(seed=0).shape
    (80, 2)
    """
    return np.random.default_rng(seed).uniform(0, 100, (nodes, 2))


def deliveries(seed: int = 0, *, suppliers: int = 12, customers: int = 60) -> dict[str, Any]:
    """Warehouses and shops on a map; cost is distance.

    What a shop orders is the sum of what its clients order: one client moves an order, or a
    warehouse's stock, by at most 1 in all. Orders lie between 50 and 400, stocks between 800 and
    4000.

    Examples
    --------
    >>> from privlp.models import simulated
    >>> data = simulated.deliveries(seed=0)
    >>> data["costs"].shape, bool(data["supplies"].sum() > data["demands"].sum())
    ((12, 60), True)
    """
    warehouses, shops = places(seed, suppliers=suppliers, customers=customers)
    rng = np.random.default_rng([seed, 1])
    demands = rng.integers(80, 320, customers).astype(float)
    share = rng.uniform(0.7, 1.3, suppliers)
    supplies = np.round(1.25 * demands.sum() * share / share.sum())
    return {
        "costs": np.linalg.norm(warehouses[:, None] - shops, axis=2),
        "supplies": supplies,
        "demands": demands,
        "sensitivity": 1.0,
        "lower_supply": 0.0,
        "upper_supply": 4000.0,
        "lower_demand": 50.0,
        "upper_demand": 400.0,
        "shortage_cost": 1000.0,
    }


def places(
    seed: int = 0, *, suppliers: int = 12, customers: int = 60
) -> tuple[FloatArray, FloatArray]:
    """Where the warehouses and the shops of :func:`deliveries` lie on the map.

    Examples
    --------
    >>> from privlp.models import simulated
    >>> warehouses, shops = simulated.places(seed=0)
    >>> warehouses.shape, shops.shape
    ((12, 2), (60, 2))
    """
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 100, (suppliers, 2)), rng.uniform(0, 100, (customers, 2))


def market(seed: int = 0, *, scenarios: int = 20_000, assets: int = 10) -> dict[str, Any]:
    """Returns of assets in the contracts of clients, with three common factors and heavy tails.

    Student's t with 4 degrees of freedom for factors and for what is an asset's own. Riskier assets
    return more. A return is at most 50 % in size.

    Examples
    --------
    >>> from privlp.models import simulated
    >>> data = simulated.market(seed=0)
    >>> data["returns"].shape, sorted(data)
    ((20000, 10), ['assets', 'bound', 'expected', 'returns', 'target'])
    """
    rng = np.random.default_rng(seed)
    risk = np.geomspace(0.01, 0.08, assets)
    expected = 0.004 + 0.15 * risk * rng.uniform(0.5, 1.5, assets)
    loading = rng.uniform(0.0, 0.8, (3, assets))
    shocks = rng.standard_t(4, (scenarios, 3)) @ loading + rng.standard_t(4, (scenarios, assets))
    return {
        "returns": (expected + 0.5 * risk * shocks).clip(-0.5, 0.5),
        "bound": 0.5,
        "expected": expected,
        "target": float(np.quantile(expected, 0.5)),
        "assets": [f"asset {number + 1}" for number in range(assets)],
    }
