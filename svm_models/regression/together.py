"""Quantiles by counts; of several, sums of rising steps, with less noise than one by one.

A record above j of K rising levels adds the vector with j ones in front. So all that one record can
add or change is known: K + 1 points. Noise is shaped after them (Hardt and Talwar 2010; Li, Miklau,
Hay, McGregor and Rastogi 2015). Proof: ``docs/proofs.md``, "Regression by averaged descent".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtr
from sklearn.isotonic import isotonic_regression

from privlp.privacy import ChargedDraws
from svm_models.parameters import FloatArray

# Binary digits of the place of a quantile.
_DIGITS = 16
# Where nothing is known, a level stays so far from the ends of its interval, as a share of it.
_INSIDE = 0.25
# Where fewer records than so many deviations of a single count are beyond a quantile of y, noise
# could place it anywhere in its range: one farther inside is looked for.
_TOLD, _SEVERAL_TOLD = 5.0, 2.5
# Turns of the search for the shape of the noise; any shape is private.
_TURNS = 40


@dataclass(frozen=True, eq=False)
class Together:
    """K sums x, of which M x is released: one record moves it by 1 at most.

    `noise` is the deviation of each of the K sums, in that of what is released.
    """

    shape: FloatArray
    noise: FloatArray

    @classmethod
    @lru_cache(maxsize=16)
    def counts(cls, quantiles: tuple[float, ...], replaced: bool) -> Together:
        """Counts above K rising levels less shares 1 - q of all records.

        Where a record is replaced shares cancel; where it comes or goes it adds one of the points.
        """
        many = len(quantiles)
        if many == 1:
            return cls(np.eye(1), np.ones(1))
        points = np.tri(many + 1, many, -1) - (not replaced) * (1 - np.array(quantiles))
        if not replaced:  # a record is there or is not
            points = np.vstack([points, np.zeros(many)])
        weights = 1.0 - np.eye(len(points))
        if not replaced:
            weights[:-1, :-1] = 0.0
        allowed = weights > 0
        # Least total variance: the precision that no change exceeds, by its dual weights.
        for _ in range(_TURNS):
            balance = np.diag(weights.sum(axis=1)) - weights
            values, vectors = np.linalg.eigh(points.T @ balance @ points)
            shape = (vectors * np.maximum(values, 1e-12 * values.max()) ** -0.25) @ vectors.T
            moves = np.where(allowed, squareform(pdist(points @ shape.T)), 0.0)
            weights *= (moves / moves.max()) ** 2
            weights /= weights.sum()
        shape = shape / moves.max()
        return cls(shape, np.linalg.norm(np.linalg.inv(shape), axis=1))

    @property
    def steps(self) -> int:
        """Rounds of counts that find K quantiles: each leaves about a (K+1)-th of the range."""
        return 3 + math.ceil(_DIGITS / math.log2(len(self.noise) + 1))

    def released(self, draws: Callable[[FloatArray], Any], sums: FloatArray) -> FloatArray:
        """The sums with noise, by one draw."""
        return np.asarray(np.linalg.solve(self.shape, np.asarray(draws(self.shape @ sums))))

    def quantiles(
        self,
        excess: Callable[[FloatArray], FloatArray],
        draws: ChargedDraws,
        quantiles: tuple[float, ...],
        n: int,
    ) -> FloatArray:
        """Where n records between -1 and 1 have their quantiles, by all charged draws, rising.

        All counts so far make one rising curve; each round asks where it passes the quantiles.
        """
        q = np.array(quantiles)
        levels, below = np.array([-1.0, 1.0]), np.array([0.0, 1.0])
        weights, own = np.full(2, 1e12), 1 / np.square(self.noise)
        while True:
            order = np.argsort(levels, kind="stable")
            curve = isotonic_regression(below[order], sample_weight=weights[order])
            curve, at = np.clip(curve, 0.0, 1.0), levels[order]
            low = np.searchsorted(curve, q) - 1  # below the quantile; the next is not
            share = (q - curve[low]) / (curve[low + 1] - curve[low])
            if draws.remaining:
                share = np.clip(share, _INSIDE, 1 - _INSIDE)
            found = np.sort(at[low] + share * (at[low + 1] - at[low]))
            if not draws.remaining:
                return np.asarray(found)
            noisy = self.released(draws, excess(found))
            levels, below = np.append(levels, found), np.append(below, q - noisy / n)
            weights = np.append(weights, own)


def crossings(
    excess: Callable[[FloatArray], FloatArray], draws: ChargedDraws, number: int
) -> FloatArray:
    """About where falling sums pass 0 between -1 and 1, by all charged draws, (number,).

    Each draw asks at the median of what is believed: bisection, if there is no noise.
    """
    sigma, cells = draws.sigma, 2**_DIGITS
    belief, edges = np.full((number, cells), 1.0 / cells), np.linspace(-1.0, 1.0, cells + 1)
    k = np.arange(cells)

    def middle() -> npt.NDArray[np.intp]:
        return np.argmax(np.cumsum(belief, axis=1) >= 0.5 * (1 - 2.0**-40), axis=1)

    while draws.remaining:
        left = k <= middle()[:, None]
        found = np.asarray(draws(excess(edges[middle() + 1])))
        beyond = ndtr(found / sigma) if sigma else (found > 0).astype(float)
        beyond = np.clip(beyond, 1e-9, 1 - 1e-9)[:, None]
        belief *= np.where(left, 1 - beyond, beyond)
        belief /= belief.sum(axis=1, keepdims=True)
    at = middle()
    return np.asarray(0.5 * (edges[at] + edges[at + 1]))


def told(quantiles: tuple[float, ...], noise: float) -> tuple[float, ...]:
    """The quantiles of y that counts of this noise, a share of the records, tell from its ends."""
    least = min((_TOLD if len(quantiles) == 1 else _SEVERAL_TOLD) * noise, 0.5)
    return tuple(min(max(q, least), 1 - least) for q in quantiles)
