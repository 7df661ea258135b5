"""From raw records to a matrix whose rows have Euclidean norm 1.

One of the three ways is fit for private data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import shown
from privlp.errors import InvalidParameterError
from svm_models.datasets.records import Records
from svm_models.datasets.schema import Schema

Matrix = npt.NDArray[np.float64]


def check_preprocessing(preprocessing: Any) -> str:
    """Return a known preprocessing.

    Raises
    ------
    InvalidParameterError
        If it is not known.
    """
    if not isinstance(preprocessing, str) or preprocessing not in _SCALINGS:
        known = ", ".join(map(repr, _SCALINGS))
        raise InvalidParameterError(
            f"preprocessing must be one of {known}, got {shown(preprocessing)}.",
            parameter="preprocessing",
        )
    return preprocessing


def encode(records: Records, schema: Schema, preprocessing: str) -> tuple[Matrix, list[str]]:
    """Records as rows of Euclidean norm 1.

    Numeric columns are scaled, every category becomes a column in {0, 1}, and at last every row is
    divided by its norm.

    Parameters
    ----------
    records : Records
        Raw records.
    schema : Schema
        Their columns.
    preprocessing : {"thesis", "unit", "public"}
        See :func:`~svm_models.datasets.fetch_adult`. With "public", a row of the result depends on
        its own record only.

    Returns
    -------
    X : array, shape (n, p)
        Encoded records. A row of zeros stays one.
    names : list of str, length p
        Names of the columns; "sex=Female" for categories.
    """
    names = [column.name for column in schema.numeric]
    if preprocessing == "public":
        kept = [list(column.categories) for column in schema.symbolic]
    else:
        kept = [
            [found[k] for k in np.unique(codes)]
            for found, codes in zip(records.categories, records.codes.T, strict=True)
        ]
    m = len(names)
    X = np.zeros((len(records), m + sum(map(len, kept))))  # the only array of this size
    _SCALINGS[preprocessing](records.numbers, schema, X[:, :m])
    for column, found, codes, categories in zip(
        schema.symbolic, records.categories, records.codes.T, kept, strict=True
    ):
        place = {category: len(names) + k for k, category in enumerate(categories)}
        columns = np.array([place.get(category, -1) for category in found])[codes]
        rows = np.flatnonzero(columns >= 0)
        X[rows, columns[rows]] = 1.0
        names += [f"{column.name}={category}" for category in categories]
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    X /= np.where(norms > 0.0, norms, 1.0)[:, None]
    return X, names


def _thesis(numbers: Matrix, schema: Schema, out: Matrix) -> None:  # noqa: ARG001
    """Minimum to -1 and maximum to 1; a constant column to 0."""
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    _to_plus_minus_one(numbers, low, high, out)
    out[:, low == high] = 0.0


def _unit(numbers: Matrix, schema: Schema, out: Matrix) -> None:  # noqa: ARG001
    """Each column divided by its largest absolute value; a column of zeros left alone."""
    largest = np.maximum(np.abs(numbers.min(axis=0)), np.abs(numbers.max(axis=0)))
    np.divide(numbers, np.where(largest > 0.0, largest, 1.0), out=out)


def _public(numbers: Matrix, schema: Schema, out: Matrix) -> None:
    """Declared range to [-1, 1], what lies outside clipped to it."""
    low, high = (
        np.array([getattr(column, end) for column in schema.numeric], dtype=float)
        for end in ("low", "high")
    )
    log = np.array([column.log for column in schema.numeric])
    np.clip(numbers, low, high, out=out)
    out[:, log] = np.log1p(out[:, log])
    _to_plus_minus_one(
        out, np.where(log, np.log1p(low), low), np.where(log, np.log1p(high), high), out
    )


def _to_plus_minus_one(numbers: Matrix, low: Matrix, high: Matrix, out: Matrix) -> None:
    np.subtract(numbers, low, out=out)
    out *= 2.0
    out /= np.where(high > low, high - low, 1.0)
    out -= 1.0


_SCALINGS: dict[str, Callable[[Matrix, Schema, Matrix], None]] = {
    "thesis": _thesis,
    "unit": _unit,
    "public": _public,
}
