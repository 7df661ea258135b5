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


_EQUAL = [1, 2, 3], [[1, 1, 1], [-1, -3, 0]], [2, -3], {"row_lower": [2, -INF]}
_FREE = {"bounds": [(None, None), (0, None)], "private": [0, 1]}
_MIRRORED = {"bounds": [(0, None), (None, 0)]}
_FORMS = [
    ("covering", [1, 2], [[-1, -1], [-1, -3]], [-2, -3], {}),
    ("degenerate", [1, 1], [[-1, -1], [-1, -1], [-2, -2], [-1, 0]], [-1, -1, -2, -0.5], {}),
    (
        "maximise",
        [3, 5],
        [[1, 0], [0, 2], [3, 2]],
        [4, 12, 18],
        {"sense": "max", "bounds": (0, 20)},
    ),
    ("at least", [1, 2], [[1, 1], [1, 3]], [INF, INF], {"row_lower": [2, 3]}),
    ("ranges", [1, 2], [[1, 1], [1, 3]], [4, 12], {"row_lower": [2, 3]}),
    ("mirrored variable", [1, -2], [[-1, 1], [-1, 3]], [-2, -3], _MIRRORED),
    ("public equality", *_EQUAL[:3], {**_EQUAL[3], "private": [1]}),
    ("private equality", *_EQUAL),
    ("free variable", [1, 2], [[-1, -1], [-1, 1], [1, 0], [-1, 0]], [-2, 1, 5, 3], _FREE),
    ("box of both signs", [1, -1, 2], [[-1, 2, 1], [3, -1, -2]], [1, 2], {"bounds": (-2, 3)}),
    ("sparse", [1, 2], sp.csr_array([[-1.0, 0.0], [-1.0, -3.0]]), [-2, -3], {}),
    (
        *("lower bounds and offset", [1, 2], [[-1, -1], [-1, -3]], [-4, -7]),
        {"bounds": (1, None), "offset": 5.0},
    ),
    (
        *("public and private rows", [1, 2], [[-1, -1], [-1, -3], [-1, 0]], [-2, -3, -0.1]),
        {"private": [0, 1]},
    ),
    (
        *("fixed variable", [1, 2, 7], [[-1, -1, 0.5], [-1, -3, 0]], [-2, -3]),
        {"bounds": [(0, None), (0, None), (2, 2)]},
    ),
]
#: Small programs of every form, whose optima are found by hand or by HiGHS.
KNOWN = {name: {"c": c, "A": A, "b": b, **others} for name, c, A, b, others in _FORMS}


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


#: How the purpose or the mechanism of an entry begins that one way alone has.
_OF_ONE_WAY = {
    "measure the slacks": "measured-slack",
    "measure one margin": "one-margin",
    "tighten by shadow prices": "by-prices",
    "truncated Gaussian": "truncated-gaussian",
    "truncated sup-norm": "truncated-sup-norm",
}


def way_of(solution):
    """The way that ``"tightened"`` took, from its ledger."""
    entries = solution.privacy.entries
    for begin, way in _OF_ONE_WAY.items():
        if any(text.startswith(begin) for of in entries for text in (of.purpose, of.mechanism)):
            return way
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
