"""Other ways to a private answer, as baselines of ``benchmarks.rivals`` alone.

Neighbours differ in one row. Each rival is priced by the package's ledger at the whole (eps,
delta), and is told what it would have to buy or to know: see RIVALS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.checks import FloatArray
from privlp.privacy import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Ledger,
    Mechanism,
    Randomness,
)

_GRID, _SWEEPS, _LEVELS = 201, 10, 5


@dataclass(frozen=True)
class Told:
    """A program, its optimum, and ranges of its variables; `kind` says which side is safe."""

    lp: LinearProgram
    optimum: float
    low: FloatArray
    high: FloatArray
    kind: str

    @cached_property
    def rows(self) -> FloatArray:
        """All rows, dense: ``A x <= b``."""
        return self.lp.A.toarray() if sp.issparse(self.lp.A) else np.asarray(self.lp.A, dtype=float)

    @cached_property
    def _answers(self) -> dict[tuple[int, float], FloatArray]:
        return {}

    def answers(self, blocks: int, safety: float) -> FloatArray:
        """Exact optima of the rows in so many random blocks, (blocks, d)."""
        inside = safety if self.kind == "around" else 0.0
        if (blocks, inside) not in self._answers:
            rows = np.random.default_rng(blocks).permutation(len(self.lp.b))
            c = -self.lp.c if self.lp.sense == "max" else self.lp.c
            b = self.lp.b - inside * np.linalg.norm(self.rows, axis=1)
            self._answers[blocks, inside] = np.array(
                [
                    linprog(c, self.rows[of], b[of], bounds=self.lp.bounds).x
                    for of in np.array_split(rows, blocks)
                ]
            )
        return self._answers[blocks, inside]

    def safer(self, x: FloatArray, safety: float) -> FloatArray:
        """A point farther on the safe side, within the public bounds."""
        factor = {"cover": 1 + safety, "pack": 1 / (1 + safety), "around": 1.0}[self.kind]
        return np.clip(factor * x, *self.lp.bounds.T)

    def at_cost(self, safety: float) -> float:
        """The optimum, and a share or an amount on the safe side of it."""
        if self.kind == "around":
            return self.optimum + safety
        return self.optimum * (1 + safety) ** (1 if self.kind == "cover" else -1)

    def cost_of_level(self, level: float) -> float:
        """A cost within the ranges: 1 is easy to meet."""
        if self.kind == "around":
            return float(abs(self.lp.c) @ self.high) * (2 * level - 1)
        return float(self.lp.c @ self.high) * 2 ** (
            8 * (level - 1 if self.kind == "cover" else -level)
        )


def paid(
    make: Callable[[float], Mechanism], count: int, eps: float, delta: float, seed: int
) -> Callable[[npt.ArrayLike], FloatArray]:
    """The right to so many draws, which cost (eps, delta) together."""
    ledger = Ledger(eps, delta)
    mechanism = ledger.calibrate(make, count)
    return ledger.charge(mechanism, count, "a rival", ConstraintPrivate(), Randomness(seed))


def gaussian(sensitivity: float, intensity: float) -> GaussianMechanism:
    """Gaussian noise, for a ledger to calibrate."""
    return GaussianMechanism(sensitivity, sensitivity / intensity)


def mean_of_blocks(
    told: Told, eps: float, delta: float, seed: int, blocks: int, safety: float
) -> FloatArray:
    """Subsample and aggregate (Nissim, Raskhodnikova and Smith 2007): a clipped mean.

    A record is in one block, whose answer moves within the ranges: in units of these, the mean
    moves by sqrt(d)/blocks in L2. One block: noise on the exact solution.
    """
    width = told.high - told.low
    shares = np.clip((told.answers(blocks, safety) - told.low) / width, 0, 1)
    make = partial(gaussian, np.sqrt(len(width)) / blocks)
    noisy = paid(make, 1, eps, delta, seed)(shares.mean(axis=0))
    return told.safer(told.low + width * np.clip(noisy, 0, 1), safety)


def median_of_blocks(
    told: Told, eps: float, delta: float, seed: int, blocks: int, safety: float
) -> FloatArray:
    """The same with a median of each coordinate by the exponential mechanism, on a grid.

    A score is how far from half of the blocks lie below; one record changes it by 1.
    """
    width = told.high - told.low
    shares, grid = (told.answers(blocks, safety) - told.low) / width, np.linspace(0, 1, _GRID)
    draw = paid(partial(ExponentialMechanism, 1.0), len(width), eps, delta, seed)
    chosen = [
        grid[int(draw(-abs((of[:, None] <= grid).sum(axis=0) - blocks / 2)))] for of in shares.T
    ]
    return told.safer(told.low + width * np.array(chosen), safety)


def perceptron(
    told: Told, eps: float, delta: float, seed: int, rounds: int, safety: float
) -> FloatArray:
    """A private perceptron that looks for a point of nearly the optimal cost, which it is told.

    Rows and cost are homogeneous in (z, t), x = z/t in units of the ranges, and rows have norm 1.
    A round releases the sum of the rows that are violated and their number, which one record moves
    by 2 in L2; the point goes along their mean. Of all points, the one with the least noisy number
    is the answer. Bounds and the cost are public: the point is projected onto them. This is the
    step that Ene, Nguyen, Nguyen and Vladu (2025) privatise, without their rescaling of space.
    """
    release = paid(partial(gaussian, 2.0), rounds, eps, delta, seed)
    return _Perceptron(told).look(told.at_cost(safety), rounds, release)[0]


def perceptron_search(
    told: Told, eps: float, delta: float, seed: int, rounds: int, share: float
) -> FloatArray:
    """The same, not told the optimum: a bisection of the costs within the ranges.

    A cost will do if a point misses, by its noisy number, at most this share of n/20 rows.
    """
    release = paid(partial(gaussian, 2.0), rounds * _LEVELS, eps, delta, seed)
    player, low, high = _Perceptron(told), 0.0, 1.0
    found = told.low * 0
    for _ in range(_LEVELS):
        level = (low + high) / 2
        x, fewest = player.look(told.cost_of_level(level), rounds, release)
        if fewest <= share * len(told.lp.b) / 20:
            high, found = level, x
        else:
            low = level
            found = x if high == 1.0 else found
    return found


class _Perceptron:
    """The point (z, t), which moves from one cost to the next."""

    def __init__(self, told: Told) -> None:
        self.told, self.scale = told, np.maximum(abs(told.low), abs(told.high))
        self.rows = _unit(np.column_stack([-told.rows * self.scale, told.lp.b]))
        self.bounds = told.lp.bounds.T / self.scale
        self.u = np.append(np.zeros(len(self.scale)), 1.0)

    def look(
        self, at_cost: float, rounds: int, release: Callable[[npt.ArrayLike], FloatArray]
    ) -> tuple[FloatArray, float]:
        """The point that seems to miss the fewest rows at this cost, and how many it seems."""
        sign = 1 if self.told.lp.sense == "max" else -1
        cost = _unit(sign * np.append(self.told.lp.c * self.scale, -at_cost)[None])[0]
        best, fewest = np.zeros(len(self.scale)), np.inf
        for _ in range(rounds):
            u = self._public(self.u, cost)
            violated = self.rows @ u < 0
            noisy = release(np.append(violated @ self.rows, violated.sum()))
            if noisy[-1] < fewest:
                best, fewest = u[:-1] / u[-1], float(noisy[-1])
            self.u = u / np.linalg.norm(u) + noisy[:-1] / max(noisy[-1], 0.02 * len(self.rows))
        return np.clip(best * self.scale, *self.told.lp.bounds.T), fewest

    def _public(self, u: FloatArray, cost: FloatArray) -> FloatArray:
        """Nearly the projection onto bounds and cost."""
        u = u.copy()
        for _ in range(_SWEEPS):
            u += max(0.0, -float(cost @ u)) * cost
            u[-1] = max(u[-1], 1e-3)
            u[:-1] = np.clip(u[:-1], *(self.bounds * u[-1]))
        return u


def _unit(rows: FloatArray) -> FloatArray:
    size = np.linalg.norm(rows, axis=1)
    return np.asarray(rows / np.where(size > 0, size, 1)[:, None])


def multiplicative_weights(
    told: Told, eps: float, delta: float, seed: int, _: int, safety: float
) -> FloatArray:
    """Hsu et al. (2014) as this package has it, told the optimum."""
    s, opt = len(told.lp.b) // 20, told.at_cost(safety)
    found = privlp.solve(told.lp, eps, delta, s, opt=opt, method="dmw", rng=seed)
    return found.x


def histogram(told: Told, eps: float, delta: float, seed: int, _: int, __: float) -> FloatArray:
    """Buy what most rows ask for, where each asks for one unit of one thing: half of them all.

    A row moves from one count to another: 2 in L1.
    """
    counts = (told.rows < 0).sum(axis=0)
    noisy = paid(partial(LaplaceMechanism.of_eps, 2.0), 1, eps, delta, seed)(counts)
    x = np.zeros(len(counts))
    x[np.argsort(-noisy)[: len(counts) // 2]] = 1.0
    return x


def piecewise_laplace(
    told: Told, eps: float, delta: float, seed: int, _: int, share: float
) -> FloatArray:
    """A private quantile of the needs of one product, after Durfee (2025).

    Density falls by exp(-eps/2) from one need to the next, and exponentially in between: the
    exponential mechanism, on a fine grid, for the number of records that would have to change until
    a point is the quantile, made continuous. One record changes it by 1. (Of the paper only the
    abstract was at hand.)
    """
    need = np.sort(np.clip(told.lp.b / told.rows[:, 0], told.low, told.high))
    ranks = np.append(np.arange(len(need)), len(need))
    grid = np.linspace(told.low[0], told.high[0], 20 * _GRID)
    distance = abs(
        np.interp(grid, np.append(need, told.high), ranks) - (1 - share / 20) * len(need)
    )
    draw = paid(partial(ExponentialMechanism, 1.0), 1, eps, delta, seed)
    return grid[[int(draw(-distance))]]


Rival = Callable[[Told, float, float, int, int, float], FloatArray]
_BLOCKS, _ROUNDS = (5, 10, 20, 40, 80), (20, 60)
_SCALED, _INSIDE = (-0.3, -0.2, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0), (0, 0.25, 0.5, 0.75, 0.95)
_SAFETY = {"cover": _SCALED, "pack": _SCALED, "around": _INSIDE}
#: Each rival; the numbers of blocks or of rounds, and the safeties, that it is tuned among.
RIVALS: dict[str, tuple[Rival, tuple[int, ...], dict[str, tuple[float, ...]]]] = {
    "mean of blocks": (mean_of_blocks, _BLOCKS, _SAFETY),
    "median of blocks": (median_of_blocks, _BLOCKS, _SAFETY),
    "output noise": (mean_of_blocks, (1,), _SAFETY),
    "perceptron": (perceptron_search, (4, 12, 36), dict.fromkeys(_SAFETY, (0.25, 0.5, 1.0, 2.0))),
    "perceptron, told": (perceptron, _ROUNDS, _SAFETY),
    "weights, told": (multiplicative_weights, (0,), {"cover": _SCALED}),
    "histogram, told": (histogram, (0,), {"cover": (0.0,)}),
    "piecewise Laplace": (piecewise_laplace, (0,), {"cover": (0.25, 0.5, 0.75, 0.9)}),
}


def settings(rival: str, told: Told) -> list[tuple[int, float]]:
    """What a rival is tuned among: blocks or rounds, and safety; nothing where it is no answer."""
    _, numbers, safeties = RIVALS[rival]
    variables = told.rows.shape[1]
    one_each = variables > 1 and ((told.rows != 0).sum(axis=1) <= 1).all()
    asked = {
        "histogram, told": one_each,
        "piecewise Laplace": variables == 1,
        "weights, told": variables > 1,  # of one variable they are told the answer
    }
    if not asked.get(rival, True):
        return []
    return list(product(numbers, safeties.get(told.kind, ())))
