"""CVXPY problems with affine constraints and piecewise-linear objectives, as a program's fields."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_floats
from privlp.errors import InvalidProblemError, MissingDependencyError, NotPrivateWarning, ReadError
from privlp.float_errors import unnoticed
from privlp.problem import validation
from privlp.readers.cvxpy_expressions import (
    affine,
    atoms_of,
    bounds_of,
    names_of,
    not_convex,
    range_of,
)
from privlp.readers.cvxpy_terms import Bounds, Records, Terms

if TYPE_CHECKING:
    import cvxpy

FloatArray = npt.NDArray[np.float64]
_NOTHING = 1e-9
# Prices of the two sides that differ by less differ by rounding.
_ROUNDING = 1e-12
_STRUCTURED = ("symmetric", "diag", "PSD", "NSD", "hermitian", "sparsity")


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
    """Costs, offset, and the rows of each term; its weight is the derivative by its stand-in.

    Where the number of rows is private (not `quote`), a term may add nothing to the constant of the
    objective.
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


def read_cvxpy(
    problem: cvxpy.Problem,
    private: Sequence[Any] | None,
    penalty: Any = None,
    box: float | None = None,
    *,
    quote: bool = True,
) -> tuple[dict[str, Any], npt.NDArray[np.int64] | None]:
    """Fields of a program, and the record of each row where a record has several (else None).

    Variables that terms of the objective need come last; rows of constraints come first, then those
    of the terms. Where the number of rows is private, errors may not `quote` the place of a
    constraint, there may be no constraint, and all constraints are private by default.
    """
    cp = _cvxpy()
    if not isinstance(problem, cp.Problem):
        raise ReadError(f"from_cvxpy takes a cvxpy.Problem, got {type(problem).__name__}.")
    variables = problem.variables()
    if not variables:
        raise ReadError("The CVXPY problem has no variables.")
    _check(problem, variables, quote=quote)
    wanted, marked = (None, None) if private is None else _chosen(cp, private, problem)
    terms = Terms(cp, marked)
    with unnoticed():  # CVXPY multiplies infinite bounds by zeros of private data
        objective = terms.with_linear_terms(terms.stand_in(problem.objective.args[0]))
    every = [*variables, *(variable for _, variable in terms.variables)]
    prices = _Prices.of(penalty, problem)
    parts = [[block] for block in _constraints(problem, every, wanted, prices, quote=quote)]
    costs, offset, of_terms = read_objective(problem, objective, terms, every, quote=quote)
    parts += of_terms
    if not any(parts) and quote:
        raise ReadError("The CVXPY problem has no constraints.")
    blocks = [block for part in parts for block in part] or [_no_rows(len(costs))]
    lower, upper, mask, price = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("lower", "upper", "private", "price")
    )
    fields = {
        "c": costs,
        "A": sp.vstack([block.A for block in blocks], format="csc"),
        "b": upper,
        "row_lower": lower,
        "private": mask,
        "bounds": _bounds(terms, variables, every, box),
        "sense": "min" if isinstance(problem.objective, cp.Minimize) else "max",
        "offset": offset,
        "penalty": _prices_of_rows(price),
        "variable_names": [name for v in variables for name in names_of(v)]
        + [name for own, v in terms.variables for name in names_of(v, own)],
    }
    return fields, _groups(parts)


def _cvxpy() -> ModuleType:
    try:
        import cvxpy  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "from_cvxpy needs CVXPY: install it by pip install 'privlp[cvxpy]'."
        ) from error
    return cvxpy


def _check(problem: cvxpy.Problem, variables: list[cvxpy.Variable], *, quote: bool) -> None:
    """Refuse parameters, structured and integer variables, and constraints that are not affine."""
    if problem.parameters():
        raise ReadError("The CVXPY problem has parameters; substitute their values first.")
    for variable in variables:
        structure = [name for name in _STRUCTURED if variable.attributes.get(name)]
        if structure:
            raise ReadError(
                f"CVXPY variable {variable.name()!r} is declared {structure[0]}; state that by"
                " constraints on a plain variable."
            )
        if (
            variable.attributes["integer"]
            or variable.attributes["boolean"]
            or variable.is_complex()
        ):
            raise ReadError(
                f"CVXPY variable {variable.name()!r} is integer, boolean or complex; privlp solves"
                " linear programs only."
            )
    for k, constraint in enumerate(problem.constraints):
        if not all(argument.is_affine() for argument in constraint.args):
            what = f"The constraint {k}" if quote else "A constraint"
            raise ReadError(
                f"{what} of the CVXPY problem is not affine. privlp needs every private row as one"
                " linear inequality: write abs, max and norm1 out with auxiliary variables."
            )


def _chosen(cp: ModuleType, private: Any, problem: cvxpy.Problem) -> tuple[set[Any], set[int]]:
    """Ids of the private constraints, and identities of the private atoms of the objective."""
    if not isinstance(private, list | tuple) or not all(
        isinstance(entry, cp.constraints.constraint.Constraint | cp.Expression) for entry in private
    ):
        raise ReadError(
            "private must be a list of constraints of the CVXPY problem, and of terms of its"
            " objective.",
            parameter="private",
        )
    terms = [entry for entry in private if isinstance(entry, cp.Expression)]
    wanted = {entry.id for entry in private if not isinstance(entry, cp.Expression)}
    if not wanted <= {constraint.id for constraint in problem.constraints}:
        raise ReadError(
            "private lists a CVXPY constraint that is not a constraint of the problem.",
            parameter="private",
        )
    known = {id(atom) for atom in atoms_of(problem.objective.args[0])}
    marked = [{id(atom) for atom in atoms_of(term)} for term in terms]
    if not all(atoms and atoms <= known for atoms in marked):
        raise ReadError(
            "private lists a CVXPY expression that is no piecewise-linear term of the objective."
            " List the very objects of which the objective is made, such as loss = cp.pos(1 - m)."
            " An affine term has no rows: its coefficients are costs, which are public.",
            parameter="private",
        )
    return wanted, set().union(*marked)


@dataclass(frozen=True, eq=False)
class _Prices:
    """The prices of violation of constraints: one number, or by the id of a constraint."""

    number: Any
    of_constraint: dict[Any, Any]

    @classmethod
    def of(cls, penalty: Any, problem: cvxpy.Problem) -> _Prices:
        if not isinstance(penalty, Mapping):
            return cls(np.inf if penalty is None else _price(penalty, 1)[0], {})
        prices = {getattr(constraint, "id", None): price for constraint, price in penalty.items()}
        if not prices.keys() <= {constraint.id for constraint in problem.constraints}:
            raise InvalidProblemError(
                "penalty names what is no constraint of the CVXPY problem. Terms of the objective"
                " have their own prices.",
                parameter="penalty",
            )
        return cls(np.inf, prices)

    def rows(self, constraint: cvxpy.Constraint, private: npt.NDArray[np.bool_]) -> FloatArray:
        """The prices of the rows of a constraint."""
        if constraint.id not in self.of_constraint:
            return np.where(private, self.number, np.inf)
        if not private.all():
            raise InvalidProblemError(
                "penalty names a public constraint of the CVXPY problem; soft rows are private."
                " Equalities are public by default: list the private constraints in private.",
                parameter="penalty",
            )
        return _price(self.of_constraint[constraint.id], private.size)


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


def _prices_of_rows(prices: FloatArray) -> FloatArray | None:
    """Prices of both sides, (n, 2); one column where they agree, none where all rows are hard."""
    if not np.isfinite(prices).any():
        return None
    low, high = prices.T
    return high if np.allclose(low, high, rtol=_ROUNDING, atol=0.0) else prices


def _constraints(
    problem: cvxpy.Problem,
    variables: list[cvxpy.Variable],
    wanted: set[Any] | None,
    prices: _Prices,
    *,
    quote: bool,
) -> Iterator[Block]:
    """The rows of each constraint."""
    for constraint in problem.constraints:
        matrix, rhs = affine(_difference(constraint), variables)
        equality = type(constraint).__name__ in ("Equality", "Zero")
        chosen = (not equality or not quote) if wanted is None else constraint.id in wanted
        private = np.full(rhs.size, chosen)
        below, none = _is_lower_bound(constraint), np.full(rhs.size, np.inf)
        lower, upper = rhs if equality or below else -none, none if below else rhs
        price = np.repeat(prices.rows(constraint, private)[:, None], 2, axis=1)
        yield Block(matrix, lower, upper, private, price, np.arange(rhs.size))


def _difference(constraint: cvxpy.Constraint) -> cvxpy.Expression:
    """Expression e of a constraint read as e <= 0 or e == 0; as e >= 0 for a lower bound."""
    kind = type(constraint).__name__
    if _is_lower_bound(constraint):
        return constraint.args[1] - constraint.args[0]
    if kind in ("Inequality", "Equality"):
        return constraint.args[0] - constraint.args[1]
    if kind in ("NonPos", "Zero"):
        return constraint.args[0]
    raise ReadError(f"CVXPY constraint {kind} is not a linear inequality or equality.")


def _is_lower_bound(constraint: cvxpy.Constraint) -> bool:
    """Whether it says ``expression >= numbers``, which CVXPY keeps as ``numbers <= expression``."""
    if type(constraint).__name__ != "Inequality":
        return False
    smaller, larger = constraint.args
    return bool(smaller.is_constant() and not larger.is_constant())


def _no_rows(columns: int) -> Block:
    none = np.zeros(0)
    whole = none.astype(np.int64)
    hard = np.zeros((0, 2))
    return Block(sp.csc_array((0, columns)), none, none, none.astype(bool), hard, whole)


def _groups(parts: list[list[Block]]) -> npt.NDArray[np.int64] | None:
    """The record of each row, from 0 on, if a record has several rows of one term; else None."""
    groups, first, several = [], 0, False
    for blocks in parts:
        if not blocks:
            continue
        records = np.concatenate([block.record for block in blocks])
        private = bool(blocks[0].private.all())
        several |= private and len(np.unique(records)) < len(records)
        groups.append(first + records)
        first += int(records.max(initial=-1)) + 1
    return np.concatenate(groups) if several else None


def _bounds(
    terms: Terms, variables: list[cvxpy.Variable], every: list[cvxpy.Variable], box: float | None
) -> FloatArray:
    """Bounds on all variables, intersected with the box.

    A variable that stands for a public term lies where the term does. One that stands for private
    terms lies in the box.
    """
    ends = np.cumsum([v.size for v in every])
    start = {v.id: end - v.size for v, end in zip(every, ends.tolist(), strict=True)}
    bounds = np.vstack([bounds_of(variable) for variable in every])
    d = sum(variable.size for variable in variables)
    bounds[:d] = validation.boxed(bounds[:d], box)
    for rows in terms.rows:
        if not isinstance(rows, Bounds):
            continue
        variable = rows.variable
        own = slice(start[variable.id], start[variable.id] + variable.size)
        if rows.private:
            bounds[own] = validation.boxed(bounds[own], box)
            continue
        ranges = [range_of(*affine(piece, every), bounds) for piece in rows.pieces]
        if variable.size == 1:
            ranges = [np.vstack(ranges)]
            least = ranges[0][:, 0].max() if rows.written else ranges[0][:, 0].min()
            ends = np.array([[least, ranges[0][:, 1].max()]])
        else:
            wide = [np.broadcast_to(each, (variable.size, 2)) for each in ranges]
            ends = np.max(wide, axis=0)
        bounds[own, 0] = np.maximum(bounds[own, 0], ends[:, 0])
        bounds[own, 1] = np.minimum(bounds[own, 1], ends[:, 1])
    return bounds
