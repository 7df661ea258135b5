"""One perturbed convex program, for any public polytope and with no optimum known beforehand."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privlp.checks import of_usual_size, real
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.methods.advice import LARGEST_SHARE_OF_ROWS, about, other_relations
from privlp.methods.base import Method, PlannedRun
from privlp.methods.checked import Checked, last_target
from privlp.methods.perturbed_charges import PerturbedCharges
from privlp.methods.perturbed_draws import Draws
from privlp.methods.perturbed_hard import BeforeStages, HardRowSearch
from privlp.methods.perturbed_prices import require_priced_rows
from privlp.methods.perturbed_soft import SoftRowSearch
from privlp.methods.prediction import HOPELESS, Prediction
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows, UnboundedRegionError
from privlp.regions.simplex import is_range, range_of
from privlp.relations.base import NeighbourRelation
from privlp.rows.access import Rows
from privlp.status import Verdict

# A bounded region for the search where only the cost bounds it: variables of up to this size.
_FARTHEST = 1e9
# Variables times noise, over s or over the number of soft rows, up to which most draws succeed:
# docs/results/unknown.md, fallback.md.
_DIFFICULT, _SOFT_DIFFICULT = 1.5, 0.016
# An answer on soft rows is given up where it seems to cost more than a public point by so many
# deviations: up to this difficulty, where the plan is rough, and where there are too few rows.
_DOUBT, _MOSTLY = (2.0, 0.0, -2.0), 1.9
# What such a draw leaves of the amount by which a row varies.
_USEFUL = 0.1


class Perturbed(Method):
    """Minimise costs + price (smoothed violations) + a secret linear term + a small quadratic.

    Nothing is iterated privately: HiGHS and Clarabel do the work. Three stages find the scale,
    centre the quadratic and solve; noisy counts of missed rows set the scale after each.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* The gradient of a row's smoothed violation is s_i g_i with |g_i| <= 1 and s_i in
    [0, 1]; of an equality or range, whose sides are two of the k rows, in [-1, 1]. The minimum and
    the secret term determine each other. Between neighbours the Jacobians of this map differ by a
    factor of at most e^kappa, kappa = r ln(1 + k/(r h Lambda)), with r = min(v, p) for v rows if
    the two sides of one count once, p coordinates, softness h and strength Lambda of the quadratic.
    The secret term moves by a sum of 2v such vectors (of v for add/remove). So the privacy loss is
    at most kappa plus the largest of several Gaussian losses. Counts move by at most k. Proof:
    ``docs/proofs.md``, "One perturbed convex program".

    *Shadow prices*, on request: the gradient of smoothed violations at the released point, a sum of
    k vectors w_i s_i g_i for each record, which moves by no more than the secret term is charged
    for. Prices follow from it.

    *Budget.* All counts, secret terms, covers and slopes are charged together, before the first
    draw.

    Published idea: objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and
    Thakurta 2012), here over a polytope and with exact Gaussian prices.
    """

    name = "perturbed"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        """Also for soft rows without a delta: no other method says what they need."""
        has_delta = task.ledger.delta > 0 or math.isinf(task.ledger.eps)
        return has_delta or task.lp.penalty is not None

    def adapted(self, task: Task) -> Task:
        return replace(task, width=None)

    def plan(self, task: Task) -> PlannedRun:
        task.constraint_private(self.name, soft_rows=True, prices=True)
        if task.ledger.delta == 0 and math.isfinite(task.ledger.eps):
            raise InvalidParameterError(
                "delta must be positive with this method, whose noise is Gaussian; or use"
                " method='dmw'.",
                parameter="delta",
            )
        return self._plan_hard(task) if task.lp.penalty is None else self._plan_soft(task)

    def _plan_hard(self, task: Task) -> PlannedRun:
        task.refuse(self.name, width="it needs no declared bounds")
        s, _ = task.density(), task.accuracy()
        public = PublicRows(task.lp)
        require_priced_rows(task, public)
        try:
            region, typical, wide = search_region(task, public)
        except UnboundedRegionError:
            require_enough_rows(task)
            raise
        charges = PerturbedCharges.hard(task, s)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            before, rest = BeforeStages(*draws[:3]), _stages(draws[3:-1])
            target = last_target(task, charges.requests)
            found = HardRowSearch(
                task, rows, public, region, before, rest, wide=wide, last_target=target
            )
            return Checked(task, rows, found, draws[-1])

        return PlannedRun(
            charges.requests,
            start,
            lambda: self._prediction(
                region.size, charges, s * _DIFFICULT, typical, 3 + 2 * len(charges.terms)
            ),
        )

    def _plan_soft(self, task: Task) -> PlannedRun:
        reason = "every violation of a soft row has its price"
        task.refuse(self.name, s=reason, alpha=reason)
        prices = task.public.prices
        if task.relation.hides_rows or prices is None:
            raise UnsupportedProblemError(
                "method='perturbed' takes soft rows where records are replaced: prices of rows are"
                " public.",
                parameter="method",
            )
        if not math.isfinite(prices.largest):
            raise UnsupportedProblemError(
                "method='perturbed' needs a finite penalty for every private row, or none for any.",
                parameter="method",
            )
        if np.isfinite(task.lp.penalty).any():
            raise UnsupportedProblemError(
                "method='perturbed' treats public rows as hard: give them the penalty inf, or write"
                " them with slack variables.",
                parameter="method",
            )
        public = PublicRows(task.lp, costs_of_hint(task))
        require_priced_rows(task, public)
        region, width = ReducedPolytope(public), None
        if task.width is not None:
            width = of_usual_size(task.width, "width")
        charges = PerturbedCharges.soft(task, clipped=width is None)
        difficulty = region.size * charges.sigma / (task.n * _SOFT_DIFFICULT)
        doubt = _DOUBT[bisect_left((_MOSTLY, HOPELESS), difficulty)]

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> SoftRowSearch:
            shares, moments, *rest = draws
            bound = rest.pop(0) if width is None else width
            line, choice, *rest = rest
            return SoftRowSearch(
                task,
                rows,
                public,
                region,
                prices,
                shares,
                moments,
                bound,
                line,
                choice,
                doubt,
                _stages(rest),
            )

        return PlannedRun(
            charges.requests,
            start,
            lambda: self._prediction(
                region.size,
                charges,
                task.n * _SOFT_DIFFICULT,
                _typical(region),
                1 + len(charges.terms),
            ),
        )

    def _prediction(
        self, size: int, charges: PerturbedCharges, easy: float, typical: float, rounds: int
    ) -> Prediction:
        """The error, as a share of what rows vary by: it grows with variables times noise."""
        difficulty = size * charges.sigma / easy
        last = charges.terms[-1]
        return Prediction(
            self.name,
            _USEFUL * difficulty * typical,
            None,
            rounds,
            last.sigma / last.sensitivity,
            yardstick=None if math.isinf(typical) else typical,
            difficulty=difficulty,
        )


def require_enough_rows(task: Task) -> None:
    """Refuse a program with so few rows that no s helps, whatever else is known of it.

    The number of coordinates is taken to be as small as the public equalities may make it.

    Raises
    ------
    UnsupportedProblemError
        With the number of rows that would be enough, and what else would.
    """
    if not task.public.has_private_rows or task.lp.penalty is not None or task.ledger.delta == 0:
        return
    lp, largest = task.lp, max(1.0, LARGEST_SHARE_OF_ROWS * task.n)
    free = int((lp.bounds[:, 0] < lp.bounds[:, 1]).sum())
    size = max(1, free - int((~lp.private & (lp.row_lower == lp.b)).sum()))
    sigma = PerturbedCharges.hard(task, min(largest, float(task.n))).sigma
    difficulty = size * sigma / largest / _DIFFICULT
    if difficulty > HOPELESS:
        raise UnsupportedProblemError(
            f"{Verdict.TOO_FEW_ROWS}: whatever s, noise on {size} or more variables is"
            f" {difficulty:.2g} times what {LARGEST_SHARE_OF_ROWS:.0%} of the rows outweigh. About"
            f" {about(difficulty / HOPELESS * task.n)} rows would be the least."
            f"{other_relations(task)}"
        )


def _stages(draws: Sequence[ChargedDraws]) -> list[Draws]:
    """The draws of each stage: secret term, cover and counts; of the last perhaps one more."""
    last = 3 * (len(draws) // 3 - 1)
    return [Draws(*draws[k : k + 3]) for k in range(0, last, 3)] + [Draws(*draws[last:])]


def _typical(region: ReducedPolytope) -> float:
    """What a row of norm 1 typically varies by over the region."""
    return float(np.exp(np.mean(np.log(region.unit)))) / math.sqrt(region.size)


def search_region(task: Task, public: PublicRows) -> tuple[ReducedPolytope, float, bool]:
    """The bounded region of a search, what a row varies by, and whether its size is unknown.

    The bounds and public rows, if they bound all variables. Otherwise costs are bounded by a very
    large number, because a hint may be far too low. What rows vary by is then that of costs up to
    the hint; without a hint it is not known: infinite. All methods of a request share it.
    """
    hint = largest_cost(task)
    found: tuple[ReducedPolytope, float, bool] = task.public.once(
        ("search region", hint), lambda: _search_region(public, hint)
    )
    return found


def _search_region(public: PublicRows, hint: float | None) -> tuple[ReducedPolytope, float, bool]:
    """That of :func:`search_region`, with the largest cost of the hint."""
    try:
        region = ReducedPolytope(public)
        return region, _typical(region), False
    except UnboundedRegionError:
        cheapest = public.best(public.cost)
        if cheapest is None:
            raise
        least = float(public.cost @ cheapest)
        far = _FARTHEST * float(np.abs(public.cost).sum())
        region, typical = ReducedPolytope(public, least + far), math.inf
        if hint is not None and hint > least:
            typical = _typical(ReducedPolytope(public, hint))
        return region, typical, True


def largest_cost(task: Task) -> float | None:
    """The larger end of the hint, to minimise and without offset."""
    costs = costs_of_hint(task)
    return None if costs is None else costs[1]


def costs_of_hint(task: Task) -> tuple[float, float] | None:
    """Costs between which a hint says that the optimum lies, to minimise and without offset.

    A value bounds them from above alone.
    """
    if task.opt is None:
        return None
    ends = range_of(task.opt) if is_range(task.opt) else (real(task.opt, "opt"),)
    costs = sorted(task.lp.sign * (end - task.lp.offset) for end in ends)
    return costs[0] if len(costs) > 1 else -math.inf, costs[-1]
