"""Solutions that satisfy the true rows with certainty: noise that only tightens, and a check."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.methods.base import Method, PlannedRun
from privlp.methods.bounded_noise import (
    BoundedNoise,
    deltas,
    deviation,
    gaussian_effect,
    gaussian_noise,
    gaussian_parts,
    is_narrower,
    noise_on,
)
from privlp.methods.noisy_numbers import NAMES, low_sensitivity, private_numbers, shares
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.methods.tightened_program import TightenedProgram
from privlp.methods.tightened_rows import TightenedRows, certain, point_inside
from privlp.privacy import ChargedDraws, TruncatedLaplaceMechanism
from privlp.problem.standard_form import StandardForm
from privlp.regions.bounded import require_bounded
from privlp.relations.base import NeighbourRelation
from privlp.relations.low_sensitivity import LowSensitivity
from privlp.relations.private_numbers import PrivateNumbers
from privlp.rows.program_rows import ProgramRows

FloatArray = npt.NDArray[np.float64]


class TruncatedLaplace(Method):
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
    arithmetic; if that fails, the result is the public point. Sources: Muñoz Medina et al. (2021)
    for b; Benvenuti et al. (2026) for A and c. Proof: ``docs/proofs.md``, "Constraints that are
    never violated".
    """

    name = "truncated-laplace"
    never_violates = True

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity)

    def competes(self, task: Task) -> bool:
        return not gaussian_is_narrower(task)

    def plan(self, task: Task) -> PlannedRun:
        relation = low_sensitivity(task, self.name)
        task.refuse(
            self.name,
            s="no row is given up",
            alpha="no row is violated",
            width="ranges are declared by the neighbour relation",
            opt="the tightened program is solved for its own optimum",
        )
        if math.isfinite(task.ledger.eps) and task.ledger.delta == 0:
            raise InvalidParameterError(
                f"delta must be positive with method={self.name!r}: noise of bounded support needs"
                " it.",
                parameter="delta",
            )
        numbers = private_numbers(task, relation)
        _require_ranges(task.form, numbers)
        require_bounded(task.form, numbers, within_ranges=True)
        fallback = _surely_feasible(TightenedRows.tightest(task.form, numbers))
        mechanisms = self._mechanisms(task, numbers)

        def start(rows: ProgramRows, draws: Sequence[ChargedDraws]) -> TightenedProgram:
            return TightenedProgram(
                task.form,
                numbers,
                [rows.values(part) for part in numbers],
                draws,
                fallback=fallback,
                time_limit=task.time_limit,
            )

        def predict() -> Prediction:
            """The noise. No row is violated; the loss of objective is private."""
            noise = max(deviation(mechanism) / mechanism.sensitivity for mechanism in mechanisms)
            on_numbers = tuple(map(noise_on, numbers, mechanisms))
            return Prediction(self.name, 0.0, None, 1, noise, on_numbers=on_numbers)

        charges = [
            (mechanism, 1, f"tighten {NAMES[part.part]}")
            for part, mechanism in zip(numbers, mechanisms, strict=True)
        ]
        return PlannedRun(charges, start, predict)

    def _mechanisms(self, task: Task, numbers: list[PrivateNumbers]) -> list[BoundedNoise]:
        """The noise on each part."""
        split = shares(task, numbers, lambda part: part.l1)
        return list(self._laplace(task, numbers, split))

    def _laplace(
        self, task: Task, numbers: list[PrivateNumbers], split: list[float]
    ) -> list[TruncatedLaplaceMechanism]:
        """Laplace noise on each part, at its share of the budget."""
        delta = task.ledger.delta_left

        def make(eps: float) -> list[tuple[TruncatedLaplaceMechanism, int]]:
            return [(mechanism, 1) for mechanism in self._of_eps(numbers, split, eps, delta)]

        return self._of_eps(numbers, split, task.ledger.calibrate_together(make), delta)

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

    name = "truncated-gaussian"

    def competes(self, task: Task) -> bool:
        return gaussian_is_narrower(task)

    def _mechanisms(self, task: Task, numbers: list[PrivateNumbers]) -> list[BoundedNoise]:
        """The noise on each part: Gaussian noise instead of Laplace noise of the same price."""
        gaussian = gaussian_parts(task, numbers)
        whole = dict(zip((part.part for part in numbers), gaussian, strict=True))

        def effect(part: PrivateNumbers) -> float:
            return gaussian_effect(task, part) if whole[part.part] else part.l1

        priced = self._laplace(task, numbers, shares(task, numbers, effect))
        return [
            gaussian_noise(part, laplace.pure_eps, laplace.own_delta) if takes else laplace
            for part, laplace, takes in zip(numbers, priced, gaussian, strict=True)
        ]


def gaussian_is_narrower(task: Task) -> bool:
    """Whether Gaussian noise is narrower than Laplace noise on some part of the program.

    False if neither applies: the method itself then says why.
    """
    try:
        numbers = private_numbers(task, low_sensitivity(task, TruncatedLaplace.name))
        return math.isfinite(task.ledger.eps) and any(is_narrower(task, numbers))
    except PrivLPError:
        return False


def _require_ranges(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private equalities, and numbers with no declared end on the side of the noise."""
    parts = {part.part for part in numbers}
    if (form.lp.private & (form.lp.row_lower == form.lp.b)).any() and parts != {"c"}:
        raise UnsupportedProblemError(
            "A private equality cannot be tightened, so it cannot be satisfied with certainty. Make"
            " it public (private=...), or state the inequality that matters."
        )
    if "b" in parts and (form.lp.sides()[form.lp.private] > 1).any():
        raise UnsupportedProblemError(
            "A private range lower <= A x <= upper has one declared interval for both of its ends,"
            " which leaves nothing between them in the worst case. Write it as two rows, with an"
            " interval for each end."
        )
    for part in numbers:
        if part.part == "c":
            continue
        if part.part == "b":
            open_ended = ~np.isfinite(part.low)
            end = "lower (for <= rows) or upper (for >= rows)"
        else:
            open_ended = _open_coefficients(form, part)
            end = "upper (where growth tightens a row) or lower (where a fall does)"
        if open_ended.any():
            raise UnsupportedProblemError(
                f"feasible='always' needs a declared public range of the {NAMES[part.part]}: give"
                f" the neighbour relation a finite {end}, the same for every neighbour and not read"
                " off the data.",
                parameter="lower",
            )


def _open_coefficients(form: StandardForm, part: PrivateNumbers) -> npt.NDArray[np.bool_]:
    """Which private coefficients, (m,), have no declared end on the side that tightens a row."""
    row, column = part.at
    lower, upper = form.lp.bounds[column].T
    above, below = np.isfinite(form.lp.b[row]), np.isfinite(form.lp.row_lower[row])
    grows = (above & (upper > 0)) | (below & (lower < 0))
    falls = (above & (lower < 0)) | (below & (upper > 0))
    return (grows & ~np.isfinite(part.high)) | (falls & ~np.isfinite(part.low))


def _surely_feasible(rows: TightenedRows) -> FloatArray:
    """A point of the tightest program, certified in exact arithmetic. Public.

    Raises
    ------
    UnsupportedProblemError
        If there is none.
    """
    deepest = point_inside(rows, np.ones(len(rows.rhs), dtype=bool))
    x = None if deepest is None else certain(rows, deepest)
    if x is None:
        raise UnsupportedProblemError(
            "The tightened worst case has no feasible point: with every private number at the tight"
            " end of its declared range, no x satisfies all rows (or none that double precision can"
            " certify). Declare narrower ranges, or leave out feasible='always'. Nothing was drawn"
            " and nothing was charged."
        )
    return x
