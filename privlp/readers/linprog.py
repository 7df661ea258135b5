"""The arguments of SciPy's linprog, as fields of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.checks import as_floats
from privlp.errors import InvalidProblemError
from privlp.problem import validation
from privlp.readers.tables import read_table
from privlp.tables import aligned, index_of, is_table, listed


def read_linprog(
    c: Any,
    A_ub: Any,
    b_ub: Any,
    A_eq: Any,
    b_eq: Any,
    bounds: Any,
    *,
    of_rows: Mapping[str, Any],
    quote: bool = True,
) -> dict[str, Any]:
    """Fields of the program; without `quote` there may be no row, and errors count none."""
    given = index_of(*(matrix for matrix in (A_ub, A_eq) if matrix is not None))
    of_rows = aligned(of_rows, given, "A_ub" if A_eq is None else "A_ub and A_eq")
    groups = of_rows["groups"]
    blocks, lower, upper, names = [], [], [], []
    size = len(c) if isinstance(c, Mapping) else np.size(c)
    for matrix, sides, name, equality in ((A_ub, b_ub, "ub", False), (A_eq, b_eq, "eq", True)):
        if (matrix is None) != (sides is None):
            raise InvalidProblemError(f"A_{name} and b_{name} belong together: give both or none.")
        if matrix is None:
            continue
        if is_table(matrix):
            mine = {f"b_{name}": sides} | (
                {} if equality or A_eq is not None else {"groups": groups}
            )
            block, found, columns = read_table(matrix, mine, f"A_{name}")
            rhs, groups = found[f"b_{name}"], found.get("groups", groups)
            names.append(columns)
        else:
            block, rhs = _block(matrix, f"A_{name}", None if quote else size), sides
        if block.ndim != 2:
            shape = f", got shape {block.shape}" if quote else ""
            raise InvalidProblemError(f"A_{name} must be a matrix of shape (n, d){shape}.")
        meaning = f"one right-hand side per row of A_{name}"
        clean = validation.vector(rhs, block.shape[0], f"b_{name}", meaning, quote=quote)
        blocks.append(block)
        upper.append(clean)
        lower.append(clean if equality else np.full(len(clean), -np.inf))
    if not blocks and not quote:
        blocks, lower, upper = [np.zeros((0, size))], [np.zeros(0)], [np.zeros(0)]
    if not blocks:
        raise InvalidProblemError(
            "The problem has no constraints: give A_ub and b_ub, or A_eq and b_eq."
        )
    if len({block.shape[1] for block in blocks}) > 1:
        counts = [block.shape[1] for block in blocks]
        told = (
            f"A_ub has {counts[0]} columns and A_eq has {counts[1]}" if quote else "A_ub and A_eq"
        )
        raise InvalidProblemError(f"{told}: they must have the same number of columns.")
    if names and names[0] != names[-1]:
        has = (listed([*map(repr, columns)]) for columns in names)
        raise InvalidProblemError(
            f"A_ub and A_eq must have the same columns in one order: {' is not '.join(has)}.",
            parameter="A_eq",
        )
    stack = sp.vstack if any(map(sp.issparse, blocks)) else np.vstack
    d = blocks[0].shape[1]
    ends = validation.variable_bounds(bounds, d, quote=quote)
    return {
        "c": c,
        "A": blocks[0] if len(blocks) == 1 else stack(blocks),
        "b": np.concatenate(upper),
        "row_lower": np.concatenate(lower),
        "bounds": np.column_stack([np.broadcast_to(end, d) for end in ends]),
        "variable_names": names[0] if names else None,
        **of_rows,
        "groups": groups,
    }


def require_continuous(integrality: Any) -> None:
    """Refuse SciPy's `integrality` unless it is 0 for every variable."""
    if integrality is not None and np.any(as_floats(integrality, "integrality") != 0):
        raise InvalidProblemError(
            "integrality asks for integer or semi-continuous variables; privlp solves linear"
            " programs only: what it protects and promises holds for points of any value, and"
            " rounding them may violate rows. Leave integrality out to let variables take any value"
            " within their bounds.",
            parameter="integrality",
        )


def _block(matrix: Any, name: str, columns: int | None) -> Any:
    """A matrix; with the number of columns given, an empty list is a matrix without rows."""
    if sp.issparse(matrix):
        return matrix
    clean = as_floats(matrix, name)
    none = columns is not None and clean.shape == (0,)
    return np.zeros((0, columns or 0)) if none else np.atleast_2d(clean)
