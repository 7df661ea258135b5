"""What is no number, planted in the private parts of programs, models and allocations.

In every field of a program, in what readers take, in methods that take rows, and in model files.
"""

import functools
import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pulp

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
    "coming and going": (_COMING, tuple(name for name in _FIELDS if name != "c")),
    "of private costs": (ObjectivePrivate(0.1), ("c",)),
}


def foreign_programs() -> Iterator[Path]:
    """Each argument that takes rows, owners or names."""
    for relation, (neighbours, arguments) in _PRIVATE.items():
        for argument, title in product(arguments, ARGUMENTS):
            yield _constructed(relation, neighbours, argument, title)
    for argument, title in product(("private", "row_names", "c"), _OBJECTS):
        yield _constructed("replaced", ConstraintPrivate(), argument, title)
    for (name, call), title in product((_CALLS | _OF_PRIVATE_N).items(), ARGUMENTS):
        yield path_of(f"{name}: {title}", _call, call, title)
    for (title, write), command in product(
        _MODELS.items(), ("solve", "plan", "solve --nominal-n 100")
    ):
        yield path_of(f"privlp {command}: {title}", _command, command, write)
    for title, column in _COLUMNS.items():
        yield path_of(f"from_parquet: {title}", _parquet, column)


def _constructed(relation: str, neighbours: Any, argument: str, title: str) -> Path:
    name = f"program, rows {relation}, {argument}: {title}"
    return path_of(name, _construct, neighbours, argument, title)


def _secrets(mint: Mint) -> Secrets:
    return Secrets(mint.numbers, (), WORDS)


def _construct(neighbours: Any, argument: str, title: str, variant: int) -> Attempt:
    mint = Mint(variant)
    fields = {"A": _FIELDS["A"](mint), "b": _FIELDS["b"](mint), "c": COSTS}
    fields[argument] = ARGUMENTS[title](_FIELDS[argument](mint), mint)
    fields["neighbours"] = neighbours
    made: list[str] = []
    call = lambda: made.append(repr(LinearProgram(**fields)))  # noqa: E731
    return Attempt(call, _secrets(mint), None, lambda: made)


Change = Callable[[Any], Any]
#: From what changes an argument and mints: a call with that argument.
Call = Callable[[Change, Mint], Callable[[], Any]]


def _call(call: Call, title: str, variant: int) -> Attempt:
    mint = Mint(variant)
    made = call(lambda values: ARGUMENTS[title](values, mint), mint)
    return Attempt(lambda: [made(), None][1], _secrets(mint))


def _of_fields(make: Callable[..., Any], argument: str, fields: dict[str, Any]) -> Call:
    """A call with fields from the mint, one of which is changed."""

    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        values = {name: value(mint) for name, value in fields.items()}
        values[argument] = change(values[argument])
        return lambda: make(**values)

    return call


def _of_program(use: Callable[[LinearProgram, Any], Any], values: Callable[[Mint], Any]) -> Call:
    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        lp = LinearProgram(COSTS, -mint(5, 3), -mint(5), penalty=2.0)
        given = change(values(mint))
        return lambda: use(lp, given)

    return call


def _option(read: Callable[..., Any], argument: str) -> Call:
    """An option that readers share, where rows come and go."""

    def call(change: Change, mint: Mint) -> Callable[[], Any]:
        option = change(_FIELDS[argument](mint))
        A, b = -mint(5, 3), -mint(5)
        return lambda: read(A, b, argument, option)

    return call


def _linprog(A: Any, b: Any, argument: str, option: Any) -> Any:
    return LinearProgram.from_linprog(COSTS, A, b, neighbours=_COMING, **{argument: option})


def _of_file(A: Any, b: Any, argument: str, option: Any) -> Any:
    path = file_of("option.mps", "")
    LinearProgram(COSTS, A, b).to_mps(path)
    return LinearProgram.from_mps(path, neighbours=_COMING, **{argument: option})


def _cvxpy(A: Any, b: Any, argument: str, option: Any) -> Any:
    x = cp.Variable(3, nonneg=True)
    rows = A @ x <= b
    problem = cp.Problem(cp.Minimize(COSTS @ x), [rows])
    options = {argument: {rows: option} if argument == "penalty" else option}
    return LinearProgram.from_cvxpy(problem, neighbours=_COMING, **options)


def _model(A: Any, b: Any, argument: str, option: Any) -> Any:
    problem, x = pulp.LpProblem("model"), [pulp.LpVariable(f"x{j}", lowBound=0) for j in range(3)]
    problem += pulp.LpAffineExpression(list(zip(x, COSTS, strict=True)))
    for row, side in zip(A, b, strict=True):
        problem += pulp.LpAffineExpression(list(zip(x, row.tolist(), strict=True))) <= side
    options = {argument: {"_C*": option} if argument == "penalty" else option}
    return LinearProgram.from_model(problem, neighbours=_COMING, **options)


_OF_LINPROG: dict[str, Callable[[Mint], Any]] = {
    "A_ub": lambda mint: -mint(5, 3),
    "b_ub": lambda mint: -mint(5),
    "A_eq": lambda mint: mint(5, 3),
    "b_eq": lambda mint: mint(5),
}
_OF_BLOCKS: dict[str, Callable[[Mint], Any]] = {
    "other A": lambda mint: -mint(5, 3),
    "A": lambda mint: -mint(5, 3),
    "other b": lambda mint: -mint(5),
    "b": lambda mint: -mint(5),
}


def _in_blocks(**given: Any) -> LinearProgram:
    return LinearProgram(COSTS, *([given[f"other {name}"], given[name]] for name in "Ab"))


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
    **{
        f"from_linprog, {name}": _of_fields(
            functools.partial(LinearProgram.from_linprog, COSTS), name, _OF_LINPROG
        )
        for name in _OF_LINPROG
    },
    **{f"blocks of {name}": _of_fields(_in_blocks, name, _OF_BLOCKS) for name in "Ab"},
    "changed b": _of_program(lambda lp, v: lp.changed(b=v), lambda mint: -mint(5)),
    "changed A": _of_program(lambda lp, v: lp.changed(A=v), lambda mint: -mint(5, 3)),
    "price of violations": _of_program(LinearProgram.price_of, lambda mint: mint(5)),
    "objective of a point": _of_program(LinearProgram.objective, lambda mint: mint(5)[:3]),
    "quality of a point": _of_program(
        lambda lp, v: privlp.quality(lp, v, eps=1.0), lambda mint: mint(5)[:3]
    ),
    "comparison with a point": _of_program(privlp.compare, lambda mint: mint(5)[:3]),
    **{
        f"{title}, {argument}": _of_fields(make, argument, given)
        for title, (make, given) in _OF_MODELS.items()
        for argument in given
    },
}
_READERS = {
    **{"from_linprog": _linprog, "from_mps": _of_file},
    **{"from_cvxpy": _cvxpy, "from_model": _model},
}
_OF_PRIVATE_N = {
    f"{reader}, {argument}": _option(read, argument)
    for reader, read in _READERS.items()
    for argument in ("private", "groups", "penalty")
}


def _mps(coefficient: str, side: str, row: str) -> list[str]:
    """A model file of two rows, with what is to be planted."""
    columns = [f"    x cost 1.0 {row} {coefficient}", "    x r1 2.0"]
    rows = ["NAME model", "ROWS", " N cost", f" G {row}", " G r1"]
    return [*rows, "COLUMNS", *columns, "RHS", f"    RHS {row} {side} r1 1.0", "ENDATA", ""]


def _lp(coefficient: str, side: str, row: str) -> list[str]:
    rows = [f" {row}: {coefficient} x >= {side}", " r1: 2 x >= 1"]
    return ["min", " cost: x", "st", *rows, "end", ""]


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
_MODELS = {
    f"{title}, {kind}": (kind, make, lines)
    for title, make in _PARTS.items()
    for kind, lines in (("mps", _mps), ("lp", _lp))
}


def _command(command: str, file: tuple[str, Any, Any], variant: int) -> Attempt:
    mint, (kind, make, lines) = Mint(variant), file
    path = file_of(f"foreign.{kind}", "\n".join(lines(*make(mint))))
    name, *options = command.split()
    asked = [name, path, "--eps", "1", "--delta", "1e-6", "--s", "1", "--opt", "2", *options]
    return Attempt(lambda: privlp_main.main(asked, prog_name="privlp"), _secrets(mint))


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
    read = lambda: [LinearProgram.from_parquet(path, [1.0], rhs="side"), None][1]  # noqa: E731
    return Attempt(read, _secrets(mint))
