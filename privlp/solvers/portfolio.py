"""Both kinds of mirror descent at half of the budget each, and a private choice between what they found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from privlp.privacy import ChargedDraws, ExponentialMechanism
from privlp.solvers.descent import Descent, noise_of_one_release, pay
from privlp.solvers.equal_norm import RowsOfEqualNorm
from privlp.solvers.game import Game, MirrorPlayer, Released
from privlp.solvers.prediction import Prediction
from privlp.solvers.simplex import Simplex
from privlp.solvers.task import Task

FloatArray = npt.NDArray[np.float64]

METHOD = "mirror-best"
#: Share of the budget that chooses.
_SHARE_OF_THE_CHOICE = 0.005
_SHARES = (0.5, 0.5)


def mirror_best(task: Task) -> Portfolio:
    """Mirror descent with elastic and with dense duals, and the better of the two.

    Elastic duals win, up to tenfold, if some point of the region satisfies all rows; dense ones if
    none does; and which it is, is private.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* Of each descent: :func:`~privlp.solvers.mirror.mirror`. Let r_j be the least
    integer r, negative ones included, such that candidate j's (s+1+r)-th largest violation is at
    most the other's (s+1-r)-th: about the number of rows that would have to change for it to be as
    good as the other. A row that is replaced, added or removed moves every order statistic by at
    most one place, so a condition that holds at r holds at r + 1 afterwards: each r_j changes by at
    most k, and so does the margin m = (r_1 - r_0)/2. The first candidate scores m/2, the second
    -m/2: these change by at most k/2 each. Proof: ``docs/proofs.md``, "The better of two".

    *Budget.* 0.5 % of it, in squares of Gaussian parameters, for the choice (exponential
    mechanism); half of the rest for each descent.
    """
    simplex, descents, choice, _ = _plan(task)
    choose, *releases = pay(
        task, descents, _SHARES, beside=[(choice, 1, "choose the better of two points")]
    )
    return Portfolio(simplex, task.density(), descents, releases, choose)


def predict_mirror_best(task: Task) -> Prediction:
    """What :func:`mirror_best` is expected to leave: the lesser of both errors."""
    simplex, descents, _, noise = _plan(task)
    best = min(descents, key=lambda descent: descent.error)
    rounds = sum(descent.rounds for descent in descents)
    return replace(best.prediction(METHOD, simplex, noise), rounds=rounds)


def _plan(task: Task) -> tuple[Simplex, list[Descent], ExponentialMechanism, float]:
    """The region, both descents, the choice, and the noise of a single release at the budget of one of them."""
    relation = task.constraint_private(METHOD)
    task.refuse(METHOD, width="it needs no declared bounds")
    simplex = Simplex(task.form, task.opt)
    noise = noise_of_one_release(task)
    # eps^2/8 for a selection is 1/(2 noise^2) for a release with that noise.
    eps = 2 * math.sqrt(_SHARE_OF_THE_CHOICE) / noise if noise > 0 else math.inf
    choice = ExponentialMechanism(relation.rows_of_one_record(task.lp) / 2, eps)
    noise = noise_of_one_release(task, beside=[choice])
    noises = [noise / math.sqrt(share) for share in _SHARES]
    kinds = zip((False, True), noises, strict=True)
    return (
        simplex,
        [Descent.of(task, relation, simplex, own, dense=dense) for dense, own in kinds],
        choice,
        noises[0],
    )


class Portfolio:
    """Descents one after the other on one region, then a choice.

    Parameters
    ----------
    simplex : Simplex
        The region.
    s : float
        Number of rows given up.
    descents, releases : sequences of length 2
        What to run, and the paid draws of each.
    choose : ChargedDraws
        One paid draw that selects.
    """

    def __init__(
        self,
        simplex: Simplex,
        s: float,
        descents: list[Descent],
        releases: list[ChargedDraws],
        choose: ChargedDraws,
    ) -> None:
        self._simplex, self._s, self._choose = simplex, int(s), choose
        self._players = [
            MirrorPlayer(simplex, release, d.step)
            for release, d in zip(releases, descents, strict=True)
        ]
        rows = RowsOfEqualNorm(simplex)
        self._games: list[Game] = [
            d.game(rows, player) for d, player in zip(descents, self._players, strict=True)
        ]
        self.rounds = sum(game.rounds for game in self._games)

    def step(self, t: int) -> None:
        """Play a round of the first descent, or of the second."""
        first, second = self._games
        (first if t < first.rounds else second).step(t)

    def released(self) -> Released:
        """The chosen point."""
        rows, rhs = self._simplex.form.rows(), self._simplex.form.rhs
        one, two = (np.sort(rows @ player.solution - rhs)[::-1] for player in self._players)
        chosen = self._choose(np.array([0.5, -0.5]) * _margin(one, two, self._s))
        return replace(
            self._players[chosen].released(),
            message=f"Chose {('elastic', 'dense')[chosen]} duals of two descents",
        )


def _margin(one: FloatArray, two: FloatArray, s: int) -> float:
    """By about how many changed rows the first candidate is the better one: half of an integer, negative if it is not."""
    return (_changes_needed(two, one, s) - _changes_needed(one, two, s)) / 2


def _changes_needed(own: FloatArray, other: FloatArray, s: int) -> int:
    """The least integer r >= -s with own[s + r] <= other[s - r], largest violations first.

    Beyond the ends -inf and inf.
    """
    padding = np.full(max(0, 2 * s + 1 - len(own)), -np.inf)
    mine, theirs = (
        np.concatenate([violations, padding])[: 2 * s + 1] for violations in (own, other)
    )
    holds = np.flatnonzero(mine <= theirs[::-1])
    return int(holds[0]) - s if holds.size else s + 1
