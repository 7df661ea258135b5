"""Quadratic programs over a public polytope by Clarabel, and certificates of minima."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import clarabel
import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray

Result = TypeVar("Result")
_TOLERANCE = 1e-9
# Hessians are positive definite and need hardly any. Clarabel's own, 1e-8, hides how rows that are
# nearly parallel differ.
_REGULARISATION = 1e-12
_FEASIBLE = 1e-13
_WRONG_SIGN = 1e-9
_CHANGES_OF_FACE = 10
_DEPENDENT = 1e-10
_UNIT_ROUNDOFF = 2.0**-53
_UPWARDS = 1 + 1e-12  # Covers the rounding of the last few operations of a bound.


def minimum(
    hessian: FloatArray, gradient: FloatArray, rows: sp.csc_array, slack: FloatArray
) -> FloatArray:
    """The step of least gradient·step + step·hessian·step / 2 with rows @ step <= slack.

    Clarabel finds which rows are tight. Then systems of linear equations give the step to working
    precision: rows that it breaks are added to the tight ones, rows that push the wrong way are
    dropped. The result may break rows by rounding, or by Clarabel's tolerance. It is the step 0
    where a library gives up: an error would tell something about the function, which is private.
    """
    step = _if_found(lambda: _minimum(hessian, gradient, rows, slack))
    return np.zeros_like(gradient) if step is None or not np.isfinite(step).all() else step


def _if_found(compute: Callable[[], Result]) -> Result | None:
    """What a library computes, or None where it gives up."""
    try:
        return compute()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of Clarabel is no Exception
        return None


def _minimum(
    hessian: FloatArray, gradient: FloatArray, rows: sp.csc_array, slack: FloatArray
) -> FloatArray:
    """The step, as far as the libraries find it."""
    step, _, tight = _by_clarabel(hessian, gradient, rows, slack)
    wrong_sign = _WRONG_SIGN * _size(hessian, gradient)
    better = refined(hessian, gradient, rows, slack, tight, wrong_sign=wrong_sign)
    return step if better is None else better


def likely_tight(
    hessian: FloatArray, gradient: FloatArray, rows: sp.csc_array, slack: FloatArray
) -> list[int]:
    """Rows that may be tight at the step of :func:`minimum`, those of the largest prices first."""
    found = _if_found(lambda: _by_clarabel(hessian, gradient, rows, slack))
    if found is None:
        return []
    _, prices, tight = found
    return [row for row in np.argsort(-prices).tolist() if tight[row]]


def _size(hessian: FloatArray | sp.dia_array, gradient: FloatArray) -> float:
    """What Clarabel is to take for 1."""
    return max(float(np.abs(gradient).max()), float(hessian.diagonal().max()), 1e-300)


def nearest_step(
    way: FloatArray, rows: sp.csc_array, slack: FloatArray, equalities: int
) -> tuple[FloatArray, BoolArray]:
    """The step nearest to `way` with rows @ step <= slack, and which inequalities are tight."""
    eye = sp.eye_array(len(way))
    # Of sparse systems Clarabel's plain factors take a third of the time of its blocked ones.
    found = _if_found(lambda: _by_clarabel(eye, -way, rows, slack, equalities, factors="qdldl"))
    if found is None or not np.isfinite(found[0]).all():
        return np.zeros_like(way), np.zeros(len(slack) - equalities, dtype=bool)
    return found[0], found[2][equalities:]


def polished_step(
    way: FloatArray, rows: sp.csc_array, slack: FloatArray, tight: BoolArray
) -> FloatArray | None:
    """The step of :func:`nearest_step` to working precision, from guessed tight rows; or None."""
    wrong_sign = _WRONG_SIGN * max(float(np.abs(way).max()), 1.0)
    try:
        step = refined(np.eye(len(way)), -way, rows, slack, tight, wrong_sign=wrong_sign)
    except np.linalg.LinAlgError:
        return None
    return step if step is not None and np.isfinite(step).all() else None


def refined(
    hessian: FloatArray,
    gradient: FloatArray,
    rows: sp.csc_array,
    slack: FloatArray,
    tight: BoolArray,
    *,
    wrong_sign: float,
) -> FloatArray | None:
    """The step of :func:`minimum` to working precision, from a guess of its tight rows."""
    tight = tight.copy()
    for _ in range(_CHANGES_OF_FACE):
        polished, pushes = _on_face(hessian, gradient, rows[np.flatnonzero(tight)], slack[tight])
        broken = ~tight & (rows @ polished > slack + _FEASIBLE)
        wrong = pushes < -wrong_sign
        if not broken.any() and not wrong.any():
            return polished
        tight[np.flatnonzero(tight)[wrong]] = False
        tight |= broken
    return None


def _by_clarabel(
    hessian: FloatArray | sp.dia_array,
    gradient: FloatArray,
    rows: sp.csc_array,
    slack: FloatArray,
    equalities: int = 0,
    factors: str = "auto",
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The step, the rows' prices, and whether they seem tight; the first rows are equalities."""
    size = _size(hessian, gradient)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    settings.static_regularization_constant = _REGULARISATION
    settings.max_threads, settings.direct_solve_method = 1, factors
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(sp.csc_matrix(hessian / size))),
        gradient / size,
        sp.csc_matrix(rows),
        slack,
        [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(len(slack) - equalities)],
        settings,
    ).solve()
    step, prices = np.array(solution.x), np.array(solution.z)
    return step, prices, prices > np.maximum(slack - rows @ step, 0.0)


def _on_face(
    hessian: FloatArray, gradient: FloatArray, tight: sp.csc_array, slack: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The minimum where the given rows are equalities, and how hard they push."""
    if not len(slack):
        return np.asarray(np.linalg.solve(hessian, -gradient)), np.zeros(0)
    u, values, v = np.linalg.svd(tight.toarray())
    rank = int(np.count_nonzero(values > _DEPENDENT * values[0]))
    across, along = v[:rank].T / values[:rank], v[rank:].T
    step = across @ (u[:, :rank].T @ slack)
    slope = along.T @ (gradient + hessian @ step)
    step -= along @ np.linalg.solve(along.T @ hessian @ along, slope)
    return step, -(u[:, :rank] @ (across.T @ (gradient + hessian @ step)))


def fitted_prices(rows: sp.csr_array, gradient: FloatArray) -> FloatArray:
    """Non-negative prices with which rows nearly cancel the gradient; 0 if none are found."""
    if not rows.shape[0]:
        return np.zeros(0)
    from scipy.optimize import nnls  # noqa: PLC0415 (slow to load)

    try:
        prices, _ = nnls(rows.toarray().T, -gradient, maxiter=30 * max(rows.shape))
    except (RuntimeError, ValueError, np.linalg.LinAlgError):
        return np.zeros(rows.shape[0])
    return np.asarray(np.maximum(np.nan_to_num(prices), 0.0))


def distance_to_minimum(
    gradient: FloatArray, rows: sp.csr_array, slack: FloatArray, prices: FloatArray, strength: float
) -> float:
    """Bound on the distance of a point to the minimum of a strongly convex function.

    Let the gradient of the function at the point w be r - rows^T prices, with prices >= 0, and let
    c be prices·slack, with slack >= 0. For the minimum u*, strong convexity gives strength |w -
    u*|^2 <= r·(w - u*) + c. So the distance is at most (|r| + sqrt(|r|^2 + 4 strength c)) / (2
    strength), for any non-negative prices. The rounding of r is added to |r|.
    """
    face = rows.toarray()
    rest = gradient + face.T @ prices
    terms = np.abs(gradient) + np.abs(face.T) @ prices
    terms_of_a_sum = 1 + int(np.count_nonzero(prices))
    rounding = 2 * (terms_of_a_sum + 4) * _UNIT_ROUNDOFF * float(np.linalg.norm(terms))
    norm = float(np.linalg.norm(rest)) + rounding
    gap = float(prices @ slack)
    return (norm + float(np.sqrt(norm**2 + 4 * strength * gap))) / (2 * strength) * _UPWARDS


def where_flat(
    slope: Callable[[float], float],
    at_low: float,
    at_high: float,
    enough: float,
    uphill: float,
    halvings: int,
) -> float:
    """A length at which a rising slope is between -enough and uphill; else the last low."""
    low, high = 0.0, 1.0
    for k in range(halvings):
        secant = low + (high - low) * at_low / (at_low - at_high)
        middle = secant if k % 3 else 0.5 * (low + high)
        found = slope(middle)
        if -enough <= found <= uphill:
            return middle
        if found <= 0:
            low, at_low = middle, found
        else:
            high, at_high = middle, found
    return low or high
