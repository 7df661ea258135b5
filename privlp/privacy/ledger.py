"""The ledger of one call, and the series of calls that a budget paid for.

A ledger is *planned*: all of its charges come before its first draw, and later ones are refused;
Gaussian draws that are unused may be exchanged for others that cost no more. So the best of several
bounds on the composition may be taken (:mod:`privlp.privacy.prices`).
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType

from privlp.errors import BudgetExceededError
from privlp.privacy.accountant import Accountant, Requests
from privlp.privacy.budget_rule import BudgetRule, beyond_both_sums, beyond_limit
from privlp.privacy.charges import (
    CHANCES,
    AccountedRelation,
    Call,
    Charge,
    Share,
    require_one_relation,
    total_chance,
)
from privlp.privacy.prices import Costs, composed_epsilon, gaussian_excess
from privlp.privacy.randomness import ChargedDraws, Randomness
from privlp.privacy.record import LedgerEntry, PrivacyRecord


class CallStore:
    """Where a budget keeps its calls, by the identifiers of their ledgers: in memory, by itself."""

    def __init__(self) -> None:
        #: The lock of the budget and of all ledgers and budgets below it.
        self.lock = threading.RLock()
        self._calls: dict[str, Call] = {}
        self._names = itertools.count()

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call."""
        return MappingProxyType(self._calls)

    def new_name(self) -> str:
        """A name that no other call, share or partition of the budget has."""
        return str(next(self._names))

    def view(self) -> AbstractContextManager[None]:
        """Within it, the calls that are read are those of one moment."""
        return nullcontext()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Nobody else changes the calls within it (the lock is held); an error undoes entries."""
        before = self._calls.copy()
        try:
            yield
        except BaseException:
            self._calls = before
            raise

    def enter(self, call: Call) -> None:
        """Keep a call, or more charges of one that is kept already; within a transaction."""
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

    @property
    def calls(self) -> Collection[Call]:
        return self.store.calls.values()

    @property
    def share_of_calls(self) -> float:
        """The share of its delta at which a call is priced: the least, from here on upwards."""
        own = self.rule.share_of_calls
        return own if self._parent is None else min(own, self._parent.share_of_calls)

    def new_name(self) -> str:
        """A name that no other call and no other partition has, here and above."""
        return self.store.new_name() if self._parent is None else self._parent.new_name()

    def close(self) -> None:
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
                rule, sums = series.rule, series.rule.sums(series.calls)
                raise BudgetExceededError(
                    f"Calls of ({eps:g}, {delta:g}) in all do not fit into what is left of the"
                    f" budget ({rule.eps:g}, {rule.delta:g}): its calls add up to ({sums.eps:g},"
                    f" {sums.delta:g}) so far. Nothing was drawn and nothing was charged. Ask for"
                    " less, or give a larger Budget."
                )

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
        return list({**self.store.calls, call.identifier: call}.values())

    def _require_room(self, new: Sequence[Charge], call: Call) -> None:
        if self._closed:
            raise BudgetExceededError(
                "This budget is closed: what it paid for is finished. Open a new one."
            )
        for earlier in self.calls:
            for words, relation in call.relations.items():
                require_one_relation(earlier.relations, relation, words)
        calls, rule = self._with(call), self.rule
        if rule.fits(calls):
            return
        if (total := rule.spent(calls)) <= rule.eps:
            raise beyond_both_sums(new, rule.sums(self.calls), rule)
        raise beyond_limit(new, total, rule.eps, rule.delta, rule.spent(self.calls))


class Ledger(Accountant):
    """Privacy accounting of one planned call: eps in (0, inf], delta in [0, 1)."""

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
        requests: Requests,
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
                raise beyond_limit(new, total, self.eps, self.delta, self.spent())
            relations = {**self._relations, words: relation}
            sources = {**self._randomness, randomness.description: randomness.seeded}
            if self._series is not None:
                claim = self._claim(charges)
                self._series.enter(new, Call(self._identifier, *claim, charges, relations, sources))
            self._charges, self._relations, self._randomness = charges, relations, sources
        return [
            ChargedDraws(mechanism, int(count), purpose, randomness, self)
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
        left = max(0.0, self._share_of_calls * self.delta - taken)
        return left if len(apart) == len(self._charges) else left / 2

    def spent(self) -> float:
        return self._composed(self._charges)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(charge.entry for charge in self._charges)

    def record(self) -> PrivacyRecord:
        return self._record_of(
            self._relations, self._randomness, total_chance(self._charges), composition=None
        )

    def replace_charges(self, old: Requests, new: Requests) -> None:
        """Take charges of unused draws back, for others that cost no more; within the lock.

        Budgets above keep what was charged at first.
        """
        given_up, added = ([Charge.of(*request) for request in of] for of in (old, new))
        charges = list(self._charges)
        for charge in given_up:
            charges.remove(charge)
        charges += added
        total = self._composed(charges)
        if not total <= self.eps:
            raise beyond_limit(added, total, self.eps, self.delta, self.spent())
        self._charges = tuple(charges)

    def begin_a_draw(self) -> AbstractContextManager[bool]:
        """The lock under which a draw begins; from then on, nothing can be charged."""
        self._drawn = True
        return self._lock

    @property
    def _share_of_calls(self) -> float:
        """The share of delta at which charges are composed: what the budgets above leave of it."""
        return 1.0 if self._series is None else self._series.share_of_calls

    def _composed(self, charges: Sequence[Charge]) -> float:
        delta = self._share_of_calls * self.delta
        return composed_epsilon((charge.cost for charge in charges), delta)

    def _excess_with(self, new: tuple[Charge, ...]) -> float:
        return self._composed((*self._charges, *new)) - self.eps

    def _nearly_with(self, new: Costs) -> float | None:
        costs = [*(charge.cost for charge in self._charges), *new]
        return gaussian_excess(costs, self.eps, self._share_of_calls * self.delta)

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
        self._delta_of_the_rest = series.rule.delta_left(series.calls)

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
