"""What people ask for at given prices, and sums of it over all people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

#: People in a block. Sums are made within blocks, then over them.
BLOCK = 1024
_UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class People:
    """People in units of the largest value, largest use and largest limit.

    Person i values option j at values[i, j] <= 1, and a unit of it takes uses[i, j, l] >= 0 of
    supply l, at most 1 in sum over l. Her limit is limits[i] in [0, 1]. At prices p and softness h
    her share of option j is

        x_ij = limits_i exp(a_ij) / (1 + sum_k exp(a_ik)),   a_ij = (values_ij - uses_ij·p) / h.

    The 1 stands for taking nothing. This is minus the gradient, by uses, of the convex function
    f_i(p) = limits_i h ln(1 + sum_j exp(a_ij)), which tends to the largest surplus as h falls.
    """

    #: Minus infinity where a person cannot take an option, (n, k).
    values: FloatArray
    #: The same for everybody, or her own, (k, d) or (n, k, d).
    uses: FloatArray
    #: (n,).
    limits: FloatArray

    def shares(self, prices: FloatArray, softness: float) -> FloatArray:
        """Everybody's shares, (n, k)."""
        return self.limits[:, None] * self._odds(prices, softness)

    def demand(self, prices: FloatArray, softness: float) -> FloatArray:
        """Total use of each supply, (d,)."""
        total = np.zeros(len(prices))
        for some in self._blocks():
            total += some._used(some.shares(prices, softness)).sum(axis=0)
        return total

    def hessian(self, prices: FloatArray, softness: float) -> FloatArray:
        """Second derivative of sum_i f_i, (d, d).

        That of f_i is limits_i / h times the covariance of the uses of a random option.
        """
        d = len(prices)
        total = np.zeros((d, d))
        for some in self._blocks():
            odds = some._odds(prices, softness)
            weighted = odds * some.limits[:, None]
            mean = some._used(odds)
            if some.uses.ndim == 2:
                total += (some.uses.T * weighted.sum(axis=0)) @ some.uses
            else:
                flat = some.uses.reshape(-1, d)
                total += (flat.T * weighted.ravel()) @ flat
            total -= (mean.T * some.limits) @ mean
        return total / softness

    def uses_at_one_price(self, levels: FloatArray, softness: float) -> FloatArray:
        """Total use, in sum over supplies, if every supply has the same price: one per level."""
        totals = np.zeros(len(levels))
        for some in self._blocks():
            used = some.uses.sum(axis=-1)
            for number, level in enumerate(levels):
                odds = _odds((some.values - level * used) / softness)
                totals[number] += float((some.limits[:, None] * odds * used).sum())
        return totals

    def _odds(self, prices: FloatArray, softness: float) -> FloatArray:
        """Probabilities of each option, (n, k)."""
        if self.uses.ndim == 2:
            costs = np.array([math.fsum(row) for row in self.uses * prices])
        else:
            costs = self.uses @ prices
        return _odds((self.values - costs) / softness)

    def _used(self, shares: FloatArray) -> FloatArray:
        """Use of each supply by each person, (n, d)."""
        if self.uses.ndim == 2:
            return np.asarray(shares @ self.uses)
        return np.asarray((shares[:, None, :] @ self.uses)[:, 0, :])

    def _blocks(self) -> Iterator[People]:
        for start in range(0, len(self.values), BLOCK):
            part = slice(start, start + BLOCK)
            uses = self.uses if self.uses.ndim == 2 else self.uses[part]
            yield People(self.values[part], uses, self.limits[part])


def rounding(n: int, options: int, terms: int, softness: float) -> float:
    """Bound on the error of a computed total use, in sum over supplies: public.

    `terms` is the number of terms that a unit's cost c is rounded as: 1 where it is summed exactly.
    In units of the unit roundoff u: a surplus is off by (terms + 3)(1 + c). Up to c = 2 this is
    3 (terms + 3); beyond, the share is below exp(-(c - 1)/h), and the product is smaller still. A
    share x_j moves by x_j times twice the largest such error over h. So shares, of sum at most 1,
    are off by 6 (terms + 3)/h in all, and by k + 8 for their own operations. Sums within blocks and
    over them add the length of both. All is doubled.
    """
    own = 6 * (terms + 3) / softness + options + 8
    return 2 * _UNIT_ROUNDOFF * n * (own + BLOCK + n / BLOCK)


def _odds(surplus: FloatArray) -> FloatArray:
    """exp(a_j) / (1 + sum_k exp(a_k)) along the last axis."""
    largest = np.maximum(surplus.max(axis=-1, keepdims=True), 0.0)
    weights = np.exp(surplus - largest)
    return np.asarray(weights / (weights.sum(axis=-1, keepdims=True) + np.exp(-largest)))
