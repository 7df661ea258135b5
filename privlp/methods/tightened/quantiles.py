"""Rows that hold together with a given probability: noise, and margins of its quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.methods.base import NoiseOnNumbers, NumbersMethod, PlannedRun
from privlp.methods.noisy_numbers import (
    AdditiveNoise,
    largest_of,
    mechanisms_of,
    quieter_noise,
    scale_of,
    shares,
)
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.noise import checked_numbers, tightened_run
from privlp.methods.tightened.worst_case import WorstCase, needed_ends, open_ended, require_one_end
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.privacy.noise.rounding import grid
from privlp.problem.standard_form import StandardForm
from privlp.regions.bounded import require_bounded
from privlp.relations.numbers import PrivateNumbers

FloatArray = npt.NDArray[np.float64]

#: The probability without ``feasible``.
_PROBABILITY = 0.99
#: Share of the allowed failures that margins use; the rest is a reserve.
_USED = 0.5
_ENLARGED = 1 + 1e-12


@dataclass(frozen=True, eq=False)
class Margins:
    """By how much each released number is tightened, so that all rows hold together."""

    probability: float  # That all private numbers lie within their margins, in (0, 1).
    # Probability with which one number may lie outside: 1 - probability^(1/m) for m
    # numbers.
    tail: float
    both: dict[str, npt.NDArray[np.bool_]]  # By part, which numbers need a lower and an upper end.

    @classmethod
    def of(
        cls, form: StandardForm, numbers: Sequence[PrivateNumbers], probability: float
    ) -> Margins:
        """Margins for the private numbers that a row depends on."""
        needed = {part.part: needed_ends(form, part) for part in numbers}
        count = sum(int((lower | upper).sum()) for lower, upper in needed.values())
        tail = -math.expm1(math.log(probability) / max(count, 1)) * (1 - 1e-12)
        return cls(
            probability, tail, {part: lower & upper for part, (lower, upper) in needed.items()}
        )

    def on(self, part: PrivateNumbers, mechanism: AdditiveNoise) -> FloatArray:
        """The margin of each number of a part, (m,); 0 for costs and without noise."""
        scale = scale_of(mechanism)
        if part.part == "c" or scale == 0:
            return np.zeros(len(part))
        one, two = (
            max(_upper_quantile(mechanism, tail), 0.0) for tail in (self.tail, self.tail / 2)
        )
        return np.where(self.both[part.part], two, one) * _ENLARGED + grid(scale)

    def ends(
        self, part: PrivateNumbers, draw: ChargedDraws, values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Draw once; an interval for each number, and all hold with the probability.

        For costs both ends are the released cost.
        """
        margin, released = self.on(part, cast("AdditiveNoise", draw.mechanism)), draw(values)
        if part.part == "c" or not margin.any():
            return released, released
        # Roundings of the release and of the two ends: each at most half a unit in the last place.
        margin = margin + 4 * np.spacing(np.abs(released) + margin)
        return released - margin, released + margin


def _upper_quantile(mechanism: AdditiveNoise, tail: float) -> float:
    """The number that the noise exceeds with this probability."""
    if isinstance(mechanism, GaussianMechanism):
        from scipy.special import ndtri  # noqa: PLC0415 (slow to load)

        return -mechanism.sigma * float(ndtri(tail))
    return -mechanism.scale * math.log(2 * tail) if tail <= 0.5 else 0.0


class QuantileNoise(NumbersMethod):
    """Release noisy numbers, tightened by quantiles of their noise, and solve that program.

    The true rows hold together with the probability ``feasible=p`` over the noise.

    *Neighbours*: scalar-, row-, column- or objective-private, or several at once.

    *Sensitivity and budget.* As for :class:`~privlp.methods.direct_noise.DirectNoise`: Laplace
    noise on the L1 sensitivity or Gaussian noise on the L2 sensitivity of each part, whichever
    needs the smaller margin. Parts share the budget by the margins they cause. No delta is spent on
    truncation, so ``delta=0`` will do.

    *Probability.* Let m be the number of private right-hand sides and coefficients that a row
    depends on, and q = (1 + p)/2. Their noise is independent, so that each lies within its margin
    with probability q^(1/m), and all of them with probability q. Between q and p lies a reserve:
    rows that are all tight fail in just 1 - q of all draws, and so in less than 1 - p of any
    thousand draws. A right-hand side is tightened by that quantile of
    its noise. So is a coefficient, on the one side that tightens rows; where both sides do, by the
    quantile of the noise's size. If all lie within their margins, every x that satisfies the
    tightened rows satisfies the true ones. So it does not matter that x depends on the noise, nor
    what the data are. Costs violate nothing.

    *Ranges* are of use but not needed. Releases are clipped to them, which only brings tightened
    numbers nearer to the truth. If some x satisfies all rows at the tight ends of the ranges, the
    tightened rows never contradict each other. Otherwise they may; then the solve ends as
    infeasible, without x. Proof: ``docs/proofs.md``, "Constraints that hold with a probability".
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
        mechanisms = _mechanisms(request, numbers, margins)
        on_numbers = [_noise_on(*pair, margins) for pair in zip(numbers, mechanisms, strict=True)]
        return tightened_run(
            self.name,
            request,
            numbers,
            mechanisms,
            on_numbers,
            "noise on",
            worst=worst,
            note=note,
            ends=margins.ends,
            promise=(
                "all true inequality rows hold together with probability at least"
                f" {probability:g} over the noise"
            ),
        )


def _worst_case(form: StandardForm, numbers: list[PrivateNumbers]) -> tuple[WorstCase | None, str]:
    """The worst case within the declared ranges, if it has a point, and what a plan says of it."""
    may_end = (
        "So the tightened rows may contradict each other; then the solve ends as infeasible, and"
        " the budget is spent."
    )
    if any(open_ended(form, part) for part in numbers):
        return None, f"No range is declared for some private numbers. {may_end}"
    try:
        require_one_end(form, numbers)
        worst = WorstCase.of(form, numbers)
    except UnsupportedProblemError as error:
        reason, _, _ = str(error).partition(" Declare")
        return None, f"{reason} {may_end}"
    return worst, worst.note(form.lp.sense)


def _mechanisms(
    request: SolveRequest, numbers: list[PrivateNumbers], margins: Margins
) -> list[AdditiveNoise]:
    """Laplace or Gaussian noise on each part, whichever needs the smaller margin."""

    def size(part: PrivateNumbers, mechanism: AdditiveNoise) -> float:
        if part.part == "c":
            return largest_of(mechanism, len(part))
        return float(margins.on(part, mechanism).max(initial=0.0))

    found = [
        quieter_noise(request, part.l1, part.l2, lambda noise, part=part: size(part, noise))  # type: ignore[misc]
        for part in numbers
    ]
    whole = {part.part: size(part, noise) for part, (_, noise) in zip(numbers, found, strict=True)}
    split = shares(request, numbers, lambda part: whole[part.part])
    return mechanisms_of(request, numbers, [kind for kind, _ in found], split)


def _noise_on(part: PrivateNumbers, mechanism: AdditiveNoise, margins: Margins) -> NoiseOnNumbers:
    """The margin of a number, or the typical noise on a cost."""
    declared = float(np.median(part.high - part.low))
    if part.part == "c":
        return NoiseOnNumbers("c", scale_of(mechanism), math.inf, declared)
    typical = float(np.median(margins.on(part, mechanism)))
    return NoiseOnNumbers(part.part, typical, math.inf, declared)
