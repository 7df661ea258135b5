"""Families of linear programs, made from a seed, sized as asked, with known optima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from privlp import LinearProgram, solve_exact
from svm_models import hard_margin_lp


@dataclass(frozen=True)
class Instance:
    """A program and a public objective value to solve for, the optimum where it is known."""

    lp: LinearProgram
    opt: float


def covering(
    seed: int = 0,
    *,
    n: int = 20_000,
    d: int = 80,
    good: int = 10,
    per_row: int = 3,
    margin: float = 2.5,
) -> Instance:
    """Cover n people at least cost from d services.

    Minimise c·x subject to A_i x >= 1 for each person, entries in [0, 1].

    `good` services form the optimum; each person can use `per_row` of them, chosen by popularity,
    and a random third of the others, which cost more for what they give (by `margin` on average).
    Rows are scaled so that each is tight at the optimum; costs are the services' total use at equal
    prices per person, so the dual prices opt/n certify the optimum. Costs and row norms are
    heterogeneous, the optimum is sparse, and the uniform point leaves people about 70 % uncovered.
    """
    rng = np.random.default_rng(seed)
    opt = 10.0
    best = np.sort(rng.permutation(d)[:good])
    others = np.setdiff1d(np.arange(d), best)
    popularity = np.exp(rng.uniform(0, np.log(10), d))
    appeal = rng.gumbel(size=(n, good)) + 0.5 * np.log(popularity[best])
    usable = np.argsort(-appeal, axis=1)[:, :per_row]
    A = np.zeros((n, d))
    A[np.arange(n)[:, None], best[usable]] = rng.uniform(0.3, 1.0, (n, per_row))
    x = np.zeros(d)
    x[best] = 1.5 * np.exp(rng.uniform(0, np.log(4), good))
    A /= (A @ x)[:, None]
    present = rng.random((n, d - good)) < 0.3
    A[:, others] = np.where(present, rng.random((n, d - good)), 0.0) * (
        popularity[others] / popularity.max()
    )
    c = opt / n * A.sum(axis=0)
    c[others] *= 1 + margin * rng.uniform(0.6, 1.4, d - good)
    return Instance(LinearProgram(c, -A, -np.ones(n), name=f"covering {n} x {d}"), opt)


def packing(seed: int = 0, *, n: int = 20_000, d: int = 60) -> Instance:
    """Earn the most within n capacities: maximise c·x subject to A x <= b.

    A tenth of A is filled, and rows are of very different size.
    """
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, d)) < 0.1, rng.random((n, d)), 0.0) * np.exp(
        rng.normal(0, 0.5, (n, 1))
    )
    lp = LinearProgram(
        np.exp(rng.uniform(-1, 1, d)),
        A,
        rng.uniform(0.5, 1.5, n),
        sense="max",
        name=f"packing {n} x {d}",
    )
    return Instance(lp, solve_exact(lp).objective)


def game(seed: int = 0, *, n: int = 20_000, d: int = 50) -> Instance:
    """Find a mixed strategy of value 0 against n opponents: A x <= 0, sum x = 1.

    Some pure strategies are better than others.
    """
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 1, (n, d))
    A[:, :5] -= 0.3 * (rng.random((n, 5)) < 0.6)
    return Instance(LinearProgram(np.ones(d), A, np.zeros(n), name=f"game {n} x {d}"), 1.0)


def classification(seed: int = 0, *, n: int = 20_000, p: int = 50) -> Instance:
    """Separate n noisy labelled points on the sphere by a rule of 1-norm 40.

    This is the hard-margin support vector machine.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(0, 0.7, p))
    weights = np.where(rng.random(p) < 0.2, rng.normal(size=p), 0.0)
    y = np.where(X @ weights + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return Instance(hard_margin_lp(X / np.linalg.norm(X, axis=1, keepdims=True), y), 40.0)


def multicommodity(
    seed: int = 0,
    *,
    nodes: int = 14,
    commodities: int = 25,
    paths: int = 4,
    hours: int = 96,
    slack: float = 0.1,
) -> Instance:
    """Route commodities over given paths of a random network at least cost.

    The capacity of each link at each hour is private.

    x is the share of a commodity that takes each of its `paths` short paths; public: shares of a
    commodity add up to 1. One private row is the load of one link in one of `hours`, in which the
    demand of each commodity varies, over what its owner has to spare then. Capacities exceed the
    load of one random routing by `slack` on average, so that some routing fits and few are cheap.
    """
    rng = np.random.default_rng(seed)
    place = rng.random((nodes, 2))
    distance = np.linalg.norm(place[:, None] - place, axis=2)
    order = rng.permutation(nodes)
    near = [(i, int(j)) for i in range(nodes) for j in np.argsort(distance[i])[1:4]]
    links = {
        (min(a, b), max(a, b))
        for a, b in [*near, *zip(order.tolist(), np.roll(order, 1).tolist(), strict=True)]
    }
    arcs = [arc for link in sorted(links) for arc in (link, link[::-1])]
    length = np.array([distance[arc] for arc in arcs])
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < commodities:
        a, b = rng.choice(nodes, 2, replace=False).tolist()
        pairs.add((a, b))
    uses, owner = [], []
    for k, (a, b) in enumerate(sorted(pairs)):
        found: set[frozenset[int]] = set()
        for trial in range(200):
            noisy = length * np.exp(rng.normal(0, 0.6, len(arcs)) * (trial > 0))
            found.add(_shortest_path(arcs, noisy, a, b))
            if len(found) == paths:
                break
        for path in sorted(found, key=sorted):
            uses.append([e in path for e in range(len(arcs))])
            owner.append(k)
    use, commodity = np.array(uses, dtype=float).T, np.array(owner)
    price = length @ use
    use = use[use.any(axis=1)]
    size = np.exp(rng.normal(0, 0.7, commodities))
    demand = size * np.exp(rng.normal(0, 0.3, (hours, commodities)))
    cheapest = np.array([price[commodity == k].min() for k in range(commodities)])
    share = rng.exponential(size=len(price)) * np.exp(-3 * (price / cheapest[commodity] - 1))
    share /= np.bincount(commodity, share)[commodity]
    A = (use[:, None, :] * demand[:, commodity]).reshape(-1, len(price))
    load = A @ share
    capacity = load * (1 + slack * rng.exponential(size=len(load))) + 0.1 * load.mean()
    shares = np.equal.outer(np.arange(commodities), commodity).astype(float)
    lp = LinearProgram(
        price * size[commodity],
        np.vstack([shares, A / capacity[:, None]]),
        np.ones(commodities + len(load)),
        row_lower=np.repeat([1.0, -np.inf], [commodities, len(load)]),
        private=np.arange(commodities + len(load)) >= commodities,
        bounds=(0, 1),
        name=f"multicommodity {len(load)} x {len(price)}",
    )
    return Instance(lp, solve_exact(lp).objective)


def _shortest_path(
    arcs: list[tuple[int, int]], length: np.ndarray, start: int, end: int
) -> frozenset[int]:
    """The arcs of the shortest path."""
    tails, heads = np.transpose(arcs)
    network = csr_array((length, (tails, heads)), shape=(tails.max() + 1,) * 2)
    via = dijkstra(network, indices=start, return_predecessors=True)[1]
    path = []
    while end != start:
        path.append(arcs.index((int(via[end]), end)))
        end = int(via[end])
    return frozenset(path)
