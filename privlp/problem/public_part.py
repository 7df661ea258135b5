"""The public half of a program: all that planning sees."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from privlp.checks import as_sparse
from privlp.problem.data import KnownProgram
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation


@dataclass(frozen=True, eq=False)
class PublicPart:
    """What neighbouring programs have in common, and public bounds on where they differ.

    Two neighbours have equal public parts. Everything that is decided before a draw is decided
    from this object: regions, predictions, mechanisms, rounds, and every refusal.

    Attributes
    ----------
    form : StandardForm
        Of the program that the relation makes known: fixed numbers, or no rows, stand in the place
        of private ones (:meth:`~privlp.relations.NeighbourRelation.conceal`).
    relation : NeighbourRelation
        What neighbours may differ in.
    description : str
        The relation in words, as it stands for this program.
    n : int
        Public number of private ``<=`` rows.
    rows_of_one_record : int
        Public bound on the private rows of one record; 0 where only numbers change.
    records : int
        Public number of records, against which delta is held.
    has_private_rows : bool
        Whether there may be private rows at all.
    largest_price : float or None
        Largest price of a private soft row, where prices are public; ``inf`` if one is hard.

    Examples
    --------
    >>> from privlp import LinearProgram
    >>> one = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> other = LinearProgram([1, 2], [[-1, -1], [-5, 0]], [-2, -9])
    >>> one.public() == other.public(), one.public().form.rhs.size
    (True, 0)
    """

    form: StandardForm
    relation: NeighbourRelation
    description: str
    n: int
    rows_of_one_record: int
    records: int
    has_private_rows: bool
    largest_price: float | None

    @classmethod
    def of(cls, form: StandardForm) -> PublicPart:
        """The public part of a program in standard form."""
        lp = form.lp
        relation: NeighbourRelation = lp.neighbours
        price = None
        if lp.penalty is not None and len(form.row) and not relation.hides_rows:
            price = float(lp.penalty[form.row].max())
        return cls(
            form=StandardForm.of(relation.conceal(lp)),
            relation=relation,
            description=relation.describe(lp),
            n=relation.public_rows(form),
            rows_of_one_record=relation.rows_of_one_record(lp),
            records=relation.records(form),
            has_private_rows=relation.hides_rows or bool(lp.private.any()),
            largest_price=price,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicPart):
            return NotImplemented
        known = (self.form.lp, other.form.lp)
        names = [field.name for field in fields(self) if field.name != "form"]
        return all(getattr(self, name) == getattr(other, name) for name in names) and all(
            _same(getattr(known[0], field.name), getattr(known[1], field.name))
            for field in fields(KnownProgram)
            if field.name != "neighbours"
        )

    __hash__ = None  # type: ignore[assignment]


def _same(one: Any, other: Any) -> bool:
    if hasattr(one, "tocsr"):
        return hasattr(other, "tocsr") and not (as_sparse(one) != as_sparse(other)).nnz
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)
