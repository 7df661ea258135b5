"""Programs that several test files share. Those with planted numbers: ``planted/programs.py``."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from privlp import Budget, InvalidParameterError, LinearProgram
from privlp.methods import METHODS
from privlp.methods.auto import protecting
from privlp.methods.tightened.measured import MeasuredSlack, OneMargin
from privlp.methods.tightened.method import QuantileNoise
from privlp.methods.tightened.noise import TruncatedGaussian, TruncatedLaplace, TruncatedSupNorm
from privlp.methods.tightened.weighted import WeightedNoise

INF = float("inf")


@contextmanager
def refused_for_free(message, error=InvalidParameterError):
    """A refusal before anything is charged to the budget that it gives."""
    budget = Budget(1000.0, 0.5)
    with pytest.raises(error, match=message):
        yield budget
    assert budget.spent() == 0
    assert not budget.entries


def covering(n=300, d=5, *, costs=None, least=0.2, seed=0, **fields):
    """Least cost so that all needs, between `least` and 1, are met; random costs by default."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.5, 2, d) if costs is None else costs
    return LinearProgram(costs, -rng.uniform(least, 1, (n, len(costs))), -np.ones(n), **fields)


def tight_covering(n=4000, d=10, *, seed=0, **fields):
    """Every row is tight at one point, which is optimal; half of the entries are next to zero."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.5, 1.5, d)
    A = rng.uniform(0, 1, (n, d)) * (rng.random((n, d)) < 0.5) + 1e-3
    A /= (A @ x)[:, None]
    return LinearProgram(A.sum(axis=0) / n, -A, -np.ones(n), **fields)


#: Small programs of every form, whose optima are found by hand or by HiGHS.
KNOWN = {
    "covering": {"c": [1, 2], "A": [[-1, -1], [-1, -3]], "b": [-2, -3]},
    "degenerate": {
        "c": [1, 1],
        "A": [[-1, -1], [-1, -1], [-2, -2], [-1, 0]],
        "b": [-1, -1, -2, -0.5],
    },
    "maximise": {
        "c": [3, 5],
        "A": [[1, 0], [0, 2], [3, 2]],
        "b": [4, 12, 18],
        "sense": "max",
        "bounds": (0, 20),
    },
    "at least": {"c": [1, 2], "A": [[1, 1], [1, 3]], "b": [INF, INF], "row_lower": [2, 3]},
    "ranges": {"c": [1, 2], "A": [[1, 1], [1, 3]], "b": [4, 12], "row_lower": [2, 3]},
    "lower bounds and offset": {
        "c": [1, 2],
        "A": [[-1, -1], [-1, -3]],
        "b": [-4, -7],
        "bounds": (1, None),
        "offset": 5.0,
    },
    "mirrored variable": {
        "c": [1, -2],
        "A": [[-1, 1], [-1, 3]],
        "b": [-2, -3],
        "bounds": [(0, None), (None, 0)],
    },
    "public equality": {
        "c": [1, 2, 3],
        "A": [[1, 1, 1], [-1, -3, 0]],
        "b": [2, -3],
        "row_lower": [2, -INF],
        "private": [1],
    },
    "private equality": {
        "c": [1, 2, 3],
        "A": [[1, 1, 1], [-1, -3, 0]],
        "b": [2, -3],
        "row_lower": [2, -INF],
    },
    "public and private rows": {
        "c": [1, 2],
        "A": [[-1, -1], [-1, -3], [-1, 0]],
        "b": [-2, -3, -0.1],
        "private": [0, 1],
    },
    "fixed variable": {
        "c": [1, 2, 7],
        "A": [[-1, -1, 0.5], [-1, -3, 0]],
        "b": [-2, -3],
        "bounds": [(0, None), (0, None), (2, 2)],
    },
    "free variable": {
        "c": [1, 2],
        "A": [[-1, -1], [-1, 1], [1, 0], [-1, 0]],
        "b": [-2, 1, 5, 3],
        "bounds": [(None, None), (0, None)],
        "private": [0, 1],
    },
    "box of both signs": {
        "c": [1, -1, 2],
        "A": [[-1, 2, 1], [3, -1, -2]],
        "b": [1, 2],
        "bounds": (-2, 3),
    },
    "sparse": {"c": [1, 2], "A": sp.csr_array([[-1.0, 0.0], [-1.0, -3.0]]), "b": [-2, -3]},
}


#: The ways of ``"tightened"``, which takes one of them by public numbers. Each is a method too.
WAYS = {
    "quantile-noise": QuantileNoise(),
    "measured-slack": MeasuredSlack(),
    "one-margin": OneMargin(),
    "truncated-laplace": TruncatedLaplace(),
    "truncated-gaussian": TruncatedGaussian(),
    "truncated-sup-norm": TruncatedSupNorm(),
    "by-prices": WeightedNoise(),
}
#: Every method by name, with the ways of ``"tightened"`` in its place.
ALL = {name: method for name, method in METHODS.items() if name != "tightened"} | WAYS


def method_of(name):
    """What `solve` is asked for: a way of ``"tightened"``, or the name of a method."""
    return WAYS.get(name, name)


def way_of(solution):
    """The way that ``"tightened"`` took, from its ledger."""
    entries = solution.privacy.entries
    if any(entry.purpose.startswith("measure the slacks") for entry in entries):
        return "measured-slack"
    if any(entry.purpose.startswith("measure one margin") for entry in entries):
        return "one-margin"
    if any(entry.purpose.startswith("tighten by shadow prices") for entry in entries):
        return "by-prices"
    if any(entry.mechanism.startswith("truncated Gaussian") for entry in entries):
        return "truncated-gaussian"
    if any(entry.mechanism.startswith("truncated sup-norm") for entry in entries):
        return "truncated-sup-norm"
    plain = all(entry.mechanism.startswith("truncated Laplace") for entry in entries)
    return "truncated-laplace" if plain else "quantile-noise"


def methods_for(relation):
    """Names of the methods that protect a relation, those that never violate a row last.

    The ways of ``"tightened"`` are in its place.
    """
    found = [method.name for method in protecting(relation, None) if method.name != "tightened"]
    return found + [name for name, way in WAYS.items() if way.protects(relation)]


def known(name, **fields):
    """A program of :data:`KNOWN`, with other fields on request."""
    return LinearProgram(**{**KNOWN[name], **fields})
