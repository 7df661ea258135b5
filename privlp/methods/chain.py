"""A chain of noisy descents, for any public polytope, small programs and objectives of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.methods.base import Method, PlannedRun
from privlp.methods.chain_charges import ChainCharges
from privlp.methods.chain_search import ChainSearch
from privlp.methods.checked import Checked, last_target
from privlp.methods.perturbed import Perturbed, search_region
from privlp.methods.perturbed_prices import MOST_ROWS
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws
from privlp.regions.public_rows import PublicRows
from privlp.relations.base import NeighbourRelation
from privlp.rows.access import Rows

# Noise on all coordinates over s, in rows, up to which most draws succeed; and so many times that
# the result is mostly noise. What a draw leaves at the first, of what a row varies by.
_DIFFICULT, _HOPELESS, _LEAVES = 0.18, 1.7, 0.1


class Chain(Method):
    """Find a deep point, then cheaper ones, by noisy projected descents; keep the safest.

    First noisy counts find a point with few missed rows on a public way, and how far each variable
    moves from there before it reaches a few times s sides. Bounds that are far wider are replaced
    by such moves, so loose bounds do not set the units. Descents without a cost, ever shorter, lead
    away from the rows, to a deep point. Stages from there minimise smoothed violations and costs,
    ever sharper. After each, counts on a curve to the deep point say where about s rows are missed.
    Where noise on all coordinates exceeds s rows, the last counts are on the public way too. A
    cheaper point that earlier counts speak for is taken in place of the last one. Counts at the
    point that is returned say how many rows it misses; where they speak against it, the best point
    that earlier counts speak for is returned, or else the safest one.

    *Neighbours*: constraint-private, one record with k rows, replaced, added or removed.

    *Sensitivity.* A slope is a sum over rows of s_i g_i with |g_i| <= 1 and s_i in [0, 1] (in
    [-1, 1] for the two sides of a row, which count as one vector). Replacing a record takes its
    vectors out and puts others in: the sum moves by at most 2v for v vectors, by v where records
    are added or removed. If noisy counts say that nearly all entries have one sign, other rows
    count for nothing; then no two vectors have a negative inner product, and the sum moves by at
    most sqrt(2) v where a record is replaced. Counts move by at most k, and a vector of d counts,
    one for each variable, by at most k sqrt(d). All points between are post-processing. Proof:
    ``docs/proofs.md``, "A chain of descents".

    *Budget.* All slopes and counts are charged together, before the first draw. Their shares follow
    from n, s, the number of coordinates, eps and delta.

    Without noise (eps = inf) it is ``"perturbed"``, whose limit is exact.

    Source: noisy gradients (Bassily, Smith and Thakurta 2014) in dual averaging (Nesterov 2009),
    with adaptive steps (Duchi, Hazan and Singer 2011).
    """

    name = "chain"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        has_delta = task.ledger.delta > 0 or math.isinf(task.ledger.eps)
        return task.lp.penalty is None and has_delta and not task.prices

    def adapted(self, task: Task) -> Task:
        return replace(task, width=None)

    def plan(self, task: Task) -> PlannedRun:
        task.constraint_private(self.name)
        if math.isinf(task.ledger.eps):
            return Perturbed().plan(task)
        if task.ledger.delta == 0:
            raise InvalidParameterError(
                "delta must be positive with this method, whose noise is Gaussian; or use"
                " method='dmw'.",
                parameter="delta",
            )
        if task.largest_n > MOST_ROWS:
            raise UnsupportedProblemError(
                f"method='chain' takes up to {MOST_ROWS:,} private rows: beyond, rounding of a sum"
                " of their slopes is not covered. Use method='perturbed'.",
                parameter="method",
            )
        task.refuse(self.name, width="it needs no declared bounds")
        s, _ = task.density(), task.accuracy()
        public = PublicRows(task.lp)
        region, typical, _ = search_region(task, public)
        charges = ChainCharges.of(task, s, region.size, signs=region.basis is None)

        difficulty = charges.difficulty / _DIFFICULT

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            target = last_target(task, charges.requests)
            search = ChainSearch(task, rows, public, region, charges, charges.named(draws), target)
            return Checked(task, rows, search, draws[-1])

        return PlannedRun(
            charges.requests,
            start,
            lambda: Prediction(
                self.name,
                _LEAVES * difficulty * typical,
                None,
                5 + charges.stages,
                charges.noise,
                yardstick=None if math.isinf(typical) else typical,
                difficulty=difficulty,
                hopeless=_HOPELESS,
            ),
        )
