"""The right to draw."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from privlp.errors import BudgetExceededError
from privlp.float_errors import unnoticed
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.randomness import Randomness
from privlp.privacy.unique import SpentOnce


class ChargedDraws(SpentOnce):
    """The right to draw from one mechanism `count` times: paid for, and usable once each.

    Parameters
    ----------
    mechanism : Mechanism
    count : int
        Number of draws that were paid for.
    purpose : str
        As in the ledger.
    randomness : Randomness
        Where the noise comes from.
    begin : callable
        Returns the lock under which a draw begins. The ledger takes no charges after the first
        call.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        count: int,
        purpose: str,
        randomness: Randomness,
        begin: Callable[[], AbstractContextManager[object]],
    ) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.remaining = self._total = count
        self._purpose = purpose
        self._randomness = randomness
        self._begin = begin

    @property
    def sigma(self) -> float:
        """The standard deviation of Gaussian noise on one draw; 0 without noise."""
        return float(self.mechanism.sigma)  # type: ignore[attr-defined]

    def __call__(self, value: Any) -> Any:
        """Release `value` through the mechanism."""
        self.refuse_elsewhere()
        with self._begin():
            if self.remaining <= 0:
                raise BudgetExceededError(
                    f"All paid draws of the {self.mechanism.name} are used; charge the ledger for"
                    " more."
                )
            mechanism = self.mechanism.of_draw(self._total - self.remaining, self._total)
            self.remaining -= 1
        with unnoticed():
            return self._randomness.draw(mechanism, value, self._purpose)

    def secret_key(self) -> int:
        """256 random bits for coins that say nothing of the data, and stay secret: not charged."""
        self.refuse_elsewhere()
        return int.from_bytes(self._randomness.generator.bytes(32), "little")
