"""What a perturbed program charges: secret terms, covers and counts, and how far they move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from privlp.errors import UnsupportedProblemError
from privlp.methods.base import ChargeRequest
from privlp.methods.counts import check_request, noise_of_one_release, share_of_check
from privlp.methods.fallback import HALF_AS_BAD_AGAIN, shares
from privlp.methods.request import SolveRequest
from privlp.privacy import GaussianMechanism, GaussianObjectivePerturbation

_TOLD = 2.5  # So many deviations of the last comparison an answer half as bad again is to add.
# Shares of the stages, of what counts leave of the budget (its square, as a Gaussian parameter).
_STAGES, _SOFT_STAGES = (0.18, 0.24, 0.58), (0.08, 0.22, 0.7)
# Share of eps that the curvature of all stages takes, for hard and soft rows; the largest such
# part; and the parts of it that stages on soft rows take.
_CURVATURE, _SOFT_CURVATURE, _MOST_CURVATURE, _OF_CURVATURE = 0.2, 0.14, 30.0, (0.3, 0.35, 0.35)
# Shares of a stage that cover the error of its computed minimum, and that shadow prices take: three
# to seven times as much made them no better on seeds 10 to 13 of benchmarks/shadow_prices.py.
_COVER, _PRICES = 0.005, 0.15
# Numbers of counts, and their shares: at the start, to find the scale of rows, after each stage.
_START_COUNTS, _SCALE_COUNTS, _COUNTS = 8, 7, 6
_START, _SCALE, _BETWEEN, _HARD_SHARES = 0.02, 0.02, 0.03, 0.02
# The last counts: their deviation is this share of s, as far as the share of the budget allows.
_LAST_COUNTS, _LAST_ACCURACY, _LEAST_LAST, _MOST_LAST = 7, 0.25, 0.05, 0.35
# Soft rows: sums of shares and of moments, counts for the bound on norms, and counts for the size
# of violations before each stage.
_SHARES, _ROUNDS, _MOMENTS, _TURNS = 0.015, 3, 0.04, 8
_NORM_COUNTS, _NORM, _SIZE_COUNTS = 10, 0.015, 6
# Counts of sizes are to be this accurate, as a share of the rows, as far as these shares allow it.
# The first ones take twice as much: later sizes are looked for below them.
_SIZE, _LEAST_SIZE, _MOST_SIZE = 0.15, 0.006, 0.02
# Hard and soft rows: shares of the stages (of hard rows alone, then of both), and of the counts of
# missed hard rows.
_MIXED_STAGES, _MISSED_COUNTS, _MISSED = (0.1, 0.1, 0.2, 0.6), 14, 0.15
# Less goes to moments, comparisons and sizes there: shares and numbers.
_MIXED_BEFORE, _MIXED_SIZE = ((0.02, 2), 1.0), (0.006, 7)
OF_LINE = "compare costs on a public line"
OF_CHOICE = "compare the answer with a point of a public line"
#: Comparisons that find a point of the line. They and the last one are so many times as exact as
#: those of one quantile for everyone, and take no more than these shares.
LINE_COUNTS, _FINER = 12, 2.0
_MOST_COMPARED = 0.1, 0.06
_OF_SHARES = "sum each variable's share of the norm of rows"
_OF_MOMENTS = "sum the second moments of rows scaled to norm 1"
_OF_MISSED = "count missed"
# There are up to two corners for each vector of each stage, and no more than 2^1023 have a price.
_MOST_PARTS = 1023
#: A share of the budget, a number of counts, and what they are for.
Counts = tuple[float, int, str]


class PerturbedCharges(NamedTuple):
    """The mechanisms of a run."""

    # Counts before the stages; for each stage the secret term, the cover of its error, and counts;
    # at last the sum of slopes of violations, if shadow prices are asked for.
    requests: list[ChargeRequest]
    intensity: float  # Gaussian parameter of all of them together, but for the curvature.
    # Deviation of the last secret term, for rows of norm 1, for predictions; twice that where hard
    # rows have two sides, because noise misses them whichever way it moves x.
    sigma: float

    @property
    def terms(self) -> list[GaussianObjectivePerturbation]:
        """The secret term of each stage."""
        kind = GaussianObjectivePerturbation
        return [found for found, *_ in self.requests if isinstance(found, kind)]

    def told(self, records: int) -> float:
        """How surely the last comparison tells an answer half as bad again; below 1 it may not."""
        found = [kind for kind, _, purpose in self.requests if purpose == OF_CHOICE]
        sigma = float(found[0].sigma)  # type: ignore[attr-defined]
        return HALF_AS_BAD_AGAIN * records / (_TOLD * sigma) if sigma else math.inf

    @classmethod
    def hard(cls, request: SolveRequest, s: float) -> PerturbedCharges:
        """For hard rows."""
        before = [
            (_START, _START_COUNTS, f"{_OF_MISSED} rows on a public ray"),
            (_HARD_SHARES, 1, _OF_SHARES),
            (_SCALE, _SCALE_COUNTS, "count rows by the size of their right-hand sides"),
        ]
        after = [(_BETWEEN, _COUNTS, f"{_OF_MISSED} rows")] * len(_STAGES)
        draft = cls._of(request, before, after, _STAGES, s)
        k = request.public.rows_of_one_record
        share = _LAST_COUNTS * (k / (_LAST_ACCURACY * draft.intensity * s)) ** 2
        last = min(max(share, _LEAST_LAST), _MOST_LAST)
        after[-1] = (last, _LAST_COUNTS, f"{_OF_MISSED} rows")
        return cls._of(request, before, after, _STAGES, s)

    @classmethod
    def soft(
        cls, request: SolveRequest, *, clipped: bool, s: float | None = None
    ) -> PerturbedCharges:
        """For soft rows; with an s, among hard rows of which so many may be missed."""
        (moments, turns), finer = ((_MOMENTS, _TURNS), _FINER) if s is None else _MIXED_BEFORE
        before: list[Counts] = [(_SHARES, _ROUNDS, _OF_SHARES), (moments, turns, _OF_MOMENTS)]
        if clipped:
            before.append((_NORM, _NORM_COUNTS, "count rows by their norm"))
        of_count = noise_of_one_release(request) / request.public.records
        of_one = _moved_by_prices(request) * of_count
        line, choice = shares(finer * of_one, finer * of_one, LINE_COUNTS, _MOST_COMPARED)
        before += [(line, LINE_COUNTS, OF_LINE), (choice, 1, OF_CHOICE)]
        purpose = "count rows by the size of their violation"
        share = min(max(_SIZE_COUNTS * (of_count / _SIZE) ** 2, _LEAST_SIZE), _MOST_SIZE)
        stages: Sequence[float] = _SOFT_STAGES
        after = [(2 * share, _SIZE_COUNTS, purpose)]
        after += [(share, _SIZE_COUNTS, purpose)] * (len(stages) - 1)
        if s is not None:
            stages = _MIXED_STAGES
            after = [(*_MIXED_SIZE, purpose)] * len(stages)
        others = [] if s is None else [(_MISSED, _MISSED_COUNTS, f"{_OF_MISSED} hard rows")]
        return cls._of(request, before, after, stages, s, others, soft=True)

    @classmethod
    def _of(
        cls,
        request: SolveRequest,
        before: Sequence[Counts],
        after: Sequence[Counts],
        stages: Sequence[float],
        s: float | None = None,
        others: Sequence[Counts] = (),
        *,
        soft: bool = False,
    ) -> PerturbedCharges:
        _require_few_rows(request, len(stages))
        checked = 0.0 if s is None else share_of_check(request, s)
        left = 1 - math.fsum(share for share, _, _ in (*before, *after, *others)) - checked
        whole = min((_SOFT_CURVATURE if soft else _CURVATURE) * request.ledger.eps, _MOST_CURVATURE)
        parts = _OF_CURVATURE if soft and s is None else [1 / len(stages)] * len(stages)
        curvatures = [whole * part for part in parts]

        def make(intensity: float) -> list[ChargeRequest]:
            found = [_counts(request, intensity, *counts) for counts in before]
            for own, counts, bend in zip(stages, after, curvatures, strict=True):
                mu = intensity * math.sqrt(own * left)
                cover = GaussianMechanism(2.0, 2.0 / (mu * math.sqrt(_COVER)))
                found += [
                    (secret_term(request, mu, bend), 1, "perturb the convex program"),
                    (cover, 1, "cover the error of the computed minimum"),
                    _counts(request, intensity, *counts),
                ]
            if request.prices:
                largest = secret_term(request, mu, bend).sensitivity
                slopes = GaussianMechanism(largest, largest / (mu * math.sqrt(_PRICES)))
                found.append((slopes, 1, "sum the slopes of violations for shadow prices"))
            found += [_counts(request, intensity, *counts) for counts in others]
            return found if s is None else [*found, check_request(request, checked, intensity)]

        intensity = request.ledger.calibrate_together(lambda t: [one[:2] for one in make(t)])
        last = secret_term(request, intensity * math.sqrt(stages[-1] * left), curvatures[-1])
        both_ways = not soft and not last.one_sided
        return cls(make(intensity), intensity, last.sigma * (2 if both_ways else 1))


def _require_few_rows(request: SolveRequest, stages: int) -> None:
    """Refuse records of so many rows that the corners of all stages together are beyond a float."""
    times = 1 if request.relation.hides_rows else 2
    rows, most = secret_term(request, 1.0, 0.0).parts // times, _MOST_PARTS // (times * stages)
    if rows > most and math.isfinite(request.ledger.eps):
        raise UnsupportedProblemError(
            f"A perturbed program takes up to {most} rows of one record, not {rows:,}: what noise"
            " costs beyond is not known. Keep fewer rows of each record, or take method='staged'"
            " if rows are hard.",
            parameter="method",
        )


def _counts(
    request: SolveRequest, intensity: float, share: float, number: int, purpose: str
) -> ChargeRequest:
    """Counts of rows, each of which one record changes by at most k.

    No point misses both sides of a row: counts of missed rows change by at most v. Sums of
    shares are not negative, and those of one record have a norm of at most k. Second moments
    are positive semidefinite matrices g g^T with |g| <= 1, of Frobenius norm 1 at most; the
    inner product of two such is (g·h)^2 >= 0. So in both cases two records' sums differ by at
    most sqrt(2) k. Sums are exact; those of second moments are multiplied by sqrt(2) off the
    diagonal afterwards, and rows are shorter than 1 by more than that rounding. In a comparison
    of two points a record adds at most the sum of the prices of its rows, in units of the
    largest, either way.
    """
    k = float(request.public.rows_of_one_record)
    if purpose in (_OF_SHARES, _OF_MOMENTS):
        k *= math.sqrt(2)
    if purpose.startswith(_OF_MISSED):
        k = float(request.public.vectors_of_one_record)
    if purpose in (OF_LINE, OF_CHOICE):
        k = _moved_by_prices(request)
    return GaussianMechanism(k, k * math.sqrt(number / share) / intensity), number, purpose


def _moved_by_prices(request: SolveRequest) -> float:
    """What one record, replaced or not, moves a comparison of soft rows by."""
    prices, times = request.public.prices, 1 if request.relation.hides_rows else 2
    assert prices is not None  # noqa: S101 (rows are soft)
    return times * prices.of_record / prices.largest


def secret_term(
    request: SolveRequest, mu: float, curvature: float
) -> GaussianObjectivePerturbation:
    """The secret linear term of a program, whose largest Gaussian loss has the parameter mu.

    The gradient of one record's smoothed violations is a sum of s_i g_i over its rows. If the
    record is replaced, its vectors leave and others come. Each has a norm of at most the price of
    its row, in units of the largest price. A row with two sides is one vector, because both
    have the same g_i up to its sign. Its s_i lies between minus the price of one side and the price
    of the other: it is the difference of two slopes, whether or not both sides are within their
    softness at once. Other rows have s_i in [0, 1]. Hard rows have the price 1. Where a record may
    own one-sided ones beside those with two sides, each side counts as a row with s_i in [0, 1].
    """
    rows, public = request.public.rows_of_one_record, request.public
    opposite = 0.0
    if 2 * public.vectors_of_one_record <= rows:
        rows, opposite = public.vectors_of_one_record, 1.0
    price = float(rows)
    if public.prices is not None:
        rows, price = public.prices.rows, public.prices.of_record / public.prices.largest
        opposite = public.prices.opposite / public.prices.largest
    times = 1 if request.relation.hides_rows else 2
    return GaussianObjectivePerturbation(
        times * price,
        times * price / mu,
        curvature,
        one_sided=opposite < 1,
        parts=times * rows,
        largest_part=1.0,
        opposite_part=opposite,
    )
