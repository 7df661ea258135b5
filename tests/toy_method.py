"""A method of one's own in one file: its player, what it plans and how it starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.game.duals import DenseDual
from privlp.game.loop import Game, Released
from privlp.methods import Method, PlannedRun, SolveRequest
from privlp.privacy import GaussianMechanism
from privlp.privacy.ledger import ChargedDraws
from privlp.regions.simplex import Simplex
from privlp.relations import NeighbourRelation
from privlp.rows.access import Rows
from privlp.rows.on_simplex import RowsOfEqualNorm

_ROUNDS = 30
_STEP = 0.5


class NoisyVertices:
    """A player that releases all scores with noise, and goes to the best vertex."""

    def __init__(self, simplex: Simplex, release: ChargedDraws) -> None:
        self._simplex, self._release = simplex, release
        self._seen: list[np.ndarray] = []

    def respond(self, scores: np.ndarray) -> np.ndarray:
        """The vertex of the largest noisy score."""
        best = int(np.argmax(self._release(scores)))
        self._seen.append(self._simplex.point(np.eye(self._simplex.size)[best]))
        return self._seen[-1]

    def released(self) -> Released:
        """The mean of all vertices."""
        form = self._simplex.form
        x = form.undo(np.mean(self._seen, axis=0))
        return Released(x, form.lp.objective(x), {"vertices": np.array(self._seen)})


class NoisyWeights(Method):
    """Dense multiplicative weights against noisy scores.

    Each score vector is a dense average of vectors of norm at most 1, so replacing a record of k
    rows moves it by at most 2 min(1, k/s) in L2. `share` below 1 makes the twin that
    charges for less.
    """

    name = "noisy-weights"

    def __init__(self, share: float = 1.0) -> None:
        self._share = share

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def plan(self, task: SolveRequest) -> PlannedRun:
        relation = task.constraint_private(self.name)
        simplex, s = Simplex(task.form, task.opt), task.density()
        sensitivity = relation.dense_average_sensitivity(2.0, s, task.public.rows_of_one_record)
        sensitivity *= self._share
        mechanism = task.ledger.calibrate(
            lambda t: GaussianMechanism(sensitivity, sensitivity / t), _ROUNDS
        )

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            scaled = rows.keep(partial(RowsOfEqualNorm, simplex=simplex, largest_n=task.largest_n))
            player = NoisyVertices(simplex, *draws)
            return Game(DenseDual(scaled, s, _STEP), player, rounds=_ROUNDS)

        return PlannedRun([(mechanism, _ROUNDS, "release scores each round")], start)
