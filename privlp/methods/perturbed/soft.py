"""Stages of perturbed programs on soft rows, whose prices are given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.counts import NoisyCounts, StagedSearch
from privlp.methods.fallback import keeps, reach
from privlp.methods.perturbed.draws import Bend, Draws, draws_of_stages, prices_of_public_rows
from privlp.methods.perturbed.line import Comparison
from privlp.methods.perturbed.paths import above, scaled_or
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.problem.data import SoftPrices
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import (
    RowsInCoordinates,
    norms,
    shares_of_norm,
    symmetric_of,
    upper_of,
)
from privlp.rows.program_rows import RowBlock

# Softness of violations, as a share of their typical size: before the last stage; and in it, where
# it grows with sqrt(p) over the number of records and over e^kappa - 1, up to the largest share.
SOFTNESS, _PER_CURVATURE, _LEAST_SOFTNESS, _MOST_SOFTNESS = 0.4, 60.0, 1e-3, 0.6
# Rows that may be longer than the bound: this many times the norm of the last secret term, up to a
# share of all rows. Scaling rows down biases little, and noise is in proportion to the bound.
_CLIPPED, _MOST_CLIPPED = 120.0, 0.7
# Binary logarithms between which norms and the sizes of violations are searched.
_NORMS, _SIZES = (-40.0, 40.0), (-26.0, 6.0)
_SMALLER = 10.0  # Violations fall by no more than this binary logarithm in a stage.
# So large a part of the rows violate by more than the typical size, as far as counts tell it by so
# many deviations: where most rows agree, as on 0, half of them say nothing of the others. Near the
# end this is what half of them exceed, if multiplied by the last number.
_PART_BEYOND, _TOLD, _OF_TYPICAL = 0.25, 2.0, 0.55
# What a row says is bounded by so many typical changes of a row, on the line and beside the answer:
# the shorter, the more is told.
_ON_LINE, _REACH = 0.5, 1.5
# An end stays where a comparison speaks against it by so many deviations; by more where these are
# so large a part of the rows. An answer that only seems cheaper is not kept there.
_SURELY, _MORE_SURELY, _NOISY = 1.2, 2.0, 0.25
# Two steps go one way if the cosine is more. Where violations then fall by no more than this binary
# logarithm, the search goes on by so large a part of the last step at most.
_ONE_WAY, _HARDLY_LESS, _FARTHER = 0.9, 1.0, 1.0
# A last step one way, so many times as long as the one before, did not arrive if the quadratic held
# it with so many deviations of the secret term; nor did a shorter one, if it and the one before
# were held with so many.
_AS_LONG, _PULLED, _HELD = 0.5, 1.3, (1.4, 2.6)
# Where few rows decide, nor did one that was held by so large a part of what these may pull.
_HELD_OF_DECIDING = 0.06
_INSTEAD = (
    "A noisy comparison of costs does not speak for the answer of the search, so a point of a"
    " public line is released in its place. More rows, a larger eps or fewer variables would help."
)
_UNSURE = (
    "The answer seems cheaper than a simple one, a point of a public line, but noise leaves that in"
    " doubt. More rows, a larger eps or fewer variables would help."
)
_ON_THE_WAY = (
    "The last steps of the search went as far as they could, so the answer may be far from the"
    " optimum. Narrower bounds, more rows or a larger eps would help."
)


class SoftRowSearch(StagedSearch):
    """Stages for soft rows: coordinates in which rows vary alike, a bound on norms, programs."""

    def __init__(
        self,
        request: SolveRequest,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        draws: Sequence[ChargedDraws],
        *,
        prices: SoftPrices,
        width: float | None,
    ) -> None:
        self._shares, self._moments, *rest = draws
        self._bound = rest.pop(0) if width is None else width
        self._line, self._choice, *rest = rest
        self._stages = draws_of_stages(rest)
        super().__init__(request, 1 + len(self._stages), region.point(region.inside))
        self._n, self._k = request.n, request.public.rows_of_one_record
        self._most = request.largest_n
        self._soft = self._n - prices.hard
        self._deciding = prices.weaker * request.public.deciding
        self._price, self._bend = float(prices.largest), Bend.of(request.public)
        self._rows, self._public, self._region = rows, public, region

    def _play(self) -> Iterator[None]:
        region, unit = self._scaled()
        compared = Comparison(self._rows, region, self._public, self._price, unit)
        noisy = self._line.sigma > _NOISY * self._n
        surely = _MORE_SURELY if noisy else _SURELY
        simple = self._x = compared.along(self._x, self._line, most=_ON_LINE, surely=surely)
        self._note("point of a public line", simple)
        yield
        kept = self._rows.keep(
            partial(RowsInCoordinates, region=region, unit=unit, largest_price=self._price)
        )
        cost = region.cost(self._public.cost) / (self._price * unit)
        z = region.within(region.coordinates(self._x))
        way: list[FloatArray] = [z]
        sizes: list[float] = []
        pulls: list[float] = []
        for number, draws in enumerate(self._stages):
            last = number == len(self._stages) - 1
            kept.update(RowsInCoordinates.go_to, z)
            # Violations grow by no more than a step, because rows have norm 1 at most.
            most = sizes[-1] + float(np.linalg.norm(z - way[-2])) if sizes else None
            size, half = self._size(kept, draws, most)
            sizes.append(size)
            centre = region.within(_extrapolated(way)) if _hardly_falls(sizes) else z
            # The strength of the quadratic is about 1/(softness (e^kappa - 1)). A smaller softness
            # makes it stronger than the sum over rows needs; more rows bear a stronger one.
            softness = half * self._finest(draws) if last else size * SOFTNESS
            z, slopes = draws.minimum(
                kept,
                region,
                cost,
                centre,
                softness=softness,
                shift=softness / 2,
                bend=self._bend,
                n=self._most,
                cheaper=True,
            )
            way.append(z)
            pulls.append(self._pull(draws, softness, z - centre))
            self._x = region.point(z)
            weight = 1 / (self._price * unit)
            self._prices = prices_of_public_rows(self._public, region, slopes, weight)
            self._note("x", self._x)
            self._note("softness", softness)
            if last and (_has_not_arrived(way, pulls) or self._is_held(draws, pulls[-1])):
                self._warning = _ON_THE_WAY
            if last and self._is_worse(compared, simple):
                self._x, self._warning = simple, _INSTEAD
                if self._prices is not None:  # they are those of another point
                    self._prices = np.full_like(self._prices, np.nan)
            self._x = np.clip(self._x, *self._public.bounds.T)
            yield

    def _size(self, kept: Rows[Any], draws: Draws, most: float | None) -> tuple[float, float]:
        """A size of violations that a quarter of the rows exceed, and one that half of them do."""
        counts = NoisyCounts(kept, RowsInCoordinates.farther_than, draws.counts)
        target = min(max(_PART_BEYOND * self._n, _TOLD * counts.sigma), self._n / 2)
        low, high = _SIZES
        if most is not None:
            high = min(math.log2(most), high)
            low = high - _SMALLER
        size = float(2.0 ** counts.first_below(target, lambda t: 2.0**t, low, high)[0])
        return size, size * (_OF_TYPICAL if target < self._n / 2 else 1.0)

    def _pull(self, draws: Draws, softness: float, step: FloatArray) -> float:
        """How hard the quadratic of a stage held its step, in deviations of the secret term."""
        if draws.sigma == 0:
            return 0.0
        held = draws.strength(softness, len(step), self._bend) * float(np.linalg.norm(step))
        return held / (draws.sigma * math.sqrt(len(step)))

    def _is_held(self, draws: Draws, pull: float) -> bool:
        """Whether the quadratic held a step by much of what the rows that decide may pull."""
        most, size = _HELD_OF_DECIDING * self._n * self._deciding, self._region.size
        return self._deciding < 1 and pull * draws.sigma * size > most

    def _scaled(self) -> tuple[ReducedPolytope, float]:
        """The region in coordinates in which rows vary alike, and a bound on most norms."""
        region, weights = evened(self._region, self._public, self._rows, self._shares, self._most)
        self._note("weights", weights)
        region = whitened(region, self._rows, self._moments, self._most)
        if isinstance(self._bound, ChargedDraws):
            unit = self._norm_of_most_rows(region, self._bound)
        else:
            unit = self._bound * float(region.unit.max())
        self._note("norm bound", unit)
        return region, unit

    def _finest(self, draws: Draws) -> float:
        """Softness of the last stage, as a share of the typical violation."""
        share = math.sqrt(self._region.size) / (self._n / self._k * math.expm1(draws.curvature))
        return min(max(_PER_CURVATURE * share, _LEAST_SOFTNESS), _MOST_SOFTNESS)

    def _is_worse(self, compared: Comparison, simple: FloatArray) -> bool:
        """Whether a noisy comparison speaks against the answer; where it is in doubt, warn."""
        sigma, records = self._choice.sigma, self._n // self._k
        most = reach(sigma, records, _REACH)
        # Where a norm is far too short, public costs outweigh all that rows may say.
        more = compared.difference(self._x, simple, self._choice, most, cheaper=self._n / 2)
        decide = self._decide(compared, simple, most)
        unsure = not keeps(more, sigma, decide)
        if unsure and more < 0 and sigma <= _NOISY * decide:
            self._warning = _UNSURE
            return False
        return unsure

    def _decide(self, compared: Comparison, simple: FloatArray, most: float) -> float:  # noqa: ARG002
        """How many records decide between the answer and a simple point."""
        return self._n // self._k

    def _norm_of_most_rows(self, region: ReducedPolytope, clip: ChargedDraws) -> float:
        """A bound on norms that a public number of rows may exceed.

        The secret term has the norm sigma sqrt(p) times the bound, and the rows that are scaled
        down change the gradient by at most their number times the bound.
        """
        counts = NoisyCounts(self._rows.keep(partial(_norms, region=region)), above, clip)
        longer = _CLIPPED * self._stages[-1].sigma * math.sqrt(region.size)
        target = min(max(3 * counts.sigma, longer), _MOST_CLIPPED * self._soft)
        return float(2.0 ** counts.first_below(target, lambda t: 2.0**t, *_NORMS)[0])


def _extrapolated(way: Sequence[FloatArray]) -> FloatArray:
    """The last point of a way, or farther on if its steps go one way: what such steps leave."""
    if not _goes_one_way(way):
        return way[-1]
    first, last = way[-2] - way[-3], way[-1] - way[-2]
    ratio = float(first @ last) / float(first @ first)
    return way[-1] + (min(ratio / (1 - ratio), _FARTHER) if ratio < 1 else _FARTHER) * last


def _goes_one_way(way: Sequence[FloatArray]) -> bool:
    """Whether the last two steps of a way go about the same way."""
    if len(way) < 3:
        return False
    first, last = way[-2] - way[-3], way[-1] - way[-2]
    return float(first @ last) > _ONE_WAY * float(np.linalg.norm(first) * np.linalg.norm(last))


def _has_not_arrived(way: Sequence[FloatArray], pulls: Sequence[float]) -> bool:
    """Whether the quadratic held the last steps more than noise explains: public."""
    before, step = (float(np.linalg.norm(way[k] - way[k - 1])) for k in (-2, -1))
    long = step > _AS_LONG * before and pulls[-1] > _PULLED and _goes_one_way(way)
    return long or (pulls[-2] > _HELD[0] and pulls[-1] > _HELD[1])


def _hardly_falls(sizes: Sequence[float]) -> bool:
    """Whether violations hardly fell in the last step."""
    return len(sizes) > 1 and sizes[-1] > sizes[-2] / 2**_HARDLY_LESS


def _norms(block: RowBlock, region: ReducedPolytope) -> FloatArray:
    """Norms of soft rows in the coordinates of a region, each computed from its row alone."""
    found = norms(block, region)[0]
    return found if block.price is None else np.where(np.isinf(block.price), 0.0, found)


# Moments below this share of a row's are not told apart, however small the noise.
_LEAST_MOMENT = 1e-4
# Moments within this ratio count as alike: what noise would tell of them is not worth following.
_ALIKE = 3.0
# Longer units are taken back if the moment in them rose by less than this power of what all rows
# would give, and by so many deviations. Few rows have that direction then, as the people of one
# place among many: longer units tell nothing more of them, and make their rows longer than others.
_RESPONDS, _DOUBT = 0.35, 1.5
_LONGER = 1.01  # A unit that is longer by less is not: turns round it.
_LONGEST = 1e5  # No unit is longer than another by more: doubles would not bear it.


def evened(
    region: ReducedPolytope, public: PublicRows, rows: Rows[Any], draws: ChargedDraws, most: int
) -> tuple[ReducedPolytope, FloatArray]:
    """The region in which variables have equal shares of the norms, as far as rows allow."""
    least, first = max(2 * draws.sigma, _LEAST_MOMENT * most), None
    weights, unit = np.ones(len(public.cost)), np.ones(len(region.live))
    few = np.zeros(len(unit), dtype=bool)
    while draws.remaining:
        noisy = np.asarray(draws(rows.total(shares_of_norm, region, most)))
        first = noisy if first is None else first
        few |= _hardly_rose(first, noisy, unit, draws.sigma)
        noisy = np.maximum(noisy, least)
        unit = np.where(few, 1.0, unit * np.sqrt(noisy.max() / noisy))
        weights[region.live] = unit
        region = scaled_or(region, public, math.inf, weights)
    return region, weights


def whitened(
    region: ReducedPolytope, rows: Rows[Any], draws: ChargedDraws, most: int
) -> ReducedPolytope:
    """The region in coordinates in which rows vary alike in all directions, as far as told."""
    p, start, first = region.size, region, None
    least = max(draws.sigma * math.sqrt(2 * p), _LEAST_MOMENT * most)
    few = np.zeros((p, 0))  # directions that few rows have
    left, unit, right = np.eye(p), np.ones(p), np.eye(p)  # the turn from the start, in its axes
    while draws.remaining:
        kept = rows.keep(partial(RowsInCoordinates, region=region))
        exact = kept.total(RowsInCoordinates.second_moments, most)
        found = symmetric_of(np.asarray(draws(upper_of(exact))), p)
        first = found if first is None else first
        then = np.einsum("ij,ik,kj->j", left, first, left)
        now = np.einsum("ji,ik,jk->j", right, found, right)
        back = _hardly_rose(then, now, unit / unit.min(), draws.sigma)
        turn = (left * np.where(back, unit.min(), unit)) @ right
        few = np.linalg.qr(np.hstack([few, right[back].T]))[0]
        others, largest = np.eye(p) - few @ few.T, float(np.linalg.eigvalsh(found).max())
        moments, axes = np.linalg.eigh(others @ found @ others + largest * few @ few.T)
        ratio = largest / np.maximum(moments, least)
        ratio[ratio < _ALIKE] = 1.0
        left, unit, right = np.linalg.svd(turn @ (axes * np.sqrt(ratio)) @ axes.T)
        unit = np.minimum(unit, _LONGEST * unit.min())
        region = start.turned((left * unit) @ right)
    return region


def _hardly_rose(first: FloatArray, now: FloatArray, longer: FloatArray, sigma: float) -> Any:
    """Where units are longer by so much, and moments beside the largest one did not follow."""
    doubt = _DOUBT * sigma
    rise = np.log(np.maximum(now + doubt, 1e-300) / np.maximum(first - doubt, 1e-300))
    rise -= math.log(max(now.max(), 1e-300) / max(first.max(), 1e-300))
    return (longer > _LONGER) & (now > doubt) & (rise < 2 * _RESPONDS * np.log(longer))
