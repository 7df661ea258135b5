"""Solutions that satisfy the true rows with certainty: noise that only tightens, and a check."""

from __future__ import annotations

import math
from functools import partial

from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.methods.base import Method, PlannedRun
from privlp.methods.noisy_numbers import (
    NAMES,
    low_sensitivity,
    private_numbers,
    run_of_one_release,
    shares,
)
from privlp.methods.prediction import Prediction
from privlp.methods.task import Task
from privlp.methods.tightened.program import (
    BoundedNoise,
    TightenedProgram,
    caution,
    deltas,
    deviation,
    gaussian_effect,
    gaussian_noise,
    gaussian_parts,
    is_narrower,
    noise_on,
)
from privlp.methods.tightened.worst_case import (
    WorstCase,
    open_ended,
    require_inequalities,
    require_one_end,
)
from privlp.privacy import TruncatedLaplaceMechanism
from privlp.problem.standard_form import StandardForm
from privlp.regions.bounded import require_bounded
from privlp.relations.base import NeighbourRelation
from privlp.relations.bounded_change import ABOUT_ZEROS
from privlp.relations.numbers import LowSensitivity, PrivateNumbers


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
    arithmetic. If that fails, the result is the public point, with a warning. Where costs are
    public that point is the optimum of the tightest program, so the plan can state its objective.
    Sources: Muñoz Medina et al. (2021) for b; Benvenuti et al. (2026) for A and c. Proof:
    ``docs/proofs.md``, "Constraints that are never violated".
    """

    name = "tightened"
    rows_hold = "always"

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity)

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
        worst = WorstCase.of(task.form, numbers)
        mechanisms = self._mechanisms(task, numbers)
        on_numbers = tuple(map(noise_on, numbers, mechanisms))

        program = partial(
            TightenedProgram,
            fallback=worst.point,
            inside=worst.inside,
            caution=caution(on_numbers),
        )

        def predict() -> Prediction:
            """The noise. No row is violated; the loss of objective is private."""
            noise = max(deviation(mechanism) / mechanism.sensitivity for mechanism in mechanisms)
            note = worst.note(task.lp.sense)
            return Prediction(self.name, 0.0, None, 1, noise, on_numbers=on_numbers, note=note)

        return run_of_one_release(task, numbers, mechanisms, "tighten", program, predict)

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
    require_inequalities(form, numbers)
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
