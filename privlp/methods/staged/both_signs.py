"""A chain of descents in place of stages, where private rows ask for more and for less."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from privlp.errors import PrivLPError
from privlp.methods.base import ChargeRequest, PlannedRun
from privlp.methods.chain.method import Chain
from privlp.methods.counts import StagedSearch
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws, GaussianMechanism, exchanged, price_left
from privlp.rows.access import Rows

#: Makes the search of another method from draws that stages do not use; the last are of a check.
InTheirPlace = Callable[[Sequence[ChargedDraws]], StagedSearch]

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
        asked = math.fsum(mechanism.price.mu**2 * number for mechanism, number, _ in wanted)
        noise = math.sqrt(asked / (_LESS * price_left(unused)))
        requests: list[ChargeRequest] = [
            (GaussianMechanism(of.sensitivity, noise * of.sigma), number, purpose)  # type: ignore[attr-defined]
            for of, number, purpose in wanted
        ]
        found: StagedSearch = run.start(rows, [*exchanged(unused, requests), check]).search  # type: ignore[attr-defined]
        return found

    return made
