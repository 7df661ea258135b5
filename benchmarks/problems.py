"""Families of linear programs, made from a seed, sized as asked, with known optima."""

from dataclasses import dataclass

import numpy as np

from privlp import LinearProgram, solve_exact


@dataclass(frozen=True)
class Instance:
    """A program and a public objective value to solve for, the optimum where it is known."""

    lp: LinearProgram
    opt: float


def covering(seed: int = 0, *, n: int = 20_000, d: int = 80) -> Instance:
    """Cover n people at least cost from d services."""
    rng = np.random.default_rng(seed)
    opt, good, per_row, margin = 10.0, 10, 3, 2.5
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
    """Earn the most within n capacities: maximise c·x subject to A x <= b."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, d)) < 0.1, rng.random((n, d)), 0.0)
    A *= np.exp(rng.normal(0, 0.5, (n, 1)))
    c, b = np.exp(rng.uniform(-1, 1, d)), rng.uniform(0.5, 1.5, n)
    lp = LinearProgram(c, A, b, sense="max", name=f"packing {n} x {d}")
    return Instance(lp, solve_exact(lp).objective)
