"""The public part of a program: planning sees only this."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from privlp.checks import as_sparse
from privlp.errors import PrivLPError
from privlp.problem.data import KnownProgram, ProgramData, SoftPrices, few_rows
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation


@dataclass(frozen=True, eq=False)
class PublicPart:
    """What neighbouring programs have in common, and public bounds on where they differ.

    Two neighbours have equal public parts. Everything that is decided before a draw follows from
    this object: regions, predictions, mechanisms, rounds, and every refusal.

    Examples
    --------
    >>> from privlp import LinearProgram
    >>> one = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> other = LinearProgram([1, 2], [[-1, -1], [-5, 0]], [-2, -9])
    >>> one.public() == other.public(), one.public().form.rhs.size
    (True, 0)
    """

    #: Standard form of the program without what is private: fixed numbers, or no rows, stand in
    #: place of private ones (:meth:`~privlp.relations.NeighbourRelation.conceal`).
    form: StandardForm
    #: What neighbours may differ in.
    relation: NeighbourRelation
    #: The relation in words, as it stands for this program.
    description: str
    #: Public number of private ``<=`` rows.
    n: int
    #: Public bound on the private rows of one record; 0 where only numbers change.
    rows_of_one_record: int
    #: The same, where the two sides of a row may count once.
    vectors_of_one_record: int
    #: Public number of records: delta must be well below one over it.
    records: int
    #: Whether there may be private rows at all.
    has_private_rows: bool
    #: Prices of private soft rows, where they are public.
    prices: SoftPrices | None

    @classmethod
    def of(cls, lp: ProgramData) -> PublicPart:
        """The public part of a program. Rows in blocks are not read."""
        relation: NeighbourRelation = lp.neighbours
        if lp.in_blocks:
            nominal_n = lp.neighbours.nominal_n
            n = records = lp.shape[0] if nominal_n is None else nominal_n
            lp = few_rows(lp)
        else:
            form = StandardForm.of(lp)
            n, records = relation.public_rows(form), relation.records(form)
        return cls(
            form=StandardForm.of(relation.conceal(lp)),
            relation=relation,
            description=relation.describe(lp),
            n=n,
            rows_of_one_record=relation.rows_of_one_record(lp),
            vectors_of_one_record=relation.vectors_of_one_record(lp),
            records=records,
            has_private_rows=relation.hides_rows or bool(lp.private.any()),
            prices=relation.soft_prices(lp),
        )

    @property
    def largest_price(self) -> float | None:
        """Largest price of a private soft row, where prices are public; ``inf`` if one is hard."""
        return None if self.prices is None else self.prices.largest

    @cached_property
    def _made(self) -> dict[Any, tuple[Any, PrivLPError | None]]:
        return {}

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` returns or raises; made once for all methods that a request is planned for.

        It must follow from this part and from `key` alone.
        """
        if key not in self._made:
            try:
                self._made[key] = make(), None
            except PrivLPError as error:
                self._made[key] = None, error
        found, refusal = self._made[key]
        if refusal is not None:
            raise refusal
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicPart):
            return NotImplemented
        return all(map(_same, self._parts(), other._parts()))

    def _parts(self) -> list[Any]:
        """Everything in which two neighbours agree."""
        own = [getattr(self, field.name) for field in fields(self) if field.name != "form"]
        return own + [getattr(self.form.lp, field.name) for field in fields(KnownProgram)]

    __hash__ = None  # type: ignore[assignment]


def _same(one: Any, other: Any) -> bool:
    """Whether two values, which may be dense or sparse arrays, are equal."""
    if hasattr(one, "tocsr"):
        return hasattr(other, "tocsr") and not (as_sparse(one) != as_sparse(other)).nnz
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)
