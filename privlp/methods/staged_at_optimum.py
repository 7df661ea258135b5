"""Staged descent at a given size of the objective, as long as noisy counts bear it out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.duals.elastic import ElasticRows
from privlp.methods.crossing import Crossing
from privlp.methods.given import Given
from privlp.methods.halving import Halving
from privlp.methods.staged_charges import COUNTS, Stage, StagedCharges
from privlp.methods.staged_run import (
    FACTOR,
    LAST_FACTOR,
    SURE,
    SURELY,
    Stages,
    deviation,
)
from privlp.methods.staged_sizes import Sizes
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import Simplex
from privlp.rows.door import Rows
from privlp.rows.missed import MeasuredRows

FloatArray = npt.NDArray[np.float64]

# Noisy counts ask for the V at which so many times s rows are missed; the factors below are given
# by their logarithms.
_CHECKED = 2.0
# The given V was too high if that one is lower by this factor; by the second where noise asks for
# more rows than that.
_TOO_HIGH, _TOO_HIGH_IN_NOISE = 0.1, 0.3
# It was too low if that one is higher by this factor: after the first stage, whose points are
# rough, or after others. Higher ones are looked for up to the third; but the result is at most so
# many times worse than the given V, or else the given V stays after all.
_TOO_LOW_AT_FIRST, _TOO_LOW, _FARTHEST = 0.3, 0.2, 3.5
_WORST = math.log(4.0)
# The last V keeps all but s rows with this probability, as far as counts tell. Counts may be wrong
# about it, so this part of what it saves is given back, or this factor (its logarithm) if that is
# less.
_SAFE, _CAUTION, _MOST_CAUTION = 0.99, 0.2, 0.04
# Levels are those that so many times s rows exceed.
_NEAR, _FAR = 4.0, 8.0
# Counts are precise if so many deviations of their noise are no more than s rows.
_PRECISE = 8.0
# A level above both multiples, of the error and of the softness of the stage, is not due to the
# descent; one below the third multiple, of the error, is room to spare.
_BEYOND, _SOFT, _BELOW = 8.0, 8.0, 6.0
# After the first stage, whose points are rough, a level is due to it up to so many times more.
_ROUGH = 1.5
# Where the level is not 0, shares are mixed with so many equal ones.
_MIXED = 0.1
# Levels that are told apart: hyperbolic sines of numbers up to this one, times the error.
_LARGEST_LEVEL = 9.0


class StagesAtOptimum(Stages):
    """Stages at a given V, as long as noisy counts bear it out.

    Where a lower V would do, stages go on there. Where only a higher one would, the given one was
    too low: the stages start afresh, and V is searched. Where none would, V stays what it is.

    At the given V the level of violation moves. A positive one says that not all rows can be
    satisfied: rows beyond it count. A negative one says that they can, with room to spare.

    In the end, if the given V was not too low and counts say that more than s rows are clearly
    missed at it, the stages' earlier points are counted too. One of them that misses about s or
    fewer is the answer.
    All of it follows from released points and charged counts.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        charges: StagedCharges,
        draws: Sequence[ChargedDraws],
        sizes: Sizes,
    ) -> None:
        super().__init__(task, rows, charges, draws, sizes)
        self._given, self._verdict, self._level = sizes.middle, Given.RIGHT, 0.0
        self._levels, self._scaled_at = 0, math.nan
        self._ends: list[FloatArray] = []  # the shares that stages ended with
        self._error = max(charges.error(self._share.size, task.n), 1e-12)
        self._clearly = rows.keep(partial(MeasuredRows, alpha=task.accuracy()))

    def _begin(self) -> None:
        self._measure_sign()

    def _descend(self, stage: Stage) -> Iterator[None]:
        if self._verdict is Given.LOW:
            stage = stage.afresh
        size = self._given
        if self._verdict is not Given.RIGHT:
            size = max(self._highest(self._place - stage.push), self._sizes.ends[0])
        simplex = self._sizes.region(size)
        if self._level:
            self._share = (1 - _MIXED) * self._share + _MIXED * self._equal
        rows = (
            self._every_row(size, simplex)
            if stage.share == 1
            else self._scaled(simplex, stage.share)
        )
        yield from self._descend_on(simplex, rows, stage, self._level)
        self._ends.append(self._share)
        self._note("sizes", self._sizes.value(size))
        self._at, self._softness = (size, simplex), stage.softness

    def _go_on(self, draw: ChargedDraws, following: Stage) -> None:
        self._level = 0.0
        if self._verdict is Given.RIGHT:
            self._judge(draw, following)
        else:
            ends = self._place - FACTOR, self._highest(self._place + FACTOR)
            self._place, _ = self._searched(draw, following.aim, *ends, number=draw.remaining)
        if self._verdict is Given.RIGHT:
            self._level = self._measured_level(draw, *self._at)
            self._levels += 1
            self._note("levels", self._level)

    def _judge(self, draw: ChargedDraws, following: Stage) -> None:
        """Decide whether the given V is right; and if not, where to go on."""
        sigma = deviation(draw)
        aim = max(_CHECKED, SURE * sigma / self._s)
        ends = self._given - FACTOR, self._given + _FARTHEST
        place, fewest = self._searched(draw, aim, *ends, number=COUNTS - 1)
        too_high = self._given - (_TOO_HIGH if aim == _CHECKED else _TOO_HIGH_IN_NOISE)
        too_low = self._given + (_TOO_LOW if self._levels else _TOO_LOW_AT_FIRST)
        lower = self._count(draw, max(too_high, self._sizes.ends[0]))
        if not sigma:  # without noise there is no doubt
            return
        if place < too_high and lower <= aim * self._s:
            self._verdict = Given.HIGH
            ends = self._sizes.ends[0], self._given
        elif place > too_low and fewest + sigma <= aim * self._s:
            self._verdict = Given.LOW
            if not self._levels:  # nothing is lost
                self._share = self._equal
        if self._verdict is not Given.RIGHT:
            self._place, _ = self._searched(draw, following.aim, *ends, number=draw.remaining)

    def _highest(self, place: float) -> float:
        """The place, or the highest that is allowed if that is lower."""
        return min(place, self._given + (_WORST if self._verdict is Given.LOW else 0.0))

    def _every_row(self, size: float, simplex: Simplex) -> Rows[Any]:
        """All rows in the units of a region; they are kept as long as the region stays."""
        if self._scaled_at != size:
            self._every, self._scaled_at = self._scaled(simplex), size
        return self._every

    def _measured_level(self, draw: ChargedDraws, size: float, simplex: Simplex) -> float:
        """The level of the next stage, from noisy counts at the current point."""
        point, scaled = simplex.point(self._share), self._every_row(size, simplex)
        measured = scaled.keep(partial(ElasticRows, softness=1.0))

        def count(t: float) -> float:
            beyond = self._error * math.sinh(t)
            return float(draw(float(measured.total(ElasticRows.violated_by_more, point, beyond))))

        precise = _PRECISE * deviation(draw) <= self._s
        places = self._found(draw, count, precise=precise)
        near, far = (self._error * math.sinh(place) for place in places)
        rough = _ROUGH if precise and not self._levels else 1.0
        if near > rough * max(_BEYOND * self._error, _SOFT * self._softness):
            return near
        return min(near, far / 2) if far < -_BELOW * self._error else 0.0

    def _found(
        self, draw: ChargedDraws, count: Callable[[float], float], *, precise: bool
    ) -> list[float]:
        """Where counts of rows fall to the near and the far target.

        Precise counts fall to them in any way, often steeply; of others a model knows more.
        """
        targets = [min(times * self._s, self._n / 2) for times in (_NEAR, _FAR)]
        ends, sigma, number = (-_LARGEST_LEVEL, _LARGEST_LEVEL), deviation(draw), draw.remaining
        if precise:
            halving = Halving(targets, *ends, sigma=sigma, most=self._n)
            return halving.search(count, [1, 0] * (number // 2))
        searches = [Crossing(target, *ends, sigma=sigma, most=self._n) for target in targets]
        return [search.search(count, number // 2) for search in searches]

    def _end(self, draw: ChargedDraws) -> None:
        """Find the last size: the given one, or a lower one at which surely s rows are missed.

        If the given one was too low: the lowest at which surely s rows are missed, unless there is
        none. If it was not, and more than s rows are clearly missed at it, an earlier point may do.
        """
        told = 0 < SURE * deviation(draw) <= self._s  # much noise tells nothing of a little
        if told and self._verdict is not Given.LOW:
            missed = self._clearly_missed(draw, self._given)
            if missed > self._s:
                self._go_back(draw, missed)
                return
        self._find_last_size(draw)

    def _go_back(self, draw: ChargedDraws, missed: float) -> None:
        """At the given V, go to an earlier point or half-way, where about s rows are missed.

        Only if surely fewer are than at the last point. Where no point misses so few, the last one
        is best: stages make the sum of violations small, and not their number.
        """
        *earlier, last = self._ends
        others = [(last + earlier[-1]) / 2, *reversed(earlier)][: draw.remaining - 1]
        counts = []
        for self._share in others:
            counts.append(self._clearly_missed(draw, self._given))
        best = int(np.argmin(counts))
        noise = deviation(draw)
        better = counts[best] < min(missed - SURELY * noise, self._s + noise)
        self._share, self._place = others[best] if better else last, self._given
        while draw.remaining:
            self._note("missed rows", self._clearly_missed(draw, self._place))

    def _find_last_size(self, draw: ChargedDraws) -> None:
        """Search the last size at the last shares; one count is left to check it."""
        s, sigma, right = self._s, deviation(draw), self._verdict is Given.RIGHT
        if right:
            self._place = self._given
        highest = self._highest(self._place + LAST_FACTOR)
        ends = self._place - FACTOR, highest
        self._place, fewest = self._searched(
            draw, self._last_aim, *ends, number=draw.remaining - 1, probability=_SAFE
        )
        many = max(fewest - sigma, self._count(draw, self._place)) > s + sigma
        # Without noise there is no doubt of the given V, and much noise tells nothing of a little.
        told = sigma > 0 and (SURE * sigma <= s or self._place < self._given - _TOO_HIGH_IN_NOISE)
        if many or (right and not told):
            self._place = min(highest, self._given)
        elif self._verdict is not Given.LOW:
            self._place += min(_CAUTION * (highest - self._place), _MOST_CAUTION)

    def _clearly_missed(self, draw: ChargedDraws, place: float) -> float:
        """A noisy count of the rows that are missed by more than the tolerance."""
        x = self._sizes.point(place, self._share)
        return float(draw(float(self._clearly.total(MeasuredRows.missed, x))))
