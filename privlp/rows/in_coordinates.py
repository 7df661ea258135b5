"""Private rows in the coordinates of a public polytope, each with a smoothed price of violation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.standard_form import row_by_row
from privlp.regions.reduced import ReducedPolytope
from privlp.rows.grid import bits_of
from privlp.rows.limbs import BITS_OF_ENTRIES, Integers, on_grid, total, weighed
from privlp.rows.on_grid import CONSTANT_ROW, LARGEST_OF_EQUAL_NORM
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

# Norms are computed within this share, and this number of units in the last place for each entry.
_NORMS_WITHIN, _OF_AN_ENTRY = 1e-12, 2.0**-51
_DOUBLE = 53
# Squares of rows in second moments are less than 1 by this: more than what rounding these sums once
# moves them, which is 2^-51 of the number of rows.
_SHORTER = 2.0**-17
# Units to 1 in entries and prices for second derivatives, and rows at a time: sums are below 2^53.
_OF_A_CURVATURE, _OF_A_PRICE, _AT_A_TIME = 2.0**12, 2.0**10, 2**14
# Rows of which more entries are stored are multiplied faster as dense ones.
_DENSER = 0.1
# Multiplied by this number, modulo 2^64, the digits of numbers are spread evenly (Knuth).
_MIXED = np.uint64(0x9E3779B97F4A7C15)


class RowsInCoordinates:
    """Rows scale_i (a_i·x - b_i) = g_i·z - r_i in the coordinates z of a region, with |g_i| <= 1.

    Hard rows are scaled to norm 1, which leaves their half-spaces alone. Soft rows are divided by
    one released number, or by their own norm where that is larger. Each number is computed from its
    row alone, by the same operations in the same order for every row.

    Parameters
    ----------
    block : RowBlock
    region : ReducedPolytope
    unit : float, optional
        The number that soft rows are divided by.
    largest_price : float, optional
        The price of a soft row that counts as 1.

    Attributes
    ----------
    G : (m, p)
        Rows g_i, sparse or dense.
    r : (m,)
        Right-hand sides r_i.
    scale, weight : (m,)
        Factor of each row, and its price of violation between 0 and 1.
    """

    changes = ("v", "change")

    def __init__(
        self,
        block: RowBlock,
        region: ReducedPolytope,
        unit: float | None = None,
        largest_price: float | None = None,
    ) -> None:
        form = block.form
        sign = form.row_sign.astype(float)
        side = np.where(sign > 0, form.lp.b[form.row], -form.lp.row_lower[form.row])
        norm, largest = norms(block, region)
        divisor = np.maximum(norm, LARGEST_OF_EQUAL_NORM**-1 * largest)
        if unit is not None:
            divisor = np.maximum(divisor, unit)
        self.scale = np.zeros(len(norm))
        varies = norm > CONSTANT_ROW
        below = 1 - _NORMS_WITHIN - _OF_AN_ENTRY * len(region.live)
        # Entries are rounded to a grid, on which sums over rows are exact.
        below *= max(1 - math.sqrt(region.size) * 2.0**-BITS_OF_ENTRIES, 0.0)
        self.scale[varies] = below / divisor[varies]
        self.G: Any = _coefficients(block, region, sign * self.scale)
        if region.basis is not None:  # what the equalities leave may be little but rounding
            excess = np.maximum(1.0, _norms_of(self.G) / below)
            self.scale /= excess
            self.G = self.G / excess[:, None]
        self.G = on_grid(self.G)
        self.r = self.scale * (side - sign * form.activity(region.origin)[form.row])
        self.weight = np.ones(len(norm))
        if largest_price is not None and block.price is not None:
            self.weight = block.price / largest_price
        self.v = np.zeros(len(norm))
        self.change = np.zeros(len(norm))

    def go_to(self, z: FloatArray) -> None:
        """Remember the violations at z, each computed from its row alone."""
        self.v = row_by_row(self.G, z) - self.r

    def farther_than(self, distance: float) -> int:
        """Number of rows whose violation, or slack, is larger than a distance."""
        return int(np.count_nonzero(np.abs(self.v) > distance))

    def aim(self, step: FloatArray) -> None:
        """Remember how violations change along a step."""
        self.change = row_by_row(self.G, step)

    def move(self, length: float) -> None:
        """Take a part of the step."""
        self.v += length * self.change

    def gradient(self, softness: float, shift: float) -> Integers:
        """Gradient of the sum of smoothed violations, in limbs: exact."""
        return weighed(self.G, self.weight * np.clip((self.v + shift) / softness, 0.0, 1.0))

    def bent(self, softness: float, shift: float) -> int:
        """Number of rows whose smoothed violation is bent: within the softness."""
        return int(np.count_nonzero(self._is_bent(softness, shift)))

    def _is_bent(self, softness: float, shift: float) -> npt.NDArray[np.bool_]:
        v = self.v + shift
        return (v > 0) & (v < softness) & (self.weight > 0)

    def hessian(self, softness: float, shift: float, share: float = 1.0) -> Integers:
        """Second derivatives of the sum, (p, p), of this share of the rows, in integers: exact.

        The unit is 2^-34 / softness. Rows and prices are rounded to 12 and 10 bits: second
        derivatives say where to go, and what is found is judged by gradients alone. Whether a row
        belongs to the share follows from the digits of its own violation. So blocks do not matter,
        and other rows are taken at other points.
        """
        band = np.flatnonzero(self._is_bent(softness, shift))
        if share < 1:
            digits = np.ascontiguousarray(self.v[band]).view(np.uint64) * _MIXED
            band = band[digits < share * 2.0**64]
        found = np.zeros((self.G.shape[1],) * 2, dtype=np.int64)
        for start in range(0, len(band), _AT_A_TIME):
            some = band[start : start + _AT_A_TIME]
            found += _products(self.G[some], self.weight[some]).astype(np.int64)
        return found

    def second_moments(self, largest_n: int) -> FloatArray:
        """Upper triangle of the sum of g_i g_i^T, off the diagonal times sqrt(2).

        So the Euclidean norm of a row's part is |g_i|^2, which is at most 1. Rows are rounded to a
        public grid, on which sums over up to `largest_n` rows are exact.
        """
        rows, units = _on_grid(self.G, largest_n)
        found = rows.T @ rows
        dense = np.asarray(found.toarray() if sp.issparse(found) else found) / units**2
        upper = np.triu_indices(len(dense))
        return np.asarray(dense[upper] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2)))

    def slope(self, length: float, softness: float, shift: float, reach: float) -> Integers:
        """Derivative of the sum along the step, at a part of it, in limbs of `reach`: exact.

        `reach` is a power of two, at least the length of the step.
        """
        v = self.v + shift + length * self.change
        change = np.clip(self.change / reach, -1.0, 1.0)
        return total(self.weight * np.clip(v / softness, 0.0, 1.0) * change)


#: Units to 1 in second derivatives.
UNITS_OF_HESSIAN = _OF_A_PRICE * _OF_A_CURVATURE**2


def _products(rows: Any, price: FloatArray) -> FloatArray:
    """Sum of price_i g_i g_i^T over a few rows, rounded, in integers."""
    weight = np.rint(price * _OF_A_PRICE)
    if sp.issparse(rows) and rows.nnz < _DENSER * rows.shape[0] * rows.shape[1]:
        rows.data = np.rint(rows.data * _OF_A_CURVATURE)
        return np.asarray((rows.T @ sp.diags_array(weight) @ rows).toarray())
    rows = rows.toarray() if sp.issparse(rows) else rows
    rows = np.rint(rows * _OF_A_CURVATURE)
    if (weight == weight[0]).all():
        return np.asarray(rows.T @ rows) * weight[0]  # half the work of a product of two matrices
    return np.asarray(rows.T @ (weight[:, None] * rows))


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
    square[:] = 0.0
    for direction in (region.unit[:, None] * region.basis).T:
        x = np.zeros(form.lp.shape[1])
        x[region.live] = direction
        square += (form.row_sign * row_by_row(form.lp.A, x)[form.row]) ** 2
    return np.sqrt(square), largest


def _norms_of(G: FloatArray) -> FloatArray:
    """Euclidean norm of each row, entry by entry in the same order."""
    square = np.zeros(len(G))
    for j in range(G.shape[1]):
        square += G[:, j] ** 2
    return np.sqrt(square)


def _on_grid(G: Any, largest_n: int) -> tuple[Any, float]:
    """Rows of norm 1 at most in integers, and the unit; rows that are too long become 0.

    The norm of a row is shortened by what rounding may add to it, and then computed from integers.
    Products of integers of at most so many bits, over so many rows, have sums below 2^53.
    """
    bits = (_DOUBLE - 1 - bits_of(largest_n)) // 2
    units = 2.0**bits
    factor = max(units * (1 - 2 * _SHORTER) - math.sqrt(G.shape[1]), 0.0)
    if sp.issparse(G):
        rows = sp.csr_array(G)
        rows = sp.csr_array((np.rint(rows.data * factor), rows.indices, rows.indptr), rows.shape)
        long = row_by_row(rows.power(2), np.ones(G.shape[1])) > units**2 * (1 - _SHORTER)
        rows.data[np.repeat(long, np.diff(rows.indptr))] = 0.0
        return rows, units
    dense = np.rint(np.multiply(G, factor, order="C"))
    dense[row_by_row(dense**2, np.ones(G.shape[1])) > units**2 * (1 - _SHORTER)] = 0.0
    return dense, units


def shares_of_norm(block: RowBlock, region: ReducedPolytope, largest_n: int) -> FloatArray:
    """Sum over rows of each variable's share of a row's squared norm, (d',).

    Norms are counted in units of the ranges, and before equalities. The shares of a row add up to
    1 at most, and are computed from that row alone. They are rounded down to a public grid, on
    which sums over up to `largest_n` rows are exact.
    """
    units = 2.0 ** (_DOUBLE - 1 - bits_of(largest_n))
    found = np.zeros(len(region.live))
    for _, part in block.parts(region.unit, region.live):
        square = part.squares_about(np.zeros(len(part.sums())), len(region.live))
        square = np.maximum(square, CONSTANT_ROW)
        square *= 1 + _NORMS_WITHIN + _OF_AN_ENTRY * len(region.live)
        found += part.floors_of_shares(square, units)
    return found / units


def _coefficients(block: RowBlock, region: ReducedPolytope, factor: FloatArray) -> Any:
    """Rows factor_i a_i in the coordinates, (m, p)."""
    form, A = block.form, block.form.lp.A
    if region.basis is None:
        live = A[:, region.live]
        if sp.issparse(A):
            scaled = sp.csr_array(sp.csr_array(live) @ sp.diags_array(region.unit))[form.row]
            return sp.csr_array(sp.diags_array(factor) @ scaled)
        return np.ascontiguousarray(factor[:, None] * (live[form.row] * region.unit))
    directions = np.zeros((form.lp.shape[1], region.size))
    directions[region.live] = region.unit[:, None] * region.basis
    if sp.issparse(A):
        found = np.asarray(sp.csr_array(A) @ directions)[form.row]
    else:
        found = np.zeros((len(form.row), region.size))
        for j in region.live.tolist():
            found += A[form.row, j][:, None] * directions[j]
    return factor[:, None] * found
