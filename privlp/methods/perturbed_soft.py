"""Stages of perturbed programs on soft rows, whose prices are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.methods.perturbed_draws import Draws, NoisyCounts
from privlp.methods.task import Task
from privlp.players.game import Released
from privlp.privacy import ChargedDraws
from privlp.regions.reduced import PublicRows, ReducedPolytope
from privlp.rows.door import Rows
from privlp.rows.in_coordinates import RowsInCoordinates, norms, shares_of_norm
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# Softness of violations, as a share of their typical size, before the last stage and in it.
_SOFTNESS, _LAST_SOFTNESS = 0.8, 0.4
# Binary logarithms between which sizes and norms are searched.
_LOW_SCALE, _HIGH_SCALE = -20.0, 6.0
_AVG = 0.0
_CH, _MOST, _EARLY = 40.0, 0.6, (0.4, 0.35, 0.3)
_CC, _MC = 120.0, 0.7
_NORMS = (-40.0, 40.0)


class SoftRowSearch:
    """Stages for soft rows: their prices are given, so nothing but the programs is solved.

    The first counts find a number that bounds the norms of almost all rows, unless the user
    declared one: longer rows are scaled down. Before each stage counts find the typical size of a
    violation at the point before.

    Parameters
    ----------
    task : Task
    rows : Rows
    public : PublicRows
    region : ReducedPolytope
    shares : ChargedDraws
        For the sum of each variable's share of the norm of rows.
    bound : float or ChargedDraws
        Declared bound on ||A_i||_2, or the counts that find a bound on the norms of most rows.
    stages : sequence of Draws
    """

    def __init__(
        self,
        task: Task,
        rows: Rows[Any],
        public: PublicRows,
        region: ReducedPolytope,
        shares: ChargedDraws,
        moments: ChargedDraws,
        bound: float | ChargedDraws,
        stages: Sequence[Draws],
    ) -> None:
        self.rounds = 1 + len(stages)
        self._shares, self._moments, self._bound = shares, moments, bound
        self._lp, self._n, self._k = task.lp, task.n, task.public.rows_of_one_record
        self._price = task.public.largest_price
        self._rows, self._public, self._region = rows, public, region
        self._stages = stages
        self._x = region.point(region.inside)
        pr = task.public.prices
        self._bend = pr.of_record / pr.largest * (2 if pr.two_sided else 1)
        self._rr = pr.rows
        self._trace: dict[str, list[Any]] = {}
        self._steps = self._play()

    def step(self, t: int) -> None:  # noqa: ARG002 (the stages follow one another)
        """Make the first counts, or solve the next program."""
        next(self._steps)

    def released(self) -> Released:
        """The last point, with those of all stages."""
        trace = {name: np.array(values) for name, values in self._trace.items()}
        return Released(self._x, self._lp.objective(self._x), trace)

    def _play(self) -> Iterator[None]:
        price = self._price
        region = self._equalised()
        if isinstance(self._bound, ChargedDraws):
            unit = self._norm_of_most_rows(region, self._bound)
        else:
            unit = self._bound * float(region.unit.max())
        self._trace["norm bound"] = [unit]
        yield
        kept = self._rows.keep(
            partial(RowsInCoordinates, region=region, unit=unit, largest_price=price)
        )
        cost = region.cost(self._public.cost) / (price * unit)
        z = region.within(region.coordinates(self._x))
        for number, draws in enumerate(self._stages):
            last = number == len(self._stages) - 1
            kept.update(RowsInCoordinates.go_to, z)
            counts = NoisyCounts(kept, RowsInCoordinates.farther_than, draws.counts)
            level, _ = counts.first_below(self._n / 2, lambda t: 2.0**t, _LOW_SCALE, _HIGH_SCALE)
            kap = draws.perturbation.mechanism.curvature_cost
            f = min(_MOST, max(1e-3, _CH * self._k * np.sqrt(self._region.size) / (self._n * kap)))
            if not last:
                f = _EARLY[number]
            softness = f * 2.0**level
            z = draws.minimum(
                kept, region, cost, z, softness=softness, shift=softness / 2, k=self._k, n=self._n, trace=self._bend, r=self._rr
            )
            self._x = region.point(z)
            if last and _AVG:
                a = _AVG * self._stages[-2].sigma ** -2; b = draws.sigma ** -2
                self._x = (a * self._trace["x"][-1] + b * self._x) / (a + b)
            self._trace.setdefault("x", []).append(self._x)
            self._trace.setdefault("softness", []).append(softness)
            yield

    def _equalised(self) -> ReducedPolytope:
        """The region in units in which variables have equal shares of the norms of rows.

        Noise hides small shares, so no unit grows beyond what noise allows.
        """
        least = 2 * float(self._shares.mechanism.sigma)  # type: ignore[attr-defined]
        region, weights = self._region, np.ones(len(self._public.cost))
        while self._shares.remaining:
            noisy = np.asarray(self._shares(self._rows.total(shares_of_norm, region)))
            largest = max(float(noisy.max()), least)
            weights[region.live] *= np.sqrt(largest / np.maximum(noisy, least))
            self._trace.setdefault("weights", []).append(weights.copy())
            region = ReducedPolytope(self._public, weights=weights)
        while self._moments.remaining:
            region = self._whitened(region)
        return region

    def _whitened(self, region: ReducedPolytope) -> ReducedPolytope:
        """The region in coordinates in which rows vary alike in all directions.

        Noise of deviation sigma in a symmetric matrix has eigenvalues of up to sigma sqrt(2 p). It
        hides smaller moments, so no direction is stretched beyond what noise allows.
        """
        kept = self._rows.keep(partial(RowsInCoordinates, region=region))
        noisy = np.asarray(self._moments(kept.total(RowsInCoordinates.second_moments)))
        upper = np.triu_indices(region.size)
        matrix = np.zeros((region.size, region.size))
        matrix[upper] = noisy / np.where(upper[0] == upper[1], 1.0, np.sqrt(2))
        least = float(self._moments.mechanism.sigma) * np.sqrt(2 * region.size)  # type: ignore[attr-defined]
        moments, directions = np.linalg.eigh(matrix, UPLO="U")
        moments = np.maximum(moments, least)
        return region.turned((directions * np.sqrt(moments.max() / moments)) @ directions.T)

    def _norm_of_most_rows(self, region: ReducedPolytope, clip: ChargedDraws) -> float:
        """A number that no more rows exceed than noise could hide."""
        found = self._rows.keep(partial(Norms, region=region))
        counts = NoisyCounts(found, Norms.above, clip)
        level, _ = counts.first_below(min(_MC * self._n, max(3 * counts.sigma, _CC * self._stages[-1].sigma * np.sqrt(region.size))), lambda t: 2.0**t, *_NORMS)
        return float(2.0**level)


class Norms:
    """Norms of rows in the coordinates of a region, each computed from its row alone."""

    def __init__(self, block: RowBlock, region: ReducedPolytope) -> None:
        self._norm, _ = norms(block, region)

    def above(self, level: float) -> int:
        """Number of rows above a level."""
        return int(np.count_nonzero(self._norm > level))
