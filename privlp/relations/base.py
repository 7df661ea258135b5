"""What every neighbour relation provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from privlp.problem import LinearProgram, StandardForm


class NeighbourRelation(ABC):
    """What two neighbouring linear programs may differ in.

    A relation is part of the linear program (``lp.neighbours``) and of every ledger. It checks that a program fits
    it, names the solvers that protect it, and states the sensitivities those solvers use.
    """

    #: Names of the methods of :func:`privlp.solve` that protect this relation, the default one first.
    methods: ClassVar[tuple[str, ...]]
    #: Those of them whose solutions never violate a private row.
    never_violating: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def description(self) -> str:
        """The relation in words, for ledgers and statements."""

    @abstractmethod
    def describe(self, lp: LinearProgram) -> str:
        """The relation in words, as it stands for `lp`."""

    @abstractmethod
    def check(self, lp: LinearProgram) -> None:
        """Refuse a program that does not fit the relation, at its construction.

        Raises
        ------
        InvalidProblemError
            With what is wrong and what to do.
        """

    @abstractmethod
    def public_rows(self, form: StandardForm) -> int:
        """The number of private rows that formulas may use: public by definition, whatever the data."""

    def records(self, form: StandardForm) -> int:
        """Public number of records, against which delta is held."""
        return self.public_rows(form)

    def compatible_with(self, other: NeighbourRelation) -> bool:
        """Whether one ledger may account for both relations."""
        return self == other

    @abstractmethod
    def extreme_pair(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> tuple[LinearProgram, LinearProgram]:
        """Two random neighbours that resemble a program, about as far apart as neighbours can be; not private: for audits.

        `rows` are worth a try where one row changes. All that the relation calls public is as in the program.

        Raises
        ------
        InvalidProblemError
            If what was drawn is no program of this relation: draw again.
        """


def in_words(value: object) -> str:
    """What was given in place of a relation, for messages."""
    return f"the class {value.__name__} (call it: {value.__name__}(...))" if isinstance(value, type) else type(value).__name__
