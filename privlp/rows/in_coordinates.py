"""Private rows in the coordinates of a public polytope, each with a smoothed price of violation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.standard_form import row_by_row, rows_times
from privlp.regions.polytope import ReducedPolytope
from privlp.rows.grid import bits_of
from privlp.rows.on_simplex import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM
from privlp.rows.parts import csr_of, rows_of, slices
from privlp.rows.program_rows import RowBlock
from privlp.rows.smoothed import (
    BITS_OF_ENTRIES,
    Integers,
    SmoothedRows,
    exact_weighted_sum,
    on_grid,
    spread,
)

# Norms are computed within this share, and this number of units in the last place for each entry.
_NORMS_WITHIN, _OF_AN_ENTRY = 1e-12, 2.0**-51
_DOUBLE = 53
# Rows and entries at a time, so that temporary numbers are few.
_SOME, _ENTRIES = 2**15, 2**17
# Squares of rows in second moments are less than 1 by this: more than what rounding these sums once
# moves them, which is 2^-51 of the number of rows.
_SHORTER = 2.0**-17


class RowsInCoordinates(SmoothedRows):
    """Rows scale_i (a_i·x - b_i) = g_i·z - r_i in the coordinates z of a region, with |g_i| <= 1.

    Hard rows are scaled to norm 1. Soft rows are divided by one released number, or by their own
    norm where that is larger. Each number is computed from its row alone, in the same order. Soft
    rows weigh their price over the largest one, hard rows among them 1.
    """

    changes = ("v", "change")

    def __init__(
        self,
        block: RowBlock,
        region: ReducedPolytope,
        unit: float | None = None,
        largest_price: float | None = None,
        sign: int = 0,
    ) -> None:
        form = block.form
        divisor, varies, below = _divisors(block, region, unit)
        scale = np.divide(below, divisor, out=divisor, where=varies)
        scale[~varies] = 0.0
        if region.basis is None:
            G = _in_units(block, region, scale)
        else:
            G = np.empty((len(scale), region.size), dtype=np.float32)
            for rows, along in _along(block, region, region.basis):
                scaled = along * (form.row_sign[rows] * scale[rows])[:, None]
                excess = np.maximum(1.0, _norms_of(scaled) / below)
                scale[rows] /= excess  # what the equalities leave may be little but rounding
                G[rows] = on_grid(scaled / excess[:, None])
        activity, r = form.activity(region.origin), np.empty(len(scale))
        for rows in slices(len(r), _SOME):
            own = form.row_sign[rows].astype(float)
            r[rows] = scale[rows] * (form.sides(rows) - own * activity[form.row[rows]])
        weight = np.broadcast_to(1.0, r.shape)
        if largest_price is not None and block.price is not None:
            weight = np.where(np.isinf(block.price), 1.0, block.price / largest_price)
        if sign:
            wrong = np.asarray((-sign * G > 0).sum(axis=1)).ravel() > 0
            weight = np.where(wrong, 0.0, weight)
        super().__init__(G, r, weight)
        self._first, self._row = block.first, form.row

    def pull(self, softness: float, z: FloatArray | None = None) -> Integers:
        """Gradient of the sum of distances from sides, smoothed near them, in digits: exact.

        The two sides of a row count half, so together they add a vector of norm 1 at most.
        """
        both = np.bincount(self._row)[self._row] > 1

        def slope(rows: slice) -> FloatArray:
            weight = self.weight[rows] * np.where(both[rows], 0.5, 1.0)
            return weight * np.clip(self._at(rows, z) / softness, -1.0, 1.0)

        return exact_weighted_sum(self.G, slope)

    def share(self, share: float) -> SmoothedRows:
        """About this share of the rows, which places choose: no result depends on it."""
        some = np.flatnonzero(spread(self._first + self._row) < share * 2.0**64)
        return SmoothedRows(self.G[some], self.r[some], self.weight[some])

    def second_moments(self, largest_n: int) -> FloatArray:
        """Upper triangle of the sum of g_i g_i^T, off the diagonal times sqrt(2).

        So the Euclidean norm of a row's part is |g_i|^2, which is at most 1. Rows are rounded to a
        public grid, on which sums over up to `largest_n` rows are exact.
        """
        # Products of entries in these units have sums below 2^53.
        units = 2.0 ** ((_DOUBLE - 1 - bits_of(largest_n)) // 2)
        dense = np.zeros((self.G.shape[1],) * 2)
        for some in slices(len(self.r), _SOME):
            rows = _on_grid(rows_of(self.G, some).astype(np.float64), units)
            found = rows.T @ rows
            dense += found.toarray() if sp.issparse(found) else found
        return upper_of(dense / units**2)


def upper_of(matrix: FloatArray) -> FloatArray:
    """Upper triangle, off the diagonal times sqrt(2): its length is the matrix's Frobenius norm."""
    upper = np.triu_indices(len(matrix))
    return np.asarray(matrix[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2)))


def symmetric_of(upper: FloatArray, p: int) -> FloatArray:
    """The symmetric (p, p) matrix that :func:`upper_of` makes such a triangle of."""
    found, places = np.zeros((p, p)), np.triu_indices(p)
    found[places] = upper / np.where(places[0] == places[1], 1.0, math.sqrt(2))
    return np.triu(found) + np.triu(found, 1).T


def norms(block: RowBlock, region: ReducedPolytope) -> tuple[FloatArray, FloatArray]:
    """Euclidean norm of each row in the coordinates, and its largest entry before equalities."""
    form = block.form
    square, largest = np.zeros(len(form.row)), np.zeros(len(form.row))
    for rows, part in block.parts(region.unit, region.live):
        low, high = part.extremes()
        largest[rows] = np.maximum(-low, high)
        square[rows] = part.squares_about(np.zeros_like(low), len(region.live))
    if region.basis is None:
        return np.sqrt(square), largest
    for rows, along in _along(block, region, region.basis):
        square[rows] = np.square(along).sum(axis=1)
    return np.sqrt(square), largest


def _norms_of(G: FloatArray) -> FloatArray:
    """Euclidean norm of each row, entry by entry in the same order."""
    return np.asarray(np.sqrt(sum((column**2 for column in G.T), np.zeros(len(G)))))


def _on_grid(rows: Any, units: float) -> Any:
    """Rows of norm 1 at most in integers, shortened by what rounding may add; longer ones are 0."""
    factor = max(units * (1 - 2 * _SHORTER) - math.sqrt(rows.shape[1]), 0.0)
    ones, most = np.ones(rows.shape[1]), units**2 * (1 - _SHORTER)
    if sp.issparse(rows):
        rows.data = np.rint(rows.data * factor)
        long = row_by_row(rows.power(2), ones) > most
        rows.data[np.repeat(long, np.diff(rows.indptr))] = 0.0
        return rows
    rows = np.rint(np.multiply(rows, factor, order="C"))
    rows[row_by_row(rows**2, ones) > most] = 0.0
    return rows


def shares_of_norm(block: RowBlock, region: ReducedPolytope, largest_n: int) -> FloatArray:
    """Sum over rows of each variable's share of a row's squared norm, (d',).

    Norms are in units of the ranges, before equalities. The shares of a row add up to 1 at most,
    rounded down to a public grid, on which sums over up to `largest_n` rows are exact.
    """
    units = 2.0 ** (_DOUBLE - 1 - bits_of(largest_n))
    found = np.zeros(len(region.live))
    for _, part in block.parts(region.unit, region.live):
        square = part.squares_about(np.zeros(len(part.sums())), len(region.live))
        square = np.maximum(square, CONSTANT_ROW)
        square *= 1 + _NORMS_WITHIN + _OF_AN_ENTRY * len(region.live)
        found += part.floors_of_shares(square, units)
    return found / units


def _divisors(
    block: RowBlock, region: ReducedPolytope, unit: float | None
) -> tuple[FloatArray, npt.NDArray[np.bool_], float]:
    """What rows are divided by, which of them are not constant, and the norm they come to."""
    norm, largest = norms(block, region)
    varies = norm > CONSTANT_ROW
    largest *= LARGEST_OF_EQUAL_NORM**-1
    if unit is not None:
        np.maximum(
            largest,
            unit if block.price is None else np.where(np.isinf(block.price), 0.0, unit),
            out=largest,
        )
    np.maximum(norm, largest, out=norm)
    below = 1 - _NORMS_WITHIN - _OF_AN_ENTRY * len(region.live)
    # Entries are rounded to a grid, on which sums over rows are exact.
    below *= max(1 - math.sqrt(region.size) * 2.0**-BITS_OF_ENTRIES, 0.0)
    return norm, varies, below


def _in_units(block: RowBlock, region: ReducedPolytope, scale: FloatArray) -> Any:
    """Rows scale_i a_i in units of the region's variables, on the grid, (m, p)."""
    form, A = block.form, block.form.lp.A
    live = A if len(region.live) == A.shape[1] else A[:, region.live]
    if not sp.issparse(A):
        G = np.empty((len(form.row), region.size), dtype=np.float32)
        for some in slices(len(G), max(1, _ENTRIES // max(1, region.size))):
            factor = form.row_sign[some] * scale[some]
            G[some] = on_grid(factor[:, None] * (live[form.row[some]] * region.unit))
        return G
    rows = sp.csr_array(live)
    if not np.array_equal(form.row, np.arange(rows.shape[0])):
        rows = rows[form.row]
    data = np.empty(len(rows.data), dtype=np.float32)
    for some in slices(rows.shape[0], _SOME):
        ends = rows.indptr[some.start : some.stop + 1]
        own = slice(ends[0], ends[-1])
        entries = rows.data[own] * region.unit[rows.indices[own]]
        entries *= np.repeat(form.row_sign[some] * scale[some], np.diff(ends))
        data[own] = on_grid(entries)
    return csr_of(data, rows.indices, rows.indptr, rows.shape)


def _along(
    block: RowBlock, region: ReducedPolytope, basis: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """A few rows a_i at a time in the directions that public equalities leave, (k, p)."""
    form, A = block.form, block.form.lp.A
    directions = np.zeros((A.shape[1], region.size))
    directions[region.live] = region.unit[:, None] * basis
    A = sp.csr_array(A) if sp.issparse(A) else A
    for some in slices(len(form.row), max(1, _ENTRIES // max(1, *directions.shape))):
        yield some, rows_times(A[form.row[some]], directions)
