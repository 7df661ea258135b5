"""Small programs and people's models: success, cost, and whether what is said of rows is true.

Run with ``python -m benchmarks.small``. Four minutes of two cores. Which method ``"auto"`` takes
and the constants of ``"chain"``, were chosen on seeds 0 to 2; the page has others.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.polynomial.polynomial import polyvander

import privlp
from benchmarks.families.hard import diet, map_covering, needs
from benchmarks.families.instance import missed
from benchmarks.measure import in_two_processes
from benchmarks.published import write_page
from benchmarks.tables import in_words
from privlp import LinearProgram

FIRST_SEED, PROGRAMS, DRAWS = 100, 5, 2
EPSILONS, DELTA = (0.5, 1.0, 4.0), 1e-6


def max_min(
    seed: int, n: int = 5000, d: int = 12, *, t: tuple[float, float] = (0.0, 10.0)
) -> LinearProgram:
    """The largest share t that each of n people has of what x gives."""
    rng = np.random.default_rng(seed)
    A = rng.gamma(1.5, 1, (n, d)) * (rng.random((n, d)) < 0.5) + 0.02
    whole = np.append(np.ones(d), 0.0)
    return LinearProgram(
        np.append(np.zeros(d), 1.0),
        np.vstack([whole, np.column_stack([-A, np.ones(n)])]),
        np.append(1.0, np.zeros(n)),
        private=np.arange(n + 1) > 0,
        bounds=[(0, None)] * d + [t],
        sense="max",
    )


def centre(seed: int, n: int = 3000, d: int = 4, box: float = 10.0) -> LinearProgram:
    """The largest ball within n half-spaces."""
    a, rng = _directions(seed, n, d)
    b = a @ rng.uniform(-2, 2, d) + rng.uniform(1, 3, n) * (1 + 0.3 * rng.random(n))
    A, bounds = np.column_stack([a, np.ones(n)]), [(-box, box)] * d + [(0, box)]
    return LinearProgram(np.append(np.zeros(d), 1.0), A, b, bounds=bounds, sense="max")


def minimax(
    seed: int, n: int = 1500, d: int = 5, box: float = 10.0, basis: Callable[..., Any] = chebvander
) -> LinearProgram:
    """The polynomial of least largest error, in the Chebyshev basis or in powers."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, n)
    y, B = np.sin(3 * u) + 0.1 * rng.standard_t(5, n), basis(u, d - 1)
    A = np.vstack([np.column_stack([sign * B, -np.ones(n)]) for sign in (1, -1)])
    bounds = [(-box, box)] * d + [(0, box)]
    return LinearProgram(np.append(np.zeros(d), 1.0), A, np.append(y, -y), bounds=bounds)


def blending(seed: int, n: int = 3000, d: int = 12) -> LinearProgram:
    """Shares of ingredients that add up to 1, and n people's needs."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(0, 1, (n, d))
    q = 0.5 * q + 0.5 * q.mean(axis=0)
    cost = rng.uniform(1, 3, d) + 3 * q.mean(axis=0)
    need = q @ rng.dirichlet(np.ones(d) * 2) * rng.uniform(0.8, 1, n)
    return LinearProgram(
        cost,
        np.vstack([np.ones(d), -q]),
        np.append(1.0, -need),
        row_lower=np.append(1.0, np.full(n, -np.inf)),
        private=np.arange(n + 1) > 0,
        bounds=(0, 1),
    )


def covering(seed: int, n: int = 4000, d: int = 10, *, bounds: Any = (0, None)) -> LinearProgram:
    """A covering, with loose bounds or free variables."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(0.2, 1, (n, d)) * (rng.random((n, d)) < 0.5)
    A[:, 0] += 0.1
    return LinearProgram(rng.uniform(1, 3, d), -A, -rng.uniform(0.5, 1.5, n), bounds=bounds)


def uneven(make: Callable[[int], LinearProgram], least: float = 1.0) -> Any:
    """The programs in bounds that differ from variable to variable, up to a million away."""

    def made(seed: int) -> LinearProgram:
        lp, rng = make(seed), np.random.default_rng([seed, 1])
        ends = 10 ** rng.uniform(np.log10(least), 6, (len(lp.c), 2))
        return lp.changed(bounds=ends * [-1, 1])

    return made


def half_spaces(seed: int, n: int = 3000, d: int = 10, wide: float = 20.0) -> LinearProgram:
    """Half-spaces around a secret centre, which leave a radius of about 1, in a box."""
    a, rng = _directions(seed, n, d)
    b = a @ rng.uniform(-5, 5, d) + 1 + rng.exponential(0.5, n)
    c = rng.normal(size=d)
    return LinearProgram(c / np.linalg.norm(c), a, b, bounds=(-wide / 2, wide / 2))


def three_foods(seed: int, n: int = 3000, d: int = 10) -> LinearProgram:
    """Each person eats three foods of d."""
    rng, A = np.random.default_rng(seed), np.zeros((n, d))
    for row in A:
        row[rng.choice(d, 3, replace=False)] = rng.uniform(0.5, 1.5, 3)
    return LinearProgram(rng.uniform(1, 3, d), -A, -rng.uniform(0.5, 1.5, n))


def packing(seed: int, n: int = 1000, d: int = 5) -> LinearProgram:
    """A packing in a box."""
    rng = np.random.default_rng(seed)
    A = np.where(rng.random((n, d)) < 0.4, rng.uniform(0.2, 1, (n, d)), 0.0)
    b, c = rng.uniform(0.5, 1.5, n), np.exp(rng.uniform(-0.7, 0.7, d))
    return LinearProgram(c, A, b, bounds=(0, 10), sense="max")


def schedule(
    seed: int, n: int = 2000, d: int = 8, *, largest: float | None = None
) -> LinearProgram:
    """Steps of a project, n waiting times between them, and the end T, which costs."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, d - 1, n)
    A = np.zeros((n, d + 1))
    A[np.arange(n), first], A[np.arange(n), first + 1] = 1, -1
    ends = np.column_stack([np.eye(d), -np.ones(d)])
    return LinearProgram(
        np.append(np.zeros(d), 1.0),
        np.vstack([A, ends]),
        np.append(-1.0 - rng.poisson(3, n), -np.ones(d)),
        private=np.arange(n + d) < n,
        bounds=(0, largest),
    )


def doses(seed: int, n: int = 3000, d: int = 12) -> LinearProgram:
    """Rays that give n points of a body enough, or not too much."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0, 10, n)
    A = np.exp(-2 * (place[:, None] - np.linspace(0, 10, d)) ** 2) * rng.uniform(0.8, 1.2, (n, 1))
    sick = (place > 3) & (place < 6)
    told = sick | (place < 2) | (place > 7)
    return LinearProgram(
        np.ones(d),
        np.where(sick[:, None], -A, A)[told],
        np.where(sick, -1.0, 0.7)[told],
        bounds=(0, None),
    )


def inputs(seed: int, n: int = 1500, d: int = 8) -> LinearProgram:
    """Inputs u = p - q that bring a state near 0 at least cost, whatever the disturbance."""
    rng = np.random.default_rng(seed)
    push, A = 0.9 ** np.arange(d - 1, -1, -1), np.zeros((n, 2 * d + 1))
    up = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    A[:, -1] = up * rng.uniform(0.8, 1.2, n)
    state = np.concatenate([push, -push, [-1.0]])
    return LinearProgram(
        np.append(np.ones(2 * d), 0.0),
        np.vstack([A, state]),
        np.append(1 - up * rng.normal(0, 0.1, n), -4.3),
        row_lower=np.append(np.full(n, -np.inf), -4.3),
        private=np.arange(n + 1) < n,
        bounds=[(0, 5)] * (2 * d) + [(-50, 50)],
    )


def widest_gap(seed: int, n: int = 2000, d: int = 4) -> LinearProgram:
    """The widest gap between two classes: all rows meet at 0, which misses none of them."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    far = np.abs(X @ w) > 0.5
    X, y = X[far], np.sign(X[far] @ w)
    A = np.column_stack([-y[:, None] * X, -y, np.ones(len(y))])
    bounds = [(-1, 1)] * d + [(-10, 10)] * 2
    return LinearProgram(np.append(np.zeros(d + 1), 1.0), A, 0 * y, bounds=bounds, sense="max")


def _directions(seed: int, n: int, d: int) -> tuple[Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, d))
    return a / np.linalg.norm(a, axis=1)[:, None], rng


def _map(seed: int, n: int, d: int) -> LinearProgram:
    return map_covering(seed, n=n, d=d).lp


def _diet(seed: int, n: int, d: int) -> LinearProgram:
    return diet(seed, n=n, d=d).lp


def _needs(seed: int, m: int) -> LinearProgram:
    return needs(seed, m=m).lp


#: Each family, and how many times s goes into its private rows.
FAMILIES: dict[str, tuple[Callable[[int], LinearProgram], int]] = {
    "max-min share 5,000 x 13 (max)": (max_min, 20),
    "Chebyshev centre 3,000 x 5 (max)": (centre, 20),
    "minimax fit 3,000 x 6": (minimax, 10),
    "minimax fit in powers 3,000 x 6": (partial(minimax, basis=polyvander), 10),
    "blending 3,000 x 12": (blending, 20),
    "covering 4,000 x 10": (covering, 20),
    "covering, bounds 10^4": (partial(covering, bounds=(0, 1e4)), 20),
    "covering, bounds 10^6": (partial(covering, bounds=(0, 1e6)), 20),
    "covering, variables from -5": (partial(covering, bounds=(-5, None)), 20),
    "half-spaces 3,000 x 10 (difference)": (half_spaces, 20),
    "covering, bounds -10^3 to 10^3": (partial(covering, bounds=(-1e3, 1e3)), 20),
    "max-min share, t up to 10^6 (max)": (partial(max_min, t=(0, 1e6)), 20),
    "Chebyshev centre, box 10^6 (max)": (partial(centre, box=1e6), 20),
    "minimax fit, box 10^6": (partial(minimax, box=1e6), 10),
    "half-spaces, box 10^6 (difference)": (partial(half_spaces, wide=2e6), 20),
    "half-spaces 1,000 x 5 (difference)": (partial(half_spaces, n=1000, d=5), 20),
    "half-spaces 300 x 3 (difference)": (partial(half_spaces, n=300, d=3), 20),
    "three foods 3,000 x 10": (three_foods, 20),
    "packing 1,000 x 5 (max)": (packing, 20),
    "packing 2,000 x 20 (max)": (partial(packing, n=2000, d=20), 20),
    "diet 1,000 x 20": (partial(_diet, n=1000, d=20), 20),
    "map 300 x 3": (partial(_map, n=300, d=3), 20),
    "map 1,000 x 5": (partial(_map, n=1000, d=5), 20),
    "map 3,000 x 10": (partial(_map, n=3000, d=10), 20),
    "map 5,000 x 40": (partial(_map, n=5000, d=40), 20),
    "needs of one product, m = 100": (partial(_needs, m=100), 50),
    "needs of one product, m = 250": (partial(_needs, m=250), 20),
    "max-min share, t from -10^6 to 10^6 (max)": (partial(max_min, t=(-1e6, 1e6)), 20),
    "covering, bounds -10^6 to 2 10^6": (partial(covering, bounds=(-1e6, 2e6)), 20),
    "covering 1,000 x 20, variables from -10^3": (
        partial(covering, n=1000, d=20, bounds=(-1e3, None)),
        20,
    ),
    "covering, variables from -10^3": (partial(covering, bounds=(-1e3, None)), 20),
    "covering, other bounds for each variable": (uneven(covering, 10.0), 20),
    "half-spaces, other bounds for each variable (difference)": (uneven(half_spaces, 10.0), 20),
    "schedule 2,000 x 9": (schedule, 20),
    "schedule, bounds 10^4": (partial(schedule, largest=1e4), 20),
    "doses 3,000 x 12": (doses, 20),
    "doses 6,000 x 30": (partial(doses, n=6000, d=30), 20),
    "inputs 1,500 x 17": (inputs, 20),
    "inputs 6,000 x 25": (partial(inputs, n=6000, d=12), 20),
    "widest gap 2,000 x 6 (max)": (widest_gap, 20),
}


class Draw(NamedTuple):
    """One solve: objective beside the optimum, rows missed over s, and what was said of them."""

    verdict: str
    objective: float
    missed: float
    covered: bool
    told: bool


@cache
def instance(name: str, seed: int) -> tuple[LinearProgram, int, float]:
    """A program, its s and its optimum."""
    make, of_s = FAMILIES[name]
    lp = make(seed)
    return lp, int(lp.private.sum()) // of_s, float(privlp.solve_exact(lp).objective or 0.0)


def draw(name: str, eps: float, number: int) -> Draw:
    """One draw of a cell."""
    lp, s, optimum = instance(name, FIRST_SEED + number % PROGRAMS)
    with warnings.catch_warnings(action="ignore"):
        seeds = [list(FAMILIES).index(name), EPSILONS.index(eps), number]  # no two draws alike
        found = privlp.solve(lp, eps, DELTA, s, rng=np.random.default_rng(seeds))
    true = missed(lp, found.x)
    beside = found.objective - optimum if "difference" in name else found.objective / optimum
    covered = found.missed.low <= true <= found.missed.high
    verdict = found.verdict.name if found.verdict else ""
    return Draw(verdict, beside, true / s, covered, found.missed.high > s)


def _cell(draws: list[Draw]) -> str:
    kept, told = sum(of.missed <= 1 for of in draws), sum(of.told for of in draws)
    objective, most = np.median([of.objective for of in draws]), max(of.missed for of in draws)
    words = f"{in_words(draws[0].verdict)} | {kept} of {len(draws)}"
    return f"{words} | {objective:.2f} | {most:.1f} | {told}"


def main() -> None:
    cells = [(name, eps) for name in FAMILIES for eps in EPSILONS]
    requests = [(*cell, number) for cell in cells for number in range(PROGRAMS * DRAWS)]
    each = PROGRAMS * DRAWS
    draws = in_two_processes(draw, requests, together=each)
    found = {cell: draws[k * each : (k + 1) * each] for k, cell in enumerate(cells)}
    rows = [f"{name} | {eps:g} | {_cell(found[name, eps])}" for name, eps in cells]
    verdicts = {of.verdict for of in draws}
    by_verdict = [_summary(v, [of for of in draws if of.verdict == v]) for v in sorted(verdicts)]
    of_cells = "program | ε | plan | at most s missed | objective | most missed / s | warned"
    of_verdicts = "plan | draws | at most s missed | interval right | more than s missed, unsaid"
    write_page("small", (of_cells, rows), (of_verdicts, [*by_verdict, _summary("all", draws)]))


def _summary(name: str, draws: list[Draw]) -> str:
    kept, covered = np.mean([(found.missed <= 1, found.covered) for found in draws], axis=0)
    unsaid = sum(found.missed > 1 and not found.told for found in draws)
    words = name.replace("_", " ").lower()
    return f"{words} | {len(draws)} | {kept:.1%} | {covered:.1%} | {unsaid}"


if __name__ == "__main__":
    main()
