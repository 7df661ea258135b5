"""The ledger of one call: every mechanism is charged here before it may draw.

A ledger is *planned*: all of its charges come before its first draw, and later ones are refused. So
the best of several bounds on the composition may be taken (:mod:`privlp.privacy.prices`). Requests
made in view of earlier releases need a :class:`~privlp.Budget`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager

from privlp.errors import BudgetExceededError
from privlp.privacy import refusals
from privlp.privacy.accountant import Accountant
from privlp.privacy.charged_draws import ChargedDraws
from privlp.privacy.charges import CHANCES, Call, Charge, total_chance
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import composed_epsilon
from privlp.privacy.randomness import Randomness
from privlp.privacy.record import LedgerEntry, PrivacyRecord
from privlp.privacy.relation import AccountedRelation, require_one_relation
from privlp.privacy.series import CallSeries


class Ledger(Accountant):
    """Privacy accounting of one planned call against a fixed (eps, delta).

    Parameters
    ----------
    eps : float
        In (0, inf]; ``inf`` switches privacy off and every result says so.
    delta : float
        In [0, 1).

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
                raise refusals.beyond_limit(
                    new, total, eps=self.eps, delta=self.delta, spent=self.spent()
                )
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
        """What mechanisms with a delta of their own may take of it.

        All that is left; or half of it, if other mechanisms are charged too.

        Examples
        --------
        >>> from privlp.privacy import Ledger
        >>> Ledger(eps=1.0, delta=1e-6).delta_left
        1e-06
        """
        apart = [charge for charge in self._charges if charge.price.delta > 0]
        taken = math.fsum(charge.price.delta * charge.entry.draws for charge in apart)
        left = max(0.0, self._conversion_delta - taken)
        return left if len(apart) == len(self._charges) else left / 2

    def spent(self) -> float:
        """The epsilon spent so far, at this ledger's delta.

        Examples
        --------
        >>> from privlp import ConstraintPrivate
        >>> from privlp.privacy import LaplaceMechanism, Ledger, Randomness
        >>> ledger = Ledger(eps=1.0, delta=0.0)
        >>> count = LaplaceMechanism.of_eps(1.0, 0.25)
        >>> release = ledger.charge(count, 2, "two counts", ConstraintPrivate(), Randomness(0))
        >>> ledger.spent()
        0.5
        """
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
