"""One perturbed convex program, for any public polytope and with no optimum known beforehand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import of_usual_size
from privlp.errors import UnsupportedProblemError
from privlp.game.loop import Solver
from privlp.methods.advice import about, other_relations
from privlp.methods.base import HOPELESS, LARGEST_SHARE_OF_ROWS, PlannedRun, Prediction, RowsMethod
from privlp.methods.counts import Checked, last_target
from privlp.methods.limit import without_noise
from privlp.methods.perturbed.charges import PerturbedCharges
from privlp.methods.perturbed.draws import require_priced_rows
from privlp.methods.perturbed.hard import HardRowSearch, MixedRowSearch
from privlp.methods.perturbed.soft import SoftRowSearch
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows, UnboundedRegionError
from privlp.rows.access import Rows
from privlp.rows.program_rows import RowBlock
from privlp.status import Verdict

# A bounded region for the search where only the cost bounds it: variables of up to this size.
_FARTHEST = 1e9
# Variables times noise, over s or over the number of soft rows, up to which most draws succeed:
# docs/results/unknown.md, fallback.md.
_DIFFICULT, _SOFT_DIFFICULT = 1.5, 0.017
_MOST_GRADUAL = 10.0  # Results are mostly noise beyond at most so many times the usual difficulty.
_RANK = 3  # Where "auto" places it among methods for hard rows.


class Perturbed(RowsMethod):
    """Minimise costs + price (smoothed violations) + a secret linear term + a small quadratic.

    Three stages find the scale, centre the quadratic and solve (four where hard rows stand among
    soft ones); noisy counts set it after each.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* The gradient of a row's smoothed violation is s_i g_i with |g_i| <= 1 and s_i in
    [0, 1]; of an equality or range, whose sides are two of the k rows, in [-1, 1]. The minimum and
    the secret term determine each other. Between neighbours the Jacobians of this map differ by a
    factor of at most e^kappa, kappa = r ln(1 + k/(r h Lambda)), with r = min(v, p) for v rows if
    the two sides of one count once, p coordinates, softness h and strength Lambda of the quadratic.
    The secret term moves by a sum of 2v such vectors (of v for add/remove). So the privacy loss is
    at most kappa plus the largest of several Gaussian losses. Counts move by at most k, those of
    missed rows by at most v: no point misses both sides of a row. Proof:
    ``docs/proofs.md``, "One perturbed convex program".

    *Hard rows among soft ones* (``s`` counts the hard ones) have the largest price of all, by a
    factor that follows from counts: in units of it a record moves no more than is charged. On a
    public line comparisons, from its cheaper end on, and counts find a place that costs little and
    misses few hard rows. Where costs are alike at its ends, or none of its places misses few, a
    stage on hard rows alone looks for a point inside them. On the way from the answer to the point
    that was found, counts say where few are missed.

    *Shadow prices* follow from the gradient of smoothed violations at the released point, a sum of
    k vectors w_i s_i g_i for each record, which moves by no more than the secret term is charged
    for. All counts, secret terms, covers and slopes are charged together, before the first draw.

    Published idea: objective perturbation (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and
    Thakurta 2012), here over a polytope and with exact Gaussian prices.
    """

    name = "perturbed"
    take_it = "rows are soft, all or some of them, or you want shadow prices"
    auto_leaves_out = ("width",)

    def rank(self, request: SolveRequest) -> float | None:
        """Also for soft rows without a delta: no other method says what they need."""
        return _RANK if request.has_delta or request.lp.penalty is not None else None

    def plan(self, request: SolveRequest) -> PlannedRun:
        request.constraint_private(self.name, soft_rows=True, prices=True)
        request.require_delta()
        hard = request.lp.penalty is None
        return self._plan_hard(request) if hard else self._plan_soft(request)

    def _plan_hard(self, request: SolveRequest) -> PlannedRun:
        request.refuse(self.name, width="it needs no declared bounds")
        s, public = request.density(), PublicRows(request.lp)
        require_priced_rows(request, public)
        try:
            region, typical, wide = search_region(request, public)
        except UnboundedRegionError:
            require_enough_rows(request)
            raise
        if not request.has_noise and not request.prices:
            return without_noise(self.name, request)
        charges = PerturbedCharges.hard(request, s)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            target = last_target(request, charges.requests)
            search = HardRowSearch(
                request, rows, public, region, draws[:-1], wide=wide, last_target=target
            )
            return Checked(request, rows, search, draws[-1])

        rounds, easy = 3 + 2 * len(charges.terms), s * _DIFFICULT
        predict = partial(self._prediction, region.size, charges, easy, typical, rounds)
        return PlannedRun(charges.requests, start, predict)

    def _plan_soft(self, request: SolveRequest) -> PlannedRun:
        prices = request.public.prices
        if prices is None:
            raise _refusal(
                "needs a public bound on prices of soft rows where records come and go: declare it"
                " by ConstraintPrivate('add-remove', ..., largest_penalty=...)"
            )
        if np.isfinite(request.lp.penalty).any():
            raise _refusal(
                "treats public rows as hard: give them the penalty inf, or write them with slack"
                " variables"
            )
        mixed = prices.hard > 0
        if not mixed:
            reason = "every violation of a soft row has its price"
            request.refuse(self.name, s=reason, alpha=reason)
        public = PublicRows(request.lp, request.costs_of_hint())
        require_priced_rows(request, public)
        region = ReducedPolytope(public)
        s = request.density() if mixed else None
        width = None if request.width is None else of_usual_size(request.width, "width")
        charges = PerturbedCharges.soft(request, clipped=width is None, s=s)
        # Towards the cheaper sides of rows, all of them together pull no harder than so many.
        deciding = request.public.deciding * prices.weaker
        easy = (request.n - prices.hard) * deciding * _SOFT_DIFFICULT
        options: dict[str, Any] = {"prices": prices, "width": width}

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Solver:
            if s is None:
                return SoftRowSearch(request, rows, public, region, draws, **options)
            *draws, missed, check = draws
            hard, target = rows.keep(RowBlock.hard_rows), last_target(request, charges.requests)
            options.update(hard=hard, missed=missed, target=target)
            search = MixedRowSearch(request, rows, public, region, draws, **options)
            return Checked(request, hard, search, check)

        rounds = 1 + len(charges.terms)
        if s is None:
            easy = min(easy, region.size * charges.sigma * charges.told(request.public.records))
        # Where few rows decide, answers become mostly noise less abruptly.
        few = min(1 / deciding, _MOST_GRADUAL)
        predict = partial(
            self._prediction,
            region.size,
            charges,
            easy if s is None else min(easy, s * _DIFFICULT),
            _typical(region),
            rounds,
            whatever_s=region.size * charges.sigma / easy,
            deciding=deciding,
            hopeless=HOPELESS * few,
        )
        return PlannedRun(charges.requests, start, predict)

    def _prediction(
        self,
        size: int,
        charges: PerturbedCharges,
        easy: float,
        typical: float,
        rounds: int,
        **options: float,
    ) -> Prediction:
        """The difficulty is variables times noise, beside what is easy."""
        noise = charges.terms[-1].sigma / charges.terms[-1].sensitivity
        difficulty = size * charges.sigma / easy
        return Prediction.of_difficulty(self.name, difficulty, typical, rounds, noise, **options)


def _refusal(reason: str) -> UnsupportedProblemError:
    return UnsupportedProblemError(f"method='perturbed' {reason}.", parameter="method")


def require_enough_rows(request: SolveRequest) -> None:
    """Refuse a program with so few rows that no s helps, whatever else is known of it."""
    soft, pure = request.lp.penalty is not None, request.ledger.delta == 0
    if soft or pure or not request.public.has_private_rows:
        return
    lp, largest = request.lp, max(1.0, LARGEST_SHARE_OF_ROWS * request.n)
    free = int((lp.bounds[:, 0] < lp.bounds[:, 1]).sum())
    size = max(1, free - int((~lp.private & (lp.row_lower == lp.b)).sum()))
    sigma = PerturbedCharges.hard(request, min(largest, float(request.n))).sigma
    difficulty = size * sigma / largest / _DIFFICULT
    if difficulty > HOPELESS:
        raise UnsupportedProblemError(
            f"{Verdict.TOO_FEW_ROWS}: whatever s, noise on {size} or more variables is"
            f" {difficulty:.2g} times as large as {LARGEST_SHARE_OF_ROWS:.0%} of them allow. About"
            f" {about(difficulty / HOPELESS * request.n)} rows would be the least."
            f"{other_relations(request)}"
        )


def search_region(request: SolveRequest, public: PublicRows) -> tuple[ReducedPolytope, float, bool]:
    """The bounded region of a search, what a row varies by, and whether its size is unknown."""
    costs = request.costs_of_hint()
    hint = None if costs is None else costs[1]

    def searched() -> tuple[ReducedPolytope, float, bool]:
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

    return request.public.once(("search region", hint), searched)


def _typical(region: ReducedPolytope) -> float:
    """What a row of norm 1 typically varies by over the region."""
    return float(np.exp(np.mean(np.log(region.unit)))) / math.sqrt(region.size)
