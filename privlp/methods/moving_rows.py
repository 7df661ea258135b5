"""What multiplicative weights knows beforehand of the rows it selects and releases."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import UnsupportedProblemError
from privlp.regions.simplex import Simplex
from privlp.relations.numbers import LowSensitivity, PrivateNumbers
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]


class MovingRows:
    """All rows of a program on a simplex: how far they move, and which coefficients are private.

    Parameters
    ----------
    relation : LowSensitivity
        What neighbours differ in.
    simplex : Simplex
        Public region, with every row of the program in its form.

    Attributes
    ----------
    violation_change : callable
        Change of the violations at a public point
        (:meth:`~privlp.relations.LowSensitivity.violation_change`).
    row_change : tuple of float
        L1 and L2 sensitivity of one row after the change of variables
        (:meth:`~privlp.relations.LowSensitivity.row_change`); zeros where A is public.

    Examples
    --------
    >>> from privlp import LinearProgram, RowPrivate
    >>> from privlp.problem.standard_form import StandardForm
    >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # second entries are public
    >>> lp = LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation)
    >>> rows = MovingRows(relation, Simplex(StandardForm.of(lp, every_row=True), 3.0))
    >>> rows.private_coefficients(0)
    array([ True, False])
    >>> rows.ranges()[0]
    array([[-4., -1.],
           [-4., -1.]])
    """

    def __init__(self, relation: LowSensitivity, simplex: Simplex) -> None:
        form = simplex.form
        self.simplex = simplex
        self.violation_change = relation.violation_change(form)
        scale = np.zeros(form.lp.shape[1])
        scale[form.column] = simplex.vertices
        self.row_change = relation.row_change(form, scale)
        self._matrix_is_public = "A" not in relation.private_parts
        self._numbers: list[PrivateNumbers] = [
            numbers for numbers in relation.private_numbers(form) if numbers.part == "A"
        ]

    def private_coefficients(self, row: int) -> npt.NDArray[np.bool_]:
        """Which coefficients of a row of A are private, (d,)."""
        return self._private[[row]].toarray()[0]

    @cached_property
    def _private(self) -> sp.csr_array:
        """Which coefficients are private, (n, d)."""
        shape = self.simplex.form.lp.shape
        if not self._numbers:
            return sp.csr_array(shape, dtype=bool)
        (numbers,) = self._numbers
        return sp.csr_array((np.ones(len(numbers), dtype=bool), numbers.at), shape=shape)

    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Public ranges of the coefficients, (n, d) each: public ones are their own range."""
        lp = self.simplex.form.lp
        A = lp.A.toarray() if lp.is_sparse else lp.A
        low, high = A.copy(), A.copy()
        for numbers in self._numbers:
            low[numbers.at], high[numbers.at] = numbers.low, numbers.high
        return low, high

    def span_and_spread(self) -> tuple[float, float]:
        """Public bound on max_j A'_ij - min_j A'_ij over all rows i, and a typical deviation.

        The latter is the typical standard deviation of A'_ij over j. A private entry counts as if
        it were uniform in its declared range.

        Raises
        ------
        UnsupportedProblemError
            If A is private and no range of its entries was declared.
        """
        if self._matrix_is_public:
            return self._span_and_spread_of_public_rows()
        for numbers in self._numbers:
            if not (np.isfinite(numbers.low).all() and np.isfinite(numbers.high).all()):
                raise UnsupportedProblemError(
                    "method='mw' plans its rounds from a public range of the entries of A, and none"
                    " was declared: give lower and upper to the neighbour relation, or use"
                    " method='direct-noise'.",
                    parameter="lower",
                )
        form = self.simplex.form
        scale = form.column_sign * self.simplex.vertices
        # Private rows without sides constrain nothing.
        counted = ~form.lp.private | (form.lp.sides() > 0)
        ends = [end[counted][:, form.column] * scale for end in self.ranges()]
        low, high = np.minimum(*ends), np.maximum(*ends)
        spread = ((low + high) / 2).var(axis=1) + ((high - low) ** 2 / 12).mean(axis=1)
        return float((high.max(axis=1) - low.min(axis=1)).max()), math.sqrt(float(spread.mean()))

    def _span_and_spread_of_public_rows(self) -> tuple[float, float]:
        rows, vertices = RowBlock(self.simplex.form), self.simplex.vertices
        low, high = rows.extremes(vertices)
        mean, square = np.zeros(len(low)), np.zeros(len(low))
        for j, vertex in enumerate(vertices):
            values = rows.column(j) * vertex
            mean += values / len(vertices)
            square += values**2 / len(vertices)
        variance = np.maximum(square - mean**2, 0.0)
        return float((high - low).max()), math.sqrt(float(variance.mean()))
