"""What a chain of descents charges: all of it follows from public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from privlp.methods.base import ChargeRequest
from privlp.methods.chain.known import LOOKS, looks_tell
from privlp.methods.chain.near import (
    BY_VARIABLE,
    CENTRE_COUNTS,
    ON_THE_WAY,
    WIDTH_COUNTS,
    near_sides,
)
from privlp.methods.chain.start import CLEAR_CELL, COUNTS_BY_CENTRE, OF_START
from privlp.methods.counts import check_request, noise_of_one_release, share_of_check
from privlp.methods.perturbed.charges import secret_term
from privlp.methods.request import SolveRequest, cheapest_at_zero
from privlp.privacy import ChargedDraws, GaussianMechanism

# Noise on all coordinates, in rows, over s, in easy, hard and hopeless programs. Shares and numbers
# are interpolated in its logarithm.
_DIFFICULTIES = (0.1, 1.0, 2.0)
# Shares of the budget; slopes have the rest. In hopeless programs most is for a public way.
_START, _WAY, _WIDTHS = (0.04, 0.1, 0.4), (0.03, 0.03, 0.02), (0.04, 0.04, 0.04)
_DEEP, _SLACK, _BETWEEN = (0.04, 0.05, 0.05), (0.03, 0.03, 0.02), (0.1, 0.08, 0.06)
_LAST, _SIGNS, _CELLS = (0.12, 0.18, 0.25), (0.005, 0.03, 0.03), (0.005, 0.03, 0.03)
# With the search for the centre of the rows; it is not made where programs are this hard.
_WIDTHS_AND_CENTRE, _START_AND_CENTRE, _TOO_HARD = (0.07, 0.09, 0.04), (0.06, 0.15, 0.42), 1.5
# Counts at the start, then to halve what is left of the way; of near sides, along the way; of
# sides by their slack; after each stage; and in the last search.
_LOGARITHMIC, _LINEAR = (10, 10, 16), (24, 0, 0)
_WAY_COUNTS, _SLACK_COUNTS, _COUNTS, _LAST_COUNTS = 8, 6, (5, 3, 3), (7, 4, 8)
# Rows that come close together are looked for where noise of a count by variable is at most this
# share of all rows. Not if 0 is cheapest: sizes of rows, beside which they count as missed, are
# distances from there.
_OF_CENTRE = 0.13
# The share of slopes where there is one variable.
_SLOPES_OF_ONE = 0.1
# Times that a way is divided into cells, if a cell with this share of all rows stands out.
_DIVIDED, _IN_A_CELL = 2, 0.6
# Stages, rounds of slopes in all, and those of a descent to a deep point: at most so many of these,
# each with a count.
_STAGES, _ROUNDS, _OF_DEEP, _DESCENTS = (5, 2, 1), (280, 160, 80), (20, 40, 40), (8, 3, 2)
#: Rows have one sign if no more are counted to have another than so many deviations. That is asked
#: for if it is no more than this share of all rows.
WRONG_SIGNS, _MOST_WRONG = 4.0, 0.15


class ChainDraws(NamedTuple):
    """The charged draws of a run, in the order in which they are charged."""

    start: ChargedDraws  # Counts.
    slopes: ChargedDraws  # Sums of slopes of violations, for all descents.
    deep: ChargedDraws
    slack: ChargedDraws
    between: ChargedDraws
    last: ChargedDraws
    # Counts of near sides, on the way and by variable, of sides by their signs, and by where the
    # way crosses them, where noise leaves some to be told.
    way: ChargedDraws | None = None
    widths: ChargedDraws | None = None
    signs: ChargedDraws | None = None
    cells: ChargedDraws | None = None


@dataclass(frozen=True)
class ChainCharges:
    """The mechanisms of a run, and how many of its draws are for what.

    A gradient is a sum of vectors s_i g_i with |g_i| <= 1: it moves between neighbours by what the
    secret term of a perturbed program is charged for. A count of missed rows moves by at most v,
    other counts of sides by at most k, d counts at once by at most k sqrt(d), and counts by cells,
    where a row counts in one, by sqrt(2) k, or by k where records come and go.
    """

    requests: Sequence[ChargeRequest]
    # Whether sides near a point are told from others, on the way and for each variable; and
    # whether signs are, and cells of the way.
    told: tuple[bool, bool, bool, bool]
    centre: bool  # Whether the centre of the rows is looked for, by counts for each variable.
    looks: int  # Counts that a known point is looked at with; 0 if noise hides what they tell.
    difficulty: float  # Noise of one release on all coordinates, in rows, over s.
    # Counts on a logarithmic scale at the start; rounds of a descent to a deep point;
    # stages; and counts after each.
    logarithmic: int
    of_deep: int
    stages: int
    counts: int

    @property
    def noise(self) -> float:
        """Deviation of a slope, per unit of sensitivity."""
        slopes: Any = self.requests[1][0]
        return float(slopes.sigma / slopes.sensitivity)

    def named(self, draws: Sequence[ChargedDraws]) -> ChainDraws:
        """The charged draws by what they are for."""
        others = iter(draws[6:])
        start, slopes, deep, slack, between, last = draws[:6]
        asked = [next(others) if told else None for told in self.told]
        return ChainDraws(start, slopes, deep, slack, between, last, *asked)

    @classmethod
    def of(cls, request: SolveRequest, s: float, size: int, *, signs: bool) -> ChainCharges:
        """For so many coordinates, in which entries of rows keep their signs or not."""
        k = float(request.public.rows_of_one_record)
        v = float(request.public.vectors_of_one_record)
        largest = secret_term(request, 1.0, 0.0).sensitivity
        difficulty = largest * math.sqrt(size) * noise_of_one_release(request) / s
        hard = _hardness(difficulty)

        def between(values: tuple[float, float, float]) -> float:
            return float(np.interp(hard, (0.0, 1.0, 2.0), values))

        stages, counts, descents, logarithmic = (
            round(between(of)) for of in (_STAGES, _COUNTS, _DESCENTS, _LOGARITHMIC)
        )
        variables = k * math.sqrt(request.lp.shape[1])
        one = noise_of_one_release(request)

        def noise(moves: float, share: tuple[float, float, float], number: int) -> float:
            return moves * one * math.sqrt(number / between(share))

        at_most = near_sides(s, request.n, noise(k, _WAY, _WAY_COUNTS))
        by_variable = near_sides(s, request.n, noise(variables, _WIDTHS, WIDTH_COUNTS))
        wrong = WRONG_SIGNS * noise(math.sqrt(2) * k, _SIGNS, 1)
        by_one = k if request.relation.hides_rows else math.sqrt(2) * k
        in_a_cell = CLEAR_CELL * noise(by_one, _CELLS, _DIVIDED)
        told = (
            at_most <= ON_THE_WAY * request.n,
            by_variable <= BY_VARIABLE * request.n,
            signs and not request.relation.hides_rows and wrong <= _MOST_WRONG * request.n,
            in_a_cell <= _IN_A_CELL * request.n,
        )
        widths, of_widths = _WIDTHS_AND_CENTRE, WIDTH_COUNTS + CENTRE_COUNTS
        clear = told[1] and noise(variables, widths, of_widths) <= _OF_CENTRE * request.n
        centre = clear and hard <= _TOO_HARD and not cheapest_at_zero(request.lp)
        if not centre:
            widths, of_widths = _WIDTHS, WIDTH_COUNTS
        on_ways = logarithmic + round(between(_LINEAR)) + (COUNTS_BY_CENTRE if centre else 0)
        on_way = _START_AND_CENTRE if centre else _START
        told_start = looks_tell(OF_START * s, noise(v, on_way, on_ways))
        looks = LOOKS if request.start is not None and told_start else 0
        by_purpose: list[tuple[float, tuple[float, float, float] | None, int, str]] = [
            (
                v,
                on_way,
                on_ways + looks,
                "count missed rows on a way",
            ),
            (largest, None, round(between(_ROUNDS)), "sum the slopes of violations"),
            (v, _DEEP, descents, "count missed rows away from rows"),
            (k, _SLACK, _SLACK_COUNTS, "count rows by their slack"),
            (v, _BETWEEN, (stages + 1) * counts, "count missed rows between stages"),
            (v, _LAST, round(between(_LAST_COUNTS)), "count missed rows in the last search"),
        ]
        others = [
            (k, _WAY, _WAY_COUNTS, "count rows near a point"),
            (variables, widths, of_widths, "count rows near a point, by variable"),
            (math.sqrt(2) * k, _SIGNS, 1, "count rows by their signs"),
            (by_one, _CELLS, _DIVIDED, "count rows by where a way meets them"),
        ]
        by_purpose += [other for other, asked in zip(others, told, strict=True) if asked]
        shares = [between(share) if share else 0.0 for _, share, _, _ in by_purpose]
        checked = share_of_check(request, s)
        if size == 1:  # Counts tell all that slopes do.
            times = (1 - _SLOPES_OF_ONE - checked) / math.fsum(shares)
            shares = [times * share for share in shares]
        shares[1] = 1 - math.fsum(shares) - checked
        # Looks at a known point are as exact as other counts on ways; all others get less.
        more = shares[0] * looks / on_ways
        shares[0] += more
        shares = [share * (1 - checked) / (1 - checked + more) for share in shares]

        def make(intensity: float) -> list[ChargeRequest]:
            found: list[ChargeRequest] = []
            for (moves, _, number, purpose), share in zip(by_purpose, shares, strict=True):
                sigma = moves * math.sqrt(number / share) / intensity
                found.append((GaussianMechanism(moves, sigma), number, purpose))
            return [*found, check_request(request, checked, intensity)]

        intensity = request.ledger.calibrate_together(
            lambda intensity: [(mechanism, number) for mechanism, number, _ in make(intensity)]
        )
        of_deep = round(between(_OF_DEEP))
        return cls(
            make(intensity), told, centre, looks, difficulty, logarithmic, of_deep, stages, counts
        )


def _hardness(difficulty: float) -> float:
    """0 for easy programs, 1 for hard ones, 2 for hopeless ones."""
    ends = [math.log(of) for of in _DIFFICULTIES]
    return float(np.interp(math.log(max(difficulty, 1e-300)), ends, [0.0, 1.0, 2.0]))
