"""Which programs can be tightened, and which ends of the private numbers that takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privlp.errors import UnsupportedProblemError
from privlp.problem.standard_form import StandardForm
from privlp.relations.private_numbers import PrivateNumbers

BoolArray = npt.NDArray[np.bool_]


def rows_with(form: StandardForm, numbers: list[PrivateNumbers]) -> npt.NDArray[np.int64]:
    """The user's rows that hold private numbers."""
    found = [
        part.at[0] if part.part == "A" else form.row[part.at]
        for part in numbers
        if part.part != "c"
    ]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))


def require_inequalities(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse equalities that hold private numbers.

    Raises
    ------
    UnsupportedProblemError
        If there is one.
    """
    rows = rows_with(form, numbers)
    if (form.lp.row_lower[rows] == form.lp.b[rows]).any():
        raise UnsupportedProblemError(
            "A private equality cannot be tightened, so it cannot be satisfied with certainty. Make"
            " it public (private=...), or state the inequality that matters."
        )


def require_one_end(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private ranges whose two ends share one declared interval.

    Raises
    ------
    UnsupportedProblemError
        If there is one.
    """
    if any(
        part.part == "b" and np.bincount(form.row[part.at]).max(initial=0) > 1 for part in numbers
    ):
        raise UnsupportedProblemError(
            "A private range lower <= A x <= upper has one declared interval for both of its ends,"
            " which leaves nothing between them in the worst case. Write it as two rows, with an"
            " interval for each end."
        )


def needed_ends(form: StandardForm, part: PrivateNumbers) -> tuple[BoolArray, BoolArray]:
    """Which private numbers need a lower end, and which an upper end, each (m,).

    A right-hand side of a ``<=`` row needs the lower end, a cost none. A coefficient needs the
    upper end where its growth tightens a row, and the lower end where its fall does: that depends
    on the sides of the row and on the signs that x_j may take.
    """
    if part.part != "A":
        return np.full(len(part), part.part == "b"), np.zeros(len(part), dtype=bool)
    row, column = part.at
    lower, upper = form.lp.bounds[column].T
    above, below = np.isfinite(form.lp.b[row]), np.isfinite(form.lp.row_lower[row])
    grows = (above & (upper > 0)) | (below & (lower < 0))
    falls = (above & (lower < 0)) | (below & (upper > 0))
    return falls, grows


def open_ended(form: StandardForm, part: PrivateNumbers) -> bool:
    """Whether some number has no declared end on a side that tightens a row."""
    lower, upper = needed_ends(form, part)
    return bool((lower & ~np.isfinite(part.low)).any() or (upper & ~np.isfinite(part.high)).any())
