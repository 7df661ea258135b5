"""A chain of noisy descents, for any public polytope, small programs and objectives of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from privlp.errors import UnsupportedProblemError
from privlp.methods.base import PlannedRun, Prediction, RowsMethod
from privlp.methods.chain.charges import ChainCharges
from privlp.methods.chain.search import ChainSearch
from privlp.methods.counts import Checked, last_target
from privlp.methods.limit import without_noise
from privlp.methods.perturbed.draws import MOST_ROWS
from privlp.methods.perturbed.method import search_region
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows

# Noise on all coordinates over s, in rows, up to which most draws succeed; and so many times that
# the result is mostly noise. Where "auto" places it among methods for hard rows.
_DIFFICULT, _HOPELESS, _RANK = 0.18, 1.7, 1
# Beyond so many times this over the root of the number of coordinates most draws fail at once, and
# below half of it few do. Seen on half-spaces of 10 to 80 variables, seeds 0 to 2, and on others
# with slacks of all sizes, seeds 0 and 1.
_CLIFF, _BEFORE_IT = 5.6, 2.7
# With an s beyond this share of the rows most draws need the same noise still: it is beside all
# rows in a descent. Seen on half-spaces of 2,000 to 5,000 rows, seeds 0 to 2.
_LARGEST_SHARE = 0.05
# Where entries of rows have one sign: noise on all coordinates, which is less by sqrt(2) then, and
# noise of one count, over s, up to which most draws succeed; and so many times that costs grow.
# Seen on packings and coverings of 5 to 80 variables, seeds 0 and 1.
_OF_ONE_SIGN, _OF_ONE_COUNT, _HOPELESS_OF_ONE_SIGN = 0.25, 0.04, 2.0


class Chain(RowsMethod):
    """Find a deep point, then cheaper ones, by noisy projected descents; keep the safest.

    First noisy counts find a point with few missed rows on a public way, from the cheapest point to
    a cheap corner of the bounds, their middle, or farther, also where most rows lie close together
    far from both of its ends. If all ends of such ways miss many rows, or an end is a corner of
    them, descents in ever larger regions look for a point amid the rows, about the cheapest point
    nearest to the middle, then about those at the ends of variables without a cost, and the way
    leads there. The same step from another end of variables, such as the one that lies away from
    all rows by a few noisy slopes, is the way if half of it is enough, and no dearer. Where most
    rows are met at once, as at the tip of a cone, variables that the way leaves alone and that
    reach no rows from its end move aside: the tip tells no scale of theirs. Descents of distances
    from where rows end, if 0 is not the cheapest point, look for their centre: rows may come close
    together far from that way, as at a corner that most of them share. Then another way begins
    there, or ends if few rows are missed there, and is taken unless the first one misses few rows
    at its cost. A start names another way, by its point to where its own solve was deep within the
    rows. Where noise of counts is small beside s, it comes first, and is taken if counts say that
    few rows are missed at its point and end, and many at less cost on the way to the middle. Counts
    say how far each variable moves from the point found before it reaches a few times s sides.
    Bounds that are far wider are replaced by such moves, so loose bounds do not set the units.
    Descents without a cost, ever shorter, lead away from the rows, to a deep point. Stages from
    there minimise smoothed violations and costs, ever sharper, and counts on a curve to the deep
    point say where a few times s rows are missed. Between stages a point moves half way to the
    least cost, as long as counts speak for that. A stage that went as far along the costs as it
    could is followed by one with more room; where costs are at stake that are many times the slack
    of rows, and noise is not large, by short descents first. Softness is no more than a few times
    what is at stake. The point of a stage that led back to the deep point is not used. From the tip
    of a cone, where rows tell no scale, the last point moves on as far as a count allows. Where
    noise on all coordinates exceeds s rows, the last counts are on the public way. Where the search
    still moves at its end, costs of its stages went up and down by many softnesses, or its steps
    are large beside what is at stake, a warning says so. Counts at the point that is returned,
    which may be a cheaper one that earlier counts speak for, say how many rows it misses; where
    they speak against it, the best point that earlier counts speak for is returned, or else the
    safest one.

    *Neighbours*: constraint-private, one record with k rows, replaced, added or removed.

    *Sensitivity.* A slope is a sum over rows of s_i g_i with |g_i| <= 1 and s_i in [0, 1] (in [-1,
    1] for the two sides of a row, which count as one vector, and for distances). Replacing a record
    takes its vectors out and puts others in: the sum moves by at most 2v for v vectors, by v where
    records are added or removed. If noisy counts say that nearly all entries have one sign, other
    rows count for nothing; then no two slopes of violations have a negative inner product, and
    their sum moves by at most sqrt(2) v where a record is replaced. Counts of missed rows move by
    at most v, because no point misses both sides of a row, others by at most k, a vector of d
    counts, one for each variable, by at most k sqrt(d), and counts by cells of a way, in one of
    which a side is met, by at most sqrt(2) k, or k where records are added or removed. All points
    between are post-processing. Proof: ``docs/proofs.md``, "A chain of descents".

    *Budget.* All slopes and counts are charged together, before the first draw. Their shares follow
    from n, s, the number of coordinates, eps and delta.

    Without noise (eps = inf) no row is protected: the optimum is found exactly, by rows that join
    the program where they are missed.

    Source: noisy gradients (Bassily, Smith and Thakurta 2014) in dual averaging (Nesterov 2009),
    with adaptive steps (Duchi, Hazan and Singer 2011).
    """

    name = "chain"
    takes_start = True
    take_it = (
        "whole rows are private, in boxes, with public rows or few variables; if you do not know"
    )
    auto_leaves_out = ("width",)

    def rank(self, request: SolveRequest) -> float | None:
        hard = request.lp.penalty is None and not request.prices
        return _RANK if hard and request.has_delta else None

    def plan(self, request: SolveRequest) -> PlannedRun:
        request.constraint_private(self.name)
        request.require_delta()
        if request.largest_n > MOST_ROWS:
            raise UnsupportedProblemError(
                f"method='chain' takes up to {MOST_ROWS:,} private rows: beyond, rounding of a sum"
                " of their slopes is not covered. Use method='perturbed'.",
                parameter="method",
            )
        request.refuse(self.name, width="it needs no declared bounds")
        s, public = request.density(), PublicRows(request.lp)
        region, typical, _ = search_region(request, public)
        if not request.has_noise:
            return without_noise(self.name, request)
        charges = ChainCharges.of(request, s, region.size, signs=region.basis is None)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            target = last_target(request, charges.requests)
            named = charges.named(draws)
            search = ChainSearch(request, rows, public, region, charges, named, target)
            return Checked(request, rows, search, draws[-1])

        beyond, root = max(1.0, s / (_LARGEST_SHARE * request.n)), math.sqrt(region.size)
        many = max(1.0, root / _BEFORE_IT)
        usual = charges.difficulty / _DIFFICULT * beyond * many
        of_one_sign = charges.difficulty * beyond
        of_one_sign *= max(1 / (math.sqrt(2) * _OF_ONE_SIGN), 1 / (2 * root * _OF_ONE_COUNT))

        def predicted(difficulty: float, hopeless: float) -> Prediction:
            return Prediction.of_difficulty(
                self.name,
                difficulty,
                typical,
                5 + charges.stages,
                charges.noise,
                hopeless=hopeless,
                largest_share=_LARGEST_SHARE,
                capped=beyond > 1,
            )

        hopeless = many * min(_HOPELESS * beyond, _CLIFF / root)
        run = PlannedRun(charges.requests, start, partial(predicted, usual, hopeless))
        if not charges.told[2] or of_one_sign >= usual:
            return run
        other = replace(run, predict=partial(predicted, of_one_sign, _HOPELESS_OF_ONE_SIGN))
        return replace(run, other=other, other_if="entries of private rows have one sign")
