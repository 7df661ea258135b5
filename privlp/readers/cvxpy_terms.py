"""Convex piecewise-linear terms of a CVXPY objective, as rows of a linear program.

A term of private records becomes soft rows. The data of a record stand in its rows, and nowhere
else: neither in the costs nor in the constant of the objective, which are public. Where this cannot
be, the term is refused. Other terms become variables with public rows (their epigraph). Proof:
``docs/proofs.md``, "Losses as soft rows".

A record has one affine expression r. Its share of the objective is a sum of terms, each a public
multiple of the largest of a few lines slope·r + height. Such a sum is convex. If it is flat or
turns upwards at both ends, it is a constant plus a price for each unit by which r passes a few
public places upwards or downwards: one side of a soft row each. An upper and a lower side are one
row, because the slope of a record is then one number, which noise has to hide once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.errors import ReadError
from privlp.readers.cvxpy_expressions import (
    TERMS,
    Expression,
    WeightedSum,
    atoms_of,
    factor_of,
    has_data,
    is_affine_atom,
    not_convex,
    odd_atoms,
    pieces_of,
    unknown,
)

FloatArray = npt.NDArray[np.float64]
#: Prices below this share of all prices of a record come from rounding, and are dropped.
_NO_PRICE = 1e-12


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
    """The sum of terms over the same expression r of n records."""

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
        slack = _NO_PRICE * self._size()
        return bool((left <= slack).all() and (right >= -slack).all())

    def sides(self) -> list[SoftSides]:
        """The soft rows of a closed sum: upper sides first, in one row with a fitting lower one."""
        upper, lower = [], []
        for place, below, above in self._kinks():
            upper.append(SoftSides(-np.inf, place, above, above))
            lower.append(SoftSides(place, np.inf, below, below))
        rows: list[SoftSides] = []
        for side in upper:
            partner = next((other for other in reversed(lower) if _one_row(other, side)), None)
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
        rounding = _NO_PRICE * self._size()
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


@dataclass(eq=False)
class Records:
    """Private terms over the same expression: entry i of it belongs to record i."""

    #: The expression, without the single numbers in it.
    sum: WeightedSum
    expression: Expression
    #: Stand-in and lines of each term.
    uses: list[tuple[Expression, list[Line]]] = field(default_factory=list)
    #: Stand-in of the expression where it is a linear term of the objective.
    linear: Expression = None

    def stand_ins(self) -> list[Expression]:
        """The stand-ins of the terms, then the one of the linear term."""
        found = [stand_in for stand_in, _ in self.uses]
        return found if self.linear is None else [*found, self.linear]

    def collected(self, slope: Any, weights: list[Any]) -> RecordTerms:
        """The terms with their weights in the objective, and a linear one."""
        terms = RecordTerms(self.expression.size)
        terms.slope = slope
        for weight, (_, lines) in zip(weights, self.uses, strict=True):
            terms.add(weight, lines)
        return terms


@dataclass(eq=False)
class Bounds:
    """Rows pieces <= variable."""

    variable: Expression
    #: Of the shape of the variable, or of several entries each if it is a single one.
    pieces: list[Expression]
    private: bool
    #: Whether the rows are written; else the variable only lies in the range of the pieces.
    written: bool = True


@dataclass(eq=False)
class Terms:
    """What the terms of an objective become; :meth:`stand_in` collects them."""

    cvxpy: ModuleType
    #: Identities of the private atoms; None: those with data.
    marked: set[int] | None = None
    #: In the order of the objective.
    rows: list[Records | Bounds] = field(default_factory=list)
    #: Variables of the linear program that the problem does not have.
    variables: list[tuple[str, Expression]] = field(default_factory=list)
    _by_parts: dict[frozenset[Any], list[Records]] = field(default_factory=dict)

    def stand_in(self, expression: Expression) -> Expression:
        """The expression with an affine stand-in for each term."""
        if expression.is_affine() and not odd_atoms(expression):
            return expression
        kind = type(expression).__name__
        if kind in TERMS:
            return self._term(expression, kind, private=self._is_private(expression))
        if not is_affine_atom(expression):
            raise unknown(kind)
        return expression.copy([self.stand_in(argument) for argument in expression.args])

    def with_linear_terms(self, expression: Expression) -> Expression:
        """An affine expression in which linear terms over the records have stand-ins too.

        So 0.5·abs(r) + 0.4·r is one function of r: the data in the linear term stand in rows.
        """
        if expression.is_constant() or not any(isinstance(rows, Records) for rows in self.rows):
            return expression
        total, found = WeightedSum.of(expression), []
        for records in self.records():
            share = total.share_of(records.sum)
            if share is not None and records.expression.shape == expression.shape:
                if records.linear is None:
                    records.linear = self.cvxpy.Variable(expression.shape)
                total = total.plus(records.sum.times(-share))
                found.append(share * records.linear)
        for part, weight in total.parts.values():
            inner = part
            if part.args and not part.is_constant():
                inner = part.copy([self.with_linear_terms(argument) for argument in part.args])
            found.append(weight * inner)
        return sum(found, start=self.cvxpy.Constant(total.number))

    def records(self) -> Iterator[Records]:
        """The private terms that become soft rows."""
        return (rows for rows in self.rows if isinstance(rows, Records))

    def _is_private(self, expression: Expression) -> bool:
        if self.marked is None:
            return has_data(expression)
        return not self.marked.isdisjoint(map(id, atoms_of(expression)))

    def _term(self, expression: Expression, kind: str, *, private: bool) -> Expression:
        cp, args = self.cvxpy, expression.args
        if kind in ("min", "minimum"):
            return -self._term(_mirrored(cp, expression, kind), f"max{kind[3:]}", private=private)
        if kind in ("norm1", "norm_inf"):
            return self._norm(expression, kind, private=private)
        if kind == "abs":
            return self._absolute(expression, args[0], private=private)
        if kind == "maximum":
            return self._entry_by_entry(expression, args, private=private)
        if kind == "max":
            return self._largest(expression, private=private)
        return self._largest_entries(expression, private=private)

    def _norm(self, expression: Expression, kind: str, *, private: bool) -> Expression:
        cp, absolute = self.cvxpy, self.cvxpy.abs(expression.args[0])
        along = {"axis": expression.axis, "keepdims": expression.keepdims}
        if kind == "norm_inf":
            return self._term(cp.max(absolute, **along), "max", private=private)
        return cp.sum(self._term(absolute, "abs", private=private), **along)

    def _absolute(
        self, expression: Expression, argument: Expression, *, private: bool
    ) -> Expression:
        if not argument.is_affine():
            if not argument.is_nonneg():
                raise not_convex("abs")
            return self._inner(argument, private=private)
        return self._entry_by_entry(expression, [argument, -argument], private=private, nonneg=True)

    def _inner(self, expression: Expression, *, private: bool) -> Expression:
        """The stand-in of a term within a term, as private as that one."""
        if expression.is_affine():
            return expression
        kind = type(expression).__name__
        if kind in TERMS:
            return self._term(expression, kind, private=private)
        if not is_affine_atom(expression):
            raise unknown(kind)
        return expression.copy([self._inner(part, private=private) for part in expression.args])

    def _entry_by_entry(
        self, expression: Expression, args: list[Expression], *, private: bool, nonneg: bool = False
    ) -> Expression:
        if not all(argument.is_convex() for argument in args):
            raise not_convex(type(expression).__name__)
        if private:
            return self._soft_rows(expression, [p for each in args for p in pieces_of(each)])
        pieces = [self._inner(argument, private=False) for argument in args]
        variable = self._new_variable(expression, expression.shape, nonneg=nonneg)
        self.rows.append(Bounds(variable, pieces, private=False))
        return variable

    def _soft_rows(self, expression: Expression, pieces: list[Expression]) -> Expression:
        """The stand-in of private maxima, one per record."""
        sums = [WeightedSum.of(piece) for piece in pieces]
        public = [each for each in sums if each.parts and not each.has_data()]
        for base in (None, *public):
            rest = sums if base is None else [each.plus(base.times(-1)) for each in sums]
            found = self._common(rest, expression.shape, pieces)
            if found is not None:
                records, lines = found
                stand_in = self.cvxpy.Variable(expression.shape)
                records.uses.append((stand_in, lines))
                if base is None:
                    return stand_in
                return stand_in + base.expression() + base.number
        raise ReadError(
            f"The pieces of {type(expression).__name__} in the objective of the CVXPY problem are"
            " not multiples of one expression of each private record, so they are no soft row."
            " Write each term as a maximum of multiples of one expression object, such as"
            " r = y - X @ w; cp.maximum(0.9 * r, -0.1 * r); or write it out: a variable for each"
            " term, and constraints."
        )

    def _common(
        self, sums: list[WeightedSum], shape: tuple[int, ...], pieces: list[Expression]
    ) -> tuple[Records, list[Line]] | None:
        """The expression of which all sums are multiples, plus numbers; and the multiples."""
        first = next((k for k, each in enumerate(sums) if each.parts), None)
        if first is None:
            return None
        known = self._by_parts.setdefault(frozenset(sums[first].parts), [])
        records = next((r for r in known if sums[first].multiple_of(r.sum) is not None), None)
        is_new = records is None
        if records is None:
            own = sums[first].times(1 / _outer_factor(sums[first], pieces[first]))
            own = WeightedSum(own.parts)
            records = Records(own, own.expression())
        if records.expression.shape != shape:
            return None
        slopes = [each.multiple_of(records.sum) if each.parts else 0.0 for each in sums]
        if None in slopes:
            return None
        if is_new:
            known.append(records)
            self.rows.append(records)
        lines = [Line(k or 0.0, each.number) for k, each in zip(slopes, sums, strict=True)]
        return records, lines

    def _largest(self, expression: Expression, *, private: bool) -> Expression:
        """The largest entry, or the largest entry of each row or column."""
        argument = expression.args[0]
        if not argument.is_convex():
            raise not_convex("max")
        if expression.axis is not None and argument.ndim > 1:
            along = argument if expression.axis == 0 else argument.T
            if argument.ndim > 2 or expression.axis not in (0, 1):
                raise unknown("max over several axes")
            largest = self.cvxpy.maximum(*(along[k] for k in range(along.shape[0])))
            if along.shape[0] == 1:
                largest = along[0]
            inner = self._inner(largest, private=private)
            return self.cvxpy.reshape(inner, expression.shape, order="F")
        nonneg = type(argument).__name__ == "abs"
        pieces = pieces_of(argument) if private else [self._inner(argument, private=False)]
        variable = self._new_variable(expression, (), nonneg=nonneg)
        self.rows.append(Bounds(variable, pieces, private))
        return self.cvxpy.reshape(variable, expression.shape, order="F")

    def _largest_entries(self, expression: Expression, *, private: bool) -> Expression:
        """The sum of the k largest entries: the least value of k·t + Σ pos(entry - t) over t.

        Source: Rockafellar and Uryasev (2000), "Optimization of conditional value-at-risk".
        """
        if getattr(expression, "axis", None) is not None:
            raise unknown("sum_largest along an axis")
        entries = expression.args[0]
        if not entries.is_convex():
            raise not_convex("sum_largest")
        if not private:
            entries = self._inner(entries, private=False)
        threshold = self._new_variable(expression, ())
        self.rows.append(Bounds(threshold, [entries], private, written=False))
        above = self.cvxpy.maximum(entries - threshold, 0)
        terms = self._term(above, "maximum", private=private)
        return expression.k * threshold + self.cvxpy.sum(terms)

    def _new_variable(
        self, expression: Expression, shape: tuple[int, ...], *, nonneg: bool = False
    ) -> Expression:
        variable = self.cvxpy.Variable(shape, nonneg=nonneg)
        self.variables.append((f"{type(expression).__name__}#{len(self.variables)}", variable))
        return variable


def _mirrored(cp: ModuleType, expression: Expression, kind: str) -> Expression:
    """The maximum whose negative is a minimum."""
    args = expression.args
    if kind == "minimum":
        return cp.maximum(*(-argument for argument in args))
    return cp.max(-args[0], axis=expression.axis, keepdims=expression.keepdims)


def _outer_factor(own: WeightedSum, piece: Expression) -> float:
    """The number with which a piece was multiplied: it is a matter of price, not of the row."""
    factor = 1.0
    inner = piece
    while True:
        outer, inner = factor_of(inner)
        if outer in (0.0, 1.0):
            break
        factor *= outer
    return factor if own.multiple_of(WeightedSum.of(inner)) is not None else 1.0
