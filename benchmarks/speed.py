"""How long plans, solves, fits, reading and starting take, beside what nothing can be faster than.

Run with ``python -m benchmarks.speed``, some minutes. Times are those of the process, medians of
turns; each program has a process of its own.
"""

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
from benchmarks.measure import in_fresh_process, peak_resident_bytes, resident_bytes
from benchmarks.published import write_page
from privlp import LinearProgram, PrivLPError, models
from privlp.problem.highs import quiet_highs

EPS, DELTA, TURNS, SEED, BOX = 1.0, 1e-6, 3, 100, 1e4


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
    exact, plan, auto = (float(np.median([turn[key][0] for turn in turns])) for key in actions)
    planned, solved = (turns[0][key][1] for key in ("plan", "auto"))
    said = str(getattr(planned, "verdict", "refused"))
    took = getattr(solved, "method", "refused")
    return f"{name} | {said} | {exact:.3f} | {plan:.2f} | {took} | {auto:.2f}"


# Rows and columns of dense coverings; of so many rows one turn is enough.
SIZES = ((200, 10), (2_000, 10), (20_000, 10), (200_000, 10), (1_000_000, 10), (20_000, 80))
_MANY = 100_000


def solves(n: int, d: int) -> list[float]:
    """Seconds of a product A@x, of HiGHS and of a default solve; its peak of memory over A."""
    rng = np.random.default_rng(SEED)
    A = -rng.uniform(0.3, 1, (n, d)) * (rng.random((n, d)) < 0.5)
    A[np.arange(n), rng.integers(0, d, n)] -= 0.1
    A.setflags(write=False)
    c, b, x = rng.uniform(1, 3, d), -rng.uniform(0.5, 1.5, n), rng.random(d)
    small, lp = (LinearProgram(c, A[:k], b[:k], bounds=(0, BOX)) for k in (min(n, 500), n))
    for k in range(3):  # imports, and what is computed once
        privlp.solve(small, EPS + k, DELTA, len(small.b) // 20, rng=0)
    before, turns = resident_bytes(), 1 if n > _MANY else 9
    ours = [
        seconds(partial(privlp.solve, lp, EPS * (1 + 1e-3 * k), DELTA, n // 20, rng=0))[0]
        for k in range(turns)  # another eps each time: no price is known
    ]
    peak = (peak_resident_bytes() - before) / A.nbytes
    exact = [seconds(lambda: privlp.solve_exact(lp))[0] for _ in range(turns)]
    stream = [seconds(lambda: [A @ x for _ in range(20)])[0] / 20 for _ in range(9)]
    return [float(np.median(times)) for times in (stream, exact, ours)] + [peak]


def reading(n: int, d: int) -> list[float]:
    """Seconds in which HiGHS reads a program from a file, and in which this package does."""

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
            for both in [(theirs, partial(LinearProgram.from_mps, path))] * 7
        ]
    return [float(time) for time in np.median(turns, axis=0)]


def classifier() -> list[float]:
    """Seconds of a fit of LinearSVC and of a private one, sparse, 200,000 x 100."""
    from sklearn.svm import LinearSVC  # noqa: PLC0415

    from svm_models import PrivateLPSVC  # noqa: PLC0415

    rng = np.random.default_rng(SEED)
    X = sp.random_array((200_000, 100), density=0.05, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=100) + 0.3 * rng.normal(size=X.shape[0]) > 0, 1, -1)
    own = PrivateLPSVC(1.0, 1e-8, classes=(-1, 1), data_norm=3.0, random_state=0)
    return [seconds(lambda model=model: model.fit(X, y))[0] for model in (LinearSVC(), own)]


def starting(*code: str) -> list[float]:
    """Seconds of two pieces of code, each in processes of its own, imports included.

    As of an installed package: a first turn, which does not count, compiles it.
    """
    times, kept = [], {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    for _ in range(TURNS + 1):
        for piece in code:
            start = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-c", piece]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=kept)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    return [float(time) for time in np.median(np.reshape(times, (TURNS + 1, -1))[1:], axis=0)]


_FIRST = (
    "import numpy as np, privlp; A = -np.random.default_rng(0).uniform(0.2, 1, (500, 4));"
    "lp = privlp.LinearProgram([1, 2, 1, 3], A, -np.ones(500));"
    "privlp.solve(lp, 2.0, 1e-6, 50, rng=0, {})"
)
_DMW = "method='dmw', alpha=0.3, opt=1.6"
_OPTIMIZE, _NUMPY = "import scipy.optimize", "import numpy, scipy.special, scipy.sparse, highspy"
#: What is measured beside its limit: the limit in words, and both in seconds.
BESIDE: dict[str, tuple[str, Callable[[], list[float]]]] = {
    "`svm-models --help`": (
        "import click",
        partial(starting, "import click", "from svm_models.cli import main; main(['--help'])"),
    ),
    "a plan, in a new process": (
        _OPTIMIZE,
        partial(starting, _OPTIMIZE, _FIRST.replace("solve", "plan").replace(" rng=0, {}", "")),
    ),
    "a solve, in a new process": (_NUMPY, partial(starting, _NUMPY, _FIRST.format(""))),
    '`"dmw"`, in a new process': (
        "import dp_accounting",
        partial(starting, "import dp_accounting", _FIRST.format(_DMW)),
    ),
    "reading MPS, 40 x 10": ("HiGHS", partial(reading, 40, 10)),
    "reading MPS, 5,000 x 100": ("HiGHS", partial(reading, 5_000, 100)),
    "PrivateLPSVC, sparse, 200,000 x 100": ("LinearSVC", classifier),
}


def of_case(name: str) -> list[float]:
    """What is measured beside its limit, in a process of its own."""
    return BESIDE[name][1]()


def _milliseconds(time: float) -> str:
    return f"{1e3 * time:,.3g}" if time < 1 else f"{1e3 * time:,.0f}"


def main() -> None:
    warnings.simplefilter("ignore")
    sizes, beside = [], []
    for n, d in SIZES:
        stream, exact, ours, peak = in_fresh_process(solves, n, d)
        times = f"{1e3 * stream:,.2g} | {1e3 * exact:,.3g} | {_milliseconds(ours)}"
        ratios = f"{ours / exact:.2f} | {ours / stream:,.0f}"
        sizes.append(f"{n:,} x {d} | {times} | {ratios} | {f'{peak:.1f}' if n >= 20_000 else ''}")
    for name, (limit, _) in BESIDE.items():
        least, ours = in_fresh_process(of_case, name)
        times = f"{_milliseconds(least)} | {_milliseconds(ours)} | {ours / least:.2f}"
        beside.append(f"{name} | {limit} | {times}")
    row("imports", sparse(200, 5), 10)
    rows = []
    for name, (make, of_s) in PROGRAMS.items():
        lp = make()
        rows.append(row(name, lp, int(lp.private.sum()) // of_s))
    rows.append(row("300 rows, 1,500 variables", few_rows(), 15))
    write_page("speed", (_OF_SIZES, sizes), (_OF_LIMITS, beside), (_OF_PROGRAMS, rows))


_OF_SIZES = "rows | A@x | HiGHS | solve | solve / HiGHS | solve / A@x | peak / A"
_OF_LIMITS = "what | limit | limit (ms) | here (ms) | here / limit"
_OF_PROGRAMS = "program | plan says | exact (s) | plan (s) | auto takes | auto (s)"

if __name__ == "__main__":
    main()
