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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from privlp.checks import FloatArray
from privlp.errors import ReadError
from privlp.readers import cvxpy_expressions as found_in
from privlp.readers.cvxpy_expressions import TERMS, Expression, WeightedSum, not_convex, unknown

#: Prices below this share of all prices of a record come from rounding, and are dropped.
_NO_PRICE = 1e-12


class Line(NamedTuple):
    """The line slope·r + height."""

    slope: float
    height: float


class SoftSides(NamedTuple):
    """Rows lower <= r <= upper, infinite if absent, and prices, (n,), 0 for no row."""

    lower: float
    upper: float
    below: FloatArray
    above: FloatArray


class RecordTerms:
    """For n records, slope·r plus terms: each a weight, (n,), times the largest of some lines."""

    def __init__(
        self, slope: FloatArray, terms: Iterable[tuple[FloatArray, Sequence[Line]]]
    ) -> None:
        self.slope = slope
        self._terms = [(weight, _envelope(lines)) for weight, lines in terms]
        #: Where the sum may turn, in rising order.
        self._places = sorted(
            {_meeting(*pair) for _, lines in self._terms for pair in pairwise(lines)}
        )
        self._rounding = _NO_PRICE * (
            np.abs(slope)
            + sum(weight * sum(abs(line.slope) for line in lines) for weight, lines in self._terms)
        )

    def _slope_at(self, end: int) -> FloatArray:
        """The slope at the left (0) or right (-1) end."""
        return self.slope + sum(weight * lines[end].slope for weight, lines in self._terms)

    def is_closed(self) -> bool:
        """Whether no record gains without end, however large or small r is."""
        falls, rises = self._slope_at(0) <= self._rounding, self._slope_at(-1) >= -self._rounding
        return bool(falls.all() and rises.all())

    def sides(self) -> list[SoftSides]:
        """The soft rows of a closed sum: upper sides first, in one row with a fitting lower one."""
        upper, lower = [], []
        for place, below, above in self._kinks():
            upper.append(SoftSides(-np.inf, place, above, above))
            lower.append(SoftSides(place, np.inf, below, below))
        rows: list[SoftSides] = []
        for side in upper:
            k = next((k for k in reversed(range(len(lower))) if _one_row(lower[k], side)), None)
            partner = None if k is None else lower.pop(k)
            rows.append(
                side if partner is None else partner._replace(upper=side.upper, above=side.above)
            )
        return [side for side in rows + lower if side.above.any()]

    def least(self) -> FloatArray:
        """The least value of a closed sum for each record, (n,)."""
        best = np.full(self.slope.shape, np.inf)
        for place in self._places:
            value = self.slope * place + sum(
                weight * max(line.slope * place + line.height for line in lines)
                for weight, lines in self._terms
            )
            best = np.minimum(best, value)
        return best

    def _kinks(self) -> Iterator[tuple[float, FloatArray, FloatArray]]:
        """Places, and how much of the turn of the slope there lies below 0 and above 0."""
        slope = self._slope_at(0)
        for place in self._places:
            turns = (
                weight * (other.slope - one.slope)
                for weight, lines in self._terms
                for one, other in pairwise(lines)
                if _meeting(one, other) == place
            )
            turn = sum(turns, np.zeros(slope.shape))
            below = np.clip(-slope, 0.0, turn)
            above = turn - below
            below, above = (np.where(side > self._rounding, side, 0.0) for side in (below, above))
            yield place, below, above
            slope = slope + turn


def _one_row(lower: SoftSides, upper: SoftSides) -> bool:
    """Whether two sides fit into one row: the same records have both."""
    same = bool(((lower.below > 0) == (upper.above > 0)).all())
    return same and lower.lower <= upper.upper and bool(upper.above.any())


def _meeting(one: Line, other: Line) -> float:
    """Where two lines of different slopes meet."""
    return (one.height - other.height) / (other.slope - one.slope) + 0.0  # -0.0 is 0.0


def _envelope(lines: Sequence[Line]) -> list[Line]:
    """The lines that are largest somewhere, by rising slope."""
    found: list[Line] = []
    for line in sorted(lines):
        if found and found[-1].slope == line.slope:
            found.pop()
        while len(found) > 1 and _meeting(found[-2], line) <= _meeting(found[-2], found[-1]):
            found.pop()
        found.append(line)
    return found


@dataclass(eq=False)
class Records:
    """Private terms over one expression, whose entry i is record i's, by their stand-ins."""

    sum: WeightedSum
    expression: Expression
    uses: list[tuple[Expression, list[Line]]] = field(default_factory=list)
    linear: Expression = None

    def stand_ins(self) -> list[Expression]:
        """The stand-ins of the terms, then the one of the linear term."""
        found = [stand_in for stand_in, _ in self.uses]
        return found if self.linear is None else [*found, self.linear]

    def collected(self, slope: FloatArray, weights: list[FloatArray]) -> RecordTerms:
        """The terms with their weights in the objective, and a linear one."""
        lines = (lines for _, lines in self.uses)
        return RecordTerms(slope, zip(weights, lines, strict=True))


class Bounds(NamedTuple):
    """Rows pieces <= variable; if not `written`, the variable only lies in the pieces' range."""

    variable: Expression
    pieces: list[Expression]
    private: bool
    written: bool = True


@dataclass(eq=False)
class Terms:
    """What the terms of an objective become; `marked`: private atoms (None: all with data)."""

    cvxpy: ModuleType
    marked: set[int] | None = None
    rows: list[Records | Bounds] = field(default_factory=list)
    variables: list[tuple[str, Expression]] = field(default_factory=list)
    _by_parts: dict[frozenset[Any], list[Records]] = field(default_factory=dict)

    def stand_in(self, expression: Expression, private: bool | None = None) -> Expression:
        """The expression with an affine stand-in for each term; one within another is `private`."""
        if expression.is_affine() and not found_in.affine_by_parameters(expression):
            return expression
        kind = type(expression).__name__
        if kind in TERMS:
            own = self._is_private(expression) if private is None else private
            return self._term(expression, kind, own)
        if not found_in.is_affine_atom(expression):
            raise unknown(kind)
        return expression.copy([self.stand_in(part, private) for part in expression.args])

    def with_linear_terms(self, expression: Expression) -> Expression:
        """An affine expression in which linear terms over the records have stand-ins too."""
        if expression.is_constant() or not any(self.records()):
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
            return found_in.has_data(expression)
        return not self.marked.isdisjoint(map(id, found_in.atoms_of(expression)))

    def _term(self, expression: Expression, kind: str, private: bool) -> Expression:
        cp, args = self.cvxpy, expression.args
        if kind == "minimum":
            return -self._entry_by_entry(cp.maximum(*(-each for each in args)), private)
        if kind == "min":
            along = {"axis": expression.axis, "keepdims": expression.keepdims}
            return -self._largest(cp.max(-args[0], **along), private)
        if kind in ("norm1", "norm_inf"):
            along = {"axis": expression.axis, "keepdims": expression.keepdims}
            if kind == "norm_inf":
                return self._largest(cp.max(cp.abs(args[0]), **along), private)
            return cp.sum(self._absolute(cp.abs(args[0]), private), **along)
        rules = {"abs": self._absolute, "maximum": self._entry_by_entry, "max": self._largest}
        return rules.get(kind, self._largest_entries)(expression, private)

    def _absolute(self, expression: Expression, private: bool) -> Expression:
        argument = expression.args[0]
        if argument.is_affine():
            args = [argument, -argument]
            return self._entry_by_entry(expression, private, args, nonneg=True)
        if not argument.is_nonneg():
            raise not_convex("abs")
        return self.stand_in(argument, private)

    def _entry_by_entry(
        self,
        expression: Expression,
        private: bool,
        args: list[Expression] | None = None,
        nonneg: bool = False,
    ) -> Expression:
        """The largest of some arguments, by default those of the expression."""
        args = expression.args if args is None else args
        if not all(argument.is_convex() for argument in args):
            raise not_convex(type(expression).__name__)
        if private:
            pieces = [piece for each in args for piece in found_in.pieces_of(each)]
            return self._soft_rows(expression, pieces)
        pieces = [self.stand_in(argument, False) for argument in args]
        variable = self._new_variable(expression, expression.shape, nonneg)
        self.rows.append(Bounds(variable, pieces, False))
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
                return stand_in if base is None else stand_in + base.expression() + base.number
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
        k = next((k for k, each in enumerate(sums) if each.parts), None)
        if k is None:
            return None
        known = self._by_parts.setdefault(frozenset(sums[k].parts), [])
        records = next((r for r in known if sums[k].multiple_of(r.sum) is not None), None)
        is_new = records is None
        if records is None:
            own = WeightedSum(sums[k].times(1 / _outer_factor(sums[k], pieces[k])).parts)
            records = Records(own, own.expression())
        slopes = [each.multiple_of(records.sum) if each.parts else 0.0 for each in sums]
        if records.expression.shape != shape or None in slopes:
            return None
        if is_new:
            known.append(records)
            self.rows.append(records)
        lines = [Line(slope or 0.0, each.number) for slope, each in zip(slopes, sums, strict=True)]
        return records, lines

    def _largest(self, expression: Expression, private: bool) -> Expression:
        """The largest entry, or the largest entry of each row or column."""
        cp, argument = self.cvxpy, expression.args[0]
        if not argument.is_convex():
            raise not_convex("max")
        if expression.axis is not None and argument.ndim > 1:
            if argument.ndim > 2 or expression.axis not in (0, 1):
                raise unknown("max over several axes")
            along = argument if expression.axis == 0 else argument.T
            lines = [along[k] for k in range(along.shape[0])]
            largest = self.stand_in(cp.maximum(*lines) if len(lines) > 1 else lines[0], private)
        else:
            pieces = found_in.pieces_of(argument) if private else [self.stand_in(argument, False)]
            largest = self._new_variable(expression, (), type(argument).__name__ == "abs")
            self.rows.append(Bounds(largest, pieces, private))
        return cp.reshape(largest, expression.shape, order="F")

    def _largest_entries(self, expression: Expression, private: bool) -> Expression:
        """The k largest entries: min_t k·t + Σ pos(entry - t), Rockafellar and Uryasev (2000)."""
        if getattr(expression, "axis", None) is not None:
            raise unknown("sum_largest along an axis")
        entries = expression.args[0]
        if not entries.is_convex():
            raise not_convex("sum_largest")
        if not private:
            entries = self.stand_in(entries, False)
        threshold = self._new_variable(expression, ())
        self.rows.append(Bounds(threshold, [entries], private, written=False))
        terms = self._entry_by_entry(self.cvxpy.maximum(entries - threshold, 0), private)
        return expression.k * threshold + self.cvxpy.sum(terms)

    def _new_variable(
        self, expression: Expression, shape: tuple[int, ...], nonneg: bool = False
    ) -> Expression:
        variable = self.cvxpy.Variable(shape, nonneg=nonneg)
        self.variables.append((f"{type(expression).__name__}#{len(self.variables)}", variable))
        return variable


def _outer_factor(own: WeightedSum, piece: Expression) -> float:
    """The number with which a piece was multiplied: it is a matter of price, not of the row."""
    factor, (outer, inner) = 1.0, found_in.factor_of(piece)
    while outer not in (0.0, 1.0):
        factor *= outer
        outer, inner = found_in.factor_of(inner)
    return factor if own.multiple_of(WeightedSum.of(inner)) is not None else 1.0
