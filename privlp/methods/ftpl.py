"""Follow the perturbed leader: any bounded public region, searched by a linear oracle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.duals.elastic import ElasticDual, Finish
from privlp.errors import UnsupportedProblemError
from privlp.methods.base import Method, PlannedRun
from privlp.methods.descent import Descent, noise_of_one_release, requests
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.methods.value_search import plan_search
from privlp.players.accelerated import AcceleratedDescent
from privlp.players.cuts import LeaderOfCuts
from privlp.players.game import Game
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.regions.optimum import is_range, range_of
from privlp.regions.perturbed_leader import PerturbedLeader
from privlp.regions.polytope import LARGEST_VIOLATION, PublicPolytope, span_of_objectives
from privlp.relations.base import NeighbourRelation
from privlp.relations.constraint_private import ConstraintPrivate
from privlp.rows.door import Rows
from privlp.rows.on_polytope import RowsOnPolytope

FloatArray = npt.NDArray[np.float64]

_PURPOSE = "release the sum of violated rows each round"
# Number of vertices that a leader is averaged over, and about how many are computed in all.
_FEWEST_VERTICES, _MOST_VERTICES, _ALL_VERTICES = 40, 300, 30_000
# Cuts: rounds per variable, fewest and most rounds, softness, and the largest noise, in rows, at
# which cuts are still reliable.
_CUTS_PER_VARIABLE, _FEWEST_CUTS, _MOST_CUTS = 20, 500, 5_000
_SOFTNESS_OF_CUTS = 0.01
_LARGEST_NOISE_OF_CUTS = 0.01
# An objective that is more widths of the range away than this comes from loose bounds.
_FARTHEST = 100.0
_LIMITS: dict[str, Any] = {"most_rounds": 300}


class FollowThePerturbedLeader(Method):
    """Descent on noisy gradients over any bounded public region, with a linear oracle.

    It minimises the smoothed sum of violations over K = {x : public rows, bounds, c·x no worse
    than opt}, with costs of any sign, free variables, equalities and ranges. HiGHS is the linear
    oracle over K, and sees public and released numbers only.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Row i contributes z_i g_i to the released sum: g_i of norm at most 1 and z_i in
    [0, 1] are functions of that row and of released points
    (:class:`~privlp.rows.on_polytope.RowsOnPolytope`,
    :class:`~privlp.duals.elastic.ElasticDual`). So the sum moves by at most 2k in L2 if a
    record is replaced, by k if it is added or removed
    (:meth:`~privlp.relations.ConstraintPrivate.sum_sensitivity`). Sums are exact
    (:mod:`privlp.rows.grid`), and nothing is added for rounding.
    Where cuts are made, the sum of z_i min(max(violation_i, 0), 1) is released too, a number in
    [0, 1] for each row. If a record is replaced, this sum moves by at most k, and all numbers
    together by at most sqrt(4 + 1) k; if it is added or removed, by at most sqrt(2) k. Proof:
    ``docs/proofs.md``, "Follow the perturbed leader".

    *Budget.* T Gaussian releases of d' numbers (of d' + 1 where cuts are made); d' is the number of
    variables that K does not fix. Later rounds of the perturbed leader count more, and have less
    noise (:class:`~privlp.privacy.WeightedGaussianMechanism`). All cuts have the same noise.

    *Parameters.* Public numbers fix everything. The player goes to the best point for the released
    sum under random perturbations (:class:`~privlp.regions.perturbed_leader.PerturbedLeader`), with
    the parameters of :class:`~privlp.methods.descent.Descent`. On a simplex this is mirror descent.

    *Cuts.* If a round has noise of at most a hundredth of one row and no alpha is given, every
    released sum is a cut: all rows hold on one side of it only. Then the player goes towards the
    point at which the largest cut is least (:class:`~privlp.players.cuts.LeaderOfCuts`). It reaches
    the optimum also if the region is far larger than the feasible set. s is used with alpha only.

    *Unknown optimum* (``opt=(low, high)``, or none: then all objectives of the public region):
    :func:`~privlp.methods.value_search.plan_search`.
    """

    name = "ftpl"
    needs_oracle = True

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        return task.lp.penalty is None

    def plan(self, task: Task) -> PlannedRun:
        relation = task.constraint_private(self.name)
        task.refuse(self.name, width="it needs no declared bounds")
        if task.opt is None and not task.lp.c.any():
            # Without costs the optimum is known.
            task = replace(task, opt=task.lp.offset)
        if task.opt is None or is_range(task.opt):
            return plan_search(task, relation, _Polytopes(task), self.name, **_LIMITS)
        region = PublicPolytope(task.form, task.opt)
        cutting = _cuts(task, relation, region)
        if cutting is not None:
            return self._plan_cuts(task, relation, region, *cutting)
        noise = noise_of_one_release(task)
        descent = Descent.of(task, relation, region, noise, **_LIMITS)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            (release,) = draws
            player = AcceleratedDescent(_leader(region, descent), release)
            scaled = rows.keep(partial(RowsOnPolytope, region=region, largest_n=task.largest_n))
            return descent.game(scaled, player, finish=region.projected)

        return PlannedRun(
            requests(task, [descent], [1.0]),
            start,
            lambda: descent.prediction(self.name, region, noise),
        )

    def _plan_cuts(
        self,
        task: Task,
        relation: ConstraintPrivate,
        region: PublicPolytope,
        mechanism: GaussianMechanism,
        rounds: int,
    ) -> PlannedRun:
        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
            on_region = partial(RowsOnPolytope, region=region, with_value=True)
            scaled = rows.keep(partial(on_region, largest_n=task.largest_n))
            player = LeaderOfCuts(region, *draws)
            dual = ElasticDual(scaled, player.point, _SOFTNESS_OF_CUTS, finish=region.projected)
            return Game(dual, player, rounds=rounds)

        def predict() -> Prediction:
            """The error of a descent, which is larger."""
            noise = noise_of_one_release(task)
            descent = Descent.of(task, relation, region, noise, **_LIMITS)
            return descent.prediction(self.name, region, noise)

        return PlannedRun([(mechanism, rounds, _PURPOSE)], start, predict)


def _cuts(
    task: Task, relation: ConstraintPrivate, region: PublicPolytope
) -> tuple[GaussianMechanism, int] | None:
    """Mechanism and rounds for cuts; None if the noise is too large, or alpha is given."""
    if task.accuracy() is not None or (task.ledger.delta == 0 and math.isfinite(task.ledger.eps)):
        return None
    rounds = min(max(_CUTS_PER_VARIABLE * region.size, _FEWEST_CUTS), _MOST_CUTS)
    sensitivity = relation.sum_sensitivity(1.0, task.public.rows_of_one_record, LARGEST_VIOLATION)
    mechanism = task.ledger.calibrate(
        lambda t: GaussianMechanism(sensitivity, sensitivity / t), rounds
    )
    return (mechanism, rounds) if mechanism.sigma <= _LARGEST_NOISE_OF_CUTS else None


def _leader(region: PublicPolytope, descent: Descent, *, stages: int = 1) -> PerturbedLeader:
    vertices = min(
        max(_ALL_VERTICES // (stages * descent.rounds), _FEWEST_VERTICES), _MOST_VERTICES
    )
    return PerturbedLeader(region, descent.step, vertices=vertices)


class _Polytopes:
    """Regions {x in K: low <= size of x <= V}.

    The size is the distance of c·x from the best of all objectives within the public rows, as in
    covering programs. If that is more than twice as far from the range as the worst objective, the
    size is the distance from the worst, as in packing programs. If both are too far from the range
    to be of use, it is the distance from the better end of the range.
    """

    def __init__(self, task: Task) -> None:
        self._form, self._largest_n = task.form, task.largest_n
        self.region = PublicPolytope(task.form, None if task.opt is None else range_of(task.opt))
        best, worst = self.region.objectives()
        if worst <= best:
            raise UnsupportedProblemError(
                "All points of the public region have the same objective: there is no optimum to"
                " look for."
            )
        least, most = span_of_objectives(task.form)
        farthest = _FARTHEST * (worst - best)
        self._from, self._sign = best, 1.0
        if worst - least <= min(2 * (most - best), farthest):
            self._from = least
        elif most - best <= farthest:
            self._from, self._sign = most, -1.0
        low, high = sorted((self._sign * (best - self._from), self._sign * (worst - self._from)))
        self.ends = max(0.0, low), high

    def _upto(self, value: float) -> PublicPolytope:
        lp = self._form.lp
        if value >= self.ends[1]:
            return self.region
        one, other = (
            lp.sign * (self._from + self._sign * size) + lp.offset for size in (self.ends[0], value)
        )
        return PublicPolytope(self._form, (one, other))

    def size(self, point: FloatArray) -> float:
        """The size of a point x."""
        lp = self._form.lp
        return max(0.0, self._sign * (lp.sign * float(lp.c @ point) - self._from))

    def stage(
        self, value: float, price: float, descent: Descent, release: ChargedDraws
    ) -> tuple[Callable[[Any], RowsOnPolytope], AcceleratedDescent, Finish]:
        """How blocks become rows of a stage on {low <= size <= V}, and its player."""
        region, lp = self._upto(value), self._form.lp
        # A descent subtracts costs from what it releases, in units of rows.
        costs = lp.sign * (lp.c * region.unit)[region.live] / price
        player = AcceleratedDescent(_leader(region, descent, stages=3), release, costs)
        scaled = partial(RowsOnPolytope, region=region, largest_n=self._largest_n)
        return scaled, player, region.projected
