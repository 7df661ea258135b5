"""What a descent costs as rows grow: a round, its set-up, a default solve and its memory.

Run with ``python -m benchmarks.scale``; ``--quick`` leaves out the largest programs. Times are in
units of u: one product A@x and one A.T@z, by
SciPy or BLAS in the format that the user holds, in turns with what is measured.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import privlp
from benchmarks.families.hard import map_covering
from benchmarks.measure import (
    Turns,
    in_fresh_process,
    peak_resident_bytes,
    print_table,
    resident_bytes,
)
from benchmarks.published import write_page
from benchmarks.tables import column_names
from privlp import LinearProgram
from privlp.game.duals import ElasticDual
from privlp.regions.simplex import Simplex
from privlp.rows.on_simplex import RowsOfEqualNorm

EPS, DELTA = 1.0, 1e-9
TURNS, SET_UPS = 15, 3
#: Rows, columns, and stored entries of a row; ``None``: dense.
SHAPES: dict[str, tuple[int, int, int | None]] = {
    "dense, 45,000 x 104": (45_000, 104, None),
    "CSR, 500,000 x 118 (11 %)": (500_000, 118, 13),
    "CSR, 2,000,000 x 100 (5 %)": (2_000_000, 100, 5),
    "CSR, 200,000 x 8,000 (2.2 million entries)": (200_000, 8_000, 11),
}
ROUND, SET_UP, PEAK = 1.3, 10.0, 1.5
#: Rows of whole default solves.
DEFAULTS = (10**6, 10**7)
COLUMNS, STORED = 100, 5
#: Rows of maps of 80 sites, and the target for the time of a default solve over an exact one.
MAPS = {20_000: 1.0, 200_000: 0.5, 1_000_000: 0.3}
MAP_DELTA, MAP_TURNS = 1e-6, 3


def matrix(n: int, d: int, stored: int | None) -> Any:
    """A covering matrix; read-only, as a user would hold what is not to be copied."""
    rng = np.random.default_rng(0)
    if stored is None:
        A = -rng.random((n, d))
        A.setflags(write=False)
        return A
    width = d // stored
    columns = rng.integers(0, width, (n, stored), dtype=np.int32)
    columns += width * np.arange(stored, dtype=np.int32)
    parts = -rng.random(n * stored), columns.ravel(), np.arange(n + 1, dtype=np.int64) * stored
    A = sp.csr_array((parts[0], parts[1], parts[2].astype(np.int32)), shape=(n, d))
    for part in (A.data, A.indices, A.indptr):
        part.setflags(write=False)
    return A


def program(A: Any) -> tuple[LinearProgram, float]:
    """A program, and a budget that covers an average row once."""
    n, d = A.shape
    c = np.random.default_rng(1).uniform(0.5, 2.0, d)
    opt = d / float(-np.asarray(A.mean(axis=0)).ravel() @ (1 / c))
    return LinearProgram(c, A, -np.ones(n)), opt


def unit_of(A: Any) -> Callable[[], Any]:
    """One product with the matrix, and one with its transpose."""
    rng = np.random.default_rng(2)
    x, z = rng.random(A.shape[1]), rng.random(A.shape[0])
    return lambda: (A @ x, A.T @ z)


def of_map(n: int) -> list[float]:
    """On a map: exact seconds; seconds and violation of default solves, without opt and with."""
    instance = map_covering(0, n=n)
    lp, s = instance.lp, instance.s
    small = map_covering(0, n=2_000)
    times: list[list[float]] = []
    with warnings.catch_warnings(action="ignore"):
        for opt in (None, small.opt):  # imports
            privlp.solve(small.lp, EPS, MAP_DELTA, s=200, opt=opt, rng=0)
        for _ in range(MAP_TURNS):
            start = time.process_time()
            exact = privlp.solve_exact(lp)
            turn, found = [time.process_time() - start], []
            for opt in (None, exact.objective):
                start = time.process_time()
                solution = privlp.solve(lp, EPS, MAP_DELTA, s=s, opt=opt, rng=0)
                turn.append(time.process_time() - start)
                missed = float(np.sort(lp.A @ solution.x - lp.b)[-(s + 1)])
                found.append([max(missed, 0.0), solution.objective / exact.objective])
            times.append(turn)
    exactly, *solved = np.median(times, axis=0).tolist()
    told = (value for pair in zip(solved, found, strict=True) for value in (pair[0], *pair[1]))
    return [exactly, *told]


def costs_of_a_round(A: Any, turns: int) -> tuple[float, float, float, float]:
    """A round by medians and by minima, the set-up of its rows, and building the program: in u."""
    unit = unit_of(A)
    lp, opt = program(A)
    simplex = Simplex(lp.public().form, opt)
    scaled = partial(RowsOfEqualNorm, simplex=simplex, largest_n=len(lp.b))
    start = simplex.point(np.full(simplex.size, 1 / A.shape[1]))
    dual = ElasticDual(lp.rows().keep(scaled), start, 0.1)
    of_process = partial(Turns, clock=time.process_time)
    played = of_process(dual.scores, unit, turns=turns)
    set_up = of_process(lambda: lp.rows().keep(scaled), unit, turns=SET_UPS)
    built = of_process(lambda: program(A), unit, turns=SET_UPS)
    return played.of_medians, played.of_minima, set_up.of_minima, built.of_minima


def of_default_solve(n: int, given: bool) -> list[float]:
    """A whole default solve, with opt or without: seconds, peak over A, violation."""
    A = matrix(n, COLUMNS, STORED)
    held = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    small, opt = program(A[:1000])
    hint = 2 * opt if given else None
    with warnings.catch_warnings(action="ignore"):  # as above
        privlp.solve(small, EPS, DELTA, 200, opt=hint, rng=0)
    c = np.random.default_rng(1).uniform(0.5, 2.0, COLUMNS)
    b = -np.ones(n)
    before, start = resident_bytes(), time.perf_counter()
    solution = privlp.solve(LinearProgram(c, A, b), EPS, DELTA, n / 20, opt=hint, rng=0)
    seconds = time.perf_counter() - start
    peak = (peak_resident_bytes() - before) / held
    return [seconds, peak, float(np.sort(A @ solution.x - b)[-int(n / 20)])]


def main() -> None:
    """Run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 200,000 rows; no page")
    parser.add_argument("--turns", type=int, default=TURNS)
    asked = parser.parse_args()
    most = _QUICK if asked.quick else 10**9
    with threadpool_limits(1):
        rounds = [
            _round(name, *costs_of_a_round(matrix(*shape), asked.turns))
            for name, shape in SHAPES.items()
            if shape[0] <= most
        ]
    defaults = [
        _default(n, given, *in_fresh_process(of_default_solve, n, given))
        for n in DEFAULTS
        for given in (False, True)
        if n <= most
    ]
    maps = [_map(n, *in_fresh_process(of_map, n)) for n in MAPS if n <= most]
    tables = (_OF_ROUNDS, rounds), (_OF_DEFAULTS, defaults), (_OF_MAPS, maps)
    if asked.quick:
        for table in tables:
            print_table("", *table)
    else:
        write_page("scale", *tables)


_OF_ROUNDS = column_names(
    "matrix | round, medians | round, minima | target ≤ | set-up | building | target, both ≤"
)
_OF_DEFAULTS = ["rows", "opt", "seconds", "peak / A", "target ≤", "violation"]
_QUICK = 200_000
_OF_MAPS = column_names(
    "rows | exact, s | without opt | violation | cost | opt given | violation | cost | target ≤"
)


def _map(n: int, exact: float, *solves: float) -> list[str]:
    """Of two solves, each with its seconds, violation and cost."""
    told = [
        text
        for seconds, missed, cost in (solves[:3], solves[3:])
        for text in (f"{seconds / exact:.2f}", f"{missed:.4f}", f"{cost:.3f}")
    ]
    return [f"{n:,}", f"{exact:.1f}", *told, f"{MAPS[n]:g}"]


def _default(n: int, given: bool, seconds: float, peak: float, violation: float) -> list[str]:
    opt = "given" if given else "not given"
    return [f"{n:,}", opt, f"{seconds:.1f}", f"{peak:.2f}", f"{PEAK:g}", f"{violation:.4f}"]


def _round(name: str, median: float, least: float, set_up: float, built: float) -> list[str]:
    times = [f"{median:.2f} u", f"{least:.2f} u", f"{ROUND} u"]
    return [name, *times, f"{set_up:.1f} u", f"{built:.1f} u", f"{SET_UP:g} u"]


if __name__ == "__main__":
    main()
