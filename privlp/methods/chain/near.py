"""How far moves from a point reach sides of rows: of each variable, and of all at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.methods.chain.descent import Centre, Descents, Useless, centre_of_rows
from privlp.privacy import ChargedDraws
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.program_rows import MeasuredRows

# Sides near the start: so many times s, but no more than this share of all rows, and so many
# deviations of their count at least; and the binary logarithm of the smallest step that is tried.
_NEAR, _AT_MOST, _SMALLEST = 4.0, 0.2, -50.0
#: So many deviations are clear for a single count.
CLEAR = 2.0
#: Near sides are not told from others if they are a larger share of all rows: on the way, and for
#: each variable.
ON_THE_WAY, BY_VARIABLE = 0.25, 0.5
# A variable moves so many times the step that reaches near sides.
_WIDE = 8.0
# Sides are met at once where the last halving of a step on the way leaves out this share of those
# that it reaches, by so many deviations: between distinct sides it leaves out a quarter.
_AT_ONCE, _SURELY = 0.4, 2.0
#: Counts of near sides by variable: for the widths at the start, and before, for the centre of the
#: rows, of which the first say how far variables move from the beginning to reach many rows.
WIDTH_COUNTS, STEPS_OF_CENTRE, CENTRE_COUNTS = 6, 8, 24
# These are half of the rows that a variable touches, or this share of all.
_OF_TOUCHING, _OF_CENTRE = 0.5, 0.25
# The longest steps that are tried, in ranges of variables; and the binary logarithm of the
# shortest, in units of the longest.
_BEYOND_RANGES, _CENTRE_SMALLEST = 2.0**20, -80.0
# Rows come close together at a centre from which the way's beginning is so many such steps away.
_FAR, _CLOSER = 10.0, 1 / 50


class NearSides:
    """Counts of sides near a point."""

    def __init__(
        self,
        measured: Rows[MeasuredRows],
        public: PublicRows,
        region: ReducedPolytope,
        s: float,
        n: int,
    ) -> None:
        self._measured, self._public, self._region = measured, public, region
        self._s, self._n = s, n
        #: Whether rows still came closer where the search for their centre had to end.
        self.lost = False
        #: Steps of variables to many rows from their centre, (d,), where that was looked for.
        self.steps = np.full(len(public.cost), np.inf)
        #: How far at least variables and ways go on from the start, (d,): 0, but where the sides of
        #: most rows are the same, so that they tell no scale; there, as far as from the beginning.
        self.least = np.zeros(len(public.cost))

    def centre(
        self, draw: ChargedDraws, descents: Descents, x: FloatArray, useless: Useless
    ) -> Centre | None:
        """Where many rows come close together, by a search from x."""
        least, far = CLEAR * draw.sigma, _BEYOND_RANGES * self._region.ranges_of_variables

        def near(x: FloatArray, steps: FloatArray) -> FloatArray:
            return np.asarray(draw(self._near(x, steps)))

        touching = near(x, far)
        many = np.maximum(least, np.minimum(_OF_CENTRE * self._n, _OF_TOUCHING * touching))
        steps = far * _bisected(
            lambda part: near(x, part * far) >= many, len(x), _CENTRE_SMALLEST, STEPS_OF_CENTRE - 1
        )
        clear = touching > 2 * least
        if not clear.any():
            return None
        steps = np.where(clear, steps, np.median(steps[clear]))
        searches = draw.remaining - WIDTH_COUNTS
        found = centre_of_rows(
            descents,
            lambda x, steps: near(x, steps) >= many,
            searches,
            self._public,
            self._region,
            Centre(x, steps),
            useless,
        )
        if found is None:
            return None
        self.steps = found.steps
        gone = (np.abs(x - found.x) > _FAR * found.steps) & (found.steps < _CLOSER * steps)
        self.lost = bool(gone.any()) and not found.found
        return found._replace(steps=np.where(gone, found.steps, np.inf))

    def widths(self, draw: ChargedDraws, x: FloatArray) -> FloatArray:
        """How far each variable alone moves from x to reach sides near it, (d,); inf if unknown."""
        ranges = self._region.ranges_of_variables
        parts, _ = self._steps(
            draw,
            lambda part: self._near(x, part * ranges),
            len(x),
            min(WIDTH_COUNTS, draw.remaining),
        )
        step = np.maximum(_WIDE * ranges * parts, self.least)
        return np.where(2 * step < ranges, step, np.inf)

    def uneven(self) -> bool:
        """Whether ranges are no common scale: some follow from where the search ends."""
        bounded = np.isfinite(self._public.bounds[self._region.live]).all(axis=1)
        return bool(bounded.any() and not bounded.all())

    def room(self, steps: FloatArray) -> float:
        """How many times as long these steps may be within the ranges; 1 if none is known."""
        known = np.isfinite(steps) & (steps > 0)
        ranges = self._region.ranges_of_variables
        return float((ranges[known] / steps[known]).min()) if known.any() else 1.0

    def together(
        self, draw: ChargedDraws, x: FloatArray, widths: FloatArray | None = None
    ) -> FloatArray:
        """A few times how far all variables move from x at once to reach sides, (d,).

        They move by a share of their ranges, or of these widths where they are known.
        """
        ranges = self._region.ranges_of_variables
        if widths is not None:
            ranges = np.where(np.isfinite(widths), widths, ranges)
        step = ranges * np.random.default_rng(0).random(len(x))

        def near(part: FloatArray) -> FloatArray:
            return np.atleast_1d(self._measured.total(MeasuredRows.near_along, x, part[0] * step))

        part = _WIDE * float(self._steps(draw, near, 1, draw.remaining)[0][0])
        return np.where(2 * part < 1, part * ranges, np.inf)

    def _near(self, x: FloatArray, steps: FloatArray) -> FloatArray:
        """How many sides moves of one variable alone reach, (d,); private."""
        return np.asarray(self._measured.total(MeasuredRows.near, x, steps))

    def _steps(
        self, draw: ChargedDraws, near: Callable[[FloatArray], FloatArray], size: int, rounds: int
    ) -> tuple[FloatArray, bool]:
        """Parts of a step, at most 1, that reach a few times s sides, (size,); whether at once."""
        left = iter(np.diff(np.linspace(0, draw.remaining, rounds + 1).astype(int)))
        sigma = draw.sigma / math.sqrt(draw.remaining // rounds)

        def reached(part: FloatArray) -> FloatArray:
            exact = near(part)
            return np.mean([draw(exact) for _ in range(next(left))], axis=0)

        usual, most = near_sides(self._s, self._n, sigma), 0.5 * reached(np.ones(size))
        clearly = (CLEAR if size == 1 else _NEAR) * sigma
        target = np.where(most < clearly, usual, np.minimum(most, usual))
        inside, beyond = np.zeros(size), 2 * most

        def enough(part: FloatArray) -> npt.NDArray[np.bool_]:
            nonlocal inside, beyond
            count = reached(part)
            inside = np.where(count < target, count, inside)
            beyond = np.where(count < target, beyond, count)
            return np.asarray(count >= target)

        parts = _bisected(enough, size, _SMALLEST, rounds - 1)
        at_once = beyond - inside > _AT_ONCE * beyond + _SURELY * sigma
        return parts, size == 1 and bool(at_once[0])


def _bisected(
    enough: Callable[[FloatArray], npt.NDArray[np.bool_]], size: int, smallest: float, rounds: int
) -> FloatArray:
    """Parts of a step that are enough, by bisection of their binary logarithms, (size,)."""
    low, high = np.full(size, smallest), np.zeros(size)
    for _ in range(rounds):
        middle = 0.5 * (low + high)
        found = enough(2.0**middle)
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return np.asarray(2.0**high)


def near_sides(s: float, n: int, sigma: float) -> float:
    """How many sides count as those near a point, where counts have this deviation."""
    return _NEAR * max(min(s, _AT_MOST / _NEAR * n), sigma)
