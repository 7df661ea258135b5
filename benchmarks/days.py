"""The same program with new rows day after day: what a start from yesterday is worth.

Run with ``python -m benchmarks.days``. Five minutes of two cores. How a start is used was chosen on
seeds 0 to 2 of maps and diets with 20 variables; the page has others.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import privlp
from benchmarks.families.hard import diet, map_covering
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from privlp import LinearProgram

FIRST_SEED, PROGRAMS, DAYS, DELTA = 1300, 3, 5, 1e-6
EPSILONS = (0.25, 0.5, 1.0)
#: Each day variables become worth more or less by so much, each by its own factor (a logarithm).
#: Cost over the optimum and rows missed over s of each day, (days, 2), by eps and start.
Run = dict[tuple[float, str], Any]
#: Mean cost of later days, without a start and with it, by eps.
Later = dict[float, tuple[float, float]]
STARTS = ("none", "yesterday", "another program")
DRIFTS = {"fresh rows": 0.0, "drift": 0.05}


class Family(NamedTuple):
    """A maker of a program of n rows, rows a day, and how many times s goes into these."""

    make: Any
    n: int
    share: int


FAMILIES = {
    "map 5,000 x 20": Family(partial(map_covering, d=20), 5_000, 40),
    "diet 5,000 x 20": Family(partial(diet, d=20), 5_000, 100),
    "map 20,000 x 80": Family(partial(map_covering, d=80), 20_000, 40),
}
#: The large one is measured at one eps.
ONCE = {"map 20,000 x 80": (0.25,)}


def days(family: Family, seed: int, drift: float) -> Iterator[LinearProgram]:
    """Programs of fresh rows of one population, which drifts."""
    lp = family.make(seed, n=family.n * DAYS).lp
    towards = np.random.default_rng([seed, 77]).normal(size=lp.shape[1])
    A = sp.csr_array(lp.A)
    for day in range(DAYS):
        rows = slice(day * family.n, (day + 1) * family.n)
        today = A[rows].multiply(np.exp(drift * day * towards)[None, :])
        yield LinearProgram(lp.c, sp.csc_array(today), lp.b[rows], bounds=lp.bounds, sense=lp.sense)


def _solve(lp: LinearProgram, **asked: Any) -> privlp.Solution:
    """A solve that does not say how rough it is."""
    with warnings.catch_warnings(action="ignore"):
        return privlp.solve(lp, **asked)


def measure(name: str, seed: int, drift: float) -> Run:
    """Cost over the optimum, and rows missed over s, of each day, (days, 2), by eps and start."""
    family, yesterday, found = FAMILIES[name], {}, {}
    s, wrong = family.n // family.share, next(days(family, seed + 50, drift))
    for day, lp in enumerate(days(family, seed, drift)):
        optimum = privlp.solve_exact(lp).objective
        for eps in ONCE.get(name, EPSILONS):
            ask = partial(_solve, delta=DELTA, s=s, eps=eps)
            if not day and not drift:
                yesterday[eps, "another program"] = ask(wrong, rng=seed + 50)
            for start in STARTS[: 2 if drift else 3]:
                known = None if start == "yesterday" and not day else yesterday.get((eps, start))
                solution = ask(lp, rng=np.random.default_rng([seed, day]), start=known)
                if start == "yesterday":
                    yesterday[eps, start] = solution
                cost = solution.objective / optimum
                beside = cost if lp.sense == "min" else 1 / max(cost, 1e-9)
                of_day = (beside, missed(lp, solution.x) / s)
                found.setdefault((eps, start), []).append(of_day)
    return found


def mean(costs: npt.NDArray[np.float64]) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(costs).mean()))


def tables(
    name: str, kind: str, runs: list[dict[tuple[float, str], Any]]
) -> tuple[list[list[str]], dict[float, tuple[float, float]]]:
    """Rows of the table of days; and by eps the mean cost of the later days, without and with."""
    rows, later = [], {}
    for eps in ONCE.get(name, EPSILONS):
        none, known, *other = (
            np.array([run[eps, start] for run in runs])
            for start in STARTS
            if (eps, start) in runs[0]
        )
        logs = np.log(known[:, 1:, 0] / none[:, 1:, 0]).mean(axis=1)
        wrong = [np.log(of[..., 0] / none[..., 0]).mean(axis=1) for of in other]
        later[eps] = mean(none[:, 1:, 0]), mean(known[:, 1:, 0])
        by_day = " ".join(f"{mean(known[:, day, 0]):.2f}" for day in range(DAYS))
        over = " and ".join(f"{int((of[:, 1:, 1] > 1).sum())}" for of in (none, known))
        row = [name, kind, f"{eps:g}", f"{mean(none[..., 0]):.2f}", by_day, _ratio(logs)]
        rows.append([*row, "".join(map(_ratio, wrong)), over])
    return rows, later


def _ratio(logs: npt.NDArray[np.float64]) -> str:
    """A ratio and its standard error over programs."""
    return f"{np.exp(logs.mean()):.2f} ± {logs.std(ddof=1) / np.sqrt(len(logs)):.2f}"


def as_good(later: Later) -> list[str]:
    """For each eps the eps at which a solve without a start costs as much as one with it."""
    known = np.log(list(later))
    costs = np.log([none for none, _ in later.values()])
    order = np.argsort(costs)
    found = []
    for _, cost in later.values():
        eps = np.exp(np.interp(np.log(cost), costs[order], known[order]))
        found.append(f"> {max(later):g}" if np.log(cost) < costs.min() else f"{eps:.2g}")
    return found


def main() -> None:
    rows, same = [], []
    cells = list(product(FAMILIES, DRIFTS))
    requests = [
        (name, FIRST_SEED + k, DRIFTS[kind]) for name, kind in cells for k in range(PROGRAMS)
    ]
    found = in_two_processes(measure, requests)
    for number, (name, kind) in enumerate(cells):
        more, later = tables(name, kind, found[number * PROGRAMS : (number + 1) * PROGRAMS])
        rows += more
        if len(later) > 1:
            same.append([name, kind, *as_good(later)])
    columns = ["program", "rows", "ε", "no start", "from yesterday, by day", "beside no start"]
    columns += ["another program", "more than s missed"]
    of_eps = ["program", "rows", *(f"from yesterday at {eps:g}" for eps in EPSILONS)]
    write_page("days", (columns, rows), (of_eps, same))


if __name__ == "__main__":
    main()
