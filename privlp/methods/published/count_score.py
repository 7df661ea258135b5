"""The count score of van der Reijden (2019): vertices are scored by the rows that they satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import real
from privlp.game.loop import ScaledRows
from privlp.methods.dmw import DenseMultiplicativeWeights
from privlp.methods.published.dmw import PublishedDenseMultiplicativeWeights
from privlp.regions.simplex import Simplex
from privlp.rows.program_rows import RowBlock

FloatArray = npt.NDArray[np.float64]

_BLOCK = 4096


class CountScore(DenseMultiplicativeWeights):
    """:class:`~privlp.methods.dmw.DenseMultiplicativeWeights` with the count score.

    A vertex is scored by the dual weight of the rows that it satisfies up to a tolerance
    (:class:`CountedRows`). Such a score has diameter 1 instead of 2. Everything else is the same.

    Parameters
    ----------
    phi : float
        Tolerance, in the user's units of A x - b.
    """

    diameter = 1.0

    def __init__(self, phi: float) -> None:
        self._phi = real(phi, "phi")

    def scaled(self, simplex: Simplex, block: Any, largest_n: int = 0) -> Any:
        """A block of rows whose scores are counts."""
        return CountedRows(block, simplex, super().scaled(simplex, block, largest_n), self._phi)


class PublishedCountScore(PublishedDenseMultiplicativeWeights):
    """The published constants with the source's count score and its sensitivity 2/s."""

    def __init__(self, phi: float) -> None:
        self._phi = real(phi, "phi")

    def _largest_change(self, largest_value: float) -> float:  # noqa: ARG002
        return 2.0

    def _scored(self, simplex: Simplex, within: Any, block: Any) -> Any:
        return CountedRows(block, simplex, within(block), self._phi)


class CountedRows:
    """Private rows on K: the score of a vertex is the dual weight of the rows that it satisfies.

    This is the count score of van der Reijden (2019), section 3.5:
    Q_j = sum_i z_i 1[A_i x_j <= b_i + phi]. Whether a row is satisfied depends on that row alone,
    and an indicator spans 1. So Q is a dense average of diameter W = 1.

    Parameters
    ----------
    block : RowBlock
        The rows.
    simplex : Simplex
        The region.
    rows : ScaledRows
        The same rows, scaled for the dual weights.
    phi : float
        Tolerance, in the user's units of A x - b.
    """

    def __init__(self, block: RowBlock, simplex: Simplex, rows: ScaledRows, phi: float) -> None:
        rhs = block.rhs + phi
        self._satisfied = np.empty((len(simplex.vertices), len(rhs)), dtype=bool)
        for some, part in block.parts(simplex.vertices):
            self._satisfied[:, some] = (part.table() <= rhs[some, None]).T
        self._rows = rows

    @property
    def count(self) -> int:
        """Number of private rows; itself private under add/remove."""
        return self._rows.count

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of vertex j to `out`."""
        self._rows.add_violations(j, step, out)

    def scores(self, z: FloatArray) -> FloatArray:
        """Dual weight of the rows that each vertex satisfies; exact for integers."""
        total = np.zeros(len(self._satisfied))
        for start in range(0, len(z), _BLOCK):
            span = slice(start, start + _BLOCK)
            total += self._satisfied[:, span].astype(float) @ z[span]
        return total
