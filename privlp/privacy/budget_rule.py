"""The rule by which a budget admits calls, each of which may be chosen after earlier answers.

The rule
--------
A budget of (eps, delta) pays for a call if, with it, at least one of two sums stays within its
limit:

* *the calls*: each is (eps_i, delta_i)-DP by itself; the eps_i add up to at most eps, and the
  delta_i to at most nine tenths of delta;
* *the Gaussian sum*: each draw is mu_i-Gaussian-DP; the squares of the mu_i add up to at most mu^2,
  where mu-GDP is (eps, delta/10)-DP.

Each sum by itself guards its limit however the requests are chosen, and the two shares of delta add
up: so does their union. Proof: ``docs/proofs.md``, "A budget that is used adaptively".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from privlp.float_errors import unnoticed
from privlp.privacy.charges import Call, Share
from privlp.privacy.gaussian_dp import eps_of, mu_of
from privlp.privacy.limits import Composition
from privlp.privacy.partitions import calls_by_record, largest_sum
from privlp.privacy.prices import composed_epsilon

#: What is added up over the calls.
_EPS, _SQUARE, _CHANCE = attrgetter("eps"), attrgetter("square"), attrgetter("chance")
#: Shares of delta for the sum of the calls and for the Gaussian sum. What is left of 1 covers the
#: relative error of sums of floating-point numbers, and the chances of draws of the Gaussian sum.
_CALLS, _GAUSSIAN, _ROUNDING, _CHANCES = 0.9, 0.1 - 1e-9, 1e-12, 1e-10
#: For each kind of composition, the share of delta at which a call is priced.
_SHARE_OF_CALLS: dict[str, float] = {"adaptive": _CALLS, "planned": 1.0, "basic": 1.0 - _ROUNDING}


@dataclass(frozen=True)
class BudgetSums:
    """What a budget compares with its limits, at the records that were used most.

    Attributes
    ----------
    eps, delta : float
        What the calls add up to.
    mu, mu_limit : float
        The root of the sum of squares of the Gaussian parameters of all draws, and its limit.

    Examples
    --------
    >>> import os, tempfile, privlp
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = privlp.Budget.open(os.path.join(folder.name, "census.budget"), 1.0, 1e-6)
    >>> sums = budget.sums()
    >>> sums.eps, sums.mu, round(sums.mu_limit, 3)
    (0.0, 0.0, 0.214)
    >>> folder.cleanup()
    """

    eps: float
    delta: float
    mu: float
    mu_limit: float


@dataclass(frozen=True)
class BudgetRule:
    """Limits of a budget, and how its calls add up: what fits, and what was spent."""

    #: The limits.
    eps: float
    delta: float
    #: See :class:`privlp.Budget`.
    composition: Composition

    @property
    def share_of_calls(self) -> float:
        """The share of delta at which a call is priced; the rest is left for the Gaussian sum."""
        return _SHARE_OF_CALLS[self.composition]

    @property
    def mu_limit(self) -> float:
        """The limit of the Gaussian sum."""
        return 0.0 if self.composition == "basic" else _largest_mu(self.eps, _GAUSSIAN * self.delta)

    def sums(self, calls: Iterable[Call]) -> BudgetSums:
        """What is compared with the limits."""
        calls = list(calls)
        eps, square = (largest_sum(calls, number) for number in (_EPS, _SQUARE))
        delta = self._delta_of(calls)
        return BudgetSums(eps, delta, math.sqrt(square), self.mu_limit)

    def delta_left(self, calls: Iterable[Call]) -> float:
        """What the calls leave of delta."""
        return max(0.0, self.delta - self._delta_of(calls))

    def fits(self, calls: Sequence[Call]) -> bool:
        """Whether the budget admits these calls together."""
        if math.isinf(self.eps):
            return True
        if self.composition == "planned":
            return self.spent(calls) <= self.eps
        return self._calls_fit(calls) or self._gaussian_sum_fits(calls)

    def fits_by_calls(self, calls: Sequence[Call]) -> bool:
        """Whether these calls fit, without the Gaussian sum: their draws need not be known."""
        if math.isinf(self.eps):
            return True
        if self.composition == "planned":
            return self.spent(calls) <= self.eps
        return self._calls_fit(calls)

    def spent(self, calls: Iterable[Call]) -> float:
        """What the calls cost together, as eps at this delta, if they were planned."""
        calls = list(calls)
        if self.composition == "basic":
            return largest_sum(calls, _EPS)
        found = calls_by_record(calls)
        if found is not None:
            return max((self._planned(of_record) for of_record in found), default=0.0)
        shares = self._shares(calls)
        if shares:  # basic composition, at the limits of shares
            listed = [call for call in calls if call.share not in shares]
            eps = math.fsum(share.eps for share in shares) + largest_sum(listed, _EPS)
            delta = math.fsum(share.delta for share in shares) + self._delta_of(listed)
            return eps if delta <= self.delta else math.inf
        square, eps = (largest_sum(calls, number) for number in (_SQUARE, _EPS))
        delta = self._delta_of(calls)
        chance = largest_sum(calls, _CHANCE)
        by_squares = eps_of(math.sqrt(square), math.nextafter(self.delta - chance, -math.inf))
        return min(by_squares, eps) if delta <= self.delta else by_squares

    def _of_delta(self, call: Call) -> float:
        return call.delta_within(self.delta)

    def _delta_of(self, calls: Iterable[Call]) -> float:
        """What the calls take of delta, at the records that were used most."""
        return largest_sum(calls, self._of_delta)

    def _calls_fit(self, calls: Sequence[Call]) -> bool:
        eps, delta = largest_sum(calls, _EPS), self._delta_of(calls)
        return eps <= self.eps and delta <= self.delta * (1 + _ROUNDING)

    def _gaussian_sum_fits(self, calls: Sequence[Call]) -> bool:
        if self.composition == "basic" or self.delta == 0:
            return False
        if largest_sum(calls, _CHANCE) > _CHANCES * self.delta:
            return False
        return largest_sum(calls, _SQUARE) * (1 + _ROUNDING) <= self.mu_limit**2

    def _planned(self, calls: Sequence[Call]) -> float:
        """The least eps known for planned calls: of all draws together, or call by call.

        Shares count as one call each (:meth:`_shares`).
        """
        shares = self._shares(calls)
        listed = [call for call in calls if call.share not in shares]
        eps, delta = (
            math.fsum(share.eps for share in shares),
            math.fsum(share.delta for share in shares),
        )
        if delta > self.delta:
            return math.inf
        costs = [charge.cost for call in listed for charge in call.charges]
        together = composed_epsilon(costs, self.delta - delta) if costs else 0.0
        if delta + math.fsum(map(self._of_delta, listed)) <= self.delta:
            together = min(together, math.fsum(call.eps for call in listed))
        return eps + together

    def _shares(self, calls: Iterable[Call]) -> set[Share]:
        """In a planned budget, the shares whose own draws need not be planned.

        Each counts as one call of its limits, which were fixed with it.
        """
        if self.composition != "planned":
            return set()
        return {call.share for call in calls if call.share is not None}


@lru_cache(maxsize=1024)
@unnoticed()
def _largest_mu(eps: float, delta: float) -> float:
    return mu_of(eps, delta)
