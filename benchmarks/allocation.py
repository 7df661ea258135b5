"""Sharing scarce supplies by private prices: welfare and supply used, over eps and people.

Beside it rivals that are not private, or add noise to the data.

Run with ``python -m benchmarks.allocation``; about 25 minutes of one core.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

import privlp
from benchmarks.published import over_eps, picture, write_page
from privlp import Allocation, PersonPrivate
from privlp.checks import FloatArray
from privlp.pictures import MARKERS

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
PEOPLE = (300, 1_000, 3_000, 10_000)
#: Families of which the largest size is measured; the exact optimum takes long there.
LARGEST_OF = ("even", "scarce", "popular")
SLOTS = 10
FIRST_SEED = 1000
SEEDS = range(FIRST_SEED, FIRST_SEED + 10)


def _even(n: int, rng: np.random.Generator) -> Allocation:
    return Allocation(rng.uniform(size=(n, SLOTS)), [n / SLOTS] * SLOTS, largest_value=1.0)


def _plenty(n: int, rng: np.random.Generator) -> Allocation:
    return replace(_even(n, rng), supplies=[1.5 * n / SLOTS] * SLOTS)


def _scarce(n: int, rng: np.random.Generator) -> Allocation:
    return replace(_even(n, rng), supplies=[n / SLOTS / 2] * SLOTS)


def _popular(n: int, rng: np.random.Generator) -> Allocation:
    """Slots that everybody wants, and slots that few want."""
    wanted = np.linspace(0.2, 1.0, SLOTS) * rng.uniform(0.3, 1.0, (n, 1))
    values = (wanted + 0.3 * rng.uniform(size=(n, SLOTS))) / 1.3
    return Allocation(values, [n / SLOTS] * SLOTS, largest_value=1.0)


def _bundles(n: int, rng: np.random.Generator) -> Allocation:
    """Each option takes two slots that follow one another."""
    two = np.eye(SLOTS) + np.roll(np.eye(SLOTS), 1, axis=1)
    supplies = [1.5 * n / SLOTS] * SLOTS
    return Allocation(rng.uniform(size=(n, SLOTS)), supplies, uses=two, largest_value=1.0)


FAMILIES: dict[str, tuple[Callable[[int, np.random.Generator], Allocation], str]] = {
    "even": (_even, "values uniform in [0, 1]; as many places as people"),
    "plenty": (_plenty, "the same, with 1.5 places for each person"),
    "scarce": (_scarce, "the same, with a place for every second person"),
    "popular": (_popular, "values rise from slot to slot, and some people want everything more"),
    "bundles": (_bundles, "an option takes two slots; places for three quarters of the people"),
}


def cut(allocation: Allocation, shares: FloatArray) -> FloatArray:
    """The shares, less what exceeds supplies: not private, so that welfare can be compared."""
    held = np.minimum(1.0, allocation.supplies / np.maximum(allocation.used(shares), 1e-12))
    return shares * np.where(allocation.uses > 0, held, 1.0).min(axis=-1)


def measured(allocation: Allocation, best: float, shares: FloatArray) -> tuple[float, float, float]:
    """Welfare over the optimum, after a cut; largest use over supply; whether all hold."""
    use = float((allocation.used(shares) / allocation.supplies).max())
    return allocation.worth(cut(allocation, shares)) / best, use, float(use <= 1 + 1e-9)


def private(allocation: Allocation, best: float, eps: float, feasible: float | None) -> FloatArray:
    """Means over draws of what is measured of private prices."""
    found = []
    for seed in SEEDS:
        result = privlp.allocate(allocation, eps, feasible=feasible, rng=seed)
        found.append(measured(allocation, best, result.shares_of(allocation)))
    return np.mean(found, axis=0)


def in_turn(allocation: Allocation, rng: np.random.Generator) -> FloatArray:
    """Random serial dictatorship: in random order, each takes the best that is left."""
    left, shares = allocation.supplies.copy(), np.zeros(allocation.values.shape)
    for person in rng.permutation(len(shares)):
        open_options = (allocation.uses <= left).all(axis=-1)
        if open_options.any():
            j = np.where(open_options, allocation.values[person], -1.0).argmax()
            shares[person, j] = 1.0
            left = left - allocation.uses[j]
    return shares


def at_random(allocation: Allocation, rng: np.random.Generator) -> FloatArray:
    """In random order, each takes any option that is left."""
    return in_turn(replace(allocation, values=rng.uniform(size=allocation.values.shape)), rng)


def favourites(allocation: Allocation, rng: np.random.Generator) -> FloatArray:  # noqa: ARG001
    """Prices of 0: each asks for what she likes best."""
    return np.eye(allocation.values.shape[1])[allocation.values.argmax(axis=1)]


def noise_on_data(allocation: Allocation, eps: float, rng: np.random.Generator) -> FloatArray:
    """Laplace noise on everybody's values, and the exact optimum of these."""
    noise = rng.laplace(scale=SLOTS / eps, size=allocation.values.shape)
    noisy = replace(allocation, values=allocation.values + noise, largest_value=1e9)
    x = privlp.solve_exact(noisy.program()).x
    return np.asarray(x).reshape(noise.shape)


RIVALS = {
    "in turn (not private)": in_turn,
    "at random": at_random,
    "prices 0, cut (not private)": favourites,
}


def rivals(allocation: Allocation, best: float, data: bool) -> dict[str, FloatArray]:
    """Means over draws of what is measured of the rivals; noise on data at eps = 1."""
    jobs: dict[str, Callable[..., FloatArray]] = dict(RIVALS)
    if data:
        jobs["noise on data, ε = 1"] = lambda a, rng: noise_on_data(a, 1.0, rng)

    def mean(job: Callable[..., FloatArray]) -> FloatArray:
        rngs = map(np.random.default_rng, SEEDS)
        found = [measured(allocation, best, job(allocation, rng)) for rng in rngs]
        return np.mean(found, axis=0)

    return {name: mean(job) for name, job in jobs.items()}


_HEADERS = (
    "n | ε | kept back | plan: lost at most | verdict | welfare | use | held"
    " | welfare, no reserve | use, no reserve"
)


def main() -> None:
    warnings.simplefilter("ignore", privlp.MostlyNoiseWarning)
    parts: list[Any] = []
    curves: dict[str, dict[str, list[float]]] = {}
    for name, (make, _) in FAMILIES.items():
        rows, others, curves[name] = [], [], {}
        sizes = PEOPLE if name in LARGEST_OF else PEOPLE[:-1]
        for n in tqdm(sizes, desc=name):
            allocation = make(n, np.random.default_rng([FIRST_SEED, n]))
            best = privlp.solve_exact(allocation.program()).objective or 0.0
            for label, found in rivals(allocation, best, n <= 1000).items():
                others.append((f"{n:,}", label, f"{found[0]:.1%}", f"{found[1]:.2f}"))
                if n == 1000:
                    curves[name][label] = [found[0]] * len(EPSILONS)
            curve = curves[name].setdefault(f"{n:,} people", [])
            for eps in EPSILONS:
                plan = allocation.plan(eps)
                kept = private(allocation, best, eps, 0.95)
                bare = private(allocation, best, eps, None)
                curve.append(float(kept[0]))
                foretold = f"{plan.lost_if_spread:.0%} / {plan.lost_if_crowded:.0%}"
                rows.append(
                    f"{n:,} | {eps:g} | {plan.share:.0%} | {foretold} | {plan.verdict.value}"
                    f" | {kept[0]:.1%} | {kept[1]:.2f} | {kept[2]:.0%} | {bare[0]:.1%}"
                    f" | {bare[1]:.2f}"
                )
        parts += [(_HEADERS, rows), ("n | rival | welfare | use", others)]
    _draw(curves)
    write_page("allocation", *parts, _added())


def _added() -> Any:
    """Half the noise, where one person is added or removed."""
    rows = []
    for n in (300, 1_000):
        base = _even(n, np.random.default_rng([FIRST_SEED, n]))
        best = privlp.solve_exact(base.program()).objective or 0.0
        allocation = replace(base, neighbours=PersonPrivate("add-remove", nominal_n=n))
        for eps in EPSILONS:
            kept = private(allocation, best, eps, 0.95)
            rows.append((f"{n:,}", f"{eps:g}", f"{kept[0]:.1%}", f"{kept[1]:.2f}"))
    return ("n (even)", "ε", "welfare", "use"), rows


def _draw(curves: dict[str, dict[str, list[float]]]) -> None:
    with picture("allocation", len(curves), sharey=True) as axes:
        for ax, (name, found) in zip(axes, curves.items(), strict=True):
            people = [label for label in found if label.endswith("people")]
            for k, label in enumerate(people):
                ax.plot(EPSILONS, found[label], marker=MARKERS[k % len(MARKERS)], label=label)
            for style, label in zip(("--", ":"), list(RIVALS)[:2], strict=True):
                if label in found:
                    ax.plot(EPSILONS, found[label], linestyle=style, color="grey", label=label)
            over_eps(ax, EPSILONS)
            ax.set(title=name, ylim=(0, 1.02))
            ax.set_ylabel("welfare / optimum")


if __name__ == "__main__":
    main()
