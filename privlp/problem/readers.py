"""Readers: each turns another model into the fields of a :class:`~privlp.LinearProgram`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_floats
from privlp.errors import InvalidProblemError, MissingDependencyError, ReadError
from privlp.problem import validation
from privlp.problem.highs_model import read_model

if TYPE_CHECKING:
    import cvxpy


_STRUCTURED = ("symmetric", "diag", "PSD", "NSD", "hermitian", "sparsity")


def read_mps(path: str | os.PathLike[str], *, quote: bool = True) -> dict[str, Any]:
    """Fields of the program in a model file, with the file's own names, sense and offset.

    Where the number and names of rows are private, errors may not `quote` lines or rows of the
    file.
    """
    model = read_model(path, quote=quote)
    parts = (model.a_matrix_.value_, model.a_matrix_.index_, model.a_matrix_.start_)
    layout = (
        sp.csc_array if model.a_matrix_.format_ == highspy.MatrixFormat.kColwise else sp.csr_array
    )
    return {
        "c": model.col_cost_,
        "A": layout(parts, shape=(model.num_row_, model.num_col_)),
        "b": np.asarray(model.row_upper_),
        "row_lower": np.asarray(model.row_lower_),
        "bounds": np.column_stack([model.col_lower_, model.col_upper_]),
        "sense": "min" if model.sense_ == highspy.ObjSense.kMinimize else "max",
        "offset": model.offset_,
        "variable_names": model.col_names_ or None,
        "row_names": model.row_names_ or None,
        "name": _name_of(model),
    }


def _name_of(model: highspy.HighsLp) -> str:
    """Name of a model.

    Where it has none, HiGHS takes the name of the file, which may not be text.
    """
    try:
        return model.model_name_
    except UnicodeDecodeError:
        return ""


def read_linprog(
    c: Any, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any, *, quote: bool = True
) -> dict[str, Any]:
    """Fields of the program that :func:`scipy.optimize.linprog` would solve.

    Where the number of rows is private, errors may not `quote` it, and there may be no row.
    """
    blocks, lower, upper = [], [], []
    for matrix, rhs, name, equality in ((A_ub, b_ub, "ub", False), (A_eq, b_eq, "eq", True)):
        if (matrix is None) != (rhs is None):
            raise InvalidProblemError(
                f"A_{name} and b_{name} belong together: give both or neither."
            )
        if matrix is None:
            continue
        block = _block(matrix, f"A_{name}", None if quote else np.size(c))
        if block.ndim != 2:
            shape = f", got shape {block.shape}" if quote else ""
            raise InvalidProblemError(f"A_{name} must be a matrix of shape (n, d){shape}.")
        clean = validation.vector(
            rhs,
            block.shape[0],
            f"b_{name}",
            f"one right-hand side per row of A_{name}",
            quote=quote,
        )
        blocks.append(block)
        upper.append(clean)
        lower.append(clean if equality else np.full(len(clean), -np.inf))
    if not blocks and not quote:
        blocks, lower, upper = [np.zeros((0, np.size(c)))], [np.zeros(0)], [np.zeros(0)]
    if not blocks:
        raise InvalidProblemError(
            "The problem has no constraints: give A_ub and b_ub, or A_eq and b_eq."
        )
    if len({block.shape[1] for block in blocks}) > 1:
        counts = [block.shape[1] for block in blocks]
        raise InvalidProblemError(
            f"A_ub has {counts[0]} columns and A_eq has {counts[1]}; they must agree."
            if quote
            else "A_ub and A_eq must have the same number of columns."
        )
    stack = sp.vstack if any(sp.issparse(block) for block in blocks) else np.vstack
    d = blocks[0].shape[1]
    return {
        "c": c,
        "A": blocks[0] if len(blocks) == 1 else stack(blocks),
        "b": np.concatenate(upper),
        "row_lower": np.concatenate(lower),
        "bounds": np.column_stack(
            [np.broadcast_to(end, d) for end in validation.variable_bounds(bounds, d, quote=quote)]
        ),
    }


def _block(matrix: Any, name: str, columns: int | None) -> Any:
    """A matrix; with the number of columns given, an empty list is a matrix without rows."""
    if sp.issparse(matrix):
        return matrix
    clean = as_floats(matrix, name)
    return (
        np.zeros((0, columns))
        if columns is not None and clean.shape == (0,)
        else np.atleast_2d(clean)
    )


def read_cvxpy(
    problem: cvxpy.Problem, private: Sequence[cvxpy.Constraint] | None, *, quote: bool = True
) -> tuple[dict[str, Any], npt.NDArray[np.bool_] | None]:
    """Fields of an affine CVXPY problem, and the mask of its private rows.

    Variables keep the order of the problem, each flattened column by column as CVXPY does. Where
    the number of rows is private, errors may not `quote` the place of a constraint, and there may
    be no constraint.
    """
    try:
        import cvxpy  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "from_cvxpy needs CVXPY: install it by pip install 'privlp[cvxpy]'."
        ) from error
    if not isinstance(problem, cvxpy.Problem):
        raise ReadError(f"from_cvxpy takes a cvxpy.Problem, got {type(problem).__name__}.")
    variables = problem.variables()
    if not variables:
        raise ReadError("The CVXPY problem has no variables.")
    _check_affine(problem, variables, quote=quote)
    pieces = [_affine(_difference(constraint), variables) for constraint in problem.constraints]
    if not pieces and quote:
        raise ReadError("The CVXPY problem has no constraints.")
    none = sp.csc_array((0, sum(variable.size for variable in variables))), np.zeros(0)
    equality = np.concatenate(
        [
            np.full(rhs.size, type(k).__name__ in ("Equality", "Zero"))
            for k, (_, rhs) in zip(problem.constraints, pieces, strict=True)
        ]
        or [np.zeros(0, dtype=bool)]
    )
    rhs = np.concatenate([rhs for _, rhs in pieces or [none]])
    below = np.concatenate(
        [
            np.full(rhs.size, _is_lower_bound(k))
            for k, (_, rhs) in zip(problem.constraints, pieces, strict=True)
        ]
        or [np.zeros(0, dtype=bool)]
    )
    gradient, offset = _affine(problem.objective.args[0], variables)
    fields = {
        "c": gradient.toarray().ravel(),
        "A": sp.vstack([matrix for matrix, _ in pieces or [none]], format="csc"),
        "b": np.where(below, np.inf, rhs),
        "row_lower": np.where(equality | below, rhs, -np.inf),
        "bounds": np.vstack([_bounds(variable) for variable in variables]),
        "sense": "min" if isinstance(problem.objective, cvxpy.Minimize) else "max",
        "offset": -float(offset[0]),
        "variable_names": [
            f"{v.name()}[{k}]" if v.size > 1 else v.name() for v in variables for k in range(v.size)
        ],
    }
    return fields, _rows_of(private, problem, pieces)


def _check_affine(problem: cvxpy.Problem, variables: list[cvxpy.Variable], *, quote: bool) -> None:
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
    named = [("objective", problem.objective.args[0])]
    named += [
        (f"constraint {k}", argument)
        for k, c in enumerate(problem.constraints)
        for argument in c.args
    ]
    for name, expression in named:
        if not expression.is_affine():
            what = f"The {name}" if quote or name == "objective" else "A constraint"
            raise ReadError(
                f"{what} of the CVXPY problem is not affine. privlp needs every private row as one"
                " linear inequality: write abs, max and norm1 out with auxiliary variables."
            )


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


def _affine(
    expression: cvxpy.Expression, variables: list[cvxpy.Variable]
) -> tuple[sp.csc_array, npt.NDArray[np.float64]]:
    """Matrix M and right-hand side r with expression = M x - r, flattened column by column."""
    saved = [variable.value for variable in variables]
    try:
        for variable in variables:
            variable.save_value(np.zeros(variable.shape))
        # Infinities and NaN are refused later; a warning would say where they come from.
        with np.errstate(all="ignore"):
            value = np.atleast_1d(expression.value)
            gradients = expression.grad
    except NotImplementedError:
        atoms = ", ".join(sorted({atom.__name__ for atom in expression.atoms()}))
        raise ReadError(
            f"CVXPY knows no gradient of one of these: {atoms}. Write it out by sums and products."
        ) from None
    finally:
        for variable, old in zip(variables, saved, strict=True):
            variable.save_value(old)
    blocks = [_jacobian(gradients.get(v), expression.size, v.size) for v in variables]
    return sp.csc_array(sp.hstack(blocks, format="csc")), -value.ravel(order="F")


def _jacobian(gradient: Any, size: int, variable_size: int) -> sp.csc_array:
    """CVXPY's gradient, transposed: a plain number for scalars, None for a zero gradient."""
    if gradient is None:
        return sp.csc_array((size, variable_size))
    return sp.csc_array(
        gradient if sp.issparse(gradient) else np.reshape(gradient, (variable_size, size))
    ).T


def _bounds(variable: cvxpy.Variable) -> npt.NDArray[np.float64]:
    """Bounds that the variable's attributes imply."""
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


def _rows_of(
    private: Sequence[cvxpy.Constraint] | None,
    problem: cvxpy.Problem,
    pieces: list[tuple[sp.csc_array, npt.NDArray[np.float64]]],
) -> npt.NDArray[np.bool_] | None:
    if private is None:
        return None
    if not isinstance(private, list | tuple) or not all(
        hasattr(constraint, "id") for constraint in private
    ):
        raise ReadError(
            "private must be a list of constraints of the CVXPY problem.", parameter="private"
        )
    wanted = {constraint.id for constraint in private}
    known = {constraint.id for constraint in problem.constraints}
    if not wanted <= known:
        raise ReadError(
            "private lists a CVXPY constraint that is not a constraint of the problem.",
            parameter="private",
        )
    masks = [
        np.full(rhs.size, k.id in wanted)
        for k, (_, rhs) in zip(problem.constraints, pieces, strict=True)
    ]
    return np.concatenate(masks or [np.zeros(0, dtype=bool)])
