"""What all ways to a linear program share."""

from __future__ import annotations

from typing import Any, Self

from privlp.problem import validation
from privlp.relations import NeighbourRelation


class ProgramReader:
    """A class of programs that can be read from elsewhere."""

    @classmethod
    def _read(
        cls,
        fields: dict[str, Any],
        neighbours: NeighbourRelation | None,
        private: Any,
        groups: Any,
        box: float | None,
        penalty: Any,
    ) -> Self:
        """The program of what was read and of the options that all readers share."""
        if private is None and not hides_rows(neighbours):
            private = fields["row_lower"] != fields["b"]
        fields["bounds"] = validation.boxed(fields["bounds"], box)
        options = {"private": private, "groups": groups, "penalty": penalty}
        return cls._of(fields | options, neighbours)

    @classmethod
    def _of(cls, fields: dict[str, Any], neighbours: NeighbourRelation | None) -> Self:
        """The program of all its fields."""
        raise NotImplementedError


def hides_rows(neighbours: Any) -> bool:
    """Whether a relation, given by the user or not, makes the number of rows private."""
    return bool(getattr(neighbours, "hides_rows", False))
