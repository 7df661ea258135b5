"""Targets that make programs: by the constructor and readers of what stands in memory."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import scipy.sparse as sp

import privlp
from fuzz import odd

RELATIONS = (
    privlp.ConstraintPrivate,
    privlp.ScalarPrivate,
    privlp.RowPrivate,
    privlp.ColumnPrivate,
    privlp.ObjectivePrivate,
)


def constructor(rng: Random, folder: Path) -> None:
    n, d = rng.randint(1, 4), rng.randint(1, 3)
    A, b, c = (perhaps_twisted(rng, odd.numbers(rng, *shape)) for shape in ((n, d), (n,), (d,)))
    options = some(rng, 3, _program_options(rng, n, d) | _more_options(rng, n, d))
    use(rng, privlp.LinearProgram(c, A, b, **options), folder)


def from_linprog(rng: Random, folder: Path) -> None:
    n, m, d = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3)
    given = {"A_ub": (n, d), "b_ub": (n,), "A_eq": (m, d), "b_eq": (m,)}
    if rng.random() < 0.4:
        given = {name: shape for name, shape in given.items() if "eq" in name}
    elif rng.random() < 0.5:
        given = {name: shape for name, shape in given.items() if "ub" in name}
    arrays = {
        name: perhaps_twisted(rng, odd.numbers(rng, *shape))
        for name, shape in given.items()
        if rng.random() < 0.97
    }
    c = perhaps_twisted(rng, odd.numbers(rng, d))
    options = _program_options(rng, n + m if len(given) == 4 else n, d) | {"box": odd.number(rng)}
    use(rng, privlp.LinearProgram.from_linprog(c, **arrays, **some(rng, 2, options)), folder)


def from_cvxpy(rng: Random, folder: Path) -> None:
    try:
        problem, private = _cvxpy_problem(rng)
    except Exception:
        raise privlp.PrivLPError("CVXPY itself refuses it.") from None
    options = {
        **{"neighbours": relation(rng, 2, 2), "groups": _groups(rng, 2), "box": odd.number(rng)},
        "penalty": rng.choice((odd.number(rng), {}, odd.thing(rng))),
    }
    use(
        rng,
        privlp.LinearProgram.from_cvxpy(problem, private=private, **some(rng, 1, options)),
        folder,
    )


def relations(rng: Random, folder: Path) -> None:
    chosen = relation(rng, 3, 2, sound=False)
    repr(chosen)
    A, b = odd.numbers(rng, 3, 2), odd.numbers(rng, 3)
    use(rng, privlp.LinearProgram([1.0, 2.0], A, b, neighbours=chosen), folder)


def budgets(rng: Random, folder: Path) -> None:
    given = odd.parameters(rng, {"eps": 1.0, "delta": 1e-6}, changes=1)
    budget = privlp.Budget(**given)
    shared = budget.share(**odd.parameters(rng, given, changes=1))
    shared.disjoint(odd.thing(rng) if rng.random() < 0.5 else 2)
    assert budget.statement().to_json()
    assert str(budget) + repr(budget)


def perhaps_twisted(rng: Random, plain: np.ndarray) -> Any:
    if rng.random() < 0.04:
        return odd.thing(rng)
    return odd.twisted(rng, plain) if rng.random() < 0.35 else plain


def some(rng: Random, most: int, options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in rng.sample(sorted(options), rng.randint(0, most))}


def _program_options(rng: Random, n: int, d: int) -> dict[str, Any]:
    others = (odd.twisted(rng, np.ones(n)), odd.number(rng), odd.thing(rng))
    pair = (odd.number(rng), odd.number(rng))
    whole = odd.twisted(rng, np.array([[0.0, 2.0]] * d))
    pairs = [(odd.number(rng) if rng.random() < 0.2 else 0, None) for _ in range(d)]
    patterns = ("*", "r1", "[", "r?", "", ["r0"], [0], [-1], [n], np.arange(n) % 2 == 0)
    return {
        "neighbours": relation(rng, n, d),
        "groups": _groups(rng, n),
        "bounds": rng.choice((pair, pairs, [pair] * d, (0, 1), (None, None), whole, odd.thing(rng))),
        "penalty": rng.choice(others),
        "private": rng.choice((*patterns, *others)),
    }  # fmt: skip


def _more_options(rng: Random, n: int, d: int) -> dict[str, Any]:
    return {
        "row_lower": perhaps_twisted(rng, np.full(n, -np.inf)),
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


def relation(rng: Random, n: int, d: int, *, sound: bool = True) -> Any:
    """A relation, or several, or none at all; its arguments odd where they need not be sound."""
    way = rng.random()
    if way < 0.1:
        one = privlp.ScalarPrivate(1.0)
        return rng.choice(
            (
                privlp.ConstraintPrivate,
                (),
                [],
                (one,),
                (one, privlp.ConstraintPrivate()),
                (1, 2),
                odd.thing(rng),
            )
        )
    if way < 0.3:
        several = rng.choice((tuple, list))
        return several(relation(rng, n, d, sound=sound) for _ in range(rng.randint(1, 3)))
    kind = rng.choice(RELATIONS)
    if kind is privlp.ConstraintPrivate:
        usual: dict[str, Any] = {"change": "replace"}
        if rng.random() >= 0.5:
            usual = {"change": "add-remove", "nominal_n": n, "rows_per_record": 1}
        changes = rng.choice((0, 1)) if sound else 1
        return kind(**odd.parameters(rng, usual, ("rows_per_record", "nominal_n"), changes=changes))
    shape = {privlp.ScalarPrivate: (n,), privlp.ObjectivePrivate: (d,)}.get(kind, (n, d))
    usual = {"sensitivity": rng.choice((1e-3, 0.1, 1.0))}
    for name, end in (("lower", -10.0), ("upper", 10.0)):
        if rng.random() < 0.5:
            ends = np.full(shape, end)
            usual[name] = rng.choice((end, ends, perhaps_twisted(rng, ends)))
    detail = {
        privlp.ScalarPrivate: ("norm", ("1", "inf", 1, math.inf)),
        privlp.RowPrivate: ("zeros", ("public", "private")),
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
        ways: tuple[Callable[[], Any], ...] = (
            lambda: v, lambda: v + constant(v.shape), lambda: cp.sum(v), lambda: 2 * v - v, lambda: constant(()) * v,
            lambda: cp.vec(v, order="F"), lambda: v[0], lambda: v.T, lambda: cp.hstack([v, v]), lambda: 0 * v, lambda: -v,
            lambda: constant((2, *v.shape[:1])) @ v, lambda: cp.Constant(constant((2,))), lambda: cp.sum(rng.choice(x)) + v,
            lambda: constant(v.shape) @ v, lambda: cp.cumsum(v), lambda: cp.real(v),
        )  # fmt: skip
        if rng.random() < 0.08:
            p = cp.Parameter(value=1.0) if rng.random() < 0.5 else cp.Parameter()
            ways = (
                *(lambda f=f: f(v) for f in (cp.norm, cp.abs, cp.max, cp.square)),
                lambda: p * v,
            )
        return rng.choice(ways)()

    def constraint() -> Any:
        left, right = affine(), rng.choice((affine, lambda: constant(())))()
        ways = [lambda: left <= right, lambda: left >= right, lambda: left == right] * 6
        ways += [lambda: cp.SOC(cp.sum(left), left), lambda: left >> 0, lambda: cp.NonPos(left)]
        ways += [lambda: cp.Zero(left), lambda: cp.NonNeg(left), lambda: True]
        return rng.choice(ways)()

    constraints = [constraint() for _ in range(rng.randint(0, 3))]

    def term() -> Any:
        e = affine()
        ways = (
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
        return rng.choice(ways)()

    total = cp.sum(affine()) if rng.random() < 0.9 else rng.choice((constant(()), 0))
    for _ in range(rng.choice((0, 0, 1, 2))):
        total = total + term()
    least = rng.random() < 0.7
    objective = cp.Minimize(total) if least else cp.Maximize(rng.choice((-1, -1, 1)) * total)
    problem = cp.Problem(objective, constraints) if rng.random() < 0.97 else odd.thing(rng)
    private = rng.choice((None, constraints[:1], constraints, [x[0] >= 0], (), odd.thing(rng)))
    return problem, private


def use(rng: Random, lp: privlp.LinearProgram, folder: Path) -> None:
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
            shape = privlp.LinearProgram.from_mps(path).shape
        finally:
            path.unlink(missing_ok=True)
        # Free rows are not written.
        assert lp.penalty is not None or shape == (np.count_nonzero(lp.sides()), lp.shape[1])


def selections(rng: Random, folder: Path) -> None:
    """Which rows are private is what was said, or refused: never flags that are read as numbers."""
    n = rng.randint(1, 6)
    given = _selection(rng, n)
    change = rng.choice(({}, {"change": "add-remove", "nominal_n": n, "rows_per_record": 1}))
    options = {"groups": given, "neighbours": privlp.ConstraintPrivate()}
    if rng.random() < 0.8:
        options = {"private": given, "neighbours": privlp.ConstraintPrivate(**change)}
    A, b = odd.numbers(rng, n, 2), odd.numbers(rng, n)
    lp = rng.choice((privlp.LinearProgram, privlp.LinearProgram.from_linprog))(
        [1.0, 2.0], A, b, **options
    )
    if "private" in options:
        assert lp.private.tolist() == _meant(given, n), "rows are private that were not named"
    elif given is not None:
        owners = np.asarray(given, dtype=object)
        assert len(owners) == n
        most = max(np.unique(owners.astype(str), return_counts=True)[1])
        assert lp.rows_of_largest_record() >= most


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
    if given is None:
        return [True] * n
    entries = np.asarray(given, dtype=object).ravel().tolist()
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        assert len(entries) == n
        return [bool(entry) for entry in entries]
    assert all(isinstance(e, int | np.integer) and not isinstance(e, bool) for e in entries)
    numbers = [int(entry) for entry in entries]
    assert len(set(numbers)) == len(numbers), "numbers are repeated"
    assert n <= 2 or len(numbers) < n or set(numbers) - {0, 1}, "flags"
    return [i in numbers for i in range(n)]
