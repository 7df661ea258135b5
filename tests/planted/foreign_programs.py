"""What is no number, planted in the private parts of programs, models and allocations.

In every field of a program, in what readers take, in methods that take rows, and in model files.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd

import privlp
from privlp import Allocation, ConstraintPrivate, LinearProgram, ObjectivePrivate, models
from privlp.cli import main as privlp_main
from tests.planted.foreign import ARGUMENTS, DATE, WORDS, path_of, text_of
from tests.planted.path import Attempt, Path, file_of
from tests.planted.programs import COSTS, NAME, Mint
from tests.planted.search import Secrets

#: What raises errors of its own, whatever the argument: planted where texts are public.
_OBJECTS = [title for title in ARGUMENTS if "object" in title]
_COMING = ConstraintPrivate("add-remove", nominal_n=100)
#: Well-formed fields of a program of five rows, from its numbers.
_FIELDS: dict[str, Callable[[Mint], Any]] = {
    "A": lambda mint: -mint(5, 3),
    "b": lambda mint: -mint(5),
    "row_lower": lambda mint: -mint(5, exponent=2),
    "groups": lambda mint: np.arange(5),
    "penalty": lambda mint: np.ones(5),
    "private": lambda mint: np.arange(5),
    "row_names": lambda mint: np.array([f"r{i}" for i in range(5)], dtype=object),
    "c": lambda mint: mint(3),
}
#: Fields in which names are private too, by relation. Where rows are replaced, names of rows and
#: which of them are private is public: objects alone are planted there.
_PRIVATE: dict[str, tuple[Any, tuple[str, ...]]] = {
    "replaced": (ConstraintPrivate(), ("A", "b", "row_lower", "groups", "penalty")),
    "coming and going": (
        _COMING,
        ("A", "b", "row_lower", "groups", "penalty", "private", "row_names"),
    ),
    "of private costs": (ObjectivePrivate(0.1), ("c",)),
}


def foreign_programs() -> Iterator[Path]:
    """Each argument that takes rows, owners or names."""
    yield from _constructed()
    for name, call in (_CALLS | _OF_PRIVATE_N).items():
        for title in ARGUMENTS:
            yield path_of(f"{name}: {title}", functools.partial(_call, call, title))
    for title, write in _MODELS.items():
        for command in ("solve", "plan", "solve --nominal-n 100"):
            attempt = functools.partial(_command, command, write)
            yield path_of(f"privlp {command}: {title}", attempt)
    for title, column in _COLUMNS.items():
        yield path_of(f"from_parquet: {title}", functools.partial(_parquet, column))


def _constructed() -> Iterator[Path]:
    for relation, (_, arguments) in _PRIVATE.items():
        for argument in arguments:
            for title in ARGUMENTS:
                attempt = functools.partial(_construct, relation, argument, title)
                yield path_of(f"program, rows {relation}, {argument}: {title}", attempt)
    for argument in ("private", "row_names", "c"):
        for title in _OBJECTS:
            attempt = functools.partial(_construct, "replaced", argument, title)
            yield path_of(f"program, rows replaced, {argument}: {title}", attempt)


def _secrets(mint: Mint) -> Callable[[], Secrets]:
    return lambda: Secrets(mint.numbers, (), WORDS)


def _construct(relation: str, argument: str, title: str, variant: int) -> Attempt:
    mint = Mint(variant)
    fields = {name: _FIELDS[name](mint) for name in ("A", "b")} | {"c": COSTS}
    fields[argument] = ARGUMENTS[title](_FIELDS[argument](mint), mint)
    fields["neighbours"] = _PRIVATE[relation][0]
    made: list[str] = []
    return Attempt(
        lambda: made.append(repr(LinearProgram(**fields))), _secrets(mint)(), None, lambda: made
    )


def _call(
    call: Callable[[Callable[[Any], Any], Mint], Callable[[], Any]], title: str, variant: int
) -> Attempt:
    mint = Mint(variant)
    made = call(lambda values: ARGUMENTS[title](values, mint), mint)
    return Attempt(lambda: [made(), None][1], _secrets(mint)())


Change = Callable[[Any], Any]


def _linprog(argument: str) -> Callable[[Change, Mint], Callable[[], Any]]:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        given = {"A_ub": -mint(5, 3), "b_ub": -mint(5), "A_eq": mint(5, 3), "b_eq": mint(5)}
        given[argument] = change(given[argument])
        return lambda: LinearProgram.from_linprog(COSTS, **given)

    return call


def _option(argument: str) -> Callable[[Change, Mint], Callable[[], Any]]:
    """An option that readers share, where rows come and go."""

    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        given = {argument: change(_FIELDS[argument](mint))}
        A, b = -mint(5, 3), -mint(5)
        return lambda: LinearProgram.from_linprog(COSTS, A, b, neighbours=_COMING, **given)

    return call


def _of_file(argument: str) -> Callable[[Change, Mint], Callable[[], Any]]:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        given = {argument: change(_FIELDS[argument](mint))}
        path = file_of("option.mps", "")
        LinearProgram(COSTS, -mint(5, 3), -mint(5)).to_mps(path)
        return lambda: LinearProgram.from_mps(path, neighbours=_COMING, **given)

    return call


def _cvxpy(argument: str) -> Callable[[Change, Mint], Callable[[], Any]]:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        x = cp.Variable(3, nonneg=True)
        rows = -mint(5, 3) @ x <= -mint(5)
        problem = cp.Problem(cp.Minimize(COSTS @ x), [rows])
        given = change(_FIELDS[argument](mint))
        options = {argument: {rows: given} if argument == "penalty" else given}
        return lambda: LinearProgram.from_cvxpy(problem, neighbours=_COMING, **options)

    return call


def _blocks(argument: str) -> Callable[[Change, Mint], Callable[[], Any]]:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        A, b = [-mint(5, 3), -mint(5, 3)], [-mint(5), -mint(5)]
        if argument == "A":
            A = [A[0], change(A[1])]
        else:
            b = [b[0], change(b[1])]
        return lambda: LinearProgram(COSTS, A, b)

    return call


def _program(mint: Mint) -> LinearProgram:
    return LinearProgram(COSTS, -mint(5, 3), -mint(5), penalty=2.0)


def _of_program(
    use: Callable[[LinearProgram, Any], Any], values: Callable[[Mint], Any]
) -> Callable[[Change, Mint], Callable[[], Any]]:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        lp, given = _program(mint), change(values(mint))
        return lambda: use(lp, given)

    return call


def _model(
    make: Callable[..., Any], argument: str, given: dict[str, Callable[[Mint], Any]]
) -> Callable[[Change, Mint], Callable[[], Any]]:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        values = {name: value(mint) for name, value in given.items()}
        values[argument] = change(values[argument])
        return lambda: make(**values)

    return call


_OF_MODELS: dict[str, tuple[Callable[..., Any], dict[str, Callable[[Mint], Any]]]] = {
    "diet": (
        functools.partial(models.diet, [1, 2], [[1, 2], [3, 1]]),
        {"needs": lambda mint: mint(5, 2), "eats": lambda mint: mint(5, 2) / 100},
    ),
    "staffing": (
        functools.partial(models.staffing, [1, 2], [[1, 1], [0, 1]]),
        {"wanted": lambda mint: mint(5, 2), "hours": lambda mint: mint(5)},
    ),
    "transport": (
        functools.partial(models.transport, np.ones((5, 5)), sensitivity=1.0),
        {"supplies": lambda mint: mint(5, exponent=2), "demands": lambda mint: mint(5)},
    ),
    "flow": (
        functools.partial(
            models.min_cost_flow,
            [("a", "b")] * 5,
            np.ones(5),
            supply={"a": 1, "b": -1},
            sensitivity=0.1,
        ),
        {"capacities": lambda mint: mint(5)},
    ),
    "portfolio": (
        functools.partial(models.cvar_portfolio, bound=0.5),
        {"returns": lambda mint: mint(5, 2, exponent=-1)},
    ),
    "allocation": (
        functools.partial(
            Allocation, supplies=[1, 1], largest_value=10, largest_use=200, largest_limit=10
        ),
        {
            "values": lambda mint: mint(5, 2),
            "uses": lambda mint: mint(5, 2, 2),
            "limits": lambda mint: mint(5),
        },
    ),
}
_CALLS = {
    **{f"from_linprog, {name}": _linprog(name) for name in ("A_ub", "b_ub", "A_eq", "b_eq")},
    **{f"blocks of {name}": _blocks(name) for name in ("A", "b")},
    "changed b": _of_program(lambda lp, v: lp.changed(b=v), lambda mint: -mint(5)),
    "changed A": _of_program(lambda lp, v: lp.changed(A=v), lambda mint: -mint(5, 3)),
    "price of violations": _of_program(lambda lp, v: lp.price_of(v), lambda mint: mint(5)),
    "objective of a point": _of_program(lambda lp, v: lp.objective(v), lambda mint: mint(5)[:3]),
    "quality of a point": _of_program(
        lambda lp, v: privlp.quality(lp, v, eps=1.0), lambda mint: mint(5)[:3]
    ),
    "comparison with a point": _of_program(privlp.compare, lambda mint: mint(5)[:3]),
    **{
        f"{title}, {argument}": _model(make, argument, given)
        for title, (make, given) in _OF_MODELS.items()
        for argument in given
    },
}
_OF_PRIVATE_N = {
    f"{reader}, {argument}": make(argument)
    for reader, make in (("from_linprog", _option), ("from_mps", _of_file), ("from_cvxpy", _cvxpy))
    for argument in ("private", "groups", "penalty")
}


def _mps(coefficient: str, side: str, row: str) -> list[str]:
    """A model file of two rows, with what is to be planted."""
    return [
        "NAME model",
        "ROWS",
        " N cost",
        f" G {row}",
        " G r1",
        "COLUMNS",
        f"    x cost 1.0 {row} {coefficient}",
        "    x r1 2.0",
        "RHS",
        f"    RHS {row} {side} r1 1.0",
        "ENDATA",
        "",
    ]


def _lp(coefficient: str, side: str, row: str) -> list[str]:
    return [
        "min",
        " cost: x",
        "st",
        f" {row}: {coefficient} x >= {side}",
        " r1: 2 x >= 1",
        "end",
        "",
    ]


_WORD = NAME.split()[0]
#: Coefficient, right-hand side and name of a private row, of which one is foreign.
_PARTS: dict[str, Callable[[Mint], tuple[str, str, str]]] = {
    "a text for a coefficient": lambda mint: (text_of(mint), mint.text(), "r0"),
    "a word for a coefficient": lambda mint: (_WORD, mint.text(), "r0"),
    "a text for a side": lambda mint: (mint.text(), text_of(mint), "r0"),
    "a word for a side": lambda mint: (mint.text(), _WORD, "r0"),
    "a date for a side": lambda mint: (mint.text(), DATE.isoformat(), "r0"),
    "a text for a name": lambda mint: (mint.text(), mint.text(), text_of(mint)),
    "NaN for a side": lambda mint: (mint.text(), "nan", "r0"),
    "nothing for a side": lambda mint: (mint.text(), "", "r0"),
    "an infinite coefficient": lambda mint: ("1e400", mint.text(), "r0"),
}
_MODELS: dict[str, Callable[[Mint], tuple[str, list[str]]]] = {
    f"{title}, {kind}": (lambda mint, make=make, kind=kind, lines=lines: (kind, lines(*make(mint))))
    for title, make in _PARTS.items()
    for kind, lines in (("mps", _mps), ("lp", _lp))
}


def _command(command: str, write: Callable[[Mint], tuple[str, list[str]]], variant: int) -> Attempt:
    mint = Mint(variant)
    kind, lines = write(mint)
    path = file_of(f"foreign.{kind}", "\n".join(lines))
    name, *options = command.split()
    asked = ["--eps", "1", "--delta", "1e-6", "--s", "1", "--opt", "2", *options]
    secrets = Secrets(mint.numbers, (), WORDS)
    return Attempt(lambda: privlp_main.main([name, path, *asked], prog_name="privlp"), secrets)


#: Columns of right-hand sides in a file of rows.
_COLUMNS: dict[str, Callable[[Mint], Any]] = {
    "texts": lambda mint: [text_of(mint)] * 5,
    "dates": lambda mint: [DATE] * 5,
    "bytes": lambda mint: [text_of(mint).encode()] * 5,
    "lists": lambda mint: [[mint()]] * 5,
    "missing values": lambda mint: pd.array([1.0, None, 2.0, 3.0, 4.0], dtype="Float64"),
    "NaN": lambda mint: [mint(), math.nan, 1.0, 2.0, 3.0],
    "categories": lambda mint: pd.Categorical([text_of(mint)] * 5),
}


def _parquet(column: Callable[[Mint], Any], variant: int) -> Attempt:
    mint = Mint(variant)
    path = file_of("foreign.parquet", b"")
    pd.DataFrame({"x": mint(5), "side": column(mint)}).to_parquet(path)

    def call() -> None:
        LinearProgram.from_parquet(path, [1.0], rhs="side")

    return Attempt(call, _secrets(mint)())
