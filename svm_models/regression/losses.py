"""Losses of the residuals of K fits, smoothed within `width` of a kink, and their slopes.

Quantiles by counts; of several, sums of rising steps, with less noise than one by one.

A record above j of K rising levels adds the vector with j ones in front. So all that one record can
add or change is known: K + 1 points. Noise is shaped after them (Hardt and Talwar 2010; Li, Miklau,
Hay, McGregor and Rastogi 2015). Proof: ``docs/proofs.md``, "Regression by averaged descent".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtr
from sklearn.isotonic import isotonic_regression

from privlp.privacy import ChargedDraws
from svm_models.parameters import FloatArray

_NORMAL = NormalDist()
#: Curvature of a loss that is flat where residuals are, in units of 1/scale.
_LEAST_CURVATURE = 0.1


@dataclass(frozen=True)
class Pinball:
    """max(q r, (q - 1) r) for each of several rising quantiles q in (0, 1)."""

    quantiles: tuple[float, ...]

    #: Bound on the size of each slope, less its centre.
    farthest = 0.5
    #: Residuals up to this size cost nothing.
    ignored = 0.0
    #: Standard deviation of residuals that plans assume: it matters where errors are ignored.
    usual_scale = 1.0

    @property
    def _levels(self) -> FloatArray:
        return np.array(self.quantiles)

    @property
    def count(self) -> int:
        """Number K of fits."""
        return len(self.quantiles)

    @property
    def centre(self) -> FloatArray:
        """The middle of the range of each slope, (K,)."""
        return self._levels - 0.5

    @property
    def steepest(self) -> float:
        """Bound on the Euclidean norm of the K slopes of one record, less their centres."""
        return math.sqrt(self.count) * self.farthest

    @property
    def slope(self) -> FloatArray:
        """Bound on the size of each slope, (K,)."""
        return np.maximum(self._levels, 1 - self._levels)

    def values(self, residuals: FloatArray) -> FloatArray:
        """The losses themselves at the residuals of k records, (k, K)."""
        return np.maximum(self._levels * residuals, (self._levels - 1) * residuals)

    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        """Slopes less their centres, (k, K), each row from the residuals of its own record."""
        return np.clip(residuals / (2 * width), -0.5, 0.5)

    def curvature(self, scale: float) -> FloatArray:
        """Second derivative of the mean loss for normal residuals of deviation `scale`, (K,)."""
        return np.array([_NORMAL.pdf(_NORMAL.inv_cdf(q)) for q in self.quantiles]) / scale

    def excess(self, moved: FloatArray) -> FloatArray:
        """By what share the mean loss rises if predictions move by noise of this size, (K,).

        `moved` is in standard deviations of normal residuals. Half of the curvature times its
        square, over the least mean loss: the curvature is the density at the quantile over the
        scale, the mean loss times it.
        """
        return np.asarray(np.square(moved) / 2)

    def width(self, share: float, scale: float) -> FloatArray:
        """How far the loss is smoothed, (K,): over a share of the smaller side, twice."""
        q = self._levels
        return share * np.minimum(q, 1 - q) / self.curvature(scale)


@dataclass(frozen=True)
class EpsilonInsensitive:
    """max(0, abs(r) - epsilon), with epsilon at least 0 in the units of residuals; K = 1."""

    epsilon: float

    count = 1
    centre = np.zeros(1)
    farthest = steepest = 1.0
    slope = np.ones(1)

    @property
    def ignored(self) -> float:
        """Residuals up to this size cost nothing."""
        return self.epsilon

    @property
    def usual_scale(self) -> float:
        """Standard deviation of residuals that plans assume; smaller ones lose far more."""
        return 2 * self.epsilon or 1.0

    def values(self, residuals: FloatArray) -> FloatArray:
        """As for :class:`Pinball`, and so are the others."""
        return np.maximum(np.abs(residuals) - self.epsilon, 0.0)

    def slopes(self, residuals: FloatArray, width: FloatArray) -> FloatArray:
        upper = np.clip((residuals - self.epsilon) / (2 * width) + 0.5, 0.0, 1.0)
        lower = np.clip((-residuals - self.epsilon) / (2 * width) + 0.5, 0.0, 1.0)
        return upper - lower

    def curvature(self, scale: float) -> FloatArray:
        normal = 2 * _NORMAL.pdf(min(self.epsilon / scale, 1e3))
        return np.array([max(normal, _LEAST_CURVATURE)]) / scale

    def excess(self, moved: FloatArray) -> FloatArray:
        ignored = self.epsilon / self.usual_scale
        density, beyond = _NORMAL.pdf(ignored), _NORMAL.cdf(-ignored)
        return np.asarray(np.square(moved) * density / (2 * (density - ignored * beyond)))

    def width(self, share: float, scale: float) -> FloatArray:
        return np.array([share * scale / (4 * _NORMAL.pdf(0.0))])


#: What a private regression minimises.
ResidualLoss = Pinball | EpsilonInsensitive
#: Least absolute deviations, up to a factor of 2.
MEDIAN = Pinball((0.5,))
#: Standard deviations of a normal variable in its median size: 0.674.
MEDIAN_SIZE = _NORMAL.inv_cdf(0.75)


def normal_quantile(q: float) -> float:
    """Standard deviations from the mean to a quantile of a normal variable; at most 8."""
    return math.copysign(min(abs(_NORMAL.inv_cdf(q)), 8.0), q - 0.5)


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
        """Where n records between -1 and 1 have their quantiles, by all charged draws, rising."""
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
    """About where falling sums pass 0 between -1 and 1, by all charged draws, (number,)."""
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


# Levels of which one is selected: most of them with equal ratios of their distances from the lower
# end, which is 0 or near it for most that is counted or paid, the others with equal distances.
# Chosen with the quantiles between which the answer is looked for, and _COUNTED, on seeds 0 to 2 of
# five families (docs/results/fallback.md).
_LEVELS, _OF_EQUAL_DISTANCE, _OCTAVES, _INNER = 2**14, 0.25, 10, 0.25
# Where counts would have to look so far inside, a selection comes nearer.
_COUNTED = 0.25


def public_levels() -> FloatArray:
    """Public levels between -1 and 1, rising."""
    even = int(_LEVELS * _OF_EQUAL_DISTANCE)
    ratios = 2 * np.geomspace(2.0**-_OCTAVES, 1.0, _LEVELS - even) - 1
    return np.sort(np.append(np.linspace(-1.0, 1.0, even), ratios))


def selected(beyond: FloatArray, draw: ChargedDraws, quantile: float) -> float:
    """The level at which about 1 - q of the records are above: a selection (Smith 2011).

    `beyond` are numbers of records beyond k levels. Scores are the negative sizes of
    sum_i (1[y_i > level] - (1 - q)). A record that is replaced moves each by 1 at most, one that
    comes or goes by q or 1 - q.
    """
    above = np.cumsum(beyond[::-1])[::-1]
    return float(public_levels()[int(draw(-np.abs(above[1:] - (1 - quantile) * above[0])))])


def distinguishable(quantiles: tuple[float, ...], noise: float) -> tuple[float, ...]:
    """The quantiles of y that counts of this noise, a share of the records, tell from its ends."""
    least = min((_TOLD if len(quantiles) == 1 else _SEVERAL_TOLD) * noise, 0.5)
    return inside(quantiles, least)


def inside(quantiles: tuple[float, ...], least: float = _INNER) -> tuple[float, ...]:
    """Quantiles no nearer to 0 and to 1 than so."""
    return tuple(min(max(q, least), 1 - least) for q in quantiles)


def is_selected(quantiles: tuple[float, ...], noise: float) -> bool:
    """Whether the quantile of y is selected among levels: one, of which counts tell little."""
    return len(quantiles) == 1 and math.isfinite(noise) and _TOLD * noise > _COUNTED
