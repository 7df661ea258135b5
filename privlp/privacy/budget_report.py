"""A budget file for people: what was spent, and the history, for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tabulate import tabulate

from privlp.privacy.budget import StoredBudget
from privlp.privacy.budget_history import BudgetEvent
from privlp.privacy.record import json_number


def summary(budget: StoredBudget) -> str:
    """What was spent, and of how much, for the command line."""
    with budget.view():
        sums = budget.sums()
        lines = [
            (
                "limit",
                f"eps = {budget.eps:g}, delta = {budget.delta:g}, composition {budget.composition}",
            ),
            ("calls", f"{len(budget.calls)}"),
            ("they add up to", f"eps = {sums.eps:.6g}, delta = {sums.delta:.3g}"),
            ("Gaussian sum", f"mu = {sums.mu:.6g} of {sums.mu_limit:.6g}"),
            ("spent, if planned", f"eps = {budget.spent():.6g} at delta = {budget.delta:g}"),
        ]
        return (
            tabulate(lines, tablefmt="plain", disable_numparse=True) + f"\n\n{budget.statement()}"
        )


def history_table(events: Sequence[BudgetEvent]) -> str:
    """The history, a line for each event; of a call that came in several lines, the last counts."""
    rows = [
        (event.time, event.what, event.mechanisms, event.call[:6], *_price_in_words(event))
        for event in events
    ]
    return tabulate(
        rows,
        headers=("time (UTC)", "what", "mechanisms", "call", "eps", "delta"),
        disable_numparse=True,
    )


def _price_in_words(event: BudgetEvent) -> tuple[str, str]:
    return (f"{event.eps:.4g}", f"{event.delta:.3g}") if event.call else ("", "")


def to_dict(budget: StoredBudget) -> dict[str, Any]:
    """The statement, the sums and the history as plain data."""
    with budget.view():
        sums, events = asdict(budget.sums()), [asdict(event) for event in budget.history()]
        return {
            **budget.statement(),
            "sums": _finite(sums),
            "history": [_finite(event) for event in events],
        }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: json_number(value) for name, value in values.items()}
