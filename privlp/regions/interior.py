"""Points inside a polytope, by HiGHS and by Newton's method, and rows that leave no room."""

from __future__ import annotations

import math

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import UnsupportedProblemError
from privlp.problem.highs_model import optimum
from privlp.regions.public_rows import CONTRADICTION

FloatArray = npt.NDArray[np.float64]

#: Less slack than this, in units of the ranges, and a row counts as an equality.
FLAT = 1e-7
# A row with more slack than the first number is not flat. Slack beyond the second counts for
# nothing in the search for such rows, so that few linear programs find all of them.
_SLACK, _ENOUGH = 10 * FLAT, 20 * FLAT
_MOST_CENTRED, _CENTRING_STEPS, _CENTRED = 400, 30, 1e-3
_OPTIMAL = highspy.HighsModelStatus.kOptimal


def point_inside(
    rows: sp.csr_array, sides: FloatArray, E: sp.csr_array, e: FloatArray
) -> tuple[FloatArray, float]:
    """A point far from all rows, and its least slack in units of the rows' norms."""
    d = rows.shape[1]
    norms = np.sqrt(rows.multiply(rows).sum(axis=1))
    if not E.shape[0]:
        for guess in (np.full(d, 0.5), np.full(d, 0.5 / d), np.full(d, 1e-3 / d)):
            least = float(np.min((sides - rows @ guess) / norms, initial=1.0))
            if least > FLAT:
                return guess, least
    everything = sp.csr_array(
        sp.vstack([sp.hstack([rows, norms[:, None]]), sp.hstack([E, np.zeros((E.shape[0], 1))])])
    )
    lower = np.concatenate([np.full(len(sides), -np.inf), e])
    cost = np.append(np.zeros(d), -1.0)
    bounds = np.tile([-np.inf, np.inf], (d + 1, 1))
    bounds[-1] = -1.0, 1.0
    status, found = optimum(cost, everything, lower, np.concatenate([sides, e]), bounds)
    if status != _OPTIMAL or found[-1] < -FLAT:
        raise UnsupportedProblemError(CONTRADICTION)
    u = found[:-1]
    if E.shape[0]:  # to working precision
        dense = E.toarray()
        u = u - np.linalg.lstsq(dense, dense @ u - e, rcond=None)[0]
    return u, float(np.min((sides - rows @ u) / norms, initial=1.0))


def flat_rows(
    rows: sp.csr_array, sides: FloatArray, E: sp.csr_array, e: FloatArray
) -> npt.NDArray[np.bool_]:
    """The rows in which no point has slack."""
    m, d = rows.shape
    flat = np.ones(m, dtype=bool)
    while flat.any():
        own = np.flatnonzero(flat)
        slack = sp.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(m, len(own)))
        everything = sp.csr_array(
            sp.vstack(
                [sp.hstack([rows, slack]), sp.hstack([E, sp.csr_array((E.shape[0], len(own)))])]
            )
        )
        lower = np.concatenate([np.full(m, -np.inf), e])
        bounds = np.vstack(
            [np.tile([-np.inf, np.inf], (d, 1)), np.tile([0.0, _ENOUGH], (len(own), 1))]
        )
        cost = np.concatenate([np.zeros(d), -np.ones(len(own))])
        status, found = optimum(cost, everything, lower, np.concatenate([sides, e]), bounds)
        free = own[found[d:] > _SLACK] if status == _OPTIMAL else own[:0]
        if not free.size:
            return flat
        flat[free] = False
    return flat


def central_point(rows: sp.csc_array, sides: FloatArray, inside: FloatArray) -> FloatArray:
    """A point near the analytic centre, from one with slack in each row.

    A point that HiGHS finds is often at an end of what it may be. Newton's method maximises the sum
    of the logarithms of all slacks; in many coordinates the given point will do.
    """
    if len(inside) > _MOST_CENTRED:
        return inside
    dense, z = rows.toarray(), inside
    for _ in range(_CENTRING_STEPS):
        inverse = 1 / (sides - dense @ z)
        gradient, scaled = dense.T @ inverse, dense * inverse[:, None]
        step = -np.linalg.lstsq(scaled.T @ scaled, gradient, rcond=None)[0]
        decrement = math.sqrt(max(0.0, -float(gradient @ step)))
        if not math.isfinite(decrement) or decrement < _CENTRED:
            break
        z = z + step / (1 + decrement)
    return z if np.isfinite(z).all() and (sides - dense @ z > 0).all() else inside
