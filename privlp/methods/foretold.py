"""What privacy of numbers costs of the optimum: tried on programs made up from declared ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.errors import PrivLPError
from privlp.methods.auto import best_run, protecting
from privlp.methods.base import PlannedRun
from privlp.methods.noisy_numbers import AdditiveNoise, BoundedNoise
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.trials import Trial, made_up_numbers, trials
from privlp.relations.numbers import LowSensitivity, PrivateNumbers

#: How many programs are made up, by stored coefficients; larger programs are not tried.
_PROGRAMS = {3_000: 6, 20_000: 2, 200_000: 1}
#: Promises that a plan foretells besides the one it was asked for.
_PROMISES: tuple[str | float | None, ...] = ("always", 0.99, None)
#: So many steps of a number are looked at, at most: less would only make the bound smaller.
_MOST_STEPS = 1_000_000
_UNTRIED = "The program is too large to try that on made-up numbers while planning."


class Foretold(NamedTuple):
    """Losses by promise, as shares of the optimum, and what every method loses at least."""

    losses: dict[str, float]
    least: float | None
    words: str


def foretell(request: SolveRequest, run: PlannedRun) -> Foretold:
    """What a planned run, and those of other promises, lose on made-up programs of public seeds."""
    relation, A, asked = request.relation, request.lp.A, str(request.feasible)
    numbers = relation.private_numbers(request.form) if isinstance(relation, LowSensitivity) else []
    if not numbers or made_up_numbers(numbers, np.random.default_rng(0)) is None:
        return Foretold({}, None, "")
    cells = A.nnz if sp.issparse(A) else A.size
    count = next((count for most, count in _PROGRAMS.items() if cells <= most), 0)
    parts = {part.part for part in numbers}
    others = [promise for promise in _PROMISES if str(promise) != asked and parts != {"c"}]
    runs = {asked: run} | {str(promise): _run(request, promise) for promise in others}
    tried = {name: of for name, of in runs.items() if of is not None and _can_be_tried(of)}
    found = trials(request, numbers, list(tried.values()), count, _noise)
    made = [trial for trial in found if trial is not None and trial.best != 0]
    if not made:
        return Foretold({}, None, "" if count else _UNTRIED)
    size = sum(abs(trial.best) for trial in made)
    lost = np.array([trial.losses for trial in made], dtype=float).T  # none found: NaN
    losses = {name: float(of.sum()) / size for name, of in zip(tried, lost, strict=True)}
    losses = {name: loss for name, loss in losses.items() if math.isfinite(loss)}
    least = sum(_least_lost(request, numbers, trial) for trial in made) / size
    least_loss = least if "b" in parts else None
    if asked not in losses:
        return Foretold(losses, least_loss, "")
    of_each = lost[list(tried).index(asked)] / [abs(trial.best) for trial in made]
    words = (
        f"On {len(made)} programs made up within the declared ranges it lost {losses[asked]:.2%} of"
        f" the optimum ({of_each.min():.2%} to {of_each.max():.2%})."
    )
    if len(losses) > 1:
        pairs = [f"feasible={name} {loss:.2%}" for name, loss in losses.items() if name != asked]
        words += f" Others there: {', '.join(pairs)}."
    if least_loss is not None:
        words += (
            " No method that is as private and keeps every row for certain loses less than"
            f" {least_loss:.2%} there."
        )
    return Foretold(losses, least_loss, words)


def _run(request: SolveRequest, promise: str | float | None) -> PlannedRun | None:
    """The run that ``method="auto"`` takes for another promise, if there is one."""
    other = replace(request, feasible=promise, s=None, alpha=None, opt=None, width=None)
    try:
        return best_run(other, protecting(request.relation, promise))[1]
    except PrivLPError:
        return None


def _can_be_tried(run: PlannedRun) -> bool:
    """Whether a run only releases its numbers, once each."""
    noise = AdditiveNoise | BoundedNoise
    return run.by_place and all(isinstance(of, noise) and n == 1 for of, n, _ in run.charges)


def _noise(seed: int) -> np.random.Generator:
    """Noise that does not hang together with the numbers of the same seed."""
    return np.random.default_rng((seed, 1))


def _least_lost(request: SolveRequest, numbers: Sequence[PrivateNumbers], trial: Trial) -> float:
    """What every method loses on a made-up program, if no row may ever be violated."""
    lost, row = 0.0, request.form.row
    for part in numbers:
        if part.part == "b":
            steps = (trial.numbers.values(part) - part.low) / part.entry
            slack = least_slack(steps, request.ledger.eps, request.ledger.delta)
            lost += part.entry * float(np.abs(trial.prices[row[part.at]]) @ slack)
    return lost


def least_slack(steps: FloatArray, eps: float, delta: float) -> FloatArray:
    """The mean slack of rows that never fail, at least, in units of the change of a number.

    Let a right-hand side lie so many changes above the lower end of its range. Every (eps,
    delta)-DP method whose answers satisfy the row for all numbers of the range leaves that slack.
    Proof: ``docs/proofs.md``, "What certainty costs".
    """
    most = 1 + (math.log(1 / max(delta, 1e-300)) + eps) / eps
    j = np.arange(1, int(min(most, float(steps.max(initial=0.0)), _MOST_STEPS)) + 1)
    near = (j - 1) * eps + np.log(-np.expm1(-j * eps) / -math.expm1(-eps))
    at_least = np.maximum(1 - delta * np.exp(np.minimum(near, 700.0)), 0.0)
    sums = np.append(0.0, np.cumsum(at_least))
    return sums[np.minimum(np.floor(steps).astype(np.int64), len(j))]
