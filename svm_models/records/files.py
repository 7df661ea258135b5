"""Records from files: CSV, and the text format of the programs lrsimple and svmsimple.

Errors tell numbers of lines, columns and entries, never what stands there. A line that may be a
record is never taken for names, which are printed.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError, ReadError
from svm_models.parameters import FloatArray

#: Excess over norm 1 that is taken for rounding.
_ROUNDING = 1e-9
_REQUIREMENTS = {
    "n": "a positive integer",
    "d": "a positive integer",
    "lambda": "positive",
    "eps": "positive",
    "h": "above 0 and at most 1/2",
}


def read_text(path: str) -> bytes:
    """What a text file holds, without a byte-order mark."""
    try:
        raw = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8)
    except FileNotFoundError:
        raise ReadError(f"There is no file {path!r}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable file name"
        raise ReadError(f"{path!r} cannot be read: {reason}.") from None
    if b"\0" in raw:
        raise ReadError(f"{path!r} is not a text file. Give a plain text file of numbers.")
    return raw


@dataclass(frozen=True)
class CsvFile:
    """Records, labels as they are written, and names of the features, or their numbers."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[np.str_]
    columns: list[str]


def read_csv_file(
    path: str | os.PathLike[str],
    label: str | None = None,
    header: bool | None = None,
    classes: Collection[str] = (),
) -> CsvFile:
    """Read numbers separated by commas, and labels from one column, the last by default.

    By default the first line names the columns if `label` is one of its entries and no class, and
    does not if it holds a number; else that is an error, for it may be a record as well as names.
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
        row = [number_in(entry) for k, entry in enumerate(entries) if k != at]
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
    if header is None and any(number_in(entry) is not None for entry in first):
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


def number_in(entry: str) -> float | None:
    """The finite number that is written there, if any."""
    try:
        number = float(entry)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in entry else None


@dataclass(frozen=True)
class TrainingFile:
    """Records of norm at most 1, labels -1.0 or 1.0, lambda, eps, and h or None."""

    X: FloatArray
    y: FloatArray
    reg: float
    eps: float
    h: float | None


def read_training_file(path: str | os.PathLike[str], *, with_h: bool) -> TrainingFile:
    """Read a file with h in its header (``svmsimple``) or without (``lrsimple``)."""
    return _Reader(os.fspath(path)).read(with_h)


class _Reader:
    """One pass over the lines that are not empty."""

    def __init__(self, path: str) -> None:
        self.path = path
        raw = read_text(path)
        lines = [(number, line) for number, line in enumerate(raw.splitlines(), 1) if line.strip()]
        if not lines:
            raise ReadError(f"{path!r} is empty.")
        self._last = lines[-1][0]
        self._lines = iter(lines)

    def read(self, with_h: bool) -> TrainingFile:
        header = self._header(with_h)
        n, d = int(header["n"]), int(header["d"])
        return TrainingFile(
            self._records(n, d), self._labels(n), header["lambda"], header["eps"], header.get("h")
        )

    def _header(self, with_h: bool) -> dict[str, float]:
        names = [name for name in _REQUIREMENTS if with_h or name != "h"]
        takes = f"the header is {len(names)} numbers, {', '.join(names)}" + (
            " (a file for logistic regression has no h)"
            if with_h
            else " (only a file for the SVM has a fifth, h)"
        )
        header: dict[str, float] = {}
        for number, line in self._lines:
            entries = self._numbers(number, line)
            if len(header) + len(entries) > len(names):
                raise self._error(
                    number, f"{takes}, and the first record begins on a line of its own."
                )
            for name, value in zip(names[len(header) :], entries, strict=False):
                if not _admissible(name, value):
                    raise self._error(number, f"{name} must be {_REQUIREMENTS[name]}; {takes}.")
                header[name] = value
            if len(header) == len(names):
                return header
        raise self._error(self._last, f"the file ends within the header; {takes}.")

    def _records(self, n: int, d: int) -> FloatArray:
        rows, numbers = [], []
        for i, (number, line) in zip(range(n), self._lines, strict=False):
            entries = self._numbers(number, line)
            if len(entries) != d:
                raise self._error(
                    number,
                    f"found {_counted(len(entries), 'number')}; record {i + 1} of n = {n} takes d ="
                    f" {d} on one line.",
                )
            rows.append(np.array(entries))
            numbers.append(number)
        if len(rows) < n:
            raise self._error(
                self._last,
                f"the file ends after {_counted(len(rows), 'record')}; n = {n} are expected.",
            )
        X = np.array(rows)
        with np.errstate(over="ignore"):
            too_long = np.flatnonzero(np.linalg.norm(X, axis=1) > 1 + _ROUNDING)
        if too_long.size:
            raise self._error(
                numbers[too_long[0]],
                "the record has a Euclidean norm above 1, for which privacy would not hold. Scale"
                " the records before, each by itself or all by one factor that is public.",
            )
        return X

    def _labels(self, n: int) -> FloatArray:
        labels: list[float] = []
        numbers: list[int] = []
        surplus: int | None = None
        for number, line in self._lines:
            if len(labels) >= n:
                surplus = number
                break
            entries = self._numbers(number, line)
            labels += entries
            numbers += [number] * len(entries)
        if labels and set(labels) <= {0.0, 1.0} and 0.0 in labels:
            raise self._error(
                numbers[0],
                "from here on the labels are 0 and 1; they must be -1 and 1. Write -1 in place"
                " of 0.",
            )
        wrong = next(
            (number for label, number in zip(labels, numbers, strict=True) if abs(label) != 1.0),
            None,
        )
        if wrong is not None:
            raise self._error(
                wrong,
                f"a label is neither -1 nor 1. Labels begin after record n = {n}: check n, too.",
            )
        if len(labels) > n:
            surplus = numbers[n]
        if surplus is not None:
            raise self._error(
                surplus, f"something follows the last of n = {n} labels. Remove it, or correct n."
            )
        if len(labels) < n:
            raise self._error(
                self._last,
                f"the file ends after {_counted(len(labels), 'label')}; n = {n} are expected.",
            )
        return np.array(labels)

    def _numbers(self, number: int, line: bytes) -> list[float]:
        try:
            entries = [float(entry) for entry in line.split()]
        except ValueError:
            entries = [math.nan]
        if b"_" in line or not all(map(math.isfinite, entries)):
            hint = " Separate numbers by blanks, not by commas." if b"," in line else ""
            raise self._error(number, f"some of it is not a finite number.{hint}")
        return entries

    def _error(self, number: int, what: str) -> ReadError:
        return ReadError(f"{self.path!r}, line {number}: {what}")


def _admissible(name: str, value: float) -> bool:
    if name in ("n", "d"):
        return value.is_integer() and 0 < value < 2**53
    return 0 < value <= (0.5 if name == "h" else math.inf)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
