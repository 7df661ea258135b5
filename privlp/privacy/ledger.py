"""The one ledger: every mechanism is charged here before it may draw.

Contract
--------
* :meth:`Ledger.charge` either raises :class:`~privlp.errors.BudgetExceededError`, leaving everything as it was, or
  records the whole cost and hands out the only object that can draw, :class:`ChargedDraws`.
* What was charged stays charged: an interrupted or failed computation does not get its budget back.
* Costs of one ledger compose by Rényi divergence through dp-accounting, or by adding pure epsilons where that is
  smaller; the (eps, delta) of mechanisms without Rényi divergence are added to the rest. Adaptive composition: later
  mechanisms may depend on earlier releases.
* One ledger speaks of one neighbour relation. Mixing two raises.
* Threads may share a ledger; it can be neither copied nor sent to another process, nor used in a forked one.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import numpy as np
from scipy.optimize import brentq

from privlp.checks import real
from privlp.errors import BudgetExceededError, InvalidParameterError, RelationMismatchError
from privlp.privacy import events
from privlp.privacy.record import LedgerEntry, PrivacyRecord, Statement

if TYPE_CHECKING:
    from privlp.privacy.mechanisms import Mechanism
    from privlp.privacy.randomness import Randomness
    from privlp.relations import NeighbourRelation

    RLock = threading.RLock


_PARTITIONS = itertools.count()
_M = TypeVar("_M", bound="Mechanism")


@dataclass(frozen=True)
class _Charge:
    mechanism: Mechanism
    count: int
    purpose: str
    #: (partition, part) pairs: the charge touches only the records of that part of that partition.
    parts: tuple[tuple[int, int], ...] = ()


def _in_words(charge: _Charge) -> str:
    return charge.purpose + "".join(f", part {part + 1} of the records" for _, part in charge.parts)


_ONE_PROCESS = "where it could be spent a second time. Give each process a Budget of its own, or use threads."


class _Unique:
    """An object that must not be duplicated: what it paid for would be spent twice."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def _refuse_in_a_fork(self) -> None:
        """Raise in a process forked off the one that made this; before any lock is taken, which may never be free there."""
        if os.getpid() != self._process:
            raise BudgetExceededError(f"This {type(self).__name__} belongs to the process that made it, {_ONE_PROCESS}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise BudgetExceededError(f"A {type(self).__name__} cannot be copied to a file or to another process, {_ONE_PROCESS}")


class ChargedDraws(_Unique):
    """The right to draw from one mechanism `count` times: already paid for, usable once each."""

    def __init__(self, mechanism: Mechanism, count: int, purpose: str, randomness: Randomness, lock: RLock) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.remaining = self._total = count
        self._purpose = purpose
        self._randomness = randomness
        self._lock = lock

    def __call__(self, value: Any) -> Any:
        """Release `value` through the mechanism."""
        self._refuse_in_a_fork()
        with self._lock:
            if self.remaining <= 0:
                raise BudgetExceededError(f"All paid draws of the {self.mechanism.name} are used; charge the ledger for more.")
            mechanism = self.mechanism.of_draw(self._total - self.remaining, self._total)
            self.remaining -= 1
        return self._randomness.draw(mechanism, value, self._purpose)


class Ledger(_Unique):
    """Privacy accounting against a fixed (eps, delta).

    Parameters
    ----------
    eps : float
        In (0, inf]; ``inf`` switches privacy off and every result says so.
    delta : float
        In [0, 1).

    Raises
    ------
    InvalidParameterError
        If `eps` or `delta` is outside its domain.
    """

    def __init__(self, eps: float, delta: float, *, _parent: Ledger | None = None, _part: tuple[tuple[int, int], ...] = ()) -> None:
        super().__init__()
        if _parent is not None:
            _parent._refuse_in_a_fork()
        self.eps, self.delta = validated_budget(eps, delta)
        self._parent = _parent
        self._part = _part
        self._lock: RLock = threading.RLock() if _parent is None else _parent._lock
        self._charges: list[_Charge] = []
        self._closed = False
        self._relations: dict[str, NeighbourRelation] = {}
        self._randomness: dict[str, bool] = {}

    def share(self, eps: float, delta: float) -> Ledger:
        """A ledger of its own (eps, delta) whose every charge is also made, and must also fit, here.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=2.0, delta=0.0)
        >>> part = budget.share(eps=0.5, delta=0.0)
        >>> solution = solve(examples.diet(), None, None, budget=part, rng=0)  # all of the part
        >>> round(part.spent(), 6), round(budget.spent(), 6)
        (0.5, 0.5)
        """
        return Ledger(eps, delta, _parent=self)

    def disjoint(self, count: int) -> list[Ledger]:
        """One ledger for each of `count` disjoint parts of the records; together they cost what the dearest part costs.

        Which record falls into which part must not depend on the records. Then neighbours differ in one part alone, and all
        that was charged for the other parts has the same distribution on both (McSherry 2009, parallel composition).

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
            raise InvalidParameterError(f"count must be a positive integer, got {count!r}.")
        partition = next(_PARTITIONS)
        return [Ledger(self.eps, self.delta, _parent=self, _part=((partition, part),)) for part in range(count)]

    def spent(self) -> float:
        """The epsilon spent so far, at this ledger's delta.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
        >>> round(budget.spent(), 6)
        0.25
        """
        return self._epsilon(self._charges)

    def charge(
        self,
        mechanism: Mechanism,
        count: int,
        purpose: str,
        relation: NeighbourRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> ChargedDraws:
        """Pay for `count` draws and return the right to make them.

        `description` words the relation for the statement, for instance with the number of rows of the largest record; by
        default ``relation.description``.

        Raises
        ------
        BudgetExceededError
            If this ledger or the budget it shares would be overspent.
        RelationMismatchError
            If an earlier charge was made under another neighbour relation.

        Examples
        --------
        >>> from privlp import Budget, ConstraintPrivate
        >>> from privlp.privacy import LaplaceMechanism, Randomness
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> release = budget.charge(LaplaceMechanism.of_eps(1.0, 0.5), 1, "a count", ConstraintPrivate(), Randomness(0))
        >>> noisy_count = release(17.0)
        >>> release.remaining, budget.spent()
        (0, 0.5)
        """
        return self.charge_together([(mechanism, count, purpose)], relation, randomness, description=description)[0]

    def charge_together(
        self,
        requests: Sequence[tuple[Mechanism, int, str]],
        relation: NeighbourRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> list[ChargedDraws]:
        """Pay for several (mechanism, count, purpose) at once, or for none of them; see :meth:`charge`.

        Examples
        --------
        >>> from privlp import Budget, ConstraintPrivate
        >>> from privlp.privacy import LaplaceMechanism, Randomness
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> requests = [(LaplaceMechanism.of_eps(1.0, 0.5), 1, "a count"), (LaplaceMechanism.of_eps(8.0, 0.25), 2, "two sums")]
        >>> releases = budget.charge_together(requests, ConstraintPrivate(), Randomness(0))
        >>> [release.remaining for release in releases], budget.spent()
        ([1, 2], 1.0)
        """
        for mechanism, count, _ in requests:
            if not isinstance(count, int | np.integer) or count < 1:
                raise InvalidParameterError(f"count must be a positive integer, got {count!r}.")
            mechanism.of_draw(0, int(count))  # refuses a number of draws that the mechanism has no price for
        new = [_Charge(mechanism, int(count), purpose) for mechanism, count, purpose in requests]
        self._refuse_in_a_fork()
        with self._lock:
            for ledger, charges in self._chain(new):
                ledger._check(charges, relation)
            for ledger, charges in self._chain(new):
                ledger._charges.extend(charges)
                ledger._relations[description or relation.description] = relation
                ledger._randomness[randomness.description] = randomness.seeded
        return [ChargedDraws(charge.mechanism, charge.count, charge.purpose, randomness, self._lock) for charge in new]

    def close(self) -> None:
        """Refuse all later charges: whoever still holds this ledger cannot spend through it any more.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> budget.close()
        >>> solve(examples.diet(), eps=0.5, delta=0.0, budget=budget)
        Traceback (most recent call last):
            ...
        privlp.errors.BudgetExceededError: This ledger is closed: ...
        """
        with self._lock:
            self._closed = True

    def calibrate(self, make: Callable[[float], _M], count: int, *, beside: Sequence[Mechanism] = ()) -> _M:
        """The least noisy mechanism of a family of which `count` draws still fit.

        Parameters
        ----------
        make : callable
            Maps an intensity in (0, inf) to a mechanism; a larger intensity costs more.
        count : int
            Number of draws.
        beside : sequence of Mechanism
            Mechanisms that one draw each is still to be charged for.

        Raises
        ------
        BudgetExceededError
            If nothing is left.

        Examples
        --------
        >>> from privlp import Budget
        >>> from privlp.privacy import LaplaceMechanism
        >>> mechanism = Budget(eps=1.0, delta=0.0).calibrate(lambda eps: LaplaceMechanism.of_eps(1.0, eps), count=4)
        >>> round(mechanism.scale, 6)
        4.0
        """
        return make(
            self.calibrate_together(lambda intensity: [*((mechanism, 1) for mechanism in beside), (make(intensity), count)])
        )

    def calibrate_together(self, make: Callable[[float], Sequence[tuple[Mechanism, int]]]) -> float:
        """The largest intensity at which several mechanisms, each with its number of draws, still fit together.

        `make` maps an intensity in (0, inf) to (mechanism, count) pairs; a larger intensity costs more. Charge them in that order.

        Raises
        ------
        BudgetExceededError
            If nothing is left.

        Examples
        --------
        >>> from privlp import Budget
        >>> from privlp.privacy import LaplaceMechanism
        >>> def counts_and_sum(eps):
        ...     return [(LaplaceMechanism.of_eps(1.0, eps), 3), (LaplaceMechanism.of_eps(8.0, 2 * eps), 1)]
        >>> round(Budget(eps=1.0, delta=0.0).calibrate_together(counts_and_sum), 6)
        0.2
        """
        if math.isinf(self.eps):
            return math.inf

        def excess(log_intensity: float) -> float:
            new = [_Charge(mechanism, count, "") for mechanism, count in make(math.exp(log_intensity))]
            return self._epsilon([*self._charges, *new]) - self.eps

        low, high = -40.0, 0.0
        if excess(low) >= 0:
            raise BudgetExceededError(f"Nothing is left of the budget ({self.eps:g}, {self.delta:g}).")
        while excess(high) < 0 and high < 40.0:
            high += 4.0
        root = brentq(excess, low, high, xtol=1e-9) if excess(high) > 0 else high
        while excess(root) > 0:
            root -= 1e-9
        return math.exp(root)

    @property
    def delta_left(self) -> float:
        """What mechanisms outside Rényi composition may take of delta: all that is left, or half of it beside mechanisms inside."""
        apart = [c for c in self._charges if c.mechanism.own_delta > 0]
        left = max(0.0, self.delta - math.fsum(c.count * c.mechanism.own_delta for c in apart))
        return left if len(apart) == len(self._charges) else left / 2

    def record(self) -> PrivacyRecord:
        """What was spent, as an immutable record.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
        >>> record = budget.record()
        >>> record.eps_limit, record.relation, [entry.purpose for entry in record.entries]
        (1.0, 'objective-private: c changes by at most 0.2 in sum, within the declared public range', ['noise on costs c'])
        """
        return PrivacyRecord(
            eps=self.spent(),
            delta=self.delta if self._charges else 0.0,
            eps_limit=self.eps,
            delta_limit=self.delta,
            entries=self.entries,
            relation=" and ".join(self._relations) or None,
            randomness=" and ".join(self._randomness) or None,
            seeded=any(self._randomness.values()),
        )

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What was paid for, in order."""
        return tuple(
            LedgerEntry(
                _in_words(c), c.mechanism.name, c.mechanism.sensitivity, c.mechanism.parameter, c.count, c.mechanism.arithmetic
            )
            for c in self._charges
        )

    def statement(self) -> Statement:
        """The guarantee so far; see :meth:`privlp.privacy.PrivacyRecord.statement`.

        Examples
        --------
        >>> from privlp import Budget, examples, solve
        >>> budget = Budget(eps=1.0, delta=0.0)
        >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
        >>> print(budget.statement())
        NOT FOR RELEASE: the noise came from a seeded generator. The released values together are (0.25, 0)-differentially ...
        """
        return self.record().statement()

    def __str__(self) -> str:
        return str(self.record())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(eps={self.eps:g}, delta={self.delta:g}, spent={self.spent():.6g})"

    def _chain(self, charges: list[_Charge]) -> Iterator[tuple[Ledger, list[_Charge]]]:
        """Yield this ledger and those it shares, each with the charges as they appear there."""
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger, charges
            charges = [replace(charge, parts=charge.parts + ledger._part) for charge in charges]
            ledger = ledger._parent

    def _check(self, new: list[_Charge], relation: NeighbourRelation) -> None:
        if self._closed:
            raise BudgetExceededError("This ledger is closed: what it paid for is finished. Open a new one, or give a Budget.")
        for description, earlier in self._relations.items():
            if not earlier.compatible_with(relation):
                raise RelationMismatchError(
                    f"This budget already accounts for '{description}'; it cannot also account for '{relation.description}'. "
                    "Use a Budget of its own for each neighbour relation, or, where one record touches several parts, a tuple of "
                    "relations for all of them."
                )
        total = self._epsilon([*self._charges, *new])
        if not total <= self.eps:
            wanted = " and ".join(f"{c.count} draw{'s' * (c.count > 1)} of the {c.mechanism.name} ({c.purpose})" for c in new)
            raise BudgetExceededError(
                f"{wanted} would bring the total to eps = {total:.6g} at delta = {self.delta:g}, beyond the budget of eps = "
                f"{self.eps:g} (spent so far: {self.spent():.6g}). Nothing was drawn and nothing was charged. Ask for a smaller "
                "eps, or give a larger Budget."
            )

    def _epsilon(self, charges: list[_Charge]) -> float:
        """Epsilon of the dearest record: one that lies in this part of that partition, and so on."""
        partitions: dict[int, dict[int, Counter[Any]]] = {}
        for charge in charges:
            for partition, part in charge.parts:
                partitions.setdefault(partition, {}).setdefault(part, Counter())[charge.mechanism, charge.parts] += charge.count
        # Of parts that were charged alike, one stands for all.
        alike = [
            {frozenset(((m, parts[1:]), n) for (m, parts), n in paid.items()): part for part, paid in of_parts.items()}
            for of_parts in partitions.values()
        ]
        places = (set(zip(partitions, parts, strict=True)) for parts in itertools.product(*(a.values() for a in alike)))
        return max(self._epsilon_of_one_record([c for c in charges if place.issuperset(c.parts)]) for place in places)

    def _epsilon_of_one_record(self, charges: list[_Charge]) -> float:
        if not charges:
            return 0.0
        pure = math.fsum(c.count * c.mechanism.pure_eps for c in charges)
        apart = [c for c in charges if c.mechanism.own_delta > 0]
        delta = self.delta - math.fsum(c.count * c.mechanism.own_delta for c in apart)
        if delta < 0:
            return math.inf
        rest = [c for c in charges if c.mechanism.own_delta == 0]
        delta /= math.prod(c.mechanism.delta_factor**c.count for c in rest)
        if delta == 0 or not rest:
            return pure
        eps_apart = math.fsum(c.count * c.mechanism.pure_eps for c in apart)
        # All of the rest by Rényi divergence, or one charge of it as pure beside the others: so two ledgers that share this one and
        # fit into it by adding their eps and delta are never refused for being priced in different ways.
        ways = [(0.0, rest)]
        ways += [(c.count * c.mechanism.pure_eps, [o for o in rest if o is not c]) for c in rest if len(rest) > 1]
        costs = (
            eps_one + events.composed_epsilon((events.repeat(c.mechanism.event(), c.count) for c in others), delta)
            for eps_one, others in ways
            if math.isfinite(eps_one)
        )
        return min(pure, eps_apart + min(costs))


class Budget(Ledger):
    """A privacy budget shared by several solves and fits.

    Pass the same ``Budget`` to each call. Each call spends at most its own (eps, delta); together they are composed in
    one ledger, and a call that would overspend raises :class:`~privlp.errors.BudgetExceededError` before any draw.

    Parameters
    ----------
    eps, delta : float
        Total guarantee, eps in (0, inf], delta in [0, 1).

    Examples
    --------
    >>> import privlp
    >>> budget = privlp.Budget(eps=1.0, delta=1e-6)
    >>> budget.spent(), budget.delta_left, budget.entries
    (0.0, 1e-06, ())
    >>> privlp.Budget(eps=0.0, delta=1e-6)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: eps must be positive (or inf for no privacy), got 0.0.
    """

    def __init__(self, eps: float, delta: float) -> None:
        super().__init__(eps, delta)


def validated_budget(eps: float, delta: float) -> tuple[float, float]:
    """Check an (eps, delta) pair and return it as Python floats.

    Raises
    ------
    InvalidParameterError
        If eps is not in (0, inf] or delta not in [0, 1).
    """
    eps, delta = real(eps, "eps"), real(delta, "delta")
    if not eps > 0:
        raise InvalidParameterError(f"eps must be positive (or inf for no privacy), got {eps!r}.")
    if not 0 <= delta < 1:
        raise InvalidParameterError(f"delta must be in [0, 1), got {delta!r}.")
    return eps, delta
