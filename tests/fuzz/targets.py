"""What is fuzzed: each target makes its input from a generator and hands it to the library.

A target lets the library's errors pass, and asserts what holds whenever there is none. That of a
command returns its exit code.
"""

import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click
import cvxpy as cp
import numpy as np
import pandas as pd
import scipy.sparse as sp
from click.testing import CliRunner

import privlp
import svm_models
from fuzz import files, odd
from privlp import (
    ColumnPrivate,
    ConstraintPrivate,
    LinearProgram,
    ObjectivePrivate,
    PrivLPError,
    RowPrivate,
    ScalarPrivate,
)
from privlp.cli import main as privlp_command
from privlp.methods import METHODS
from svm_models.cli import main as svm_command
from svm_models.records.files import read_csv_file, read_training_file

RELATIONS = (ConstraintPrivate, ScalarPrivate, RowPrivate, ColumnPrivate, ObjectivePrivate)


# programs


def constructor(rng: Random, folder: Path) -> None:
    n, d = rng.randint(1, 4), rng.randint(1, 3)
    A, b, c = (_perhaps_twisted(rng, odd.numbers(rng, *shape)) for shape in ((n, d), (n,), (d,)))
    _use(
        rng,
        LinearProgram(
            c, A, b, **_some(rng, 3, _program_options(rng, n, d) | _more_options(rng, n, d))
        ),
        folder,
    )


def from_linprog(rng: Random, folder: Path) -> None:
    n, m, d = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    given = {"A_ub": (n, d), "b_ub": (n,), "A_eq": (m, d), "b_eq": (m,)}
    if rng.random() < 0.4:
        given = {name: shape for name, shape in given.items() if "eq" in name}
    elif rng.random() < 0.5:
        given = {name: shape for name, shape in given.items() if "ub" in name}
    arrays = {
        name: _perhaps_twisted(rng, odd.numbers(rng, *shape))
        for name, shape in given.items()
        if rng.random() < 0.97
    }
    c = _perhaps_twisted(rng, odd.numbers(rng, d))
    options = _program_options(rng, n + m if len(given) == 4 else n, d) | {"box": odd.number(rng)}
    _use(rng, LinearProgram.from_linprog(c, **arrays, **_some(rng, 2, options)), folder)


def from_cvxpy(rng: Random, folder: Path) -> None:
    try:
        problem, private = _cvxpy_problem(rng)
    except Exception:
        raise PrivLPError("CVXPY itself refuses it.") from None
    options = {
        "neighbours": _relation(rng, 2, 2),
        "groups": _groups(rng, 2),
        "box": odd.number(rng),
        "penalty": rng.choice((odd.number(rng), {}, odd.thing(rng))),
    }
    _use(rng, LinearProgram.from_cvxpy(problem, private=private, **_some(rng, 1, options)), folder)


def relations(rng: Random, folder: Path) -> None:
    chosen = _relation(rng, 3, 2, sound=False)
    repr(chosen)
    lp = LinearProgram([1.0, 2.0], odd.numbers(rng, 3, 2), odd.numbers(rng, 3), neighbours=chosen)
    _use(rng, lp, folder)


def budgets(rng: Random, folder: Path) -> None:
    given = odd.parameters(rng, {"eps": 1.0, "delta": 1e-6}, changes=1)
    budget = privlp.Budget(**given)
    budget.share(**odd.parameters(rng, given, changes=1)).disjoint(
        odd.thing(rng) if rng.random() < 0.5 else 2
    )
    assert budget.statement().to_json()
    assert str(budget) + repr(budget)


def _perhaps_twisted(rng: Random, plain: np.ndarray) -> Any:
    if rng.random() < 0.04:
        return odd.thing(rng)
    return odd.twisted(rng, plain) if rng.random() < 0.35 else plain


def _some(rng: Random, most: int, options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in rng.sample(sorted(options), rng.randint(0, most))}


def _program_options(rng: Random, n: int, d: int) -> dict[str, Any]:
    row_names = [f"r{i}" for i in range(n)]
    others = (odd.twisted(rng, np.ones(n)), odd.number(rng), odd.thing(rng))
    pair = (odd.number(rng), odd.number(rng))
    whole = odd.twisted(rng, np.array([[0.0, 2.0]] * d))
    pairs = [(odd.number(rng) if rng.random() < 0.2 else 0, None) for _ in range(d)]
    return {
        "neighbours": _relation(rng, n, d),
        "groups": _groups(rng, n),
        "bounds": rng.choice(
            (pair, pairs, [pair] * d, (0, 1), (None, None), whole, odd.thing(rng))
        ),
        "penalty": rng.choice(others),
        "private": rng.choice(
            (
                "*",
                "r1",
                "[",
                "r?",
                "",
                row_names[:1],
                [0],
                [-1],
                [n],
                np.arange(n) % 2 == 0,
                *others,
            )
        ),
    }


def _more_options(rng: Random, n: int, d: int) -> dict[str, Any]:
    return {
        "row_lower": _perhaps_twisted(rng, np.full(n, -np.inf)),
        "sense": rng.choice(("min", "max", "MAX", odd.thing(rng))),
        "offset": odd.number(rng),
        "name": rng.choice(("lp", "x y", "ü", odd.thing(rng))),
        "row_names": _names(rng, n),
        "variable_names": _names(rng, d),
    }


def _names(rng: Random, n: int) -> Any:
    odd_names = rng.choice(
        (["a b", "\n", "ü", "\ud800"], [1, "1", 1.0, "\0"], ["r"] * n, [""] * n, [None] * n)
    )[:n]
    return rng.choice(([f"r{i}" for i in range(n)], odd_names, range(n), "r" * n, odd.thing(rng)))


def _groups(rng: Random, n: int) -> Any:
    kinds = ([0] * n, ["a", "b", "c", "d"][:n], [1, "a", None, 2.0][:n], [math.nan] * n)
    return rng.choice((*kinds, odd.twisted(rng, np.zeros(n)), odd.thing(rng)))


def _relation(rng: Random, n: int, d: int, *, sound: bool = True) -> Any:
    """A relation, or several, or none at all; its arguments odd where they need not be sound."""
    way = rng.random()
    if way < 0.1:
        one = ScalarPrivate(1.0)
        return rng.choice(
            (ConstraintPrivate, (), [], (one,), (one, ConstraintPrivate()), (1, 2), odd.thing(rng))
        )
    if way < 0.3:
        return rng.choice((tuple, list))(
            _relation(rng, n, d, sound=sound) for _ in range(rng.randint(1, 3))
        )
    kind = rng.choice(RELATIONS)
    if kind is ConstraintPrivate:
        usual = (
            {"change": "replace"}
            if rng.random() < 0.5
            else {"change": "add-remove", "nominal_n": n, "rows_per_record": 1}
        )
        return kind(
            **odd.parameters(
                rng,
                usual,
                ("rows_per_record", "nominal_n"),
                changes=rng.choice((0, 1)) if sound else 1,
            )
        )
    shape = {ScalarPrivate: (n,), ObjectivePrivate: (d,)}.get(kind, (n, d))
    usual = {"sensitivity": rng.choice((1e-3, 0.1, 1.0))}
    for name, end in (("lower", -10.0), ("upper", 10.0)):
        if rng.random() < 0.5:
            usual[name] = rng.choice(
                (end, np.full(shape, end), _perhaps_twisted(rng, np.full(shape, end)))
            )
    detail = {
        ScalarPrivate: ("norm", ("1", "inf", 1, math.inf)),
        RowPrivate: ("zeros", ("public", "private")),
    }.get(kind)
    if detail and rng.random() < 0.5:
        usual[detail[0]] = rng.choice(detail[1])
    return kind(**odd.parameters(rng, usual, changes=0 if sound else 1))


def _cvxpy_problem(rng: Random) -> tuple[Any, Any]:
    """A CVXPY problem, mostly linear, and what is to be private."""

    def variable() -> cp.Variable:
        kinds: tuple[dict[str, Any], ...] = (
            {}, {}, {}, {"nonneg": True}, {"nonpos": True}, {"bounds": [0, 3]}, {"bounds": [-np.inf, None]}, {"pos": True},
            {"neg": True}, {"bounds": [np.array([0.0, -1.0]), 2]}, {"integer": True}, {"boolean": True}, {"complex": True},
        )  # fmt: skip
        return cp.Variable(rng.choice(((), (1,), (2,), (2,), (1, 2), (2, 2))), **rng.choice(kinds))

    square = {"symmetric": {"symmetric": True}, "PSD": {"PSD": True}, "diag": {"diag": True}}
    x = [variable() for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.05:
        x.append(cp.Variable((2, 2), **square[rng.choice(sorted(square))]))

    def constant(shape: tuple[int, ...]) -> Any:
        plain = odd.numbers(rng, *shape) if shape else float(rng.choice((1.0, -2.0, odd.PLANTED)))
        return rng.choice((math.nan, math.inf, 1e300, 10**400)) if rng.random() < 0.03 else plain

    def affine() -> Any:
        v = rng.choice(x)
        ways = [
            lambda: v,
            lambda: v + constant(v.shape),
            lambda: cp.sum(v),
            lambda: 2 * v - v,
            lambda: constant(()) * v,
        ]
        ways += [
            lambda: cp.vec(v, order="F"),
            lambda: v[0],
            lambda: v.T,
            lambda: cp.hstack([v, v]),
            lambda: 0 * v,
            lambda: -v,
        ]
        ways += [
            lambda: constant((2, *v.shape[:1])) @ v,
            lambda: cp.Constant(constant((2,))),
            lambda: cp.sum(rng.choice(x)) + v,
        ]
        ways += [lambda: constant(v.shape) @ v, lambda: cp.cumsum(v), lambda: cp.real(v)]
        if rng.random() < 0.08:
            p = cp.Parameter(value=1.0) if rng.random() < 0.5 else cp.Parameter()
            ways = [
                lambda: cp.norm(v),
                lambda: cp.abs(v),
                lambda: cp.max(v),
                lambda: cp.square(v),
                lambda: p * v,
            ]
        return rng.choice(ways)()

    def constraint() -> Any:
        left, right = affine(), rng.choice((affine, lambda: constant(())))()
        ways = [lambda: left <= right, lambda: left >= right, lambda: left == right] * 6
        ways += [
            lambda: cp.SOC(cp.sum(left), left),
            lambda: left >> 0,
            lambda: cp.NonPos(left),
            lambda: cp.Zero(left),
        ]
        ways += [lambda: cp.NonNeg(left), lambda: True]
        return rng.choice(ways)()

    constraints = [constraint() for _ in range(rng.randint(0, 3))]

    def term() -> Any:
        e = affine()
        return rng.choice(
            (
                lambda: cp.norm1(e),
                lambda: cp.sum(cp.maximum(0.9 * e, -0.1 * e)),
                lambda: cp.mean(cp.pos(e - constant(()))) + cp.sum(e),
                lambda: cp.max(cp.abs(e)) - cp.min(e),
                lambda: cp.sum_largest(e, 1),
                lambda: cp.sum(cp.maximum(e, affine())),
                lambda: -cp.sum(cp.minimum(e, 0)),
                lambda: constant(()) * cp.norm(e, rng.choice((1, 2, "inf"))),
                lambda: constant(e.shape) @ cp.neg(e),
            )
        )()

    total = cp.sum(affine()) if rng.random() < 0.9 else rng.choice((constant(()), 0))
    for _ in range(rng.choice((0, 0, 1, 2))):
        total = total + term()
    least = rng.random() < 0.7
    objective = cp.Minimize(total) if least else cp.Maximize(rng.choice((-1, -1, 1)) * total)
    problem = cp.Problem(objective, constraints) if rng.random() < 0.97 else odd.thing(rng)
    private = rng.choice((None, constraints[:1], constraints, [x[0] >= 0], (), odd.thing(rng)))
    return problem, private


def _use(rng: Random, lp: LinearProgram, folder: Path) -> None:
    """What is accepted can be shown, solved and written."""
    assert "LinearProgram" in repr(lp)
    lp.rows_of_largest_record()
    if rng.random() < 0.15:
        exact = privlp.solve_exact(lp, time_limit=2.0)
        json.dumps(exact.to_dict())
        if exact.x is not None:
            repr(privlp.compare(lp, exact))
    if rng.random() < 0.05:
        path = folder / "again.mps"
        try:
            lp.to_mps(path)
            again = LinearProgram.from_mps(path)
        finally:
            path.unlink(missing_ok=True)
        assert lp.penalty is not None or again.shape == (
            np.count_nonzero(lp.sides()),
            lp.shape[1],
        )  # free rows are not written


# selections and estimators


def selections(rng: Random, folder: Path) -> None:
    """Which rows are private is what was said, or refused: never flags that are read as numbers."""
    n = rng.randint(1, 6)
    given = _selection(rng, n)
    change = rng.choice(({}, {"change": "add-remove", "nominal_n": n, "rows_per_record": 1}))
    if rng.random() < 0.8:
        options = {"private": given, "neighbours": ConstraintPrivate(**change)}
    else:
        options = {"groups": given, "neighbours": ConstraintPrivate()}
    A, b = odd.numbers(rng, n, 2), odd.numbers(rng, n)
    make = rng.choice((LinearProgram, LinearProgram.from_linprog))
    lp = make([1.0, 2.0], A, b, **options)
    if "groups" in options:
        if given is None:
            return
        owners = np.asarray(given, dtype=object)
        assert len(owners) == n
        assert lp.rows_of_largest_record() >= max(
            np.unique(owners.astype(str), return_counts=True)[1]
        )
        return
    assert lp.private.tolist() == _meant(given, n), "rows are private that were not named"


def _selection(rng: Random, n: int) -> Any:
    """Flags, indices and what may be either, of many types and in many containers."""
    length = n if rng.random() < 0.6 else rng.randint(0, n + 1)
    entries = rng.choice(
        (
            [rng.random() < 0.5 for _ in range(length)],
            [rng.randrange(2) for _ in range(length)],
            [rng.randrange(-1, n + 1) for _ in range(length)],
            rng.sample(range(n), min(length, n)),
        )
    )
    ways: tuple[Callable[[], Any], ...] = (
        lambda: entries,
        lambda: tuple(entries),
        lambda: np.array(entries),
        lambda: np.array(entries, dtype=rng.choice(("?", "i1", "u1", "i8", "u8", "f4", "f8", "O"))),
        lambda: pd.Series(entries),
        lambda: pd.Series(entries, dtype=rng.choice(("Int8", "boolean", "Float64", "category"))),
        lambda: pd.Series(entries, index=range(5, 5 + len(entries))),
        lambda: pd.Index(entries),
        lambda: pd.array(entries),
        lambda: np.ma.array(entries, mask=[rng.random() < 0.2 for _ in entries]),
        lambda: [str(entry) for entry in entries],
        lambda: [np.bool_(entry) if rng.random() < 0.5 else entry for entry in entries],
        lambda: [None if rng.random() < 0.2 else entry for entry in entries],
        lambda: (entry for entry in entries),
        lambda: set(entries),
        lambda: np.array(entries)[:, None],
        lambda: sp.csr_array(np.array([entries], dtype=float)),
        lambda: np.array(["2020-01-01"] * len(entries), dtype="M8[D]"),
        lambda: odd.thing(rng),
    )
    try:
        return rng.choice(ways)()
    except (TypeError, ValueError, OverflowError):  # not every type holds every entry
        return entries


def _meant(given: Any, n: int) -> list[bool]:
    """The rows that a selection can only mean, read anew: a mask, or distinct numbers of rows."""
    entries = [] if given is None else np.asarray(given, dtype=object).ravel().tolist()
    if given is None:
        return [True] * n
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        assert len(entries) == n
        return [bool(entry) for entry in entries]
    assert all(isinstance(e, int | np.integer) and not isinstance(e, bool) for e in entries)
    numbers = [int(entry) for entry in entries]
    assert len(set(numbers)) == len(numbers), "numbers are repeated"
    assert n <= 2 or len(numbers) < n or set(numbers) - {0, 1}, "flags"
    return [i in numbers for i in range(n)]


#: An estimator of every kind, its usual parameters, and whether its labels are numbers.
_ESTIMATORS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("OutputPerturbationSVC", {"reg": 0.1}, False),
    ("OutputPerturbationLogisticRegression", {"reg": 0.1, "threshold_share": 0.2}, False),
    ("ObjectivePerturbationSVC", {"reg": 0.1, "whiten": False}, False),
    ("ObjectivePerturbationLogisticRegression", {"reg": 0.1}, False),
    ("ObjectivePerturbationClassifier", {"reg": 0.1}, False),
    ("DMWSVC", {"radius": 3.0, "alpha": 9.0, "reg": 0.3}, False),
    ("PrivateLPSVC", {"rounds": 3, "C": 1.0}, False),
    ("PrivateQuantileRegressor", {"quantile": 0.5, "y_bounds": (-1, 1)}, True),
    ("PrivateLPSVR", {"epsilon": 0.1, "y_bounds": (-1, 1)}, True),
)


#: Beginnings of what scikit-learn's own conformance tests ask of every estimator.
_SAYS_SCIKIT_LEARN = (
    "Found array with",
    "Found input variables with inconsistent numbers of samples",
    "Input X contains",
    "Input y contains",
    "Unknown label type",
    "float() argument must be",
    "np.matrix is not supported",
    "setting an array element with a sequence",
    "y should be a 1d array",
)


def estimators(rng: Random, folder: Path) -> None:
    """Fits of odd records with odd parameters; what is fitted predicts numbers, and can be shown."""
    name, usual, of_numbers = rng.choice(_ESTIMATORS)
    usual = {"eps": 1.0, "delta": 1e-6, "data_norm": 2.0, "fit_intercept": True} | usual
    kind = getattr(svm_models, name)
    known = kind._get_param_names()
    usual = {key: value for key, value in usual.items() if key in known}
    others = tuple(key for key in known if key not in ("random_state", "n_jobs", "verbose"))
    given = odd.parameters(rng, usual, others, changes=rng.choice((0, 1, 1)))
    n = rng.randint(4, 12)
    X = np.clip(odd.numbers(rng, n, 2), -1, 1)
    y = X[:, 0] * 0.5 if of_numbers else np.where(np.arange(n) % 2, 1.0, -1.0)
    if rng.random() < 0.4:
        X = _perhaps_twisted(rng, X)
    elif rng.random() < 0.6:
        y = _perhaps_twisted(rng, y)
    model = kind(**given, **({"random_state": 0} if "random_state" in known else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(X, y)
        except (ValueError, TypeError) as error:
            known = str(error).startswith(_SAYS_SCIKIT_LEARN) or "requires y to be" in str(error)
            if isinstance(error, PrivLPError) or not known:
                raise
            raise PrivLPError(f"scikit-learn says: {error}.") from None
    assert repr(model) + repr(model.privacy_)
    found = model.predict(np.zeros((2, np.shape(X)[1])))
    assert len(found) == 2
    assert not of_numbers or np.isfinite(found).all()
    assert np.isfinite(model.coef_).all(), "a slope of no number was released"


# files


def from_mps(rng: Random, folder: Path) -> None:
    data, ending = files.model(rng)
    options = {
        "private": rng.choice(("*", "r*", [0], odd.thing(rng))),
        "box": odd.number(rng),
        "neighbours": _relation(rng, 3, 3),
    }
    chosen = _some(rng, rng.choice((0, 1)), options)
    _read_back(
        folder,
        f"model{ending}",
        data,
        lambda path: _use(rng, LinearProgram.from_mps(path, **chosen), folder),
    )


def solution_load(rng: Random, folder: Path) -> None:
    def read(path: Path) -> None:
        found = privlp.Solution.load(path)
        text = f"{found}{found.privacy}{found.privacy.statement()}{found.success}"
        assert text
        assert found.privacy.statement().to_json()
        found.save(folder / "again.json")
        assert privlp.Solution.load(folder / "again.json").to_json() == found.to_json()

    _read_back(folder, "solution.json", files.solution(rng), read)
    (folder / "again.json").unlink(missing_ok=True)


def training_file(rng: Random, folder: Path) -> None:
    with_h = rng.random() < 0.5
    data = files.training_file(rng, with_h if rng.random() < 0.95 else not with_h)

    def read(path: Path) -> None:
        found = read_training_file(path, with_h=with_h)
        assert found.X.shape == (len(found.y), found.X.shape[1])
        assert np.isfinite(found.X).all()

    _read_back(folder, "records.txt", data, read)


def csv_file(rng: Random, folder: Path) -> None:
    def read(path: Path) -> None:
        found = read_csv_file(path, rng.choice((None, None, "1", "age", "9")))
        assert found.X.shape == (len(found.y), len(found.columns))
        assert np.isfinite(found.X).all()

    _read_back(folder, "records.csv", files.csv_file(rng), read)


def _read_back(folder: Path, name: str, data: bytes, read: Callable[[Path], None]) -> None:
    path = folder / name
    path.write_bytes(data)
    try:
        read(path)
    finally:
        path.unlink()


# requests


@cache
def _programs() -> tuple[tuple[LinearProgram, dict[str, Any]], ...]:
    """Small programs of every kind, each with a request that fits."""
    rng = np.random.default_rng(0)
    needs = rng.uniform(0.2, 1.0, (40, 3))
    needs[7, 1] = odd.PLANTED / 10
    cover = {"c": [1.0, 2.0, 1.5], "A": -needs, "b": -np.ones(40)}
    pack = {"c": [1.0, 2.0, 1.5], "A": needs, "b": np.full(40, odd.PLANTED), "sense": "max"}
    whole = {"s": 5, "opt": 3.0}
    return (
        (LinearProgram(**cover), whole),
        (LinearProgram(**cover, neighbours=ConstraintPrivate("add-remove", 1, 50)), whole),
        (LinearProgram(**cover, groups=np.arange(40) // 2), whole | {"opt": (2.0, 5.0)}),
        (LinearProgram(**cover, bounds=(0, 4), private=np.arange(40) > 3), whole),
        (LinearProgram(**cover, penalty=5.0), whole | {"width": 4.0}),
        (
            LinearProgram(**pack, neighbours=ScalarPrivate(0.1, norm="1", lower=5, upper=9)),
            {"feasible": "always"},
        ),
        (LinearProgram(**cover, neighbours=ScalarPrivate(0.01)), {"opt": 3.0}),
        (LinearProgram(**cover, neighbours=RowPrivate(0.01, lower=-1, upper=0)), {"opt": 3.0}),
        (LinearProgram(**cover, neighbours=ColumnPrivate(0.001), bounds=(0, 9)), {}),
        (LinearProgram(**cover, neighbours=ObjectivePrivate(0.01, lower=0, upper=5)), {}),
        (
            LinearProgram(**cover, neighbours=(ScalarPrivate(0.01), ObjectivePrivate(0.01))),
            {"split": (2, 1)},
        ),
    )


_METHODS = ("auto", "", "simplex", *METHODS)


def _pair(rng: Random) -> Any:
    pair = odd.twisted(rng, np.array([1.0, 5.0]))
    return rng.choice(
        (odd.number(rng), (odd.number(rng), odd.number(rng)), [1, 5], pair, odd.thing(rng))
    )


def _request(rng: Random, fitting: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    usual = {
        "eps": rng.choice((1.0, 0.1, 10, math.inf)),
        "delta": rng.choice((1e-6, 1e-3, 0.0)),
        **fitting,
    }
    given = odd.parameters(rng, usual, ("s", "alpha"), changes=rng.choice((0, 1, 1, 2)))
    if rng.random() < 0.3:
        given["alpha"] = rng.choice((0.5, 5.0, 0.05, odd.number(rng)))
    for name in ("opt", "width", "split"):
        if rng.random() < 0.1:
            given[name] = _pair(rng)
    return given, {name: given.pop(name, None) for name in ("feasible", "split")}


def solve(rng: Random, folder: Path) -> None:
    lp, fitting = rng.choice(_programs())
    given, more = _request(rng, fitting)
    more |= {"rng": 0, "time_limit": 1.0}
    if rng.random() < 0.3:
        more["method"] = rng.choice(_METHODS)
    if rng.random() < 0.2:
        name = rng.choice(("method", "feasible", "budget", "rng", "time_limit"))
        more[name] = odd.number(rng) if name in ("rng", "time_limit") else odd.thing(rng)
        if callable(more[name]):
            del more[name]  # a method of the caller's own, with errors of its own
    if rng.random() < 0.2:
        more["budget"] = privlp.Budget(
            rng.choice((0.5, 1.0, 20.0, math.inf)), rng.choice((0.0, 1e-6, 0.5))
        )
    if rng.random() < 0.02:
        lp = odd.thing(rng)
    solution = privlp.solve(lp, **given, **more)
    assert solution.privacy.eps <= solution.privacy.eps_limit
    assert solution.x is None or (
        np.isfinite(solution.x).all() and math.isfinite(solution.objective or 0.0)
    )
    assert str(solution.privacy)
    if rng.random() < 0.2:
        solution.save(folder / "solution.json")
        privlp.Solution.load(folder / "solution.json")
        (folder / "solution.json").unlink()


def plan(rng: Random, folder: Path) -> None:
    lp, fitting = rng.choice(_programs())
    given, _ = _request(rng, fitting)
    assert str(privlp.plan(lp if rng.random() < 0.98 else odd.thing(rng), **given))


def reports(rng: Random, folder: Path) -> None:
    lp, _ = rng.choice(_programs())
    points = (np.ones(3), np.zeros(3), np.array([1e300, -1e300, 1e308]))
    x = rng.choice((*points, _perhaps_twisted(rng, odd.numbers(rng, 3)), odd.thing(rng)))
    if rng.random() < 0.5:
        given = odd.parameters(rng, {"eps": 1.0}, ("alpha", "budget"), changes=1) | {"rng": 0}
        assert str(privlp.quality(lp, x, **given))
        return
    comparison = privlp.compare(lp, x, _exact(lp) if rng.random() < 0.9 else odd.thing(rng))
    assert repr(comparison)
    comparison.violation_at(odd.number(rng))
    comparison.n_violated(odd.number(rng))


@cache
def _exact(lp: LinearProgram) -> privlp.ExactSolution:
    return privlp.solve_exact(lp)


def audit(rng: Random, folder: Path) -> None:
    outcomes = [
        odd.number(rng) if rng.random() < 0.5 else odd.thing(rng) for _ in range(rng.randint(1, 3))
    ]
    if rng.random() < 0.7:
        sound = (
            [1, 2],
            ["a", "b"],
            [0.5, 1.5],
            [np.zeros(2), np.ones(2)],
            [[1.0], [2.0]],
            [True, None],
            [(1,), (2,)],
        )
        outcomes = rng.choice(sound)
    given = odd.parameters(
        rng, {"eps": 1.0, "delta": 0.0}, ("runs", "confidence"), changes=rng.choice((0, 1))
    )
    runs = given.get("runs")
    if runs is None or (isinstance(runs, int | np.integer) and runs > 1000):
        given["runs"] = rng.choice((100, 100, 150))
    outcomes = [
        "masked" if outcome is np.ma.masked else outcome for outcome in outcomes
    ]  # NumPy's own warning tells of it
    assert str(
        privlp.audit(
            lambda data, source: outcomes[int(source.integers(len(outcomes)))], 0, 1, rng=0, **given
        )
    )


# command lines

_WORDS = (
    "1", "0", "-1", "0.5", "1e-6", "nan", "inf", "-inf", "1e400", "x", "-", "--", "ü", "1,2", "2,1", "*", "[", "person*", "-1e-3",
    "", " 1", "\udcff", "9" * 400,
)  # fmt: skip
_MODELS = ("covering.mps", "covering.mps", "covering.mps", "diet.mps", "small.lp", "spaces.mps")
_NO_MODELS = (
    "missing.mps",
    "",
    "ü.mps",
    "\udcff.mps",
    "/dev/null",
    "-",
    str(files.CORPUS / "solution.json"),
    "x" * 5000,
)
_RELATION_OPTIONS = (
    ("--scalar-private", ("--b-range", "0", "9")),
    ("--scalar-private", ("--norm", "1")),
    ("--row-private", ("--a-range", "0", "2")),
    ("--column-private", ("--zeros-public",)),
    ("--objective-private", ("--c-range", "0", "5")),
)
_BRIEF = {
    "solve": {"--seed": "0", "--time-limit": "1"},
    "audit": {"--seed": "0", "--pairs": "1", "--runs": "0"},
}
_EXTRA = (
    ["--feasible", "always"],
    ["--progress"],
    ["--nonsense"],
    ["extra"],
    ["--help"],
    ["--method", "direct-noise"],
)


def _command(rng: Random, folder: Path) -> list[str]:
    """Words behind ``privlp``.

    A lawful request with a few of its options exchanged, left out or added.
    """
    model = (
        str(files.CORPUS / rng.choice(_MODELS))
        if rng.random() < 0.92
        else rng.choice((*_NO_MODELS, str(folder)))
    )
    chosen = rng.choice(("exact", "solve", "solve", "solve", "plan", "plan", "audit"))
    words = [chosen, model]
    if chosen == "exact":
        options = {"--time-limit": rng.choice(_WORDS)} if rng.random() < 0.3 else {}
    else:
        options = {"--eps": "1", "--delta": "1e-6", "--s": "2", "--opt": "2.5"}
        if rng.random() < 0.4:
            name, detail = rng.choice(_RELATION_OPTIONS)
            options = {"--eps": "1", "--delta": "1e-6", name: "0.01"}
            words += detail if rng.random() < 0.7 else ()
        known = [
            p
            for p in privlp_command.get_command(click.Context(privlp_command), chosen).params
            if isinstance(p, click.Option) and not p.is_flag
        ]
        names = {p.opts[0] for p in known if p.nargs == 1} - {"--json", "--plot"}
        for name in rng.sample(sorted(names), rng.choice((0, 0, 1, 2))):
            options[name] = rng.choice(_WORDS)
        if rng.random() < 0.05:
            options.pop(rng.choice(sorted(options)))
        if rng.random() < 0.05:
            words += [
                rng.choice(("--opt-range", "--b-range", "--a-range", "--c-range")),
                rng.choice(_WORDS),
                rng.choice(_WORDS),
            ]
        if chosen == "solve" and rng.random() < 0.1:
            words += rng.choice(_EXTRA)
        options = _BRIEF.get(chosen, {}) | options
        options |= {name: "2" for name in ("--pairs", "--runs") if options.get(name) == "9" * 400}
    if chosen != "plan" and rng.random() < 0.2:
        targets = (
            str(folder / "out.json"),
            str(folder),
            "no/such/out.json",
            "/dev/null",
            "/dev/full",
            "/proc/out.json",
            "x" * 300,
        )
        options["--json"] = rng.choice(("-", "", *targets))
    if chosen in ("plan", "audit") and rng.random() < 0.03:
        options["--plot"] = rng.choice(
            (str(folder / "out.png"), "out", "", str(folder), "no/out.png", "/proc/out.svg")
        )
    for name, word in options.items():
        words += [name, word] if rng.random() < 0.8 else [f"{name}={word}"]
    return words


def _run(command: Any, words: list[str], folder: Path, known: set[str]) -> Any:
    """Run a command in this process, and look at what it leaves."""
    result = CliRunner().invoke(command, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2), result.exit_code
    assert "Traceback" not in result.output
    assert result.exit_code != 2 or "Error:" in result.stderr or "Usage:" in result.stderr, (
        "no word about what is wrong"
    )
    assert f"{odd.PLANTED}" not in result.stderr, "a private number in a message"
    left = {path.name for path in folder.iterdir()}
    assert left <= known, f"files left behind: {left - known}"
    for path in folder.glob("*.json"):
        json.loads(path.read_text())
        path.unlink()
    for path in folder.glob("*.png"):
        path.unlink()
    return result


def privlp_cli(rng: Random, folder: Path) -> int:
    words = _command(rng, folder)
    if rng.random() < 0.1:
        others = (
            [],
            ["--help"],
            ["--version"],
            ["nonsense"],
            ["solve"],
            ["plan", "--help"],
            ["demo", "--seed", "x"],
            ["", ""],
        )
        picture = rng.choice(("out.txt", "", str(folder), "no/out.png"))
        words = rng.choice((*others, words[1:], ["demo", "--output", picture]))
    return _run(privlp_command, words, folder, {"out.json", "out.png"}).exit_code


def svm_cli(rng: Random, folder: Path) -> int:
    path, model = folder / "records.txt", rng.choice(("svm", "lr"))
    path.write_bytes(files.training_file(rng, model == "svm"))
    words = [
        "train",
        str(path),
        "--model",
        model,
        "--seed",
        rng.choice(_WORDS) if rng.random() < 0.05 else "0",
    ]
    if rng.random() < 0.1:
        missing = ["train", rng.choice((*_NO_MODELS, str(folder))), "--model", model]
        others = (
            ["example", "--model", model],
            words[:2],
            words[:4],
            ["--help"],
            [rng.choice(_WORDS) for _ in range(3)],
        )
        words = rng.choice((*others, missing, missing))
    try:
        result = _run(svm_command, words, folder, {"records.txt"})
    finally:
        path.unlink()
    if result.exit_code == 0 and words[0] == "train" and "--help" not in words:
        assert len(result.stdout.splitlines()) == 3
        assert all(
            math.isfinite(float(number))
            for line in result.stdout.splitlines()
            for number in line.split()
        )
    return result.exit_code


def processes(rng: Random, folder: Path) -> int:
    """Commands as processes of their own: other encodings, closed pipes, a folder that is gone."""
    words = [word for word in _command(rng, folder) if "\0" not in word]
    if rng.random() < 0.1:
        words = ["demo", "--seed", "0", "--output", str(folder / "out.png")]
    encoding = rng.choice(("utf-8", "utf-8", "ascii", "latin-1"))
    full = rng.random() < 0.1
    with open("/dev/full" if full else os.devnull, "wb") as sink:
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from privlp.cli import main; main(prog_name='privlp')",
                *map(os.fsencode, words),
            ],
            stdout=sink if full else subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONIOENCODING": encoding, "OPENBLAS_NUM_THREADS": "1"},
            cwd=folder,
            timeout=60,
            check=False,
        )
    errors = done.stderr.decode(errors="replace")
    assert done.returncode in (0, 1, 2), (done.returncode, errors[-300:])
    assert "Traceback" not in errors, errors[-300:]
    for path in folder.iterdir():
        assert path.name in ("out.json", "out.png"), path.name
        path.unlink()
    return done.returncode


#: Every target, with its part of a long run.
TARGETS: dict[Callable[[Random, Path], int | None], int] = {
    constructor: 25_000,
    from_linprog: 12_000,
    from_cvxpy: 4_000,
    relations: 6_000,
    budgets: 2_000,
    selections: 25_000,
    estimators: 10_000,
    from_mps: 25_000,
    solution_load: 10_000,
    training_file: 10_000,
    csv_file: 5_000,
    solve: 2_000,
    plan: 2_500,
    reports: 5_000,
    audit: 2_000,
    privlp_cli: 2_500,
    svm_cli: 2_500,
    processes: 20,
}
