"""What privacy of numbers costs of the optimum: tried on programs made up from declared ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import PrivLPError
from privlp.methods.auto import best_run, protecting
from privlp.methods.base import PlannedRun
from privlp.methods.noisy_numbers import AdditiveNoise, BoundedNoise
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.trials import Trial, made_up_numbers, trials
from privlp.relations.numbers import LowSensitivity, PrivateNumbers

FloatArray = npt.NDArray[np.float64]

#: How many programs are made up, by stored coefficients; larger programs are not tried.
_PROGRAMS = {3_000: 6, 20_000: 2, 200_000: 1}
#: Other promises that a plan foretells besides the one it was asked for.
_PROMISES: tuple[str | float | None, ...] = ("always", 0.99, None)
#: So many steps of a number are looked at, at most: less would only make the bound smaller.
_MOST_STEPS = 1_000_000
_UNTRIED = "The program is too large to try that on made-up numbers while planning."


class Foretold(NamedTuple):
    """Losses by promise, as shares of the optimum, and what every method loses at least."""

    losses: dict[str, float]
    least: float | None
    words: str


_NOTHING = Foretold({}, None, "")


def foretell(request: SolveRequest, run: PlannedRun) -> Foretold:
    """What a planned run, and those of other promises, lose on made-up programs.

    The programs are those of :func:`privlp.methods.tightened.trials.made_up_numbers`; they and the
    noise have public seeds. No private number is read, and nothing is charged.
    """
    relation, A = request.relation, request.lp.A
    numbers = relation.private_numbers(request.form) if isinstance(relation, LowSensitivity) else []
    if not numbers or made_up_numbers(numbers, np.random.default_rng(0)) is None:
        return _NOTHING
    cells = A.nnz if sp.issparse(A) else A.size
    count = next((count for most, count in _PROGRAMS.items() if cells <= most), 0)
    if not count:
        return Foretold({}, None, _UNTRIED)
    runs = {str(request.feasible): run}
    if any(part.part != "c" for part in numbers):
        others = [promise for promise in _PROMISES if str(promise) not in runs]
        runs |= {str(promise): of for promise in others if (of := _run(request, promise))}
    runs = {name: of for name, of in runs.items() if _can_be_tried(of)}
    found = list(trials(request, numbers, list(runs.values()), count, _noise))
    made = [trial for trial in found if trial is not None and trial.best != 0]
    size = sum(abs(trial.best) for trial in made)
    losses, spread = {}, {}
    for k, name in enumerate(runs):
        lost = [trial.losses[k] for trial in made]
        known = [loss for loss in lost if loss is not None]
        if known and len(known) == len(lost):
            losses[name] = sum(known) / size
            of_each = [loss / abs(of.best) for loss, of in zip(known, made, strict=True)]
            spread[name] = (min(of_each), max(of_each))
    least = None
    if request.ledger.delta < 1 and any(part.part == "b" for part in numbers) and made:
        least = sum(_least_lost(request, numbers, trial) for trial in made) / size
    return Foretold(losses, least, _words(str(request.feasible), losses, spread, least, len(made)))


def _run(request: SolveRequest, promise: str | float | None) -> PlannedRun | None:
    """The run that ``method="auto"`` takes for another promise, if there is one."""
    other = replace(request, feasible=promise, s=None, alpha=None, opt=None, width=None)
    try:
        methods = protecting(request.relation, promise)
        return best_run(other, methods)[1]
    except PrivLPError:
        return None


def _can_be_tried(run: PlannedRun) -> bool:
    """Whether a run only releases its numbers, once each."""
    noise = AdditiveNoise | BoundedNoise
    return run.by_place and all(
        isinstance(mechanism, noise) and count == 1 for mechanism, count, _ in run.charges
    )


def _noise(seed: int) -> np.random.Generator:
    """Noise that does not hang together with the numbers of the same seed."""
    return np.random.default_rng((seed, 1))


def _least_lost(request: SolveRequest, numbers: Sequence[PrivateNumbers], trial: Trial) -> float:
    """What every method loses on a made-up program, if no row may ever be violated."""
    lost, form = 0.0, request.form
    for part in numbers:
        if part.part == "b":
            steps = (trial.numbers.values(part) - part.low) / part.entry
            slack = least_slack(steps, request.ledger.eps, request.ledger.delta)
            prices = np.abs(trial.prices[form.row[part.at]])
            lost += part.entry * float(prices @ slack)
    return lost


def least_slack(steps: FloatArray, eps: float, delta: float) -> FloatArray:
    """The mean slack of rows that never fail, at least, in units of the change of a number.

    Let a right-hand side lie so many changes above the lower end of its range. Every (eps,
    delta)-DP method whose answers satisfy the row for all numbers of the range leaves that slack.
    Proof: ``docs/proofs.md``, "What certainty costs".
    """
    most = 1 + max(0.0, (math.log(max(-math.expm1(-eps), delta) / max(delta, 1e-300)) + eps) / eps)
    j = np.arange(1, int(min(most, float(steps.max(initial=0.0)), _MOST_STEPS)) + 1)
    near = (j - 1) * eps + np.log(-np.expm1(-j * eps) / -math.expm1(-eps))
    at_least = np.maximum(1 - delta * np.exp(np.minimum(near, 700.0)), 0.0)
    sums = np.append(0.0, np.cumsum(at_least))
    return sums[np.minimum(np.floor(steps).astype(np.int64), len(j))]


def _words(
    asked: str,
    losses: dict[str, float],
    spread: dict[str, tuple[float, float]],
    least: float | None,
    programs: int,
) -> str:
    """What a plan says about it."""
    if asked not in losses:
        return ""
    low, high = spread[asked]
    words = (
        f"On {programs} programs made up within the declared ranges it lost"
        f" {losses[asked]:.2%} of the optimum ({low:.2%} to {high:.2%})."
    )
    others = [
        f"feasible={name!r} it was {loss:.2%}"
        if name == "always"
        else f"feasible={name} it was {loss:.2%}"
        for name, loss in losses.items()
        if name != asked
    ]
    if others:
        words += f" With {' and '.join(others)}."
    if least is not None:
        words += (
            " No method that is as private and keeps every row for certain loses less than"
            f" {least:.2%} there."
        )
    return words
