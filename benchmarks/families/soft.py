"""Families whose private rows are soft: a record has a loss, not a demand.

Each comes as a LinearProgram with prices of violation, and as one writes it in CVXPY
(``Instance.natural``). Seeds below 100 are for choosing constants; seeds from 1000 on are for
reporting.
"""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from benchmarks.families.hard import scenarios
from benchmarks.families.instance import Instance
from privlp import LinearProgram


def l1_regression(seed: int = 0, *, n: int = 5_000, d: int = 8, wide: float = 10) -> Instance:
    """Mean absolute error of a linear fit, coefficients free in a box `wide` times too large."""
    X, y, box = _regression(seed, n, d, wide)
    rows = {"A": X, "b": y, "row_lower": y, "penalty": 1 / n, "name": f"L1 regression {n} x {d}"}
    return _boxed(box, lambda w: cp.norm1(X @ w - y) / n, **rows)


def quantile_regression(
    seed: int = 0, *, n: int = 5_000, d: int = 8, wide: float = 10, quantile: float = 0.9
) -> Instance:
    """Mean pinball loss of a linear fit: a soft row per record, with two prices."""
    X, y, box = _regression(seed, n, d, wide)
    penalty = np.tile([(1 - quantile) / n, quantile / n], (n, 1))
    rows = {"A": -X, "b": -y, "row_lower": -y, "penalty": penalty}

    def pinball(w: cp.Variable) -> cp.Expression:
        r = y - X @ w
        return cp.sum(cp.maximum(quantile * r, (quantile - 1) * r)) / n

    return _boxed(box, pinball, name=f"quantile regression {n} x {d}", **rows)


def hinge(seed: int = 0, *, n: int = 5_000, d: int = 8, wide: float = 10) -> Instance:
    """Mean hinge loss of a linear rule; labels are -1 or 1 and noisy."""
    X, y, box = _regression(seed, n, d, wide)
    signed = np.where(y > np.median(y), 1, -1)[:, None] * X
    rows = {"A": -signed, "b": -np.ones(n), "penalty": 1 / n, "name": f"hinge loss {n} x {d}"}
    return _boxed(box, lambda w: cp.sum(cp.pos(1 - signed @ w)) / n, **rows)


def _boxed(box: float, loss: Callable[[cp.Variable], cp.Expression], **rows: Any) -> Instance:
    """Soft rows alone, and as CVXPY minimises their loss; coefficients are in a box."""
    d = rows["A"].shape[1]

    def natural() -> Any:
        return cp.Problem(cp.Minimize(loss(cp.Variable(d, name="w", bounds=[-box, box]))))

    return Instance(LinearProgram(np.zeros(d), bounds=(-box, box), **rows), None, natural=natural)


def cvar(
    seed: int = 0, *, n: int = 5_000, d: int = 10, level: float = 0.95, box: float = 1
) -> Instance:
    """Least mean loss of a portfolio in the worst 1 - `level` of n scenarios.

    Variables: weights on the simplex and t, the value at risk, free in a public box.
    """
    rng = np.random.default_rng(seed)
    R = scenarios(rng, n, d)
    price = 1 / ((1 - level) * n)
    lp = LinearProgram(
        np.append(np.zeros(d), 1.0),
        np.vstack([np.append(np.ones(d), 0.0), np.column_stack([-R, -np.ones(n)])]),
        np.append(1.0, np.zeros(n)),
        row_lower=np.append(1.0, np.full(n, -np.inf)),
        private=np.arange(n + 1) >= 1,
        penalty=np.append(np.inf, np.full(n, price)),
        bounds=[(0, None)] * d + [(-box, box)],
        name=f"CVaR {n} x {d + 1}",
    )

    def natural() -> Any:
        w, t = cp.Variable(d, name="w", nonneg=True), cp.Variable(name="t", bounds=[-box, box])
        return cp.Problem(cp.Minimize(t + cp.sum(cp.pos(-R @ w - t)) * price), [cp.sum(w) == 1])

    return Instance(lp, None, natural=natural)


def _regression(
    seed: int, n: int, d: int, wide: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
    """Features in -1 to 1 with an intercept, answers with skewed noise, and the box."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, d - 1))])
    w = rng.uniform(-1, 1, d)
    y = X @ w + rng.laplace(0, 0.4, n) + rng.exponential(0.2, n)
    return X, y, wide
