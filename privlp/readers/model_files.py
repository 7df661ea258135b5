"""Model files, which HiGHS parses and writes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import require_flag
from privlp.errors import ReadError
from privlp.files import path_of, whole_file
from privlp.problem.data import ProgramData
from privlp.problem.highs import quiet_highs, to_highs
from privlp.readers.mps_check import TAKEN_NAMES, check_layout, quadratic, unreadable
from privlp.sparse import csr_of

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TOO_SMALL = re.compile(r'[^"]* contains \d+ \|values?\| in \[')  # names are quoted


def read_mps(
    path: str | os.PathLike[str],
    *,
    relax: bool = False,
    quote: bool = True,
    largest_unpacked: int | None = None,
) -> dict[str, Any]:
    """Fields of the program in a model file; errors may `quote` lines and rows, or not."""
    require_flag(relax, "relax")
    model = _read_model(path_of(path), quote, largest_unpacked)
    if any(kind != highspy.HighsVarType.kContinuous for kind in model.integrality_):
        if not relax:
            raise ReadError(
                f"{path_of(path)!r} has integer variables; privlp solves linear programs only."
                " Relax them: from_mps(..., relax=True), or --relax, lets them take any value"
                " within their bounds."
            )
        _relax(model)
    matrix = model.a_matrix_
    by_columns = matrix.format_ == highspy.MatrixFormat.kColwise
    layout = sp.csc_array if by_columns else sp.csr_array
    places, starts = (np.array(part, dtype=np.int32) for part in (matrix.index_, matrix.start_))
    shape = model.num_row_, model.num_col_
    return {
        "c": model.col_cost_,
        "A": csr_of(np.array(matrix.value_), places, starts, shape, layout),
        "b": np.asarray(model.row_upper_),
        "row_lower": np.asarray(model.row_lower_),
        "bounds": np.column_stack([model.col_lower_, model.col_upper_]),
        "sense": "min" if model.sense_ == highspy.ObjSense.kMinimize else "max",
        "offset": model.offset_,
        "variable_names": model.col_names_ or None,
        "row_names": model.row_names_ or None,
        "name": _name_of(model),
    }


def _read_model(location: str, quote: bool, largest_unpacked: int | None) -> highspy.HighsLp:
    """Parse a model file."""
    if not os.path.isfile(location):
        raise ReadError(f"There is no file {location!r}.")
    text = check_layout(location, quote=quote, largest_unpacked=largest_unpacked)
    not_utf8 = ReadError(
        f"{location!r} holds names that are no UTF-8 text; write them in ASCII or UTF-8."
    )
    try:
        highs, status, warnings = _parse(location)
    except UnicodeDecodeError:  # of a message that quotes the file
        unread = quiet_highs().readModel(os.fsencode(location)) == highspy.HighsStatus.kError
        raise (unreadable(location) if unread else not_utf8) from None
    if status == highspy.HighsStatus.kError:
        raise unreadable(location)
    if warnings:
        if text is not None:
            text.check_bounds_once()
        raise ReadError(
            f"{location!r} has undeclared or duplicate entries, which HiGHS would pass over."
        )
    if highs.getModel().hessian_.dim_ > 0:
        raise quadratic(location)
    model = highs.getLp()
    try:
        row_names, unused = list(model.row_names_), _unused_variables(model)
    except UnicodeDecodeError:
        raise not_utf8 from None
    if text is not None:
        text.check_reading(row_names, unused)
        if model.num_col_ and not model.col_names_:
            raise ReadError(
                f"HiGHS found no usable variable names in {location!r}: the columns of a variable"
                " must stand together."
            )
    return model


def _relax(model: highspy.HighsLp) -> None:
    """Let all variables take any value within their bounds, or from 0 on if semi-continuous."""
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
    """Read a file, and list what HiGHS's log says it ignored, but for entries too small for it."""
    highs, lines = quiet_highs(log_to_console=False, output_flag=True), list[str]()
    highs.cbLogging.subscribe(lambda event: lines.append(event.message))
    status = highs.readModel(os.fsencode(location))
    highs.setOptionValue("output_flag", False)
    # A message that is cut off, because names are long, has no end of line.
    told = (
        line
        for line in lines
        if line.startswith("WARNING") and ("ignored" in line or not line.endswith("\n"))
    )
    passed_over = [line.removeprefix("WARNING:").strip() for line in told]
    return highs, status, [line for line in passed_over if not _TOO_SMALL.match(line)]


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
    refusal = f"HiGHS cannot write a model to {location!r}. Check the folder and the ending (.mps)."
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


def _name_of(model: highspy.HighsLp) -> str:
    """Name of a model. Where it has none, HiGHS takes that of the file, which may not be text."""
    try:
        return model.model_name_
    except UnicodeDecodeError:
        return ""
