"""A budget for several calls, each of which may be chosen in view of what earlier ones released.

The rule
--------
A budget of (eps, delta) pays for a call if, with it, at least one of two sums stays within its limit:

* *the calls*: each is (eps_i, delta_i)-DP by itself; the eps_i add up to at most eps, and the
  delta_i to at most nine tenths of delta;
* *the Gaussian sum*: each draw is mu_i-Gaussian-DP; the squares of the mu_i add up to at most mu^2,
  where mu-GDP is (eps, delta/10)-DP.

Each sum by itself guards its limit however the requests are chosen, and the two shares of delta add
up: so does their union. Proof: ``docs/proofs.md``, "A budget that is used adaptively".
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from privlp.checks import is_one_of
from privlp.errors import BudgetExceededError, InvalidParameterError
from privlp.privacy.gaussian_dp import eps_of, mu_of
from privlp.privacy.ledger import Call, Charge, ChargedDraws, Ledger, Share, require_one_relation
from privlp.privacy.partitions import few_places, largest_sum
from privlp.privacy.prices import composed_epsilon
from privlp.privacy.record import LedgerEntry, PrivacyRecord

if TYPE_CHECKING:
    from privlp.privacy.budget_file import StoredBudget
    from privlp.privacy.mechanisms import Mechanism
    from privlp.privacy.randomness import Randomness
    from privlp.relations import NeighbourRelation

Composition: TypeAlias = Literal["adaptive", "planned", "basic"]

#: What is added up over the calls.
EPS, DELTA, SQUARE = attrgetter("eps"), attrgetter("delta"), attrgetter("square")
#: Shares of delta for the sum of the calls and for the Gaussian sum. What is left of 1 covers the
#: relative error of sums of floating-point numbers.
_CALLS, _GAUSSIAN, _ROUNDING = 0.9, 0.1 - 1e-9, 1e-12
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
    >>> budget = privlp.Budget.open(os.path.join(folder.name, "census.budget"), eps=1.0, delta=1e-6)
    >>> sums = budget.sums()
    >>> sums.eps, sums.mu, round(sums.mu_limit, 3)
    (0.0, 0.0, 0.214)
    >>> folder.cleanup()
    """

    eps: float
    delta: float
    mu: float
    mu_limit: float


class Budget(Ledger):
    """A privacy budget shared by several solves and fits.

    Pass the same ``Budget`` to each call. Each call spends at most its own (eps, delta); a call
    that would overspend raises :class:`~privlp.errors.BudgetExceededError` before any draw.
    Requests may be chosen in view of earlier answers: all of them together are (eps, delta)-DP.

    Parameters
    ----------
    eps, delta : float
        Total guarantee, eps in (0, inf], delta in [0, 1).
    composition : {"adaptive", "planned", "basic"}
        How calls add up. "adaptive" (default): the rule of this module. "basic": their eps and delta add
        up, and nothing else is tried; also adaptive, with no part of delta set aside. "planned": the
        best known bound on all draws together. It is smaller, and holds *only* if all requests were
        fixed before the first answer was seen.

    Examples
    --------
    >>> import privlp
    >>> budget = privlp.Budget(eps=1.0, delta=1e-6)
    >>> budget.spent(), budget.entries
    (0.0, ())
    >>> privlp.Budget(eps=0.0, delta=1e-6)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: eps must be positive (or inf for no privacy), got 0.0.
    """

    def __init__(
        self,
        eps: float,
        delta: float,
        *,
        composition: Composition = "adaptive",
        _parent: Budget | None = None,
        _part: tuple[tuple[str, int], ...] = (),
    ) -> None:
        super().__init__(eps, delta, _budget=_parent)
        if not is_one_of(composition, tuple(_SHARE_OF_CALLS)):
            raise InvalidParameterError(
                f"composition must be 'adaptive', 'planned' or 'basic', got {composition!r}.",
                parameter="composition",
            )
        self.composition = composition
        self._part = _part
        self._calls: dict[str, Call] = {}
        self._names = itertools.count()

    # ------------------------------------------------------------------------------------------ for
    # callers

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        eps: float | None = None,
        delta: float | None = None,
        *,
        composition: Composition | None = None,
        adopt: bool = False,
    ) -> StoredBudget:
        """Open a budget that is kept in a file, for releases over months and from several processes.

        Every charge is on the disk before the draw it pays for. All who have opened the file spend
        from the same budget.

        Parameters
        ----------
        path : path
            Of the file, on a local disk. If there is none it is made.
        eps, delta : float, optional
            Total guarantee; required for a new file. The limit of a file never changes.
        composition : {"adaptive", "planned", "basic"}, optional
            Of a new file, "adaptive" by default; see :class:`privlp.Budget`.
        adopt : bool
            Use a file that was moved from another disk or restored from a backup. A copy beside the file
            is refused by default: two copies would spend the budget twice. The history tells of it. A copy
            in the place of a deleted file cannot always be told from it.

        Raises
        ------
        BudgetFileError
            If the file cannot be used, with the reason.
        InvalidParameterError
            If eps, delta or composition are not those of the file.

        Examples
        --------
        >>> import os, tempfile
        >>> from privlp import Budget, examples, solve
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "census.budget")
        >>> budget = Budget.open(path, eps=1.0, delta=0.0)
        >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
        >>> round(Budget.open(path).spent(), 6)  # months later, in another process
        0.25
        >>> folder.cleanup()
        """
        from privlp.privacy.budget_file import open_budget  # noqa: PLC0415 (derives from this class)

        return open_budget(path, eps, delta, composition, adopt=adopt)

    def ledger(self, eps: float, delta: float) -> Ledger:
        """The ledger of one planned call of at most (eps, delta), whose charges must also fit here.

        Examples
        --------
        >>> from privlp import Budget, ConstraintPrivate
        >>> from privlp.privacy import LaplaceMechanism, Randomness
        >>> budget = Budget(eps=1.0, delta=1e-6)
        >>> ledger = budget.ledger(eps=0.5, delta=0.0)
        >>> release = ledger.charge(LaplaceMechanism.of_eps(1.0, 0.5), 1, "a count", ConstraintPrivate(), Randomness(0))
        >>> ledger.spent(), round(budget.spent(), 5)
        (0.5, 0.5)
        """
        return Ledger(eps, delta, _budget=self)

    def share(self, eps: float, delta: float, *, composition: Composition = "adaptive") -> Budget:
        """A budget of its own (eps, delta) whose every call must also fit here.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=2.0, delta=0.0)
        >>> part = budget.share(eps=0.5, delta=0.0)
        >>> solution = solve(examples.diet(), None, None, budget=part, rng=0)  # all of the part
        >>> round(part.spent(), 6), round(budget.spent(), 6)
        (0.5, 0.5)
        """
        return Budget(eps, delta, composition=composition, _parent=self)

    def disjoint(self, count: int) -> list[Budget]:
        """One budget for each of `count` disjoint parts of the records.

        Together they cost what the dearest part costs.

        Which record falls into which part must not depend on the records. Then neighbours differ in
        one part alone, and all that was charged for the other parts has the same distribution on
        both (McSherry 2009, parallel composition).

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> for seed, region in enumerate(budget.disjoint(3)):  # no supplier serves two regions
        ...     solution = solve(examples.diet(seed), eps=0.5, delta=0.0, budget=region, rng=seed)
        >>> round(budget.spent(), 6)
        0.5
        """
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise InvalidParameterError(
                f"count must be a positive integer, got {count!r}.", parameter="count"
            )
        partition = self._new_name()
        return [
            Budget(
                self.eps,
                self.delta,
                composition=self.composition,
                _parent=self,
                _part=((partition, part),),
            )
            for part in range(count)
        ]

    def spent(self) -> float:
        """What all calls cost together, as eps at this budget's delta, if they were planned.

        Where they were chosen in view of earlier answers, only the limit is a guarantee.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
        >>> round(budget.spent(), 6)
        0.25
        """
        return self._spent(self.calls.values())

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call, by the identifiers of their ledgers.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
        >>> [round(call.eps, 6) for call in budget.calls.values()]
        [0.25]
        """
        return MappingProxyType(self._calls)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What was paid for, in order."""
        return tuple(
            replace(charge.entry, purpose=charge.entry.purpose + _of_parts(call))
            for call in self.calls.values()
            for charge in call.charges
        )

    def record(self) -> PrivacyRecord:
        calls = self.calls.values()
        relations = dict.fromkeys(text for call in calls for text in call.relations)
        randomness = {text: seeded for call in calls for text, seeded in call.randomness.items()}
        return replace(self._record(relations, randomness), composition=self.composition)

    @property
    def delta_left(self) -> float:
        """What a further call with a delta of its own may take: nine tenths of all that is left, where calls are adaptive.

        Examples
        --------
        >>> from privlp import Budget
        >>> Budget(eps=1.0, delta=1e-6).delta_left
        9e-07
        """
        return self._share_of_calls * self._delta_of_a_further_call()

    def charge_together(
        self,
        requests: Sequence[tuple[Mechanism, int, str]],
        relation: NeighbourRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> list[ChargedDraws]:
        return _DirectCall(self).charge_together(
            requests, relation, randomness, description=description
        )

    # ------------------------------------------------------------------------------------------ for
    # ledgers

    @property
    def _share_of_calls(self) -> float:
        """The share of its delta at which a call is priced, so that the rest is left for the Gaussian sum."""
        own = _SHARE_OF_CALLS[self.composition]
        return own if self._budget is None else min(own, self._budget._share_of_calls)

    def _new_name(self) -> str:
        """A name that no other call and no other partition has, here and in the budgets above."""
        return str(next(self._names)) if self._budget is None else self._budget._new_name()

    def _chain(self, call: Call) -> Iterator[tuple[Budget, Call]]:
        """Yield this budget and those above it, each with the call as it appears there."""
        budget: Budget | None = self
        while budget is not None:
            yield budget, call
            share = call.share
            if budget.composition != "planned":
                share = Share(budget._identifier, budget.eps, budget.delta)
            call = replace(call, parts=call.parts + budget._part, share=share)
            budget = budget._budget

    @property
    def _mu_limit(self) -> float:
        """The limit of the Gaussian sum."""
        return 0.0 if self.composition == "basic" else _largest_mu(self.eps, _GAUSSIAN * self.delta)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Within it, nobody else changes what was charged.

        What is entered is kept if it ends without an error.
        """
        before = self._calls.copy()
        try:
            yield
        except BaseException:
            self._calls = before
            raise

    def _require_room(self, new: Sequence[Charge], call: Call) -> None:
        """Refuse a call that does not fit.

        Raises
        ------
        BudgetExceededError
            If this budget is closed, or the call would overspend it.
        RelationMismatchError
            If an earlier call was made under another neighbour relation.
        """
        self.refuse_elsewhere()
        if self._closed:
            raise BudgetExceededError(
                "This budget is closed: what it paid for is finished. Open a new one."
            )
        for earlier in self.calls.values():
            for relation in call.relations.values():
                require_one_relation(earlier.relations, relation)
        calls = self._with(call)
        if not self._fits(calls):
            raise self._refusal(new, self._spent(calls))

    def require_room_for(self, eps: float, delta: float) -> None:
        """Refuse a series of calls that add up to (eps, delta), before any of them is made.

        Raises
        ------
        BudgetExceededError
            If they would not fit.

        Examples
        --------
        >>> from privlp import Budget
        >>> Budget(eps=1.0, delta=0.0).require_room_for(2.0, 0.0)
        Traceback (most recent call last):
            ...
        privlp.errors.BudgetExceededError: Calls of (2, 0) in all do not fit into what is left of the budget (1, 0): ...
        """
        whole = Call("", eps, delta, (), {}, {}, share=Share("", eps, delta))
        for budget, call in self._chain(whole):
            if not (math.isinf(budget.eps) or budget._room_for(call)):
                sums = budget.sums()
                raise BudgetExceededError(
                    f"Calls of ({eps:g}, {delta:g}) in all do not fit into what is left of the"
                    f" budget ({budget.eps:g}, {budget.delta:g}): its calls add up to"
                    f" ({sums.eps:g}, {sums.delta:g}) so far. Nothing was drawn and nothing was"
                    " charged. Ask for less, or give a larger Budget."
                )

    def _room_for(self, call: Call) -> bool:
        calls = self._with(call)
        return (
            self._spent(calls) <= self.eps
            if self.composition == "planned"
            else self._calls_fit(calls)
        )

    def sums(self) -> BudgetSums:
        """What is compared with the limits.

        Examples
        --------
        >>> import privlp
        >>> budget = privlp.Budget(eps=1.0, delta=1e-6)
        >>> solution = privlp.solve(privlp.examples.diet(), eps=0.5, delta=0.0, budget=budget, rng=0)
        >>> sums = budget.sums()
        >>> round(sums.eps, 6), sums.mu <= sums.mu_limit  # the calls pay, not the Gaussian sum
        (0.5, False)
        """
        calls = self.calls.values()
        eps, delta, square = (largest_sum(calls, number) for number in (EPS, DELTA, SQUARE))
        return BudgetSums(eps, delta, math.sqrt(square), self._mu_limit)

    def _enter(self, call: Call) -> None:
        """Record a call, or more charges of one that is recorded already."""
        self._calls[call.identifier] = call

    # ------------------------------------------------------------------------------------------ the
    # rule

    def _with(self, call: Call) -> list[Call]:
        return list({**self.calls, call.identifier: call}.values())

    def _fits(self, calls: Sequence[Call]) -> bool:
        if math.isinf(self.eps):
            return True
        if self.composition == "planned":
            return self._spent(calls) <= self.eps
        return self._calls_fit(calls) or self._gaussian_sum_fits(calls)

    def _calls_fit(self, calls: Sequence[Call]) -> bool:
        eps, delta = largest_sum(calls, EPS), largest_sum(calls, DELTA)
        return eps <= self.eps and delta <= self.delta * (1 + _ROUNDING)

    def _gaussian_sum_fits(self, calls: Sequence[Call]) -> bool:
        if self.composition == "basic" or self.delta == 0:
            return False
        return largest_sum(calls, SQUARE) * (1 + _ROUNDING) <= self._mu_limit**2

    def _spent(self, calls: Iterable[Call]) -> float:
        calls = list(calls)
        if self.composition == "basic":
            return largest_sum(calls, EPS)
        found = few_places(calls)
        if found is not None:
            return max((self._planned(place) for place in found), default=0.0)
        shares = self._shares(calls)
        if shares:  # basic composition, at the limits of shares
            listed = [call for call in calls if call.share not in shares]
            eps = math.fsum(share.eps for share in shares) + largest_sum(listed, EPS)
            delta = math.fsum(share.delta for share in shares) + largest_sum(listed, DELTA)
            return eps if delta <= self.delta else math.inf
        square, eps, delta = (largest_sum(calls, number) for number in (SQUARE, EPS, DELTA))
        by_squares = eps_of(math.sqrt(square), self.delta)
        return min(by_squares, eps) if delta <= self.delta else by_squares

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
        if delta + math.fsum(call.delta for call in listed) <= self.delta:
            together = min(together, math.fsum(call.eps for call in listed))
        return eps + together

    def _shares(self, calls: Iterable[Call]) -> set[Share]:
        """In a planned budget, the shares that are not planned themselves: draws through them are no list.

        Each counts as one call of its limits, which were fixed with it.
        """
        if self.composition != "planned":
            return set()
        return {call.share for call in calls if call.share is not None}

    def _delta_of_a_further_call(self) -> float:
        return max(0.0, self.delta - largest_sum(self.calls.values(), DELTA))

    def _excess(self, charges: tuple[Charge, ...]) -> float:
        """One where a call of these charges no longer fits, minus one where it does."""
        direct = _DirectCall(self)
        call = Call("", *direct._claim(charges), charges, {}, {})
        return (
            -1.0
            if all(budget._fits(budget._with(its)) for budget, its in self._chain(call))
            else 1.0
        )

    def _refusal(self, new: Sequence[Charge], total: float) -> BudgetExceededError:
        refusal = super()._refusal(new, total)
        if not total <= self.eps:
            return refusal
        sums, wanted = self.sums(), str(refusal).partition(" would ")[0]
        return BudgetExceededError(
            f"{wanted} would fit only if all requests had been planned. For requests that may"
            f" follow earlier answers, neither sum has room: the calls add up to ({sums.eps:g},"
            f" {sums.delta:g}) of ({self.eps:g}, {self.delta:g}) so far, the Gaussian parameter to"
            f" {sums.mu:g} of {sums.mu_limit:g}. Nothing was drawn and nothing was charged. Ask for"
            " less. If every request is fixed before the first answer, make the next budget with"
            " composition='planned'."
        )


class _DirectCall(Ledger):
    """A call that asks a budget for no (eps, delta) of its own: it may take all that is left."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget.eps, budget.delta, _budget=budget)
        self._left = budget._delta_of_a_further_call()

    def _claim(self, charges: tuple[Charge, ...]) -> tuple[float, float]:
        eps, delta = super()._claim(charges)
        if delta < self.delta:
            return eps, delta
        assert self._budget is not None  # noqa: S101 (by construction)
        share = self._budget._share_of_calls
        return composed_epsilon((charge.cost for charge in charges), share * self._left), self._left


@lru_cache(maxsize=1024)
def _largest_mu(eps: float, delta: float) -> float:
    return mu_of(eps, delta)


def _of_parts(call: Call) -> str:
    return "".join(f", part {part + 1} of the records" for _, part in call.parts)
