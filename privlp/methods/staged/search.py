"""Several descents in a row, with noisy counts between them: the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.game.duals import AcceleratedDescent, ElasticDual
from privlp.game.loop import Game, Released
from privlp.methods.counts import CountsOfSums, NoisyCounts, StagedSearch, TargetSearch, last_target
from privlp.methods.request import SolveRequest
from privlp.methods.staged.charges import (
    LARGER,
    LEVELS,
    MOST_MISSED,
    Stage,
    StagedCharges,
    levels_of,
)
from privlp.methods.staged.sizes import Sizes
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import Entropic, Simplex
from privlp.rows.access import InMemory, Rows
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign, signs_and_spread
from privlp.rows.program_rows import MeasuredRows, share_of

# The size is looked for within this factor (its logarithm) of the one before.
_FACTOR = math.log(4.0)
# After the last stage it may be larger by this one.
_LAST_FACTOR = math.log(6.0)
_SURE = 3.0  # So many deviations of noise are hardly ever exceeded.
# Rows that have one sign are used as such if centring would not shorten them to less than this
# share of their norm.
_LEAST_SPREAD = 0.75
# No stage aims at more missed rows, as a share of all, unless s is more: shares found where most
# people are served and others left out hardly come back to these. Chosen on maps and diets, seeds 0
# to 2.
_MOST_AIMED = 1 / 3
_SURELY = 2.0  # No size is good enough if the fewest counted rows are more by so many deviations.
# Between stages a last count is made where at most s rows are missed with this probability. Stages
# go back to the cheapest point with s rows or fewer, by a count and a deviation, if the current
# place is farther by so much. Chosen with the next one on maps and diets, seeds 0 to 2.
_LIKELY, _FARTHER = 0.8, 0.05
# From a start, a size is likely within these factors (their logarithms) of the one before.
_LIKELY_ABOUT = 0.6, 0.3
# Even shares likely cost more, by up to this factor; a start is a good one if they cost more by
# the second (logarithms).
_EVEN_BEYOND, _CLEARLY = 2.0, 0.2
# Larger sizes than the one the last stage found have more even shares: their logarithms are divided
# by 1 plus so many times the way. So what few rows ask for need not grow with all the rest.
_EVENER = 1.0
_NEXT_TO_NOTHING = 1e-9  # Shares stay positive.
# Where noise is more than this share of s, counts do not tell how fast missed rows fall: near the
# last size at least so fast, in powers of e for each power of e that sizes rise by, as log-normal
# needs of deviation 1 do at 5 % of the rows. Chosen on made-up programs, seeds 0 to 2.
_NOISY, _STEEP = 0.25, 2.0
_SAFE = 0.97  # The last size keeps all but s rows with this probability, as far as counts tell.
# Where no public bound limits variables, and the objective grows so much, in its logarithm, while
# shares are found, as it does where no row limits them either: that is said.
_GREW = math.log(8.0)
_UNEVEN = (
    "The objective grew more than eight-fold while the search moved from equal shares of variables:"
    " some are worth far more than others, or no private row limits them, and it may be far from"
    " the best still. Give bounds for all variables, or units in which they are alike."
)
# Entries have both signs in one row if fewer rows than this share have one sign; and so do rows if
# those of each sign have a larger spread than the second share of all rows: by so many deviations
# as are clear.
_ONE_SIGN, _OTHERS = 0.9, 0.02
_BOTH_SIGNS = (
    "Private rows ask for more and for less of variables, by noisy counts of their signs, and this"
    " search is made for one of both: x may miss more rows, or cost many times more, than it need."
    " Try method='chain'."
)
_CHAIN_INSTEAD = (
    "Counts say that private rows ask for more and for less of variables, so the search of 'chain'"
    " was played for the price of the draws of 'staged',"
)


#: Makes the search of another method from draws that stages do not use; the last are of a check.
InTheirPlace = Callable[[Sequence[ChargedDraws]], StagedSearch]
Counting = ChargedDraws | CountsOfSums


class Stages(StagedSearch):
    """Stages for an unknown V: after each, V is where a multiple of s rows is missed."""

    def __init__(
        self,
        request: SolveRequest,
        rows: Rows[Any],
        charges: StagedCharges,
        draws: Sequence[ChargedDraws],
        sizes: Sizes,
        other: InTheirPlace | None = None,
    ) -> None:
        size = sizes.region(sizes.middle).size
        self._share, self._sign = np.full(size, 1 / size), 0
        super().__init__(request, charges.rounds, self._share)
        self._s, self._n, self._largest_n = request.density(), request.n, request.largest_n
        self._charges, self._draws, self._coins = charges, iter(draws[:-1]), draws[0]
        self._check = draws[-1]
        self._rows, self._sizes, self._place = rows, sizes, sizes.middle
        self._even_from, self._best = math.inf, (math.inf, self._share)
        self._at_bounds = float(request.n)  # Rows missed at the bounds of variables, at most.
        self.far = sizes.far
        self._last_aim = last_target(request, charges.requests) / self._s
        self._measured = rows.keep(partial(MeasuredRows, alpha=request.accuracy()))
        known = request.start if request.has_noise else None
        self._start = None if known is None else known.x
        self._v = float(request.public.vectors_of_one_record)
        self._in_their_place = other
        self._other: StagedSearch | None = None

    def _play(self) -> Iterator[None]:
        if self._measure_sign() and self._in_their_place is not None:
            self._other = self._in_their_place([*self._draws, self._check])
        if self._other is not None:
            yield from self._play_other(self._other)
            return
        stages = self._charges.stages
        good_start = self._begins(next(self._draws))
        yield
        if good_start:
            yield from self._play_on()
            return
        first = self._place
        for stage, following in zip(stages, [*stages[1:], None], strict=True):
            yield from self._descend(stage, next(self._draws))
            draw = next(self._draws)
            if following is None and self._charges.trim:
                draw = self._trim(draw)
            low = self._place - _FACTOR
            if following is not None:
                counts = self._search(draw, following.aim, low, self._place + _FACTOR)
                self._go_back(counts, draw.sigma)
            else:  # the last size: that at which surely at most s rows are missed
                self._even_from = self._place
                self._search(draw, self._last_aim, low, self._place + _LAST_FACTOR, _SAFE)
            if self._sizes.note and first - self._place > _GREW:
                self._warning = _UNEVEN
            yield

    def _begins(self, draw: ChargedDraws) -> bool:
        """Find the first size; whether shares of a start are clearly cheaper than even ones."""
        aim, ends, even = self._charges.stages[0].aim, self._sizes.ends, self._share
        given = None if self._start is None else self._sizes.known(self._start)
        if self._start is None or given is None:
            self._search(draw, aim, *ends, start=True)
            return False
        counts, number = NoisyCounts(self._measured, MeasuredRows.missed, draw), draw.remaining // 2
        self.known.append((counts(self._start) + _SURE * counts.sigma, self._start))
        self._place, self._share = given
        self._search_about(draw, aim, _FACTOR, number=number - 1)
        given, likely = (self._place, self._share), (self._place, self._place + _EVEN_BEYOND)
        self._share = even
        self._search(draw, aim, *ends, start=True, likely=likely)
        if given[0] + _CLEARLY > self._place:
            return False
        self._place, self._share = given
        return True

    def _play_on(self) -> Iterator[None]:
        """Stages from the start, and a search by all draws that are left."""
        stages, charged = self._charges.from_known, len(self._charges.stages)
        *draws, last = self._draws
        sums, counts = draws[0 : 2 * charged : 2], draws[1 : 2 * charged - 1 : 2]
        for stage in stages:
            self._search_about(counts.pop(0), stage.aim, _FACTOR)
            yield from self._descend(stage, sums.pop(0))
        self._even_from = self._place
        left = CountsOfSums(last, [*sums, *counts], self._v)
        self._search_about(left, self._last_aim, _LAST_FACTOR, _SAFE)
        yield from repeat(None)  # what is charged for other rounds was spent on counts

    def _search_about(
        self,
        draw: Counting,
        aim: float,
        factor: float,
        probability: float = 0.5,
        *,
        number: int | None = None,
    ) -> None:
        """Find the size, likely near the place where stages are."""
        at = self._place
        ends, likely = (at - _FACTOR, at + factor), (at - _LIKELY_ABOUT[0], at + _LIKELY_ABOUT[1])
        self._search(draw, aim, *ends, probability, likely=likely, number=number)

    def _play_other(self, search: StagedSearch) -> Iterator[None]:
        """The rounds of another search, which finds the point, and then none."""
        self.method, self.known, self.far = "chain", search.known, search.far
        for t in range(search.rounds):
            search.step(t)
            yield
        yield from repeat(None)

    def _measure_sign(self) -> bool:
        """Find the sign of all entries, if rows have one, or 0; whether many have the other one."""
        if not self._charges.signs:
            return False
        draw = next(self._draws)
        region = self._sizes.region(self._sizes.middle)
        noisy = np.asarray(draw(self._rows.total(signs_and_spread, region)))
        for sign, count, spread in ((-1, *noisy[:2]), (1, *noisy[2:])):
            if count >= self._n - _SURE * draw.sigma and spread >= _LEAST_SPREAD * self._n:
                self._sign = sign
                return False
        in_one_row = noisy[0] + noisy[2] < _ONE_SIGN * self._n - _SURE * math.sqrt(2) * draw.sigma
        # Empty rows have no spread: so those of each sign ask for something.
        both = in_one_row or min(noisy[1], noisy[3]) > _OTHERS * self._n + _SURE * draw.sigma
        if both:
            self._warning = _BOTH_SIGNS
        return bool(both)

    def _scaled(self, simplex: Simplex, share: float = 1.0) -> Rows[Any]:
        """The rows in the units of a stage, or a share of them."""
        n, rows = self._largest_n, self._rows
        if share < 1:
            rows = rows.keep(partial(share_of, share=share, key=self._coins.secret_key()))
        make = partial(RowsOfOneSign, sign=self._sign) if self._sign else RowsOfEqualNorm
        own = isinstance(rows, InMemory)
        return rows.keep(partial(make, simplex=simplex, largest_n=n, in_memory=own))

    def _descend(self, stage: Stage, draw: ChargedDraws) -> Iterator[None]:
        """Play a stage from the current shares, one round at a time."""
        # Costs a little lower than those found: else nothing asks for better points.
        simplex = self._sizes.region(max(self._place - stage.push, self._sizes.ends[0]))
        scaled = self._scaled(simplex, stage.share)
        player = AcceleratedDescent(Entropic(simplex, stage.step, self._share), draw)
        # Rows of one sign are longer by sqrt(2).
        dual = ElasticDual(scaled, player.point, stage.softness * (2 if self._sign else 1))
        game = Game(dual, player, rounds=stage.rounds)
        for t in range(stage.rounds):
            game.step(t)
            yield
        self._share = player.shares
        self._note("sizes", self._sizes.value(self._place))

    def _trim(self, draw: ChargedDraws) -> ChargedDraws:
        """Let variables fall one by one, if a count speaks for it. The draw of the last counts."""
        last, place, form = next(self._draws), self._place + LARGER, self._sizes.form
        share = self._sizes.region(place).nearest(self._share)
        ends = self._at(place), form.shift
        noisy = np.asarray(draw(self._measured.total(MeasuredRows.needs, *ends, LEVELS).ravel()))
        counts = noisy.reshape(-1, LEVELS)[form.column]
        share = share * np.maximum(levels_of(counts, draw.sigma, share, self._s), _NEXT_TO_NOTHING)
        cost = place + math.log(max(share.sum(), 1e-300))
        if self._sizes.ends[0] <= cost < self._place:
            before = self._place, self._share
            self._place, self._share = cost, share / share.sum()
            missed = self._measured.total(MeasuredRows.missed, self._at(cost))
            if last(float(missed)) > MOST_MISSED * self._s:
                self._place, self._share = before
        return last

    def _at(self, place: float) -> FloatArray:
        """The user's x of the current shares at a place."""
        share = self._share
        if place > self._even_from:
            even = 1 + _EVENER * (place - self._even_from)
            share = (share / share.max()) ** (1 / even)
            share /= share.sum()
        return self._sizes.point(place, share)

    def _search(
        self,
        draw: Counting,
        aim: float,
        low: float,
        high: float,
        probability: float = 0.5,
        *,
        start: bool = False,
        likely: tuple[float, float] | None = None,
        number: int | None = None,
    ) -> dict[float, float]:
        """Find where about aim * s rows are missed at these shares; all noisy counts, by place."""
        sizes, sigma, number = self._sizes, draw.sigma, number or draw.remaining
        low, high = max(low, sizes.ends[0]), min(high, sizes.ends[1])
        counts: dict[float, float] = {}

        def count(place: float) -> float:
            missed = self._measured.total(MeasuredRows.missed, self._at(place))
            counts[place] = float(draw(float(missed)))
            return counts[place]

        if start:
            self._at_bounds = count(low) + _SURE * sigma
        target = min(aim * self._s, max(self._s, _MOST_AIMED * self._n))
        if self._at_bounds < 2 * target:  # many rows hold at the bounds
            target = max(self._s, self._at_bounds / 2)
        likely = likely or (sizes.likely_start if start else None)
        steep = _STEEP if probability > 0.5 and sigma > _NOISY * self._s else 1.0
        posterior = TargetSearch(
            target, low, high, sigma=sigma, most=self._n, likely=likely, least_slope=steep
        )
        for place, found in counts.items():
            posterior.learn(place, found)
        between = not start and probability == 0.5
        left, as_good = number - len(counts) - between, _SURELY * sigma
        self._place = posterior.search(count, left // 2 if start else left, probability)
        if start:
            left -= left // 2
            if min(counts.values()) - as_good > target:
                posterior.learn(high, count(high))
                left -= 1
            if min(counts.values()) - as_good > target:
                self._change(count, counts, low, high, left)
                return counts
            self._place = posterior.search(count, left)
        if between:
            place = posterior.quantile_of(self._s, _LIKELY)
            posterior.learn(place, count(place))
            self._place = posterior.median
        fewest = min(counts.values())
        if fewest - as_good > target:  # the smallest size as good as others
            self._place = min(at for at, found in counts.items() if found <= fewest + as_good)
        return counts

    def _change(
        self,
        count: Callable[[float], float],
        counts: dict[float, float],
        low: float,
        high: float,
        left: int,
    ) -> None:
        """Find about where counts change from that at the least size to that at the largest one."""
        begin, end = counts[low], counts[high]
        for _ in range(left):
            middle = 0.5 * (low + high)
            found = count(middle)
            low, high = (middle, high) if abs(found - begin) < abs(found - end) else (low, middle)
        self._place = low

    def _go_back(self, counts: dict[float, float], sigma: float) -> None:
        """Go back to cheaper shares at which s rows or fewer were counted, if there are any."""
        self.known += [(found + _SURE * sigma, self._at(at)) for at, found in counts.items()]
        few = [at for at, found in counts.items() if found + sigma <= self._s]
        good = min(few, default=math.inf)
        self._best = min(self._best, (good, self._share), key=lambda of: of[0])
        if self._best[0] + _FARTHER < self._place:
            self._place, self._share = self._best

    def released(self) -> Released:
        """The last point that a stage ended with, and the sizes of all stages."""
        if self._other is not None:
            return replace(self._other.released(), message=_CHAIN_INSTEAD)
        self._x = self._at(self._place)
        return super().released()
