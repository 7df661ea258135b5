"""A public polytope in coordinates without equalities: unit ranges, and an interior point."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray
from privlp.errors import UnsupportedProblemError
from privlp.regions.exact import ExactMinima, ExactRows
from privlp.regions.public_rows import (
    CONTRADICTION,
    FLAT,
    ContradictionError,
    PublicRows,
    central_point,
    finite_ranges,
    flat_rows,
    point_inside,
)
from privlp.regions.quadratic import minimum, nearest_step, polished_step
from privlp.sparse import identity_rows, norms_of_rows, row_of, rows_where, stacked, times

# A variable whose range is a smaller share of its size, or of 1, counts as fixed. Where bounds say
# that it is small, the share is of their range, not of 1.
_FIXED = 1e-9
_DEPENDENT = 1e-9
# A row whose variables are all fixed holds if it is missed by this share of its terms, or of 1.
_ROUNDING = 1e-7
# In more coordinates a nearest point is found in the variables, whose rows are sparse. It is
# polished if rounding makes its distance longer by this share.
_FEW, _PRECISE = 50, 1e-6
_FEW_ENTRIES = 2**10
# A wider range, and its square is no number.
_WIDEST = 1e100
_SINGLE_POINT = (
    "The public rows and bounds leave a single point: solve_exact, without the private rows, finds"
    " it."
)
_TOO_THIN = (
    "The public rows and bounds leave hardly any room: HiGHS finds no point with slack in each of"
    " them. Write narrow ranges as equalities, leave out rows that nearly repeat others, or give"
    " them more room."
)
_TOO_WIDE = (
    f"The public rows and bounds let a variable range over more than {_WIDEST:g}: rescale the costs"
    " or the bounds, so that variables are of like size."
)


@dataclass(frozen=True)
class Box:
    """{z : low <= z <= high, row·z <= side}; without a row, `row` is 0."""

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
            own = slice(*rows.indptr[others[0] : others[0] + 2])
            row, side = np.bincount(rows.indices[own], rows.data[own], p), float(f[others[0]])
        single = np.flatnonzero(entries == 1)
        first = rows.indptr[single]
        column, entry = rows.indices[first], rows.data[first]
        end, up = f[single] / entry, entry > 0
        np.minimum.at(high, column[up], end[up])
        np.maximum.at(low, column[~up], end[~up])
        return cls(low, high, row, side)

    @cached_property
    def _moved(self) -> tuple[npt.NDArray[np.intp], FloatArray]:
        """Coordinates that a price moves, and both ends of their ranges."""
        moved = np.flatnonzero(self.row)
        return moved, np.stack([self.low[moved], self.high[moved]])

    def nearest(self, z: FloatArray) -> FloatArray:
        """The nearest point: clip(z - price row), with the least price at which the row holds."""
        found = self._at(z, 0.0)
        before, high = 0.0, float(self.row @ found)
        if high <= self.side:
            return found
        moved, ends = self._moved
        turns = ((z[moved] - ends) / self.row[moved]).ravel()
        turns = np.sort(turns[(turns > 0) & np.isfinite(turns)])
        # The row's value falls with the price, and is linear between two turns.
        first, last, after, low = 0, len(turns), math.nan, 0.0
        while first < last:
            middle = (first + last) // 2
            price = float(turns[middle])
            value = float(self.row @ self._at(z, price))
            if value > self.side:
                first, before, high = middle + 1, price, value
            else:
                last, after, low = middle, price, value
        if math.isnan(after):
            after = before + 1.0
            low = float(self.row @ self._at(z, after))
        if high <= low:  # no price is enough, but for rounding
            return self._at(z, after)
        return self._at(z, before + (high - self.side) / (high - low) * (after - before))

    def _at(self, z: FloatArray, price: float) -> FloatArray:
        return np.minimum(np.maximum(z - price * self.row, self.low), self.high)


def _require_room(
    A: sp.csr_array,
    lower: FloatArray,
    upper: FloatArray,
    bounds: FloatArray,
    x: FloatArray,
    fixed: BoolArray,
) -> None:
    """Refuse fixed variables beyond their bounds, and rows of no other variable that fail there."""
    settled = abs(A) @ np.where(fixed, 0.0, 1.0) == 0
    values = np.append((A @ x)[settled], x[fixed])
    sizes = np.append((abs(A) @ np.abs(x))[settled], np.abs(x[fixed]))
    low, high = (
        np.append(sides[settled], ends[fixed])
        for sides, ends in ((lower, bounds[:, 0]), (upper, bounds[:, 1]))
    )
    rounding = _ROUNDING * (1 + sizes)
    if ((values > high + rounding) | (values < low - rounding)).any():
        raise ContradictionError(CONTRADICTION)


class ReducedPolytope:
    """K = {x : public rows, bounds, cost·x <= cap} = {origin + basis z : C z <= f}.

    The variables are counted in units of their ranges over K, as far as interval arithmetic tells
    them. Directions in which equalities let no two points of K differ are left out. So K has
    interior points in these coordinates, and every z with C z <= f belongs to K.

    `live` (d',) are the variables that are not fixed, `low` and `ranges` their least values and
    ranges, `unit` the length of each that counts as 1. `basis` (d', p) is orthonormal unless
    turned, None for the identity; `dual` (p, d') its inverse from the left, 0 on directions that
    equalities rule out. `origin` (d,) is x at z = 0, `inside` (p,) a point with slack in every row.
    `owner` (m,) is the public row behind each row of C, -1 for a bound, the cap after the public
    rows; `per_side` (m,) what its f changes by per unit of that row's side, negative for a lower.
    """

    def __init__(
        self, public: PublicRows, cap: float = math.inf, weights: FloatArray | None = None
    ) -> None:
        self.cap = cap
        A, lower, upper = public.A, public.lower, public.upper
        if math.isfinite(cap):
            A = stacked(A, row_of(public.cost))
            lower, upper = np.append(lower, -np.inf), np.append(upper, cap)
        low, high = finite_ranges(public.lp, A, lower, upper, public.bounds)
        size = np.maximum(abs(low), abs(high))
        declared = public.bounds[:, 1] - public.bounds[:, 0]
        size = np.minimum(np.maximum(1.0, size), np.maximum(declared, size))
        fixed = high - low <= _FIXED * size
        self.live = np.flatnonzero(~fixed)
        if (high - low > _WIDEST).any():
            raise UnsupportedProblemError(_TOO_WIDE)
        self.low, self.ranges = low[self.live], (high - low)[self.live]
        self.unit = self.ranges
        if weights is not None:
            self.unit = self.unit * weights[self.live]
        self.origin = low.copy()
        _require_room(A, lower, upper, public.bounds, low, fixed)
        if not self.live.size:
            raise UnsupportedProblemError(_SINGLE_POINT)
        at_low = np.zeros(A.shape[0])
        if fixed.any():
            at_low = A[:, np.flatnonzero(fixed)] @ low[fixed]
            A = A[:, self.live]
        at_low = at_low + A @ low[self.live]
        B = times(A, self.unit[A.indices])
        size = norms_of_rows(B)
        kept = size > 0
        B = rows_where(B, kept)
        B = times(B, np.repeat(1 / size[kept], np.diff(B.indptr)))
        lower, upper = ((side - at_low)[kept] / size[kept] for side in (lower, upper))
        bounds = (public.bounds[self.live] - low[self.live, None]) / self.unit[:, None]
        self._set(B, lower, upper, bounds, public.cost[self.live] == 0)
        of_row = self.owner >= 0
        self.per_side[of_row] /= size[kept][self.owner[of_row]]
        self.owner[of_row] = np.flatnonzero(kept)[self.owner[of_row]]

    @property
    def size(self) -> int:
        """Number p of coordinates."""
        return len(self.inside)

    @property
    def ranges_of_variables(self) -> FloatArray:
        """Ranges of all variables in K, (d,)."""
        ranges = np.zeros(len(self.origin))
        ranges[self.live] = self.ranges
        return ranges

    @cached_property
    def exact(self) -> ExactRows:
        """The rows of K in exact arithmetic."""
        return ExactRows(self.C, self.f, self.inside)

    @cached_property
    def exact_minima(self) -> ExactMinima:
        """Quadratic programs over K in integers."""
        return ExactMinima(self.C, self.f, self.inside)

    @cached_property
    def radius(self) -> float:
        """Bound on |z| in K, from the ranges of the variables."""
        ranges = (self.ranges / self.unit).max() * math.sqrt(len(self.live))
        return float(np.linalg.norm(self.inside)) + 2 * float(ranges)

    def point(self, z: FloatArray) -> FloatArray:
        """The x of a z."""
        x = self.origin.copy()
        x[self.live] += self.unit * (z if self.basis is None else self.basis @ z)
        return x

    def coordinates(self, x: FloatArray) -> FloatArray:
        """The z of the nearest x within the equalities, in units of the ranges."""
        u = (x - self.origin)[self.live] / self.unit
        return u if self.dual is None else self.dual @ u

    def moved(self, x: FloatArray, step: FloatArray) -> FloatArray:
        """An x moved by a step, as far as K lets it."""
        return self.point(self.nearest(self.coordinates(x + step)))

    def cost(self, cost: FloatArray) -> FloatArray:
        """The slope of cost·x in z."""
        slope = cost[self.live] * self.unit
        return slope if self.basis is None else self.basis.T @ slope

    def slack(self, z: FloatArray) -> FloatArray:
        """F - C z."""
        return np.asarray(self.f - self._times(z))

    def _times(self, z: FloatArray) -> FloatArray:
        """C z; of a few entries in the same order, in less time than SciPy takes."""
        if self.C.nnz > _FEW_ENTRIES:
            return np.asarray(self.C @ z)
        terms = self.C.data * z[self._columns]
        return np.asarray(np.bincount(self.C.indices, terms, len(self.f)), dtype=np.float64)

    @cached_property
    def _columns(self) -> npt.NDArray[np.intp]:
        """The column of each entry of C."""
        return np.repeat(np.arange(self.C.shape[1]), np.diff(self.C.indptr))

    def within(self, z: FloatArray) -> FloatArray:
        """The point of K nearest to z on the way from the interior point."""
        step = z - self.inside
        change = self._times(step)
        growing = change > 0
        length = float((self._most_slack[growing] / change[growing]).min(initial=1.0))
        return self.inside + min(1.0, length * (1 - 1e-15)) * step

    def nearest(self, z: FloatArray) -> FloatArray:
        """The point of K nearest to z; where K is flat, :meth:`within` would be far from it."""
        if (self.slack(z) >= 0).all():
            return z
        if self._box is not None:
            return self.within(self._box.nearest(z))
        base = self.within(z)
        slack = np.maximum(self.slack(base), 0.0)
        if self._sparse is None or self.size <= _FEW:
            return self.within(base + minimum(np.eye(self.size), base - z, self.C, slack))
        rows, equalities = self._sparse
        way = z - base if self.basis is None else self.basis @ (z - base)
        sides = np.append(np.zeros(equalities), slack)
        step, tight = nearest_step(way, rows, sides, equalities)
        found = base + (step if self.dual is None else self.dual @ step)
        near = self.within(found)
        if np.linalg.norm(near - z) > (1 + _PRECISE) * np.linalg.norm(found - z):
            better = polished_step(z - base, self.C, slack, tight)
            near = near if better is None else self.within(base + better)
        return near

    @cached_property
    def _most_slack(self) -> FloatArray:
        return self.slack(self.inside)

    @cached_property
    def _box(self) -> Box | None:
        return Box.of(self.C, self.f)

    def turned(self, scale: FloatArray) -> ReducedPolytope:
        """The same polytope in coordinates z' with z = scale z'."""
        new = copy.copy(self)
        for cached in ("exact", "exact_minima", "radius", "_most_slack", "_box", "_columns"):
            new.__dict__.pop(cached, None)
        inverse: FloatArray = np.asarray(np.linalg.inv(scale), dtype=float)
        new.basis = scale if self.basis is None else self.basis @ scale
        new.dual = inverse if self.dual is None else inverse @ self.dual
        new.C, new.inside = sp.csc_array(self.C @ scale), inverse @ self.inside
        new._sparse = None
        return new

    def reach(self, z: FloatArray, direction: FloatArray) -> float:
        """How far one can go from z in a direction, in units of the direction."""
        slack, change = np.maximum(self.slack(z), 0.0), self.C @ direction
        growing = change > 1e-14 * np.abs(direction).max(initial=0.0)
        return float(np.min(slack[growing] / change[growing], initial=math.inf))

    def _set(
        self,
        B: sp.csr_array,
        lower: FloatArray,
        upper: FloatArray,
        bounds: FloatArray,
        free: BoolArray,
    ) -> None:
        """Split rows into equalities and inequalities, and choose the coordinates."""
        identity = identity_rows(len(self.live))
        has_lower, has_upper = np.isfinite(bounds).T
        equal = lower == upper
        above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
        rows = stacked(
            rows_where(B, above),
            times(rows_where(B, below), -1.0),
            rows_where(identity, has_upper),
            times(rows_where(identity, has_lower), -1.0),
        )
        ends = [upper[above], -lower[below], bounds[has_upper, 1], -bounds[has_lower, 0]]
        sides = np.concatenate(ends)
        E, e = rows_where(B, equal), upper[equal]
        bounded = np.full(int(has_lower.sum() + has_upper.sum()), -1)
        self.owner = np.concatenate([np.flatnonzero(above), np.flatnonzero(below), bounded])
        self.per_side = np.repeat([1.0, -1.0, 0.0], [above.sum(), below.sum(), len(bounded)])
        thin = False
        while True:
            try:
                u, radius = point_inside(rows, sides, E, e, free)
            except UnsupportedProblemError:
                if not thin:
                    raise
                raise UnsupportedProblemError(_TOO_THIN) from None  # narrow rows as equalities
            if radius > FLAT:
                break
            flat, thin = flat_rows(rows, sides, E, e), True
            if not flat.any():
                raise UnsupportedProblemError(_TOO_THIN)
            E, e = stacked(E, rows[flat]), np.concatenate([e, sides[flat]])
            rows, sides = rows[~flat], sides[~flat]
            self.owner, self.per_side = self.owner[~flat], self.per_side[~flat]
        self.basis: FloatArray | None = None
        self.dual: FloatArray | None = None
        # Equalities, how many there are, and rows below them, in the variables' units.
        self._sparse: Any = stacked(E, rows).tocsc(), E.shape[0]
        if E.shape[0]:
            from scipy.linalg import null_space  # noqa: PLC0415 (slow to load)

            # Orthonormal, (d', p).
            self.basis = np.ascontiguousarray(null_space(E.toarray(), rcond=_DEPENDENT))
            if not self.basis.shape[1]:
                raise UnsupportedProblemError(_SINGLE_POINT)
            self.dual = self.basis.T
            self.origin[self.live] += self.unit * u
            self.f = sides - rows @ u
            self.C = sp.csc_array(rows @ self.basis)
            self.inside = central_point(self.C, self.f, np.zeros(self.basis.shape[1]))
        else:
            self.C, self.f, self.inside = self._sparse[0], sides, u
