"""Every source of rows, with no row, with one and with two, gives what the others give."""

import warnings
from collections import UserList
from functools import partial
from itertools import product

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import privlp
from privlp import Budget, ConstraintPrivate, LinearProgram, MissedRowsWarning, PrivLPError
from tests.effort import THOROUGH
from tests.programs import methods_for

RELATION = ConstraintPrivate("add-remove", nominal_n=100)
COSTS = np.array([1.0, 2.0, 0.5])
A = -np.array([[1.0, 0.5, 0.25], [0.3, 1.0, 0.75]])
B = -np.array([1.0, 0.5])
NAMES = ("oats", "milk", "nuts")
COUNTS = (0, 1, 2)


class Made(UserList):
    """Blocks that are made when they are asked for."""


def one_a_block(rows):
    """A block for each row; where there is none, a block without a row."""
    return [rows[i : i + 1] for i in range(len(rows))] or [rows[:0]]


def mapped(n, folder):
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")[:n]


def parquet(n, folder, **options):
    pytest.importorskip("pyarrow", reason="PyArrow is an extra")
    for number, rows in enumerate(one_a_block(np.column_stack([A, B])[:n])):
        frame = pd.DataFrame(rows, columns=[*NAMES, "need"])
        frame.to_parquet(folder / f"{number}.parquet")
    return LinearProgram.from_parquet(folder, COSTS, "need", neighbours=RELATION, **options)


def dask_array(n):
    da = pytest.importorskip("dask.array", reason="Dask is an extra")
    return da.from_array(A[:n], chunks=(1, 3)), da.from_array(B[:n], chunks=1)


def dask_selection(n):
    """Chunks some of which lost all of their rows."""
    da = pytest.importorskip("dask.array", reason="Dask is an extra")
    stays = da.from_array(np.arange(2) < n, chunks=1)
    return da.from_array(A, chunks=(1, 3))[stays], da.from_array(B, chunks=1)[stays]


def dask_frame(n):
    dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")
    frame = pd.DataFrame(np.column_stack([A, B]), columns=[*NAMES, "need"]).iloc[:n]
    rows = dd.from_pandas(frame, npartitions=2)
    return rows[list(NAMES)], rows["need"]


def mps(n, folder):
    program(A[:n], B[:n]).to_mps(folder / "model.mps")
    return LinearProgram.from_mps(folder / "model.mps", neighbours=RELATION)


def cvxpy(n):
    x = cp.Variable(3, name="x", nonneg=True)
    rows = [A[i] @ x <= B[i] for i in range(n)]
    problem = cp.Problem(cp.Minimize(COSTS @ x), rows)
    return LinearProgram.from_cvxpy(problem, neighbours=RELATION)


def program(A, b):
    return LinearProgram(COSTS, A, b, neighbours=RELATION, variable_names=NAMES)


def linprog(A, b):
    return LinearProgram.from_linprog(COSTS, A, b, neighbours=RELATION)


#: By name, the program of the first n rows; a folder is for files.
SOURCES = {
    "array": lambda n, _: program(A[:n], B[:n]),
    "lists": lambda n, _: program(A[:n].tolist(), B[:n].tolist()),
    "CSR": lambda n, _: program(sp.csr_array(A[:n]), B[:n]),
    "CSC": lambda n, _: program(sp.csc_array(A[:n]), B[:n]),
    "data frame": lambda n, _: program(pd.DataFrame(A[:n]), B[:n]),
    "memory map": lambda n, folder: program(mapped(n, folder), B[:n]),
    "list of blocks": lambda n, _: program(one_a_block(A[:n]), one_a_block(B[:n])),
    "empty list": lambda n, _: program(one_a_block(A[:n])[:n], B[:n]),
    "sparse blocks": lambda n, _: program([sp.csr_array(a) for a in one_a_block(A[:n])], B[:n]),
    "mapped blocks": lambda n, folder: program(one_a_block(mapped(n, folder)), B[:n]),
    "made blocks": lambda n, _: program(Made(one_a_block(A[:n])), Made(one_a_block(B[:n]))),
    "Parquet": parquet,
    "sparse Parquet": lambda n, folder: parquet(n, folder, sparse=True),
    "Dask array": lambda n, _: program(*dask_array(n)),
    "Dask array, selected": lambda n, _: program(*dask_selection(n)),
    "Dask data frame": lambda n, _: program(*dask_frame(n)),
    "MPS file": mps,
    "linprog": lambda n, _: linprog(A[:n], B[:n]),
    "linprog, mapped": lambda n, folder: linprog(mapped(n, folder), B[:n]),
    "linprog, no matrix": lambda n, _: linprog(A[:n], B[:n]) if n else linprog(None, None),
    "CVXPY": lambda n, _: cvxpy(n),
}

OPTIONS = {"dmw-published": {"width": 1.0, "alpha": 60.0}}
REQUEST = {"eps": 1.0, "delta": 1e-6, "s": 5, "opt": 9.0, "rng": 0}


def solved(lp, budget, **options):
    return privlp.solve(lp, **{**REQUEST, **options}, budget=budget)


#: What is asked of a program, and of a budget of (2, 1e-5): (lp, budget) -> result.
SOLVES = {method: {"method": method, **OPTIONS.get(method, {})} for method in methods_for(RELATION)}
SOLVES |= {
    "unknown optimum": {"opt": None, "s": 40},
    "all of the budget": {"eps": None, "delta": None, "method": "staged"},
    "beyond the budget": {"eps": 3.0},
    "prices": {"prices": True},
    "a method for numbers": {"method": "laplace"},
}
REQUESTS = {name: partial(solved, **options) for name, options in SOLVES.items()} | {
    "plan": lambda lp, _: privlp.plan(lp, 1.0, 1e-6, 5, opt=9.0),
    "quality": lambda lp, budget: privlp.quality(lp, np.full(3, 9.0), 1.0, budget=budget, rng=0),
    "quality of another shape": lambda lp, budget: privlp.quality(lp, [1.0], 1.0, budget=budget),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Each source with each number of rows."""
    return {
        (name, n): SOURCES[name](n, tmp_path_factory.mktemp("rows"))
        for name, n in product(SOURCES, COUNTS)
    }


def outcome(lp, ask):
    """Status, messages and charges of a request: all that is not drawn."""
    budget = Budget(2.0, 1e-5)
    said = "no error"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = ask(lp, budget)
        except PrivLPError as error:
            said, result = f"{type(error).__name__}: {error}", None
    warned = [str(each.message) for each in warned if each.category is not MissedRowsWarning]
    parts = [getattr(result, name, None) for name in ("status", "message", "verdict", "advice")]
    if isinstance(result, privlp.Plan):
        parts.append(str(result))
    for name in lp.variable_names or ():  # what a reader calls variables is no matter
        said = said.replace(repr(name), "0")
    return said, warned, parts, budget.entries, budget.sums()


@pytest.mark.parametrize("request_", REQUESTS)
def test_status_messages_and_charges_are_those_of_an_array(programs, request_):
    """A few of the programs for each request, so that each program meets one or two."""
    expected = outcome(programs["array", 1], REQUESTS[request_])
    some = slice(None) if THOROUGH else slice(list(REQUESTS).index(request_) % 13, None, 13)
    for (name, n), lp in list(programs.items())[some]:
        assert outcome(lp, REQUESTS[request_]) == expected, (name, n)


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_at_least_one_block(programs, name, n):
    rows = programs[name, n].rows()
    counts = rows.map(lambda block: block.shape[0])
    assert len(counts) >= 1
    assert sum(counts) == n
    assert rows.total(lambda block, x: (block @ x) @ (block @ x), COSTS) >= 0
