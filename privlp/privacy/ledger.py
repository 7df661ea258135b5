"""The ledger of one call, and the series of calls that a budget paid for.

Every mechanism is charged to a ledger before it may draw. A ledger is *planned*: all of its charges
come before its first draw, and later ones are refused. So the best of several bounds on the
composition may be taken (:mod:`privlp.privacy.prices`). Requests made in view of earlier releases
need a :class:`~privlp.Budget`.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from privlp.errors import BudgetExceededError
from privlp.privacy.accountant import Accountant
from privlp.privacy.budget_rule import (
    BudgetRule,
    BudgetSums,
    beyond_both_sums,
    beyond_limit,
    no_room_for_calls,
)
from privlp.privacy.charges import (
    CHANCES,
    AccountedRelation,
    Call,
    Charge,
    Share,
    require_one_relation,
    total_chance,
)
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import composed_epsilon
from privlp.privacy.randomness import ChargedDraws, Randomness
from privlp.privacy.record import LedgerEntry, PrivacyRecord


class CallStore(Protocol):
    """Where a budget keeps its calls, by the identifiers of their ledgers."""

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """The lock of the budget and of all ledgers and budgets below it."""

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call."""

    def new_name(self) -> str:
        """A name that no other call, share or partition of the budget has."""

    def view(self) -> AbstractContextManager[None]:
        """Within it, the calls that are read are those of one moment."""

    def transaction(self) -> AbstractContextManager[None]:
        """Within it, nobody else changes the calls; an error takes back what was entered."""

    def enter(self, call: Call) -> None:
        """Keep a call, or more charges of one that is kept already; within a transaction."""


class MemoryStore:
    """A store in memory, for one process."""

    def __init__(self, calls: Mapping[str, Call] = MappingProxyType({})) -> None:
        self.lock = threading.RLock()
        self._calls = dict(calls)
        self._names = itertools.count()

    @property
    def calls(self) -> Mapping[str, Call]:
        return MappingProxyType(self._calls)

    def new_name(self) -> str:
        return str(next(self._names))

    def view(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """As above; the caller holds the lock."""
        before = self._calls.copy()
        try:
            yield
        except BaseException:
            self._calls = before
            raise

    def enter(self, call: Call) -> None:
        self._calls[call.identifier] = call


class CallSeries:
    """The calls that a budget paid for. They must fit here and in every series above."""

    def __init__(
        self,
        rule: BudgetRule,
        store: CallStore,
        parent: CallSeries | None = None,
        part: tuple[tuple[str, int], ...] = (),
    ) -> None:
        self.rule, self.store = rule, store
        self._parent, self._part = parent, part
        self._identifier = "" if parent is None else parent.new_name()
        self._closed = False
        #: One lock for a series and all below it.
        self.lock: AbstractContextManager[bool] = store.lock if parent is None else parent.lock

    # --- what was charged

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call."""
        return self.store.calls

    def spent(self) -> float:
        """What all calls cost together, if they were planned."""
        return self.rule.spent(self.calls.values())

    def sums(self) -> BudgetSums:
        """What is compared with the limits."""
        return self.rule.sums(self.calls.values())

    def delta_left(self) -> float:
        """What the calls leave of delta."""
        return self.rule.delta_left(self.calls.values())

    # --- what may be charged

    @property
    def share_of_calls(self) -> float:
        """The share of its delta at which a call is priced: the least, from here on upwards."""
        own = self.rule.share_of_calls
        return own if self._parent is None else min(own, self._parent.share_of_calls)

    def new_name(self) -> str:
        """A name that no other call and no other partition has, here and above."""
        return self.store.new_name() if self._parent is None else self._parent.new_name()

    def close(self) -> None:
        """Refuse all later charges."""
        with self.lock:
            self._closed = True

    def fits(self, call: Call) -> bool:
        """Whether a call fits here and above."""
        return all(series.rule.fits(series._with(its)) for series, its in self._upwards(call))

    def require_room_for(self, eps: float, delta: float) -> None:
        """Refuse a series of calls that add up to (eps, delta), before any of them is made."""
        whole = Call("", eps, delta, (), {}, {}, share=Share("", eps, delta))
        for series, call in self._upwards(whole):
            if not series.rule.fits_by_calls(series._with(call)):
                raise no_room_for_calls(eps, delta, series.sums(), series.rule)

    def enter(self, new: Sequence[Charge], call: Call) -> None:
        """Charge a call here and above, or nowhere. The caller holds the lock."""
        upwards = list(self._upwards(call))
        with ExitStack() as transactions:
            for series, _ in upwards:
                transactions.enter_context(series.store.transaction())
            for series, its_call in upwards:
                series._require_room(new, its_call)
            for series, its_call in upwards:
                series.store.enter(its_call)

    def _upwards(self, call: Call) -> Iterator[tuple[CallSeries, Call]]:
        """The series from here upwards, each with the call as it appears there."""
        series: CallSeries | None = self
        while series is not None:
            yield series, call
            share = call.share
            if series.rule.composition != "planned":
                share = Share(series._identifier, series.rule.eps, series.rule.delta)
            call = replace(call, parts=call.parts + series._part, share=share)
            series = series._parent

    def _with(self, call: Call) -> list[Call]:
        return list({**self.calls, call.identifier: call}.values())

    def _require_room(self, new: Sequence[Charge], call: Call) -> None:
        if self._closed:
            raise BudgetExceededError(
                "This budget is closed: what it paid for is finished. Open a new one."
            )
        for earlier in self.calls.values():
            for words, relation in call.relations.items():
                require_one_relation(earlier.relations, relation, words)
        calls, rule = self._with(call), self.rule
        if rule.fits(calls):
            return
        total = rule.spent(calls)
        if total <= rule.eps:
            raise beyond_both_sums(new, self.sums(), rule)
        raise beyond_limit(new, total, eps=rule.eps, delta=rule.delta, spent=self.spent())


class Ledger(Accountant):
    """Privacy accounting of one planned call: eps in (0, inf], delta in [0, 1).

    Examples
    --------
    >>> from privlp import ConstraintPrivate
    >>> from privlp.privacy import LaplaceMechanism, Ledger, Randomness
    >>> ledger = Ledger(eps=1.0, delta=0.0)
    >>> count, whose = LaplaceMechanism.of_eps(1.0, 0.5), (ConstraintPrivate(), Randomness(0))
    >>> release = ledger.charge(count, 1, "a count", *whose)
    >>> noisy_count = release(17.0)
    >>> ledger.charge(count, 1, "another", *whose)
    Traceback (most recent call last):
        ...
    privlp.errors.BudgetExceededError: This ledger has drawn already, ...
    """

    def __init__(self, eps: float, delta: float, *, _series: CallSeries | None = None) -> None:
        super().__init__(eps, delta)
        self._series = _series
        self._identifier = "" if _series is None else _series.new_name()
        self._lock: AbstractContextManager[bool] = (
            threading.RLock() if _series is None else _series.lock
        )
        self._charges: tuple[Charge, ...] = ()
        self._relations: dict[str, AccountedRelation] = {}
        self._randomness: dict[str, bool] = {}
        self._closed = self._drawn = False

    def charge_together(
        self,
        requests: Sequence[tuple[Mechanism, int, str]],
        relation: AccountedRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> list[ChargedDraws]:
        new = [Charge.of(*request) for request in requests]
        # Before a lock is taken: in a forked process it may never become free.
        self.refuse_elsewhere()
        randomness.refuse_elsewhere()
        with self._lock:
            self._require_open()
            words = description or relation.description
            require_one_relation(self._relations, relation, words)
            charges = (*self._charges, *new)
            total = self._composed(charges)
            if not total <= self.eps:
                raise beyond_limit(new, total, eps=self.eps, delta=self.delta, spent=self.spent())
            relations = {**self._relations, words: relation}
            sources = {**self._randomness, randomness.description: randomness.seeded}
            if self._series is not None:
                claim = self._claim(charges)
                self._series.enter(new, Call(self._identifier, *claim, charges, relations, sources))
            self._charges, self._relations, self._randomness = charges, relations, sources
        return [
            ChargedDraws(mechanism, int(count), purpose, randomness, self._begin_a_draw)
            for mechanism, count, purpose in requests
        ]

    def close(self) -> None:
        self.refuse_elsewhere()
        with self._lock:
            self._closed = True

    @property
    def delta_left(self) -> float:
        """What is left of delta; half, where mechanisms without one are charged."""
        apart = [charge for charge in self._charges if charge.price.delta > 0]
        taken = math.fsum(charge.price.delta * charge.entry.draws for charge in apart)
        left = max(0.0, self._conversion_delta - taken)
        return left if len(apart) == len(self._charges) else left / 2

    def spent(self) -> float:
        """The epsilon spent so far, at this ledger's delta."""
        return self._composed(self._charges)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What was paid for, in order."""
        return tuple(charge.entry for charge in self._charges)

    def record(self) -> PrivacyRecord:
        chance = total_chance(self._charges)
        return self._record_of(self._relations, self._randomness, chance, composition=None)

    def _begin_a_draw(self) -> AbstractContextManager[bool]:
        """The lock under which a draw begins; from then on, nothing can be charged."""
        self._drawn = True
        return self._lock

    @property
    def _share_of_calls(self) -> float:
        """The share of delta at which charges are composed: what the budgets above leave of it."""
        return 1.0 if self._series is None else self._series.share_of_calls

    @property
    def _conversion_delta(self) -> float:
        return self._share_of_calls * self.delta

    def _composed(self, charges: Sequence[Charge]) -> float:
        return composed_epsilon((charge.cost for charge in charges), self._conversion_delta)

    def _excess_with(self, new: tuple[Charge, ...]) -> float:
        return self._composed((*self._charges, *new)) - self.eps

    def _claim(self, charges: tuple[Charge, ...]) -> tuple[float, float]:
        """(eps, delta) of all charges, for budgets: as little of delta as they can do with."""
        basic = math.fsum(charge.price.eps * charge.entry.draws for charge in charges)
        if basic <= self.eps:
            own = math.fsum(charge.price.delta * charge.entry.draws for charge in charges)
            return basic, own / self._share_of_calls + CHANCES * total_chance(charges)
        return self._composed(charges), self.delta

    def _require_open(self) -> None:
        if self._closed:
            raise BudgetExceededError(
                "This ledger is closed: what it paid for is finished. Open a new one, or give a"
                " Budget."
            )
        if self._drawn:
            raise BudgetExceededError(
                "This ledger has drawn already, and the price of a planned call holds only if all"
                " of it is charged before the first draw. Charge everything at once, or make later"
                " requests through a Budget."
            )


class OpenCall(Ledger):
    """A call that asks a budget for no (eps, delta) of its own: it may take all that is left."""

    def __init__(self, eps: float, delta: float, series: CallSeries) -> None:
        super().__init__(eps, delta, _series=series)
        self._delta_of_the_rest = series.delta_left()

    def call_of(self, charges: tuple[Charge, ...]) -> Call:
        """A call of these charges, before it is made."""
        return Call("", *self._claim(charges), charges, {}, {})

    def _claim(self, charges: tuple[Charge, ...]) -> tuple[float, float]:
        eps, delta = super()._claim(charges)
        if delta < self.delta:
            return eps, delta
        left = self._delta_of_the_rest
        costs = (charge.cost for charge in charges)
        return composed_epsilon(costs, self._share_of_calls * left), left
