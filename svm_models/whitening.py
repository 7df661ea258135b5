"""Private second moments of records, and the coordinates in which they are alike in all directions.

Noise that is added to sums there is largest where the records are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.privacy import Accountant, ChargedDraws, GaussianMechanism
from privlp.rows.door import Rows
from svm_models.margins import Weighted
from svm_models.neighbours import Neighbours
from svm_models.record_grid import RecordGrid
from svm_models.records_on_grid import RecordsOnGrid, SignedRecords, Totals

FloatArray = npt.NDArray[np.float64]

#: Share of the budget (of squared Gaussian parameters) that buys the second moments.
SHARE_OF_MOMENTS = 0.1
#: Records reach this share of the root mean square of their whitened norms; longer ones count less.
REACH = 0.5
#: Records come as close to norm 1 as rounding lets them.
NORM = 1 + 1e-9
#: What the ledger calls the release.
PURPOSE = "release the second moments of the records"
# Chosen by trial on Adult and KDDCup99 (docs/results/private_lp_svc.md).
_RIDGE = 150.0
_LEAST_NOISE, _MOST_NOISE = 2e-4, 1.0
_BLOCK = 4096


def noise_beside_a_mean(n: int, p: int, sigma: float) -> float:
    """The length of noise beside a mean of n records of p features and norm 1: nu.

    `sigma` is the noise of a single release of their sum at the whole budget: nu = sigma sqrt(p)/n,
    within 2e-4 and 1.
    """
    return min(max(sigma * math.sqrt(p) / n, _LEAST_NOISE), _MOST_NOISE)


def ridge_of(nu: float) -> float:
    """The second moment, per record, below which a direction is not told from noise: 150 nu^2."""
    return _RIDGE * nu**2


def noise_of_one_sum(ledger: Accountant, neighbours: Neighbours) -> GaussianMechanism:
    """What a single release of a sum of records of norm 1 would take at the whole budget."""
    moved = float(neighbours.moved)
    return ledger.calibrate(lambda t: GaussianMechanism(moved, moved / t), 1)


def spread_of(ridge: float) -> float:
    """Bound on the norm of a whitening matrix: public."""
    return 1 / (REACH * math.sqrt(ridge))


def sensitivity_of_moments(neighbours: Neighbours) -> float:
    """Of sum_i m_i m_i^T in the Frobenius norm, ||m_i||_2 <= 1: sums are exact.

    ||m m^T - m' m'^T||_F^2 = ||m||^4 + ||m'||^4 - 2 (m·m')^2 <= 2; without m' it is at most 1.
    """
    return math.sqrt(neighbours.moved)


def second_moments(
    records: Rows[Any], kernel: Callable[[Any], Totals], grid: RecordGrid, release: ChargedDraws
) -> FloatArray:
    """sum_i m_i m_i^T with noise.

    p (p + 1)/2 numbers are released. Those off the diagonal count sqrt 2 times, so that lengths are
    Frobenius norms.

    Parameters
    ----------
    records : Rows
    kernel : callable
        The sum of a block, (p, p), in units of the square of an entry.
    grid : RecordGrid
    release : ChargedDraws
    """
    exact = records.total(kernel) / grid.of_entry**2
    upper = np.triu_indices(len(exact))
    unit = np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    moments = np.zeros_like(exact)
    moments[upper] = release(exact[upper] * unit) / unit
    return np.triu(moments) + np.triu(moments, 1).T


def moments_of(block: Any, unit: float, grid: RecordGrid) -> Totals:
    """sum_i m_i m_i^T over a block of signed records of norm `unit` at most, without weights."""
    M = block.M if isinstance(block, Weighted) else block
    return RecordsOnGrid(SignedRecords(M, None), data_norm=unit, grid=grid).second_moments()


def shortened(block: Any, unit: float, whiten: FloatArray, *, shorten: bool = True) -> Any:
    """A block of records of norm `unit` at most, whitened, none longer than 1 thereafter.

    Without `shorten` only whitened. What becomes of a record depends on that record and on `whiten`
    alone, to the last bit: sparse products go record by record, where those of dense blocks may
    round by where a record stands.
    """
    if isinstance(block, Weighted):
        return Weighted(shortened(block.M, unit, whiten, shorten=shorten), block.weights)
    found = np.empty(block.shape)
    for start in range(0, block.shape[0], _BLOCK):
        part = found[start : start + _BLOCK]
        part[:] = sp.csr_array(block[start : start + _BLOCK] / unit) @ whiten
        if shorten:
            part /= np.maximum(np.sqrt(np.square(part).sum(axis=1)), 1.0)[:, None]
    return found


def error_of_a_record(p: int, spread: float) -> float:
    """Bound on what rounding adds to the norm of a record that :func:`shortened` computes: public.

    Each of p entries sums p products of a record of norm 1 and a column of a matrix of norm
    `spread`; shortening divides by a norm that is off by as much.
    """
    return 2 * (p**1.5 + 64) * 2.0**-52 * max(spread, 1.0)


def whitening(moments: FloatArray, ridge: float) -> tuple[FloatArray, float]:
    """The whitening matrix (moments + ridge)^(-1/2) / reach, and the reach.

    Both are made of released numbers; negative moments count as zero. reach^2 is a quarter of the
    mean square of whitened records, or of 1 if that is less: so the matrix has norm 2/sqrt(ridge)
    at most.
    """
    eigenvalues, vectors = np.linalg.eigh(moments)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    reach = REACH * math.sqrt(max(1.0, float(np.sum(eigenvalues / (eigenvalues + ridge)))))
    return (vectors / (np.sqrt(eigenvalues + ridge) * reach)) @ vectors.T, reach
