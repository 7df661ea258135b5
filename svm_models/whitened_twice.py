"""Coordinates of the noise and of the player, from second moments measured once or twice.

Noise hides all but the strongest directions of the records in their second moments. Where the first
ones have made the records alike in the directions that they show, a second release shows weaker
ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.privacy import ChargedDraws
from privlp.regions.l1_ball import L1Ball
from privlp.rows.door import Rows
from svm_models.record_grid import RecordGrid, Whitening
from svm_models.records_on_grid import RecordsOnGrid, Totals
from svm_models.whitening import REACH, second_moments

FloatArray = npt.NDArray[np.float64]

#: What the ledger calls the second release.
PURPOSE_AGAIN = "release the second moments of the whitened records"
#: A player's ridge is at most so many times that of the noise.
_MOST_TIMES = 4.0


def moments_again(records: RecordsOnGrid, whiten: Whitening) -> Totals:
    """The second moments of a block's whitened records, none of them longer than 1."""
    return records.second_moments(whiten)


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the noise, and of the player.

    With W the first whitening matrix and S the second moments of short records in its coordinates,
    the metric is W (S + ridge)^(-1) W / reach^2, and the whitening matrix its symmetric root.

    Attributes
    ----------
    first : (p, p) array
        W, symmetric; released, or the identity where moments are measured once.
    moments : (p, p) array
        S for each record; released. Negative ones count as zero.
    ridge : float
        Public.

    Examples
    --------
    >>> import numpy as np
    >>> both = Coordinates(np.eye(2), np.diag([0.75, 0.25]), 0.25)
    >>> float(both.dimensions), float(round(both.reach, 4))
    (1.25, 0.559)
    """

    first: FloatArray
    moments: FloatArray
    ridge: float

    @classmethod
    def measured(
        cls,
        records: Rows[Any],
        first: FloatArray,
        grid: RecordGrid,
        release: ChargedDraws,
        n: int,
        ridge: float,
    ) -> Coordinates:
        """Release the second moments of the whitened records, none of them longer than 1."""
        kernel = partial(moments_again, whiten=Whitening.of(first, grid))
        return cls(first, second_moments(records, kernel, grid, release) / n, ridge)

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self.moments)
        return np.maximum(values, 0.0), vectors

    @cached_property
    def dimensions(self) -> float:
        """How many directions stand out from the ridge; at least 1."""
        values, _ = self._spectrum
        return max(1.0, float(np.sum(values / (values + self.ridge))))

    @cached_property
    def reach(self) -> float:
        """Records reach this share of the root mean square of their whitened norms."""
        return REACH * float(np.sqrt(self.dimensions))

    @cached_property
    def whiten(self) -> FloatArray:
        """The whitening matrix, symmetric."""
        return _root(self._metric(1.0))

    def separation(self, half: FloatArray, sigma: float, n: int) -> float:
        """How far apart the classes are, from the released half of the sum of records.

        The squared length of the mean record, less that of its noise, beside the mean square of a
        record of norm 1 in one of the directions that stand out. It is above 1 where classes differ
        along a few strong directions.
        """
        mean, noise = 2 * half / n, 2 * sigma / n
        return self.dimensions * float(mean @ mean - len(mean) * noise**2)

    def ball(self, step: float, radius: float, separation: float) -> L1Ball:
        """The player's region and metric.

        Where the classes are far apart, weak directions say little that noise does not drown. The
        player moves less along them: its ridge is as many times larger, at most 4 times.
        """
        times = min(max(separation, 1.0), _MOST_TIMES)
        if times == 1.0:
            return L1Ball(self.whiten, step, radius)
        root = _root(self._metric(times))
        to_own = np.asarray(np.linalg.solve(self.whiten, root).T)
        return _FromOtherCoordinates(root, step, radius, to_own)

    def _metric(self, times: float) -> FloatArray:
        values, vectors = self._spectrum
        inverse = (vectors / (values + times * self.ridge)) @ vectors.T
        return np.asarray(self.first @ inverse @ self.first) / self.reach**2


class _FromOtherCoordinates(L1Ball):
    """The ball where scores come in other coordinates than the player's."""

    def __init__(self, root: FloatArray, step: float, radius: float, to_own: FloatArray) -> None:
        super().__init__(root, step, radius)
        self._to_own = to_own

    def towards(self, total: FloatArray) -> FloatArray:
        """As for :class:`L1Ball`, with the scores in the player's coordinates."""
        return super().towards(self._to_own @ total)


def _root(metric: FloatArray) -> FloatArray:
    """The symmetric root of a positive definite matrix."""
    values, vectors = np.linalg.eigh((metric + metric.T) / 2)
    least = values[-1] * len(values) * np.finfo(float).eps
    return np.asarray((vectors * np.sqrt(np.maximum(values, least))) @ vectors.T)
