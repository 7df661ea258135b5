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
from typing import Literal, TypeAlias

from privlp.checks import LARGEST, SMALLEST, real, require
from privlp.errors import BudgetExceededError, InvalidParameterError
from privlp.privacy.charges import CHANCES, Call, Charge, Share, calls_by_record, largest_sum
from privlp.privacy.gaussian_dp import eps_of, mu_of
from privlp.privacy.prices import composed_epsilon
from privlp.quiet import unnoticed

Composition: TypeAlias = Literal["adaptive", "planned", "basic"]
COMPOSITIONS: tuple[Composition, ...] = ("adaptive", "planned", "basic")

_LEAST_DELTA = 1e-300


def validated_budget(eps: float, delta: float) -> tuple[float, float]:
    """Check an (eps, delta) pair and return it as Python floats."""
    eps, delta = real(eps, "eps"), real(delta, "delta")
    require(eps > 0, f"eps must be positive (or inf for no privacy), got {eps!r}.", "eps")
    if eps < math.inf and not SMALLEST <= eps <= LARGEST:
        raise InvalidParameterError(
            f"eps must lie between {SMALLEST:g} and {LARGEST:g} (or be inf for no privacy), got"
            f" {eps!r}.",
            parameter="eps",
        )
    require(0 <= delta < 1, f"delta must be in [0, 1), got {delta!r}.", "delta")
    wrong = f"delta must be 0, or at least {_LEAST_DELTA:g}; got {delta!r}."
    require(delta == 0 or delta >= _LEAST_DELTA, wrong, "delta")
    return eps, delta


#: What is added up over the calls.
_EPS, _SQUARE, _CHANCE = map(attrgetter, ("eps", "square", "chance"))
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
    >>> from privlp import Budget
    >>> sums = Budget(1.0, 1e-6).sums()
    >>> sums.eps, sums.mu, round(sums.mu_limit, 3)
    (0.0, 0.0, 0.214)
    """

    eps: float
    delta: float
    mu: float
    mu_limit: float


@dataclass(frozen=True)
class BudgetRule:
    """Limits of a budget, and how its calls add up: what fits, and what was spent."""

    eps: float
    delta: float
    composition: Composition  # see :class:`privlp.Budget`

    @property
    def share_of_calls(self) -> float:
        """The share of delta at which a call is priced; the rest is left for the Gaussian sum."""
        return _SHARE_OF_CALLS[self.composition]

    @property
    def mu_limit(self) -> float:
        return 0.0 if self.composition == "basic" else _largest_mu(self.eps, _GAUSSIAN * self.delta)

    def sums(self, calls: Iterable[Call]) -> BudgetSums:
        """What is compared with the limits."""
        calls = list(calls)
        eps, square = largest_sum(calls, _EPS), largest_sum(calls, _SQUARE)
        return BudgetSums(eps, self._delta_of(calls), math.sqrt(square), self.mu_limit)

    def delta_left(self, calls: Iterable[Call]) -> float:
        return max(0.0, self.delta - self._delta_of(calls))

    def fits(self, calls: Sequence[Call]) -> bool:
        """Whether the budget admits these calls together."""
        if self.fits_by_calls(calls):
            return True
        too_many_chances = largest_sum(calls, _CHANCE) > _CHANCES * self.delta
        if self.composition != "adaptive" or self.delta == 0 or too_many_chances:
            return False
        return largest_sum(calls, _SQUARE) * (1 + _ROUNDING) <= self.mu_limit**2

    def fits_by_calls(self, calls: Sequence[Call]) -> bool:
        """Whether these calls fit, without the Gaussian sum: their draws need not be known."""
        if math.isinf(self.eps):
            return True
        if self.composition == "planned":
            return self.spent(calls) <= self.eps
        eps, delta = largest_sum(calls, _EPS), self._delta_of(calls)
        return eps <= self.eps and delta <= self.delta * (1 + _ROUNDING)

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
        square, eps, chance = (largest_sum(calls, number) for number in (_SQUARE, _EPS, _CHANCE))
        by_squares = eps_of(math.sqrt(square), math.nextafter(self.delta - chance, -math.inf))
        return min(by_squares, eps) if self._delta_of(calls) <= self.delta else by_squares

    def _of_delta(self, call: Call) -> float:
        """What a call takes of delta; a limit of 0 counts no chance."""
        return call.delta if self.delta > 0 else max(0.0, call.delta - CHANCES * call.chance)

    def _delta_of(self, calls: Iterable[Call]) -> float:
        """What the calls take of delta, at the records that were used most."""
        return largest_sum(calls, self._of_delta)

    def _planned(self, calls: Sequence[Call]) -> float:
        """The least eps known for planned calls: of all draws together, or call by call."""
        shares = self._shares(calls)
        listed = [call for call in calls if call.share not in shares]
        eps = math.fsum(share.eps for share in shares)
        delta = math.fsum(share.delta for share in shares)
        if delta > self.delta:
            return math.inf
        costs = [charge.cost for call in listed for charge in call.charges]
        together = composed_epsilon(costs, self.delta - delta) if costs else 0.0
        if delta + math.fsum(map(self._of_delta, listed)) <= self.delta:
            together = min(together, math.fsum(call.eps for call in listed))
        return eps + together

    def _shares(self, calls: Iterable[Call]) -> set[Share]:
        """Shares of a planned budget, each as one call of the limits that were fixed with it."""
        planned = self.composition == "planned"
        return {call.share for call in calls if planned and call.share is not None}


@lru_cache(maxsize=1024)
@unnoticed()
def _largest_mu(eps: float, delta: float) -> float:
    return mu_of(eps, delta)


def beyond_limit(
    new: Sequence[Charge], total: float, eps: float, delta: float, spent: float
) -> BudgetExceededError:
    """Charges that would bring the total beyond eps."""
    digits = ".6g" if f"{total:.6g}" != f"{eps:.6g}" else ".17g"  # where rounding decides
    cure = (
        "No eps would do at what is left of delta: ask for less of it, or give a Budget with a"
        " larger delta."
        if math.isinf(total)
        else "Ask for a smaller eps, or give a larger Budget."
    )
    return BudgetExceededError(
        f"{_wanted(new)} would bring the total to eps = {total:{digits}} at delta = {delta:g},"
        f" beyond the budget of eps = {eps:{digits}} (spent so far: {spent:.6g})."
        f" Nothing was drawn and nothing was charged. {cure}"
    )


def beyond_both_sums(
    new: Sequence[Charge], sums: BudgetSums, rule: BudgetRule
) -> BudgetExceededError:
    """Charges that would fit only if all requests had been planned."""
    return BudgetExceededError(
        f"{_wanted(new)} would fit only if all requests had been planned. For requests that may"
        f" follow earlier answers, neither sum has room: the calls add up to ({sums.eps:g},"
        f" {sums.delta:g}) of ({rule.eps:g}, {rule.delta:g}) so far, the Gaussian parameter to"
        f" {sums.mu:g} of {sums.mu_limit:g}. Nothing was drawn and nothing was charged. Ask for"
        " less. If every request is fixed before the first answer, make the next budget with"
        " composition='planned'."
    )


def _wanted(new: Sequence[Charge]) -> str:
    if len(new) > 1:
        return f"This request, of {sum(charge.entry.draws for charge in new):,} draws,"
    e = new[0].entry
    return f"{e.draws} draw{'s' * (e.draws > 1)} of the {e.mechanism} ({e.purpose})"
