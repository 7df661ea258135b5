"""Families of linear programs for benchmarks: made from a seed, sized as asked, with known optima."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privlp import LinearProgram


@dataclass(frozen=True)
class Instance:
    """A program, its optimal value, and an optimal point."""

    lp: LinearProgram
    opt: float
    x: np.ndarray


def covering(seed: int = 0, *, n: int = 20_000, d: int = 80, good: int = 10, per_row: int = 3, margin: float = 2.5) -> Instance:
    """Cover n people at least cost from d services: minimise c·x subject to A_i x >= 1 for each person, entries in [0, 1].

    `good` services form the optimum; each person can use `per_row` of them, chosen by popularity, and a random third of the
    others, which cost more for what they give (by `margin` on average). Rows are scaled so that each is tight at the optimum;
    costs are the services' total use at equal prices per person, so the dual prices opt/n certify the optimum. Costs and row
    norms are heterogeneous, the optimum is sparse, and the uniform point leaves people about 70 % uncovered.
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
    A[:, others] = np.where(present, rng.random((n, d - good)), 0.0) * (popularity[others] / popularity.max())
    c = opt / n * A.sum(axis=0)
    c[others] *= 1 + margin * rng.uniform(0.6, 1.4, d - good)
    return Instance(LinearProgram(c, -A, -np.ones(n), name=f"covering {n} x {d}"), opt, x)
