"""What planned runs lose on programs that are made up from declared ranges: all public."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from privlp.checks import FloatArray
from privlp.methods.base import PlannedRun
from privlp.methods.noisy_numbers import AdditiveNoise, BoundedNoise, scale_of
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.rows import TightenedRows
from privlp.privacy import (
    GaussianMechanism,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
)
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers

#: Shares of the declared ranges between which made-up right-hand sides lie.
_MIDDLE = (0.25, 0.75)
#: How many programs are made up, by rows times variables; larger programs are not tried.
_TRIALS = {500: 10, 20_000: 6, 1_000_000: 1}


class Trial(NamedTuple):
    """A made-up program: its optimum, and what runs lose on it."""

    numbers: ProgramNumbers
    best: float  # To minimise, without offset.
    losses: list[float | None]


def loss_in_trials(
    request: SolveRequest, numbers: Sequence[PrivateNumbers], runs: Sequence[PlannedRun]
) -> list[float] | None:
    """What planned runs lose on the same made-up programs, as a share; None if one fails."""
    cells = (request.lp.shape[0] + request.n) * request.lp.shape[1]
    count = next((count for most, count in _TRIALS.items() if cells <= most), 0)
    lost, sizes = np.zeros(len(runs)), 0.0
    for trial in trials(request, numbers, runs, count, np.random.default_rng):
        if trial is None or None in trial.losses:
            return None
        lost += cast("list[float]", trial.losses)
        sizes += abs(trial.best)
    return [float(loss) / sizes for loss in lost] if sizes > 0 else None


def trials(
    request: SolveRequest,
    numbers: Sequence[PrivateNumbers],
    runs: Sequence[PlannedRun],
    count: int,
    noise: Callable[[int], np.random.Generator],
) -> Iterator[Trial | None]:
    """Planned runs on `count` made-up programs; None for a program without an optimum."""
    for seed in range(count):
        made_up = made_up_numbers(numbers, np.random.default_rng(seed))
        if made_up is None:
            yield None
            continue
        known = ProgramNumbers.of(request.form)
        for part in numbers:
            known = known.having(part, made_up[part.part])
        optimum = rows_of(known, numbers).best(known.c)
        if optimum is None:
            yield None
            continue
        sign = request.lp.sign
        points = [_point(run, made_up, noise(seed)) for run in runs]
        best = float(known.c @ optimum)
        losses = [None if x is None else float(sign * (known.c @ x - best)) for x in points]
        yield Trial(known, sign * best, losses)


def rows_of(known: ProgramNumbers, numbers: Sequence[PrivateNumbers]) -> TightenedRows:
    """The rows of a program whose numbers are all known."""
    ends = next((part for part in numbers if part.part == "A"), None)
    return TightenedRows.of(known, None if ends is None else (ends, *(known.values(ends),) * 2))


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
    """Stands for a charged draw in a trial: noise of about its law, of a public seed."""

    mechanism: AdditiveNoise | BoundedNoise
    rng: np.random.Generator

    def __call__(self, values: FloatArray) -> FloatArray:
        """The values with noise; bounded noise moves them by between minus two widths and 0."""
        mechanism, size = self.mechanism, len(values)
        if isinstance(mechanism, TruncatedSupNormMechanism):
            length = min(self.rng.gamma(size + 1, mechanism.scale), mechanism.width)
            return values - mechanism.width + self.rng.uniform(-length, length, size)
        gaussian = isinstance(mechanism, GaussianMechanism | TruncatedGaussianMechanism)
        draw = self.rng.normal if gaussian else self.rng.laplace
        noise = draw(0.0, scale_of(mechanism), size)
        if isinstance(mechanism, TruncatedGaussianMechanism | TruncatedLaplaceMechanism):
            return values - mechanism.width + np.clip(noise, -mechanism.width, mechanism.width)
        return values + noise


def _point(
    run: PlannedRun, made_up: dict[str, FloatArray], rng: np.random.Generator
) -> FloatArray | None:
    """What a planned run releases on made-up numbers."""
    draws = [TrialDraw(cast("Any", mechanism), rng) for mechanism, _, _ in run.charges]
    rows = SimpleNamespace(values=lambda numbers: made_up[numbers.part])  # they are public
    solver = run.start(rows, cast("Any", draws))
    for t in range(solver.rounds):
        solver.step(t)
    return solver.released().x
