"""Follow the perturbed leader: any bounded public region, searched by a linear oracle that sees released sums only."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.relations import ConstraintPrivate
from privlp.solvers.descent import Descent, noise_of_one_release, pay
from privlp.solvers.elastic_dual import ElasticDual
from privlp.solvers.game import Game, Released, Solver
from privlp.solvers.polytope_rows import LARGEST_VIOLATION, RowsOnPolytope
from privlp.solvers.prediction import Prediction
from privlp.solvers.public_polytope import Leader, PublicPolytope, span_of_objectives
from privlp.solvers.rounds import weight_of_round
from privlp.solvers.task import Task
from privlp.solvers.value_search import is_range, predict_search, range_of, search_value
from privlp.solvers.walk import Walk

FloatArray = npt.NDArray[np.float64]

_METHOD = "ftpl"
_PURPOSE = "release the sum of violated rows each round"
# Vertices that a leader is averaged over, and about how many there are in all.
_FEWEST_VERTICES, _MOST_VERTICES, _ALL_VERTICES = 40, 300, 30_000
# Cuts: rounds per variable and at most, softness, share of the way, and the noise, in rows, beyond
# which cuts mislead.
_CUTS_PER_VARIABLE, _FEWEST_CUTS, _MOST_CUTS = 20, 500, 5_000
_SOFTNESS_OF_CUTS = 0.01
_SHARE_OF_THE_WAY = 0.7
_LARGEST_NOISE_OF_CUTS = 0.01
_CUTS_KEPT = 150
_LEAST_SLOPE = 1e-7
# An end of all objectives that is more than so many widths of the range away is that of loose
# bounds.
_FARTHEST = 100.0
_LIMITS: dict[str, Any] = {"rounding": RowsOnPolytope.rounding_error, "most_rounds": 300}


def ftpl(task: Task) -> Solver:
    """Minimise the smoothed sum of violations of all private rows over any bounded public region, from noisy gradients.

    K = {x : public rows, bounds, c·x no worse than opt}: costs of any sign, free variables,
    equalities, ranges. HiGHS is the linear oracle over K, and sees public and released numbers
    only.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Row i contributes z_i g_i to the released sum: g_i of norm at most 1 and z_i in
    [0, 1] are functions of that row and of released points
    (:class:`~privlp.solvers.polytope_rows.RowsOnPolytope`,
    :class:`~privlp.solvers.elastic_dual.ElasticDual`). So the sum moves by at most 2k in L2 if a
    record is replaced, by k if it is added or removed
    (:meth:`~privlp.relations.ConstraintPrivate.sum_sensitivity`), plus twice the rounding error.
    Where cuts are made, z_i min(max(violation_i, 0), 1) is released besides, a number in [0, 1] for
    each row: replaced, a record moves the sum of these by at most k, and all numbers together by at
    most sqrt(4 + 1) k; added or removed, by at most sqrt(2) k. Proof: ``docs/proofs.md``, "Follow
    the perturbed leader".

    *Budget.* T Gaussian releases of d' numbers (of d' + 1 where cuts are made), d' the number of
    variables that K does not fix. Rounds that follow the perturbed leader count more the later they
    are, and bear less noise (:class:`~privlp.privacy.WeightedGaussianMechanism`); cuts all bear the
    same.

    *Rule.* Public numbers fix everything. The player follows the leader of the released sum under
    perturbations of its own (:class:`PerturbedLeader`), with the numbers of
    :class:`~privlp.solvers.descent.Descent`: on a simplex it is mirror descent. Where a round has
    noise of at most a hundredth of one row, as without any, and no alpha is given, every released
    sum is a cut: all rows together hold on one side of it only. Then the player follows the leader
    of the largest cut (:class:`LeaderOfCuts`), which gets to the optimum on regions far larger than
    what is feasible. s has no other use than with alpha.

    *Unknown optimum* (``opt=(low, high)``, or none: then all objectives of the public region):
    :func:`~privlp.solvers.value_search.search_value`.
    """
    relation = _checked(task)
    task = _without_costs(task)
    if task.opt is None or is_range(task.opt):
        return search_value(task, relation, _Polytopes(task), **_LIMITS)
    region = PublicPolytope(task.form, task.opt)
    cutting = _cuts(task, relation, region)
    if cutting is not None:
        release = task.charge(*cutting, _PURPOSE)
        rows, cuts = RowsOnPolytope(region, with_value=True), LeaderOfCuts(region, release)
        return Game(rows, cuts, ElasticDual(rows, cuts.point, _SOFTNESS_OF_CUTS), rounds=cutting[1])
    descent = Descent.of(task, relation, region, noise_of_one_release(task), **_LIMITS)
    (release,) = pay(task, [descent], [1.0])
    return descent.game(RowsOnPolytope(region), _leader(region, release, descent))


def predict_ftpl(task: Task) -> Prediction:
    """What :func:`ftpl` is expected to leave."""
    relation = _checked(task)
    task = _without_costs(task)
    if task.opt is None or is_range(task.opt):
        return predict_search(task, relation, _Polytopes(task), _METHOD, **_LIMITS)
    region, noise = PublicPolytope(task.form, task.opt), noise_of_one_release(task)
    descent = Descent.of(task, relation, region, noise, **_LIMITS)
    return descent.prediction(_METHOD, region, noise)


def _checked(task: Task) -> ConstraintPrivate:
    relation = task.constraint_private(_METHOD)
    task.refuse(_METHOD, width="it needs no declared bounds")
    return relation


def _without_costs(task: Task) -> Task:
    """Where nothing costs anything, the optimum is known."""
    return replace(task, opt=task.lp.offset) if task.opt is None and not task.lp.c.any() else task


def _cuts(
    task: Task, relation: ConstraintPrivate, region: PublicPolytope
) -> tuple[GaussianMechanism, int] | None:
    """Mechanism and number of rounds for cuts, if there is so little noise."""
    if task.accuracy() is not None or (task.ledger.delta == 0 and math.isfinite(task.ledger.eps)):
        return None
    rounds = min(max(_CUTS_PER_VARIABLE * region.size, _FEWEST_CUTS), _MOST_CUTS)
    sensitivity = relation.sum_sensitivity(
        1.0, relation.rows_of_one_record(task.lp), LARGEST_VIOLATION
    )
    sensitivity += 2 * RowsOnPolytope.rounding_error(relation.largest_n(task.n), region.size)
    mechanism = task.ledger.calibrate(
        lambda t: GaussianMechanism(sensitivity, sensitivity / t), rounds
    )
    return (mechanism, rounds) if mechanism.sigma <= _LARGEST_NOISE_OF_CUTS else None


def _leader(
    region: PublicPolytope,
    release: ChargedDraws,
    descent: Descent,
    costs: FloatArray | None = None,
    *,
    stages: int = 1,
) -> PerturbedLeader:
    vertices = min(
        max(_ALL_VERTICES // (stages * descent.rounds), _FEWEST_VERTICES), _MOST_VERTICES
    )
    return PerturbedLeader(region, release, descent.step, vertices=vertices, costs=costs)


class _Polytopes:
    """Regions {x in K: low <= size of x <= V}.

    The size is the distance of c·x from the best of all objectives within the public rows, as in
    covering; or, where that is more than twice as far from the range, from the worst, as in
    packing; or, where both are too far to tell anything, from the better end of the range.
    """

    def __init__(self, task: Task) -> None:
        self._form = task.form
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
        """The distance of c·x from where sizes are measured."""
        lp = self._form.lp
        return max(0.0, self._sign * (lp.sign * float(lp.c @ point) - self._from))

    def stage(
        self, value: float, price: float, descent: Descent, release: ChargedDraws
    ) -> tuple[RowsOnPolytope, PerturbedLeader]:
        """Rows and player on {low <= size <= V}."""
        region, lp = self._upto(value), self._form.lp
        costs = lp.sign * (lp.c * region.unit)[region.live] / price
        return RowsOnPolytope(region), _leader(region, release, descent, costs, stages=3)


class PerturbedLeader:
    """Releases the sum of violated rows each round, and follows the perturbed leader of the sums so far, accelerated.

    With theta_t = 2/(t + 2): the duals see y = (1 - theta) x + theta z; z is the mean of vertices
    of K, each of which minimises step * (sum of released sums/theta) - G for Gumbel noise G of its
    own; x becomes (1 - theta) x + theta z. In expectation over G, z is the gradient of a smoothed
    support function of K (Kalai and Vempala 2005; Abernethy, Lee, Sinha and Tewari 2014), and on a
    simplex the point of entropic mirror descent. The perturbations are public: they protect
    nothing, but without them a leader of exact sums jumps from vertex to vertex.

    Parameters
    ----------
    region : PublicPolytope
        K.
    release : ChargedDraws
        Paid draws of an additive mechanism, one for each round.
    step : float
        Step per row, the variables in units of their ranges.
    vertices : int
        Number of vertices that a leader is averaged over.
    costs : (d',), optional
        Public costs of the live variables in units of their ranges, added to each released sum, in rows; none by default.
    """

    def __init__(
        self,
        region: PublicPolytope,
        release: ChargedDraws,
        step: float,
        *,
        vertices: int,
        costs: FloatArray | None = None,
    ) -> None:
        self._region, self._release, self._step, self._vertices = region, release, step, vertices
        self._costs = np.zeros(region.size) if costs is None else costs
        self._leader, self._rng = region.leader(), np.random.default_rng(0)
        self._sum, self._round, self._walk = np.zeros(region.size), 0, Walk()
        self._ahead = self._average = _mean_leader(
            self._leader, self._sum, vertices, self._rng, region.middle
        )

    @property
    def point(self) -> FloatArray:
        """Where the duals look next."""
        theta = 1 / weight_of_round(self._round)
        return (1 - theta) * self._average + theta * self._ahead

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release the scores, and follow the leader."""
        theta = 1 / weight_of_round(self._round)
        self._sum += (self._costs - self._release(scores)) / theta
        self._ahead = _mean_leader(
            self._leader, self._step * self._sum, self._vertices, self._rng, self._ahead
        )
        self._average = (1 - theta) * self._average + theta * self._ahead
        self._round += 1
        self._walk.add(self._average)
        return self.point

    @property
    def solution(self) -> FloatArray:
        """The average of the leaders of all rounds, later ones counting more."""
        return self._average

    def released(self) -> Released:
        """The average of the leaders."""
        return _released(self._region, self._average, self._walk)


class LeaderOfCuts:
    """Releases the sum of violated rows and its value each round, and goes most of the way to where the largest of them is least.

    All rows hold at x only if value_t + slope_t·(x - y_t) <= 0 for every round t, with the sum of
    z_i g_i as the slope and that of z_i min(violation_i, 1) as the value (Kelley 1960; the point
    that satisfies the cuts by most is that of Elzinga and Moore 1975). Cuts that HiGHS's last
    vertex does not touch are dropped after some rounds. The solution is the point of least released
    value.

    Parameters
    ----------
    region : PublicPolytope
        K.
    release : ChargedDraws
        Paid draws of an additive mechanism, one for each round.
    """

    def __init__(self, region: PublicPolytope, release: ChargedDraws) -> None:
        self._region, self._release = region, release
        self._leader, self._round, self._walk = region.leader(), 0, Walk()
        start = _mean_leader(
            self._leader,
            np.zeros(region.size),
            _FEWEST_VERTICES,
            np.random.default_rng(0),
            region.middle,
        )
        self.point: FloatArray = start
        self._best, self._least = start, math.inf

    def respond(self, scores: FloatArray) -> FloatArray:
        """Release slope and value of a cut, and move."""
        released = self._release(scores)
        slope, value = -released[:-1], float(released[-1])
        if value < self._least:
            self._best, self._least = self.point, value
        self._walk.add(self._best)
        if np.linalg.norm(slope) > _LEAST_SLOPE:
            self._leader.cut(slope, self.point, value)
            deepest = self._leader.deepest()
            if deepest is not None:
                self.point = self.point + _SHARE_OF_THE_WAY * (deepest - self.point)
        self._round += 1
        if self._round % _CUTS_KEPT == 0:
            self._leader.forget_slack_cuts(_CUTS_KEPT)
        return self.point

    def released(self) -> Released:
        """The point of least released value."""
        return _released(self._region, self._best, self._walk)


def _mean_leader(
    leader: Leader, cost: FloatArray, count: int, rng: np.random.Generator, otherwise: FloatArray
) -> FloatArray:
    """The mean of vertices of K that are best for a cost under Gumbel perturbations.

    `otherwise` where HiGHS finds none.
    """
    mean = leader.mean_of_best(cost - rng.gumbel(size=(count, len(cost))))
    return otherwise if mean is None else mean


def _released(region: PublicPolytope, point: FloatArray, walk: Walk) -> Released:
    lp = region.form.lp

    def within_bounds(x: FloatArray) -> FloatArray:
        return np.clip(x, *lp.bounds.T)

    x = within_bounds(point)
    return Released(x, lp.objective(x), walk.trace(within_bounds))
