"""What a descent costs as rows grow: a round, its set-up and its memory, and what rounding adds.

Run with ``python -m benchmarks.scale``. Times are in units of u: one product A@x and one A.T@z, by
SciPy or BLAS in the format that the user holds, in turns with what is measured.
"""

from __future__ import annotations

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
from benchmarks.measure import Turns, in_fresh_process, peak_resident_bytes, resident_bytes
from benchmarks.published import picture, write_page
from privlp import LinearProgram
from privlp.duals.elastic import ElasticDual
from privlp.regions.simplex import Simplex
from privlp.rows.equal_norm import RowsOfEqualNorm

EPS, DELTA, ALPHA = 1.0, 1e-9, 0.5
TURNS, SET_UPS = 15, 3
#: Rows, columns, and stored entries of a row; ``None``: dense.
SHAPES: dict[str, tuple[int, int, int | None]] = {
    "dense, 45,000 x 104": (45_000, 104, None),
    "CSR, 500,000 x 118 (11 %)": (500_000, 118, 13),
    "CSR, 2,000,000 x 100 (5 %)": (2_000_000, 100, 5),
    "CSR, 200,000 x 8,000 (2.2 million entries)": (200_000, 8_000, 11),
}
ROUND, SET_UP, PEAK = 1.3, 10.0, 1.5
GROWTH = (10**4, 10**5, 10**6, 10**7)
COLUMNS, STORED = 100, 5


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


def costs_of_a_round(A: Any, turns: int) -> tuple[float, float, float, float]:
    """A round by medians and by minima, the set-up of its rows, and building the program: in u."""
    unit = unit_of(A)
    lp, opt = program(A)
    simplex = Simplex(lp.public().form, opt)
    scaled = partial(RowsOfEqualNorm, simplex=simplex, largest_n=len(lp.b))
    dual = ElasticDual(
        lp.rows().keep(scaled), simplex.point(np.full(simplex.size, 1 / A.shape[1])), 0.1
    )
    played = Turns(dual.scores, unit, turns=turns)
    set_up = Turns(lambda: lp.rows().keep(scaled), unit, turns=SET_UPS)
    built = Turns(lambda: program(A), unit, turns=SET_UPS)
    return played.of_medians, played.of_minima, set_up.of_minima, built.of_minima


def print_whole_solve(n: int) -> None:
    """A whole plan and solve: seconds, unit, peak over A, sensitivity, violation, rounds."""
    A = matrix(n, COLUMNS, STORED)
    held = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    unit = unit_of(A)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        unit()
        times.append(time.perf_counter() - start)
    small, opt = program(A[:1000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows are mostly noise: this is for imports
        privlp.solve(small, EPS, DELTA, 100, opt=opt, method="mirror", alpha=ALPHA, rng=0)
    c = np.random.default_rng(1).uniform(0.5, 2.0, COLUMNS)
    b = -np.ones(n)
    before = resident_bytes()
    start = time.perf_counter()
    lp = LinearProgram(c, A, b)
    options = {"s": n / 20, "opt": 2 * opt, "alpha": ALPHA}
    privlp.plan(lp, EPS, DELTA, **options)
    solution = privlp.solve(lp, EPS, DELTA, method="mirror", rng=0, **options)
    seconds = time.perf_counter() - start
    peak = (peak_resident_bytes() - before) / held
    missed = np.sort(A @ solution.x - b)[-int(n / 20)]
    (entry,) = solution.privacy.entries
    print(seconds, min(times), peak, entry.sensitivity, missed, entry.draws)


def main() -> None:
    """Run, write the page and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=TURNS)
    asked = parser.parse_args()
    with threadpool_limits(1):
        if asked.solve is not None:
            print_whole_solve(asked.solve)
            return
        rounds = [
            [name, *costs_of_a_round(matrix(*shape), asked.turns)] for name, shape in SHAPES.items()
        ]
    solves = [[n, *in_fresh_process("benchmarks.scale", "--solve", n)] for n in GROWTH]
    _write(rounds, solves)


def _write(rounds: list[list[Any]], solves: list[list[Any]]) -> None:
    large = [line for line in solves if line[0] >= 10**5]
    logs = np.log([line[0] for line in large])
    measured = (
        [line[1] / line[6] for line in large],
        [line[3] * line[0] for line in large],
    )
    growth = [float(np.polyfit(logs, np.log(each), 1)[0]) for each in measured]
    with picture("scale", size=(8.0, 4.0)) as (axis,):
        axis.loglog([line[0] for line in solves], [line[1] / line[6] for line in solves], "o-")
        axis.set(xlabel="rows (number)", ylabel="seconds a round, set-up included")
    write_page(
        "scale",
        "Scale",
        [
            _ABOUT_ROUNDS,
            (_OF_ROUNDS, [_round(*line) for line in rounds]),
            _ABOUT_SOLVES,
            (_OF_SOLVES, [_solve(*line) for line in solves]),
            f"From 10⁵ rows on, the time of a round grows as n^{growth[0]:.2f} and the memory as"
            f" n^{growth[1]:.2f}. The target for the peak is {PEAK:g} times A at 10⁷ rows.",
            "![Time of a round over the number of rows](scale.png)",
        ],
    )


_ABOUT_ROUNDS = (
    "u is one product A@x and one Aᵀz by SciPy or BLAS, in the format that the user holds, in one"
    " thread; they took turns with what is measured. A round of the default descent makes"
    " violations, weights and their exact sum in one read of the rows. The set-up scales the rows"
    " and puts them on the grid; building checks the program, whose matrix is read-only and so is"
    " not copied. The machine was shared while this was measured: minima are nearer to its own"
    " speed than medians."
)
_OF_ROUNDS = [
    "matrix",
    "round, medians",
    "round, minima",
    "target ≤",
    "set-up",
    "building",
    "target, both ≤",
]
_ABOUT_SOLVES = (
    f"Whole `plan` and `solve` with method `mirror`, α = {ALPHA}, ε = {EPS:g}, δ = {DELTA:g}, s ="
    f" n/20, {COLUMNS} variables, {STORED} stored entries a row. The peak of resident memory counts"
    " what is beyond the data as the user holds it. The violation is that of all rows but s. The"
    " sensitivity is that of the ledger: exactly 2, whatever the number of rows."
)
_OF_SOLVES = ["rows", "seconds", "rounds", "u a round", "peak / A", "sensitivity", "violation"]


def _round(name: str, median: float, least: float, set_up: float, built: float) -> list[str]:
    times = [f"{median:.2f} u", f"{least:.2f} u", f"{ROUND} u"]
    return [name, *times, f"{set_up:.1f} u", f"{built:.1f} u", f"{SET_UP:g} u"]


def _solve(
    n: int, seconds: float, unit: float, peak: float, moved: float, missed: float, count: float
) -> list[str]:
    of_round = f"{seconds / unit / count:.2f}"
    return [
        f"{n:,}",
        f"{seconds:.1f}",
        f"{count:,.0f}",
        of_round,
        f"{peak:.2f}",
        repr(moved),
        f"{missed:.4f}",
    ]


if __name__ == "__main__":
    main()
