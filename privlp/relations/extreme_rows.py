"""Extreme rows, which an audit gives to a record: far from those of any other record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.problem.data import ProgramData

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Entries of rows stay below the largest number that HiGHS takes.
_LARGEST = 9e14


@dataclass(frozen=True)
class ExtremeRows:
    """``<=`` rows: coefficients (k, d) and right-hand sides (k,)."""

    A: FloatArray
    rhs: FloatArray

    def opposite(self) -> ExtremeRows:
        """Rows with coefficients of the other sign and the same right-hand sides."""
        return ExtremeRows(-self.A, self.rhs)


def extreme_rows(lp: ProgramData, own: IntArray, rng: np.random.Generator) -> ExtremeRows:
    """Random rows in the place of the rows `own`.

    They are dense, sparse, or like those that they replace; huge or tiny; violated by all points,
    satisfied by all points, or neither.
    """
    k, d = len(own), lp.shape[1]
    before = lp.A[own].toarray() if lp.is_sparse else lp.A[own]
    in_units_of_costs = np.where(lp.c != 0, lp.c, 1.0)
    alike = rng.random() < 0.7  # the rows of a record add up to most if they point the same way
    vary = 1 if alike else k
    patterns = (
        rng.normal(size=(vary, d)),
        np.eye(d)[rng.integers(d, size=vary)] * rng.choice([-1.0, 1.0]),
        rng.choice([-1.0, 1.0], size=(vary, d)),
        before[:vary] * rng.choice([-1.0, 1.0]),
        np.zeros((1, d)),
    )
    pattern = np.broadcast_to(
        patterns[rng.choice(len(patterns), p=[0.25, 0.25, 0.2, 0.25, 0.05])], (k, d)
    )
    if rng.random() < 0.5:
        pattern = pattern * in_units_of_costs
    size = (
        10.0 ** rng.uniform(-3, 3) if rng.random() < 0.8 else rng.choice([1e-300, 1e-12, 1e9, 1e14])
    )
    A = np.clip(pattern * size, -_LARGEST, _LARGEST)
    sign = rng.choice([-1.0, 1.0, 0.0], p=[0.7, 0.2, 0.1])
    rhs = sign * np.abs(A).sum(axis=1) * 10.0 ** rng.uniform(-2, 9)
    return ExtremeRows(A, np.clip(rhs, -_LARGEST, _LARGEST))


def with_rows(lp: ProgramData, own: IntArray, rows: ExtremeRows) -> ProgramData:
    """The program with other rows in the place of the rows `own`.

    Each row keeps its sides, and an equality stays an equality.
    """
    above, below = np.isfinite(lp.b[own]), np.isfinite(lp.row_lower[own])
    equal = lp.row_lower[own] == lp.b[own]
    sign = np.where(above, 1.0, -1.0)
    b, row_lower = lp.b.copy(), lp.row_lower.copy()
    b[own] = np.where(above, rows.rhs, np.inf)
    width = np.where(equal, 0.0, 1.0 + np.abs(rows.rhs))
    row_lower[own] = np.where(below, sign * rows.rhs - np.where(above, width, 0.0), -np.inf)
    A: Any = lp.A.tolil() if lp.is_sparse else np.array(lp.A)
    A[own] = sp.lil_array(sign[:, None] * rows.A) if lp.is_sparse else sign[:, None] * rows.A
    return lp.changed(A=sp.csr_array(A) if lp.is_sparse else A, b=b, row_lower=row_lower)


def without_rows(lp: ProgramData, own: IntArray) -> ProgramData:
    """The program without these rows."""
    kept = np.setdiff1d(np.arange(lp.shape[0]), own)
    return lp.changed(
        A=lp.A[kept],
        b=lp.b[kept],
        row_lower=lp.row_lower[kept],
        private=lp.private[kept],
        groups=None if lp.groups is None else lp.groups[kept],
        penalty=None if lp.penalty is None else lp.penalty[kept],
        row_names=None if lp.row_names is None else [lp.row_names[i] for i in kept],
    )
