"""The program of tightened numbers: its solutions satisfy the true rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import highspy
import numpy as np

from privlp.checks import FloatArray
from privlp.game.loop import Released
from privlp.methods import noisy_numbers as noisy
from privlp.methods.base import NoiseOnNumbers, PlannedRun, Prediction
from privlp.methods.request import SolveRequest
from privlp.methods.tightened import ranges
from privlp.methods.tightened.rows import PRECISELY, TightenedRows, certain_near
from privlp.privacy import ChargedDraws
from privlp.relations.numbers import PrivateNumbers
from privlp.status import Status

# As a share of the way to a point inside: more than that costs objective that is worth a warning.
_FAR = 0.01
# The optimum is known no better than that.
_PRECISION = 1e-6
_NOT_FOUND = "No certain optimum of the tightened program was found"
_RELEASED = "What was charged stays charged. The numbers were released"


def certain_ends(
    numbers: PrivateNumbers, draw: ChargedDraws, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw once; an interval that holds each number, or twice the centred released cost."""
    mechanism = cast("noisy.BoundedNoise", draw.mechanism)
    if numbers.part == "A":
        largest = -draw(-values)
        smallest = largest - mechanism.most
        # There are four roundings of at most half a unit in the last place. They must not lift it
        # above the true value.
        if mechanism.most > 0:
            smallest -= 4 * np.spacing(np.maximum(np.abs(largest), np.abs(smallest)))
        return smallest, largest
    if numbers.part == "b":
        return draw(values), np.full(len(values), np.inf)
    released = draw(values) + mechanism.width
    return released, released


#: Draws once for the private numbers of a part, and gives an interval that holds each of them.
Ends = Callable[[PrivateNumbers, ChargedDraws, FloatArray], tuple[FloatArray, FloatArray]]


class TightenedProgram(noisy.OneRelease):
    """One release of tightened numbers, then HiGHS on the tightened program.

    Public points `fallback` and `inside` satisfy every possible program. `ends` draws, and gives an
    interval for each number. If x satisfies the tightened rows, `promise` holds.
    """

    def __init__(
        self,
        *release: Any,
        fallback: FloatArray | None,
        inside: FloatArray | None = None,
        time_limit: float | None,
        ends: Ends = certain_ends,
        promise: str = "x satisfies every inequality row with certainty",
        caution: str = "",
    ) -> None:
        super().__init__(*release, time_limit=time_limit)
        self._fallback, self._inside, self._ends = fallback, inside, ends
        self._promise, self._caution = promise, caution
        self._options = {**PRECISELY, **self._options}
        self._prices: FloatArray | None = None
        self._between: tuple[PrivateNumbers, FloatArray, FloatArray] | None = None

    def _release_part(
        self, numbers: PrivateNumbers, values: FloatArray, draw: ChargedDraws
    ) -> None:
        """Release tightened numbers, clipped to their declared ranges."""
        low, high = self._ends(numbers, draw, values)
        low, high = np.maximum(low, numbers.low), np.minimum(high, numbers.high)
        if numbers.part == "A":
            self._between = numbers, low, high
            self._trace["largest A"] = high
        elif numbers.part == "b":
            low = np.minimum(low, numbers.high)
            self._known = self._known.having(numbers, low)
            self._trace["tightened b"] = low * self._form.row_sign[numbers.at]
        else:
            released = self._trace["noisy c"] = np.maximum(high, numbers.low)
            self._known = self._known.having(numbers, released)

    def released(self) -> Released:
        """The solution of the tightened program, moved until it certainly satisfies it."""
        rows, statuses = TightenedRows.of(self._known, self._between), highspy.HighsModelStatus
        status, point, self._prices = rows.priced_optimum(self._known.c, self._options)
        if status == statuses.kTimeLimit:
            return self._nothing(Status.TIME_LIMIT, "HiGHS reached the time limit")
        if status == statuses.kOptimal:
            optimum = rows.point(point)
            x, share = certain_near(rows, optimum, self._inside)
            if x is not None and share <= _FAR:
                return self._found(x, share)
            if self._fallback is not None and self._loss_of_fallback(optimum) <= _PRECISION:
                # The only point, say: its prices are those of the program all the same.
                return self._found(self._fallback, 0.0)
            if x is not None and self._loss_of_fallback(x) >= 0:
                return self._found(x, share)
        infeasible = statuses.kInfeasible, statuses.kUnboundedOrInfeasible
        return self._without_optimum(contradictory=status in infeasible)

    def _without_optimum(self, *, contradictory: bool) -> Released:
        """The public point, or no point."""
        self._prices = None
        if self._fallback is not None:
            point = "x is a public point that satisfies every possible row"
            warning = (
                f"{point}: {_NOT_FOUND[0].lower()}{_NOT_FOUND[1:]}. It says nothing of the private"
                " numbers, and they were paid for."
            )
            return self.release(self._fallback, f"{_NOT_FOUND}; {point}", warning)
        if not contradictory:
            message = f"{_NOT_FOUND}, so no x is released. {_RELEASED}"
            return self._nothing(Status.NUMERICAL_ERROR, message)
        return self._nothing(
            Status.INFEASIBLE,
            "The tightened rows contradict each other, so no x is released. A larger eps, a lower"
            " probability, zeros='public' where numbers that are 0 are 0 for everyone, or declared"
            f" ranges within which some x satisfies all rows would help. {_RELEASED}",
        )

    def _nothing(self, status: Status, message: str) -> Released:
        return Released(None, None, self._trace, status, message)

    def _loss_of_fallback(self, x: FloatArray) -> float:
        """What the public point, if any, loses against x, by the released costs, as a share."""
        if self._fallback is None:
            return math.inf
        cost = self._form.lp.sign * self._known.c
        size = float(np.abs(cost) @ np.abs(x)) + np.finfo(float).tiny
        return float(cost @ (self._fallback - x)) / size

    def _found(self, x: FloatArray, share: float) -> Released:
        """The optimum of the tightened program, after a move by this share."""
        message, warning = f"Solved the tightened program; {self._promise}", ""
        if share > _FAR:
            warning = (
                f"x was moved by {share:.2g} of the way towards a point inside the rows, because"
                " rounding errors could not be repaired nearer to the optimum. Its objective is"
                " worse for that."
            )
            message = f"{message}. {warning} It was solved"
        return self.release(x, message, warning)

    def release(self, x: FloatArray, message: str, warning: str) -> Released:
        """A point with the caution before its message."""
        return self._at(x, self._caution + message, warning, self._prices)


def checked_numbers(
    request: SolveRequest, method: str, alpha: str, width: str
) -> list[PrivateNumbers]:
    """The private numbers; options without use are refused, each with the reason."""
    numbers = noisy.private_numbers(request, method)
    optimum = "the tightened program is solved for its own optimum"
    request.refuse(method, s="no row is given up", alpha=alpha, width=width, opt=optimum)
    ranges.require_inequalities(request.form, numbers)
    return numbers


def tightened_run(
    name: str,
    request: SolveRequest,
    released: Sequence[tuple[PrivateNumbers, Any, NoiseOnNumbers]],
    purpose: str,
    worst: ranges.WorstCase | None,
    note: str,
    program: type[TightenedProgram] = TightenedProgram,
    **options: Any,
) -> PlannedRun:
    """A release of numbers, then the tightened program; the loss of objective is private."""
    numbers, mechanisms, on_numbers = zip(*released, strict=True)
    drowned = " and ".join(noisy.NAMES[noise.part] for noise in on_numbers if noise.is_mostly_noise)
    caution = f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. "
    options |= {"fallback": worst and worst.point, "inside": worst and worst.inside}
    started = partial(program, caution=caution if drowned else "", **options)
    noise = max(noisy.deviation(found) / found.sensitivity for found in mechanisms)
    predicted = Prediction(name, 0.0, None, 1, noise, on_numbers=on_numbers, note=note)
    return noisy.run_of_one_release(
        request, numbers, mechanisms, purpose, started, lambda: predicted
    )
