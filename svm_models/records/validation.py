"""Read records and labels without quoting them in an error.

Strings are no numbers, not even strings of digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from privlp import InvalidProblemError, tables
from privlp.checks import as_floats, require_data
from privlp.quiet import WHY, harmless_warnings, unnoticed, unquoted
from privlp.readers.tables import LazyRows, columns_of, read_table

_COMPLEX = "Complex data not supported. Give real numbers."
#: Beginnings of messages that may go on to quote records, and what to do.
_QUOTING = {
    "Expected 2D array, got 1D array instead": (
        "Reshape your data by X.reshape(-1, 1) (one feature) or X.reshape(1, -1)."
    ),
    "Expected 2D array, got": "X must have shape (n, p).",
}
#: Beginnings of messages that go on to recommend what is not private, and what to do.
_ADVISING = {
    "Input X contains NaN": tables.FILL_IN,
    "Input y contains NaN": "Leave these records out, if that is a public rule for every record.",
    "Input contains NaN": tables.FILL_IN,
    "Input X contains infinity or a value too large for dtype('float64')": (
        "Clip every record to a public bound first."
    ),
}
#: Beginnings of harmless messages: they tell shapes, types and names of columns only.
_SAFE = (
    "Input X contains",
    "Input y contains",
    "Input contains",
    "Found array with",
    "Found input variables with inconsistent numbers",
    "Expected sequence or array-like",
    "Feature names are only supported",
    "The feature names",
    "Only sparse matrices with 32-bit",
    "This ",
    "X has ",
    "float() argument must be",
    "np.matrix is not supported",
    "setting an array element with a sequence",
    "y should be a 1d array",
)
#: Beginnings of harmless messages that go on to tell the number of records, and what to do.
_COUNTING = {
    "Found array with": "X must have shape (n, p), with one feature at least.",
    "Found input variables with inconsistent numbers": "Give one label for each row of X.",
    "setting an array element with a sequence": "X must have shape (n, p).",
    "y should be a 1d array": "Give one label for each row of X.",
}
_MALFORMED = "X must hold real numbers in shape (n, p), and y one label for each row of X."
# What scikit-learn calls no labels at all.
_NO_LABELS = "no_validation"


def validated(
    estimator: Any, X: Any, y: Any = _NO_LABELS, *, count_is_private: bool = False, **options: Any
) -> Any:
    """Check as scikit-learn's ``validate_data`` does, whose messages may quote records.

    Only messages known to be harmless pass; none tells the number of records where it is private.
    """
    X, y = without_table(X, y)
    unquoted(lambda: _refuse_entries(X), _MALFORMED, "X")
    if y is not None and not (isinstance(y, str) and y == _NO_LABELS):
        y = as_numbers(y) if options.get("y_numeric") else as_labels(y)
    declared = getattr(estimator, "_columns", None)
    if declared is not None and declared.spread:  # it knows names and number of its columns
        estimator, options = copy(estimator), options | {"reset": True}
    quoting, too_large = _QUOTING | _ADVISING, False
    if count_is_private:
        quoting, options = quoting | _COUNTING, {"ensure_min_samples": 0, **options}
    try:
        # Its sum of all entries may overflow, which depends on the records.
        with unnoticed(), harmless_warnings(DataConversionWarning):
            X = as_stored(X) if sp.issparse(X) else X
            return validate_data(estimator, X, y, accept_sparse="csr", **options)
    except MemoryError:
        too_large = True
    except Exception as raised:  # of any library that made X
        error, message = type(raised), str(raised)
    if too_large:  # the words of whoever noticed tell the number of records
        raise MemoryError("There is too little memory for X.")
    for beginning, cure in quoting.items():
        if message.startswith(beginning):
            raise InvalidProblemError(f"{beginning}. {cure}", parameter="X")
    if not (issubclass(error, ValueError | TypeError) and message.startswith(_SAFE)):
        raise InvalidProblemError(_MALFORMED, parameter="X")
    raise (TypeError if issubclass(error, TypeError) else ValueError)(message)


def without_table(X: Any, y: Any = _NO_LABELS) -> tuple[Any, Any]:
    """Records and labels, where X may be a table and y the name of a column of it."""
    given = {} if isinstance(y, str) and y == _NO_LABELS else {"y": y}

    def read() -> tuple[Any, Any]:
        tables.require_order(y, X, "y")
        found, others, columns = read_table(X, given, "X")
        return X if sp.issparse(found) else named(found, columns), others.get("y", y)

    return unquoted(read, f"X could not be read. {WHY}", "X") if tables.is_table(X) else (X, y)


def in_lazy_blocks(X: Any, y: Any) -> tuple[Any, Any]:
    """Records and labels, where X may be a lazy table, which becomes a sequence of blocks."""

    def read() -> tuple[Any, Any]:
        frame = tables.opened(X, "X")
        if not tables.is_lazy(frame):
            return X, y
        rows = LazyRows(frame, columns_of(frame, {"y": y}, "X"), name="X")
        return _LazyBlocks(rows), rows.column(y, "y")

    return unquoted(read, f"X could not be read. {WHY}", "X") if tables.is_table(X) else (X, y)


def named(X: npt.NDArray[Any], columns: Sequence[Any]) -> Any:
    """An array with names of its columns, not copied."""
    import pandas  # noqa: PLC0415 (tables need it, arrays do not)

    return pandas.DataFrame(X, columns=[*columns], copy=False)


class _LazyBlocks(Sequence[Any]):
    """The rows of a lazy table in blocks."""

    def __init__(self, rows: LazyRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: Any) -> Any:
        return named(self._rows.block(number), self._rows.columns)


def as_numbers(y: Any) -> Any:
    """Numbers y as floats; an error quotes none."""
    if sp.issparse(y):
        return y
    message = "y must hold real numbers, one for each row of X. Strings of digits are no numbers."

    def read() -> Any:
        _require_unmasked(y, "y")
        raw = np.asarray(y)
        if tables.fault_of(raw) or raw.dtype.kind in "USmMV":
            raise TypeError
        return as_floats(raw, "y")

    return unquoted(read, message, "y")


def as_labels(y: Any) -> Any:
    """Labels y, all numbers or all texts, as an array, unless scikit-learn is to refuse them."""
    if sp.issparse(y):
        return y

    def read() -> Any:
        _require_unmasked(y, "y")
        raw = np.asarray(y)
        if raw.dtype.kind == "U" and isinstance(y, list | tuple):
            raw = np.array(y, dtype=object)  # else one text makes texts of all numbers
            if all(isinstance(entry, str) for entry in raw.ravel().tolist()):
                return np.asarray(y)
        if raw.dtype.kind in "biufU":
            return raw
        entries = raw.ravel().tolist() if raw.dtype.kind == "O" else [None]
        if not all(isinstance(entry, str) for entry in entries) and not all(
            isinstance(entry, Real | np.bool_) for entry in entries
        ):
            raise TypeError
        return raw

    return unquoted(
        read,
        "y must hold one label for each row of X, all of them numbers or all of them texts. None,"
        " bytes, dates and other objects are no labels: leave such records out, if that is a public"
        " rule for every record, or give them a label of their own.",
        "y",
    )


def scored(
    metric: Callable[..., float], y: Any, predictions: Any, weights: Any, *, numbers: bool = False
) -> float:
    """A metric of scikit-learn at true labels or numbers, in whose errors none of them stands."""
    true = as_numbers(y) if numbers else as_labels(y)
    message = "y must hold one label for each row of X, and sample_weight one number, or be None."
    return float(
        unquoted(
            lambda: metric(
                true,
                predictions,
                sample_weight=None if weights is None else as_floats(weights, "sample_weight"),
            ),
            message,
            "y",
        )
    )


def require_classes(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
    """Refuse labels that no classifier takes, or that are of another kind than classes."""
    # Of many different labels scikit-learn warns, which depends on the records.
    with warnings.catch_warnings(action="ignore"):
        check_classification_targets(y)
    wrong = (
        "classes and labels must be of one kind, all numbers or all texts: the text '1' is not the"
        " number 1."
    )
    require_data(not len(y) or _are_texts(y) == _are_texts(classes), wrong, "y")


def _are_texts(labels: npt.NDArray[Any]) -> bool:
    return labels.dtype.kind == "U" or (labels.dtype.kind == "O" and isinstance(labels[0], str))


def _require_unmasked(values: Any, name: str) -> None:
    """Refuse masked entries, which conversions would take for what is stored under the mask."""
    rows = values if isinstance(values, list | tuple) else ()
    if np.ma.is_masked(values) or any(np.ma.is_masked(row) for row in rows):
        raise InvalidProblemError(
            f"{name} has masked entries. Fill them in by public numbers, or leave their records"
            " out, if that is a public rule for every record.",
            parameter=name,
        )


def _refuse_entries(X: Any) -> None:
    """Refuse records that hold anything but numbers; columns are named, entries are not."""
    _require_unmasked(X, "X")
    if sp.issparse(X):
        wrong = _COMPLEX if X.dtype.kind == "c" else _MALFORMED
        require_data(X.dtype.kind in "fiub", wrong, "X")
        return
    if not tables.is_table(X):
        columns = _columns_of_array(X)
        tables.refuse(((name, tables.fault_of(column)) for name, column in columns), "X")


def _columns_of_array(X: Any) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Columns of what may hold other things than numbers, with their positions, as in X_bounds."""
    raw = np.asarray(X)
    if raw.dtype.kind in "US" and not isinstance(X, np.ndarray):
        raw = np.array(X, dtype=object)  # else one text makes texts of all numbers
    if raw.dtype.kind == "c":
        raise InvalidProblemError(_COMPLEX, parameter="X")
    if raw.dtype.kind in "biuf" or raw.ndim > 2:
        return
    columns = [raw.ravel()] if raw.ndim < 2 else raw.T
    yield from ((str(k), column) for k, column in enumerate(columns))


def as_stored(X: Any) -> Any:
    """The entries of a sparse array in CSR, as they are stored; not copied if in CSR.

    SciPy's conversions sum duplicates in the caller's precision.
    """
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return X
    if X.format in ("csr", "csc"):
        _require_indices_in_range(X, X.shape[X.format == "csr"])
    if X.format in ("coo", "bsr"):
        X = X.tocoo()
        order = np.argsort(X.row, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(X.row, minlength=X.shape[0])))
        return sp.csr_array((X.data[order].astype(float), X.col[order], starts), shape=X.shape)
    X = X.tocsr()  # of the formats that are left, none is summed
    count = X.indptr[-1]
    data = X.data[:count]
    if data.dtype.itemsize > np.dtype(float).itemsize:
        data = data.astype(float)
    return sp.csr_array((data, X.indices[:count], X.indptr), shape=X.shape)


def _require_indices_in_range(X: Any, width: int) -> None:
    """Refuse a compressed array whose indices point beyond its `width` columns (rows in CSC)."""
    count = X.indptr[-1]
    indices = X.indices[:count]
    if (
        X.indptr[0] != 0
        or np.any(np.diff(X.indptr) < 0)
        or count > min(X.indices.size, X.data.size)
    ):
        raise ValueError
    if indices.size and not (indices.min() >= 0 and indices.max() < width):
        raise ValueError
