"""Both kinds of mirror descent, each with half of the budget, and a private choice between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.methods.base import Method, PlannedRun
from privlp.methods.descent import Descent, noise_of_one_release, requests
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.players.accelerated import AcceleratedDescent
from privlp.players.game import Game, Released
from privlp.privacy import ChargedDraws, ExponentialMechanism
from privlp.regions.simplex import Entropic, Simplex
from privlp.relations.base import NeighbourRelation
from privlp.rows.door import Rows
from privlp.rows.equal_norm import RowsOfEqualNorm
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

#: Share of the budget that chooses.
_SHARE_OF_THE_CHOICE = 0.005
_SHARES = (0.5, 0.5)


class MirrorBest(Method):
    """Mirror descent with elastic and with dense duals, and the better of the two.

    If some point of the region satisfies all rows, elastic duals are better, up to tenfold; if none
    does, dense ones are. Which of these is true is private.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* That of each descent: :class:`~privlp.methods.mirror.Mirror`. That of the choice:
    let r_j be the least integer r, negative ones included, such that candidate j's (s+1+r)-th
    largest violation is at most the other's (s+1-r)-th. It is about the number of rows that would
    have to change for candidate j to be as good as the other. A row that is replaced, added or
    removed moves every order statistic by at most one place, so a condition that holds at r holds
    at r + 1 afterwards. So each r_j changes by at most k, and so does the margin
    m = (r_1 - r_0)/2. The first candidate scores m/2, the second -m/2: these change by at most k/2
    each. Proof: ``docs/proofs.md``, "The better of two".

    *Budget.* 0.5 % of it, in squares of Gaussian parameters, for the choice (exponential
    mechanism); half of the rest for each descent.
    """

    name = "mirror-best"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def plan(self, task: Task) -> PlannedRun:
        relation = task.constraint_private(self.name)
        task.refuse(self.name, width="it needs no declared bounds")
        simplex = Simplex(task.form, task.opt)
        noise = noise_of_one_release(task)
        # eps^2/8 for a selection is 1/(2 noise^2) for a release with that noise.
        eps = 2 * math.sqrt(_SHARE_OF_THE_CHOICE) / noise if noise > 0 else math.inf
        choice = ExponentialMechanism(task.public.rows_of_one_record / 2, eps)
        noise = noise_of_one_release(task, together_with=[choice])
        noises = [noise / math.sqrt(share) for share in _SHARES]
        descents = [
            Descent.of(task, relation, simplex, own, dense=dense)
            for dense, own in zip((False, True), noises, strict=True)
        ]
        s, largest_n = int(task.density()), task.largest_n

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> BetterOfTwo:
            choose, *releases = draws
            scaled = rows.keep(partial(RowsOfEqualNorm, simplex=simplex, largest_n=largest_n))
            return BetterOfTwo(simplex, rows, scaled, s, descents, releases, choose)

        def predict() -> Prediction:
            """The smaller of both errors."""
            best = min(descents, key=lambda descent: descent.error)
            rounds = sum(descent.rounds for descent in descents)
            return replace(best.prediction(self.name, simplex, noises[0]), rounds=rounds)

        others = [(choice, 1, "choose the better of two points")]
        return PlannedRun(requests(task, descents, _SHARES, others), start, predict)


class BetterOfTwo:
    """Descents one after the other on one region, then a choice.

    Parameters
    ----------
    simplex : Simplex
        The region.
    rows : Rows of RowBlock
        Private rows.
    scaled : Rows of RowsOfEqualNorm
        The same rows in the units of the region.
    s : int
        Number of rows that may be violated.
    descents, releases : sequences of length 2
        What to run, and the charged draws of each.
    choose : ChargedDraws
        One charged draw that selects.
    """

    def __init__(
        self,
        simplex: Simplex,
        rows: Rows[RowBlock],
        scaled: Rows[RowsOfEqualNorm],
        s: int,
        descents: Sequence[Descent],
        releases: Sequence[ChargedDraws],
        choose: ChargedDraws,
    ) -> None:
        self._rows, self._s, self._choose = rows, s, choose
        self._players = [
            AcceleratedDescent(Entropic(simplex, descent.step), release)
            for release, descent in zip(releases, descents, strict=True)
        ]
        self._games: list[Game] = [
            descent.game(scaled, player)
            for descent, player in zip(descents, self._players, strict=True)
        ]
        self.rounds = sum(game.rounds for game in self._games)

    def step(self, t: int) -> None:
        """Play a round of the first descent, or of the second."""
        first, second = self._games
        (first if t < first.rounds else second).step(t)

    def released(self) -> Released:
        """The chosen point."""
        one, two = (
            self._rows.largest(RowBlock.largest_violations, 2 * self._s + 1, player.solution)
            for player in self._players
        )
        chosen = self._choose(np.array([0.5, -0.5]) * _margin(one, two, self._s))
        return replace(
            self._players[chosen].released(),
            message=f"Chose {('elastic', 'dense')[chosen]} duals of two descents",
        )


def _margin(one: FloatArray, two: FloatArray, s: int) -> float:
    """About how many rows would have to change for the second candidate to be as good as the first.

    Half of an integer; negative if the second one is better.
    """
    return (_changes_needed(two, one, s) - _changes_needed(one, two, s)) / 2


def _changes_needed(own: FloatArray, other: FloatArray, s: int) -> int:
    """The least integer r >= -s with own[s + r] <= other[s - r], largest violations first.

    Violations beyond the ends count as -inf and inf.
    """
    padding = np.full(max(0, 2 * s + 1 - len(own)), -np.inf)
    mine, theirs = (
        np.concatenate([violations, padding])[: 2 * s + 1] for violations in (own, other)
    )
    holds = np.flatnonzero(mine <= theirs[::-1])
    return int(holds[0]) - s if holds.size else s + 1
