"""Models in which capacities or margins are private: flows and shipments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, as_floats, is_missing, positive, require_data
from privlp.models.model import Model, column, distinct, labels, range_of_each
from privlp.relations import ScalarPrivate
from privlp.tables import names_along

_BALANCED = 1e-9


def min_cost_flow(
    arcs: Any,
    costs: Any,
    capacities: Any,
    supply: Any,
    *,
    sensitivity: float,
    norm: Literal["1", "inf"] = "1",
    lower: Any = None,
    upper: Any = None,
    shortage_cost: float | None = None,
) -> Model:
    """Send supplies to demands at the least cost, within private capacities of the arcs.

    Minimise sum_a costs_a f_a, where f_a >= 0 is the flow on arc a. Rows: ``f_a <= capacities_a``
    for each arc (private), and conservation of flow at each node (public): what leaves minus what
    arrives is the node's supply.

    Parameters
    ----------
    arcs : sequence of pairs, or table of two columns
        Tail and head of each arc: any names of nodes. Parallel arcs are allowed.
    costs : array_like, shape (m,)
        Of a unit of flow on each arc; public.
    capacities : array_like, shape (m,)
        Of each arc; private numbers.
    supply : mapping of node to float, or Series
        What enters at a node; negative for what is demanded there. Nodes that are not named have
        none. Public.
    sensitivity : float
        By how much one record moves the capacities: in sum with ``norm="1"``, each with
        ``norm="inf"``.
    norm : {"1", "inf"}
    lower, upper : float or array_like of shape (m,), optional
        Public range of each capacity, needed by ``feasible="always"``. Choose it from what is
        known of the arcs, and do not read it off the capacities.
    shortage_cost : float, optional
        Price of a unit that a demand goes without. With it every program is feasible, whatever the
        capacities; without it all demands are met.

    Returns
    -------
    Model
        Its part ``"flows"`` has shape (m,), in the order of the arcs. With a `shortage_cost` there
        is ``"shortages"`` too, one for each negative entry of `supply` in its order.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, numbers have the wrong sign, or supplies and demands do not balance.

    Notes
    -----
    ``feasible="always"`` keeps every true capacity. It needs a flow within the *lower* ends of
    the ranges; if there is none, give a `shortage_cost`.

    Examples
    --------
    >>> from privlp import models, solve
    >>> arcs = [("mill", "north"), ("mill", "south"), ("north", "shop"), ("south", "shop")]
    >>> lp = models.min_cost_flow(
    ...     arcs, [1, 2, 1, 1], [70, 80, 75, 90], {"mill": 100, "shop": -100},
    ...     sensitivity=1, lower=50, upper=150,
    ... )
    >>> solution = solve(lp, eps=1.0, delta=1e-6, feasible="always", rng=0)
    >>> flows = lp.values(solution)["flows"]
    >>> bool((flows <= [70, 80, 75, 90]).all()), round(float(flows[0] + flows[1]), 6)
    (True, 100.0)
    """
    pairs = _pairs(arcs)
    m = len(pairs)
    prices = column(costs, "costs", "one cost per arc", m)
    sizes = column(capacities, "capacities", "one capacity per arc", m)
    nodes = list(dict.fromkeys(node for pair in pairs for node in pair))
    if hasattr(supply, "to_dict"):
        once = "supply names a node twice. Sum its entries."
        require_data(supply.index.is_unique, once, "supply")
        supply = supply.to_dict()
    net = _net_supply(supply, nodes, balanced=shortage_cost is None)
    short = [] if shortage_cost is None else [node for node, units in supply.items() if units < 0]
    if short:
        price = positive(shortage_cost, "shortage_cost", finite=True)
        prices = np.append(prices, np.full(len(short), price))
    low, high = range_of_each(lower, upper, sizes, "capacities")
    of_arcs = {"costs": costs, "capacities": capacities, "lower": lower, "upper": upper}
    names_along("arcs", *((name, of, 0) for name, of in of_arcs.items()))
    everywhere = np.full(len(nodes), np.inf)
    names = [f"{tail} to {head}" for tail, head in pairs]
    return Model(
        prices,
        sp.vstack([sp.eye_array(m, len(prices)), _net_outflow(pairs, nodes, short)], format="csr"),
        np.concatenate([sizes, net]),
        row_lower=np.concatenate([np.full(m, -np.inf), np.minimum(net, 0.0) if short else net]),
        private=np.arange(m + len(nodes)) < m,
        bounds=[*[(0.0, np.inf)] * m, *((0.0, -float(supply[node])) for node in short)],
        neighbours=ScalarPrivate(
            sensitivity, norm, lower=np.append(low, -everywhere), upper=np.append(high, everywhere)
        ),
        variable_names=distinct(
            [*(f"flow {name}" for name in names), *(f"shortage at {node}" for node in short)]
        ),
        row_names=distinct(
            [*(f"capacity {name}" for name in names), *(f"node {node}" for node in nodes)]
        ),
        name="min-cost flow",
        parts=[("flows", (m,)), *([("shortages", (len(short),))] if short else [])],
    )


def _pairs(arcs: Any) -> list[tuple[Any, Any]]:
    """Tail and head of each arc; entries of a table as Python's own numbers or strings."""
    table = arcs.to_numpy() if hasattr(arcs, "to_numpy") else arcs
    given = table.tolist() if isinstance(table, np.ndarray) else list(table)
    pairs = [tuple(arc) for arc in given if isinstance(arc, tuple | list | np.ndarray)]
    require_data(
        pairs and len(pairs) == len(given) and all(len(pair) == 2 for pair in pairs),
        "arcs must be a sequence of pairs (tail, head), at least one.",
        "arcs",
    )
    # A node can be told from all others: NaN is not even itself.
    require_data(
        all(
            isinstance(node, Hashable) and not is_missing(node) and node == node  # noqa: PLR0124
            for pair in pairs
            for node in pair
        ),
        "arcs must name both ends of each arc by a string or a number; some names are missing or"
        " of another kind.",
        "arcs",
    )
    for tail, head in pairs:
        loop = f"arcs must not lead from a node to itself, as one does at {tail}."
        require_data(tail != head, loop, "arcs")
    return pairs


def _net_supply(supply: Any, nodes: Sequence[Any], *, balanced: bool) -> FloatArray:
    """The supply of each node, (number of nodes,)."""
    require_data(
        isinstance(supply, Mapping) and supply,
        "supply must be a dict {node: amount}, with negative amounts for demands.",
        "supply",
    )
    place = {node: number for number, node in enumerate(nodes)}
    for node in supply:
        stranger = f"supply names {node}, which no arc touches. Use the names of nodes in arcs."
        require_data(node in place, stranger, "supply")
    net = np.zeros(len(nodes))
    amounts = column(list(supply.values()), "supply", "one amount per node", signed=True)
    net[[place[node] for node in supply]] = amounts
    require_data(
        not balanced or abs(net.sum()) <= _BALANCED * np.abs(net).sum(),
        f"supply sums to {net.sum():g}, not to 0: what enters must leave. Balance it, or give a"
        " shortage_cost, with which demands may go without.",
        "supply",
    )
    return net


def _net_outflow(
    pairs: Sequence[tuple[Any, Any]], nodes: Sequence[Any], short: Sequence[Any]
) -> sp.csr_array:
    """What leaves each node minus what arrives, and minus its shortage."""
    place = {node: number for number, node in enumerate(nodes)}
    m = len(pairs)
    tails, heads = ([place[pair[end]] for pair in pairs] for end in (0, 1))
    rows = [*tails, *heads, *(place[node] for node in short)]
    columns = [*range(m), *range(m), *range(m, m + len(short))]
    entries = np.repeat([1.0, -1.0, -1.0], [m, m, len(short)])
    return sp.csr_array((entries, (rows, columns)), shape=(len(nodes), m + len(short)))


def transport(
    costs: Any,
    supplies: Any,
    demands: Any,
    *,
    sensitivity: float,
    norm: Literal["1", "inf"] = "1",
    lower_supply: Any = None,
    upper_supply: Any = None,
    lower_demand: Any = None,
    upper_demand: Any = None,
    shortage_cost: float | None = None,
    suppliers: Any = None,
    customers: Any = None,
) -> Model:
    """Ship goods at the least cost; no supply is exceeded and all demands are met.

    Minimise sum_ij costs_ij x_ij, where x_ij >= 0 is what supplier i sends to customer j. Rows:
    ``sum_j x_ij <= supplies_i`` and ``sum_i x_ij >= demands_j``, all private numbers.

    Parameters
    ----------
    costs : array_like, shape (m, k)
        Of a unit from each supplier to each customer; ``inf`` where there is no route. Public.
    supplies : array_like, shape (m,)
        Private numbers.
    demands : array_like, shape (k,)
        Private numbers.
    sensitivity : float
        By how much one record moves supplies and demands: in sum with ``norm="1"``, each with
        ``norm="inf"``.
    norm : {"1", "inf"}
    lower_supply, upper_supply, lower_demand, upper_demand : float or array_like, optional
        Public ranges of the supplies and the demands, needed by ``feasible="always"``. Choose them
        from what is known of suppliers and customers, and do not read them off the numbers.
    shortage_cost : float, optional
        Price of a unit that a customer goes without. With it every program is feasible, whatever
        the margins; without it all demands are met.
    suppliers, customers : sequence of str, optional
        Names; those of a DataFrame `costs` by default.

    Returns
    -------
    Model
        Its part ``"shipments"`` has shape (m, k). With a `shortage_cost` there is ``"shortages"``
        too, of shape (k,).

    Notes
    -----
    Noise makes supplies smaller and demands larger, where rows must hold. So the sum of supplies
    must exceed the sum of demands by some noise for each of them.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, or numbers have the wrong sign.

    Examples
    --------
    >>> from privlp import models, solve
    >>> supplies, demands = [400, 500], [120, 200, 150]
    >>> lp = models.transport(
    ...     [[1, 4, 2], [3, 1, 2]], supplies, demands, sensitivity=1,
    ...     lower_supply=300, upper_supply=600, lower_demand=50, upper_demand=200,
    ... )
    >>> solution = solve(lp, eps=1.0, delta=1e-6, feasible="always", rng=0)
    >>> shipments = lp.values(solution)["shipments"]
    >>> shipments.shape, bool((shipments.sum(axis=1) <= supplies).all())
    ((2, 3), True)
    >>> bool((shipments.sum(axis=0) >= demands).all())
    True
    """
    prices = _costs(costs)
    m, k = prices.shape
    has = column(supplies, "supplies", "one supply per row of costs", m)
    wants = column(demands, "demands", "one demand per column of costs", k)
    supply_ends = range_of_each(lower_supply, upper_supply, has, "supplies", "_supply")
    demand_ends = range_of_each(lower_demand, upper_demand, wants, "demands", "_demand")
    lower, upper = (np.append(*ends) for ends in zip(supply_ends, demand_ends, strict=True))
    of_rows = {"supplies": supplies, "lower_supply": lower_supply, "upper_supply": upper_supply}
    rows = names_along("suppliers", ("costs", costs, 0), *((n, of, 0) for n, of in of_rows.items()))
    of_columns = {"demands": demands, "lower_demand": lower_demand, "upper_demand": upper_demand}
    along = ("costs", costs, 1), *((n, of, 0) for n, of in of_columns.items())
    columns = names_along("customers", *along)
    origin = labels(suppliers, "suppliers", m, "supplier", rows)
    goal = labels(customers, "customers", k, "customer", columns)
    routes = np.isfinite(prices).ravel()
    short = [] if shortage_cost is None else goal
    price = 0.0 if shortage_cost is None else positive(shortage_cost, "shortage_cost", finite=True)
    most = np.append(np.where(routes, np.inf, 0.0), np.full(len(short), np.inf))
    return Model(
        np.append(np.where(routes, prices.ravel(), 0.0), np.full(len(short), price)),
        _margins(m, k, shortages=bool(short)),
        np.append(has, np.full(k, np.inf)),
        row_lower=np.append(np.full(m, -np.inf), wants),
        bounds=[(0.0, end) for end in most],
        neighbours=ScalarPrivate(sensitivity, norm, lower=lower, upper=upper),
        variable_names=distinct(
            [*(f"{a} to {b}" for a in origin for b in goal), *(f"shortage of {b}" for b in short)]
        ),
        row_names=distinct(
            [*(f"supply of {a}" for a in origin), *(f"demand of {b}" for b in goal)]
        ),
        name="transport",
        parts=[("shipments", (m, k)), *([("shortages", (k,))] if short else [])],
    )


def _margins(m: int, k: int, *, shortages: bool) -> sp.csr_array:
    """Rows that sum what each supplier sends, then what each customer gets or goes without."""
    sends = sp.kron(sp.eye_array(m), np.ones((1, k)))
    gets = sp.kron(np.ones((1, m)), sp.eye_array(k))
    A = sp.vstack([sends, gets])
    if shortages:
        A = sp.hstack([A, sp.vstack([sp.csr_array((m, k)), sp.eye_array(k)])])
    return sp.csr_array(A)


def _costs(costs: Any) -> FloatArray:
    """The matrix of costs, in which ``inf`` marks what is no route."""
    prices = as_floats(costs, "costs")
    shape = f"costs has shape {prices.shape}, but it needs two axes: suppliers by customers."
    require_data(prices.ndim == 2 and prices.size, shape, "costs")
    sign = "costs must be numbers that are not negative, or inf where there is no route."
    require_data((prices >= 0).all(), sign, "costs")
    require_data(np.isfinite(prices).any(), "costs has no route: all are inf.", "costs")
    return prices
