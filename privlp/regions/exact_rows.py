"""Points of a polytope in exact arithmetic: slacks rounded once, and a point that breaks no row."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_UNIT_ROUNDOFF = 2.0**-53
# Rows with less slack than this are looked at exactly, and those with less than that made tight.
_NEAR, _TIGHT = 1e-9, 1e-11
_REFINEMENTS = 6
_SPLIT = 2.0**27 + 1


class ExactRows:
    """The polytope {z : C z <= f}, given by floating-point numbers that are taken as they are.

    A certificate of a minimum needs a point that breaks no row at all, not even by rounding.
    """

    def __init__(self, C: sp.csc_array, f: FloatArray, inside: FloatArray) -> None:
        self._C, self._f, self._inside = sp.csr_array(C), f, inside
        self._size = abs(self._C)
        self._rounding = 2 * (np.diff(self._C.indptr) + 4) * _UNIT_ROUNDOFF

    def near(self, z: FloatArray) -> IntArray:
        """The rows that may have little slack at z; all others have some, whatever rounding did."""
        rounding = self._rounding * (np.abs(self._f) + self._size @ np.abs(z))
        return np.flatnonzero(~(self._f - self._C @ z > _NEAR + rounding))

    def slack(self, z: FloatArray, rows: IntArray) -> FloatArray:
        """F - C z of some rows, each as if computed exactly and rounded once.

        A product is split into two doubles whose sum it is (Dekker 1971); Shewchuk's algorithm
        (1997), Python's ``fsum``, adds them up.
        """
        some = self._C[rows]
        high, low = ((-part).tolist() for part in _product(some.data, z[some.indices]))
        ends = some.indptr.tolist()
        found = [
            math.fsum([side, *high[first:last], *low[first:last]])
            for side, first, last in zip(self._f[rows].tolist(), ends, ends[1:], strict=False)
        ]
        return np.array(found)

    def settled(self, z: FloatArray, wanted: IntArray | None = None) -> FloatArray:
        """A point that breaks no row, next to a point that breaks rows by little or none.

        Rows that are all but tight, and those that are wanted to be, are made so, up to the
        rounding of z itself. Should that fail, the point moves towards the one inside, as little as
        will do.
        """
        for number in range(_REFINEMENTS):
            rows = self.near(z)
            slack = self.slack(z, rows)
            if number and (slack >= 0).all():
                return z
            chosen = slack <= _TIGHT
            if wanted is not None:
                chosen |= np.isin(rows, wanted)
            tight = rows[chosen]
            room = 2.0**number * _UNIT_ROUNDOFF * (self._size[tight] @ np.abs(z))
            step = _least_step(self._C[tight].toarray(), slack[chosen] - room)
            if not np.isfinite(step).all():
                break
            z = z + step
        back = 2.0**-52
        while back < 1:
            moved = self._inside + (1 - back) * (z - self._inside)
            if (self.slack(moved, self.near(moved)) >= 0).all():
                return moved
            back *= 2
        return self._inside.copy()


def _least_step(rows: FloatArray, change: FloatArray) -> FloatArray:
    """The shortest step that changes rows @ z by this; NaN if LAPACK gives up."""
    try:
        return np.asarray(np.linalg.lstsq(rows, change, rcond=1e-10)[0])
    except np.linalg.LinAlgError:
        return np.full(rows.shape[1], math.nan)


def _product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two numbers whose sum is a b, as long as nothing underflows."""
    high = a * b
    a_high, b_high = (_SPLIT * part - (_SPLIT * part - part) for part in (a, b))
    a_low, b_low = a - a_high, b - b_high
    return high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low
