"""How long plans, solves, fits, reading and starting take, beside what nothing can be faster than.

Run with ``python -m benchmarks.speed --before FOLDER``, a quarter of an hour of one core. FOLDER
holds an earlier state of this repository: each program takes its turn there and then here. Times
are those of the process, the least of turns: other work on the machine can only add to them. Each
program has a process of its own, and what is quick takes several.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
from benchmarks.families.hard import map_covering
from benchmarks.measure import ROOT, peak_resident_bytes, resident_bytes
from benchmarks.published import write_page
from privlp import LinearProgram, PrivLPError, models
from privlp.problem.highs import quiet_highs, to_highs

EPS, DELTA, TURNS, SEED, BOX = 1.0, 1e-6, 2, 100, 1e4
# Seconds of what a limit is and of what stands beside it, and the bits of an answer.
Found = tuple[float, float, str]


def roster(n: int = 6_000, *, at_least: float | None = None) -> LinearProgram:
    """A week's roster of 84 shifts of eight hours, for clients who call in spans of a few hours."""
    rng, starts, hours = np.random.default_rng(SEED), np.arange(0, 168, 2), np.arange(168)
    shifts = ((hours - starts[:, None]) % 168 < 8) * 1.0
    first, length = rng.integers(0, 168, n), rng.integers(4, 24, n)
    wanted = ((hours - first[:, None]) % 168 < length[:, None]) * 1.0
    wages = 8.0 + 4 * ((starts % 24 < 6) | (starts % 24 >= 18)) + rng.uniform(0, 1, 84)
    need = length * rng.lognormal(1.5, 0.4, n)
    return models.staffing(wages, shifts, wanted, need, at_least=at_least)


def sparse(n: int = 10_000, d: int = 100, *, public: int = 0) -> LinearProgram:
    """A covering, 5 % filled, with loose bounds; perhaps with public rows, 20 % filled."""
    rng = np.random.default_rng(SEED)
    A = np.where(rng.random((n, d)) < 0.05, rng.uniform(0.3, 1, (n, d)), 0.0)
    A[np.arange(n), rng.integers(0, d, n)] += 0.1
    limits = (rng.random((public, d)) < 0.2).astype(float)
    return LinearProgram(
        rng.uniform(1, 3, d),
        sp.csr_array(np.vstack([-A, limits])),
        np.append(-rng.uniform(0.5, 1.5, n), np.full(public, 100.0)),
        private=np.arange(n + public) < n,
        bounds=(0, BOX),
    )


def few_rows(n: int = 300, d: int = 1_500, equalities: int = 400) -> LinearProgram:
    """Few private rows, many variables in a box, and sparse public equalities."""
    rng = np.random.default_rng(SEED)
    A = rng.normal(size=(n + equalities, d)) * (rng.random((n + equalities, d)) < 0.005)
    A[np.arange(n + equalities), rng.integers(0, d, n + equalities)] += 1
    at, private = A @ rng.uniform(1, 10, d), np.arange(n + equalities) < n
    return LinearProgram(
        rng.uniform(1, 3, d),
        sp.csr_array(A),
        at + private,
        row_lower=np.where(private, -np.inf, at),
        private=private,
        bounds=(0, BOX),
    )


#: Each program, and how many times s goes into its private rows.
PROGRAMS: dict[str, tuple[Callable[[], LinearProgram], int]] = {
    "roster 6,000 x 84": (roster, 20),
    "roster 6,000 x 84, public rows": (partial(roster, at_least=1.0), 20),
    "sparse 10,000 x 100": (sparse, 20),
    "sparse 10,000 x 100, public rows": (partial(sparse, public=5), 20),
    "map 20,000 x 80": (lambda: map_covering(SEED).lp, 40),
}


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """What the process takes, and the result or the refusal."""
    start = time.process_time()
    try:
        found = action()
    except PrivLPError as error:
        found = error
    return time.process_time() - start, found


def row(name: str, lp: LinearProgram, s: float) -> str:
    """What the plan of one program says, and seconds of an exact solve, a plan and a solve."""
    actions: dict[str, Callable[[], Any]] = {
        "exact": lambda: privlp.solve_exact(lp),
        "plan": lambda: privlp.plan(lp, EPS, DELTA, s=s),
        "auto": lambda: privlp.solve(lp, EPS, DELTA, s, rng=0),
    }
    turns = [{key: seconds(action) for key, action in actions.items()} for _ in range(TURNS)]
    exact, plan, auto = (min(turn[key][0] for turn in turns) for key in actions)
    planned, solved = (turns[0][key][1] for key in ("plan", "auto"))
    said = str(getattr(planned, "verdict", "refused"))
    took = getattr(solved, "method", "refused")
    return f"{name} | {said} | {exact:.3f} | {plan:.2f} | {took} | {auto:.2f}"


# Rows and columns of dense coverings; the more numbers, the fewer turns.
SIZES = (
    *((200, 10), (2_000, 10), (20_000, 10), (200_000, 10), (1_000_000, 10)),
    *((2_000, 40), (2_000, 160), (20_000, 80)),
)
_FEW, _MANY = 50_000, 10**6
# Of cases that take less seconds, so many processes.
_QUICK, _PROCESSES = 0.02, 4


def bits(*numbers: Any) -> str:
    """A hash of some numbers."""
    found = hashlib.sha256()
    for each in numbers:
        found.update(np.ascontiguousarray(each, dtype=float).tobytes())
    return found.hexdigest()[:16]


def covering(n: int, d: int) -> tuple[Any, LinearProgram]:
    """A dense covering, half filled, and its rows."""
    rng = np.random.default_rng(SEED)
    A = -rng.uniform(0.3, 1, (n, d)) * (rng.random((n, d)) < 0.5)
    A[np.arange(n), rng.integers(0, d, n)] -= 0.1
    A.setflags(write=False)
    return A, LinearProgram(rng.uniform(1, 3, d), A, -rng.uniform(0.5, 1.5, n), bounds=(0, BOX))


def least(action: Callable[[], Any], turns: int) -> float:
    """Seconds of the quickest turn."""
    return min(seconds(action)[0] for _ in range(turns))


def solves(n: int, d: int) -> list[Any]:
    """Seconds of a product A@x, of HiGHS and of a default solve; its peak of memory, and bits."""
    A, lp = covering(n, d)
    small, x = LinearProgram(lp.c, A[:500], lp.b[:500], bounds=(0, BOX)), np.full(d, 0.5)
    for k in range(3):  # imports, and what is computed once
        privlp.solve(small, EPS + k, DELTA, len(small.b) // 20, rng=0)
    before, turns = resident_bytes(), 9 if n * d < _FEW else 3 if n * d <= _MANY else 1
    found = [
        seconds(partial(privlp.solve, lp, EPS * (1 + 1e-3 * k), DELTA, n // 20, rng=0))
        for k in range(turns)  # another eps each time: no price is known
    ]
    peak = (peak_resident_bytes() - before) / A.nbytes
    ours = min(time for time, _ in found)
    exact = least(lambda: privlp.solve_exact(lp), turns)
    stream = least(lambda: [A @ x for _ in range(20)], 9) / 20
    return [stream, exact, ours, peak, bits(*(solution.x for _, solution in found))]


def products() -> Found:
    """A product by BLAS, and one of which no row depends on others, dense, 500,000 x 80."""
    from privlp.problem.standard_form import row_by_row  # noqa: PLC0415

    A, x = np.random.default_rng(SEED).random((500_000, 80)), np.full(80, 0.3)
    return least(lambda: A @ x, 9), least(lambda: row_by_row(A, x), 9), ""


def reading(n: int, d: int) -> Found:
    """HiGHS reads a program from a file, and this package does."""

    def theirs() -> None:
        highs = quiet_highs()
        highs.readModel(path)
        highs.getLp()

    calls = max(1, 20_000 // (n * d))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "program.mps"))
        sparse(n, d).to_mps(path)
        turns = [
            [seconds(lambda read=read: [read() for _ in range(calls)])[0] / calls for read in both]
            for both in [(theirs, partial(LinearProgram.from_mps, path))] * 9
        ]
        lp = LinearProgram.from_mps(path)
    limit, ours = np.min(turns, axis=0)
    return limit, ours, bits(lp.A.toarray(), lp.b, lp.row_lower, lp.c, lp.bounds)


def checking(n: int, d: int) -> Found:
    """HiGHS takes a program from arrays, and this package does."""
    lp = sparse(n, d)
    A, model = sp.csc_array(lp.A), to_highs(lp)
    arrays = (lp.c.copy(), A, lp.b.copy())

    def theirs() -> None:
        highs = quiet_highs()
        highs.passModel(model)

    turns = [
        [seconds(lambda make=make: [make() for _ in range(50)])[0] / 50 for make in both]
        for both in [(theirs, lambda: LinearProgram(*arrays))] * 9
    ]
    return (*np.min(turns, axis=0), "")


def from_files(n: int, memory_limit: float | None) -> Found:
    """A default solve of rows in memory, and of the same in Parquet files, so many x 20."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    A, lp = covering(n, 20)
    names = [f"x{j}" for j in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        columns = dict(zip(names, A.T, strict=True)) | {"need": lp.b}
        pq.write_table(pa.table(columns), path, row_group_size=50_000)

        def solve() -> Any:
            in_files = LinearProgram.from_parquet(
                path, lp.c, "need", names, bounds=(0, BOX), memory_limit=memory_limit
            )
            return privlp.solve(in_files, EPS, DELTA, n // 20, rng=0)

        privlp.solve(covering(500, 20)[1], EPS, DELTA, 25, rng=0)
        limit, known = seconds(lambda: privlp.solve(lp, EPS, DELTA, n // 20, rng=0))
        ours, found = seconds(solve)
    if bits(found.x) != bits(known.x):
        raise RuntimeError("Rows in files have other bits than rows in memory.")
    return limit, ours, bits(found.x)


def fits(model: Any, limit: Any, X: Any, y: Any) -> Found:
    """Two fits, after one of few records each."""
    for each in (limit, model):
        each.fit(X[:500], y[:500])
    ours = seconds(lambda: model.fit(X, y))[0]
    return seconds(lambda: limit.fit(X, y))[0], ours, bits(model.coef_)


def classifier(n: int, *, products_alone: bool = False) -> Found:
    """LinearSVC and PrivateLPSVC, sparse, so many x 100; or first its products alone, by SciPy."""
    from sklearn.svm import LinearSVC  # noqa: PLC0415

    from svm_models import PrivateLPSVC  # noqa: PLC0415

    rng = np.random.default_rng(SEED)
    X = sp.random_array((n, 100), density=0.05, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=100) + 0.3 * rng.normal(size=X.shape[0]) > 0, 1, -1)
    own = PrivateLPSVC(1.0, 1e-8, classes=(-1, 1), data_norm=3.0, random_state=0)
    limit, ours, answer = fits(own, LinearSVC(), X, y)
    if products_alone:
        w, z = np.full(100, 0.5), np.full(n, 0.5)
        limit = own.rounds_ * least(lambda: (X @ w, X.T @ z), 9)
    return limit, ours, answer


def regression(n: int, share: float) -> Found:
    """LinearSVR and PrivateQuantileRegressor, so many x 100, of which this share is stored."""
    from sklearn.svm import LinearSVR  # noqa: PLC0415

    from svm_models import PrivateQuantileRegressor  # noqa: PLC0415

    rng = np.random.default_rng(SEED)
    stored = sp.random_array((n, 100), density=share, format="csr", rng=rng)
    X = stored if share < 1 else stored.toarray()
    y = np.clip(X @ rng.normal(size=100) + 0.3 * rng.normal(size=n), -9, 9)
    own = PrivateQuantileRegressor(1.0, 1e-8, data_norm=6.0, y_bounds=(-9, 9), random_state=0)
    return fits(own, LinearSVR(), X, y)


def starting(*code: str) -> Found:
    """Two pieces of code, each in processes of its own, imports included.

    As of an installed package: a first turn, which does not count, compiles it.
    """
    times, kept = [], {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryDirectory() as folder:
        covering(40, 5)[1].to_mps(Path(folder, "small.mps"))
        for _ in range(TURNS + 1):
            for piece in code:
                start = resource.getrusage(resource.RUSAGE_CHILDREN)
                command = [sys.executable, "-c", piece]
                silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                subprocess.run(command, check=True, env=kept, cwd=folder, **silent)
                end = resource.getrusage(resource.RUSAGE_CHILDREN)
                times.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    limit, ours = np.min(np.reshape(times, (TURNS + 1, -1))[1:], axis=0)
    return limit, ours, ""


_FIRST = (
    "import numpy as np, privlp; A = -np.random.default_rng(0).uniform(0.2, 1, (500, 4));"
    "lp = privlp.LinearProgram([1, 2, 1, 3], A, -np.ones(500));"
    "privlp.solve(lp, 2.0, 1e-6, 50, rng=0, {})"
)
_DMW = "method='dmw', alpha=0.3, opt=1.6"
_OPTIMIZE, _NUMPY = "import scipy.optimize", "import numpy, scipy.special, scipy.sparse, highspy"
_PLAN = (
    "from privlp.cli import main;"
    "main(['plan', 'small.mps', '--eps', '1', '--delta', '1e-6', '--s', '2'],"
    " standalone_mode=False)"
)
#: What is measured beside its limit: the limit in words, what was asked for, and both in seconds.
BESIDE: dict[str, tuple[str, str, Callable[[], Found]]] = {
    "rows times x, 500,000 x 80": ("A@x by BLAS", "", products),
    "`svm-models --help`": (
        "import click",
        "0.4 s",
        partial(starting, "import click", "from svm_models.cli import main; main(['--help'])"),
    ),
    "`privlp plan small.mps`": (_OPTIMIZE, "1.2", partial(starting, _OPTIMIZE, _PLAN)),
    "a solve, in a new process": (_NUMPY, "", partial(starting, _NUMPY, _FIRST.format(""))),
    '`"dmw"`, in a new process': (_NUMPY, "", partial(starting, _NUMPY, _FIRST.format(_DMW))),
    "reading MPS, 40 x 10": ("HiGHS", "1.5", partial(reading, 40, 10)),
    "reading MPS, 5,000 x 100": ("HiGHS", "1.2", partial(reading, 5_000, 100)),
    "checks of arrays, 40 x 10": ("HiGHS", "", partial(checking, 40, 10)),
    "Parquet, 400,000 x 20": ("in memory", "1.5", partial(from_files, 400_000, None)),
    "Parquet, 400,000 x 20, 20 MB": ("in memory", "3", partial(from_files, 400_000, 2e7)),
    "PrivateLPSVC, sparse, 500,000 x 100": ("LinearSVC", "1.3 s", partial(classifier, 500_000)),
    "the same, 200,000 x 100": (
        "X@w and X.T@z of its rounds",
        "",
        partial(classifier, 200_000, products_alone=True),
    ),
    "quantiles, sparse, 500,000 x 100": ("LinearSVR", "6 s", partial(regression, 500_000, 0.05)),
    "quantiles, dense, 45,000 x 100": ("LinearSVR", "1 s", partial(regression, 45_000, 1.0)),
}


def alone(case: str) -> list[Any]:
    """What is measured of a case: of a size of coverings, or beside a limit."""
    warnings.simplefilter("ignore")
    return list(BESIDE[case][2]()) if case in BESIDE else solves(*map(int, case.split(" x ")))


def in_folder(folder: Path, case: str) -> list[Any]:
    """The same in a process of its own, in one thread, by the package in a folder."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {**os.environ, **threads, "PYTHONPATH": str(folder)}
    command = [sys.executable, __file__, "--case", case]
    found = subprocess.run(command, check=True, env=kept, stdout=subprocess.PIPE, text=True)
    measured: list[Any] = json.loads(found.stdout.splitlines()[-1])
    return measured


def both(before: Path, case: str) -> tuple[list[Any], list[Any], str]:
    """What is measured before and now, and whether the answers have the same bits."""
    turns = [(in_folder(before, case), in_folder(ROOT, case))]
    while max(turns[0][1][:2]) < _QUICK and len(turns) < _PROCESSES:
        turns.append((in_folder(before, case), in_folder(ROOT, case)))
    old, new = (
        [min(times) if isinstance(times[0], float) else times[0] for times in zip(*of, strict=True)]
        for of in zip(*turns, strict=True)
    )
    same = "yes" if old[-1] == new[-1] else "no"
    return old, new, same if new[-1] else ""


def _milliseconds(time: float) -> str:
    return f"{1e3 * time:,.3g}" if time < 1 else f"{1e3 * time:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, default=ROOT, help="a folder with an earlier state")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case is not None:
        print(json.dumps(alone(asked.case)))
        return
    warnings.simplefilter("ignore")
    sizes, beside = [], []
    for n, d in SIZES:
        old, new, same = both(asked.before, f"{n} x {d}")
        stream, exact, ours, peak, _ = new
        times = f"{1e3 * stream:,.2g} | {1e3 * exact:,.3g}"
        times += f" | {_milliseconds(old[2])} | {_milliseconds(ours)}"
        ratios = f"{ours / exact:.2f} | {ours / stream:,.0f}"
        of_peak = f"{peak:.1f}" if n * d >= 200_000 else ""
        sizes.append(f"{n:,} x {d} | {times} | {ratios} | {of_peak} | {same}")
        print(sizes[-1])
    for name, (limit, goal, _) in BESIDE.items():
        old, new, same = both(asked.before, name)
        limit_now, ours, _ = new
        times = f"{_milliseconds(limit_now)} | {_milliseconds(old[1])} | {_milliseconds(ours)}"
        ratios = f"{old[1] / old[0]:.2f} | {ours / limit_now:.2f}"
        beside.append(f"{name} | {limit} | {times} | {ratios} | {goal} | {same}")
        print(beside[-1])
    row("imports", sparse(200, 5), 10)
    rows = []
    for name, (make, of_s) in PROGRAMS.items():
        lp = make()
        rows.append(row(name, lp, int(lp.private.sum()) // of_s))
    rows.append(row("300 rows, 1,500 variables", few_rows(), 15))
    write_page("speed", (_OF_SIZES, sizes), (_OF_LIMITS, beside), (_OF_PROGRAMS, rows))


_OF_SIZES = (
    "rows | A@x | HiGHS | before | solve | solve / HiGHS | solve / A@x | peak / A | same bits"
)
_OF_LIMITS = (
    "what | limit | limit (ms) | before (ms) | here (ms) | before / limit | here / limit | asked"
    " | same bits"
)
_OF_PROGRAMS = "program | plan says | exact (s) | plan (s) | auto takes | auto (s)"

if __name__ == "__main__":
    main()
