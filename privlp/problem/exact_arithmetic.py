"""Whether rows hold in exact arithmetic.

Floating point decides where its error bound allows; whole numbers decide the rest: every double is
a whole multiple of a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_sparse

FloatArray = npt.NDArray[np.float64]


def violated(A: Any, x: FloatArray, rhs: FloatArray) -> npt.NDArray[np.bool_]:
    """Which rows of A x <= rhs fail, each double taken as the exact number that it is."""
    rows = as_sparse(A)
    total, size = rows @ x, abs(rows) @ np.abs(x)
    # A sum of k products in any order has at most k + 1 roundings of each; the last product here
    # has one more. The bound is doubled.
    error = (
        2.0**-52 * (rows.shape[1] + 4) * (size + np.where(np.isfinite(rhs), np.abs(rhs), 0.0))
        + 1e-290
    )
    fails = total - error > rhs
    for i in np.flatnonzero(~fails & ~(total + error <= rhs)).tolist():
        fails[i] = _exceeds(rows, i, x, float(rhs[i]))
    return fails


def _exceeds(rows: sp.csr_array, i: int, x: FloatArray, rhs: float) -> bool:
    """Whether row i of A x exceeds its right-hand side, in whole multiples of a power of two."""
    span = slice(rows.indptr[i], rows.indptr[i + 1])
    terms = []
    for a, b in zip(rows.data[span].tolist(), x[rows.indices[span]].tolist(), strict=True):
        (top, unit), (x_top, x_unit) = a.as_integer_ratio(), b.as_integer_ratio()
        terms.append((top * x_top, unit.bit_length() + x_unit.bit_length()))
    end, unit = rhs.as_integer_ratio()
    terms.append((-end, unit.bit_length() + 1))
    finest = max(bits for _, bits in terms)
    return sum(whole << (finest - bits) for whole, bits in terms) > 0
