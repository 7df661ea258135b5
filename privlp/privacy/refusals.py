"""What is said where a charge does not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privlp.errors import BudgetExceededError
from privlp.privacy.budget_rule import BudgetRule, BudgetSums
from privlp.privacy.charges import Charge


def beyond_limit(
    new: Sequence[Charge], total: float, *, eps: float, delta: float, spent: float
) -> BudgetExceededError:
    """The error for charges that would bring the total beyond eps."""
    digits = ".6g" if f"{total:.6g}" != f"{eps:.6g}" else ".17g"  # where rounding decides
    cure = "Ask for a smaller eps, or give a larger Budget."
    if math.isinf(total):
        cure = (
            "No eps would do at what is left of delta: ask for less of it, or give a Budget"
            " with a larger delta."
        )
    return BudgetExceededError(
        f"{_wanted(new)} would bring the total to eps = {total:{digits}} at delta = {delta:g},"
        f" beyond the budget of eps = {eps:{digits}} (spent so far: {spent:.6g})."
        f" Nothing was drawn and nothing was charged. {cure}"
    )


def beyond_both_sums(
    new: Sequence[Charge], sums: BudgetSums, rule: BudgetRule
) -> BudgetExceededError:
    """The error for charges that would fit only if all requests had been planned."""
    return BudgetExceededError(
        f"{_wanted(new)} would fit only if all requests had been planned. For requests that may"
        f" follow earlier answers, neither sum has room: the calls add up to ({sums.eps:g},"
        f" {sums.delta:g}) of ({rule.eps:g}, {rule.delta:g}) so far, the Gaussian parameter to"
        f" {sums.mu:g} of {sums.mu_limit:g}. Nothing was drawn and nothing was charged. Ask for"
        " less. If every request is fixed before the first answer, make the next budget with"
        " composition='planned'."
    )


def no_room_for_calls(
    eps: float, delta: float, sums: BudgetSums, rule: BudgetRule
) -> BudgetExceededError:
    """The error for a series of calls that add up to more than is left."""
    return BudgetExceededError(
        f"Calls of ({eps:g}, {delta:g}) in all do not fit into what is left of the"
        f" budget ({rule.eps:g}, {rule.delta:g}): its calls add up to"
        f" ({sums.eps:g}, {sums.delta:g}) so far. Nothing was drawn and nothing was"
        " charged. Ask for less, or give a larger Budget."
    )


def nothing_left(eps: float, delta: float, *, charged: bool) -> BudgetExceededError:
    """The error for releases that fit with no amount of noise."""
    if charged:
        return BudgetExceededError(
            f"Nothing is left of the budget ({eps:g}, {delta:g}) for these releases."
        )
    return BudgetExceededError(
        f"({eps:g}, {delta:g}) is too small a budget for these releases: part of"
        " their price does not shrink with more noise. Give a larger eps, or for objective"
        " perturbation a larger reg."
    )


def _wanted(new: Sequence[Charge]) -> str:
    return " and ".join(
        f"{e.draws} draw{'s' * (e.draws > 1)} of the {e.mechanism} ({e.purpose})"
        for e in (charge.entry for charge in new)
    )
