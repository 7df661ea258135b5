"""Mirror descent on privately released sums of violated rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import of_usual_size
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.methods.base import Method, PlannedRun
from privlp.methods.descent import Descent, noise_of_one_release, requests
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.methods.value_search import plan_search
from privlp.players.accelerated import AcceleratedDescent
from privlp.players.game import Game
from privlp.privacy import ChargedDraws
from privlp.regions.optimum import is_range, range_of
from privlp.regions.simplex import Entropic, Simplex
from privlp.relations.base import NeighbourRelation
from privlp.relations.constraint_private import ConstraintPrivate
from privlp.rows.door import Rows
from privlp.rows.equal_norm import RowsOfEqualNorm

FloatArray = npt.NDArray[np.float64]


class Mirror(Method):
    """Mirror descent on noisy gradients, over K = {u >= 0, cost·u = V}.

    It minimises the smoothed sum of the violations of all private rows.

    *Neighbours*: constraint-private, one record with k rows; nothing is declared about A or b.

    *Sensitivity.* Row i contributes z_i g_i to the released sum: g_i of norm at most 1 and z_i in
    [0, 1] are functions of that row and of released points
    (:class:`~privlp.rows.equal_norm.RowsOfEqualNorm`,
    :class:`~privlp.duals.elastic.ElasticDual`). So the sum moves by at most 2k in L2 if a
    record is replaced, by k if it is added or removed
    (:meth:`~privlp.relations.ConstraintPrivate.sum_sensitivity`). Sums are exact
    (:mod:`privlp.rows.grid`).
    With dense duals (:class:`MirrorDense`) the weights are a dense distribution over M rows
    (:class:`~privlp.duals.dense.SmoothedWorstRows`), and the weighted mean of vectors at
    most W = 2 apart moves by at most min(1, k/M) W
    (:meth:`~privlp.relations.ConstraintPrivate.dense_average_sensitivity`). Proof:
    ``docs/proofs.md``, "Mirror descent".

    *Budget.* T Gaussian releases of d numbers, later ones with less noise
    (:class:`~privlp.privacy.WeightedGaussianMechanism`): they count more.

    *Parameters.* Public numbers fix everything (:class:`~privlp.methods.descent.Descent`), by a
    heuristic that was confirmed by trials (``docs/results/family.md``).

    *Soft rows* (``penalty``): x minimises the costs plus the price of violated rows over {u >= 0,
    cost·u <= V}, with elastic weights. The scale of a soft row matters, so `width` must declare a
    bound on ||A_i||_2; rows beyond it count as scaled down.

    *Unknown optimum* (``opt=(low, high)``): :func:`~privlp.methods.value_search.plan_search`.
    """

    name = "mirror"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        return task.lp.penalty is None and (task.opt is None or is_range(task.opt))

    def plan(self, task: Task) -> PlannedRun:
        relation = task.constraint_private(self.name, soft_rows=True)
        if task.lp.penalty is not None:
            return self._plan_soft(task, relation)
        task.refuse(self.name, width="it needs no declared bounds")
        if is_range(task.opt):
            return plan_search(task, relation, _Simplexes(task), self.name)
        simplex = Simplex(task.form, task.opt)
        noise = noise_of_one_release(task)
        return plan_on_simplex(
            task, simplex, Descent.of(task, relation, simplex, noise), self.name, noise
        )

    def _plan_soft(self, task: Task, relation: ConstraintPrivate) -> PlannedRun:
        """A run on soft rows, in units of the largest price times the declared norm of a row."""
        if task.width is None:
            raise InvalidParameterError(
                "width is missing: how far a soft row is violated has a price, so method='mirror'"
                " needs a declared public bound on the Euclidean norm of each private row of A."
                " Rows beyond it are scaled down.",
                parameter="width",
            )
        width = of_usual_size(task.width, "width")
        if relation.change != "replace":
            raise UnsupportedProblemError(
                "method='mirror' takes soft rows where records are replaced: prices of rows are"
                " public.",
                parameter="method",
            )
        largest_price = task.public.largest_price
        if largest_price is None or not math.isfinite(largest_price):
            raise UnsupportedProblemError(
                "method='mirror' needs a finite penalty for every private row, or none for any.",
                parameter="method",
            )
        simplex = Simplex(task.form, task.opt, least=0.0)
        unit = width * float(simplex.vertices.max())
        noise = noise_of_one_release(task)
        return plan_on_simplex(
            task,
            simplex,
            Descent.of(task, relation, simplex, noise),
            self.name,
            noise,
            soft=(unit, largest_price),
        )


class MirrorDense(Method):
    """:class:`Mirror` with dense duals: for programs whose private rows cannot all be satisfied."""

    name = "mirror-dense"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def plan(self, task: Task) -> PlannedRun:
        relation = task.constraint_private(self.name)
        task.refuse(self.name, width="it needs no declared bounds")
        simplex = Simplex(task.form, task.opt)
        noise = noise_of_one_release(task)
        descent = Descent.of(task, relation, simplex, noise, dense=True)
        return plan_on_simplex(task, simplex, descent, self.name, noise)


def plan_on_simplex(
    task: Task,
    simplex: Simplex,
    descent: Descent,
    method: str,
    noise: float,
    soft: tuple[float, float] | None = None,
) -> PlannedRun:
    """One descent on a simplex. `soft` is the unit and the largest price of soft rows."""
    unit, largest_price = (None, None) if soft is None else soft
    scaled = partial(
        RowsOfEqualNorm,
        simplex=simplex,
        largest_n=task.largest_n,
        unit=unit,
        largest_price=largest_price,
    )
    costs = None if soft is None else simplex.costs / (soft[1] * soft[0])

    def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Game:
        (release,) = draws
        player = AcceleratedDescent(Entropic(simplex, descent.step), release, costs)
        return descent.game(rows.keep(scaled), player)

    def predict() -> Prediction:
        return descent.prediction(method, simplex, noise, 0.0 if soft is None else None)

    return PlannedRun(requests(task, [descent], [1.0]), start, predict)


class _Simplexes:
    """Regions {u >= 0, low <= cost·u <= V}: V is the size of cost·u."""

    def __init__(self, task: Task) -> None:
        self._form, self._largest_n = task.form, task.largest_n
        ends = range_of(task.opt)
        sizes = [task.form.cost_of(end) for end in ends]
        if sizes[0] * sizes[1] < 0:
            raise InvalidParameterError(
                "opt=(low, high) must not reach beyond the objective at the bounds of the"
                f" variables, got {task.opt!r}.",
                parameter="opt",
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
    ) -> tuple[Callable[[Any], RowsOfEqualNorm], AcceleratedDescent, None]:
        """How blocks become rows of a stage on {low <= cost·u <= V}, and its player."""
        region = self._upto(value)
        mirror = Entropic(region, descent.step)
        player = AcceleratedDescent(mirror, release, region.costs / price)
        return partial(RowsOfEqualNorm, simplex=region, largest_n=self._largest_n), player, None
