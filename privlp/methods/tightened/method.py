"""``"tightened"``: private numbers are released so that the true rows hold, surely or probably.

For certain by noise that only tightens, or with a probability by quantiles of noise. Variants are
compared on programs that are made up from declared ranges: no private number is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import numpy as np

from privlp.checks import BoolArray, FloatArray
from privlp.errors import PrivLPError, UnsupportedProblemError
from privlp.methods import noisy_numbers as noisy
from privlp.methods.base import COMPARED, NoiseOnNumbers, NumbersMethod, PlannedRun
from privlp.methods.noisy_numbers import private_numbers
from privlp.methods.request import SolveRequest
from privlp.methods.tightened import ranges
from privlp.methods.tightened.measured import MeasuredSlack, OneMargin
from privlp.methods.tightened.noise import TruncatedLaplace, narrowest
from privlp.methods.tightened.program import checked_numbers, tightened_run
from privlp.methods.tightened.ranges import loss_in_trials
from privlp.methods.tightened.weighted import WeightedNoise, weights_pay
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.privacy.noise import grid
from privlp.problem.standard_form import StandardForm
from privlp.regions.public_rows import require_bounded
from privlp.relations.numbers import PrivateNumbers

#: Slacks are measured where the loss in trials is at most this share of that of released numbers
#: alone, and less by this share of the optimum. Chosen on advertising, packing and staffing
#: programs with seeds below 100: docs/explanation/methods.md says what came of it.
_CLEARLY_LESS, _WORTH_IT = 0.9, 1e-3


class Tightened(NumbersMethod):
    """Release tightened numbers, solve the tightened program: its solutions satisfy the true rows.

    With a probability by :class:`QuantileNoise`. Else for certain by the classes of `noise` or
    `measured` that lose less by public numbers. Neighbours, sensitivity, budget: as told there.
    """

    name = "tightened"
    take_it = "only numbers move, and rows must hold: for certain, or with a probability"
    rows_hold = "always"

    def rank(self, request: SolveRequest) -> float | None:  # noqa: ARG002
        return COMPARED

    def plan(self, request: SolveRequest) -> PlannedRun:
        if isinstance(request.feasible, Real):
            return QuantileNoise().plan(request)
        return by_slacks(request) or by_margin(request) or _by_noise(request)


def _by_noise(request: SolveRequest) -> PlannedRun:
    """The run of noise on the numbers alone."""
    return noise_alone(request).plan(request)


def noise_alone(request: SolveRequest) -> TruncatedLaplace:
    """Noise by shadow prices, where that loses less; else the narrowest of noise of one width."""
    return WeightedNoise() if weights_pay(request) else narrowest(request)


def by_slacks(request: SolveRequest) -> PlannedRun | None:
    """Measured slacks, if they lose clearly less on made-up public programs."""
    private = "A" in request.relation.private_parts  # type: ignore[attr-defined]
    return _if_better(request, MeasuredSlack()) if private else None


def by_margin(request: SolveRequest) -> PlannedRun | None:
    """One margin for all rows, if a record moves several right-hand sides and that loses less."""
    method = OneMargin()
    if not method.protects(request.relation):
        return None
    (part,) = private_numbers(request, method.name)
    return _if_better(request, method) if part.l2 > part.entry else None


def _if_better(request: SolveRequest, method: NumbersMethod) -> PlannedRun | None:
    """The run of a method that loses clearly less than noise on the numbers alone."""
    try:
        numbers = private_numbers(request, Tightened.name)
        planned = method.plan(request)
        losses = loss_in_trials(request, numbers, [planned, _by_noise(request)])
    except PrivLPError:
        return None
    if losses is None:
        return None
    own, others = losses
    return planned if own <= _CLEARLY_LESS * others and others - own >= _WORTH_IT else None


_PROBABILITY = 0.99  #: The probability without ``feasible``.
#: Share of the allowed failures that margins use; the rest is a reserve.
_USED = 0.5
_ENLARGED = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class Margins:
    """By how much each released number is tightened, so that all rows hold together."""

    probability: float  # That all private numbers lie within their margins, in (0, 1).
    tail: float  # That one number lies outside: 1 - probability^(1/m) for m numbers.
    both: dict[str, BoolArray]  # By part, which numbers need a lower and an upper end.

    @classmethod
    def of(
        cls, form: StandardForm, numbers: Sequence[PrivateNumbers], probability: float
    ) -> Margins:
        """Margins for the private numbers that a row depends on."""
        needed = {str(part.part): ranges.needed_ends(form, part) for part in numbers}
        count = sum(int((lower | upper).sum()) for lower, upper in needed.values())
        tail = -math.expm1(math.log(probability) / max(count, 1)) * (1 - 1e-12)
        both = {part: lower & upper for part, (lower, upper) in needed.items()}
        return cls(probability, tail, both)

    def on(self, part: PrivateNumbers, mechanism: noisy.AdditiveNoise) -> FloatArray:
        """The margin of each number of a part, (m,); 0 for costs and without noise."""
        scale = noisy.scale_of(mechanism)
        if part.part == "c" or scale == 0:
            return np.zeros(len(part))
        tails = self.tail, self.tail / 2
        one, two = (max(_upper_quantile(mechanism, tail), 0.0) for tail in tails)
        return np.where(self.both[part.part], two, one) * _ENLARGED + grid(scale)

    def ends(
        self, part: PrivateNumbers, draw: ChargedDraws, values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Draw once; intervals that hold all numbers with the probability, or twice the cost."""
        margin, released = self.on(part, cast("noisy.AdditiveNoise", draw.mechanism)), draw(values)
        if part.part == "c" or not margin.any():
            return released, released
        # Roundings of the release and of the two ends: each at most half a unit in the last place.
        margin = margin + 4 * np.spacing(np.abs(released) + margin)
        return released - margin, released + margin


def _upper_quantile(mechanism: noisy.AdditiveNoise, tail: float) -> float:
    """The number that the noise exceeds with this probability."""
    if isinstance(mechanism, GaussianMechanism):
        from scipy.special import ndtri  # noqa: PLC0415 (slow to load)

        return -mechanism.sigma * float(ndtri(tail))
    return -mechanism.scale * math.log(2 * tail) if tail <= 0.5 else 0.0


class QuantileNoise(NumbersMethod):
    """Release noisy numbers, tightened by quantiles of their noise, and solve that program.

    The true rows hold together with the probability ``feasible=p`` over the noise.

    *Neighbours*: scalar-, row-, column- or objective-private, or several at once.

    *Sensitivity and budget.* Laplace noise on the L1 sensitivity or Gaussian noise on the L2
    sensitivity of each part, whichever needs the smaller margin. Parts share the budget by the
    margins they cause. No delta is spent on truncation, so ``delta=0`` will do.

    *Probability.* Let m be the number of private right-hand sides and coefficients that a row
    depends on, and q = (1 + p)/2. Their noise is independent, so that each lies within its margin
    with probability q^(1/m), and all of them with probability q. Between q and p lies a reserve:
    rows that are all tight fail in just 1 - q of all draws, and so in less than 1 - p of any
    thousand draws. A right-hand side is tightened by that quantile of its noise. So is a
    coefficient, on the one side that tightens rows; where both sides do, by the quantile of the
    noise's size. If all lie within their margins, every x that satisfies the tightened rows
    satisfies the true ones, whatever x and the data are. Costs violate nothing.

    *Ranges* are not needed. If some x satisfies all rows at their tight ends, tightened rows never
    contradict each other. Proof: ``docs/proofs.md``, "Constraints that hold with a probability".
    """

    name = "tightened"
    rows_hold = "probably"

    def plan(self, request: SolveRequest) -> PlannedRun:
        alpha = "no row is violated, but with a small probability"
        numbers = checked_numbers(request, self.name, alpha, "margins follow from the noise")
        require_bounded(request.form, numbers, within_ranges=True)
        worst, note = _worst_case(request.form, numbers)
        probability = _PROBABILITY if request.feasible is None else float(request.feasible)
        margins = Margins.of(request.form, numbers, 1 - _USED * (1 - probability))
        pairs = zip(numbers, _mechanisms(request, numbers, margins), strict=True)
        released = [(*pair, _noise_on(*pair, margins)) for pair in pairs]
        promise = (
            f"all true inequality rows hold together with probability at least {probability:g} over"
            " the noise"
        )
        options: dict[str, Any] = {"ends": margins.ends, "promise": promise}
        return tightened_run(self.name, request, released, "noise on", worst, note, **options)


def _worst_case(
    form: StandardForm, numbers: list[PrivateNumbers]
) -> tuple[ranges.WorstCase | None, str]:
    """The worst case within the declared ranges, if it has a point, and what a plan says of it."""
    may_end = (
        "So the tightened rows may contradict each other; then the solve ends as infeasible, and"
        " the budget is spent."
    )
    if any(ranges.open_ended(form, part) for part in numbers):
        return None, f"No range is declared for some private numbers. {may_end}"
    try:
        ranges.require_one_end(form, numbers)
        worst = ranges.WorstCase.of(form, numbers)
    except UnsupportedProblemError as error:
        reason, _, _ = str(error).partition(" Declare")
        return None, f"{reason} {may_end}"
    return worst, worst.note(form.lp.sense)


def _mechanisms(
    request: SolveRequest, numbers: list[PrivateNumbers], margins: Margins
) -> list[noisy.AdditiveNoise]:
    """Laplace or Gaussian noise on each part, whichever needs the smaller margin."""

    def size(part: PrivateNumbers, mechanism: noisy.AdditiveNoise) -> float:
        if part.part == "c":
            return noisy.largest_of(mechanism, len(part))
        return float(margins.on(part, mechanism).max(initial=0.0))

    found = [
        noisy.quieter_noise(request, part.l1, part.l2, lambda noise, part=part: size(part, noise))  # type: ignore[misc]
        for part in numbers
    ]
    whole = {part.part: size(part, noise) for part, (_, noise) in zip(numbers, found, strict=True)}
    split = noisy.shares(request, numbers, lambda part: whole[part.part])
    return noisy.mechanisms_of(request, numbers, [kind for kind, _ in found], split)


def _noise_on(
    part: PrivateNumbers, mechanism: noisy.AdditiveNoise, margins: Margins
) -> NoiseOnNumbers:
    """The margin of a number, or the typical noise on a cost."""
    declared = float(np.median(part.high - part.low))
    if part.part == "c":
        return NoiseOnNumbers("c", noisy.scale_of(mechanism), math.inf, declared)
    typical = float(np.median(margins.on(part, mechanism)))
    return NoiseOnNumbers(part.part, typical, math.inf, declared)
