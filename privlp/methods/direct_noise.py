"""Direct noise: release the private numbers with noise, then let HiGHS solve the noisy program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, real
from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.game.loop import Released
from privlp.methods.base import COMPARED, NumbersMethod, PlannedRun, Prediction
from privlp.methods.noisy_numbers import (
    AdditiveNoise,
    OneRelease,
    deviation,
    largest_of,
    mechanisms_of,
    private_numbers,
    quieter_noise_on,
    run_of_one_release,
    shares,
)
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.problem.data import ProgramData
from privlp.problem.highs import optimum, priced_optimum
from privlp.problem.standard_form import StandardForm
from privlp.regions.public_rows import largest_size, require_bounded
from privlp.regions.simplex import Simplex
from privlp.relations.numbers import PrivateNumbers
from privlp.sparse import as_sparse
from privlp.status import Status

_NO_ROUNDS = "the noisy program is solved at once"
# Measured largest violation over the largest noise of a row: see docs/results/low_sensitivity.md.
_TYPICAL_SHARE = 0.4
_OPTIMAL = highspy.HighsModelStatus.kOptimal
_CONTRADICTORY = (
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnboundedOrInfeasible,
)
_STATUS = {
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
}


class DirectNoise(NumbersMethod):
    """Noise on b, A or c, then HiGHS: everything after the release is post-processing.

    *Neighbours*: scalar-, row-, column- or objective-private, or several at once.

    *Sensitivity.* That of the numbers themselves, in the user's units: no change of variables is
    made (:meth:`~privlp.relations.LowSensitivity.private_numbers`). Laplace noise on the L1
    sensitivity or Gaussian noise on the L2 sensitivity, whichever is smaller at the largest of all
    entries. Proof: ``docs/proofs.md``, "Direct noise".

    *Noisy program.* With a public `opt`, x minimises the largest violation of the noisy rows among
    points of that objective. Without one, x minimises the objective over the noisy rows. If these
    contradict each other, all are relaxed by the same amount, twice the least one at which they do
    not. Where c is private the released costs count.

    *Budget.* Parts of a combined relation take the shares given by `split`, or shares proportional
    to the square roots of the errors they cause.
    """

    name = "direct-noise"
    take_it = "only numbers move, and rows may be missed by a little"
    auto_leaves_out = ("alpha",)  # it sets the rounds of other methods

    def rank(self, request: SolveRequest) -> float | None:  # noqa: ARG002
        return COMPARED

    def plan(self, request: SolveRequest) -> PlannedRun:
        numbers = private_numbers(request, self.name)
        request.refuse(
            self.name,
            s="only constraint-private solvers give up rows",
            alpha=_NO_ROUNDS,
            width=_NO_ROUNDS,
        )
        value = _public_optimum(request, costs_are_private=any(p.part == "c" for p in numbers))
        if value is None:
            require_bounded(request.form, numbers)
        else:
            request.refuse_prices(self.name, "without opt it does")
        kinds = [quieter_noise_on(request, part) for part in numbers]
        noise = {
            part.part: largest_of(mechanism, len(part))
            for part, (_, mechanism) in zip(numbers, kinds, strict=True)
        }
        split = shares(request, numbers, lambda part: noise[part.part])
        mechanisms = mechanisms_of(request, numbers, [kind for kind, _ in kinds], split)
        slack = max(map(largest_of, mechanisms, map(len, numbers)))

        program = partial(NoisyProgram, value=value, slack=slack)
        whole = [mechanism for _, mechanism in kinds]
        return run_of_one_release(
            request,
            numbers,
            mechanisms,
            "noise on",
            program,
            lambda: self._prediction(request, numbers, whole),
        )

    def _prediction(
        self,
        request: SolveRequest,
        numbers: Sequence[PrivateNumbers],
        whole: Sequence[AdditiveNoise],
    ) -> Prediction:
        """Predicted violation from noise of the whole budget on each part."""
        size = size_of_x(request) if any(part.part == "A" for part in numbers) else 1.0
        rows = max(1, request.form.n_private)
        total, noise = 0.0, 0.0
        for part, mechanism in zip(numbers, whole, strict=True):
            noise = max(noise, deviation(mechanism) / mechanism.sensitivity)
            if part.part != "c":
                reach = size if part.part == "A" else 1.0
                total += _TYPICAL_SHARE * reach * largest_of(mechanism, rows)
        objective_loss = 0.0 if request.opt is not None else None
        return Prediction(self.name, total, objective_loss, 1, noise)


def size_of_x(request: SolveRequest) -> float:
    """A typical ||x||_2: that of a simplex of public optimum, or half of the largest possible."""
    try:
        return Simplex(StandardForm.of(request.lp, every_row=True), request.opt).typical_size
    except PrivLPError:
        largest = largest_size(request.lp)
    if math.isinf(largest):
        raise UnsupportedProblemError(
            "How large x may be, and with it the effect of noise on A, is not known publicly: give"
            " every variable finite bounds.",
            parameter="bounds",
        )
    return largest / 2


def _public_optimum(request: SolveRequest, *, costs_are_private: bool) -> float | None:
    """The public optimum c·x without offset, checked against the public region."""
    if request.opt is None:
        return None
    if costs_are_private:
        raise InvalidParameterError(
            "opt has no use where c is private: the optimum of the released costs is found. Leave"
            " it out.",
            parameter="opt",
        )
    lp, value = request.lp, real(request.opt, "opt") - request.lp.offset
    matrix, lower, upper = _rows_and_value(lp, ~lp.private, value)
    status, _ = optimum(np.zeros(len(lp.c)), matrix, lower, upper, lp.bounds)
    if status == highspy.HighsModelStatus.kInfeasible:
        raise UnsupportedProblemError(
            f"opt = {request.opt:g} is out of reach: no x within the public rows and bounds has"
            " that objective.",
            parameter="opt",
        )
    return value


def _rows_and_value(
    lp: ProgramData, rows: BoolArray, value: float
) -> tuple[sp.csc_array, FloatArray, FloatArray]:
    """Some rows of the program, and c·x = value, as (matrix, lower, upper)."""
    matrix = sp.vstack([as_sparse(lp.A[rows], sp.csc_array), sp.csc_array(lp.c[None, :])])
    return sp.csc_array(matrix), np.append(lp.row_lower[rows], value), np.append(lp.b[rows], value)


class NoisyProgram(OneRelease):
    """One release of all private numbers, then HiGHS on the noisy program."""

    def __init__(
        self, *release: Any, value: float | None, slack: float, time_limit: float | None
    ) -> None:
        super().__init__(*release, time_limit=time_limit)
        self._value, self._slack = value, slack

    def _release_part(
        self, numbers: PrivateNumbers, values: FloatArray, draw: ChargedDraws
    ) -> None:
        """Release noisy numbers."""
        noisy = draw(values)
        if numbers.part == "c":  # within its declared range the program stays bounded
            noisy = np.clip(noisy, numbers.low, numbers.high)
        self._known = self._known.having(numbers, noisy)
        if numbers.part == "b":  # as the user wrote them
            noisy = noisy * self._form.row_sign[numbers.at]
        self._trace[f"noisy {numbers.part}"] = noisy

    def released(self) -> Released:
        """The solution of the noisy program."""
        status, x, prices = self._solve()
        message = "Released the private numbers with noise and solved the noisy program"
        if x is None:
            return Released(
                None,
                None,
                self._trace,
                status,
                f"{message}; HiGHS ended without a solution: {status}.",
            )
        return self._at(x, message, prices=prices)

    def _solve(self) -> tuple[Status, FloatArray | None, FloatArray | None]:
        """Optimise over (x, t), every private row relaxed by t; no prices with a public optimum."""
        lp, d = self._form.lp, self._form.lp.shape[1]
        matrix, lower, upper = self._relaxed_rows()

        def best_point(
            cost: FloatArray, least: float, most: float
        ) -> tuple[highspy.HighsModelStatus, FloatArray, FloatArray]:
            bounds = np.vstack([lp.bounds, [least, most]])
            return priced_optimum(cost, matrix, lower, upper, bounds, options=self._options)

        cheap, tight = np.append(lp.sign * self._known.c, 0.0), np.append(np.zeros(d), 1.0)
        priced = self._value is None
        if self._value is not None:
            status, point, duals = best_point(tight, -self._slack, np.inf)
        else:
            status, point, duals = best_point(cheap, 0.0, 0.0)
            if status in _CONTRADICTORY:
                status, point, _ = best_point(tight, 0.0, np.inf)
                priced = False
                if status == _OPTIMAL:
                    relaxed_by = 2 * float(point[-1])
                    relaxed_status, cheaper, duals = best_point(cheap, relaxed_by, relaxed_by)
                    priced = relaxed_status == _OPTIMAL
                    point = cheaper if priced else point
        if status != _OPTIMAL:
            return _STATUS.get(status, Status.NUMERICAL_ERROR), None, None
        x = np.clip(point[:d], *lp.bounds.T)
        return Status.COMPLETED, x, self._prices(duals) if priced else None

    def _prices(self, duals: FloatArray) -> FloatArray:
        """Prices of the user's rows, in the user's sense, from those of public and private rows."""
        form, lp = self._form, self._form.lp
        public = np.flatnonzero(~lp.private & (lp.sides() > 0))
        prices = np.zeros(lp.shape[0])
        prices[public] = duals[: len(public)]
        np.add.at(prices, form.row, form.row_sign * duals[len(public) :])
        return lp.sign * prices

    def _relaxed_rows(self) -> tuple[sp.csc_array, FloatArray, FloatArray]:
        """Rows lower <= A (x, t) <= upper: public ones, and noisy ones relaxed by t."""
        lp, known = self._form.lp, self._known
        public, rows = ~lp.private & (lp.sides() > 0), known.private_rows()
        if self._value is None:
            matrix = as_sparse(lp.A[public], sp.csc_array)
            lower, upper = lp.row_lower[public], lp.b[public]
        else:
            matrix, lower, upper = _rows_and_value(lp, public, self._value)
        relaxed = np.concatenate([np.zeros(len(upper)), -np.ones(rows.shape[0])])
        stacked = sp.vstack([matrix, sp.csc_array(rows)])
        return (
            sp.csc_array(sp.hstack([stacked, sp.csc_array(relaxed[:, None])])),
            np.concatenate([lower, np.full(rows.shape[0], -np.inf)]),
            np.concatenate([upper, known.rhs]),
        )
