"""Rounds, step and smoothing of a descent, fixed from public numbers before anything is charged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privlp.duals.base import Dual, WeighedRows
from privlp.duals.dense import SmoothedWorstRows
from privlp.duals.elastic import ElasticDual, Finish
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.methods.base import ChargeRequest
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.players.game import Game, PointPlayer
from privlp.players.rounds import as_rounds, weights_of_rounds
from privlp.privacy import GaussianMechanism, Mechanism, WeightedGaussianMechanism
from privlp.regions.mirror_map import Region
from privlp.relations.constraint_private import ConstraintPrivate
from privlp.rows.door import Rows
from privlp.rows.grid import Grid

_FEWEST_ROUNDS, _MOST_DEFAULT_ROUNDS = 10, 2_000
# The next three were chosen by trial on covering, packing, game and classification programs
# (benchmarks/family.py).
_SOFTNESS = 4.0
_DENSITY = 1.75
_LARGEST_SHARE = 1 / 3
_LARGEST_SOFTNESS = 64.0
_TINY = 1e-300


@dataclass(frozen=True)
class Descent:
    """One run of mirror descent; every number is public.

    *Noise.* Round t of an accelerated descent counts w_t = (t + 2)/2. Its noise has a variance in
    proportion to 1/w_t: of all noise of the same price this does the least harm. Let sigma_1 be the
    noise of a single release at the whole budget. To first order, and in expectation, the noise of
    all rounds together leaves an error of F = sigma_1 sqrt(2 ln d) in the sum of violations. This
    holds for any number of rounds, but more rounds than needed add to it.

    *Error.* Elastic duals spread it over all rows: E = F/n for each row. Dense duals put it on M
    rows, E = F/M, and ignore all others: where not all rows can be satisfied, they come nearer to
    what s asks for. M = 1.75 sqrt(n F sqrt d), between s and n/3, balances E against the distance
    between the mean of the M worst violations and the s-th one, taken to grow as M/(n sqrt d).

    *Softness and step.* The weight of a row rises over violations up to 4 E (elastic), or with the
    temperature E (dense). The step is 2 d softness/n or, for a mean, d softness. This is the
    inverse curvature if half of the rows are soft and their squared entries are spread evenly over
    the variables.

    *Rounds.* T makes the error of the optimisation about E. If that takes more than 2,000 rounds
    (300 with HiGHS), E is the error that these reach. There are at least 10 rounds. With alpha
    (violation per unit of ||A_i||_2), softness and T are such that more than s rows violated by
    more than alpha would cost more than the error of the optimisation.

    Attributes
    ----------
    sensitivity : float
        L2 sensitivity of one release.
    rounds : int
        T.
    error : float
        E: predicted violation, in units of scaled rows, if some point of the region satisfies all
        rows.
    softness : float
        Violation of a scaled row over which its weight rises.
    step : float
        Step per unit of what is released.
    density : float or None
        M; ``None`` for elastic duals.
    grid : Grid
        On which rows stand.
    """

    sensitivity: float
    rounds: int
    error: float
    softness: float
    step: float
    density: float | None
    grid: Grid

    @classmethod
    def of(
        cls,
        task: Task,
        relation: ConstraintPrivate,
        region: Region,
        noise: float,
        *,
        dense: bool = False,
        most_rounds: int = _MOST_DEFAULT_ROUNDS,
    ) -> Descent:
        """Plan a descent on a region.

        Parameters
        ----------
        task, relation
            The request.
        region : Region
            Where to descend.
        noise : float
            Deviation of a single release at the whole budget, per unit of sensitivity.
        dense : bool
            Whether duals are dense.
        most_rounds : int
            Largest number of rounds without alpha.
        """
        s, alpha, n = task.density(), task.accuracy(), task.n
        k, size = task.public.rows_of_one_record, region.size
        log_d = math.log(max(2, size))
        total = relation.sum_sensitivity(1.0, k) * noise * math.sqrt(2 * log_d)
        rows = float(n)
        sensitivity = relation.sum_sensitivity(1.0, k)
        if dense:
            rows = max(
                s, min(_DENSITY * math.sqrt(n * total * math.sqrt(size)), _LARGEST_SHARE * n)
            )
            sensitivity = relation.dense_average_sensitivity(2.0, rows, k)
        width = 1.0 if dense else _SOFTNESS
        # The error of T rounds is reach/T, if the weights of rows rise over `width` of it.
        reach = math.sqrt(2 * log_d / (size * width))
        error = max(total / rows, reach / most_rounds)
        softness, rounds = width * error, max(math.ceil(reach / error), _FEWEST_ROUNDS)
        if alpha is not None:
            softness = min(alpha / region.longest, _LARGEST_SOFTNESS)
            accuracy = softness if dense else s * softness / (2 * n)
            rounds = max(
                _FEWEST_ROUNDS,
                as_rounds(
                    math.sqrt(2 * log_d / size), max(softness * accuracy, _TINY) ** -0.25, alpha
                ),
            )
        step = size * softness * (1.0 if dense else 2 / n)
        density = rows if dense else None
        return cls(sensitivity, rounds, error, softness, step, density, grid_of(task))

    def mechanism(self, intensity: float) -> WeightedGaussianMechanism:
        """Noise of the rounds such that all of them together are intensity-Gaussian-DP."""
        sigma = self.sensitivity * math.sqrt(self.rounds) / intensity
        return WeightedGaussianMechanism(self.sensitivity, sigma, weights_of_rounds(self.rounds))

    def prediction(
        self, method: str, region: Region, noise: float, objective_loss: float | None = 0.0
    ) -> Prediction:
        """The error in units of alpha, and the average noise of a round."""
        power = 1.0 if self.density is None else 0.5
        per_round = noise * math.sqrt(self.rounds)
        return Prediction(
            method,
            self.error * region.typical_norm,
            objective_loss,
            self.rounds,
            per_round,
            power,
            yardstick=region.typical_norm / math.sqrt(region.size),
        )

    @property
    def purpose(self) -> str:
        """The purpose of its draws, in the words of the ledger."""
        return (
            f"release the {'sum' if self.density is None else 'weighted mean'} of violated rows"
            " each round"
        )

    def game(
        self, rows: Rows[WeighedRows], player: PointPlayer, *, finish: Finish | None = None
    ) -> Game:
        """The game of elastic or dense duals against a player."""
        dual: Dual
        if self.density is None:
            dual = ElasticDual(rows, player.point, self.softness, finish=finish)
        else:
            dual = SmoothedWorstRows(rows, player.point, self.density, self.softness, self.grid)
        return Game(dual, player, rounds=self.rounds)


def grid_of(task: Task) -> Grid:
    """The grid on which sums over the rows are exact.

    Raises
    ------
    UnsupportedProblemError
        If there are too many rows for any grid.
    """
    try:
        return Grid.of(task.largest_n)
    except OverflowError as error:
        raise UnsupportedProblemError(str(error)) from None


def noise_of_one_release(task: Task, together_with: Sequence[Mechanism] = ()) -> float:
    """Deviation, per unit of sensitivity, of a single Gaussian release at the whole budget.

    Other mechanisms may be charged together with it.

    Raises
    ------
    InvalidParameterError
        If delta is zero.
    UnsupportedProblemError
        If sums over so many rows would not be exact.
    """
    grid_of(task)
    if task.ledger.delta == 0 and math.isfinite(task.ledger.eps):
        raise InvalidParameterError(
            "delta must be positive with this method, whose noise is Gaussian; or use"
            " method='dmw'.",
            parameter="delta",
        )
    return task.ledger.calibrate(
        lambda intensity: GaussianMechanism(1.0, 1 / intensity), 1, together_with=together_with
    ).sigma


def requests(
    task: Task,
    descents: Sequence[Descent],
    shares: Sequence[float],
    others: Sequence[ChargeRequest] = (),
) -> list[ChargeRequest]:
    """The charges of several descents, after those of others.

    Each descent takes its share of what the other charges leave of the budget.
    """

    def make(intensity: float) -> list[tuple[Mechanism, int]]:
        own = [
            (descent.mechanism(intensity * math.sqrt(share)), descent.rounds)
            for descent, share in zip(descents, shares, strict=True)
        ]
        return [*((mechanism, count) for mechanism, count, _ in others), *own]

    mechanisms = make(task.ledger.calibrate_together(make))
    purposes = [*(purpose for _, _, purpose in others), *(descent.purpose for descent in descents)]
    return [(m, count, purpose) for (m, count), purpose in zip(mechanisms, purposes, strict=True)]
