"""Rows that are never violated, by one margin for all of them, measured at released numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.base import NoiseOnNumbers, PlannedRun, Prediction
from privlp.methods.noisy_numbers import (
    AdditiveNoise,
    largest_of,
    private_numbers,
    quieter_noise_on,
    shares,
)
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.noise import TightenedProgram, TruncatedLaplace
from privlp.methods.tightened.rows import TightenedRows
from privlp.privacy import GaussianMechanism, LaplaceMechanism, TruncatedLaplaceMechanism
from privlp.privacy.gaussian_dp import mu_of
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity, PrivateNumbers

#: Share of eps and delta for the noisy numbers; and how far beyond the point that they make a row
#: may be used, in widths of the noise on the margin. Chosen on packing, staffing and flow programs
#: whose numbers all move, with noise of seeds 1000 to 1005.
_OF_NUMBERS, _REACH = 0.7, 3.0
#: Measured margin over the largest noise on a number, on the same programs.
_TYPICAL = 0.5
_NOTE = (
    "Three tenths of the budget measure one margin by which all rows hold at the released numbers."
)
_PURPOSE = "measure one margin for all rows"


class MarginProgram(TightenedProgram):
    """Two rounds: noisy right-hand sides, and the margin that makes all of them safe."""

    rounds = 2

    def __init__(self, *release: Any, **options: Any) -> None:
        *others, draws = release
        super().__init__(*others, draws[:1], **options)
        self._margin_draw = draws[1]
        self._levels = np.array([])

    def step(self, t: int) -> None:
        """Release noisy numbers; then tighten the levels that follow from them."""
        (numbers,), (values,) = self._numbers, self._values
        if t == 0:
            most = np.minimum(numbers.high, numbers.size)
            noisy = np.clip(self._draws[0](values), numbers.low, most)
            self._trace["noisy b"] = noisy * self._form.row_sign[numbers.at]
            self._levels = self._levels_of(numbers, noisy)
            return
        margin = -self._margin_draw(-measured_margin(self._levels, values))
        self._trace["margin"] = margin
        low = self._levels - margin
        low -= 4 * np.spacing(np.abs(self._levels) + np.abs(margin))
        self._known = self._known.having(numbers, np.clip(low, numbers.low, numbers.high))
        self._trace["tightened b"] = self._known.rhs[numbers.at] * self._form.row_sign[numbers.at]

    def _levels_of(self, numbers: PrivateNumbers, noisy: FloatArray) -> FloatArray:
        """The noisy numbers, but no more than the rows need near the point that they make."""
        known = self._known.having(numbers, noisy)
        found = TightenedRows.of(known, None).best(known.c, self._options)
        if found is None:
            return noisy
        reach = _REACH * self._margin_draw.mechanism.width
        needed = (known.private_rows() @ found)[numbers.at] + reach
        return np.maximum(np.minimum(noisy, needed), numbers.low)


def measured_margin(levels: FloatArray, values: FloatArray) -> FloatArray:
    """The least margin at which no level exceeds its number, (1,): it moves like one number."""
    return np.max(levels - values, keepdims=True)


class OneMargin(TruncatedLaplace):
    """Release noisy numbers, then one margin by which all rows hold.

    b is released with Laplace or Gaussian noise, clipped to its range; no row is safe by that. The
    program of these numbers has a solution y. Row i is to be used up to the level r_i, which is the
    smaller of the noisy number and of a_i·y plus a public reach. Then the margin t = max_i (r_i -
    b_i) is released, above its true value. The program of b_i >= r_i - t is solved.

    *Neighbours*: scalar-private.

    *Sensitivity.* Given r, every r_i - b_i moves by at most the change of one number, and so does
    their maximum: however many numbers move. Rounding is added. The margin is released by a
    :class:`~privlp.privacy.TruncatedLaplaceMechanism`, charged beforehand; the numbers by
    additive noise on their L1 or L2 change.

    *Budget.* Seven tenths of eps and delta for the numbers, the rest for the margin.

    *Certainty.* r_i - t <= b_i for all rows at once. Releases are clipped to the declared ranges.
    All else is as for :class:`~privlp.methods.tightened.noise.TruncatedLaplace`. Proof:
    ``docs/proofs.md``, "One margin for all rows".
    """

    _program = MarginProgram
    _purpose = "noise on"

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity) and relation.private_parts == {"b"}

    def plan(self, request: SolveRequest) -> PlannedRun:
        run = super().plan(request)  # checks the request
        (part,) = private_numbers(request, self.name)
        found = cast("Callable[[], Prediction]", run.predict)()
        predicted = replace(found, note=f"{found.note} {_NOTE}".lstrip())
        charges = [*run.charges, (self._parts(request, part)[1], 1, _PURPOSE)]
        return replace(run, charges=charges, predict=lambda: predicted)

    def _mechanisms(self, request: SolveRequest, numbers: list[PrivateNumbers]) -> list[Any]:
        shares(request, numbers, lambda part: part.l1)  # checks a split
        return [self._parts(request, numbers[0])[0]]

    def _noise_on(
        self, request: SolveRequest, part: PrivateNumbers, mechanism: Any
    ) -> NoiseOnNumbers:
        margin = self._parts(request, part)[1]
        typical = _TYPICAL * largest_of(mechanism, len(part)) + margin.width
        return NoiseOnNumbers("b", typical, math.inf, float(np.median(part.high - part.low)))

    def _parts(
        self, request: SolveRequest, part: PrivateNumbers
    ) -> tuple[AdditiveNoise, TruncatedLaplaceMechanism]:
        """The noise on the numbers and on their margin."""
        gaussian = quieter_noise_on(request, part)[0].gaussian
        delta = request.ledger.delta_left
        # Each of two differences is rounded by at most 2^-53 of twice the size.
        entry = part.entry + 2.0**-51 * part.size

        def make(eps: float) -> tuple[AdditiveNoise, TruncatedLaplaceMechanism]:
            own, rest = _OF_NUMBERS * eps, (1 - _OF_NUMBERS) * eps
            noise: AdditiveNoise = LaplaceMechanism(part.l1, part.l1 / own)
            if gaussian:
                noise = GaussianMechanism(part.l2, part.l2 / mu_of(own, _OF_NUMBERS * delta))
            return noise, TruncatedLaplaceMechanism.of_budget(
                entry, rest, (1 - _OF_NUMBERS) * delta
            )

        return make(request.ledger.calibrate_together(lambda eps: [(of, 1) for of in make(eps)]))
