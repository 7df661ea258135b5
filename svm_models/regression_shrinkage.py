"""Outer quantiles drawn towards the median: released numbers alone, so nothing is charged."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def towards(
    points: FloatArray,
    variances: FloatArray,
    middle: FloatArray,
    of_middle: float,
    left_out: FloatArray,
) -> FloatArray:
    """Fits drawn towards one that has noise of its own, as far as noise explains the difference.

    If the true fits differ by nothing but a multiple of `left_out`, the best estimate weighs both
    by the inverse of their variances. How far each fit goes towards it is the positive part of the
    factor of James and Stein (1961): with normal noise of these variances in the same number of
    directions, the mean squared error is never larger than that of the fit alone.

    Parameters
    ----------
    points : (K, p) array
    variances : (K,) array
        Of the noise in each coordinate of each point.
    middle : (p,) array
    of_middle : float
        Variance of the noise in each coordinate of `middle`.
    left_out : (p,) array
        A direction in which points keep their places.

    Returns
    -------
    (K, p) array

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models.regression_shrinkage import towards
    >>> left_out = np.array([1.0, 0, 0, 0, 0])
    >>> near, far = np.array([5.0, 0.1, 0, 0, 0]), np.array([5.0, 100.0, 0, 0, 0])
    >>> towards(np.array([near, far]), np.ones(2), np.zeros(5), 0.0, left_out).round(2)
    array([[ 5.  ,  0.  ,  0.  ,  0.  ,  0.  ],
           [ 5.  , 99.98,  0.  ,  0.  ,  0.  ]])
    """
    unit = left_out / max(float(np.linalg.norm(left_out)), 1e-300)
    apart = points - middle
    apart = apart - np.outer(apart @ unit, unit)
    both = np.maximum(variances + of_middle, 1e-300)
    length = np.maximum(np.square(apart).sum(axis=1), 1e-300)
    directions = len(unit) - 1
    share = np.minimum(max(directions - 2, 0) * both / length, 1.0) * variances / both
    return np.asarray(points - share[:, None] * apart)
