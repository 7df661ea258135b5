"""Small linear programs, from seeds, and neighbour relations that fit them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
from privlp import ColumnPrivate, ConstraintPrivate, ObjectivePrivate, RowPrivate, ScalarPrivate

N, D = 120, 5
DELTA = 1e-6


def _covering(neighbours: Any, *, density: float = 1.0, **options: Any) -> privlp.LinearProgram:
    """Cover N people at least cost, on a simplex unless bounds are given."""
    rng = np.random.default_rng(1)
    A = -rng.uniform(0.2, 1.0, (N, D)) * (rng.random((N, D)) < density)
    A[np.arange(N), np.arange(N) % D] = -0.5
    stored = A if density == 1.0 else sp.csr_array(A)
    costs = rng.uniform(1.0, 2.0, D)
    return privlp.LinearProgram(costs, stored, -np.ones(N), neighbours=neighbours, **options)


def _packing(neighbours: Any, *, sparse: bool = False, ranges: bool = True) -> privlp.LinearProgram:
    """Earn the most within private capacities and ranges, a public row and a public equality."""
    rng = np.random.default_rng(2)
    A = rng.uniform(0.0, 1.0, (N, D)) * (rng.random((N, D)) < 0.7)
    inside = np.array([0.5, 1.0, 1.5, 0.2, 0.8])
    A[0], A[1] = [1.0, 1.0, 0.0, 0.0, 0.0], np.ones(D)
    b = A @ inside + rng.uniform(0.1, 1.0, N)
    lower = np.full(N, -np.inf)
    b[0] = lower[0] = A[0] @ inside
    if ranges:
        lower[2:6] = b[2:6] - 3.0
    return privlp.LinearProgram(
        rng.uniform(0.5, 1.5, D),
        sp.csc_array(A) if sparse else A,
        b,
        row_lower=lower,
        bounds=[(0.0, 3.0)] * (D - 1) + [(-1.0, 2.0)],
        sense="max",
        offset=10.0,
        private=np.arange(N) >= 2,
        neighbours=neighbours,
        variable_names=[f"product {j}" for j in range(D)],
        row_names=[f"resource {i}" for i in range(N)],
        name="packing",
    )


def _soft(neighbours: Any) -> privlp.LinearProgram:
    """Covering with a price for each of those left uncovered."""
    return _covering(neighbours, penalty=np.linspace(0.02, 0.1, N))


#: Programs by name, each made for a relation.
PROGRAMS: dict[str, Callable[[Any], privlp.LinearProgram]] = {
    "dense": _covering,
    "sparse": lambda relation: _covering(relation, density=0.4),
    "boxed": lambda relation: _covering(relation, bounds=(0.0, 10.0)),
    "grouped": lambda relation: _covering(relation, groups=np.arange(N) // 2),
    "packing": _packing,
    "sparse packing": lambda relation: _packing(relation, sparse=True),
    "one-sided packing": lambda relation: _packing(relation, ranges=False),
    "soft": _soft,
}

#: Relations under which whole constraints change.
WHOLE_ROWS: dict[str, Any] = {
    "replace": ConstraintPrivate(),
    "replace 3 rows": ConstraintPrivate(rows_per_record=3),
    "add-remove": ConstraintPrivate("add-remove", nominal_n=100),
    "add-remove 2 rows": ConstraintPrivate("add-remove", rows_per_record=2, nominal_n=200),
}

_STEP = 1e-3
_WIDE: dict[str, Any] = {"lower": -30.0, "upper": 30.0}


def _numbers(name: str) -> dict[str, Any]:
    """Relations under which numbers of a program move a little; zeros of A are declared public."""
    lp = PROGRAMS[name](ConstraintPrivate())
    entries: dict[str, Any]
    sides: dict[str, Any]
    A = lp.A.toarray() if lp.is_sparse else lp.A
    entries = {"lower": np.where(A == 0, 0.0, A - 0.15), "upper": np.where(A == 0, 0.0, A + 0.05)}
    lowest = np.where(np.isfinite(lp.row_lower), lp.row_lower, lp.b)
    sides = {"lower": lowest - 0.2, "upper": lp.b + 0.1}
    costs = {"lower": lp.c - 0.5, "upper": lp.c + 0.2}
    scalar, row = ScalarPrivate(_STEP, **sides), RowPrivate(_STEP, **entries)
    column, cost = ColumnPrivate(_STEP, **entries), ObjectivePrivate(_STEP, **costs)
    return {
        "scalar": scalar,
        "scalar in sum": ScalarPrivate(_STEP, norm="1", **sides),
        "scalar in a wide range": ScalarPrivate(_STEP, **_WIDE),
        "scalar without range": ScalarPrivate(_STEP),
        "row": row,
        "row in a wide range": RowPrivate(_STEP, **_WIDE),
        "row without range": RowPrivate(_STEP),
        "row, public zeros": RowPrivate(_STEP, zeros="public", **_WIDE),
        "column": column,
        "column, public zeros": ColumnPrivate(_STEP, zeros="public", **_WIDE),
        "objective": cost,
        "objective without range": ObjectivePrivate(_STEP),
        "scalar and row": (scalar, row),
        "scalar and objective": (scalar, cost),
        "row and column": (row, column),
        "all four": (scalar, row, column, cost),
    }


@cache
def relations(name: str) -> dict[str, Any]:
    """Every relation for a program, by name."""
    return {**WHOLE_ROWS, **_numbers(name)}


#: Names of those under which numbers move a little.
NUMBERS = tuple(_numbers("dense"))

#: Methods for each kind of relation.
FOR_WHOLE_ROWS = ("auto", "dmw", "dmw-published", "staged", "chain", "perturbed")
FOR_NUMBERS = ("auto", "mw", "direct-noise")
NEVER_VIOLATING = ("tightened", "truncated-laplace-published")


def optimum(name: str) -> float:
    """The exact optimum of a program, which is the same under every relation; public here."""
    objective = privlp.solve_exact(PROGRAMS[name](ConstraintPrivate())).objective
    assert objective is not None
    return objective
