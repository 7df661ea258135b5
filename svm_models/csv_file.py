"""Records from a CSV file: numbers, and a column of labels.

The first line names the columns if the caller says so. A line that may be a record is never taken
for names, which are printed. Errors tell the numbers of a line and a column, never what stands
there.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError, ReadError
from svm_models.text_format import read_text


@dataclass(frozen=True)
class CsvFile:
    """What a file holds.

    Parameters
    ----------
    X : (n, p) array
        Records.
    y : (n,) array of str
        Labels, as they are written.
    columns : list of str
        Names of the features; their numbers in the file where no line names them.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.str_]
    columns: list[str]


def read_csv_file(
    path: str | os.PathLike[str],
    label: str | None = None,
    header: bool | None = None,
    classes: Collection[str] = (),
) -> CsvFile:
    """Read numbers separated by commas, and labels from one column.

    Parameters
    ----------
    path : path
    label : str, optional
        The name of the column of labels, or its number from 1; the last by default.
    header : bool, optional
        Whether the first line names the columns. ``None``: it does if `label` is one of its
        entries and no class, and does not if it holds a number; else that is an error.
    classes : collection of str
        What labels are called. Such an entry may be the label of a record.

    Raises
    ------
    ReadError
        If the file cannot be read or does not hold numbers, or its first line may be a record as
        well as names; the message names the line.
    InvalidParameterError
        If there is no such column.
    """
    path = os.fspath(path)
    lines = _lines(path)
    number, first = lines[0]
    if len(first) < 2:
        raise ReadError(
            f"{path!r}, line {number}: found one column; features and a label are expected,"
            " separated by commas."
        )
    has_names = _names_columns(path, number, first, None if label in classes else label, header)
    names = (
        [name.strip() for name in first]
        if has_names
        else [str(k) for k in range(1, len(first) + 1)]
    )
    at = _position(names, label)
    records = lines[has_names:]
    if not records:
        raise ReadError(f"{path!r} holds no record.")
    X = np.empty((len(records), len(first) - 1))
    for i, (number, entries) in enumerate(records):
        if len(entries) != len(first):
            raise ReadError(
                f"{path!r}, line {number}: found {len(entries)} columns, {len(first)} are expected."
            )
        row = [_number(entry) for k, entry in enumerate(entries) if k != at]
        if None in row:
            column = row.index(None) + 1
            raise ReadError(
                f"{path!r}, line {number}: column {column + (column > at)} holds no finite number."
                " Only labels may be words."
            )
        X[i] = row
    return CsvFile(
        X,
        np.array([entries[at].strip() for _, entries in records]),
        [*names[:at], *names[at + 1 :]],
    )


def _names_columns(
    path: str, number: int, first: list[str], label: str | None, header: bool | None
) -> bool:
    """Whether the first line names the columns: never one that holds a number, or NaN."""
    if header is None and any(_number(entry) is not None for entry in first):
        return False
    named = label is not None and [entry.strip() for entry in first].count(label) == 1
    if header is None and not named:
        raise ReadError(
            f"{path!r}, line {number}: no entry is a finite number, so this may be names of columns"
            " or a damaged record. Say which: --header if it names the columns, which are printed,"
            " or --no-header."
        )
    if header is not False and any(map(_is_written_as_number, first)):
        raise ReadError(
            f"{path!r}, line {number}: an entry is a number, NaN or an infinity, so this may be a"
            " record, and is not printed as names of columns. Give --no-header, or names that are"
            " words."
        )
    return header is not False


def _is_written_as_number(entry: str) -> bool:
    try:
        float(entry)
    except ValueError:
        return False
    return True


def _lines(path: str) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers, in entries."""
    try:
        reader = csv.reader(
            io.StringIO(read_text(path).decode(), newline=""), skipinitialspace=True, strict=True
        )
        lines = [(reader.line_num, entries) for entries in reader if any(map(str.strip, entries))]
    except UnicodeDecodeError:
        raise ReadError(f"{path!r} is not a text file in UTF-8.") from None
    except csv.Error:
        raise ReadError(
            f"{path!r}, line {reader.line_num}: not a line of CSV; check the quotation marks."
        ) from None
    if not lines:
        raise ReadError(f"{path!r} is empty.")
    return lines


def _position(names: list[str], label: str | None) -> int:
    if label is None:
        return len(names) - 1
    if names.count(label) == 1:
        return names.index(label)
    numbers = [str(k) for k in range(1, len(names) + 1)]
    if label not in numbers:
        raise InvalidParameterError(
            f"No single column is called {label!r}. Give its name, or a number from 1 to"
            f" {len(names)}."
        )
    return numbers.index(label)


def _number(entry: str) -> float | None:
    """The finite number that is written there, if any."""
    try:
        number = float(entry)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in entry else None
