"""What was slow, before and now, beside a rival or a limit; and growth in rows and variables.

Run with ``python -m benchmarks.hot_loops BEFORE``, where BEFORE is a folder with the code of an
earlier commit; twenty minutes. Each case runs in a process of its own, before and now in
turns; times are CPU seconds of one thread, with those of child processes.
"""

# ruff: noqa: PLC0415 (a process imports what its case needs, from the code that is measured)

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT, TURNS, DELTA = Path(__file__).resolve().parents[1], 2, 1e-9
Action = Callable[[], Any]


def _regression(n: int, d: int, filled: float | None) -> Action:
    from svm_models import PrivateQuantileRegressor

    X, noisy, ends = *_records(n, d, filled), (-5, 5) if filled else (-20, 20)
    model = PrivateQuantileRegressor(
        eps=1.0, delta=1e-8, quantile=0.5, X_bounds=(-1, 1), y_bounds=ends, random_state=0
    )
    return lambda: model.fit(X, np.clip(noisy, *ends))


def _records(n: int, d: int, filled: float | None) -> tuple[Any, Any]:
    """Records with entries in -1 to 1, and a noisy linear function of them."""
    rng = np.random.default_rng(0)
    X: Any = rng.uniform(-1, 1, (n, d)) if filled is None else None
    if filled is not None:
        X = sp.random_array((n, d), density=filled, format="csr", rng=rng)
        X.data = 2 * X.data - 1
    return X, X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)


def _classifier() -> Action:
    from svm_models import PrivateLPSVC

    X, noisy = _records(500_000, 100, 0.05)
    options = {"classes": (-1, 1), "data_norm": 3.0, "fit_intercept": False, "random_state": 0}
    model = PrivateLPSVC(1.0, 1e-8, **options)
    return lambda: model.fit(X, np.where(noisy > 0, 1, -1))


def _linear_svc() -> Action:
    from sklearn.svm import LinearSVC

    X, noisy = _records(500_000, 100, 0.05)
    return lambda: LinearSVC().fit(X, np.where(noisy > 0, 1, -1))


def _soft(n: int, d: int) -> Action:
    import privlp

    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, (n, d))
    b = A @ rng.uniform(-0.5, 0.5, d) + 0.3 * rng.normal(size=n)
    lp = privlp.LinearProgram(0.01 * n * rng.normal(size=d), A, b, bounds=(-1, 1), penalty=1.0)
    return lambda: privlp.solve(lp, eps=1.0, delta=DELTA, rng=0)


def _product(n: int, d: int, kind: type = float) -> Action:
    from privlp.problem.standard_form import row_by_row

    rng = np.random.default_rng(0)
    A: Any = rng.normal(size=(n, d)).astype(kind)
    x = rng.normal(size=d)
    return lambda: row_by_row(A, x)


def _stream(n: int, d: int, kind: type = float) -> Action:
    """The limit of a product: to read all entries once."""
    A: Any = np.random.default_rng(0).normal(size=(n, d)).astype(kind)
    return A.sum


def _small(n: int, d: int = 10, method: str = "auto") -> Action:
    """Warm solves, each at another eps, so that no composition is in a cache."""
    import privlp
    from benchmarks.families.hard import map_covering

    lps, number = [map_covering(1000 + k, n=n, d=d).lp for k in range(4)], itertools.count()

    def solve() -> None:
        k = next(number)
        privlp.solve(lps[k % 4], 1 + 1e-3 * k, 1e-6, n // 5, method=method, rng=k)

    for _ in range(4):
        solve()
    return lambda: [solve() for _ in range(8)]


def _exact(n: int, d: int = 10) -> Action:
    import privlp
    from benchmarks.families.hard import map_covering

    lps = [map_covering(1000 + k, n=n, d=d).lp for k in range(4)]
    return lambda: [privlp.solve_exact(lp) for lp in 2 * lps]


def _child(code: str, *arguments: str) -> Action:
    """A new process, imports included."""
    return lambda: subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, check=True
    )


def _plan_of_a_file() -> Action:
    arguments = ["plan", _model_file(60, 30), "--eps", "1", "--delta", "1e-6", "--s", "20"]
    return _child("from privlp.cli import main; main()", *arguments)


_FIRST = (
    "import privlp, numpy as np; A = -np.random.default_rng(0).uniform(0.2, 1.0, (500, 4));"
    "lp = privlp.LinearProgram([1, 2, 1, 3], A, -np.ones(500));"
)


def _model_file(n: int, d: int) -> str:
    """An MPS file that HiGHS writes."""
    import highspy

    path = Path(tempfile.gettempdir(), f"hot-loops-{n}-{d}.mps")
    if not path.exists():
        A, highs = _records(n, d, 0.1)[0].tocsr(), highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.addVars(d, np.zeros(d), np.full(d, 1e4))
        for row in range(n):
            at = slice(A.indptr[row], A.indptr[row + 1])
            index = A.indices[at].astype(np.int32)
            highs.addRow(-highspy.kHighsInf, 1.0, len(index), index, A.data[at])
        highs.writeModel(str(path))
    return str(path)


def _read(n: int, d: int, times: int) -> Action:
    import privlp

    path = _model_file(n, d)
    return lambda: [privlp.LinearProgram.from_mps(path) for _ in range(times)]


def _read_by_highs(n: int, d: int, times: int) -> Action:
    import highspy

    def read() -> None:
        for _ in range(times):
            highs = highspy.Highs()
            highs.setOptionValue("output_flag", False)
            highs.readModel(path)
            highs.getLp()

    path = _model_file(n, d)
    return read


def _thinned(n: int, d: int, filled: float) -> Any:
    """Rows of a covering; entries that are left out are 0."""
    rng = np.random.default_rng(0)
    A = -rng.uniform(0.2, 1.0, (n, d)).astype(np.float32)
    A[rng.random((n, d)) > filled] = 0
    return A


def _parquet(
    n: int, d: int, filled: float, method: str = "auto", held: int | None = None
) -> Action:
    """Rows in a Parquet file; `held` is a limit of memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import privlp

    A, path = _thinned(n, d, filled), Path(tempfile.gettempdir(), f"hot-loops-{n}-{filled}.parquet")
    table = pa.table({f"x{j}": A[:, j] for j in range(d)} | {"b": -np.ones(n)})
    pq.write_table(table, path, row_group_size=100_000)
    lp = privlp.LinearProgram.from_parquet(path, np.ones(d), "b", sparse=filled < 1)
    if held is None:
        return lambda: privlp.solve(lp, 1.0, DELTA, n / 20, method=method, rng=0)
    from privlp.rows.blocks import using_memory

    def within() -> None:
        with using_memory(held):
            privlp.solve(lp, 1.0, DELTA, n / 20, method=method, rng=0)

    return within


def _memory(n: int, d: int, filled: float, method: str = "auto", *_: int) -> Action:
    """The same rows in memory."""
    import privlp

    A = _thinned(n, d, filled)
    lp = privlp.LinearProgram(np.ones(d), sp.csr_array(A) if filled < 1 else A, -np.ones(n))
    return lambda: privlp.solve(lp, 1.0, DELTA, n / 20, method=method, rng=0)


#: What is timed, of what; and the name of the rival or the limit beside it, and how it is made.
Case = tuple[Callable[..., Action], tuple[Any, ...], str, Callable[..., Action] | None]
_PYTHON = ("python", lambda *_: _child(""))
_OPTIMIZE = ("import scipy.optimize", lambda *_: _child("import scipy.optimize"))
_ACCOUNTING = ("import dp_accounting", lambda *_: _child("import dp_accounting"))
_HELP = "from svm_models.cli import main; main()"
_DMW = "privlp.solve(lp, eps=2.0, delta=1e-6, s=50, alpha=0.3, opt=1.6, method='dmw')"
CASES: dict[str, Case] = {
    "quantile regression, 500,000 x 100, 5 % filled": (_regression, (500_000, 100, 0.05), "", None),
    "quantile regression, 45,000 x 100, dense": (_regression, (45_000, 100, None), "", None),
    "PrivateLPSVC, 500,000 x 100, 5 % filled": (_classifier, (), "LinearSVC", _linear_svc),
    "soft rows, 1,000,000 x 10": (_soft, (1_000_000, 10), "", None),
    "soft rows, 200,000 x 80": (_soft, (200_000, 80), "", None),
    "product of rows, 500,000 x 80": (_product, (500_000, 80), "read once", _stream),
    "product of rows, 1,000,000 x 10": (_product, (1_000_000, 10), "read once", _stream),
    "product of rows, 500,000 x 80, float32": (
        _product,
        (500_000, 80, np.float32),
        "read once",
        _stream,
    ),
    "Parquet, 200,000 x 100": (_parquet, (200_000, 100, 1.0), "in memory", _memory),
    "Parquet, 200,000 x 100, 5 % filled": (_parquet, (200_000, 100, 0.05), "in memory", _memory),
    "Parquet, 300,000 x 10, chain": (_parquet, (300_000, 10, 1.0, "chain"), "in memory", _memory),
    "8 solves, 200 x 10": (_small, (200, 10), "HiGHS", _exact),
    "8 solves, 2,000 x 10": (_small, (2000, 10), "HiGHS", _exact),
    "svm-models --help": (_child, (_HELP, "--help"), *_PYTHON),
    "privlp plan small.mps": (_plan_of_a_file, (), *_OPTIMIZE),
    "import privlp": (_child, ("import privlp",), *_PYTHON),
    "first solve of a process": (
        _child,
        (_FIRST + "privlp.solve(lp, eps=2.0, delta=1e-6, s=50)",),
        *_OPTIMIZE,
    ),
    "first dmw solve of a process": (_child, (_FIRST + _DMW,), *_ACCOUNTING),
    "20 times a model file of 60 x 30": (_read, (60, 30, 20), "HiGHS reads it", _read_by_highs),
    "a model file of 20,000 x 100": (_read, (20_000, 100, 1), "HiGHS reads it", _read_by_highs),
}
#: Run with today's code alone.
TODAY: dict[str, Case] = {
    "Parquet, 200,000 x 100, no byte held": (
        _parquet,
        (200_000, 100, 1.0, "auto", 0),
        "in memory",
        _memory,
    ),
}
GROWTH = [(n, 10) for n in (200, 2000, 20_000, 200_000, 1_000_000)]
GROWTH += [(20_000, d) for d in (20, 40, 80)]


def _find(name: str) -> Action:
    """A case by its name, with 'rival: ' before that of the other side, or of its size."""
    if name.startswith(("solve ", "exact ")):
        n, d = map(int, name.split()[1:])
        if n <= 20_000:
            return (_small if name.startswith("solve") else _exact)(n, d)
        return _once(n, d, exact=name.startswith("exact"))
    make, arguments, _, rival = (CASES | TODAY)[name.removeprefix("rival: ")]
    return (rival if rival and name.startswith("rival: ") else make)(*arguments)


def _once(n: int, d: int, *, exact: bool) -> Action:
    """One solve of a large program."""
    import privlp
    from benchmarks.families.hard import map_covering

    lp = map_covering(1000, n=n, d=d).lp
    if exact:
        return lambda: privlp.solve_exact(lp)
    return lambda: privlp.solve(lp, 1.0, 1e-6, n // 5, rng=0)


def _cpu() -> float:
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _run(tree: Path, name: str) -> tuple[float, float]:
    """CPU seconds of a case with the code of a tree, and its peak memory in MB beyond set-up."""
    environment = os.environ | {"PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-P", __file__, "--case", name],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=tree,
    )
    seconds, memory = json.loads(found.stdout.splitlines()[-1])
    return seconds, memory


def _case(name: str) -> None:
    """Run a case, and print its time and its memory."""
    warnings.simplefilter("ignore")
    action = _find(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = _cpu()
    action()
    seconds = _cpu() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([seconds, (after - before) / 1024]))


def _line(before: Path | None, name: str, rival: str) -> list[str]:
    """A line of the first table: least times of the turns."""
    times: dict[str, list[float]] = {"before": [], "now": [], "rival": []}
    memory: dict[str, float] = {"before": 0.0, "now": 0.0}
    for _ in range(TURNS):
        for key, tree in (("before", before), ("now", ROOT)):
            if tree is not None:
                seconds, megabytes = _run(tree, name)
                times[key].append(seconds)
                memory[key] = max(memory[key], megabytes)
        if rival:
            times["rival"].append(_run(ROOT, f"rival: {name}")[0])
    least = {key: min(of) for key, of in times.items() if of}
    cells = [name, *(f"{least[key]:.3g}" if key in least else "" for key in ("before", "now"))]
    cells.append(f"{least['now'] / least['before']:.2f}" if "before" in least else "")
    cells.append(f"{rival}: {least['rival']:.3g}" if rival else "")
    cells.append(f"{least['now'] / least['rival']:.2f}" if rival else "")
    return [*cells, f"{memory['before']:.0f}" if before else "", f"{memory['now']:.0f}"]


def main() -> None:
    """Measure, and write the page; or run one case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, nargs="?", help="a folder with earlier code")
    parser.add_argument("--case", help="run this case alone, and print seconds and MB")
    given = parser.parse_args()
    if given.case:
        _case(given.case)
        return
    from benchmarks.published import write_page
    from benchmarks.tables import column_names

    start, before = time.time(), given.before
    lines = [_line(before and before.resolve(), name, case[2]) for name, case in CASES.items()]
    lines += [_line(None, name, case[2]) for name, case in TODAY.items()]
    growth = []
    for n, d in GROWTH:
        of = 8 if n <= 20_000 else 1
        times, exact = _run(ROOT, f"solve {n} {d}"), _run(ROOT, f"exact {n} {d}")
        cells = [f"{n:,} x {d}", f"{times[0] / of:.3f}", f"{exact[0] / of:.3f}"]
        growth.append([*cells, f"{times[0] / exact[0]:.2f}", f"{times[1]:.0f}", f"{exact[1]:.0f}"])
    names = column_names("what | before | now | ratio | beside | now / beside | MB before | MB now")
    write_page(
        "hot_loops",
        "What was slow, before and now",
        [
            _ABOUT,
            (names, lines),
            "## Growth",
            "Maps at ε = 1, s = n/5, by the default, beside the exact solve: seconds a solve, and"
            " MB that a run needs beyond its data.",
            (column_names("program | private (s) | exact (s) | ratio | MB | MB exact"), growth),
            f"All of this took {(time.time() - start) / 60:.0f} minutes.",
        ],
    )


_ABOUT = (
    "CPU seconds of one thread, the least of"
    f" {TURNS} turns, before and now in turns, each in a process of its own, set-up apart; peak"
    " memory in MB beyond what the data took. *Before* is the commit 63ed5dd1. *Read once*: NumPy"
    " adds up all entries, which is what memory allows."
)

if __name__ == "__main__":
    main()
