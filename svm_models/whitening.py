"""Private second moments of records, and coordinates in which they are alike in all directions.

Noise on sums there is largest where the records are. A second release shows weaker directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import IntArray
from privlp.privacy import Accountant, ChargedDraws, GaussianMechanism
from privlp.regions.simplex import L1Ball
from privlp.rows.access import Rows
from privlp.rows.in_coordinates import symmetric_of, upper_of
from privlp.rows.parts import slices
from svm_models.account import Neighbours
from svm_models.parameters import FloatArray
from svm_models.records import grid as grids

#: Share of the budget (of squared Gaussian parameters) that buys the second moments.
SHARE_OF_MOMENTS = 0.1
#: Records reach this share of the root mean square of their whitened norms; longer ones count less.
REACH = 0.5
#: Records come as close to norm 1 as rounding lets them.
NORM = 1 + 1e-9
#: What the ledger calls the release, and the second one.
PURPOSE = "release the second moments of the records"
PURPOSE_AGAIN = "release the second moments of the whitened records"
# Chosen by trial on Adult and KDDCup99 (docs/results/private_lp_svc.md).
_RIDGE = 150.0
_LEAST_NOISE, _MOST_NOISE = 2e-4, 1.0
# A player's ridge is at most so many times that of the noise.
_MOST_TIMES = 4.0
_BLOCK = 4096


def noise_beside_a_mean(n: int, p: int, sigma: float) -> float:
    """The length nu = sigma sqrt(p)/n, within 2e-4 and 1; sigma as in :func:`noise_of_one_sum`."""
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


def second_moments(
    records: Rows[Any],
    kernel: Callable[[Any], IntArray],
    grid: grids.RecordGrid,
    release: ChargedDraws,
) -> FloatArray:
    """sum_i m_i m_i^T with noise; `kernel` sums a block, in squared units of an entry.

    Entries off the diagonal count sqrt 2 times, so that lengths are Frobenius norms.
    """
    exact = records.total(kernel) / grid.of_entry**2
    return symmetric_of(release(upper_of(exact)), len(exact))


def moments_of(block: Any, unit: float, grid: grids.RecordGrid) -> IntArray:
    """sum_i m_i m_i^T over a block of signed records of norm `unit` at most, without weights."""
    M = block.M if isinstance(block, grids.Weighted) else block
    return grids.RecordsOnGrid(
        grids.SignedRecords(M, None), data_norm=unit, grid=grid
    ).second_moments()


def moments_again(records: grids.RecordsOnGrid, whiten: grids.Whitening) -> IntArray:
    """The second moments of a block's whitened records, none of them longer than 1."""
    return records.second_moments(whiten)


def shortened(block: Any, unit: float, whiten: FloatArray, *, shorten: bool = True) -> Any:
    """A block of records of norm `unit` at most, whitened, none longer than 1 thereafter.

    Each by itself, to the last bit: dense products may round by where a record stands, sparse do
    not.
    """
    if isinstance(block, grids.Weighted):
        return grids.Weighted(shortened(block.M, unit, whiten, shorten=shorten), block.weights)
    found = np.empty(block.shape)
    for rows in slices(block.shape[0], _BLOCK):
        part = found[rows]
        part[:] = sp.csr_array(block[rows] / unit) @ whiten
        if shorten:
            part /= np.maximum(np.sqrt(np.square(part).sum(axis=1)), 1.0)[:, None]
    return found


def error_of_a_record(p: int, spread: float) -> float:
    """Bound on what rounding adds to the norm of a record that :func:`shortened` computes: public.

    p entries sum p products of a record and a column of a matrix of norm `spread`; so does
    shortening.
    """
    return 2 * (p**1.5 + 64) * 2.0**-52 * max(spread, 1.0)


def whitening(moments: FloatArray, ridge: float) -> tuple[FloatArray, float]:
    """The whitening matrix (moments + ridge)^(-1/2) / reach, and the reach, of released numbers.

    reach^2 is a quarter of the mean square of whitened records, or of 1: the norm is <=
    2/sqrt(ridge).
    """
    eigenvalues, vectors = np.linalg.eigh(moments)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    reach = REACH * math.sqrt(max(1.0, float(np.sum(eigenvalues / (eigenvalues + ridge)))))
    return (vectors / (np.sqrt(eigenvalues + ridge) * reach)) @ vectors.T, reach


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the noise, and of the player, of released and public numbers.

    With W = `first` and S the second moments of short records in its coordinates, negative ones
    zero, the metric is W (S + ridge)^(-1) W / reach^2, and the whitening matrix its symmetric root.
    """

    first: FloatArray
    moments: FloatArray
    ridge: float

    @classmethod
    def measured(
        cls,
        records: Rows[Any],
        first: FloatArray,
        grid: grids.RecordGrid,
        release: ChargedDraws,
        n: int,
        ridge: float,
    ) -> Coordinates:
        """Release the second moments of the whitened records, none of them longer than 1."""
        kernel = partial(moments_again, whiten=grids.Whitening.of(first, grid))
        return cls(first, second_moments(records, kernel, grid, release) / n, ridge)

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self.moments)
        return np.maximum(values, 0.0), vectors

    @cached_property
    def dimensions(self) -> float:
        """How many directions stand out from the ridge; at least 1."""
        values, _ = self._spectrum
        return max(1.0, float(np.sum(values / (values + self.ridge))))

    @cached_property
    def reach(self) -> float:
        """Records reach this share of the root mean square of their whitened norms."""
        return REACH * float(np.sqrt(self.dimensions))

    @cached_property
    def whiten(self) -> FloatArray:
        """The whitening matrix, symmetric."""
        return _root(self._metric(1.0))

    def separation(self, half: FloatArray, sigma: float, n: int) -> float:
        """How far apart the classes are, from the released half of the sum of records.

        The squared length of the mean record, less that of its noise, beside the mean square of a
        record of norm 1 in a direction that stands out.
        """
        mean, noise = 2 * half / n, 2 * sigma / n
        return self.dimensions * float(mean @ mean - len(mean) * noise**2)

    def ball(self, step: float, radius: float, separation: float) -> L1Ball:
        """The player's region and metric, with weaker moves where the classes are far apart."""
        times = min(max(separation, 1.0), _MOST_TIMES)
        if times == 1.0:
            return L1Ball(self.whiten, step, radius)
        root = _root(self._metric(times))
        to_own = np.asarray(np.linalg.solve(self.whiten, root).T)
        return _FromOtherCoordinates(root, step, radius, to_own)

    def _metric(self, times: float) -> FloatArray:
        values, vectors = self._spectrum
        inverse = (vectors / (values + times * self.ridge)) @ vectors.T
        return np.asarray(self.first @ inverse @ self.first) / self.reach**2


class _FromOtherCoordinates(L1Ball):
    """The ball where scores come in other coordinates than the player's."""

    def __init__(self, root: FloatArray, step: float, radius: float, to_own: FloatArray) -> None:
        super().__init__(root, step, radius)
        self._to_own = to_own

    def towards(self, total: FloatArray) -> FloatArray:
        """As for :class:`L1Ball`, with the scores in the player's coordinates."""
        return super().towards(self._to_own @ total)


def _root(metric: FloatArray) -> FloatArray:
    """The symmetric root of a positive definite matrix."""
    values, vectors = np.linalg.eigh((metric + metric.T) / 2)
    least = values[-1] * len(values) * np.finfo(float).eps
    return np.asarray((vectors * np.sqrt(np.maximum(values, least))) @ vectors.T)
