"""Means over programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.generated_tables.cells import Cell, Result

FloatArray = npt.NDArray[np.float64]

#: For measured violations below this, per row norm, no ratio is given.
MEASURABLE = 1e-3


class Found:
    """All measurements by family, player and eps, in the order of the seeds."""

    def __init__(self, cells: Iterable[Cell], results: Iterable[Result]) -> None:
        self._found: dict[tuple[str, str, float], list[Result]] = {}
        for cell, result in zip(cells, results, strict=True):
            key = cell["family"], cell["player"], cell["eps"]
            self._found.setdefault(key, []).append(result)

    def applies(self, family: str, player: str, eps: float) -> bool:
        """Whether the player solved every program."""
        results = self._found.get((family, player, eps), [])
        return bool(results) and all(result is not None for result in results)

    def of(self, family: str, player: str, eps: float, name: str) -> Any:
        """One number of each program, in the order of the seeds."""
        return np.array([result[name] for result in self._found[family, player, eps] if result])

    def violation(self, family: str, player: str, eps: float) -> FloatArray:
        """Positive parts of the (s+1)-th largest violations, in units of each program."""
        return np.maximum(self.of(family, player, eps, "signed"), 0.0)

    def methods(self, family: str, player: str, eps: float) -> str:
        """The methods that ran, the most frequent first."""
        if not self.applies(family, player, eps):
            return "–"
        names, counts = np.unique(self.of(family, player, eps, "method"), return_counts=True)
        return ", ".join(names[np.argsort(-counts, kind="stable")])


def standard_error(values: Sequence[float] | FloatArray) -> float:
    """Of a mean; 0 for a single number."""
    numbers = np.asarray(values, dtype=float)
    if len(numbers) < 2:
        return 0.0
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers)))


def mean_and_error(values: Sequence[float] | FloatArray, digits: int = 4) -> str:
    """Mean ± standard error."""
    numbers = np.asarray(values, dtype=float)
    return f"{numbers.mean():.{digits}f} ± {standard_error(numbers):.{digits}f}"
