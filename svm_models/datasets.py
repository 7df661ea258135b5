"""Data sets to measure private classifiers on: two public ones, and three simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from privlp.checks import FloatArray, IntArray, optional, real, require, require_one_of, whole
from privlp.errors import InvalidParameterError
from svm_models.data_sources import (
    ADULT,
    KDDCUP99,
    NEED,
    DataHome,
    Records,
    Schema,
    read_adult,
    read_kddcup99,
)


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
    return optional("sklearn.utils", NEED).Bunch(
        data=X,
        target=records.target,
        feature_names=names,
        target_names=list(schema.target_names),
        DESCR=schema.description,
        preprocessing=preprocessing,
    )


def _encode(records: Records, schema: Schema, preprocessing: str) -> tuple[FloatArray, list[str]]:
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


def _thesis(numbers: FloatArray, schema: Schema, out: FloatArray) -> None:  # noqa: ARG001
    """Minimum to -1 and maximum to 1; a constant column to 0."""
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    _to_plus_minus_one(numbers, low, high, out)
    out[:, low == high] = 0.0


def _unit(numbers: FloatArray, schema: Schema, out: FloatArray) -> None:  # noqa: ARG001
    """Each column divided by its largest absolute value; a column of zeros left alone."""
    largest = np.maximum(np.abs(numbers.min(axis=0)), np.abs(numbers.max(axis=0)))
    np.divide(numbers, np.where(largest > 0.0, largest, 1.0), out=out)


def _public(numbers: FloatArray, schema: Schema, out: FloatArray) -> None:
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


def _to_plus_minus_one(
    numbers: FloatArray, low: FloatArray, high: FloatArray, out: FloatArray
) -> None:
    np.subtract(numbers, low, out=out)
    out *= 2.0
    out /= np.where(high > low, high - low, 1.0)
    out -= 1.0


_SCALINGS: dict[str, Callable[[FloatArray, Schema, FloatArray], None]] = {
    "thesis": _thesis,
    "unit": _unit,
    "public": _public,
}


RandomState = None | int | np.random.Generator
Sample = tuple[FloatArray, IntArray]


def make_nested_balls(n: int, *, random_state: RandomState = None) -> Sample:
    """A ball of one class inside an annulus of the other, in five dimensions.

    From Sarwate, Chaudhuri and Monteleoni (2009). With probability 0.45 a record is uniform in the
    ball of radius 0.1 and has label 1; with 0.45 it is uniform between the radii 0.2 and 0.5 and
    has label -1; with 0.1 it is uniform between 0.1 and 0.2 and either label is equally probable.
    No hyperplane separates the classes; a sphere comes close.

    Parameters
    ----------
    n : int
        Number of records.
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    X : array, shape (n, 5)
    y : array of int, shape (n,)
        Labels, -1 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.datasets import make_nested_balls
    >>> X, y = make_nested_balls(1000, random_state=0)
    >>> X.shape, bool(np.linalg.norm(X, axis=1).max() <= 0.5)
    ((1000, 5), True)
    """
    n, rng = whole(n, "n"), generator(random_state)
    region = rng.choice(3, size=n, p=[0.45, 0.1, 0.45])
    inner, outer = np.array([0.0, 0.1, 0.2])[region], np.array([0.1, 0.2, 0.5])[region]
    # The volume within a radius r is as r^5.
    radius = (inner**5 + rng.random(n) * (outer**5 - inner**5)) ** (1 / 5)
    y = np.where(region == 1, rng.choice([-1, 1], size=n), np.where(region == 0, 1, -1))
    return radius[:, None] * _on_sphere(rng, n, 5), y


def make_separable_sphere(
    n: int, *, n_features: int = 10, margin: float = 0.03, random_state: RandomState = None
) -> Sample:
    """Two classes on the unit sphere with a gap between them (Chaudhuri and Monteleoni 2008).

    Records are uniform on that part of the unit sphere which is at least `margin` from a hyperplane
    through the origin; the label is the side. The hyperplane is random: its unit normal is drawn
    first, uniformly.

    Parameters
    ----------
    n : int
        Number of records.
    n_features : int
        Dimension, at least 2.
    margin : float
        Distance between the hyperplane and the nearest possible record, in [0, 1).
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    X : array, shape (n, n_features)
        Records, of norm 1.
    y : array of int, shape (n,)
        Labels, -1 or 1.

    Examples
    --------
    >>> from privlp import solve_exact
    >>> from svm_models import hard_margin_lp
    >>> from svm_models.datasets import make_separable_sphere
    >>> X, y = make_separable_sphere(200, n_features=4, margin=0.1, random_state=0)
    >>> solve_exact(hard_margin_lp(X, y)).success
    True
    """
    n, d, rng = whole(n, "n"), whole(n_features, "n_features", least=2), generator(random_state)
    margin = real(margin, "margin")
    wrong = f"margin must lie in [0, 1): the sphere has radius 1. Got {margin}."
    require(0.0 <= margin < 1.0, wrong, "margin")
    # The squared distance to the hyperplane of a uniform point of the sphere is Beta(1/2, (d -
    # 1)/2); here, its tail.
    shape = (0.5, (d - 1) / 2)
    mass = special.betaincc(*shape, margin**2)
    wrong = f"margin {margin} leaves nothing of the sphere in {d} dimensions. Take a smaller one."
    require(mass > 0.0, wrong, "margin")
    normal = _on_sphere(rng, 1, d)[0]
    y = rng.choice([-1, 1], size=n)
    squared = np.maximum(special.betainccinv(*shape, mass * (1.0 - rng.random(n))), margin**2)
    along = _on_sphere(rng, n, d)
    along -= np.outer(along @ normal, normal)  # once scaled, uniform within the hyperplane
    along *= (np.sqrt(1.0 - squared) / np.linalg.norm(along, axis=1))[:, None]
    return np.outer(y * np.sqrt(squared), normal) + along, y


def make_unseparable_ball(
    n: int,
    *,
    n_features: int = 10,
    noise: float = 0.2,
    margin: float = 0.1,
    random_state: RandomState = None,
) -> Sample:
    """Two classes on the surface of the unit ball, mixed near the border.

    From Chaudhuri and Monteleoni (2008). Records are uniform on the unit sphere; the label is the
    side of a hyperplane through the origin, and within `margin` of it the other side with
    probability `noise`. The hyperplane is random: its unit normal is drawn first, uniformly.

    Parameters
    ----------
    noise : float
        Probability of the wrong label near the hyperplane, in [0, 1].
    margin : float
        Distance within which labels may be wrong, in [0, 1].
    n, n_features, random_state
        As for :func:`make_separable_sphere`, and so is what is returned.

    Examples
    --------
    >>> from svm_models.datasets import make_unseparable_ball
    >>> X, y = make_unseparable_ball(1000, n_features=3, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 3), [-1, 1])
    """
    n, d, rng = whole(n, "n"), whole(n_features, "n_features", least=2), generator(random_state)
    noise, margin = _fraction(noise, "noise"), _fraction(margin, "margin")
    normal = _on_sphere(rng, 1, d)[0]
    X = _on_sphere(rng, n, d)
    distance = X @ normal
    wrong = (np.abs(distance) <= margin) & (rng.random(n) < noise)
    return X, np.where((distance >= 0.0) != wrong, 1, -1)


def _on_sphere(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    """Points uniform on the unit sphere of R^d, one per row."""
    points = rng.standard_normal((n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points


def _fraction(value: Any, name: str) -> float:
    number = real(value, name)
    wrong = f"{name} must lie between 0 and 1, got {number}."
    require(0.0 <= number <= 1.0, wrong, name)
    return number


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator itself, or NumPy's default one with that seed."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    is_whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if is_whole and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise InvalidParameterError(
        "random_state must be None, a non-negative int or a numpy.random.Generator, not"
        f" {type(random_state).__name__}.",
        parameter="random_state",
    )
