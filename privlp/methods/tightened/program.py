"""Noise of bounded support, and the program of tightened numbers that it makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import highspy
import numpy as np
import numpy.typing as npt

from privlp.game.loop import Released
from privlp.methods.noisy_numbers import NAMES, OneRelease
from privlp.methods.prediction import NoiseOnNumbers
from privlp.methods.task import Task
from privlp.methods.tightened.rows import PRECISELY, TightenedRows, certain_near
from privlp.privacy import ChargedDraws, TruncatedGaussianMechanism, TruncatedLaplaceMechanism
from privlp.privacy.mechanisms.truncated import log_odds
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import PrivateNumbers
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]
BoundedNoise = TruncatedLaplaceMechanism | TruncatedGaussianMechanism

# Share of delta that is split evenly, so that every part has some.
_EVEN = 1e-3


def deviation(mechanism: BoundedNoise) -> float:
    """Standard deviation of the noise before it is truncated."""
    return (
        mechanism.sigma
        if isinstance(mechanism, TruncatedGaussianMechanism)
        else math.sqrt(2) * mechanism.scale
    )


def noise_on(numbers: PrivateNumbers, mechanism: BoundedNoise) -> NoiseOnNumbers:
    """How far noise moves the numbers of one part.

    Noise on b and A is shifted: its median is its width. Noise on costs is centred, and at most its
    width.
    """
    declared = float(np.median(numbers.high - numbers.low))
    if numbers.part == "c":
        typical = (
            mechanism.sigma
            if isinstance(mechanism, TruncatedGaussianMechanism)
            else mechanism.scale
        )
        return NoiseOnNumbers("c", min(typical, mechanism.width), mechanism.width, declared)
    return NoiseOnNumbers(numbers.part, mechanism.width, mechanism.most, declared)


def certain_ends(
    numbers: PrivateNumbers, draw: ChargedDraws, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw once; an interval that holds each number with certainty.

    For costs both ends are the released cost, with centred noise.
    """
    mechanism = cast("BoundedNoise", draw.mechanism)
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


def caution(noises: Sequence[NoiseOnNumbers]) -> str:
    """A sentence on parts whose noise is as wide as their range, from public numbers."""
    drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.drowns)
    return (
        f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. "
        if drowned
        else ""
    )


def gaussian_noise(part: PrivateNumbers, eps: float, delta: float) -> TruncatedGaussianMechanism:
    """Truncated Gaussian noise on one part."""
    return TruncatedGaussianMechanism.of_budget(
        part.l2, eps, delta, l1=part.l1, entry=part.entry, touched=part.touched
    )


def deltas(
    numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
) -> list[float]:
    """The delta of each part: in units of their scales, widths of Laplace noise are about equal."""
    if len(numbers) == 1 or math.isinf(eps):
        return [delta] * len(numbers)
    logs = np.array(
        [
            log_odds(share * eps, part.l1 / part.entry)
            for part, share in zip(numbers, split, strict=True)
        ]
    )
    weights = np.exp(logs - logs.max())
    parts = (1 - _EVEN) * weights / weights.sum() + _EVEN / len(numbers)
    return [float(share) * delta for share in parts / parts.sum()]


def _whole_budget(task: Task, part: PrivateNumbers) -> TruncatedLaplaceMechanism:
    """Laplace noise on one part that takes all that is left of the budget."""
    delta = task.ledger.delta_left

    def make(eps: float) -> TruncatedLaplaceMechanism:
        return TruncatedLaplaceMechanism.of_budget(part.l1, eps, delta, entry=part.entry)

    return task.ledger.calibrate(make, 1)


def is_narrower(task: Task, numbers: list[PrivateNumbers]) -> list[bool]:
    """On which parts Gaussian noise is narrower than Laplace noise, at the whole budget."""
    laplace = [_whole_budget(task, part) for part in numbers]
    gaussian = [
        gaussian_noise(part, one.pure_eps, one.own_delta)
        for part, one in zip(numbers, laplace, strict=True)
    ]
    return [one.width < other.width for one, other in zip(gaussian, laplace, strict=True)]


def gaussian_parts(task: Task, numbers: list[PrivateNumbers]) -> list[bool]:
    """Which parts get Gaussian noise: those where it is narrower; if there are none, all."""
    narrower = is_narrower(task, numbers)
    return narrower if any(narrower) else [True] * len(numbers)


def gaussian_effect(task: Task, part: PrivateNumbers) -> float:
    """The L1 change for which Laplace noise would be as wide as this Gaussian noise."""
    laplace = _whole_budget(task, part)
    if laplace.width == 0:
        return part.l1
    return part.l1 * gaussian_noise(part, laplace.pure_eps, laplace.own_delta).width / laplace.width


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
        As for :class:`~privlp.methods.noisy_numbers.OneRelease`.
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
