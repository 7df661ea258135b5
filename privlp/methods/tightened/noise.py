"""Noise of bounded support that only tightens: by Laplace, Gaussian or sup-norm noise."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.methods import noisy_numbers as noisy
from privlp.methods.base import NoiseOnNumbers, NumbersMethod, PlannedRun
from privlp.methods.request import SolveRequest
from privlp.methods.tightened import ranges
from privlp.methods.tightened.program import TightenedProgram, checked_numbers, tightened_run
from privlp.privacy import (
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

_EVEN = 1e-3  # Share of delta that is split evenly, so that every part has some.


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
