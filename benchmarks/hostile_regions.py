"""Whether minima are certified where public regions are thin, degenerate or badly scaled.

Run with ``python -m benchmarks.hostile_regions``. About ten minutes of one core.
"""

import os

# Before NumPy is imported: threads that wait for work would count as time of the process.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import collections
import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

import privlp
from benchmarks.cache import Cache
from benchmarks.published import write_page
from privlp import LinearProgram
from privlp.checks import FloatArray
from privlp.game.perturbed import PerturbedProgram
from privlp.regions.exact import ExactMinima

Rows = tuple[FloatArray, FloatArray, FloatArray]

DELTA, SEEDS = 1e-6, 167
EPSILONS = (0.1, 1.0, 8.0, 30.0, 100.0, 300.0, 1000.0)
MOST_VARIABLES = 40
_TIMES_MEDIAN = 10.0
COUNTED = ("minima", "exact", "uncertified")


def narrow(rng: np.random.Generator, p: int, x: FloatArray) -> Rows:
    """Ranges of sums that are narrow, by up to six digits."""
    A = rng.normal(size=(int(rng.integers(1, p + 1)), p))
    width = 10.0 ** rng.uniform(-6, -1, len(A))
    return A, A @ x - width * rng.random(len(A)), A @ x + width


def nearly_parallel(rng: np.random.Generator, p: int, x: FloatArray) -> Rows:
    """Many copies of a few rows, each turned by up to nine digits."""
    few = rng.normal(size=(int(rng.integers(1, 4)), p))
    A = np.repeat(few, int(rng.integers(2, 12)), axis=0)
    A = A + 10.0 ** rng.uniform(-9, -2) * rng.normal(size=A.shape)
    room = 10.0 ** rng.uniform(-7, 0) * rng.random(len(A))
    return A, np.full(len(A), -np.inf), A @ x + room


def narrow_and_parallel(rng: np.random.Generator, p: int, x: FloatArray) -> Rows:
    """Both: nearly parallel rows on either side of narrow ranges."""
    few = rng.normal(size=(int(rng.integers(1, max(2, p))), p))
    A = np.repeat(few, 4, axis=0)
    A = A + 10.0 ** rng.uniform(-8, -3) * rng.normal(size=A.shape)
    width = 10.0 ** rng.uniform(-5, -2)
    return A, A @ x - width * rng.random(len(A)), A @ x + width * rng.random(len(A))


def degenerate(rng: np.random.Generator, p: int, x: FloatArray) -> Rows:
    """Many rows through one point, some of them sums and multiples of others."""
    A = rng.integers(-2, 3, size=(3 * p, p)).astype(float)
    A = np.vstack([A, A[:p] + A[p : 2 * p], 3 * A[:p], A[:p] / 3])
    A = A[abs(A).sum(axis=1) > 0]
    corner = x + 0.1 * rng.normal(size=p)
    sign = np.where(A @ (x - corner) > 0, -1.0, 1.0)
    A = sign[:, None] * A
    flat = abs(A @ (x - corner)) < 1e-6
    return A, np.full(len(A), -np.inf), A @ corner + flat


def badly_scaled(rng: np.random.Generator, p: int, x: FloatArray) -> Rows:
    """Rows of all sizes; variables get theirs in :func:`program`."""
    A = rng.normal(size=(2 * p, p)) * 10.0 ** rng.uniform(-2, 2, size=(2 * p, p))
    room = 10.0 ** rng.uniform(-4, 0, len(A)) * abs(A).sum(axis=1)
    return A, np.full(len(A), -np.inf), A @ x + room


def equalities(rng: np.random.Generator, p: int, x: FloatArray) -> Rows:
    """Equalities alone, beside bounds."""
    A = rng.normal(size=(int(rng.integers(1, max(2, p // 2 + 1))), p))
    return A, A @ x, A @ x


KINDS: dict[str, Callable[[np.random.Generator, int, FloatArray], Rows]] = {
    "narrow": narrow,
    "nearly parallel": nearly_parallel,
    "narrow and nearly parallel": narrow_and_parallel,
    "degenerate": degenerate,
    "badly scaled": badly_scaled,
    "equalities": equalities,
}


def program(kind: str, seed: int, *, hard: bool) -> tuple[LinearProgram, float]:
    """A program on a region of a kind, with 30 to 300 private rows; and an eps."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed, int(hard)])
    p, n = int(rng.integers(1, MOST_VARIABLES + 1)), int(rng.integers(30, 301))
    if rng.random() < 0.3:
        p = int(rng.integers(1, 5))
    if kind == "equalities":
        p = max(p, 2)
    x = rng.uniform(0.2, 0.8, p)
    public, lower, upper = KINDS[kind](rng, p, x)
    largest = 12.0 if kind == "badly scaled" else float(rng.choice([0.0, 0.0, 3.0]))
    size = 10.0 ** rng.uniform(-largest, largest, p)
    private = rng.normal(size=(n, p)) if rng.random() < 0.5 else -rng.random((n, p))
    sides = private @ x + rng.normal(size=n) * 0.3 * np.linalg.norm(private, axis=1)
    lp = LinearProgram(
        rng.uniform(0, 1, p) / size * (1 if hard else n / 10),
        np.vstack([private, public]) / size,
        np.append(sides, upper),
        row_lower=np.append(np.full(n, -np.inf), lower),
        private=np.arange(n + len(public)) < n,
        penalty=None if hard else np.append(np.ones(n), np.full(len(public), np.inf)),
        bounds=np.column_stack([np.zeros(p), size]),
    )
    return lp, float(rng.choice(EPSILONS))


class Watched(contextlib.ExitStack):
    """How the minimisations end that are made while it is in use, from the distances certified."""

    def __init__(self) -> None:
        super().__init__()
        self.minima = self.exact = self.uncertified = 0
        self._steps: list[tuple[bool, float]] = []

    def __enter__(self) -> "Watched":
        minimise, certified = PerturbedProgram.minimise, PerturbedProgram._certified
        distance = ExactMinima.distance

        def in_doubles(*given: Any) -> Any:
            found = certified(*given)
            self._steps.append((False, found[1]))
            return found

        def in_integers(*given: Any, **options: Any) -> float:
            self._steps.append((True, distance(*given, **options)))
            return self._steps[-1][1]

        def noted(program: PerturbedProgram, tolerance: float, **options: Any) -> FloatArray:
            self._steps.clear()
            z = minimise(program, tolerance, **options)
            in_integers, found = self._steps[-1]
            self.minima += 1
            self.exact += in_integers
            self.uncertified += not found <= tolerance
            return z

        for owner, name, patched in (
            (PerturbedProgram, "minimise", noted),
            (PerturbedProgram, "_certified", in_doubles),
            (ExactMinima, "distance", in_integers),
        ):
            self.enter_context(mock.patch.object(owner, name, patched))
        return self


def measured(cell: dict[str, Any]) -> dict[str, Any]:
    """One solve."""
    lp, eps = program(cell["kind"], cell["seed"], hard=cell["hard"])
    s = float(max(1, lp.private.sum() // 10)) if cell["hard"] else None
    found: dict[str, Any] = {"size": lp.shape[1], "eps": eps, "refused": ""}
    began = time.process_time()
    with warnings.catch_warnings(), Watched() as watched:
        warnings.simplefilter("ignore")
        try:
            privlp.solve(lp, eps, DELTA, s, method="perturbed", rng=cell["seed"])
        except privlp.UnsupportedProblemError as refusal:
            found["refused"] = str(refusal)
    found["seconds"] = time.process_time() - began
    return found | {name: getattr(watched, name) for name in COUNTED}


def main() -> None:
    groups = {
        (kind, hard): [{"kind": kind, "hard": hard, "seed": seed} for seed in range(SEEDS)]
        for kind, hard in product(KINDS, (True, False))
    }
    cells = [cell for group in groups.values() for cell in group]
    how = {"processes": 1, "description": "hostile regions"}
    results = Cache("hostile_regions").measure_all(cells, measured, **how)
    found = iter(results)
    rows = [
        [kind, "hard" if hard else "soft", *_counts([next(found) for _ in group])]
        for (kind, hard), group in groups.items()
    ]
    rows.append(["all", "", *_counts(results)])
    solved = [result for result in results if not result["refused"]]
    sizes = [(1, 10), (11, 20), (21, 30), (31, MOST_VARIABLES)]
    times = [_times(f"{low} to {high}", solved, low, high) for low, high in sizes]
    times.append(_times("all", solved, 1, MOST_VARIABLES))
    refusals = collections.Counter(result["refused"] for result in results if result["refused"])
    said = "; ".join(f"{number} times: “{text}”" for text, number in refusals.most_common())
    write_page(
        "hostile_regions",
        ("region | rows | solves | refused | minima | by integers | uncertified", rows),
        f"Refused: {said or 'none'}.",
        ("variables | solves | median, s | longest, s | over 10 medians", times),
    )


def _counts(results: Sequence[dict[str, Any]]) -> list[str]:
    """Solves, refusals, minimisations, those that integers end, and those without certificate."""
    refused = sum(bool(result["refused"]) for result in results)
    sums = [sum(result[name] for result in results) for name in COUNTED]
    return [f"{number:,}" for number in (len(results), refused, *sums)]


def _times(name: str, results: Sequence[dict[str, Any]], low: int, high: int) -> str:
    """Times of solves with so many variables, and how many are beyond ten times the median."""
    seconds = [result["seconds"] for result in results if low <= result["size"] <= high]
    median = float(np.median(seconds))
    long = sum(second > _TIMES_MEDIAN * median for second in seconds)
    return f"{name} | {len(seconds):,} | {median:.3f} | {max(seconds):.2f} | {long}"


if __name__ == "__main__":
    main()
