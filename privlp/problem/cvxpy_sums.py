"""Affine CVXPY expressions as weighted sums of expressions.

Two expressions are multiples of each other if they are sums of the same expression objects. It is
never decided by the numbers in them: these may be private.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Expression: TypeAlias = Any

_CLOSE = 1e-12


def has_data(expression: Expression) -> bool:
    """Whether an expression holds a vector or matrix of constants, however small."""
    return any(constant.shape != () for constant in expression.constants())


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """Sum of weight·expression, plus a number."""

    #: Expression and weight of each part, by a key of the expression.
    parts: dict[Hashable, tuple[Expression, float]]
    #: The sum of the single numbers in the expression.
    number: float = 0.0

    @classmethod
    def of(cls, expression: Expression) -> WeightedSum:
        """The sum that an affine expression is."""
        kind, args = type(expression).__name__, expression.args
        factor = _factor(expression)
        if factor is not None:
            return cls.of(factor[1]).times(factor[0])
        number = _single(expression)
        if number is not None:
            return cls({}, number)
        if kind == "AddExpression":
            total = cls({})
            for argument in args:
                total = total.plus(cls.of(argument))
            return total
        if kind == "Promote":
            return cls.of(args[0])._promoted(expression)
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
        """The factor by which the parts are those of another sum; None without one.

        Numbers do not count.
        """
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
        terms = [part if weight == 1 else weight * part for part, weight in self.parts.values()]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def _promoted(self, wrapper: Expression) -> WeightedSum:
        parts: dict[Hashable, tuple[Expression, float]] = {
            ("promoted", wrapper.shape, key): (wrapper.copy([part]), weight)
            for key, (part, weight) in self.parts.items()
        }
        return WeightedSum(parts, self.number)


def _factor(expression: Expression) -> tuple[float, Expression] | None:
    """The number and the expression of which an expression is the product, if it is one."""
    kind, args = type(expression).__name__, expression.args
    if kind == "NegExpression":
        return -1.0, args[0]
    if kind == "DivExpression":
        number = _single(args[1])
        return (1.0 / number, args[0]) if number else None
    if kind not in ("multiply", "MulExpression"):
        return None
    for constant, other in (args, args[::-1]):
        number = _single(constant)
        if number is not None and other.shape == expression.shape:
            return number, other
    return None


def factor_of(expression: Expression) -> tuple[float, Expression]:
    """The number and the expression of which an expression is the product; 1 by default."""
    return _factor(expression) or (1.0, expression)


def _single(expression: Expression) -> float | None:
    """The number that an expression is, or repeats; None if it is no single number."""
    while type(expression).__name__ == "Promote":
        expression = expression.args[0]
    if expression.shape != () or not expression.is_constant() or has_data(expression):
        return None
    return float(expression.value)
