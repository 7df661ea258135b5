"""Convex piecewise-linear functions of one number per record, as soft rows.

A record has one affine expression r. Its share of the objective is a sum of terms, each a public
multiple of the largest of a few lines slope·r + height. Such a sum is convex. If it is flat or
turns upwards at both ends, it is a constant plus a price for each unit by which r passes a few
public places upwards or downwards: one side of a soft row each. An upper and a lower side are one
row, because the slope of a record is then one number, which noise has to hide once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

#: Prices below this share of all prices of a record come from rounding, and are dropped.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Line:
    """The line slope·r + height."""

    slope: float
    height: float


@dataclass(frozen=True, eq=False)
class SoftSides:
    """Rows lower <= r <= upper, one per record."""

    #: The places, infinite for an absent side.
    lower: float
    upper: float
    #: Prices per unit of violation of the lower and of the upper side, equal if one is absent; 0
    #: for a record without this row, (n,).
    below: FloatArray
    above: FloatArray


@dataclass(eq=False)
class RecordTerms:
    """The sum of terms over the same expression r of n records.

    Examples
    --------
    The pinball loss max(0.9 r, -0.1 r) of one record:

    >>> import numpy as np
    >>> terms = RecordTerms(1)
    >>> terms.add(np.ones(1), [Line(0.9, 0.0), Line(-0.1, 0.0)])
    >>> [(side.lower, side.upper, side.below, side.above) for side in terms.sides()]
    [(0.0, 0.0, array([0.1]), array([0.9]))]
    """

    #: Number of records.
    n: int
    #: Coefficient of r in linear terms, (n,).
    slope: FloatArray = field(init=False)
    _terms: list[tuple[FloatArray, list[Line]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slope = np.zeros(self.n)

    def add(self, weight: FloatArray, lines: Sequence[Line]) -> None:
        """Add weight times the largest of some lines; weights of shape (n,) are not negative."""
        self._terms.append((weight, _envelope(lines)))

    def is_closed(self) -> bool:
        """Whether no record gains without end, however large or small r is."""
        left, right = (
            self.slope + sum(weight * lines[end].slope for weight, lines in self._terms)
            for end in (0, -1)
        )
        slack = _ROUNDING * self._size()
        return bool((left <= slack).all() and (right >= -slack).all())

    def sides(self) -> list[SoftSides]:
        """The soft rows of a closed sum: upper sides first, then lower ones.

        A lower and an upper side are one row, where the same records have both.
        """
        upper, lower = [], []
        for place, below, above in self._kinks():
            upper.append(SoftSides(-np.inf, place, above, above))
            lower.append(SoftSides(place, np.inf, below, below))
        rows: list[SoftSides] = []
        for side in upper:
            partner = next(
                (other for other in reversed(lower) if _one_row(other, side)),
                None,
            )
            if partner is not None:
                lower.remove(partner)
                side = SoftSides(partner.lower, side.upper, partner.below, side.above)  # noqa: PLW2901
            rows.append(side)
        return [side for side in rows + lower if side.above.any()]

    def least(self) -> FloatArray:
        """The least value of a closed sum for each record, (n,)."""
        best = np.full(self.n, np.inf)
        for place in self._places():
            value = self.slope * place + sum(
                weight * max(line.slope * place + line.height for line in lines)
                for weight, lines in self._terms
            )
            best = np.minimum(best, value)
        return best

    def _size(self) -> FloatArray:
        return np.abs(self.slope) + sum(
            weight * sum(abs(line.slope) for line in lines) for weight, lines in self._terms
        )

    def _places(self) -> list[float]:
        """Where the sum may turn, in rising order."""
        turns = {_meeting(one, other) for _, lines in self._terms for one, other in pairwise(lines)}
        return sorted(turns)

    def _kinks(self) -> list[tuple[float, FloatArray, FloatArray]]:
        """Places, and how much of the turn of the slope there lies below 0 and above 0."""
        slope = self.slope + sum(weight * lines[0].slope for weight, lines in self._terms)
        rounding = _ROUNDING * self._size()
        kinks = []
        for place in self._places():
            turn = sum(
                (
                    weight * (other.slope - one.slope)
                    for weight, lines in self._terms
                    for one, other in pairwise(lines)
                    if _meeting(one, other) == place
                ),
                np.zeros(self.n),
            )
            below = np.clip(-slope, 0.0, turn)
            above = turn - below
            kinks.append(
                (
                    place,
                    np.where(below > rounding, below, 0.0),
                    np.where(above > rounding, above, 0.0),
                )
            )
            slope = slope + turn
        return kinks


def _one_row(lower: SoftSides, upper: SoftSides) -> bool:
    """Whether two sides fit into one row: the same records have both."""
    return (
        lower.lower <= upper.upper
        and bool(upper.above.any())
        and bool(((lower.below > 0) == (upper.above > 0)).all())
    )


def _meeting(one: Line, other: Line) -> float:
    """Where two lines of different slopes meet."""
    place = (one.height - other.height) / (other.slope - one.slope)
    return place + 0.0  # -0.0 is 0.0


def _envelope(lines: Sequence[Line]) -> list[Line]:
    """The lines that are largest somewhere, by rising slope."""
    found: list[Line] = []
    for line in sorted(lines, key=lambda line: (line.slope, line.height)):
        if found and found[-1].slope == line.slope:
            found.pop()
        while len(found) > 1 and _meeting(found[-2], line) <= _meeting(found[-2], found[-1]):
            found.pop()
        found.append(line)
    return found
