"""Models in which each person owns constraints: menus, rosters and portfolios."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privlp.checks import (
    PROBABILITY,
    FloatArray,
    is_probability,
    positive,
    real,
    require,
    require_data,
    shown,
)
from privlp.models.model import Model, column, each, labels, table
from privlp.relations import ConstraintPrivate
from privlp.tables import names_along


def diet(
    prices: Any,
    content: Any,
    needs: Any,
    *,
    eats: Any = None,
    most: Any = np.inf,
    foods: Any = None,
) -> Model:
    """Choose the cheapest menu for all that covers what each person needs.

    Minimise sum_j prices_j x_j, where x_j is the amount of food j in everybody's menu. Person i has
    one row for each nutrient k::

        sum_j eats_ij content_kj x_j / needs_ik >= 1

    So a violation of 0.05 is a person who gets 5 % too little of a nutrient. Prices, content and
    `most` are public. All about a person is private: needs, and what the person eats.

    Parameters
    ----------
    prices : array_like, shape (d,)
        Of a unit of each food; public.
    content : array_like, shape (k, d)
        Amount of each nutrient in a unit of each food; public.
    needs : array_like, shape (n, k)
        What each person needs of each nutrient; private. A person who needs none has a row that
        always holds.
    eats : array_like, shape (n, d), optional
        Share, 0 to 1, that each person eats of each food: 0 for an allergy. Private. All of
        everything by default.
    most : float or array_like of shape (d,), optional
        Largest amount of each food; public.
    foods : sequence of str, optional
        Names of the foods; those of a DataFrame `content` or a Series `prices` by default.

    Returns
    -------
    Model
        Its part ``"amounts"`` has shape (d,). One record is a person, who owns k rows and may have
        any needs and tastes.

    Notes
    -----
    :func:`privlp.solve` counts `s` in rows: a person whom the menu fails in two nutrients counts
    twice. Noise grows with the number of rows of a person, so leave out nutrients of which every
    menu holds enough.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, or numbers have the wrong sign.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import models, solve_exact
    >>> content = [[8.0, 1.0], [1.0, 4.0]]  # protein and iron in bread and in beans
    >>> lp = models.diet([1.0, 1.0], content, [[10, 4], [12, 6]], foods=["bread", "beans"])
    >>> lp.shape, lp.variable_names
    ((4, 2), ('bread', 'beans'))
    >>> lp.values(solve_exact(lp))["amounts"].round(3)
    array([1.355, 1.161])
    """
    costs = column(prices, "prices", "the price of each food")
    d = len(costs)
    holds = table(content, "content", "nutrients by foods, one food for each price", (None, d))
    k = len(holds)
    wanted = table(
        needs, "needs", "people by nutrients, one nutrient per row of content", (None, k)
    )
    n = len(wanted)
    shares = _shares(eats, (n, d))
    names_along("people", ("needs", needs, 0), ("eats", eats, 0))
    names_along("nutrients", ("content", content, 0), ("needs", needs, 1))
    foods_of = ("prices", prices, 0), ("content", content, 1), ("eats", eats, 1), ("most", most, 0)
    read = names_along("foods", *foods_of)
    upper = each(most, "most", "the largest amount of each food", d, positive=True)
    # Minus the share of a person's need that a unit of each food covers: of that person alone.
    scale = np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
    rows = -shares[:, None, :] * holds[None, :, :] * scale[:, :, None]
    return Model(
        costs,
        rows.reshape(-1, d),
        np.where(wanted.ravel() > 0, -1.0, 0.0),
        bounds=[(0.0, end) for end in upper],
        neighbours=ConstraintPrivate(rows_per_record=k),
        groups=np.repeat(np.arange(n), k),
        variable_names=labels(foods, "foods", d, "food", read),
        name="diet",
        parts=[("amounts", (d,))],
    )


def _shares(eats: Any, shape: tuple[int, int]) -> FloatArray:
    """What each person eats of each food, (n, d) or (1, d)."""
    if eats is None:
        return np.ones((1, shape[1]))
    shares = table(eats, "eats", "people by foods, as many people as needs has", shape)
    require_data(
        ((shares >= 0) & (shares <= 1)).all(),
        "eats must hold shares between 0 and 1: what each person eats of each food.",
        "eats",
    )
    return shares


def staffing(
    wages: Any,
    shifts: Any,
    wanted: Any,
    hours: Any,
    *,
    at_least: Any = None,
    most: Any = np.inf,
    shift_names: Any = None,
) -> Model:
    """Choose the cheapest roster that has enough staff on duty when each client wants it.

    Minimise sum_s wages_s x_s, where x_s is the number of workers on shift s. Client i names the
    hours h when it may call, and how many hours of work must be on duty in them::

        sum_s x_s sum_h shifts_sh wanted_ih / hours_i >= 1

    So a violation of 0.05 is a client who finds 5 % too few staff. Wages, shifts, `at_least` and
    `most` are public. All about a client is private.

    Parameters
    ----------
    wages : array_like, shape (k,)
        Of one worker on each shift; public.
    shifts : array_like, shape (k, T)
        Share of each hour that each shift works: 0 or 1 for whole hours; public.
    wanted : array_like, shape (n, T)
        Share of each hour in which each client may call; private.
    hours : array_like, shape (n,)
        Hours of work that each client needs on duty in the wanted hours; private. A client who
        needs none has a row that always holds.
    at_least : float or array_like of shape (T,), optional
        Workers on duty in each hour, whoever calls; public, and always kept.
    most : float or array_like of shape (k,), optional
        Largest number of workers on each shift; public.
    shift_names : sequence of str, optional
        Names of the shifts; those of a DataFrame `shifts` or a Series `wages` by default.

    Returns
    -------
    Model
        Its part ``"workers"`` has shape (k,), in fractions of workers. One record is a client, who
        owns one row.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, or numbers have the wrong sign.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import models, solve_exact
    >>> shifts = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> wanted = [[1, 1, 0, 0], [0, 0, 1, 1]]  # one client in the morning, one in the evening
    >>> lp = models.staffing([1.0, 1.2, 1.5], shifts, wanted, [4.0, 2.0])
    >>> lp.values(solve_exact(lp))["workers"]
    array([1., 2., 0.])
    """
    costs = column(wages, "wages", "the wage of each shift")
    k = len(costs)
    works = table(shifts, "shifts", "shifts by hours, one shift for each wage", (k, None))
    hour_count = works.shape[1]
    times = table(wanted, "wanted", "clients by hours, the hours of shifts", (None, hour_count))
    n = len(times)
    need = column(hours, "hours", "one number per client of wanted", n)
    scale = np.divide(1.0, need, out=np.zeros(n), where=need > 0)
    cover = np.einsum("nh,kh->nk", times, works) * -scale[:, None]  # a row from its client alone
    names_along("hours", ("shifts", shifts, 1), ("wanted", wanted, 1), ("at_least", at_least, 0))
    names_along("clients", ("wanted", wanted, 0), ("hours", hours, 0))
    read = names_along("shifts", ("wages", wages, 0), ("shifts", shifts, 0), ("most", most, 0))
    upper = each(most, "most", "the largest number on each shift", k, positive=True)
    sides = np.where(need > 0, -1.0, 0.0)
    public = np.zeros(0)
    if at_least is not None:
        public = each(at_least, "at_least", "workers on duty in each hour", hour_count)
    return Model(
        costs,
        np.vstack([cover, -works.T[: len(public)]]),
        np.concatenate([sides, -public]),
        private=np.arange(n + len(public)) < n,
        bounds=[(0.0, end) for end in upper],
        neighbours=ConstraintPrivate(),
        variable_names=labels(shift_names, "shift_names", k, "shift", read),
        name="staffing",
        parts=[("workers", (k,))],
    )


_ROUNDING = 1e-9


def cvar_portfolio(
    returns: Any,
    *,
    bound: float,
    beta: float = 0.95,
    expected: Any = None,
    target: float | None = None,
    risk_aversion: float | None = None,
    most: Any = 1.0,
    assets: Any = None,
) -> Model:
    """Choose the shares of assets whose mean loss in the worst scenarios is least.

    The scenarios are private: row i holds what each asset returned in one client's contract, say.
    The loss of weights w in it is -returns_i·w. Minimise the conditional value at risk, the mean of
    the worst 1 - beta of all losses, as Rockafellar and Uryasev (2000) write it::

        t + sum_i max(0, -returns_i·w - t) / ((1 - beta) n)

    over weights on the simplex and t, the value at risk. Each scenario is a soft row.

    Parameters
    ----------
    returns : array_like, shape (n, d)
        Of each asset in each scenario; private. Entries beyond `bound` are moved to it.
    bound : float
        Public bound on the size of a return: 0.2 for 20 %.
    beta : float
        Between 0 and 1: 0.95 for the worst 5 % of scenarios.
    expected : array_like, shape (d,), optional
        Public forecast of the return of each asset.
    target : float, optional
        Least expected return, ``expected·w >= target``: a public row that always holds.
    risk_aversion : float, optional
        With it the objective is to maximise ``expected·w - risk_aversion · CVaR``.
    most : float or array_like of shape (d,)
        Largest weight of each asset; public.
    assets : sequence of str, optional
        Names; those of a DataFrame `returns` by default.

    Returns
    -------
    Model
        Its parts are ``"weights"``, of shape (d,), and ``"value_at_risk"``, a number. One record
        is a scenario. No `s` is given to :func:`privlp.solve`: nothing is given up.

    Raises
    ------
    InvalidProblemError
        If shapes do not agree, or the weights cannot reach the target.
    InvalidParameterError
        If a number lies outside its domain, or `expected` is missing.

    Notes
    -----
    The mean return of private scenarios would be private too. So it is not in the program: what
    stands beside the risk is a public forecast.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import models, solve
    >>> rng = np.random.default_rng(0)
    >>> returns = 0.01 + rng.standard_t(4, (5000, 3)) * [0.01, 0.02, 0.04]
    >>> lp = models.cvar_portfolio(returns, bound=0.3, beta=0.9, assets=["bonds", "land", "shares"])
    >>> solution = solve(lp, eps=1.0, delta=1e-6, rng=0)
    >>> weights = lp.values(solution)["weights"]
    >>> bool(weights[0] > 0.7), round(float(weights.sum()), 6)
    (True, 1.0)
    """
    public_bound = positive(bound, "bound", finite=True)
    asked = f"beta must be {PROBABILITY}, got {shown(beta)}: 0.95 for the worst 5 %."
    require(is_probability(beta), asked, "beta")
    outcomes = table(returns, "returns", "scenarios by assets", signed=True).clip(
        -public_bound, public_bound
    )
    n, d = outcomes.shape
    assets_of = ("returns", returns, 1), ("expected", expected, 0), ("most", most, 0)
    read = names_along("assets", *assets_of)
    largest = each(most, "most", "the largest weight per asset", d, positive=True)
    forecast = _forecast(expected, target, risk_aversion, d)
    little = f"most sums to {largest.sum():g}: weights that sum to 1 would exceed it."
    require_data(largest.sum() >= 1 - _ROUNDING, little, "most")
    if target is not None:
        _require_reachable(forecast, target, largest)
    weight = 1.0 if risk_aversion is None else positive(risk_aversion, "risk_aversion", finite=True)
    # Weights sum to 1, and reach the target.
    rows, floor, ceiling = np.append(np.ones(d), 0.0)[None], [1.0], [1.0]
    if target is not None:
        rows = np.vstack([rows, np.append(forecast, 0.0)])
        floor, ceiling = [1.0, float(target)], [1.0, np.inf]
    traded = np.zeros(d) if risk_aversion is None else -forecast
    price = weight / ((1.0 - beta) * n)
    sign = 1.0 if risk_aversion is None else -1.0
    return Model(
        sign * np.append(traded, weight),
        np.vstack([rows, np.column_stack([-outcomes, -np.ones(n)])]),
        np.append(ceiling, np.zeros(n)),
        row_lower=np.append(floor, np.full(n, -np.inf)),
        private=np.arange(len(rows) + n) >= len(rows),
        penalty=np.append(np.full(len(rows), np.inf), np.full(n, price)),
        bounds=[*((0.0, min(end, 1.0)) for end in largest), (-public_bound, public_bound)],
        sense="min" if risk_aversion is None else "max",
        neighbours=ConstraintPrivate(),
        variable_names=[*labels(assets, "assets", d, "asset", read), "value at risk"],
        name="CVaR portfolio",
        parts=[("weights", (d,)), ("value_at_risk", ())],
        deciding=1.0 - beta,
    )


def _forecast(
    expected: Any, target: float | None, risk_aversion: float | None, d: int
) -> FloatArray:
    """The public forecast, (d,); required where something is asked of it."""
    unused = target is None and risk_aversion is None
    if expected is None and unused:
        return np.zeros(d)
    require(
        expected is not None,
        "target and risk_aversion need expected: a public forecast of each asset's return. The mean"
        " of the scenarios is private.",
        "expected",
    )
    given = "expected has no use without a target or a risk_aversion: give one of them."
    require(not unused, given, "expected")
    return column(expected, "expected", "one forecast per asset", d, signed=True)


def _require_reachable(forecast: FloatArray, target: float, largest: FloatArray) -> None:
    """Refuse a target above the best forecast of allowed weights."""
    finite = f"target must be a finite number, got {target!r}."
    require(math.isfinite(real(target, "target")), finite, "target")
    left, best = 1.0, 0.0
    for asset in np.argsort(-forecast):
        share = min(left, largest[asset])
        best, left = best + share * forecast[asset], left - share
    require_data(
        target <= best,
        f"target = {target:g} is out of reach: the best expected return of allowed weights is"
        f" {best:g}.",
        "target",
    )
