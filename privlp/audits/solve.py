"""Audit a whole private solve on extreme neighbours: what stands behind each release on both."""

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
from tqdm import tqdm

from privlp.audits.mechanism import LARGEST_OUTCOME, audit, audit_draw, require_confidence
from privlp.audits.results import ROUNDING, AuditedRelease, SolveAudit
from privlp.audits.tape import Release, Tape, changes, differences
from privlp.checks import FloatArray, IntArray, is_integer, require, require_flag, whole
from privlp.errors import BudgetExceededError, InvalidProblemError, UnsupportedProblemError
from privlp.linear_program import LinearProgram, require_program
from privlp.methods.base import Method
from privlp.privacy import (
    GaussianMechanism,
    Ledger,
    Mechanism,
    Randomness,
    WeightedGaussianMechanism,
)
from privlp.privacy.budget_rule import validated_budget
from privlp.privacy.randomness import RandomSource
from privlp.problem.standard_form import StandardForm
from privlp.solution import Solution
from privlp.solve import solve

_ATTEMPTS = 100


@dataclass(frozen=True, eq=False)
class _Run:
    """What one solve shows to everybody, and its tape; `told`: words of its error and warnings."""

    tape: Tape
    solution: Solution | None
    told: list[str]

    @classmethod
    def of(cls, lp: LinearProgram, request: dict[str, Any], tape: Tape) -> _Run:
        solution, told = None, []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                solution = solve(lp, rng=tape, **request)
            except Exception as error:
                told.append(f"{type(error).__name__}: {error}")
        return cls(tape, solution, told + [str(warning.message) for warning in caught])


def _seen_differences(one: _Run, two: _Run) -> list[str]:
    """Everything that differs although both runs released the same numbers."""
    found = differences(one.tape, two.tape)
    if one.told != two.told:
        found.append("errors or warnings")
    if one.solution is not None and two.solution is not None:
        first, second = (_fields_of(solution) for solution in (one.solution, two.solution))
        found += [
            f"the field '{name}' of the solution"
            for name in dict.fromkeys([*first, *second])
            if first.get(name) != second.get(name)
        ]
    return found


def _fields_of(solution: Solution) -> dict[str, str]:
    """The fields of a solution, one level deep, each as text."""
    fields: dict[str, str] = {}
    for name, value in json.loads(solution.to_json()).items():
        if isinstance(value, dict):
            fields |= {f"{name}.{key}": json.dumps(part) for key, part in value.items()}
        else:
            fields[name] = json.dumps(value)
    return fields


@dataclass
class PairSearch:
    """Pairs of neighbours that are solved, and the worst that was found on them."""

    lp: LinearProgram  #: The program that the pairs resemble.
    request: dict[str, Any]  #: Arguments of :func:`privlp.solve`.
    seed: int  #: Of the noise.
    rows: IntArray  #: Rows that are worth a try where one row changes.
    #: Everything that differed although the released numbers were the same.
    leaks: list[str] = field(default_factory=list)
    #: For each purpose, the two releases that are farthest apart, and their distance in
    #: sensitivities.
    widest: dict[str, tuple[Release, Release, float]] = field(default_factory=dict)
    #: The pair with the worst fault, or else with the largest change.
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
        """What was found, purpose by purpose; `base` is the tape of one solve of the program."""
        draws = Counter(release.purpose for release in base.releases)
        found = []
        for purpose, (one, _, ratio) in self.widest.items():
            charged = one.mechanism.sensitivity
            name, change = one.mechanism.name, ratio * charged
            found.append(AuditedRelease(purpose, name, draws[purpose], charged, change))
        return found


#: Purpose, name of the mechanism, sensitivity and parameter of a charge. The parameter is left out
#: where each draw has one of its own.
_Paid = tuple[str, str, float, str]


def price_faults(lp: LinearProgram, tape: Tape, solution: Solution) -> tuple[str, ...]:
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
    record, slack = solution.privacy, 1 + ROUNDING
    ledger = Ledger(record.eps_limit * slack, record.delta_limit * slack)
    alike = Counter((release.mechanism, release.purpose) for release in tape.releases)
    requests = [(mechanism, count, purpose) for (mechanism, purpose), count in alike.items()]
    try:
        ledger.charge_together(requests, lp.neighbours, tape)
    except BudgetExceededError:
        found.append(
            f"the draws that were made cost more than eps = {record.eps_limit:g}, delta ="
            f" {record.delta_limit:g}"
        )
    return tuple(found)


def _entry_of(purpose: str, mechanism: Mechanism, paid: Counter[_Paid]) -> _Paid:
    """The charge that a draw belongs to."""
    own = purpose, mechanism.name, mechanism.sensitivity, mechanism.parameter
    weighted = purpose, WeightedGaussianMechanism.name, mechanism.sensitivity, ""
    is_weighted = own not in paid and type(mechanism) is GaussianMechanism and weighted in paid
    return weighted if is_weighted else own


_RUNS_OF_A_DRAW = 10  # A single draw is much cheaper than a solve.
_NEXT_TO_NOTHING = 1e-12  # The eps that a solver that pays nothing is held to.
# Seconds before progress is shown, and between two lines of it where nobody watches a terminal.
_PATIENCE, _BETWEEN_LINES = 5.0, 10.0


def audit_solve(
    lp: LinearProgram,
    eps: float,
    delta: float,
    s: float | str | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    method: str | Method = "auto",
    width: Any = None,
    feasible: str | float | None = None,
    split: Sequence[float] | None = None,
    prices: bool = False,
    start: Any = None,
    pairs: int = 50,
    runs: int = 2_000,
    confidence: float = 0.999,
    rng: RandomSource = None,
    progress: bool = False,
) -> SolveAudit:
    """Look for a fault in :func:`solve`, or in a solver of your own, on neighbours of a program.

    Not private: the result is computed from the rows without noise. If the rows are really private,
    do not publish it, not even whether the audit passed.

    1. *Coupled replay.* The neighbour relation proposes pairs of extreme neighbours that resemble
       `lp`. One is solved. The other is solved too, and is given the numbers that the first one
       released. Then each release has an exact value on either program. If the two are farther
       apart than the sensitivity that was charged, that is a fault for certain.
    2. *Side outputs.* Everything else in both solutions must be equal: x, status, message, trace,
       ledger, errors and warnings.
    3. *Price.* The draws that were made must be those that were paid for, and together cost no more
       than (eps, delta).
    4. *Statistics.* A single draw of each kind of release is audited (:func:`audit`) along the
       largest change that was found. The change is scaled to the size that noise of the charged
       size hides worst. The released x as a whole is audited on the worst pair, which finds gross
       faults only.

    Parameters
    ----------
    lp, eps, delta, s, alpha, opt, method, width, feasible, split, prices, start
        As for :func:`solve`; eps finite. A :class:`~privlp.methods.Method` audits one of your own.
    pairs : int
        Pairs of neighbours to try, two solves each.
    runs : int
        Solves on each program of the worst pair, at least 100, or 0 for no statistics at all.
    confidence : float
        Of each statistical audit, in (0, 1). Their false-alarm rate together is at most
        1 - confidence times their number. The rest has no false alarms.
    rng : None, int or numpy.random.Generator
        Source of pairs and noise.
    progress : bool
        If the audit takes longer than a few seconds, say on standard error about how long, and
        show a bar. An interrupted audit (Ctrl-C) returns nothing.

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
    >>> request = {"s": 6, "method": "staged"}
    >>> found = privlp.audit_solve(lp, 1.0, 1e-6, **request, pairs=6, runs=0, rng=0)
    >>> found.passed, [f"{release.ratio:.2f}" for release in found.releases]
    (True, ['0.91', '1.00', '0.98', '1.00'])
    """
    require_program(lp)
    eps, delta = validated_budget(eps, delta)
    none = "eps must be finite: without noise there is no claim to audit."
    require(math.isfinite(eps), none, "eps")
    whole(pairs, "pairs")
    few = f"runs must be an integer of at least 100, or 0 for no statistics; got {runs!r}."
    require(is_integer(runs) and (runs >= 100 or runs == 0), few, "runs")
    require_flag(progress, "progress")
    confidence = require_confidence(confidence)
    request = {
        **{"eps": eps, "delta": delta, "s": s, "alpha": alpha, "opt": opt, "method": method},
        **{"width": width, "feasible": feasible, "split": split, "prices": prices},
        "start": start,
    }
    lp = lp.in_memory()
    generator = Randomness(rng).generator
    seed = int(generator.integers(2**32))
    base = Tape(seed, quiet=True)
    solution = solve(lp, rng=base, **request)
    selected = np.unique(solution.trace.get("selected rows", ())).astype(int)
    search = PairSearch(lp, request, seed, selected)
    end_to_end = None
    with tqdm(
        total=2 * (pairs + runs),
        disable=not progress,
        desc="audit of pairs",
        unit="solve",
        delay=_PATIENCE,
        mininterval=0.1 if sys.stderr.isatty() else _BETWEEN_LINES,
        dynamic_ncols=True,
    ) as bar:
        for number in range(pairs):
            started = time.perf_counter()
            search.try_one(generator, quiet=number % 2 == 0)  # every other pair without noise
            if number == 0 and progress:
                _tell_duration(bar.total, (time.perf_counter() - started) / 2)
            bar.update(2)
        releases = search.table(base)
        if runs:
            bar.set_description("audit of single draws", refresh=False)
            drawn = _RUNS_OF_A_DRAW * runs, generator, confidence
            releases = [
                replace(release, audit=audit_draw(*search.widest[release.purpose], *drawn))
                for release in releases
            ]
            bar.set_description("audit of x", refresh=False)
            spent = max(solution.privacy.eps, _NEXT_TO_NOTHING), solution.privacy.delta
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
        price=price_faults(lp, base, solution),
        end_to_end=end_to_end,
        worst=search.worst,
    )


def _tell_duration(solves: int, seconds: float) -> None:
    """Say how long the solves take, at this many seconds each, if that is long."""
    total = solves * seconds
    if total > _PATIENCE:
        duration = f"{total / 60:.2g} min" if total > 60 else f"{total:.0f} s"
        tqdm.write(
            f"{solves} solves of {seconds:.2g} s: about {duration}. Fewer pairs or runs take less.",
            file=sys.stderr,
        )


def _end_to_end(
    request: dict[str, Any], d: int, bar: Any
) -> Callable[[LinearProgram, np.random.Generator], FloatArray]:
    """A solve as a mechanism: x and 0, or zeros and 1 (no x), 2 (error) or 3 (x too large)."""

    def released(lp: LinearProgram, rng: np.random.Generator) -> FloatArray:
        bar.update()
        with warnings.catch_warnings(action="ignore"):
            try:
                x = solve(lp, rng=rng, **request).x
            except Exception:
                return np.append(np.zeros(d), 2.0)
        if x is not None and np.all(np.abs(x) <= LARGEST_OUTCOME):
            return np.append(x, 0.0)
        return np.append(np.zeros(d), 1.0 if x is None else 3.0)

    return released
