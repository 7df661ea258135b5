"""What happened to a budget file, line by line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privlp.privacy.charges import Call


@dataclass(frozen=True)
class BudgetEvent:
    """One line in the history of a stored budget.

    Attributes
    ----------
    time : str
        In UTC.
    version : str
        Of privlp.
    what : str
        The purposes that were paid for; or that the file was made, or adopted.
    mechanisms : str
        Which were paid for, with numbers of draws.
    call : str
        Which call it belongs to. A later line of the same call repeats what it paid for before.
    eps, delta : float
        Of the call so far; 0 for other events.

    Examples
    --------
    >>> import os, tempfile, privlp
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = privlp.Budget.open(os.path.join(folder.name, "census.budget"), 1.0, 1e-6)
    >>> solution = privlp.solve(privlp.examples.diet(), 0.5, 0.0, budget=budget, rng=0)
    >>> event = budget.history()[-1]
    >>> event.what, event.mechanisms, round(event.eps, 6), event.delta
    ('noise on costs c', '1 x Laplace mechanism', 0.5, 0.0)
    >>> folder.cleanup()
    """

    time: str
    version: str
    what: str
    mechanisms: str = ""
    call: str = ""
    eps: float = 0.0
    delta: float = 0.0


def event_of(body: dict[str, Any], call: Call | None) -> BudgetEvent:
    """The event that a record of the file tells of; `call` is the call that it holds, if any."""
    when = str(body["time"]), str(body["version"])
    if call is None:
        return BudgetEvent(*when, _WORDS[body["kind"]](body))
    entries = [charge.entry for charge in call.charges]
    purposes = "; ".join(dict.fromkeys(entry.purpose for entry in entries))
    mechanisms = "; ".join(f"{entry.draws} x {entry.mechanism}" for entry in entries)
    return BudgetEvent(*when, purposes, mechanisms, call.identifier, call.eps, call.delta)


_WORDS: dict[str, Any] = {
    "made": lambda body: f"made, for ({float(body['eps']):g}, {float(body['delta']):g})",
    "adopted": lambda body: f"adopted at {body['place']['path']}",
}
