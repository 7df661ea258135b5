"""``method="auto"``: the method that public numbers speak for, and what its plan foretells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from privlp.checks import PROBABILITY, FloatArray, is_one_of, is_probability, require, shown
from privlp.errors import (
    BudgetExceededError,
    InvalidParameterError,
    PrivLPError,
    UnsupportedProblemError,
)
from privlp.methods import METHODS
from privlp.methods.base import Method, PlannedRun, Prediction
from privlp.methods.noisy_numbers import AdditiveNoise, BoundedNoise
from privlp.methods.perturbed import require_enough_rows
from privlp.methods.request import SolveRequest
from privlp.methods.tightened.ranges import Trial, made_up_numbers, rows_of, trials
from privlp.regions.public_rows import ContradictionError, UnboundedRegionError
from privlp.relations.base import NeighbourRelation
from privlp.relations.numbers import LowSensitivity, PrivateNumbers, ProgramNumbers

#: What methods promise of the rows, from the least to the most.
_PROMISES = ("nearly", "probably", "always")


@dataclass(frozen=True)
class Proposals:
    """Planned runs and predictions of methods for one request, and why others refuse it."""

    request: SolveRequest
    planned: dict[str, PlannedRun] = field(default_factory=dict)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    reasons: dict[str, PrivLPError] = field(default_factory=dict)

    def add(self, methods: Sequence[Method]) -> Proposals:
        """Plan and predict."""
        for method in methods:
            try:
                run = self.planned[method.name] = _planned(self.request, method)
                if run.predict is not None:
                    self.predictions[method.name] = run.predict()
            except (InvalidParameterError, UnsupportedProblemError, BudgetExceededError) as error:
                self.reasons[method.name] = error
        return self

    def best(self, candidates: Sequence[Method]) -> Method:
        """The planned candidate of least rank and predicted violation; raises the reasons."""

        def order(method: Method) -> tuple[float, float, str]:
            found = self.predictions.get(method.name)
            violation = math.inf if found is None else found.violation
            return _rank(method, self.request), violation, method.name

        planned = [method for method in candidates if method.name in self.planned]
        if not planned:
            raise self._refusal(candidates)
        return min(planned, key=order)

    def _refusal(self, candidates: Sequence[Method]) -> PrivLPError:
        """Why none of the candidates can be planned: first of the one that is tried first."""
        reasons = {method.name: self.reasons[method.name] for method in candidates}
        for reason in reasons.values():
            if isinstance(reason, BudgetExceededError):
                return reason
        cause = reasons.pop(candidates[0].name)
        if isinstance(cause, UnboundedRegionError | ContradictionError):
            return cause  # whose cure is that of all methods
        others = {name: of for name, of in reasons.items() if _first(of) not in str(cause)}
        if not self.request.relation.changes_whole_rows or not others:
            return cause
        return UnsupportedProblemError(
            " ".join(["No method applies.", str(cause), *in_short(others)]),
            parameter=cause.parameter,
        )


def _planned(request: SolveRequest, method: Method) -> PlannedRun:
    return method.plan(request.without(method.auto_leaves_out))


def _rank(method: Method, request: SolveRequest) -> float:
    """The rank of a method that ``"auto"`` may take."""
    return cast("float", method.rank(request))


def protecting(relation: NeighbourRelation, feasible: str | float | None) -> list[Method]:
    """The methods that protect a relation and can promise `feasible`, those for comparison last."""
    found = sorted(
        (method for method in METHODS.values() if method.protects(relation)),
        key=lambda method: (not method.listed, _PROMISES.index(method.rows_hold), method.name),
    )
    if feasible is None:
        return found
    certain = is_one_of(feasible, ("always",))
    require(
        certain or is_probability(feasible),
        f"feasible must be None, 'always' or {PROBABILITY}, such as 0.99; got {shown(feasible)}.",
        "feasible",
    )
    promising = [method for method in found if promises(method, certain=certain)]
    if not promising:
        raise UnsupportedProblemError(
            "feasible must be None here: when a whole constraint may change, no private solution"
            " can satisfy every private row with certainty. The parameters s and alpha say how many"
            " may be violated, and by how much.",
            parameter="feasible",
        )
    return promising


def promises(method: Method, *, certain: bool) -> bool:
    """Whether all rows hold with a method, for certain or with a probability."""
    return method.rows_hold in _PROMISES[2 if certain else 1 :]


def candidates(request: SolveRequest, methods: Sequence[Method]) -> list[Method]:
    """The methods that ``"auto"`` may take for a request, in the order in which they are tried."""
    if request.relation.changes_whole_rows and request.lp.penalty is None:
        if request.s is None:
            require_enough_rows(request)
        request.density()
    offered = [method for method in methods if method.rows_hold == "nearly"] or methods
    ranked = [method for method in offered if method.rank(request) is not None]
    return sorted(ranked, key=lambda method: (_rank(method, request), method.name))


def best_run(request: SolveRequest, methods: Sequence[Method]) -> tuple[str, PlannedRun]:
    """The name and the planned run of the method that ``"auto"`` takes."""
    request = replace(request, auto=True)
    found = candidates(request, methods)
    if len(found) == 1:
        refuse_unused_width(request, found[0])
        return found[0].name, _planned(request, found[0])
    proposals = Proposals(request)
    for _, equal in groupby(found, lambda method: _rank(method, request)):
        # One rank after the other: a plan may take many linear programs.
        if proposals.add(list(equal)).planned:
            break
    best = proposals.best(found)
    refuse_unused_width(request, best)
    return best.name, proposals.planned[best.name]


def refuse_unused_width(request: SolveRequest, method: Method) -> None:
    """Refuse a declared bound that the method would pass over."""
    if request.width is not None and "width" in method.auto_leaves_out:
        cause = (
            f"with method={method.name!r}, which 'auto' takes here"
            if request.lp.penalty is None
            else "with soft rows and method='auto': noisy counts bound their norms"
        )
        raise InvalidParameterError(f"width has no use {cause}. Leave it out.", parameter="width")


def in_short(reasons: Mapping[str, object]) -> list[str]:
    """Why methods do not apply, one sentence for each reason and the methods that it concerns."""
    methods: dict[str, list[str]] = {}
    for method, reason in reasons.items():
        methods.setdefault(_first(reason), []).append(method)
    return [f"{', '.join(names)}: {reason}" for reason, names in methods.items()]


def _first(reason: object) -> str:
    """The first sentence of a reason."""
    return str(reason).split(". ", 1)[0].rstrip(".") + "."


#: How many programs are made up, by stored coefficients; larger programs are not tried.
_PROGRAMS = {3_000: 6, 20_000: 2, 200_000: 1}
#: Promises that a plan foretells besides the one it was asked for.
_TRIED_PROMISES: tuple[str | float | None, ...] = ("always", 0.99, None)
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
    others = [promise for promise in _TRIED_PROMISES if str(promise) != asked and parts != {"c"}]
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
    ledger = request.ledger
    most = best_with_least_slack(trial.numbers, numbers, ledger.eps, ledger.delta)
    return 0.0 if most is None else max(request.lp.sign * most - trial.best, 0.0)


def best_with_least_slack(
    known: ProgramNumbers, numbers: Sequence[PrivateNumbers], eps: float, delta: float
) -> float | None:
    """No method that keeps every row for certain has a better mean objective, in the user's sense.

    It is the optimum once each private right-hand side leaves its least mean slack; None if HiGHS
    finds none.
    """
    for part in numbers:
        if part.part == "b":
            values = known.values(part)
            step = np.maximum(part.largest_moves.clip(max=part.entry), np.finfo(float).tiny)
            slack = step * least_slack((values - part.low) / step, eps, delta)
            known = known.having(part, values - slack)
    x = rows_of(known, numbers).best(known.c)
    return None if x is None else float(known.c @ x)


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
