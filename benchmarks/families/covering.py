"""Covering programs whose sizes and parameters are drawn from the seed.

All ask for A x >= b with A >= 0, so a large enough x satisfies every row.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.families import hard
from benchmarks.families.instance import Instance
from benchmarks.families.sizes import drawn, log_uniform
from privlp import LinearProgram

FloatArray = npt.NDArray[np.float64]


def random_covering(seed: int) -> Instance:
    """Filled entries, costs and needs are log-uniform or log-normal, of drawn spreads."""
    rng = np.random.default_rng([1, seed])
    return _random(rng, *drawn(rng, density=(0.02, 1.0)))


def many_rows(seed: int) -> Instance:
    """As :func:`random_covering`, with 300,000 to 1,000,000 rows and few variables."""
    rng = np.random.default_rng([2, seed])
    sizes = drawn(
        rng, density=(0.4, 1.0), rows=(300_000, 1_000_000), variables=(5, 12), entries=2_000_000
    )
    return _random(rng, *sizes)


def _random(rng: np.random.Generator, n: int, d: int, density: float) -> Instance:
    A = filled(rng, n, d, density, spread=rng.uniform(0, 1))
    cost = np.exp(rng.normal(0, rng.uniform(0, 1), d))
    need = np.exp(rng.normal(0, rng.uniform(0, 0.5), n))
    lp = LinearProgram(cost, -A, -need, name=f"random covering {n} x {d}")
    return Instance(lp, n // 40)


def filled(
    rng: np.random.Generator, n: int, d: int, density: float, *, spread: float
) -> sp.csc_array:
    """An (n, d) matrix of log-normal entries of this spread; no row is empty.

    Columns are filled at rates that differ by a factor of up to 10.
    """
    rate = np.exp(rng.uniform(-1.15, 1.15, d))
    rate = np.minimum(1, density * rate / rate.mean())
    always = rng.integers(0, d, n)  # a column in which the row is filled anyway
    rows = [np.flatnonzero((rng.random(n) < rate[j]) | (always == j)) for j in range(d)]
    ends = np.append(0, np.cumsum([len(filled) for filled in rows]))
    values = np.exp(rng.normal(0, spread, ends[-1]))
    return sp.csc_array((values, np.concatenate(rows), ends), shape=(n, d))


def diet(seed: int) -> Instance:
    """A diet whose costs differ by factors of up to 1,000, log-normally."""
    rng = np.random.default_rng([3, seed])
    n, d, _ = drawn(rng, variables=(5, 200))
    lp = hard.diet(seed, n=n, d=d).lp
    cost = lp.c * np.exp(rng.normal(0, rng.uniform(0.5, 1.5), d))
    return Instance(LinearProgram(cost, lp.A, lp.b, name=f"diet {n} x {d}"), n // 40)


def near_infeasible(seed: int) -> Instance:
    """Random covering with public upper bounds, 1 % to 10 % above those that leave no point."""
    rng = np.random.default_rng([4, seed])
    n, d, density = drawn(rng, density=(0.05, 1.0), variables=(5, 300))
    A = filled(rng, n, d, density, spread=0.3)
    profile = np.exp(rng.normal(0, 0.5, d))
    least = float((1 / (A @ profile)).max())  # least x on the ray that satisfies all rows
    upper = (1 + log_uniform(rng, 0.01, 0.1)) * least * profile
    lp = LinearProgram(
        np.exp(rng.normal(0, 0.7, d)),
        -A,
        -np.ones(n),
        bounds=np.column_stack([np.zeros(d), upper]),
        name=f"near-infeasible {n} x {d}",
    )
    return Instance(lp, n // 40)


def roster(seed: int) -> Instance:
    """Hire people for shifts, so that each of n clients is served in a window of the week.

    A shift starts at a full hour and lasts 4 to 12 hours; it costs its length, more at night, and
    has a skill. The entry is the share of the client's window that the shift covers, times the
    skill. Windows crowd around two peaks a day. A client asks for 0.5 to 2 people.
    """
    rng = np.random.default_rng([5, seed])
    n, d, _ = drawn(rng, density=(0.06, 0.06), variables=(30, 500))
    week, length = 168, rng.integers(4, 13, d)
    start = np.sort(rng.integers(0, week, d))
    skill = rng.uniform(0.5, 1.5, d)
    peak = rng.choice([9.0, 18.0], n) + rng.normal(0, rng.uniform(1, 3), n)
    opens = (24 * rng.integers(0, 7, n) + peak) % week
    window = rng.uniform(1, 6, n)
    # A shift starts this many hours after the window opens, at most half a week before or after.
    delay = (start - opens[:, None] + week / 2) % week - week / 2
    covered = np.minimum(delay + length, window[:, None]) - np.maximum(delay, 0)
    A = skill * np.maximum(covered, 0) / window[:, None]
    nearest = np.abs(delay + length / 2 - window[:, None] / 2).argmin(axis=1)
    unserved = ~(A > 0).any(axis=1)
    A[unserved, nearest[unserved]] = 1.0  # the nearest shift stays longer
    night = ((start + length / 2) % 24 < 6) | ((start + length / 2) % 24 > 22)
    cost = length * skill ** rng.uniform(0.5, 1.5) * np.where(night, 1.5, 1.0)
    lp = LinearProgram(cost, -sp.csc_array(A), -rng.uniform(0.5, 2.0, n), name=f"roster {n} x {d}")
    return Instance(lp, n // 40)
