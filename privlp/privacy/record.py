"""What a ledger says to people and to other programs."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from types import NoneType
from typing import Any

from privlp.checks import as_printed

_VERSIONED = ("privlp", "numpy", "scipy", "dp-accounting", "randomgen", "mpmath")
_version = cache(version)


def versions() -> dict[str, str]:
    """Versions of privlp, and of the libraries that compute noise and its price."""
    return {name: _version(name) for name in _VERSIONED}


@dataclass(frozen=True)
class LedgerEntry:
    """One line of a ledger: a mechanism that was paid for, `draws` times.

    Everything in it is public: sensitivities and noise parameters come from public numbers only.

    Examples
    --------
    >>> from privlp import examples, solve
    >>> (entry,) = solve(examples.diet(), eps=1.0, delta=0, rng=0).privacy.entries
    >>> entry.purpose, entry.mechanism, entry.sensitivity, entry.draws
    ('noise on costs c', 'Laplace mechanism', 0.2, 1)
    """

    purpose: str
    mechanism: str
    sensitivity: float
    parameter: str
    draws: int
    arithmetic: str


@dataclass(frozen=True)
class PrivacyRecord:
    """The privacy guarantee of one result.

    Attributes
    ----------
    eps, delta : float
        What was spent, composed over all entries: the result is (eps, delta)-differentially
        private. Where a delta of 0 was allowed, delta is the chance, of 2^-92 for each draw, that
        secret noise is larger than the bound that a proof puts on it; for most methods it is 0.
    eps_limit, delta_limit : float
        What the caller allowed.
    entries : tuple of LedgerEntry
        The mechanisms paid for, in order.
    relation : str or None
        The neighbour relation, in words; ``None`` while nothing was spent.
    randomness : str or None
        Where the random bits came from; ``None`` while nothing was drawn.
    seeded : bool
        True if any draw came from a seeded generator: an experiment, not for release.
    versions : dict
        Versions of the libraries that computed the noise and its price.
    composition : str or None
        How a :class:`~privlp.Budget` adds up its calls; ``None`` for a single call, all of which
        was fixed before its first draw.
    missed : str or None
        How many private rows the answer misses, by counts among the entries; ``None`` where
        nothing was counted.

    Examples
    --------
    >>> import privlp
    >>> from privlp.privacy import PrivacyRecord
    >>> record = privlp.solve(privlp.examples.diet(), eps=1.0, delta=0, rng=0).privacy
    >>> record.eps, record.private, record.seeded
    (1.0, True, True)
    >>> record.relation
    'objective-private: c changes by at most 0.2 in sum, within the declared public range'
    >>> record.remark
    'NOT FOR RELEASE: the noise came from a seeded generator.'
    >>> PrivacyRecord.from_dict(record.to_dict()) == record
    True
    >>> print(privlp.Budget(1.0, 1e-6).statement())
    Nothing was released: (0, 0)-differentially private. The limit is (1, 1e-06).
    """

    eps: float
    delta: float
    eps_limit: float
    delta_limit: float
    entries: tuple[LedgerEntry, ...]
    relation: str | None
    randomness: str | None
    seeded: bool
    versions: dict[str, str] = field(default_factory=versions)
    composition: str | None = None
    missed: str | None = None

    @property
    def private(self) -> bool:
        """Whether any guarantee holds at all (False for ``eps = inf``)."""
        return math.isfinite(self.eps)

    @property
    def remark(self) -> str | None:
        """Why the result must not be released, in a sentence; ``None`` where it may be."""
        if self.entries and not self.private:
            return "NOT PRIVATE: computed with eps = inf, that is, without noise. Do not release."
        return "NOT FOR RELEASE: the noise came from a seeded generator." if self.seeded else None

    def __repr__(self) -> str:
        shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))
        return f"{type(self).__name__}({shown}){'' if self.remark is None else f' {self.remark}'}"

    def statement(self) -> Statement:
        """The guarantee in words (``str``) and as data (a ``dict`` that ``json`` can write)."""
        return Statement(self)

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        limit = f"({self.eps_limit:g}, {self.delta_limit:g})"
        head = f"spent eps = {self.eps:.6g}, delta = {self.delta:.3g} of {limit}"
        if not self.entries:
            return head
        from tabulate import tabulate  # noqa: PLC0415 (slow to load)

        headers = ("purpose", "mechanism", "sensitivity", "noise", "draws")
        rows = [
            (e.purpose, e.mechanism, f"{e.sensitivity:.4g}", e.parameter, e.draws)
            for e in self.entries
        ]
        table = tabulate(rows, headers=headers, disable_numparse=True)
        warning = "" if self.private else f". {self.remark}"
        return f"{table}\n{head}\n{self.relation}; {self.randomness}{warning}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinities as the string ``"inf"`` so that the JSON is standard."""
        return {key: json_number(value) for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PrivacyRecord:
        """Undo :meth:`to_dict`.

        Raises
        ------
        ValueError, TypeError, KeyError, AttributeError, OverflowError
            If it is no such document.
        """
        numbers = {key: float(data[key]) for key in ("eps", "delta", "eps_limit", "delta_limit")}
        entries = tuple(LedgerEntry(**entry) for entry in data["entries"])
        record = cls(**{**data, **numbers, "entries": entries})
        for entry in record.entries:
            require_types(entry, purpose=str, mechanism=str, parameter=str, arithmetic=str)
            require_types(entry, sensitivity=(float, int), draws=int)
        words = (str, NoneType)
        require_types(record, relation=words, randomness=words, composition=words, missed=words)
        require_types(record, seeded=bool, versions=dict)
        return record


def require_types(thing: object, **types: type | tuple[type, ...]) -> None:
    """Raise ``TypeError`` unless each named attribute, read from a file, is of its type."""
    for name, kind in types.items():
        if not isinstance(getattr(thing, name), kind):
            raise TypeError(name)


class Statement(dict[str, Any]):
    """A privacy guarantee, in words and as data.

    ``str(statement)`` gives the words. The mapping itself is data for ``json.dumps``.

    Examples
    --------
    >>> import json
    >>> from privlp import examples, solve
    >>> statement = solve(examples.diet(), eps=1.0, delta=0, rng=0).privacy.statement()
    >>> statement["eps"], statement["seeded"], str(statement) == statement["words"]
    (1.0, True, True)
    >>> json.loads(statement.to_json())["entries"][0]["mechanism"]
    'Laplace mechanism'
    """

    def __init__(self, record: PrivacyRecord) -> None:
        super().__init__(record.to_dict())
        self["entries"] = list(self["entries"])
        self["words"] = _words(record)

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        return str(self["words"])

    def to_json(self) -> str:
        """The statement as a JSON document."""
        return json.dumps(self, indent=2)


_CHANCE = (
    "Delta is the chance that secret noise is larger than a proof allows; a limit of 0 leaves it"
    " aside."
)
_NOT_COVERED = (
    "Not covered: running time, anything computed from the data outside this ledger, and an"
    " adversary who can tell the generator's bits from fair ones."
)
_ADAPTIVE = "If later requests were chosen in view of earlier releases, the limit is the guarantee."
_PLANNED = "This holds only if all requests were fixed before the first release."


def _words(record: PrivacyRecord) -> str:
    limit = f"The limit is ({record.eps_limit:g}, {record.delta_limit:g})."
    if not record.entries:
        return f"Nothing was released: (0, 0)-differentially private. {limit}"
    if not record.private:
        return str(record.remark)
    draws: Counter[tuple[str, str]] = Counter()
    for entry in record.entries:
        draws[entry.mechanism, entry.purpose] += entry.draws
    paid_for = "; ".join(f"{count} x {what} ({why})" for (what, why), count in draws.items())
    sentences = [
        f"The released values together are ({record.eps:.6g}, {record.delta:.6g})-differentially"
        f" private. {limit}",
        f"Neighbour relation: {record.relation}.",
        f"Paid for: {paid_for}.",
        f"Randomness: {record.randomness}.",
        "Arithmetic: " + "; ".join(dict.fromkeys(e.arithmetic for e in record.entries)) + ".",
        _NOT_COVERED,
        f"Computed by {', '.join(map(' '.join, record.versions.items()))}.",
    ]
    if record.missed is not None:
        sentences.insert(1, f"Private rows that the answer misses: {record.missed}.")
    if record.delta > record.delta_limit:
        sentences.insert(1, _CHANCE)
    if record.composition is not None and len(record.entries) > 1:
        sentences.insert(1, _PLANNED if record.composition == "planned" else _ADAPTIVE)
    if record.seeded:
        sentences.insert(0, str(record.remark))
    return " ".join(sentences)


def json_number(value: Any) -> Any:
    """The value, but infinities as the string ``"inf"``, so that JSON stays standard."""
    return "inf" if isinstance(value, float) and math.isinf(value) else value
