"""The same program with new rows day after day: what a start from yesterday is worth.

Run with ``python -m benchmarks.days``. Six minutes of two cores. How a start is used was chosen on
seeds 0 to 2 of maps, diets and packings with 8 to 20 variables; the page has others.
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
from benchmarks.families.hard import diet, map_covering, packing
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from privlp import LinearProgram

FIRST_SEED, PROGRAMS, DAYS, DELTA = 1300, 3, 4, 1e-6
EPSILONS = (0.5, 1.0, 2.0, 4.0)
#: Cost over the optimum, rows missed over s, and whether a warning was given, of each day, (days,
#: 3), by eps and start.
Run = dict[tuple[float, str], Any]
#: Mean cost of later days, without a start and with it, by eps.
Later = dict[float, tuple[float, float]]
STARTS = ("none", "yesterday", "another program", "five times x")
#: Each day variables become worth more or less by so much, each by its own factor (a logarithm).
DRIFTS = {"fresh rows": 0.0, "drift": 0.05}
#: A draw is far from the optimum if it costs so many times as much.
FAR = 10.0


class Family(NamedTuple):
    """A maker of a program of n rows, rows a day, and how many times s goes into these."""

    make: Any
    n: int
    share: int


FAMILIES = {
    "map 5,000 x 20": Family(partial(map_covering, d=20), 5_000, 40),
    "diet 5,000 x 20": Family(partial(diet, d=20), 5_000, 100),
    "map 5,000 x 10": Family(partial(map_covering, d=10), 5_000, 40),
    "diet 5,000 x 8": Family(partial(diet, d=8), 5_000, 100),
    "diet with stock 5,000 x 12": Family(partial(diet, d=12, stock=True), 5_000, 100),
    "packing 5,000 x 20": Family(partial(packing, d=20), 5_000, 40),
}


def days(family: Family, seed: int, drift: float) -> Iterator[LinearProgram]:
    """Programs of fresh rows of one population, which drifts."""
    lp = family.make(seed, n=family.n * DAYS).lp
    towards = np.random.default_rng([seed, 77]).normal(size=lp.shape[1])
    A, public, private = sp.csr_array(lp.A), np.flatnonzero(~lp.private), np.flatnonzero(lp.private)
    for day in range(DAYS):
        of_day = private[day * family.n : (day + 1) * family.n]
        today = A[of_day].multiply(np.exp(drift * day * towards)[None, :])
        rows = np.append(public, of_day)
        yield LinearProgram(
            lp.c,
            sp.csc_array(sp.vstack([A[public], today])),
            lp.b[rows],
            private=np.arange(len(rows)) >= len(public),
            bounds=lp.bounds,
            sense=lp.sense,
        )


def _solve(lp: LinearProgram, **asked: Any) -> tuple[Any, bool]:
    """A solve, and whether it warned."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return privlp.solve(lp, **asked), bool(said)


def measure(name: str, seed: int, drift: float) -> Run:
    """One program on its days, with each start."""
    family, yesterday, found = FAMILIES[name], Run(), Run()
    s, wrong = family.n // family.share, next(days(family, seed + 50, drift))
    for day, lp in enumerate(days(family, seed, drift)):
        optimum = privlp.solve_exact(lp).objective
        for eps in EPSILONS:
            ask = partial(_solve, delta=DELTA, s=s, eps=eps)
            if not day and not drift:
                yesterday[eps, "another program"], _ = ask(wrong, rng=seed + 50)
            # A wrong point breaks public rows, and is refused there.
            for start in STARTS[: 2 if drift or not lp.private.all() else 4]:
                known = None if start == "yesterday" and not day else yesterday.get((eps, start))
                solution, said = ask(lp, rng=np.random.default_rng([seed, day]), start=known)
                if start == "yesterday":
                    yesterday[eps, start] = solution
                cost = solution.objective / optimum
                beside = cost if lp.sense == "min" else 1 / max(cost, 1e-9)
                of_day = (beside, missed(lp, solution.x) / s, said)
                found.setdefault((eps, start), []).append(of_day)
            x = np.asarray(yesterday[eps, "yesterday"].x)
            yesterday[eps, "five times x"] = np.clip(5 * x, *lp.bounds.T)
    return found


def mean(costs: npt.NDArray[np.float64]) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(costs).mean()))


def tables(
    name: str, kind: str, runs: list[dict[tuple[float, str], Any]]
) -> tuple[list[list[str]], dict[float, tuple[float, float]]]:
    """Rows of the table of days; and by eps the mean cost of the later days, without and with."""
    rows, later = [], {}
    for eps in EPSILONS:
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
        rows.append([*row, *([_ratio(of) for of in wrong] or ["", ""]), over])
    return rows, later


def far_off(runs: list[Run]) -> list[list[str]]:
    """Of all draws from a start, and of the same ones without it, how many are far off."""
    rows = []
    for start in STARTS[1:]:
        both = [
            [run[eps, of][1:] for run in runs for eps in EPSILONS if (eps, start) in run]
            for of in ("none", start)
        ]
        none, known = (np.array(of).reshape(-1, 3) for of in both)
        row = [start, f"{len(known)}"]
        for of in (none, known):
            far = of[:, 0] > FAR
            row += [f"{far.sum()}", f"{(far & (of[:, 2] == 0)).sum()}", f"{(of[:, 1] > 1).sum()}"]
        rows.append([*row, f"{known[:, 0].max():.2f}"])
    return rows


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
        same.append([name, kind, *as_good(later)])
    columns = ["program", "rows", "ε", "no start", "from yesterday, by day", "beside no start"]
    columns += ["another program", "five times x", "more than s missed"]
    of_eps = ["program", "rows", *(f"from yesterday at {eps:g}" for eps in EPSILONS)]
    far = ["start", "draws"]
    for of in ("without it", "with it"):
        far += [f"far off {of}", f"unsaid {of}", f"more than s missed {of}"]
    far.append("dearest with it")
    write_page("days", (columns, rows), (of_eps, same), (far, far_off(found)))


if __name__ == "__main__":
    main()
