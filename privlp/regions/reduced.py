"""A public polytope in coordinates without equalities: unit ranges, and an interior point."""

from __future__ import annotations

import copy
import math
from functools import cached_property

import highspy
import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from privlp.errors import UnsupportedProblemError
from privlp.problem.data import ProgramData
from privlp.problem.highs_model import optimum
from privlp.regions.exact_rows import ExactRows
from privlp.regions.quadratic import minimum
from privlp.regions.ranges import tightened

FloatArray = npt.NDArray[np.float64]

# A variable whose range is a smaller share of its size, or of 1, counts as fixed.
_FIXED = 1e-9
_DEPENDENT = 1e-9
# A wider range, and its square is no number.
_WIDEST = 1e100
# Less slack than this, in units of the ranges, and a row counts as an equality.
_FLAT = 1e-7
_NAMED = 3
_MOST_CENTRED, _CENTRING_STEPS, _CENTRED = 400, 30, 1e-3
_OPTIMAL = highspy.HighsModelStatus.kOptimal
_INFEASIBLE = highspy.HighsModelStatus.kInfeasible
_CONTRADICTION = "The public rows and bounds contradict each other: no x satisfies them all."
_SINGLE_POINT = (
    "The public rows and bounds leave a single point: solve_exact, without the private rows, finds"
    " it."
)
_TOO_WIDE = (
    "The public rows and bounds (and opt, if given) let a variable range over more than"
    f" {_WIDEST:g}: rescale the costs or the bounds, so that variables are of like size."
)


class PublicRows:
    """The public rows of a program: lower <= A x <= upper, and bounds on x.

    Attributes
    ----------
    A, lower, upper
        The rows.
    bounds : (d, 2)
    cost : (d,)
        The objective, to minimise.
    """

    def __init__(self, lp: ProgramData) -> None:
        public = np.flatnonzero(~lp.private & (lp.sides() > 0))
        self.lp = lp
        self.A = sp.csr_array(lp.A[public])
        self.lower, self.upper = lp.row_lower[public], lp.b[public]
        self.bounds = lp.bounds
        self.cost = lp.sign * lp.c

    def best(self, cost: FloatArray) -> FloatArray | None:
        """A point of least cost; None if there is none, or HiGHS finds none."""
        status, x = optimum(cost, self.A, self.lower, self.upper, self.bounds)
        return np.clip(x, *self.bounds.T) if status == _OPTIMAL else None


class ReducedPolytope:
    """K = {x : public rows, bounds, cost·x <= cap} = {origin + basis z : C z <= f}.

    The variables are counted in units of their ranges over K, as far as interval arithmetic tells
    them. Directions in which equalities let no two points of K differ are left out. So K has
    interior points in these coordinates, and every z with C z <= f belongs to K.

    Attributes
    ----------
    live : (d',)
        Variables that are not fixed.
    unit : (d',)
        Length of each that counts as 1.
    basis : (d', p) or None
        Orthonormal unless turned; ``None`` for the identity.
    dual : (p, d') or None
        Its inverse from the left, which is 0 on directions that equalities rule out.
    origin : (d,)
        x at z = 0.
    C, f : (m, p), (m,)
        Rows and right-hand sides of K.
    inside : (p,)
        A point with slack in every row.
    """

    def __init__(
        self, public: PublicRows, cap: float = math.inf, weights: FloatArray | None = None
    ) -> None:
        self.cap = cap
        A, lower, upper = public.A, public.lower, public.upper
        if math.isfinite(cap):
            A = sp.csr_array(sp.vstack([A, sp.csr_array(public.cost[None, :])]))
            lower, upper = np.append(lower, -np.inf), np.append(upper, cap)
        low, high = tightened(A, lower, upper, public.bounds)
        low, high = _by_programs(public.lp, (A, lower, upper), low, high)
        fixed = high - low <= _FIXED * np.maximum(1.0, np.maximum(abs(low), abs(high)))
        self.live = np.flatnonzero(~fixed)
        if (high - low > _WIDEST).any():
            raise UnsupportedProblemError(_TOO_WIDE)
        self.unit = self._range = (high - low)[self.live]
        if weights is not None:
            self.unit = self.unit * weights[self.live]
        self.origin = low.copy()
        if not self.live.size:
            size = 1e-7 * (1 + abs(A) @ np.abs(low))
            broken = (A @ low > upper + size) | (A @ low < lower - size)
            raise UnsupportedProblemError(_CONTRADICTION if broken.any() else _SINGLE_POINT)
        rest = A[:, np.flatnonzero(fixed)] @ low[fixed]
        at_low = rest + A[:, self.live] @ low[self.live]
        B = sp.csr_array(A[:, self.live] @ sp.diags_array(self.unit))
        size = np.sqrt(B.multiply(B).sum(axis=1))
        kept = size > 0
        B = sp.csr_array(sp.diags_array(1 / size[kept]) @ B[kept])
        lower, upper = ((side - at_low)[kept] / size[kept] for side in (lower, upper))
        bounds = (public.bounds[self.live] - low[self.live, None]) / self.unit[:, None]
        self._set(B, lower, upper, bounds)

    @property
    def size(self) -> int:
        """Number p of coordinates."""
        return len(self.inside)

    @cached_property
    def exact(self) -> ExactRows:
        """The rows of K in exact arithmetic."""
        return ExactRows(self.C, self.f, self.inside)

    @cached_property
    def radius(self) -> float:
        """Bound on |z| in K, from the ranges of the variables."""
        ranges = (self._range / self.unit).max() * math.sqrt(len(self.live))
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

    def cost(self, cost: FloatArray) -> FloatArray:
        """The slope of cost·x in z."""
        slope = cost[self.live] * self.unit
        return slope if self.basis is None else self.basis.T @ slope

    def slack(self, z: FloatArray) -> FloatArray:
        """F - C z."""
        return np.asarray(self.f - self.C @ z)

    def within(self, z: FloatArray) -> FloatArray:
        """The point of K nearest to z on the way from the interior point."""
        slack, change = self.slack(self.inside), self.C @ (z - self.inside)
        growing = change > 0
        length = float(np.min(slack[growing] / change[growing], initial=1.0))
        return self.inside + min(1.0, length * (1 - 1e-15)) * (z - self.inside)

    def nearest(self, z: FloatArray) -> FloatArray:
        """The point of K nearest to z.

        Not :meth:`within`, which draws all coordinates towards the interior point: where K is flat
        in one direction and wide in another, a small step out of K would cost a long one within.
        """
        base = self.within(z)
        step = minimum(np.eye(self.size), base - z, self.C, np.maximum(self.slack(base), 0.0))
        return self.within(base + step)

    def turned(self, scale: FloatArray) -> ReducedPolytope:
        """The same polytope in coordinates z' with z = scale z'.

        Parameters
        ----------
        scale : (p, p)
            Symmetric, its eigenvalues 1 or larger. So no distance in z' is longer than in z.
        """
        new = copy.copy(self)
        for cached in ("exact", "radius"):
            new.__dict__.pop(cached, None)
        inverse: FloatArray = np.asarray(np.linalg.inv(scale), dtype=float)
        new.basis = scale if self.basis is None else self.basis @ scale
        new.dual = inverse if self.dual is None else inverse @ self.dual
        new.C, new.inside = sp.csc_array(self.C @ scale), inverse @ self.inside
        return new

    def reach(self, z: FloatArray, direction: FloatArray) -> float:
        """How far one can go from z in a direction, in units of the direction."""
        slack, change = np.maximum(self.slack(z), 0.0), self.C @ direction
        growing = change > 1e-14 * np.abs(direction).max(initial=0.0)
        return float(np.min(slack[growing] / change[growing], initial=math.inf))

    def _set(
        self, B: sp.csr_array, lower: FloatArray, upper: FloatArray, bounds: FloatArray
    ) -> None:
        """Split rows into equalities and inequalities, and choose the coordinates."""
        identity = sp.eye_array(len(self.live), format="csr")
        has_lower, has_upper = np.isfinite(bounds).T
        equal = lower == upper
        above, below = np.isfinite(upper) & ~equal, np.isfinite(lower) & ~equal
        rows = sp.csr_array(
            sp.vstack([B[above], -B[below], identity[has_upper], -identity[has_lower]])
        )
        sides = np.concatenate(
            [upper[above], -lower[below], bounds[has_upper, 1], -bounds[has_lower, 0]]
        )
        E, e = B[equal], upper[equal]
        while True:
            u, radius = _inside(rows, sides, E, e)
            if radius > _FLAT:
                break
            flat = _flat_rows(rows, sides, E, e)
            if not flat.any():
                raise UnsupportedProblemError(
                    "The public rows and bounds leave hardly any room: HiGHS finds no point with"
                    " slack in each of them. Write narrow ranges as equalities."
                )
            E, e = sp.csr_array(sp.vstack([E, rows[flat]])), np.concatenate([e, sides[flat]])
            rows, sides = rows[~flat], sides[~flat]
        self.basis: FloatArray | None = None
        self.dual: FloatArray | None = None
        if E.shape[0]:
            self.basis = _null_space(E.toarray())
            if not self.basis.shape[1]:
                raise UnsupportedProblemError(_SINGLE_POINT)
            self.dual = self.basis.T
            self.origin[self.live] += self.unit * u
            self.f = sides - rows @ u
            self.C = sp.csc_array(rows @ self.basis)
            self.inside = _central(self.C, self.f, np.zeros(self.basis.shape[1]))
        else:
            self.C, self.f, self.inside = sp.csc_array(rows), sides, u


def _central(rows: sp.csc_array, sides: FloatArray, inside: FloatArray) -> FloatArray:
    """A point near the analytic centre, from one with slack in each row.

    A point that HiGHS finds is often at an end of what it may be. Newton's method maximises the sum
    of the logarithms of all slacks; in many coordinates the given point will do.
    """
    if len(inside) > _MOST_CENTRED:
        return inside
    dense, z = rows.toarray(), inside
    for _ in range(_CENTRING_STEPS):
        inverse = 1 / (sides - dense @ z)
        gradient, scaled = dense.T @ inverse, dense * inverse[:, None]
        step = -np.linalg.lstsq(scaled.T @ scaled, gradient, rcond=None)[0]
        decrement = math.sqrt(max(0.0, -float(gradient @ step)))
        if not math.isfinite(decrement) or decrement < _CENTRED:
            break
        z = z + step / (1 + decrement)
    return z if np.isfinite(z).all() and (sides - dense @ z > 0).all() else inside


def _null_space(E: FloatArray) -> FloatArray:
    """Orthonormal directions in which no equality changes, (d', p)."""
    return np.ascontiguousarray(scipy.linalg.null_space(E, rcond=_DEPENDENT))


def _inside(
    rows: sp.csr_array, sides: FloatArray, E: sp.csr_array, e: FloatArray
) -> tuple[FloatArray, float]:
    """A point far from all rows, and its least slack in units of the rows' norms."""
    d = rows.shape[1]
    norms = np.sqrt(rows.multiply(rows).sum(axis=1))
    if not E.shape[0]:
        for guess in (np.full(d, 0.5), np.full(d, 0.5 / d), np.full(d, 1e-3 / d)):
            least = float(np.min((sides - rows @ guess) / norms, initial=1.0))
            if least > _FLAT:
                return guess, least
    everything = sp.csr_array(
        sp.vstack([sp.hstack([rows, norms[:, None]]), sp.hstack([E, np.zeros((E.shape[0], 1))])])
    )
    lower = np.concatenate([np.full(len(sides), -np.inf), e])
    cost = np.append(np.zeros(d), -1.0)
    bounds = np.tile([-np.inf, np.inf], (d + 1, 1))
    bounds[-1] = -1.0, 1.0
    status, found = optimum(cost, everything, lower, np.concatenate([sides, e]), bounds)
    if status != _OPTIMAL or found[-1] < -_FLAT:
        raise UnsupportedProblemError(_CONTRADICTION)
    u = found[:-1]
    if E.shape[0]:  # to working precision
        dense = E.toarray()
        u = u - np.linalg.lstsq(dense, dense @ u - e, rcond=None)[0]
    return u, float(np.min((sides - rows @ u) / norms, initial=1.0))


def _flat_rows(
    rows: sp.csr_array, sides: FloatArray, E: sp.csr_array, e: FloatArray
) -> npt.NDArray[np.bool_]:
    """The rows in which no point has slack."""
    m, d = rows.shape
    flat = np.ones(m, dtype=bool)
    while flat.any():
        own = np.flatnonzero(flat)
        slack = sp.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(m, len(own)))
        everything = sp.csr_array(
            sp.vstack(
                [sp.hstack([rows, slack]), sp.hstack([E, sp.csr_array((E.shape[0], len(own)))])]
            )
        )
        lower = np.concatenate([np.full(m, -np.inf), e])
        bounds = np.vstack([np.tile([-np.inf, np.inf], (d, 1)), np.tile([0.0, 1.0], (len(own), 1))])
        cost = np.concatenate([np.zeros(d), -np.ones(len(own))])
        status, found = optimum(cost, everything, lower, np.concatenate([sides, e]), bounds)
        free = own[found[d:] > 10 * _FLAT] if status == _OPTIMAL else own[:0]
        if not free.size:
            return flat
        flat[free] = False
    return flat


def _by_programs(
    lp: ProgramData, rows: tuple[sp.csr_array, FloatArray, FloatArray], *ends: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Ends of ranges; those that interval arithmetic leaves infinite by a linear program each."""
    low, high = (end.copy() for end in ends)
    unbounded: list[int] = []
    for found, sign in ((low, 1.0), (high, -1.0)):
        for j in np.flatnonzero(~np.isfinite(found)):
            cost = np.zeros(len(low))
            cost[j] = sign
            status, x = optimum(cost, *rows, lp.bounds)
            if status == _INFEASIBLE:
                raise UnsupportedProblemError(_CONTRADICTION)
            if status != _OPTIMAL:
                unbounded.append(int(j))
                if len(unbounded) == _NAMED:
                    raise _unbounded(lp, unbounded)
            found[j] = x[j]
    if unbounded:
        raise _unbounded(lp, unbounded)
    return low, high


class UnboundedRegionError(UnsupportedProblemError):
    """The public region does not bound some variables."""


def _unbounded(lp: ProgramData, variables: list[int]) -> UnboundedRegionError:
    names = ", ".join(lp.variable_name(j) for j in dict.fromkeys(variables))
    return UnboundedRegionError(
        "The public region is unbounded, or HiGHS cannot bound it: its rows and bounds"
        f" (and opt, if given) put no limit on {names}. Give such variables finite bounds"
        " (bounds=..., or box=... in the readers), or give opt or a range.",
        parameter="bounds",
    )
