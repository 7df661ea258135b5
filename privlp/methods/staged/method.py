"""``"staged"``: stages, or a chain in their place where rows ask for more and for less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from privlp.errors import PrivLPError
from privlp.methods.base import ChargeRequest, PlannedRun, Prediction, RowsMethod
from privlp.methods.chain.method import Chain
from privlp.methods.counts import Checked, StagedSearch
from privlp.methods.limit import without_noise
from privlp.methods.request import SolveRequest, cheapest_at_zero
from privlp.methods.staged.charges import StagedCharges, difficulty, noise_of_sum
from privlp.methods.staged.search import InTheirPlace, Stages
from privlp.methods.staged.sizes import Sizes, hint_of
from privlp.privacy import ChargedDraws, GaussianMechanism, exchanged, price_left, price_of
from privlp.rows.access import Rows
from privlp.rows.equal import different_rows

# Where "auto" places it among methods for hard rows: on a simplex of many variables, and else.
_FIRST, _SECOND = 0, 2
# Noise of a sum, in rows over s, beyond which a chain is better. Chosen on maps, diets and random
# coverings of 500 to 3,000 rows, seeds 0 to 2.
_NOISY, _NOISY_FROM_START = 0.25, 0.5
_MANY = 15  # So many variables are many.


class Staged(RowsMethod):
    """Several mirror descents in a row, for a program of which only costs bound the variables.

    The region is {u >= 0, cost·u = V}. Each stage minimises a smoothed sum of violations, from the
    released point of the stage before, by smaller steps. Between stages noisy counts find the V at
    which a few times s rows are missed; after the last stage, the V at which at most s are (by more
    than `alpha`, if it is given). Where counts say that earlier shares miss few rows at less cost,
    stages go on from these, and such points are kept for the end. Finite upper bounds of variables
    cap their shares, and public rows may bound the objective. `opt` is a hint: the first counts are
    made where it makes a few times s missed rows likely.

    From a `start` fewer and smaller stages follow, if its shares are clearly cheaper than even ones
    where counts say that both miss as many rows. What is charged for other stages then buys counts,
    which say more precisely which size keeps all but s rows. Nothing else is charged.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* Row i contributes z_i g_i, |g_i| <= 1 and z_i in [0, 1] functions of that row and
    of released points: the sum moves by at most 2k if a record is replaced, and by k if it is added
    or removed (:class:`~privlp.rows.on_simplex.RowsOfEqualNorm`). Of many rows, if a record is
    replaced, a stage reads those that secret coins choose: the terms of others are 0
    (:mod:`privlp.rows.program_rows`). Where a noisy count says that all
    entries of all rows have one sign, rows of norm sqrt(2) take their place, and a row with an
    entry of the other sign counts for nothing. The inner product of two such rows is not negative,
    so the sum moves by at most sqrt(2k^2 + 2k^2) = 2k
    (:class:`~privlp.rows.on_simplex.RowsOfOneSign`). Counts move by at most v, for
    of a row with two sides no point misses both; those by variable,
    to one of which a row adds 1, by at most sqrt(2) k together, or k. Proof:
    ``docs/proofs.md``, "Staged descent".

    *Budget.* All draws are Gaussian, and are charged together before the first.

    Without noise (eps = inf) no row is protected: the optimum is found exactly, by rows that join
    the program where they are missed.
    """

    name = "staged"
    takes_start = True
    take_it = (
        "whole rows are private, and costs alone bound 15 variables or more from 0, such as x >= 0"
    )
    auto_leaves_out = ("width",)

    def rank(self, request: SolveRequest) -> float | None:
        if request.lp.penalty is not None or request.prices or not request.has_delta:
            return None
        # Costs that bound many variables from 0: there a descent errs less.
        cost = request.lp.c[request.lp.bounds[:, 0] < request.lp.bounds[:, 1]]
        natural = cost.all() and cheapest_at_zero(request.lp) and len(cost) >= _MANY
        noisy = _NOISY if request.start is None else _NOISY_FROM_START
        first = natural and noise_of_sum(request)[1] <= noisy * request.density()
        return _FIRST if first else _SECOND

    def plan(self, request: SolveRequest) -> PlannedRun:
        request.constraint_private(self.name)
        request.refuse(self.name, width="it needs no declared bounds")
        s, sizes = request.density(), Sizes(request, hint_of(request))
        if not request.has_noise:
            return without_noise(self.name, request)
        size = sizes.region(sizes.middle).size
        charges = StagedCharges.of(request, size, trim=sizes.larger_helps)
        alone = not (request.auto and charges.signs) or request.start is not None
        other = None if alone else planned_chain(request)

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            different = different_rows(rows)
            taking_over = None if other is None else in_their_place(other, rows)
            search = Stages(request, different, charges, draws, sizes, taking_over)
            return Checked(request, different, search, draws[-1])

        def predict() -> Prediction:
            likely, typical = sizes.likely, math.inf
            if likely is not None:
                typical = sizes.region(likely).typical_norm / math.sqrt(size)
            hard, rounds = difficulty(charges.noise, size, s), charges.rounds + 1
            noise, note = charges.noise_of_a_round, sizes.note
            return Prediction.of_difficulty(self.name, hard, typical, rounds, noise, note=note)

        if_other = "private rows ask for more and for less"
        return PlannedRun(charges.requests, start, predict, other=other, other_if=if_other)


_LESS = 1 - 1e-9  # The price of what takes the place of other draws, for rounding.


def planned_chain(request: SolveRequest) -> PlannedRun | None:
    """The run of a chain, if public numbers allow one."""
    try:
        return Chain().plan(request)
    except PrivLPError:
        return None


def in_their_place(run: PlannedRun, rows: Rows[Any]) -> InTheirPlace:
    """How a planned run is played for the price of other draws, with the same check at its end."""

    def made(draws: Sequence[ChargedDraws]) -> StagedSearch:
        *unused, check = draws
        wanted = run.charges[:-1]
        noise = math.sqrt(price_of(wanted) / (_LESS * price_left(unused)))
        requests: list[ChargeRequest] = [
            (GaussianMechanism(of.sensitivity, noise * of.sigma), number, purpose)  # type: ignore[attr-defined]
            for of, number, purpose in wanted
        ]
        return run.start(rows, [*exchanged(unused, requests), check]).search  # type: ignore[attr-defined]

    return made
