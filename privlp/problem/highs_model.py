"""Models for HiGHS and from HiGHS, which parses and writes all model files."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_sparse
from privlp.errors import ReadError
from privlp.files import path_of, whole_file
from privlp.problem.data import ProgramData
from privlp.problem.mps_check import (
    TAKEN_NAMES,
    check_bounds_once,
    check_layout,
    check_mps,
    unreadable,
)

FloatArray = npt.NDArray[np.float64]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TOO_SMALL = re.compile(r'[^"]* contains \d+ \|values?\| in \[')  # names are quoted


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
    """Run HiGHS in a thread of its own, so that Ctrl-C stops it.

    In the caller's thread HiGHS would notice Ctrl-C only at its end. It solves linear programs in
    one thread, and would start others for each thread that calls it.
    """
    highs.HandleUserInterrupt = True
    highs.setOptionValue("threads", 1)
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


def read_model(
    path: str | os.PathLike[str],
    *,
    relax: bool = False,
    quote: bool = True,
    largest_unpacked: int | None = None,
) -> highspy.HighsLp:
    """Parse a model file. Errors may `quote` numbers of lines and names of rows, or not.

    With `relax`, integer and semi-continuous variables may take any value within their bounds.
    """
    location = path_of(path)
    if not os.path.isfile(location):
        raise ReadError(f"There is no file {location!r}.")
    text = check_layout(location, quote=quote, largest_unpacked=largest_unpacked)
    highs, status, warnings = _parse(location)
    if status == highspy.HighsStatus.kError:
        raise unreadable(location)
    if warnings:
        check_bounds_once(location, text, quote=quote)
        raise ReadError(
            f"{location!r} has undeclared or duplicate entries, which HiGHS would pass over."
        )
    if highs.getModel().hessian_.dim_ > 0:
        raise ReadError(
            f"{location!r} has a quadratic objective; privlp solves linear programs only."
        )
    model = highs.getLp()
    try:
        row_names, unused = list(model.row_names_), _unused_variables(model)
    except UnicodeDecodeError:
        raise ReadError(
            f"{location!r} holds names that are no UTF-8 text; write them in ASCII or UTF-8."
        ) from None
    check_mps(location, text, row_names, unused, quote=quote)
    if location.lower().endswith((".mps", ".mps.gz")) and model.num_col_ and not model.col_names_:
        raise ReadError(
            f"HiGHS found no usable variable names in {location!r}: the columns of a variable must"
            " stand together."
        )
    if any(kind != highspy.HighsVarType.kContinuous for kind in model.integrality_):
        if not relax:
            raise ReadError(
                f"{location!r} has integer variables; privlp solves linear programs only. Relax"
                " them: from_mps(..., relax=True), or --relax, lets them take any value within"
                " their bounds.",
            )
        _relax(model)
    return model


def _relax(model: highspy.HighsLp) -> None:
    """Let all variables take any value within their bounds.

    A semi-continuous variable is 0 or within its bounds: between them all values are allowed.
    """
    from_zero = (highspy.HighsVarType.kSemiContinuous, highspy.HighsVarType.kSemiInteger)
    apart = np.array([kind in from_zero for kind in model.integrality_])
    lower, upper = np.asarray(model.col_lower_), np.asarray(model.col_upper_)
    model.col_lower_ = np.where(apart, np.minimum(lower, 0.0), lower)
    model.col_upper_ = np.where(apart, np.maximum(upper, 0.0), upper)
    model.integrality_ = []


def _unused_variables(model: highspy.HighsLp) -> list[str]:
    """Names of the variables without any coefficient."""
    used = np.asarray(model.col_cost_) != 0
    if model.a_matrix_.format_ == highspy.MatrixFormat.kColwise:
        used |= np.diff(model.a_matrix_.start_) > 0
    else:
        used[np.asarray(model.a_matrix_.index_, dtype=int)] = True
    names = model.col_names_
    return [names[j] for j in np.flatnonzero(~used)] if names else []


def _parse(location: str) -> tuple[highspy.Highs, highspy.HighsStatus, list[str]]:
    """Read a file, and list what HiGHS's log says it ignored.

    Entries that are too small for HiGHS are not listed.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        highs = quiet_highs(log_to_console=False, log_file=str(log), output_flag=True)
        status = highs.readModel(os.fsencode(location))
        highs.setOptionValue("log_file", "")
        highs.setOptionValue("output_flag", False)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    passed_over = [
        line.removeprefix("WARNING:").strip()
        for line in lines
        if line.startswith("WARNING") and "ignored" in line
    ]
    return highs, status, [line for line in passed_over if not _TOO_SMALL.match(line)]


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


# From the last basis HiGHS goes on without presolve. After so many steps a new start is better.
_STEPS_FROM_LAST_BASIS = 1_000
_CONCLUSIVE = (
    highspy.HighsModelStatus.kOptimal,
    highspy.HighsModelStatus.kInfeasible,
    highspy.HighsModelStatus.kUnbounded,
    highspy.HighsModelStatus.kTimeLimit,
)


def optimum(
    cost: FloatArray,
    A: Any,
    row_lower: FloatArray,
    row_upper: FloatArray,
    bounds: FloatArray,
    *,
    sense: str = "min",
    options: Mapping[str, Any] | None = None,
) -> tuple[highspy.HighsModelStatus, FloatArray]:
    """Run HiGHS on a model of :func:`model_of`; the point is of use only if the status is optimal.

    See :func:`priced_optimum`.
    """
    found = priced_optimum(cost, A, row_lower, row_upper, bounds, sense=sense, options=options)
    return found[:2]


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
    """As :func:`optimum`, with the change of the optimum per unit of each row's active side.

    The model is scaled first (:class:`_Scaled`). If HiGHS reaches no conclusion, it runs again
    without presolve.
    """
    scaled = _Scaled(A, row_lower, row_upper, bounds)
    largest_cost = float(_power_of_two(np.abs(cost).max(initial=0.0)))
    model = scaled.model(cost / largest_cost, sense)
    for presolve in ("choose", "off"):
        highs = quiet_highs(presolve=presolve, **(options or {}))
        if highs.passModel(model) == highspy.HighsStatus.kError:
            prices = np.zeros(len(scaled.by_row))
            return highspy.HighsModelStatus.kModelError, bounds[:, 0].copy(), prices
        status = run(highs)
        if status in _CONCLUSIVE:
            break
    found = highs.getSolution()
    prices = np.asarray(found.row_dual) if found.dual_valid else np.zeros(len(scaled.by_row))
    return status, scaled.point(found.col_value), prices * largest_cost / scaled.by_row


class _Scaled:
    """Rows and bounds, scaled by powers of two: the tolerances of HiGHS are absolute.

    Each row gets a largest coefficient of about 1, and x is measured in units of the median
    right-hand side. Fixed variables are taken out.
    """

    def __init__(
        self, A: Any, row_lower: FloatArray, row_upper: FloatArray, bounds: FloatArray
    ) -> None:
        rows, self.bounds = as_sparse(A), bounds
        self.free = np.flatnonzero(bounds[:, 0] < bounds[:, 1])
        held = np.where(bounds[:, 0] < bounds[:, 1], 0.0, bounds[:, 0])
        lower, upper = row_lower - rows @ held, row_upper - rows @ held
        rows = sp.csr_array(rows[:, self.free])
        self.by_row = by_row = _power_of_two(row_sizes(rows))
        self.lower, self.upper = lower / by_row, upper / by_row
        ends = np.abs(np.concatenate([self.lower, self.upper]))
        ends = np.sort(ends[np.isfinite(ends) & (ends > 0)])
        self.unit = float(_power_of_two(ends[(len(ends) - 1) // 2])) if len(ends) else 1.0
        scaled = sp.diags_array(1.0 / by_row) @ rows if len(by_row) else rows
        self.rows = sp.csc_array(scaled)

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
    return np.zeros(A.shape[0]) if 0 in A.shape else abs(A).max(axis=1).toarray().ravel()


def _power_of_two(size: npt.ArrayLike) -> FloatArray:
    """The power of two nearest to each size; 1 for zero."""
    powers: FloatArray = np.exp2(np.round(np.log2(np.where(np.equal(size, 0), 1.0, size))))
    return powers


def to_highs(lp: ProgramData) -> highspy.HighsLp:
    """The program as HiGHS holds it.

    Soft rows get one slack column per side, priced by their penalty.
    """
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


def write_model(lp: ProgramData, path: str | os.PathLike[str]) -> None:
    """Write an MPS file."""
    location = path_of(path)
    taken = [name for name in lp.variable_names or () if name.upper() in TAKEN_NAMES]
    if taken:
        raise ReadError(
            f"HiGHS reads the variable name {taken[0]!r} in a file as the header of a section."
            " Rename the variable."
        )
    highs = quiet_highs()
    model = to_highs(lp)
    model.model_name_ = _CONTROL.sub("_", lp.name)
    model.row_names_, model.col_names_ = _writable(model.row_names_), _writable(model.col_names_)
    highs.passModel(model)
    refusal = (
        f"HiGHS cannot write a model to {location!r}. Check the folder and the file ending (.mps)."
    )
    try:
        with whole_file(location) as unfinished:
            if highs.writeModel(os.fsencode(unfinished)) == highspy.HighsStatus.kError:
                raise ReadError(refusal)
            # HiGHS does not report a full disk.
            if unfinished.is_file() and not _has_last_line(unfinished):
                raise ReadError(
                    f"HiGHS could not write all of the model to {location!r}. Is the disk full?"
                )
    except OSError as error:
        raise ReadError(refusal) from error


def _writable(names: list[str]) -> list[str]:
    """Names that a file can hold; none if they are not distinct, and HiGHS makes some up."""
    clean = [_CONTROL.sub("_", name).replace(" ", "_") for name in names]
    return clean if len(set(clean)) == len(clean) else []


def _has_last_line(model: Path) -> bool:
    with model.open("rb") as file:
        file.seek(max(0, model.stat().st_size - 10))
        return file.read().split()[-1:] in ([b"ENDATA"], [b"end"])


def _with_slacks(
    lp: ProgramData, matrix: sp.csc_array
) -> tuple[sp.csc_array, np.ndarray, np.ndarray]:
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
