"""A budget for several calls, in memory or in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from privlp.checks import require_flag, require_one_of, whole
from privlp.errors import InvalidParameterError
from privlp.privacy.accountant import Accountant, Requests
from privlp.privacy.budget_file import BudgetEvent, FileStore, opened_file
from privlp.privacy.budget_rule import COMPOSITIONS, BudgetRule, BudgetSums, Composition
from privlp.privacy.charges import AccountedRelation, Call, Charge, largest_sum
from privlp.privacy.ledger import CallSeries, CallStore, Ledger, OpenCall
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.randomness import ChargedDraws, Randomness
from privlp.privacy.record import LedgerEntry, PrivacyRecord


class Budget(Accountant):
    """A privacy budget shared by several solves and fits.

    Pass the same ``Budget`` to each call. Each call spends at most its own (eps, delta); a call
    that would overspend raises :class:`~privlp.errors.BudgetExceededError` before any draw.
    Requests may be chosen in view of earlier answers: all of them together are (eps, delta)-DP.

    Parameters
    ----------
    eps, delta : float
        Total guarantee, eps in (0, inf], delta in [0, 1).
    composition : {"adaptive", "planned", "basic"}
        How calls add up. "adaptive" (default): the rule of ``privlp.privacy.budget_rule``.
        "basic": their eps and delta add up, and nothing else is tried; also adaptive, with no part
        of delta set aside. "planned": the best known bound on all draws together. It is smaller,
        and holds *only* if all requests were fixed before the first answer was seen.

    Examples
    --------
    >>> from privlp import Budget, ConstraintPrivate, examples, solve
    >>> budget = Budget(eps=1.0, delta=1e-6)
    >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
    >>> round(budget.spent(), 4), [entry.purpose for entry in budget.entries]
    (0.25, ['noise on costs c'])
    >>> budget.delta_left, [round(call.eps, 4) for call in budget.calls.values()]
    (9e-07, [0.25])
    >>> budget.may_be_copied(), budget.refuse_elsewhere()  # it raises in a forked process
    (False, None)
    >>> round(budget.sums().eps, 4), budget.record().eps_limit, budget.statement()["delta_limit"]
    (0.25, 1.0, 1e-06)
    >>> Budget(eps=0.0, delta=1e-6)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: eps must be positive (or inf for no privacy), got 0.0.

    A part of it, all of which one call spends; and parts of the records that no record shares:

    >>> part = budget.share(eps=0.25, delta=0.0)
    >>> solution = solve(examples.diet(), None, None, budget=part, rng=0)
    >>> for seed, region in enumerate(budget.disjoint(3)):
    ...     solution = solve(examples.diet(seed), eps=0.25, delta=0.0, budget=region, rng=seed)
    >>> round(part.spent(), 4), round(budget.sums().eps, 4)
    (0.25, 0.75)
    >>> budget.require_room_for(2.0, 0.0)
    Traceback (most recent call last):
        ...
    privlp.errors.BudgetExceededError: Calls of (2, 0) in all do not fit into what is left of ...

    Releases of your own: what is charged together may be drawn, each as often as it was paid for.

    >>> from privlp.privacy import LaplaceMechanism, Randomness
    >>> budget = Budget(eps=1.0, delta=0.0)
    >>> def counts_and_sum(eps):
    ...     return [(LaplaceMechanism.of_eps(1.0, eps), 3), (LaplaceMechanism.of_eps(8.0, eps), 1)]
    >>> round(budget.calibrate_together(counts_and_sum), 6)
    0.25
    >>> count = budget.calibrate(lambda eps: LaplaceMechanism.of_eps(1.0, eps), count=4)
    >>> relation, source = ConstraintPrivate(), Randomness(0)
    >>> release = budget.charge(count, 1, "a count", relation, source)
    >>> noisy_count = release(17.0)
    >>> (others,) = budget.charge_together([(count, 2, "two counts")], relation, source)
    >>> release.remaining, others.remaining, round(budget.spent(), 6)
    (0, 2, 0.75)
    >>> ledger = budget.ledger(eps=0.25, delta=0.0)  # of one call, planned as a whole
    >>> budget.close()
    >>> release = ledger.charge(count, 1, "a count", relation, source)
    Traceback (most recent call last):
        ...
    privlp.errors.BudgetExceededError: This budget is closed: ...
    """

    def __init__(
        self,
        eps: float,
        delta: float,
        *,
        composition: Composition = "adaptive",
        _store: CallStore | None = None,
        _parent: CallSeries | None = None,
        _part: tuple[tuple[str, int], ...] = (),
    ) -> None:
        super().__init__(eps, delta)
        require_one_of(composition, "composition", COMPOSITIONS)
        self.composition = composition
        rule = BudgetRule(self.eps, self.delta, composition)
        self._series = CallSeries(rule, _store or CallStore(), _parent, _part)

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
        """Open a budget that is kept in a file, for months of releases and several processes.

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
            Use a file that was moved from another disk or restored from a backup. By default a copy
            is refused, because two copies would spend the budget twice; so is a file that is older
            than the count beside it says. The history tells of it. An older file whose count was
            removed, or restored with it, cannot always be told from the newest.

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
        require_flag(adopt, "adopt")
        return StoredBudget(opened_file(path, eps, delta, composition, adopt=adopt))

    def ledger(self, eps: float, delta: float) -> Ledger:
        """The ledger of one planned call of at most (eps, delta), which must also fit here."""
        self.refuse_elsewhere()
        return Ledger(eps, delta, _series=self._series)

    def share(self, eps: float, delta: float, *, composition: Composition = "adaptive") -> Budget:
        """A budget of its own (eps, delta) whose every call must also fit here."""
        self.refuse_elsewhere()
        return Budget(eps, delta, composition=composition, _parent=self._series)

    def disjoint(self, count: int) -> list[Budget]:
        """One budget for each of `count` disjoint parts of the records.

        Together they cost as much as the part that costs most.

        Which record falls into which part must not depend on the records. Then neighbours differ in
        one part alone, and all that was charged for the other parts has the same distribution on
        both (McSherry 2009, parallel composition).
        """
        count = whole(count, "count", bits=20)
        self.refuse_elsewhere()
        name = self._series.new_name()
        part = partial(Budget, self.eps, self.delta, composition=self.composition)
        return [part(_parent=self._series, _part=((name, k),)) for k in range(count)]

    def charge_together(
        self,
        requests: Requests,
        relation: AccountedRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> list[ChargedDraws]:
        return self._open_call().charge_together(
            requests, relation, randomness, description=description
        )

    def close(self) -> None:
        self.refuse_elsewhere()
        self._series.close()

    def require_room_for(self, eps: float, delta: float) -> None:
        """Refuse a series of calls that add up to (eps, delta), before any of them is made.

        Raises
        ------
        BudgetExceededError
            If they would not fit.
        """
        self._series.require_room_for(eps, delta)

    def calibrate_together(self, make: Callable[[float], Sequence[tuple[Mechanism, int]]]) -> float:
        with self._series.store.view():  # a file is read once, not at each step of the search
            return super().calibrate_together(make)

    @property
    def delta_left(self) -> float:
        """What a further call with a delta of its own may take.

        Where calls are adaptive, it is nine tenths of all that is left.
        """
        return self._series.share_of_calls * self._series.rule.delta_left(self._series.calls)

    def _open_call(self) -> OpenCall:
        self.refuse_elsewhere()
        return OpenCall(self.eps, self.delta, self._series)

    def _excess_with(self, new: tuple[Charge, ...]) -> float:
        """One where a call of these charges no longer fits, minus one where it does."""
        return -1.0 if self._series.fits(self._open_call().call_of(new)) else 1.0

    def spent(self) -> float:
        """What all calls cost together, as eps at this budget's delta, if they were planned.

        Where they were chosen in view of earlier answers, only the limit is a guarantee.
        """
        return self._series.rule.spent(self._series.calls)

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call, by the identifiers of their ledgers."""
        return self._series.store.calls

    def sums(self) -> BudgetSums:
        """What is compared with the limits."""
        return self._series.rule.sums(self._series.calls)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        return tuple(
            replace(entry, purpose=entry.purpose + parts)
            for call in self._series.calls
            for parts in ["".join(f", part {part + 1} of the records" for _, part in call.parts)]
            for entry in (charge.entry for charge in call.charges)
        )

    def record(self) -> PrivacyRecord:
        with self._series.store.view():
            calls = self._series.calls
            relations = dict.fromkeys(text for call in calls for text in call.relations)
            sources = {text: seeded for call in calls for text, seeded in call.randomness.items()}
            chance = largest_sum(calls, lambda call: call.chance)
            return self._record_of(relations, sources, chance, self.composition)


class StoredBudget(Budget):
    """A budget in a file, as :meth:`privlp.Budget.open` returns it.

    It is used like any other. Each access reads what other processes added; a charge is on the disk
    before the draw it pays for. :meth:`close` closes this object; the file can be opened again.

    Raises
    ------
    BudgetFileError
        By any access, if the file can no longer be used. Nothing was drawn then.

    Examples
    --------
    >>> import os, tempfile
    >>> from privlp import Budget, examples, solve
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = Budget.open(os.path.join(folder.name, "census.budget"), eps=1.0, delta=1e-6)
    >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
    >>> [event.what for event in budget.history()]
    ['made, for (1, 1e-06)', 'noise on costs c']
    >>> with budget.view():  # what others charge meanwhile is not seen
    ...     len(budget.calls), round(budget.sums().eps, 6)
    (1, 0.25)
    >>> folder.cleanup()
    """

    remedy = FileStore.remedy

    def __init__(self, store: FileStore) -> None:
        super().__init__(**vars(store.limits), _store=store)
        self._file = store

    def view(self) -> AbstractContextManager[None]:
        """A context within which the budget is as the file was at one moment."""
        return self._file.view()

    def history(self) -> tuple[BudgetEvent, ...]:
        """What happened to the file, in order."""
        return self._file.history


def ledger_of_call(eps: float | None, delta: float | None, budget: Budget | None) -> Accountant:
    """What a call is charged to: a budget, a part of it, or a ledger of its own."""
    if eps is None and delta is None and budget is not None:
        return budget
    if eps is None or delta is None:
        raise InvalidParameterError(
            "Give eps and delta, or eps=None, delta=None and a budget to spend all that is left"
            " of it."
        )
    return Ledger(eps, delta) if budget is None else budget.ledger(eps, delta)
