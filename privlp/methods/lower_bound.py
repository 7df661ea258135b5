"""Rows that every private method misses on average.

Proof: ``docs/proofs.md``, "What no private method can do".
"""

from __future__ import annotations

import numpy as np

# Of so many records and more that a coordinate may rest on, a factor e^(-m eps) leaves nothing.
_MOST_EXPONENT = 40.0


def least_missed(
    d: int, n: int, eps: float, delta: float, *, excess: float = 0.0, rows_of_one_record: int = 1
) -> float:
    """Expected rows that a private method misses at least, on some program of this size.

    The program is "minimise sum_j x_j, x >= 0" under n rows x_j >= 1 or 0 >= 0: each of d
    coordinates is needed with probability 1/2, and then m records own rows that say so.

    Parameters
    ----------
    d, n : int
        Variables and private rows.
    eps, delta : float
        Of the method; a record is replaced, added or removed.
    excess : float, optional
        By what share of the expected optimum its expected cost may exceed it.
    rows_of_one_record : int, optional
        Rows that one record may own.
    """
    most = min(n // rows_of_one_record, int(_MOST_EXPONENT / eps) + 1)
    if most < 1 or eps > _MOST_EXPONENT:
        return 0.0
    m = np.unique(np.geomspace(1, most, 2000).astype(int)).astype(float)
    needed = np.minimum(d, n // (rows_of_one_record * m))  # all rows must have room
    all_m = delta * np.expm1(m * eps) / np.expm1(eps)
    u = np.maximum(1 - excess - all_m, 0) / (1 + np.exp(m * eps))
    return float((needed / 2 * rows_of_one_record * m * u).max())
