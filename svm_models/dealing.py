"""How persons are dealt to the parts on which candidates are trained and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import InvalidProblemError


@dataclass(frozen=True)
class Deal:
    """The parts of the records: one for each candidate, or one for all; the last is held out."""

    candidates: int
    held_out: float | None

    @property
    def parts(self) -> int:
        return self.candidates + 1 if self.held_out is None else 2

    @property
    def trained_on(self) -> list[int]:
        """The part of each candidate."""
        return [i if self.held_out is None else 0 for i in range(self.candidates)]

    @property
    def of_one_part(self) -> float:
        """How many times as many records there are as in the part of a candidate."""
        return self.parts if self.held_out is None else 1 / (1 - self.held_out)

    def sharing(self, classifiers: list[Any]) -> list[Any]:
        """Those that are trained on one part, and share its eps; then none has a fallback."""
        if self.held_out is None:
            return [None]
        for one in classifiers:
            if one is not None and "fallback" in one.get_params():
                one.set_params(fallback=False)
        return classifiers or [None]

    def require_enough(self, count: int, *, adding: bool) -> None:
        """Refuse too few persons; not where their number is private."""
        if count < 2 * self.parts and not adding:
            raise InvalidProblemError(
                f"{count} records are too few for {self.parts} parts; give at least"
                f" {2 * self.parts}."
            )

    def persons(
        self, count: int, generator: np.random.Generator, *, adding: bool
    ) -> list[npt.NDArray[np.int64]]:
        """The persons of each part; where one may come or go each is dealt apart from others."""
        share = self.held_out
        if not adding:
            cuts = self.parts if share is None else [count - max(1, round(share * count))]
            return np.array_split(generator.permutation(count), cuts)
        if share is None:
            part_of = generator.integers(self.parts, size=count)
        else:
            part_of = (generator.random(count) < share).astype(np.int64)
        return [np.flatnonzero(part_of == part) for part in range(self.parts)]
