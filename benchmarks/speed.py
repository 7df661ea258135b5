"""How long a plan, a default solve and a refusal take, beside staged descent and the exact solve.

Run with ``python -m benchmarks.speed``, half a minute. Times are those of the process, medians of
turns.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import privlp
from benchmarks.families.hard import map_covering
from benchmarks.published import write_page
from privlp import LinearProgram, PrivLPError, models

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


def row(name: str, lp: LinearProgram, s: float, *, solved: bool = True) -> list[str]:
    """Times of one program: exact and staged in seconds, others over these."""
    actions: dict[str, Callable[[], Any]] = {
        "exact": lambda: privlp.solve_exact(lp),
        "plan": lambda: privlp.plan(lp, EPS, DELTA, s=s),
    }
    for method in ("auto", "staged", "chain") if solved else ():
        actions[method] = partial(privlp.solve, lp, EPS, DELTA, s, method=method, rng=0)
    turns = [{key: seconds(action) for key, action in actions.items()} for _ in range(TURNS)]
    time_of = {key: float(np.median([turn[key][0] for turn in turns])) for key in actions}
    found = {key: result for key, (_, result) in turns[0].items()}
    said = found["plan"].verdict if hasattr(found["plan"], "verdict") else "refused"
    cells = [name, str(said), f"{time_of['exact']:.3f}", f"{time_of['plan']:.2f}"]
    if not solved:
        return cells
    staged = "" if isinstance(found["staged"], PrivLPError) else f"{time_of['staged']:.2f}"
    ratios = [time_of[key] / time_of["staged"] for key in ("auto", "chain")]
    of_staged = [f"{ratio:.2f}" if staged else "" for ratio in ratios]
    return [*cells, found["auto"].method, f"{time_of['auto']:.2f}", staged, *of_staged]


_HEADERS = ["program", "plan says", "exact (s)", "plan (s)"]
_OF_SOLVES = ["auto takes", "auto (s)", "staged (s)", "auto / staged", "chain / staged"]


def main() -> None:
    """Measure, and write the page; or print plans of files."""
    warnings.simplefilter("ignore")
    row("imports", sparse(200, 5), 10)
    rows = [
        row(name, lp, int(lp.private.sum()) // of_s)
        for name, (make, of_s) in PROGRAMS.items()
        for lp in [make()]
    ]
    refused = row("300 rows, 1,500 variables", few_rows(), 15, solved=False)
    write_page("speed", ([*_HEADERS, *_OF_SOLVES], rows), (_HEADERS, [refused]))


if __name__ == "__main__":
    main()
