"""Audit a whole private solve: extreme neighbours, the same released numbers on both, and what stands behind each release."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from privlp.checks import real
from privlp.errors import (
    BudgetExceededError,
    InvalidParameterError,
    InvalidProblemError,
    UnsupportedProblemError,
)
from privlp.privacy import (
    GaussianMechanism,
    Ledger,
    Mechanism,
    Randomness,
    WeightedGaussianMechanism,
    audit,
)
from privlp.privacy.audit import LARGEST_OUTCOME
from privlp.privacy.audit_draw import audit_draw
from privlp.privacy.ledger import validated_budget
from privlp.privacy.randomness import RandomSource
from privlp.privacy.tape import Release, Tape, changes, differences
from privlp.problem import LinearProgram, StandardForm
from privlp.solution import Solution
from privlp.solve import solve
from privlp.solve_audit_result import ROUNDING, AuditedRelease, SolveAudit
from privlp.solvers import Solver, Task

FloatArray = npt.NDArray[np.float64]

_ATTEMPTS = 100
# A single draw costs little beside a solve.
_RUNS_OF_A_DRAW = 10
# What a solver that pays nothing is held to.
_NEXT_TO_NOTHING = 1e-12
# Seconds before progress is shown, and between two lines of it where nobody watches a terminal.
_PATIENCE, _BETWEEN_LINES = 5.0, 10.0


def audit_solve(
    lp: LinearProgram,
    eps: float,
    delta: float,
    s: float | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    method: str | Callable[[Task], Solver] = "auto",
    width: Any = None,
    feasible: str | None = None,
    split: Sequence[float] | None = None,
    pairs: int = 50,
    runs: int = 2_000,
    confidence: float = 0.999,
    rng: RandomSource = None,
    progress: bool = False,
) -> SolveAudit:
    """Look for a fault in :func:`solve`, or in a solver of your own, on neighbours of a program.

    Not private.

    Do not publish the result, not even whether it passed, if the rows are really private: it is
    computed from them without noise.

    1. *Coupled replay.* The neighbour relation proposes pairs of extreme neighbours that resemble
       `lp`. One is solved; what it releases is played back to the other, so that both walk the same
       path. Behind each release stand two exact values then: if they are farther apart than the
       sensitivity that was charged, that is a fault for certain, and no matter of statistics.
    2. *Side outputs.* Everything else in both solutions must be equal: x, status, message, trace,
       ledger, errors and warnings.
    3. *Price.* The draws that were made must be those that were paid for, and together cost no more
       than (eps, delta).
    4. *Statistics.* Of each kind of release, a single draw is audited (:func:`audit`) along the
       largest change that was found, stretched to where noise of the charged size leaves most to
       see; and the released x as a whole, on the worst pair. The latter sees gross faults only.

    Parameters
    ----------
    lp, eps, delta, s, alpha, opt, method, width, feasible, split
        As for :func:`solve`; eps finite. A callable `method` audits a solver of your own.
    pairs : int
        Pairs of neighbours to try, two solves each.
    runs : int
        Solves on each program of the worst pair, at least 100, or 0 for no statistics at all.
    confidence : float
        Of each statistical audit, in (0, 1). Their false-alarm rate together is at most 1 - confidence times their number; the rest
        has none.
    rng : None, int or numpy.random.Generator
        Source of pairs and noise.
    progress : bool
        Of an audit that takes longer than a few seconds, say on standard error about how long, and show a bar. An interrupted audit
        (Ctrl-C) returns nothing.

    Returns
    -------
    SolveAudit

    Raises
    ------
    InvalidParameterError, UnsupportedProblemError, BudgetExceededError
        As :func:`solve` on `lp`.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(60, 3))
    >>> lp = privlp.LinearProgram(c=[1, 2, 1], A=-needs, b=-np.ones(60))
    >>> found = privlp.audit_solve(lp, 1.0, 1e-6, s=6, opt=3.0, method="mirror", pairs=6, runs=0, rng=0)
    >>> found.passed, [f"{release.ratio:.2f}" for release in found.releases]
    (True, ['1.00'])
    """
    eps, delta = validated_budget(eps, delta)
    if math.isinf(eps):
        raise InvalidParameterError("eps must be finite: without noise there is no claim to audit.")
    _require_counts(pairs, runs)
    confidence = real(confidence, "confidence")
    if not 0 < confidence < 1:
        raise InvalidParameterError(f"confidence must be in (0, 1), got {confidence!r}.")
    request = {
        **{"eps": eps, "delta": delta, "s": s, "alpha": alpha, "opt": opt, "method": method},
        **{"width": width, "feasible": feasible, "split": split},
    }
    generator = Randomness(rng).generator
    seed = int(generator.integers(2**32))
    base = Tape(seed, quiet=True)
    solution = solve(lp, rng=base, **request)
    search = _Search(
        lp, request, seed, np.unique(solution.trace.get("selected rows", ())).astype(int)
    )
    with _progress_bar(2 * (pairs + runs), shown=progress) as bar:
        for number in range(pairs):
            started = time.perf_counter()
            search.try_one(generator, quiet=number % 2 == 0)
            if number == 0 and progress:
                _tell_duration(bar.total, (time.perf_counter() - started) / 2)
            bar.update(2)
        releases = search.table(base)
        end_to_end = None
        if runs:
            bar.set_description("audit of single draws", refresh=False)
            draws = _RUNS_OF_A_DRAW * runs
            releases = [
                replace(
                    r, audit=audit_draw(*search.widest[r.purpose], draws, generator, confidence)
                )
                for r in releases
            ]
            spent = max(solution.privacy.eps, _NEXT_TO_NOTHING), solution.privacy.delta
            bar.set_description("audit of x", refresh=False)
            run = _end_to_end(request, lp.shape[1], bar)
            end_to_end = audit(
                run, *search.worst, *spent, runs=runs, rng=generator, confidence=confidence
            )
    return SolveAudit(
        eps=eps,
        delta=delta,
        method=solution.method,
        relation=lp.neighbours.describe(lp),
        pairs=pairs,
        releases=tuple(releases),
        side_outputs=tuple(search.leaks),
        price=_price(lp, base, solution),
        end_to_end=end_to_end,
        worst=search.worst,
    )


def _require_counts(pairs: Any, runs: Any) -> None:
    if not isinstance(pairs, int | np.integer) or isinstance(pairs, bool) or pairs < 1:
        raise InvalidParameterError(f"pairs must be a positive integer, got {pairs!r}.")
    if (
        not isinstance(runs, int | np.integer)
        or isinstance(runs, bool)
        or (runs < 100 and runs != 0)
    ):
        raise InvalidParameterError(
            f"runs must be an integer of at least 100, or 0 for no statistics; got {runs!r}."
        )


def _progress_bar(solves: int, *, shown: bool) -> Any:
    interval = 0.1 if sys.stderr.isatty() else _BETWEEN_LINES
    return tqdm(
        total=solves,
        disable=not shown,
        desc="audit of pairs",
        unit="solve",
        delay=_PATIENCE,
        mininterval=interval,
        dynamic_ncols=True,
    )


def _tell_duration(solves: int, seconds: float) -> None:
    """Say how long so many solves take, of so many seconds each, if that is long."""
    total = solves * seconds
    if total > _PATIENCE:
        duration = f"{total / 60:.2g} min" if total > 60 else f"{total:.0f} s"
        tqdm.write(
            f"{solves} solves of {seconds:.2g} s: about {duration}. Fewer pairs or runs take less.",
            file=sys.stderr,
        )


# ----------------------------------------------------------------------------------------------
# coupled replay


@dataclass(frozen=True, eq=False)
class _Run:
    """A solve as everybody can see it, and its tape."""

    tape: Tape
    solution: Solution | None
    told: tuple[str, ...]

    @classmethod
    def of(cls, lp: LinearProgram, request: dict[str, Any], tape: Tape) -> _Run:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution, told = None, []
            try:
                solution = solve(lp, rng=tape, **request)
            except Exception as error:
                told.append(f"{type(error).__name__}: {error}")
        return cls(tape, solution, (*told, *(str(warning.message) for warning in caught)))


def _seen_differences(one: _Run, two: _Run) -> list[str]:
    """Everything that differs although both runs released the same numbers."""
    found = differences(one.tape, two.tape)
    if one.told != two.told:
        found.append("errors or warnings")
    if one.solution is not None and two.solution is not None:
        first, second = (
            _flat(json.loads(run.solution.to_json()))
            for run in (one, two)
            if run.solution is not None
        )
        names = dict.fromkeys([*first, *second])
        found += [
            f"the field '{name}' of the solution"
            for name in names
            if first.get(name) != second.get(name)
        ]
    return found


def _flat(document: dict[str, Any]) -> dict[str, str]:
    """The fields of a solution, one level deep, each as text."""
    flat: dict[str, str] = {}
    for name, value in document.items():
        parts = (
            {f"{name}.{key}": part for key, part in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        flat |= {key: json.dumps(part) for key, part in parts.items()}
    return flat


@dataclass
class _Search:
    """Pairs of neighbours, and the worst that was found on them."""

    lp: LinearProgram
    request: dict[str, Any]
    seed: int
    rows: npt.NDArray[np.int64]
    leaks: list[str] = field(default_factory=list)
    #: For each purpose, the pair of releases that are farthest apart, and their distance in
    #: sensitivities.
    widest: dict[str, tuple[Release, Release, float]] = field(default_factory=dict)
    worst: tuple[LinearProgram, LinearProgram] = ()  # type: ignore[assignment]
    _severity: tuple[bool, float] = (False, -1.0)

    def try_one(self, generator: np.random.Generator, *, quiet: bool) -> None:
        """Solve one more pair, the second program on the tape of the first."""
        pair = self._propose(generator)
        one = _Run.of(pair[0], self.request, Tape(self.seed, quiet=quiet))
        two = _Run.of(pair[1], self.request, Tape(self.seed, replay=one.tape))
        seen = _seen_differences(one, two)
        self.leaks += [difference for difference in seen if difference not in self.leaks]
        largest = 0.0
        for a, b, measured in changes(one.tape, two.tape):
            ratio = math.inf if math.isnan(measured) else measured
            largest = max(largest, ratio)
            if a.purpose not in self.widest or ratio > self.widest[a.purpose][2]:
                self.widest[a.purpose] = (a, b, ratio)
        severity = bool(seen), largest
        if severity > self._severity:
            self._severity, self.worst = severity, pair

    def _propose(self, generator: np.random.Generator) -> tuple[LinearProgram, LinearProgram]:
        form = StandardForm.of(self.lp)
        for _ in range(_ATTEMPTS):
            try:
                one, two = self.lp.neighbours.extreme_pair(form, generator, self.rows)
            except InvalidProblemError:
                continue
            return (one, two) if generator.random() < 0.5 else (two, one)
        raise UnsupportedProblemError(
            f"No neighbour of the program was found in {_ATTEMPTS} attempts."
        )

    def table(self, base: Tape) -> list[AuditedRelease]:
        """What was found, purpose by purpose."""
        draws = Counter(release.purpose for release in base.releases)
        return [
            AuditedRelease(
                purpose,
                a.mechanism.name,
                draws[purpose],
                a.mechanism.sensitivity,
                ratio * a.mechanism.sensitivity,
            )
            for purpose, (a, _, ratio) in self.widest.items()
        ]


def _price(lp: LinearProgram, tape: Tape, solution: Solution) -> tuple[str, ...]:
    """Draws that were not paid for, and draws that cost more than was claimed."""
    paid: Counter[_Paid] = Counter()
    for entry in solution.privacy.entries:
        parameter = "" if entry.mechanism == WeightedGaussianMechanism.name else entry.parameter
        paid[entry.purpose, entry.mechanism, entry.sensitivity, parameter] += entry.draws
    drawn = Counter(
        _entry_of(release.purpose, release.mechanism, paid) for release in tape.releases
    )
    found = [
        f"{count} draws were paid for, {drawn[of]} made: {of[0]}"
        for of in drawn
        if drawn[of] > (count := paid[of])
    ]
    slack = 1 + ROUNDING
    ledger = Ledger(solution.privacy.eps_limit * slack, solution.privacy.delta_limit * slack)
    requests = [
        (m, n, purpose)
        for (m, purpose), n in Counter((r.mechanism, r.purpose) for r in tape.releases).items()
    ]
    try:
        ledger.charge_together(requests, lp.neighbours, tape)
    except BudgetExceededError:
        record = solution.privacy
        found.append(
            f"the draws that were made cost more than eps = {record.eps_limit:g}, delta ="
            f" {record.delta_limit:g}"
        )
    return tuple(found)


#: Purpose, name of the mechanism, sensitivity, parameter in words; no parameter where each draw has
#: one of its own.
_Paid = tuple[str, str, float, str]


def _entry_of(purpose: str, mechanism: Mechanism, paid: Counter[_Paid]) -> _Paid:
    """What a draw was paid as: draws of weighted noise are Gaussian ones, each with a noise of its own that its price shows."""
    own = purpose, mechanism.name, mechanism.sensitivity, mechanism.parameter
    weighted = purpose, WeightedGaussianMechanism.name, mechanism.sensitivity, ""
    return (
        weighted
        if own not in paid and type(mechanism) is GaussianMechanism and weighted in paid
        else own
    )


# ----------------------------------------------------------------------------------------------
# statistics


def _end_to_end(
    request: dict[str, Any], d: int, bar: Any
) -> Callable[[LinearProgram, np.random.Generator], FloatArray]:
    """A solve as a mechanism for :func:`audit`: x and 0.

    Or zeros and 1 without x, 2 after an error, 3 for an unusable x.
    """

    def released(lp: LinearProgram, rng: np.random.Generator) -> FloatArray:
        bar.update()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                x = solve(lp, rng=rng, **request).x
            except Exception:
                return np.append(np.zeros(d), 2.0)
        if x is None:
            return np.append(np.zeros(d), 1.0)
        return (
            np.append(x, 0.0)
            if np.all(np.abs(x) <= LARGEST_OUTCOME)
            else np.append(np.zeros(d), 3.0)
        )

    return released
