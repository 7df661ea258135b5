"""The matrices of the linear-programming support vector machine (Mangasarian 1998)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import ConstraintPrivate, InvalidProblemError, LinearProgram
from privlp.checks import as_floats
from privlp.quiet import unquoted
from privlp.sparse import as_sparse
from privlp.tables import require_order
from svm_models.parameters import PRICE, within

_REPLACED = ConstraintPrivate()
_LABELS = "Labels must be -1 or 1. Map the two classes to -1 and 1 first."


def hard_margin_lp(
    X: Any, y: npt.ArrayLike, *, neighbours: ConstraintPrivate = _REPLACED
) -> LinearProgram:
    """Minimise ||w||_1 subject to y_i x_i·w >= 1, with w = w_plus - w_minus.

    Parameters
    ----------
    X : array or sparse array, shape (n, p)
        Records.
    y : array_like, shape (n,)
        Labels, -1 or 1.
    neighbours : ConstraintPrivate
        What neighbours may differ in; by default one record is replaced.

    Returns
    -------
    LinearProgram
        2p variables (w_plus, w_minus) and one private row per record: c = 1, sparse A = -[M, -M]
        with rows M_i = y_i x_i, b = -1.

    Raises
    ------
    InvalidProblemError
        If a label is neither -1 nor 1, or shapes disagree.

    Examples
    --------
    >>> from privlp import solve_exact
    >>> from svm_models import hard_margin_lp
    >>> solve_exact(hard_margin_lp([[2.0, 0.0], [0.0, -1.0]], [1, -1])).x
    array([0.5, 1. , 0. , 0. ])
    """
    M = _signed_records(X, y, quote=not neighbours.hides_rows)
    n, p = M.shape
    A = sp.hstack([-M, M], format="csc")
    return LinearProgram(np.ones(2 * p), A, -np.ones(n), neighbours=neighbours)


def soft_margin_lp(X: Any, y: npt.ArrayLike, C: float, *, slack: bool = True) -> LinearProgram:
    """Minimise ||w||_1 + C sum_i xi_i subject to y_i x_i·w >= 1 - xi_i, xi >= 0.

    Parameters
    ----------
    X, y
        As for :func:`hard_margin_lp`.
    C : float
        Price of a unit of margin error, positive.
    slack : bool
        With True the program has 2p + n variables (w_plus, w_minus, xi), a sparse A =
        -[M, -M, I], c = (1, C). With False it is the same problem with ``penalty=C`` in place of
        the xi.

    Examples
    --------
    >>> from privlp import solve_exact
    >>> from svm_models import soft_margin_lp
    >>> X, y = [[1.0], [0.5], [-1.0]], [1, -1, -1]
    >>> round(solve_exact(soft_margin_lp(X, y, C=1.0)).objective, 6)
    2.5
    >>> round(solve_exact(soft_margin_lp(X, y, C=1.0, slack=False)).objective, 6)
    2.5
    """
    C = within(C, "C", *PRICE)
    M = _signed_records(X, y)
    n, p = M.shape
    if not slack:
        return LinearProgram(
            np.ones(2 * p), sp.hstack([-M, M], format="csc"), -np.ones(n), penalty=C
        )
    cost = np.concatenate([np.ones(2 * p), np.full(n, C)])
    return LinearProgram(cost, sp.hstack([-M, M, -sp.eye_array(n)], format="csc"), -np.ones(n))


def _signed_records(X: Any, y: npt.ArrayLike, *, quote: bool = True) -> Any:
    """Rows y_i x_i, sparse; errors quote shapes where the number of records is public."""
    require_order(y, X, "y")
    try:
        labels = unquoted(lambda: as_floats(y, "y"), _LABELS, "y")
    except InvalidProblemError:
        labels = None  # raised below, in words of its own
    if labels is None:
        raise InvalidProblemError(_LABELS, parameter="y")
    records = unquoted(
        lambda: (
            sp.csr_array(X, dtype=float)
            if sp.issparse(X) and X.dtype.kind in "fiub"
            else as_floats(X, "X")
        ),
        "X must hold real numbers in a regular array.",
        "X",
    )
    if records.ndim != 2 or labels.shape != (records.shape[0],):
        raise InvalidProblemError(
            f"X has shape {records.shape} and y has shape {labels.shape}; expected (n, p) and (n,)."
            if quote
            else "X must have shape (n, p) and y shape (n,): one label for each row of X.",
            parameter="X",
        )
    if not np.isin(labels, (-1, 1)).all():
        raise InvalidProblemError(_LABELS, parameter="y")
    return sp.csc_array(sp.diags_array(labels) @ as_sparse(records))
