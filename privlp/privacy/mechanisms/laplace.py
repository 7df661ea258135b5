"""Laplace noise: independent entries, and vectors of a density that falls with the L2 norm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt

from privlp.privacy.mechanisms.additive import ExponentialTails
from privlp.privacy.mechanisms.base import CHANCE, l2_distance
from privlp.privacy.noise.laws import EuclideanLaplace, Laplace, Law
from privlp.privacy.prices import Price


@dataclass(frozen=True)
class LaplaceMechanism(ExponentialTails):
    """Add independent Laplace noise of the given scale to a number or vector.

    `sensitivity` bounds the L1 change between neighbours; the release is (sensitivity / scale)-DP
    (Dwork, McSherry, Nissim and Smith 2006). The exact sum is rounded to a public grid, so that the
    low bits of a release tell nothing (:mod:`privlp.privacy.noise.rounding`). Proof:
    ``docs/proofs.md``, "Laplace mechanism".

    Parameters
    ----------
    sensitivity, scale : float
        In the units of the released value.
    """

    name = "Laplace mechanism"

    @classmethod
    def of_eps(cls, sensitivity: float, eps: float) -> LaplaceMechanism:
        """The mechanism of the least scale that spends no more than eps.

        The scale is the least to a unit in the last place, and 0 for ``eps = inf``.
        """
        mechanism = cls(sensitivity, sensitivity / eps)
        while mechanism.pure_eps > eps:
            mechanism = cls(sensitivity, math.nextafter(mechanism.scale, math.inf))
        return mechanism

    @property
    def _law(self) -> Law:
        return Laplace()

    @property
    def price(self) -> Price:
        return Price.laplace(self.pure_eps) if self.scale > 0 else Price.none()


@dataclass(frozen=True)
class LaplaceCount(LaplaceMechanism):
    """A noisy count that bounds the true one, but for a chance: it is 64 scales too small at most.

    `sensitivity` and `scale` as for :class:`LaplaceMechanism`. What rests on the bound fails with a
    probability of half of e^-64, which is charged as `chance`. Proof: ``docs/proofs.md``, "Records
    that are added or removed".
    """

    chance = CHANCE


@dataclass(frozen=True)
class EuclideanLaplaceMechanism(ExponentialTails):
    """Add noise of density proportional to exp(-||v||_2 / scale) to a vector.

    `sensitivity` bounds the L2 change between neighbours; densities at any output differ by a
    factor of at most exp(sensitivity / scale), so the release is (sensitivity / scale)-DP
    (Chaudhuri, Monteleoni and Sarwate 2011). The noise is a uniform direction times a Gamma(p,
    scale) length; it is *not* made of independent Laplace draws. The exact sum is rounded to a
    public grid. Proof: ``docs/proofs.md``, "Euclidean Laplace mechanism".

    Parameters
    ----------
    sensitivity, scale : float
        In the units of the released vector.
    """

    name = "Euclidean Laplace mechanism"

    @property
    def _law(self) -> Law:
        return EuclideanLaplace()

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L2 norm of the change."""
        return l2_distance(one, two)
