"""``"tightened"``: private numbers are released so that the true rows hold, surely or probably."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

import highspy
import numpy as np
import numpy.typing as npt

from privlp.errors import PrivLPError
from privlp.methods.base import Method, PlannedRun
from privlp.methods.noisy_numbers import low_sensitivity, private_numbers
from privlp.methods.task import Task
from privlp.methods.tightened.program import BoundedNoise
from privlp.methods.tightened.quantiles import QuantileNoise
from privlp.methods.tightened.rows import PRECISELY, TightenedRows
from privlp.methods.tightened.slacks import MeasuredSlack
from privlp.methods.tightened.truncated import (
    TruncatedGaussian,
    TruncatedLaplace,
    gaussian_is_narrower,
)
from privlp.privacy import TruncatedGaussianMechanism
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity, PrivateNumbers, ProgramNumbers

FloatArray = npt.NDArray[np.float64]

#: Shares of the declared ranges between which made-up right-hand sides lie.
_MIDDLE = (0.25, 0.75)
#: How many programs are made up, by rows times variables; larger programs are not tried.
_TRIALS = {500: 10, 20_000: 6, 1_000_000: 1}


def loss_in_trials(
    task: Task, numbers: Sequence[PrivateNumbers], runs: Sequence[PlannedRun]
) -> list[float] | None:
    """What planned runs lose of the optimum, as a share of its size, on made-up programs.

    The programs are those of :func:`made_up_numbers`. All runs see the same programs, one to ten,
    and noise of the same public seeds. No private number is read.

    Parameters
    ----------
    task : Task
        What the runs were planned for.
    numbers : sequence of PrivateNumbers
    runs : sequence of PlannedRun
        Their draws are of noise of bounded support.

    Returns
    -------
    list of float or None
        One for each run: the mean loss over the mean size of the optimum. None if nothing can be
        said: a range has an end missing, a made-up program has no optimum, a run gives no point, or
        the program is too large to be tried.
    """
    n, d = task.lp.shape[0] + task.n, task.lp.shape[1]
    count = next((count for cells, count in _TRIALS.items() if n * d <= cells), 0)
    lost, sizes = np.zeros(len(runs)), 0.0
    for seed in range(count):
        made_up = made_up_numbers(numbers, np.random.default_rng(seed))
        known = None if made_up is None else _program(task, numbers, made_up)
        best = None if known is None else _optimum(known, numbers)
        if made_up is None or known is None or best is None:
            return None
        sizes += abs(best)
        for k, run in enumerate(runs):
            x = _point(run, made_up, np.random.default_rng(seed))
            if x is None:
                return None
            lost[k] += task.lp.sign * (known.c @ x - best)
    return [float(loss) / sizes for loss in lost] if sizes > 0 else None


def made_up_numbers(
    numbers: Sequence[PrivateNumbers], rng: np.random.Generator
) -> dict[str, FloatArray] | None:
    """Public numbers in place of the private ones; None if a declared range has an end missing.

    Coefficients are uniform within their ranges; right-hand sides within the middle half, because
    ranges of resources are mostly declared with room on both sides. A cost stands as high in its
    range as the first private coefficient of its variable does in its own: what is worth more
    mostly takes more. Costs of other variables are uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram, RowPrivate
    >>> from privlp.methods.tightened.method import made_up_numbers
    >>> from privlp.problem.standard_form import StandardForm
    >>> relation = RowPrivate(0.5, lower=2, upper=3)
    >>> lp = LinearProgram([1, 2], [[2, 3]], [2], neighbours=relation)
    >>> numbers = relation.private_numbers(StandardForm.of(lp))
    >>> made_up_numbers(numbers, np.random.default_rng(0))
    {'A': array([2.63696169, 2.26978671])}
    """
    if not all(np.isfinite(part.high - part.low).all() for part in numbers):
        return None
    heights = {part.part: rng.random(len(part)) for part in numbers}
    if "b" in heights:
        heights["b"] = _MIDDLE[0] + (_MIDDLE[1] - _MIDDLE[0]) * heights["b"]
    parts = {part.part: part for part in numbers}
    if "A" in parts and "c" in parts:
        columns, first = np.unique(parts["A"].at[1], return_index=True)
        of_column = dict(zip(columns.tolist(), heights["A"][first].tolist(), strict=True))
        heights["c"] = np.array(
            [
                of_column.get(column, height)
                for column, height in zip(
                    parts["c"].at[0].tolist(), heights["c"].tolist(), strict=True
                )
            ]
        )
    return {name: part.low + (part.high - part.low) * heights[name] for name, part in parts.items()}


@dataclass(frozen=True, eq=False, repr=False)
class TrialRows:
    """Stands for the private rows in a trial: made-up numbers of each part, which are public."""

    made_up: dict[str, FloatArray]

    def values(self, numbers: PrivateNumbers) -> FloatArray:
        """The made-up numbers of a part."""
        return self.made_up[numbers.part]


@dataclass(frozen=True, eq=False, repr=False)
class TrialDraw:
    """Stands for a charged draw in a trial: noise of about the same law, of a public seed.

    It protects nothing and is charged nothing, because it is only added to public numbers.
    """

    mechanism: BoundedNoise
    rng: np.random.Generator

    def __call__(self, values: FloatArray) -> FloatArray:
        """The values, moved by noise that lies between minus two widths and 0."""
        mechanism = self.mechanism
        if isinstance(mechanism, TruncatedGaussianMechanism):
            noise = self.rng.normal(0.0, mechanism.sigma, len(values))
        else:
            noise = self.rng.laplace(0.0, mechanism.scale, len(values))
        return values - mechanism.width + np.clip(noise, -mechanism.width, mechanism.width)


def _program(
    task: Task, numbers: Sequence[PrivateNumbers], made_up: dict[str, FloatArray]
) -> ProgramNumbers:
    """The program of made-up numbers."""
    known = ProgramNumbers.of(task.form)
    for part in numbers:
        known = known.having(part, made_up[part.part])
    return known


def _optimum(known: ProgramNumbers, numbers: Sequence[PrivateNumbers]) -> float | None:
    """The optimal value of a program of public numbers, without its offset."""
    ends = next(
        ((part, *(known.values(part),) * 2) for part in numbers if part.part == "A"),
        None,
    )
    rows = TightenedRows.of(known, cast("Any", ends))
    status, point = rows.optimum(known.c, PRECISELY)
    if status != highspy.HighsModelStatus.kOptimal:
        return None
    return float(known.c @ rows.point(point))


def _point(
    run: PlannedRun, made_up: dict[str, FloatArray], rng: np.random.Generator
) -> FloatArray | None:
    """What a planned run releases on made-up numbers."""
    draws = [TrialDraw(cast("BoundedNoise", mechanism), rng) for mechanism, _, _ in run.charges]
    solver = run.start(TrialRows(made_up), cast("Any", draws))
    for t in range(solver.rounds):
        solver.step(t)
    return solver.released().x


#: Slacks are measured where the loss in trials is at most this share of that of released numbers
#: alone, and less by this share of the optimum. Chosen on advertising, packing and staffing
#: programs with seeds below 100: docs/explanation/methods.md says what came of it.
_CLEARLY_LESS, _WORTH_IT = 0.9, 1e-3


class Tightened(Method):
    """Release tightened numbers, solve the tightened program: its solutions satisfy the true rows.

    With a probability (``feasible=0.99``): numbers with noise, tightened by its quantiles
    (:class:`~privlp.methods.tightened.quantiles.QuantileNoise`). Otherwise with certainty, by
    whichever public numbers say loses less: Laplace or Gaussian noise that only tightens
    (:mod:`privlp.methods.tightened.truncated`), or, where coefficients are private, less of it and
    the slacks of rows at a released point (:mod:`privlp.methods.tightened.slacks`).

    *Neighbours, sensitivity, budget*: those of the way that is taken. The choice among them follows
    from public numbers, so it costs nothing.
    """

    name = "tightened"
    rows_hold = "always"

    def protects(self, relation: NeighbourRelation) -> bool:
        return isinstance(relation, LowSensitivity)

    def competes(self, task: Task) -> bool:  # noqa: ARG002
        return True

    def plan(self, task: Task) -> PlannedRun:
        if isinstance(task.feasible, Real):
            return QuantileNoise().plan(task)
        return by_slacks(task) or _by_noise(task)


def _by_noise(task: Task) -> PlannedRun:
    """Laplace noise on numbers, or Gaussian noise where that is narrower."""
    law = TruncatedGaussian() if gaussian_is_narrower(task) else TruncatedLaplace()
    return law.plan(task)


def by_slacks(task: Task) -> PlannedRun | None:
    """Measured slacks, if they lose clearly less on made-up public programs."""
    if "A" not in task.relation.private_parts:  # type: ignore[attr-defined]
        return None
    try:
        numbers = private_numbers(task, low_sensitivity(task, Tightened.name))
        planned = MeasuredSlack().plan(task)
        losses = loss_in_trials(task, numbers, [planned, _by_noise(task)])
    except PrivLPError:
        return None
    if losses is None:
        return None
    own, others = losses
    return planned if own <= _CLEARLY_LESS * others and others - own >= _WORTH_IT else None
