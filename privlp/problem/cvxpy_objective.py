"""The objective of a CVXPY problem: costs, offset, and rows of its terms."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import NotPrivateWarning, ReadError
from privlp.problem.cvxpy_arrays import affine
from privlp.problem.cvxpy_pieces import not_convex
from privlp.problem.cvxpy_terms import Bounds, Records, Terms

if TYPE_CHECKING:
    import cvxpy

FloatArray = npt.NDArray[np.float64]
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows lower <= A x <= upper of the program."""

    A: sp.csc_array
    lower: FloatArray
    upper: FloatArray
    #: (n,).
    private: npt.NDArray[np.bool_]
    #: Price of violation of the lower and of the upper side, infinite for hard rows, (n, 2).
    price: FloatArray
    #: The record that owns each row, by its number in the constraint or term, (n,).
    record: npt.NDArray[np.int64]


def read_objective(
    problem: cvxpy.Problem,
    objective: cvxpy.Expression,
    terms: Terms,
    variables: list[Any],
    *,
    quote: bool = True,
) -> tuple[FloatArray, float, list[list[Block]]]:
    """Costs, offset, and the rows of each term.

    The weight of a term is the derivative of the objective by its stand-in. Where the number of
    rows is private (not `quote`), a term may add nothing to the constant of the objective.
    """
    stand_ins = [variable for records in terms.records() for variable in records.stand_ins()]
    gradient, rest = affine(objective, [*variables, *stand_ins])
    sizes = [variable.size for variable in [*variables, *stand_ins]]
    slopes = np.split(gradient.toarray().ravel(), np.cumsum(sizes)[:-1])
    slope_of = dict(zip([v.id for v in [*variables, *stand_ins]], slopes, strict=True))
    costs, offset = np.concatenate(slopes[: len(variables)]), -float(rest[0])
    sign = 1.0 if type(problem.objective).__name__ == "Minimize" else -1.0
    parts, linear = [], [objective]
    for rows in terms.rows:
        if isinstance(rows, Bounds):
            if rows.written and (sign * slope_of[rows.variable.id] < 0).any():
                raise not_convex("a term")
            parts.append(list(_hard(rows, variables)))
            continue
        weights = [sign * slope_of[variable.id] for variable in rows.stand_ins()]
        matrix, rhs = affine(rows.expression, variables)
        soft, least, kept = _soft(rows, weights, matrix, rhs)
        least = least if quote else _nothing(least)
        parts.append(soft)
        costs = costs + sign * (kept @ matrix)
        offset += sign * (least - float(kept @ rhs))
        if kept.any():
            linear.append(rows.expression)
    _warn_of_private_costs(terms, linear)
    return costs, offset, parts


def _nothing(least: float) -> float:
    """The least value of terms, which must be 0, without what rounding adds."""
    if abs(least) > _ROUNDING:
        raise ReadError(
            "A piecewise-linear term of private records in the objective of the CVXPY problem has a"
            " least value other than 0. It would be a constant of the objective, which is public,"
            " and tell the number of records. Subtract it from every piece, as in"
            " cp.maximum(r - 0.5, -r - 0.5, 0)."
        )
    return 0.0


def _soft(
    rows: Records, weights: list[FloatArray], matrix: sp.csc_array, rhs: FloatArray
) -> tuple[list[Block], float, FloatArray]:
    """Soft rows of terms with given weights, their least value, and what stays a linear term."""
    none = np.zeros(rhs.size)
    *own, slope = weights if rows.linear is not None else [*weights, none]
    if any((weight < 0).any() for weight in own):
        raise not_convex("a term")
    terms, kept = rows.collected(slope, own), none
    if not terms.is_closed():
        terms, kept = rows.collected(none, own), slope
    if not terms.is_closed():
        raise ReadError(
            "A piecewise-linear term of private records in the objective of the CVXPY problem has"
            " a linear part: no price of soft rows says that, and its coefficients would be"
            " costs, which are public. Use terms that neither fall nor rise on both sides, such as"
            " cp.maximum(0.9 * r, -0.1 * r); or write it out: a variable for each record, and"
            " constraints."
        )
    blocks, table = [], sp.csr_array(matrix)
    for side in terms.sides():
        k = np.flatnonzero(side.above)
        price = np.column_stack([side.below[k], side.above[k]])
        lower, upper = rhs[k] + side.lower, rhs[k] + side.upper
        private = np.ones(k.size, dtype=bool)
        blocks.append(Block(sp.csc_array(table[k]), lower, upper, private, price, k))
    return blocks, float(terms.least().sum()), kept


def _hard(rows: Bounds, variables: list[cvxpy.Variable]) -> Iterator[Block]:
    """Rows pieces <= variable."""
    for piece in rows.pieces if rows.written else []:
        matrix, rhs = affine(piece - rows.variable, variables)
        absent = np.full(rhs.size, np.inf)
        private = np.full(rhs.size, rows.private)
        hard = np.full((rhs.size, 2), np.inf)
        yield Block(matrix, -absent, rhs, private, hard, np.arange(rhs.size))


def _warn_of_private_costs(terms: Terms, linear: list[cvxpy.Expression]) -> None:
    """Warn where constants of private terms stand in the costs as well."""
    shown = [c for expression in linear for c in expression.constants() if c.shape != ()]
    private = [
        constant
        for rows in terms.rows
        if isinstance(rows, Records) or rows.private
        for expression in ([rows.expression] if isinstance(rows, Records) else rows.pieces)
        for constant in expression.constants()
        if constant.shape != ()
    ]
    if any(_same(one, other) for one in shown for other in private):
        warnings.warn(
            "A linear term of the objective holds the data of private terms. It became costs, and"
            " costs are public. If the data are private, bound the term by a private constraint on"
            " a variable of its own, and minimise that variable.",
            NotPrivateWarning,
            stacklevel=5,
        )


def _same(one: cvxpy.Constant, other: cvxpy.Constant) -> bool:
    """Whether two constants hold the same numbers; a user may have written one twice."""
    if one is other:
        return True
    if one.shape != other.shape or sp.issparse(one.value) != sp.issparse(other.value):
        return False
    if sp.issparse(one.value):
        return not (one.value != other.value).nnz
    return bool(np.array_equal(one.value, other.value))
