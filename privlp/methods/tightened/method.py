"""``"tightened"``: private numbers are released so that the true rows hold, surely or probably."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from privlp.errors import PrivLPError
from privlp.methods.base import COMPARED, NumbersMethod, PlannedRun
from privlp.methods.noisy_numbers import BoundedNoise, private_numbers, scale_of
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.noise import TruncatedGaussian, TruncatedLaplace, gaussian_is_narrower
from privlp.methods.tightened.quantiles import QuantileNoise
from privlp.methods.tightened.rows import TightenedRows
from privlp.methods.tightened.slacks import MeasuredSlack
from privlp.privacy import TruncatedGaussianMechanism
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers

FloatArray = npt.NDArray[np.float64]

#: Shares of the declared ranges between which made-up right-hand sides lie.
_MIDDLE = (0.25, 0.75)
#: How many programs are made up, by rows times variables; larger programs are not tried.
_TRIALS = {500: 10, 20_000: 6, 1_000_000: 1}


def loss_in_trials(
    request: SolveRequest, numbers: Sequence[PrivateNumbers], runs: Sequence[PlannedRun]
) -> list[float] | None:
    """What planned runs lose of the optimum, as a share of its size, on made-up programs.

    All runs see the same programs of :func:`made_up_numbers`, one to ten, and noise of the same
    public seeds. No private number is read.
    """
    n, d = request.lp.shape[0] + request.n, request.lp.shape[1]
    count = next((count for cells, count in _TRIALS.items() if n * d <= cells), 0)
    lost, sizes = np.zeros(len(runs)), 0.0
    for seed in range(count):
        made_up = made_up_numbers(numbers, np.random.default_rng(seed))
        if made_up is None:
            return None
        known = ProgramNumbers.of(request.form)
        for part in numbers:
            known = known.having(part, made_up[part.part])
        ends = next((p for p in numbers if p.part == "A"), None)
        rows = TightenedRows.of(known, None if ends is None else (ends, *(known.values(ends),) * 2))
        if (found := rows.best(known.c)) is None:
            return None
        points = [_point(run, made_up, np.random.default_rng(seed)) for run in runs]
        best = float(known.c @ found)
        sizes += abs(best)
        for k, x in enumerate(points):
            if x is None:
                return None
            lost[k] += request.lp.sign * (known.c @ x - best)
    return [float(loss) / sizes for loss in lost] if sizes > 0 else None


def made_up_numbers(
    numbers: Sequence[PrivateNumbers], rng: np.random.Generator
) -> dict[str, FloatArray] | None:
    """Public numbers in place of the private ones; None if a declared range has an end missing."""
    if not all(np.isfinite(part.high - part.low).all() for part in numbers):
        return None
    heights = {part.part: rng.random(len(part)) for part in numbers}
    if "b" in heights:
        heights["b"] = _MIDDLE[0] + (_MIDDLE[1] - _MIDDLE[0]) * heights["b"]
    parts = {part.part: part for part in numbers}
    if "A" in parts and "c" in parts:
        columns, first = np.unique(parts["A"].at[1], return_index=True)
        of_column = dict(zip(columns.tolist(), heights["A"][first].tolist(), strict=True))
        pairs = zip(parts["c"].at[0].tolist(), heights["c"].tolist(), strict=True)
        heights["c"] = np.array([of_column.get(column, height) for column, height in pairs])
    return {name: part.low + (part.high - part.low) * heights[name] for name, part in parts.items()}


class TrialDraw(NamedTuple):
    """Stands for a charged draw in a trial: noise of about the same law, of a public seed.

    It protects nothing and is charged nothing, because it is only added to public numbers.
    """

    mechanism: BoundedNoise
    rng: np.random.Generator

    def __call__(self, values: FloatArray) -> FloatArray:
        """The values, moved by noise that lies between minus two widths and 0."""
        mechanism, width = self.mechanism, self.mechanism.width
        gaussian = isinstance(mechanism, TruncatedGaussianMechanism)
        draw = self.rng.normal if gaussian else self.rng.laplace
        return values - width + np.clip(draw(0.0, scale_of(mechanism), len(values)), -width, width)


def _point(
    run: PlannedRun, made_up: dict[str, FloatArray], rng: np.random.Generator
) -> FloatArray | None:
    """What a planned run releases on made-up numbers."""
    draws = [TrialDraw(cast("BoundedNoise", mechanism), rng) for mechanism, _, _ in run.charges]
    rows = SimpleNamespace(values=lambda numbers: made_up[numbers.part])  # they are public
    solver = run.start(rows, cast("Any", draws))
    for t in range(solver.rounds):
        solver.step(t)
    return solver.released().x


#: Slacks are measured where the loss in trials is at most this share of that of released numbers
#: alone, and less by this share of the optimum. Chosen on advertising, packing and staffing
#: programs with seeds below 100: docs/explanation/methods.md says what came of it.
_CLEARLY_LESS, _WORTH_IT = 0.9, 1e-3


class Tightened(NumbersMethod):
    """Release tightened numbers, solve the tightened program: its solutions satisfy the true rows.

    With a probability (``feasible=0.99``) by :mod:`privlp.methods.tightened.quantiles`. Otherwise
    with certainty, by :mod:`privlp.methods.tightened.noise` or `slacks`, whichever public numbers
    say loses less: the choice costs nothing. Neighbours, sensitivity, budget: those of that way.
    """

    name = "tightened"
    take_it = "only numbers move, and rows must hold: for certain, or with a probability"
    rows_hold = "always"

    def rank(self, request: SolveRequest) -> float | None:  # noqa: ARG002
        return COMPARED

    def plan(self, request: SolveRequest) -> PlannedRun:
        if isinstance(request.feasible, Real):
            return QuantileNoise().plan(request)
        return by_slacks(request) or _by_noise(request)


def _by_noise(request: SolveRequest) -> PlannedRun:
    """Laplace noise on numbers, or Gaussian noise where that is narrower."""
    law = TruncatedGaussian() if gaussian_is_narrower(request) else TruncatedLaplace()
    return law.plan(request)


def by_slacks(request: SolveRequest) -> PlannedRun | None:
    """Measured slacks, if they lose clearly less on made-up public programs."""
    if "A" not in request.relation.private_parts:  # type: ignore[attr-defined]
        return None
    try:
        numbers = private_numbers(request, Tightened.name)
        planned = MeasuredSlack().plan(request)
        losses = loss_in_trials(request, numbers, [planned, _by_noise(request)])
    except PrivLPError:
        return None
    if losses is None:
        return None
    own, others = losses
    return planned if own <= _CLEARLY_LESS * others and others - own >= _WORTH_IT else None
