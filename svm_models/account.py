"""What one fit is charged to, and where its noise comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from privlp import Budget, ConstraintPrivate, InvalidParameterError
from privlp.privacy import (
    Accountant,
    ChargedDraws,
    Mechanism,
    PrivacyRecord,
    Randomness,
)
from privlp.privacy.budget import ledger_of_call
from privlp.privacy.charges import CHANCES
from privlp.privacy.mechanisms.base import CHANCE
from svm_models.classes import DECLARED
from svm_models.parameters import LEAST_EPS_OF_SEVERAL, privacy

#: One record is one private row.
RELATION = ConstraintPrivate()
#: What a part with a delta leaves for the chances of two other calls.
_FOR_CHANCES = 2 * CHANCES * CHANCE
#: Sums of parts must not exceed the whole by rounding.
_LESS = 1 - 1e-12


class Account:
    """What one fit is charged to: its ledger, its randomness, and the neighbour relation in words.

    Parameters
    ----------
    ledger : Accountant
    randomness : Randomness
    relation : str
        What a record of privacy says about neighbours.
    neighbours : ConstraintPrivate
        The relation itself. One ledger accounts for one.
    """

    def __init__(
        self,
        ledger: Accountant,
        randomness: Randomness,
        relation: str = DECLARED,
        neighbours: ConstraintPrivate = RELATION,
    ) -> None:
        self.ledger = ledger
        self.randomness = randomness
        self.relation = relation
        self.neighbours = neighbours

    def part(self, share: float, delta: float = 0.0, *, several_calls: bool = False) -> Account:
        """An account of a share of eps, for one planned call or for several.

        The ledger of this one must be a budget of several calls (:func:`open_budget`).
        """
        budget = self.budget
        eps = budget.eps * share * _LESS
        delta = max(0.0, delta - _FOR_CHANCES)
        ledger = (
            budget.share(eps, delta, composition="basic")
            if several_calls
            else budget.ledger(eps, delta)
        )
        return Account(ledger, self.randomness, self.relation, self.neighbours)

    @property
    def budget(self) -> Budget:
        """The ledger, which is a budget of several calls."""
        assert isinstance(self.ledger, Budget)  # noqa: S101 (by open_budget)
        return self.ledger

    def charge(self, mechanism: Mechanism, purpose: str) -> ChargedDraws:
        """Charge one draw."""
        return self.charge_together([(mechanism, 1, purpose)])[0]

    def charge_together(self, requests: Sequence[tuple[Mechanism, int, str]]) -> list[ChargedDraws]:
        """Charge mechanisms, each with a number of draws and a purpose: all of them, or none."""
        return self.ledger.charge_together(
            requests, self.neighbours, self.randomness, description=self.relation
        )

    def record(self) -> PrivacyRecord:
        """What was spent.

        It says where the classes are from, even if all was charged by a linear program with words
        of its own.
        """
        record = self.ledger.record()
        if record.relation is None or self.relation in record.relation:
            return record
        return replace(record, relation=f"{record.relation} and {self.relation}")


def open_ledger(eps: float, delta: float, budget: Budget | None) -> Accountant:
    """The ledger of a planned call of (eps, delta), within `budget` if there is one."""
    _require_budget(budget)
    eps, delta = privacy(eps, delta)
    return ledger_of_call(eps, delta, budget)


def open_budget(eps: float, delta: float, budget: Budget | None) -> Budget:
    """A budget of (eps, delta) for several calls whose eps and delta add up.

    It lies within `budget` if there is one.
    """
    _require_budget(budget)
    eps, delta = privacy(eps, delta, least=LEAST_EPS_OF_SEVERAL)
    if budget is None:
        return Budget(eps, delta, composition="basic")
    # As a whole, before its first call is charged.
    budget.require_room_for(eps, delta)
    return budget.share(eps, delta, composition="basic")


def _require_budget(budget: Any) -> None:
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidParameterError(
            f"budget must be a privlp.Budget, got {type(budget).__name__}.", parameter="budget"
        )


def randomness_of(random_state: Any) -> Randomness:
    """A random source of privlp.

    From scikit-learn's legacy RandomState a seed is taken.
    """
    if isinstance(random_state, np.random.RandomState):
        return Randomness(int(check_random_state(random_state).randint(2**31 - 1)))
    return Randomness.of(random_state, "random_state")


def marked(estimator: Any, text: str) -> str:
    """The text of an estimator, and whether what it learned is not for release."""
    record = getattr(estimator, "privacy_", None)
    return text if record is None or record.remark is None else f"{text}\n{record.remark}"
