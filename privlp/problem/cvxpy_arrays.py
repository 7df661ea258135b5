"""CVXPY expressions and variables as arrays; CVXPY flattens column by column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import InvalidParameterError, ReadError
from privlp.float_errors import unnoticed

FloatArray = npt.NDArray[np.float64]


def affine(expression: Any, variables: Sequence[Any]) -> tuple[sp.csc_array, FloatArray]:
    """Matrix M and right-hand side r with expression = M x - r, flattened column by column."""
    saved = [variable.value for variable in variables]
    gradients, odd = None, odd_atoms(expression)
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
    """Whether the outermost atom is affine whatever its parameters.

    CVXPY's gradient of a power with exponent 1 is 0 at 0, though it calls the power affine.
    """
    return any(base.__name__ == "AffAtom" for base in type(expression).__mro__)


def odd_atoms(expression: Any) -> set[str]:
    """Names of the atoms of variables that are affine only by their parameters."""
    if not expression.args or expression.is_constant():
        return set()
    found = set() if is_affine_atom(expression) else {type(expression).__name__}
    return found.union(*map(odd_atoms, expression.args))


def _jacobian(gradient: Any, size: int, variable_size: int) -> sp.csc_array:
    """CVXPY's gradient, transposed: a plain number for scalars, None for a zero gradient."""
    if gradient is None:
        return sp.csc_array((size, variable_size))
    return sp.csc_array(
        gradient if sp.issparse(gradient) else np.reshape(gradient, (variable_size, size))
    ).T


def bounds_of(variable: Any) -> FloatArray:
    """Bounds that a variable's attributes imply, (size, 2)."""
    lower, upper = np.full(variable.size, -np.inf), np.full(variable.size, np.inf)
    if variable.is_nonneg():
        lower[:] = 0.0
    if variable.is_nonpos():
        upper[:] = 0.0
    declared = variable.attributes.get("bounds")
    if declared is not None:
        ends = (
            absent if end is None else end
            for end, absent in zip(declared, (-np.inf, np.inf), strict=True)
        )
        low, high = (
            np.broadcast_to(np.asarray(end, dtype=float), variable.shape).ravel(order="F")
            for end in ends
        )
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    return np.column_stack([lower, upper])


def range_of(A: sp.csc_array, rhs: FloatArray, bounds: FloatArray) -> FloatArray:
    """The least and the largest value of A x - rhs within bounds, (n, 2); NaN is refused later."""
    positive, negative = sp.csr_array(A.maximum(0)), sp.csr_array(A.minimum(0))
    positive.eliminate_zeros()
    negative.eliminate_zeros()
    lower, upper = bounds.T
    with np.errstate(invalid="ignore"):  # infinite sides
        return np.column_stack(
            [
                positive @ lower + negative @ upper - rhs,
                positive @ upper + negative @ lower - rhs,
            ]
        )


def names_of(variable: Any, name: str | None = None) -> list[str]:
    """Names of the entries of a variable."""
    name = variable.name() if name is None else name
    return [f"{name}[{k}]" for k in range(variable.size)] if variable.size > 1 else [name]


def assign(problem: Any, x: FloatArray | None, names: Sequence[str] | None) -> None:
    """Write the entries of x into the variables of the CVXPY problem that was read.

    Variables that reading has added come last, and are left out.
    """
    if x is None:
        raise InvalidParameterError("The solution holds no x: it did not complete.")
    if not hasattr(problem, "variables") or not hasattr(problem, "constraints"):
        raise InvalidParameterError(
            f"problem must be the cvxpy.Problem that was read, got {type(problem).__name__}.",
            parameter="problem",
        )
    variables = problem.variables()
    size = sum(variable.size for variable in variables)
    expected = [name for variable in variables for name in names_of(variable)]
    fits = size == len(x) if names is None else list(names[:size]) == expected
    if not fits:
        raise InvalidParameterError(
            f"The solution has {len(x)} entries, which are not those of the {size} of the problem's"
            " variables. Pass the problem from which from_cvxpy made the program.",
            parameter="problem",
        )
    start = 0
    for variable in variables:
        values = np.reshape(x[start : start + variable.size], variable.shape, order="F")
        variable.save_value(values.copy())
        start += variable.size
