"""Calls that are refused.

Malformed programs and records, requests outside their domains, budgets that are spent.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
import svm_models
from privlp import Budget, ConstraintPrivate, LinearProgram, ScalarPrivate
from tests.planted import programs
from tests.planted.path import (
    Attempt,
    Path,
    Refusal,
    Unwilling,
    file_of,
    frame,
    with_entry,
    with_words,
)
from tests.planted.programs import (
    COSTS,
    DELTA,
    INF,
    NAME,
    PLANTED_N,
    Mint,
    Problem,
    problem,
    request_of,
)
from tests.planted.search import Secrets
from tests.planted.successes import ESTIMATORS, fitting, secrets_after


def rows(mint: Mint, n: int = 5) -> dict[str, Any]:
    return {"c": COSTS, "A": -mint(n, 3), "b": -mint(n)}


#: Fields that LinearProgram refuses, from well-formed ones.
_MALFORMED: dict[str, Callable[[dict[str, Any], Mint], dict[str, Any]]] = {
    "c of a wrong shape": lambda f, mint: {"c": [1.0, 2.0]},
    "b of a wrong shape": lambda f, mint: {"b": f["b"][:3]},
    "b as a matrix": lambda f, mint: {"b": f["A"]},
    "b with NaN": lambda f, mint: {"b": with_entry(f["b"], 2, np.nan)},
    "b with infinity": lambda f, mint: {"b": with_entry(f["b"], 2, INF)},
    "b far too large": lambda f, mint: {"b": with_entry(f["b"], 2, mint(exponent=21))},
    "b with a word": lambda f, mint: {"b": with_entry(f["b"], 2, f"{NAME} {mint.text()}")},
    "b with a number in words": lambda f, mint: {"b": [mint.text()] * 5},
    "b with None": lambda f, mint: {"b": with_entry(f["b"], 2, None)},
    "b complex": lambda f, mint: {"b": f["b"] + 1j},
    "b of objects": lambda f, mint: {"b": [Unwilling(mint) for _ in range(5)]},
    "A with a word": lambda f, mint: {"A": with_entry(f["A"], (1, 2), f"{NAME} {mint.text()}")},
    "A with None": lambda f, mint: {"A": with_entry(f["A"], (1, 2), None)},
    "A with NaN": lambda f, mint: {"A": with_entry(f["A"], (1, 2), np.nan)},
    "A with infinity": lambda f, mint: {"A": with_entry(f["A"], (1, 2), INF)},
    "A far too large": lambda f, mint: {"A": with_entry(f["A"], (1, 2), mint(exponent=16))},
    "A complex": lambda f, mint: {"A": f["A"] + 1j},
    "A ragged": lambda f, mint: {"A": [list(row[: 1 + i % 3]) for i, row in enumerate(f["A"])]},
    "A of texts": lambda f, mint: {"A": [[mint.text() for _ in range(3)] for _ in range(5)]},
    "A of dates": lambda f, mint: {"A": f["A"].astype(int).astype("datetime64[D]")},
    "A of objects": lambda f, mint: {"A": [[Unwilling(mint)] * 3] * 5},
    "A flat": lambda f, mint: {"A": f["A"].ravel()},
    "A of three dimensions": lambda f, mint: {"A": f["A"][None]},
    "A empty": lambda f, mint: {"A": np.zeros((0, 3))},
    "A as a text": lambda f, mint: {"A": mint.text()},
    "A sparse with NaN": lambda f, mint: {"A": sp.csr_array(with_entry(f["A"], (1, 2), np.nan))},
    "A sparse of complex numbers": lambda f, mint: {"A": sp.csr_array(f["A"] + 1j)},
    "A as a frame with a word": lambda f, mint: {"A": with_words(f["A"], mint)},
    "contradictory sides": lambda f, mint: {"row_lower": f["b"] + 1},
    "a side far too large": lambda f, mint: {
        "row_lower": with_entry(f["b"] - 1, 1, -mint(exponent=25))
    },
    "a side with NaN": lambda f, mint: {"row_lower": with_entry(f["b"] - 1, 1, np.nan)},
    "a side with a word": lambda f, mint: {"row_lower": with_entry(f["b"] - 1, 1, mint.text())},
    "a side of a wrong shape": lambda f, mint: {"row_lower": f["b"][:2] - 1},
    "penalty below zero": lambda f, mint: {"penalty": -mint(5)},
    "penalty in words": lambda f, mint: {"penalty": mint.text()},
    "mask of a wrong shape": lambda f, mint: {"private": [True] * 4},
    "rows out of range": lambda f, mint: {"private": [0, 7]},
    "rows of objects": lambda f, mint: {"private": [[0], [1, 2]]},
    "groups of a wrong shape": lambda f, mint: {"groups": mint(4)},
    "groups of mixed types": lambda f, mint: {"groups": [mint(), NAME, mint(), 1, None]},
    "groups under numbers that move": lambda f, mint: {
        "groups": mint(5),
        "neighbours": ScalarPrivate(0.1),
    },
    "too few row names": lambda f, mint: {"row_names": ["a", "b"]},
    "bounds that contradict": lambda f, mint: {"bounds": (2, 1)},
    "bounds in words": lambda f, mint: {"bounds": ("a", "b")},
    "no such sense": lambda f, mint: {"sense": "best"},
    "no such relation": lambda f, mint: {"neighbours": f["A"]},
    "right-hand sides out of range": lambda f, mint: {
        "neighbours": ScalarPrivate(0.1, lower=-1, upper=0)
    },
    "right-hand sides too large": lambda f, mint: {"neighbours": ScalarPrivate(1e-12)},
    "coefficients out of range": lambda f, mint: {
        "neighbours": privlp.RowPrivate(0.1, lower=-1, upper=0)
    },
    "coefficients too large": lambda f, mint: {"neighbours": privlp.ColumnPrivate(1e-12)},
    "sparse coefficients out of range": lambda f, mint: {
        "A": sp.csr_array(f["A"]),
        "neighbours": privlp.ColumnPrivate(0.1, lower=-1, upper=0),
    },
    "costs out of range": lambda f, mint: {
        "c": mint(3),
        "neighbours": privlp.ObjectivePrivate(0.1, lower=0, upper=1),
    },
    "costs too large": lambda f, mint: {"c": mint(3), "neighbours": privlp.ObjectivePrivate(1e-12)},
    "costs with a word": lambda f, mint: {
        "c": [mint.text()] * 3,
        "neighbours": privlp.ObjectivePrivate(0.1),
    },
    "ranges of a wrong shape": lambda f, mint: {
        "neighbours": ScalarPrivate(0.1, lower=-np.ones(4), upper=0)
    },
}
#: Mistakes whose messages would like to tell the number of rows or the place of one.
_MISCOUNTED: dict[str, Callable[[dict[str, Any], Mint], dict[str, Any]]] = {
    "b in place of c": lambda f, mint: {"c": f["b"]},
    "A transposed": lambda f, mint: {"A": f["A"].T},
    "A flat": lambda f, mint: {"A": f["A"].ravel()},
    "A of three dimensions": lambda f, mint: {"A": f["A"][:, None]},
    "A without columns": lambda f, mint: {"A": f["A"][:, :0]},
    "b one too short": lambda f, mint: {"b": f["b"][1:]},
    "b with NaN in the last row": lambda f, mint: {"b": with_entry(f["b"], -1, np.nan)},
    "sides one too short": lambda f, mint: {"row_lower": f["b"][1:]},
    "b one too short beside sides": lambda f, mint: {"row_lower": f["b"] - 1, "b": f["b"][1:]},
    "bounds of rows": lambda f, mint: {"bounds": [(0, 1)] * len(f["b"])},
    "names of rows for variables": lambda f, mint: {
        "variable_names": [f"r{i}" for i in range(len(f["b"]))]
    },
    "one row name too few": lambda f, mint: {
        "row_names": [f"r{i}" for i in range(len(f["b"]) - 1)]
    },
    "a mask one too short": lambda f, mint: {"private": np.ones(len(f["b"]) - 1, dtype=bool)},
    "an index one too large": lambda f, mint: {"private": [0, len(f["b"])]},
    "ragged selection": lambda f, mint: {
        "private": [[0] * (1 + i % 2) for i in range(len(f["b"]))]
    },
    "groups one too short": lambda f, mint: {"groups": np.zeros(len(f["b"]) - 1)},
    "ragged groups": lambda f, mint: {"groups": [[0] * (1 + i % 2) for i in range(len(f["b"]))]},
    "one record of all rows": lambda f, mint: {"groups": np.zeros(len(f["b"]))},
    "penalties one too few": lambda f, mint: {"penalty": np.ones(len(f["b"]) - 1)},
}
#: The same where rows come and go: then names, owners and the number of rows are private too.
_MALFORMED_IF_ROWS_COME_AND_GO: dict[str, Callable[[dict[str, Any], Mint], dict[str, Any]]] = {
    "far too many rows": lambda f, mint: {"nominal_n": 1},
    "a record with too many rows": lambda f, mint: {"groups": [NAME] * 5},
    "a side with NaN": lambda f, mint: {"row_lower": with_entry(f["b"] - 1, 1, np.nan)},
    "contradictory sides": lambda f, mint: {"row_lower": f["b"] + 1},
    "names twice": lambda f, mint: {"row_names": [NAME] * 5},
    "owners of mixed types": lambda f, mint: {"groups": [NAME, 1, mint(), None, NAME]},
}


def malformed() -> Iterator[Path]:
    """Programs that are refused at construction."""
    for title, change in _MALFORMED.items():
        yield Path(
            f"program: {title}", functools.partial(_construct, change, {}), Refusal, twins=False
        )
    for title, change in {**_MALFORMED, **_MISCOUNTED}.items():
        if title not in _NO_MISTAKE_AMONG_MANY_ROWS and "neighbours" not in _fields_changed(change):
            yield Path(
                f"program of private n: {title}",
                functools.partial(_construct_of_private_n, change),
                Refusal,
            )
    hidden = {
        "row_names": [f"{NAME} {i}" for i in range(5)],
        "groups": [f"{NAME} {i}" for i in range(5)],
    }
    for title, change in _MALFORMED_IF_ROWS_COME_AND_GO.items():
        yield Path(
            f"program whose rows come and go: {title}",
            functools.partial(_construct, change, hidden),
            Refusal,
            twins=False,
        )


#: What is malformed among few rows only.
_NO_MISTAKE_AMONG_MANY_ROWS = ("rows out of range",)


def _fields_changed(change: Callable[[dict[str, Any], Mint], dict[str, Any]]) -> set[str]:
    mint = Mint()
    return set(change(rows(mint), mint))


def _construct_of_private_n(
    change: Callable[[dict[str, Any], Mint], dict[str, Any]], variant: int
) -> Attempt:
    """A program of another number of rows in every variant, all refused in the same words."""
    mint = Mint(variant)
    n = PLANTED_N + 36 * variant
    fields = rows(mint, n)
    fields |= change(fields, mint) | {"neighbours": ConstraintPrivate("add-remove", nominal_n=100)}
    secrets = Secrets(mint.numbers, (), NAME.split(), (n, n - 1, n + 1, 2 * n, 3 * n))
    return Attempt(lambda: LinearProgram(**fields), secrets)


def _construct(
    change: Callable[[dict[str, Any], Mint], dict[str, Any]], hidden: dict[str, Any], variant: int
) -> Attempt:
    mint = Mint(variant)
    fields = {**rows(mint, 12 if hidden.get("many") else 5), **hidden}
    fields |= change(fields, mint)
    if hidden:
        fields["neighbours"] = ConstraintPrivate(
            "add-remove", nominal_n=1 if fields.pop("nominal_n", 0) else 100
        )
        if fields["neighbours"].nominal_n == 1:
            fields |= {"A": -mint(1237, 3), "b": -mint(1237), "row_names": None, "groups": None}
    A, b = np.ravel(mint.numbers[:15]).reshape(5, 3), np.array(mint.numbers[15:20])
    derived = [
        np.linalg.norm(A, axis=1),
        A.sum(),
        b.sum(),
        A.sum(axis=0),
        A.sum(axis=1),
        b / np.linalg.norm(A, axis=1),
    ]
    words = (*NAME.split(),)
    secrets = Secrets(
        mint.numbers,
        np.concatenate([np.ravel(piece) for piece in derived]),
        words,
        (1237,) if hidden else (),
    )
    return Attempt(lambda: LinearProgram(**fields), secrets)


#: Requests that `solve` refuses, and programs of which it refuses them.
_BAD_REQUESTS: dict[str, dict[str, Any]] = {
    "no s": {"s": None},
    "s of zero": {"s": 0},
    "s beyond n": {"s": 10_000},
    "s in words": {"s": "3"},
    "eps of zero": {"eps": 0},
    "eps below zero": {"eps": -1.0},
    "eps of NaN": {"eps": float("nan")},
    "eps missing": {"eps": None},
    "delta of one": {"delta": 1.0},
    "delta below zero": {"delta": -0.1},
    "alpha of zero": {"alpha": 0.0},
    "alpha in words": {"alpha": "small"},
    "alpha absurdly small": {"alpha": 1e-290},
    "opt in words": {"opt": "9"},
    "opt of NaN": {"opt": float("nan")},
    "opt of the wrong sign": {"opt": -9.0},
    "opt in an empty range": {"opt": (4.0, 1.0)},
    "no such method": {"method": "simplex"},
    "method of another relation": {"method": "other"},
    "width below zero": {"width": -1.0},
    "width in words": {"width": "wide"},
    "feasible in words": {"feasible": "sometimes"},
    "split without use": {"split": (1, 2, 3, 4)},
    "rng in words": {"rng": "seed"},
    "budget that is none": {"budget": 3.0},
    "budget that is spent": {"budget": "spent"},
    "budget of another relation": {"budget": "other"},
    "time limit of zero": {"time_limit": 0},
}
_REFUSING = {
    "replace": ("staged", "dmw", "chain", "dmw-published"),
    "add-remove": ("staged",),
    "departed": ("staged", "dmw", "chain"),
    "scalar": ("mw", "direct-noise", "truncated-laplace"),
    "all parts": ("direct-noise",),
}


def refused() -> Iterator[Path]:
    """Requests that `solve` refuses, or answers all the same."""
    for name, methods in _REFUSING.items():
        for method in methods:
            for title, change in _BAD_REQUESTS.items():
                attempt = functools.partial(_request, name, method, change)
                few = name in ("add-remove", "departed") and title not in (
                    "s beyond n",
                    "no s",
                    "opt of the wrong sign",
                )
                dear = few or method in ("dmw", "dmw-published", "chain")
                yield Path(
                    f"request {name} {method}: {title}", attempt, (*Refusal, None), dear=dear
                )
    for title, call in _BAD_CALLS.items():
        yield Path(
            f"call: {title}",
            functools.partial(_call, call, "replace"),
            (*Refusal, OSError),
            twins=False,
        )
        if not title.startswith(
            "linprog"
        ):  # by itself of another relation, under which n is public
            path = functools.partial(_call, call, "departed")
            yield Path(f"call of private n: {title}", path, (*Refusal, OSError, None), twins=False)
    for title, read in _MISREAD.items():
        yield Path(f"read with private n: {title}", functools.partial(_misread, read), Refusal)


def _request(name: str, method: str, change: dict[str, Any], variant: int) -> Attempt:
    given = problem(name, variant)
    request = {"eps": 1.0, "delta": DELTA, "rng": 0, **request_of(name, method), **change}
    if request["method"] == "other":
        request["method"] = (
            "staged" if method in ("mw", "direct-noise", "truncated-laplace") else "mw"
        )
    budget = Budget(1.5, 0.1)
    if request.get("budget") in ("spent", "other"):
        whole = (
            ConstraintPrivate("add-remove", nominal_n=9)
            if name == "replace"
            else ConstraintPrivate()
        )
        other = LinearProgram(COSTS, -np.ones((9, 3)), -np.ones(9), neighbours=whole)
        spending = given.lp if request["budget"] == "spent" and name != "all parts" else other
        privlp.quality(
            spending,
            [1.0, 1, 1],
            1.0 if request["budget"] == "spent" else 0.01,
            budget=budget,
            rng=0,
        )
        request["budget"] = budget
    return Attempt(
        lambda: privlp.solve(given.lp, **request),
        given.secrets,
        lambda found: secrets_after(given, found.x),
        lambda: budget,
    )


#: Other calls, on a program and its planted numbers.
_BAD_CALLS: dict[str, Callable[[Problem, Mint], Any]] = {
    "solve what is no program": lambda given, mint: privlp.solve(given.lp.A, 1.0, DELTA, 3),
    "solve a dict": lambda given, mint: privlp.solve({"A": given.lp.A.tolist()}, 1.0, DELTA, 3),
    "quality of what is no program": lambda given, mint: privlp.quality(given.lp.A, [1, 1, 1], 1.0),
    "quality at a point of a wrong shape": lambda given, mint: privlp.quality(
        given.lp, given.lp.b, 1.0
    ),
    "quality at an exact solution": lambda given, mint: privlp.quality(
        given.lp, privlp.solve_exact(given.lp), 1.0
    ),
    "quality at NaN": lambda given, mint: privlp.quality(given.lp, [np.nan, 1, 1], 1.0),
    "quality without budget": lambda given, mint: privlp.quality(
        given.lp, [1, 1, 1], 1.0, budget=Budget(0.5, 0)
    ),
    "quality with alpha of NaN": lambda given, mint: privlp.quality(
        given.lp, [1, 1, 1], 1.0, alpha=np.nan
    ),
    "plan of what is no program": lambda given, mint: privlp.plan(given.lp.A, 1.0, DELTA, 3),
    "plan without noise": lambda given, mint: privlp.plan(given.lp, INF, DELTA, 3),
    "compare with what is no program": lambda given, mint: privlp.compare(given.lp.b, [1, 1, 1]),
    "linprog with a word": lambda given, mint: LinearProgram.from_linprog(
        COSTS, [[f"{mint.text()}x"] * 3], [1.0]
    ),
    "linprog of a wrong shape": lambda given, mint: LinearProgram.from_linprog(
        COSTS, given.lp.A, given.lp.b[:2]
    ),
    "linprog without b": lambda given, mint: LinearProgram.from_linprog(COSTS, given.lp.A),
    "linprog with blocks that disagree": lambda given, mint: LinearProgram.from_linprog(
        COSTS, given.lp.A, given.lp.b, given.lp.A[:, :2], given.lp.b
    ),
    "linprog with NaN": lambda given, mint: LinearProgram.from_linprog(
        COSTS, given.lp.A, with_entry(given.lp.b, 1, np.nan)
    ),
    "write where there is no folder": lambda given, mint: given.lp.to_mps(
        "no/such/folder/model.mps"
    ),
    "load no solution": lambda given, mint: privlp.Solution.load(
        file_of("no.json", f'{{"x": [{mint.text()}]}}')
    ),
    "read a damaged archive": lambda given, mint: LinearProgram.from_mps(
        file_of("cut.mps.gz", gzip.compress(given.lp.b.tobytes())[:40])
    ),
    "a sensitivity in words": lambda given, mint: ScalarPrivate(mint.text()),
}


#: Readers, from arguments of a private number of rows that do not fit together.
_MISREAD: dict[str, Callable[[dict[str, Any], ConstraintPrivate], Any]] = {
    "linprog, b one too short": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"], f["b"][1:], neighbours=to
    ),
    "linprog, b with NaN": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"], with_entry(f["b"], -1, np.nan), neighbours=to
    ),
    "linprog, A of three dimensions": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"][None], f["b"], neighbours=to
    ),
    "linprog, A transposed": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"].T, [1, 1, 1], neighbours=to
    ),
    "linprog, equalities transposed": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"], f["b"], f["A"].T, [1, 1, 1], neighbours=to
    ),
    "linprog, bounds of rows": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"], f["b"], bounds=[(0, 1)] * len(f["b"]), neighbours=to
    ),
    "linprog, a name of no row": lambda f, to: LinearProgram.from_linprog(
        COSTS, f["A"], f["b"], neighbours=to, private=["r1"]
    ),
}


def _misread(read: Callable[[dict[str, Any], ConstraintPrivate], Any], variant: int) -> Attempt:
    mint, n = Mint(variant), PLANTED_N + 36 * variant
    fields = rows(mint, n)
    secrets = Secrets(mint.numbers, (), (), (n, n - 1, n + 1, 2 * n))
    return Attempt(lambda: read(fields, ConstraintPrivate("add-remove", nominal_n=100)), secrets)


def _call(call: Callable[[Problem, Mint], Any], name: str, variant: int) -> Attempt:
    given, mint = problem(name, variant), Mint(variant + 5)
    prepared = Mint(variant + 5)
    secrets = Secrets(
        [*given.secrets.planted, *(prepared(3) / 1)],
        given.secrets.derived,
        (),
        given.secrets.counts,
    )
    return Attempt(lambda: call(given, mint), secrets)


#: Records, labels and parameters that classifiers refuse, or take all the same.
_BAD_RECORDS: dict[str, dict[str, Any]] = {
    "NaN": {"change": lambda X, y, mint: (with_entry(X, (3, 1), np.nan), y)},
    "infinity": {"change": lambda X, y, mint: (with_entry(X, (3, 1), INF), y)},
    "a word": {"change": lambda X, y, mint: (with_entry(X, (3, 1), f"{NAME} {mint.text()}"), y)},
    "numbers in words": {"change": lambda X, y, mint: (X.astype(str), y)},
    "complex numbers": {"change": lambda X, y, mint: (X + 1j, y)},
    "None": {"change": lambda X, y, mint: (with_entry(X, (3, 1), None), y)},
    "dates": {"change": lambda X, y, mint: (X.astype(int).astype("datetime64[D]"), y)},
    "objects": {"change": lambda X, y, mint: ([[Unwilling(mint)] * 3] * len(y), y)},
    "one flat record": {"change": lambda X, y, mint: (X.ravel(), y)},
    "three dimensions": {"change": lambda X, y, mint: (X[None], y)},
    "ragged records": {
        "change": lambda X, y, mint: ([list(row[: 1 + i % 3]) for i, row in enumerate(X)], y)
    },
    "a dict": {"change": lambda X, y, mint: ({"x": X.tolist()}, y)},
    "a text": {"change": lambda X, y, mint: (f"{NAME} {mint.text()}", y)},
    "no records": {"change": lambda X, y, mint: (X[:0], y[:0])},
    "no columns": {"change": lambda X, y, mint: (X[:, :0], y)},
    "a frame with a word": {"change": lambda X, y, mint: (with_words(X, mint), y)},
    "a frame with names for numbers": {
        "change": lambda X, y, mint: (frame(X).assign(name=NAME), y)
    },
    "sparse records with NaN": {
        "change": lambda X, y, mint: (sp.csr_array(with_entry(X, (3, 1), np.nan)), y)
    },
    "sparse records of whole numbers": {
        "change": lambda X, y, mint: (sp.coo_array(X.astype(int)), y)
    },
    "too few labels": {"change": lambda X, y, mint: (X, y[:7])},
    "three classes": {"change": lambda X, y, mint: (X, np.arange(len(y)) % 3)},
    "one class": {"change": lambda X, y, mint: (X, np.ones(len(y)))},
    "labels of records": {"change": lambda X, y, mint: (X, X[:, 0])},
    "labels of NaN": {"change": lambda X, y, mint: (X, with_entry(y, 2, np.nan))},
    "labels of words and numbers": {
        "change": lambda X, y, mint: (X, np.array([NAME, mint(), *y[2:]], dtype=object))
    },
    "labels as a matrix": {"change": lambda X, y, mint: (X, X)},
    "labels beyond the declared ones": {
        "change": lambda X, y, mint: (X, X[:, 0] > 0.1),
        "classes": (-1, 1),
    },
    "no labels": {"change": lambda X, y, mint: (X, None)},
    "one declared class": {"classes": (1,)},
    "weights of records": {"fit": {"sample_weight": np.full(40, 731.0475)}},
    "eps of zero": {"eps": 0.0},
    "eps in words": {"eps": "one"},
    "delta of one": {"delta": 1.0},
    "data_norm of zero": {"data_norm": 0.0},
    "data_norm of NaN": {"data_norm": float("nan")},
    "data_norm huge": {"data_norm": 1e200},
    "reg below zero": {"reg": -1.0},
    "reg hopeless": {"reg": 1e-30},
    "random_state in words": {"random_state": "seed"},
    "budget too small": {"budget": Budget(1e-3, 0.0)},
    "no delta": {"delta": 0.0},
    "a strange radius": {"radius": -3.0},
}


def unfit() -> Iterator[Path]:
    """Records and parameters that classifiers refuse."""
    searched_by_all = ("ObjectivePerturbationSVC", "DMWSVC", "PrivateLPSVC", "PrivateModelSelector")
    for name in (
        *searched_by_all,
        "OutputPerturbationSVC",
        "ObjectivePerturbationLogisticRegression",
    ):
        known = ESTIMATORS[name](eps=1.0).get_params()
        for title, given in _BAD_RECORDS.items():
            options = {
                key: value
                for key, value in given.items()
                if key in ("change", "fit") or key in known
            }
            if not set(given) <= {"change", "fit", *known}:
                continue
            attempt = functools.partial(fitting, name, **options)
            dear = name not in searched_by_all or (name == "DMWSVC" and "change" in options)
            yield Path(f"fit {name}: {title}", attempt, (*Refusal, None), twins=False, dear=dear)
    for title, change in _BAD_QUESTIONS.items():
        yield Path(f"ask {title}", functools.partial(_ask, change), Refusal, twins=False)
    for title, change in _BAD_QUESTIONS.items():
        yield Path(
            f"features of {title}", functools.partial(_features, change), Refusal, twins=False
        )


#: Records that a fitted classifier is asked about.
_BAD_QUESTIONS: dict[str, Callable[[np.ndarray, Mint], Any]] = {
    "a word": lambda X, mint: with_entry(X, (3, 1), f"{NAME} {mint.text()}"),
    "NaN": lambda X, mint: with_entry(X, (3, 1), np.nan),
    "complex numbers": lambda X, mint: X + 1j,
    "too few columns": lambda X, mint: X[:, :2],
    "one flat record": lambda X, mint: X[0],
    "a frame with a word": with_words,
    "objects": lambda X, mint: [[Unwilling(mint)] * 3] * 5,
}


def _ask(change: Callable[[np.ndarray, Mint], Any], variant: int) -> Attempt:
    data, mint = programs.records(variant), Mint(variant + 5)
    asked = change(data.X, mint)
    fitted = svm_models.ObjectivePerturbationSVC(classes=(-1, 1), random_state=0).fit(
        data.X, data.y
    )
    return Attempt(
        lambda: fitted.predict(asked),
        Secrets([*data.secrets.planted, *mint.numbers], (), NAME.split()),
    )


def _features(change: Callable[[np.ndarray, Mint], Any], variant: int) -> Attempt:
    data, mint = programs.records(variant), Mint(variant + 5)
    asked = change(data.X, mint)
    features = svm_models.RandomFourierFeatures(1.0, 5, random_state=0).fit(data.X)
    return Attempt(
        lambda: features.transform(asked),
        Secrets([*data.secrets.planted, *mint.numbers], (), NAME.split()),
    )
