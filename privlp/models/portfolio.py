"""A portfolio of least risk over scenarios that belong to people."""

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
from privlp.models.model import Model, column, each, labels, names_along, table
from privlp.relations import ConstraintPrivate

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
    read = names_along("assets", ("returns", returns, 1), ("expected", expected, 0))
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
