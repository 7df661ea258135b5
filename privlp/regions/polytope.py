"""The public region K = {x : public rows, bounds, c·x no worse than V}, and HiGHS as a linear oracle over it."""

from __future__ import annotations

import math

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_sparse, real
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.highs_model import model_of, optimum, quiet_highs, row_sizes
from privlp.problem.standard_form import StandardForm
from privlp.regions.optimum import is_range

FloatArray = npt.NDArray[np.float64]

# A variable whose range is a smaller share of its size, or of 1, counts as fixed: HiGHS's
# tolerances are absolute.
_FIXED = 1e-6
# Variables are scaled to the unit range, where what tells points apart may be small.
_TOLERANCE, _DEFAULT_TOLERANCE = 1e-9, 1e-7
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
        Public optimal value V, in the user's units and sense: points of a worse objective are cut off, and those of a better one
        too where the region is unbounded without. Or a public range: points of other objectives are cut off.

    Attributes
    ----------
    low, unit : (d,)
        Least value of each variable over K, and the length that counts as 1: its range, or its size where it is all but fixed.
    middle : (d,)
        A point of K: the mean of the vertices that its ranges rest on.
    live : (d',)
        The variables that are not fixed.
    ruled_out : (r, d')
        Orthonormal directions, in units of the ranges, in which public equalities let no point of K differ from another.

    Raises
    ------
    InvalidParameterError
        If `opt` is not finite, or out of reach of the public region.
    UnsupportedProblemError
        If public rows and bounds contradict each other, leave a single point, or do not bound the region; the message names
        variables that need a bound.
    """

    def __init__(self, form: StandardForm, opt: float | tuple[float, float] | None = None) -> None:
        lp = form.lp
        A, lower, upper = _public_rows(form)
        status, best = optimum(lp.sign * lp.c, A, lower, upper, lp.bounds)
        if status == _INFEASIBLE:
            raise UnsupportedProblemError(
                "The public rows and bounds contradict each other: no x satisfies them all."
            )
        if opt is not None:
            least, most = _objectives(
                form, opt, float(lp.c @ best) if status == _OPTIMAL else -lp.sign * math.inf
            )
            A = sp.csr_array(sp.vstack([A, sp.csr_array(lp.sign * lp.c[None, :])]))
            lower, upper = np.append(lower, least), np.append(upper, most)
            if (
                math.isfinite(least)
                and optimum(np.zeros(len(lp.c)), A, lower, upper, lp.bounds)[0] == _INFEASIBLE
            ):
                raise InvalidParameterError(
                    f"opt = {opt!r}: no x within the public rows and bounds has such an objective.",
                    parameter="opt",
                )
        self.form = form
        try:
            self.low, high = self._ranges_within(A, lower, upper)
        except UnsupportedProblemError:
            if opt is None or is_range(opt):
                raise
            lower[-1] = upper[
                -1
            ]  # no feasible point is better than the optimum: that may bound the region
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

    @property
    def size(self) -> int:
        """Number d' of live variables."""
        return len(self.live)

    @property
    def longest(self) -> float:
        """Euclidean norm of a row in units of the ranges per unit of ||A_i||_2, at most."""
        return float(self.unit[self.live].max())

    @property
    def typical_norm(self) -> float:
        """The same, typically: the geometric mean of the ranges."""
        return float(np.exp(np.mean(np.log(self.unit[self.live]))))

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

    def _oracle(self) -> _Model:
        return _Model(self._A, self._lower, self._upper, self.form.lp.bounds, _DEFAULT_TOLERANCE)

    def _ranges_within(
        self, A: sp.csr_array, lower: FloatArray, upper: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Keep the rows, scaled, and find the ranges they leave."""
        size = row_sizes(A)
        kept = size > 0
        self._A = sp.csr_array(sp.diags_array(1 / size[kept]) @ A[kept]) if kept.any() else A[kept]
        self._lower, self._upper = lower[kept] / size[kept], upper[kept] / size[kept]
        return self._ranges()

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of each variable over K, by two linear programs for each that no vertex has settled before."""
        bounds, d = self.form.lp.bounds, len(self.form.lp.c)
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
            names = ", ".join(self.form.lp.variable_name(j) for j in unbounded)
            raise UnsupportedProblemError(
                "The public region is unbounded, or HiGHS cannot bound it: its rows and bounds"
                f" (and opt, if given) put no limit on {names}. Give such variables finite bounds"
                " (bounds=..., or box=... in the readers), or give opt or a range.",
                parameter="bounds",
            )
        self.middle = np.mean(found, axis=0)
        return ends[:, 0], ends[:, 1]

    def _span_of_equalities(self) -> FloatArray:
        equal = self._lower == self._upper
        rows = (self._A[equal][:, self.live] @ sp.diags_array(self.unit[self.live])).toarray()
        size = np.abs(rows).max(axis=1, initial=0.0)
        rows = rows[size > 0] / size[size > 0, None]
        if not rows.size:
            return np.zeros((0, self.size))
        _, strength, directions = np.linalg.svd(rows, full_matrices=False)
        return np.ascontiguousarray(directions[strength > _DEPENDENT * strength[0]])

    def leader(self) -> Leader:
        """A linear oracle over K, and over what released cuts leave of it."""
        return Leader(self, self._A, self._lower, self._upper)


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


def _public_rows(form: StandardForm) -> tuple[sp.csr_array, FloatArray, FloatArray]:
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


# Values of HiGHS's option simplex_strategy: the dual simplex goes on after rows were added, the
# primal after costs were changed.
_DUAL, _PRIMAL = 1, 4


class _Model:
    """HiGHS's simplex on rows and bounds, started from the last basis: only costs and added rows change."""

    def __init__(
        self,
        A: sp.csr_array,
        lower: FloatArray,
        upper: FloatArray,
        bounds: FloatArray,
        tolerance: float,
    ) -> None:
        self.highs = quiet_highs(presolve="off", solver="simplex")
        self._set_tolerance(tolerance)
        self._strategy = 0
        self._columns = np.arange(A.shape[1], dtype=np.int32)
        self.highs.passModel(model_of(np.zeros(A.shape[1]), A, lower, upper, bounds))

    def minimise(self, cost: FloatArray, strategy: int = _PRIMAL) -> FloatArray | None:
        """A vertex of least cost.

        ``None`` if HiGHS finds none, also at its default tolerances from then on.
        """
        if strategy != self._strategy:
            self.highs.setOptionValue("simplex_strategy", strategy)
            self._strategy = strategy
        self.highs.changeColsCost(len(cost), self._columns, np.ascontiguousarray(cost))
        for tolerance in dict.fromkeys((self._tolerance, _DEFAULT_TOLERANCE)):
            if tolerance != self._tolerance:
                self.highs.clearSolver()
                self._set_tolerance(tolerance)
            self.highs.run()
            if self.highs.getModelStatus() == _OPTIMAL:
                return np.asarray(self.highs.getSolution().col_value)
        self.highs.clearSolver()
        return None

    def _set_tolerance(self, tolerance: float) -> None:
        self._tolerance = tolerance
        for kind in ("primal", "dual"):
            self.highs.setOptionValue(f"{kind}_feasibility_tolerance", tolerance)

    def add(self, coefficients: FloatArray, upper: float) -> None:
        """Add a row coefficients·x <= upper."""
        self.highs.addRow(-highspy.kHighsInf, upper, len(coefficients), self._columns, coefficients)

    def drop_slack_rows(self, first: int, end: int) -> None:
        """Drop those of the rows from `first` to `end` that the last vertex does not touch."""
        basis = self.highs.getBasis().row_status[first:end]
        slack = [
            first + i for i, status in enumerate(basis) if status == highspy.HighsBasisStatus.kBasic
        ]
        self.highs.deleteRows(len(slack), np.array(slack, dtype=np.int32))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.highs.getNumRow())


class Leader:
    """The linear oracle over K: HiGHS, which sees public and released numbers only.

    Vectors of d' numbers belong to the live variables in units of their range; points are the
    user's x.

    Parameters
    ----------
    region : PublicPolytope
    A, lower, upper
        Its rows.
    """

    def __init__(
        self, region: PublicPolytope, A: sp.csr_array, lower: FloatArray, upper: FloatArray
    ) -> None:
        self._region = region
        bounds = region.form.lp.bounds
        self._bounds = bounds
        held = A @ region.low
        scaled = sp.csr_array(A @ sp.diags_array(region.unit))
        size = row_sizes(scaled)
        size[size == 0] = 1.0
        scaled = sp.csr_array(
            sp.hstack([sp.diags_array(1 / size) @ scaled, sp.csr_array((len(size), 1))])
        )
        within = np.clip(
            (bounds - region.low[:, None]) / region.unit[:, None], -1.0, 2.0
        )  # K is between 0 and 1
        within = np.vstack([within, [0.0, 0.0]])
        self._depth = len(region.low)  # a last column: how far all cuts can be exceeded at once
        self._model = _Model(
            scaled, (lower - held) / size, (upper - held) / size, within, _TOLERANCE
        )
        self._first_cut = self._model.rows

    def mean_of_best(self, costs: FloatArray) -> FloatArray | None:
        """The mean of a vertex of K that is best for each row of `costs`, (m, d').

        ``None`` if HiGHS finds none of them.
        """
        padded = np.zeros((len(costs), self._depth + 1))
        padded[:, self._region.live] = costs
        found = [x for x in map(self._model.minimise, padded) if x is not None]
        return self._point(np.mean(found, axis=0)) if found else None

    def _all(self, live: FloatArray, last: float) -> FloatArray:
        values = np.zeros(self._depth + 1)
        values[self._region.live], values[-1] = live, last
        return values

    def _point(self, scaled: FloatArray | None) -> FloatArray | None:
        if scaled is None:
            return None
        x: FloatArray = np.clip(self._region.low + self._region.unit * scaled[:-1], *self._bounds.T)
        return x

    def cut(self, slope: FloatArray, at: FloatArray, value: float) -> None:
        """Add the linear function value + slope·(x - at) to those whose maximum :meth:`deepest` looks for."""
        if self._model.rows == self._first_cut:
            self._model.highs.changeColBounds(self._depth, -highspy.kHighsInf, highspy.kHighsInf)
        size = float(np.linalg.norm(slope))
        row = self._all(slope / size, -1.0)
        region = self._region
        self._model.add(row, float(row[:-1] @ ((at - region.low) / region.unit) - value / size))

    def deepest(self) -> FloatArray | None:
        """The point of K at which the largest of the cuts, in units of their slopes, is least.

        ``None`` if HiGHS fails.
        """
        return self._point(self._model.minimise(self._all(np.zeros(self._region.size), 1.0), _DUAL))

    def forget_slack_cuts(self, but_the_last: int) -> None:
        """Drop cuts that the last deepest point does not touch, but for the newest ones."""
        self._model.drop_slack_rows(self._first_cut, self._model.rows - but_the_last)
