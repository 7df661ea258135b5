"""A budget in a file: its calls are records, which several processes may add for years.

The rule is that of :mod:`privlp.privacy.budget_rule`. A charge is checked against all that the file
holds, and written to it, within one transaction. The right to draw is handed out after the
transaction is on the disk. So the calls of a file are in one order, each was admitted in view of
all earlier ones, and no draw goes without its record: the proof for one process holds for all of
them together. Proof: ``docs/proofs.md``, "A budget that is used adaptively".
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from privlp.checks import require_one_of
from privlp.errors import BudgetFileError, InvalidParameterError
from privlp.files import path_of
from privlp.privacy.budget_rule import COMPOSITIONS, BudgetRule, Composition, validated_budget
from privlp.privacy.charges import Call, call_from_dict, call_to_dict
from privlp.privacy.ledger import CallStore
from privlp.privacy.randomness import SpentOnce
from privlp.privacy.record import json_number
from privlp.privacy.record_file import NOT_CHARGED, START, FileLocation, Last, RecordFile

if TYPE_CHECKING:
    import sqlite3


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


class FileStore(CallStore, SpentOnce):
    """The calls of a budget, kept in a file."""

    called = "StoredBudget"
    remedy = "Open the file there: privlp.Budget.open(path)."

    def __init__(self, file: RecordFile, limits: BudgetRule) -> None:
        CallStore.__init__(self)
        SpentOnce.__init__(self)
        self.file, self.limits = file, limits
        self._known = _Known()
        #: Open while the budget is in a transaction.
        self._connection: sqlite3.Connection | None = None
        self._viewed = False

    @property
    def calls(self) -> Mapping[str, Call]:
        with self.view():
            return MappingProxyType(self._known.calls)

    @property
    def history(self) -> tuple[BudgetEvent, ...]:
        with self.view():
            return self._known.history

    def new_name(self) -> str:
        return secrets.token_hex(8)  # at random: other processes name calls too

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Within it, no other process changes the file; at its end all is on the disk."""
        self.refuse_elsewhere()
        with self.lock:
            if self._viewed:
                raise BudgetFileError(
                    "Nothing can be charged within budget.view(), where the budget stays as it was"
                    f" at one moment. {NOT_CHARGED} Charge after the end of the `with` block."
                )
            before = self._known
            try:
                with self.file.writing() as connection:
                    self.learn(*self.file.read(connection, self._known.last))
                    self._connection = connection
                    yield
            except BaseException:
                self._known = before
                raise
            finally:
                self._connection = None

    @contextmanager
    def view(self) -> Iterator[None]:
        """Within it, all is as the file was at the beginning; others may charge meanwhile."""
        self.refuse_elsewhere()
        with self.lock:
            if self._viewed or self._connection is not None:
                yield
                return
            with self.file.reading() as connection:
                self.learn(*self.file.read(connection, self._known.last))
            self._viewed = True
            try:
                yield
            finally:
                self._viewed = False

    def enter(self, call: Call) -> None:
        """Write a call, or more charges of one that is in the file already."""
        assert self._connection is not None  # noqa: S101 (within a transaction)
        body, last = self.file.append(self._connection, self._known.last, call_to_dict(call))
        self._known = self._known.having([body], last)

    def learn(self, bodies: list[dict[str, Any]], last: Last) -> None:
        """Take in what was read from the file."""
        try:
            self._known = self._known.having(bodies, last)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.file.refuse_as_damaged("its records cannot be understood")


@dataclass(frozen=True)
class _Known:
    """What was read from a file: one object, so that an interruption leaves the old or the new."""

    last: Last = START
    calls: dict[str, Call] = field(default_factory=dict)
    history: tuple[BudgetEvent, ...] = ()

    def having(self, bodies: list[dict[str, Any]], last: Last) -> _Known:
        """What is known with further records."""
        if not bodies:
            return self
        calls, history = self.calls.copy(), list(self.history)
        for body in bodies:
            call = call_from_dict(body) if body["kind"] == "call" else None
            if call is not None:
                earlier = calls.get(call.identifier)
                if earlier is not None and call.charges[: len(earlier.charges)] != earlier.charges:
                    raise ValueError(call.identifier)
                calls[call.identifier] = call
            history.append(event_of(body, call))
        return _Known(last, calls, tuple(history))


def opened_file(
    path: str | os.PathLike[str],
    eps: float | None,
    delta: float | None,
    composition: Composition | None,
    *,
    adopt: bool,
) -> FileStore:
    """Open a file, or make it; see :meth:`privlp.Budget.open`."""
    path = path_of(path)
    if (eps is None) != (delta is None):
        raise InvalidParameterError(
            "Give both eps and delta; or neither, to open an existing file."
        )
    limit = None if eps is None or delta is None else validated_budget(eps, delta)
    require_one_of(composition or "adaptive", "composition", COMPOSITIONS)
    file = RecordFile(path)
    if not os.path.lexists(file.path):
        if limit is None:
            raise BudgetFileError(
                f"There is no file {os.fspath(path)!r}. To make one, give the eps and delta of the"
                " whole budget: Budget.open(path, 1.0, 1e-6), or privlp budget FILE --eps 1"
                " --delta 1e-6."
            )
        first = {"eps": json_number(limit[0]), "delta": limit[1]}
        file.create({"kind": "made", **first, "composition": composition or "adaptive"})
    with file.reading() as connection:
        file.check_pages(connection)
        bodies, last = file.read(connection, START, older=adopt)
        newest = file.holds_what_was_counted(connection)
    store, location = _as_recorded(file, bodies)
    _require_the_same(store.limits, os.fspath(path), limit, composition)
    if adopt and not (newest and location.holds(FileLocation.of(file.path))):
        location = FileLocation.of(file.path)
        with file.writing() as connection:
            end = file.read(connection, START, older=True)[1]
            file.append(connection, end, {"kind": "adopted", "place": asdict(location)})
    file.require_location(location)
    store.learn(bodies, last)
    return store


def _as_recorded(file: RecordFile, bodies: list[dict[str, Any]]) -> tuple[FileStore, FileLocation]:
    """The limits that the first record states, and where the file lies according to its records."""
    try:
        first = bodies[0]
        if first["kind"] != "made":
            raise ValueError(first["kind"])
        limit = validated_budget(float(first["eps"]), float(first["delta"]))
        require_one_of(first["composition"], "composition", COMPOSITIONS)
        location = FileLocation(**[body["place"] for body in bodies if "place" in body][-1])
        return FileStore(file, BudgetRule(*limit, first["composition"])), location
    except (IndexError, KeyError, TypeError, ValueError):
        file.refuse_as_damaged("its records cannot be understood")


def _require_the_same(
    limits: BudgetRule,
    name: Any,
    limit: tuple[float, float] | None,
    composition: Composition | None,
) -> None:
    if limit not in (None, (limits.eps, limits.delta)):
        raise InvalidParameterError(
            f"{name!r} is a budget of eps = {limits.eps!r}, delta = {limits.delta!r}, and its limit"
            f" cannot change; not of {limit}. Leave eps and delta out to use it, or give another"
            " path for a new budget.",
            parameter="path",
        )
    if composition not in (None, limits.composition):
        raise InvalidParameterError(
            f"The calls of {name!r} add up by composition={limits.composition!r}, not"
            f" {composition!r}. Leave composition out."
        )
