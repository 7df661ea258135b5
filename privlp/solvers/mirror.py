"""Mirror descent on privately released sums of violated rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privlp.checks import positive
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.privacy import ChargedDraws
from privlp.solvers.descent import Descent, noise_of_one_release, pay
from privlp.solvers.equal_norm import RowsOfEqualNorm
from privlp.solvers.game import Game, MirrorPlayer
from privlp.solvers.prediction import Prediction
from privlp.solvers.simplex import Simplex
from privlp.solvers.task import Task
from privlp.solvers.value_search import is_range, predict_search, range_of, search_value

if TYPE_CHECKING:
    from privlp.relations import ConstraintPrivate
    from privlp.solvers.game import Solver

FloatArray = npt.NDArray[np.float64]

_METHOD = "mirror"


def mirror(task: Task, *, dense: bool = False, accelerated: bool = True) -> Solver:
    """Minimise the smoothed sum of violations of all private rows over K = {u >= 0, cost·u = V}, from noisy gradients.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Row i contributes z_i g_i to the released sum: g_i of norm at most 1 and z_i in
    [0, 1] are functions of that row and of released points
    (:class:`~privlp.solvers.equal_norm.RowsOfEqualNorm`,
    :class:`~privlp.solvers.elastic_dual.ElasticDual`). So the sum moves by at most 2k in L2 if a
    record is replaced, by k if it is added or removed
    (:meth:`~privlp.relations.ConstraintPrivate.sum_sensitivity`), plus twice the rounding error.
    With `dense` the weights are a dense distribution over M rows
    (:class:`~privlp.solvers.dense_dual.SmoothedWorstRows`), and the weighted mean of vectors at
    most W = 2 apart moves by at most min(1, k/M) W
    (:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity`). Proof:
    ``docs/proofs.md``, "Mirror descent".

    *Budget.* T Gaussian releases of d numbers, later ones with less noise
    (:class:`~privlp.privacy.WeightedGaussianMechanism`): they count more.

    *Rule.* Public numbers fix everything (:class:`~privlp.solvers.descent.Descent`); it is a
    heuristic, confirmed by trial (``docs/results/family.md``).

    *Soft rows* (``penalty``): x minimises the costs plus the price of violated rows over {u >= 0,
    cost·u <= V}; weights stay elastic. The scale of a soft row has a meaning, so `width` must
    declare a bound on ||A_i||_2; rows beyond it count as scaled down.

    *Unknown optimum* (``opt=(low, high)``): :func:`~privlp.solvers.value_search.search_value`.
    """
    method = "mirror-dense" if dense else _METHOD
    relation = task.constraint_private(method, soft_rows=not dense)
    if task.lp.penalty is not None:
        return _soft(task, relation, accelerated=accelerated)
    task.refuse(method, width="it needs no declared bounds")
    if is_range(task.opt) and not dense:
        return search_value(task, relation, _Simplexes(task))
    simplex = Simplex(task.form, task.opt)
    descent = Descent.of(
        task, relation, simplex, noise_of_one_release(task), dense=dense, accelerated=accelerated
    )
    (release,) = pay(task, [descent], [1.0])
    return descent.game(
        RowsOfEqualNorm(simplex),
        MirrorPlayer(simplex, release, descent.step, accelerated=accelerated),
    )


def mirror_dense(task: Task) -> Solver:
    """:func:`mirror` with dense duals: for programs whose private rows cannot all be satisfied."""
    return mirror(task, dense=True)


def predict_mirror(task: Task, *, dense: bool = False) -> Prediction:
    """What :func:`mirror` is expected to leave."""
    method = "mirror-dense" if dense else _METHOD
    relation = task.constraint_private(method, soft_rows=not dense)
    if is_range(task.opt) and not dense:
        return predict_search(task, relation, _Simplexes(task), _METHOD)
    simplex = Simplex(task.form, task.opt)
    noise = noise_of_one_release(task)
    return Descent.of(task, relation, simplex, noise, dense=dense).prediction(
        method, simplex, noise, 0.0 if task.lp.penalty is None else None
    )


def predict_mirror_dense(task: Task) -> Prediction:
    """What :func:`mirror_dense` is expected to leave."""
    return predict_mirror(task, dense=True)


class _Simplexes:
    """Regions {u >= 0, low <= cost·u <= V}: V is the size of cost·u."""

    def __init__(self, task: Task) -> None:
        self._form = task.form
        ends = range_of(task.opt)
        sizes = [task.form.cost_of(end) for end in ends]
        if sizes[0] * sizes[1] < 0:
            raise InvalidParameterError(
                "opt=(low, high) must not reach beyond the objective at the bounds of the"
                f" variables, got {task.opt!r}."
            )
        low, high = sorted(map(abs, sizes))
        self.ends = low, high
        at_bounds = task.lp.objective(task.form.shift)
        self._sign = math.copysign(1.0, max(ends, key=lambda end: abs(end - at_bounds)) - at_bounds)
        self._at_bounds = at_bounds
        self.region = self._upto(high)

    def _upto(self, value: float) -> Simplex:
        return Simplex(self._form, self._at_bounds + self._sign * value, least=self.ends[0] / value)

    def size(self, point: FloatArray) -> float:
        """The size of cost·u at a point u, (d',)."""
        return abs(float(self._form.cost @ point))

    def stage(
        self, value: float, price: float, descent: Descent, release: ChargedDraws
    ) -> tuple[RowsOfEqualNorm, MirrorPlayer]:
        """Rows and player on {low <= cost·u <= V}."""
        region = self._upto(value)
        player = MirrorPlayer(region, release, descent.step, region.costs / price)
        return RowsOfEqualNorm(region), player


def _soft(task: Task, relation: ConstraintPrivate, *, accelerated: bool) -> Game:
    """Rows priced by a penalty, of which one unit is the largest price times the declared norm of a row."""
    if task.width is None:
        raise InvalidParameterError(
            "width is missing: how far a soft row is violated has a price, so method='mirror' needs"
            " a declared public bound on the Euclidean norm of each private row of A. Rows beyond"
            " it are scaled down."
        )
    width = positive(task.width, "width", finite=True)
    if relation.change != "replace":
        raise UnsupportedProblemError(
            "method='mirror' takes soft rows where records are replaced: prices of rows are public."
        )
    price = task.lp.penalty[task.form.row]
    if not np.isfinite(price).all():
        raise UnsupportedProblemError(
            "method='mirror' needs a finite penalty for every private row, or none for any."
        )
    simplex = Simplex(task.form, task.opt, least=0.0)
    largest_price = float(price.max())
    unit = width * float(simplex.vertices.max())
    descent = Descent.of(
        task, relation, simplex, noise_of_one_release(task), accelerated=accelerated
    )
    (release,) = pay(task, [descent], [1.0])
    rows = RowsOfEqualNorm(simplex, unit=unit, weights=price / largest_price)
    return descent.game(
        rows,
        MirrorPlayer(
            simplex,
            release,
            descent.step,
            simplex.costs / (largest_price * unit),
            accelerated=accelerated,
        ),
    )
