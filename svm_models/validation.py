"""Read records and labels without quoting them in an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from privlp import InvalidProblemError
from privlp.float_errors import unnoticed

#: Beginnings of messages that may go on to quote records, and what to do.
_QUOTING = {
    "Complex data not supported": "Give real numbers.",
    "Expected 2D array, got 1D array instead": (
        "Reshape your data by X.reshape(-1, 1) (one feature) or X.reshape(1, -1)."
    ),
    "Expected 2D array, got": "X must have shape (n, p).",
    "could not convert string to float": "Encode categories as numbers first.",
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
    "dtype='numeric' is not compatible",
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


def validated(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    count_is_private: bool = False,
    **options: Any,
) -> Any:
    """Check as scikit-learn's ``validate_data`` does, whose messages may quote records.

    Only messages that are known to be harmless pass. Where the number of records is private, none
    tells it, and there may be no record.
    """
    quoting = _QUOTING
    if count_is_private:
        quoting, options = _QUOTING | _COUNTING, {"ensure_min_samples": 0, **options}
    try:
        # Its sum of all entries may overflow, which depends on the records.
        with unnoticed():
            X = as_stored(X) if sp.issparse(X) else X
            return validate_data(estimator, X, y, accept_sparse="csr", **options)
    except (ValueError, TypeError, OverflowError) as raised:
        error, message = type(raised), str(raised)
    for beginning, cure in quoting.items():
        if message.startswith(beginning):
            raise InvalidProblemError(f"{beginning}. {cure}")
    if not message.startswith(_SAFE):
        raise InvalidProblemError(
            "X must hold real numbers in shape (n, p), and y one label for each row of X.",
            parameter="X",
        )
    raise (TypeError if issubclass(error, TypeError) else ValueError)(message)


def as_stored(X: Any) -> Any:
    """The entries of a sparse array in CSR, as they are stored.

    An array of anything but real numbers is returned as it is. What is in CSR is not copied.

    SciPy's own conversions sum duplicate entries in the caller's precision, where a sum may
    overflow. Indices out of range are refused, because products would read other memory.
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
