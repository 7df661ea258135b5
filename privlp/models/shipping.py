"""Goods from suppliers to customers, whose supplies and demands are private."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, as_floats, positive, require_data
from privlp.models.model import Model, column, distinct, labels, names_along, range_of_each
from privlp.relations import ScalarPrivate


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
    rows = names_along("suppliers", ("costs", costs, 0), ("supplies", supplies, 0))
    columns = names_along("customers", ("costs", costs, 1), ("demands", demands, 0))
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
