"""Hundreds of solves, plans, audits and fits in one process: memory must stay flat.

Run with ``python -m benchmarks.soak``; about ten minutes of one core.
"""

from __future__ import annotations

import gc
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import click
import mpmath  # noqa: F401 (a few draws need it: loaded beforehand it does not count as growth)
import numpy as np
import scipy.sparse as sp
from tqdm import tqdm

import privlp
from benchmarks.measure import resident_bytes
from benchmarks.published import picture, write_page
from privlp import (
    ColumnPrivate,
    ConstraintPrivate,
    LinearProgram,
    ObjectivePrivate,
    RowPrivate,
    ScalarPrivate,
)
from svm_models import DMWSVC, ObjectivePerturbationSVC, OutputPerturbationSVC, PrivateLPSVC

DELTA = 1e-6
N, D = 2_000, 20


def programs() -> dict[str, LinearProgram]:
    """One covering program under each neighbour relation, sparse and dense."""
    rng = np.random.default_rng(0)
    A, b, c = -rng.uniform(0.2, 1, (N, D)), -np.ones(N), rng.uniform(1, 2, D)
    relations = {
        "constraint": ConstraintPrivate(),
        "scalar": ScalarPrivate(1e-3, lower=-2, upper=0),
        "row": RowPrivate(1e-3, lower=-2, upper=0),
        "column": ColumnPrivate(1e-3, lower=-2, upper=0),
        "objective": ObjectivePrivate(1e-3, lower=0, upper=3),
    }
    made = {
        name: LinearProgram(c, A, b, neighbours=relation, bounds=(0, 10))
        for name, relation in relations.items()
    }
    for name in ("scalar", "row", "column"):
        made[f"{name} on a simplex"] = LinearProgram(c, A, b, neighbours=relations[name])
    made["simplex"] = LinearProgram(c, A, b)
    made["sparse"] = LinearProgram(c, sp.csr_array(A * (rng.random(A.shape) < 0.2)), b)
    return made


def actions() -> dict[str, Callable[[int], Any]]:
    """What is done over and over, by seed."""
    lps, (X, y) = programs(), records()
    opt = privlp.solve_exact(lps["constraint"]).objective
    doing: dict[str, Callable[[int], Any]] = {}
    for method in ("dmw", "staged", "chain"):
        for name in ("simplex", "sparse"):
            doing[f"{method}, {name}"] = lambda seed, m=method, lp=lps[name]: privlp.solve(
                lp, 1.0, DELTA, 100, 0.3, opt=opt, method=m, rng=seed
            )
    doing["unknown optimum"] = lambda seed: privlp.solve(
        lps["simplex"], 1.0, DELTA, 100, 1.0, opt=(opt / 2, 2 * opt), method="staged", rng=seed
    )
    for name in ("scalar", "row", "column", "objective"):
        doing[f"direct-noise, {name}"] = lambda seed, lp=lps[name]: privlp.solve(
            lp, 1.0, DELTA, method="direct-noise", rng=seed
        )
    for name in ("scalar", "row", "column"):
        lp = lps[f"{name} on a simplex"]
        doing[f"mw, {name}"] = lambda seed, lp=lp: privlp.solve(
            lp, 1.0, DELTA, opt=opt, method="mw", rng=seed
        )
    doing["never violated"] = lambda seed: privlp.solve(
        lps["scalar"], 1.0, DELTA, feasible="always", rng=seed
    )
    doing["quality"] = lambda seed: privlp.quality(
        lps["simplex"],
        privlp.solve(lps["simplex"], 1.0, DELTA, 100, 0.3, opt=opt, method="dmw", rng=seed),
        1.0,
        rng=seed,
    )
    doing["exact"] = lambda _: privlp.solve_exact(lps["sparse"])
    for kind in (PrivateLPSVC, ObjectivePerturbationSVC, OutputPerturbationSVC):
        doing[kind.__name__] = lambda seed, k=kind: k(classes=(-1, 1), random_state=seed).fit(X, y)
    doing["DMWSVC"] = lambda seed: DMWSVC(
        1.0, DELTA, s=200, alpha=20.0, classes=(-1, 1), random_state=seed
    ).fit(X, y)
    return doing


def records() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1_000, 10))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, np.where(X[:, 0] > 0, 1, -1)


def memory_while(times: int) -> tuple[list[float], list[int], int]:
    """Resident MB and number of Python objects after each round of all actions.

    With it: how many actions there are.
    """
    doing = actions()
    resident, objects = [], []
    for seed in tqdm(range(times), unit="round"):
        for action in doing.values():
            action(seed)
        gc.collect()
        resident.append(resident_bytes() / 2**20)
        objects.append(len(gc.get_objects()))
    return resident, objects, len(doing)


@click.command()
@click.option("--solves", default=1_200, show_default=True, help="Solves and fits at least.")
def main(solves: int) -> None:
    """Run, write the page and draw the picture."""
    rounds = math.ceil(solves / len(actions()))
    resident, objects, kinds = memory_while(rounds)
    quarter = max(1, rounds // 4)
    first, last = (
        float(np.mean(part)) for part in (resident[quarter : 2 * quarter], resident[-quarter:])
    )
    _draw(resident, kinds)
    write_page(
        "soak",
        "Soak",
        [
            (
                f"{rounds * kinds:,} solves, reports and fits of {kinds} kinds in one process,"
                f" {rounds} of each, on programs of {N:,} rows and {D} variables."
            ),
            (
                ["", "second quarter", "last quarter", "growth"],
                [
                    ["resident memory, MB", f"{first:.1f}", f"{last:.1f}", f"{last - first:+.1f}"],
                    ["Python objects", *_ends(objects, quarter)],
                ],
            ),
            "![Resident memory over solves](soak.png)",
        ],
    )


def _draw(resident: list[float], kinds: int) -> None:
    with picture("soak", size=(8.0, 4.0)) as (axis,):
        axis.plot(np.arange(1, len(resident) + 1) * kinds, resident)
        axis.set(
            xlabel="solves and fits (number)",
            ylabel="resident memory (MB)",
            ylim=(0, 1.1 * max(resident)),
        )


def _ends(objects: list[int], quarter: int) -> Iterator[str]:
    first, last = np.mean(objects[quarter : 2 * quarter]), np.mean(objects[-quarter:])
    return itertools.chain((f"{first:,.0f}", f"{last:,.0f}"), (f"{last - first:+,.0f}",))


if __name__ == "__main__":
    main()
