"""Declared ranges of right-hand sides, row by row: from options and from a CSV file."""

from __future__ import annotations

import csv
import fnmatch
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError

#: Pattern over row names, lower end, upper end.
RowRange = tuple[str, float, float]


def row_ranges(
    names: Sequence[str],
    general: tuple[float, float] | None,
    file: str | None,
    of_rows: Sequence[RowRange],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The declared ends of each row's right-hand side, each (n,).

    Rows that the file names have its range, rows that an option names the option's, all others the
    general one, or none.

    Raises
    ------
    InvalidParameterError
        If a range names no row, or a line of the file is no range.

    Examples
    --------
    >>> row_ranges(["beds 1", "beds 2", "rest"], None, None, [("beds *", 10.0, 40.0)])
    (array([ 10.,  10., -inf]), array([40., 40., inf]))
    """
    low, high = general or (-math.inf, math.inf)
    lower, upper = np.full(len(names), low), np.full(len(names), high)
    rows = {name: row for row, name in enumerate(names)}
    found = [] if file is None else [("--b-ranges", entry) for entry in _entries(file)]
    found += [("--b-range-of", entry) for entry in of_rows]
    for option, (pattern, first, last) in found:
        if pattern in rows:
            chosen = [rows[pattern]]
        else:
            chosen = [rows[name] for name in fnmatch.filter(names, pattern)]
        if not chosen:
            raise InvalidParameterError(f"{option}: the model has no row {pattern!r}.")
        if not first <= last:
            raise InvalidParameterError(
                f"{option}: the lower end of row {pattern!r} exceeds its upper end, or one of them"
                " is no number."
            )
        lower[chosen], upper[chosen] = first, last
    return lower, upper


def _entries(file: str) -> Iterator[RowRange]:
    """The lines of a CSV file: row name or pattern, lower end, upper end.

    An empty end is not declared. A first line without numbers is a heading.
    """
    with Path(file).open(newline="", encoding="utf-8-sig") as lines:
        try:
            for number, cells in enumerate(csv.reader(lines), start=1):
                if not any(cell.strip() for cell in cells):
                    continue
                try:
                    name, low, high = cells
                    yield name, _end(low, -math.inf), _end(high, math.inf)
                except ValueError:
                    if number == 1 and len(cells) == 3 and not any(map(_is_end, cells[1:])):
                        continue
                    raise InvalidParameterError(
                        f"--b-ranges: line {number} of {file!r} must be a row name, a lower end and"
                        " an upper end, with commas between them."
                    ) from None
        except (UnicodeDecodeError, csv.Error):
            raise InvalidParameterError(f"--b-ranges: {file!r} is not a CSV file.") from None


def _is_end(cell: str) -> bool:
    try:
        _end(cell, 0.0)
    except ValueError:
        return False
    return True


def _end(cell: str, absent: float) -> float:
    return float(cell) if cell.strip() else absent
