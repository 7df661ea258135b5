"""A target that reads models of PuLP and MathOpt, which print nothing while they are made."""

import math
from pathlib import Path
from random import Random
from typing import Any

import pulp
from ortools.math_opt.python import mathopt

import privlp
from fuzz import odd
from fuzz.programs import relation, some, use


def from_model(rng: Random, folder: Path) -> None:
    n, d = rng.choice((0, 1, 2, 2, 3, 3)), rng.randint(1, 3)
    try:
        model, rows = rng.choice((_pulp, _mathopt))(rng, n, d)
    except Exception:
        raise privlp.PrivLPError("The library itself refuses it.") from None
    if rng.random() < 0.03:
        model = odd.thing(rng)
    chosen = (
        rows[:1],
        [*rows, "row*"],
        "row",
        ["row?1?", odd.thing(rng)],
        odd.thing(rng),
        (),
        "[*",
    )
    prices = ({"row*": odd.number(rng)}, {rng.random(): 1.0}, odd.number(rng), odd.thing(rng))
    options = {
        **{"private": rng.choice(chosen), "box": odd.number(rng), "penalty": rng.choice(prices)},
        **{"neighbours": relation(rng, n, d), "groups": odd.thing(rng)},
    }
    use(rng, privlp.LinearProgram.from_model(model, **some(rng, 1, options)), folder)


def _number(rng: Random) -> float:
    plain = rng.choice((1.0, -2.0, 3.5, odd.PLANTED))
    return rng.choice((math.nan, math.inf, -math.inf, 0.0, 1e300)) if rng.random() < 0.03 else plain


def _ends(rng: Random) -> tuple[Any, Any]:
    return rng.choice(((0, None),) * 4 + ((None, None), (-1, 2), (2, -1), (_number(rng), None)))


def _pulp(rng: Random, n: int, d: int) -> Any:
    model = pulp.LpProblem("m", rng.choice((pulp.LpMinimize, pulp.LpMaximize)))
    kinds = [rng.choice(("Continuous",) * 30 + ("Integer",)) for _ in range(d)]
    x = [pulp.LpVariable(f"x{j}", *_ends(rng), cat=kind) for j, kind in enumerate(kinds)]
    if rng.random() < 0.97:
        model += pulp.lpSum(_number(rng) * v for v in x) + rng.choice((0, _number(rng)))
    rows = []
    for i in range(n):
        left = pulp.lpSum(_number(rng) * v for v in x)
        side = _number(rng)
        rows.append(rng.choice((left <= side, left >= side, left == side)))
        model += rows[i], f"row_{i}_"
    return model, rows


def _mathopt(rng: Random, n: int, d: int) -> Any:
    model = mathopt.Model()
    name = rng.choice(("x", ""))
    whole = rng.random() < 0.05
    x = [
        model.add_variable(
            lb=rng.choice((0, -1, _number(rng))),
            ub=rng.choice((3, math.inf)),
            is_integer=whole,
            name=name and f"x{j}",
        )
        for j in range(d)
    ]
    model.set_objective(
        sum(_number(rng) * v for v in x) + _number(rng) * rng.choice((*[0] * 20, x[0] * x[0])),
        is_maximize=rng.random() < 0.3,
    )
    rows = []
    for i in range(n):
        terms = sum(_number(rng) * v for v in x)
        rows.append(
            model.add_linear_constraint(lb=-1, ub=_number(rng), expr=terms, name=f"row[{i}]")
        )
    return model, rows
