"""Rows that are never violated, by a margin or by slacks that are measured at released numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.game.loop import Released
from privlp.methods.base import NoiseOnNumbers, PlannedRun, Prediction
from privlp.methods.noisy_numbers import (
    AdditiveNoise,
    BoundedNoise,
    largest_of,
    private_numbers,
    quieter_noise_on,
    shares,
)
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.noise import TruncatedLaplace, gaussian_beside
from privlp.methods.tightened.program import TightenedProgram
from privlp.methods.tightened.rows import TightenedRows, at_ends, public_inequalities
from privlp.privacy import GaussianMechanism, LaplaceMechanism, TruncatedLaplaceMechanism
from privlp.privacy.gaussian_dp import mu_of
from privlp.problem.highs import optimum
from privlp.problem.standard_form import StandardForm, violated
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity, PrivateNumbers, ProgramNumbers
from privlp.sparse import as_sparse

#: Share of eps and delta for the noisy numbers; and how far beyond the point that they make a row
#: may be used, in widths of the noise on the margin. Chosen on packing, staffing and flow programs
#: whose numbers all move, with noise of seeds 1000 to 1005.
_OF_NUMBERS, _REACH = 0.7, 3.0
#: Measured margin over the largest noise on a number, on the same programs.
_TYPICAL = 0.5
_NOTE_OF_MARGIN = (
    "Three tenths of the budget measure one margin by which all rows hold at the released numbers."
)
_MEASURE_MARGIN = "measure one margin for all rows"


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
        predicted = replace(found, note=f"{found.note} {_NOTE_OF_MARGIN}".lstrip())
        charges = [*run.charges, (self._parts(request, part)[1], 1, _MEASURE_MARGIN)]
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


#: Share of eps and delta for the slacks; numbers that make the point share the rest so.
_OF_SLACKS = 0.6
_OF_PARTS = {"A": 2.0, "b": 1.0, "c": 1.0}
_NOTE_OF_SLACKS = (
    "Three fifths of the budget measure how far rows are from their right-hand sides at a released"
    " point, so noise on numbers matters less."
)
_MEASURE_SLACKS = "measure the slacks of rows at a released point"
#: Room that HiGHS is asked to leave in each row, as a share of the row's size.
_ROOM = 1e-8
_UNIT_ROUNDOFF = 2.0**-53


def change_of_slacks(form: StandardForm, numbers: Sequence[PrivateNumbers], y: FloatArray) -> float:
    """How far the slacks b - A y of all private ``<=`` rows move in L1, at a public point y.

    A right-hand side moves its own slack. A coefficient moves the slacks of its row by its change
    times abs(y_j): two slacks if the row has two sides. Changes of coefficients are at most `entry`
    each and `l1` in sum, and concern `touched` of them: so their part is at most
    min(l1 max_j abs(y_j), entry times the sum of the `touched` largest abs(y_j)), entries counted.
    If no two rows have private coefficients of one record, which the relation says by
    `in_one_row`, the sum goes over one row only.
    """
    total = 0.0
    for part in numbers:
        if part.part == "b":
            total += part.l1
        elif part.part == "A":
            size = np.abs(y)
            sides = int(form.lp.sides()[form.lp.private].max(initial=1))
            largest = np.sort(size[part.at[1]])[::-1][: part.touched]
            bounds = [part.l1 * float(largest.max(initial=0.0)), part.entry * float(largest.sum())]
            if part.in_one_row:
                bounds.append(part.entry * part.largest_row_sum(form.lp.shape[1])(size))
            total += sides * min(bounds)
    return total


class SlackProgram(TightenedProgram):
    """Two rounds: the private numbers, and the slacks at the point that they make."""

    rounds = 2

    def __init__(self, *release: Any, **options: Any) -> None:
        *others, draws = release
        super().__init__(*others, draws[:-1], **options)
        self._slack_draw = draws[-1]
        self._y: FloatArray | None = None
        self._slack = np.array([])

    def step(self, t: int) -> None:
        """Release the numbers; then the slacks of rows at the solution of their middles."""
        if t == 0:
            super().step(t)
            self._y = self._point_of_middles()
            self._trace["y"] = self._y
        elif self._y is not None:
            self._slack = self._measured(self._y)
            self._trace["slacks"] = self._slack

    def _point_of_middles(self) -> FloatArray:
        """The solution of the program of released numbers, noise of A and b taken at its median."""
        known = self._known
        for part, draw in zip(self._numbers, self._draws, strict=True):
            if part.part == "b":
                middle = known.rhs[part.at] + draw.mechanism.width  # type: ignore[attr-defined]
                known = known.having(part, np.minimum(middle, part.high))
        part, low, high = cast("Any", self._between)  # coefficients are private
        middle = (low + high) / 2
        found = TightenedRows.of(known, (part, middle, middle)).best(known.c, self._options)
        return cast("FloatArray", self._fallback) if found is None else found  # of the plan

    def _measured(self, y: FloatArray) -> FloatArray:
        """Release b - A y in units of its change, which is public; certainly below the true values.

        An allowance for rounding is subtracted from the slacks, and added to their change.
        """
        true = sizes = ProgramNumbers.of(self._form)
        for part, values in zip(self._numbers, self._values, strict=True):
            if part.part != "c":
                true = true.having(part, values)
                sizes = sizes.having(part, np.full(len(part), part.size))
        rounding = 8 * (len(y) + 4) * _UNIT_ROUNDOFF
        room = rounding * (abs(sizes.private_rows()) @ np.abs(y) + np.abs(sizes.rhs))
        unit = change_of_slacks(self._form, self._numbers, y) + 2 * float(room.sum())
        unit = max(unit, np.finfo(float).tiny ** 0.5)
        slack = true.rhs - true.private_rows() @ y - room
        released = self._slack_draw(slack / unit) * unit
        return released - 4 * _UNIT_ROUNDOFF * np.abs(released)

    def released(self) -> Released:
        """The better one of both programs' solutions, by the released costs."""
        first = super().released()
        if len(self._slack) == 0 or self._y is None:
            return first
        x = self._near(self._y)
        if x is None:
            return first
        cost = self._form.lp.sign * self._known.c
        if first.x is not None and cost @ x >= cost @ first.x:
            return first
        self._prices = None  # they would be those of the first program
        message = f"Solved the program of slacks at a released point; {self._promise}"
        return self.release(x, message, "")

    def _near(self, y: FloatArray) -> FloatArray | None:
        """The best x whose rows hold by their slacks at y; None if none is certain."""
        tight = TightenedRows.of(self._known, self._between)
        ends_of_rows = at_ends(self._known, *cast("Any", self._between))
        grown, fallen = (sp.csr_array(rows[tight.side]) for rows in ends_of_rows)
        # What the tightened rows say of the slacks is true as well.
        own = tight.slack(y)[: len(tight.side)]
        size = abs(grown).maximum(abs(fallen)) @ np.abs(y) + np.abs(self._known.rhs[tight.side])
        slack = np.maximum(self._slack[tight.side], own - _ROOM * size)
        lp, equality = self._form.lp, self._form.lp.row_lower == self._form.lp.b
        known, ends, _, _ = public_inequalities(lp)
        equal, values = as_sparse(lp.A)[equality], lp.b[equality]
        status, moves = optimum(
            np.concatenate([self._known.c, -self._known.c]),
            sp.vstack(
                [sp.hstack(pair) for pair in ((grown, -fallen), (known, -known), (equal, -equal))]
            ),
            np.concatenate([np.full(len(slack) + len(ends), -np.inf), values - equal @ y]),
            np.concatenate(
                [slack - _ROOM * size, ends - known @ y - _ROOM * np.abs(ends), values - equal @ y]
            ),
            _moves_within(self._form.lp.bounds, y),
            sense=self._form.lp.sense,
            options=self._options,
        )
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        x = np.clip(y + moves[: len(y)] - moves[len(y) :], *self._form.lp.bounds.T)
        up = sp.diags_array((x > y).astype(float))
        worst = grown @ up + fallen @ (sp.eye_array(len(y)) - up)
        fails = violated(sp.hstack([worst, -worst]), np.append(x, y), slack).any()
        return None if fails or violated(known, x, ends).any() else x


def _moves_within(bounds: FloatArray, y: FloatArray) -> FloatArray:
    """Bounds on moves up and down from y, (2d, 2)."""
    up, down = bounds[:, 1] - y, y - bounds[:, 0]
    return np.column_stack([np.zeros(2 * len(y)), np.maximum(np.append(up, down), 0.0)])


class MeasuredSlack(TruncatedLaplace):
    """Release numbers, then the slacks of all rows at the point they make.

    The numbers are released as by :class:`~privlp.methods.tightened.noise.TruncatedLaplace`; the
    middles of the intervals that hold them make a program, and its solution is y. Then b - A y is
    released, below its true value: it moves by less than tightened coefficients cost a row. The
    second program asks for A (x - y) <= what was released, with each coefficient at the end of its
    interval that is worse for x. If it has no certain solution, or a worse one, x is that of the
    tightened program.

    *Neighbours*: several at once, of which one makes coefficients private.

    *Sensitivity.* Given y, the slacks move in L1 by at most the sum over the parts of
    :func:`change_of_slacks`. They are released in units of it, which y makes public, by a
    :class:`~privlp.privacy.TruncatedLaplaceMechanism` of sensitivity 1, charged beforehand.

    *Budget.* Three fifths of eps and delta for the slacks, the rest for the numbers; basic
    composition. A `split` divides the rest.

    *Certainty.* b - A y >= r, and A lies within its intervals. So
    A x = A y + A (x - y) <= b - r + sup A (x - y) <= b. The last inequality is checked in exact
    arithmetic. Proof: ``docs/proofs.md``, "Slacks at a released point".
    """

    _program = SlackProgram

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity) and "A" in relation.private_parts

    def plan(self, request: SolveRequest) -> PlannedRun:
        run = super().plan(request)  # checks the request
        eps, delta = self._budget(request, private_numbers(request, self.name))
        found = cast("Callable[[], Prediction]", run.predict)()
        predicted = replace(found, note=f"{found.note} {_NOTE_OF_SLACKS}".lstrip())
        charges = [*run.charges, (_slack_noise(eps, delta), 1, _MEASURE_SLACKS)]
        return replace(run, charges=charges, predict=lambda: predicted)

    def _mechanisms(
        self, request: SolveRequest, numbers: list[PrivateNumbers]
    ) -> list[BoundedNoise]:
        """The noise on each part: Laplace, or Gaussian where that is narrower."""
        eps, delta = self._budget(request, numbers)
        left = 1 - _OF_SLACKS
        priced = self._of_eps(numbers, _split(request, numbers), left * eps, left * delta)
        if math.isinf(eps):
            return list(priced)
        pairs = zip(priced, map(gaussian_beside, numbers, priced), strict=True)
        return [other if other.width < one.width else one for one, other in pairs]

    def _budget(self, request: SolveRequest, numbers: list[PrivateNumbers]) -> tuple[float, float]:
        """The eps that numbers and slacks share, and the delta."""
        delta, split = request.ledger.delta_left, _split(request, numbers)

        left = 1 - _OF_SLACKS

        def make(eps: float) -> list[tuple[TruncatedLaplaceMechanism, int]]:
            parts = self._of_eps(numbers, split, left * eps, left * delta)
            return [(mechanism, 1) for mechanism in (*parts, _slack_noise(eps, delta))]

        return request.ledger.calibrate_together(make), delta


def _slack_noise(eps: float, delta: float) -> TruncatedLaplaceMechanism:
    """The noise on slacks in units of their change, where numbers and slacks share a budget."""
    return TruncatedLaplaceMechanism.of_budget(1.0, _OF_SLACKS * eps, _OF_SLACKS * delta)


def _split(request: SolveRequest, numbers: list[PrivateNumbers]) -> list[float]:
    """The shares of the parts in what the slacks leave."""
    if request.split is not None:
        return shares(request, numbers, lambda part: part.l1)
    weights = [_OF_PARTS[part.part] for part in numbers]
    return [weight / sum(weights) for weight in weights]
