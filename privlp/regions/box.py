"""A box, perhaps cut by one row: its nearest points in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """{z : low <= z <= high, row·z <= side}; without a row, `row` is 0.

    Examples
    --------
    >>> import numpy as np
    >>> box = Box(np.zeros(2), np.ones(2), np.ones(2), 1.0)
    >>> [box.nearest(np.array(z)).round(9).tolist() for z in ([3.0, 0.5], [0.9, 0.6])]
    [[1.0, 0.0], [0.65, 0.35]]
    """

    low: FloatArray
    high: FloatArray
    row: FloatArray
    side: float

    @classmethod
    def of(cls, C: sp.csc_array, f: FloatArray) -> Box | None:
        """{z : C z <= f}, if all rows but one have one entry; else None."""
        rows = sp.csr_array(C)
        entries = np.diff(rows.indptr)
        others = np.flatnonzero(entries != 1)
        if len(others) > 1:
            return None
        p = C.shape[1]
        low, high, row, side = np.full(p, -np.inf), np.full(p, np.inf), np.zeros(p), 0.0
        if len(others):
            row, side = rows[others].toarray().ravel(), float(f[others[0]])
        single = np.flatnonzero(entries == 1)
        first = rows.indptr[single]
        column, entry = rows.indices[first], rows.data[first]
        end, up = f[single] / entry, entry > 0
        np.minimum.at(high, column[up], end[up])
        np.maximum.at(low, column[~up], end[~up])
        return cls(low, high, row, side)

    def nearest(self, z: FloatArray) -> FloatArray:
        """The nearest point: clip(z - price row), with the least price at which the row holds."""
        if self.row @ self._at(z, 0.0) <= self.side:
            return self._at(z, 0.0)
        moved = np.flatnonzero(self.row)
        ends = np.concatenate([self.low[moved], self.high[moved]])
        turns = (np.tile(z[moved], 2) - ends) / np.tile(self.row[moved], 2)
        turns = np.unique(turns[(turns > 0) & np.isfinite(turns)])
        # The row's value falls with the price, and is linear between two turns.
        first, last = 0, len(turns)
        while first < last:
            middle = (first + last) // 2
            if self.row @ self._at(z, turns[middle]) > self.side:
                first = middle + 1
            else:
                last = middle
        before = float(turns[first - 1]) if first else 0.0
        after = float(turns[first]) if first < len(turns) else before + 1.0
        high, low = (float(self.row @ self._at(z, price)) for price in (before, after))
        if high <= low:  # no price is enough, but for rounding
            return self._at(z, after)
        return self._at(z, before + (high - self.side) / (high - low) * (after - before))

    def _at(self, z: FloatArray, price: float) -> FloatArray:
        return np.clip(z - price * self.row, self.low, self.high)
