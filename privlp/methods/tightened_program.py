"""The run of methods that tighten private numbers: released numbers, then the tightened program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import highspy
import numpy as np
import numpy.typing as npt

from privlp.methods.bounded_noise import certain_ends
from privlp.methods.certain_point import certain_near
from privlp.methods.one_release import OneRelease
from privlp.methods.tightened_rows import PRECISELY, TightenedRows
from privlp.players.game import Released
from privlp.privacy import ChargedDraws
from privlp.problem.standard_form import StandardForm
from privlp.relations.private_numbers import PrivateNumbers
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]
#: Draws once for the private numbers of a part, and gives an interval that holds each of them.
Ends = Callable[[PrivateNumbers, ChargedDraws, FloatArray], tuple[FloatArray, FloatArray]]

CERTAINLY = "x satisfies every inequality row with certainty"
# As a share of the way to a point inside: more than that costs objective that is worth a warning.
_FAR = 0.01
# The optimum is known no better than that.
_PRECISION = 1e-6
_INFEASIBLE = (
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)


class TightenedProgram(OneRelease):
    """One release of tightened numbers, then HiGHS on the tightened program.

    Parameters
    ----------
    form, numbers, values, draws, time_limit
        As for :class:`~privlp.methods.one_release.OneRelease`.
    fallback : (d,) or None
        Public point that satisfies every possible program. Without one the run may end as
        infeasible.
    inside : (d,), optional
        Public point strictly inside the rows of every possible program that leave room.
    ends : callable
        Draws, and gives an interval for each number. By default for noise of bounded support, whose
        intervals hold the numbers with certainty. For costs both ends are the released cost.
    promise : str
        What holds of x if it satisfies the tightened rows, in words.
    caution : str
        What public numbers say of the noise, as a sentence before the message.
    """

    def __init__(
        self,
        form: StandardForm,
        numbers: Sequence[PrivateNumbers],
        values: Sequence[FloatArray],
        draws: Sequence[ChargedDraws],
        *,
        fallback: FloatArray | None,
        inside: FloatArray | None = None,
        time_limit: float | None,
        ends: Ends = certain_ends,
        promise: str = CERTAINLY,
        caution: str = "",
    ) -> None:
        super().__init__(form, numbers, values, draws, time_limit=time_limit)
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
            released = np.maximum(high, numbers.low)
            self._known = self._known.having(numbers, released)
            self._trace["noisy c"] = released

    def released(self) -> Released:
        """The solution of the tightened program, moved until it certainly satisfies it."""
        rows = TightenedRows.of(self._known, self._between)
        status, point, self._prices = rows.priced_optimum(self._known.c, self._options)
        if status == highspy.HighsModelStatus.kTimeLimit:
            return Released(
                None, None, self._trace, Status.TIME_LIMIT, "HiGHS reached the time limit"
            )
        if status == highspy.HighsModelStatus.kOptimal:
            optimum = rows.point(point)
            x, share = certain_near(rows, optimum, self._inside)
            if x is not None and share <= _FAR:
                return self._found(x, share)
            loss = self._loss_of_fallback(optimum)
            if self._fallback is not None and loss <= _PRECISION:
                # The only point, say: its prices are those of the program all the same.
                return self._found(self._fallback, 0.0)
            if x is not None and self._loss_of_fallback(x) >= 0:
                return self._found(x, share)
        return self._without_optimum(contradictory=status in _INFEASIBLE)

    def _loss_of_fallback(self, x: FloatArray) -> float:
        """What the public point loses against x, by the released costs, as a share of their size.

        Infinite if there is no such point.
        """
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
        return self._release(x, message, warning)

    def _without_optimum(self, *, contradictory: bool) -> Released:
        """The public point, or no point."""
        self._prices = None
        if self._fallback is not None:
            message = (
                "No certain optimum of the tightened program was found; x is a public point that"
                " satisfies every possible row"
            )
            warning = (
                "x is a public point that satisfies every possible row: no certain optimum of the"
                " tightened program was found. It says nothing of the private numbers, and they"
                " were paid for."
            )
            return self._release(self._fallback, message, warning)
        if contradictory:
            message = (
                "The tightened rows contradict each other, so no x is released. A larger eps, a"
                " lower probability, zeros='public' where numbers that are 0 are 0 for everyone, or"
                " declared ranges within which some x satisfies all rows would help. What was"
                " charged stays charged. The numbers were released"
            )
            return Released(None, None, self._trace, Status.INFEASIBLE, message)
        message = (
            "No certain optimum of the tightened program was found, so no x is released. What was"
            " charged stays charged. The numbers were released"
        )
        return Released(None, None, self._trace, Status.NUMERICAL_ERROR, message)

    def _release(self, x: FloatArray, message: str, warning: str) -> Released:
        return self._at(x, self._caution + message, warning, self._prices)
