"""Signed records as the player of :class:`~svm_models.PrivateLPSVC` sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.rows.parts import Integers
from privlp.rows.threads import over
from svm_models.record_grid import OF_PRODUCTS, SLACK, Whitening
from svm_models.records_on_grid import RecordsOnGrid, Totals, products

FloatArray = npt.NDArray[np.float64]

#: Half-width h of the rounded part of the hinge.
SOFTNESS = 0.5
#: Sums are of dual weights minus this number: so a record adds at most half its norm.
CENTRE = 0.5


class WhitenedRecords:
    """A block of signed records m_i of norm 1 at most, whitened and short.

    s_i = min(1, 1/||W m_i||), W the whitening matrix. A record with dual weight z_i in [0, 1]
    contributes (z_i - 1/2) s_i W m_i to what is released each round, and s_i W m_i / 2 to what is
    released beforehand: vectors of norm 1/2 at most, whose sum is z_i s_i W m_i. The weights s_i/2
    are rounded down to an integer number h_i of units, and (2 z_i - 1) h_i to the nearest. Sums are
    those of the records before they are whitened, in integers: the caller multiplies the sum over
    all blocks by W (:meth:`~svm_models.record_grid.Whitening.of_sum`).

    Parameters
    ----------
    records : RecordsOnGrid
    whiten : Whitening
        Public or released.
    shorten : bool
        Without it s_i = 1: the mean loss unweighted, for no noise.
    of_classes : pair of float, optional
        Public weights a_i in [0, 1] of negative and of positive records' losses, which multiply
        s_i; ``None``: all 1.
    """

    def __init__(
        self,
        records: RecordsOnGrid,
        whiten: Whitening,
        *,
        shorten: bool = True,
        of_classes: tuple[float, float] | None = None,
    ) -> None:
        self._records, self._grid = records, records.grid
        # Integers of at most 2^18.
        self._halves = np.empty(records.count, dtype=np.float32)

        def run(parts: Sequence[tuple[slice, Integers]]) -> None:
            for rows, part in parts:
                halves = np.full(rows.stop - rows.start, self._grid.of_half)
                if shorten:
                    halves *= (1 - SLACK) / np.maximum(_norms(part, whiten), 1.0)
                if of_classes is not None and records.positive is not None:
                    negative, positive = of_classes
                    halves *= np.where(records.positive[rows], positive, negative)
                self._halves[rows] = np.floor(halves)

        over(records.parts, run)

    @property
    def count(self) -> int:
        """Number of records in the block."""
        return self._records.count

    def weighed(self, answer: FloatArray, slope: float, offset: float) -> Any:
        """The scores against weights slope * violation - offset, clipped to [0, 1]: exact.

        One read of the records.
        """
        point, unit = self._grid.vector(answer)

        def run(parts: Sequence[tuple[slice, Integers]]) -> Totals:
            total = np.zeros(self._records.size, dtype=np.int64)
            scratch = np.empty(max((part.size for _, part in parts), default=0))
            for rows, part in parts:
                weigh = partial(self._weights, rows=rows, slope=slope, offset=offset, unit=unit)
                total += part.weighed(point, weigh, scratch)[1].astype(np.int64)
            return total

        return np.asarray(np.sum(over(self._records.parts, run), axis=0))

    def scores(self, z: FloatArray) -> Any:
        """sum_i (z_i - 1/2) s_i m_i, in units: exact."""
        return self._sum(lambda rows: self._on_grid(z[rows], rows))

    def centre(self) -> Totals:
        """sum_i s_i m_i / 2, in units: exact."""
        return self._sum(lambda rows: self._halves[rows].astype(np.float64))

    def violations(self, answer: FloatArray) -> FloatArray:
        """1 + h - m_i·w, for each record."""
        point, unit = self._grid.vector(answer)
        found = np.empty(self.count)
        for rows, part in self._records.parts:
            found[rows] = (1 + SOFTNESS) - part.times(point) * unit
        return found

    def add_violations(self, answer: FloatArray, step: float, out: FloatArray) -> None:
        """Add step times the violations of an answer to `out`."""
        out += step * self.violations(answer)

    def _weights(
        self, found: FloatArray, *, rows: slice, slope: float, offset: float, unit: float
    ) -> FloatArray:
        """Weights of some records in units, from their products with a point; changes these."""
        found *= -unit
        found += 1 + SOFTNESS
        found *= slope
        found -= offset
        return self._on_grid(np.clip(found, 0.0, 1.0, out=found), rows)

    def _on_grid(self, z: FloatArray, rows: slice) -> FloatArray:
        """(z_i - 1/2) s_i in units; never more than s_i/2."""
        return np.asarray(np.rint((2 * (z - CENTRE)) * self._halves[rows]))

    def _sum(self, weights_of: Callable[[slice], FloatArray]) -> Totals:
        """The sum of the records with weights in units."""

        def run(parts: Sequence[tuple[slice, Integers]]) -> Totals:
            total = np.zeros(self._records.size, dtype=np.int64)
            for rows, part in parts:
                total += part.transposed_times(weights_of(rows)).astype(np.int64)
            return total

        return np.asarray(np.sum(over(self._records.parts, run), axis=0))


def _norms(part: Integers, whiten: Whitening) -> FloatArray:
    """||W m_i|| of some records."""
    entries = part.in_double().entries
    count = entries.shape[0]
    found = [
        products(entries[start : start + OF_PRODUCTS], whiten)[1]
        for start in range(0, count, OF_PRODUCTS)
    ]
    return np.concatenate([np.zeros(0), *found])
