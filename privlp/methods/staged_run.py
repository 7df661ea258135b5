"""Stages of mirror descent, each from the point that the one before released."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.duals.elastic import ElasticDual, ElasticRows
from privlp.errors import MissedRowsWarning
from privlp.methods.crossing import Crossing
from privlp.methods.staged_charges import COUNTS, Stage, StagedCharges
from privlp.methods.staged_sizes import Sizes
from privlp.methods.task import Task
from privlp.players.accelerated import AcceleratedDescent
from privlp.players.game import Game, Released
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import Entropic, Simplex
from privlp.rows.door import Rows
from privlp.rows.equal_norm import RowsOfEqualNorm
from privlp.rows.missed import MeasuredRows
from privlp.rows.one_sign import RowsOfOneSign, signs_and_spread

FloatArray = npt.NDArray[np.float64]

# Rows count as having one sign if all do, up to so many deviations of the noise; and then they are
# used as such if centring would not shorten them to less than this share of their norm.
_SURE, _LEAST_SPREAD = 3.0, 0.75
# With a known objective, between stages: the level is one at which so many times s rows are
# violated. Violations beyond this multiple of the error are not noise, a margin below that one
# is not either, and where the level is not 0, shares are mixed with equal ones.
_NEAR, _FAR, _BEYOND, _BELOW, _MIXED = 4.0, 8.0, 8.0, 6.0, 0.1
# Levels that are told apart: hyperbolic sines of numbers up to this one, times the error.
_LARGEST_LEVEL = 9.0
# The size is looked for within this factor of the one before.
_FACTOR, _LAST_FACTOR = math.log(4.0), math.log(6.0)
# No size is good enough if the fewest counted rows are more by so many deviations.
_SURELY = 2.0
# The last size keeps all but s rows with this probability, as far as counts tell.
_SAFE = 0.97


class Stages(ABC):
    """What both kinds of staged descent share.

    Parameters
    ----------
    task : Task
    rows : Rows
        Private rows.
    charges : StagedCharges
    draws : sequence of ChargedDraws
        One for each charge.
    size : int
        Number of vertices.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        charges: StagedCharges,
        draws: Sequence[ChargedDraws],
        size: int,
    ) -> None:
        self._s, self._n, self._rows = task.density(), task.n, rows
        self._largest_n = task.largest_n
        self._charges, self._draws = charges, iter(draws)
        self._share = np.full(size, 1 / size)
        self._trace: dict[str, list[Any]] = {}
        self.rounds = charges.rounds
        self._steps = self._play()

    def step(self, t: int) -> None:  # noqa: ARG002 (the stages follow one another)
        """Play a round of the current stage, or count after it."""
        next(self._steps)

    @abstractmethod
    def _play(self) -> Iterator[None]:
        """Play all rounds."""

    @abstractmethod
    def released(self) -> Released:
        """The last point that a stage ended with; before that, the start."""

    def _sign(self, simplex: Simplex) -> int:
        """The sign of all entries, if rows are to be used as rows of one sign; or 0."""
        if not self._charges.signs:
            return 0
        draw = next(self._draws)
        noisy = np.asarray(draw(self._rows.total(signs_and_spread, simplex)))
        sigma = float(draw.mechanism.sigma)  # type: ignore[attr-defined]
        for sign, count, spread in ((-1, *noisy[:2]), (1, *noisy[2:])):
            if count >= self._n - _SURE * sigma and spread >= _LEAST_SPREAD * self._n:
                return sign
        return 0

    def _scaled(self, simplex: Simplex, sign: int) -> Rows[Any]:
        """The rows in the units of a stage."""
        if sign:
            return self._rows.keep(
                partial(RowsOfOneSign, simplex=simplex, sign=sign, largest_n=self._largest_n)
            )
        return self._rows.keep(partial(RowsOfEqualNorm, simplex=simplex, largest_n=self._largest_n))

    def _descend(
        self, stage: Stage, simplex: Simplex, scaled: Rows[Any], sign: int, level: float = 0.0
    ) -> Iterator[AcceleratedDescent]:
        """Play a stage from the current shares, one round at a time."""
        mirror = Entropic(simplex, stage.step, self._share)
        player = AcceleratedDescent(mirror, next(self._draws))
        softness = stage.softness * (2 if sign else 1)  # rows of one sign are longer by sqrt(2)
        dual = ElasticDual(scaled, player.point, softness, level)
        game = Game(dual, player, rounds=stage.rounds)
        for t in range(stage.rounds):
            game.step(t)
            yield player
        self._share = player.shares

    def _note(self, name: str, value: Any) -> None:
        self._trace.setdefault(name, []).append(value)

    @property
    def _traced(self) -> dict[str, npt.NDArray[np.generic]]:
        return {name: np.array(values) for name, values in self._trace.items()}


class StagesAtOptimum(Stages):
    """Stages on {u >= 0, cost·u = V} for a given V: between them the level of violation moves.

    A positive level says that not all rows can be satisfied: rows beyond it count. A negative one
    says that they can, with room to spare.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        charges: StagedCharges,
        draws: Sequence[ChargedDraws],
        simplex: Simplex,
    ) -> None:
        self._simplex = simplex
        self._error = charges.error(simplex.size, task.n)
        super().__init__(task, rows, charges, draws, simplex.size)

    def _play(self) -> Iterator[None]:
        simplex, level = self._simplex, 0.0
        sign = self._sign(simplex)
        scaled = self._scaled(simplex, sign)
        yield
        for number, stage in enumerate(self._charges.stages):
            if level:
                self._share = (1 - _MIXED) * self._share + _MIXED / simplex.size
            for _ in self._descend(stage, simplex, scaled, sign, level):
                yield
            if number < len(self._charges.stages) - 1:
                level = self._level(scaled)
                self._note("levels", level)
            yield

    def _level(self, scaled: Rows[Any]) -> float:
        """The level of the next stage, from noisy counts at the current point."""
        point, draw = self._simplex.point(self._share), next(self._draws)
        unit = max(self._error, 1e-12)
        measured = scaled.keep(partial(ElasticRows, softness=1.0))

        def count(t: float) -> float:
            beyond = unit * math.sinh(t)
            return float(draw(float(measured.total(ElasticRows.violated_by_more, point, beyond))))

        near, far = (
            unit
            * math.sinh(
                Crossing(
                    min(times * self._s, self._n / 2),
                    -_LARGEST_LEVEL,
                    _LARGEST_LEVEL,
                    sigma=float(draw.mechanism.sigma),  # type: ignore[attr-defined]
                    most=self._n,
                ).search(count, COUNTS)
            )
            for times in (_NEAR, _FAR)
        )
        if near > _BEYOND * self._error:
            return near
        return min(near, far / 2) if far < -_BELOW * self._error else 0.0

    def released(self) -> Released:
        """The point of the last stage."""
        simplex = self._simplex
        x = simplex.form.undo(simplex.point(self._share))
        return Released(x, simplex.form.lp.objective(x), self._traced)


class StagesInSearch(Stages):
    """Stages for an unknown V: between them V becomes that at which a multiple of s rows is missed.

    The last V is one at which at most s rows are missed.

    Parameters
    ----------
    sizes : Sizes
        The regions of all V.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        charges: StagedCharges,
        draws: Sequence[ChargedDraws],
        sizes: Sizes,
    ) -> None:
        self._sizes, self._place = sizes, sizes.middle
        self._at_bounds, self._fewest = float(task.n), 0.0
        self._measured = rows.keep(partial(MeasuredRows, alpha=task.accuracy(), share=0.0))
        super().__init__(task, rows, charges, draws, sizes.region(sizes.middle).size)

    def _play(self) -> Iterator[None]:
        sizes, stages = self._sizes, self._charges.stages
        sign = self._sign(sizes.region(sizes.middle))
        self._place, _ = self._searched(stages[0].aim, *sizes.ends, start=True)
        yield
        for number, stage in enumerate(stages):
            # Costs a little lower than those found: else nothing asks for better points.
            place = self._place
            simplex = sizes.region(max(place - stage.push, sizes.ends[0]))
            scaled = self._scaled(simplex, sign)
            for _ in self._descend(stage, simplex, scaled, sign):
                yield
            del scaled  # before the next stage has its own
            self._note("sizes", sizes.value(place))
            if number + 1 < len(stages):
                aim = stages[number + 1].aim
                self._place, _ = self._searched(aim, place - _FACTOR, place + _FACTOR)
            else:
                ends = place - _FACTOR, place + _LAST_FACTOR
                self._place, self._fewest = self._searched(1.0, *ends, probability=_SAFE)
            yield

    def _searched(
        self,
        aim: float,
        low: float,
        high: float,
        *,
        probability: float = 0.5,
        start: bool = False,
    ) -> tuple[float, float]:
        """Where about aim * s rows are missed at the current shares; and how many at least.

        The start also counts the rows that are missed at the bounds of the variables.
        """
        draw, sizes = next(self._draws), self._sizes
        sigma = float(draw.mechanism.sigma)  # type: ignore[attr-defined]
        low, high = max(low, sizes.ends[0]), min(high, sizes.ends[1])

        def count(place: float) -> float:
            x = sizes.point(place, self._share)
            found = float(draw(float(self._measured.total(MeasuredRows.missed, x))))
            counts[place] = found
            return found

        counts: dict[float, float] = {}
        if start:
            self._at_bounds = count(low) + _SURE * sigma
        target = min(aim * self._s, self._n / 2)
        if self._at_bounds < 2 * target:  # many rows hold at the bounds
            target = max(self._s, self._at_bounds / 2)
        crossing = Crossing(target, low, high, sigma=sigma, most=self._n)
        for place, found in counts.items():
            crossing.learn(place, found)
        place = crossing.search(count, draw.remaining, probability)
        fewest = min(counts.values()) - _SURELY * sigma
        if fewest > crossing.target:  # no size helps: the smallest that is as good as others
            as_good = fewest + 2 * _SURELY * sigma
            place = min(at for at, found in counts.items() if found <= as_good)
        return place, fewest

    def released(self) -> Released:
        """The last point, and the sizes of all stages."""
        warning = ""
        if self._fewest > self._s:
            warning = (
                "No point was found that misses so few rows: by noisy counts at least"
                f" {self._fewest:,.0f} are missed at every cost that was tried, not s ="
                f" {self._s:g}. Give a larger s or eps, or check that so many rows can be"
                " satisfied."
            )
        x = self._sizes.point(self._place, self._share)
        return Released(
            x,
            self._sizes.objective(x),
            self._traced,
            warning=warning,
            category=MissedRowsWarning,
        )
