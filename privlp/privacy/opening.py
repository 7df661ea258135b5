"""What a call is charged to."""

from __future__ import annotations

from privlp.errors import InvalidParameterError
from privlp.privacy.accountant import Accountant
from privlp.privacy.budget import Budget
from privlp.privacy.ledger import Ledger


def ledger_of_call(eps: float | None, delta: float | None, budget: Budget | None) -> Accountant:
    """What a call is charged to: a budget, a part of it, or a ledger of its own.

    Examples
    --------
    >>> from privlp import Budget
    >>> from privlp.privacy.opening import ledger_of_call
    >>> ledger_of_call(0.5, 0.0, Budget(2.0, 1e-6)).eps
    0.5
    >>> ledger_of_call(1.0, None, None)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: Give eps and delta, or eps=None, delta=None and a ...
    """
    if eps is None and delta is None and budget is not None:
        return budget
    if eps is None or delta is None:
        raise InvalidParameterError(
            "Give eps and delta, or eps=None, delta=None and a budget to spend all that is left"
            " of it."
        )
    return Ledger(eps, delta) if budget is None else budget.ledger(eps, delta)
