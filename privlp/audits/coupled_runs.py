"""Coupled replay: one program is solved, and its neighbour sees the same released numbers."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.audits.solve_result import AuditedRelease
from privlp.audits.tape import Release, Tape, changes, differences
from privlp.errors import InvalidProblemError, UnsupportedProblemError
from privlp.problem.linear_program import LinearProgram
from privlp.problem.standard_form import StandardForm
from privlp.solution import Solution
from privlp.solve import solve

_ATTEMPTS = 100


@dataclass(frozen=True, eq=False)
class _Run:
    """What one solve shows to everybody, and its tape.

    `told` holds the words of its error, if there was one, and of its warnings.
    """

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

    #: The program that the pairs resemble.
    lp: LinearProgram
    #: Arguments of :func:`privlp.solve`.
    request: dict[str, Any]
    #: Of the noise.
    seed: int
    #: Rows that are worth a try where one row changes.
    rows: npt.NDArray[np.int64]
    #: Everything that differed although the released numbers were the same.
    leaks: list[str] = field(default_factory=list)
    #: For each purpose, the two releases that are farthest apart, and their distance in
    #: sensitivities.
    widest: dict[str, tuple[Release, Release, float]] = field(default_factory=dict)
    #: The pair that was told apart best.
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
