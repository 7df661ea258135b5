"""Signed records as the player of :class:`~svm_models.PrivateLPSVC` sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.rows.two_passes import RowsInTwoPasses
from svm_models.whitening import in_parts

FloatArray = npt.NDArray[np.float64]

#: Half-width h of the rounded part of the hinge.
SOFTNESS = 0.5
#: Sums are of dual weights minus this number: so a record adds at most half its norm.
CENTRE = 0.5
_BLOCK = 4096


class WhitenedRecords(RowsInTwoPasses):
    """A block of signed records m_i = y_i x_i of norm 1 at most, whitened and short.

    s_i = min(1, 1/||whiten m_i||). A record with dual weight z_i in [0, 1] contributes (z_i - 1/2)
    s_i whiten m_i to what is released each round, and s_i whiten m_i / 2 to what is released
    beforehand: vectors of norm 1/2 at most, whose sum is z_i s_i whiten m_i.

    Parameters
    ----------
    M : (k, p) array or CSR array
    whiten : (p, p) array
        Symmetric; public or released.
    shorten : bool
        Without it s_i = 1: the mean loss unweighted, for no noise.
    weights : (k,) array, optional
        Public weights a_i in [0, 1] of the records' losses, which multiply s_i; ``None``: all 1.
    part : int, optional
        So many records are added up before their sums are; ``None``: all of them.
    """

    def __init__(
        self,
        M: Any,
        whiten: FloatArray,
        *,
        shorten: bool = True,
        part: int | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        self._M, self._whiten, self._part = M, whiten, part
        self._scale = np.ones(M.shape[0])
        for start in range(0, M.shape[0] if shorten else 0, _BLOCK):
            norms = np.linalg.norm(M[start : start + _BLOCK] @ whiten, axis=1)
            self._scale[start : start + _BLOCK] = 1 / np.maximum(norms, 1.0)
        if weights is not None:
            self._scale *= weights

    @property
    def count(self) -> int:
        """Number of records in the block."""
        return len(self._scale)

    def scores(self, z: FloatArray) -> FloatArray:
        """sum_i (z_i - 1/2) s_i whiten m_i."""
        return self._sum((z - CENTRE) * self._scale)

    def centre(self) -> FloatArray:
        """sum_i s_i whiten m_i / 2."""
        return self._sum(CENTRE * self._scale)

    def violations(self, answer: FloatArray) -> FloatArray:
        """1 + h - m_i·w, for each record."""
        return np.asarray((1 + SOFTNESS) - self._M @ answer)

    def _sum(self, weights: FloatArray) -> FloatArray:
        total = in_parts(lambda M, weights: M.T @ weights, self._part, self._M, weights)
        return np.asarray(self._whiten @ total)
