"""What rows cost that do not fit into memory: a solve from Parquet files within a quarter of them.

Run with ``python -m benchmarks.blocks --folder FOLDER``: 10^7 rows of 100 columns, 5 % of them not
zero, as dense columns, are written there (one gigabyte) and deleted. Times are in units of u: one
product A@x and one A.T@z by SciPy, of the same rows in memory as CSR, measured on a slice.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import privlp
from benchmarks.measure import in_fresh_process, peak_resident_bytes, resident_bytes
from benchmarks.published import write_page
from benchmarks.scale import COLUMNS, DELTA, EPS, STORED, matrix, program, unit_of
from privlp import LinearProgram
from privlp.game.duals import ElasticDual
from privlp.regions.simplex import Simplex
from privlp.rows.on_simplex import RowsOfEqualNorm

ROWS, FILES, TURNS = 10**7, 20, 2


def write_rows(folder: Path, rows: int) -> None:
    """Covering rows as dense columns in single precision; files differ in the order of theirs."""
    names = [f"x{j}" for j in range(COLUMNS)]
    for number in range(FILES):
        A = matrix(rows // FILES, COLUMNS, STORED).toarray().astype(np.float32)
        rng = np.random.default_rng(number)
        columns = {names[j]: A[:, j] for j in rng.permutation(COLUMNS)}
        table = pa.table(columns | {"b": -np.ones(len(A))})
        pq.write_table(table, folder / f"part-{number:02}.parquet", row_group_size=100_000)


def seconds_of_u(rows: int) -> float:
    """Time of a unit, from a slice."""
    A = matrix(min(rows, 10**6), COLUMNS, STORED)
    unit, times = unit_of(A), []
    for _ in range(5):
        start = time.perf_counter()
        unit()
        times.append(time.perf_counter() - start)
    return min(times) * rows / A.shape[0]


def costs(folder: Path, rows: int, sparse: bool) -> list[float]:
    """Seconds of building, of a first round, of others, of a whole sparse solve; peak."""
    small, opt = program(matrix(1000, COLUMNS, STORED))
    privlp.plan(small, EPS, DELTA, 100, opt=opt)
    before = resident_bytes()
    start = time.perf_counter()
    names = [f"x{j}" for j in range(COLUMNS)]
    lp = LinearProgram.from_parquet(folder, small.c, "b", names, sparse=sparse)
    times = [time.perf_counter() - start]
    simplex = Simplex(lp.public().form, 2 * opt)
    kept = lp.rows().keep(partial(RowsOfEqualNorm, simplex=simplex, largest_n=rows))
    dual = ElasticDual(kept, simplex.centre(), 0.1)
    for _ in range(1 + TURNS):
        start = time.perf_counter()
        dual.scores()
        times.append(time.perf_counter() - start)
    del kept, dual
    start, count = time.perf_counter(), 0
    if sparse:
        request = {"s": rows / 20, "opt": 2 * opt, "method": "staged"}
        solution = privlp.solve(lp, EPS, DELTA, rng=0, **request)
        count = solution.iterations
    whole = time.perf_counter() - start
    return [*times[:2], min(times[2:]), whole, count, peak_resident_bytes() - before]


def line(place: Path, rows: int, sparse: bool, u: float) -> list[Any]:
    """One line of the table."""
    found = in_fresh_process(costs, place, rows, sparse)
    built, first, later, whole, count, peak = found
    size = rows * COLUMNS * 4
    return [
        "sparse=True" if sparse else "dense",
        *(f"{seconds / u:.1f} u ({seconds:.1f} s)" for seconds in (built, first, later)),
        f"{whole / u:.0f} u ({whole:.0f} s), {count:.0f} rounds" if sparse else "not measured",
        f"{peak / 1e9:.2f} GB",
        f"{peak / size:.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where rows are written for a while")
    parser.add_argument("--rows", type=int, default=ROWS)
    asked = parser.parse_args()
    with threadpool_limits(1):
        u = seconds_of_u(asked.rows)
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            write_rows(Path(folder), asked.rows)
            on_disk = sum(file.stat().st_size for file in Path(folder).iterdir())
            lines = [line(Path(folder), asked.rows, sparse, u) for sparse in (True, False)]
    size = f"{asked.rows * COLUMNS * 4 / 1e9:.1f} GB in memory, {on_disk / 1e9:.2f} GB on disk"
    write_page("blocks", f"{asked.rows:,} rows: {size}; u is {u:.2f} s.", (_OF, lines))


_OF = ["rows", "building", "first round", "a round", "a solve", "peak", "peak / data"]


if __name__ == "__main__":
    main()
