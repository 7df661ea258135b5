"""A budget that lasts: its calls are records of a file, which several processes may use for years.

The rule is that of :mod:`privlp.privacy.budget`. A charge is checked against all that the file
holds, and written to it, within one transaction; the right to draw is handed out after the
transaction is on the disk. So the calls of a file are in one order, each was admitted in view of
all earlier ones, and no draw goes without its record: the proof for one process holds for all of
them together. Proof: ``docs/proofs.md``, "A budget that is used adaptively".
"""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from privlp.errors import BudgetFileError, InvalidParameterError
from privlp.privacy.budget import Budget, Composition
from privlp.privacy.ledger import Call, Charge, Share, validated_budget
from privlp.privacy.prices import Price
from privlp.privacy.record import LedgerEntry, PrivacyRecord, json_number
from privlp.privacy.record_file import START, Last, Place, RecordFile
from privlp.relations.base import RecordedRelation

if TYPE_CHECKING:
    from privlp.privacy.mechanisms import Mechanism

_SECOND_PROCESS = "Open the file there: privlp.Budget.open(path)."


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
    >>> budget = privlp.Budget.open(os.path.join(folder.name, "census.budget"), eps=1.0, delta=1e-6)
    >>> solution = privlp.solve(privlp.examples.diet(), eps=0.5, delta=0.0, budget=budget, rng=0)
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


class StoredBudget(Budget):
    """A budget in a file, as :meth:`privlp.Budget.open` returns it.

    It is used like any other. Each access reads what other processes added; a charge is on the disk
    before the draw it pays for. :meth:`close` closes this object; the file can be opened again.

    Raises
    ------
    BudgetFileError
        By any access, if the file can no longer be used. Nothing was drawn then.

    Examples
    --------
    >>> import os, tempfile
    >>> from privlp import Budget, examples, solve
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = Budget.open(os.path.join(folder.name, "census.budget"), eps=1.0, delta=1e-6)
    >>> solution = solve(examples.diet(), eps=0.25, delta=0.0, budget=budget, rng=0)
    >>> [event.what for event in budget.history()]
    ['made, for (1, 1e-06)', 'noise on costs c']
    >>> round(budget.sums().eps, 6)
    0.25
    >>> folder.cleanup()
    """

    remedy = _SECOND_PROCESS

    def __init__(
        self, file: RecordFile, eps: float, delta: float, composition: Composition
    ) -> None:
        super().__init__(eps, delta, composition=composition)
        self._file = file
        self._known = _Known()
        self._connection: sqlite3.Connection | None = (
            None  # while the budget is in a transaction or view
        )

    @property
    def calls(self) -> Mapping[str, Call]:
        """What was charged, call by call, by any process."""
        with self._view():
            return MappingProxyType(self._known.calls)

    def record(self) -> PrivacyRecord:
        with self._view():
            return super().record()

    def calibrate_together(self, make: Callable[[float], Sequence[tuple[Mechanism, int]]]) -> float:
        with self._view():  # the file is read once, not at each step of the search
            return super().calibrate_together(make)

    def history(self) -> tuple[BudgetEvent, ...]:
        """What happened to the file, in order.

        Examples
        --------
        >>> import os, tempfile, privlp
        >>> folder = tempfile.TemporaryDirectory()
        >>> budget = privlp.Budget.open(os.path.join(folder.name, "census.budget"), eps=1.0, delta=0.0)
        >>> print(budget.history()[0].what)
        made, for (1, 0)
        >>> folder.cleanup()
        """
        with self._view():
            return self._known.history

    # ------------------------------------------------------------------------------------------ the
    # file

    def _new_name(self) -> str:
        return secrets.token_hex(8)  # other processes name calls too

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Within it, no other process changes the file.

        What is entered is on the disk when it ends.
        """
        self.refuse_elsewhere()
        with self._lock:
            before = self._known
            try:
                with self._file.writing() as connection, self._connected(connection):
                    yield
            except BaseException:
                self._known = before
                raise

    @contextmanager
    def _view(self) -> Iterator[None]:
        """Within it, the budget is as the file was at one moment."""
        self.refuse_elsewhere()
        with self._lock:
            if self._connection is not None:
                yield
                return
            with self._file.reading() as connection, self._connected(connection):
                yield

    def _enter(self, call: Call) -> None:
        assert self._connection is not None  # noqa: S101 (within a transaction)
        body, last = self._file.append(self._connection, self._known.last, _call_to_dict(call))
        self._known = self._known.having([body], last)

    @contextmanager
    def _connected(self, connection: sqlite3.Connection) -> Iterator[None]:
        self._learn(*self._file.read(connection, self._known.last))
        self._connection = connection
        try:
            yield
        finally:
            self._connection = None

    def _learn(self, bodies: list[dict[str, Any]], last: Last) -> None:
        """Take in what was read from the file."""
        try:
            self._known = self._known.having(bodies, last)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._file.refuse_as_damaged("its records cannot be understood")


@dataclass(frozen=True)
class _Known:
    """What was read from a file.

    In one object, so that an interruption leaves the old one or the new one.
    """

    last: Last = START
    calls: dict[str, Call] = field(default_factory=dict)
    history: tuple[BudgetEvent, ...] = ()

    def having(self, bodies: list[dict[str, Any]], last: Last) -> _Known:
        """What is known with further records."""
        if not bodies:
            return self
        calls, history = self.calls.copy(), list(self.history)
        for body in bodies:
            when = str(body["time"]), str(body["version"])
            if body["kind"] != "call":
                history.append(BudgetEvent(*when, _WORDS[body["kind"]](body)))
                continue
            call = _call_from_dict(body)
            earlier = calls.get(call.identifier)
            if earlier is not None and call.charges[: len(earlier.charges)] != earlier.charges:
                raise ValueError(call.identifier)
            calls[call.identifier] = call
            history.append(_event(*when, call))
        return _Known(last, calls, tuple(history))


def open_budget(
    path: str | os.PathLike[str],
    eps: float | None,
    delta: float | None,
    composition: Composition | None,
    *,
    adopt: bool,
) -> StoredBudget:
    """Open a file, or make it; see :meth:`privlp.Budget.open`."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(os.fspath(path)):
        raise InvalidParameterError(
            f"path must be the path of a file, got {path!r}.", parameter="path"
        )
    if (eps is None) != (delta is None):
        raise InvalidParameterError(
            "Give both eps and delta; or neither, to open an existing file."
        )
    limit = None if eps is None or delta is None else validated_budget(eps, delta)
    Budget(1.0, 0.0, composition=composition or "adaptive")  # refuses an unknown composition
    file = RecordFile(path)
    if not os.path.lexists(file.path):
        if limit is None:
            raise BudgetFileError(
                f"There is no file {os.fspath(path)!r}. To make one, give the eps and delta of the"
                " whole budget."
            )
        file.create(_opening(*limit, composition or "adaptive"))
    with file.reading() as connection:
        file.check_pages(connection)
        bodies, last = file.read(connection, START)
    budget, place = _as_recorded(file, bodies)
    _require_the_same(budget, os.fspath(path), limit, composition)
    if adopt and not place.holds(file.place()):
        place = _adopt(file)
    file.require_place(place)
    budget._learn(bodies, last)
    return budget


def _opening(eps: float, delta: float, composition: str) -> dict[str, Any]:
    return {"kind": "made", "eps": json_number(eps), "delta": delta, "composition": composition}


def _as_recorded(file: RecordFile, bodies: list[dict[str, Any]]) -> tuple[StoredBudget, Place]:
    """The budget that the first record describes, and where the file lies according to its records."""
    try:
        first = bodies[0]
        if first["kind"] != "made":
            raise ValueError(first["kind"])
        budget = StoredBudget(
            file, float(first["eps"]), float(first["delta"]), first["composition"]
        )
        return budget, Place(**[body["place"] for body in bodies if "place" in body][-1])
    except (IndexError, KeyError, TypeError, ValueError):
        file.refuse_as_damaged("its records cannot be understood")


def _adopt(file: RecordFile) -> Place:
    """Record that the file lies elsewhere now, and may."""
    here = file.place()
    with file.writing() as connection:
        _, last = file.read(connection, START)
        file.append(connection, last, {"kind": "adopted", "place": asdict(here)})
    return here


def _require_the_same(
    budget: StoredBudget,
    name: Any,
    limit: tuple[float, float] | None,
    composition: Composition | None,
) -> None:
    if limit not in (None, (budget.eps, budget.delta)):
        raise InvalidParameterError(
            f"{name!r} is a budget of eps = {budget.eps!r}, delta = {budget.delta!r}, and its limit"
            f" cannot change; not of {limit}. Leave eps and delta out to use it, or give another"
            " path for a new budget.",
            parameter="path",
        )
    if composition not in (None, budget.composition):
        raise InvalidParameterError(
            f"The calls of {name!r} add up by composition={budget.composition!r}, not"
            f" {composition!r}. Leave composition out."
        )


# ----------------------------------------------------------------------------------------------
# records

_WORDS: dict[str, Any] = {
    "made": lambda body: f"made, for ({float(body['eps']):g}, {float(body['delta']):g})",
    "adopted": lambda body: f"adopted at {body['place']['path']}",
}


def _event(time: str, version: str, call: Call) -> BudgetEvent:
    entries = [charge.entry for charge in call.charges]
    purposes = "; ".join(dict.fromkeys(entry.purpose for entry in entries))
    mechanisms = "; ".join(f"{entry.draws} x {entry.mechanism}" for entry in entries)
    return BudgetEvent(time, version, purposes, mechanisms, call.identifier, call.eps, call.delta)


def _call_to_dict(call: Call) -> dict[str, Any]:
    """Plain data that JSON keeps exactly: a float is written with as many digits as tell it from its neighbours."""
    for relation in call.relations.values():
        if relation.key is None:
            raise InvalidParameterError(
                f"A budget in a file cannot account for '{relation.description}': give"
                f" {type(relation).__name__} a `key`, which says in words what it may be accounted"
                " for with."
            )
    return {
        "kind": "call",
        "identifier": call.identifier,
        "eps": json_number(call.eps),
        "delta": json_number(call.delta),
        "charges": [
            {"price": _numbers(charge.price), "entry": _numbers(charge.entry)}
            for charge in call.charges
        ],
        "relations": {text: relation.key for text, relation in call.relations.items()},
        "randomness": call.randomness,
        "parts": call.parts,
        "share": None if call.share is None else _numbers(call.share),
    }


def _numbers(thing: Any) -> dict[str, Any]:
    values = {one.name: getattr(thing, one.name) for one in fields(thing)}
    if "corners" in values:
        values["corners"] = [[int(number), json_number(mu)] for number, mu in values["corners"]]
    return {name: json_number(value) for name, value in values.items()}


def _call_from_dict(body: dict[str, Any]) -> Call:
    return Call(
        identifier=str(body["identifier"]),
        eps=_number(body["eps"]),
        delta=_number(body["delta"]),
        charges=tuple(
            Charge(_price(charge["price"]), _entry(charge["entry"])) for charge in body["charges"]
        ),
        relations={
            text: RecordedRelation(text, str(key)) for text, key in body["relations"].items()
        },
        randomness={str(text): bool(seeded) for text, seeded in body["randomness"].items()},
        parts=tuple((str(partition), int(part)) for partition, part in body["parts"]),
        share=None if body["share"] is None else _share(body["share"]),
    )


def _share(data: dict[str, Any]) -> Share:
    return Share(str(data["identifier"]), _number(data["eps"]), _number(data["delta"]))


def _price(data: dict[str, Any]) -> Price:
    corners = tuple((int(number), _number(mu)) for number, mu in data["corners"])
    numbers = {name: _number(data[name]) for name in ("eps", "delta", "mu", "shift")}
    return Price(law=data["law"], corners=corners, **numbers)


def _entry(data: dict[str, Any]) -> LedgerEntry:
    entry = LedgerEntry(**data)
    return LedgerEntry(
        **{**data, "sensitivity": _number(entry.sensitivity), "draws": int(entry.draws)}
    )


def _number(value: Any) -> float:
    number = float(value)
    if math.isnan(number):
        raise ValueError(value)
    return number


# ---------------------------------------------------------------------------------------------- for
# people


def summary(budget: StoredBudget) -> str:
    """What was spent, and of how much, for the command line."""
    with budget._view():
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
    with budget._view():
        sums, events = asdict(budget.sums()), [asdict(event) for event in budget.history()]
        return {
            **budget.statement(),
            "sums": _finite(sums),
            "history": [_finite(event) for event in events],
        }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: json_number(value) for name, value in values.items()}
