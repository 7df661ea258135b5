"""HiGHS: linear programs of public numbers, and the user's program as HiGHS holds it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.data import ProgramData
from privlp.sparse import as_sparse

# From the last basis HiGHS goes on without presolve. After so many steps a new start is better.
_STEPS_FROM_LAST_BASIS = 1_000
# A program of so many rows, variables and coefficients takes less than starting a thread, or a few
# hundredths of a second: nobody waits for Ctrl-C.
_QUICK = 3_000
_CONCLUSIVE = (
    highspy.HighsModelStatus.kOptimal,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kTimeLimit,
)


class _Quiet(highspy.Highs):  # type: ignore[misc]  # which has no types
    """HiGHS without its banner, which some versions print while an instance is made."""

    def __init__(self) -> None:
        super(highspy.Highs, self).__init__()  # its core, which is made once only
        self.setOptionValue("output_flag", False)
        super().__init__()


def quiet_highs(**options: object) -> highspy.Highs:
    """A HiGHS instance that prints nothing."""
    highs = _Quiet()
    for name, value in options.items():
        highs.setOptionValue(name, value)
    return highs


def run(highs: highspy.Highs) -> highspy.HighsModelStatus:
    """Run HiGHS, in a thread of its own where it may take long: so Ctrl-C stops it."""
    highs.setOptionValue("threads", 1)  # else others start for each thread that calls it
    if highs.getNumRow() + highs.getNumCol() + highs.getNumNz() <= _QUICK:
        if highs.run() == highspy.HighsStatus.kError:
            # It keeps the number of threads with which others may have run it in this thread.
            highspy.Highs.resetGlobalScheduler(True)
            highs.run()
    else:
        highs.HandleUserInterrupt = True
        with ThreadPoolExecutor(max_workers=1) as thread:
            try:
                thread.submit(highs.run).result()
            except BaseException:
                highs.cancelSolve()
                raise
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kMemoryLimit:
        raise MemoryError("HiGHS ran out of memory.")
    return status


def model_of(
    cost: FloatArray,
    A: Any,
    row_lower: FloatArray,
    row_upper: FloatArray,
    bounds: FloatArray,
    *,
    sense: str = "min",
) -> highspy.HighsLp:
    """The model to optimise cost·x over row_lower <= A x <= row_upper within bounds, (d, 2)."""
    matrix = as_sparse(A, sp.csc_array)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.sense_ = highspy.ObjSense.kMinimize if sense == "min" else highspy.ObjSense.kMaximize
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = np.ascontiguousarray(bounds.T)
    model.row_lower_, model.row_upper_ = row_lower, row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data.astype(np.float64, copy=False)
    return model


def optimum(*program: Any, **options: Any) -> tuple[highspy.HighsModelStatus, FloatArray]:
    """The status and the point of :func:`priced_optimum`; of use only if the status is optimal."""
    return priced_optimum(*program, **options)[:2]


def priced_optimum(
    cost: FloatArray,
    A: Any,
    row_lower: FloatArray,
    row_upper: FloatArray,
    bounds: FloatArray,
    *,
    sense: str = "min",
    options: Mapping[str, Any] | None = None,
) -> tuple[highspy.HighsModelStatus, FloatArray, FloatArray]:
    """Run HiGHS: also the change of the optimum per unit of each row's active side."""
    scaled = _Scaled(A, row_lower, row_upper, bounds)
    none = np.zeros(len(scaled.by_row))
    largest_cost = float(power_of_two(np.abs(cost).max(initial=0.0)))
    model = scaled.model(cost / largest_cost, sense)
    for presolve in ("choose", "off"):
        highs = quiet_highs(presolve=presolve, **(options or {}))
        if highs.passModel(model) == highspy.HighsStatus.kError:
            return highspy.HighsModelStatus.kModelError, bounds[:, 0].copy(), none
        status = run(highs)
        if status in _CONCLUSIVE:
            break
    found = highs.getSolution()
    prices = np.asarray(found.row_dual) if found.dual_valid else none
    return status, scaled.point(found.col_value), prices * largest_cost / scaled.by_row


class _Scaled:
    """Rows and bounds, scaled by powers of two: the tolerances of HiGHS are absolute."""

    def __init__(
        self, A: Any, row_lower: FloatArray, row_upper: FloatArray, bounds: FloatArray
    ) -> None:
        rows, self.bounds, lower, upper = _canonical(as_sparse(A)), bounds, row_lower, row_upper
        self.free = np.flatnonzero(bounds[:, 0] < bounds[:, 1])
        if len(self.free) < len(bounds):
            held = np.where(bounds[:, 0] < bounds[:, 1], 0.0, bounds[:, 0])
            lower, upper = row_lower - rows @ held, row_upper - rows @ held
            rows = sp.csr_array(rows[:, self.free])
        self.by_row = by_row = power_of_two(row_sizes(rows))
        self.lower, self.upper = lower / by_row, upper / by_row
        ends = np.abs(np.concatenate([self.lower, self.upper]))
        ends = np.sort(ends[np.isfinite(ends) & (ends > 0)])
        self.unit = float(power_of_two(ends[(len(ends) - 1) // 2])) if len(ends) else 1.0
        scaled = rows.data / np.repeat(by_row, np.diff(rows.indptr))
        self.rows = sp.csr_array((scaled, rows.indices, rows.indptr), shape=rows.shape).tocsc()

    def model(self, cost: FloatArray, sense: str = "min") -> highspy.HighsLp:
        """The model with these costs."""
        lower, upper, bounds = (
            side / self.unit for side in (self.lower, self.upper, self.bounds[self.free])
        )
        return model_of(cost[self.free], self.rows, lower, upper, bounds, sense=sense)

    def point(self, values: Any) -> FloatArray:
        """The x of the values of a model's variables."""
        x = self.bounds[:, 0].copy()
        x[self.free] = np.asarray(values) * self.unit
        return x


class Optima:
    """HiGHS on one model with several objectives, each time started from the last basis."""

    def __init__(
        self, A: Any, row_lower: FloatArray, row_upper: FloatArray, bounds: FloatArray
    ) -> None:
        self._program = A, row_lower, row_upper, bounds
        self._scaled = _Scaled(*self._program)
        self._highs: highspy.Highs | None = None
        self._warm = True

    def __call__(self, cost: FloatArray) -> tuple[highspy.HighsModelStatus, FloatArray]:
        """As :func:`optimum`, which is asked where a start from the last basis leads nowhere."""
        status = self._status(cost) if self._warm else None
        if status == highspy.HighsModelStatus.kOptimal and self._highs is not None:
            return status, self._scaled.point(self._highs.getSolution().col_value)
        self._highs = None
        self._warm &= status != highspy.HighsModelStatus.kIterationLimit
        return optimum(cost, *self._program)

    def _status(self, cost: FloatArray) -> highspy.HighsModelStatus:
        """Run HiGHS with these costs."""
        if self._highs is None:
            self._highs = quiet_highs()
            self._highs.passModel(self._scaled.model(cost))
            return run(self._highs)
        free = self._scaled.free
        self._highs.setOptionValue("simplex_iteration_limit", _STEPS_FROM_LAST_BASIS)
        self._highs.changeColsCost(len(free), np.arange(len(free), dtype=np.int32), cost[free])
        self._highs.run()
        return self._highs.getModelStatus()


def row_sizes(A: sp.csr_array) -> FloatArray:
    """The largest coefficient of each row, in size."""
    A = _canonical(sp.csr_array(A))
    found, filled = np.zeros(A.shape[0]), np.flatnonzero(np.diff(A.indptr))
    if len(filled):
        found[filled] = np.maximum.reduceat(np.abs(A.data), A.indptr[filled])
    return found


def _canonical(A: sp.csr_array) -> sp.csr_array:
    """The same with one entry at each place, in order."""
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    return A


def power_of_two(size: npt.ArrayLike) -> FloatArray:
    """The power of two nearest to each size; 1 for zero."""
    return np.asarray(np.exp2(np.round(np.log2(np.where(np.equal(size, 0), 1.0, size)))))


def to_highs(lp: ProgramData) -> highspy.HighsLp:
    """The program for HiGHS; soft rows get a slack column per side, priced by their penalty."""
    matrix = as_sparse(lp.A, sp.csc_array)
    cost, bounds = lp.c, lp.bounds
    if lp.penalty is not None:
        matrix, cost, bounds = _with_slacks(lp, matrix)
    model = model_of(cost, matrix, lp.row_lower, lp.b, bounds, sense=lp.sense)
    model.offset_ = lp.offset
    model.model_name_ = lp.name
    if lp.row_names is not None:
        model.row_names_ = list(lp.row_names)
    if lp.variable_names is not None and matrix.shape == lp.shape:
        model.col_names_ = list(lp.variable_names)
    return model


def _with_slacks(
    lp: ProgramData, matrix: sp.csc_array
) -> tuple[sp.csc_array, FloatArray, FloatArray]:
    """Matrix, costs and bounds with one slack column per side of each soft row."""
    identity = sp.eye_array(lp.shape[0], format="csc")
    of_sides = lp.prices_of_sides()
    below, above = (np.flatnonzero(np.isfinite(side) & (side > 0)) for side in of_sides.T)
    prices = lp.sign * np.concatenate([of_sides[above, 1], of_sides[below, 0]])
    return (
        sp.csc_array(sp.hstack([matrix, -identity[:, above], identity[:, below]], format="csc")),
        np.concatenate([lp.c, prices]),
        np.vstack([lp.bounds, np.tile([0.0, np.inf], (len(prices), 1))]),
    )
