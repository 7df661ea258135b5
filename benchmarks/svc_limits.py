"""What holds PrivateLPSVC back at small eps: stages, noise and rounds, tried one by one.

A plain copy of its training in floating point, in which each part can be changed. Its noise is
NumPy's: **not private**, for measuring alone.

Run with ``python -m benchmarks.svc_limits``; an interrupted run goes on where it stopped. A quarter
of an hour of one core.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import repeat

import click
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import KFold
from tqdm import tqdm

from benchmarks.published import store, write_page
from benchmarks.thesis import DataSet, data_set
from privlp.players.accelerated import AcceleratedDescent
from privlp.players.rounds import weights_of_rounds
from privlp.privacy import GaussianMechanism, Ledger, WeightedGaussianMechanism
from privlp.regions.l1_ball import L1Ball
from svm_models.lp_svc_charges import Rule
from svm_models.records import signed
from svm_models.records.grid import CENTRE, SOFTNESS
from svm_models.records.whitening import Coordinates

FloatArray = npt.NDArray[np.float64]

EPSILONS = (0.1, 0.2)
FOLDS, DRAWS = 10, 3
DATA = ("adult", "kdd")
#: As in :class:`~svm_models.PrivateLPSVC`.
STEP = 0.25


@dataclass(frozen=True)
class Stage:
    """A descent from the point that the stage before reached.

    Attributes
    ----------
    rounds : float
        Of those of a single descent. The budget is divided in proportion.
    step, softness : float
        In units of what a single descent has. Steps are as long as the softness lets them.
    """

    rounds: float = 1.0
    step: float = 1.0
    softness: float = 1.0


@dataclass(frozen=True)
class Noise:
    """Which noise is left in, and how many times as many rounds there are."""

    before: bool = True
    rounds: bool = True
    times: int = 1


ONE = (Stage(),)
STAGES: dict[str, tuple[Stage, ...]] = {
    "half the rounds": (Stage(0.5),),
    "twice the rounds": (Stage(2.0),),
    "twice the rounds, half steps": (Stage(2.0, step=0.5),),
    "double steps": (Stage(step=2),),
    "two stages alike": (Stage(0.5), Stage(0.5)),
    "two stages, the second with half steps": (Stage(0.5), Stage(0.5, step=0.5)),
    "two stages, the first with double steps": (Stage(0.3, step=2), Stage(0.7)),
    "two stages, the first twice as soft": (Stage(0.3, softness=2), Stage(0.7)),
    "three stages, 4 times and twice as soft, then as usual": (
        Stage(0.2, softness=4),
        Stage(0.3, softness=2),
        Stage(0.5),
    ),
    "three stages, double, usual and half steps": (
        Stage(0.2, step=2),
        Stage(0.3),
        Stage(0.5, step=0.5),
    ),
}
NOISE = {
    "no noise in the rounds": Noise(rounds=False),
    "no noise at all": Noise(before=False, rounds=False),
    "no noise at all, 4 times the rounds": Noise(before=False, rounds=False, times=4),
    "no noise at all, 16 times the rounds": Noise(before=False, rounds=False, times=16),
}
USUAL = "one descent, as `PrivateLPSVC`"
WAYS = {
    USUAL: (ONE, Noise()),
    **{name: (stages, Noise()) for name, stages in STAGES.items()},
    **{name: (ONE, noise) for name, noise in NOISE.items()},
}


class From:
    """A ball's mirror map that starts at another point of it.

    `free` is the same ball without a bound, whose map is linear.
    """

    def __init__(self, ball: L1Ball, free: L1Ball, start: FloatArray) -> None:
        self._ball, self._start, self.size = ball, start, ball.size
        columns = np.array([free.towards(unit) for unit in np.eye(self.size)]).T
        self._before = np.linalg.solve(columns, start)

    def start(self) -> FloatArray:
        """Where the stage before ended."""
        return self._start

    def towards(self, total: FloatArray) -> FloatArray:
        """The point for a total that begins with what leads to the start."""
        return self._ball.towards(self._before + total)

    def seen(self, point: FloatArray) -> FloatArray:
        """The point itself."""
        return point

    def undo(self, seen: FloatArray) -> FloatArray:
        """The point itself."""
        return seen

    def objective(self, x: FloatArray) -> None:
        """None: the ball has no costs."""


@dataclass(frozen=True)
class Charges:
    """Deviations of the noise of what is released before the rounds, and of each round."""

    moments: float
    again: float
    centre: float
    rounds: tuple[float, ...]

    @classmethod
    def of(cls, n: int, eps: float, rule: Rule, rounds: list[int]) -> Charges:
        """Those of the whole budget, where a record is replaced."""
        shares, of_moments, of_sums = rule.shares, math.sqrt(2.0), 2 * CENTRE
        all_rounds = sum(rounds)

        def once(sensitivity: float, share: float, intensity: float) -> GaussianMechanism:
            return GaussianMechanism(sensitivity, sensitivity / (intensity * math.sqrt(share)))

        def made(intensity: float) -> list[tuple[GaussianMechanism, int]]:
            sigma = of_sums / (intensity * math.sqrt(shares.rounds / all_rounds))
            return [
                (once(of_moments, shares.moments, intensity), 1),
                *([(once(of_moments, shares.again, intensity), 1)] if rule.twice else []),
                (once(of_sums, shares.centre, intensity), 1),
                *(
                    (WeightedGaussianMechanism(of_sums, sigma, weights_of_rounds(count)), count)
                    for count in rounds
                ),
            ]

        releases = made(Ledger(eps, 1 / n**2).calibrate_together(made))
        sigmas = [
            m.of_draw(t, k).sigma  # type: ignore[attr-defined]
            for m, k in releases
            for t in range(k)
        ]
        again = sigmas.pop(1) if rule.twice else math.inf
        return cls(sigmas[0], again, sigmas[1], tuple(sigmas[2:]))


class Training:
    """Signed records of norm 1 at most, (n, p), at one eps."""

    def __init__(self, M: npt.NDArray[np.float32], eps: float) -> None:
        self._M, self._eps = M, eps
        self._transposed = np.ascontiguousarray(M.T)
        n, p = M.shape
        once = Ledger(eps, 1 / n**2).calibrate(lambda t: GaussianMechanism(2.0, 2.0 / t), 1)
        self._rule = Rule.of(n, p, once.sigma)

    def weights(
        self, stages: tuple[Stage, ...], noise: Noise, rng: np.random.Generator
    ) -> FloatArray:
        """The weights w at the end of the last stage, (p,)."""
        n, p = self._M.shape
        rule, usual = self._rule, [max(1, math.ceil(s.rounds * self._rule.rounds)) for s in stages]
        charges = Charges.of(n, self._eps, rule, usual)
        before = 1.0 if noise.before else 0.0
        coordinates = self._coordinates(charges, before, rng)
        whiten = coordinates.whiten
        short = self._short(whiten)
        half = whiten @ self._sum(short / 2) + before * rng.normal(0.0, charges.centre, p)
        separation = coordinates.separation(half, before * charges.centre, n) if rule.steered else 0

        sigmas = iter(charges.rounds) if noise.rounds else repeat(0.0)
        w = np.zeros(p)
        for stage, rounds in zip(stages, usual, strict=True):
            size = stage.step * stage.softness * 2 * SOFTNESS * coordinates.reach**2 / n
            ball, free = (
                coordinates.ball(STEP * size, radius, separation)
                for radius in (rule.radius, math.inf)
            )
            player = AcceleratedDescent(
                From(ball, free, w),
                lambda scores: scores + rng.normal(0.0, next(sigmas), p),  # type: ignore[arg-type]
                costs=-half,
            )
            for _ in range(rounds * noise.times):
                z = (1 + SOFTNESS - self._M @ player.point.astype(np.float32)) / (
                    2 * SOFTNESS * stage.softness
                )
                player.respond(whiten @ self._sum((np.clip(z, 0, 1) - CENTRE) * short))
            w = player.solution
        return w

    def _coordinates(
        self, charges: Charges, before: float, rng: np.random.Generator
    ) -> Coordinates:
        """The coordinates that released second moments give."""
        p = self._M.shape[1]
        moments = self._moments(self._M, before * charges.moments, rng)
        found = Coordinates(np.eye(p), moments, self._rule.ridge)
        if not self._rule.twice:
            return found
        first = found.whiten
        short = (self._M @ first) * self._short(first)[:, None]
        return Coordinates(
            first, self._moments(short, before * charges.again, rng), self._rule.ridge
        )

    @staticmethod
    def _moments(records: FloatArray, sigma: float, rng: np.random.Generator) -> FloatArray:
        """Mean second moments of records, with noise."""
        n, p = records.shape
        noise = rng.normal(0.0, sigma, (p, p))
        upper = np.triu(noise, 1) / math.sqrt(2)
        symmetric = upper + upper.T + np.diag(np.diag(noise))
        return np.asarray((records.T @ records + symmetric) / n, dtype=float)

    def _short(self, whiten: FloatArray) -> FloatArray:
        """min(1, 1/||W m||) of each record."""
        norms = np.linalg.norm(self._M @ whiten.astype(np.float32), axis=1)
        return np.asarray(1 / np.maximum(norms, 1.0), dtype=float)

    def _sum(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self._transposed @ weights.astype(np.float32), dtype=float)


def errors(data: DataSet) -> dict[tuple[str, float], FloatArray]:
    """Test errors of each way and eps, one for each fold."""
    finished = store("svc_limits")
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    found: dict[tuple[str, float], list[float]] = {}
    splits = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    for fold, (train, test) in enumerate(tqdm(splits, desc=data.title, unit="fold")):
        M = signed(X[train], np.sign(data.y[train])).astype(np.float32)
        for eps in EPSILONS:
            training = Training(M, eps)
            for name, (stages, noise) in WAYS.items():
                settings = {
                    "data": data.name,
                    "fold": fold,
                    "eps": eps,
                    "stages": [asdict(stage) for stage in stages],
                    **asdict(noise),
                }
                if settings not in finished:
                    draws = DRAWS if noise.before or noise.rounds else 1
                    rngs = [np.random.default_rng([fold, draw]) for draw in range(draws)]
                    w = np.array([training.weights(stages, noise, rng) for rng in rngs]).T
                    wrong = (X[test] @ w > 0) != (data.y[test] > 0)[:, None]
                    finished.add(settings, float(np.mean(wrong)))
                found.setdefault((name, eps), []).append(finished[settings])
    return {key: np.array(values) for key, values in found.items()}


def table(found: dict[tuple[str, float], FloatArray]) -> tuple[list[str], list[list[str]]]:
    """The usual way's errors; of the others how much they err more, paired over folds."""
    rows = [
        [
            USUAL,
            *(said(found[USUAL, eps], "{:.4f} ± {:.4f}") for eps in EPSILONS),
        ]
    ]
    for name in list(WAYS)[1:]:
        more = (1e4 * (found[name, eps] - found[USUAL, eps]) for eps in EPSILONS)
        rows.append([name, *(said(values, "{:+.1f} ± {:.1f}") for values in more)])
    return ["way", *(f"eps = {eps:g}" for eps in EPSILONS)], rows


def said(values: FloatArray, words: str) -> str:
    """Mean and standard error."""
    return words.format(values.mean(), values.std(ddof=1) / math.sqrt(len(values)))


SETTINGS = (
    f"Test error over {FOLDS} folds, {DRAWS} draws each, mean ± standard error; one record"
    " replaced, delta = 1/n². The first line is `PrivateLPSVC` as it is, here in floating point:"
    " its error. All other lines: how much more it errs that way, in units of 0.0001, paired over"
    " folds, with the same seeds; negative: less. Stages divide the rounds, and what the budget"
    " leaves for them, in proportion; each starts where the one before ended. Without noise nothing"
    " is private."
)


@click.command()
def main() -> None:
    """Measure, and write the page."""
    parts: list[str | tuple[list[str], list[list[str]]]] = [SETTINGS]
    for name in DATA:
        data = data_set(name)
        parts += [f"## {data.title}", table(errors(data))]
    write_page("svc_limits", "What holds PrivateLPSVC back at small eps", parts)


if __name__ == "__main__":
    main()
