"""What a piecewise-linear CVXPY expression is made of, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from privlp.errors import ReadError
from privlp.problem.cvxpy_sums import Expression, factor_of

TERMS = ("abs", "maximum", "minimum", "max", "min", "norm1", "norm_inf", "sum_largest")
_IN_ORDER = (
    "Promote",
    "broadcast_to",
    "reshape",
    "index",
    "special_index",
    "transpose",
)
_MOST_PIECES = 64
_KNOWN = (
    "privlp reads sums, means and positive multiples of abs, maximum, minimum, max, min, pos, neg,"
    " norm1, norm_inf, sum_largest and cvar"
)


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
        f"The objective of the CVXPY problem is not affine, and {kind} is no piecewise-linear term"
        f" that privlp reads. {_KNOWN}; write others out with auxiliary variables and constraints."
    )


def not_convex(kind: str) -> ReadError:
    """The error for a term on the wrong side of the objective."""
    return ReadError(
        f"The objective of the CVXPY problem holds {kind} where it is not convex (to minimise) or"
        " not concave (to maximise). No linear program says that."
    )
