"""Perturbed programs at a given cost, as long as noisy counts bear it out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError
from privlp.methods.base import PlannedRun
from privlp.methods.given import Given
from privlp.methods.perturbed import Perturbed, Search, largest_cost
from privlp.methods.perturbed_charges import PerturbedCharges
from privlp.methods.perturbed_draws import Draws, NoisyCounts
from privlp.methods.perturbed_hard import MUCH_LOWER_PRICE, SHARP, BeforeStages, HardRowSearch
from privlp.methods.perturbed_paths import SURE
from privlp.methods.perturbed_regions import typical_side
from privlp.methods.prediction import FLOOR, Prediction
from privlp.methods.task import Task
from privlp.regions.optimum import is_range
from privlp.regions.public_rows import PublicRows
from privlp.regions.reduced import ReducedPolytope
from privlp.rows.door import Rows
from privlp.rows.in_coordinates import RowsInCoordinates
from privlp.rows.missed import MeasuredRows

FloatArray = npt.NDArray[np.float64]

# Softness of violations, as a share of their typical size: in the first stage, and later.
_SOFTNESS, _LATER_SOFTNESS = 0.4, 0.25
# How far rows are moved inwards, in units of the softness.
_INWARDS = 0.5
# Strength of the quadratic, in units of the typical norm of the secret term.
_STIFFNESS = 0.4
# The cost was too high if this share of it, above the cheapest point's, would do.
_TOO_HIGH = 0.8
# At least so many rows are missed: as many as counted, less so many deviations.
_SURELY = 2.0
# It was too low if so many times s rows are missed, and more by so many times what noise is worth.
_TOO_LOW, _NOISE_OF_TOO_LOW = 3.0, 2.0


class StagesAtOptimum(HardRowSearch):
    """Stages at a given cost: it is a public row of the region, and no price of the program.

    So the whole budget goes to violations. After each stage noisy counts say whether the cost is
    right. If a much lower one would do, or none near it, the stages that are left search, from the
    best point known.

    Parameters
    ----------
    at_optimum : ReducedPolytope
        The public region with the given cost as a row.
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        before: BeforeStages,
        stages: Sequence[Draws],
        *,
        wide: bool,
        last_target: float,
        at_optimum: ReducedPolytope,
    ) -> None:
        super().__init__(
            task, rows, public, region, before, stages, wide=wide, last_target=last_target
        )
        self._at_optimum = at_optimum
        self._given = at_optimum.cap - float(public.cost @ self._regions.cheapest)
        self._verdict = Given.RIGHT

    def _play(self) -> Iterator[None]:
        start, far = self._started()
        yield
        centre = self._at_optimum.point(self._at_optimum.inside)
        region = self._regions.evened(
            self._at_optimum, self._rows, self._before.shares, self._largest_n
        )
        typical = typical_side(self._rows, region, centre, self._before.scale, self._n)
        yield
        unit, x, lower = float(np.mean(region.unit**2)), centre, 1.0
        for number, draws in enumerate(self._stages):
            last = number == len(self._stages) - 1
            if self._verdict is Given.RIGHT:
                found = self._without_costs(draws, region, x, typical, first=number == 0)
                self._note("x", found)
                yield
                if last:
                    self._x = self._fewest_missed(draws, found, x)
                else:
                    x, far = self._judged(draws, region, found, start, far)
                yield
                continue
            lower = lower if self._search.known else lower / MUCH_LOWER_PRICE
            around = self._region_around(x, draws, weighted=number > 0)
            side = typical * math.sqrt(unit / float(np.mean(around.unit**2)))
            found = self._solved(draws, around, x, far, side, lower, last=last)
            self._note("x", found)
            yield
            x, lower = self._calibrated(draws, found, x, far, lower, last=last)
            yield

    def _without_costs(
        self,
        draws: Draws,
        region: ReducedPolytope,
        x: FloatArray,
        side: float,
        *,
        first: bool,
    ) -> FloatArray:
        """The released point of least violations at the given cost."""
        softness, inwards = (_SOFTNESS if first else _LATER_SOFTNESS) * side, _INWARDS
        if draws.sigma == 0:
            softness, inwards = SHARP * side, 0.0
        z = draws.minimum(
            self._rows.keep(partial(RowsInCoordinates, region=region)),
            region,
            np.zeros(region.size),
            region.within(region.coordinates(x)),
            softness=softness,
            shift=inwards * softness,
            bend=self._bend,
            n=self._largest_n,
            stiffness=_STIFFNESS,
        ).z
        return region.point(z)

    def _judged(
        self,
        draws: Draws,
        region: ReducedPolytope,
        x: FloatArray,
        start: FloatArray,
        far: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Decide whether the given cost is right; where to go on, and the far end of a search."""
        counts = NoisyCounts(self._measured, MeasuredRows.missed, draws.counts)
        if draws.sigma == 0:  # without noise there is no doubt
            return x, far
        missed = counts(x)
        noise = _NOISE_OF_TOO_LOW * draws.sigma * math.sqrt(region.size) + SURE * counts.sigma
        low = missed > _TOO_LOW * self._s + noise
        told = SURE * counts.sigma <= self._s  # much noise tells nothing of a little
        found = x if low or not told else self._cheaper(counts, x, start, missed)
        while counts.left:
            self._note("missed rows", counts(x))
        if low:
            self._verdict = Given.LOW
            return (start if self._search.known else x), far
        if found is not x and self._regions.cost(found) <= _TOO_HIGH * self._given:
            self._verdict, self._regions.region = Given.HIGH, self._at_optimum
            return found, x  # nothing costs more than what was given
        return x, far

    def _fewest_missed(self, draws: Draws, x: FloatArray, before: FloatArray) -> FloatArray:
        """The last point; or the way to the one before, where clearly fewer rows are missed."""
        counts = NoisyCounts(self._measured, MeasuredRows.missed, draws.counts)
        points = [x, 0.5 * (x + before), before]
        missed = [0.0] * len(points)
        each = counts.left // len(points)
        for number, point in enumerate(points * each):
            missed[number % len(points)] += counts(point) / each
        while counts.left:
            self._note("missed rows", counts(x))
        if draws.sigma == 0:  # without noise there is no doubt
            return x
        best, noise = int(np.argmin(missed)), counts.sigma / math.sqrt(each)
        found = best if missed[best] < missed[0] - SURE * noise else 0
        return points[found]

    def _cheaper(
        self, counts: NoisyCounts, x: FloatArray, start: FloatArray, missed: float
    ) -> FloatArray:
        """A cheaper point with few missed rows, if counts find one; or x."""
        if self._search.known and self._regions.cost(start) <= _TOO_HIGH * self._given:
            return start
        target, cheapest = max(self._s - 2 * counts.sigma, self._s / 2), self._regions.cheapest
        if missed > target:
            return x

        def back(t: float) -> FloatArray:
            return cheapest + t * (x - cheapest)

        t, count = counts.first_below(target, back, 0.0, 1.0)
        if math.isinf(count):
            return x
        self._search.known.append((count + 2 * counts.sigma, back(t)))
        return back(t)


class PerturbedAtOptimum(Perturbed):
    """:class:`Perturbed` at the objective `opt`, as long as noisy counts bear it out.

    `opt` is a public row of each convex program, which has no costs: all of the budget goes to
    violations. If noisy counts show that a much lower cost would do, or none near `opt`, the stages
    that are left search as :class:`Perturbed` does.

    Privacy: as for :class:`Perturbed`, whose theorem holds for every public convex set. What the
    counts decide is computed from released numbers, and every way through the stages uses the same
    charged draws. Proof: ``docs/proofs.md``, "One perturbed convex program".
    """

    name = "perturbed-at-opt"
    checks_opt = True
    # Chosen on docs/results/generated.md's families with seeds below 100.
    _leaves = 0.06

    def competes(self, task: Task) -> bool:
        given = task.opt is not None and not is_range(task.opt)
        return given and task.lp.penalty is None and super().competes(task)

    def adapted(self, task: Task) -> Task:
        return replace(task, width=None)

    def plan(self, task: Task) -> PlannedRun:
        task.constraint_private(self.name)  # with no prices: x minimises violations
        if task.opt is None or is_range(task.opt):
            raise InvalidParameterError(
                "opt is missing: method='perturbed-at-opt' needs one value of the objective."
                " Without it use method='perturbed'.",
                parameter="opt",
            )
        return super().plan(task)

    def _prediction(
        self, size: int, charges: PerturbedCharges, easy: float, typical: float, rounds: int
    ) -> Prediction:
        found = super()._prediction(size, charges, easy, typical, rounds)
        floor = 0.0 if found.yardstick is None else FLOOR * found.yardstick
        return replace(found, objective_loss=0.0, checks_opt=True, floor=floor)

    def _search(self, task: Task, public: PublicRows) -> tuple[Search, ReducedPolytope]:
        cap = largest_cost(task)
        cap = math.inf if cap is None else cap
        best = public.best(public.cost)
        if best is not None and cap < float(public.cost @ best):
            way = "below the least" if task.lp.sense == "min" else "above the largest"
            raise InvalidParameterError(
                f"opt = {task.opt:g} is {way} objective within the public rows and bounds,"
                f" {task.lp.objective(best):g}: no x reaches it.",
                parameter="opt",
            )
        at_optimum = ReducedPolytope(public, cap)
        return partial(StagesAtOptimum, at_optimum=at_optimum), at_optimum
