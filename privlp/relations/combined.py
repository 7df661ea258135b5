"""Several bounded changes at once; and relations as users give them: tuples, labelled numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privlp.checks import FloatArray
from privlp.errors import InvalidParameterError
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation, in_words
from privlp.relations.bounded_change import BoundedChange
from privlp.relations.numbers import LowSensitivity, PrivateNumbers
from privlp.tables import by_name, index_of, labels, places


@dataclass(frozen=True)
class Combined(LowSensitivity):
    """Neighbouring programs differ in all of the given ways at once.

    ``neighbours=(RowPrivate(...), ScalarPrivate(...))`` becomes this relation.

    Notes
    -----
    *Sensitivity.* Changes add. Where two parts move the same numbers or the same violation, their
    bounds are summed (triangle inequality). Numbers of different parts are released by mechanisms
    of their own, whose prices add up in one ledger.
    """

    #: Two or more different ones among ScalarPrivate, RowPrivate, ColumnPrivate and
    #: ObjectivePrivate.
    parts: tuple[BoundedChange, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, BoundedChange):
                what = part.description if isinstance(part, NeighbourRelation) else in_words(part)
                raise InvalidParameterError(
                    "Only ScalarPrivate, RowPrivate, ColumnPrivate and ObjectivePrivate can be"
                    f" combined in a tuple, not: {what}."
                )
        if len(self.parts) < 2 or len({type(part) for part in self.parts}) < len(self.parts):
            raise InvalidParameterError(
                "A tuple of neighbour relations needs two or more, each of another kind."
            )
        # One relation would read off the zeros what another calls private.
        of_entries = (part for part in self.parts if "A" in part.private_parts)
        if len({getattr(part, "zeros", None) for part in of_entries}) > 1:
            raise InvalidParameterError(
                "RowPrivate and ColumnPrivate must agree on zeros='private' or zeros='public', if"
                " they are combined.",
                parameter="zeros",
            )

    @property
    def private_parts(self) -> frozenset[str]:
        """The parts of the program that any relation makes private."""
        return frozenset().union(*(part.private_parts for part in self.parts))

    @property
    def description(self) -> str:
        return "all at once: " + "; ".join(part.description for part in self.parts)

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with what was declared public."""
        return "all at once: " + "; ".join(part.describe(lp) for part in self.parts)

    @property
    def key(self) -> str:
        """The same kinds of change in every program of one ledger; their sizes may differ."""
        return " and ".join(sorted(part.key for part in self.parts))

    def check(self, lp: ProgramData) -> None:
        """Refuse a program that one of the relations does not fit."""
        for part in self.parts:
            part.check(lp)

    def records(self, form: StandardForm) -> int:
        """The smallest number of records of any part."""
        return min(part.records(form) for part in self.parts)

    def private_numbers(self, form: StandardForm) -> list[PrivateNumbers]:
        """The private numbers of each part."""
        found: dict[str, PrivateNumbers] = {}
        for part in self.parts:
            for numbers in part.private_numbers(form):
                known = found.get(numbers.part)
                found[numbers.part] = numbers if known is None else _both(known, numbers)
        return list(found.values())

    def moved(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> ProgramData:
        """A random neighbour in all ways at once."""
        for part in self.parts:
            form = type(form).of(part.moved(form, rng, rows))
        return form.lp

    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """The sum of the spans of the parts."""
        spans = [part.violation_span(form) for part in self.parts]
        return lambda x: sum(span(x) for span in spans)

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """The sum of the changes under the parts."""
        changes = [part.row_change(form, scale) for part in self.parts]
        return sum(l1 for l1, _ in changes), sum(l2 for _, l2 in changes)


def _both(one: PrivateNumbers, other: PrivateNumbers) -> PrivateNumbers:
    """The same numbers, moved by two relations: changes add, and both ranges hold."""
    if any(not np.array_equal(a, b) for a, b in zip(one.at, other.at, strict=True)):
        raise InvalidParameterError(
            "RowPrivate and ColumnPrivate must declare the same entries public, if they are"
            " combined."
        )
    added: Any = {name: getattr(one, name) + getattr(other, name) for name in ("l1", "l2", "entry")}
    added |= {"touched": min(one.touched + other.touched, len(one)), "in_one_row": False}
    ends: Any = {"low": np.maximum(one.low, other.low), "high": np.minimum(one.high, other.high)}
    return replace(one, size=min(one.size, other.size), **added, **ends)


def in_order_of(
    relation: NeighbourRelation,
    rows: Any,
    row_names: Sequence[str] | None,
    variable_names: Sequence[str] | None,
) -> NeighbourRelation:
    """The relation whose declared numbers, where labelled, are in the order of a program's rows.

    These have the labels `rows` of pandas, or names; variables have names.
    """
    names = (rows, row_names, variable_names)
    if isinstance(relation, Combined):
        return relation_of([in_order_of(part, *names) for part in relation.parts])
    if not isinstance(relation, BoundedChange):
        return relation
    found: dict[str, Any] = {}
    for name in ("lower", "upper", "moves"):
        value: Any = getattr(relation, name, None)
        if index_of(value) is None:
            continue
        flat = value.ndim == 1
        if rows is not None and not (flat and relation.part != "b"):
            at = places(value, rows, name, "A")
            value = value if at is None else getattr(value, "iloc", value)[at]
        elif flat:
            of_rows = relation.part == "b"
            of = (row_names, name, "row") if of_rows else (variable_names, name)
            value = by_name(value, *of)
        if relation.part == "A" and not flat and value.shape[1] == len(variable_names or ()):
            columns = labels(value, 1)
            order = columns and dict(zip(columns, range(len(columns)), strict=True))
            value = value.iloc[:, by_name(order, variable_names, name)] if order else value
        found[name] = value if name == "moves" else np.asarray(value)
    return replace(relation, **found) if found else relation


def relation_of(given: Any) -> NeighbourRelation:
    """The relation that the user gave: a tuple of relations holds all at once."""
    relation = Combined(tuple(given)) if isinstance(given, tuple | list) else given
    if not isinstance(relation, NeighbourRelation):
        raise InvalidParameterError(
            f"neighbours must be a neighbour relation, got {in_words(relation)}. Where whole rows"
            " are private it is ConstraintPrivate(), which is the default.",
            parameter="neighbours",
        )
    return relation
