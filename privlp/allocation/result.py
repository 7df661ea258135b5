"""Released prices, and what each person computes from them alone."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from privlp.allocation.people import Allocation, people_of
from privlp.checks import FloatArray, as_floats, as_printed, real, require, require_kind
from privlp.files import Saved
from privlp.privacy import PrivacyRecord
from privlp.privacy.randomness import Randomness, RandomSource
from privlp.quiet import unnoticed
from privlp.status import Verdict
from privlp.tables import by_name

_ARRAYS = ("prices", "served", "uses")
_COLUMNS = 98


@dataclass(frozen=True, eq=False)
class AllocationResult(Saved):
    """Released prices, and how each person finds her own shares from them.

    All attributes are released numbers: they may be put on a billboard. What :meth:`share` returns
    is for that person alone.

    Attributes
    ----------
    prices : (d,)
        Shadow price of each supply, at least 0, in units of value per unit of supply.
    served : (d,)
        The part of what people ask of each supply that they get, in [0, 1].
    softness : float
        In units of value: how far a person's choice is spread over options of nearly equal surplus.
    closed : tuple of int
        Supplies that nobody gets any of, because they are not above the reserve.
    reserve : float
        What was kept back of each supply, in its units.
    feasible : float or None
        The probability with which all supplies hold together; None if nothing is promised.
    privacy : PrivacyRecord
        What was spent on the released numbers.
    verdict : Verdict
    advice : str
        What was to be expected, from public numbers alone.
    uses : (k, d) or None
        What a unit of each option uses, where it is public.
    limit : float
        The largest limit.
    trace : dict
        Released prices of each stage.
    options : tuple of str or None
        Names of the options, where values came as a table.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> wishes = np.random.default_rng(0).uniform(size=(3000, 4))
    >>> allocation = privlp.Allocation(wishes, supplies=[500] * 4, largest_value=1.0)
    >>> result = privlp.allocate(allocation, eps=1.0, rng=0)
    >>> mine = result.share(wishes[0])  # a part of each option, at most 1 in all
    >>> mine.shape, bool(mine.sum() <= 1)
    ((4,), True)
    >>> everybody = result.shares_of(allocation)  # not to be released together
    >>> bool((allocation.used(everybody) <= 500).all()), bool((everybody[0] == mine).all())
    (True, True)
    >>> result.choose([0.9, 0.1, 0.0, 0.0], rng=1)
    0
    >>> print(result.statement())
    Prices are released; each person computes her own shares from them. Jointly (1, ...
    >>> result.to_json().splitlines()[1]
    ' "format": "privlp allocation 1",'
    """

    _what: ClassVar[str] = "an allocation"
    _format: ClassVar[str] = "privlp allocation 1"

    prices: FloatArray
    served: FloatArray
    softness: float
    closed: tuple[int, ...]
    reserve: float
    feasible: float | None
    privacy: PrivacyRecord
    verdict: Verdict
    advice: str = field(repr=False)
    uses: FloatArray | None = field(repr=False)
    limit: float = field(repr=False)
    units: tuple[float, float, float] = field(repr=False)
    trace: dict[str, FloatArray] = field(default_factory=dict, repr=False)
    options: tuple[str, ...] | None = field(default=None, repr=False)

    def share(self, values: Any, uses: Any = None, limit: float | None = None) -> FloatArray:
        """What one person gets, computed from released numbers and her own data alone.

        Parameters
        ----------
        values : array_like of shape (k,)
            What a unit of each option is worth to her; labels are matched to the names of options.
        uses : array_like of shape (k, d), optional
            What a unit of each option uses, where that is private.
        limit : float, optional
            How many units she may take; the largest limit by default.

        Returns
        -------
        ndarray of shape (k,)
            Her share of each option, of sum at most her limit.

        Raises
        ------
        InvalidParameterError
            If shapes do not fit, or numbers exceed the declared bounds.
        """
        own = as_floats(by_name(values, self.options, "values", "option"), "values")
        given = self.uses if uses is None else uses
        missing = "Give uses, of shape (options, supplies): they are each person's own."
        require(given is not None, missing, "uses")
        table = as_floats(given, "uses")
        require(
            own.ndim == 1 and table.shape == (len(own), len(self.prices)),
            "values must have one entry per option, and uses one row per option and"
            f" {len(self.prices)} columns, one per supply.",
            "values",
        )
        whole = Allocation(
            own[None, :],
            np.ones(len(self.prices)),
            uses=table[None],
            limits=[self.limit if limit is None else real(limit, "limit")],
            largest_value=self.units[0],
            largest_use=self.units[1],
            largest_limit=self.units[2],
        )
        return self.shares_of(whole)[0]

    def choose(self, values: Any, uses: Any = None, *, rng: RandomSource = None) -> int | None:
        """One whole option for one person, drawn with her shares as probabilities.

        For a limit of 1. Supplies then hold on average only: the number of people who draw a supply
        varies, by less than the root of what is used of it.

        Parameters
        ----------
        values, uses
            As for :meth:`share`.
        rng : None, int or numpy.random.Generator
            Her own randomness.

        Returns
        -------
        int or None
            Her option; None if she gets none.

        Raises
        ------
        InvalidParameterError
            If people may take more than one unit, or as for :meth:`share`.
        """
        one = "Shares are probabilities only where nobody may take more than one unit."
        require(self.limit <= 1, one, "values")
        ends = np.cumsum(self.share(values, uses))
        place = int(np.searchsorted(ends, Randomness.of(rng).generator.random(), side="right"))
        return place if place < len(ends) else None

    def shares_of(self, allocation: Allocation) -> FloatArray:
        """Everybody's shares, (n, k): row i is for person i alone. **Not private** together.

        Each person's row is :meth:`share` of her own data. All rows but hers tell others no more of
        her than the prices do.
        """
        require_kind(allocation, Allocation, "allocation", "a privlp.Allocation")
        d = len(self.prices)
        other = f"allocation has {len(allocation.supplies)} supplies, but {d} have prices."
        require(len(allocation.supplies) == d, other, "allocation")
        prices = self.prices * self.units[1] / self.units[0]
        least = np.where(allocation.uses > 0, self.served, 1.0).min(axis=-1)
        with unnoticed():  # values may be far below 0
            people = people_of(
                allocation.values, allocation.uses, allocation.limits, self.closed, self.units
            )
            shares = people.shares(prices, self.softness / self.units[0])
        return np.asarray(shares * least * self.units[2])

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        """Prices in a table, and what is promised; ``print(result.privacy)`` shows the ledger."""
        rows = [
            (number, price, "closed" if number in self.closed else f"{served:.1%}")
            for number, (price, served) in enumerate(zip(self.prices, self.served, strict=True))
        ]
        from tabulate import tabulate  # noqa: PLC0415 (slow to load)

        table = tabulate(rows, headers=["supply", "price", "part served"], floatfmt=".4g")
        texts = (textwrap.fill(text, _COLUMNS) for text in (self.advice, self.statement()))
        return "\n\n".join([table, *texts])

    def statement(self) -> str:
        """What is promised, in words."""
        record = self.privacy
        supplies = (
            "Supplies are not promised to hold: no reserve was kept."
            if self.feasible is None
            else f"All supplies hold together with probability {self.feasible:g}, over the noise,"
            " for shares."
        )
        joint = (
            f"Jointly ({record.eps:.6g}, {record.delta:.6g})-differentially private: the prices and"
            " the shares of all other people, even if they show them to each other, tell so little"
            " of any one person's data. Her own shares tell her own data: they are for her alone."
            if record.private
            else "NOT PRIVATE: computed without noise."
        )
        return (
            "Prices are released; each person computes her own shares from them."
            f" {joint} {supplies} {record.statement()}"
        )

    def to_json(self) -> str:
        """The released numbers as a JSON document, which :meth:`load` reads."""
        document: dict[str, Any] = {"format": self._format}
        for each in fields(self):
            value = getattr(self, each.name)
            document[each.name] = value.tolist() if isinstance(value, np.ndarray) else value
        document["privacy"] = self.privacy.to_dict()
        document["trace"] = {name: values.tolist() for name, values in self.trace.items()}
        return json.dumps(document, indent=1)

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        for name in _ARRAYS:
            value = document[name]
            document[name] = None if value is None else np.array(value, dtype=float)
        document |= {
            "trace": {name: np.array(one, dtype=float) for name, one in document["trace"].items()},
            "closed": tuple(int(number) for number in document["closed"]),
            "units": tuple(float(number) for number in document["units"]),
            "privacy": PrivacyRecord.from_dict(document["privacy"]),
            "verdict": Verdict(document["verdict"]),
            "options": tuple(document.get("options") or ()) or None,  # older files have none
        }
        return cls(**document)
