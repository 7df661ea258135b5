"""The ledger of one call: every mechanism is charged here before it may draw.

Contract
--------
* :meth:`Ledger.charge` either raises :class:`~privlp.errors.BudgetExceededError`, leaving everything as
  it was, or records the whole cost and hands out the only object that can draw, :class:`ChargedDraws`.
* What was charged stays charged: an interrupted or failed computation does not get its budget back.
* A ledger is *planned*: all of its charges come before its first draw, and later ones are refused. So
  the best of several bounds on the composition may be taken (:mod:`privlp.privacy.prices`). Requests
  made in view of earlier releases need a :class:`~privlp.privacy.budget.Budget`.
* One ledger speaks of one neighbour relation. Mixing two raises.
* Threads may share a ledger; it can be neither copied nor sent to another process, nor used in a forked one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from scipy.optimize import brentq

from privlp.checks import real
from privlp.errors import BudgetExceededError, InvalidParameterError, RelationMismatchError
from privlp.privacy.prices import Price, composed_epsilon
from privlp.privacy.record import LedgerEntry, PrivacyRecord, Statement
from privlp.privacy.unique import Unique

if TYPE_CHECKING:
    from privlp.privacy.budget import Budget
    from privlp.privacy.mechanisms import Mechanism
    from privlp.privacy.randomness import Randomness
    from privlp.relations import NeighbourRelation
    from privlp.relations.base import RecordedRelation

    RLock = threading.RLock

_M = TypeVar("_M", bound="Mechanism")

#: Intensities that calibration considers, as natural logarithms.
_LOWEST, _HIGHEST = -40.0, 40.0


@dataclass(frozen=True)
class Charge:
    """So many draws at a price, and how a ledger words them."""

    price: Price
    entry: LedgerEntry

    @classmethod
    def of(cls, mechanism: Mechanism, count: int, purpose: str) -> Charge:
        """The charge for `count` draws of a mechanism.

        Raises
        ------
        InvalidParameterError
            If `count` is not a positive integer, or not one that the mechanism has a price for.
        """
        if not isinstance(count, int | np.integer) or count < 1:
            raise InvalidParameterError(
                f"count must be a positive integer, got {count!r}.", parameter="count"
            )
        mechanism.of_draw(
            0, int(count)
        )  # refuses a number of draws that the mechanism has no price for
        words = (mechanism.sensitivity, mechanism.parameter, int(count), mechanism.arithmetic)
        return cls(mechanism.price, LedgerEntry(purpose, mechanism.name, *words))

    @property
    def cost(self) -> tuple[Price, int]:
        """Price of a draw, and number of draws."""
        return self.price, self.entry.draws


@dataclass(frozen=True)
class Share:
    """The part of a budget through which a call was paid, with its limits."""

    identifier: str
    eps: float
    delta: float


@dataclass(frozen=True)
class Call:
    """All that one ledger charged, as the budgets above it see it.

    Attributes
    ----------
    identifier : str
        Of the ledger.
    eps, delta : float
        The charges together are (eps, share·delta)-DP, `share` being the budget's share of delta for
        sums of calls.
    charges : tuple of Charge
    relations : dict of str to NeighbourRelation or RecordedRelation
        Under which it protects records, by their description.
    randomness : dict of str to bool
        Where random bits came from, and whether they were seeded.
    parts : tuple of (str, int)
        The call touches only the records of that part of that partition.
    share : Share or None
        The outermost share of the budget, not planned itself, through which the call was paid.
    """

    identifier: str
    eps: float
    delta: float
    charges: tuple[Charge, ...]
    relations: Mapping[str, NeighbourRelation | RecordedRelation]
    randomness: dict[str, bool]
    parts: tuple[tuple[str, int], ...] = ()
    share: Share | None = None

    @property
    def square(self) -> float:
        """The squares of the Gaussian parameters of all its draws, added up.

        ``inf`` if a draw has none.
        """
        return math.fsum(
            charge.price.mu * charge.price.mu * charge.entry.draws for charge in self.charges
        )


class _Paid(Unique):
    """An object that must not be duplicated: what it paid for would be spent twice.

    A copy within the process is the object itself, so that a model that holds a budget can be
    cloned.
    """

    harm = "spend a second time what was paid for once"
    remedy = "Give each process a Budget of its own, or use threads."
    error = BudgetExceededError

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class ChargedDraws(_Paid):
    """The right to draw from one mechanism `count` times: already paid for, usable once each."""

    def __init__(
        self, mechanism: Mechanism, count: int, purpose: str, randomness: Randomness, ledger: Ledger
    ) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.remaining = self._total = count
        self._purpose = purpose
        self._randomness = randomness
        self._ledger = ledger

    def __call__(self, value: Any) -> Any:
        """Release `value` through the mechanism."""
        self.refuse_elsewhere()
        with self._ledger._drawing():
            if self.remaining <= 0:
                raise BudgetExceededError(
                    f"All paid draws of the {self.mechanism.name} are used; charge the ledger for"
                    " more."
                )
            mechanism = self.mechanism.of_draw(self._total - self.remaining, self._total)
            self.remaining -= 1
        return self._randomness.draw(mechanism, value, self._purpose)


class Ledger(_Paid):
    """Privacy accounting of one planned call against a fixed (eps, delta).

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

    Examples
    --------
    >>> from privlp import ConstraintPrivate
    >>> from privlp.privacy import LaplaceMechanism, Ledger, Randomness
    >>> ledger = Ledger(eps=1.0, delta=0.0)
    >>> release = ledger.charge(LaplaceMechanism.of_eps(1.0, 0.5), 1, "a count", ConstraintPrivate(), Randomness(0))
    >>> noisy_count = release(17.0)
    >>> ledger.charge(LaplaceMechanism.of_eps(1.0, 0.5), 1, "another", ConstraintPrivate(), Randomness(0))
    Traceback (most recent call last):
        ...
    privlp.errors.BudgetExceededError: This ledger has drawn already, ...
    """

    def __init__(self, eps: float, delta: float, *, _budget: Budget | None = None) -> None:
        super().__init__()
        if _budget is not None:
            _budget.refuse_elsewhere()
        self.eps, self.delta = validated_budget(eps, delta)
        self._budget = _budget
        self._lock: RLock = threading.RLock() if _budget is None else _budget._lock
        self._identifier = "" if _budget is None else _budget._new_name()
        self._charges: tuple[Charge, ...] = ()
        self._relations: dict[str, NeighbourRelation] = {}
        self._randomness: dict[str, bool] = {}
        self._closed = self._drawn = False

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
        return self._composed(self._charges)

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

        `description` words the relation for the statement, for instance with the number of rows of
        the largest record; by default ``relation.description``.

        Raises
        ------
        BudgetExceededError
            If this ledger, or a budget that it draws on, would be overspent.
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
        return self.charge_together(
            [(mechanism, count, purpose)], relation, randomness, description=description
        )[0]

    def charge_together(
        self,
        requests: Sequence[tuple[Mechanism, int, str]],
        relation: NeighbourRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> list[ChargedDraws]:
        """Pay for several (mechanism, count, purpose) at once, or for none of them.

        See :meth:`charge`.

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
        new = [Charge.of(*request) for request in requests]
        # before a lock is taken, which may never be free in a forked process
        self.refuse_elsewhere()
        randomness.refuse_elsewhere()
        with self._lock:
            self._require_open()
            require_one_relation(self._relations, relation)
            charges = (*self._charges, *new)
            total = self._composed(charges)
            if not total <= self.eps:
                raise self._refusal(new, total)
            relations = {**self._relations, description or relation.description: relation}
            sources = {**self._randomness, randomness.description: randomness.seeded}
            self._charge_budgets(
                new, Call(self._identifier, *self._claim(charges), charges, relations, sources)
            )
            self._charges, self._relations, self._randomness = charges, relations, sources
        return [
            ChargedDraws(mechanism, int(count), purpose, randomness, self)
            for mechanism, count, purpose in requests
        ]

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
        privlp.errors.BudgetExceededError: This budget is closed: ...
        """
        self.refuse_elsewhere()
        with self._lock:
            self._closed = True

    def calibrate(
        self, make: Callable[[float], _M], count: int, *, beside: Sequence[Mechanism] = ()
    ) -> _M:
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
            If nothing is left, or too little for any amount of noise.

        Examples
        --------
        >>> from privlp import Budget
        >>> from privlp.privacy import LaplaceMechanism
        >>> mechanism = Budget(eps=1.0, delta=0.0).calibrate(lambda eps: LaplaceMechanism.of_eps(1.0, eps), count=4)
        >>> round(mechanism.scale, 6)
        4.0
        """
        return make(
            self.calibrate_together(
                lambda intensity: [
                    *((mechanism, 1) for mechanism in beside),
                    (make(intensity), count),
                ]
            )
        )

    def calibrate_together(self, make: Callable[[float], Sequence[tuple[Mechanism, int]]]) -> float:
        """The largest intensity at which several mechanisms, each with its number of draws, still fit together.

        `make` maps an intensity in (0, inf) to (mechanism, count) pairs; a larger intensity costs
        more. Charge them in that order.

        Raises
        ------
        BudgetExceededError
            If nothing is left, or too little for any amount of noise.

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
            new = (Charge.of(*request, "") for request in make(math.exp(log_intensity)))
            return self._excess((*self._charges, *new))

        if excess(_LOWEST) > 0:
            raise BudgetExceededError(self._nothing_left())
        high = 0.0
        while excess(high) < 0 and high < _HIGHEST:
            high += 4.0
        root = _last_below_zero(excess, high) if excess(high) > 0 else high
        while excess(root) > 0:
            root -= 1e-9
        return math.exp(root)

    @property
    def delta_left(self) -> float:
        """What mechanisms with a delta of their own may take of it: all that is left, or half of it beside other mechanisms.

        Examples
        --------
        >>> from privlp.privacy import Ledger
        >>> Ledger(eps=1.0, delta=1e-6).delta_left
        1e-06
        """
        apart = [charge for charge in self._charges if charge.price.delta > 0]
        left = max(
            0.0,
            self._conversion_delta
            - math.fsum(charge.price.delta * charge.entry.draws for charge in apart),
        )
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
        return self._record(self._relations, self._randomness)

    def _record(self, relations: Iterable[str], randomness: dict[str, bool]) -> PrivacyRecord:
        entries = self.entries
        return PrivacyRecord(
            eps=self.spent(),
            delta=self.delta if entries else 0.0,
            eps_limit=self.eps,
            delta_limit=self.delta,
            entries=entries,
            relation=" and ".join(relations) or None,
            randomness=" and ".join(randomness) or None,
            seeded=any(randomness.values()),
        )

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What was paid for, in order."""
        return tuple(charge.entry for charge in self._charges)

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

    def _drawing(self) -> RLock:
        """The lock under which a draw begins; from then on, nothing can be charged."""
        self._drawn = True
        return self._lock

    def __str__(self) -> str:
        return str(self.record())

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(eps={self.eps:g}, delta={self.delta:g},"
            f" spent={self.spent():.6g})"
        )

    @property
    def _conversion_delta(self) -> float:
        """The delta at which charges are composed: what the budgets above leave of it."""
        return self.delta if self._budget is None else self._budget._share_of_calls * self.delta

    def _composed(self, charges: Sequence[Charge]) -> float:
        return composed_epsilon((charge.cost for charge in charges), self._conversion_delta)

    def _excess(self, charges: tuple[Charge, ...]) -> float:
        """A number that grows with what charges cost, positive where they no longer fit."""
        return self._composed(charges) - self.eps

    def _claim(self, charges: tuple[Charge, ...]) -> tuple[float, float]:
        """(eps, delta) of all charges, for budgets: as little of delta as they can do with."""
        basic = math.fsum(charge.price.eps * charge.entry.draws for charge in charges)
        if basic <= self.eps:
            own = math.fsum(charge.price.delta * charge.entry.draws for charge in charges)
            return basic, own / (1.0 if self._budget is None else self._budget._share_of_calls)
        return self._composed(charges), self.delta

    def _charge_budgets(self, new: Sequence[Charge], call: Call) -> None:
        """Charge the budgets above, all of them or none."""
        with ExitStack() as transactions:
            seen: list[tuple[Budget, Call]] = (
                [] if self._budget is None else list(self._budget._chain(call))
            )
            for budget, _ in seen:
                transactions.enter_context(budget._transaction())
            for budget, its_call in seen:
                budget._require_room(new, its_call)
            for budget, its_call in seen:
                budget._enter(its_call)

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

    def _refusal(self, new: Sequence[Charge], total: float) -> BudgetExceededError:
        wanted = " and ".join(
            f"{e.draws} draw{'s' * (e.draws > 1)} of the {e.mechanism} ({e.purpose})"
            for e in (charge.entry for charge in new)
        )
        digits = ".6g" if f"{total:.6g}" != f"{self.eps:.6g}" else ".17g"  # where rounding decides
        cure = "Ask for a smaller eps, or give a larger Budget."
        if math.isinf(total):
            cure = (
                "No eps would do at what is left of delta: ask for less of it, or give a Budget"
                " with a larger delta."
            )
        return BudgetExceededError(
            f"{wanted} would bring the total to eps = {total:{digits}} at delta = {self.delta:g},"
            f" beyond the budget of eps = {self.eps:{digits}} (spent so far: {self.spent():.6g})."
            f" Nothing was drawn and nothing was charged. {cure}"
        )

    def _nothing_left(self) -> str:
        if self.entries:
            return (
                f"Nothing is left of the budget ({self.eps:g}, {self.delta:g}) for these releases."
            )
        return (
            f"({self.eps:g}, {self.delta:g}) is too small a budget for these releases: part of"
            " their price does not shrink with more noise. Give a larger eps, or for objective"
            " perturbation a larger reg."
        )


def _last_below_zero(excess: Callable[[float], float], high: float) -> float:
    """A point near the last at which an increasing function is not positive.

    It is at ``_LOWEST``, and is not at `high`.
    """
    if math.isfinite(excess(high)):
        return float(brentq(excess, _LOWEST, high, xtol=1e-9))
    low = _LOWEST
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low


def require_one_relation(
    accounted: Mapping[str, NeighbourRelation | RecordedRelation],
    relation: NeighbourRelation | RecordedRelation,
) -> None:
    """Refuse a relation that is not the one accounted for.

    Raises
    ------
    RelationMismatchError
        With both in words.
    """
    for description, earlier in accounted.items():
        if not earlier.compatible_with(relation):
            raise RelationMismatchError(
                f"This budget already accounts for '{description}'; it cannot also account for"
                f" '{relation.description}'. Use a Budget of its own for each neighbour relation,"
                " or, where one record touches several parts, a tuple of relations for all of"
                " them."
            )


def validated_budget(eps: float, delta: float) -> tuple[float, float]:
    """Check an (eps, delta) pair and return it as Python floats.

    Raises
    ------
    InvalidParameterError
        If eps is not in (0, inf] or delta not in [0, 1).
    """
    eps, delta = real(eps, "eps"), real(delta, "delta")
    if not eps > 0:
        raise InvalidParameterError(
            f"eps must be positive (or inf for no privacy), got {eps!r}.", parameter="eps"
        )
    if not 0 <= delta < 1:
        raise InvalidParameterError(f"delta must be in [0, 1), got {delta!r}.", parameter="delta")
    return eps, delta
