"""What the search for a minimiser needs of the private records: sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from svm_models.losses import MarginLoss

FloatArray = npt.NDArray[np.float64]

#: Below this share of records of positive curvature, gathering them beats weighing all of them.
_CURVED_SHARE = 0.7


@dataclass(frozen=True)
class Weighted:
    """A block of signed records, (k, p), each with a weight in [0, 1], (k,), for its loss."""

    M: Any
    weights: FloatArray


class Margins:
    """A block of signed records m_i, with the margins z_i = m_i·w at the current point w.

    Every sum is over the records of the block. Gradient and second derivatives are those of
    sum_i a_i loss(m_i·w), with a_i = 1 unless the block has weights.

    Parameters
    ----------
    M : (k, p) array or CSR array, or Weighted
        The records.
    loss : MarginLoss
    w : (p,) array
        The first point.
    """

    changes = ("_z", "_change")

    def __init__(self, M: Any, loss: MarginLoss, w: FloatArray) -> None:
        self._M = M.M if isinstance(M, Weighted) else M
        self._weights = M.weights if isinstance(M, Weighted) else None
        self._loss = loss
        self._z = self._M @ w
        self._change = np.zeros(len(self._z))

    def value(self) -> float:
        """Sum of the losses."""
        return float(self._weighted(self._loss.value(self._z)).sum())

    def gradient(self) -> FloatArray:
        """Sum of the gradients, shape (p,)."""
        return np.asarray(self._M.T @ self._weighted(self._loss.slope(self._z)))

    def hessian(self) -> FloatArray:
        """Sum of the second derivatives, shape (p, p)."""
        curvature, rows = self._weighted(self._loss.curvature(self._z)), self._M
        curved = np.flatnonzero(curvature)
        if curved.size < _CURVED_SHARE * len(self._z):
            curvature, rows = curvature[curved], rows[curved]
        if sp.issparse(rows):
            return np.asarray((rows.T @ (sp.diags_array(curvature) @ rows)).toarray())
        weighted = rows * np.sqrt(curvature)[:, None]
        return np.asarray(weighted.T @ weighted)

    def aim(self, step: FloatArray) -> None:
        """Prepare to move w along `step`, (p,)."""
        self._change = self._M @ step

    def slope(self, length: float) -> float:
        """Derivative of the sum of losses along the step, at `length` times the step."""
        slopes = self._weighted(self._loss.slope(self._z + length * self._change))
        return float(slopes @ self._change)

    def move(self, length: float) -> None:
        """Move w by `length` times the step."""
        self._z = self._z + length * self._change

    def _weighted(self, numbers: FloatArray) -> FloatArray:
        """One number a record, times its weight."""
        return numbers if self._weights is None else numbers * self._weights
