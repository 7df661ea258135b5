"""Private answers on a grid of eps, s and n, and the exact ones beside them: **not private**."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privlp.checks import FloatArray, IntArray, require_data
from privlp.compare import compare
from privlp.errors import MissedRowsWarning, MostlyNoiseWarning, UnsupportedProblemError
from privlp.exact import ExactSolution, solve_exact
from privlp.linear_program import LinearProgram
from privlp.problem.standard_form import StandardForm
from privlp.relations.constraint import with_rows, without_rows
from privlp.solve import solve

#: Where the slider for eps stops.
EPSILONS = (0.1, 0.5, 2.0, 10.0)
_SHARES = (0.01, 0.05, 0.2)
# The largest number of people is divided by these.
_PARTS = (16, 4, 1)
_LARGEST_N = 2000
_FEWEST = 100
_FEWEST_DRAWS, _MOST_DRAWS = 8, 36
_NEIGHBOURS = 8  # So many neighbours with other numbers are tried, for one whose optimum moves.


@dataclass(frozen=True, eq=False)
class Answers:
    """Private answers of one eps and s: points (k, d), their costs and missed rows (k,)."""

    x: FloatArray
    cost: FloatArray
    missed: IntArray
    verdict: str
    advice: str


@dataclass(frozen=True, eq=False)
class SolvedProgram:
    """A program with its exact optimum."""

    lp: LinearProgram
    exact: ExactSolution
    x: FloatArray
    objective: float

    @classmethod
    def of(cls, lp: LinearProgram) -> SolvedProgram:
        """Solve a program exactly."""
        exact = solve_exact(lp)
        if exact.x is None or exact.objective is None:
            raise UnsupportedProblemError(
                "The page shows exact optima, and there is none of all records, of a part of them,"
                f" or without one of them: {exact.status}."
            )
        return cls(lp, exact, exact.x, exact.objective)

    def answers(
        self,
        asked: tuple[float, float, int | None],
        seeds: list[list[int]],
        tick: Callable[[], Any],
    ) -> Answers:
        """Solve privately, once for each seed; the page shows what warnings would say."""
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MostlyNoiseWarning)
            warnings.simplefilter("ignore", MissedRowsWarning)
            for seed in seeds:
                found.append(solve(self.lp, *asked, rng=np.random.default_rng(seed)))
                tick()
        points = [one.x for one in found if one.x is not None]
        seen = [compare(self.lp, x, self.exact) for x in points]
        return Answers(
            np.reshape(points, (len(points), self.lp.shape[1])),
            np.array([one.objective for one in seen]),
            np.array([one.n_violated() for one in seen], dtype=np.int64),
            str(found[0].verdict or "No verdict"),
            found[0].advice,
        )


@dataclass(frozen=True, eq=False)
class Pair:
    """A program, and its neighbour without one record, or with other numbers of one."""

    records: int
    programs: tuple[SolvedProgram, ...]
    s: dict[float | None, int | None]  #: Number of rows that may be missed, by the share asked for.
    #: Answers in both programs, by this share and eps.
    answers: dict[tuple[float | None, float], tuple[Answers, ...]]

    def each(self) -> Iterator[tuple[SolvedProgram, Answers]]:
        """All answers, each with its program."""
        for found in self.answers.values():
            yield from zip(self.programs, found, strict=True)


@dataclass(frozen=True, eq=False)
class Grid:
    """All answers that a page shows."""

    lp: LinearProgram
    #: Place of the record that owns each row in a random order, -1 for public rows; the record that
    #: is taken away has place 0.
    place: IntArray
    epsilons: tuple[float, ...]
    shares: tuple[float | None, ...]
    pairs: list[Pair]
    delta: float
    draws: int  #: Solves of each cell and program.

    def guesses(self, eps: float) -> tuple[int, int]:
        """How many guesses of an attacker who knows both programs were right, of how many."""
        right, trials = 0, 0
        for pair in self.pairs:
            line = pair.programs[0].x - pair.programs[1].x
            for share in self.shares:
                seen = [each.x @ line for each in pair.answers[share, eps]]
                half = min(map(len, seen)) // 2
                if half and line.any():
                    middle = [np.median(each[:half]) for each in seen]
                    for own, each in enumerate(seen):
                        apart = [np.abs(each[half:] - median) for median in middle]
                        right += int(np.count_nonzero(apart[own] < apart[1 - own]))
                        right += int(np.count_nonzero(apart[own] == apart[1 - own]) * own)
                        trials += len(each) - half
        return right, trials


def computed(
    lp: LinearProgram,
    epsilons: tuple[float, ...],
    delta: float,
    draws: int | None,
    seed: int,
    bar: Callable[..., Any],
) -> Grid:
    """Solve on the whole grid; `bar` makes a progress bar of so many steps."""
    generator = np.random.default_rng(seed)
    lp, place = _in_random_order(lp.in_memory(), generator)
    shares: tuple[float | None, ...] = (None,)
    # Where all rows are soft there is no s.
    hard = lp.penalty is None or not np.isfinite(lp.penalty[lp.private]).any(axis=-1).all()
    if lp.neighbours.changes_whole_rows and hard:
        shares = _SHARES
    sizes = _sizes(lp, max(1, int(place.max(initial=-1)) + 1))
    draws = draws or max(_FEWEST_DRAWS, _MOST_DRAWS // (len(sizes) * len(shares)))
    pairs = []
    with bar(total=2 * len(sizes) * len(shares) * len(epsilons) * draws) as progress:
        for k, size in enumerate(sizes):
            one = SolvedProgram.of(without_rows(lp, np.flatnonzero(place >= size)))
            programs = one, _neighbour(one, np.flatnonzero(place[place < size] == 0), generator)
            n = one.lp.private_sides()
            s = {share: None if share is None else max(1, round(share * n)) for share in shares}
            answers = {}
            for j, share in enumerate(shares):
                for i, eps in enumerate(epsilons):
                    asked = eps, delta, s[share]
                    seeds = [[[seed, k, j, i, w, draw] for draw in range(draws)] for w in (0, 1)]
                    answers[share, eps] = tuple(
                        program.answers(asked, own, progress.update)
                        for program, own in zip(programs, seeds, strict=True)
                    )
            pairs.append(Pair(size, programs, s, answers))
    return Grid(lp, place, epsilons, shares, pairs, delta, draws)


def _sizes(lp: LinearProgram, records: int) -> list[int]:
    """Numbers of records, the largest last; one where it is part of the program or private."""
    relation = lp.neighbours
    parts = _PARTS if relation.changes_whole_rows and not relation.hides_rows else (1,)
    return sorted({min(records, max(records // part, _FEWEST)) for part in parts})


def _in_random_order(
    lp: LinearProgram, generator: np.random.Generator
) -> tuple[LinearProgram, IntArray]:
    """The program of so many records; the place of the owner of each row, -1 for a public row."""
    place = np.where(lp.private, 0, -1)
    if not lp.neighbours.changes_whole_rows:
        return lp, place if lp.neighbours.private_parts & {"A", "b"} else place * 0 - 1
    owners = np.arange(lp.shape[0]) if lp.groups is None else np.asarray(lp.groups)
    _, record = np.unique(owners[lp.private], return_inverse=True)
    records = int(record.max(initial=-1)) + 1
    require_data(records > 1, "The page takes one record away: it needs at least two.", "lp")
    place[lp.private] = generator.permutation(records)[record]
    if not lp.neighbours.hides_rows:
        kept = place < _LARGEST_N
        lp, place = without_rows(lp, np.flatnonzero(~kept)), place[kept]
    dual = SolvedProgram.of(lp).exact.dual
    prices = np.bincount(place[lp.private], np.abs(np.asarray(dual))[lp.private])
    swap = np.arange(len(prices))
    most = int(prices.argmax())
    swap[[0, most]] = most, 0
    place[lp.private] = swap[place[lp.private]]
    return lp, place


def _neighbour(
    program: SolvedProgram, own: IntArray, generator: np.random.Generator
) -> SolvedProgram:
    """The program whose first record asks for nothing, has left, or has other numbers."""
    lp = program.lp
    if not lp.neighbours.changes_whole_rows:
        form = StandardForm.of(lp)
        tried: list[Any] = [
            lp.neighbours.extreme_pair(form, generator)[1] for _ in range(_NEIGHBOURS)
        ]
        others = [SolvedProgram.of(each) for each in tried]
        return max(others, key=lambda other: float(np.linalg.norm(other.x - program.x)))
    if lp.neighbours.hides_rows:
        return SolvedProgram.of(without_rows(lp, own))
    zeros = np.zeros((len(own), lp.shape[1]))
    return SolvedProgram.of(with_rows(lp, own, zeros, np.zeros(len(own))))
