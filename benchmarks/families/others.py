"""Packing, games, classifiers and programs with public equalities; sizes drawn from the seed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.families import hard
from benchmarks.families.covering import filled
from benchmarks.families.instance import Instance
from benchmarks.families.sizes import drawn, log_uniform
from privlp import LinearProgram
from svm_models import hard_margin_lp

#: Filled entries where a private solve takes longest.
_FEWER = 200_000


def packing(seed: int) -> Instance:
    """Earn the most within n capacities of different size; costs and entries are log-normal."""
    rng = np.random.default_rng([6, seed])
    n, d, density = drawn(rng, density=(0.05, 0.5))
    lp = LinearProgram(
        np.exp(rng.normal(0, rng.uniform(0.2, 1), d)),
        filled(rng, n, d, density, spread=rng.uniform(0, 0.7)),
        rng.uniform(0.5, 1.5, n),
        sense="max",
        name=f"packing {n} x {d}",
    )
    return Instance(lp, n // 40)


def game(seed: int) -> Instance:
    """A zero-sum game against n opponents, in the form whose optimum is one over its value.

    Losses lie in 0.1 to 1.1. Maximise sum y subject to A y <= 1, y >= 0: then y over its sum is a
    strategy that loses at most 1/sum y. Some strategies are better than others.
    """
    rng = np.random.default_rng([7, seed])
    n, d, _ = drawn(rng, variables=(5, 300))
    better = rng.beta(2, 2, d) * rng.uniform(0.2, 0.9)
    losses = 0.1 + rng.random((n, d)) ** (1 + better)
    lp = LinearProgram(np.ones(d), losses, np.ones(n), sense="max", name=f"game {n} x {d}")
    return Instance(lp, n // 40)


def classification(seed: int) -> Instance:
    """Separate n noisy labelled points by a rule of a drawn 1-norm: an LP-SVM.

    Labels are noisy, so no rule satisfies all rows; the 1-norm stands for the optimum.
    """
    rng = np.random.default_rng([8, seed])
    n, p, _ = drawn(rng, variables=(5, 200), entries=_FEWER)
    X = rng.normal(size=(n, p)) * np.exp(rng.normal(0, rng.uniform(0, 1), p))
    weights = np.where(rng.random(p) < rng.uniform(0.1, 1), rng.normal(size=p), 0.0)
    weights[0] += 1
    score = X @ weights
    noise = log_uniform(rng, 0.05, 0.5) * score.std() * rng.normal(size=n)
    y = np.where(score + noise > 0, 1, -1)
    lp = hard_margin_lp(X / np.linalg.norm(X, axis=1, keepdims=True), y)
    return Instance(lp, n // 40, given=round(log_uniform(rng, 10, 80), 3))


def transport(seed: int) -> Instance:
    """Ship all supplies to sinks; public equalities bound the cost, people ask for enough nearby.

    The program of :func:`benchmarks.families.hard.transport` in drawn sizes.
    """
    rng = np.random.default_rng([9, seed])
    sources, sinks = int(rng.integers(2, 13)), int(rng.integers(4, 17))
    n, _, _ = drawn(rng, variables=(sources * sinks,) * 2, density=(0.25, 0.25), entries=_FEWER)
    return Instance(hard.transport(seed, n=n, sources=sources, sinks=sinks).lp, n // 40)


def capacity(seed: int) -> Instance:
    """Send each commodity over its paths at least cost, within n private capacities.

    Public equalities: the shares of a commodity add up to 1. A row is the load of one owner. One
    random routing leaves every owner some room.
    """
    rng = np.random.default_rng([10, seed])
    commodities, paths = int(rng.integers(3, 31)), int(rng.integers(2, 5))
    d = commodities * paths
    n, _, density = drawn(rng, density=(0.05, 0.4), variables=(d, d), entries=_FEWER)
    A = filled(rng, n, d, density, spread=0.5)
    routing = rng.dirichlet(np.ones(paths), commodities).ravel()
    capacities = (A @ routing) * (1 + rng.uniform(0.05, 0.4) * rng.exponential(size=n))
    shares = np.kron(np.eye(commodities), np.ones(paths))
    lp = LinearProgram(
        np.exp(rng.normal(0, 0.5, d)),
        sp.vstack([sp.csc_array(shares), A]),
        np.append(np.ones(commodities), capacities),
        row_lower=np.append(np.ones(commodities), np.full(n, -np.inf)),
        private=np.arange(commodities + n) >= commodities,
        bounds=(0, 1),
        name=f"capacity {n} x {d}",
    )
    return Instance(lp, n // 40)


def fairness(seed: int) -> Instance:
    """Divide a budget so that nobody gets less than a share of the average, each row weighted.

    Minimise the cost of x on the simplex (a public equality). A row says w_i (u_i - phi m)·x >= 0:
    u_i is what a person gets from each project, m a public mean, w_i a weight from 1/10 to 10. One
    public division of the budget satisfies all rows.
    """
    rng = np.random.default_rng([11, seed])
    n, d, _ = drawn(rng, variables=(5, 100), entries=_FEWER)
    gain = rng.beta(1.5, 1.5, (n, d)) + 0.1
    mean, even = np.full(d, 0.6) + rng.normal(0, 0.03, d), rng.dirichlet(np.full(d, 5.0))
    phi = 0.98 * float((gain @ even).min() / (mean @ even))
    weight = np.exp(rng.uniform(-np.log(10), np.log(10), (n, 1)))
    lp = LinearProgram(
        np.exp(rng.normal(0, 0.5, d)),
        np.vstack([np.ones(d), -weight * (gain - phi * mean)]),
        np.append(1.0, np.zeros(n)),
        row_lower=np.append(1.0, np.full(n, -np.inf)),
        private=np.arange(n + 1) >= 1,
        name=f"fairness {n} x {d}",
    )
    return Instance(lp, n // 40)
