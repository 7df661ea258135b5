"""Private shadow prices of public rows beside exact ones, and what it costs to ask for them.

Run with ``python -m benchmarks.shadow_prices``. A few minutes of one core.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

import privlp
from benchmarks.families.instance import loss
from benchmarks.published import write_page
from benchmarks.tables import said
from privlp import LinearProgram

EPSILONS, DELTA, SEEDS = (0.5, 1.0, 4.0), 1e-6, range(1000, 1008)
_LIMITS, _EACH = 4, 5
_SHARE = 0.05


def shortages(n: int, seed: int) -> LinearProgram:
    """Supplies for n people whose shortages have a price, within four public limits."""
    rng = np.random.default_rng(seed)
    d = _LIMITS * _EACH
    limits = np.kron(np.eye(_LIMITS), np.ones(_EACH))
    return LinearProgram(
        rng.uniform(0.5, 1.0, d) * n / 10,
        np.vstack([-rng.uniform(0, 1, (n, d)) * (rng.random((n, d)) < 0.5), limits]),
        np.append(-rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, _LIMITS)),
        penalty=np.append(np.ones(n), np.full(_LIMITS, np.inf)),
        private=np.arange(n + _LIMITS) < n,
        bounds=(0, 5),
    )


def needs(n: int, seed: int) -> LinearProgram:
    """Supplies that cover the needs of n people at least cost, the cheap half within limits."""
    rng = np.random.default_rng(seed)
    d = _LIMITS * _EACH
    cheap = np.repeat([True, True, False, False], _EACH)
    limits = np.kron(np.eye(_LIMITS), np.ones(_EACH))[: _LIMITS // 2]
    return LinearProgram(
        rng.uniform(1.0, 1.2, d) * np.where(cheap, 1.0, 2.0),
        np.vstack([-rng.uniform(0.2, 1.0, (n, d)), limits]),
        np.append(-rng.uniform(0.5, 1.5, n), rng.uniform(0.3, 0.8, _LIMITS // 2)),
        private=np.arange(n + _LIMITS // 2) < n,
        bounds=(0, 5),
    )


PROGRAMS: dict[str, tuple[Callable[[int, int], LinearProgram], int, bool]] = {
    "shortages, 20,000 x 20, 4 limits": (shortages, 20_000, False),
    "shortages, 5,000 x 20, 4 limits": (shortages, 5_000, False),
    "needs, 20,000 x 20, 2 limits": (needs, 20_000, True),
    "needs, 5,000 x 20, 2 limits": (needs, 5_000, True),
}


def exact_prices(lp: LinearProgram, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Prices of the public rows, without the private rows that x misses."""
    if lp.penalty is not None:
        return np.asarray(privlp.solve_exact(lp).dual)[~lp.private]
    short = np.asarray(lp.A @ x - lp.b)
    kept = ~lp.private | (short <= 1e-6 * np.abs(lp.b))
    fields = {"row_lower": lp.row_lower[kept], "bounds": lp.bounds, "sense": lp.sense}
    without = LinearProgram(lp.c, lp.A[np.flatnonzero(kept)], lp.b[kept], **fields)
    return np.asarray(privlp.solve_exact(without).dual)[~lp.private[kept]]


def measured(
    make: Callable[[int, int], LinearProgram], n: int, hard: bool, eps: float, seed: int
) -> tuple[float, float, float]:
    """The error of the prices as a share of their sum, and merits with and without them."""
    lp = make(n, seed)
    s = round(_SHARE * n) if hard else None
    with_prices, without = (
        privlp.solve(lp, eps, DELTA, s, prices=prices, rng=seed) for prices in (True, False)
    )
    exact = exact_prices(lp, with_prices.x)
    off = float(np.abs(with_prices.prices[~lp.private] - exact).sum() / np.abs(exact).sum())
    return off, merit(lp, with_prices.x), merit(lp, without.x)


def merit(lp: LinearProgram, x: npt.NDArray[np.float64]) -> float:
    """Cost with shortages, or the cost alone where rows are hard."""
    return loss(lp, x) if lp.penalty is not None else lp.objective(x)


def main() -> None:
    rows: list[list[Any]] = []
    cells = [(name, eps) for name in PROGRAMS for eps in EPSILONS]
    for name, eps in tqdm(cells, unit="cell", disable=None):
        make, n, hard = PROGRAMS[name]
        with warnings.catch_warnings(action="ignore", category=privlp.MostlyNoiseWarning):
            found = [measured(make, n, hard, eps, seed) for seed in SEEDS]
        off, with_prices, without = np.array(found).T
        errors = said(off, "{:.3f} ± {:.3f}"), f"{off.max():.3f}"
        rows.append([name, f"{eps:g}", *errors, said(with_prices / without)])
    headers = ["program", "ε", "error of prices", "largest", "cost with / without"]
    write_page("shadow_prices", (headers, rows))


if __name__ == "__main__":
    main()
