"""A series of calls: what was charged to a budget, its rule, and the series that it is part of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

from privlp.errors import BudgetExceededError
from privlp.privacy import refusals
from privlp.privacy.budget_rule import BudgetRule, BudgetSums
from privlp.privacy.call_store import CallStore
from privlp.privacy.charges import Call, Charge, Share
from privlp.privacy.relation import require_one_relation


class CallSeries:
    """The calls that a budget paid for, and what may still be charged.

    A ledger enters its charges here. They must fit here and in every series above.
    """

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
                raise refusals.no_room_for_calls(eps, delta, series.sums(), series.rule)

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
            raise refusals.beyond_both_sums(new, self.sums(), rule)
        raise refusals.beyond_limit(new, total, eps=rule.eps, delta=rule.delta, spent=self.spent())
