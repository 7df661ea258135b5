"""A neighbour relation of one's own in one file: right-hand sides move by so much in L2."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privlp import ScalarPrivate
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import BoundedChange
from privlp.relations.numbers import PrivateNumbers


@dataclass(frozen=True)
class EuclideanPrivate(BoundedChange):
    """Neighbours differ in right-hand sides, by at most `sensitivity` in L2.

    m numbers move by at most sqrt(m) times that in L1. Two entries that move in opposite directions
    change violations by a span of sqrt(2) times it; a private equality shows one number in two
    rows, a span of twice it.
    """

    part = "b"
    numbers_are = "the right-hand sides of the private rows"
    unbounded = "declare how far one record moves b."

    @property
    def description(self) -> str:
        return f"b changes by at most {self.sensitivity:g} in L2"

    @property
    def _like(self) -> ScalarPrivate:
        """The relation of the library with the same numbers."""
        return ScalarPrivate(self.sensitivity, lower=self.lower, upper=self.upper)

    def _range_of(self, lp: ProgramData) -> Any:
        return self._like._range_of(lp)

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        numbers = self._like._numbers(form)
        most = math.sqrt(len(numbers)) * self.sensitivity
        return replace(numbers, l1=most, l2=self.sensitivity)

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> np.ndarray:
        count = int(rng.choice([1, min(2, len(numbers)), len(numbers)]))
        steps = np.zeros(len(numbers))
        chosen = rng.permutation(len(numbers))[:count]
        steps[chosen] = rng.choice([-1.0, 1.0], count) * self.sensitivity / math.sqrt(count)
        return steps

    def violation_span(self, form: StandardForm) -> Callable[[np.ndarray], float]:
        """The span, at any point."""
        equality = bool((form.lp.row_lower == form.lp.b)[form.lp.private].any())
        return lambda x: (2.0 if equality else math.sqrt(2)) * self.sensitivity
