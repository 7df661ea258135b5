"""Dense multiplicative weights over the private rows, against privately selected vertices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.errors import InvalidParameterError
from privlp.game.dense import DenseDual
from privlp.game.loop import Game, SelectionPlayer, as_rounds
from privlp.methods.base import Method, PlannedRun
from privlp.methods.descent import grid_of
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws, ExponentialMechanism
from privlp.regions.simplex import Simplex, is_range
from privlp.relations.base import NeighbourRelation
from privlp.rows.access import Rows
from privlp.rows.on_simplex import RowsOnSimplex

# Values of a row of equal range span 2 on K; a violation, right-hand side included, is between -2
# and 2.
_DIAMETER = 2.0
_WIDTH = 2.0
# Assumed spread of the violations of one vertex over dual-weighted rows: see below, *Step*.
_SPREAD = 0.2
_MOST_DEFAULT_ROUNDS = 2_000
# For predictions only, measured on the programs of docs/results/covering.md: the violation over the
# square of its bound, in units of half the span of a row's values; and this half span over the
# Euclidean norm of the values.
_TYPICAL_SHARE = 0.065
_HALF_SPAN_OF_A_ROW = 0.33
#: What the ledger calls the draws.
PURPOSE = "select a vertex each round"


class DenseMultiplicativeWeights(Method):
    """Dense multiplicative weights with tight sensitivity and accounting.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Rows are shifted and scaled to span [-1, 1] on K (:mod:`privlp.rows.on_simplex`),
    each by numbers that depend on that row alone. So every possible row vector g has max_j g_j -
    min_j g_j <= 2, and any two differ by at most W = 2 in the sup norm. Each score is a dense
    average of such vectors, and changes by at most min(1, k/s)·2 between neighbours
    (:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity`). Sums are exact: rows
    and weights stand on public grids (:mod:`privlp.rows.grid`, :mod:`privlp.game.dense`), and
    nothing is added for rounding. Right-hand sides never enter a score. Proof: ``docs/proofs.md``,
    "Dense multiplicative weights" and "Exact sums".

    *Budget.* T draws of the exponential mechanism at the largest eps' of which T fit into (eps,
    delta).

    *Rounds.* With L = ln(n/s), T rounds leave a regret of at most 4·sqrt(L/(2T)) and a selection
    error of at most (2·sensitivity/eps')·ln d each. With alpha (violation per unit of ||A_i||_2,
    at most the radius of K times the violation in units of the row's span), T makes the regret
    alpha. Otherwise T minimises the sum of the selection error and half the regret, about the
    regret seen in trials.

    *Step.* sqrt(2L/T)/spread per unit of violation is the best step if the violations of a vertex
    have standard deviation `spread` over the dual-weighted rows. Two, the most possible, gives the
    worst-case step of the analysis. The value used is 0.2, which was near the best for covering,
    packing, game and classification programs (``benchmarks/step.py``). The privacy argument does
    not depend on the step.
    """

    name = "dmw"
    #: Largest distance between the score vectors of two rows.
    diameter = _DIAMETER

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        return task.lp.penalty is None and task.opt is not None and not is_range(task.opt)

    def plan(self, task: Task) -> PlannedRun:
        relation = task.constraint_private(self.name)
        if task.width is not None:
            raise InvalidParameterError(
                "width has no use with method='dmw', which needs no declared bounds; leave it out.",
                parameter="width",
            )
        s, alpha, n = task.density(), task.accuracy(), task.n
        simplex = Simplex(task.form, task.opt)
        sensitivity = relation.dense_average_sensitivity(
            self.diameter, s, task.public.rows_of_one_record
        )
        grid = grid_of(task)
        log_ratio = math.log(n / s)
        if alpha is not None:
            rounds = as_rounds(2 * _WIDTH**2 * log_ratio, simplex.radius / alpha, alpha)
        else:
            rounds = _best_rounds(task, log_ratio, sensitivity * math.log(simplex.size))
        mechanism = task.ledger.calibrate(
            lambda eps: ExponentialMechanism(sensitivity, eps), rounds
        )

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            step = math.sqrt(2 * log_ratio / rounds) / _SPREAD
            scaled = partial(self.scaled, simplex, largest_n=task.largest_n)
            dual = DenseDual(rows.keep(scaled), s, step, grid)
            return Game(dual, SelectionPlayer(simplex, *draws), rounds=rounds)

        def predict() -> Prediction:
            """A share of the square of the bound, as seen in trials."""
            regret = _WIDTH * math.sqrt(log_ratio / (2 * rounds))
            bound = (
                regret + 2 * mechanism.sensitivity * math.log(max(2, simplex.size)) / mechanism.eps
            )
            violation = _TYPICAL_SHARE * bound**2 * _HALF_SPAN_OF_A_ROW * simplex.typical_norm
            yardstick = simplex.typical_norm / math.sqrt(simplex.size)
            return Prediction(
                self.name, violation, 0.0, rounds, 2 / mechanism.eps, yardstick=yardstick
            )

        return PlannedRun([(mechanism, rounds, PURPOSE)], start, predict)

    def scaled(self, simplex: Simplex, block: Any, largest_n: int = 0) -> Any:
        """A block of rows, scaled for the duals and the scores."""
        return RowsOnSimplex.of_equal_range(simplex, block, largest_n=largest_n)


def _best_rounds(task: Task, log_ratio: float, selection_factor: float) -> int:
    """The T that minimises 2 sqrt(L/(2T)) + 2 selection_factor / eps'(T)."""
    rounds = np.unique(np.geomspace(1, _MOST_DEFAULT_ROUNDS, 400).astype(int))
    probe = task.ledger.calibrate(lambda eps: ExponentialMechanism(1.0, eps), _MOST_DEFAULT_ROUNDS)
    eps_at_most_rounds = probe.pure_eps
    # T draws of eps' each cost T eps' when composed purely, and T eps'^2 / 8 otherwise.
    power = 1.0 if task.ledger.delta == 0 else 0.5
    eps_per_round = eps_at_most_rounds * (_MOST_DEFAULT_ROUNDS / rounds) ** power
    error = _WIDTH * np.sqrt(log_ratio / (2 * rounds)) + 2 * selection_factor / eps_per_round
    return int(rounds[np.argmin(error)])
