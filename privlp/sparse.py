"""Sparse matrices, made and put together faster than by SciPy, whose errors would quote them."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray


def as_sparse(A: Any, layout: Any = sp.csr_array) -> Any:
    """A as a sparse array, by its places: SciPy's own conversion quotes A in an error."""
    if sp.issparse(A):
        return layout(A)
    where = np.nonzero(A)
    return layout((A[where], where), shape=A.shape)


def csr_of(
    data: npt.NDArray[Any],
    places: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    shape: Any,
    form: Any = sp.csr_array,
) -> Any:
    """A matrix of these arrays themselves; SciPy would check them, and copy parts of others."""
    found = copy(_empty(form, tuple(shape)))
    found.data, found.indices, found.indptr = data, places, starts
    return found


@lru_cache(maxsize=256)
def _empty(form: Any, shape: tuple[int, int]) -> Any:
    """A matrix that waits for its arrays: SciPy takes longer for one than a copy takes."""
    found = form(shape)
    found.indptr = found.indices  # as long as there are rows
    return found


def stacked(*blocks: sp.csr_array) -> sp.csr_array:
    """Rows, one block below the other."""
    filled = [block for block in blocks if block.shape[0]] or [*blocks[:1]]
    if len(filled) == 1:
        return filled[0]
    before = np.cumsum([0, *(block.nnz for block in filled)]).tolist()  # no wider than they are
    ends = [block.indptr[1:] + nnz for block, nnz in zip(filled, before, strict=False)]
    indptr = np.concatenate([filled[0].indptr[:1], *ends])
    data, indices = (
        np.concatenate([getattr(block, part) for block in filled]) for part in ("data", "indices")
    )
    return csr_of(data, indices, indptr, (len(indptr) - 1, blocks[0].shape[1]))


def row_of(values: FloatArray) -> sp.csr_array:
    """One row."""
    places = np.flatnonzero(values).astype(np.int32)
    starts = np.array([0, len(places)], dtype=np.int32)
    return csr_of(values[places], places, starts, (1, len(values)))


def identity_rows(size: int) -> sp.csr_array:
    """The rows of the identity."""
    places = np.arange(size + 1, dtype=np.int32)
    return csr_of(np.ones(size), places[:-1], places, (size, size))


def rows_where(A: sp.csr_array, chosen: BoolArray) -> sp.csr_array:
    """Some of the rows."""
    if chosen.all():
        return A
    lengths = np.diff(A.indptr)
    own = np.repeat(chosen, lengths)
    starts = np.append(A.indptr[:1], np.cumsum(lengths[chosen], dtype=A.indptr.dtype))
    return csr_of(A.data[own], A.indices[own], starts, (len(starts) - 1, A.shape[1]))


def times(A: sp.csr_array, factors: FloatArray | float) -> sp.csr_array:
    """Each entry times its factor; zeros are left out."""
    product = csr_of(A.data * factors, A.indices, A.indptr, A.shape)
    if not product.data.all():
        product = product.copy()
        product.eliminate_zeros()
    return product


def norms_of_rows(A: sp.csr_array) -> FloatArray:
    """Their Euclidean norms."""
    squares, filled = np.zeros(A.shape[0]), np.flatnonzero(np.diff(A.indptr))
    if filled.size:
        squares[filled] = np.add.reduceat(A.data * A.data, A.indptr[filled])
    return np.sqrt(squares)
