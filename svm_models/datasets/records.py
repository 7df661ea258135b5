"""Records as numbers, category codes and labels, whatever source they came from."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import MissingDependencyError
from svm_models.datasets.schema import MISSING, Schema


@dataclass(frozen=True)
class Records:
    """Records before any encoding.

    Parameters
    ----------
    numbers : array, shape (n, m)
        The numeric columns.
    codes : array of int, shape (n, k)
        The symbolic columns, as positions in `categories`.
    categories : tuple of lists of str, length k
        Sorted categories of each symbolic column; some may not occur.
    target : array of int, shape (n,)
        Labels, -1 or 1.
    """

    numbers: npt.NDArray[np.float64]
    codes: npt.NDArray[np.int16]
    categories: tuple[list[str], ...]
    target: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: npt.NDArray[Any]) -> Records:
        """Records at positions or under a mask, in that order."""
        return Records(self.numbers[rows], self.codes[rows], self.categories, self.target[rows])

    def complete(self) -> Records:
        """Records without missing values."""
        missing = [names.index(MISSING) if MISSING in names else -1 for names in self.categories]
        return self.take((self.codes != np.array(missing)).all(axis=1))

    def in_canonical_order(self, schema: Schema) -> Records:
        """Records sorted by first column, second column, ..., label.

        The result is the same for every order in which they were stored.
        """
        numbers, codes = iter(self.numbers.T), iter(self.codes.T)
        numeric = set(schema.numeric)
        keys = [next(numbers) if column in numeric else next(codes) for column in schema.columns]
        return self.take(np.lexsort([self.target, *reversed(keys)]))


def from_frame(frame: Any, schema: Schema) -> Records:
    """Records in a pandas DataFrame that has the schema's columns and label.

    Raises
    ------
    ValueError
        If columns are missing, a number is not one, or a category or label is empty or unknown. No
        message quotes data.
    """
    if not set(schema.names) <= set(frame.columns):
        raise ValueError("columns are missing")
    try:
        numbers = frame[[column.name for column in schema.numeric]].to_numpy(
            dtype=float, na_value=np.nan
        )
    except (TypeError, ValueError):
        raise ValueError("a numeric column holds something else") from None
    if not np.isfinite(numbers).all():
        raise ValueError("a numeric column holds something else")
    coded = [_codes(frame[column.name]) for column in schema.symbolic]
    if any("" in names for _, names in coded):
        raise ValueError("a value is empty")
    codes = np.column_stack([values for values, _ in coded]).astype(np.int16)
    return Records(
        numbers, codes, tuple(names for _, names in coded), _target(frame[schema.label], schema)
    )


def joined(parts: list[Records]) -> Records:
    """Records of several files, one after the other."""
    categories, columns = [], []
    for k in range(len(parts[0].categories)):
        names = sorted(set().union(*(part.categories[k] for part in parts)))
        recoded = [np.searchsorted(names, part.categories[k])[part.codes[:, k]] for part in parts]
        categories.append(names)
        columns.append(np.concatenate(recoded))
    numbers, target = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "target")
    )
    return Records(numbers, np.column_stack(columns).astype(np.int16), tuple(categories), target)


def text(value: Any) -> str:
    """A category as text; scikit-learn hands some over as bytes."""
    return (value.decode("latin-1") if isinstance(value, bytes) else str(value)).strip()


def optional(module: str) -> Any:
    """Import scikit-learn or pandas, or a part of them.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            "The data sets need scikit-learn and pandas: install them by pip install 'privlp[svm]'."
        ) from error


def _codes(column: Any) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Positions of a column's values among its sorted categories, as text."""
    values = column.astype("category").cat.remove_unused_categories()
    found = [text(name) for name in values.cat.categories]
    names, positions = np.unique(
        [*found, MISSING], return_inverse=True
    )  # pandas' code of what is missing is -1: the last
    return positions[values.cat.codes.to_numpy()], names.tolist()


def _target(column: Any, schema: Schema) -> npt.NDArray[np.int64]:
    codes, names = _codes(column)
    signs = {schema.positive: 1} | dict.fromkeys(schema.negative, -1)
    labels = np.array([signs.get(name.removesuffix("."), 0) for name in names], dtype=np.int64)[
        codes
    ]
    if not labels.all():
        raise ValueError("a label is unknown")
    return labels
