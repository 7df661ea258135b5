"""What a hint on the optimum changes, right or wrong by a factor of up to five.

Run with ``python -m benchmarks.hints``. Ten minutes of one core. How a hint is used was chosen on
seeds 0 to 2; the page has others.
"""

import warnings
from typing import NamedTuple

import numpy as np

import privlp
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from benchmarks.small import DELTA, EPSILONS, FAMILIES, instance
from privlp.checks import FloatArray

FIRST_SEED, PROGRAMS = 200, 5
FACTORS = (None, 0.2, 0.5, 1.0, 2.0, 5.0)
# Costs of so many optima are far off. Differences count as no ratio below the second number. So
# many of a cell's draws are most.
_FAR, _LEAST, _MOST = 1e3, 0.1, 4


class Draw(NamedTuple):
    """One solve: rows missed over s, and cost beside the optimum."""

    missed: float
    cost: float


def draw(name: str, eps: float, factor: float | None, program: int) -> Draw:
    """One draw. The noise has the same seed for every hint."""
    lp, s, optimum = instance(name, FIRST_SEED + program)
    opt = None if factor is None else factor * optimum
    seeds = [list(FAMILIES).index(name), EPSILONS.index(eps), program]
    with warnings.catch_warnings(action="ignore"):
        found = privlp.solve(lp, eps, DELTA, s, opt=opt, rng=np.random.default_rng(seeds))
    if "difference" in name:
        cost = found.objective - optimum
    else:
        beside = found.objective / optimum
        cost = 1 / max(beside, 1e-9) if lp.sense == "max" else beside
    return Draw(missed(lp, found.x) / s, cost)


def beside_none(name: str, hinted: list[Draw], none: list[Draw]) -> FloatArray:
    """The costs with a hint over those without, (programs,); or 1 and the differences."""
    costs, without = (np.array([found.cost for found in draws]) for draws in (hinted, none))
    return 1 + costs - without if "difference" in name else costs / without


def succeeded(draws: list[Draw]) -> int:
    """How many miss at most s rows."""
    return sum(found.missed <= 1 for found in draws)


Cells = dict[tuple[str, float, float | None], list[Draw]]


def tables(cells: Cells) -> None:
    """Write the page."""
    headers = ["hint", *(f"ε = {eps:g}" for eps in EPSILONS), "at most s missed", "far off"]
    write_page("hints", (headers, [_summary(cells, factor) for factor in FACTORS]))


def _summary(cells: Cells, factor: float | None) -> list[str]:
    """Mean costs beside no hint, by eps; then successes, and draws that end far off."""
    draws = [cells[name, eps, factor] for name in FAMILIES for eps in EPSILONS]
    found = ["none" if factor is None else f"{factor:g} OPT"]
    found += ["1" if factor is None else _mean(cells, eps, factor) for eps in EPSILONS]
    far = sum(draw.cost > _FAR for cell in draws for draw in cell)
    return [*found, f"{sum(map(succeeded, draws))} of {len(draws) * PROGRAMS}", str(far)]


def _mean(cells: Cells, eps: float, factor: float) -> str:
    """The geometric mean of costs beside no hint, where most draws succeed without, and error."""
    logs: list[float] = []
    for name in FAMILIES:
        none, hinted = cells[name, eps, None], cells[name, eps, factor]
        near = [max(one.cost, other.cost) <= _FAR for one, other in zip(none, hinted, strict=True)]
        if succeeded(none) >= _MOST:
            logs += list(np.log(np.maximum(beside_none(name, hinted, none)[near], _LEAST)))
    error = np.std(logs) / np.sqrt(len(logs))
    return f"{np.exp(np.mean(logs)):.3f} ± {error:.3f}"


def main() -> None:
    cells = [(name, eps, factor) for name in FAMILIES for eps in EPSILONS for factor in FACTORS]
    requests = [(*cell, program) for cell in cells for program in range(PROGRAMS)]
    together = len(FACTORS) * len(EPSILONS) * PROGRAMS
    draws = in_two_processes(draw, requests, together=together)
    tables({cell: draws[k * PROGRAMS : (k + 1) * PROGRAMS] for k, cell in enumerate(cells)})


if __name__ == "__main__":
    main()
