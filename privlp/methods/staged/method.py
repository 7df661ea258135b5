"""``"staged"``: several descents in a row, with noisy counts between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import real
from privlp.game.descent import AcceleratedDescent, ElasticDual
from privlp.game.loop import Game, Released
from privlp.methods.base import Method, PlannedRun
from privlp.methods.checked import Checked, last_target
from privlp.methods.crossing import Crossing
from privlp.methods.prediction import Prediction
from privlp.methods.staged.charges import Sizes, Stage, StagedCharges, difficulty
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws
from privlp.regions.simplex import Entropic, Simplex, is_range, range_of
from privlp.relations.base import NeighbourRelation
from privlp.rows.access import Rows
from privlp.rows.measured import MeasuredRows
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOfOneSign, signs_and_spread
from privlp.rows.program_rows import share_of

FloatArray = npt.NDArray[np.float64]

# The size is looked for within this factor (its logarithm) of the one before.
_FACTOR = math.log(4.0)
# After the last stage it may be larger by this one.
_LAST_FACTOR = math.log(6.0)
# So many deviations of noise are hardly ever exceeded.
_SURE = 3.0
# Rows that have one sign are used as such if centring would not shorten them to less than this
# share of their norm.
_LEAST_SPREAD = 0.75
# No size is good enough if the fewest counted rows are more by so many deviations.
_SURELY = 2.0
# The last size keeps all but s rows with this probability, as far as counts tell.
_SAFE = 0.97


class Stages:
    """Stages for an unknown V: between them V becomes that at which a multiple of s rows is missed.

    The last V is one at which at most s rows are missed.

    Parameters
    ----------
    task : Task
    rows : Rows
        Private rows.
    charges : StagedCharges
    draws : sequence of ChargedDraws
        One for each charge.
    sizes : Sizes
        The regions {u >= 0, cost·u = V} of all V.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        charges: StagedCharges,
        draws: Sequence[ChargedDraws],
        sizes: Sizes,
    ) -> None:
        self._s, self._n, self._rows = task.density(), task.n, rows
        self._largest_n = task.largest_n
        self._charges, self._draws, self._coins = charges, iter(draws), draws[0]
        self._sizes, self._place = sizes, sizes.middle
        size = sizes.region(sizes.middle).size
        self._equal = self._share = np.full(size, 1 / size)
        self._sign = 0
        # Rows that are missed at the bounds of the variables at most.
        self._at_bounds = float(task.n)
        self.known: list[tuple[float, FloatArray]] = []
        self._last_aim = last_target(task, charges.requests) / self._s
        self._measured = rows.keep(partial(MeasuredRows, alpha=task.accuracy(), share=0.0))
        self._trace: dict[str, list[Any]] = {}
        self.rounds = charges.rounds
        self._steps = self._play()

    def step(self, t: int) -> None:  # noqa: ARG002 (the stages follow one another)
        """Play a round of the current stage, or count before the stages or after one."""
        next(self._steps)

    def _play(self) -> Iterator[None]:
        """Play all rounds."""
        self._begin()
        yield
        stages = self._charges.stages
        for number, stage in enumerate(stages):
            yield from self._descend(stage)
            draw = next(self._draws)
            if number + 1 < len(stages):
                self._go_on(draw, stages[number + 1])
            else:
                self._end(draw)
            yield

    def _begin(self) -> None:
        self._measure_sign()
        draw, aim = next(self._draws), self._charges.stages[0].aim
        ends = self._sizes.ends
        self._place, _ = self._searched(draw, aim, *ends, number=draw.remaining, start=True)

    def _descend(self, stage: Stage) -> Iterator[None]:
        # Costs a little lower than those found: else nothing asks for better points.
        simplex = self._sizes.region(max(self._place - stage.push, self._sizes.ends[0]))
        yield from self._descend_on(simplex, self._scaled(simplex, stage.share), stage)
        self._note("sizes", self._sizes.value(self._place))

    def _go_on(self, draw: ChargedDraws, following: Stage) -> None:
        ends = self._place - _FACTOR, self._place + _FACTOR
        self._place, _ = self._searched(draw, following.aim, *ends, number=draw.remaining)

    def _end(self, draw: ChargedDraws) -> None:
        """Find the last size: that at which surely at most s rows are missed."""
        ends = self._place - _FACTOR, self._place + _LAST_FACTOR
        self._place, _ = self._searched(
            draw, self._last_aim, *ends, number=draw.remaining, probability=_SAFE
        )

    def _measure_sign(self) -> None:
        """Find the sign of all entries, if rows are to be used as rows of one sign; or 0."""
        if not self._charges.signs:
            return
        draw = next(self._draws)
        region = self._sizes.region(self._sizes.middle)
        noisy = np.asarray(draw(self._rows.total(signs_and_spread, region)))
        for sign, count, spread in ((-1, *noisy[:2]), (1, *noisy[2:])):
            if count >= self._n - _SURE * draw.sigma and spread >= _LEAST_SPREAD * self._n:
                self._sign = sign
                return

    def _scaled(self, simplex: Simplex, share: float = 1.0) -> Rows[Any]:
        """The rows in the units of a stage, or a share of them."""
        n, rows = self._largest_n, self._rows
        if share < 1:
            rows = rows.keep(partial(share_of, share=share, key=self._coins.secret_key()))
        if self._sign:
            return rows.keep(partial(RowsOfOneSign, simplex=simplex, sign=self._sign, largest_n=n))
        return rows.keep(partial(RowsOfEqualNorm, simplex=simplex, largest_n=n))

    def _descend_on(self, simplex: Simplex, scaled: Rows[Any], stage: Stage) -> Iterator[None]:
        """Play a stage from the current shares, one round at a time."""
        player = AcceleratedDescent(Entropic(simplex, stage.step, self._share), next(self._draws))
        # Rows of one sign are longer by sqrt(2).
        softness = stage.softness * (2 if self._sign else 1)
        dual = ElasticDual(scaled, player.point, softness)
        game = Game(dual, player, rounds=stage.rounds)
        for t in range(stage.rounds):
            game.step(t)
            yield
        self._share = player.shares

    def _count(self, draw: ChargedDraws, place: float) -> float:
        """A noisy count of the rows that are missed at the current shares."""
        x = self._sizes.point(place, self._share)
        return float(draw(float(self._measured.total(MeasuredRows.missed, x))))

    def _searched(
        self,
        draw: ChargedDraws,
        aim: float,
        low: float,
        high: float,
        *,
        number: int,
        probability: float = 0.5,
        start: bool = False,
    ) -> tuple[float, float]:
        """Where about aim * s rows are missed at the current shares; and the fewest counted.

        The start also counts the rows that are missed at the bounds of the variables.
        """
        sizes, sigma = self._sizes, draw.sigma
        low, high = max(low, sizes.ends[0]), min(high, sizes.ends[1])

        def count(place: float) -> float:
            counts[place] = self._count(draw, place)
            return counts[place]

        counts: dict[float, float] = {}
        if start:
            self._at_bounds = count(low) + _SURE * sigma
        target = min(aim * self._s, self._n / 2)
        if self._at_bounds < 2 * target:  # many rows hold at the bounds
            target = max(self._s, self._at_bounds / 2)
        likely = sizes.likely_start if start else None
        crossing = Crossing(target, low, high, sigma=sigma, most=self._n, likely=likely)
        for place, found in counts.items():
            crossing.learn(place, found)
        place = crossing.search(count, number - len(counts), probability)
        fewest = min(counts.values())
        if fewest - _SURELY * sigma > target:  # no size helps: the smallest as good as others
            as_good = fewest + _SURELY * sigma
            place = min(at for at, found in counts.items() if found <= as_good)
        return place, fewest

    def _note(self, name: str, value: Any) -> None:
        self._trace.setdefault(name, []).append(value)

    def released(self) -> Released:
        """The last point that a stage ended with, and the sizes of all stages."""
        x = self._sizes.point(self._place, self._share)
        return Released(
            x,
            self._sizes.objective(x),
            {name: np.array(values) for name, values in self._trace.items()},
        )


# What a search of difficulty 1 leaves of the amount by which a row varies.
_USEFUL = 0.1


class Staged(Method):
    """Several mirror descents in a row, for a program of which only costs bound the variables.

    The region is {u >= 0, cost·u = V}. Each stage minimises a smoothed sum of violations, from the
    released point of the stage before, by smaller steps. Between stages noisy counts find the V at
    which a few times s rows are missed; after the last stage, the V at which at most s are (by more
    than `alpha`, if it is given). Finite upper bounds of variables cap their shares, and public
    rows may bound the objective. `opt` is a hint: the first counts are made where
    it makes a few times s missed rows likely.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* Row i contributes z_i g_i, |g_i| <= 1 and z_i in [0, 1] functions of that row and
    of released points: the sum moves by at most 2k if a record is replaced, and by k if it is added
    or removed (:class:`~privlp.rows.on_simplex.RowsOfEqualNorm`). Of many rows, if a record is
    replaced, a stage reads those that secret coins choose: the terms of others are 0
    (:mod:`privlp.rows.program_rows`). Where a noisy count says that all
    entries of all rows have one sign, rows of norm sqrt(2) take their place, and a row with an
    entry of the other sign counts for nothing. The inner product of two such rows is not negative,
    so the sum moves by at most sqrt(2k^2 + 2k^2) = 2k
    (:class:`~privlp.rows.on_simplex.RowsOfOneSign`). Counts move by at most k. Proof:
    ``docs/proofs.md``, "Staged descent".

    *Budget.* All draws are Gaussian, and are charged together before the first.
    """

    name = "staged"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        return task.lp.penalty is None and _has_delta(task)

    def adapted(self, task: Task) -> Task:
        return replace(task, width=None)

    def plan(self, task: Task) -> PlannedRun:
        task.constraint_private(self.name)
        task.refuse(self.name, width="it needs no declared bounds")
        task.density(), task.accuracy()
        sizes = Sizes(task, _hint(task))
        size = sizes.region(sizes.middle).size
        charges = StagedCharges.of(task, size)
        hard = difficulty(charges.noise, size, task.density())

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            search = Stages(task, rows, charges, draws[:-1], sizes)
            return Checked(task, rows, search, draws[-1])

        def predict() -> Prediction:
            typical = math.inf
            if sizes.likely is not None:
                region = sizes.region(sizes.likely)
                typical = region.typical_norm / math.sqrt(size)
            return Prediction(
                self.name,
                _USEFUL * hard * typical,
                None,
                charges.rounds + 1,
                charges.noise_of_a_round,
                yardstick=None if math.isinf(typical) else typical,
                difficulty=hard,
            )

        return PlannedRun(charges.requests, start, predict)


def _has_delta(task: Task) -> bool:
    return task.ledger.delta > 0 or math.isinf(task.ledger.eps)


def _hint(task: Task) -> tuple[float, float] | None:
    """The objectives between which the optimum is likely."""
    if task.opt is None or is_range(task.opt):
        return None if task.opt is None else range_of(task.opt)
    value = real(task.opt, "opt")
    return value, value
