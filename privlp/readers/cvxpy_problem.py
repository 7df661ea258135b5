"""CVXPY problems that are affine or piecewise linear, as a program's fields."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, ValuesView
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, IntArray, as_floats, optional
from privlp.errors import InvalidProblemError, NotPrivateWarning, ReadError
from privlp.problem import validation
from privlp.quiet import unnoticed
from privlp.readers import cvxpy_expressions as found_in
from privlp.readers.cvxpy_expressions import affine, not_convex
from privlp.readers.cvxpy_terms import Bounds, Records, Terms

if TYPE_CHECKING:
    import cvxpy

_NOTHING = 1e-9
# Prices of the two sides that differ by less differ by rounding.
_ROUNDING = 1e-12
_STRUCTURED = ("symmetric", "diag", "PSD", "NSD", "hermitian", "sparsity")


class Block(NamedTuple):
    """Rows lower <= A x <= upper, prices of both sides, (n, 2), and the record of each, (n,)."""

    A: sp.csc_array
    lower: FloatArray
    upper: FloatArray
    private: BoolArray
    price: FloatArray
    record: IntArray


class Sides(NamedTuple):
    """A constraint says of an expression e whether e >= 0, and whether e <= 0."""

    expression: cvxpy.Expression
    has_lower: bool
    has_upper: bool
    private: bool


def read_cvxpy(
    problem: cvxpy.Problem,
    private: Any,
    penalty: Any = None,
    box: float | None = None,
    *,
    quote: bool = True,
) -> tuple[dict[str, Any], IntArray | None]:
    """Fields of a program, and the record of each row where a record has several (else None).

    Variables that terms of the objective need come last; rows of constraints come first, then those
    of the terms. Where the number of rows is private, errors may not `quote` the place of a
    constraint, there may be no constraint, and all constraints are private by default.
    """
    cp = optional("cvxpy", "from_cvxpy needs CVXPY: install it by pip install 'privlp[cvxpy]'.")
    if not isinstance(problem, cp.Problem):
        raise ReadError(f"from_cvxpy takes a cvxpy.Problem, got {type(problem).__name__}.")
    variables = problem.variables()
    if not variables:
        raise ReadError("The CVXPY problem has no variables.")
    _check(problem, variables, quote=quote)
    wanted, marked = (None, None) if private is None else _chosen(cp, private, problem, quote)
    terms = Terms(cp, marked)
    with unnoticed():  # CVXPY multiplies infinite bounds by zeros of private data
        objective = terms.with_linear_terms(terms.stand_in(problem.objective.args[0]))
        sides = [
            _sides(k, constraint, wanted, terms, quote=quote)
            for k, constraint in enumerate(problem.constraints)
        ]
    every = [*variables, *(variable for _, variable in terms.variables)]
    prices = _prices(penalty, problem, quote)
    parts = [
        [_rows_of(constraint, own, every, prices)]
        for constraint, own in zip(problem.constraints, sides, strict=True)
    ]
    if private is None and quote:
        some = [bool(block.private.any()) for part in parts for block in part]
        records = any(isinstance(rows, Records) for rows in terms.rows)
        found_in.name_rows_without_data(problem.constraints, some, others=records)
    least = isinstance(problem.objective, cp.Minimize)
    costs, offset, of_terms = _objective(1.0 if least else -1.0, objective, terms, every, quote)
    parts += of_terms
    blocks = [block for part in parts for block in part] or [_no_rows(len(costs))]
    A, *columns, _ = zip(*blocks, strict=True)
    lower, upper, mask, price = map(np.concatenate, columns)
    fields = {
        **{"c": costs, "A": sp.vstack(A, format="csc"), "b": upper, "row_lower": lower},
        **{"private": mask, "offset": offset},
        # Whether rows are soft may not tell whether there are any.
        "penalty": _prices_of_rows(price, kept=penalty is not None and not quote),
        "bounds": _bounds(terms, variables, every, box),
        "sense": "min" if least else "max",
        "variable_names": [name for v in variables for name in found_in.names_of(v)]
        + [name for own, v in terms.variables for name in found_in.names_of(v, own)],
    }
    return fields, _groups(parts)


def _check(problem: cvxpy.Problem, variables: list[cvxpy.Variable], *, quote: bool) -> None:
    """Refuse parameters without values, and structured and integer variables."""
    for parameter in problem.parameters():
        if parameter.value is None:
            which = f" {parameter.name()!r}" if quote else ""
            raise ReadError(
                f"A parameter{which} of the CVXPY problem has no value. Set its .value."
            )
    for variable in variables:
        own, name = variable.attributes, f"CVXPY variable {variable.name()!r} is"
        structure = [kind for kind in _STRUCTURED if own.get(kind)]
        if structure:
            raise ReadError(
                f"{name} declared {structure[0]}; state that by constraints on a plain variable."
            )
        if own["integer"] or own["boolean"] or variable.is_complex():
            raise ReadError(
                f"{name} integer, boolean or complex; privlp solves linear programs only. To let it"
                " take any value within its bounds: leave out integer=True, and write"
                " cp.Variable(..., bounds=[0, 1]) in place of boolean=True."
            )


def _chosen(
    cp: ModuleType, private: Any, problem: cvxpy.Problem, quote: bool
) -> tuple[set[Any], set[int]]:
    """Ids of the private constraints, and identities of the private atoms of the objective."""
    kinds = cp.constraints.constraint.Constraint | cp.Expression | str
    several = isinstance(private, list | tuple | set | Iterator | ValuesView)
    private = list(private) if several else [private]
    if not all(isinstance(entry, kinds) for entry in private):
        raise ReadError(
            "private must be constraints of the CVXPY problem, their labels or patterns over these,"
            " terms of its objective, or a list of such.",
            parameter="private",
        )
    named = (entry for entry in private if not isinstance(entry, cp.Expression))
    wanted = set[Any]().union(
        *(found_in.ids_of(each, problem, "private", quote=quote) for each in named)
    )
    if not wanted <= {constraint.id for constraint in problem.constraints}:
        raise ReadError(
            "private lists a CVXPY constraint that is not a constraint of the problem.",
            parameter="private",
        )
    known = set(map(id, found_in.atoms_of(problem.objective.args[0])))
    terms = (entry for entry in private if isinstance(entry, cp.Expression))
    marked = [set(map(id, found_in.atoms_of(term))) for term in terms]
    if not all(atoms and atoms <= known for atoms in marked):
        raise ReadError(
            "private lists a CVXPY expression that is no piecewise-linear term of the objective."
            " List the very objects of which the objective is made, such as loss = cp.pos(1 - m)."
            " An affine term has no rows: its coefficients are costs, which are public.",
            parameter="private",
        )
    return wanted, set().union(*marked)


def _prices(penalty: Any, problem: cvxpy.Problem, quote: bool) -> tuple[float, dict[Any, Any]]:
    """The price of violating any private constraint, and prices by the id of a constraint."""
    if not isinstance(penalty, Mapping):
        return (np.inf if penalty is None else float(_price(penalty, 1)[0])), {}
    named = (
        (found_in.ids_of(each, problem, "penalty", quote=quote), price)
        for each, price in penalty.items()
    )
    prices = {own: price for ids, price in named for own in ids}
    if not prices.keys() <= {constraint.id for constraint in problem.constraints}:
        raise InvalidProblemError(
            "penalty names what is no constraint of the CVXPY problem. Terms of the objective"
            " have their own prices.",
            parameter="penalty",
        )
    return np.inf, prices


def _price(given: Any, size: int) -> FloatArray:
    try:
        prices = np.ravel(as_floats(given, "penalty"), order="F")
    except InvalidProblemError:
        prices = np.array([np.nan])
    if prices.size not in (1, size) or not (prices > 0).all():
        raise InvalidProblemError(
            "penalty must be a positive number, or a dict from constraints to prices: a positive"
            " number, or one for each row of the constraint.",
            parameter="penalty",
        )
    return np.broadcast_to(prices, size)


def _rows_of(
    constraint: cvxpy.Constraint,
    sides: Sides,
    variables: list[cvxpy.Variable],
    prices: tuple[float, dict[Any, Any]],
) -> Block:
    """The rows of a constraint."""
    expression, has_lower, has_upper, private = sides
    matrix, rhs = affine(expression, variables)
    number, given = prices
    if constraint.id in given and not private:
        raise InvalidProblemError(
            "penalty names a public constraint of the CVXPY problem; soft rows are private. Name"
            " it too in private=..., or write a public soft row by a variable of its own, with a"
            " cost.",
            parameter="penalty",
        )
    none = np.full(rhs.size, np.inf)
    price = np.full(rhs.size, number if private else np.inf)
    if constraint.id in given:
        price = _price(given[constraint.id], rhs.size)
    lower, upper = rhs if has_lower else -none, rhs if has_upper else none
    mask = np.full(rhs.size, private)
    return Block(matrix, lower, upper, mask, np.column_stack([price, price]), np.arange(rhs.size))


def _sides(
    k: int, constraint: cvxpy.Constraint, wanted: set[Any] | None, terms: Terms, *, quote: bool
) -> Sides:
    """What constraint k says; terms of a public one get stand-ins."""
    kind, args = type(constraint).__name__, constraint.args
    if kind not in ("Inequality", "Equality", "NonPos", "Zero"):
        raise ReadError(f"CVXPY constraint {kind} is not a linear inequality or equality.")
    equal = kind in ("Equality", "Zero")
    private = not (equal and quote) if wanted is None else constraint.id in wanted
    expression = args[0] if kind in ("NonPos", "Zero") else args[0] - args[1]
    if not all(argument.is_affine() for argument in args):
        what = f"The constraint {k}" if quote else "A constraint"
        if private:
            raise ReadError(
                f"{what} of the CVXPY problem is private and not affine. privlp needs every private"
                " row as one linear inequality: write abs, max and norm1 out with auxiliary"
                " variables. If the constraint is nobody's data, list the private ones in"
                " private=[...]: it is then public, and may hold abs, max, norm1 and their like."
            )
        if not constraint.is_dcp():
            raise not_convex(f"in {what[0].lower()}{what[1:]} a term")
        return Sides(terms.stand_in(expression, False), False, True, private)
    if kind == "Inequality" and args[0].is_constant() and not args[1].is_constant():
        return Sides(args[1] - args[0], True, False, private)
    return Sides(expression, equal, True, private)


def _objective(
    sign: float,
    objective: cvxpy.Expression,
    terms: Terms,
    variables: list[cvxpy.Variable],
    quote: bool,
) -> tuple[FloatArray, float, list[list[Block]]]:
    """Costs, offset, and the rows of each term; its weight is the derivative by its stand-in."""
    every = [*variables, *(each for records in terms.records() for each in records.stand_ins())]
    gradient, rest = affine(objective, every)
    sizes = [variable.size for variable in every]
    slopes = np.split(gradient.toarray().ravel(), np.cumsum(sizes)[:-1])
    slope_of = dict(zip([v.id for v in every], slopes, strict=True))
    costs, offset = np.concatenate(slopes[: len(variables)]), -float(rest[0])
    parts, linear, hidden = [], [objective], []
    for rows in terms.rows:
        if isinstance(rows, Bounds):
            if rows.written and (sign * slope_of[rows.variable.id] < 0).any():
                raise not_convex("a term")
            parts.append(list(_hard(rows, variables)))
            hidden += rows.pieces if rows.private else []
            continue
        weights = [sign * slope_of[variable.id] for variable in rows.stand_ins()]
        matrix, rhs = affine(rows.expression, variables)
        soft, least, kept = _soft(rows, weights, matrix, rhs)
        parts.append(soft)
        hidden.append(rows.expression)
        costs = costs + sign * (kept @ matrix)
        offset += sign * ((least if quote else _nothing(least)) - float(kept @ rhs))
        if kept.any():
            linear.append(rows.expression)
    if any(_same(one, other) for one in _data(linear) for other in _data(hidden)):
        warnings.warn(
            "A linear term of the objective holds the data of private terms. It became costs, and"
            " costs are public. If the data are private, bound the term by a private constraint on"
            " a variable of its own, and minimise that variable.",
            NotPrivateWarning,
            stacklevel=4,
        )
    return costs, offset, parts


def _nothing(least: float) -> float:
    """The least value of terms, which must be 0, without what rounding adds."""
    if abs(least) > _NOTHING:
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
        lower, upper, private = rhs[k] + side.lower, rhs[k] + side.upper, np.full(k.size, True)
        blocks.append(Block(sp.csc_array(table[k]), lower, upper, private, price, k))
    return blocks, float(terms.least().sum()), kept


def _hard(rows: Bounds, variables: list[cvxpy.Variable]) -> Iterator[Block]:
    """Rows pieces <= variable."""
    for piece in rows.pieces if rows.written else []:
        matrix, rhs = affine(piece - rows.variable, variables)
        private, hard = np.full(rhs.size, rows.private), np.full((rhs.size, 2), np.inf)
        yield Block(matrix, -hard[:, 0], rhs, private, hard, np.arange(rhs.size))


def _data(expressions: list[cvxpy.Expression]) -> list[cvxpy.Constant]:
    """Vectors and matrices of constants in expressions."""
    return [c for each in expressions for c in found_in.constants_of(each) if c.shape != ()]


def _same(one: cvxpy.Constant, other: cvxpy.Constant) -> bool:
    """Whether two constants hold the same numbers; a user may have written one twice."""
    if one is other:
        return True
    if one.shape != other.shape or sp.issparse(one.value) != sp.issparse(other.value):
        return False
    if sp.issparse(one.value):
        return not (one.value != other.value).nnz
    return bool(np.array_equal(one.value, other.value))


def _prices_of_rows(prices: FloatArray, *, kept: bool) -> FloatArray | None:
    """Prices of both sides, (n, 2); one column where they agree; else none where all are hard."""
    if not kept and not np.isfinite(prices).any():
        return None
    low, high = prices.T
    return high if np.allclose(low, high, rtol=_ROUNDING, atol=0.0) else prices


def _no_rows(columns: int) -> Block:
    none = np.zeros(0)
    rest = none.astype(bool), np.zeros((0, 2)), none.astype(np.int64)
    return Block(sp.csc_array((0, columns)), none, none, *rest)


def _groups(parts: list[list[Block]]) -> IntArray | None:
    """The record of each row, from 0 on, if a record has several rows of one term; else None."""
    groups, first, several = [], 0, False
    for blocks in filter(None, parts):
        records = np.concatenate([block.record for block in blocks])
        several |= bool(blocks[0].private.all()) and len(np.unique(records)) < len(records)
        groups.append(first + records)
        first += int(records.max(initial=-1)) + 1
    return np.concatenate(groups) if several else None


def _bounds(
    terms: Terms, variables: list[cvxpy.Variable], every: list[cvxpy.Variable], box: float | None
) -> FloatArray:
    """Bounds on all variables; of terms: private ones lie in the box, public ones where they do."""
    ends = np.cumsum([v.size for v in every]).tolist()
    place = {v.id: slice(end - v.size, end) for v, end in zip(every, ends, strict=True)}
    bounds = np.vstack([found_in.bounds_of(variable) for variable in every])
    d = ends[len(variables) - 1]
    bounds[:d] = validation.boxed(bounds[:d], box)
    for rows in terms.rows:
        if not isinstance(rows, Bounds):
            continue
        own = place[rows.variable.id]
        if rows.private:
            bounds[own] = validation.boxed(bounds[own], box)
            continue
        ranges = [found_in.range_of(*affine(piece, every), bounds) for piece in rows.pieces]
        if rows.variable.size == 1:
            low, high = np.vstack(ranges).T
            found = np.array([[low.max() if rows.written else low.min(), high.max()]])
        else:
            found = np.max([np.broadcast_to(each, (own.stop - own.start, 2)) for each in ranges], 0)
        bounds[own, 0] = np.maximum(bounds[own, 0], found[:, 0])
        bounds[own, 1] = np.minimum(bounds[own, 1], found[:, 1])
    return bounds
