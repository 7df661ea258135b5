"""Private solves, by every method under every relation that might support it; plans and reports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import privlp
from benchmarks.same.canonical import Parts
from benchmarks.same.cases import Case, later
from benchmarks.same.paying import public
from benchmarks.same.programs import (
    DELTA,
    FOR_NUMBERS,
    FOR_WHOLE_ROWS,
    NEVER_VIOLATING,
    NUMBERS,
    PROGRAMS,
    WHOLE_ROWS,
    optimum,
    relations,
)

known = cache(optimum)


@cache
def program(name: str, relation: str) -> privlp.LinearProgram:
    """A program under a relation, both by name."""
    return PROGRAMS[name](relations(name)[relation])


def _range(name: str) -> tuple[float, float]:
    return 0.8 * known(name), 1.2 * known(name)


def _requests(name: str) -> dict[str, dict[str, Any]]:
    """What is asked for of a program of whole rows, by a name."""
    opt = known(name)
    private = {"eps": 1.0, "delta": DELTA}
    return {
        "opt": {**private, "s": 20, "opt": opt},
        "range": {"eps": 4.0, "delta": DELTA, "s": 40, "alpha": 0.5, "opt": _range(name)},
        "no opt": {"eps": 2.0, "delta": DELTA, "s": 10.5, "alpha": 1.0},
        "pure": {"eps": 2.0, "delta": 0.0, "s": 30, "alpha": 0.4, "opt": opt},
        "no noise": {"eps": math.inf, "delta": 0.0, "s": 5, "alpha": 2.0, "opt": opt},
    }


def _solved(name: str, relation: str, method: str, seed: int, **asked: Any) -> privlp.Solution:
    lp = program(name, relation)
    if method == "dmw-published":
        asked["width"] = (1.0, 1.0)
        asked["alpha"] = max(asked.get("alpha") or 0.0, 3.0)  # smaller ones play many rounds
    elif name == "soft":
        asked["width"] = 2.0
    return privlp.solve(lp, method=method, rng=seed, **asked)


def whole_rows() -> Iterator[Case]:
    """Methods for whole constraints: all requests under "replace", some under other relations."""
    wanted: list[tuple[str, str, int | None]] = [("replace", name, None) for name in PROGRAMS]
    wanted += [(relation, name, 1) for relation in WHOLE_ROWS for name in PROGRAMS]
    seen: set[str] = set()
    for relation, name, few in wanted:
        for asked_for in list(_requests(name))[:few]:
            for method in FOR_WHOLE_ROWS:
                label = f"solve:{method}:{relation}:{name}:{asked_for}"
                if label not in seen:
                    seen.add(label)
                    asked = _requests(name)[asked_for]
                    yield label, later(_solved, name, relation, method, len(seen), **asked)


def numbers() -> Iterator[Case]:
    """Methods for numbers that move a little, on programs that they fit or not."""
    seed = 0
    for relation in NUMBERS:
        for name in ("dense", "sparse", "boxed", "packing", "one-sided packing"):
            asked: dict[str, dict[str, Any]] = {
                "opt": {"eps": 1.0, "delta": DELTA, "opt": known(name)},
                "no opt": {"eps": 0.5, "delta": DELTA},
            }
            for asked_for, request in asked.items():
                for method in FOR_NUMBERS:
                    seed += 1
                    label = f"solve:{method}:{relation}:{name}:{asked_for}"
                    yield label, later(_solved, name, relation, method, seed, **request)
            for method in ("auto", *NEVER_VIOLATING):
                seed += 1
                label = f"solve:{method}:{relation}:{name}:always"
                request = {"eps": 1.0, "delta": DELTA, "feasible": "always"}
                yield label, later(_solved, name, relation, method, seed, **request)


def levels() -> Iterator[Case]:
    """Each method at several eps, deltas, alphas and densities."""
    for eps in (0.05, 0.3, 8.0):
        for alpha in (None, 0.1, 2.0):
            for method in FOR_WHOLE_ROWS:
                asked = {"eps": eps, "delta": 1e-4, "s": 60, "alpha": alpha, "opt": known("dense")}
                label = f"solve:{method}:replace:dense:eps={eps} alpha={alpha}"
                yield label, later(_solved, "dense", "replace", method, 7, **asked)
    for relation in ("scalar", "row", "column", "objective", "all four"):
        for eps, delta in ((0.1, 0.0), (3.0, 1e-9), (math.inf, 0.0)):
            for method in (*FOR_NUMBERS, *NEVER_VIOLATING):
                asked = {"eps": eps, "delta": delta, "opt": known("dense")}
                if method in NEVER_VIOLATING:
                    del asked["opt"]
                label = f"solve:{method}:{relation}:dense:eps={eps} delta={delta}"
                yield label, later(_solved, "dense", relation, method, 8, **asked)
    for alpha in (0.2, 0.5):
        asked = {"eps": 2.0, "delta": DELTA, "opt": known("dense"), "alpha": alpha}
        for relation in ("scalar", "row", "column"):
            label = f"solve:mw:{relation}:dense:alpha={alpha}"
            yield label, later(_solved, "dense", relation, "mw", 9, **asked)


def _bits_used(name: str, relation: str, **asked: Any) -> Any:
    """A solve from a generator, and where it leaves the generator: how many bits were drawn."""
    rng = np.random.default_rng(5)
    solution = privlp.solve(program(name, relation), rng=rng, **asked)
    return [solution, rng.bit_generator.state]


def _own_solver(task: Any) -> Any:
    """A solver of one's own: releases the number of rows that the middle of a box violates."""
    lp = task.lp
    x = np.full(lp.shape[1], 0.4)
    release = task.charge(public("LaplaceMechanism").of_eps(1.0, 0.5), 1, "rows violated")
    trace: dict[str, Any] = {}

    def step(t: int) -> None:
        trace["count"] = np.asarray(release(float(np.count_nonzero(lp.A @ x > lp.b) + t)))

    def released() -> Any:
        status = privlp.Status.COMPLETED
        found = {"x": x, "objective": lp.objective(x), "trace": trace}
        return SimpleNamespace(**found, status=status, message="")

    return SimpleNamespace(rounds=1, step=step, released=released)


def others() -> Iterator[Case]:
    """Generators, splits, shared budgets, time limits, solvers of one's own, saved solutions."""
    opt = known("dense")
    rows = {"eps": 1.0, "delta": DELTA, "s": 20, "opt": opt}
    for method in FOR_WHOLE_ROWS[1:]:
        if method != "dmw-published":
            label = f"solve:{method}:generator after"
            yield label, later(_bits_used, "dense", "replace", method=method, **rows)
    small = {"eps": 1.0, "delta": DELTA}
    for relation in ("scalar", "row", "column", "objective", "all four"):
        for method in ("direct-noise", *NEVER_VIOLATING):
            label = f"solve:{method}:{relation}:generator after"
            yield label, later(_bits_used, "dense", relation, method=method, **small)
    for split in ((1.0, 1.0), (0.2, 0.8), (3, 1)):
        for options in ({"method": "direct-noise"}, {"feasible": "always"}):
            label = f"solve:scalar and row:split {split}:{next(iter(options))}"
            asked = {**small, **options, "split": split, "rng": 3}
            yield label, later(privlp.solve, program("dense", "scalar and row"), **asked)
    limited = {**rows, "method": "staged", "time_limit": 1e-9, "rng": 0}
    yield "solve:time limit reached", later(privlp.solve, program("dense", "replace"), **limited)
    limited = {**limited, "time_limit": 1000.0}
    yield "solve:time limit ample", later(privlp.solve, program("dense", "replace"), **limited)
    own = {**rows, "method": _own_solver, "rng": 4}
    yield "solve:own solver", later(privlp.solve, program("dense", "replace"), **own)
    large = {**rows, "delta": 0.01, "rng": 4}
    yield "solve:large delta", later(privlp.solve, program("dense", "replace"), **large)
    yield "solve:saved and loaded", _saved_and_loaded
    yield (
        "solve:soft without penalty named",
        later(privlp.solve, program("soft", "replace"), 1.0, DELTA, 20, method="perturbed", rng=1),
    )


def _saved_and_loaded() -> Any:
    lp = program("packing", "scalar")
    privlp.solve(lp, 1.0, DELTA, feasible="always", rng=0).save("solution.json")
    return privlp.Solution.load("solution.json")


def reports() -> Iterator[Case]:
    """Plans, exact solutions, comparisons and private reports of every program."""
    for relation in (*WHOLE_ROWS, *NUMBERS):
        for name in PROGRAMS if relation in ("replace", "scalar") else ("dense", "packing"):
            for asked_for, request in _planned(name, relation).items():
                label = f"plan:{relation}:{name}:{asked_for}"
                yield label, later(_planned_for, name, relation, request)
            for seed, eps in enumerate((0.1, 2.0)):
                label = f"quality:{relation}:{name}:eps={eps}"
                yield label, later(_reported, name, relation, eps, seed)
    for name in PROGRAMS:
        yield f"program:{name}", later(program, name, "replace")
        yield f"exact:{name}", later(_exact, name)
        for level in (0.1, 0.3, 1.0):
            yield f"compare:{name}:at {level}", later(_compared, name, level)


def _planned(name: str, relation: str) -> dict[str, dict[str, Any]]:
    if relation in WHOLE_ROWS:
        return {key: _requests(name)[key] for key in ("opt", "range", "no opt", "pure")}
    private = {"eps": 1.0, "delta": DELTA}
    opt, always = {**private, "opt": known(name)}, {**private, "feasible": "always"}
    return {"opt": opt, "no opt": private, "always": always}


def _planned_for(name: str, relation: str, request: dict[str, Any]) -> privlp.Plan:
    return privlp.plan(program(name, relation), **request)


def _reported(name: str, relation: str, eps: float, seed: int) -> privlp.Quality:
    point = np.linspace(0.1, 0.6, program(name, relation).shape[1])
    alpha = 0.05 * seed
    return privlp.quality(program(name, relation), point, eps, alpha=alpha, rng=seed)


def _exact(name: str) -> privlp.ExactSolution:
    return privlp.solve_exact(program(name, "replace"))


def _compared(name: str, level: float) -> Any:
    lp = program(name, "replace")
    point = np.full(lp.shape[1], level)
    told = privlp.compare(lp, point, s=10)
    return Parts({"": told, "exact with itself": privlp.compare(lp, privlp.solve_exact(lp))})
