"""Noise of bounded support that only tightens, and the program of tightened numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, cast

import highspy
import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.game.loop import Released
from privlp.methods.base import NoiseOnNumbers, NumbersMethod, PlannedRun, Prediction
from privlp.methods.noisy_numbers import (
    NAMES,
    AdditiveNoise,
    BoundedNoise,
    OneRelease,
    deviation,
    private_numbers,
    run_of_one_release,
    scale_of,
    shares,
)
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.rows import PRECISELY, TightenedRows, certain_near
from privlp.methods.tightened.worst_case import (
    WorstCase,
    open_ended,
    require_inequalities,
    require_one_end,
)
from privlp.privacy import ChargedDraws, TruncatedGaussianMechanism, TruncatedLaplaceMechanism
from privlp.privacy.mechanisms.truncated import log_odds
from privlp.problem.standard_form import StandardForm
from privlp.regions.bounded import require_bounded
from privlp.relations.bounded_change import ABOUT_ZEROS
from privlp.relations.numbers import PrivateNumbers
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]

# Share of delta that is split evenly, so that every part has some.
_EVEN = 1e-3


def noise_on(numbers: PrivateNumbers, mechanism: BoundedNoise) -> NoiseOnNumbers:
    """How far noise moves the numbers of one part.

    Noise on b and A is shifted: its median is its width. Noise on costs is centred, and at most its
    width.
    """
    declared = float(np.median(numbers.high - numbers.low))
    if numbers.part == "c":
        typical = min(scale_of(mechanism), mechanism.width)
        return NoiseOnNumbers("c", typical, mechanism.width, declared)
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


def gaussian_beside(
    part: PrivateNumbers, laplace: TruncatedLaplaceMechanism
) -> TruncatedGaussianMechanism:
    """Truncated Gaussian noise on one part at the price of Laplace noise."""
    eps, delta = laplace.pure_eps, laplace.own_delta
    return TruncatedGaussianMechanism.of_budget(
        part.l2, eps, delta, l1=part.l1, entry=part.entry, touched=part.touched
    )


def deltas(
    numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
) -> list[float]:
    """The delta of each part: in units of their scales, widths of Laplace noise are about equal."""
    if len(numbers) == 1 or math.isinf(eps):
        return [delta] * len(numbers)
    pairs = zip(numbers, split, strict=True)
    logs = np.array([log_odds(share * eps, part.l1 / part.entry) for part, share in pairs])
    weights = np.exp(logs - logs.max())
    parts = (1 - _EVEN) * weights / weights.sum() + _EVEN / len(numbers)
    return [float(share) * delta for share in parts / parts.sum()]


def _whole_budget(request: SolveRequest, part: PrivateNumbers) -> TruncatedLaplaceMechanism:
    """Laplace noise on one part that takes all that is left of the budget."""
    delta = request.ledger.delta_left

    def make(eps: float) -> TruncatedLaplaceMechanism:
        return TruncatedLaplaceMechanism.of_budget(part.l1, eps, delta, entry=part.entry)

    return request.ledger.calibrate(make, 1)


def is_narrower(request: SolveRequest, numbers: list[PrivateNumbers]) -> list[bool]:
    """On which parts Gaussian noise is narrower than Laplace noise, at the whole budget."""
    pairs = ((part, _whole_budget(request, part)) for part in numbers)
    return [gaussian_beside(part, laplace).width < laplace.width for part, laplace in pairs]


def gaussian_effect(request: SolveRequest, part: PrivateNumbers) -> float:
    """The L1 change for which Laplace noise would be as wide as this Gaussian noise."""
    laplace = _whole_budget(request, part)
    if laplace.width == 0:
        return part.l1
    return part.l1 * gaussian_beside(part, laplace).width / laplace.width


#: Draws once for the private numbers of a part, and gives an interval that holds each of them.
Ends = Callable[[PrivateNumbers, ChargedDraws, FloatArray], tuple[FloatArray, FloatArray]]

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

    `fallback` and `inside` are public points that satisfy every possible program, the latter
    strictly inside the rows that leave room. `ends` draws, and gives an interval for each number.
    If x satisfies the tightened rows, `promise` holds. `caution` is said before the message.
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


def checked_numbers(
    request: SolveRequest, method: str, alpha: str, width: str
) -> list[PrivateNumbers]:
    """The private numbers; options without use are refused, each with the reason."""
    numbers = private_numbers(request, method)
    optimum = "the tightened program is solved for its own optimum"
    request.refuse(method, s="no row is given up", alpha=alpha, width=width, opt=optimum)
    require_inequalities(request.form, numbers)
    return numbers


def tightened_run(
    name: str,
    request: SolveRequest,
    numbers: Sequence[PrivateNumbers],
    mechanisms: Sequence[AdditiveNoise | BoundedNoise],
    on_numbers: Sequence[NoiseOnNumbers],
    purpose: str,
    *,
    worst: WorstCase | None,
    note: str,
    program: type[TightenedProgram] = TightenedProgram,
    **options: Any,
) -> PlannedRun:
    """A release of numbers, then the tightened program; the loss of objective is private."""
    drowned = " and ".join(NAMES[noise.part] for noise in on_numbers if noise.drowns)
    caution = f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. "
    started = partial(
        program,
        fallback=None if worst is None else worst.point,
        inside=None if worst is None else worst.inside,
        caution=caution if drowned else "",
        **options,
    )
    noise = max(deviation(found) / found.sensitivity for found in mechanisms)
    return run_of_one_release(
        request,
        numbers,
        mechanisms,
        purpose,
        started,
        lambda: Prediction(name, 0.0, None, 1, noise, on_numbers=tuple(on_numbers), note=note),
    )


class TruncatedLaplace(NumbersMethod):
    """Release tightened numbers, solve the tightened program: its solutions satisfy the true rows.

    *Neighbours*: scalar-, row-, column- or objective-private, or several at once.

    *Sensitivity.* The L1 change of the numbers themselves, and the change of a single number, in
    the user's units. Each is released by :class:`~privlp.privacy.TruncatedLaplaceMechanism`, whose
    noise has bounded support and is shifted to one side. Right-hand sides only fall. Coefficients
    only grow where x_j >= 0 and only fall where x_j <= 0. A variable of either sign is split, and
    its coefficient counts at both ends of the interval that contains the true one. Costs are
    released with the same noise, centred.

    *Budget.* Each part takes a share (eps_k, delta_k) of the budget, from public numbers:
    sum_k eps_k <= eps and sum_k delta_k <= delta. Basic composition, outside zCDP.

    *Certainty.* Releases are clipped to the declared public ranges, so they are never tighter than
    the tightest program within the ranges. A point of that program is found and checked before
    anything is charged; it is public, and satisfies every possible row. The solution of HiGHS is
    feasible to 1e-9 only. It is moved inwards until it satisfies the released rows in exact
    arithmetic. If that fails, the result is the public point, with a warning. Where costs are
    public that point is the optimum of the tightest program, so the plan can state its objective.
    Sources: Muñoz Medina et al. (2021) for b; Benvenuti et al. (2026) for A and c. Proof:
    ``docs/proofs.md``, "Constraints that are never violated".
    """

    name = "tightened"
    rows_hold = "always"
    _program: ClassVar[type[TightenedProgram]] = TightenedProgram

    def plan(self, request: SolveRequest) -> PlannedRun:
        width = "ranges are declared by the neighbour relation"
        numbers = checked_numbers(request, self.name, "no row is violated", width)
        if not request.has_delta:
            raise InvalidParameterError(
                f"delta must be positive with method={self.name!r}: noise of bounded support needs"
                " it.",
                parameter="delta",
            )
        _require_ranges(request.form, numbers)
        require_bounded(request.form, numbers, within_ranges=True)
        worst = WorstCase.of(request.form, numbers)
        mechanisms = self._mechanisms(request, numbers)
        on_numbers, note = list(map(noise_on, numbers, mechanisms)), worst.note(request.lp.sense)
        return tightened_run(
            self.name,
            request,
            numbers,
            mechanisms,
            on_numbers,
            "tighten",
            worst=worst,
            note=note,
            program=self._program,
        )

    def _mechanisms(
        self, request: SolveRequest, numbers: list[PrivateNumbers]
    ) -> list[BoundedNoise]:
        """The noise on each part."""
        split = shares(request, numbers, lambda part: part.l1)
        return list(self._laplace(request, numbers, split))

    def _laplace(
        self, request: SolveRequest, numbers: list[PrivateNumbers], split: list[float]
    ) -> list[TruncatedLaplaceMechanism]:
        """Laplace noise on each part, at its share of the budget."""
        delta = request.ledger.delta_left

        def make(eps: float) -> list[tuple[TruncatedLaplaceMechanism, int]]:
            return [(mechanism, 1) for mechanism in self._of_eps(numbers, split, eps, delta)]

        return self._of_eps(numbers, split, request.ledger.calibrate_together(make), delta)

    def _of_eps(
        self, numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
    ) -> list[TruncatedLaplaceMechanism]:
        """Laplace noise on each part at its shares of eps and of delta."""
        parts_of_delta = deltas(numbers, split, eps, delta)
        return [
            TruncatedLaplaceMechanism.of_budget(part.l1, share * eps, own, entry=part.entry)
            for part, share, own in zip(numbers, split, parts_of_delta, strict=True)
        ]


class TruncatedGaussian(TruncatedLaplace):
    """As :class:`TruncatedLaplace`, with Gaussian noise where one record moves many numbers.

    There truncated Gaussian noise (:class:`~privlp.privacy.TruncatedGaussianMechanism`) is narrower
    than Laplace noise: its width grows like the root of their number. A part gets Gaussian noise if
    it is narrower at the whole budget, and Laplace noise otherwise. If it is narrower on no part,
    all parts get it.
    """

    def _mechanisms(
        self, request: SolveRequest, numbers: list[PrivateNumbers]
    ) -> list[BoundedNoise]:
        """The noise on each part: Gaussian noise instead of Laplace noise of the same price."""
        narrower = is_narrower(request, numbers)
        gaussian = narrower if any(narrower) else [True] * len(numbers)
        whole = dict(zip((part.part for part in numbers), gaussian, strict=True))

        def effect(part: PrivateNumbers) -> float:
            return gaussian_effect(request, part) if whole[part.part] else part.l1

        priced = self._laplace(request, numbers, shares(request, numbers, effect))
        return [
            gaussian_beside(part, laplace) if takes else laplace
            for part, laplace, takes in zip(numbers, priced, gaussian, strict=True)
        ]


def gaussian_is_narrower(request: SolveRequest) -> bool:
    """Whether Gaussian noise is narrower than Laplace noise on some part of the program.

    False if neither applies: the method itself then says why.
    """
    try:
        numbers = private_numbers(request, TruncatedLaplace.name)
        return request.has_noise and any(is_narrower(request, numbers))
    except PrivLPError:
        return False


def _require_ranges(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private equalities, and numbers with no declared end on the side of the noise."""
    require_one_end(form, numbers)
    for part in numbers:
        if part.part != "c" and open_ended(form, part):
            end = (
                "lower (for <= rows) or upper (for >= rows)"
                if part.part == "b"
                else "upper (where growth tightens a row) or lower (where a fall does)"
            )
            raise UnsupportedProblemError(
                f"feasible='always' needs a declared public range of the {NAMES[part.part]}: give"
                f" the neighbour relation a finite {end}, the same for every neighbour and not read"
                f" off the data. {ABOUT_ZEROS}",
                parameter="lower",
            )
