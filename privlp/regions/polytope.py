"""The public region K = {x : public rows, bounds, c·x no worse than V}."""

from __future__ import annotations

import math

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_sparse, real
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.highs_model import optimum, row_sizes
from privlp.problem.standard_form import StandardForm
from privlp.regions.exact_projection import ExactProjection
from privlp.regions.optimum import is_range
from privlp.regions.oracle import Leader, Oracle
from privlp.regions.public_rows import growing

FloatArray = npt.NDArray[np.float64]

# A variable whose range is a smaller share of its size, or of 1, counts as fixed: HiGHS's
# tolerances are absolute.
_FIXED = 1e-6
_DEPENDENT = 1e-9
_TOLERANCE_OF_OPT = 1e-7
_NAMED = 3
#: The violation that counts as most in the value of a cut.
LARGEST_VIOLATION = 1.0
_OPTIMAL = highspy.HighsModelStatus.kOptimal
_INFEASIBLE = highspy.HighsModelStatus.kInfeasible


class PublicPolytope:
    """A bounded public region, with the range of each variable over it.

    Nothing of a private row is read.

    Parameters
    ----------
    form : StandardForm
        The program.
    opt : float or pair of floats, optional
        Public optimal value V, in the user's units and sense. Points of a worse objective are cut
        off; points of a better one too, if the region is unbounded otherwise. Or a public range:
        points of other objectives are cut off.

    Attributes
    ----------
    low, unit : (d,)
        Least value of each variable over K, and the length that counts as 1: its range, or its size
        where it is all but fixed.
    middle : (d,)
        A point of K: the mean of the vertices at which variables are least or largest.
    live : (d',)
        The variables that are not fixed.
    ruled_out : (r, d')
        Orthonormal directions, in units of the ranges, in which no two points of K differ because
        of public equalities.
    projection : ExactProjection or None
        Takes these directions away from a vector; ``None`` if there are none.

    Raises
    ------
    InvalidParameterError
        If `opt` is not finite, or out of reach of the public region.
    UnsupportedProblemError
        If public rows and bounds contradict each other, leave a single point, or do not bound the
        region; the message names variables that need a bound.
    """

    def __init__(self, form: StandardForm, opt: float | tuple[float, float] | None = None) -> None:
        self.form = form
        A, lower, upper = _rows_of_region(form, opt)
        try:
            self.low, high = self._ranges_within(A, lower, upper)
        except UnsupportedProblemError:
            if opt is None or is_range(opt):
                raise
            # No feasible point is better than the optimum: that may bound the region.
            lower[-1] = upper[-1]
            self.low, high = self._ranges_within(A, lower, upper)
        fixed = high - self.low <= _FIXED * np.maximum(
            1.0, np.maximum(np.abs(self.low), np.abs(high))
        )
        self.unit = np.where(fixed, np.maximum(1.0, np.abs(self.low)), high - self.low)
        self.live = np.flatnonzero(~fixed)
        if not self.live.size:
            raise UnsupportedProblemError(
                "The public rows, bounds and opt leave a single point: solve_exact, without the"
                " private rows, finds it."
            )
        self.ruled_out = self._span_of_equalities()
        self.projection = ExactProjection(self.ruled_out) if self.ruled_out.size else None

    @property
    def size(self) -> int:
        """Number d' of live variables."""
        return len(self.live)

    @property
    def longest(self) -> float:
        """Largest Euclidean norm of a row in units of the ranges, per unit of ||A_i||_2."""
        return float(self.unit[self.live].max())

    @property
    def typical_norm(self) -> float:
        """Typical Euclidean norm of a row: the geometric mean of the ranges."""
        return float(np.exp(np.mean(np.log(self.unit[self.live]))))

    def projected(self, total: FloatArray) -> FloatArray:
        """An exact sum of rows without the directions that are ruled out; rounded once."""
        if len(total) == self.size:
            return total if self.projection is None else self.projection(total[None, :])
        parts = total.reshape(2, -1)
        if self.projection is None:
            return np.asarray(parts.sum(axis=0))
        return np.append(self.projection(parts[:, :-1]), parts[:, -1].sum())

    def objectives(self) -> tuple[float, float]:
        """Best and worst of all objectives over K, to minimise and without offset."""
        lp = self.form.lp
        oracle, cost = self._oracle(), lp.sign * lp.c
        best, worst = oracle.minimise(cost), oracle.minimise(-cost)
        if best is None or worst is None:
            raise UnsupportedProblemError(
                "HiGHS finds no best or worst objective of the public region: rescale the public"
                " rows."
            )
        return float(cost @ best), float(cost @ worst)

    def _oracle(self) -> Oracle:
        return Oracle(self._A, self._lower, self._upper, self.form.lp.bounds)

    def _ranges_within(
        self, A: sp.csr_array, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Keep the rows, scaled, and find the range of each variable within them."""
        size = row_sizes(A)
        kept = size > 0
        self._A = sp.csr_array(sp.diags_array(1 / size[kept]) @ A[kept]) if kept.any() else A[kept]
        self._lower, self._upper = lower[kept] / size[kept], upper[kept] / size[kept]
        return self._ranges()

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each variable over K.

        Two linear programs for each variable, except where a vertex found before already attains
        its bound.
        """
        bounds, d = self.form.lp.bounds, len(self.form.lp.c)
        self._require_ends()
        oracle = self._oracle()
        ends = np.tile([np.inf, -np.inf], (d, 1))
        unbounded, found = [], []
        for j in range(d):
            for side, sign in ((0, 1.0), (1, -1.0)):
                if ends[j, side] == bounds[j, side]:
                    continue
                cost = np.zeros(d)
                cost[j] = sign
                x = oracle.minimise(cost)
                if x is None:
                    unbounded.append(j)
                    break
                x = np.clip(x, *bounds.T)
                found.append(x)
                ends = np.column_stack([np.minimum(ends[:, 0], x), np.maximum(ends[:, 1], x)])
            if len(unbounded) == _NAMED:
                break
        if unbounded:
            raise self._unbounded(unbounded)
        self.middle = np.mean(found, axis=0)
        return ends[:, 0], ends[:, 1]

    def _require_ends(self) -> None:
        """Refuse a region with directions that nothing limits before other programs are solved."""
        bounds, oracle = self.form.lp.bounds, self._oracle()
        endless = growing(self._A, self._lower, self._upper, bounds, np.isinf(bounds.T))
        for side, j in np.argwhere(endless).tolist():
            cost = np.zeros(len(bounds))
            cost[j] = (1.0, -1.0)[side]
            if oracle.minimise(cost) is None:
                named = np.flatnonzero(endless.any(axis=0))
                raise self._unbounded(named[named >= j][:_NAMED].tolist())

    def _unbounded(self, variables: list[int]) -> UnsupportedProblemError:
        names = ", ".join(self.form.lp.variable_name(j) for j in variables)
        return UnsupportedProblemError(
            "The public region is unbounded, or HiGHS cannot bound it: its rows and bounds"
            f" (and opt, if given) put no limit on {names}. Give such variables finite bounds"
            " (bounds=..., or box=... in the readers), or give opt or a range.",
            parameter="bounds",
        )

    def _span_of_equalities(self) -> FloatArray:
        """Orthonormal basis of the public equalities, (r, d'), in units of the ranges."""
        equal = self._lower == self._upper
        rows = (self._A[equal][:, self.live] @ sp.diags_array(self.unit[self.live])).toarray()
        size = np.abs(rows).max(axis=1, initial=0.0)
        rows = rows[size > 0] / size[size > 0, None]
        if not rows.size:
            return np.zeros((0, self.size))
        _, strength, directions = np.linalg.svd(rows, full_matrices=False)
        return np.ascontiguousarray(directions[strength > _DEPENDENT * strength[0]])

    def leader(self) -> Leader:
        """A linear oracle over K, to which released cuts can be added."""
        return Leader(
            (self._A, self._lower, self._upper),
            self.form.lp.bounds,
            low=self.low,
            unit=self.unit,
            live=self.live,
        )


def span_of_objectives(form: StandardForm) -> tuple[float, float]:
    """Best and worst objective within the public rows and bounds, to minimise and without offset.

    Infinite where unbounded.
    """
    lp = form.lp
    ends = []
    for sign in (lp.sign, -lp.sign):
        status, x = optimum(sign * lp.c, *_public_rows(form), lp.bounds)
        ends.append(lp.sign * float(lp.c @ x) if status == _OPTIMAL else -sign * lp.sign * math.inf)
    return ends[0], ends[1]


def _rows_of_region(
    form: StandardForm, opt: float | tuple[float, float] | None
) -> tuple[sp.csr_array, FloatArray, FloatArray]:
    """The public rows, (A, lower, upper), and below them the limits on the objective."""
    lp = form.lp
    A, lower, upper = _public_rows(form)
    status, best = optimum(lp.sign * lp.c, A, lower, upper, lp.bounds)
    if status == _INFEASIBLE:
        raise UnsupportedProblemError(
            "The public rows and bounds contradict each other: no x satisfies them all."
        )
    if opt is None:
        return A, lower, upper
    reached = float(lp.c @ best) if status == _OPTIMAL else -lp.sign * math.inf
    least, most = _objectives(form, opt, reached)
    A = sp.csr_array(sp.vstack([A, sp.csr_array(lp.sign * lp.c[None, :])]))
    lower, upper = np.append(lower, least), np.append(upper, most)
    if math.isfinite(least):
        status, _ = optimum(np.zeros(len(lp.c)), A, lower, upper, lp.bounds)
        if status == _INFEASIBLE:
            raise InvalidParameterError(
                f"opt = {opt!r}: no x within the public rows and bounds has such an objective.",
                parameter="opt",
            )
    return A, lower, upper


def _public_rows(form: StandardForm) -> tuple[sp.csr_array, FloatArray, FloatArray]:
    """The public rows that constrain x: coefficients, lower and upper sides."""
    lp = form.lp
    public = ~lp.private & (lp.sides() > 0)
    return as_sparse(lp.A[public]), lp.row_lower[public], lp.b[public]


def _objectives(
    form: StandardForm, opt: float | tuple[float, float], best: float
) -> tuple[float, float]:
    """The least and the largest objective that is left, to minimise and without offset."""
    lp = form.lp
    if not isinstance(opt, tuple) or not is_range(opt):
        return -math.inf, lp.sign * _reachable(form, opt, best)  # type: ignore[arg-type]
    better, worse = sorted(opt, key=lambda end: lp.sign * end)
    most = lp.sign * _reachable(form, worse, best)
    return min(lp.sign * (better - lp.offset), most), most


def _reachable(form: StandardForm, opt: float, best: float) -> float:
    """V without offset, no better than the best objective of the public region."""
    lp, given = form.lp, real(opt, "opt")
    if not math.isfinite(given):
        raise InvalidParameterError(f"opt must be a finite number, got {opt!r}.", parameter="opt")
    value, tolerance = given - lp.offset, _TOLERANCE_OF_OPT * (1 + abs(best))
    if lp.sign * (best - value) > tolerance:
        way = "below the least" if lp.sense == "min" else "above the largest"
        raise InvalidParameterError(
            f"opt = {given:g} is {way} objective within the public rows and bounds,"
            f" {best + lp.offset:g}: no x reaches it.",
            parameter="opt",
        )
    return lp.sign * max(lp.sign * value, lp.sign * best)
