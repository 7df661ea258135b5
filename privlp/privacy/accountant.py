"""What ledgers and budgets share: charges before draws, calibration, and the statement."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from privlp.errors import BudgetExceededError
from privlp.privacy.budget_rule import validated_budget
from privlp.privacy.charges import AccountedRelation, Charge, cost_of
from privlp.privacy.gaussian_dp import root_of
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import Costs
from privlp.privacy.randomness import ChargedDraws, Randomness, Request, SpentOnce
from privlp.privacy.record import LedgerEntry, PrivacyRecord, Statement
from privlp.quiet import unnoticed

_M = TypeVar("_M", bound=Mechanism)
Requests: TypeAlias = Sequence[Request]


def _largest_log_intensity(
    excess: Callable[[float], float], nearly: Callable[[float], float | None]
) -> float | None:
    """The last number in [-40, 40] at which `excess`, which rises, is not positive, if any."""
    root, lowest, high = _by_secants(nearly), -40.0, 0.0
    if root is None or abs(root) > -lowest:
        if excess(lowest) > 0:
            return None
        while excess(high) < 0 and high < 40.0:
            high += 4.0
        if not excess(high) > 0:
            return high
        if math.isfinite(excess(high)):
            root = root_of(excess, lowest, high, 1e-9, 2.0**-50)
        else:
            root = lowest
            while high - root > 1e-9:
                middle = (root + high) / 2
                root, high = (middle, high) if excess(middle) <= 0 else (root, middle)
    step = 1e-9
    while excess(root) > 0:
        root, step = root - step, 2 * step
    return root


def _by_secants(rising: Callable[[float], float | None]) -> float | None:
    """A number just below the root of a function that rises about as fast as its argument."""
    x, slope, value = 0.0, 1.0, rising(0.0)
    for _ in range(30):
        if value is None:
            return None
        step = min(max(-value / slope, -8.0), 8.0)
        if abs(step) < 1e-9:
            return x + step - 1e-12
        x, before, value = x + step, value, rising(x + step)
        slope = max(0.5, ((0.0 if value is None else value) - before) / step)
    return None


def _charges_of(requests: Iterable[tuple[Mechanism, int]]) -> tuple[Charge, ...]:
    """The charges for some draws, whose purpose does not matter."""
    return tuple(Charge.of(*request, "") for request in requests)


class Accountant(SpentOnce, ABC):
    """Privacy accounting against a fixed (eps, delta): a ledger of one call, or a budget.

    Contract
    --------
    * :meth:`charge` either raises :class:`~privlp.BudgetExceededError`, leaving everything as it
      was, or records the whole cost and hands out the only object that can draw.
    * What was charged stays charged: an interrupted or failed computation does not get its budget
      back.
    * It accounts for one neighbour relation. Mixing two raises.
    * Threads may share it. It can be neither copied nor sent to another process, nor used in a
      forked one.
    """

    def __init__(self, eps: float, delta: float) -> None:
        super().__init__()
        self.eps, self.delta = validated_budget(eps, delta)

    def charge(
        self,
        mechanism: Mechanism,
        count: int,
        purpose: str,
        relation: AccountedRelation,
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
            If this ledger or budget, or a budget above it, would be overspent.
        RelationMismatchError
            If an earlier charge was made under another neighbour relation.
        """
        return self.charge_together(
            [(mechanism, count, purpose)], relation, randomness, description=description
        )[0]

    @abstractmethod
    def charge_together(
        self,
        requests: Requests,
        relation: AccountedRelation,
        randomness: Randomness,
        *,
        description: str | None = None,
    ) -> list[ChargedDraws]:
        """Pay for several (mechanism, count, purpose) at once, or for none; see :meth:`charge`."""

    @abstractmethod
    def close(self) -> None:
        """Refuse all later charges, of whoever still holds this object."""

    def calibrate(
        self, make: Callable[[float], _M], count: int, *, together_with: Sequence[Mechanism] = ()
    ) -> _M:
        """The least noisy mechanism of a family of which `count` draws still fit.

        Parameters
        ----------
        make : callable
            Maps an intensity in (0, inf) to a mechanism; a larger intensity costs more.
        count : int
            Number of draws.
        together_with : sequence of Mechanism
            Mechanisms that are to be charged with it, for one draw each.

        Raises
        ------
        BudgetExceededError
            If nothing is left, or too little for any amount of noise.
        """
        others = [(mechanism, 1) for mechanism in together_with]
        return make(self.calibrate_together(lambda eps: [*others, (make(eps), count)]))

    def calibrate_together(self, make: Callable[[float], Sequence[tuple[Mechanism, int]]]) -> float:
        """The largest intensity whose (mechanism, draws) pairs fit, charged in this order."""
        if math.isinf(self.eps):
            return math.inf

        def excess(log_intensity: float) -> float:
            return self._excess_with(_charges_of(make(math.exp(log_intensity))))

        def nearly(log_intensity: float) -> float | None:
            return self._nearly_with([cost_of(*of) for of in make(math.exp(log_intensity))])

        with unnoticed():
            _charges_of(make(1.0))  # refuses what has no price
            found = _largest_log_intensity(excess, nearly)
        if found is not None:
            return math.exp(found)
        limit = f"({self.eps:g}, {self.delta:g})"
        raise BudgetExceededError(
            f"Nothing is left of the budget {limit} for these releases."
            if self.entries
            else f"{limit} is too small a budget for these releases: part of their price does not"
            " shrink with more noise. Give a larger eps, or for objective perturbation a larger"
            " reg."
        )

    @abstractmethod
    def _excess_with(self, new: tuple[Charge, ...]) -> float:
        """A number that grows with what new charges cost, positive where they do not fit."""

    def _nearly_with(self, new: Costs) -> float | None:  # noqa: ARG002 (of ledgers alone)
        """A smooth number that is 0 where :meth:`_excess_with` is, but for rounding; or None."""
        return None

    @property
    @abstractmethod
    def delta_left(self) -> float:
        """What mechanisms with a delta of their own may take of it."""

    @abstractmethod
    def spent(self) -> float:
        """The epsilon spent so far, at the delta of this ledger or budget."""

    @property
    @abstractmethod
    def entries(self) -> tuple[LedgerEntry, ...]:
        """What was paid for, in order."""

    @abstractmethod
    def record(self) -> PrivacyRecord:
        """What was spent, as an immutable record."""

    def _record_of(
        self,
        relations: Iterable[str],
        randomness: Mapping[str, bool],
        chance: float,
        composition: str | None,
    ) -> PrivacyRecord:
        entries = self.entries
        return PrivacyRecord(
            eps=self.spent(),
            delta=(self.delta or chance) if entries else 0.0,
            eps_limit=self.eps,
            delta_limit=self.delta,
            entries=entries,
            relation=" and ".join(relations) or None,
            randomness=" and ".join(randomness) or None,
            seeded=any(randomness.values()),
            composition=composition,
        )

    def statement(self) -> Statement:
        """The guarantee so far; see :meth:`privlp.privacy.PrivacyRecord.statement`."""
        return self.record().statement()

    def __str__(self) -> str:
        return str(self.record())

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(eps={self.eps:g}, delta={self.delta:g},"
            f" spent={self.spent():.6g})"
        )
