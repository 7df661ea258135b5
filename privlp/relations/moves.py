"""Kinds of records: how far a record of each kind moves the private right-hand sides."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, as_floats, frozen, real_dtype, require


def kinds(moves: Any) -> sp.csr_array:
    """How far records of each kind move the numbers, (n, k), read-only."""
    sparse = sp.issparse(moves)
    given = moves if sparse else as_floats(moves, "moves")
    require(given.ndim == 2, f"moves must be a matrix (n, k); got shape {given.shape}.", "moves")
    kind = real_dtype(given.dtype, "moves")
    found = sp.csr_array(given, dtype=kind, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    right = (np.isfinite(found.data) & (found.data >= 0)).all() and found.nnz > 0
    require(right, "moves must hold finite numbers from 0, not all of them 0.", "moves")
    for part in (found.data, found.indices, found.indptr):
        frozen(part)
    return found


def up_to(total: float, most: FloatArray, rng: np.random.Generator) -> FloatArray:
    """As much of each entry as the sum allows, the largest first or in any order, (m,)."""
    if most.sum() <= total:
        return most
    order = rng.permutation(len(most))
    if rng.random() < 0.5:
        order = order[np.argsort(-most[order])]
    before = np.cumsum(most[order]) - most[order]
    steps = np.zeros(len(most))
    steps[order] = np.clip((1 - 2.0**-40) * total - before, 0.0, most[order])
    return steps


def digest(matrix: sp.csr_array) -> str:
    """Of a sparse matrix without duplicates and zeros: equal matrices have equal ones."""
    parts = (matrix.shape, matrix.indptr, matrix.indices)
    whole = b"".join(np.asarray(part, dtype=np.int64).tobytes() for part in parts)
    return hashlib.sha256(whole + matrix.data.tobytes()).hexdigest()
