"""The two public data sets, ready for a support vector machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import require, require_one_of, whole
from svm_models.datasets.simulations import RandomState, generator
from svm_models.datasets.sources import (
    ADULT,
    KDDCUP99,
    DataHome,
    Records,
    Schema,
    optional,
    read_adult,
    read_kddcup99,
)

Matrix = npt.NDArray[np.float64]

_DESCRIPTIONS = {
    "Adult": """\
Adult (census income): 45,222 persons without missing values, of 48,842 in the US \
census data of 1994. Label 1: income above
50,000 dollars a year (24.78 %).

B. Becker and R. Kohavi (1996). Adult. UCI Machine Learning Repository. \
https://doi.org/10.24432/C5XW20.
Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).""",
    "KDD Cup 1999": """\
KDD Cup 1999, the "10 percent" file: 494,021 network connections. Label 1: normal \
(19.69 %); label -1: an attack.

S. Hettich and S. D. Bay (1999). The UCI KDD Archive. University of California, Irvine, \
Department of Information and
Computer Science. https://doi.org/10.24432/C51C7N.
Licence: Creative Commons Attribution 4.0 International (CC BY 4.0).""",
}


def fetch_adult(
    *, preprocessing: str = "thesis", return_X_y: bool = False, data_home: DataHome = None
) -> Any:
    """Adult: who earns more than 50,000 dollars a year (Becker and Kohavi 1996).

    Records with missing values are left out, which leaves 45,222 of 48,842; 24.78 % have label 1.
    They are sorted by their raw values, so that they come in the same order from every source.

    The files ``adult.data`` and ``adult.test``, plain or with ``.gz``, are read from the folder
    that the environment variable ``PRIVLP_DATA`` names. If it is not set, scikit-learn downloads
    version 2 of "adult" from OpenML, once, into its cache.

    Parameters
    ----------
    preprocessing : {"thesis", "unit", "public"}
        How a record becomes a row. Every category becomes a column in {0, 1}, and every row is
        divided by its Euclidean norm at the end. They differ in the numeric columns before that,
        and in the categories:

        - "thesis": minimum to -1 and maximum to 1, a constant column to 0; categories that occur.
          104 columns.
        - "unit": divided by the largest absolute value (Sarwate, Chaudhuri and Monteleoni 2009);
          categories that occur. 104 columns.
        - "public": declared ranges to [-1, 1], values outside clipped; counts without a natural end
          (of seconds, bytes, events) as log(1 + value); documented categories, all zeros for any
          other. 105 columns: one category does not occur.

        "thesis" and "unit" read the ranges, and which categories occur, from the private records:
        one record can change all rows. With "public" a row depends on its own record only, so only
        "public" belongs into a private pipeline.
    return_X_y : bool
        True to return ``(data, target)`` alone.
    data_home : str or path-like, optional
        Where scikit-learn keeps its cache, if not in its usual place. Not used with
        ``PRIVLP_DATA``.

    Returns
    -------
    sklearn.utils.Bunch, or tuple of two arrays
        ``data`` of shape (45222, p), ``target`` in {-1, 1} of shape (45222,), ``feature_names``
        (for example "age" and "sex=Female"), ``target_names`` of -1 and 1, ``DESCR`` with citation
        and licence, ``preprocessing``.

    Raises
    ------
    ReadError
        If the files are absent or malformed, or the download fails.

    Examples
    --------
    >>> from svm_models.datasets import fetch_adult
    >>> X, y = fetch_adult(preprocessing="public", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (45222, 105)
    """
    require_one_of(preprocessing, "preprocessing", _SCALINGS)
    return _delivered(read_adult(data_home).complete(), ADULT, preprocessing, return_X_y)


def fetch_kddcup99(
    n: int | None = None,
    random_state: RandomState = 0,
    *,
    preprocessing: str = "thesis",
    return_X_y: bool = False,
    data_home: DataHome = None,
) -> Any:
    """KDD Cup 1999, the "10 percent" file: normal network connections, and attacks.

    From Hettich and Bay (1999): 494,021 records in the order of the file; 19.69 % are normal and
    have label 1. All of them take 470 MB.

    The file ``kddcup.data_10_percent``, plain or with ``.gz``, is read from the folder that the
    environment variable ``PRIVLP_DATA`` names. If it is not set, scikit-learn downloads it, once,
    into its cache.

    Parameters
    ----------
    n : int, optional
        Size of a random subsample without replacement, in the order of the file. All records by
        default.
    random_state : None, int or numpy.random.Generator
        Where the subsample comes from.
    preprocessing : {"thesis", "unit", "public"}
        As for :func:`fetch_adult`. "thesis" and "unit" give 118 columns for all records, 38 of
        them numeric, of which two are constant; a subsample may give fewer, as its ranges and
        categories are its own. "public" always gives 122.
    return_X_y, data_home
        As for :func:`fetch_adult`, and so is what is returned.

    Examples
    --------
    >>> from svm_models.datasets import fetch_kddcup99
    >>> X, y = fetch_kddcup99(n=10_000, preprocessing="public", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (10000, 122)
    """
    require_one_of(preprocessing, "preprocessing", _SCALINGS)
    rng = generator(random_state)
    if n is not None:
        n = whole(n, "n")
    records = read_kddcup99(data_home)
    if n is not None:
        wrong = f"n must be at most {len(records)}, the number of records, got {n}."
        require(not n > len(records), wrong, "n")
        records = records.take(np.sort(rng.choice(len(records), n, replace=False)))
    return _delivered(records, KDDCUP99, preprocessing, return_X_y)


def _delivered(records: Records, schema: Schema, preprocessing: str, return_X_y: bool) -> Any:
    X, names = _encode(records, schema, preprocessing)
    if return_X_y:
        return X, records.target
    return optional("sklearn.utils").Bunch(
        data=X,
        target=records.target,
        feature_names=names,
        target_names=list(schema.target_names),
        DESCR=_DESCRIPTIONS[schema.title],
        preprocessing=preprocessing,
    )


def _encode(records: Records, schema: Schema, preprocessing: str) -> tuple[Matrix, list[str]]:
    """Records as rows of norm 1; with "public", each depends on its own record only."""
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
