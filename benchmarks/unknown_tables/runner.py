"""How much is measured, and the results from disk or from processes in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.cache import Cache, finished
from benchmarks.unknown_tables.cases import FIRST_SEED
from benchmarks.unknown_tables.cells import Cell, Result, measure

Item = TypeVar("Item")


@dataclass(frozen=True)
class Runner:
    """What all tables share."""

    programs: int
    draws: int
    quick: bool
    processes: int
    cache: Cache | None

    @property
    def seeds(self) -> range:
        """Of the programs."""
        return range(FIRST_SEED, FIRST_SEED + self.programs)

    def some(self, items: Sequence[Item]) -> Sequence[Item]:
        """All, or the first in a quick run."""
        return items[:1] if self.quick else items

    def cell(self, what: str, case: str, seed: int, **settings: object) -> Cell:
        """Settings of one measurement."""
        return {"what": what, "case": case, "seed": seed, "quick": self.quick, **settings}

    def solves(self, case: str, **settings: object) -> Iterator[Cell]:
        """Settings of a solve for every program and noise seed, program by program."""
        for seed in self.seeds:
            for draw in range(self.draws):
                yield self.cell("solve", case, seed, draw=draw, **settings)

    def measure(self, cells: Sequence[Cell], description: str) -> list[Result]:
        """Results of the cells, in their order."""
        if self.cache is None:
            return [found for _, found in finished(cells, measure, 1, description)]
        return self.cache.measure_all(
            cells, measure, processes=self.processes, description=description
        )

    def groups(self, cells: dict[Item, list[Cell]], description: str) -> dict[Item, list[Result]]:
        """Results of named groups of cells, measured all together."""
        every = [cell for group in cells.values() for cell in group]
        found = iter(self.measure(every, description))
        return {name: [next(found) for _ in group] for name, group in cells.items()}
