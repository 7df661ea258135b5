"""All that is public of an allocation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privlp.allocation.relation import PersonPrivate

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sizes:
    """All that is public of an allocation."""

    #: In units of the largest use of one person, (d,).
    supplies: FloatArray
    options: int
    #: Whether what an option uses is each person's own.
    own_uses: bool
    #: Their number, or the nominal one.
    people: int
    relation: PersonPrivate
    #: The largest use of one person, in the user's units.
    unit: float
    largest_value: float

    @property
    def most_people(self) -> int:
        """No allocation of these sizes has more people."""
        return 2 * self.people if self.relation.hides_people else self.people

    @property
    def rank(self) -> int:
        """Rank of the curvature of one person, at most."""
        return min(self.options, len(self.supplies))

    @property
    def terms(self) -> int:
        """As how many terms a unit's cost is rounded: one where it is summed exactly."""
        return len(self.supplies) if self.own_uses else 1
