"""Records from files in the text format of the programs lrsimple and svmsimple.

Errors tell numbers of lines and entries, never what stands there.
"""

from __future__ import annotations

import codecs
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privlp.errors import ReadError
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
        for number, line in self._lines:
            # What follows the last label is not read, but counts.
            entries = self._numbers(number, line) if len(labels) < n else [1.0]
            labels += entries
            numbers += [number] * len(entries)
            if len(labels) > n:
                break
        if labels and set(labels) <= {0.0, 1.0} and 0.0 in labels:
            raise self._error(
                numbers[0],
                "from here on the labels are 0 and 1; they must be -1 and 1. Write -1 in place"
                " of 0.",
            )
        for label, number in zip(labels, numbers, strict=True):
            if abs(label) != 1.0:
                begin = f"Labels begin after record n = {n}: check n, too."
                raise self._error(number, f"a label is neither -1 nor 1. {begin}")
        if len(labels) > n:
            raise self._error(
                numbers[n],
                f"something follows the last of n = {n} labels. Remove it, or correct n.",
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
