"""What a default solve costs as rows grow to ten million: time beside HiGHS, and memory.

Run with ``python -m benchmarks.scale``. Times are those of the process, in one thread.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
from benchmarks.families.hard import map_covering
from benchmarks.measure import in_fresh_process, peak_resident_bytes, resident_bytes, timed
from benchmarks.published import write_page
from privlp import LinearProgram

EPS, DELTA = 1.0, 1e-9
#: Of what is beyond the data, over the data.
PEAK = 1.5
#: Rows of whole default solves.
DEFAULTS = (10**6, 10**7)
COLUMNS, STORED = 100, 5
#: Rows of maps of 80 sites, and the target for the time of a default solve over an exact one.
MAPS = {20_000: 1.0, 200_000: 0.5, 1_000_000: 0.3}
MAP_DELTA, MAP_TURNS = 1e-6, 3


def matrix(n: int, d: int, stored: int) -> Any:
    """A covering matrix; read-only, as a user would hold what is not to be copied."""
    rng = np.random.default_rng(0)
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


def of_map(n: int, own_units: bool) -> list[float]:
    """On a map: exact seconds; seconds and violation of default solves, without opt and with."""
    instance = map_covering(0, n=n)
    lp, s = instance.lp, instance.s
    if own_units:  # no two rows are equal
        times = np.random.default_rng(3).uniform(0.99, 1.01, n)
        scaled = (
            sp.csr_array(sp.diags_array(times) @ lp.A) if lp.is_sparse else times[:, None] * lp.A
        )
        lp = lp.changed(A=scaled, b=times * lp.b)
    small = map_covering(0, n=2_000)
    turns: list[list[float]] = []
    with warnings.catch_warnings(action="ignore"):
        for opt in (None, small.opt):  # imports
            privlp.solve(small.lp, EPS, MAP_DELTA, s=200, opt=opt, rng=0)
        for _ in range(MAP_TURNS):
            exact, seconds = timed(lambda: privlp.solve_exact(lp))
            turn, found = [seconds], []
            for opt in (None, exact.objective):
                solve = partial(privlp.solve, lp, EPS, MAP_DELTA, s=s, opt=opt, rng=0)
                solution, seconds = timed(solve)
                turn.append(seconds)
                missed = float(np.sort(lp.A @ solution.x - lp.b)[-(s + 1)])
                found.append([max(missed, 0.0), solution.objective / exact.objective])
            turns.append(turn)
    exactly, *solved = np.median(turns, axis=0).tolist()
    told = (value for pair in zip(solved, found, strict=True) for value in (pair[0], *pair[1]))
    return [exactly, *told]


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
    defaults, maps = [], []
    for n, given in product(DEFAULTS, (False, True)):
        seconds, peak, violation = in_fresh_process(of_default_solve, n, given)
        told = f"{n:,} | {'given' if given else 'not given'} | {seconds:.1f} | {peak:.2f}"
        defaults.append(f"{told} | {PEAK:g} | {violation:.4f}")
    for (n, most), own_units in product(MAPS.items(), (False, True)):
        exact, *solves = in_fresh_process(of_map, n, own_units)
        found = (
            f"{of[0] / exact:.2f} | {of[1]:.4f} | {of[2]:.3f}" for of in (solves[:3], solves[3:])
        )
        kind = "own units" if own_units else "as they are"
        maps.append(f"{n:,} | {kind} | {exact:.1f} | {' | '.join(found)} | {most:g}")
    write_page("scale", (_OF_DEFAULTS, defaults), (_OF_MAPS, maps))


_OF_DEFAULTS = "rows | opt | seconds | peak / A | target ≤ | violation"
_OF_MAPS = (
    "rows | their units | exact, s | without opt | violation | cost | opt given | violation | cost"
    " | target ≤"
)

if __name__ == "__main__":
    main()
