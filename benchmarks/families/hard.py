"""Families with hard private rows.

Seeds below 100 are for choosing constants; seeds from 1000 on are for reporting.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.families.instance import Instance
from privlp import LinearProgram, solve_exact


def map_covering(seed: int = 0, *, n: int = 20_000, d: int = 80, s: int | None = None) -> Instance:
    """Open sites on a map at least cost, so that each of n people is near enough of them.

    Sites and people live in the unit square; three quarters of the people live around 6 to 12
    centres. The entry is 1 where a person lies within a site's radius, uniform in 0.1-0.45; who
    lies in none gets the nearest site. A site costs 0.3 + radius^1.5 u, u uniform in 1-6. b = 1.
    s = n/40 by default.
    """
    rng = np.random.default_rng(seed)
    sites = rng.random((d, 2))
    radius = rng.uniform(0.1, 0.45, d)
    people = _people(rng, n)
    distance = np.linalg.norm(people[:, None] - sites, axis=2)
    near = distance <= radius
    near[np.arange(n), distance.argmin(axis=1)] |= ~near.any(axis=1)
    cost = 0.3 + radius**1.5 * rng.uniform(1, 6, d)
    lp = LinearProgram(
        cost, -sp.csc_array(near, dtype=float), -np.ones(n), name=f"map covering {n} x {d}"
    )
    return Instance(lp, n // 40 if s is None else s)


def _people(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """Places of n people: three quarters around a few centres, the others anywhere."""
    number = int(rng.integers(6, 13))
    centres, spread = rng.random((number, 2)), rng.uniform(0.02, 0.1, number)
    centre = rng.choice(number, n, p=rng.dirichlet(np.full(number, 2.0)))
    clustered = centres[centre] + spread[centre, None] * rng.normal(size=(n, 2))
    anywhere = rng.random((n, 2))
    return np.where(rng.random((n, 1)) < 0.75, np.clip(clustered, 0, 1), anywhere)


def diet(
    seed: int = 0, *, n: int = 20_000, d: int = 25, s: int | None = None, stock: bool = False
) -> Instance:
    """Feed n people from d foods at least cost: one row is what a person needs of one nutrient.

    People differ in what they need (log-normal) and in what they draw from each food. s = n/100 by
    default. With `stock`, public rows limit the use of five groups of foods, so that a mixture of
    the cheapest diet and an even one is feasible and the cheapest diet is not.
    """
    rng = np.random.default_rng(seed)
    nutrients = 8
    table = np.exp(rng.normal(0, 0.6, (nutrients, d))) * (rng.random((nutrients, d)) < 0.6)
    table[np.arange(nutrients), rng.integers(0, d, nutrients)] += 1
    kind = rng.integers(0, nutrients, n)
    A = table[kind] * rng.uniform(0.7, 1.3, (n, d))
    need = np.exp(rng.normal(0, 0.25, n)) * rng.uniform(2, 6, nutrients)[kind]
    cost = rng.uniform(0.5, 1.5, d) * (0.3 + table.mean(axis=0)) * np.exp(rng.normal(0, 0.3, d))
    lp = LinearProgram(cost, -A, -need, name=f"diet {n} x {d}")
    s = n // 100 if s is None else s
    if not stock:
        return Instance(lp, s)
    cheapest = solve_exact(lp).x
    even = np.full(d, (need / A.sum(axis=1)).max())
    group = rng.permutation(d) % 5
    use = np.equal.outer(np.arange(5), group).astype(float)
    limited = LinearProgram(
        cost,
        np.vstack([use, -A]),
        np.append(1.01 * use @ (0.5 * cheapest + 0.5 * even), -need),
        private=np.arange(5 + n) >= 5,
        name=f"diet with stock {n} x {d}",
    )
    return Instance(limited, s)


def random_covering(
    seed: int = 0, *, n: int = 50_000, d: int = 12, s: int | None = None
) -> Instance:
    """Cover n people at least cost: entries uniform in 0.2-1, costs in 1-3. s = n/100."""
    rng = np.random.default_rng(seed)
    lp = LinearProgram(
        rng.uniform(1, 3, d),
        -rng.uniform(0.2, 1, (n, d)),
        -np.ones(n),
        name=f"random covering {n} x {d}",
    )
    return Instance(lp, n // 100 if s is None else s)


def packing(
    seed: int = 0, *, n: int = 20_000, d: int = 30, s: int | None = None, upper: float = 1
) -> Instance:
    """Earn the most within n capacities: a fifth of A is filled, 0 <= x <= `upper`. s = n/40.

    The bound on x is about 8 times the largest x at the optimum; the bound on the earnings that
    follows is about 16 times the optimum.
    """
    rng = np.random.default_rng(seed)
    filled = rng.random((n, d)) < 0.2
    A = np.where(filled, rng.uniform(0.2, 1, (n, d)), 0.0) * np.exp(rng.normal(0, 0.3, (n, 1)))
    lp = LinearProgram(
        np.exp(rng.uniform(-0.7, 0.7, d)),
        sp.csc_array(A),
        rng.uniform(0.5, 1.5, n),
        bounds=(0, upper),
        sense="max",
        name=f"packing {n} x {d}",
    )
    return Instance(lp, n // 40 if s is None else s)


def needs(
    seed: int = 0, *, n: int = 20_000, d: int = 80, m: int = 100, s: int | None = None
) -> Instance:
    """Buy each of d products that is needed, at cost 1: half of them, by m people each.

    A row is x_j >= 1 for each of them; all other rows are empty. s = 4 m by default.
    """
    rng = np.random.default_rng(seed)
    needed = rng.permutation(d)[: d // 2]
    j = np.repeat(needed, m)
    A = sp.csc_array((-np.ones(len(j)), (np.arange(len(j)), j)), shape=(n, d))
    b = np.where(np.arange(n) < len(j), -1.0, 0.0)
    return Instance(LinearProgram(np.ones(d), A, b, name=f"needs {n} x {d}"), s or 4 * m)


def transport(
    seed: int = 0, *, n: int = 20_000, sources: int = 6, sinks: int = 8, s: int | None = None
) -> Instance:
    """Ship all supplies to sinks at least cost; each person asks for enough in a few sinks nearby.

    Public equalities: what leaves a source is its supply. A private row: a person's weighted sum
    of the inflows of one to three sinks is at least what the person asks. One public shipment
    meets every row. s = n/100. Nothing but the equalities bounds the cost.
    """
    rng = np.random.default_rng(seed)
    source, sink = rng.random((sources, 2)), rng.random((sinks, 2))
    cost = 0.1 + np.linalg.norm(source[:, None] - sink, axis=2)
    supply = rng.uniform(0.5, 1.5, sources)
    inflow = supply.sum() * rng.dirichlet(np.full(sinks, 3.0))
    near = np.argsort(np.linalg.norm(_people(rng, n)[:, None] - sink, axis=2), axis=1)[:, :3]
    weight = np.zeros((n, sinks))
    used = np.arange(3) < rng.integers(1, 4, (n, 1))
    weight[np.arange(n)[:, None], near] = np.where(used, rng.uniform(0.3, 1, (n, 3)), 0.0)
    asked = (weight @ inflow) * rng.beta(4, 3, n)
    leaves = np.kron(np.eye(sources), np.ones(sinks))
    lp = LinearProgram(
        cost.ravel(),
        sp.vstack([sp.csc_array(leaves), -sp.csc_array(np.tile(weight, sources))]),
        np.append(supply, -asked),
        row_lower=np.append(supply, np.full(n, -np.inf)),
        private=np.arange(sources + n) >= sources,
        name=f"transport {n} x {sources * sinks}",
    )
    return Instance(lp, n // 100 if s is None else s)


def portfolio(
    seed: int = 0, *, n: int = 10_000, d: int = 10, s: int | None = None, box: float = 1
) -> Instance:
    """Hold assets so that t, the largest loss in all scenarios but s, is as small as possible.

    Variables: d weights on the simplex (a public equality) and t, free in a public box that is
    about 10 times too large. A private row: the loss in a scenario is at most t. s = n/20.
    """
    rng = np.random.default_rng(seed)
    lp = LinearProgram(
        np.append(np.zeros(d), 1.0),
        np.vstack(
            [np.append(np.ones(d), 0.0), np.column_stack([-scenarios(rng, n, d), -np.ones(n)])]
        ),
        np.append(1.0, np.zeros(n)),
        row_lower=np.append(1.0, np.full(n, -np.inf)),
        private=np.arange(n + 1) >= 1,
        bounds=[(0, None)] * d + [(-box, box)],
        name=f"portfolio {n} x {d + 1}",
    )
    return Instance(lp, n // 20 if s is None else s)


def scenarios(rng: np.random.Generator, n: int, d: int) -> npt.NDArray[np.float64]:
    """Returns (n, d) of d assets with two common factors and heavy tails, within -0.9 and 0.9."""
    risk = rng.uniform(0.03, 0.15, d)
    loading = rng.uniform(-0.3, 1, (2, d))
    shock = rng.standard_t(4, (n, 2)) @ loading + rng.standard_t(4, (n, d))
    return np.clip(0.4 * risk + 0.6 * risk * shock, -0.9, 0.9)
