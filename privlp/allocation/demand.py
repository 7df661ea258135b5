"""What is public of an allocation, what one person may change, and demand at given prices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privlp.checks import FloatArray, is_integer, require, require_one_of, shown
from privlp.privacy.charges import AccountedRelation


@dataclass(frozen=True)
class PersonPrivate:
    """Neighbouring allocations differ in all data of one person: values, uses and limit.

    Parameters
    ----------
    change : {"replace", "add-remove"}
        Whether a neighbour replaces one person by another, or adds or removes one. Under
        ``"replace"`` the number of people is public. Under ``"add-remove"`` it is private, and
        noise is half as large.
    nominal_n : int, optional
        Public number in place of the number of people, required for ``"add-remove"``: a round
        number near the truth that would be the same without any one person. Allocations of more
        than twice as many people are refused.

    Examples
    --------
    >>> from privlp import PersonPrivate
    >>> PersonPrivate().description
    'person-private: values, uses and limit of one person replaced'
    >>> relation = PersonPrivate("add-remove", nominal_n=1_000)
    >>> relation.key, relation.hides_people, relation.most_changed
    ('PersonPrivate, add-remove', True, 1.0)
    >>> relation.compatible_with(PersonPrivate())
    False
    """

    change: Literal["replace", "add-remove"] = "replace"
    nominal_n: int | None = None

    def __post_init__(self) -> None:
        n = self.nominal_n
        require_one_of(self.change, "change", ("replace", "add-remove"))
        limit = f"nominal_n must be a positive integer of at most 2^40, got {shown(n)}."
        require(n is None or (is_integer(n) and 1 <= n <= 2**40), limit, "nominal_n")
        missing = (
            "change='add-remove' makes the number of people private: give a public nominal_n."
            if n is None
            else "nominal_n has no use with change='replace', where the number of people is public."
        )
        require(self.hides_people == (n is not None), missing, "nominal_n")

    @property
    def description(self) -> str:
        """The relation in words."""
        if self.nominal_n is None:
            return "person-private: values, uses and limit of one person replaced"
        return (
            f"person-private: one person added or removed, nominal n = {self.nominal_n} (more than"
            f" {2 * self.nominal_n} people are refused)"
        )

    @property
    def key(self) -> str:
        """Text that is equal for relations that one budget may account for together."""
        return f"PersonPrivate, {self.change}"

    def compatible_with(self, other: AccountedRelation) -> bool:
        """Whether one ledger may account for both relations."""
        return self.key == other.key

    @property
    def hides_people(self) -> bool:
        """Whether the number of people is private."""
        return self.change == "add-remove"

    @property
    def most_changed(self) -> float:
        """How far one person moves total use in sum over supplies, in units of the largest use.

        What a person uses has entries of at least 0 and a sum of at most 1. If she is replaced, two
        such vectors differ by at most 2 in sum; if she joins or leaves, by at most 1.
        """
        return 1.0 if self.hides_people else 2.0


@dataclass(frozen=True)
class Sizes:
    """All that is public of an allocation."""

    supplies: FloatArray  #: In units of the largest use of one person, (d,).
    options: int
    own_uses: bool  #: Whether what an option uses is each person's own.
    people: int  #: Their number, or the nominal one.
    relation: PersonPrivate
    unit: float  #: The largest use of one person, in the user's units.
    largest_value: float

    @property
    def most_people(self) -> int:
        """No allocation of these sizes has more people."""
        return 2 * self.people if self.relation.hides_people else self.people

    @property
    def rank(self) -> int:
        """Rank of the curvature of one person, at most."""
        return min(self.options, len(self.supplies))

    def rounding(self, softness: float) -> float:
        """Bound on the error of a computed total use; a unit's cost may be summed exactly."""
        terms = len(self.supplies) if self.own_uses else 1
        return rounding(self.most_people, self.options, terms, softness)


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

    values: FloatArray  #: Minus infinity where a person cannot take an option, (n, k).
    uses: FloatArray  #: The same for everybody, or her own, (k, d) or (n, k, d).
    limits: FloatArray  #: (n,).

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
            shared = some.uses.ndim == 2
            flat = some.uses.reshape(-1, d)
            total += (flat.T * (weighted.sum(axis=0) if shared else weighted.ravel())) @ flat
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
        own = self.uses.ndim == 3
        costs = self.uses @ prices if own else [math.fsum(row) for row in self.uses * prices]
        return _odds((self.values - costs) / softness)

    def _used(self, shares: FloatArray) -> FloatArray:
        """Use of each supply by each person, (n, d)."""
        if self.uses.ndim == 2:
            return shares @ self.uses
        return (shares[:, None, :] @ self.uses)[:, 0, :]

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
    return weights / (weights.sum(axis=-1, keepdims=True) + np.exp(-largest))
