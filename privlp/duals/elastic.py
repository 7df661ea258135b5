"""The elastic dual player: the weight of a row depends on the violation of that row alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privlp.duals.base import WeighedRows
from privlp.rows.door import Rows

FloatArray = npt.NDArray[np.float64]
#: What is made of an exact sum over all rows, once; the sum may be in integers.
Finish: TypeAlias = Callable[[Any], FloatArray]


class ElasticDual:
    """Weights min(1, (violation - level)/softness) of rows beyond a level, and 0 of all others.

    These are the slopes of a smoothed sum of violations.

    Parameters
    ----------
    rows : Rows of WeighedRows
        Private rows as the player's region sees them.
    start : (d,)
        The first point, public.
    softness : float
        Scaled violation from which on a row has weight 1.
    level : float, optional
        Violation beyond which a row counts as violated, in the same units.
    finish : callable, optional
        Applied to the scores, after rows of all blocks are added up.

    Attributes
    ----------
    point : (d,)
        The released point whose violations give the weights.
    """

    def __init__(
        self,
        rows: Rows[WeighedRows],
        start: FloatArray,
        softness: float,
        level: float = 0.0,
        *,
        finish: Finish | None = None,
    ) -> None:
        self.rows = rows.keep(partial(ElasticRows, softness=softness, level=level))
        self.point, self._finish = start, finish

    def scores(self) -> FloatArray:
        """Score of each possible answer against the weighted rows; private.

        Violations, weights and sums are made of a few rows at a time, in one read of the rows.
        """
        total = np.asarray(self.rows.total(ElasticRows.scores, self.point))
        return total if self._finish is None else self._finish(total)

    def learn(self, answer: FloatArray) -> None:
        """Weights are those at a released point from now on."""
        self.point = answer


class ElasticRows:
    """A block of rows with elastic weights."""

    def __init__(self, rows: WeighedRows, *, softness: float, level: float = 0.0) -> None:
        self._rows, self._slope, self._offset = rows, 1.0 / softness, level / softness

    def scores(self, point: FloatArray) -> FloatArray:
        """The block's part of the scores, with the weights at a point."""
        return self._rows.weighed(point, self._slope, self._offset)

    def weights(self, point: FloatArray) -> FloatArray:
        """The weights of rows at a point, but for rounding to a grid."""
        return np.clip(self._slope * self._rows.violations(point) - self._offset, 0.0, 1.0)
