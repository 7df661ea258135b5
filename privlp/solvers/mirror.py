"""Accelerated mirror descent on a privately released sum of violated rows."""

from __future__ import annotations

import math

from privlp.errors import InvalidParameterError
from privlp.privacy import GaussianMechanism
from privlp.solvers.elastic_dual import ElasticDual
from privlp.solvers.equal_norm import RowsOfEqualNorm
from privlp.solvers.game import Game, MirrorPlayer
from privlp.solvers.rounds import as_rounds
from privlp.solvers.simplex import Simplex
from privlp.solvers.task import Task

_METHOD = "mirror"
_FEWEST_ROUNDS, _MOST_DEFAULT_ROUNDS = 10, 500
# Chosen by trial on covering, packing, game and classification programs (benchmarks/mirror.py).
_SOFTNESS = 4.0
_LEAST_ERROR = 1e-4
# Noise of accelerated rounds, weighted as they are: sqrt(sum w^2)/sum w is about this over sqrt(T).
_WEIGHTED_NOISE = 2 / math.sqrt(3)
_LARGEST_SOFTNESS = 64.0


def mirror(task: Task) -> Game:
    """Minimise the smoothed sum of violations of all private rows over K = {u >= 0, cost·u = V}, from noisy gradients.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Row i contributes z_i g_i to the released sum: g_i of norm at most 1 and z_i in [0, 1] are functions of that row
    and of released points (:class:`~privlp.solvers.equal_norm.RowsOfEqualNorm`,
    :class:`~privlp.solvers.elastic_dual.ElasticDual`). So the sum moves by at most 2k in L2 if a record is replaced, by k if it is
    added or removed (:meth:`~privlp.relations.ConstraintPrivate.sum_sensitivity`), plus twice the rounding error. Proof:
    ``docs/proofs.md``, "Mirror descent".

    *Budget.* T Gaussian releases of d numbers.

    *Rule.* Public numbers fix everything; it is a heuristic, confirmed by trial (``docs/results/mirror.md``). To first order, and
    in expectation, the noise of all rounds together leaves an error of E = (2/sqrt 3) sigma_1 sqrt(2 ln d) in the sum of
    violations, sigma_1 the noise of a single release at the whole budget, however many rounds there are; more rounds than needed
    add to it. Rows soften over 4 E/n. The step is 2 d softness/n: the inverse curvature where half of the rows are soft and their
    squared entries are spread evenly over the variables. T makes the error of the optimisation about E, within 10 and 500 rounds.
    Given alpha (violation per unit of ||A_i||_2), softness and T are those at which more than s rows violated by more than alpha
    would cost more than such an optimisation leaves. s has no other use here: the error spreads over all rows.
    """
    relation = task.constraint_private(_METHOD)
    task.refuse(_METHOD, width="it needs no declared bounds")
    if task.ledger.delta == 0 and math.isfinite(task.ledger.eps):
        raise InvalidParameterError("delta must be positive with method='mirror', whose noise is Gaussian; or use method='dmw'.")
    s, alpha, n = task.density(), task.accuracy(), task.n
    simplex = Simplex(task.form, task.opt)
    d = len(simplex.vertices)
    largest_n = relation.largest_n(n)
    sensitivity = relation.sum_sensitivity(1.0, relation.rows_of_one_record(task.lp))
    sensitivity += 2 * RowsOfEqualNorm.rounding_error(largest_n, d)
    log_d = math.log(max(2, d))
    if alpha is None:
        once = task.ledger.calibrate(lambda t: GaussianMechanism(sensitivity, sensitivity / t), 1)
        error = max(_WEIGHTED_NOISE * once.sigma * math.sqrt(2 * log_d) / n, _LEAST_ERROR)
        softness = _SOFTNESS * error
        rounds = math.ceil(math.sqrt(2 * log_d / (d * softness * error)))
        rounds = min(max(rounds, _FEWEST_ROUNDS), _MOST_DEFAULT_ROUNDS)
    else:
        softness = min(alpha / float(simplex.vertices.max()), _LARGEST_SOFTNESS)
        rounds = max(_FEWEST_ROUNDS, as_rounds(2 * math.sqrt(n * log_d / (d * s)), 1 / math.sqrt(softness), alpha))
    mechanism = task.ledger.calibrate(lambda t: GaussianMechanism(sensitivity, sensitivity / t), rounds)
    release = task.charge(mechanism, rounds, "release the sum of violated rows each round")
    rows, player = RowsOfEqualNorm(simplex), MirrorPlayer(simplex, release, step=2 * d * softness / n)
    return Game(rows, player, ElasticDual(rows, player.point, softness), rounds=rounds)
