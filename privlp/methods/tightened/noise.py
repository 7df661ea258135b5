"""Noise of bounded support that only tightens, and the program of tightened numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, cast

import highspy
import numpy as np

from privlp.checks import FloatArray
from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.game.loop import Released
from privlp.methods import noisy_numbers as noisy
from privlp.methods.base import NoiseOnNumbers, NumbersMethod, PlannedRun, Prediction
from privlp.methods.request import SolveRequest
from privlp.methods.tightened import ranges
from privlp.methods.tightened.rows import PRECISELY, TightenedRows, certain_near
from privlp.privacy import (
    ChargedDraws,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
)
from privlp.privacy.mechanisms.truncated import log_odds
from privlp.problem.standard_form import StandardForm
from privlp.regions.public_rows import require_bounded
from privlp.relations.base import NeighbourRelation
from privlp.relations.bounded_change import ABOUT_ZEROS
from privlp.relations.numbers import LowSensitivity, PrivateNumbers
from privlp.status import Status

_EVEN = 1e-3  # Share of delta that is split evenly, so that every part has some.


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


def kinds_on(request: SolveRequest, part: PrivateNumbers) -> list[noisy.BoundedNoise]:
    """Laplace and Gaussian noise on a part that takes all that is left; sup-norm noise on sides."""
    delta, count = request.ledger.delta_left, len(part)

    def laplace(eps: float) -> TruncatedLaplaceMechanism:
        return TruncatedLaplaceMechanism.of_budget(part.l1, eps, delta, entry=part.entry)

    def sup_norm(eps: float) -> TruncatedSupNormMechanism:
        return TruncatedSupNormMechanism.of_budget(part.entry, eps, delta, count)

    first = request.ledger.calibrate(laplace, 1)
    found: list[noisy.BoundedNoise] = [first, gaussian_beside(part, first)]
    if TruncatedSupNorm().protects(request.relation):
        found.append(request.ledger.calibrate(sup_norm, 1))
    return found


#: Draws once for the private numbers of a part, and gives an interval that holds each of them.
Ends = Callable[[PrivateNumbers, ChargedDraws, FloatArray], tuple[FloatArray, FloatArray]]

# As a share of the way to a point inside: more than that costs objective that is worth a warning.
_FAR = 0.01
# The optimum is known no better than that.
_PRECISION = 1e-6
_NOT_FOUND = "No certain optimum of the tightened program was found"
_RELEASED = "What was charged stays charged. The numbers were released"


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
    drowned = " and ".join(noisy.NAMES[noise.part] for noise in on_numbers if noise.drowns)
    caution = f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. "
    options |= {"fallback": worst and worst.point, "inside": worst and worst.inside}
    started = partial(program, caution=caution if drowned else "", **options)
    noise = max(noisy.deviation(found) / found.sensitivity for found in mechanisms)
    predicted = Prediction(name, 0.0, None, 1, noise, on_numbers=on_numbers, note=note)
    return noisy.run_of_one_release(
        request, numbers, mechanisms, purpose, started, lambda: predicted
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
    moved inwards until it satisfies the released rows in exact arithmetic. If that fails, the
    result is the public point, with a warning. Where costs are public that point is the optimum of
    the tightest program, so the plan can state its objective. Sources: Muñoz Medina et al. (2021)
    for b; Benvenuti et al. (2026) for A and c. Proof: ``docs/proofs.md``, "Constraints that are
    never violated".
    """

    name = "tightened"
    rows_hold = "always"
    _program: ClassVar[type[TightenedProgram]] = TightenedProgram
    _purpose: ClassVar[str] = "tighten"

    def plan(self, request: SolveRequest) -> PlannedRun:
        numbers, worst = self._checked(request)
        mechanisms = self._mechanisms(request, numbers)
        pairs = zip(numbers, mechanisms, strict=True)
        released = [(*of, self._noise_on(request, *of)) for of in pairs]
        note, program = worst.note(request.lp.sense), self._program
        return tightened_run(self.name, request, released, self._purpose, worst, note, program)

    def _checked(self, request: SolveRequest) -> tuple[list[PrivateNumbers], ranges.WorstCase]:
        """The private numbers, and the tightest program within their ranges."""
        width, form = "ranges are declared by the neighbour relation", request.form
        numbers = checked_numbers(request, self.name, "no row is violated", width)
        if not request.has_delta:
            raise InvalidParameterError(
                f"delta must be positive with method={self.name!r}: noise of bounded support needs"
                " it.",
                parameter="delta",
            )
        _require_ranges(form, numbers)
        require_bounded(form, numbers, within_ranges=True)
        return numbers, ranges.WorstCase.of(form, numbers)

    def _noise_on(
        self,
        request: SolveRequest,  # noqa: ARG002
        part: PrivateNumbers,
        mechanism: Any,
    ) -> NoiseOnNumbers:
        """How far noise moves the numbers of a part: on b and A its median is its width."""
        declared = float(np.median(part.high - part.low))
        if part.part == "c":
            typical = min(noisy.scale_of(mechanism), mechanism.width)
            return NoiseOnNumbers("c", typical, mechanism.width, declared)
        return NoiseOnNumbers(part.part, mechanism.width, mechanism.most, declared)

    def _mechanisms(
        self, request: SolveRequest, numbers: list[PrivateNumbers]
    ) -> list[noisy.BoundedNoise]:
        """The noise on each part."""
        split = noisy.shares(request, numbers, lambda part: part.l1)
        return list(self._laplace(request, numbers, split))

    def _laplace(
        self, request: SolveRequest, numbers: list[PrivateNumbers], split: list[float]
    ) -> list[TruncatedLaplaceMechanism]:
        """Laplace noise on each part, at its share of the budget."""
        delta = request.ledger.delta_left
        eps = request.ledger.calibrate_together(
            lambda eps: [(found, 1) for found in self._of_eps(numbers, split, eps, delta)]
        )
        return self._of_eps(numbers, split, eps, delta)

    def _of_eps(
        self, numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
    ) -> list[TruncatedLaplaceMechanism]:
        """Laplace noise on each part at its shares of eps and of delta."""
        parts = zip(numbers, split, deltas(numbers, split, eps, delta), strict=True)
        return [
            TruncatedLaplaceMechanism.of_budget(part.l1, share * eps, own, entry=part.entry)
            for part, share, own in parts
        ]


class TruncatedGaussian(TruncatedLaplace):
    """As :class:`TruncatedLaplace`, with Gaussian noise where one record moves many numbers.

    Its width grows like the root of their number
    (:class:`~privlp.privacy.TruncatedGaussianMechanism`). A part gets it where it is narrower than
    Laplace noise at the whole budget; all parts get it if it is narrower on none.
    """

    def _mechanisms(
        self, request: SolveRequest, numbers: list[PrivateNumbers]
    ) -> list[noisy.BoundedNoise]:
        widths = {p.part: [noise.width for noise in kinds_on(request, p)] for p in numbers}
        narrower = {name: gaussian < laplace for name, (laplace, gaussian, *_) in widths.items()}
        gaussian = narrower if any(narrower.values()) else dict.fromkeys(narrower, True)

        def effect(part: PrivateNumbers) -> float:
            """The L1 change for which Laplace noise would be as wide as this noise."""
            of_laplace, width, *_ = widths[part.part]
            plain = not gaussian[part.part] or of_laplace == 0
            return part.l1 if plain else part.l1 * width / of_laplace

        priced = self._laplace(request, numbers, noisy.shares(request, numbers, effect))
        return [
            gaussian_beside(part, laplace) if gaussian[part.part] else laplace
            for part, laplace in zip(numbers, priced, strict=True)
        ]


class TruncatedSupNorm(TruncatedLaplace):
    """As :class:`TruncatedLaplace`, with noise on all right-hand sides together.

    It asks only by how much a single number moves, however many do: its width grows like their
    number over eps, and is the narrowest up to a few hundred
    (:class:`~privlp.privacy.TruncatedSupNormMechanism`).

    *Neighbours*: scalar-private.
    """

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity) and relation.private_parts == {"b"}

    def _mechanisms(
        self, request: SolveRequest, numbers: list[PrivateNumbers]
    ) -> list[noisy.BoundedNoise]:
        noisy.shares(request, numbers, lambda part: part.l1)  # checks a split
        return kinds_on(request, numbers[0])[2:]


def narrowest(request: SolveRequest) -> TruncatedLaplace:
    """Noise of one width that is narrower on some part of the program; Laplace noise in doubt."""
    try:
        numbers = noisy.private_numbers(request, TruncatedLaplace.name) if request.has_noise else []
        widths = [[noise.width for noise in kinds_on(request, part)] for part in numbers]
    except PrivLPError:
        return TruncatedLaplace()
    if any(of[2:] and of[2] < min(of[:2]) for of in widths):
        return TruncatedSupNorm()
    return TruncatedGaussian() if any(of[1] < of[0] for of in widths) else TruncatedLaplace()


def _require_ranges(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private equalities, and numbers with no declared end on the side of the noise."""
    ranges.require_one_end(form, numbers)
    ends = {
        "b": "lower (for <= rows) or upper (for >= rows)",
        "A": "upper (where growth tightens a row) or lower (where a fall does)",
    }
    for part in numbers:
        if part.part != "c" and ranges.open_ended(form, part):
            raise UnsupportedProblemError(
                f"feasible='always' needs a declared public range of the {noisy.NAMES[part.part]}:"
                f" give the neighbour relation a finite {ends[part.part]}, the same for every"
                f" neighbour and not read off the data. {ABOUT_ZEROS}",
                parameter="lower",
            )
