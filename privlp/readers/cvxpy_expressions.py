"""CVXPY expressions as arrays, as weighted sums and as maxima of affine pieces.

CVXPY flattens column by column. Two expressions are multiples of each other if they are sums of the
same expression objects. It is never decided by the numbers in them: these may be private.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.errors import InvalidProblemError, MissedRowsWarning, ReadError
from privlp.problem.named_rows import names_like
from privlp.quiet import unnoticed

Expression: TypeAlias = Any
_CLOSE = 1e-12
TERMS = ("abs", "maximum", "minimum", "max", "min", "norm1", "norm_inf", "sum_largest")
_IN_ORDER = ("Promote", "broadcast_to", "reshape", "index", "special_index", "transpose")
_MOST_PIECES = 64
_FEW = 5  # Constraints that a warning names.


def affine(expression: Any, variables: Sequence[Any]) -> tuple[sp.csc_array, FloatArray]:
    """Matrix M and right-hand side r with expression = M x - r, flattened column by column."""
    saved = [variable.value for variable in variables]
    gradients, odd = None, affine_by_parameters(expression)
    try:
        for variable in variables:
            variable.save_value(np.zeros(variable.shape))
        # Infinities and NaN are refused later; a warning would say where they come from.
        with unnoticed():
            value = np.atleast_1d(expression.value)
            gradients = expression.grad
    except (NotImplementedError, ValueError):
        pass  # raised below: an error of CVXPY may hold numbers, and would stay as the context
    finally:
        for variable, old in zip(variables, saved, strict=True):
            variable.save_value(old)
    if gradients is None or odd:
        atoms = ", ".join(sorted(odd or {atom.__name__ for atom in expression.atoms()}))
        raise ReadError(
            f"CVXPY knows no gradient of one of these: {atoms}. Write it out by sums and products."
        )
    blocks = [_jacobian(gradients.get(v), expression.size, v.size) for v in variables]
    return sp.csc_array(sp.hstack(blocks, format="csc")), -value.ravel(order="F")


def is_affine_atom(expression: Any) -> bool:
    """Whether the outermost atom is affine: CVXPY says it of powers too, with wrong gradients."""
    return any(base.__name__ == "AffAtom" for base in type(expression).__mro__)


def affine_by_parameters(expression: Any) -> set[str]:
    """Names of the atoms of variables that are affine only by their parameters."""
    if not expression.args or expression.is_constant():
        return set()
    found = set() if is_affine_atom(expression) else {type(expression).__name__}
    return found.union(*map(affine_by_parameters, expression.args))


def _jacobian(gradient: Any, size: int, variable_size: int) -> sp.csc_array:
    """CVXPY's gradient, transposed: a plain number for scalars, None for a zero gradient."""
    if gradient is None:
        return sp.csc_array((size, variable_size))
    return sp.csc_array(
        gradient if sp.issparse(gradient) else np.reshape(gradient, (variable_size, size))
    ).T


def bounds_of(variable: Any) -> FloatArray:
    """Bounds that a variable's attributes imply, (size, 2)."""
    implied = 0.0 if variable.is_nonneg() else -np.inf, 0.0 if variable.is_nonpos() else np.inf
    declared = variable.attributes.get("bounds") or (None, None)
    low, high = (
        np.ravel(np.broadcast_to(np.float64(absent if end is None else end), variable.shape), "F")
        for end, absent in zip(map(_value, declared), (-np.inf, np.inf), strict=True)
    )
    return np.column_stack([np.maximum(implied[0], low), np.minimum(implied[1], high)])


def _value(given: Any) -> Any:
    """A number, an array or nothing, also as the value of a parameter."""
    return getattr(given, "value", given)


def range_of(A: sp.csc_array, rhs: FloatArray, bounds: FloatArray) -> FloatArray:
    """The least and the largest value of A x - rhs within bounds, (n, 2); NaN is refused later."""
    positive, negative = sp.csr_array(A.maximum(0)), sp.csr_array(A.minimum(0))
    positive.eliminate_zeros()
    negative.eliminate_zeros()
    lower, upper = bounds.T
    with np.errstate(invalid="ignore"):  # infinite sides
        return np.column_stack(
            [positive @ lower + negative @ upper - rhs, positive @ upper + negative @ lower - rhs]
        )


def names_of(variable: Any, name: str | None = None) -> list[str]:
    """Names of the entries of a variable."""
    name = variable.name() if name is None else name
    if variable.size == 1:
        return [name]
    places = np.ndindex(variable.shape[::-1])  # of the transpose, row by row
    return [f"{name}[{','.join(map(str, place[::-1]))}]" for place in places]


def ids_of(given: Any, problem: Any, argument: str, *, quote: bool) -> set[Any]:
    """Ids of a constraint, or of those whose labels match a pattern."""
    if not isinstance(given, str):
        return {getattr(given, "id", None)}
    matches = names_like(given)
    labels = [(getattr(each, "label", None) or "", each.id) for each in problem.constraints]
    found = {own for label, own in labels if label and matches(label)}
    if not found:
        first = ", ".join([label for label, _ in labels if label][:_FEW]) or "none has one"
        asked, all_labels = (f"={given!r}", f" Labels: {first}.") if quote else ("", "")
        raise InvalidProblemError(
            f"No constraint of the CVXPY problem has a label that matches {argument}{asked}."
            f"{all_labels} Label a constraint by its set_label(...), in versions of CVXPY that have"
            " it; or list the constraint itself.",
            parameter=argument,
        )
    return found


def has_data(expression: Expression) -> bool:
    """Whether an expression holds a vector or matrix of constants, however small."""
    return any(constant.shape != () for constant in constants_of(expression))


def constants_of(expression: Expression) -> list[Expression]:
    """The constants of an expression, and its parameters but those of bounds."""
    bounds = {own.id for variable in expression.variables() for own in variable.parameters()}
    return expression.constants() + [p for p in expression.parameters() if p.id not in bounds]


def name_rows_without_data(
    constraints: Sequence[Any], private: Sequence[bool], *, others: bool
) -> None:
    """Say which constraints were taken for private, although data seem to stand in others only."""
    data = [any(map(has_data, constraint.args)) for constraint in constraints]
    plain = [k for k, own in enumerate(private) if own and not data[k]]
    if plain and (others or any(own and data[k] for k, own in enumerate(private))):
        named = ", ".join(map(str, plain[:_FEW])) + (", ..." if len(plain) > _FEW else "")
        warnings.warn(
            "Taken for private, although without a vector or matrix of constants: constraints"
            f" {named}, counted from 0. Private rows may be missed. If nobody's data stand in"
            " these, list the private constraints and terms in private=[...]; all others are then"
            " public and hold.",
            MissedRowsWarning,
            stacklevel=5,
        )


class WeightedSum(NamedTuple):
    """Sum of weight·expression over `parts`, by a key of the expression, plus a `number`."""

    parts: dict[Hashable, tuple[Expression, float]]
    number: float = 0.0

    @classmethod
    def of(cls, expression: Expression) -> WeightedSum:
        """The sum that an affine expression is."""
        kind, args = type(expression).__name__, expression.args
        factor, inner = factor_of(expression)
        if inner is not expression:
            return cls.of(inner).times(factor)
        number = _single(expression)
        if number is not None:
            return cls({}, number)
        if kind == "AddExpression":
            total = cls({})
            for argument in args:
                total = total.plus(cls.of(argument))
            return total
        if kind == "Promote":
            own = cls.of(args[0])
            parts: dict[Hashable, tuple[Expression, float]] = {
                ("promoted", expression.shape, key): (expression.copy([part]), weight)
                for key, (part, weight) in own.parts.items()
            }
            return cls(parts, own.number)
        return cls({id(expression): (expression, 1.0)})

    def times(self, factor: float) -> WeightedSum:
        """A multiple of the sum."""
        if factor == 0:
            return WeightedSum({})
        parts = {key: (part, factor * weight) for key, (part, weight) in self.parts.items()}
        return WeightedSum(parts, factor * self.number)

    def plus(self, other: WeightedSum) -> WeightedSum:
        """The sum of two sums; parts that cancel are left out."""
        parts = dict(self.parts)
        for key, (part, weight) in other.parts.items():
            total = weight + parts.get(key, (part, 0.0))[1]
            if abs(total) <= _CLOSE * abs(weight):
                del parts[key]
            else:
                parts[key] = (part, total)
        return WeightedSum(parts, self.number + other.number)

    def multiple_of(self, other: WeightedSum) -> float | None:
        """The factor by which the parts are those of another sum; None without one."""
        if self.parts.keys() != other.parts.keys():
            return None
        return self.share_of(other)

    def share_of(self, other: WeightedSum) -> float | None:
        """The factor with which another sum is contained in this one; None if it is not."""
        if not other.parts or not other.parts.keys() <= self.parts.keys():
            return None
        ratios = [self.parts[key][1] / weight for key, (_, weight) in other.parts.items()]
        return ratios[0] if np.allclose(ratios, ratios[0], rtol=_CLOSE, atol=0.0) else None

    def has_data(self) -> bool:
        """Whether a part holds a vector or matrix of constants."""
        return any(has_data(part) for part, _ in self.parts.values())

    def expression(self) -> Expression:
        """The sum as an expression, without its number."""
        first, *others = [
            part if weight == 1 else weight * part for part, weight in self.parts.values()
        ]
        return sum(others, start=first)


def factor_of(expression: Expression) -> tuple[float, Expression]:
    """The number and the expression of which an expression is the product; 1 and itself if none."""
    kind, args = type(expression).__name__, expression.args
    if kind == "NegExpression":
        return -1.0, args[0]
    if kind == "DivExpression" and (number := _single(args[1])):
        return 1.0 / number, args[0]
    for constant, other in (args, args[::-1]) if kind in ("multiply", "MulExpression") else ():
        number = _single(constant)
        if number is not None and other.shape == expression.shape:
            return number, other
    return 1.0, expression


def _single(expression: Expression) -> float | None:
    """The number that an expression is, or repeats; None if it is no single number."""
    while type(expression).__name__ == "Promote":
        expression = expression.args[0]
    if expression.shape != () or not expression.is_constant() or has_data(expression):
        return None
    return float(expression.value)


def atoms_of(expression: Expression) -> Iterator[Expression]:
    """The piecewise-linear terms in an expression, terms within terms included."""
    if type(expression).__name__ in TERMS:
        yield expression
    for argument in expression.args:
        yield from atoms_of(argument)


def pieces_of(expression: Expression) -> list[Expression]:
    """Affine expressions whose maximum, entry by entry, is a convex expression."""
    if expression.is_affine():
        return [expression]
    kind, args = type(expression).__name__, expression.args
    found: list[Expression] | None = None
    if kind == "abs" and args[0].is_affine():
        found = [args[0], -args[0]]
    elif kind == "abs" and args[0].is_nonneg():
        found = pieces_of(args[0])
    elif kind == "maximum":
        found = [piece for argument in args for piece in pieces_of(argument)]
    elif kind == "NegExpression" and type(args[0]).__name__ == "minimum":
        found = [piece for argument in args[0].args for piece in pieces_of(-argument)]
    elif kind == "AddExpression":
        found = [expression.copy(list(some)) for some in product(*map(pieces_of, args))]
    elif kind in _IN_ORDER:
        found = [expression.copy([piece]) for piece in pieces_of(args[0])]
    else:
        factor, inner = factor_of(expression)
        if factor > 0 and inner is not expression:
            found = [factor * piece for piece in pieces_of(inner)]
    if found is None or len(found) > _MOST_PIECES:
        raise unknown(f"{kind} within a term of private records")
    return found


def unknown(kind: str) -> ReadError:
    """The error for what is not read."""
    return ReadError(
        f"The CVXPY problem is not affine, and {kind} is no piecewise-linear term"
        " that privlp reads. privlp reads sums, means and positive multiples of abs, maximum,"
        " minimum, max, min, pos, neg, norm1, norm_inf, sum_largest and cvar; write others out with"
        " auxiliary variables and constraints."
    )


def not_convex(kind: str) -> ReadError:
    """The error for a term on the wrong side of the objective or of a constraint."""
    return ReadError(
        f"The CVXPY problem holds {kind} where it is not convex (to minimise, or at most a number)"
        " or not concave (to maximise, or at least a number). No linear program says that."
    )
