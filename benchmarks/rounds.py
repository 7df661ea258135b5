"""One round of dense multiplicative weights against one product A^T z, and a solve's memory.

Random covering programs with 45,000 private rows and 104 variables: dense, and sparse with 11 %
non-zeros.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import privlp
from benchmarks.measure import Parts, Turns, in_fresh_process, print_table
from privlp import LinearProgram
from privlp.duals.projection import DenseProjection
from privlp.methods import METHODS, Task
from privlp.privacy import ExponentialMechanism, Randomness
from privlp.rows.on_simplex import RowsOnSimplex
from privlp.rows.program_rows import RowBlock

N, D, FILL = 45_000, 104, 0.11
EPS, DELTA, S = 1.0, 1e-6, 0.1
GAMES, WARM_UP, CALLS = 3, 20, 5
TARGETS = {"dense": 1.5, "sparse": 2.5}
MEMORY_TARGET = 12.0


def covering_data(kind: str) -> tuple[np.ndarray, Any, np.ndarray, float]:
    """Costs, matrix and right-hand sides of a covering program, and its budget.

    The budget covers an average row once.
    """
    rng = np.random.default_rng(0)
    A = (
        -rng.random((N, D))
        if kind == "dense"
        else -sp.random_array((N, D), density=FILL, format="csc", rng=rng)
    )
    c = rng.uniform(0.5, 2.0, D)
    opt = D / float(-A.mean(axis=0) @ (1 / c))
    return c, A, -np.ones(N), opt


def game(lp: LinearProgram, opt: float) -> Any:
    """The solver that privlp.solve would run: accuracy and rounds are the best for the budget."""
    task = Task.of(lp, EPS, DELTA, S * N, opt=opt)
    planned = METHODS["dmw"].plan(task)
    draws = task.ledger.charge_together(planned.charges, task.relation, Randomness())
    return planned.start(lp.rows(), draws)


def player(lp: LinearProgram, opt: float) -> tuple[Callable[[], None], int, list[Any]]:
    """A function that plays the next round of a few games.

    With it: how many rounds are left after warming up, and the games.
    """
    games = [game(lp, opt) for _ in range(GAMES)]
    rounds = ((solver, t) for solver in games for t in range(solver.rounds))

    def play() -> None:
        solver, t = next(rounds)
        solver.step(t)

    for _ in range(WARM_UP):
        play()
    return play, sum(solver.rounds for solver in games) - WARM_UP, games


def time_rounds(kind: str) -> tuple[list[Any], list[list[Any]]]:
    """The row of the ratio table, and the rows of the table of parts."""
    c, A, b, opt = covering_data(kind)
    lp = LinearProgram(c, A, b)
    transposed, z = lp.A.T, np.random.default_rng(1).random(N)

    def product() -> Any:
        return transposed @ z

    play, left, games = player(lp, opt)
    whole = Turns(play, product, turns=left // CALLS, calls=CALLS)
    ratios = [kind, games[0].rounds, whole.of_medians, whole.of_minima, TARGETS[kind]]

    play, left, _ = player(lp, opt)
    places = {
        "project the dual weights": (DenseProjection, "__call__"),
        "score the vertices": (RowsOnSimplex, "scores"),
        "  of which A^T z": (RowBlock, "transposed_times"),
        "select a vertex": (ExponentialMechanism, "release"),
        "update the dual weights": (RowsOnSimplex, "add_violations"),
    }
    with Parts(places) as parts:
        split = Turns(play, product, turns=left // CALLS, calls=CALLS)
    unit = np.median(split.baseline)
    shares = [[name, kind, np.median(seconds) / unit] for name, seconds in parts.seconds.items()]
    return ratios, [*shares, ["whole round", kind, split.of_medians]]


def print_peak(kind: str) -> None:
    """Peak memory of building and of solving, and the program's own vectors, all in n-vectors."""
    privlp.solve(
        LinearProgram([1, 2], -np.ones((9, 2)), -np.ones(9)), EPS, DELTA, 2, opt=1.0
    )  # imports are not counted
    c, A, b, opt = covering_data(kind)
    tracemalloc.start()
    lp = LinearProgram(c, A, b)
    built, peak = tracemalloc.get_traced_memory()
    matrix = (
        lp.A.nbytes
        if kind == "dense"
        else lp.A.data.nbytes + lp.A.indices.nbytes + lp.A.indptr.nbytes
    )
    building, own = peak - matrix, built - matrix
    tracemalloc.stop()
    tracemalloc.start()
    privlp.solve(lp, EPS, DELTA, S * N, opt=opt)
    solving = tracemalloc.get_traced_memory()[1]
    print(*(size / (8 * N) for size in (solving, own, building)))


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", choices=list(TARGETS), help=argparse.SUPPRESS)
    kind = parser.parse_args().peak
    with threadpool_limits(1):
        if kind is not None:
            print_peak(kind)
            return
        measured = [time_rounds(kind) for kind in TARGETS]
    print_table(
        f"One round of method 'dmw' / one product A^T z; A is {N:,} x {D}, s = n/10, eps = {EPS:g},"
        f" delta = {DELTA:g}, one BLAS\nthread. Blocks of {CALLS} rounds and {CALLS} products take"
        f" turns through {GAMES} whole games.",
        ["A", "rounds", "ratio of medians", "ratio of minima", "target <="],
        [ratios for ratios, _ in measured],
        floatfmt=("", "", ".2f", ".2f", ".1f"),
    )
    by_kind = {
        kind: {name: share for name, _, share in parts}
        for kind, (_, parts) in zip(TARGETS, measured, strict=True)
    }
    print_table(
        "Where a round goes: median time of each part / median time of one product A^T z.",
        ["part", *TARGETS],
        [[name, *(by_kind[kind][name] for kind in TARGETS)] for name in by_kind["dense"]],
    )
    rows = []
    for kind in TARGETS:
        solving, own, building = in_fresh_process("benchmarks.rounds", "--peak", kind)
        rows.append([kind, solving, own, solving + own, MEMORY_TARGET, building])
    print_table(
        "Peak memory beyond one copy of A, in vectors of length n (8 n bytes), traced in a fresh"
        " process.\nsolve: what privlp.solve adds at its peak; lp: what the program holds besides"
        " A; build: the peak of LinearProgram(...).",
        ["A", "solve", "lp", "solve + lp", "target <=", "build"],
        rows,
        floatfmt=("", ".2f", ".2f", ".2f", ".1f", ".2f"),
    )


if __name__ == "__main__":
    main()
