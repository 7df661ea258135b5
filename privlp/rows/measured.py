"""Private rows as a user measures them: which a point misses, and what soft rows cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.standard_form import row_by_row
from privlp.rows.parts import slices
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]
# Rounding of A x, as a share of a row's size.
_ROUNDING = 1e-12
# Rows at a time, so that temporary numbers are few.
_SOME, _ENTRIES = 2**15, 2**17
# Units to 1 in what a row says of its cost.
_UNITS = 2.0**20


class MeasuredRows:
    """Private rows in the user's variables, each with its own measure of a violation.

    A row counts as missed at x if A_i x - b_i exceeds `alpha` ||A_i||_2; or, without an alpha, 1 %
    of |b_i|, or of sum_j |A_ij x_j| where b_i is 0. Each number is computed from its row alone.
    """

    #: The violation that counts, as a share of |b_i|.
    SHARE = 0.01

    def __init__(self, block: RowBlock, alpha: float | None = None, share: float = SHARE) -> None:
        self.block, self._form = block, block.form
        self._norms = None if alpha is None else alpha * self._form.row_norms()
        self._share = share

    def missed(self, x: FloatArray) -> int:
        """Number of rows that x misses."""
        found, activity = 0, self._form.activity(x)
        for rows, sides, sizes in self._some(x):
            row = self._form.row[rows]
            beyond = self._form.row_sign[rows] * activity[row] - sides
            allowed = self._share * sizes if self._norms is None else self._norms[row]
            found += int(np.count_nonzero(beyond > allowed + _ROUNDING * sizes))
        return found

    def needs(self, x: FloatArray, ends: FloatArray, levels: int) -> FloatArray:
        """How many sides that hold at x need what part of the way from the ends to x, (d, levels).

        A side counts once, for the variable that helps it most: it holds while that one alone
        returns to its end, until less than this part of its way is left.
        """
        found, form, A = np.zeros((len(x), levels)), self._form, self._form.lp.A
        A = sp.csr_array(A) if sp.issparse(A) else A
        activity = form.activity(x)
        for rows, sides, sizes in self._some(x, max(1, _ENTRIES // len(x))):
            row, sign = form.row[rows], form.row_sign[rows].astype(float)
            allowed = self._share * sizes if self._norms is None else self._norms[row]
            slack = sides + allowed - sign * activity[row]
            entries = A[row].toarray() if sp.issparse(A) else A[row]
            helps = entries * (ends - x) * sign[:, None]
            most = helps.argmax(axis=1)
            help_of = np.take_along_axis(helps, most[:, None], axis=1)[:, 0]
            counts = (slack >= 0) & (help_of > slack)
            part = 1 - slack[counts] / help_of[counts]
            level = np.clip(np.ceil(part * levels) - 1, 0, levels - 1).astype(int)
            np.add.at(found, (most[counts], level), 1.0)
        return found

    def near(self, x: FloatArray, lengths: FloatArray) -> FloatArray:
        """How many sides a move of each variable alone by its length, up or down, reaches, (d,)."""
        found, A = np.zeros(len(x)), self._form.lp.A
        A = sp.csr_array(A) if sp.issparse(A) else A
        for rows, slack in self._slack(x, max(1, _ENTRIES // len(x))):
            entries = abs(A[self._form.row[rows]])
            if sp.issparse(entries):
                room, sizes = np.repeat(slack, np.diff(entries.indptr)), entries.data
                reached = (sizes * lengths[entries.indices] >= room) & (sizes > 0)
                found += np.bincount(entries.indices[reached], minlength=len(x))
            else:
                reached = (entries * lengths >= slack[:, None]) & (entries > 0)
                found += np.count_nonzero(reached, axis=0)
        return found

    def near_along(self, x: FloatArray, step: FloatArray) -> int:
        """How many sides a step, forwards or backwards, reaches."""
        found, change = 0, np.abs(self._form.activity(step))
        for rows, slack in self._slack(x, _SOME):
            own = change[self._form.row[rows]]
            found += int(np.count_nonzero((own >= slack) & (own > 0)))
        return found

    def crossings(self, x: FloatArray, step: FloatArray, cells: int) -> FloatArray:
        """How many sides that x misses hold from which part of a step on, (cells,)."""
        found, change = np.zeros(cells), self._form.activity(step)
        activity = self._form.activity(x)
        for rows, sides, _ in self._some(x):
            row, sign = self._form.row[rows], self._form.row_sign[rows].astype(float)
            beyond, gained = sign * activity[row] - sides, -sign * change[row]
            crosses = (beyond > 0) & (gained > beyond)
            part = beyond[crosses] / gained[crosses]
            found += np.bincount((part * cells).astype(int).clip(max=cells - 1), minlength=cells)
        return found

    def signs(self) -> FloatArray:
        """How many sides have a negative entry, and how many a positive one, (2,)."""
        found, form, A = np.zeros(2), self._form, self._form.lp.A
        A = sp.csr_array(A) if sp.issparse(A) else A
        for rows in slices(len(form.row), max(1, _ENTRIES // A.shape[1])):
            entries = A[form.row[rows]]
            negative, positive = (
                np.asarray((sign * entries > 0).sum(axis=1)).ravel() > 0 for sign in (-1, 1)
            )
            upper = form.row_sign[rows] > 0
            found += [
                np.count_nonzero(np.where(upper, negative, positive)),
                np.count_nonzero(np.where(upper, positive, negative)),
            ]
        return found

    def _slack(self, x: FloatArray, number: int) -> Iterator[tuple[slice, FloatArray]]:
        """How far sides are from x, so many at a time."""
        form, activity = self._form, self._form.activity(x)
        for rows in slices(len(form.row), number):
            yield rows, np.abs(form.sides(rows) - form.row_sign[rows] * activity[form.row[rows]])

    def sizes(self, x: FloatArray) -> FloatArray:
        """|b_i|, or sum_j |A_ij x_j| where that is 0."""
        found = np.empty(len(self._form.row))
        for rows, _, sizes in self._some(x):
            found[rows] = sizes
        return found

    def _some(
        self, x: FloatArray, number: int = _SOME
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Right-hand sides and sizes, a few rows at a time."""
        form, A = self._form, self._form.lp.A
        for rows in slices(len(form.row), number):
            sides = form.sides(rows)
            sizes, no_side = np.abs(sides), np.flatnonzero(sides == 0)
            if no_side.size:
                sizes[no_side] = row_by_row(abs(A[form.row[rows][no_side]]), np.abs(x))
            yield rows, sides, sizes


class ComparedRows:
    """Soft rows in the user's variables, with their prices over the largest; hard ones count 0."""

    def __init__(self, block: RowBlock, largest_price: float) -> None:
        self._form = block.form
        price = np.zeros(len(block.form.row)) if block.price is None else block.price
        self._weight = np.where(np.isinf(price), 0.0, price / largest_price)

    def costlier(self, x: FloatArray, other: FloatArray, limit: float) -> float:
        """Sum over sides of rows of what they cost more at x than at the other point.

        A side adds its weight times the difference of its two violations over the limit, within -1
        and 1, rounded towards 0 to a multiple of 2^-20: the sum is exact. The two sides of a row
        never add numbers of one sign. What is no number counts 0.
        """
        form, found = self._form, 0.0
        points = form.activity(x), form.activity(other)
        for rows in slices(len(form.row), _SOME):
            sign, row, sides = form.row_sign[rows].astype(float), form.row[rows], form.sides(rows)
            at_x, at_other = (np.maximum(sign * at[row] - sides, 0.0) for at in points)
            more = np.clip((at_x - at_other) / limit, -1.0, 1.0)
            more[np.isnan(more)] = 0.0
            found += float(np.trunc(self._weight[rows] * more * _UNITS).sum())
        return found / _UNITS
