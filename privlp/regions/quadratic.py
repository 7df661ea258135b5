"""Quadratic programs over a public polytope by Clarabel, and certificates of minima."""

from __future__ import annotations

import clarabel
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import nnls

FloatArray = npt.NDArray[np.float64]

_TOLERANCE = 1e-9
# A row with less slack than this touches the polytope's boundary, in units of the region.
_TOUCHING = 1e-9
_FEASIBLE = 1e-13
_WRONG_SIGN = 1e-9
_CHANGES_OF_FACE = 10


def minimum(
    hessian: FloatArray, gradient: FloatArray, rows: sp.csc_array, slack: FloatArray
) -> FloatArray:
    """The step of least gradient·step + step·hessian·step / 2 with rows @ step <= slack.

    Clarabel finds which rows are tight. Then systems of linear equations give the step to working
    precision: rows that it breaks are added to the tight ones, rows that push the wrong way are
    dropped. The result may break rows by rounding, or by Clarabel's tolerance.

    Parameters
    ----------
    hessian : (p, p)
        Positive definite.
    gradient : (p,)
    rows : (m, p)
    slack : (m,)
        Non-negative: the step 0 is feasible.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    settings.max_threads = 1
    size = max(float(np.abs(gradient).max()), float(hessian.diagonal().max()), 1e-300)
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(sp.csc_matrix(hessian / size))),
        gradient / size,
        sp.csc_matrix(rows),
        slack,
        [clarabel.NonnegativeConeT(len(slack))],
        settings,
    ).solve()
    step, prices = np.array(solution.x), np.array(solution.z)
    tight = prices > np.maximum(slack - rows @ step, 0.0)
    for _ in range(_CHANGES_OF_FACE):
        polished, pushes = _on_face(hessian, gradient, rows[np.flatnonzero(tight)], slack[tight])
        broken = ~tight & (rows @ polished > slack + _FEASIBLE)
        wrong = pushes < -_WRONG_SIGN * size
        if not broken.any() and not wrong.any():
            return polished
        tight[np.flatnonzero(tight)[wrong]] = False
        tight |= broken
    return step if np.isfinite(step).all() else np.zeros_like(gradient)


def _on_face(
    hessian: FloatArray, gradient: FloatArray, tight: sp.csc_array, slack: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The minimum where the given rows are equalities, and how hard they push."""
    p, m = len(gradient), len(slack)
    if m == 0:
        return np.asarray(np.linalg.solve(hessian, -gradient)), np.zeros(0)
    face = tight.toarray()
    scale = float(hessian.diagonal().max())
    whole = np.block([[hessian / scale, face.T], [face, np.zeros((m, m))]])
    right = np.concatenate([-gradient / scale, slack])
    found = np.linalg.lstsq(whole, right, rcond=None)[0]
    return found[:p], found[p:] * scale


def distance_to_minimum(
    gradient: FloatArray, rows: sp.csc_array, slack: FloatArray, strength: float
) -> float:
    """Bound on the distance of a feasible point to the minimum of a strongly convex function.

    Let the gradient of the function at the point be r - rows^T prices, with prices >= 0, and let c
    be prices·slack. For the minimum u*, strong convexity gives strength |w - u*|^2 <=
    r·(w - u*) + c. So the distance is at most (|r| + sqrt(|r|^2 + 4 strength c)) / (2 strength).
    Any non-negative prices will do: those of the tight rows are fitted by least squares.
    """
    tight = np.flatnonzero(slack <= _TOUCHING)
    prices = np.zeros(0)
    rest = gradient
    if len(tight):
        face = rows[tight].toarray()
        prices, _ = nnls(face.T, -gradient, maxiter=30 * max(face.shape))
        rest = gradient + face.T @ prices
    norm = float(np.linalg.norm(rest))
    gap = float(prices @ np.maximum(slack[tight], 0.0))
    return (norm + float(np.sqrt(norm**2 + 4 * strength * gap))) / (2 * strength)
